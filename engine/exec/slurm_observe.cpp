#include "engine/exec/slurm_observe.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/exec/done_file.h"
#include "engine/exec/slurm_hostlist.h"
#include "engine/exec/slurm_pilot.h"

namespace berth {

namespace {

constexpr std::int64_t kStepPatienceMs = 10000;
constexpr Seconds kLeavesWithin{60};        // of Slurm, once its tasks have ended
constexpr std::int64_t kTryingMs = 120000;  // the script touches its file at least every minute

bool is_live(const SlurmJob* job) { return !is_slurm_end(job->state); }

}  // namespace

SlurmObserver::SlurmObserver(SlurmClient& client, const SlurmSubmitOptions& options, Seconds pending_limit,
                             const SlurmListing& listing, const std::string& folder)
    : client_(client),
      options_(options),
      pending_limit_(pending_limit),
      listing_(listing),
      absences_(folder + "/unlisted") {
  for (const SlurmJob& job : listing.jobs) {
    if (job.component != 0 || job.never_was()) continue;
    if (const auto key = read_launch_key(options.database, job.name)) ours_[*key].push_back(&job);
  }
}

void SlurmObserver::read_folder(const LaunchKey& key, View& view) const {
  const SlurmLaunchFolder folder(slurm_launch_folder(options_, key));
  view.is_read = true;
  view.facts.claim = folder.claim();
  view.claimed_ms = folder.claim_moment_ms();
  view.facts.submission = folder.submission();
  view.records = folder.records();
  view.facts.complaint = folder.complaint();
  view.facts.has_folder = folder.exists();
  view.facts.has_ended_whole = folder.has_ended_whole();
  const auto trying = options_.is_pilot && view.records.empty() ? folder.trying_ms() : std::nullopt;
  view.facts.is_trying = trying && wall_clock_ms() - *trying < kTryingMs;
}

// The one that holds the claim; before there is a claim one that is not over, else the last.
const SlurmJob* SlurmObserver::choose_job(const std::vector<const SlurmJob*>& jobs, const View& view) {
  if (const auto holder = job_of_claim(view.facts.claim)) {
    for (const SlurmJob* job : jobs)
      if (is_live(job) && job->id != *holder) twins_.push_back(job->id);
    const auto held = std::ranges::find(jobs, *holder, &SlurmJob::id);
    return held == jobs.end() ? nullptr : *held;
  }
  const auto live = std::ranges::find_if(jobs, is_live);
  return live == jobs.end() ? jobs.back() : *live;
}

SlurmObserver::View SlurmObserver::look(const LaunchKey& key, std::int64_t asked) {
  View view;
  view.asked = asked;
  view.facts.now = Seconds(wall_clock_ms() / 1000);
  view.facts.pending_limit = pending_limit_;
  view.facts.kill_wait = options_.kill_wait;
  const auto jobs = ours_.find(key);
  // Of one that has just begun for Slurm the folder knows whether its script has.
  const bool is_plain = jobs != ours_.end() && jobs->second.size() == 1 && asked == 1 &&
                        jobs->second.front()->state == SlurmState::kRunning &&
                        view.facts.now - jobs->second.front()->started > kBeginsWithin;
  if (!is_plain) read_folder(key, view);
  if (jobs != ours_.end()) view.facts.job = choose_job(jobs->second, view);
  const auto is_told = [](const auto& row) { return row.second.was_told_by_others; };
  const bool has_lost_its_folder =
      view.facts.claim == kStoppedClaim && view.records.empty() && view.facts.job != nullptr;
  if (has_lost_its_folder || std::ranges::any_of(view.records, is_told))
    view.facts.slurm_kill_wait = client_.kill_wait();
  // A step is listed a moment after it was asked for.
  const std::int64_t patience = options_.is_pilot ? kStepPatienceMs : 0;
  view.facts.is_current = (!view.facts.submission || listing_.asked_ms > view.facts.submission->moment_ms + patience) &&
                          (!view.claimed_ms || listing_.asked_ms > *view.claimed_ms + kRecordPatience.value() * 1000);
  return view;
}

std::optional<std::int64_t> SlurmObserver::id_of(const View& view) {
  if (const auto holder = job_of_claim(view.facts.claim)) return holder;
  return view.facts.submission ? std::optional(view.facts.submission->job) : std::nullopt;
}

const Result<std::string>& SlurmObserver::job_details() {
  if (!details_) details_ = client_.job_details();
  return *details_;
}

// Of launches that Slurm lists no more and whose script was not heard to the end.
void SlurmObserver::ask_accounting(Views& views) {
  std::vector<std::int64_t> ids;
  // Of an end that others told it of, Slurm says why.
  const auto says_all = [](const auto& row) { return row.second.ended && !row.second.was_ended_by_others(); };
  const auto asks = [&](const View& view) {
    return view.facts.job == nullptr && view.facts.is_current && view.facts.submission &&
           std::ranges::count_if(view.records, says_all) < view.asked;
  };
  for (const auto& [key, view] : views)
    if (asks(view)) ids.push_back(*id_of(view));
  if (ids.empty()) return;
  accounted_ = client_.accounted(ids);
  for (auto& [key, view] : views) {
    if (!asks(view)) continue;
    const std::string name = print_key(options_.database, key);
    for (const SlurmJob& job : accounted_)
      // Accounting lags behind: of a job that Slurm lists no more it may still say that it runs.
      if (job.name == name && job.component == 0 && !is_live(&job)) view.facts.job = &job;
  }
}

// A step is no more when nobody started it, or the job that held its node has ended.
bool SlurmObserver::has_lost_its_pilot(const View& view) const {
  if (!options_.is_pilot) return false;
  if (std::ranges::none_of(view.records, [](const auto& row) { return row.second.started.has_value(); })) return true;
  const auto is_it = [&](const SlurmJob& job) {
    return view.facts.submission && job.id == view.facts.submission->job && is_slurm_end(job.state);
  };
  return std::ranges::any_of(listing_.jobs, is_it);
}

// squeue lists what its options, its version and the site's settings let it list.
bool SlurmObserver::is_known_otherwise(const std::string& name, const View& view) {
  const std::optional<std::int64_t> id = id_of(view);
  if (options_.is_pilot || !id) return false;
  const Result<std::string>& details = job_details();
  return !details.ok() || trim(*details).empty() || shows_slurm_job(*details, *id, name);
}

void SlurmObserver::note_absences(Views& views) {
  for (auto& [key, view] : views) {
    if (view.facts.job != nullptr || !view.facts.is_current || view.facts.is_trying) continue;
    if (!view.facts.submission && !view.facts.claim && view.records.empty()) continue;
    const std::string name = print_key(options_.database, key);
    const bool is_missing = absences_.note(name, listing_.asked_ms, listing_.is_whole);
    view.facts.is_gone =
        (is_missing && !is_known_otherwise(name, view)) || (listing_.is_whole && has_lost_its_pilot(view));
  }
}

const SlurmJob* SlurmObserver::step_on(const LaunchKey& key, const std::string& node) const {
  const auto steps = ours_.find(key);
  if (steps == ours_.end()) return nullptr;
  for (const SlurmJob* const step : steps->second) {
    const auto names = expand_slurm_hostlist(step->nodes);
    if (names.ok() && std::ranges::find(*names, node) != names->end()) return step;
  }
  return nullptr;
}

bool SlurmObserver::has_lost_its_pilot_on(const std::string& node) const {
  const std::string name = slurm_pilot_name(options_.database, node);
  const auto is_it = [&](const SlurmJob& job) { return job.name == name; };
  return listing_.is_whole && std::ranges::any_of(listing_.jobs, is_it) &&
         std::ranges::all_of(listing_.jobs,
                             [&](const SlurmJob& job) { return !is_it(job) || is_slurm_end(job.state); });
}

// The one that was there when the task started.
bool SlurmObserver::has_kept_its_pilot(const std::string& node, Seconds started) const {
  const std::string name = slurm_pilot_name(options_.database, node);
  return std::ranges::any_of(listing_.jobs, [&](const SlurmJob& job) {
    return job.name == name && job.state == SlurmState::kRunning && job.started <= started;
  });
}

// Of launches that have steps on other nodes yet.
void SlurmObserver::note_lost_steps(std::span<const LiveTask> tasks, Views& views) {
  if (!options_.is_pilot) return;
  for (const LiveTask& task : tasks) {
    View& view = views.at(task.launch);
    if (view.facts.job == nullptr || !view.facts.is_current || step_on(task.launch, task.node) != nullptr) continue;
    const std::string name = print_key(options_.database, task.launch) + "@" + task.node;
    if (absences_.note(name, listing_.asked_ms, listing_.is_whole) || has_lost_its_pilot_on(task.node))
      view.lost_nodes.insert(task.node);
  }
}

TaskObservation SlurmObserver::judge(const LiveTask& task, View& view) const {
  const auto record = view.records.find({task.key.group, task.key.task});
  view.facts.record = record == view.records.end() ? nullptr : &record->second;
  SlurmTaskFacts facts = view.facts;
  facts.is_step = options_.is_pilot;
  if (facts.is_step && facts.job != nullptr && !task.node.empty()) {
    facts.job = step_on(task.launch, task.node);
    facts.is_gone = view.lost_nodes.contains(task.node);
  }
  if (facts.is_step && facts.job == nullptr && facts.record != nullptr && facts.record->started)
    facts.has_pilot = has_kept_its_pilot(task.node, *facts.record->started);
  facts.listed = Seconds(listing_.asked_ms / 1000);
  if (facts.job != nullptr && facts.job->state == SlurmState::kCancelled)
    facts.is_asked_to_end = SlurmLaunchFolder(slurm_launch_folder(options_, task.launch)).is_asked_to_end();
  TaskObservation seen = judge_slurm_task(task, facts);
  const bool is_over = seen.phase == TaskPhase::kEnded || seen.phase == TaskPhase::kVanished;
  seen.said_done = is_over && reads_done(slurm_launch_folder(options_, task.launch) + "/" +
                                         slurm_done_file(task.key.group, task.key.task));
  return seen;
}

void SlurmObserver::add_unknown(const Views& views, Observation& seen) {
  for (const auto& [key, jobs] : ours_) {
    if (views.contains(key) || std::ranges::none_of(jobs, is_live)) continue;
    View view = look(key, 2);
    const SlurmLaunchFolder folder(slurm_launch_folder(options_, key));
    const std::vector<SlurmPlacedTask> tasks = folder.tasks();
    if (tasks.empty() && !options_.is_pilot && !folder.has_changed_within(kLeavesWithin)) {
      for (const SlurmJob* const job : jobs) {
        if (!is_live(job)) continue;
        left_.insert(job->id);
        // Without its folder nothing says that it is over.
        const bool is_over = folder.is_cleared() && folder.claim();
        if (is_over && job->state == SlurmState::kRunning && job->state_word != "SUSPENDED") hung_.push_back(job->id);
      }
    }
    for (const SlurmPlacedTask& task : tasks) {
      TaskObservation row =
          judge({{key.job, key.attempt, task.group, task.task, key.generation}, key, "", task.node}, view);
      if (row.phase != TaskPhase::kStarting && row.phase != TaskPhase::kRunning) continue;
      if (row.node.empty()) row.node = task.node;
      row.sequence = key.sequence;
      seen.unknown_tasks.push_back(std::move(row));
    }
  }
}

void SlurmObserver::observe_tasks(std::span<const LiveTask> tasks, Observation& seen) {
  std::map<LaunchKey, std::int64_t> asked;
  for (const LiveTask& task : tasks) ++asked[task.launch];
  Views views;
  for (const auto& [key, count] : asked) views.emplace_hint(views.end(), key, look(key, count));
  ask_accounting(views);
  note_absences(views);
  note_lost_steps(tasks, views);
  (void)absences_.save();  // without it nothing is taken for gone
  seen.tasks.reserve(tasks.size());
  for (const LiveTask& task : tasks) seen.tasks.push_back(judge(task, views.at(task.launch)));
  add_unknown(views, seen);
  (void)client_.cancel(twins_);
}

Status SlurmObserver::observe_foreign(std::span<const std::string> nodes, Observation& seen) {
  if (nodes.empty()) return {};
  const std::set<std::string, std::less<>> wanted(nodes.begin(), nodes.end());
  struct Foreign {
    std::set<std::string> nodes;
    std::int32_t cpus = 0;
    std::int64_t listed = 0;
  };
  std::map<std::int64_t, Foreign> foreign;
  BERTH_ASSIGN(const std::vector<SlurmOccupant> occupants, client_.occupants());
  for (const SlurmOccupant& each : occupants) {
    if (!has_slurm_nodes(each.state) || each.nodes.empty() || is_ours(each)) continue;
    const auto names = expand_slurm_hostlist(each.nodes);
    if (!names.ok() || std::ranges::none_of(*names, [&](const std::string& name) { return wanted.contains(name); }))
      continue;
    foreign[each.id] = {{names->begin(), names->end()}, each.cpus, each.listed};
  }
  if (foreign.empty()) return {};
  const Result<std::string>& details = job_details();
  BERTH_TRY(details.status());
  for (const SlurmHolding& held : read_slurm_holdings(*details)) {
    const auto job = foreign.find(held.job);
    if (job == foreign.end() || !wanted.contains(held.node) || !job->second.nodes.contains(held.node)) continue;
    std::string what = left_.contains(job->second.listed)
                           ? fmt::format("slurm job {}, whose tasks have ended", held.job)
                           : fmt::format("slurm job {} of {}", held.job, held.user);
    const std::int64_t cpus = std::min(held.cpus, job->second.cpus);
    seen.foreign.push_back({held.node, std::move(what), MilliCpu(1000 * cpus), held.memory, held.gpus, held.devices});
  }
  return {};
}

// One that the listing of our user's jobs does not have yet may be.
bool SlurmObserver::is_ours(const SlurmOccupant& occupant) const {
  const auto job = std::ranges::find(listing_.jobs, occupant.listed, &SlurmJob::id);
  if (job == listing_.jobs.end()) return occupant.user == client_.user();
  return is_name_of(options_.database, job->name) && !left_.contains(job->id);
}

}  // namespace berth
