// The API server that the variable KUBE_APISERVER names, with etcd, without a kubelet: the test does a kubelet's part.
#pragma once

#include "tests/kubernetes/kubernetes_fixture.h"

namespace berth::test {

class RealApiServer : public ApiServer {
 public:
  static bool is_named() { return std::getenv("KUBE_APISERVER") != nullptr; }
  RealApiServer();
  ~RealApiServer() override;

  const std::string& kubeconfig() const override { return kubeconfig_; }
  void add_node(const Json& node) override;
  Json node(const std::string& name) override;
  void add_pod(const Json& pod) override;
  Json pod(const std::string& name) override;
  void set_status(const std::string& name, const Json& status) override;
  void remove_pod(const std::string& name) override;
  std::string kubeconfig_without_rights() const { return folder_.path + "/kubeconfig-nobody"; }
  void remove_everything();

 private:
  ProcessOutput admin(std::vector<std::string> words, const std::string& input = {}) const;
  void replace_status(const std::string& path, const Json& status) const;

  TestFolder folder_;
  std::string kubeconfig_;
};

}  // namespace berth::test
