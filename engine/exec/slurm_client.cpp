#include "engine/exec/slurm_client.h"

#include <fmt/format.h>

#include <cstdlib>

#include "engine/base/text.h"
#include "engine/exec/slurm_records.h"

namespace berth {

namespace {

constexpr Seconds kPlansInterval{30};
constexpr std::string_view kUsualPath = "/usr/local/bin:/usr/bin:/bin";

std::vector<std::string> printed_ids(const std::vector<std::int64_t>& ids) {
  std::vector<std::string> words;
  for (const std::int64_t id : ids) words.push_back(std::to_string(id));
  return words;
}

// Also of partitions that are hidden, or closed to the user since.
std::vector<std::string> listing_of(const std::string& user, const std::string& what, std::string_view format) {
  return {"squeue", "--noheader", "--all", "--user=" + user, what, "--format=" + std::string(format)};
}

}  // namespace

std::int64_t wall_clock_ms() {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
}

SlurmClient::SlurmClient(std::string folder, std::string conf, Seconds timeout, Seconds poll_interval, std::string user)
    : folder_(std::move(folder)),
      conf_(std::move(conf)),
      timeout_(std::chrono::seconds(timeout.value())),
      poll_interval_ms_(poll_interval.value() * 1000),
      user_(std::move(user)) {
  if (const char* given = std::getenv("SLURM_CONF"); conf_.empty() && given != nullptr) conf_ = given;
}

std::vector<std::string> SlurmClient::environment() const {
  std::vector<std::string> words = {"env", "-i"};
  for (const char* name : {"HOME", "USER", "LOGNAME", "LANG", "TZ"})
    if (const char* value = std::getenv(name)) words.push_back(fmt::format("{}={}", name, value));
  const char* path = std::getenv("PATH");
  words.push_back(fmt::format("PATH={}", path == nullptr ? kUsualPath : std::string_view(path)));
  if (!conf_.empty()) words.push_back("SLURM_CONF=" + conf_);
  return words;
}

Result<ProcessOutput> SlurmClient::run(const std::vector<std::string>& command) const {
  ProcessRequest request;
  request.command = environment();
  request.command.insert(request.command.end(), command.begin(), command.end());
  request.deadline = timeout_;
  return run_process(request);
}

Result<std::string> SlurmClient::ask(const std::vector<std::string>& command) const {
  std::vector<std::string> words = {fmt::format("{}={}", kSlurmTimes.first, kSlurmTimes.second)};
  words.insert(words.end(), command.begin(), command.end());
  BERTH_ASSIGN(ProcessOutput said, run(words));
  if (!said.ok()) return Status(Code::kUnavailable, said.complaint(command.front()));
  return std::move(said.output);
}

// The file holds the moment on its first line, then the answer.
std::optional<SlurmClient::Answer> SlurmClient::kept(const std::string& name) const {
  const auto text = read_whole_file(folder_ + "/" + name + ".last");
  if (!text) return std::nullopt;
  const std::size_t line = text->find('\n');
  const auto moment = read_integer(std::string_view(*text).substr(0, line));
  if (!moment.ok() || line == std::string::npos) return std::nullopt;
  return Answer{*moment, text->substr(line + 1)};
}

Result<SlurmClient::Answer> SlurmClient::poll_within(const std::string& name, const std::vector<std::string>& command,
                                                     std::int64_t interval_ms) {
  const std::int64_t now = wall_clock_ms();
  if (auto before = interval_ms == 0 ? std::nullopt : kept(name);
      before && before->asked_ms <= now && now - before->asked_ms < interval_ms)
    return *std::move(before);
  Answer answer{now, ""};
  BERTH_ASSIGN(answer.text, ask(command));
  if (poll_interval_ms_ > 0 || interval_ms > 0)
    (void)replace_file(folder_ + "/" + name + ".last", fmt::format("{}\n{}", now, answer.text));
  return answer;
}

Result<SlurmClient::Answer> SlurmClient::poll(const std::string& name, const std::vector<std::string>& command,
                                              bool fresh) {
  return poll_within(name, command, fresh ? 0 : poll_interval_ms_);
}

Result<SlurmListing> SlurmClient::jobs(bool fresh) {
  BERTH_ASSIGN(const Answer answer, poll("squeue", listing_of(user_, "--states=all", kSqueueFormat), fresh));
  SlurmListing listing{answer.asked_ms, {}};
  listing.jobs = read_squeue(answer.text, &listing.is_whole);
  return listing;
}

Result<SlurmListing> SlurmClient::steps(bool fresh) {
  BERTH_ASSIGN(const Answer answer, poll("steps", listing_of(user_, "--steps", kSqueueStepFormat), fresh));
  SlurmListing listing{answer.asked_ms, {}};
  listing.jobs = read_squeue_steps(answer.text, &listing.is_whole);
  return listing;
}

Result<std::vector<SlurmOccupant>> SlurmClient::occupants() {
  BERTH_ASSIGN(
      const Answer answer,
      poll("occupants", {"squeue", "--noheader", "--all", "--format=" + std::string(kSqueueOccupantFormat)}, false));
  return read_squeue_occupants(answer.text);
}

Result<std::vector<SlurmNode>> SlurmClient::nodes(bool fresh) {
  BERTH_ASSIGN(
      const Answer answer,
      poll("sinfo", {"sinfo", "--noheader", "--Node", "--all", "--format=" + std::string(kSinfoFormat)}, fresh));
  return read_sinfo(answer.text);
}

Result<std::string> SlurmClient::job_details() const {
  return ask({"scontrol", "--all", "--details", "--oneliner", "show", "job"});
}

std::vector<SlurmJob> SlurmClient::accounted(const std::vector<std::int64_t>& jobs) const {
  const auto text = ask({"sacct", "--noheader", "--parsable2", "--allocations", "--starttime=now-7days",
                         "--format=" + std::string(kSacctFormat), "--jobs=" + join(printed_ids(jobs), ",")});
  return text.ok() ? read_sacct(*text) : std::vector<SlurmJob>();
}

Result<std::vector<SlurmAssociation>> SlurmClient::associations() const {
  BERTH_ASSIGN(const std::string text, ask({"sacctmgr", "--noheader", "--parsable2", "show", "assoc",
                                            "format=" + std::string(kSacctmgrFormat)}));
  return read_slurm_associations(text);
}

std::map<std::string, std::string> SlurmClient::switches() const {
  const auto text = ask({"scontrol", "--oneliner", "show", "topology"});
  return text.ok() ? read_slurm_switches(*text) : std::map<std::string, std::string>();
}

std::string SlurmClient::plans(const std::string& what) {
  const auto said = poll_within(what, {"scontrol", "--oneliner", "show", what},
                                std::max(poll_interval_ms_, kPlansInterval.value() * 1000));
  if (said.ok()) return said->text;
  const std::optional<Answer> before = kept(what);
  return before ? before->text : std::string();
}

std::vector<SlurmReservation> SlurmClient::reservations() { return read_slurm_reservations(plans("reservation")); }

std::map<std::string, Seconds, std::less<>> SlurmClient::usual_limits() {
  return read_slurm_usual_limits(plans("partition"));
}

Seconds SlurmClient::kill_wait() const {
  constexpr Seconds kDefaultKillWait{30};
  return read_config().ok() ? read_slurm_kill_wait(*config_).value_or(kDefaultKillWait) : kDefaultKillWait;
}

Result<std::string> SlurmClient::cluster() const {
  BERTH_TRY(read_config());
  return read_slurm_cluster(*config_);
}

Status SlurmClient::read_config() const {
  if (config_) return {};
  BERTH_ASSIGN(config_, ask({"scontrol", "show", "config"}));
  return {};
}

Result<ProcessOutput> SlurmClient::submit(const std::vector<std::string>& command) const { return run(command); }

std::vector<std::string> SlurmClient::cancel(const std::vector<std::int64_t>& jobs) const {
  return tell(printed_ids(jobs), {});
}

// Steps and batch scripts are told apart: --full leaves out the steps of a job whose script has it.
std::vector<std::string> SlurmClient::signal(const std::vector<std::int64_t>& jobs, const std::string& signal) const {
  std::vector<std::string> complaints = tell(printed_ids(jobs), {"--signal=" + signal});
  const std::vector<std::string> of_scripts = tell(printed_ids(jobs), {"--batch", "--signal=" + signal});
  for (std::size_t i = 0; i < jobs.size(); ++i)
    if (complaints[i].empty()) complaints[i] = of_scripts[i];
  return complaints;
}

std::string SlurmClient::signal_step(const std::string& step, const std::string& signal) const {
  return tell({step}, {"--signal=" + signal}).front();
}

std::vector<std::string> SlurmClient::tell(const std::vector<std::string>& jobs,
                                           const std::vector<std::string>& arguments) const {
  std::vector<std::string> complaints(jobs.size());
  if (jobs.empty()) return complaints;
  std::vector<std::string> words = {"scancel"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  words.insert(words.end(), jobs.begin(), jobs.end());
  const auto said = run(words);
  if (said.ok() && said->ok()) return complaints;
  if (!said.ok() || said->timed_out || said->was_killed) {
    complaints.assign(jobs.size(), said.ok() ? said->complaint("scancel") : said.status().message());
    return complaints;
  }
  // "scancel: error: Kill job error on job id 7: Invalid job id specified"
  for (const std::string_view line : split(said->error, '\n')) {
    if (line.find("Invalid job id") != std::string_view::npos || line.find("already compl") != std::string_view::npos)
      continue;
    for (std::size_t i = 0; i < jobs.size(); ++i)
      if (line.find(fmt::format("job id {}:", jobs[i])) != std::string_view::npos) complaints[i] = line;
    // Said of none of them: of all.
    if (!trim(line).empty() && line.find("job id ") == std::string_view::npos)
      complaints.assign(jobs.size(), std::string(line));
  }
  return complaints;
}

Status SlurmClient::update_nodes(const std::vector<std::string>& nodes, const std::vector<std::string>& changes) const {
  std::vector<std::string> words = {"scontrol", "update", "NodeName=" + join(nodes, ",")};
  words.insert(words.end(), changes.begin(), changes.end());
  return ask(words).status();
}

}  // namespace berth
