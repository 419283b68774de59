#include "engine/exec/slurm_executor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "engine/base/private_folder.h"
#include "engine/base/text.h"
#include "engine/exec/cluster_identity.h"
#include "engine/exec/slurm_client.h"
#include "engine/exec/slurm_cordon.h"
#include "engine/exec/slurm_observe.h"
#include "engine/exec/slurm_records.h"
#include "engine/exec/slurm_script.h"
#include "engine/exec/slurm_submit.h"

namespace berth {

namespace {

constexpr Seconds kLeftFor{30 * 86400};

struct SlurmSettings {
  SlurmSubmitOptions submit;
  std::string folder;
  std::string conf;
  std::string user;
  Seconds poll_interval;
  Seconds pending_limit;
  Seconds timeout;
  std::int64_t parallel = 1;
};

// All the tasks that a request names; "all" when those are all of the launch.
std::string control_tasks(const StopRequest& request, const SlurmLaunchFolder& folder) {
  std::set<std::pair<std::int32_t, std::int32_t>> named;
  for (const LiveTask& task : request.tasks) named.insert({task.key.group, task.key.task});
  const std::vector<SlurmPlacedTask> all = folder.tasks();
  if (std::ranges::all_of(all, [&](const SlurmPlacedTask& task) { return named.contains({task.group, task.task}); }))
    return "all";
  std::string words;
  for (const auto& [group, task] : named) words += fmt::format("{}-{},", group, task);
  return words;
}

// Of `submit_arguments`; empty = it is not given.
std::string_view submit_argument(const SlurmSubmitOptions& options, std::string_view name) {
  std::string_view value;
  for (const std::string_view word : options.extra)
    if (word.starts_with(name)) value = word.substr(name.size());
  return value;
}

// Whose jobs sbatch makes: a number, where it is known.
std::string user_number(const SlurmSubmitOptions& options) {
  const std::string name(submit_argument(options, "--uid="));
  if (name.empty()) return std::to_string(geteuid());
  const passwd* const known = getpwnam(name.c_str());
  return known == nullptr ? name : std::to_string(known->pw_uid);
}

class SlurmExecutor : public Executor {
 public:
  explicit SlurmExecutor(SlurmSettings settings)
      : settings_(std::move(settings)),
        client_(settings_.folder, settings_.conf, settings_.timeout, settings_.poll_interval, settings_.user) {}

  Result<std::vector<Delivery>> launch(std::span<const Launch> launches) override {
    BERTH_TRY(check_cluster());
    return SlurmSubmitter(client_, settings_.submit, settings_.parallel, settings_.timeout).deliver(launches);
  }

  Result<std::vector<Delivery>> stop(std::span<const StopRequest> requests) override {
    BERTH_TRY(check_cluster());
    std::vector<Delivery> deliveries(requests.size());
    std::vector<NamedJob> to_wake;
    std::vector<std::size_t> woken;  // the request of each
    std::vector<std::size_t> in_pilots;
    std::vector<NamedJob> to_cancel;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (requests[i].tasks.empty()) continue;
      const SlurmLaunchFolder folder = folder_of(requests[i].tasks.front().launch);
      auto job = stop_in_folder(requests[i], folder, to_cancel);
      if (!job.ok()) {
        deliveries[i] = {DeliveryState::kUnknown, "", job.status().message()};
      } else if (*job) {
        to_wake.push_back({**job, print_key(settings_.submit.database, requests[i].tasks.front().launch)});
        woken.push_back(i);
      } else if (folder.claim().value_or("").starts_with(kPilotClaim)) {
        in_pilots.push_back(i);
      }
    }
    // Whether or not Slurm hears of it: without the claim they end as soon as they start.
    (void)cancel_ours(to_cancel);
    BERTH_TRY(wake_ours(to_wake, woken, requests, deliveries));
    BERTH_TRY(wake_steps(requests, in_pilots, deliveries));
    return deliveries;
  }

  Result<Observation> observe(std::span<const LiveTask> tasks, std::span<const std::string> nodes) override {
    BERTH_TRY(check_cluster());
    Observation seen;
    BERTH_ASSIGN(SlurmListing listing, client_.jobs(false));
    if (settings_.submit.is_pilot) {
      BERTH_ASSIGN(const SlurmListing steps, client_.steps(false));
      listing.asked_ms = std::min(listing.asked_ms, steps.asked_ms);
      listing.is_whole = listing.is_whole && steps.is_whole;
      for (const SlurmJob& step : steps.jobs)
        if (read_launch_key(settings_.submit.database, step.name)) listing.jobs.push_back(step);
    }
    SlurmObserver observer(client_, settings_.submit, settings_.pending_limit, listing, settings_.folder);
    observer.observe_tasks(tasks, seen);
    (void)client_.cancel(observer.hung());
    BERTH_TRY(observer.observe_foreign(nodes, seen));
    BERTH_TRY(observe_nodes(nodes, seen));
    blame_nodes(tasks, seen);
    return seen;
  }

  Result<std::vector<InventoryNode>> inventory() override {
    BERTH_TRY(check_cluster());
    BERTH_ASSIGN(const std::vector<SlurmNode> nodes, client_.nodes(true));
    const std::map<std::string, std::string> switches = client_.switches();
    std::vector<InventoryNode> rows;
    for (const SlurmNode& node : nodes) {
      const std::string& wanted = settings_.submit.partition;
      if (!wanted.empty() && std::ranges::find(node.partitions, wanted) == node.partitions.end()) continue;
      rows.push_back(slurm_inventory_node(node, wanted, settings_.submit.database));
      if (const auto rack = switches.find(node.name); rack != switches.end()) rows.back().rack = rack->second;
    }
    return rows;
  }

  Result<std::string> log(const LiveTask& task, LogStream stream, std::int64_t offset, std::int64_t most) override {
    const std::string path = fmt::format("{}/{}-{}.{}", folder_of(task.launch).path(), task.key.group, task.key.task,
                                         stream == LogStream::kOutput ? "out" : "err");
    std::string text;
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) return text;
    text.resize(static_cast<std::size_t>(std::max<std::int64_t>(0, most)));
    const ssize_t count = pread(file, text.data(), text.size(), offset);
    close(file);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, count)));
    return text;
  }

  Status forget(std::span<const LiveTask> tasks) override {
    std::map<LaunchKey, std::vector<std::pair<std::int32_t, std::int32_t>>> launches;
    for (const LiveTask& task : tasks) launches[task.launch].emplace_back(task.key.group, task.key.task);
    Status first;
    std::vector<std::string> left;
    for (const auto& [key, named] : launches) {
      const SlurmLaunchFolder folder = folder_of(key);
      if (!folder.exists()) continue;
      if (Status said = folder.forget(named); !said.ok() && first.ok()) first = std::move(said);
      if (folder.is_left()) left.push_back(print_key(settings_.submit.database, key));
    }
    const Status cleared = clear_old(left);
    return first.ok() ? cleared : first;
  }

  bool has_cordons() const override { return true; }

  Result<std::vector<Delivery>> cordon(std::span<const std::string> nodes, bool is_cordoned,
                                       const std::string& reason) override {
    BERTH_TRY(check_cluster());
    return cordon_slurm_nodes(client_, settings_.submit.database, nodes, is_cordoned, reason);
  }

 private:
  // Each process asks Slurm once.
  Status check_cluster() {
    if (is_checked_) return {};
    BERTH_ASSIGN(const std::string cluster, client_.cluster());
    if (!cluster.empty()) {
      BERTH_TRY(check_cluster_identity(
          settings_.folder, {"Slurm", cluster, "jobs", "set SLURM_CONF, or option 'conf', to the right one"}));
    }
    is_checked_ = true;
    return {};
  }

  // Of a launch over several nodes Slurm does not say which keeps it out: those that are reserved, or closed.
  void blame_nodes(std::span<const LiveTask> tasks, Observation& seen) {
    std::map<LaunchKey, std::set<std::string>> kept_out;
    for (std::size_t i = 0; i < std::min(tasks.size(), seen.tasks.size()); ++i) {
      if (seen.tasks[i].is_kept_out) kept_out[tasks[i].launch].insert(tasks[i].node);
    }
    const auto is_wide = [](const auto& launch) { return launch.second.size() > 1; };
    if (std::ranges::none_of(kept_out, is_wide)) return;
    std::set<std::string> closed;
    for (const SlurmReservation& each : client_.reservations()) closed.insert(each.nodes.begin(), each.nodes.end());
    for (const NodeObservation& node : seen.nodes) {
      if (!node.is_ready || node.is_cordoned) closed.insert(node.node);
    }
    for (std::size_t i = 0; i < std::min(tasks.size(), seen.tasks.size()); ++i) {
      const auto launch = kept_out.find(tasks[i].launch);
      if (launch != kept_out.end() && is_wide(*launch)) seen.tasks[i].is_kept_out = closed.contains(tasks[i].node);
    }
  }

  SlurmLaunchFolder folder_of(const LaunchKey& key) const {
    return SlurmLaunchFolder(slurm_launch_folder(settings_.submit, key));
  }

  // What is left of launches that only vanished goes when they have not come back for long. They are remembered in a
  // file of the executor's folder, with the moment.
  Status clear_old(const std::vector<std::string>& left) const {
    const std::string path = settings_.folder + "/vanished";
    const std::int64_t now = wall_clock_ms();
    std::map<std::string, std::int64_t> since;
    std::istringstream rows(read_whole_file(path).value_or(""));
    std::string name;
    for (std::int64_t moment = 0; rows >> name >> moment;) since[name] = std::min(moment, now);
    bool is_changed = false;
    for (const std::string& each : left) is_changed |= since.emplace(each, now).second;
    is_changed |= std::erase_if(since, [&](const auto& row) {
                    if (now - row.second < kLeftFor.value() * 1000) return false;
                    const SlurmLaunchFolder folder(settings_.submit.shared_folder + "/" + row.first);
                    if (folder.is_left()) folder.clear();
                    return true;
                  }) > 0;
    if (!is_changed) return {};
    std::string lines;
    for (const auto& [launch, moment] : since) lines += fmt::format("{} {}\n", launch, moment);
    return replace_file(path, lines);
  }

  struct NamedJob {
    std::int64_t id = 0;  // 0 = not known
    std::string name;
  };

  // After a controller has lost its state it gives ids out again, to others.
  enum class Holder : std::uint8_t { kNobody, kOurs, kSuspended, kAnother };  // kSuspended: ours
  Result<std::vector<Holder>> holders_of(const std::vector<NamedJob>& jobs) {
    std::vector<Holder> holders(jobs.size(), Holder::kNobody);
    if (jobs.empty()) return holders;
    BERTH_ASSIGN(const SlurmListing listing, client_.jobs(true));
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      for (const SlurmJob& row : listing.jobs) {
        if (row.id != jobs[i].id || holders[i] == Holder::kOurs) continue;
        const Holder ours = row.state_word == "SUSPENDED" ? Holder::kSuspended : Holder::kOurs;
        holders[i] = row.name == jobs[i].name ? ours : Holder::kAnother;
      }
    }
    return holders;
  }

  // A step of a pilot job gets TERM: its script ends the tasks that it started.
  Status cancel_ours(const std::vector<NamedJob>& jobs) {
    if (jobs.empty()) return {};
    if (settings_.submit.is_pilot) {
      BERTH_ASSIGN(const SlurmListing steps, client_.steps(true));
      for (const SlurmJob& step : steps.jobs)
        if (std::ranges::find(jobs, step.name, &NamedJob::name) != jobs.end()) client_.signal_step(step.shown, "TERM");
    }
    BERTH_ASSIGN(const SlurmListing listing, client_.jobs(true));
    std::vector<std::int64_t> ids;
    for (const SlurmJob& row : listing.jobs) {
      const auto is_it = [&](const NamedJob& job) { return row.name == job.name && (job.id == 0 || row.id == job.id); };
      if (!is_slurm_end(row.state) && std::ranges::any_of(jobs, is_it)) ids.push_back(row.id);
    }
    (void)client_.cancel(ids);
    return {};
  }

  // Scripts of ours look at `control`. A job that Slurm has no more has no script that could, but one listing without
  // it does not prove that. One that is suspended hears nothing, and scancel waits for it: it can only be cancelled.
  // One whose script has not heard for long is woken and cancelled: Slurm keeps a cancellation, but no signal, when its
  // controller restarts.
  Status wake_ours(const std::vector<NamedJob>& jobs, const std::vector<std::size_t>& of_requests,
                   std::span<const StopRequest> requests, std::vector<Delivery>& deliveries) {
    const Result<std::vector<Holder>> holders = holders_of(jobs);
    if (!holders.ok() && jobs.size() == requests.size()) return holders.status();
    std::vector<std::int64_t> ids;
    std::vector<std::size_t> woken;
    std::vector<std::int64_t> cancelled;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const StopRequest& request = requests[of_requests[i]];
      if (!holders.ok()) {
        deliveries[of_requests[i]] = {DeliveryState::kUnknown, "", holders.status().message()};
      } else if ((*holders)[i] == Holder::kOurs) {
        ids.push_back(jobs[i].id);
        woken.push_back(of_requests[i]);
        if (request.is_overdue && ends_all(request)) cancelled.push_back(jobs[i].id);
      } else if ((*holders)[i] == Holder::kSuspended) {
        if (ends_all(request)) {
          cancelled.push_back(jobs[i].id);
        } else {
          deliveries[of_requests[i]] = {DeliveryState::kUnknown, "",
                                        fmt::format("job {} is suspended in Slurm", jobs[i].id)};
        }
      } else if ((*holders)[i] == Holder::kNobody &&
                 !SlurmLaunchFolder(settings_.submit.shared_folder + "/" + jobs[i].name).has_known_end()) {
        deliveries[of_requests[i]] = {DeliveryState::kUnknown, "",
                                      fmt::format("Slurm does not list job {} now", jobs[i].id)};
      }
    }
    (void)client_.cancel(cancelled);
    // That it listed its jobs just now says that it is there: a job that scancel waits for holds up no other.
    const std::vector<std::string> complaints = client_.signal(ids, "CONT");
    for (std::size_t i = 0; i < woken.size(); ++i)
      if (!complaints[i].empty()) deliveries[woken[i]] = {DeliveryState::kUnknown, "", complaints[i]};
    return {};
  }

  bool ends_all(const StopRequest& request) const {
    return request.grace && control_tasks(request, folder_of(request.tasks.front().launch)) == "all";
  }

  // The job whose script is to look at `control`; nothing when there is none to tell.
  Result<std::optional<std::int64_t>> stop_in_folder(const StopRequest& request, const SlurmLaunchFolder& folder,
                                                     std::vector<NamedJob>& to_cancel) const {
    const std::string tasks = control_tasks(request, folder);
    if (request.grace && tasks == "all") {
      BERTH_TRY(folder.make().status());
      BERTH_ASSIGN(const std::string holder, folder.take_claim(kStoppedClaim));
      if (holder == kStoppedClaim) {
        const auto submission = folder.submission();
        to_cancel.push_back(
            {submission ? submission->job : 0, print_key(settings_.submit.database, request.tasks.front().launch)});
      }
    } else if (!folder.exists()) {
      return std::optional<std::int64_t>();
    }
    const auto job = job_of_claim(folder.claim());
    // What has not started is not signalled; that some of its tasks are to end, it reads when it starts.
    const bool is_in_pilots = folder.claim().value_or("").starts_with(kPilotClaim);
    if (!job && !is_in_pilots && (!request.grace || tasks == "all")) return job;
    if (request.is_overdue && tasks == "all" && folder.is_asked_to_end()) return job;
    const std::string signal = request.signal.empty() ? "TERM" : request.signal;
    const std::string grace =
        request.grace ? std::to_string(request.grace->value()) : fmt::format("-{}", request.lasts.value());
    BERTH_TRY(folder.add_control(fmt::format("{} {} {}\n", signal, grace, tasks)));
    return job;
  }

  // The scripts of launches that run as steps of pilot jobs.
  Status wake_steps(std::span<const StopRequest> requests, const std::vector<std::size_t>& which,
                    std::vector<Delivery>& deliveries) {
    if (which.empty()) return {};
    BERTH_ASSIGN(const SlurmListing steps, client_.steps(true));
    for (const std::size_t i : which) {
      const std::string name = print_key(settings_.submit.database, requests[i].tasks.front().launch);
      for (const SlurmJob& step : steps.jobs) {
        if (step.name != name) continue;
        const std::string complaint = client_.signal_step(step.shown, "CONT");
        if (!complaint.empty()) deliveries[i] = {DeliveryState::kUnknown, "", complaint};
      }
    }
    return {};
  }

  Status observe_nodes(std::span<const std::string> names, Observation& seen) {
    if (names.empty()) return {};
    BERTH_ASSIGN(const std::vector<SlurmNode> nodes, client_.nodes(false));
    const std::vector<SlurmReservation> reservations = settings_.submit.is_pilot
                                                           ? std::vector<SlurmReservation>()
                                                           : client_.reservations();  // a pilot job has its node
    const std::string_view named = submit_argument(settings_.submit, "--reservation=");
    const Seconds now(wall_clock_ms() / 1000);
    const std::map<std::string, Seconds> closings = read_slurm_closings(reservations, nodes, named, now);
    const auto limits = closings.empty() ? std::map<std::string, Seconds, std::less<>>() : client_.usual_limits();
    for (const std::string& name : names) {
      const auto node = std::ranges::find(nodes, name, &SlurmNode::name);
      seen.nodes.push_back(node == nodes.end()
                               ? NodeObservation{name, true, true, "sinfo does not list it: it is in no partition"}
                               : judge_slurm_node(*node, settings_.submit.database));
      if (node != nodes.end() && node->state == "reserved" && is_reserved_by(reservations, named, name))
        seen.nodes.back() = NodeObservation{name, true, false, ""};
      if (const auto closing = closings.find(name); closing != closings.end())
        note_closing(closing->second, now, limits, node->partitions, seen.nodes.back());
      const std::string& wanted = settings_.submit.partition;
      if (node == nodes.end() || wanted.empty() ||
          std::ranges::find(node->partitions, wanted) != node->partitions.end())
        continue;
      // Nothing that is submitted to the partition can start there.
      seen.nodes.back().is_cordoned = !seen.nodes.back().has_our_cordon;
      if (seen.nodes.back().detail.empty()) seen.nodes.back().detail = fmt::format("it is not in partition {}", wanted);
    }
    return {};
  }

  static bool is_reserved_by(const std::vector<SlurmReservation>& reservations, std::string_view name,
                             const std::string& node) {
    const auto is_it = [&](const SlurmReservation& each) { return each.name == name && each.nodes.contains(node); };
    return std::ranges::any_of(reservations, is_it);
  }

  // Slurm gets the limits of jobs with kill_wait, rounded up (add_general).
  void note_closing(Seconds begins, Seconds now, const std::map<std::string, Seconds, std::less<>>& limits,
                    const std::vector<std::string>& partitions, NodeObservation& seen) const {
    constexpr Seconds kRounding{120};
    seen.closes_at = begins - settings_.submit.kill_wait - kRounding;
    if (seen.closes_at <= now) {
      seen.closes_at = Seconds(-1);
      seen.is_cordoned = !seen.has_our_cordon;
      if (seen.detail.empty()) seen.detail = "in a reservation of Slurm's";
      return;
    }
    const std::string& wanted = settings_.submit.partition;
    const auto usual = limits.find(!wanted.empty() || partitions.empty() ? wanted : partitions.front());
    if (const auto given = read_slurm_duration(submit_argument(settings_.submit, "--time="))) {
      seen.usual_limit = *given;
    } else if (usual != limits.end()) {
      seen.usual_limit = usual->second;
    }
  }

  SlurmSettings settings_;
  SlurmClient client_;
  bool is_checked_ = false;
};

}  // namespace

Result<std::unique_ptr<Executor>> make_slurm_executor(const ExecutorContext& context, const ExecutorOptions& options) {
  SlurmSettings settings;
  settings.folder = std::filesystem::absolute(context.folder).string();
  settings.conf = options.at("conf");
  settings.submit.database = context.database;
  settings.submit.partition = options.at("partition");
  const std::string& shared = options.at("shared_folder");
  settings.submit.shared_folder = shared.empty() ? settings.folder : std::filesystem::absolute(shared).string();
  for (const std::string_view word : split(options.at("submit_arguments"), ' '))
    if (!word.empty()) settings.submit.extra.emplace_back(word);
  settings.user = user_number(settings.submit);
  settings.submit.is_pilot = options.at("pilot") == "true";
  BERTH_ASSIGN(settings.submit.shards_per_device, read_integer(options.at("shards_per_device")));
  BERTH_ASSIGN(settings.submit.kill_wait, read_duration(options.at("kill_wait")));
  BERTH_ASSIGN(settings.poll_interval, read_duration(options.at("poll_interval")));
  BERTH_ASSIGN(settings.pending_limit, read_duration(options.at("pending_limit")));
  BERTH_ASSIGN(settings.timeout, read_duration(options.at("timeout")));
  BERTH_ASSIGN(settings.parallel, read_integer(options.at("parallel")));
  if (settings.parallel < 1 || settings.parallel > 64)
    return Status(Code::kInvalid, fmt::format("{} is not between 1 and 64", settings.parallel)).in_option("parallel");
  for (const std::string& folder : {settings.folder, settings.submit.shared_folder})
    BERTH_TRY(make_private_folder(folder));
  return std::unique_ptr<Executor>(std::make_unique<SlurmExecutor>(std::move(settings)));
}

}  // namespace berth
