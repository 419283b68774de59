#include "tests/kubernetes/stub_api_server.h"

#define CPPHTTPLIB_OPENSSL_SUPPORT
#include <fmt/format.h>
#include <httplib.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "tests/kubernetes/stub_store.h"

namespace berth::test {

namespace {

struct Certificate {
  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key{EVP_EC_gen("P-256"), EVP_PKEY_free};
  std::unique_ptr<X509, decltype(&X509_free)> body{X509_new(), X509_free};

  // Signed by itself, for 127.0.0.1, for a day. Its key never leaves this process.
  Certificate() {
    X509_set_version(body.get(), 2);
    ASN1_INTEGER_set(X509_get_serialNumber(body.get()), 1);
    X509_gmtime_adj(X509_getm_notBefore(body.get()), -60);
    X509_gmtime_adj(X509_getm_notAfter(body.get()), 86400);
    X509_set_pubkey(body.get(), key.get());
    X509_NAME* name = X509_get_subject_name(body.get());
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("stub"), -1, -1, 0);
    X509_set_issuer_name(body.get(), name);
    add(NID_subject_alt_name, "IP:127.0.0.1");
    add(NID_basic_constraints, "critical,CA:TRUE");
    X509_sign(body.get(), key.get(), EVP_sha256());
  }

  std::string pem() const {
    std::unique_ptr<BIO, decltype(&BIO_free)> memory(BIO_new(BIO_s_mem()), BIO_free);
    PEM_write_bio_X509(memory.get(), body.get());
    char* text = nullptr;
    const long length = BIO_get_mem_data(memory.get(), &text);
    return std::string(text, static_cast<std::size_t>(length));
  }

 private:
  void add(int what, const char* value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, body.get(), body.get(), nullptr, nullptr, 0);
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, what, value);
    X509_add_ext(body.get(), extension, -1);
    X509_EXTENSION_free(extension);
  }
};

// Closes this process's end of the connection with that remote port, whatever the library thinks of it.
void cut_connection(int remote_port) {
  for (int file = 3; file < 1024; ++file) {
    sockaddr_in peer{};
    socklen_t length = sizeof peer;
    if (getpeername(file, reinterpret_cast<sockaddr*>(&peer), &length) == 0 && peer.sin_family == AF_INET &&
        ntohs(peer.sin_port) == remote_port) {
      shutdown(file, SHUT_RDWR);
    }
  }
}

}  // namespace

struct StubApiServer::Inside {
  Certificate certificate;
  httplib::SSLServer server{certificate.body.get(), certificate.key.get()};
  std::thread thread;
  std::string folder;
  std::string kubeconfig;
  int port = 0;

  mutable std::mutex mutex;
  StubStore store;
  std::vector<Fault> faults;
  std::vector<std::string> requests;

  std::string write_kubeconfig(const std::string& token) const {
    const Json config = {
        {"apiVersion", "v1"},
        {"kind", "Config"},
        {"current-context", "stub"},
        {"clusters",
         {{{"name", "stub"},
           {"cluster",
            {{"server", fmt::format("https://127.0.0.1:{}", port)}, {"certificate-authority", folder + "/ca.crt"}}}}}},
        {"users", {{{"name", "berth"}, {"user", {{"token", token}}}}}},
        {"contexts", {{{"name", "stub"}, {"context", {{"cluster", "stub"}, {"user", "berth"}}}}}}};
    const std::string path = folder + "/kubeconfig-" + token;
    std::ofstream(path) << config.dump(1);
    return path;
  }

  std::optional<Fault> fault_for(const StubRequest& request) {
    for (Fault& fault : faults) {
      if (fault.times == 0 || fault.method != request.method) continue;
      if (request.path.find(fault.path_part) == std::string::npos) continue;
      if (fault.skip > 0) {
        --fault.skip;
        continue;
      }
      --fault.times;
      return fault;
    }
    return std::nullopt;
  }

  StubReply answer(const StubRequest& request, const std::string& token, std::optional<Fault>& fault) {
    const std::lock_guard lock(mutex);
    requests.push_back(request.method + " " + request.path);
    if (token != "Bearer good") return {401, status_object(401, "Unauthorized", "Unauthorized").dump()};
    fault = fault_for(request);
    const bool is_carried_out = !fault || fault->is_done || fault->kind == FaultKind::kHang || request.method == "GET";
    StubReply reply = is_carried_out ? store.answer(request) : StubReply{};
    if (fault && fault->kind == FaultKind::kAnswer) reply = {fault->status, fault->body.dump()};
    return reply;
  }

  void serve(const httplib::Request& in, httplib::Response& out) {
    StubRequest request{in.method, in.path, {}, in.body};
    for (const auto& [name, value] : in.params) request.query[name] = value;
    std::optional<Fault> fault;
    const StubReply reply = answer(request, in.get_header_value("Authorization"), fault);
    if (fault && fault->kind == FaultKind::kHang)
      std::this_thread::sleep_for(std::chrono::duration<double>(fault->seconds));
    if (fault && fault->kind == FaultKind::kReset) cut_connection(in.remote_port);
    if (fault && fault->kind == FaultKind::kAnswer && fault->status == 429) out.set_header("Retry-After", "1");
    out.status = reply.status;
    if (fault && fault->kind == FaultKind::kHalf) {
      const int remote_port = in.remote_port;
      out.set_content_provider(reply.body.size(), reply.type.c_str(),
                               [body = reply.body, remote_port](std::size_t, std::size_t, httplib::DataSink& sink) {
                                 sink.write(body.data(), body.size() / 2);
                                 cut_connection(remote_port);
                                 return false;
                               });
      return;
    }
    out.set_content(reply.body, reply.type.c_str());
  }
};

StubApiServer::StubApiServer() : inside_(std::make_unique<Inside>()) {
  std::string pattern = std::filesystem::temp_directory_path() / "berth-kubernetes-XXXXXX";
  inside_->folder = mkdtemp(pattern.data());
  std::ofstream(inside_->folder + "/ca.crt") << inside_->certificate.pem();
  const auto serve = [this](const httplib::Request& in, httplib::Response& out) { inside_->serve(in, out); };
  inside_->server.Get(".*", serve).Post(".*", serve).Delete(".*", serve).Patch(".*", serve).Put(".*", serve);
  inside_->server.set_keep_alive_timeout(1);
  inside_->port = inside_->server.bind_to_any_port("127.0.0.1");
  inside_->kubeconfig = inside_->write_kubeconfig("good");
  inside_->thread = std::thread([this] { inside_->server.listen_after_bind(); });
  while (!inside_->server.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

StubApiServer::~StubApiServer() {
  inside_->server.stop();
  inside_->thread.join();
  std::error_code error;
  std::filesystem::remove_all(inside_->folder, error);
}

const std::string& StubApiServer::kubeconfig() const { return inside_->kubeconfig; }

std::string StubApiServer::kubeconfig_of(const std::string& token) const { return inside_->write_kubeconfig(token); }

void StubApiServer::add_node(const Json& node) {
  const std::lock_guard lock(inside_->mutex);
  inside_->store.put_node(node);
}

Json StubApiServer::node(const std::string& name) {
  const std::lock_guard lock(inside_->mutex);
  return inside_->store.node(name);
}

void StubApiServer::add_pod(const Json& pod) {
  const std::lock_guard lock(inside_->mutex);
  inside_->store.put_pod(pod);
}

Json StubApiServer::pod(const std::string& name) {
  const std::lock_guard lock(inside_->mutex);
  const Json* found = inside_->store.find_pod("berth", name);
  return found == nullptr ? Json() : *found;
}

void StubApiServer::set_status(const std::string& name, const Json& status) {
  const std::lock_guard lock(inside_->mutex);
  if (Json* found = inside_->store.find_pod("berth", name)) (*found)["status"] = status;
}

void StubApiServer::remove_pod(const std::string& name) {
  const std::lock_guard lock(inside_->mutex);
  inside_->store.remove_pod(name);
}

void StubApiServer::set_log(const std::string& name, const std::string& text) {
  const std::lock_guard lock(inside_->mutex);
  inside_->store.logs[name] = text;
}

void StubApiServer::set_eviction_version(const std::string& version) {
  const std::lock_guard lock(inside_->mutex);
  inside_->store.eviction_version = version;
}

void StubApiServer::become_cluster(const std::string& uid) {
  const std::lock_guard lock(inside_->mutex);
  inside_->store.cluster_uid = uid;
}

void StubApiServer::fail(const Fault& fault) {
  const std::lock_guard lock(inside_->mutex);
  inside_->faults.push_back(fault);
}

std::vector<std::string> StubApiServer::requests() const {
  const std::lock_guard lock(inside_->mutex);
  return inside_->requests;
}

int StubApiServer::count(const std::string& method, const std::string& path_part) const {
  int found = 0;
  for (const std::string& request : requests())
    found += request.starts_with(method + " ") && request.find(path_part) != std::string::npos ? 1 : 0;
  return found;
}

void StubApiServer::forget_requests() {
  const std::lock_guard lock(inside_->mutex);
  inside_->requests.clear();
}

std::size_t StubApiServer::pod_count() const {
  const std::lock_guard lock(inside_->mutex);
  return inside_->store.pod_count();
}

}  // namespace berth::test
