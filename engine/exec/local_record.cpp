#include "engine/exec/local_record.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "engine/base/private_folder.h"
#include "engine/exec/plain_file.h"

namespace berth {

namespace {

using nlohmann::json;

std::string json_line(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace) + "\n"; }

// After a full disk part of a line may stand there: what is appended begins a line of its own.
std::string appended_line(const json& value) { return "\n" + json_line(value); }

bool write_whole(int file, const std::string& text) {
  return write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// The lines of a file from `offset` on; a last one without its end is left.
Result<std::vector<json>> read_lines(const std::string& path, std::size_t& offset) {
  BERTH_ASSIGN(const std::string text, read_plain_file(path));
  // One that was removed and made again is read from its beginning.
  if (offset > text.size() || (offset > 0 && text[offset - 1] != '\n')) offset = 0;
  std::vector<json> lines;
  std::size_t from = offset;
  for (std::size_t end = text.find('\n', from); end != std::string::npos; end = text.find('\n', from)) {
    json line = json::parse(text.begin() + static_cast<std::ptrdiff_t>(from),
                            text.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
    if (line.is_object()) lines.push_back(std::move(line));
    from = end + 1;
  }
  offset = from;
  return lines;
}

// A field of the wrong kind is as good as none: whoever wrote it was not Berth.
template <class T>
T field(const json& line, const char* name, T otherwise) {
  const auto found = line.find(name);
  if (found == line.end()) return otherwise;
  if constexpr (std::is_same_v<T, bool>) {
    return found->is_boolean() ? found->template get<bool>() : otherwise;
  } else if constexpr (std::is_same_v<T, std::string>) {
    return found->is_string() ? found->template get<std::string>() : otherwise;
  } else {
    return found->is_number_integer() ? found->template get<T>() : otherwise;
  }
}

ProcessMark read_mark(const json& line) {
  return {field(line, "pid", std::int32_t{0}), field(line, "start", std::int64_t{0}),
          field(line, "boot", std::string())};
}

ProcessMark read_guard(const json& line) {
  return {field(line, "guard", std::int32_t{0}), field(line, "guard_start", std::int64_t{0}),
          field(line, "boot", std::string())};
}

json claim_of(const ProcessMark& supervisor, const ProcessMark& guard, Seconds time_limit) {
  json claim = {
      {"claimed", time(nullptr)}, {"pid", supervisor.pid}, {"start", supervisor.start}, {"boot", supervisor.boot}};
  if (time_limit > Seconds(0)) claim["time_limit"] = time_limit.value();
  if (guard.pid > 0) {
    claim["guard"] = guard.pid;
    claim["guard_start"] = guard.start;
  }
  return claim;
}

constexpr const char* kEnded = "ended";
constexpr const char* kFirstEnded = "first_ended";

json end_line(const char* kind, const TaskEnd& end) {
  json line = {{kind, end.at.value()}, {"exit_code", end.exit_code}, {"signal", end.signal}};
  if (end.is_out_of_time) line["out_of_time"] = true;
  if (end.is_out_of_memory) line["out_of_memory"] = true;
  if (end.was_told) line["told"] = true;
  if (end.use.cpu_seconds) line["cpu_seconds"] = *end.use.cpu_seconds;
  if (end.use.memory_peak) line["memory_mib"] = end.use.memory_peak->value();
  if (!end.detail.empty()) line["detail"] = end.detail;
  return line;
}

TaskEnd read_end(const json& line, const char* kind) {
  TaskEnd end;
  end.at = Seconds(field(line, kind, std::int64_t{0}));
  end.exit_code = field(line, "exit_code", std::int32_t{0});
  end.signal = field(line, "signal", std::int32_t{0});
  end.is_out_of_time = field(line, "out_of_time", false);
  end.is_out_of_memory = field(line, "out_of_memory", false);
  end.was_told = field(line, "told", false);
  if (line.contains("cpu_seconds")) end.use.cpu_seconds = field(line, "cpu_seconds", std::int64_t{0});
  if (line.contains("memory_mib")) end.use.memory_peak = MiB(field(line, "memory_mib", std::int64_t{0}));
  end.detail = field(line, "detail", std::string());
  return end;
}

}  // namespace

std::string local_task_folder(const std::string& root, std::string_view database, const TaskKey& key) {
  constexpr std::int64_t kJobsPerFolder = 1000;
  return fmt::format("{}/tasks/{}/{}", root, key.job / kJobsPerFolder, print_key(database, key));
}

std::string local_work_folder(const std::string& folder) { return folder + "/work"; }

std::string local_done_file(const std::string& folder) { return folder + "/done"; }

Result<Descriptor> claim_task(const std::string& folder, const ProcessMark& supervisor, const ProcessMark& guard,
                              Seconds time_limit) {
  if (!make_folders(folder)) return file_error(folder);
  const std::string record = folder + "/record";
  const std::string draft = fmt::format("{}.{}.{}", record, supervisor.pid, supervisor.start);
  BERTH_ASSIGN(Descriptor file, open_plain_file(draft, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND));
  const bool is_written = write_whole(file.get(), json_line(claim_of(supervisor, guard, time_limit)));
  if (!is_written || link(draft.c_str(), record.c_str()) != 0) {
    const bool is_held = is_written && errno == EEXIST;
    Status error = file_error(record);
    unlink(draft.c_str());
    return is_held ? Result<Descriptor>(Descriptor()) : Result<Descriptor>(std::move(error));
  }
  unlink(draft.c_str());
  reserve_block(folder + "/requests");  // a job that fills the disk must be told to stop all the same
  return file;
}

Descriptor take_over_claim(const std::string& folder, const ProcessMark& supervisor) {
  Result<Descriptor> file = open_plain_file(folder + "/record", O_WRONLY | O_APPEND);
  if (!file.ok() || !write_whole(file->get(), appended_line(claim_of(supervisor, {}, Seconds(0))))) return Descriptor();
  return *std::move(file);
}

bool is_record_of(const Descriptor& record, const std::string& folder) {
  struct stat held = {};
  struct stat found = {};
  return fstat(record.get(), &held) == 0 && lstat((folder + "/record").c_str(), &found) == 0 &&
         held.st_dev == found.st_dev && held.st_ino == found.st_ino && held.st_size <= static_cast<off_t>(kMostOfFile);
}

bool write_start(const Descriptor& record, const TaskStart& start) {
  return write_whole(
      record.get(),
      appended_line({{"started", start.at.value()}, {"pid", start.process.pid}, {"start", start.process.start}}));
}

bool write_first_end(const Descriptor& record, const TaskEnd& end) {
  return write_whole(record.get(), appended_line(end_line(kFirstEnded, end)));
}

bool write_end(const Descriptor& record, const TaskEnd& end) {
  return write_whole(record.get(), appended_line(end_line(kEnded, end)));
}

bool write_lost(const Descriptor& record, const std::string& why) {
  return write_whole(record.get(), appended_line({{"lost", why}}));
}

Result<std::optional<TaskRecord>> read_record(const std::string& folder) {
  std::size_t offset = 0;
  Result<std::vector<json>> lines = read_lines(folder + "/record", offset);
  if (!lines.ok()) {
    if (lines.status().code() == Code::kNotFound) return std::optional<TaskRecord>();
    return std::move(lines).status();
  }
  TaskRecord record;
  for (const json& line : *lines) {
    if (line.contains("claimed")) {
      record.supervisor = read_mark(line);
      record.guard = read_guard(line);
      record.time_limit = std::max(record.time_limit, Seconds(field(line, "time_limit", std::int64_t{0})));
    }
    if (line.contains("lost")) record.lost = field(line, "lost", std::string());
    if (line.contains("started")) {
      record.start = TaskStart{read_mark(line), Seconds(field(line, "started", std::int64_t{0}))};
      record.start->process.boot = record.supervisor.boot;
    }
    if (line.contains(kFirstEnded)) record.first_end = read_end(line, kFirstEnded);
    if (line.contains(kEnded)) record.end = read_end(line, kEnded);
  }
  return std::optional<TaskRecord>(std::move(record));
}

Status write_request(const std::string& folder, const TaskRequest& request) {
  const std::string path = folder + "/requests";
  if (!make_folders(folder)) return file_error(folder);
  // What can hold no requests, or would not be read, is in the way.
  if (read_plain_file(path).status().code() == Code::kCorrupt) put_aside(path);
  BERTH_ASSIGN(const Descriptor file, open_plain_file(path, O_WRONLY | O_CREAT | O_APPEND));
  json line = {{"signal", request.signal}, {"at", request.at.value()}};
  if (request.grace) line["grace"] = request.grace->value();
  if (request.is_out_of_time) line["out_of_time"] = true;
  if (request.lasts > Seconds(0)) line["lasts"] = request.lasts.value();
  return write_whole(file.get(), appended_line(line)) ? Status() : file_error(path);
}

std::vector<TaskRequest> read_requests(const std::string& folder, std::size_t& offset) {
  std::vector<TaskRequest> requests;
  const Result<std::vector<json>> lines = read_lines(folder + "/requests", offset);
  if (!lines.ok()) return requests;
  for (const json& line : *lines) {
    TaskRequest request;
    request.signal = field(line, "signal", 0);
    request.at = Seconds(field(line, "at", std::int64_t{0}));
    if (line.contains("grace")) request.grace = Seconds(field(line, "grace", std::int64_t{0}));
    request.is_out_of_time = field(line, "out_of_time", false);
    request.lasts = Seconds(field(line, "lasts", std::int64_t{0}));
    requests.push_back(request);
  }
  return requests;
}

}  // namespace berth
