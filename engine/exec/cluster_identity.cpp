#include "engine/exec/cluster_identity.h"

#include <fmt/format.h>

#include "engine/base/private_folder.h"
#include "engine/base/text.h"

namespace berth {

Status check_cluster_identity(const std::string& folder, const ClusterIdentity& identity) {
  const std::string file = folder + "/cluster";
  BERTH_ASSIGN(const std::optional<std::string> text, read_private_file(file));
  const std::string_view known = text ? trim(*text) : std::string_view();
  if (known.empty()) return replace_private_file(file, std::string(identity.name) + "\n");
  if (known == identity.name) return {};
  return Status(Code::kUnavailable,
                fmt::format("{} answers for another cluster ({}) than the one in which this executor's {} run ({}): "
                            "nothing is asked of it or told to it",
                            identity.who, identity.name, identity.runs, known),
                fmt::format("{}; if the cluster has moved or was set up anew, remove '{}'", identity.hint, file));
}

}  // namespace berth
