#include "engine/runtime/executors.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

#include "engine/base/private_folder.h"
#include "engine/exec/cluster_identity.h"
#include "engine/runtime/node_watch.h"
#include "engine/store/database_home.h"

namespace berth {

namespace {

std::string own_program() {
  if (const char* program = std::getenv("BERTH_PROGRAM"); program != nullptr && *program != '\0') return program;
  std::array<char, 4096> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  const std::string program(path.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
  // A loop outlives the file it was started from: an upgrade puts another one in its place.
  return access(program.c_str(), X_OK) == 0 ? program : std::string("/proc/self/exe");
}

std::string folder_of(const Database& db, const ExecutorRecord& record) {
  return fmt::format("{}/{}", executors_folder(db), record.name);
}

// An executor keeps in its folder the records of what it started: an empty folder would say that nothing runs.
Status check_folder_of(Database& db, const ExecutorRecord& record, const std::string& folder) {
  struct stat there = {};
  if (!runs_work(record) || lstat(folder.c_str(), &there) == 0 || errno != ENOENT) return {};
  BERTH_ASSIGN(Statement told, db.prepare("SELECT 1 FROM run_tasks WHERE executor_id = ?1 AND phase IN ('starting', "
                                          "'running') LIMIT 1"));
  const bool is_used = told.with(record.id).next();
  BERTH_TRY(told.status());
  if (!is_used) return {};
  return Status(Code::kUnavailable, fmt::format("its folder '{}' is missing: nobody knows what runs there", folder),
                fmt::format("put it back; {}", kOrAdopt));
}

Result<std::unique_ptr<Executor>> make_executor(Runtime& runtime, const std::string& tag,
                                                const ExecutorRecord& record) {
  BERTH_ASSIGN(const ExecutorType* type, find_executor_type(record.type));
  BERTH_ASSIGN(const ExecutorOptions options, read_executor_options(*type, record.options));
  BERTH_TRY(check_executor_name(record.name));
  BERTH_TRY(check_folder(runtime.db()));  // else an empty one would stand in its place
  const std::string folder = folder_of(runtime.db(), record);
  BERTH_TRY(make_private_folder(executors_folder(runtime.db())));
  BERTH_TRY(check_folder_of(runtime.db(), record, folder));
  BERTH_TRY(make_private_folder(folder));
  return type->make(
      {.name = record.name, .database = tag, .folder = folder, .program = own_program(), .env = &runtime.env()},
      options);
}

// Every process that works with the database has to find the same place.
Status check_path(const std::string& path) {
  if (path.empty() || path.starts_with('/')) return {};
  std::error_code error;
  return Status(Code::kInvalid, fmt::format("'{}' depends on where Berth is started; a path begins with /", path),
                fmt::format("from here it is '{}'", std::filesystem::absolute(path, error).string()));
}

// Another file may lead to another cluster. An executor that knows its own asks and tells that one nothing, and the
// file can be changed back.
bool may_lead_elsewhere(const Database& db, const ExecutorRecord& executor, const ExecutorOption& option) {
  return option.kind == "file" && knows_cluster(folder_of(db, executor));
}

// This file drives the work, and what it tells executors to start now, it will know.
Status enter_home(Runtime& runtime, const std::vector<ExecutorRecord>& records) {
  Database& db = runtime.db();
  BERTH_ASSIGN(const Restoration restoration, check_home(db, runtime.now()));
  if (restoration == Restoration::kNoticed) {
    for (const ExecutorRecord& record : records)
      BERTH_TRY(note_drift(runtime, record,
                           {"database", "this file", "as it was at the last launch", "restored from an earlier state",
                            "new tasks get new keys, unknown ones are held"}));
  }
  BERTH_ASSIGN(const std::int64_t launches, db.integer("SELECT count(*) FROM outbox WHERE kind = 'launch'"));
  return launches > 0 ? move_mark(db) : Status();
}

}  // namespace

Result<std::unique_ptr<Executor>> open_executor(Runtime& runtime, const ExecutorRecord& executor) {
  BERTH_ASSIGN(const std::string tag, database_tag(runtime.db()));
  return make_executor(runtime, tag, executor);
}

Status check_executor(Runtime& runtime, const ExecutorRecord& executor) {
  BERTH_ASSIGN(const ExecutorType* type, find_executor_type(executor.type));
  for (const ExecutorOption& option : type->options) {
    const auto given = executor.options.find(option.name);
    if ((option.kind == "path" || option.kind == "file") && given != executor.options.end())
      BERTH_TRY(check_path(given->second).in_option(option.name));
  }
  Status made = open_executor(runtime, executor).status();
  return made.code() == Code::kInvalid ? made : Status();
}

Status change_executor(Change& change, const ExecutorRecord& executor) {
  BERTH_ASSIGN(const ExecutorType* type, find_executor_type(executor.type));
  BERTH_ASSIGN(const ExecutorRecord before, find_executor(change.db(), executor.name));
  BERTH_ASSIGN(const ExecutorOptions had, read_executor_options(*type, before.options));
  BERTH_ASSIGN(const ExecutorOptions has, read_executor_options(*type, executor.options));
  for (const ExecutorOption& option : type->options) {
    const bool is_same = had.find(option.name)->second == has.find(option.name)->second;
    if (!option.is_place || is_same || may_lead_elsewhere(change.db(), executor, option)) continue;
    Status idle = check_idle(change.db(), executor);
    if (idle.ok()) continue;
    return std::move(idle)
        .in_option(option.name)
        .with_hint("its tasks would be taken for lost and started again beside themselves: wait until they have ended");
  }
  return alter_executor(change, executor);
}

Status adopt_database(Change& change) {
  Database& db = change.db();
  BERTH_TRY(adopt_home(db));
  BERTH_ASSIGN(const std::vector<ExecutorRecord> records, list_executors(db));
  const bool is_file = std::filesystem::exists(executors_folder(db));  // the mark is in it
  for (const ExecutorRecord& record : records) {
    if (is_file && runs_work(record) && check_executor_name(record.name).ok())
      BERTH_TRY(make_private_folder(folder_of(db, record)));
  }
  return change.record("adopt database", db.path());
}

Result<std::vector<LiveExecutor>> reach_executors(Runtime& runtime, bool also_down) {
  BERTH_ASSIGN(std::vector<ExecutorRecord> records, list_executors(runtime.db()));
  std::vector<LiveExecutor> live;
  if (records.empty()) return live;
  if (std::ranges::any_of(records, runs_work)) BERTH_TRY(enter_home(runtime, records));
  BERTH_TRY(check_executors_folder(runtime.db()));  // of one executor it is its trouble, of all of them the database's
  BERTH_ASSIGN(const std::string tag, database_tag(runtime.db()));
  for (ExecutorRecord& record : records) {
    const Seconds pause = record.next_try - runtime.now();
    // A longer one than there can be: the clock was set back.
    if (!also_down && pause > Seconds(0) && pause <= kLongestPause) continue;
    Result<std::unique_ptr<Executor>> executor = make_executor(runtime, tag, record);
    if (!executor.ok()) {
      BERTH_TRY(note_contact(runtime.db(), record, executor.status(), runtime.now()));
      live.push_back({std::move(record), nullptr, executor.status()});
      continue;
    }
    live.push_back({std::move(record), *std::move(executor), Status()});
  }
  return live;
}

Result<LiveExecutor> reach_executor(Runtime& runtime, std::string_view name) {
  BERTH_ASSIGN(ExecutorRecord record, find_executor(runtime.db(), name));
  BERTH_ASSIGN(std::unique_ptr<Executor> executor, open_executor(runtime, record));
  return LiveExecutor{std::move(record), std::move(executor), Status()};
}

}  // namespace berth
