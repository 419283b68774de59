// What the stub API server holds and how it answers, without the network: a request in, a reply out.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "tests/kubernetes/stub_api_server.h"

namespace berth::test {

struct StubRequest {
  std::string method;
  std::string path;
  std::map<std::string, std::string> query;
  std::string body;
};
struct StubReply {
  int status = 200;
  std::string body;
  std::string type = "application/json";
};

class StubStore {
 public:
  StubReply answer(const StubRequest& request);

  void put_node(Json node);
  Json node(const std::string& name) const;
  Json& put_pod(Json pod);
  Json* find_pod(const std::string& name_space, const std::string& name);
  void remove_pod(const std::string& name) { pods_.erase("berth/" + name); }

  std::string eviction_version = "v1";
  std::string cluster_uid = "8f6a";
  std::map<std::string, std::string> logs;
  std::size_t pod_count() const { return pods_.size(); }

 private:
  std::optional<StubReply> discover(const std::string& path) const;
  StubReply list(const std::map<std::string, Json>& of, const std::string& kind, const std::string& prefix,
                 const StubRequest& request) const;
  StubReply one_node(const StubRequest& request, const std::string& name);
  StubReply create_pod(const std::string& name_space, const std::string& body);
  StubReply bind(const std::string& name_space, const Json& binding);
  StubReply erase(const std::string& name_space, const std::string& name, const Json& options);
  StubReply one_pod(const StubRequest& request, const std::string& name_space, const std::string& name,
                    const std::string& part);

  std::map<std::string, Json> nodes_;
  std::map<std::string, Json> pods_;  // by "namespace/name"
  int version_ = 5000;
};

}  // namespace berth::test
