#include "tests/kubernetes/api_server.h"

namespace berth::test {

Json ready_node(const std::string& name, int devices, const Json& labels) {
  Json node = {{"apiVersion", "v1"},
               {"kind", "Node"},
               {"metadata", {{"name", name}, {"labels", {{"nvidia.com/gpu.product", "NVIDIA-A100-SXM4-80GB"}}}}},
               {"status",
                {{"allocatable", {{"cpu", "63500m"}, {"memory", "520000Mi"}, {"pods", "110"}}},
                 {"conditions", {{{"type", "Ready"}, {"status", "True"}, {"reason", "KubeletReady"}}}}}}};
  if (devices > 0) node["status"]["allocatable"]["nvidia.com/gpu"] = std::to_string(devices);
  node["metadata"]["labels"].update(labels);
  return node;
}

Json running_status() {
  const Json state = {{"running", {{"startedAt", "2026-11-20T20:00:00Z"}}}};
  return {
      {"phase", "Running"},
      {"startTime", "2026-11-20T19:59:58Z"},
      {"containerStatuses",
       {{{"name", "main"}, {"image", "i"}, {"imageID", "i"}, {"ready", true}, {"restartCount", 0}, {"state", state}}}}};
}

Json ended_status(int exit_code, const std::string& reason) {
  const Json terminated = {{"exitCode", exit_code},
                           {"reason", reason},
                           {"startedAt", "2026-11-20T20:00:00Z"},
                           {"finishedAt", "2026-11-20T20:10:00Z"}};
  Json status = running_status();
  status["phase"] = exit_code == 0 ? "Succeeded" : "Failed";
  status["containerStatuses"][0]["ready"] = false;
  status["containerStatuses"][0]["state"] = {{"terminated", terminated}};
  return status;
}

}  // namespace berth::test
