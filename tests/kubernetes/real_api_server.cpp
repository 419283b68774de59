#include "tests/kubernetes/real_api_server.h"

namespace berth::test {

namespace {

const std::string kScript = "tests/kubernetes/real_api_server.sh";

}  // namespace

RealApiServer::RealApiServer() : kubeconfig_(folder_.path + "/kubeconfig-berth") {
  const ProcessOutput said =
      must(run_process({.command = {kScript, "start", folder_.path}, .deadline = std::chrono::seconds(70)}));
  if (!said.ok()) {
    ADD_FAILURE() << said.complaint(kScript);
    return;
  }
  admin({"apply", "--validate=false", "-f", "examples/kubernetes/rbac.yaml"});
  admin({"create", "namespace", "other"});
}

RealApiServer::~RealApiServer() {
  const Result<ProcessOutput> said = run_process({.command = {kScript, "stop", folder_.path}});
  if (!said.ok() || !said->ok()) ADD_FAILURE() << "the API server was not stopped";
}

ProcessOutput RealApiServer::admin(std::vector<std::string> words, const std::string& input) const {
  words.insert(words.begin(), {kubectl_program(), "--kubeconfig", folder_.path + "/kubeconfig-admin", "--namespace",
                               "berth", "--cache-dir", folder_.path + "/cache"});
  return must(run_process({.command = words, .input = input}));
}

void RealApiServer::replace_status(const std::string& path, const Json& status) const {
  Json object = Json::parse(admin({"get", "--raw", path}).output, nullptr, false);
  if (!object.is_object()) {
    ADD_FAILURE() << path << " is not there";
    return;
  }
  object["status"] = status;
  const ProcessOutput said = admin({"replace", "--raw", path + "/status", "-f", "-"}, object.dump());
  if (!said.ok()) ADD_FAILURE() << said.complaint("kubectl");
}

void RealApiServer::add_node(const Json& node) {
  admin({"create", "--validate=false", "-f", "-"}, node.dump());
  replace_status("/api/v1/nodes/" + node["metadata"]["name"].get<std::string>(), node["status"]);
}

Json RealApiServer::node(const std::string& name) {
  const ProcessOutput said = admin({"get", "node", name, "-o", "json"});
  return said.ok() ? Json::parse(said.output, nullptr, false) : Json();
}

void RealApiServer::add_pod(const Json& pod) {
  const ProcessOutput said =
      admin({"create", "--namespace", pod["metadata"].value("namespace", "berth"), "--validate=false", "-f", "-"},
            pod.dump());
  if (!said.ok()) ADD_FAILURE() << said.complaint("kubectl");
}

Json RealApiServer::pod(const std::string& name) {
  const ProcessOutput said = admin({"get", "pod", name, "-o", "json"});
  return said.ok() ? Json::parse(said.output, nullptr, false) : Json();
}

void RealApiServer::set_status(const std::string& name, const Json& status) {
  replace_status("/api/v1/namespaces/berth/pods/" + name, status);
}

void RealApiServer::remove_pod(const std::string& name) {
  admin({"delete", "pod", name, "--grace-period=0", "--force", "--wait=false"});
}

void RealApiServer::remove_everything() {
  for (const std::string name_space : {"berth", "other"})
    admin({"delete", "pods", "--all", "--namespace", name_space, "--grace-period=0", "--force", "--wait=false"});
  admin({"delete", "nodes", "--all", "--wait=false"});
}

}  // namespace berth::test
