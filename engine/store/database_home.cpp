#include "engine/store/database_home.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <sstream>
#include <vector>

#include "engine/base/failpoint.h"
#include "engine/base/plain_text.h"
#include "engine/base/private_folder.h"
#include "engine/base/process_mark.h"
#include "engine/store/backup.h"
#include "engine/store/job_records.h"
#include "engine/store/journal.h"
#include "engine/store/left_log.h"

namespace berth {

namespace {

struct Home {
  std::string path;  // canonical
  std::string inode;
  std::string device;
  std::string host;
  std::string machine;
  std::string boot;

  bool operator==(const Home&) const = default;
};
constexpr std::array<std::pair<std::string_view, std::string Home::*>, 6> kHomeRows = {
    {{"home_path", &Home::path},
     {"home_inode", &Home::inode},
     {"home_device", &Home::device},
     {"home_host", &Home::host},
     {"home_machine", &Home::machine},
     {"home_boot", &Home::boot}}};

bool is_in_memory(const Database& db) { return db.path().empty() || db.path() == ":memory:"; }

// kUnavailable: what cannot be read now tells nothing about whose file this is.
Result<Home> present_home(const Database& db) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::canonical(db.path(), error);
  struct stat file = {};
  if (!error && stat(path.c_str(), &file) != 0) error = std::error_code(errno, std::generic_category());
  if (error) return Status(Code::kUnavailable, fmt::format("'{}' cannot be looked at: {}", db.path(), error.message()));
  BERTH_ASSIGN(MachineMark machine, this_machine());
  return Home{path.string(),           std::to_string(file.st_ino), std::to_string(file.st_dev),
              std::move(machine.host), std::move(machine.id),       std::move(machine.boot)};
}

Result<std::string> meta_text(Database& db, std::string_view key) {
  BERTH_ASSIGN(Statement row, db.prepare("SELECT value FROM meta WHERE key = ?1"));
  std::string value;
  if (row.with(key).next()) value = row.text(0);
  BERTH_TRY(row.status());
  return value;
}

Result<std::optional<Home>> recorded_home(Database& db) {
  Home home;
  for (const auto& [key, field] : kHomeRows) {
    BERTH_ASSIGN(home.*field, meta_text(db, key));
  }
  return home.path.empty() ? std::optional<Home>() : std::optional(home);
}

Status write_home(Database& db, const Home& home) {
  BERTH_ASSIGN(Statement put,
               db.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES ('home_path', ?1), ('home_inode', ?2), "
                          "('home_device', ?3), ('home_host', ?4), ('home_machine', ?5), ('home_boot', ?6)"));
  return put.run(home.path, home.inode, home.device, home.host, home.machine, home.boot);
}

// Numbers of devices hold within one boot. An earlier version wrote down path and inode alone.
bool is_home(const Home& recorded, const Home& present) {
  const bool is_old = recorded.host.empty();
  const bool is_same_device = is_old || recorded.device == present.device;
  const bool is_same_boot = recorded.boot == present.boot && !present.boot.empty();
  const bool is_same_inode = recorded.inode == present.inode;
  const bool is_same_host = is_old || (recorded.host == present.host && recorded.machine == present.machine);
  if (!is_same_host) return is_same_boot && is_same_device && is_same_inode;
  if (recorded.path != present.path) return is_same_device && is_same_inode;
  return is_same_device || !is_same_boot;
}

// A file of its tag that lies where this one was: the copy that took its place, or what this one is a copy of.
Result<bool> has_successor(Database& db, const Home& recorded, const Home& present) {
  struct stat file = {};
  if (recorded.path == present.path || stat(recorded.path.c_str(), &file) != 0 || !S_ISREG(file.st_mode)) return false;
  if (std::to_string(file.st_ino) == present.inode && std::to_string(file.st_dev) == present.device) return false;
  BERTH_ASSIGN(const std::string tag, database_tag(db));
  const auto tag_there = [&]() -> Result<std::string> {
    BERTH_ASSIGN(Database there, Database::open(recorded.path, Access::kReadOnly));
    return meta_text(there, "tag");
  };
  const Result<std::string> found = tag_there();
  if (found.ok()) return *found == tag;
  const Code code = found.status().code();
  if (code == Code::kCorrupt || code == Code::kInvalid) return false;  // it is no database of Berth's
  return found.status().prefixed(fmt::format("'{}' was moved from '{}'", present.path, recorded.path));
}

// What executors were last told under, and the last job there was then.
struct Mark {
  std::string word;
  std::int64_t last_job = 0;
  std::string stamp = {};  // of its file
};

Result<std::string> mark_path(Database& db) {
  BERTH_ASSIGN(const std::string tag, database_tag(db));
  return fmt::format("{}/.mark-{}", executors_folder(db), tag);
}

// Of a folder that only this user may write to: another one could make us take any mark for ours.
Result<std::optional<Mark>> read_mark(Database& db) {
  BERTH_TRY(check_executors_folder(db));
  BERTH_ASSIGN(const std::string path, mark_path(db));
  Mark mark;
  std::optional<std::string> text;
  do {  // another process may replace it
    mark.stamp = file_stamp(path);
    BERTH_ASSIGN(text, read_private_file(path));
  } while (mark.stamp != file_stamp(path));
  std::istringstream words(text.value_or(std::string()));
  return words >> mark.word >> mark.last_job ? std::optional(mark) : std::nullopt;
}

// First in the database, then in the folder, which until then has `before`; without a word = none need be there.
Result<Mark> put_next_mark(Database& db, const Mark& before) {
  BERTH_ASSIGN(const std::string path, mark_path(db));
  const std::string folder = std::filesystem::path(path).parent_path().string();
  Mark mark;
  BERTH_ASSIGN(mark.word, db.text("SELECT lower(hex(randomblob(8)))"));
  BERTH_ASSIGN(mark.last_job, db.integer("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'jobs'"));
  BERTH_ASSIGN(Statement put,
               db.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES ('home_mark', ?1), ('home_mark_stamp', ?2), "
                          "('home_mark_before', ?3), ('home_mark_before_stamp', ?4)"));
  BERTH_TRY(make_private_folder(folder));
  BERTH_ASSIGN(const PrivateDraft draft, draft_private_file(path, fmt::format("{} {}\n", mark.word, mark.last_job)));
  mark.stamp = draft.stamp;
  if (Status failed = put.run(mark.word, mark.stamp, before.word, before.stamp); !failed.ok()) {
    unlink(draft.path.c_str());
    return failed;
  }
  failpoint("mid_write");
  BERTH_TRY(place_private_file(draft, path));
  BERTH_TRY(sync_path(folder));
  return mark;
}

// The first mark of a folder is replaced at once: from then on the database knows that one must be there.
Status change_mark(Database& db, const Mark& before) {
  BERTH_ASSIGN(const Mark next, put_next_mark(db, before));
  return before.word.empty() ? put_next_mark(db, next).status() : Status();
}

// That it is the one which the database has, or had before. An earlier version wrote down no stamp.
Result<bool> is_own_mark(Database& db, const Mark& told) {
  for (const std::string_view key : {"home_mark", "home_mark_before"}) {
    BERTH_ASSIGN(const std::string word, meta_text(db, key));
    BERTH_ASSIGN(const std::string stamp, meta_text(db, fmt::format("{}_stamp", key)));
    if (told.word == word && (stamp.empty() || told.stamp == stamp)) return true;
  }
  return false;
}

Status raise_job_ids(Database& db, std::int64_t last) {
  BERTH_ASSIGN(Statement raise, db.prepare("UPDATE sqlite_sequence SET seq = max(seq, ?1) WHERE name = 'jobs'"));
  BERTH_TRY(raise.run(last));
  if (db.changed_rows() > 0) return {};
  BERTH_ASSIGN(Statement begin, db.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES ('jobs', ?1)"));
  return begin.run(last);
}

// Jobs that there are now may run at executors, unknown to this state: see store/stray_records.h.
Status begin_generation(Database& db) {
  BERTH_TRY(db.execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('generation', (random() & 0x3fffffff) + 1)"));
  BERTH_TRY(db.execute("DELETE FROM meta WHERE key LIKE 'asked\\_%' ESCAPE '\\'"));
  return db.execute(
      "INSERT OR REPLACE INTO meta (key, value) SELECT 'restored_jobs', coalesce(max(seq), 0) FROM "
      "sqlite_sequence WHERE name = 'jobs'");
}

// Ids of jobs that were given since are not given again: what still runs under them is told from new jobs.
Status go_on_from(Database& db, const Mark& told) {
  BERTH_TRY(raise_job_ids(db, told.last_job));
  BERTH_TRY(begin_generation(db));
  return change_mark(db, told);
}

Result<std::vector<std::int64_t>> jobs_at_executors(Database& db) {
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT job_id FROM runs WHERE end_time IS NULL ORDER BY job_id"));
  std::vector<std::int64_t> jobs;
  while (rows.next()) jobs.push_back(rows.integer(0));
  BERTH_TRY(rows.status());
  return jobs;
}

}  // namespace

Result<std::string> database_tag(Database& db) {
  BERTH_ASSIGN(std::string tag, meta_text(db, "tag"));
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  if (tag.empty()) return Status(Code::kCorrupt, "the database has no tag");
  if (std::ranges::all_of(tag, is_plain)) return tag;
  return Status(Code::kCorrupt, fmt::format("the tag of the database cannot name a file: '{}'", plain_line(tag, 60)));
}

std::string executors_folder(const Database& db) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::weakly_canonical(db.path(), error);
  return (error ? std::filesystem::absolute(db.path()) : path).string() + ".executors";
}

Status check_executors_folder(const Database& db) {
  const std::string folder = executors_folder(db);
  struct stat found = {};
  const bool is_missing = lstat(folder.c_str(), &found) != 0 && errno == ENOENT;
  return is_missing ? Status() : check_private_folder(folder);
}

Status check_in_place(Database& db) {
  if (is_in_memory(db)) return {};
  int has_moved = 0;
  const int asked = sqlite3_file_control(db.handle(), "main", SQLITE_FCNTL_HAS_MOVED, &has_moved);
  if (asked != SQLITE_OK || has_moved == 0) return {};
  part_from_log(db);
  return Status(Code::kConflict,
                fmt::format("'{}' was replaced, moved or removed after it was opened: what is written to it would be "
                            "lost",
                            db.path()),
                "start again with the file that is there now");
}

Status give_new_tag(Database& db) {
  return db.execute("UPDATE meta SET value = lower(hex(randomblob(4))) WHERE key = 'tag'");
}

Status record_home(Database& db) {
  if (is_in_memory(db)) return {};
  BERTH_ASSIGN(const Home present, present_home(db));
  return write_home(db, present);
}

Status begin_home(Database& db) {
  if (is_in_memory(db)) return {};
  BERTH_ASSIGN(const std::optional<Home> home, recorded_home(db));
  if (home) return {};
  BERTH_TRY(
      db.execute("INSERT OR REPLACE INTO meta (key, value) SELECT 'home_first_tag', value FROM meta WHERE key = "
                 "'tag'"));
  BERTH_TRY(give_new_tag(db));
  return record_home(db);
}

Status adopt_home(Database& db) {
  if (is_in_memory(db)) return {};
  BERTH_TRY(record_home(db));
  BERTH_ASSIGN(const std::optional<Mark> told, read_mark(db));
  return go_on_from(db, told.value_or(Mark()));
}

Status check_no_copy(Database& db) {
  if (is_in_memory(db)) return {};
  BERTH_ASSIGN(const Home present, present_home(db));
  BERTH_ASSIGN(const std::optional<Home> home, recorded_home(db));
  if (!home) return {};
  constexpr const char* kWaysOut =
      "ALTER DATABASE FORK makes it one to try things out, on simulated executors; ALTER DATABASE ADOPT lets it drive "
      "the work, when the other one is out of use";
  if (is_home(*home, present)) {
    BERTH_ASSIGN(const bool is_replaced, has_successor(db, *home, present));
    if (!is_replaced) return {};
    return Status(Code::kConflict,
                  fmt::format("this database was moved from '{}', and a copy of it drives the work there: nothing is "
                              "told to executors or asked of them from here",
                              home->path),
                  kWaysOut);
  }
  const std::string where = home->host.empty() || home->host == present.host ? "" : " on host " + home->host;
  return Status(Code::kConflict,
                fmt::format("this database is a copy of '{}'{}, which drives the work: nothing is told to executors "
                            "or asked of them from here",
                            home->path, where),
                kWaysOut);
}

Status check_folder(Database& db) {
  if (is_in_memory(db)) return {};
  BERTH_ASSIGN(const std::string before, meta_text(db, "home_mark_before"));
  BERTH_ASSIGN(const std::optional<Mark> told, read_mark(db));
  if (before.empty() || told) return {};
  BERTH_TRY(check_no_copy(db));
  BERTH_ASSIGN(const Home present, present_home(db));
  BERTH_ASSIGN(const std::optional<Home> home, recorded_home(db));
  const std::string folder = executors_folder(db);
  const std::string put_back = home && home->path != present.path
                                   ? fmt::format(
                                         "the database was moved from '{0}': move '{0}.executors' to '{1}', "
                                         "too; ",
                                         home->path, folder)
                                   : "put it back; ";
  return Status(
      Code::kConflict,
      fmt::format("the folder '{}' of this database's executors is missing or empty: nobody knows what runs", folder),
      put_back + std::string(kOrAdopt));
}

Result<Restoration> check_home(Database& db, Seconds now) {
  if (is_in_memory(db)) return Restoration::kNone;
  BERTH_TRY(check_in_place(db));
  BERTH_TRY(check_no_copy(db));
  BERTH_TRY(check_folder(db));
  BERTH_ASSIGN(const Home present, present_home(db));
  BERTH_ASSIGN(const std::optional<Home> home, recorded_home(db));
  BERTH_ASSIGN(const std::optional<Mark> told, read_mark(db));
  if (home != present) BERTH_TRY(write_home(db, present));
  if (!told) return Restoration::kNone;
  BERTH_ASSIGN(const bool is_own, is_own_mark(db, *told));
  if (is_own) return Restoration::kNone;
  BERTH_TRY(go_on_from(db, *told));
  BERTH_TRY(write_event(db, now, "database restored", present.path, "a new generation of task keys begins"));
  return Restoration::kNoticed;
}

Status notice_restoration(Database& db, Seconds now) {
  if (is_in_memory(db)) return {};
  BERTH_ASSIGN(const std::optional<Mark> told, read_mark(db));
  if (!told) return {};
  BERTH_ASSIGN(const bool is_own, is_own_mark(db, *told));
  return is_own ? Status() : check_home(db, now).status();
}

Status move_mark(Database& db) {
  if (is_in_memory(db)) return {};
  BERTH_ASSIGN(const std::optional<Mark> told, read_mark(db));
  return change_mark(db, told.value_or(Mark()));
}

namespace {

// Really, not in the books alone.
Result<std::int64_t> count_running_jobs(Database& db) {
  return db.integer(
      "SELECT count(DISTINCT r.job_id) FROM runs r JOIN run_tasks t ON t.run_id = r.id JOIN executors e ON e.id = "
      "t.executor_id WHERE r.end_time IS NULL AND e.type <> 'simulated'");
}

}  // namespace

Status take_home_along(Database& restored, Database& present) {
  BERTH_ASSIGN(const std::int64_t last,
               present.integer("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'jobs'"));
  BERTH_TRY(raise_job_ids(restored, last));
  BERTH_ASSIGN(const std::string tag, meta_text(restored, "tag"));
  BERTH_ASSIGN(const std::string own, meta_text(present, "tag"));
  BERTH_ASSIGN(const std::string first, meta_text(present, "home_first_tag"));
  BERTH_ASSIGN(const std::optional<Home> home, recorded_home(restored));
  const bool is_own = tag == own || (!home && tag == first);
  BERTH_ASSIGN(const std::int64_t running, count_running_jobs(present));
  if (!is_own && running > 0) {
    return Status(Code::kConflict,
                  fmt::format("the snapshot is of another database, and {} of this one run at executors: nobody would "
                              "know of them any more",
                              running == 1 ? "1 job" : fmt::format("{} jobs", running)),
                  "end them first, or load it into a file of its own");
  }
  if (is_own) {
    BERTH_TRY(restored.execute("DELETE FROM meta WHERE key LIKE 'home\\_%' ESCAPE '\\'"));
    BERTH_ASSIGN(Statement rows, present.prepare("SELECT key, value FROM meta WHERE key LIKE 'home\\_%' ESCAPE '\\' OR "
                                                 "key = 'tag'"));
    BERTH_ASSIGN(Statement put, restored.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)"));
    while (rows.next()) BERTH_TRY(put.run(rows.text(0), rows.text(1)));
    BERTH_TRY(rows.status());
  }
  return begin_generation(restored);
}

Status fork_database(Change& change) {
  Database& db = change.db();
  BERTH_TRY(give_new_tag(db));
  BERTH_TRY(
      db.execute("DELETE FROM meta WHERE key LIKE 'home\\_%' ESCAPE '\\' OR key LIKE 'asked\\_%' ESCAPE '\\' OR key IN "
                 "('generation', 'restored_jobs')"));
  BERTH_TRY(db.execute("DELETE FROM strays"));
  BERTH_TRY(db.execute("DELETE FROM outbox"));
  BERTH_TRY(
      db.execute("UPDATE executors SET type = 'simulated', options = '{}', state = 'unknown', failures = 0, "
                 "next_try = 0, error = '' WHERE type <> 'simulated'"));
  BERTH_TRY(db.execute("UPDATE drains SET told_at = NULL"));
  BERTH_TRY(
      db.execute("UPDATE run_tasks SET phase = 'lost', end_time = start_time, detail = 'the original has it' "
                 "WHERE phase = 'pending' OR phase = 'starting' OR phase = 'running'"));
  BERTH_ASSIGN(const std::vector<std::int64_t> jobs, jobs_at_executors(db));
  for (const std::int64_t job : jobs) BERTH_TRY(forget_run(change, job, "forked: the original has it"));
  BERTH_TRY(record_home(db));
  return change.record("fork database", db.path());
}

}  // namespace berth
