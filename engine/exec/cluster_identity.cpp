#include "engine/exec/cluster_identity.h"

#include <fmt/format.h>

#include "engine/base/private_folder.h"
#include "engine/base/text.h"

namespace berth {

namespace {

std::string file_of(const std::string& folder) { return folder + "/cluster"; }

// Empty: none is known yet.
Result<std::string> known_cluster(const std::string& folder) {
  BERTH_ASSIGN(const std::optional<std::string> text, read_private_file(file_of(folder)));
  return text ? std::string(trim(*text)) : std::string();
}

}  // namespace

bool knows_cluster(const std::string& folder) {
  const Result<std::string> known = known_cluster(folder);
  return known.ok() && !known->empty();
}

Status check_cluster_identity(const std::string& folder, const ClusterIdentity& identity) {
  const std::string file = file_of(folder);
  BERTH_ASSIGN(const std::string known, known_cluster(folder));
  if (known == identity.name) return {};
  if (known.empty()) return replace_private_file(file, std::string(identity.name) + "\n");
  if (identity.name.empty()) {
    return Status(Code::kUnavailable,
                  fmt::format("{} does not let Berth ask which cluster answers, and this executor's {} run in {}",
                              identity.who, identity.runs, known),
                  std::string(identity.hint));
  }
  return Status(Code::kUnavailable,
                fmt::format("{} answers for another cluster ({}) than the one in which this executor's {} run ({}): "
                            "nothing is asked of it or told to it",
                            identity.who, identity.name, identity.runs, known),
                fmt::format("{}; if the cluster has moved or was set up anew, remove '{}'", identity.hint, file));
}

}  // namespace berth
