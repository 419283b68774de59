#include "shell/missing_database.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/text.h"
#include "engine/runtime/runtime.h"
#include "engine/store/open.h"
#include "shell/commands.h"

namespace berth {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBegins[] = {"CREATE ",   "IMPORT ",       "SET ",      "GENERATE ",
                                        "SIMULATE ", "SNAPSHOT LOAD", "RUN SCRIPT"};

// "did you mean 'cluster.db'?"
std::string nearest_database(const fs::path& missing) {
  std::vector<std::string> names;
  std::error_code error;
  const fs::path folder = missing.has_parent_path() ? missing.parent_path() : fs::path(".");
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == ".db") names.push_back(entry->path().filename().string());
  }
  std::ranges::sort(names);
  if (const std::string near = suggest(missing.filename().string(), names); !near.empty()) return near;
  return names.empty() ? std::string() : fmt::format("there is '{}'", names.front());
}

}  // namespace

Result<std::unique_ptr<Session>> open_batch_session(const SessionOptions& options) {
  std::error_code error;
  if (options.read_only || fs::exists(options.database, error) || error) return open_session(options);
  return make_session(options, nullptr);
}

Status find_database(Session& session, const CommandRow& row) {
  // The shell's own tests have no database at all.
  if (session.runtime != nullptr || session.database.empty()) return {};
  if (row.family == "help" || row.family == "terminal") return {};
  if (std::ranges::any_of(kBegins, [&](std::string_view words) { return row.syntax.starts_with(words); })) {
    BERTH_ASSIGN(session.runtime, Runtime::open({.database = session.database, .actor = "", .seed = {}}));
    return {};
  }
  const std::string near = nearest_database(session.database);
  constexpr std::string_view kMakes = "CREATE, IMPORT, SET or an interactive session makes one";
  return Status(
      Code::kNotFound, fmt::format("there is no database '{}'", session.database),
      near.empty() ? std::string(kMakes) : fmt::format("{}{} {}", near, near.ends_with('?') ? "" : ";", kMakes));
}

void remove_unused_database(Session& session) {
  if (session.runtime == nullptr) return;
  {
    Database& db = session.runtime->db();
    const Result<Transaction> nobody_else_writes = Transaction::begin_write(db);
    const Result<bool> is_unused = holds_nothing(db);
    if (!nobody_else_writes.ok() || !is_unused.ok() || !*is_unused) return;
    std::error_code ignored;
    for (const char* ending : {"", "-wal", "-shm"}) fs::remove(session.database + ending, ignored);
  }
  session.runtime.reset();
}

}  // namespace berth
