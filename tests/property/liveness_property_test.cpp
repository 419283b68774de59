// Every job that could ever run starts: endless streams of small jobs against large ones, in every order in whose
// nature it is, with every backfill mode that holds something back, by queue, limit and device model.
//
// Every stream keeps a few jobs waiting: as soon as one starts another comes, for ever. Beside them every queue has
// one large job waiting. Durations are over- and underestimated. What starts late is named with the bound.
//
// In random companies teams also fall silent for a while, jobs are cancelled, nodes drain, and quota is lent until a
// date. While nodes drain and quota is lent anything may wait; from then on the bound holds for all that wait.
#include <gtest/gtest.h>

#include "engine/base/env.h"
#include "tests/company.h"
#include "tests/property/world.h"
#include "tests/seeds.h"

namespace berth::test {
namespace {

constexpr std::int64_t kLongest = 300;  // seconds that a job runs
constexpr std::int64_t kPatience = 600;
constexpr std::size_t kSmallWaiting = 3;  // of each stream

// Jobs that come for ever.
struct Stream {
  std::string queue;  // empty = none
  std::vector<std::string> small;
  std::vector<std::string> large;  // one of them waits at any time
};

// What else may happen.
struct Turmoil {
  bool pauses = false;   // of streams
  bool cancels = false;  // of waiting jobs
  bool drains = false;   // of nodes, at first
  bool loans = false;    // of quota, at first
  bool fixed = false;    // some jobs may not be evicted
  bool classes = false;  // of jobs, also where the order does not look at them
  bool never = false;    // some jobs can never start

  std::string text() const {
    return std::string(pauses ? ", pauses" : "") + (cancels ? ", cancels" : "") + (drains ? ", drains" : "") +
           (loans ? ", loans" : "") + (fixed ? ", fixed" : "") + (classes ? ", classes" : "") +
           (never ? ", never" : "");
  }
};

struct Scene {
  std::string name;
  std::string cluster;
  std::string departments;
  std::vector<Stream> streams;
};

std::vector<Scene> scenes() {
  const std::vector<std::string> small = {"gpus=1", "gpus=2", "gpus=0.5", "gpus=1 tasks=3 min=1"};
  const std::vector<std::string> few = {"gpus=1", "gpus=2"};
  const std::string two_nodes = "2x8:A100";
  return {
      {"own queue", two_nodes, "", {{"", small, {"gpus=8", "gpus=8 tasks=2", "gpus=4 tasks=3"}}}},
      {"other queue", two_nodes, "q / z", {{"q", small, {}}, {"z", {}, {"gpus=8", "gpus=8 tasks=2"}}}},
      {"two queues with large jobs",
       two_nodes,
       "q / z",
       {{"q", small, {"gpus=8", "gpus=4 tasks=2"}}, {"z", small, {"gpus=8 tasks=2"}}}},
      {"within its quota", two_nodes, "q gpu=8 / z gpu=8", {{"q", small, {}}, {"z", {}, {"gpus=8"}}}},
      {"beyond its quota", two_nodes, "q gpu=4 / z gpu=4", {{"q", few, {}}, {"z", {}, {"gpus=8", "gpus=4 tasks=3"}}}},
      {"at its quota", two_nodes, "q gpu=8 gpu.borrow=0 / z gpu=8", {{"q", few, {"gpus=8", "gpus=6"}}, {"z", few, {}}}},
      {"at its borrow limit",
       two_nodes,
       "q gpu=4 gpu.borrow=4 / z gpu=4",
       {{"q", few, {"gpus=8", "gpus=7"}}, {"z", few, {}}}},
      {"at its limit", two_nodes, "q gpu.limit=8 / z", {{"q", few, {"gpus=8", "gpus=5"}}, {"z", few, {"gpus=8"}}}},
      {"at what is not lent",
       two_nodes,
       "q gpu=4 / z gpu=8 gpu.lend=2",
       {{"q", few, {"gpus=8", "gpus=6"}}, {"z", {}, {}}}},
      {"within its quota, others lend nothing",
       two_nodes,
       "q gpu=8 / z gpu=8 gpu.lend=0",
       {{"q", few, {"gpus=8", "gpus=6"}}, {"z", few, {}}}},
      {"within its quota, one lends nothing and another borrows",
       two_nodes,
       "b gpu=3 / c gpu=6 / d gpu=7 gpu.lend=1",
       {{"b", few, {}}, {"c", few, {"gpus=3 tasks=2"}}}},
      {"within the quota above, others lend nothing",
       two_nodes,
       "p gpu=8 / a < p gpu=4 / b < p gpu=4 / z gpu=8 gpu.lend=0",
       {{"a", few, {"gpus=4", "gpus=3"}}, {"b", few, {"gpus=4"}}, {"z", few, {}}}},
      {"at what is not lent, others borrow",
       two_nodes,
       "q gpu=4 / y / z gpu=8 gpu.lend=2",
       {{"q", few, {"gpus=8", "gpus=6"}}, {"y", few, {}}, {"z", {}, {}}}},
      {"at a limit above",
       two_nodes,
       "p gpu.limit=8 / a < p / b < p gpu.limit=6",
       {{"a", few, {"gpus=8"}}, {"b", few, {"gpus=6"}}}},
      {"at a limit above, a sibling and a sibling of the parent go on",
       "1x4:A100",
       "r gpu.limit=2 / d < r / a < d / b < d / c < r",
       {{"a", {"gpus=1"}, {}}, {"b", {}, {"gpus=2"}}, {"c", {"gpus=2"}, {}}}},
      {"at a limit above, small and large jobs of queues that use nothing else",
       "1x8:A100",
       "p gpu.limit=5 / a < p / b < p / c < p",
       {{"a", {}, {"gpus=5"}}, {"b", {}, {"gpus=1"}}, {"c", {"gpus=2"}, {}}}},
      {"at a limit above, a job that needs nothing of it",
       "1x4:A100",
       "p gpu.limit=1 / s < p / a < s / b < s / c < p",
       {{"a", {"gpus=1"}, {}}, {"b", {}, {"cpu=4"}}, {"c", {"gpus=1"}, {}}}},
      {"mixed models",
       "1x8:A100; 1x8:T4",
       "q A100=8 / z T4=8",
       {{"q", few, {"gpus=8 models=A100", "gpus=8"}}, {"z", few, {"gpus=8 models=T4", "gpus=4 tasks=2 models=T4"}}}},
      {"within its quota, which small jobs of its queue use, beside a guest who comes first",
       "1x4:A100",
       "g / b gpu=2 / c gpu=2",
       {{"g", {}, {"gpus=2"}}, {"b", {"gpus=0.3"}, {"gpus=2"}}, {"c", {"gpus=1"}, {}}}},
      {"the same under a limit above, beside a sibling who borrows",
       "1x8:A100",
       "p gpu=5 gpu.limit=5 / b < p gpu=1 / a < p gpu=4",
       {{"b", {}, {"gpus=1 tasks=2"}}, {"a", {"gpus=0.3", "gpus=1", "gpus=1 tasks=2 min=1"}, {"gpus=4"}}}},
      {"another owns a part of a model",
       "1x4:A100; 1x4:T4",
       "p A100=2 / q / z",
       {{"q", few, {}}, {"z", {}, {"gpus=4 tasks=2", "gpus=2 tasks=4"}}}},
      {"at a limit of one model",
       "2x4:A100; 1x4:T4",
       "q / z A100.limit=4",
       {{"q", few, {}}, {"z", few, {"gpus=4 tasks=2", "gpus=2 tasks=4"}}}},
  };
}

class LiveWorld {
 public:
  LiveWorld(const Scene& scene, const std::string& order, BackfillMode backfill, Preemption preemption,
            std::uint64_t seed, const Turmoil& turmoil = {})
      : scene_(scene),
        turmoil_(turmoil),
        random_(seed),
        company_(scene.cluster, scene.departments.empty() ? "all" : scene.departments),
        pauses_(scene.streams.size()) {
    Snapshot& snapshot = company_.snapshot;
    snapshot.order_policy = order;
    snapshot.rules.backfill = backfill;
    snapshot.rules.backfill_depth = 5;
    snapshot.rules.preemption = preemption;
    snapshot.rules.reservation_ttl = Seconds(kPatience);
    snapshot.rules.min_runtime = Seconds(60);
    snapshot.rules.eviction_cooldown = Seconds(120);
    snapshot.rules.default_duration = Seconds(kLongest);
    snapshot.priority_classes = {{.id = 1, .name = "high", .value = 1}, {.id = 2, .name = "low", .value = 0}};
    snapshot.aging_interval = Seconds(900);
    has_classes_ = order == "priority" || turmoil.classes;
    ranks_move_ = order == "fair_share" || order == "drf" || order == "wpai";
  }

  // Each job that waits now waits for those that are there, each of which may have to wait until all that runs has
  // ended, and runs itself; and each may give way for a while.
  Seconds bound() const {
    std::int64_t jobs = 0;
    for (const Stream& stream : scene_.streams)
      jobs += static_cast<std::int64_t>((stream.large.empty() ? 0 : 1) + kSmallWaiting);
    return Seconds(jobs * (2 * kLongest + kPatience) + (has_classes_ ? 900 * 2 : 0));
  }

  // Where ranks move, age comes before them only after 24 reservation_ttl.
  Seconds bound_by_age() const { return bound() + Seconds(ranks_move_ ? 24 * kPatience : 0); }

  void run(Seconds until, Seconds bound) {
    if (turmoil_.drains || turmoil_.loans) {
      calm_from_ = this->bound();
      until = until + calm_from_;
    }
    for (Seconds now(0); now < until;) {
      stir(now);
      if (turmoil_.never && now == Seconds(0)) submit_what_never_starts();
      refill();
      const Plan plan = company_.round(now.value());
      for (const Eviction& eviction : plan.evictions) wait_anew(eviction.job, now);
      std::erase_if(waiting_, [&](const auto& entry) { return company_.runs(entry.first); });
      for (const auto& [job, submit] : waiting_) {
        ASSERT_LT(now, submit + bound) << late(job, bound, plan);
      }
      const Seconds step(1 + static_cast<std::int64_t>(random_.below(40)));
      const std::optional<Seconds> end = company_.next_end();
      now = end && random_.below(2) == 0 ? std::max(now + Seconds(1), *end) : now + step;
    }
  }

 private:
  // So do those that wait behind it in its stream.
  void wait_anew(std::int64_t job, Seconds now) {
    waiting_[job] = now;
    const std::int32_t queue = company_.queue_of(job);
    for (auto& [other, since] : waiting_) {
      if (company_.queue_of(other) == queue) since = now;
    }
  }

  void stir(Seconds now) {
    Snapshot& snapshot = company_.snapshot;
    if (turmoil_.cancels && !waiting_.empty() && random_.below(12) == 0) {
      const auto job = std::next(waiting_.begin(), static_cast<std::ptrdiff_t>(random_.below(waiting_.size())));
      company_.cancel(job->first);
      waiting_.erase(job);
    }
    if (turmoil_.drains && now >= drained_until_) {
      for (Node& node : snapshot.cluster.nodes) node.state = NodeState::kUp;
      if (now < calm_from_ && random_.below(20) == 0) {
        snapshot.cluster.nodes[random_.below(snapshot.cluster.nodes.size())].state = NodeState::kDraining;
        drained_until_ = std::min(calm_from_, now + Seconds(100 + static_cast<std::int64_t>(random_.below(900))));
      }
    }
    std::vector<LoanTerms>& loans = snapshot.quotas.loans;
    std::erase_if(loans, [&](const LoanTerms& loan) { return loan.until <= now; });
    if (turmoil_.loans && now < calm_from_ && loans.empty() && random_.below(15) == 0) lend(now);
    if (now < calm_from_) {
      for (auto& [job, since] : waiting_) since = now;
    }
  }

  // From one of two siblings that own something to the other, if such are drawn.
  void lend(Seconds now) {
    const QuotaTable& table = company_.snapshot.quotas;
    const std::vector<Queue>& queues = company_.snapshot.queues;
    if (table.resources.empty()) return;
    const std::size_t lender = random_.below(queues.size());
    const std::size_t borrower = random_.below(queues.size());
    const std::size_t resource = random_.below(table.resources.size());
    const std::int64_t devices = table.terms[lender][resource].quota / 1000;
    if (lender == borrower || queues[lender].parent != queues[borrower].parent || devices == 0 ||
        !table.terms[lender][resource].has_quota || !table.terms[borrower][resource].has_quota) {
      return;
    }
    const Seconds until = now + Seconds(200 + static_cast<std::int64_t>(random_.below(2000)));
    company_.snapshot.quotas.loans.push_back(
        {.id = ++last_loan_,
         .lender = static_cast<std::int32_t>(lender),
         .borrower = static_cast<std::int32_t>(borrower),
         .resource = static_cast<std::int32_t>(resource),
         .amount = 1000 * (1 + static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(devices)))),
         .until = std::min(calm_from_, until),
         .return_grace = Seconds(random_.below(2) == 0 ? 0 : 100)});
  }

  bool pauses(std::size_t stream) {
    if (!turmoil_.pauses) return false;
    Pause& pause = pauses_[stream];
    if (company_.snapshot.now >= pause.until) {
      pause.is_on = !pause.is_on;
      pause.until = company_.snapshot.now + Seconds(1 + static_cast<std::int64_t>(random_.below(3000)));
    }
    return pause.is_on;
  }

  std::string late(std::int64_t job, Seconds bound, const Plan& plan) {
    std::string text =
        "job " + std::to_string(job) + " has not started within " + std::to_string(bound.value()) + " s\n";
    return text + plan_to_text(plan);
  }

  void refill() {
    for (std::size_t s = 0; s < scene_.streams.size(); ++s) {
      const Stream& stream = scene_.streams[s];
      if (pauses(s)) continue;
      const auto waits = [&](bool large) {
        return static_cast<std::size_t>(std::ranges::count_if(kinds_, [&](const auto& kind) {
          return kind.second == std::pair(s, large) && waiting_.contains(kind.first);
        }));
      };
      while (!stream.small.empty() && waits(false) < kSmallWaiting) submit(s, stream.small, false);
      if (!stream.large.empty() && waits(true) == 0) submit(s, stream.large, true);
    }
    std::erase_if(kinds_, [&](const auto& kind) { return !waiting_.contains(kind.first); });
  }

  // More devices than a node has, or than there are: nobody may wait for such jobs.
  void submit_what_never_starts() {
    for (const Stream& stream : scene_.streams) {
      if (random_.below(2) == 0) continue;
      company_.submit(stream.queue, one_of<const char*>(random_, {"gpus=9", "gpus=9 tasks=2", "gpus=1 tasks=64"}),
                      1000);
    }
  }

  void submit(std::size_t s, const std::vector<std::string>& texts, bool large) {
    const std::int64_t believed = 10 + static_cast<std::int64_t>(random_.below(kLongest - 10));
    const std::int64_t real = std::clamp<std::int64_t>(
        believed * one_of<std::int64_t>(random_, {2, 8, 10, 10, 10, 20, 50}) / 10, 1, kLongest);
    std::string text = texts[random_.below(texts.size())];
    if (has_classes_) text += " class=" + std::to_string(random_.below(2));
    const std::int64_t id = company_.submit(scene_.streams[s].queue, text, real);
    Job& job = company_.waiting_job(id);
    if (random_.below(6) != 0) job.time_limit = Seconds(believed);
    if (random_.below(4) == 0) job.eviction.checkpoint_grace = Seconds(60);
    if (turmoil_.fixed) job.eviction.preemptible = random_.below(3) == 0;
    waiting_.emplace(id, company_.snapshot.now);
    kinds_.emplace(id, std::pair(s, large));
  }

  struct Pause {
    Seconds until;
    bool is_on = true;
  };

  const Scene& scene_;
  Turmoil turmoil_;
  Random random_;
  Company company_;
  std::vector<Pause> pauses_;  // by stream
  Seconds calm_from_;          // no node drains and nothing is lent
  Seconds drained_until_;
  std::int64_t last_loan_ = 0;
  bool has_classes_ = false;
  bool ranks_move_ = false;
  std::map<std::int64_t, Seconds> waiting_;  // since when
  std::map<std::int64_t, std::pair<std::size_t, bool>> kinds_;
};

// A company drawn at random, with a stream in each team. Its large jobs are those that get their GPUs in any case: also
// where all other queues use what they own, for ever.
class RandomCompany {
 public:
  explicit RandomCompany(Random& random) : random_(random) {
    const auto machines = one_of<Machines>(random_, {{"2x8:A100", "gpu", 2, 8},
                                                     {"3x4:A100", "gpu", 3, 4},
                                                     {"2x4:A100", "gpu", 2, 4},
                                                     {"2x4:A100; 2x4:T4", "A100", 2, 4}});
    scene_.cluster = machines.text;
    draw_queues();
    pools_.push_back({machines.resource, machines.nodes, machines.gpus, draw_terms(machines)});
    const bool is_mixed = machines.resource != std::string("gpu");
    if (is_mixed) pools_.push_back({"T4", machines.nodes, machines.gpus, draw_terms(machines)});
    for (std::size_t q = 0; q < queues_.size(); ++q) {
      scene_.departments += (q == 0 ? "" : " / ") + queues_[q].name;
      if (queues_[q].parent >= 0) scene_.departments += " < " + name_of(queues_[q].parent);
      for (const Pool& pool : pools_) scene_.departments += text_of(pool.terms[q], pool.resource);
    }
    for (std::size_t q = 0; q < queues_.size(); ++q) {
      if (queues_[q].is_leaf) draw_stream(q, is_mixed);
    }
    scene_.name = scene_.cluster + ": " + scene_.departments + streams_;
  }

  const Scene& scene() const { return scene_; }

 private:
  struct Machines {
    const char* text;
    const char* resource;
    std::int64_t nodes;
    std::int64_t gpus;
  };
  struct Team {  // or a department
    std::string name;
    int parent = -1;
    bool is_leaf = true;
  };
  // What a queue owns and may use of a resource.
  struct Terms {
    std::int64_t quota = 0;  // 0 = none
    std::int64_t limit = -1;
    std::int64_t borrow = -1;
    std::int64_t lend = -1;
  };
  // The nodes of a resource.
  struct Pool {
    std::string resource;
    std::int64_t nodes;
    std::int64_t gpus;
    std::vector<Terms> terms;  // by queue

    std::int64_t capacity() const { return nodes * gpus; }
  };

  std::int64_t up_to(std::int64_t most) {
    return static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(most) + 1));
  }
  const std::string& name_of(int queue) const { return queues_[static_cast<std::size_t>(queue)].name; }
  bool is_child(std::size_t queue, int parent) const { return queues_[queue].parent == parent; }

  void draw_queues() {
    const std::int64_t count = 2 + up_to(3);
    for (std::int64_t q = 0; q < count; ++q) {
      Team queue{.name = std::string(1, static_cast<char>('a' + q))};
      if (q > 0 && random_.below(5) < 2) queue.parent = static_cast<int>(random_.below(static_cast<std::uint64_t>(q)));
      if (queue.parent >= 0) queues_[static_cast<std::size_t>(queue.parent)].is_leaf = false;
      queues_.push_back(queue);
    }
  }

  // Quotas that can all be honoured: what a department owns covers what its teams own.
  std::vector<Terms> draw_terms(const Machines& machines) {
    const std::int64_t capacity = machines.nodes * machines.gpus;
    std::vector<Terms> terms(queues_.size());
    if (random_.below(3) == 0) {  // nobody owns anything, and a limit is all there is
      terms[random_.below(terms.size())].limit = 1 + up_to(machines.gpus - 1);
      return terms;
    }
    std::int64_t left = capacity;
    for (std::size_t q = 0; q < queues_.size(); ++q) {
      if (!queues_[q].is_leaf || random_.below(4) == 0) continue;
      terms[q].quota = std::min(left, 1 + up_to(capacity / 2));
      left -= terms[q].quota;
    }
    for (std::size_t q = queues_.size(); q-- > 0;) {
      if (queues_[q].is_leaf) continue;
      std::int64_t below = 0;
      for (std::size_t c = 0; c < queues_.size(); ++c) below += is_child(c, static_cast<int>(q)) ? terms[c].quota : 0;
      if (random_.below(3) == 0 && queues_[q].parent < 0) {
        const std::int64_t more = up_to(left);
        terms[q].quota = below + more;
        left -= more;
      } else if (random_.below(2) == 0) {
        terms[q].quota = below;
      }
    }
    for (Terms& each : terms) {
      if (random_.below(4) == 0) each.limit = std::max<std::int64_t>(each.quota, 1 + up_to(capacity));
      if (each.quota == 0) continue;
      if (random_.below(4) == 0) each.borrow = up_to(capacity / 2);
      if (random_.below(3) == 0) each.lend = up_to(each.quota);
    }
    return terms;
  }

  static std::string text_of(const Terms& terms, const std::string& resource) {
    std::string text;
    const auto add = [&](const char* what, std::int64_t value) {
      if (value >= 0) text += " " + resource + what + "=" + std::to_string(value);
    };
    add("", terms.quota == 0 ? -1 : terms.quota);
    add(".limit", terms.limit);
    add(".borrow", terms.borrow);
    add(".lend", terms.lend);
    return text;
  }

  // What all at and below the queue own.
  std::int64_t owned_at(const Pool& pool, std::size_t queue) const {
    return std::max(owned_below(pool, static_cast<int>(queue), -1), pool.terms[queue].quota);
  }
  std::int64_t owned_below(const Pool& pool, int parent, int without) const {
    std::int64_t owned = 0;
    for (std::size_t c = 0; c < queues_.size(); ++c) {
      if (is_child(c, parent) && static_cast<int>(c) != without) owned += owned_at(pool, c);
    }
    return owned;
  }

  // GPUs that a job of the queue gets in any case.
  std::int64_t sure_of(const Pool& pool, std::size_t leaf) const {
    std::int64_t most = pool.capacity();
    std::int64_t others = 0;  // own, within what was looked at
    int below = -1;
    for (int q = static_cast<int>(leaf); q >= 0; q = queues_[static_cast<std::size_t>(q)].parent) {
      const Terms& terms = pool.terms[static_cast<std::size_t>(q)];
      if (below >= 0) others += owned_below(pool, q, below);
      if (terms.limit >= 0) most = std::min(most, terms.limit - others);
      if (terms.borrow >= 0) most = std::min(most, terms.quota + terms.borrow - others);
      below = q;
    }
    others += owned_below(pool, -1, below);
    return std::min(most, pool.capacity() - others);
  }

  void draw_stream(std::size_t q, bool is_mixed) {
    Stream stream{queues_[q].name, {}, {}};
    const Pool& pool = pools_[random_.below(pools_.size())];
    const std::string models = is_mixed && random_.below(3) != 0 ? " models=" + pool.resource : "";
    const std::int64_t sure = sure_of(pool, q);
    if (sure >= 1 && random_.below(6) != 0) {
      for (int i = 0; i < 2; ++i)
        stream.small.push_back("gpus=" + (random_.below(4) == 0 ? "0.3" : std::to_string(1 + up_to(sure > 1 ? 1 : 0))) +
                               models);
      if (random_.below(4) == 0) stream.small.push_back("gpus=1 tasks=3 min=1" + models);
    }
    for (int i = random_.below(3) == 0 ? 2 : 0; i < 2; ++i) {
      const std::int64_t each = 1 + up_to(pool.gpus - 1);
      const std::int64_t tasks = std::min(pool.nodes * (pool.gpus / each), 1 + up_to(2));
      if (each * tasks <= sure)
        stream.large.push_back("gpus=" + std::to_string(each) + " tasks=" + std::to_string(tasks) + models);
    }
    if (stream.small.empty() && stream.large.empty()) return;
    streams_ += "; " + stream.queue + ":";
    for (const std::string& text : stream.small) streams_ += " [" + text + "]";
    for (const std::string& text : stream.large) streams_ += " large [" + text + "]";
    scene_.streams.push_back(std::move(stream));
  }

  Random& random_;
  std::vector<Team> queues_;
  std::vector<Pool> pools_;
  std::string streams_;
  Scene scene_;
};

class LivenessTest : public testing::TestWithParam<const char*> {};

TEST_P(LivenessTest, EveryJobOfARandomCompanyStarts) {
  const std::string order = GetParam();
  const Seeds seeds = wanted_seeds(4, 4);
  for (std::uint64_t seed = seeds.first; seed < seeds.end; ++seed) {
    Random random(seed);
    const RandomCompany company(random);
    const Scene& scene = company.scene();
    const auto mode =
        one_of<BackfillMode>(random, {BackfillMode::kEasy, BackfillMode::kConservative, BackfillMode::kNone});
    const auto preemption = one_of<Preemption>(random, {Preemption::kNone, Preemption::kReclaim});
    const Turmoil turmoil{.pauses = random.below(2) == 0,
                          .cancels = random.below(3) == 0,
                          .drains = random.below(3) == 0,
                          .loans = random.below(3) == 0,
                          .fixed = random.below(3) == 0,
                          .classes = random.below(3) == 0,
                          .never = random.below(2) == 0};
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + order + ", " + std::string(backfill_mode_name(mode)) +
                 (preemption == Preemption::kNone ? "" : ", reclaim") + turmoil.text() + ", " + scene.name);
    LiveWorld world(scene, order, mode, preemption, seed, turmoil);
    world.run(world.bound_by_age() + world.bound(), world.bound_by_age());
    if (HasFatalFailure()) return;
  }
}

TEST_P(LivenessTest, EveryJobStarts) {
  const std::string order = GetParam();
  const Seeds seeds = wanted_seeds(1, 10);
  for (const Scene& scene : scenes()) {
    for (const BackfillMode mode : {BackfillMode::kEasy, BackfillMode::kConservative, BackfillMode::kNone}) {
      for (const Preemption preemption : {Preemption::kNone, Preemption::kReclaim}) {
        for (std::uint64_t seed = seeds.first; seed < seeds.end; ++seed) {
          SCOPED_TRACE("seed " + std::to_string(seed) + ", " + order + ", " + std::string(backfill_mode_name(mode)) +
                       (preemption == Preemption::kNone ? ", " : ", reclaim, ") + scene.name);
          LiveWorld world(scene, order, mode, preemption, seed);
          world.run(Seconds(2 * world.bound().value()), world.bound());
          if (HasFatalFailure()) break;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, LivenessTest, testing::Values("fifo", "priority", "las", "fair_share", "drf", "wpai"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace berth::test
