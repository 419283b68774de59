#include "engine/store/left_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "engine/base/file_bytes.h"
#include "engine/store/change.h"
#include "engine/store/sqlite.h"

namespace berth {

namespace {

std::optional<struct stat> found_at(const std::string& path) {
  struct stat found = {};
  return ::stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) ? std::optional(found) : std::nullopt;
}

bool is_first_look(const struct stat& file) {
  static std::mutex mutex;
  static std::set<std::pair<dev_t, ino_t>> seen;
  const std::lock_guard lock(mutex);
  return seen.emplace(file.st_dev, file.st_ino).second;
}

// "File format write version": 1 = the file is kept without a log.
bool is_without_log(const std::string& path) {
  constexpr off_t kWriteVersion = 18;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char version = 0;
  const bool is_read = ::pread(file, &version, 1, kWriteVersion) == 1;
  ::close(file);
  return is_read && version == 1;
}

// Every connection holds a shared lock on this byte of <path>-shm.
bool is_open_elsewhere(const std::string& path) {
  constexpr off_t kLockOfAll = 128;
  const int file = ::open((path + "-shm").c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return false;
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = kLockOfAll;
  lock.l_len = 1;
  const bool is_held = ::fcntl(file, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  ::close(file);
  return is_held;
}

// All that the log has lies in the file already, so that the next transaction may write it anew. By the header of
// SQLite's index of the log (sqlite.org/walformat.html, section 2), which the connection has in memory.
bool may_begin_log(Database& db) {
  constexpr int kBytes = 32768;
  constexpr std::size_t kFrames = 16;
  constexpr std::size_t kFramesInFile = 96;
  sqlite3_file* file = nullptr;
  if (sqlite3_file_control(db.handle(), "main", SQLITE_FCNTL_FILE_POINTER, static_cast<void*>(&file)) != SQLITE_OK)
    return false;
  if (file == nullptr || file->pMethods == nullptr || file->pMethods->iVersion < 2) return false;
  void volatile* index = nullptr;
  if (file->pMethods->xShmMap(file, 0, kBytes, 0, &index) != SQLITE_OK || index == nullptr) return false;
  const auto number = [&](std::size_t at) {
    return static_cast<const volatile std::uint32_t*>(index)[at / sizeof(std::uint32_t)];
  };
  return number(kFrames) == number(kFramesInFile);
}

bool is_younger(const struct stat& file, const struct stat& log) {
  return std::pair(file.st_ctim.tv_sec, file.st_ctim.tv_nsec) > std::pair(log.st_mtim.tv_sec, log.st_mtim.tv_nsec);
}

// "NAME BEFORE VERSION": the name of the log, that of the log before it or "-", and the state version when it began. In
// one cell, so that a file into which a log has been written back in part has all of it or nothing.
constexpr std::string_view kNoLog = "-";
struct LogName {
  std::string name;
  std::string before;
  std::int64_t version = 0;
};

constexpr std::string_view kNameOfLog = "SELECT value FROM meta WHERE key = 'log'";

// kNotFound: it has none yet.
Result<LogName> log_name(Database& db) {
  BERTH_ASSIGN(const std::string text, db.text(kNameOfLog));
  LogName log;
  std::istringstream words(text);
  if (words >> log.name >> log.before >> log.version) return log;
  return Status(Code::kCorrupt, "meta has no name of a log under log");
}

// With its log, which stays as it is.
Result<Database> open_with_log(const std::string& path) {
  BERTH_ASSIGN(Database db, Database::open(path, Access::kReadWrite));
  db.set_busy_timeout(5000);
  sqlite3_db_config(db.handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  return db;
}

// Its own log has its name, or began when the file was as it is. nullopt = they do not say.
Result<std::optional<bool>> is_its_own_by_name(const std::string& path) {
  // Closed last: to close a file lets go of the locks that the other connection has.
  std::optional<Database> alone;
  BERTH_ASSIGN(Database both, open_with_log(path));
  // While it reads, no other log begins.
  BERTH_ASSIGN(const Transaction reading, Transaction::begin_read(both));
  BERTH_ASSIGN(const LogName log, log_name(both));
  BERTH_ASSIGN(alone, Database::open(path, Access::kUnchanging));
  const Result<LogName> file = log_name(*alone);
  BERTH_ASSIGN(const std::int64_t version, state_version(*alone));
  if (file.ok()) return std::optional(file->name == log.name || (file->name == log.before && version >= log.version));
  if (file.status().code() != Code::kNotFound) return file.status();
  const bool is_older = log.before != kNoLog && version < log.version;
  return is_older ? std::optional(false) : std::optional<bool>();
}

// With its log, which stays as it is.
Result<bool> is_sound_with_log(const std::string& path, IsSound is_sound, bool& is_readable) {
  BERTH_ASSIGN(Database db, open_with_log(path));
  const Result<std::string> said = db.text("PRAGMA integrity_check(1)");
  if (!said.ok() && said.status().code() != Code::kCorrupt) return said.status();
  is_readable = said.ok() && *said == "ok";
  return is_readable && is_sound(db);
}

Result<bool> holds_together(const std::string& path, IsSound is_sound) {
  bool is_readable = false;
  BERTH_ASSIGN(const bool is_whole, is_sound_with_log(path, is_sound, is_readable));
  if (is_whole || !is_readable) return is_whole;
  // What was wrong before, or is half written back from the log, is not sound alone either.
  BERTH_ASSIGN(Database alone, Database::open(path, Access::kUnchanging));
  return !is_sound(alone);
}

// One look at a file's log at a time: who looks has it open for that while. Not SQLite's locks, which are of another
// kind. Who does not get it within five seconds looks all the same.
class OnlyLook {
 public:
  explicit OnlyLook(const std::string& path) : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    constexpr int kTries = 250;
    for (int tries = 0; file_ >= 0 && tries < kTries && ::flock(file_, LOCK_EX | LOCK_NB) != 0; ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  OnlyLook(const OnlyLook&) = delete;
  OnlyLook& operator=(const OnlyLook&) = delete;
  ~OnlyLook() {
    if (file_ >= 0) ::close(file_);
  }

 private:
  int file_;
};

// Where the file that the connection has open lies now; empty = not known.
std::string name_of_open(Database& db) {
  const auto recorded = [&](const char* key) {
    return db.integer(fmt::format("SELECT CAST(value AS INTEGER) FROM meta WHERE key = '{}'", key));
  };
  const Result<std::int64_t> inode = recorded("home_inode");
  const Result<std::int64_t> device = recorded("home_device");
  if (!inode.ok() || !device.ok()) return {};
  struct stat file = {};
  file.st_ino = static_cast<ino_t>(*inode);
  file.st_dev = static_cast<dev_t>(*device);
  const Result<std::vector<int>> open = descriptors_of(file);
  if (!open.ok() || open->empty()) return {};
  std::array<char, 4096> name{};
  const ssize_t length = ::readlink(fmt::format("/proc/self/fd/{}", open->front()).c_str(), name.data(), name.size());
  return length > 0 ? std::string(name.data(), static_cast<std::size_t>(length)) : std::string();
}

Status another_files(const std::string& path, bool is_open) {
  return Status(
      Code::kCorrupt,
      fmt::format("'{0}-wal' is the log of another file: '{0}' was replaced after it was written", path),
      (is_open ? "end the processes that have it open; " : "") +
          fmt::format("if '{0}' is a backup that was put in place, remove '{0}-wal' and '{0}-shm'; if not, put back "
                      "the file that the log belongs to",
                      path));
}

// The log of a killed process that stayed behind when its database was moved. Nothing lies there any more but the log.
Status check_left_behind(const std::string& path) {
  const auto path_before = [&]() -> Result<std::string> {
    BERTH_ASSIGN(Database db, Database::open(path, Access::kUnchanging));
    return db.text("SELECT value FROM meta WHERE key = 'home_path'");
  };
  const Result<std::string> before = path_before();
  std::error_code error;
  if (!before.ok() || before->empty() || std::filesystem::canonical(path, error) == *before || found_at(*before))
    return {};
  const std::optional<struct stat> log = found_at(*before + "-wal");
  if (!log || log->st_size == 0) return {};
  return Status(
      Code::kConflict,
      fmt::format("'{0}-wal' was left behind when the database was moved from '{0}': it may hold what was "
                  "written last",
                  *before),
      fmt::format("move it to '{1}-wal'; or remove '{0}-wal', and what only that holds is lost", *before, path));
}

}  // namespace

Status check_left_log(const std::string& path, IsSound is_sound) {
  const std::optional<struct stat> file = found_at(path);
  if (!file || file->st_size == 0 || !is_first_look(*file)) return {};
  const std::optional<struct stat> log = found_at(path + "-wal");
  const bool has_log = log && log->st_size > 0;
  // SQLite's locks are those of a process on a file: to close the file anywhere in the process lets go of them. So it
  // is opened here only where no connection of this process has it open, as the one has that made it.
  const Result<std::vector<int>> open = descriptors_of(*file);
  if (!open.ok() || !open->empty()) return {};
  if (!has_log) return check_left_behind(path);
  if (is_without_log(path)) return another_files(path, is_open_elsewhere(path));
  const OnlyLook only(path);
  const bool is_open = is_open_elsewhere(path);
  if (const Result<std::optional<bool>> by_name = is_its_own_by_name(path); by_name.ok() && *by_name)
    return **by_name ? Status() : another_files(path, is_open);
  if (is_open || !is_younger(*file, *log)) return {};
  const Result<bool> holds = holds_together(path, is_sound);
  return holds.ok() && !*holds ? another_files(path, false) : Status();
}

Status name_new_log(Database& db) {
  if (!may_begin_log(db) && db.text(kNameOfLog).ok()) return {};
  return db.execute(
      "INSERT INTO meta (key, value) SELECT 'log', lower(hex(randomblob(8))) || ' ' || coalesce((SELECT "
      "substr(value, 1, instr(value, ' ') - 1) FROM meta WHERE key = 'log'), '-') || ' ' || (SELECT value FROM meta "
      "WHERE key = 'state_version') WHERE true ON CONFLICT (key) DO UPDATE SET value = excluded.value");
}

Status take_log_name(Database& db, Database& present) {
  BERTH_TRY(db.execute("DELETE FROM meta WHERE key = 'log'"));
  const Result<std::string> name = present.text(kNameOfLog);
  if (name.status().code() == Code::kNotFound) return {};
  BERTH_TRY(name.status());
  BERTH_ASSIGN(Statement put, db.prepare("INSERT INTO meta (key, value) VALUES ('log', ?1)"));
  return put.run(*name);
}

Status end_log(const std::string& path) {
  if (!found_at(path) || !found_at(path + "-wal")) return {};
  Result<Database> db = Database::open(path, Access::kReadWrite);
  if (!db.ok()) return {};
  db->set_busy_timeout(1000);
  const Status ended = db->text("PRAGMA journal_mode = DELETE").status();
  if (ended.code() != Code::kBusy) return {};  // a file that is no database has no log of its own
  return Status(Code::kBusy, fmt::format("'{}' is open elsewhere and cannot be replaced", path),
                "end whoever has it open; SNAPSHOT LOAD replaces what an open database holds");
}

void remove_log(const std::string& path) {
  for (const char* suffix : {"-wal", "-shm"}) std::remove((path + suffix).c_str());
}

void part_from_log(Database& db) {
  const std::string& path = db.path();
  const std::optional<struct stat> log = found_at(path + "-wal");
  if (!log) return;
  const Result<std::vector<int>> open = descriptors_of(*log);
  if (!open.ok() || open->empty()) return;
  const std::string name = name_of_open(db);
  const bool is_elsewhere = !name.empty() && found_at(name) && name != path;
  if (is_elsewhere && !found_at(name + "-wal")) {
    db.set_busy_timeout(1000);
    const int ended = sqlite3_wal_checkpoint_v2(db.handle(), "main", SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
    if (ended == SQLITE_OK) return remove_log(path);
  }
  if (found_at(path) || (!name.empty() && !is_elsewhere)) remove_log(path);
}

}  // namespace berth
