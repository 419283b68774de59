// What the executor makes of an API server that fails, in every way the stub knows.
#include <gmock/gmock.h>

#include "tests/kubernetes/kubernetes_fixture.h"
#include "tests/kubernetes/stub_api_server.h"

namespace berth::test {
namespace {

using testing::HasSubstr;

const std::string kPods = "/api/v1/namespaces/berth/pods";

class KubernetesFaults : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_kubectl()) GTEST_SKIP() << kNoKubectl;
    for (const char* node : {"n1", "n2", "n3"}) server_.add_node(ready_node(node, 8));
    use({});
  }
  void use(ExecutorOptions options, const std::string& kubeconfig = {}) {
    executor_ = kubernetes_executor(kubeconfig.empty() ? server_.kubeconfig() : kubeconfig, folder_.path, env_,
                                    std::move(options));
  }
  static Fault answer(const std::string& method, const std::string& path, int status, const std::string& reason,
                      const std::string& message) {
    Fault fault{method, path};
    fault.status = status;
    fault.body = status_object(status, reason, message);
    return fault;
  }
  void fail(const std::string& method, const std::string& path, FaultKind kind, bool is_done, int skip = 0,
            int times = 1) {
    Fault fault{method, path, kind};
    fault.times = times;
    fault.is_done = is_done;
    fault.skip = skip;
    fault.seconds = 3;
    server_.fail(fault);
  }

  StubApiServer server_;
  TestFolder folder_;
  ManualEnv env_{Seconds(1800000000)};
  std::unique_ptr<Executor> executor_;
};

TEST_F(KubernetesFaults, AnAnswerThatIsLostIsFoundAgain) {
  int job = 20;
  for (const FaultKind kind : {FaultKind::kReset, FaultKind::kHalf}) {
    const Launch launch = launch_of(++job);
    fail("POST", kPods, kind, true);
    const Delivery said = launch_one(*executor_, launch);
    EXPECT_EQ(said.state, DeliveryState::kDone) << said.detail;
    EXPECT_TRUE(server_.pod(pod_of(launch)).is_object());
  }
  EXPECT_EQ(server_.pod_count(), 2u);
}

// Somebody has set kubectl to another cluster since the last call of Berth.
TEST_F(KubernetesFaults, AnotherClusterIsToldNothing) {
  const Launch launch = launch_of(21);
  EXPECT_EQ(launch_one(*executor_, launch).state, DeliveryState::kDone);
  EXPECT_EQ(must(executor_->observe(live(launch), {})).tasks[0].phase, TaskPhase::kStarting);
  server_.become_cluster("77b1");
  use({});
  const Status seen = executor_->observe(live(launch), {}).status();
  EXPECT_EQ(seen.code(), Code::kUnavailable);
  EXPECT_THAT(seen.message(), HasSubstr("another cluster"));
  const Launch other = launch_of(22);
  const StopRequest stop{live(launch), Seconds(20), ""};
  const std::string node = "n1";
  EXPECT_EQ(executor_->launch(std::span(&other, 1)).status().code(), Code::kUnavailable);
  EXPECT_EQ(executor_->stop(std::span(&stop, 1)).status().code(), Code::kUnavailable);
  EXPECT_EQ(executor_->cordon(std::span(&node, 1), true, "").status().code(), Code::kUnavailable);
  EXPECT_EQ(executor_->inventory().status().code(), Code::kUnavailable);
  EXPECT_EQ(executor_->forget(live(launch)).code(), Code::kUnavailable);
  EXPECT_EQ(server_.pod_count(), 1u);
  server_.become_cluster("8f6a");
  use({});
  EXPECT_EQ(must(executor_->observe(live(launch), {})).tasks[0].phase, TaskPhase::kStarting);
}

TEST_F(KubernetesFaults, AClusterThatMayNotBeAskedIsNotTakenForTheKnownOne) {
  const Launch launch = launch_of(21);
  EXPECT_EQ(launch_one(*executor_, launch).state, DeliveryState::kDone);
  use({});
  server_.fail(answer("GET", "/api/v1/namespaces/kube-system", 403, "Forbidden", "no right"));
  const Status seen = executor_->observe(live(launch), {}).status();
  EXPECT_EQ(seen.code(), Code::kUnavailable);
  EXPECT_THAT(seen.message(), HasSubstr("does not let Berth ask"));
  EXPECT_EQ(must(executor_->observe(live(launch), {})).tasks[0].phase, TaskPhase::kStarting);
}

TEST_F(KubernetesFaults, AClusterThatDoesNotSayWhichItIsIsToldNothing) {
  server_.fail(answer("GET", "/api/v1/namespaces/kube-system", 500, "InternalError", "etcd is gone"));
  const Launch launch = launch_of(21);
  EXPECT_EQ(executor_->launch(std::span(&launch, 1)).status().code(), Code::kUnavailable);
  EXPECT_EQ(server_.pod_count(), 0u);
  EXPECT_EQ(launch_one(*executor_, launch).state, DeliveryState::kDone);
}

TEST_F(KubernetesFaults, ARequestThatIsLostIsMadeAgainLater) {
  const Launch launch = launch_of(23, 2);
  fail("POST", kPods, FaultKind::kReset, false, 1);
  EXPECT_EQ(launch_one(*executor_, launch).state, DeliveryState::kUnknown);
  EXPECT_EQ(server_.pod_count(), 1u);  // and it runs nowhere
  EXPECT_FALSE(server_.pod(pod_of(launch, 0))["spec"].contains("nodeName"));
  EXPECT_EQ(launch_one(*executor_, launch).state, DeliveryState::kDone);
  EXPECT_EQ(server_.pod(pod_of(launch, 0))["spec"]["nodeName"], "n1");
  EXPECT_EQ(server_.pod(pod_of(launch, 1))["spec"]["nodeName"], "n2");
}

TEST_F(KubernetesFaults, ANameThatWasTakenAndIsFreeAgain) {
  const Launch launch = launch_of(22);
  server_.fail(answer("POST", kPods, 409, "AlreadyExists", "pods \"" + pod_of(launch) + "\" already exists"));
  EXPECT_EQ(launch_one(*executor_, launch).state, DeliveryState::kUnknown);
  EXPECT_EQ(launch_one(*executor_, launch).state, DeliveryState::kDone);
}

TEST_F(KubernetesFaults, AnAnswerThatComesTooLate) {
  const Launch launch = launch_of(24);
  fail("POST", kPods, FaultKind::kHang, true);
  use({{"timeout", "2s"}});
  const Result<std::vector<Delivery>> said = executor_->launch(std::span(&launch, 1));
  use({});
  EXPECT_TRUE(!said.ok() || said->front().state != DeliveryState::kRefused);  // done, when it was found at once
  EXPECT_EQ(launch_one(*executor_, launch).state, DeliveryState::kDone);
  EXPECT_EQ(server_.pod_count(), 1u);
}

TEST_F(KubernetesFaults, BindingsThatWereCutShortAreDoneByTheNextDelivery) {
  const Launch launch = launch_of(25, 3);
  fail("POST", "/bindings", FaultKind::kReset, false, 1);
  EXPECT_EQ(launch_one(*executor_, launch).state, DeliveryState::kUnknown);
  EXPECT_EQ(launch_one(*executor_, launch).state, DeliveryState::kDone);
  for (std::size_t task = 0; task < 3; ++task)
    EXPECT_EQ(server_.pod(pod_of(launch, task))["spec"]["nodeName"], launch.tasks[task].node);
}

// A kubectl that is killed says nothing.
TEST_F(KubernetesFaults, BindingsOfWhichNothingIsSaidAreNotTakenForDone) {
  const Launch launch = launch_of(30, 2);
  const std::string program = folder_.path + "/kubectl";
  std::ofstream(program) << "#!/bin/sh\ncase \"$*\" in *' create '*)\n  cat >" << folder_.path
                         << "/input\n  grep -q Binding " << folder_.path << "/input && kill -KILL $$\n  exec "
                         << kubectl_program() << " \"$@\" <" << folder_.path << "/input ;;\nesac\nexec "
                         << kubectl_program() << " \"$@\"\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  use({{"kubectl", program}});
  EXPECT_EQ(launch_one(*executor_, launch).state, DeliveryState::kUnknown);
  use({});
  EXPECT_EQ(launch_one(*executor_, launch).state, DeliveryState::kDone);
  for (std::size_t task = 0; task < 2; ++task)
    EXPECT_EQ(server_.pod(pod_of(launch, task))["spec"]["nodeName"], launch.tasks[task].node);
}

TEST_F(KubernetesFaults, ASecondBindingIsNoMisfortune) {
  const Launch launch = launch_of(26, 2);
  fail("POST", "/bindings", FaultKind::kReset, true);  // done, and nobody hears of it
  EXPECT_EQ(launch_one(*executor_, launch).state, DeliveryState::kUnknown);
  server_.fail(answer("POST", "/bindings", 409, "Conflict",
                      "Operation cannot be fulfilled on pods/binding \"" + pod_of(launch, 1) + "\": pod " +
                          pod_of(launch, 1) + " is already assigned to node \"n2\""));
  EXPECT_EQ(launch_one(*executor_, launch).state, DeliveryState::kDone);
}

TEST_F(KubernetesFaults, AGangThatRanIsNotMadeWholeAgain) {
  const Launch launch = launch_of(27, 3);
  ASSERT_EQ(launch_one(*executor_, launch).state, DeliveryState::kDone);
  server_.remove_pod(pod_of(launch, 1));  // by somebody else, before the delivery was noted
  EXPECT_EQ(launch_one(*executor_, launch).state, DeliveryState::kDone);
  EXPECT_TRUE(server_.pod(pod_of(launch, 1)).is_null());
  EXPECT_EQ(must(executor_->observe(live(launch), {})).tasks[1].phase, TaskPhase::kVanished);
}

TEST_F(KubernetesFaults, AQuotaTakesTheGangBackAndSaysLater) {
  const Launch launch = launch_of(28, 3);
  Fault quota = answer("POST", kPods, 403, "Forbidden",
                       "pods \"" + pod_of(launch, 1) +
                           "\" is forbidden: exceeded quota: team, requested: cpu=8, used: cpu=60, limited: cpu=64");
  quota.skip = 1;
  server_.fail(quota);
  const Delivery said = launch_one(*executor_, launch);
  EXPECT_EQ(said.state, DeliveryState::kUnknown);
  EXPECT_THAT(said.detail, HasSubstr("exceeded quota: team"));
  EXPECT_EQ(server_.pod_count(), 0u);
}

TEST_F(KubernetesFaults, ARightThatIsMissingIsNotTheJobsFault) {
  server_.fail(answer("POST", kPods, 403, "Forbidden",
                      "pods is forbidden: User \"berth\" cannot create resource \"pods\" in API group \"\" in the "
                      "namespace \"berth\""));
  const Delivery said = launch_one(*executor_, launch_of(29));
  EXPECT_EQ(said.state, DeliveryState::kUnknown);
  EXPECT_EQ(said.detail,
            "user \"berth\" may not create pods in namespace \"berth\": examples/kubernetes/rbac.yaml "
            "gives that right");
}

TEST_F(KubernetesFaults, PatienceIsGivenWhereItIsAskedFor) {
  server_.fail(answer("POST", kPods, 429, "TooManyRequests", "too many requests, please try again later"));
  EXPECT_EQ(launch_one(*executor_, launch_of(30)).state, DeliveryState::kDone);
  EXPECT_EQ(server_.count("POST", kPods), 2);
}

TEST_F(KubernetesFaults, AListThatTookTooLongIsAskedForAgain) {
  const Launch launch = launch_of(31);
  launch_one(*executor_, launch);
  server_.fail(answer("GET", kPods, 410, "Expired", "The provided continue parameter is too old"));
  EXPECT_EQ(observe_one(*executor_, launch).phase, TaskPhase::kStarting);
}

TEST_F(KubernetesFaults, NobodyThereIsNotNothingThere) {
  const Launch launch = launch_of(32);
  launch_one(*executor_, launch);
  fail("GET", kPods, FaultKind::kHalf, true);
  EXPECT_EQ(executor_->observe(live(launch), {}).status().code(), Code::kUnavailable);
  server_.fail(answer("GET", "/api/v1/nodes", 500, "InternalError", "etcdserver: leader changed"));
  const std::vector<std::string> nodes = {"n1"};
  EXPECT_EQ(executor_->observe(live(launch), nodes).status().code(), Code::kUnavailable);
  use({}, server_.kubeconfig_of("bad"));
  const Status said = executor_->observe(live(launch), {}).status();
  EXPECT_EQ(said.code(), Code::kUnavailable);
  EXPECT_THAT(said.message(), HasSubstr("401"));
}

TEST_F(KubernetesFaults, AServerThatIsDownOrSilentIsGivenUpInTime) {
  std::string kubeconfig;
  {
    StubApiServer gone;
    kubeconfig = gone.kubeconfig_of("good");
    std::filesystem::copy(std::filesystem::path(kubeconfig).parent_path(), folder_.path,
                          std::filesystem::copy_options::recursive | std::filesystem::copy_options::skip_existing);
  }
  use({}, kubeconfig);
  std::vector<Launch> launches;
  for (int job = 0; job < 60; ++job) launches.push_back(launch_of(300 + job));
  const auto before = std::chrono::steady_clock::now();
  EXPECT_EQ(executor_->launch(launches).status().code(), Code::kUnavailable);
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(10));
  use({{"kubectl", "no-such-kubectl"}});
  EXPECT_EQ(executor_->inventory().status().code(), Code::kNotFound);
}

TEST_F(KubernetesFaults, WithoutTheRightToLookElsewhereNodesSaySo) {
  server_.fail(
      answer("GET", "/api/v1/pods", 403, "Forbidden",
             "pods is forbidden: User \"berth\" cannot list resource \"pods\" in API group \"\" at the cluster "
             "scope"));
  const std::vector<std::string> nodes = {"n1"};
  const Observation seen = must(executor_->observe({}, nodes));
  EXPECT_TRUE(seen.nodes[0].is_ready);
  EXPECT_THAT(seen.nodes[0].detail,
              HasSubstr("work of other namespaces is not seen: user \"berth\" may not list pods"));
}

TEST_F(KubernetesFaults, EvictionsInTheVersionThatTheServerHas) {
  for (const std::string version : {"v1", "v1beta1", ""}) {
    server_.set_eviction_version(version);
    use({});
    const Launch launch = launch_of(version.empty() ? 33 : version == "v1" ? 34 : 35);
    launch_one(*executor_, launch);
    server_.set_status(pod_of(launch), running_status());
    server_.forget_requests();
    EXPECT_EQ(stop_one(*executor_, {live(launch), Seconds(5), ""}).state, DeliveryState::kDone);
    EXPECT_EQ(server_.pod(pod_of(launch))["metadata"]["deletionGracePeriodSeconds"], 5);
    EXPECT_EQ(server_.count("POST", "/eviction"), version.empty() ? 0 : 1);
    EXPECT_EQ(server_.count("DELETE", kPods), version.empty() ? 1 : 0);
  }
}

TEST_F(KubernetesFaults, AnEvictionThatIsNotAllowedBecomesADeletion) {
  const Launch launch = launch_of(36);
  launch_one(*executor_, launch);
  server_.set_status(pod_of(launch), running_status());
  server_.fail(answer("POST", "/eviction", 403, "Forbidden",
                      "pods \"" + pod_of(launch) +
                          "\" is forbidden: User \"berth\" cannot create resource \"pods/eviction\" in API group \"\" "
                          "in the namespace \"berth\""));
  EXPECT_EQ(stop_one(*executor_, {live(launch), Seconds(5), ""}).state, DeliveryState::kDone);
  EXPECT_EQ(server_.pod(pod_of(launch))["metadata"]["deletionGracePeriodSeconds"], 5);
}

TEST_F(KubernetesFaults, ADisruptionBudgetIsHeeded) {
  const Launch launch = launch_of(37);
  launch_one(*executor_, launch);
  server_.set_status(pod_of(launch), running_status());
  Fault budget = answer("POST", "/eviction", 429, "TooManyRequests",
                        "Cannot evict pod as it would violate the pod's disruption budget.");
  budget.times = 100;
  server_.fail(budget);
  use({{"timeout", "3s"}});
  EXPECT_EQ(stop_one(*executor_, {live(launch), Seconds(5), ""}).state, DeliveryState::kUnknown);
  EXPECT_FALSE(server_.pod(pod_of(launch))["metadata"].contains("deletionTimestamp"));
}

TEST_F(KubernetesFaults, ASignalThatMayNotBeSentIsRefused) {
  const Launch launch = launch_of(38);
  launch_one(*executor_, launch);
  server_.set_status(pod_of(launch), running_status());
  for (const char* method : {"POST", "GET"}) {
    Fault forbidden = answer(method, "/exec", 403, "Forbidden",
                             "pods \"" + pod_of(launch) +
                                 "\" is forbidden: User \"berth\" cannot create resource \"pods/exec\" in API group "
                                 "\"\" in the namespace \"berth\"");
    forbidden.times = 100;
    server_.fail(forbidden);
  }
  const Delivery said = stop_one(*executor_, {live(launch), std::nullopt, "USR1"});
  EXPECT_EQ(said.state, DeliveryState::kRefused);
  EXPECT_THAT(said.detail, HasSubstr("SIGUSR1 was not sent: user \"berth\" may not create pods/exec"));
}

TEST_F(KubernetesFaults, WhatNoPodCanBeIsRefused) {
  Launch half = launch_of(39);
  half.tasks[0].gpu_milli = MilliGpu(500);
  EXPECT_THAT(launch_one(*executor_, half).detail, HasSubstr("0.5 of a device"));
  use({{"image", ""}});
  EXPECT_THAT(launch_one(*executor_, launch_of(40)).detail, HasSubstr("no image"));
  EXPECT_EQ(server_.pod_count(), 0u);
  use({{"devices", "environment"}});
  EXPECT_EQ(launch_one(*executor_, half).state, DeliveryState::kDone);
  EXPECT_FALSE(server_.pod(pod_of(half))["spec"]["containers"][0]["resources"]["limits"].contains("nvidia.com/gpu"));
}

TEST_F(KubernetesFaults, LogsAreReadFromAnywhere) {
  const Launch launch = launch_of(41);
  const LiveTask task = live(launch).front();
  EXPECT_EQ(executor_->log(task, LogStream::kOutput, 0, 100).status().code(), Code::kNotFound);
  launch_one(*executor_, launch);
  server_.fail(answer("GET", "/log", 400, "BadRequest",
                      "container \"main\" in pod \"" + pod_of(launch) + "\" is waiting to start: ContainerCreating"));
  EXPECT_EQ(must(executor_->log(task, LogStream::kOutput, 0, 100)), "");
  server_.set_log(pod_of(launch), "step 1\nstep 2\n");
  EXPECT_EQ(must(executor_->log(task, LogStream::kOutput, 0, 6)), "step 1");
  EXPECT_EQ(must(executor_->log(task, LogStream::kOutput, 7, 100)), "step 2\n");
  EXPECT_EQ(must(executor_->log(task, LogStream::kOutput, 14, 100)), "");
  EXPECT_EQ(must(executor_->log(task, LogStream::kError, 0, 100)), "");
}

TEST_F(KubernetesFaults, ObjectsOfWhichMostIsMissing) {
  server_.add_node({{"metadata", {{"name", "bare"}}}});
  server_.add_pod({{"metadata", {{"name", "bare"}, {"namespace", "other"}}}, {"spec", Json::object()}});
  const std::vector<std::string> nodes = {"bare"};
  const Observation seen = must(executor_->observe({}, nodes));
  EXPECT_FALSE(seen.nodes[0].is_ready);
  EXPECT_TRUE(seen.foreign.empty());
  EXPECT_EQ(must(executor_->inventory()).size(), 4u);
}

}  // namespace
}  // namespace berth::test
