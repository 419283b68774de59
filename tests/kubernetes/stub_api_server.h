// A Kubernetes API server in little: nodes and pods in memory, over TLS with a certificate made at start.
//
// It knows what kubectl asks for on Berth's behalf: discovery, lists with selectors and chunks, creation, binding,
// eviction, deletion, labels, logs; and answers as the real one does (tests/kubernetes runs the same suite against a
// real one where there is one). On demand it fails: with any answer, late, with half an answer, or by closing the
// connection, before or after it has done what was asked.
#pragma once

#include <memory>
#include <vector>

#include "tests/kubernetes/api_server.h"

namespace berth::test {

enum class FaultKind {
  kAnswer,  // `status` with `body`
  kHang,    // for `seconds`, then as asked
  kHalf,    // the first half of the real answer, then the connection closes
  kReset,   // the connection closes without an answer
};
struct Fault {
  std::string method;
  std::string path_part;
  FaultKind kind = FaultKind::kAnswer;
  int status = 500;
  Json body = {};
  bool is_done = false;  // what was asked is carried out all the same
  int skip = 0;          // so many such requests first go well
  int times = 1;
  double seconds = 0;
};

// {"kind":"Status",...}, as every refusal looks.
Json status_object(int code, const std::string& reason, const std::string& message);

class StubApiServer : public ApiServer {
 public:
  StubApiServer();
  ~StubApiServer() override;

  const std::string& kubeconfig() const override;
  std::string kubeconfig_of(const std::string& token) const;
  void add_node(const Json& node) override;
  Json node(const std::string& name) override;
  void add_pod(const Json& pod) override;
  Json pod(const std::string& name) override;
  void set_status(const std::string& name, const Json& status) override;
  void remove_pod(const std::string& name) override;

  void set_log(const std::string& name, const std::string& text);
  void become_cluster(const std::string& uid);            // another one, with what it has
  void set_eviction_version(const std::string& version);  // "v1", "v1beta1", "" = there is none
  void fail(const Fault& fault);
  // "POST /api/v1/namespaces/berth/pods", in the order they came.
  std::vector<std::string> requests() const;
  int count(const std::string& method, const std::string& path_part) const;
  void forget_requests();
  std::size_t pod_count() const;

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace berth::test
