// What the executor promises, against the stub and, where KUBE_APISERVER names one, a real API server.
#include <gmock/gmock.h>

#include "tests/kubernetes/real_api_server.h"
#include "tests/kubernetes/stub_api_server.h"

namespace berth::test {
namespace {

using testing::HasSubstr;

// One for all tests: it takes its time to start.
std::unique_ptr<RealApiServer>& real_server() {
  static std::unique_ptr<RealApiServer> server;
  return server;
}

class KubernetesContract : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!has_kubectl()) GTEST_SKIP() << kNoKubectl;
    if (is_real() && !RealApiServer::is_named()) GTEST_SKIP() << "KUBE_APISERVER names no kube-apiserver";
    if (!is_real()) {
      stub_ = std::make_unique<StubApiServer>();
    } else if (real_server() == nullptr) {
      real_server() = std::make_unique<RealApiServer>();
    } else {
      real_server()->remove_everything();
    }
    for (const char* node : {"n1", "n2", "n3"}) server().add_node(ready_node(node, 8));
    executor_ = kubernetes_executor(server().kubeconfig(), folder_.path, env_);
  }
  static void TearDownTestSuite() { real_server().reset(); }

  bool is_real() const { return std::string_view(GetParam()) == "real"; }
  ApiServer& server() { return is_real() ? static_cast<ApiServer&>(*real_server()) : static_cast<ApiServer&>(*stub_); }

  TestFolder folder_;
  ManualEnv env_{Seconds(1800000000)};
  std::unique_ptr<StubApiServer> stub_;
  std::unique_ptr<Executor> executor_;
};
INSTANTIATE_TEST_SUITE_P(Servers, KubernetesContract, testing::Values("stub", "real"),
                         [](const auto& row) { return std::string(row.param); });

TEST_P(KubernetesContract, ATaskIsOnePodHoweverOftenItIsDelivered) {
  Launch launch = launch_of(12);
  launch.time_limit = Seconds(3600);
  launch.environment = {{"WORD", "cost: $(BERTH_JOB) $$"}};
  const Delivery first = launch_one(*executor_, launch);
  EXPECT_EQ(first.state, DeliveryState::kDone) << first.detail;
  EXPECT_EQ(first.external, "berth-3fa9c2-12-1-l0");
  const Json pod = server().pod("berth-3fa9c2-12-1-0-0");
  ASSERT_TRUE(pod.is_object());
  EXPECT_EQ(pod["spec"]["nodeName"], "n1");
  EXPECT_EQ(pod["spec"]["restartPolicy"], "Never");
  EXPECT_EQ(pod["spec"]["activeDeadlineSeconds"], 3600);
  EXPECT_EQ(pod["metadata"]["labels"]["berth/launch"], first.external);
  const Json& container = pod["spec"]["containers"][0];
  EXPECT_EQ(container["resources"]["limits"]["nvidia.com/gpu"], "2");
  EXPECT_EQ(container["resources"]["requests"]["memory"], container["resources"]["limits"]["memory"]);

  // By another process that knows nothing of the first.
  TestFolder elsewhere;
  const Delivery second = launch_one(*kubernetes_executor(server().kubeconfig(), elsewhere.path, env_), launch);
  EXPECT_EQ(second.state, DeliveryState::kDone) << second.detail;
  EXPECT_EQ(server().pod("berth-3fa9c2-12-1-0-0")["metadata"]["uid"], pod["metadata"]["uid"]);
}

TEST_P(KubernetesContract, AGangIsBoundOnceAllIsThere) {
  const Launch launch = launch_of(13, 3);
  for (int delivery = 0; delivery < 2; ++delivery) {
    const Delivery said = launch_one(*executor_, launch);
    EXPECT_EQ(said.state, DeliveryState::kDone) << said.detail;
    for (std::size_t task = 0; task < 3; ++task)
      EXPECT_EQ(server().pod(pod_of(launch, task))["spec"]["nodeName"], launch.tasks[task].node);
  }
}

TEST_P(KubernetesContract, ManyLaunchesGoInBatches) {
  std::vector<Launch> launches;
  for (int job = 0; job < 12; ++job) launches.push_back(launch_of(100 + job, 1 + job % 3));
  for (const Delivery& delivery : must(executor_->launch(launches)))
    EXPECT_EQ(delivery.state, DeliveryState::kDone) << delivery.detail;
  for (const Launch& launch : launches) {
    for (std::size_t task = 0; task < launch.tasks.size(); ++task)
      EXPECT_EQ(server().pod(pod_of(launch, task))["spec"]["nodeName"], launch.tasks[task].node);
  }
}

TEST_P(KubernetesContract, ATaskIsSeenFromItsStartToItsEnd) {
  const Launch launch = launch_of(14);
  EXPECT_EQ(observe_one(*executor_, launch, "").phase, TaskPhase::kAbsent);
  launch_one(*executor_, launch);
  EXPECT_EQ(observe_one(*executor_, launch).phase, TaskPhase::kStarting);
  server().set_status(pod_of(launch), running_status());
  const TaskObservation running = observe_one(*executor_, launch);
  EXPECT_EQ(running.phase, TaskPhase::kRunning);
  EXPECT_EQ(running.node, "n1");
  EXPECT_EQ(running.started, must(read_time("2026-11-20 20:00:00")));
  server().set_status(pod_of(launch), ended_status(3, "Error"));
  const TaskObservation ended = observe_one(*executor_, launch);
  EXPECT_EQ(ended.phase, TaskPhase::kEnded);
  EXPECT_EQ(ended.exit_code, 3);
  EXPECT_EQ(ended.ended, must(read_time("2026-11-20 20:10:00")));
  server().remove_pod(pod_of(launch));
  EXPECT_EQ(observe_one(*executor_, launch).phase, TaskPhase::kVanished);
}

TEST_P(KubernetesContract, APodWhoseLabelsWereTakenRunsOn) {
  const Launch launch = launch_of(14);
  launch_one(*executor_, launch);
  Json pod = server().pod(pod_of(launch));
  server().remove_pod(pod_of(launch));
  for (const char* field : {"labels", "uid", "resourceVersion", "creationTimestamp"}) pod["metadata"].erase(field);
  server().add_pod(pod);
  server().set_status(pod_of(launch), running_status());
  const std::vector<LiveTask> tasks = {{.key = {14, 1, 0, 0}, .launch = {}, .external = pod_of(launch), .node = "n1"}};
  const std::vector<std::string> nodes = {"n1"};
  const Observation seen = must(executor_->observe(tasks, nodes));
  EXPECT_EQ(seen.tasks.at(0).phase, TaskPhase::kRunning);
  EXPECT_TRUE(seen.foreign.empty()) << "it is counted once";
}

TEST_P(KubernetesContract, WhatElseIsThereIsSeen) {
  const Launch forgotten = launch_of(15);
  launch_one(*executor_, forgotten);
  Json theirs = {
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata", {{"name", "theirs"}, {"namespace", "other"}}},
      {"spec",
       {{"nodeName", "n2"},
        {"containers",
         {{{"name", "c"},
           {"image", "i"},
           {"resources",
            {{"requests", {{"cpu", "1500m"}, {"memory", "2Gi"}}}, {"limits", {{"nvidia.com/gpu", "1"}}}}}}}}}}};
  theirs["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"] = "1";
  server().add_pod(theirs);
  const std::vector<std::string> nodes = {"n1", "n2", "n9"};
  const Observation seen = must(executor_->observe({}, nodes));
  ASSERT_EQ(seen.unknown_tasks.size(), 1u);
  EXPECT_EQ(seen.unknown_tasks[0].key, (TaskKey{15, 1, 0, 0}));
  ASSERT_EQ(seen.foreign.size(), 1u);
  EXPECT_EQ(seen.foreign[0].what, "pod other/theirs");
  EXPECT_EQ(seen.foreign[0].node, "n2");
  EXPECT_EQ(seen.foreign[0].cpu, MilliCpu(1500));
  EXPECT_EQ(seen.foreign[0].memory, MiB(2048));
  EXPECT_EQ(seen.foreign[0].gpu_count, 1);
  ASSERT_EQ(seen.nodes.size(), 3u);
  EXPECT_TRUE(seen.nodes[0].is_ready) << seen.nodes[0].detail;
  EXPECT_FALSE(seen.nodes[2].is_ready);
}

TEST_P(KubernetesContract, AStopGivesTheGraceAndMayBeRepeated) {
  const Launch launch = launch_of(16);
  launch_one(*executor_, launch);
  server().set_status(pod_of(launch), running_status());
  const StopRequest stop{live(launch), Seconds(20), ""};
  for (int delivery = 0; delivery < 2; ++delivery) {
    const Delivery said = stop_one(*executor_, stop);
    EXPECT_EQ(said.state, DeliveryState::kDone) << said.detail;
    EXPECT_EQ(server().pod(pod_of(launch))["metadata"]["deletionGracePeriodSeconds"], 20);
  }
  EXPECT_THAT(observe_one(*executor_, launch).detail, HasSubstr("being deleted"));
  server().remove_pod(pod_of(launch));
  EXPECT_EQ(stop_one(*executor_, stop).state, DeliveryState::kDone);
}

TEST_P(KubernetesContract, EndedPodsAreKeptForATime) {
  const Launch launch = launch_of(17);
  launch_one(*executor_, launch);
  server().set_status(pod_of(launch), ended_status(0, "Completed"));
  EXPECT_EQ(executor_->forget(live(launch)).message(), "");
  EXPECT_TRUE(server().pod(pod_of(launch)).is_object());
  EXPECT_TRUE(must(executor_->observe({}, {})).unknown_tasks.empty());
  env_.advance(Seconds(3601));
  const Launch next = launch_of(18);
  launch_one(*executor_, next);
  server().set_status(pod_of(next), ended_status(0, "Completed"));
  EXPECT_EQ(executor_->forget(live(next)).message(), "");
  EXPECT_TRUE(server().pod(pod_of(launch)).is_null());
  EXPECT_TRUE(server().pod(pod_of(next)).is_object());
  EXPECT_EQ(executor_->forget(live(launch)).message(), "");  // it is gone: fine
}

TEST_P(KubernetesContract, AForeignPodOfThatNameIsLeftAlone) {
  const Launch launch = launch_of(18, 2);
  const Json theirs = {{"apiVersion", "v1"},
                       {"kind", "Pod"},
                       {"metadata", {{"name", pod_of(launch, 1)}}},
                       {"spec", {{"containers", {{{"name", "c"}, {"image", "i"}}}}}}};
  server().add_pod(theirs);
  const Delivery said = launch_one(*executor_, launch);
  EXPECT_EQ(said.state, DeliveryState::kRefused);
  EXPECT_THAT(said.detail, HasSubstr("is not Berth's"));
  EXPECT_TRUE(server().pod(pod_of(launch, 0)).is_null());
  EXPECT_TRUE(server().pod(pod_of(launch, 1)).is_object());
}

TEST_P(KubernetesContract, WhatTheServerFindsWrongIsRefused) {
  Launch launch = launch_of(19, 3);
  launch.image = " ";
  const Delivery said = launch_one(*executor_, launch);
  EXPECT_EQ(said.state, DeliveryState::kRefused);
  EXPECT_THAT(said.detail, HasSubstr("spec.containers[0].image"));
  for (std::size_t task = 0; task < 3; ++task) EXPECT_TRUE(server().pod(pod_of(launch, task)).is_null());
}

TEST_P(KubernetesContract, InventoryTellsTheNodes) {
  Json cordoned = ready_node("n4", 4, {{"topology.kubernetes.io/zone", "rack-a"}, {"pool", "train"}});
  cordoned["spec"]["unschedulable"] = true;
  server().add_node(cordoned);
  executor_ = kubernetes_executor(server().kubeconfig(), folder_.path, env_, {{"pool_label", "pool"}});
  const std::vector<InventoryNode> nodes = must(executor_->inventory());
  ASSERT_EQ(nodes.size(), 4u);
  EXPECT_EQ(nodes[0].name, "n1");
  EXPECT_EQ(nodes[0].cpu, MilliCpu(63500));
  EXPECT_EQ(nodes[0].memory, MiB(520000));
  EXPECT_EQ(nodes[0].devices, 8);
  EXPECT_EQ(nodes[0].model, "A100");
  EXPECT_TRUE(nodes[0].is_ready) << nodes[0].detail;
  EXPECT_EQ(nodes[3].rack, "rack-a");
  EXPECT_EQ(nodes[3].pool, "train");
  EXPECT_FALSE(nodes[3].is_ready);
  EXPECT_EQ(nodes[3].detail, "cordoned");
}

TEST_P(KubernetesContract, OurCordonsAreSetAndLiftedAndOnlyOurs) {
  Json theirs = ready_node("n4", 4);
  theirs["spec"]["unschedulable"] = true;
  server().add_node(theirs);
  const std::vector<std::string> nodes = {"n1", "n4", "n9"};
  for (int time = 0; time < 2; ++time) {
    const std::vector<Delivery> said = must(executor_->cordon(nodes, true, "memory \"errors\""));
    EXPECT_EQ(said[0].state, DeliveryState::kDone) << said[0].detail;
    EXPECT_EQ(said[1].state, DeliveryState::kRefused);
    EXPECT_EQ(said[1].detail, "cordoned");
    EXPECT_EQ(said[2].state, DeliveryState::kRefused);
  }
  EXPECT_EQ(server().node("n1")["spec"]["unschedulable"], true);
  EXPECT_EQ(server().node("n1")["metadata"]["labels"]["berth/cordon"], "3fa9c2");
  EXPECT_EQ(server().node("n1")["metadata"]["annotations"]["berth/cordon"], "memory \"errors\"");
  const Observation seen = must(executor_->observe({}, nodes));
  EXPECT_TRUE(seen.nodes[0].has_our_cordon && !seen.nodes[0].is_cordoned && seen.nodes[0].is_ready);
  EXPECT_TRUE(!seen.nodes[1].has_our_cordon && seen.nodes[1].is_cordoned);

  // To another database it is somebody else's.
  const std::unique_ptr<Executor> other = kubernetes_executor(server().kubeconfig(), folder_.path, env_, {}, "aaaaaa");
  const NodeObservation there = must(other->observe({}, nodes)).nodes.front();
  EXPECT_TRUE(there.is_cordoned && !there.has_our_cordon);
  EXPECT_THAT(there.detail, HasSubstr("3fa9c2"));
  EXPECT_EQ(must(other->cordon(nodes, true, "mine")).front().state, DeliveryState::kRefused);
  EXPECT_EQ(must(other->cordon(nodes, false, "")).front().state, DeliveryState::kDone);
  EXPECT_EQ(server().node("n1")["spec"]["unschedulable"], true);

  // Changed between a look and a patch: another time.
  if (!is_real()) {
    Fault fault{"PATCH", "/nodes/n1"};
    fault.status = 409;
    fault.body = status_object(409, "Conflict", "Operation cannot be fulfilled on nodes \"n1\"");
    stub_->fail(fault);
    EXPECT_EQ(must(executor_->cordon(nodes, false, "")).front().state, DeliveryState::kUnknown);
  }
  for (int time = 0; time < 2; ++time) {
    const Delivery said = must(executor_->cordon(nodes, false, "")).front();
    EXPECT_EQ(said.state, DeliveryState::kDone) << said.detail;
  }
  EXPECT_FALSE(server().node("n1")["spec"].contains("unschedulable"));
  for (const char* part : {"labels", "annotations"})
    EXPECT_FALSE(server().node("n1")["metadata"].value(part, Json::object()).contains("berth/cordon"));
  EXPECT_EQ(server().node("n4")["spec"]["unschedulable"], true);
}

TEST_P(KubernetesContract, MissingRightsAreNamed) {
  if (!is_real()) {
    Fault fault{"GET", "/nodes"};
    fault.status = 403;
    fault.body =
        status_object(403, "Forbidden",
                      "nodes is forbidden: User \"nobody\" cannot list resource \"nodes\" in API group \"\" at "
                      "the cluster scope");
    stub_->fail(fault);
  } else {
    executor_ = kubernetes_executor(real_server()->kubeconfig_without_rights(), folder_.path, env_);
  }
  const Status said = executor_->inventory().status();
  EXPECT_EQ(said.code(), Code::kUnavailable);
  EXPECT_EQ(said.message(),
            "user \"nobody\" may not list nodes at the cluster scope: examples/kubernetes/rbac.yaml gives that right");
}

}  // namespace
}  // namespace berth::test
