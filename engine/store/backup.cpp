#include "engine/store/backup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "engine/base/folder.h"
#include "engine/store/left_log.h"

namespace berth {

namespace {

Status file_error(std::string_view doing, const std::string& path) {
  return Status(Code::kUnavailable, fmt::format("cannot {} '{}': {}", doing, path, std::strerror(errno)));
}

// Removes the unfinished file unless it was renamed.
class UnfinishedFile {
 public:
  explicit UnfinishedFile(std::string path) : path_(std::move(path)) {}
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;
  ~UnfinishedFile() {
    if (!path_.empty()) std::remove(path_.c_str());
  }
  const std::string& path() const { return path_; }
  void keep() { path_.clear(); }

 private:
  std::string path_;
};

Status copy_pages(const std::string& source, const std::string& target) {
  BERTH_ASSIGN(Database from, Database::open(source, Access::kReadOnly));
  BERTH_ASSIGN(Database to, Database::open(target, Access::kReadWrite));
  from.set_busy_timeout(5000);
  // The copy is renamed only when complete, so it needs no journal of its own.
  BERTH_TRY(to.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF"));
  sqlite3_backup* backup = sqlite3_backup_init(to.handle(), "main", from.handle(), "main");
  if (backup == nullptr) return to.error(sqlite3_errcode(to.handle()), "start the copy");
  const int stepped = sqlite3_backup_step(backup, -1);
  const int finished = sqlite3_backup_finish(backup);
  if (stepped != SQLITE_DONE) return to.error(finished != SQLITE_OK ? finished : stepped, "copy the database");
  // Without the write-ahead flag the copy can be read where nothing can be written beside it.
  return to.execute("PRAGMA journal_mode = DELETE");
}

}  // namespace

void remove_stale_copies(const std::string& path, std::string_view kind) {
  namespace fs = std::filesystem;
  const fs::path whole(path);
  const std::string start = fmt::format("{}.{}-", whole.filename().string(), kind);
  const fs::path folder = whole.has_parent_path() ? whole.parent_path() : fs::path(".");
  const Result<std::vector<std::string>> names = names_in(folder.string());
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    if (!name.starts_with(start)) continue;
    pid_t process = 0;
    const auto [after, error] = std::from_chars(name.data() + start.size(), name.data() + name.size(), process);
    std::error_code ignored;
    if (error == std::errc() && process > 0 && ::kill(process, 0) != 0 && errno == ESRCH)
      fs::remove(folder / name, ignored);
  }
}

Status sync_path(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return file_error("open", path);
  const int synced = ::fsync(file);
  ::close(file);
  return synced == 0 ? Status() : file_error("force to disk", path);
}

Status make_private_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) return errno == EEXIST ? Status() : file_error("create", path);
  ::close(file);
  return {};
}

Status copy_database(const std::string& source, const std::string& target) {
  remove_stale_copies(target, "unfinished");
  // Nobody else can know its name before, nor have made it.
  std::string name = fmt::format("{}.unfinished-{}-XXXXXX", target, ::getpid());
  const int made = ::mkostemp(name.data(), O_CLOEXEC);
  if (made < 0) return file_error("create", target);
  ::close(made);
  UnfinishedFile unfinished(std::move(name));
  BERTH_TRY(copy_pages(source, unfinished.path()).prefixed(fmt::format("in copying '{}'", source)));
  BERTH_TRY(sync_path(unfinished.path()));
  BERTH_TRY(end_log(target));
  if (std::rename(unfinished.path().c_str(), target.c_str()) != 0) return file_error("rename to", target);
  unfinished.keep();
  remove_log(target);
  const std::string folder = std::filesystem::path(target).parent_path().string();
  return sync_path(folder.empty() ? "." : folder);
}

}  // namespace berth
