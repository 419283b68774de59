#include "engine/exec/slurm_jobs.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "engine/base/text.h"
#include "engine/exec/slurm_hostlist.h"

namespace berth {

namespace {

struct StateWord {
  std::string_view word;
  std::string_view short_form;
  SlurmState state;
};
// The states and flags that Slurm's job state codes name.
constexpr std::array kStateWords = {
    StateWord{"BOOT_FAIL", "BF", SlurmState::kNodeFailed},
    StateWord{"CANCELLED", "CA", SlurmState::kCancelled},
    StateWord{"COMPLETED", "CD", SlurmState::kCompleted},
    StateWord{"COMPLETING", "CG", SlurmState::kEnding},
    StateWord{"CONFIGURING", "CF", SlurmState::kConfiguring},
    StateWord{"DEADLINE", "DL", SlurmState::kTimeout},
    StateWord{"FAILED", "F", SlurmState::kFailed},
    StateWord{"LAUNCH_FAILED", "LF", SlurmState::kNodeFailed},
    StateWord{"NODE_FAIL", "NF", SlurmState::kNodeFailed},
    StateWord{"OUT_OF_MEMORY", "OOM", SlurmState::kOutOfMemory},
    StateWord{"PENDING", "PD", SlurmState::kPending},
    StateWord{"POWER_UP_NODE", "PU", SlurmState::kConfiguring},
    StateWord{"PREEMPTED", "PR", SlurmState::kPreempted},
    StateWord{"RECONFIG_FAIL", "RC", SlurmState::kNodeFailed},
    StateWord{"REQUEUED", "RQ", SlurmState::kPending},
    StateWord{"REQUEUE_FED", "RF", SlurmState::kPending},
    StateWord{"REQUEUE_HOLD", "RH", SlurmState::kPending},
    StateWord{"RESIZING", "RS", SlurmState::kRunning},
    StateWord{"RESV_DEL_HOLD", "RD", SlurmState::kPending},
    StateWord{"REVOKED", "RV", SlurmState::kCancelled},
    StateWord{"RUNNING", "R", SlurmState::kRunning},
    StateWord{"SIGNALING", "SI", SlurmState::kRunning},
    StateWord{"SPECIAL_EXIT", "SE", SlurmState::kPending},
    StateWord{"STAGE_OUT", "SO", SlurmState::kEnding},
    StateWord{"STOPPED", "ST", SlurmState::kRunning},
    StateWord{"SUSPENDED", "S", SlurmState::kRunning},
    StateWord{"TIMEOUT", "TO", SlurmState::kTimeout},
};

std::optional<std::int64_t> leading_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

// Of things that are counted: 0 where there is none, and no more than any cluster has.
std::int32_t bounded_count(std::int64_t count) {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(count, 0, 1'000'000'000));
}
std::int32_t leading_count(std::string_view text) { return bounded_count(leading_number(text).value_or(0)); }

// Unix seconds; "N/A", "NONE", "Unknown" = -1.
Seconds read_slurm_moment(std::string_view text) { return Seconds(leading_number(text).value_or(-1)); }

// The first count - 1 fields of a row, and what is left as the last one.
std::optional<std::vector<std::string_view>> row_fields(std::string_view row, std::size_t count) {
  std::vector<std::string_view> fields;
  while (fields.size() + 1 < count) {
    const std::size_t bar = row.find('|');
    if (bar == std::string_view::npos) return std::nullopt;
    fields.push_back(row.substr(0, bar));
    row.remove_prefix(bar + 1);
  }
  fields.push_back(row);
  return fields;
}

bool name_job(std::string_view shown, SlurmJob& job) {
  const auto id = leading_number(shown);
  if (!id || *id <= 0) return false;
  job.id = *id;
  job.shown = shown;
  if (const std::size_t plus = shown.find('+'); plus != std::string_view::npos)
    job.component = leading_count(shown.substr(plus + 1));
  return true;
}

// Every whole row of `count` fields; `take` says whether it is one of a job.
template <class Take>
void visit_rows(std::string_view text, std::size_t count, bool* is_whole, Take take) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view row = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const auto fields = row_fields(row, count);
    const bool is_read = end != std::string_view::npos && fields && take(*fields);
    if (!is_read && is_whole != nullptr && !trim(row).empty()) *is_whole = false;
  }
}

// A job for each row that begins with one's number; `read` takes the rest.
template <class Read>
std::vector<SlurmJob> read_rows(std::string_view text, std::size_t count, bool* is_whole, Read read) {
  std::vector<SlurmJob> jobs;
  visit_rows(text, count, is_whole, [&](const std::vector<std::string_view>& fields) {
    SlurmJob job;
    if (!name_job(fields.front(), job)) return false;
    read(fields, job);
    jobs.push_back(std::move(job));
    return true;
  });
  return jobs;
}

// "Key=value" among the words of a line; empty when it is not there.
std::string_view word_value(std::string_view word, std::string_view key) {
  return word.starts_with(key) ? word.substr(key.size()) : std::string_view();
}

std::int32_t count_of_ids(std::string_view ids) {
  std::int32_t count = 0;
  for (const std::string_view range : split(ids, ',')) {
    const std::size_t dash = range.find('-');
    if (!leading_number(range)) continue;
    const std::int64_t first = leading_count(range);
    const std::int64_t last = dash == std::string_view::npos ? first : leading_count(range.substr(dash + 1));
    if (last >= first) count = bounded_count(count + last - first + 1);
  }
  return count;
}

// What add_general() in slurm_script.cpp wrote there; empty = nothing.
std::string_view launch_in_comment(std::string_view comment) {
  constexpr std::string_view kBefore = "\"launch\":\"";
  const std::size_t found = comment.find(kBefore);
  if (found == std::string_view::npos) return {};
  comment.remove_prefix(found + kBefore.size());
  return comment.substr(0, comment.find('"'));
}

// One line of `scontrol -d -o show job`. What is held comes as runs of four words, once for each set of equal nodes:
// "Nodes=n[2-3] CPU_IDs=6-7 Mem=100 GRES=gpu:a100:2(IDX:0-1)".
void read_job_line(std::string_view line, std::vector<SlurmHolding>& holdings) {
  SlurmHolding job;
  bool holds = false;
  std::vector<std::string_view> words;
  for (const std::string_view word : split(line, ' '))
    if (!word.empty()) words.push_back(word);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (const auto id = word_value(words[i], "JobId="); !id.empty()) job.job = leading_number(id).value_or(0);
    if (const auto user = word_value(words[i], "UserId="); !user.empty()) job.user = user.substr(0, user.find('('));
    if (const auto state = word_value(words[i], "JobState="); !state.empty()) {
      holds = has_slurm_nodes(read_slurm_state(state));
    }
    const auto nodes = word_value(words[i], "Nodes=");
    if (!holds || nodes.empty() || i + 3 >= words.size() || !words[i + 1].starts_with("CPU_IDs=")) continue;
    job.cpus = count_of_ids(word_value(words[i + 1], "CPU_IDs="));
    job.memory = MiB(leading_count(word_value(words[i + 2], "Mem=")));
    const SlurmGpus gpus = read_slurm_gres(word_value(words[i + 3], "GRES="));
    job.gpus = gpus.count;
    job.devices = gpus.devices;
    auto names = expand_slurm_hostlist(nodes);
    if (!names.ok()) continue;
    for (std::string& name : *names) {
      job.node = std::move(name);
      holdings.push_back(job);
    }
  }
}

}  // namespace

SlurmState read_slurm_state(std::string_view word) {
  std::string name(word.substr(0, word.find_first_of(" +")));  // "CANCELLED+" was too long for its column
  std::ranges::transform(name, name.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  const auto row = std::ranges::find_if(
      kStateWords, [&](const StateWord& each) { return each.word == name || each.short_form == name; });
  return row == kStateWords.end() ? SlurmState::kUnknown : row->state;
}

bool has_slurm_nodes(SlurmState state) { return !is_slurm_end(state) && state != SlurmState::kPending; }

bool is_slurm_end(SlurmState state) { return state >= SlurmState::kCompleted; }

std::vector<SlurmJob> read_squeue(std::string_view text, bool* is_whole) {
  return read_rows(text, 10, is_whole, [](const std::vector<std::string_view>& fields, SlurmJob& job) {
    job.state_word = fields[1];
    job.state = read_slurm_state(job.state_word);
    job.reason = fields[2];
    job.nodes = fields[3];
    job.user = fields[4];
    job.submitted = read_slurm_moment(fields[5]);
    job.started = read_slurm_moment(fields[6]);
    job.ended = read_slurm_moment(fields[7]);
    const std::string_view launch = launch_in_comment(fields[8]);
    job.name = launch.empty() ? fields[9] : launch;
  });
}

std::vector<SlurmJob> read_squeue_steps(std::string_view text, bool* is_whole) {
  return read_rows(text, 4, is_whole, [](const std::vector<std::string_view>& fields, SlurmJob& step) {
    step.state = SlurmState::kRunning;
    step.state_word = "RUNNING";
    step.user = fields[1];
    step.nodes = fields[2];
    step.name = fields[3];
  });
}

std::vector<SlurmOccupant> read_squeue_occupants(std::string_view text) {
  std::vector<SlurmOccupant> occupants;
  visit_rows(text, 6, nullptr, [&](const std::vector<std::string_view>& fields) {
    const auto id = leading_number(fields[0]);
    if (!id || *id <= 0) return false;
    occupants.push_back({.id = *id,
                         .listed = leading_number(fields[1]).value_or(0),
                         .state = read_slurm_state(fields[2]),
                         .cpus = leading_count(fields[3]),
                         .nodes = std::string(fields[4]),
                         .user = std::string(fields[5])});
    return true;
  });
  return occupants;
}

std::vector<SlurmJob> read_sacct(std::string_view text) {
  return read_rows(text, 5, nullptr, [](const std::vector<std::string_view>& fields, SlurmJob& job) {
    job.state_word = fields[1];
    job.state = read_slurm_state(job.state_word);
    job.started = read_slurm_moment(fields[2]);
    job.ended = read_slurm_moment(fields[3]);
    job.name = fields[4];
  });
}

std::vector<SlurmHolding> read_slurm_holdings(std::string_view text) {
  std::vector<SlurmHolding> holdings;
  for (const std::string_view line : split(text, '\n')) read_job_line(line, holdings);
  return holdings;
}

bool shows_slurm_job(std::string_view text, std::int64_t id, std::string_view launch) {
  constexpr std::string_view kState = " JobState=";
  const std::vector<std::string_view> lines = split(text, '\n');
  return std::ranges::any_of(lines, [&](std::string_view line) {
    const std::size_t state = line.find(kState);
    return leading_number(word_value(line, "JobId=")) == id && line.find(launch) != line.npos && state != line.npos &&
           !is_slurm_end(read_slurm_state(line.substr(state + kState.size())));
  });
}

SlurmGpus read_slurm_gres(std::string_view text) {
  SlurmGpus gpus;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c != ',' || (depth > 0 && i < text.size())) continue;
    const std::string_view item = text.substr(begin, i - begin);
    begin = i + 1;
    const std::string_view plain = item.substr(0, item.find('('));
    const std::vector<std::string_view> parts = split(plain, ':');
    if (parts.front() != "gpu") continue;
    if (parts.size() > 2) gpus.model = parts[1];
    gpus.count = bounded_count(std::int64_t{gpus.count} + (parts.size() == 1 ? 1 : leading_count(parts.back())));
    if (const std::size_t at = item.find("(IDX:"); at != std::string_view::npos) {
      const auto mask = read_device_mask(item.substr(at + 5, item.find(')', at) - at - 5));
      if (mask.ok()) gpus.devices |= *mask;
    }
  }
  return gpus;
}

}  // namespace berth
