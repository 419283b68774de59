#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "engine/exec/kubectl.h"
#include "engine/exec/kubernetes_node.h"
#include "engine/exec/kubernetes_pod.h"
#include "engine/exec/kubernetes_quantity.h"
#include "engine/exec/kubernetes_settings.h"
#include "engine/exec/kubernetes_stop.h"
#include "tests/builders.h"

namespace berth {
namespace {

using test::must;
using testing::HasSubstr;

KubernetesSettings settings_with(const ExecutorOptions& options = {}) {
  return must(read_kubernetes_settings(must(read_executor_options(*must(find_executor_type("kubernetes")), options))));
}

TEST(KubernetesQuantity, EveryForm) {
  const auto cpu = [](std::string_view text) { return must(read_quantity_cpu(text, QuantityRounding::kUp)).value(); };
  EXPECT_EQ(cpu("63"), 63000);
  EXPECT_EQ(cpu("3900m"), 3900);
  EXPECT_EQ(cpu("1.5"), 1500);
  EXPECT_EQ(cpu(".5"), 500);
  EXPECT_EQ(cpu("1e1"), 10000);
  EXPECT_EQ(cpu("12e-1"), 1200);
  EXPECT_EQ(cpu("250000u"), 250);
  EXPECT_EQ(cpu("1500000001n"), 1501);
  EXPECT_EQ(cpu("0"), 0);
  const auto memory = [](std::string_view text) {
    return must(read_quantity_memory(text, QuantityRounding::kDown)).value();
  };
  EXPECT_EQ(memory("16Gi"), 16384);
  EXPECT_EQ(memory("1.5Gi"), 1536);
  EXPECT_EQ(memory("12345Ki"), 12);
  EXPECT_EQ(memory("520000Mi"), 520000);
  EXPECT_EQ(memory("1048576"), 1);
  EXPECT_EQ(memory("1e9"), 953);
  EXPECT_EQ(memory("1E3"), 0);
  EXPECT_EQ(memory("1G"), 953);
  EXPECT_EQ(memory("2Ti"), 2097152);
  EXPECT_EQ(memory("1E"), 953674316406);
  EXPECT_EQ(memory("128974848000m"), 123);
  EXPECT_EQ(must(read_quantity_memory("1", QuantityRounding::kUp)), MiB(1));
  EXPECT_EQ(must(read_quantity_count("8")), 8);
  EXPECT_EQ(must(read_quantity_count("1k")), 1000);
}

TEST(KubernetesQuantity, WhatIsNone) {
  for (const std::string_view text :
       {"", "m", "1.2.3", "16GiB", "-1", "1 Gi", "1e99", "9999999999999999999", "99999999Ei"})
    EXPECT_EQ(read_quantity_memory(text, QuantityRounding::kDown).status().code(), Code::kInvalid) << text;
}

TEST(KubernetesNodes, LabelsTaintsAndConditions) {
  const std::vector<KubernetesNode> nodes = must(read_kubernetes_nodes(R"({"kind":"NodeList","items":[
    {"metadata":{"name":"g2","labels":{"nvidia.com/gpu.product":"Tesla-T4","nvidia.com/gpu.memory":"15360",
       "nvidia.com/gpu.replicas":"4","failure-domain.beta.kubernetes.io/zone":"z1"}},
     "spec":{"taints":[{"key":"nvidia.com/gpu","effect":"NoSchedule"},{"key":"team","value":"x","effect":"NoSchedule"}]},
     "status":{"allocatable":{"cpu":"3920m","memory":"15Gi","nvidia.com/gpu":"8"},
       "conditions":[{"type":"MemoryPressure","status":"False"},{"type":"Ready","status":"True"}]}},
    {"metadata":{"name":"g1","labels":{"nvidia.com/mig.strategy":"mixed"}},
     "status":{"allocatable":{"cpu":8,"memory":"1Gi","nvidia.com/gpu":"0","nvidia.com/mig-1g.5gb":"7"},
       "conditions":[{"type":"Ready","status":"Unknown","reason":"NodeStatusUnknown","message":"Kubelet stopped."}]}},
    {"metadata":{"name":"master"},"spec":{"unschedulable":true,
       "taints":[{"key":"node-role.kubernetes.io/control-plane","effect":"NoSchedule"},
                 {"key":"node.kubernetes.io/unschedulable","effect":"NoSchedule"},
                 {"key":"node.kubernetes.io/unreachable","effect":"NoExecute"},
                 {"key":"soft","effect":"PreferNoSchedule"}]},
     "status":{"conditions":[{"type":"Ready","status":"False","reason":"KubeletNotReady"}]}}]})",
                                                                       settings_with()));
  ASSERT_EQ(nodes.size(), 3u);
  EXPECT_EQ(nodes[0].inventory.name, "g1");
  EXPECT_EQ(nodes[0].inventory.cpu, MilliCpu(8000));
  EXPECT_EQ(nodes[0].inventory.devices, 0);
  EXPECT_EQ(
      nodes[0].inventory.detail,
      "its kubelet does not answer: NodeStatusUnknown Kubelet stopped.; MIG mixed: 7 of nvidia.com/mig-1g.5gb left "
      "out");
  EXPECT_FALSE(nodes[0].is_ready);
  EXPECT_EQ(nodes[1].inventory.model, "T4");
  EXPECT_EQ(nodes[1].inventory.device_memory, MiB(15360));
  EXPECT_EQ(nodes[1].inventory.rack, "z1");
  EXPECT_TRUE(nodes[1].is_ready);
  EXPECT_TRUE(nodes[1].is_cordoned);
  EXPECT_EQ(nodes[1].trouble, "taint team:NoSchedule");
  EXPECT_THAT(nodes[1].inventory.detail, HasSubstr("time-slicing: 4 shares"));
  EXPECT_EQ(nodes[2].trouble,
            "not ready: KubeletNotReady; taint node.kubernetes.io/unreachable:NoExecute; control plane: taint "
            "node-role.kubernetes.io/control-plane:NoSchedule; cordoned");
}

TEST(KubernetesNodes, ModelNames) {
  EXPECT_EQ(kubernetes_model_name("NVIDIA-A100-SXM4-80GB"), "A100");
  EXPECT_EQ(kubernetes_model_name("NVIDIA-H100-80GB-HBM3"), "H100");
  EXPECT_EQ(kubernetes_model_name("Tesla-V100-SXM2-32GB"), "V100");
  EXPECT_EQ(kubernetes_model_name("NVIDIA-GeForce-RTX-4090"), "RTX4090");
  EXPECT_EQ(kubernetes_model_name("NVIDIA-L40S-SHARED"), "L40S");
  EXPECT_EQ(kubernetes_model_name("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"), "A100-1g.5gb");
  EXPECT_EQ(kubernetes_model_name(""), "");
}

KubernetesPod pod_from(const std::string& status, const std::string& spec = "{}", const std::string& metadata = "") {
  return must(read_kubernetes_pods(R"({"kind":"Pod","metadata":{"name":"berth-3fa9c2-1-1-0-0")" + metadata +
                                       R"(},"spec":)" + spec + R"(,"status":)" + status + "}",
                                   "nvidia.com/gpu"))
      .front();
}

TEST(KubernetesPods, WhatTheirStatusMeansForATask) {
  const auto main_is = [](const std::string& phase, const std::string& state, const std::string& more = "") {
    return R"({"phase":")" + phase + R"(","containerStatuses":[{"name":"istio-proxy","state":{"running":{}}},)" +
           R"({"name":"main","state":)" + state + "}]" + more + "}";
  };
  struct Row {
    std::string status;
    TaskPhase phase;
    std::int32_t exit_code;
    std::int32_t signal;
    std::string detail;
  };
  const std::vector<Row> rows = {
      {R"({"phase":"Pending"})", TaskPhase::kStarting, 0, 0, ""},
      {"{}", TaskPhase::kStarting, 0, 0, ""},
      {main_is("Pending", R"({"waiting":{"reason":"ImagePullBackOff","message":"Back-off pulling image"}})"),
       TaskPhase::kStarting, 0, 0, "ImagePullBackOff: Back-off pulling image"},
      {main_is("Running", R"({"running":{"startedAt":"2026-11-20T20:00:00Z"}})"), TaskPhase::kRunning, 0, 0, ""},
      {R"({"phase":"Unknown","reason":"NodeLost","message":"Node n1 is gone"})", TaskPhase::kRunning, 0, 0,
       "NodeLost: Node n1 is gone"},
      {main_is("Succeeded", R"({"terminated":{"exitCode":0,"reason":"Completed"}})"), TaskPhase::kEnded, 0, 0, ""},
      // The sidecar outlives it; without one Kubernetes is about to say how the pod ended.
      {main_is("Running", R"({"terminated":{"exitCode":0,"reason":"Completed"}})"), TaskPhase::kEnded, 0, 0, ""},
      {main_is("Running", R"({"terminated":{"exitCode":3,"reason":"Error"}})"), TaskPhase::kEnded, 3, 0, ""},
      {R"({"phase":"Running","containerStatuses":[{"name":"main","state":{"terminated":{"exitCode":0}}}]})",
       TaskPhase::kRunning, 0, 0, ""},
      {main_is("Failed", R"({"terminated":{"exitCode":3,"reason":"Error"}})"), TaskPhase::kEnded, 3, 0, ""},
      {main_is("Failed", R"({"terminated":{"exitCode":143,"reason":"Error"}})"), TaskPhase::kEnded, 143, 15, ""},
      {main_is("Failed", R"({"terminated":{"exitCode":137,"reason":"OOMKilled"}})"), TaskPhase::kEnded, 137, 9,
       "OOMKilled"},
      {R"({"phase":"Failed","reason":"OutOfnvidia.com/gpu","message":"Node didn't have enough resource"})",
       TaskPhase::kVanished, 0, 0, "OutOfnvidia.com/gpu: Node didn't have enough resource"},
      {R"({"phase":"Failed","reason":"Evicted","message":"The node was low on resource: memory."})",
       TaskPhase::kVanished, 0, 0, "Evicted: The node was low on resource: memory."},
      {main_is("Failed", R"({"terminated":{"exitCode":137,"reason":"Error"}})",
               R"(,"reason":"DeadlineExceeded","message":"Pod was active on the node longer than the deadline")"),
       TaskPhase::kEnded, 137, 9, "DeadlineExceeded: Pod was active on the node longer than the deadline"},
      {main_is("Failed", R"({"terminated":{"exitCode":137,"reason":"ContainerStatusUnknown"}})"), TaskPhase::kVanished,
       137, 9, "ContainerStatusUnknown"},
      {main_is("Failed", R"({"terminated":{"exitCode":255,"reason":"Unknown"}})"), TaskPhase::kVanished, 255, 0,
       "Unknown"},
      {R"({"phase":"Failed"})", TaskPhase::kEnded, 1, 0, "its pod failed and does not say why"},
  };
  for (const Row& row : rows) {
    const TaskObservation seen = observe_pod(pod_from(row.status), {1, 1, 0, 0});
    EXPECT_EQ(seen.phase, row.phase) << row.status;
    EXPECT_EQ(seen.exit_code, row.exit_code) << row.status;
    EXPECT_EQ(seen.signal, row.signal) << row.status;
    EXPECT_EQ(seen.detail, row.detail) << row.status;
    EXPECT_EQ(seen.is_out_of_memory, row.detail == "OOMKilled");
    EXPECT_EQ(seen.is_out_of_time, row.detail.starts_with("DeadlineExceeded"));
    EXPECT_EQ(seen.succeeded(), row.phase == TaskPhase::kEnded && row.exit_code == 0);
  }
}

// A node that refuses pods, or cannot begin their containers, loses them; what a pod itself asks for is not its fault.
TEST(KubernetesPods, WhatNeverBeganIsLostByItsNodeOrForWhatItAsks) {
  const auto seen = [](const std::string& status) { return observe_pod(pod_from(status), {1, 1, 0, 0}); };
  const auto failed = [](const std::string& reason) { return R"({"phase":"Failed","reason":")" + reason + R"("})"; };
  const auto ended = [](const std::string& reason) {
    return R"({"phase":"Failed","containerStatuses":[{"name":"main","state":{"terminated":{"exitCode":128,"reason":")" +
           reason + R"(","message":"nvml error"}}}]})";
  };
  const TaskObservation broken = seen(ended("StartError"));
  EXPECT_EQ(broken.phase, TaskPhase::kVanished);
  EXPECT_EQ(broken.begin, TaskBegin::kLost);
  EXPECT_EQ(broken.detail, "StartError: nvml error");
  EXPECT_EQ(seen(ended("Error")).begin, TaskBegin::kBegan);
  EXPECT_EQ(seen(failed("UnexpectedAdmissionError")).begin, TaskBegin::kLost);
  const TaskObservation unfit = seen(failed("TopologyAffinityError"));
  EXPECT_EQ(unfit.phase, TaskPhase::kVanished);
  EXPECT_EQ(unfit.begin, TaskBegin::kUnknown);
}

TEST(KubernetesPods, OneThatWasToldToEndMaySayThatItWasDone) {
  const auto ended = [](const std::string& message) {
    return observe_pod(pod_from(R"({"phase":"Succeeded","containerStatuses":[{"name":"main","state":{"terminated":)"
                                R"({"exitCode":0,"reason":"Completed","message":")" +
                                message + R"("}}}]})"),
                       {1, 1, 0, 0});
  };
  EXPECT_TRUE(ended("done\\n").said_done);
  EXPECT_FALSE(ended("saved").said_done);
  EXPECT_FALSE(ended("").said_done);
}

TEST(KubernetesPods, WhatDoesNotStartByItselfIsStuck) {
  const auto waits = [](const std::string& reason) {
    return observe_pod(pod_from(R"({"phase":"Pending","containerStatuses":[{"name":"main","state":{"waiting":)"
                                R"({"reason":")" +
                                reason + R"(","message":"x"}}}]})"),
                       {1, 1, 0, 0});
  };
  EXPECT_TRUE(waits("ImagePullBackOff").is_stuck);
  EXPECT_EQ(waits("ImagePullBackOff").detail, "ImagePullBackOff: x");
  EXPECT_FALSE(waits("ContainerCreating").is_stuck);
}

TEST(KubernetesPods, WhatTheyHold) {
  const KubernetesPod pod = pod_from(R"({"phase":"Running","startTime":"2026-11-20T20:00:00Z"})", R"({"nodeName":"n1",
    "overhead":{"cpu":"100m","memory":"10Mi"},
    "initContainers":[{"resources":{"requests":{"cpu":"4","memory":"1Mi"}}},
                      {"restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}}],
    "containers":[{"resources":{"requests":{"cpu":"500m","memory":"1Gi"},"limits":{"cpu":"8","nvidia.com/gpu":"2"}}},
                  {"resources":{"limits":{"cpu":"1","nvidia.com/gpu":1}}}]})");
  EXPECT_EQ(pod.cpu, MilliCpu(4100));
  EXPECT_EQ(pod.memory, MiB(1034));
  EXPECT_EQ(pod.gpu_count, 3);
  EXPECT_EQ(pod.started, must(read_time("2026-11-20 20:00:00")));
}

TEST(KubernetesPods, HalfAnAnswerIsNoAnswer) {
  for (const std::string_view text : {"", R"({"kind":"List","items":[{"metadata":)", "[]", "Unable to connect"})
    EXPECT_EQ(read_kubernetes_pods(text, "nvidia.com/gpu").status().code(), Code::kUnavailable) << text;
}

// "No pods" would mean that every task is gone.
TEST(KubernetesPods, AnAnswerOfAnotherShapeIsNoAnswer) {
  std::string deep = R"({"kind":"PodList","items":[{"metadata":{"name":"a"},"spec":)";
  for (int i = 0; i < 100000; ++i) deep += R"({"a":[)";
  for (int i = 0; i < 100000; ++i) deep += "]}";
  deep += "}]}";
  const std::vector<std::string> texts = {
      "{}",
      R"({"items":[]})",
      R"({"kind":"Status","status":"Failure","message":"etcdserver: leader changed"})",
      R"({"kind":"Foo","items":[]})",
      R"({"kind":"Foo","items":{"a":1}})",
      R"({"kind":"NodeList","items":[]})",
      R"({"kind":"Pod","metadata":{}})",
      R"({"kind":"PodList"})",
      R"({"kind":"PodList","items":null})",
      R"({"kind":"PodList","items":{}})",
      R"({"kind":"PodList","items":[null]})",
      R"({"kind":"PodList","items":[1]})",
      R"({"kind":"PodList","items":[[]]})",
      R"({"kind":"PodList","items":[{"metadata":{"name":"a"}},{"metadata":null}]})",
      R"({"kind":"PodList","items":[{"metadata":{"name":5}}]})",
      R"({"kind":"List","items":[{"kind":"Status","metadata":{"name":"a"}}]})",
      deep,
  };
  for (const std::string& text : texts) {
    EXPECT_EQ(read_kubernetes_pods(text, "nvidia.com/gpu").status().code(), Code::kUnavailable) << text.substr(0, 80);
  }
  EXPECT_EQ(
      read_kubernetes_nodes(R"({"kind":"List","items":[{"kind":"Pod","metadata":{"name":"a"}}]})", settings_with())
          .status()
          .code(),
      Code::kUnavailable);
  for (const std::string_view none : {R"({"kind":"PodList","items":[]})", R"({"kind":"List","items":[]})"})
    EXPECT_TRUE(must(read_kubernetes_pods(none, "nvidia.com/gpu")).empty());
}

TEST(KubernetesPods, CodesThatCannotBeAreRefused) {
  const auto read = [](const std::string& ended) {
    return read_kubernetes_pods(R"({"kind":"Pod","metadata":{"name":"a"},"status":{"phase":"Failed",)"
                                R"("containerStatuses":[{"name":"main","state":{"terminated":)" +
                                    ended + "}}]}}",
                                "nvidia.com/gpu");
  };
  for (const char* ended :
       {R"({"exitCode":4294967296})", R"({"exitCode":18446744073709551615})", R"({"exitCode":-99999999999})",
        R"({"exitCode":"0"})", R"({"exitCode":1.5})", R"({"exitCode":1,"signal":-99999999999})",
        R"({"exitCode":1,"signal":-1})", R"({"exitCode":1,"signal":65})"})
    EXPECT_EQ(read(ended).status().code(), Code::kUnavailable) << ended;
  EXPECT_EQ(must(read(R"({"exitCode":-1073741510})")).front().exit_code, -1073741510);
  EXPECT_EQ(must(read(R"({"exitCode":255,"signal":64})")).front().signal, 64);
}

TEST(Kubectl, WhatWentWrong) {
  const std::vector<KubectlFailure> failures = read_kubectl_failures(
      "Warning: would violate PodSecurity\n"
      "Error from server (AlreadyExists): error when creating \"STDIN\": pods \"a\" already exists\n"
      "Error from server (Conflict): Operation cannot be fulfilled on pods/binding \"a\"\n"
      "The Pod \"b\" is invalid: \n"
      "* spec.containers[0].image: Required value\n"
      "error: You must be logged in to the server (Unauthorized)\n"
      "error: error from server (NotFound): pods \"c\" not found in namespace \"berth\"\n"
      "Error from server: etcdserver: leader changed\n"
      "Unable to connect to the server: EOF\n");
  const std::vector<KubectlReason> reasons = {
      KubectlReason::kExists,   KubectlReason::kConflict, KubectlReason::kInvalid, KubectlReason::kUnauthorized,
      KubectlReason::kNotFound, KubectlReason::kOther,    KubectlReason::kOther};
  ASSERT_EQ(failures.size(), reasons.size());
  for (std::size_t i = 0; i < reasons.size(); ++i) EXPECT_EQ(failures[i].reason, reasons[i]) << failures[i].message;
  EXPECT_EQ(failures[2].message, "The Pod \"b\" is invalid: * spec.containers[0].image: Required value");
}

TEST(Kubectl, EvictionsAsTheServerListsThem) {
  EXPECT_EQ(read_eviction_version(R"({"resources":[{"name":"pods"},{"name":"pods/eviction","group":"policy",
    "version":"v1beta1","kind":"Eviction"}]})"),
            "v1beta1");
  EXPECT_EQ(read_eviction_version(R"({"resources":[{"name":"pods"}]})"), "");
  EXPECT_EQ(read_eviction_version("half"), "");
}

TEST(KubernetesNodes, ANodeWithoutTheLabelOfItsModelSaysWhich) {
  const std::vector<KubernetesNode> nodes = must(read_kubernetes_nodes(R"({"kind":"NodeList","items":[
    {"metadata":{"name":"g1"},"status":{"allocatable":{"cpu":8,"memory":"1Gi","nvidia.com/gpu":"2"}}}]})",
                                                                       settings_with()));
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_EQ(nodes[0].inventory.devices, 2);
  EXPECT_EQ(nodes[0].inventory.model, "");
  EXPECT_EQ(nodes[0].inventory.model_from, "label nvidia.com/gpu.product");
}

// Recorded from an API server of version 1.20.
class KubernetesRecorded : public testing::Test {
 protected:
  static std::string recorded(const std::string& name) {
    const char* shared = std::getenv("BERTH_SHARED");
    const std::string folder = shared == nullptr ? "../shared" : shared;
    std::ifstream file(folder + "/executors/kubernetes-fixtures/" + name);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  void SetUp() override {
    if (recorded("node.json").empty()) GTEST_SKIP() << "BERTH_SHARED has no recorded replies of an API server";
  }
};

TEST_F(KubernetesRecorded, NodesAndPods) {
  const std::vector<KubernetesNode> nodes = must(read_kubernetes_nodes(recorded("node.json"), settings_with()));
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_EQ(nodes[0].inventory.cpu, MilliCpu(63000));
  EXPECT_EQ(nodes[0].inventory.devices, 8);
  EXPECT_EQ(nodes[0].inventory.model, "A100");
  EXPECT_EQ(nodes[0].inventory.device_memory, MiB(81920));
  EXPECT_EQ(nodes[0].inventory.rack, "rack-a");
  EXPECT_EQ(nodes[0].trouble, "taint node.kubernetes.io/not-ready:NoSchedule");
  const auto read = [](const std::string& name) {
    return must(read_kubernetes_pods(recorded(name), "nvidia.com/gpu")).front();
  };
  EXPECT_EQ(read("pod-pending.json").node, "");
  EXPECT_EQ(read("pod-bound.json").node, "gpu-2");
  EXPECT_EQ(read("pod-bound.json").gpu_count, 2);
  EXPECT_EQ(observe_pod(read("pod-bound.json"), {42, 1, 0, 0}).phase, TaskPhase::kStarting);
  const TaskObservation failed = observe_pod(read("pod-failed.json"), {42, 1, 0, 0});
  EXPECT_EQ(failed.phase, TaskPhase::kEnded);
  EXPECT_EQ(failed.exit_code, 3);
}

}  // namespace
}  // namespace berth
