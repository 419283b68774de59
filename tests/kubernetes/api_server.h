// An API server to test against, whichever it is: the stub of this folder, or a real one.
//
// What a kubelet would do - say what became of a pod, finish a deletion - the test does through it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace berth::test {

using Json = nlohmann::json;

class ApiServer {
 public:
  virtual ~ApiServer() = default;
  // For a user with the rights of examples/kubernetes/rbac.json.
  virtual const std::string& kubeconfig() const = 0;
  virtual void add_node(const Json& node) = 0;
  virtual Json node(const std::string& name) = 0;
  // Made by somebody else, in any namespace.
  virtual void add_pod(const Json& pod) = 0;
  // Null when there is none. Of namespace "berth", as in the rest.
  virtual Json pod(const std::string& name) = 0;
  virtual void set_status(const std::string& name, const Json& status) = 0;
  // At once: what a kubelet does in the end of a deletion.
  virtual void remove_pod(const std::string& name) = 0;
};

// {"metadata":{"name":NAME,"labels":LABELS},...} of a node that is ready: 64 cores, 512 GiB, so many A100.
Json ready_node(const std::string& name, int devices, const Json& labels = Json::object());
// Status of a pod whose only container ran from 20:00:00 to 20:10:00 of 2026-11-20.
Json running_status();
Json ended_status(int exit_code, const std::string& reason);

}  // namespace berth::test
