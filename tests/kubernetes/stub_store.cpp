#include "tests/kubernetes/stub_store.h"

#include <fmt/format.h>

#include "engine/base/text.h"

namespace berth::test {

namespace {

StubReply as_json(const Json& body, int status = 200) { return {status, body.dump()}; }

StubReply failure(int code, const std::string& reason, const std::string& message) {
  return as_json(status_object(code, reason, message), code);
}

StubReply no_such_pod(const std::string& name) {
  return failure(404, "NotFound", fmt::format("pods \"{}\" not found", name));
}

// "a=b", "a!=b", "a", "a in (b,c)".
bool term_holds(std::string_view term, const Json& labels) {
  const auto value = [&](std::string_view key) -> std::optional<std::string> {
    const auto found = labels.find(std::string(trim(key)));
    return found == labels.end() ? std::nullopt : std::optional(found->get<std::string>());
  };
  if (const std::size_t in = term.find(" in ("); in != std::string_view::npos) {
    const auto have = value(term.substr(0, in));
    for (const std::string_view each : split(term.substr(in + 5, term.size() - in - 6), ',')) {
      if (have == trim(each)) return true;
    }
    return false;
  }
  if (const std::size_t differs = term.find("!="); differs != std::string_view::npos)
    return value(term.substr(0, differs)) != term.substr(differs + 2);
  if (const std::size_t equals = term.find('='); equals != std::string_view::npos)
    return value(term.substr(0, equals)) == term.substr(equals + 1);
  return value(term).has_value();
}

bool selector_holds(std::string_view selector, const Json& labels) {
  int depth = 0;
  std::string term;
  for (const char c : std::string(selector) + ",") {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c != ',' || depth > 0) {
      term += c;
      continue;
    }
    if (!trim(term).empty() && !term_holds(trim(term), labels)) return false;
    term.clear();
  }
  return true;
}

bool is_selected(const Json& object, const StubRequest& request) {
  const Json labels = object["metadata"].value("labels", Json::object());
  const auto by_label = request.query.find("labelSelector");
  if (by_label != request.query.end() && !selector_holds(by_label->second, labels)) return false;
  const auto by_field = request.query.find("fieldSelector");
  if (by_field == request.query.end()) return true;
  const Json fields = {{"status.phase", object.value("/status/phase"_json_pointer, "")},
                       {"spec.nodeName", object.value("/spec/nodeName"_json_pointer, "")},
                       {"metadata.name", object["metadata"]["name"]}};
  return selector_holds(by_field->second, fields);
}

std::vector<std::string> path_words(const std::string& path) {
  std::vector<std::string> words;
  for (const std::string_view word : split(path, '/')) {
    if (!word.empty()) words.emplace_back(word);
  }
  return words;
}

Json resource(const std::string& name, const std::string& kind, bool is_namespaced, const Json& more = Json::object()) {
  Json row = {{"name", name},
              {"singularName", to_lower(kind)},
              {"namespaced", is_namespaced},
              {"kind", kind},
              {"verbs", {"create", "delete", "get", "list", "patch", "update", "watch"}}};
  row.update(more);
  return row;
}

}  // namespace

Json status_object(int code, const std::string& reason, const std::string& message) {
  return {{"kind", "Status"},    {"apiVersion", "v1"}, {"metadata", Json::object()},
          {"status", "Failure"}, {"message", message}, {"reason", reason},
          {"code", code}};
}

void StubStore::put_node(Json node) {
  const std::string name = node["metadata"]["name"];
  node["metadata"]["resourceVersion"] = std::to_string(++version_);
  nodes_[name] = std::move(node);
}

Json StubStore::node(const std::string& name) const {
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? Json() : found->second;
}

Json& StubStore::put_pod(Json pod) {
  Json& metadata = pod["metadata"];
  if (!metadata.contains("namespace")) metadata["namespace"] = "berth";
  metadata["uid"] = fmt::format("uid-{}", ++version_);
  metadata["resourceVersion"] = std::to_string(version_);
  metadata["creationTimestamp"] = "2026-11-20T19:59:00Z";
  if (!pod.contains("status")) pod["status"] = {{"phase", "Pending"}};
  const std::string key = metadata["namespace"].get<std::string>() + "/" + metadata["name"].get<std::string>();
  return pods_[key] = std::move(pod);
}

Json* StubStore::find_pod(const std::string& name_space, const std::string& name) {
  const auto found = pods_.find(name_space + "/" + name);
  return found == pods_.end() ? nullptr : &found->second;
}

std::optional<StubReply> StubStore::discover(const std::string& path) const {
  if (path == "/version")
    return as_json({{"major", "1"}, {"minor", eviction_version == "v1" ? "29" : "20"}, {"gitVersion", "v1.29.0"}});
  if (path == "/api") return as_json({{"kind", "APIVersions"}, {"versions", {"v1"}}});
  if (path == "/apis") return as_json({{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", Json::array()}});
  if (path != "/api/v1") return std::nullopt;
  Json resources = {resource("namespaces", "Namespace", false, {{"shortNames", {"ns"}}}),
                    resource("nodes", "Node", false),
                    resource("pods", "Pod", true, {{"shortNames", {"po"}}}),
                    resource("bindings", "Binding", true, {{"verbs", {"create"}}}),
                    resource("pods/binding", "Binding", true),
                    resource("pods/log", "Pod", true)};
  if (!eviction_version.empty())
    resources.push_back(
        resource("pods/eviction", "Eviction", true, {{"group", "policy"}, {"version", eviction_version}}));
  return as_json({{"kind", "APIResourceList"}, {"groupVersion", "v1"}, {"resources", resources}});
}

StubReply StubStore::list(const std::map<std::string, Json>& of, const std::string& kind, const std::string& prefix,
                          const StubRequest& request) const {
  std::vector<const Json*> selected;
  for (const auto& [key, object] : of) {
    if (key.starts_with(prefix) && is_selected(object, request)) selected.push_back(&object);
  }
  const auto number = [&](const char* name) {
    const auto found = request.query.find(name);
    return found == request.query.end() ? std::size_t{0} : static_cast<std::size_t>(std::stoul(found->second));
  };
  const std::size_t from = number("continue");
  const std::size_t limit = number("limit");
  const std::size_t to = limit == 0 ? selected.size() : std::min(selected.size(), from + limit);
  Json items = Json::array();
  for (std::size_t i = from; i < to; ++i) items.push_back(*selected[i]);
  Json metadata = {{"resourceVersion", std::to_string(version_)}};
  if (to < selected.size()) metadata["continue"] = std::to_string(to);
  return as_json({{"kind", kind}, {"apiVersion", "v1"}, {"metadata", metadata}, {"items", items}});
}

// A patch that names a version holds for that one only.
StubReply StubStore::one_node(const StubRequest& request, const std::string& name) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return failure(404, "NotFound", fmt::format("nodes \"{}\" not found", name));
  if (request.method != "PATCH") return as_json(found->second);
  const Json patch = Json::parse(request.body);
  const std::string version = patch.value("/metadata/resourceVersion"_json_pointer, "");
  if (!version.empty() && version != found->second["metadata"]["resourceVersion"])
    return failure(409, "Conflict",
                   fmt::format("Operation cannot be fulfilled on nodes \"{}\": the object has been modified; please "
                               "apply your changes to the latest version and try again",
                               name));
  Json node = found->second;
  node.merge_patch(patch);
  put_node(node);
  return as_json(this->node(name));
}

StubReply StubStore::create_pod(const std::string& name_space, const std::string& body) {
  Json pod = Json::parse(body);
  const std::string name = pod["metadata"]["name"];
  if (find_pod(name_space, name) != nullptr)
    return failure(409, "AlreadyExists", fmt::format("pods \"{}\" already exists", name));
  for (const Json& container : pod["spec"]["containers"]) {
    if (trim(container.value("image", "")).empty())
      return failure(422, "Invalid",
                     fmt::format("Pod \"{}\" is invalid: spec.containers[0].image: Required value", name));
  }
  pod["metadata"]["namespace"] = name_space;
  return as_json(put_pod(std::move(pod)), 201);
}

StubReply StubStore::bind(const std::string& name_space, const Json& binding) {
  const std::string name = binding["metadata"]["name"];
  Json* pod = find_pod(name_space, name);
  if (pod == nullptr) return no_such_pod(name);
  if ((*pod)["spec"].contains("nodeName")) {
    return failure(409, "Conflict",
                   fmt::format("Operation cannot be fulfilled on pods/binding \"{}\": pod {} is already assigned to "
                               "node \"{}\"",
                               name, name, (*pod)["spec"]["nodeName"].get<std::string>()));
  }
  (*pod)["spec"]["nodeName"] = binding["target"]["name"];
  return as_json({{"kind", "Status"}, {"apiVersion", "v1"}, {"status", "Success"}, {"code", 201}}, 201);
}

// What runs on a node goes when its kubelet says so (see remove_pod), the rest at once.
StubReply StubStore::erase(const std::string& name_space, const std::string& name, const Json& options) {
  Json* pod = find_pod(name_space, name);
  if (pod == nullptr) return no_such_pod(name);
  const std::string phase = (*pod)["status"].value("phase", "");
  const int grace = options.value("gracePeriodSeconds", 30);
  const bool is_held = (*pod)["spec"].contains("nodeName") && phase != "Succeeded" && phase != "Failed" && grace > 0;
  (*pod)["metadata"]["deletionTimestamp"] = "2026-11-20T20:05:00Z";
  (*pod)["metadata"]["deletionGracePeriodSeconds"] = grace;
  StubReply reply = as_json(*pod);
  if (!is_held) pods_.erase(name_space + "/" + name);
  return reply;
}

StubReply StubStore::one_pod(const StubRequest& request, const std::string& name_space, const std::string& name,
                             const std::string& part) {
  Json* pod = find_pod(name_space, name);
  if (pod == nullptr) return no_such_pod(name);
  if (part == "log") {
    const auto limit = request.query.find("limitBytes");
    const std::string& text = logs[name];
    return {200, limit == request.query.end() ? text : text.substr(0, std::stoul(limit->second)), "text/plain"};
  }
  if (part == "eviction") {
    const Json eviction = Json::parse(request.body);
    if (eviction.value("apiVersion", "") != "policy/" + eviction_version)
      return failure(400, "BadRequest", "no kind \"Eviction\" is registered for that version");
    StubReply gone = erase(name_space, name, eviction.value("deleteOptions", Json::object()));
    return gone.status == 200 ? as_json({{"kind", "Status"}, {"apiVersion", "v1"}, {"status", "Success"}}, 201) : gone;
  }
  if (request.method == "DELETE")
    return erase(name_space, name, request.body.empty() ? Json::object() : Json::parse(request.body));
  if (request.method == "PATCH") pod->merge_patch(Json::parse(request.body));
  return as_json(*pod);
}

StubReply StubStore::answer(const StubRequest& request) {
  if (request.method == "GET") {
    if (const auto found = discover(request.path)) return *found;
  }
  const std::vector<std::string> words = path_words(request.path);
  const auto is = [&](std::size_t i, std::string_view word) { return i < words.size() && words[i] == word; };
  if (!is(0, "api") || !is(1, "v1")) return failure(404, "NotFound", "the server could not find that resource");
  if (is(2, "nodes") && words.size() > 3) return one_node(request, words[3]);
  if (is(2, "nodes")) return list(nodes_, "NodeList", "", request);
  if (is(2, "pods")) return list(pods_, "PodList", "", request);
  if (is(2, "namespaces") && is(3, "kube-system") && words.size() == 4)
    return as_json(
        {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "kube-system"}, {"uid", cluster_uid}}}});
  if (!is(2, "namespaces") || words.size() < 5) return failure(404, "NotFound", "no such resource");
  const std::string& name_space = words[3];
  if (is(4, "bindings") && request.method == "POST") return bind(name_space, Json::parse(request.body));
  if (!is(4, "pods")) return failure(404, "NotFound", "no such resource");
  if (words.size() > 5) return one_pod(request, name_space, words[5], words.size() > 6 ? words[6] : "");
  return request.method == "POST" ? create_pod(name_space, request.body)
                                  : list(pods_, "PodList", name_space + "/", request);
}

}  // namespace berth::test
