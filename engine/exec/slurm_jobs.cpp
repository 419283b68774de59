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
  SlurmState state;
};
// COMPLETED to STOPPED: the states and flags that Slurm's job state codes name.
constexpr std::array kStateWords = {
    StateWord{"BOOT_FAIL", SlurmState::kNodeFailed},      StateWord{"CANCELLED", SlurmState::kCancelled},
    StateWord{"COMPLETED", SlurmState::kCompleted},       StateWord{"COMPLETING", SlurmState::kEnding},
    StateWord{"DEADLINE", SlurmState::kTimeout},          StateWord{"FAILED", SlurmState::kFailed},
    StateWord{"LAUNCH_FAILED", SlurmState::kNodeFailed},  StateWord{"NODE_FAIL", SlurmState::kNodeFailed},
    StateWord{"OUT_OF_MEMORY", SlurmState::kOutOfMemory}, StateWord{"PREEMPTED", SlurmState::kPreempted},
    StateWord{"RESIZING", SlurmState::kRunning},          StateWord{"REVOKED", SlurmState::kCancelled},
    StateWord{"RUNNING", SlurmState::kRunning},           StateWord{"SIGNALING", SlurmState::kRunning},
    StateWord{"STAGE_OUT", SlurmState::kEnding},          StateWord{"STOPPED", SlurmState::kRunning},
    StateWord{"SUSPENDED", SlurmState::kRunning},         StateWord{"TIMEOUT", SlurmState::kTimeout},
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

// A job for each row of `count` fields that begins with one's number; `read` takes the rest.
template <class Read>
std::vector<SlurmJob> read_rows(std::string_view text, std::size_t count, Read read) {
  std::vector<SlurmJob> jobs;
  for (const std::string_view row : split(text, '\n')) {
    const auto fields = row_fields(row, count);
    SlurmJob job;
    if (!fields || !name_job(fields->front(), job)) continue;
    read(*fields, job);
    jobs.push_back(std::move(job));
  }
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
      const SlurmState read = read_slurm_state(state);
      holds = read == SlurmState::kRunning || read == SlurmState::kEnding;
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
  word = word.substr(0, word.find(' '));
  const auto row = std::ranges::find(kStateWords, word, &StateWord::word);
  return row == kStateWords.end() ? SlurmState::kPending : row->state;
}

bool is_slurm_end(SlurmState state) { return state >= SlurmState::kCompleted; }

std::vector<SlurmJob> read_squeue(std::string_view text) {
  return read_rows(text, 9, [](const std::vector<std::string_view>& fields, SlurmJob& job) {
    job.state_word = fields[1];
    job.state = read_slurm_state(job.state_word);
    job.reason = fields[2];
    job.nodes = fields[3];
    job.user = fields[4];
    job.submitted = read_slurm_moment(fields[5]);
    job.started = read_slurm_moment(fields[6]);
    job.ended = read_slurm_moment(fields[7]);
    job.name = fields[8];
  });
}

std::vector<SlurmJob> read_squeue_steps(std::string_view text) {
  return read_rows(text, 4, [](const std::vector<std::string_view>& fields, SlurmJob& step) {
    step.state = SlurmState::kRunning;
    step.state_word = "RUNNING";
    step.user = fields[1];
    step.nodes = fields[2];
    step.name = fields[3];
  });
}

std::vector<SlurmJob> read_sacct(std::string_view text) {
  return read_rows(text, 5, [](const std::vector<std::string_view>& fields, SlurmJob& job) {
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
