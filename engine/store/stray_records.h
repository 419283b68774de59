// Tasks of ours that run and of which this database knows nothing: strays, held until an admin has decided.
//
// They began after the state that the database was restored from. Nobody stops them by himself, nothing new is placed
// on their nodes, and a job that is theirs by its number is held, for it would run twice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/store/change.h"

namespace berth {

enum class StrayVerdict : std::uint8_t {
  kNone,
  kStop,
  kKeep,  // they run to their end
};

struct Stray {
  std::int64_t job = 0;
  std::int64_t attempt = 0;
  std::int64_t generation = 0;
  std::int64_t group = 0;
  std::int64_t task = 0;
  std::string node = {};  // empty = not known
  StrayVerdict verdict = StrayVerdict::kNone;

  // "job 12 attempt 1 task 0.3 on n1"
  std::string words() const;
};

// Those of one executor, or of all (0).
Result<std::vector<Stray>> list_strays(Database& db, std::int64_t executor = 0);
// Nodes that are closed because strays run there, or may: a sync closes them again whoever resumes them.
Result<std::vector<std::string>> nodes_of_strays(Database& db);
// What is said of a job of which a stray is known: it does not start, nor is it released, beside it.
struct StrayOfJob {
  std::string sentence;   // "a task of it still runs from before the database was restored: job 2 attempt 1 ..."
  std::string next_step;  // which statement ends that
};
Result<std::optional<StrayOfJob>> stray_of_job(Database& db, std::int64_t job);
// Some job could start beside a stray: one of its own, where it waits or its executors were not told yet to start it,
// or one on a node where it was placed before the stray was known.
Result<bool> may_run_twice(Database& db);
// Those with strays of their own are held, the others wait again.
Status hold_jobs_of_strays(Change& change);
// These are the executor's strays now: new ones are noted, others are forgotten, verdicts stay. A job of theirs that
// waits is held; it is released when those of them that were to be stopped are gone. No version of the state, but for
// held and released jobs. The jobs that stay held though their strays are gone.
struct StrayNews {
  std::vector<Stray> found;  // not known before
  std::vector<Stray> gone;
  std::vector<std::int64_t> left_held;  // jobs whose strays ended by themselves
};
Result<StrayNews> note_strays(Change& change, std::int64_t executor, const std::vector<Stray>& strays);
// Until all executors have been asked since a restore, jobs up to this number may run unseen, so that nobody is told to
// start them; 0 = none.
Result<std::int64_t> last_unseen_job(Database& db);
Result<bool> was_asked_since_restore(Database& db, std::int64_t executor);
Status note_asked(Database& db, std::int64_t executor);
// Of one job, or of all. kNotFound when there are none.
Result<std::int64_t> judge_strays(Change& change, std::optional<std::int64_t> job, StrayVerdict verdict);

}  // namespace berth
