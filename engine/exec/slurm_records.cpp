#include "engine/exec/slurm_records.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <limits>
#include <set>
#include <sstream>

#include "engine/base/folder.h"
#include "engine/base/text.h"
#include "engine/exec/descriptor.h"
#include "engine/exec/plain_file.h"

namespace berth {

namespace {

constexpr Seconds kForEver{std::numeric_limits<std::int64_t>::max()};

// kUnavailable, whatever has its place: one launch's folder must not end more than that launch.
Status write_to(const std::string& path, int flags, std::string_view content) {
  const Result<Descriptor> file = open_plain_file(path, O_WRONLY | O_CREAT | flags);
  if (!file.ok()) return Status(Code::kUnavailable, file.status().message());
  const bool written = write(file->get(), content.data(), content.size()) == static_cast<ssize_t>(content.size());
  return written ? Status() : file_error(path);
}

// Of a symbolic link.
std::optional<std::string> target_of(const std::string& path) {
  std::array<char, 256> target;
  const ssize_t length = readlink(path.c_str(), target.data(), target.size());
  if (length < 0) return std::nullopt;
  return std::string(target.data(), static_cast<std::size_t>(length));
}

std::vector<std::string> node_files(const std::string& path) {
  Result<std::vector<std::string>> names = names_in(path);
  if (!names.ok()) return {};
  std::erase_if(*names, [](const std::string& name) { return !name.starts_with("node."); });
  return *std::move(names);
}

}  // namespace

std::optional<std::string> read_whole_file(const std::string& path) {
  constexpr std::size_t kMost = std::size_t{64} << 20;  // squeue's rows of 400,000 jobs
  Result<std::string> text = read_plain_file(path, kMost);
  return text.ok() ? std::optional(*std::move(text)) : std::nullopt;
}

Status replace_file(const std::string& path, std::string_view content) {
  static std::atomic<unsigned> serial{0};
  const std::string fresh = fmt::format("{}.{}.{}", path, getpid(), ++serial);
  BERTH_TRY(write_to(fresh, O_TRUNC, content));
  return rename(fresh.c_str(), path.c_str()) == 0 ? Status() : file_error(path);
}

void read_slurm_record(std::string_view text, std::string_view node,
                       std::map<std::pair<std::int32_t, std::int32_t>, SlurmTaskRecord>& records) {
  while (true) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return;
    std::istringstream words{std::string(text.substr(0, end))};
    text.remove_prefix(end + 1);
    std::string verb;
    std::int32_t group = 0;
    std::int32_t task = 0;
    std::int64_t moment = 0;
    if (!(words >> verb >> group >> task >> moment)) continue;
    SlurmTaskRecord& record = records[{group, task}];
    record.node = node;
    record.last = std::max(record.last, Seconds(moment));
    if (verb == "start") record.started = Seconds(moment);
    if (verb == "late") record.is_late = true;
    if (verb == "exit") record.is_exit = true;
    // After 'left' it is the script's own guard that tells the task to stop, not Berth.
    if ((verb == "signal" || verb == "stop") && !record.is_left) {
      record.was_told = record.was_told || !record.ended;
      std::int32_t signal = 0;
      std::int64_t until = 0;
      const bool lasts = verb == "signal" && words >> signal >> until;
      if (!record.ended) record.heeds_until = std::max(record.heeds_until, lasts ? Seconds(until) : kForEver);
    }
    // The task may be quicker to end than its script to note what it heard.
    const bool is_in_time = !record.ended || (record.code != 0 && Seconds(moment) <= *record.ended + Seconds(1));
    if (verb == "told" && is_in_time) {
      record.was_told_by_others = true;
      record.told = Seconds(moment);
    }
    if (verb == "left") record.is_left = record.is_left || !record.ended;
    std::int32_t code = 0;
    std::int64_t amount = 0;
    if (verb != "end" || !(words >> code >> amount)) continue;  // torn: the disk was full
    record.ended = Seconds(moment);
    record.code = code;
    record.use.cpu_seconds = amount;
    if (words >> amount) record.use.memory_peak = MiB(amount);
  }
}

std::string slurm_done_file(std::int32_t group, std::int32_t task) { return fmt::format("{}-{}.done", group, task); }

bool SlurmLaunchFolder::exists() const { return access(path_.c_str(), F_OK) == 0; }

bool SlurmLaunchFolder::has_changed_within(Seconds time) const {
  struct stat status = {};
  return stat(path_.c_str(), &status) == 0 && Seconds(status.st_mtime) + time > Seconds(std::time(nullptr));
}

Result<bool> SlurmLaunchFolder::make() const {
  if (mkdir(path_.c_str(), 0700) == 0) return true;  // its script holds the environment of the job
  if (errno == EEXIST) return false;
  return file_error(path_);
}

Status SlurmLaunchFolder::write_launch(const Launch& launch, const std::string& script) const {
  // Apart, so that what a job writes where it starts is no record.
  if (const std::string work = path_ + "/work"; mkdir(work.c_str(), 0700) != 0 && errno != EEXIST)
    return file_error(work);
  std::string lines;
  for (const LaunchTask& task : launch.tasks) lines += fmt::format("{} {} {}\n", task.group, task.task, task.node);
  if (access((path_ + "/tasks").c_str(), F_OK) != 0) BERTH_TRY(replace_file(path_ + "/tasks", lines));
  reserve_block(path_ + "/control");
  // bash reads a script bit by bit: one that may be running must not be written again.
  return access((path_ + "/script").c_str(), F_OK) == 0 ? Status() : replace_file(path_ + "/script", script);
}

std::vector<SlurmPlacedTask> SlurmLaunchFolder::tasks() const {
  std::vector<SlurmPlacedTask> tasks;
  std::istringstream lines(read_whole_file(path_ + "/tasks").value_or(""));
  for (SlurmPlacedTask task; lines >> task.group >> task.task >> task.node;) tasks.push_back(task);
  return tasks;
}

std::optional<SlurmSubmission> SlurmLaunchFolder::submission() const {
  const auto text = read_whole_file(path_ + "/submitted");
  SlurmSubmission submission;
  if (!text || !(std::istringstream(*text) >> submission.job >> submission.moment_ms)) return std::nullopt;
  return submission;
}

Status SlurmLaunchFolder::note_submission(const SlurmSubmission& submission) const {
  return replace_file(path_ + "/submitted", fmt::format("{} {}\n", submission.job, submission.moment_ms));
}

std::optional<std::string> SlurmLaunchFolder::claim() const { return target_of(path_ + "/claim"); }

bool SlurmLaunchFolder::has_ended_whole() const {
  const Result<std::int64_t> status = read_integer(target_of(path_ + "/over").value_or(""));
  return status.ok() && *status <= 128;
}

std::optional<std::int64_t> SlurmLaunchFolder::claim_moment_ms() const {
  struct stat link {};
  if (lstat((path_ + "/claim").c_str(), &link) != 0) return std::nullopt;
  return std::int64_t{link.st_mtim.tv_sec} * 1000 + link.st_mtim.tv_nsec / 1000000;
}

std::optional<std::int64_t> SlurmLaunchFolder::trying_ms() const {
  struct stat file {};
  if (lstat((path_ + "/trying").c_str(), &file) != 0) return std::nullopt;
  return std::int64_t{file.st_mtim.tv_sec} * 1000;
}

Result<std::string> SlurmLaunchFolder::take_claim(std::string_view by) const {
  const std::string path = path_ + "/claim";
  if (symlink(std::string(by).c_str(), path.c_str()) != 0 && errno != EEXIST) return file_error(path);
  const auto holder = claim();
  if (!holder) return file_error(path);
  return *holder;
}

std::optional<std::int64_t> job_of_claim(const std::optional<std::string>& claim) {
  if (!claim) return std::nullopt;
  const auto job = read_integer(std::string_view(*claim).substr(0, claim->find('.')));
  return job.ok() ? std::optional(*job) : std::nullopt;
}

std::map<std::pair<std::int32_t, std::int32_t>, SlurmTaskRecord> SlurmLaunchFolder::records() const {
  std::map<std::pair<std::int32_t, std::int32_t>, SlurmTaskRecord> records;
  for (const std::string& name : node_files(path_))
    read_slurm_record(read_whole_file(path_ + "/" + name).value_or(""), std::string_view(name).substr(5), records);
  return records;
}

Status SlurmLaunchFolder::add_control(const std::string& line) const {
  return write_to(path_ + "/control", O_APPEND, line);
}

bool SlurmLaunchFolder::is_asked_to_end() const {
  std::istringstream lines(read_whole_file(path_ + "/control").value_or(""));
  std::string signal;
  std::int64_t grace = 0;
  std::string tasks;
  while (lines >> signal >> grace >> tasks) {
    if (grace >= 0 && tasks == "all") return true;
  }
  return false;
}

std::string SlurmLaunchFolder::complaint() const {
  std::array<char, 300> end{};
  const Result<Descriptor> file = open_plain_file(path_ + "/slurm.out", O_RDONLY);
  struct stat found = {};
  if (!file.ok() || fstat(file->get(), &found) != 0) return {};
  const off_t from = std::max<off_t>(0, found.st_size - static_cast<off_t>(end.size()));
  const ssize_t size = pread(file->get(), end.data(), end.size(), from);
  return std::string(trim(std::string_view(end.data(), static_cast<std::size_t>(std::max<ssize_t>(0, size)))));
}

bool SlurmLaunchFolder::has_known_end() const {
  const auto held = claim();
  if (!held && !submission()) return true;
  if (held == kStoppedClaim || held == kRefusedClaim) return true;
  const auto known = records();
  return std::ranges::all_of(tasks(), [&](const SlurmPlacedTask& task) {
    const auto record = known.find({task.group, task.task});
    return record != known.end() && record->second.ended;
  });
}

Status SlurmLaunchFolder::forget(const std::vector<std::pair<std::int32_t, std::int32_t>>& tasks) const {
  std::string lines;
  for (const auto& [group, task] : tasks) lines += fmt::format("{} {}\n", group, task);
  BERTH_TRY(write_to(path_ + "/forgotten", O_APPEND, lines));
  std::set<std::pair<std::int32_t, std::int32_t>> named;
  std::istringstream words(read_whole_file(path_ + "/forgotten").value_or(""));
  for (std::pair<std::int32_t, std::int32_t> task; words >> task.first >> task.second;) named.insert(task);
  for (const SlurmPlacedTask& task : this->tasks())
    if (!named.contains({task.group, task.task})) return {};
  for (const char* name : {"script", "forgotten"}) unlink((path_ + "/" + name).c_str());
  if (has_known_end()) clear();
  return {};
}

bool SlurmLaunchFolder::is_left() const {
  return access((path_ + "/script").c_str(), F_OK) != 0 && access((path_ + "/tasks").c_str(), F_OK) == 0;
}

bool SlurmLaunchFolder::is_cleared() const { return access((path_ + "/tasks").c_str(), F_OK) != 0 && errno == ENOENT; }

void SlurmLaunchFolder::clear() const {
  std::vector<std::string> names = node_files(path_);
  for (const SlurmPlacedTask& task : tasks()) names.push_back(slurm_done_file(task.group, task.task));
  names.insert(names.end(), {"control", "tasks", "trying", "said", "over"});
  for (const std::string& name : names) unlink((path_ + "/" + name).c_str());
}

}  // namespace berth
