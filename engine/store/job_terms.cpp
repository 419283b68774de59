#include "engine/store/job_terms.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/base/plain_text.h"
#include "engine/base/text.h"
#include "engine/store/names.h"

namespace berth {

namespace {

constexpr Seconds kLongestTerm(3650LL * 24 * 3600);

Status check_term(std::string_view what, Seconds value) {
  if (value >= Seconds(0) && value <= kLongestTerm) return {};
  return Status(Code::kInvalid,
                fmt::format("{} lies between 0s and {}, not {}", what, print_duration(kLongestTerm), value.value()))
      .about(what);
}

Result<CheckedTerms::Dependency> find_dependency(Database& db, const std::string& name) {
  BERTH_ASSIGN(const std::int64_t id, find_job(db, name));
  BERTH_ASSIGN(Statement row, db.prepare("SELECT state FROM jobs WHERE id = ?1"));
  if (!row.with(id).next())
    return row.status().ok() ? Status(Code::kNotFound, fmt::format("no job {}", id)) : row.status();
  BERTH_ASSIGN(const JobState state, read_job_state(row.text(0)));
  if (state == JobState::kFailed || state == JobState::kCancelled) {
    return Status(Code::kConflict, fmt::format("job '{}' has {}: what comes after it would never start", name,
                                               state == JobState::kFailed ? "failed" : "been cancelled"))
        .about("after", name);
  }
  return CheckedTerms::Dependency{id, state == JobState::kFinished};
}

}  // namespace

Result<CheckedTerms> check_terms(Database& db, const JobTerms& terms) {
  BERTH_TRY(check_term("checkpoint_every", terms.checkpoint_every));
  BERTH_TRY(check_term("checkpoint_grace", terms.checkpoint_grace));
  BERTH_TRY(check_term("restart_cost", terms.restart_cost));
  BERTH_TRY(check_term("min_runtime", terms.min_runtime.value_or(Seconds(0))));
  CheckedTerms checked{terms, {}};
  for (const std::string& name : terms.after) {
    BERTH_ASSIGN(const CheckedTerms::Dependency dependency, find_dependency(db, name));
    if (std::ranges::find(checked.after, dependency.job, &CheckedTerms::Dependency::job) != checked.after.end())
      return Status(Code::kInvalid, fmt::format("job '{}' is named twice", name)).about("after", name);
    checked.after.push_back(dependency);
  }
  return checked;
}

Status write_terms(Change& change, std::int64_t job, const CheckedTerms& checked) {
  const JobTerms& terms = checked.terms;
  if (terms == JobTerms()) return {};
  Database& db = change.db();
  BERTH_ASSIGN(Statement update, db.prepare("UPDATE jobs SET preemptible = ?2, checkpoint_interval_s = ?3, "
                                            "checkpoint_grace_s = ?4, restart_cost_s = ?5, min_runtime_s = ?6 "
                                            "WHERE id = ?1"));
  BERTH_TRY(update.run(job, terms.preemptible, terms.checkpoint_every, terms.checkpoint_grace, terms.restart_cost,
                       terms.min_runtime));
  BERTH_ASSIGN(Statement insert, db.prepare("INSERT INTO dependencies (job_id, after_id, state) VALUES (?1, ?2, ?3)"));
  for (const auto& [after, met] : checked.after) BERTH_TRY(insert.run(job, after, met ? "met" : "open"));
  return {};
}

Result<std::pair<std::string, std::string>> read_variable(std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  const auto is_letter = [](char c) { return c == '_' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); };
  const bool is_name = !name.empty() && is_letter(name.front()) &&
                       std::ranges::all_of(name, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
  if (equals == std::string_view::npos || !is_name)
    return Status(Code::kInvalid, fmt::format("'{}' is no variable", text), "as in 'EPOCHS=10'").about("env", text);
  return std::pair(std::string(name), std::string(text.substr(equals + 1)));
}

Status check_command(const JobCommand& command) {
  static const std::vector<std::string> kSignals = {"HUP", "INT", "QUIT", "USR1", "USR2", "TERM", "CONT"};
  if (command.command.empty() && command != JobCommand())
    return Status(Code::kInvalid, "a working directory, variables, an image, a signal or retries, but no command",
                  "command = 'python train.py' says what to start");
  if (!command.checkpoint_signal.empty() && std::ranges::find(kSignals, command.checkpoint_signal) == kSignals.end()) {
    return Status(Code::kInvalid, fmt::format("checkpoint_signal: no signal '{}'", command.checkpoint_signal),
                  "there are " + join(kSignals, ", "))
        .about("checkpoint_signal");
  }
  if (command.retries < 0 || command.retries > 1000)
    return Status(Code::kInvalid, fmt::format("retries lie between 0 and 1000, not {}", command.retries))
        .about("retries");
  if (!command.working_directory.empty() && command.working_directory.front() != '/') {
    return Status(Code::kInvalid, fmt::format("working_directory '{}' is not absolute", command.working_directory),
                  "it begins with '/': nobody knows where Berth will be started from")
        .about("working_directory");
  }
  // What is given to a program ends there.
  const auto has_zero = [](const std::string& text) { return text.find('\0') != std::string::npos; };
  const bool has_any =
      has_zero(command.command) || has_zero(command.working_directory) || has_zero(command.image) ||
      std::ranges::any_of(command.environment, [&](const auto& each) { return has_zero(each.second); });
  if (has_any) return Status(Code::kInvalid, "a command, its directory, variables and image must not hold a zero byte");
  for (const auto& [name, value] : command.environment) {
    BERTH_TRY(read_variable(name + "=" + value).status());
    if (!is_utf8(value)) return Status(Code::kInvalid, fmt::format("the value of variable {} must be UTF-8", name));
  }
  return {};
}

Status write_command(Change& change, std::int64_t job, const JobCommand& command) {
  if (command.command.empty()) return {};
  nlohmann::json environment = nlohmann::json::object();
  for (const auto& [name, value] : command.environment) environment[name] = value;
  BERTH_ASSIGN(
      Statement update,
      change.db().prepare("UPDATE jobs SET command = ?2, working_directory = ?3, environment = ?4, image = ?5, "
                          "checkpoint_signal = ?6, retry_limit = ?7 WHERE id = ?1"));
  return update.run(job, command.command, command.working_directory,
                    environment.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), command.image,
                    command.checkpoint_signal, command.retries);
}

Status settle_dependencies(Change& change, std::int64_t job, JobState ended) {
  BERTH_ASSIGN(Statement update, change.db().prepare("UPDATE dependencies SET state = ?2 WHERE after_id = ?1"));
  return update.run(job, ended == JobState::kFinished ? "met" : "broken");
}

}  // namespace berth
