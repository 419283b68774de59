// Evictions of pods, through the whole of Berth: the program and the real kubectl against the stub of an API server;
// the test is the kubelet.

#include <ctime>

#include "tests/crash/killed_berth.h"
#include "tests/kubernetes/kubernetes_fixture.h"
#include "tests/kubernetes/stub_api_server.h"

namespace berth::test {
namespace {

class EvictedPods : public KilledBerth {
 protected:
  // What the guests have besides, and the kubectl that Berth calls.
  virtual std::string terms() const { return ""; }
  virtual std::string kubectl() { return kubectl_program(); }

  void SetUp() override {
    KilledBerth::SetUp();
    if (!has_kubectl()) GTEST_SKIP() << kNoKubectl;
    for (const char* node : {"n1", "n2", "n3", "n4", "n5"}) server_.add_node(ready_node(node, 0));
    berth(
        fmt::format("CREATE NODE TYPE box WITH (cpu = 4, memory = 15GiB); CREATE QUEUE own; CREATE QUEUE guest; ALTER "
                    "QUEUE own SET QUOTA (cpu = 20); ALTER QUEUE guest SET QUOTA (cpu = 0); CREATE EXECUTOR k8s TYPE "
                    "kubernetes WITH (kubectl = '{}', kubeconfig = '{}', namespace = berth, image = busybox); "
                    "SET min_runtime = 0; SET pending_delay = 0; SET eviction_cooldown = 0; SET "
                    "stop_grace = 30s",
                    kubectl(), server_.kubeconfig()));
    for (int i = 1; i <= 5; ++i)
      berth(
          fmt::format("CREATE POOL p{0}; CREATE NODE n{0} TYPE box IN POOL p{0}; SUBMIT JOB g{0} IN QUEUE guest WITH "
                      "(cpu = 4, pool = p{0}, time_limit = 1h, command = train{1}); SUBMIT JOB after{0} IN QUEUE guest "
                      "WITH (cpu = 1, pool = p{0}, time_limit = 1h, after = g{0}, command = report)",
                      i, terms()));
    berth("RUN ALL");
    for (int i = 1; i <= 5; ++i) server_.set_status(pod_of_job(fmt::format("g{}", i)), status(running_status()));
    berth("RUN SYNC");
    ASSERT_EQ(count("runs WHERE state = 'running'"), 5);
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // never told in the second of their start
  }

  // The pod of a job's last attempt.
  std::string pod_of_job(const std::string& job) const {
    Database db = open();
    std::string name =
        must_have(db.text("SELECT t.external FROM runs r JOIN jobs j ON j.id = r.job_id JOIN run_tasks "
                          "t ON t.run_id = r.id WHERE j.name = '" +
                          job + "' ORDER BY r.attempt DESC LIMIT 1"));
    // Until it is seen it goes by its launch: "berth-...-JOB-ATTEMPT-l0".
    if (const std::size_t launch = name.rfind("-l0"); launch == name.size() - 3) name.replace(launch, 3, "-0-0");
    return name;
  }
  // As of now, instead of some day.
  static Json status(Json told, const std::string& message = "", std::time_t behind = 0) {
    const std::string now = time_of_now(behind);
    Json& state = told["containerStatuses"][0]["state"];
    if (state.contains("running")) state["running"]["startedAt"] = now;
    if (state.contains("terminated")) state["terminated"].update({{"finishedAt", now}, {"message", message}});
    return told;
  }
  static std::string time_of_now(std::time_t behind) {
    const std::time_t now = std::time(nullptr) - behind;
    std::tm parts{};
    char text[40];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &parts));
    return text;
  }
  void run_to_the_end(const std::string& job) {
    server_.set_status(pod_of_job(job), status(ended_status(0, "Completed")));
  }
  void take_back() {
    for (int i = 1; i <= 5; ++i)
      berth(fmt::format(
          "SUBMIT JOB owner{0} IN QUEUE own WITH (cpu = 4, pool = p{0}, time_limit = 1h, command = serve)", i));
  }

  StubApiServer server_;
};

TEST_F(EvictedPods, WaitAgainHoweverTheyEndInTheirGrace) {
  take_back();
  berth("RUN ALL");
  for (int i = 1; i <= 5; ++i)
    ASSERT_TRUE(server_.pod(pod_of_job(fmt::format("g{}", i)))["metadata"].contains("deletionTimestamp")) << i;
  server_.set_status(pod_of_job("g1"), status(ended_status(0, "Completed")));
  server_.set_status(pod_of_job("g2"), status(ended_status(1, "Error")));
  server_.remove_pod(pod_of_job("g3"));  // its kubelet was faster than Berth's next look
  server_.set_status(pod_of_job("g4"), status(ended_status(0, "Completed"), "done"));
  server_.set_status(pod_of_job("g5"), status(ended_status(143, "Error")));
  berth("RUN ALL");
  for (const char* job : {"g1", "g2", "g4", "g5"}) server_.remove_pod(pod_of_job(job));
  berth("RUN ALL");
  EXPECT_EQ(count("jobs WHERE name IN ('g1', 'g2', 'g3', 'g5') AND state = 'pending' AND failures + losses = 0"), 4);
  EXPECT_EQ(count("jobs WHERE name = 'g4' AND state = 'finished'"), 1);
  EXPECT_EQ(count("runs r JOIN jobs j ON j.id = r.job_id WHERE j.name GLOB 'after*' AND j.name <> 'after4'"), 0);
  EXPECT_EQ(count("evictions WHERE state = 'done' AND rule = 'reclaim'"), 4);
  EXPECT_EQ(count("evictions WHERE state = 'ended' AND rule = 'reclaim'"), 1);
  for (const std::string part : {"owner", "g", "after"}) {
    for (int i = 1; i <= 5; ++i) {
      const std::string job = part + std::to_string(i);
      if (job != "g4") run_to_the_end(job);
    }
    berth("RUN ALL");
    berth("RUN ALL");
  }
  EXPECT_EQ(count("jobs WHERE state <> 'finished'"), 0);
  EXPECT_EQ(count("runs r JOIN jobs j ON j.id = r.job_id WHERE j.name GLOB 'g?' AND r.attempt = 2 AND r.state = "
                  "'succeeded'"),
            4);
  Database db = open();
  expect_healthy(db);
}

// The stub knows no `kubectl exec`: a program that says it was done stands before the real one.
class SignalledPods : public EvictedPods {
 protected:
  virtual std::string exec() const { return "exit 0"; }
  std::string terms() const override { return ", checkpoint_signal = USR1, checkpoint_grace = 1m"; }
  std::string kubectl() override {
    const std::string path = folder_ / "kubectl";
    std::ofstream(path) << "#!/bin/sh\nfor word in \"$@\"; do [ \"$word\" = exec ] && { " << exec()
                        << "; }; done\nexec " << kubectl_program() << " \"$@\"\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
};

TEST_F(SignalledPods, EndAfterTheirSignalWhateverTheClockOfTheirNodeSays) {
  take_back();
  berth("RUN ALL");
  ASSERT_FALSE(server_.pod(pod_of_job("g1"))["metadata"].contains("deletionTimestamp"));
  server_.set_status(pod_of_job("g1"), status(ended_status(0, "Completed"), "", 30));
  server_.set_status(pod_of_job("g2"), status(ended_status(1, "Error"), "", 30));
  server_.set_status(pod_of_job("g3"), status(ended_status(0, "Completed"), "done", 30));
  berth("RUN ALL");
  EXPECT_EQ(count("jobs WHERE name IN ('g1', 'g2') AND state = 'pending' AND failures + losses = 0"), 2);
  EXPECT_EQ(count("jobs WHERE name = 'g3' AND state = 'finished'"), 1);
}

// Somebody deletes the pod long after an eviction was withdrawn, as a drain of its node does.
TEST_F(SignalledPods, AreLostWhenOthersDeleteThemAfterAnEvictionThatWasWithdrawn) {
  take_back();
  berth("RUN ALL");
  for (int i = 1; i <= 5; ++i) berth(fmt::format("CANCEL JOB owner{}", i));
  berth("RUN ALL");
  ASSERT_EQ(count("evictions WHERE state = 'withdrawn'"), 5);
  {
    Database db = open();
    EXPECT_OK(db.execute("UPDATE runs SET told_at = told_at - 3600, told_until = told_until - 3600 WHERE told_at > 0"));
  }
  for (const char* job : {"g1", "g2"}) {
    const std::string told = fmt::format("{} --kubeconfig {} -n berth delete pod {} --wait=false >/dev/null 2>&1",
                                         kubectl_program(), server_.kubeconfig(), pod_of_job(job));
    ASSERT_EQ(std::system(told.c_str()), 0);
  }
  server_.set_status(pod_of_job("g1"), status(ended_status(0, "Completed")));
  server_.set_status(pod_of_job("g2"), status(ended_status(143, "Error")));
  run_to_the_end("g3");
  for (int i = 0; i < 2; ++i) berth("RUN ALL");
  EXPECT_EQ(count("jobs WHERE name IN ('g1', 'g2') AND state <> 'finished' AND losses = 1 AND failures = 0"), 2);
  EXPECT_EQ(count("jobs WHERE name = 'g3' AND state = 'finished'"), 1);
  EXPECT_EQ(count("runs r JOIN jobs j ON j.id = r.job_id WHERE j.name IN ('after1', 'after2')"), 0);
}

// The program saves and ends at once: its container takes the command with it that has sent the signal.
class QuickPods : public SignalledPods {
 protected:
  std::string exec() const override { return "echo 'command terminated with exit code 137' >&2; exit 137"; }
};

TEST_F(QuickPods, WaitAgainThoughTheSignalTookItsSenderAlong) {
  take_back();
  berth("RUN ALL");
  server_.set_status(pod_of_job("g1"), status(ended_status(0, "Completed")));
  server_.set_status(pod_of_job("g2"), status(ended_status(0, "Completed"), "done"));
  berth("RUN ALL");
  EXPECT_EQ(count("jobs WHERE name = 'g1' AND state = 'pending' AND failures + losses = 0"), 1);
  EXPECT_EQ(count("jobs WHERE name = 'g2' AND state = 'finished'"), 1);
}

// Berth may not use `kubectl exec`, so it tells nobody. A task that ends well before its pod is deleted has finished.
class UntoldPods : public SignalledPods {
 protected:
  std::string exec() const override { return "echo 'Error from server (Forbidden): exec is forbidden' >&2; exit 1"; }
};

TEST_F(UntoldPods, AreDoneWhenTheyEndWell) {
  take_back();
  berth("RUN ALL");
  ASSERT_FALSE(server_.pod(pod_of_job("g1"))["metadata"].contains("deletionTimestamp"));
  run_to_the_end("g1");
  server_.set_status(pod_of_job("g2"), status(ended_status(1, "Error")));
  berth("RUN ALL");
  EXPECT_EQ(count("jobs WHERE name = 'g1' AND state = 'finished'"), 1);
  EXPECT_EQ(count("jobs WHERE name = 'g2' AND state = 'pending' AND failures + losses = 0"), 1);
}

// They end well between Berth's last look and the signal.
TEST_F(SignalledPods, AreDoneWhenTheyEndBeforeTheirSignal) {
  take_back();
  for (int i = 1; i <= 5; ++i) run_to_the_end(fmt::format("g{}", i));
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));  // told in another second
  berth("RUN SCHEDULE");
  ASSERT_EQ(count("evictions WHERE rule = 'reclaim'"), 5);
  berth("RUN ALL");
  berth("RUN ALL");
  EXPECT_EQ(count("jobs WHERE name GLOB 'g?' AND state = 'finished' AND failures + losses = 0"), 5);
}

// The same, between the label and the signal: kubectl then says so, and the others are asked all the same.
class LatePods : public SignalledPods {
 protected:
  std::string exec() const override {
    return "echo exec >>\"$0.asked\"; echo 'error: cannot exec into a container in a completed pod; current phase is "
           "Succeeded' >&2; exit 1";
  }
};

TEST_F(LatePods, AreUntoldAndKeepTheSignalFromNobody) {
  take_back();
  berth("RUN ALL");
  std::ifstream asked(folder_ / "kubectl.asked");
  EXPECT_EQ(std::count(std::istreambuf_iterator<char>(asked), {}, '\n'), 5);
  for (int i = 1; i <= 5; ++i) {
    const std::string job = fmt::format("g{}", i);
    EXPECT_FALSE(server_.pod(pod_of_job(job))["metadata"]["labels"].contains("berth/signalled")) << job;
    run_to_the_end(job);
  }
  berth("RUN ALL");
  EXPECT_EQ(count("jobs WHERE name GLOB 'g?' AND state = 'finished' AND failures + losses = 0"), 5);
}

// The answer to the label is lost, so nobody is sent the signal, though every pod has the label.
class AskedPods : public SignalledPods {
 protected:
  std::string exec() const override {
    return "exit 0; }; case $word in berth/signalled=asked) " + kubectl_program() +
           " \"$@\" >/dev/null; echo 'Unable to connect to the server: EOF' >&2; exit 1;; esac; [ \"$word\" = exec ] "
           "&& { :";
  }
};

TEST_F(AskedPods, WereSignalledIfTheirLastMessageSaysSo) {
  take_back();
  berth("RUN ALL");
  for (int i = 1; i <= 5; ++i) {
    const std::string pod = pod_of_job(fmt::format("g{}", i));
    ASSERT_EQ(server_.pod(pod)["metadata"]["labels"]["berth/signalled"], "asked") << i;
  }
  run_to_the_end("g1");
  server_.set_status(pod_of_job("g2"), status(ended_status(0, "Completed"), "signalled\n"));
  server_.set_status(pod_of_job("g3"), status(ended_status(0, "Completed"), "it says something else"));
  server_.set_status(pod_of_job("g4"), status(ended_status(0, "Completed"), "signalled\ndone"));
  server_.set_status(pod_of_job("g5"), status(ended_status(0, "Completed"), "done\nsignalled\n"));
  berth("RUN ALL");
  EXPECT_EQ(count("jobs WHERE name IN ('g1', 'g4', 'g5') AND state = 'finished' AND failures + losses = 0"), 3);
  EXPECT_EQ(count("jobs WHERE name IN ('g2', 'g3') AND state = 'pending' AND failures + losses = 0"), 2);
}

// The answer to the first signal is lost, so it is sent again; that is refused.
class RetriedPods : public SignalledPods {
 protected:
  std::string exec() const override {
    return "[ -e \"$0.refuses\" ] && echo 'Error from server: error dialing backend: dial tcp: connection refused' >&2 "
           "|| echo 'Unable to connect to the server: EOF' >&2; exit 1";
  }
};

TEST_F(RetriedPods, WereSignalledByTheFirstSignalThoughTheSecondIsRefused) {
  const auto was_asked = [&](const std::string& job) {
    return server_.pod(pod_of_job(job))["metadata"]["labels"].value("berth/signalled", "") == "asked";
  };
  take_back();
  berth("RUN ALL");
  std::vector<std::string> jobs = {"g1", "g2", "g3", "g4", "g5"};
  std::erase_if(jobs, [&](const std::string& job) { return !was_asked(job); });  // where one is silent, not all are
  ASSERT_FALSE(jobs.empty());
  std::ofstream(folder_ / "kubectl.refuses") << "yes";
  berth("RUN ALL");
  ASSERT_TRUE(std::ranges::all_of(jobs, was_asked));
  server_.set_status(pod_of_job(jobs.front()), status(ended_status(0, "Completed"), "\nsignalled\n\nsignalled\n"));
  berth("RUN ALL");
  EXPECT_EQ(count("jobs WHERE name = '" + jobs.front() + "' AND state = 'pending' AND failures + losses = 0"), 1);
}

// The pod ends well between Berth's last look and the deletion, which would take its end away with it.
TEST_F(EvictedPods, ADeletionThatMeetsAnEndedPod) {
  take_back();
  for (int i = 1; i <= 5; ++i) run_to_the_end(fmt::format("g{}", i));
  berth("RUN SCHEDULE");
  ASSERT_EQ(count("evictions WHERE rule = 'reclaim'"), 5);
  berth("RUN ALL");
  berth("RUN ALL");
  EXPECT_EQ(count("jobs WHERE name GLOB 'g?' AND failures + losses > 0"), 0);
  EXPECT_EQ(count("jobs WHERE name GLOB 'g?' AND state = 'finished'"), 5);
  EXPECT_EQ(count("jobs a JOIN jobs g ON a.name = 'after' || substr(g.name, 2) JOIN runs r ON r.job_id = a.id WHERE "
                  "g.name GLOB 'g?' AND g.state <> 'finished'"),
            0);
  EXPECT_EQ(count("jobs WHERE name GLOB 'owner*' AND state = 'running'"), 5);
  Database db = open();
  expect_healthy(db);
}

}  // namespace
}  // namespace berth::test
