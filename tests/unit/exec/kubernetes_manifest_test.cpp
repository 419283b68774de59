#include "engine/exec/kubernetes_manifest.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "engine/exec/kubernetes_settings.h"
#include "engine/exec/process.h"
#include "tests/builders.h"

namespace berth {
namespace {

using test::must;

class KubernetesManifest : public testing::Test {
 protected:
  KubernetesManifest() {
    launch_.key = {12, 3, 0};
    launch_.job_name = "a \"b\" \xff";
    launch_.command = "echo $HOME $(date) $$";
    launch_.environment = {{"BERTH_JOB", "forged"}, {"WORD", "x"}};
    launch_.peers = {"n1", "n2"};
    launch_.tasks = {{0, 0, 0, "n1", 0b101, kWholeDevice, MiB(0), MilliCpu(2500), MiB(4096)},
                     {1, 0, 1, "n2", 0, MilliGpu(0), MiB(0), MilliCpu(1000), MiB(0)}};
  }

  void use(const ExecutorOptions& options) {
    const ExecutorType* type = must(find_executor_type("kubernetes"));
    settings_ = must(read_kubernetes_settings(must(read_executor_options(*type, options))));
  }
  nlohmann::json pod(std::size_t task, bool is_bound_later = false) {
    const PodOrder order{&launch_, &launch_.tasks[task], "berth-3fa9c2-12-3-0-0", is_bound_later};
    return nlohmann::json::parse(write_pods(std::span(&order, 1), "3fa9c2", settings_))["items"][0];
  }
  static std::string variable(const nlohmann::json& pod, const std::string& name) {
    for (const nlohmann::json& each : pod["spec"]["containers"][0]["env"]) {
      if (each["name"] == name) return each["value"];
    }
    return "(none)";
  }

  Launch launch_;
  KubernetesSettings settings_;
};

TEST_F(KubernetesManifest, APodOfATask) {
  use({{"image", "cuda:12"}, {"runtime_class", "nvidia"}, {"service_account", "jobs"}, {"tolerate", "a, b"}});
  launch_.time_limit = Seconds(90);
  launch_.checkpoint_signal = "USR1";
  const nlohmann::json json = pod(0);
  EXPECT_EQ(json["metadata"]["labels"]["berth/database"], "3fa9c2");
  EXPECT_EQ(json["metadata"]["labels"]["berth/launch"], "berth-3fa9c2-12-3-l0");
  const nlohmann::json& spec = json["spec"];
  EXPECT_EQ(spec["nodeName"], "n1");
  EXPECT_EQ(spec["schedulerName"], "berth");
  EXPECT_EQ(spec["runtimeClassName"], "nvidia");
  EXPECT_EQ(spec["serviceAccountName"], "jobs");
  EXPECT_EQ(spec["activeDeadlineSeconds"], 90);
  EXPECT_EQ(spec["tolerations"].size(), 2u);
  const nlohmann::json& container = spec["containers"][0];
  EXPECT_EQ(container["image"], "cuda:12");
  EXPECT_EQ(container["command"][2], "echo $HOME $$(date) $$$");
  EXPECT_EQ(container["resources"]["requests"]["cpu"], "2500m");
  EXPECT_EQ(container["resources"]["limits"]["memory"], "4096Mi");
  EXPECT_EQ(container["resources"]["limits"]["nvidia.com/gpu"], "2");
  const std::string hook = container["lifecycle"]["preStop"]["exec"]["command"][2];
  EXPECT_THAT(hook, testing::HasSubstr("-USR1 1"));
  const ProcessOutput checked = must(run_process({.command = {"/bin/sh", "-n", "-c", hook}}));
  EXPECT_EQ(checked.exit_code, 0) << checked.error;  // Kubernetes does not undo doubled dollars in a hook
  EXPECT_EQ(variable(json, "BERTH_JOB"), "12");      // Berth's own cannot be forged
  EXPECT_EQ(variable(json, "WORD"), "x");
  EXPECT_EQ(variable(json, "BERTH_PEERS"), "n1,n2");
  EXPECT_EQ(variable(json, "BERTH_GANG_SIZE"), "2");
  EXPECT_EQ(variable(json, "BERTH_CPUS"), "2.5");
  EXPECT_EQ(variable(json, "BERTH_GPU_SHARE"), "1000");
  EXPECT_EQ(variable(json, "NVIDIA_VISIBLE_DEVICES"), "(none)");  // the device plugin sets it
  EXPECT_FALSE(pod(0, true)["spec"].contains("nodeName"));
}

TEST_F(KubernetesManifest, TasksWithoutDevicesSeeNone) {
  use({{"image", "cuda:12"}});
  const nlohmann::json json = pod(1);
  EXPECT_EQ(variable(json, "NVIDIA_VISIBLE_DEVICES"), "void");
  EXPECT_FALSE(json["spec"]["containers"][0]["resources"]["limits"].contains("nvidia.com/gpu"));
  EXPECT_FALSE(json["spec"]["containers"][0]["resources"]["limits"].contains("memory"));
  EXPECT_EQ(json["spec"]["automountServiceAccountToken"], false);
}

TEST_F(KubernetesManifest, DevicesByTheEnvironment) {
  use({{"image", "cuda:12"}, {"devices", "environment"}});
  launch_.tasks[0].gpu_milli = MilliGpu(250);
  EXPECT_EQ(why_no_pods(launch_, settings_), "");
  const nlohmann::json json = pod(0);
  EXPECT_EQ(variable(json, "NVIDIA_VISIBLE_DEVICES"), "0,2");
  EXPECT_EQ(variable(json, "BERTH_GPU_SHARE"), "250");
  EXPECT_FALSE(json["spec"]["containers"][0]["resources"]["limits"].contains("nvidia.com/gpu"));
}

TEST_F(KubernetesManifest, DollarsArriveAsTheyWere) {
  EXPECT_EQ(keep_dollars("$HOME ${A} 5$"), "$HOME ${A} 5$");
  EXPECT_EQ(keep_dollars("$(date)"), "$$(date)");
  EXPECT_EQ(keep_dollars("$$"), "$$$");
  EXPECT_EQ(keep_dollars("$$(x)"), "$$$$(x)");
}

TEST_F(KubernetesManifest, OptionsThatCannotBe) {
  const ExecutorType* type = must(find_executor_type("kubernetes"));
  for (const auto& [name, value] :
       {std::pair("devices", "mps"), std::pair("namespace", ""), std::pair("timeout", "0s")})
    EXPECT_EQ(read_kubernetes_settings(must(read_executor_options(*type, {{name, value}}))).status().code(),
              Code::kInvalid)
        << name;
}

}  // namespace
}  // namespace berth
