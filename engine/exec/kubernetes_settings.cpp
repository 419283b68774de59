#include "engine/exec/kubernetes_settings.h"

#include <fmt/format.h>

#include "engine/base/text.h"

namespace berth {

Result<KubernetesSettings> read_kubernetes_settings(const ExecutorOptions& options) {
  KubernetesSettings settings;
  settings.kubectl = options.at("kubectl");
  settings.kubeconfig = options.at("kubeconfig");
  settings.context = options.at("context");
  settings.name_space = options.at("namespace");
  settings.image = options.at("image");
  settings.scheduler = options.at("scheduler");
  settings.runtime_class = options.at("runtime_class");
  settings.service_account = options.at("service_account");
  settings.gpu_resource = options.at("gpu_resource");
  settings.pool_label = options.at("pool_label");
  settings.is_on_host_network = options.at("host_network") == "true";
  BERTH_ASSIGN(settings.timeout, read_duration(options.at("timeout")));
  BERTH_ASSIGN(settings.keep_pods, read_duration(options.at("keep_pods")));
  for (const std::string_view key : split(options.at("tolerate"), ',')) {
    if (!trim(key).empty()) settings.tolerate.emplace_back(trim(key));
  }
  for (const std::string_view name : {"kubectl", "namespace", "scheduler", "gpu_resource"}) {
    if (options.find(name)->second.empty())
      return Status(Code::kInvalid, fmt::format("option '{}' may not be empty", name)).about(name);
  }
  if (settings.timeout < Seconds(1)) return Status(Code::kInvalid, "option 'timeout' is at least 1s").about("timeout");
  const std::string& devices = options.at("devices");
  if (devices != "plugin" && devices != "environment")
    return Status(Code::kInvalid, fmt::format("'{}' is neither plugin nor environment", devices)).in_option("devices");
  settings.has_plugin = devices == "plugin";
  return settings;
}

}  // namespace berth
