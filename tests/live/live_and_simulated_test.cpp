// A random history is lived through, then played again by BACKTEST USING live: every job must start, end and be evicted
// at the same moments, under every order, with and without quotas, limits, loans, graces and time limits.
//
// Live is a database whose clock the test moves: it submits, says when jobs end, runs a round at each such moment, when
// a victim's grace is over and at each round_interval while jobs wait, and keeps count itself of the work that is left.
// Some users cancel what has not begun after a while.
//
// What differs by design is left out (HELP BACKTEST names it): scores that look at the typical workload, of which a
// simulation knows all; loans that end; nodes and quotas that change; jobs after others.
//
// BERTH_SEEDS=500 for so many histories, BERTH_SEED=7 for another first one, BERTH_SEED=new for one that is drawn.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <set>

#include "engine/base/env.h"
#include "engine/base/text.h"
#include "engine/runtime/runtime.h"
#include "shell/commands.h"
#include "shell/session_factory.h"
#include "tests/seeds.h"
#include "tests/unit/store/store_fixture.h"

namespace berth::test {
namespace {

constexpr std::int64_t kBegin = 1767225600;
constexpr std::int64_t kInterval = 150;  // between rounds while jobs wait

struct WantedJob {
  std::string name;
  std::int64_t submit = 0;
  std::int64_t duration = 0;
  std::int64_t patience = -1;  // how long it waits for its first start until it is cancelled; -1 = for ever
  std::int64_t every = 0;
  std::int64_t grace = 0;
  std::int64_t restart = 0;
  std::string statement;
};

// Of a job that was submitted.
struct LiveState {
  std::int64_t id = 0;
  std::int64_t left = 0;    // to run, at the start of its attempt
  std::int64_t start = -1;  // of the attempt that runs
  std::int64_t first_start = -1;
  std::int64_t end = -1;
};

struct Spell {
  std::int64_t start = -1;
  std::int64_t end = -1;
  bool operator==(const Spell&) const = default;
};

class History {
 public:
  History(std::uint64_t seed, std::string database) : random_(seed), database_(std::move(database)) {
    session_ =
        must_have(open_session({.database = database_, .env = &clock_, .seed = std::nullopt, .actor = "tester"}));
    EXPECT_OK(session_->runtime->db().execute("PRAGMA synchronous = OFF"));
    build();
    for (int i = 0; i < kJobs; ++i) jobs_.push_back(random_job(i));
    std::ranges::stable_sort(jobs_, {}, &WantedJob::submit);
  }

  const std::string& story() const { return story_; }
  std::map<std::string, Spell> live() {
    std::size_t next = 0;
    std::int64_t round = -1;
    std::int64_t last_change = jobs_.front().submit;
    for (;;) {
      const std::int64_t moment = next_moment(next, round);
      if (moment < 0) break;
      clock_.set(Seconds(moment));
      bool has_cause = stops_.contains(moment) || round == moment;
      if (round <= moment) round = -1;
      for (const std::string& name : ending(moment)) {
        must_say("FINISH JOB " + name);
        running_.erase(name);
        state_[name].end = moment;
        last_change = moment;
        has_cause = true;
      }
      for (const std::string& name : given_up(moment)) {
        must_say("CANCEL JOB " + name);
        cancelled_.insert(name);
        ++cancellations;
        last_change = moment;
        has_cause = true;
      }
      for (; next < jobs_.size() && jobs_[next].submit == moment; ++next) has_cause |= submit(jobs_[next]);
      if (next > 0) last_change = std::max(last_change, jobs_[std::min(next, jobs_.size() - 1)].submit);
      if (!has_cause) continue;  // all that came was refused
      must_say("RUN SCHEDULE");
      ++rounds;
      look(moment);
      const bool waits = number(std::string(kWaiting)) > 0;
      const std::int64_t end = last_change + patience_;
      const bool gives_up = running_.empty() && next == jobs_.size() && moment > std::max(end, held_until(end));
      if (is_regular_ && waits && round < 0 && !gives_up) round = moment + kInterval;
    }
    std::map<std::string, Spell> spells;
    for (const auto& [name, state] : state_) spells[name] = {state.first_start, state.end};
    evictions = number("SELECT coalesce(sum(evictions), 0) FROM jobs");
    return spells;
  }

  std::map<std::string, Spell> simulated() {
    clock_.advance(Seconds(1));  // what came last is in the past
    must_say(fmt::format("BACKTEST USING live FROM '{}' WITH (round_interval = {}s) INTO again",
                         print_time(Seconds(kBegin)), kInterval));
    std::map<std::string, Spell> spells;
    Statement rows = must_have(session_->runtime->db().prepare(
        "SELECT task, coalesce(start, -1), coalesce(\"end\", -1) FROM simulation_tasks WHERE simulation = 'again'"));
    while (rows.next()) {
      const std::string task(rows.text(0));
      const std::string name = task.substr(0, task.find('['));
      const auto [spell, is_new] = spells.try_emplace(name);
      const std::int64_t start = rows.integer(1);
      if (start >= 0 && (spell->second.start < 0 || start < spell->second.start)) spell->second.start = start;
      spell->second.end = std::max(spell->second.end, rows.integer(2));
    }
    simulated_evictions = number(
        "SELECT coalesce(sum(evictions), 0) FROM backtest_results WHERE simulation = 'again' AND policy = 'live' AND "
        "queue IS NULL");
    return spells;
  }

  std::int64_t rounds = 0;
  std::int64_t evictions = 0;
  std::int64_t simulated_evictions = 0;
  std::int64_t cancellations = 0;

 private:
  static constexpr int kJobs = 36;
  static constexpr std::string_view kWaiting =
      "SELECT count(*) FROM jobs j WHERE j.end_time IS NULL AND (SELECT sum(task_count) FROM task_groups g WHERE "
      "g.job_id = j.id) > (SELECT count(*) FROM allocations a WHERE a.job_id = j.id)";

  std::int64_t number(const std::string& sql) { return must_have(session_->runtime->db().integer(sql)); }
  void must_say(const std::string& statement) {
    const Status said = execute(*session_, statement).status();
    EXPECT_TRUE(said.ok()) << statement << ": " << said.message();
  }
  void say(const std::string& statement) {
    story_ += statement + ";\n";
    must_say(statement);
  }
  template <class T>
  T pick(std::initializer_list<T> values) {
    return values.begin()[random_.below(values.size())];
  }
  std::int64_t up_to(std::int64_t most) {
    return static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(most) + 1));
  }

  void build() {
    say("SET record_history = false");
    say("SET record_rounds = false");
    say("CREATE DEVICE MODEL A100 WITH (memory = 80GiB)");
    say("CREATE DEVICE MODEL T4 WITH (memory = 16GiB)");
    say("CREATE NODE TYPE big WITH (cpu = 32, memory = 256GiB, device_model = A100, devices = 4, link_groups = "
        "'[0 1] [2 3]')");
    say("CREATE NODE TYPE small WITH (cpu = 16, memory = 64GiB, device_model = T4, devices = 2)");
    say(fmt::format("CREATE NODES a[1-{}] TYPE big RACK r1", 1 + up_to(2)));
    if (random_.below(2) == 0) say("CREATE NODES t[1-2] TYPE small RACK r2");
    say("CREATE PRIORITY CLASS low VALUE -5");
    say("CREATE PRIORITY CLASS urgent VALUE 10");
    say("CREATE QUEUE root");
    for (const char* queue : {"ads", "nlp", "web"}) {
      say(fmt::format("CREATE QUEUE {}{}", queue, random_.below(3) == 0 ? "" : " UNDER root"));
      if (random_.below(3) == 0) say(fmt::format("ALTER QUEUE {} SET WEIGHT {}", queue, 1 + up_to(3)));
    }
    say(fmt::format("CREATE QUEUE dev{}", random_.below(2) == 0 ? "" : " UNDER web"));
    queues_ = {"ads", "nlp", "nlp", random_.below(2) == 0 ? "web" : "dev"};
    build_quotas();
    const std::string order = pick<std::string>({"fifo", "priority", "smallest_first", "fair_share", "fair_share",
                                                 "drf", "wpai", "sjf", "least_work", "las", "qssf"});
    say("SET order_policy = " + order);
    looks_at_service_ = order == "las";  // its first level ends after 3250 s
    if (random_.below(3) == 0) {
      say(fmt::format("SET usage_weight = {}", pick<std::string>({"0.5", "1", "3"})));
      say(fmt::format("SET usage_half_life = {}", pick<std::string>({"10m", "1h"})));
    }
    say("SET score_policy = " + pick<std::string>({"best_fit", "worst_fit", "gpu_packing"}));
    const std::string backfill = pick<std::string>({"greedy", "none", "none_per_queue", "easy", "conservative"});
    say("SET backfill = " + backfill);
    const std::string preemption = pick<std::string>({"none", "reclaim", "reclaim"});
    say("SET preemption = " + preemption);
    is_regular_ = backfill != "greedy" || preemption == "reclaim";
    const std::int64_t delay = pick({0, 30, 400});
    const std::int64_t ttl = pick({300, 3600});
    say(fmt::format("SET pending_delay = {}s", delay));
    say(fmt::format("SET reservation_ttl = {}s", ttl));
    patience_ = delay + ttl;
    ttl_ = ttl;
    say(fmt::format("SET min_runtime = {}s", pick({0, 200, 900})));
    say(fmt::format("SET eviction_cooldown = {}s", pick({0, 600})));
    if (random_.below(3) == 0) say("SET eviction_budget = 0.5");
    if (random_.below(3) == 0) say("SET default_duration = 20m");
    if (random_.below(3) == 0) say("SET backfill_depth = 2");
    if (random_.below(3) == 0) say("SET aging_interval = 10m");
    if (random_.below(3) == 0) say("SET prediction_min_count = 1");
  }

  void build_quotas() {
    const std::uint64_t kind = random_.below(4);  // none, quotas, limits, both
    const bool of_each_model = random_.below(3) == 0;
    for (const char* queue : {"ads", "nlp", "web"}) {
      if ((kind & 1) != 0 && random_.below(3) > 0) {
        const std::string amounts =
            of_each_model ? fmt::format("A100 = {}, T4 = {}", up_to(4), up_to(3))
                          : fmt::format("{} = {}", pick<std::string>({"gpu", "gpu", "A100"}), 1 + up_to(4));
        say(fmt::format("ALTER QUEUE {} SET QUOTA ({})", queue, amounts));
      }
      if ((kind & 2) != 0 && random_.below(2) == 0)
        say(fmt::format("ALTER QUEUE {} SET LIMIT (gpu = {})", queue, 3 + up_to(5)));
      if (kind == 3 && random_.below(3) == 0) say(fmt::format("ALTER QUEUE {} SET LEND LIMIT (gpu = 1)", queue));
      if (kind == 3 && random_.below(3) == 0) say(fmt::format("ALTER QUEUE {} SET BORROW LIMIT (gpu = 2)", queue));
    }
    if ((kind & 2) != 0 && random_.below(2) == 0)
      say(fmt::format("ALTER QUEUE root SET LIMIT (gpu = {})", 4 + up_to(6)));
    if (kind == 3 && random_.below(2) == 0) {
      say("ALTER QUEUE ads SET QUOTA (gpu = 4)");
      say("CREATE LOAN 2 gpu FROM ads TO nlp");
    }
  }

  WantedJob random_job(int number) {
    WantedJob job;
    job.name = fmt::format("j{}", number);
    job.submit = kBegin + up_to(4000);
    job.duration = pick({10, 60, 300, 900, 2000}) * (looks_at_service_ ? 8 : 1) + up_to(300);
    if (random_.below(8) == 0) job.patience = 1 + up_to(1500);
    if (random_.below(3) == 0) job.every = 60 + up_to(300);
    if (random_.below(3) == 0) job.grace = 20 + up_to(200);
    if (random_.below(3) == 0) job.restart = up_to(60);
    const std::int64_t tasks = pick({1, 1, 1, 2, 3, 4});
    std::string options =
        fmt::format("tasks = {}, gpus = {}, cpu = 1", tasks, pick<std::string>({"0.5", "1", "1", "2", "4"}));
    if (tasks > 1 && random_.below(2) == 0) options += fmt::format(", min_tasks = {}", 1 + up_to(tasks - 1));
    if (random_.below(5) == 0) options += ", models = A100";
    if (random_.below(8) == 0) options += ", locality = node";
    if (random_.below(8) == 0) options += ", locality = link_group";
    if (random_.below(8) == 0) options += ", preemptible = false";
    if (random_.below(3) == 0) options += fmt::format(", time_limit = {}s", job.duration + up_to(600));
    if (random_.below(2) == 0) options += fmt::format(", tag = {}", pick<std::string>({"daily", "train"}));
    if (random_.below(4) == 0) options += fmt::format(", min_runtime = {}s", up_to(400));
    if (job.every > 0) options += fmt::format(", checkpoint_every = {}s", job.every);
    if (job.grace > 0) options += fmt::format(", checkpoint_grace = {}s", job.grace);
    if (job.restart > 0) options += fmt::format(", restart_cost = {}s", job.restart);
    job.statement = fmt::format("SUBMIT JOB {} IN QUEUE {}{} WITH ({})", job.name, queues_[random_.below(4)],
                                pick<std::string>({"", "", " PRIORITY low", " PRIORITY urgent"}), options);
    return job;
  }

  bool submit(const WantedJob& job) {
    story_ +=
        fmt::format("-- {}: {}; runs {}, waits {}\n", job.submit - kBegin, job.statement, job.duration, job.patience);
    const Status said = execute(*session_, job.statement).status();
    if (!said.ok()) return false;  // it could never run here
    wanted_[job.name] = job;
    state_[job.name] = {.id = number(fmt::format("SELECT id FROM jobs WHERE name = '{}'", job.name)),
                        .left = job.duration};
    return true;
  }

  std::int64_t next_moment(std::size_t next, std::int64_t round) const {
    std::int64_t moment = -1;
    const auto take = [&](std::int64_t time) {
      if (time >= 0 && (moment < 0 || time < moment)) moment = time;
    };
    if (next < jobs_.size()) take(jobs_[next].submit);
    for (const std::string& name : running_) take(state_.at(name).start + state_.at(name).left);
    for (const std::int64_t stop : stops_) take(stop);
    for (const auto& [name, job] : state_) take(gives_up_at(name, job));
    take(round);
    return moment;
  }

  // Of what was held for waiting jobs by then.
  std::int64_t held_until(std::int64_t made_by) {
    return number(
        fmt::format("SELECT coalesce(max(max(expected + {}, coalesce(expires, 0))), 0) FROM reservations WHERE "
                    "made_at <= {}",
                    ttl_, made_by));
  }
  // -1 = it does not.
  std::int64_t gives_up_at(const std::string& name, const LiveState& job) const {
    const WantedJob& wanted = wanted_.at(name);
    const bool waits = job.first_start < 0 && !cancelled_.contains(name);
    return wanted.patience >= 0 && waits ? wanted.submit + wanted.patience : -1;
  }
  std::vector<std::string> given_up(std::int64_t moment) const {
    std::vector<std::string> names;
    for (const auto& [name, job] : state_) {
      if (gives_up_at(name, job) == moment) names.push_back(name);
    }
    return names;
  }

  // By (start, id): in the order in which a simulation lets them end.
  std::vector<std::string> ending(std::int64_t moment) const {
    std::vector<std::string> names;
    for (const std::string& name : running_) {
      if (state_.at(name).start + state_.at(name).left == moment) names.push_back(name);
    }
    std::ranges::sort(names, {},
                      [&](const std::string& name) { return std::pair(state_.at(name).start, state_.at(name).id); });
    return names;
  }

  // What the round did.
  void look(std::int64_t now) {
    Statement rows = must_have(session_->runtime->db().prepare(
        "SELECT j.name, j.state = 'running', coalesce(j.start_time, -1), coalesce(s.stop_at, -1) FROM jobs j LEFT JOIN "
        "stopping_jobs s ON s.job_id = j.id WHERE j.end_time IS NULL"));
    stops_.clear();
    while (rows.next()) {
      const std::string name(rows.text(0));
      LiveState& job = state_.at(name);
      const bool runs = rows.integer(1) != 0;
      if (running_.contains(name) && !runs) undo(wanted_.at(name), now - job.start, job);
      if (!running_.contains(name) && runs) {
        running_.insert(name);
        job.start = rows.integer(2);
        if (job.first_start < 0) job.first_start = job.start;
      }
      if (runs && rows.integer(3) > now) stops_.insert(rows.integer(3));
    }
  }

  // Evicted: what it did not save is still to do, and the restart.
  void undo(const WantedJob& wanted, std::int64_t ran, LiveState& job) {
    running_.erase(wanted.name);
    std::int64_t saved = 0;
    if (wanted.every > 0) saved = ran - ran % wanted.every;
    if (wanted.grace > 0) saved = ran;
    job.left += wanted.restart - saved;
    job.start = -1;
  }

  Random random_;
  std::string database_;
  ManualEnv clock_{Seconds(kBegin)};
  std::unique_ptr<Session> session_;
  std::string story_;
  std::vector<WantedJob> jobs_;
  std::map<std::string, WantedJob> wanted_;
  std::map<std::string, LiveState> state_;
  std::set<std::string> running_;
  std::set<std::string> cancelled_;
  std::set<std::int64_t> stops_;
  std::array<std::string, 4> queues_;  // to which jobs are submitted
  bool is_regular_ = false;
  bool looks_at_service_ = false;
  std::int64_t patience_ = 0;
  std::int64_t ttl_ = 0;
};

class LiveAndSimulatedTest : public StoreTest {};

TEST_F(LiveAndSimulatedTest, StartEndAndAreEvictedAlike) {
  const Seeds drawn = wanted_seeds(30);
  std::vector<std::uint64_t> seeds = {20174, 23293};  // these differed once
  for (std::uint64_t seed = drawn.first; seed < drawn.end; ++seed) seeds.push_back(seed);
  std::int64_t rounds = 0;
  std::int64_t evictions = 0;
  std::int64_t cancellations = 0;
  int differing = 0;
  for (const std::uint64_t seed : seeds) {
    History history(seed, path(fmt::format("{}.db", seed)));
    const std::map<std::string, Spell> live = history.live();
    const std::map<std::string, Spell> simulated = history.simulated();
    rounds += history.rounds;
    evictions += history.evictions;
    cancellations += history.cancellations;
    const bool is_equal = live == simulated && history.evictions == history.simulated_evictions;
    std::filesystem::remove(path(fmt::format("{}.db", seed)));
    if (is_equal) continue;
    ++differing;
    std::string differences;
    int count = 0;
    for (const auto& [name, spell] : live) {
      const auto found = simulated.find(name);
      const Spell other = found == simulated.end() ? Spell{-2, -2} : found->second;
      if (other == spell) continue;
      ++count;
      differences += fmt::format("{}: live {}..{}, simulated {}..{}\n", name, spell.start - kBegin, spell.end - kBegin,
                                 other.start - kBegin, other.end - kBegin);
    }
    ADD_FAILURE() << "seed " << seed << ": " << count << " of " << live.size() << " jobs differ; evictions "
                  << history.evictions << " and " << history.simulated_evictions << "\n"
                  << differences << (std::getenv("BERTH_STORY") != nullptr ? history.story() : std::string());
  }
  fmt::print("{} histories, {} rounds, {} evictions, {} cancelled, {} differ\n", seeds.size(), rounds, evictions,
             cancellations, differing);
  if (seeds.size() >= 12) {
    EXPECT_GT(evictions, 0) << "else the test says little";
    EXPECT_GT(cancellations, 0);
  }
}

}  // namespace
}  // namespace berth::test
