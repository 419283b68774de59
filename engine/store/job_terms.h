// What a job says beyond what it asks for: what evicting it means, and which jobs it comes after.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/model/job.h"
#include "engine/store/change.h"

namespace berth {

struct JobTerms {
  bool preemptible = true;
  Seconds checkpoint_every = {};            // 0 = it writes none: an eviction loses all its work
  Seconds checkpoint_grace = {};            // from being told to stop to the end; it writes one then. 0 = none
  Seconds restart_cost = {};                // until it is back where it was
  std::optional<Seconds> min_runtime = {};  // not evicted before; default: the setting
  std::vector<std::string> after = {};      // jobs, by name or id, that must finish first

  bool operator==(const JobTerms&) const = default;
};

// What an executor starts for each task. Without a command it starts nothing: Berth keeps the books.
struct JobCommand {
  std::string command = {};            // of /bin/sh; empty = none
  std::string working_directory = {};  // empty = the executor's
  std::vector<std::pair<std::string, std::string>> environment = {};
  std::string image = {};              // for executors that need one; empty = theirs
  std::string checkpoint_signal = {};  // "USR1": sent when it is told to stop; empty = none
  std::int64_t retries = 0;            // attempts that may fail before the job has

  bool operator==(const JobCommand&) const = default;
};
// "NAME=value". kInvalid for a name that no environment can have.
Result<std::pair<std::string, std::string>> read_variable(std::string_view text);

// Terms that have been looked at: dependencies by id.
struct CheckedTerms {
  JobTerms terms;
  struct Dependency {
    std::int64_t job = 0;
    bool met = false;
  };
  std::vector<Dependency> after;
};

// kInvalid for times that cannot be, kNotFound for a job that does not exist (so nothing can depend on itself: a job
// comes after older ones only), kConflict for one that failed or was cancelled: the job would never start.
Result<CheckedTerms> check_terms(Database& db, const JobTerms& terms);
// kInvalid: parts of a command without the command, a signal that does not exist, a name of a variable that cannot be.
Status check_command(const JobCommand& command);
// Of a job that was just inserted.
Status write_command(Change& change, std::int64_t job, const JobCommand& command);
Status write_terms(Change& change, std::int64_t job, const CheckedTerms& checked);

// The job has ended: those that come after it may start, or never will.
Status settle_dependencies(Change& change, std::int64_t job, JobState ended);

}  // namespace berth
