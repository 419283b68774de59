#include "shell/missing_database.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "engine/base/folder.h"
#include "engine/base/text.h"
#include "engine/runtime/runtime.h"
#include "engine/store/open.h"
#include "shell/commands.h"

namespace berth {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBegins[] = {"CREATE ",   "IMPORT ",       "SET ",      "GENERATE ",
                                        "SIMULATE ", "SNAPSHOT LOAD", "RUN SCRIPT"};
// Of the shell's own commands.
constexpr std::string_view kReads[] = {".tables", ".schema"};

bool has_no_bytes(const std::string& file) {
  std::error_code error;
  return fs::is_regular_file(file, error) && fs::file_size(file, error) == 0 && !error &&
         (!fs::exists(file + "-wal", error) || fs::file_size(file + "-wal", error) == 0);
}

bool begins_with_one(const CommandRow& row, std::span<const std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view each) { return row.syntax.starts_with(each); });
}

// "did you mean 'cluster.db'?"
std::string nearest_database(const fs::path& missing) {
  const Result<std::vector<std::string>> all = names_in(missing.has_parent_path() ? missing.parent_path() : ".");
  if (!all.ok()) return "";
  std::vector<std::string> names = *all;
  std::erase_if(names, [&](const std::string& name) { return name == missing.filename() || !name.ends_with(".db"); });
  if (const std::string near = suggest(missing.filename().string(), names); !near.empty()) return near;
  return names.empty() ? std::string() : fmt::format("there is '{}'", names.front());
}

}  // namespace

bool is_missing_database(const std::string& file) {
  std::error_code error;
  return (!fs::exists(file, error) && !error) || has_no_bytes(file);
}

Result<std::unique_ptr<Session>> open_batch_session(const SessionOptions& options) {
  if (options.read_only || !is_missing_database(options.database)) return open_session(options);
  return make_session(options, nullptr);
}

Status find_database(Session& session, const CommandRow& row) {
  // The shell's own tests have no database at all.
  if (session.runtime != nullptr || session.database.empty()) return {};
  if (row.family == "help" || (row.family == "terminal" && !begins_with_one(row, kReads))) return {};
  if (begins_with_one(row, kBegins)) {
    BERTH_ASSIGN(session.runtime, Runtime::open({.database = session.database, .actor = "", .seed = {}}));
    return {};
  }
  const std::string near = nearest_database(session.database);
  constexpr std::string_view kMakes = "CREATE, IMPORT, SET or an interactive session makes one";
  return Status(
      Code::kNotFound,
      has_no_bytes(session.database) ? fmt::format("there is no database: '{}' is an empty file", session.database)
                                     : fmt::format("there is no database '{}'", session.database),
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
