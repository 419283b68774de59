#include "engine/runtime/job_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/base/file_bytes.h"
#include "engine/base/plain_text.h"
#include "engine/base/text.h"

namespace berth {

namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostBytes = std::size_t{1} << 20;

// A group before its keys are read: what is not said is as in SUBMIT JOB ... WITH.
TaskGroupRequest default_group() {
  TaskGroupRequest group;
  group.cpu = MilliCpu(1000);
  group.memory = MiB(1024);
  return group;
}

const std::vector<std::string>& job_keys() {
  static const std::vector<std::string> keys = {"name",
                                                "queue",
                                                "priority",
                                                "user",
                                                "tag",
                                                "time_limit",
                                                "held",
                                                "allow_infeasible",
                                                "checkpoint_every",
                                                "checkpoint_grace",
                                                "restart_cost",
                                                "min_runtime",
                                                "preemptible",
                                                "after",
                                                "command",
                                                "directory",
                                                "env",
                                                "image",
                                                "checkpoint_signal",
                                                "retries",
                                                "groups"};
  return keys;
}

const std::vector<std::string>& group_keys() {
  static const std::vector<std::string> keys = {"name",   "tasks",  "min_tasks", "gpus",     "gpu_memory",       "cpu",
                                                "memory", "models", "pool",      "locality", "locality_required"};
  return keys;
}

Status wrong_value(const std::string& key, std::string_view expected, const Json& found) {
  // Lists and objects may be nested deeper than can be printed.
  std::string text = found.is_array() ? "a list" : found.is_object() ? "an object" : found.dump();
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return Status(Code::kInvalid, fmt::format("key '{}': expected {}, found {}", key, expected, text));
}

// A number or text, as text; numbers are taken as they are written.
Result<std::string> amount_text(const std::string& key, const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number()) return value.dump();
  return wrong_value(key, "a number or text", value);
}

Result<std::string> plain_text(const std::string& key, const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return wrong_value(key, "text", value);
}

Result<std::int64_t> whole_number(const std::string& key, const Json& value) {
  if (value.is_number_integer()) return value.get<std::int64_t>();
  return wrong_value(key, "a whole number", value);
}

Result<bool> truth(const std::string& key, const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  return wrong_value(key, "true or false", value);
}

template <class Amount>
Status read_amount(const std::string& key, const Json& value, Result<Amount> (*read)(std::string_view),
                   Amount& amount) {
  BERTH_ASSIGN(const std::string text, amount_text(key, value));
  Result<Amount> result = read(text);
  if (!result.ok()) return std::move(result).status().prefixed(fmt::format("key '{}'", key));
  amount = *result;
  return {};
}

Result<std::vector<std::string>> name_list(const std::string& key, const Json& value) {
  std::vector<std::string> names;
  if (value.is_string()) {
    for (const std::string_view name : split(value.get_ref<const std::string&>(), '|')) names.emplace_back(trim(name));
    return names;
  }
  if (!value.is_array()) return wrong_value(key, "a list of names", value);
  for (const Json& item : value) {
    BERTH_ASSIGN(std::string name, plain_text(key, item));
    names.push_back(std::move(name));
  }
  return names;
}

// Takes one key of a group; false when it is not a group's.
Result<bool> take_group_key(const std::string& key, const Json& value, TaskGroupRequest& group) {
  if (key == "tasks") {
    BERTH_ASSIGN(group.count, whole_number(key, value));
  } else if (key == "min_tasks") {
    BERTH_ASSIGN(group.min_tasks, whole_number(key, value));
  } else if (key == "gpus") {
    MilliGpu amount;
    BERTH_TRY(read_amount(key, value, read_gpu, amount));
    BERTH_TRY(set_gpus(group, amount));
  } else if (key == "gpu_memory") {
    BERTH_TRY(read_amount(key, value, read_memory, group.gpu_memory));
  } else if (key == "cpu") {
    BERTH_TRY(read_amount(key, value, read_cpu, group.cpu));
  } else if (key == "memory") {
    BERTH_TRY(read_amount(key, value, read_memory, group.memory));
  } else if (key == "models") {
    BERTH_ASSIGN(group.models, name_list(key, value));
  } else if (key == "pool") {
    BERTH_ASSIGN(group.pool, plain_text(key, value));
  } else if (key == "locality") {
    BERTH_ASSIGN(const std::string text, plain_text(key, value));
    BERTH_ASSIGN(group.locality, read_locality(text));
  } else if (key == "locality_required") {
    BERTH_ASSIGN(group.locality_required, truth(key, value));
  } else {
    return false;
  }
  return true;
}

// What evicting the job means, and what it comes after.
Result<bool> take_terms_key(const std::string& key, const Json& value, JobTerms& terms) {
  if (key == "checkpoint_every") {
    BERTH_TRY(read_amount(key, value, read_duration, terms.checkpoint_every));
  } else if (key == "checkpoint_grace") {
    BERTH_TRY(read_amount(key, value, read_duration, terms.checkpoint_grace));
  } else if (key == "restart_cost") {
    BERTH_TRY(read_amount(key, value, read_duration, terms.restart_cost));
  } else if (key == "min_runtime") {
    BERTH_TRY(read_amount(key, value, read_duration, terms.min_runtime.emplace()));
  } else if (key == "preemptible") {
    BERTH_ASSIGN(terms.preemptible, truth(key, value));
  } else if (key == "after") {
    BERTH_ASSIGN(terms.after, name_list(key, value));
  } else {
    return false;
  }
  return true;
}

// What an executor starts. Variables are an object or a list of "NAME=value".
Result<bool> take_command_key(const std::string& key, const Json& value, JobCommand& command) {
  if (key == "command") {
    BERTH_ASSIGN(command.command, plain_text(key, value));
  } else if (key == "directory") {
    BERTH_ASSIGN(command.working_directory, plain_text(key, value));
  } else if (key == "env" && value.is_object()) {
    for (const auto& [name, text] : value.items()) {
      BERTH_ASSIGN(std::string plain, plain_text(key, text));
      command.environment.emplace_back(name, std::move(plain));
    }
  } else if (key == "env") {
    BERTH_ASSIGN(const std::vector<std::string> variables, name_list(key, value));
    for (const std::string& variable : variables) {
      BERTH_ASSIGN(auto read, read_variable(variable));
      command.environment.push_back(std::move(read));
    }
  } else if (key == "image") {
    BERTH_ASSIGN(command.image, plain_text(key, value));
  } else if (key == "checkpoint_signal") {
    BERTH_ASSIGN(command.checkpoint_signal, plain_text(key, value));
  } else if (key == "retries") {
    BERTH_ASSIGN(command.retries, whole_number(key, value));
  } else {
    return false;
  }
  return true;
}

Result<bool> take_job_key(const std::string& key, const Json& value, JobRequest& job) {
  if (key == "name") {
    BERTH_ASSIGN(job.name, plain_text(key, value));
  } else if (key == "queue") {
    BERTH_ASSIGN(job.queue, plain_text(key, value));
  } else if (key == "priority") {
    BERTH_ASSIGN(job.priority_class, plain_text(key, value));
  } else if (key == "user") {
    BERTH_ASSIGN(job.user, plain_text(key, value));
  } else if (key == "tag") {
    BERTH_ASSIGN(job.tag, plain_text(key, value));
  } else if (key == "time_limit") {
    BERTH_TRY(read_amount(key, value, read_duration, job.time_limit));
  } else if (key == "held") {
    BERTH_ASSIGN(job.held, truth(key, value));
  } else if (key == "allow_infeasible") {
    BERTH_ASSIGN(job.allow_infeasible, truth(key, value));
  } else {
    BERTH_ASSIGN(const bool is_command, take_command_key(key, value, job.command));
    return is_command ? Result<bool>(true) : take_terms_key(key, value, job.terms);
  }
  return true;
}

Status unknown_key(const std::string& key, const std::vector<std::string>& keys) {
  const std::string near = suggest(key, keys);
  return Status(Code::kInvalid, fmt::format("unknown key '{}'", key),
                near.empty() ? fmt::format("the keys are {}", join(keys, ", ")) : near);
}

Result<TaskGroupRequest> read_group(const Json& json) {
  if (!json.is_object()) return wrong_value("groups", "a list of objects", json);
  TaskGroupRequest group = default_group();
  for (const auto& [key, value] : json.items()) {
    if (key == "name") {
      BERTH_ASSIGN(group.name, plain_text(key, value));
      continue;
    }
    BERTH_ASSIGN(const bool taken, take_group_key(key, value, group));
    if (!taken) return unknown_key(key, group_keys());
  }
  return group;
}

Result<JobRequest> read_job(const Json& json) {
  if (!json.is_object()) return Status(Code::kInvalid, "expected one JSON object with the job's keys");
  JobRequest job;
  const bool has_groups = json.contains("groups");
  TaskGroupRequest single = default_group();
  for (const auto& [key, value] : json.items()) {
    if (key == "groups") {
      if (!value.is_array() || value.empty()) return wrong_value(key, "a list of task groups", value);
      for (std::size_t i = 0; i < value.size(); ++i) {
        Result<TaskGroupRequest> group = read_group(value[i]);
        if (!group.ok()) return std::move(group).status().prefixed(fmt::format("group {}", i + 1));
        job.groups.push_back(*std::move(group));
      }
      continue;
    }
    BERTH_ASSIGN(const bool of_job, take_job_key(key, value, job));
    if (of_job) continue;
    BERTH_ASSIGN(const bool of_group, take_group_key(key, value, single));
    if (of_group && has_groups)
      return Status(Code::kInvalid, fmt::format("key '{}' belongs into a group when there are groups", key));
    if (!of_group) {
      std::vector<std::string> keys = job_keys();
      keys.insert(keys.end(), group_keys().begin() + 1, group_keys().end());
      return unknown_key(key, keys);
    }
  }
  if (!has_groups) job.groups.push_back(std::move(single));
  return job;
}

}  // namespace

Result<JobRequest> read_job_json(std::string_view text) {
  Json json;
  std::vector<std::set<std::string>> open_objects;
  std::string twice;
  // JSON itself lets the last one win.
  const auto look_for_twice = [&](int, Json::parse_event_t event, Json& found) {
    if (event == Json::parse_event_t::object_start) open_objects.emplace_back();
    if (event == Json::parse_event_t::object_end) open_objects.pop_back();
    if (event == Json::parse_event_t::key && !open_objects.back().insert(found.get<std::string>()).second &&
        twice.empty())
      twice = found.get<std::string>();
    return true;
  };
  try {
    json = Json::parse(text, look_for_twice);
  } catch (const Json::parse_error& error) {
    const std::size_t at = std::min(error.byte == 0 ? 0 : error.byte - 1, text.size());
    const std::size_t line =
        1 + static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    const std::size_t begin = text.substr(0, at).rfind('\n');
    const std::size_t column = begin == std::string_view::npos ? at + 1 : at - begin;
    return Status(Code::kInvalid, fmt::format("{}:{}: not JSON from here on", line, column));
  } catch (const Json::out_of_range&) {
    return Status(Code::kInvalid, "a number in it is too large");
  }
  if (!twice.empty()) return Status(Code::kInvalid, fmt::format("key '{}' is there twice", plain_line(twice, 60)));
  return read_job(json);
}

Result<JobRequest> read_job_file(const std::string& path) {
  BERTH_TRY(check_is_no_open_database(path));
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return Status(Code::kUnavailable, fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  std::string text(kMostBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (file.bad()) return Status(Code::kUnavailable, fmt::format("cannot read {}", path));
  if (text.size() > kMostBytes)
    return Status(Code::kInvalid, fmt::format("{} is larger than 1 MiB; it should hold one job", path),
                  "IMPORT JOBS reads many");
  Result<JobRequest> job = read_job_json(text);
  if (!job.ok()) return std::move(job).status().prefixed(path);
  return job;
}

}  // namespace berth
