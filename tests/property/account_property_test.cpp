// Accounts add up: over random histories of queues, quotas (of a model, a family and all GPUs), loans, jobs, evictions
// and midnights, every row has owned = used of own + lent + idle, all borrow what all lend and what is nobody's, use is
// what jobs held for as long as they did, and what a queue always owned is counted for all the time that passed. Also
// with a clock that is set back: then nobody's time is another than the others'.
#include <map>

#include "engine/base/env.h"
#include "engine/base/text.h"
#include "engine/round/schedule.h"
#include "engine/store/account_report.h"
#include "engine/store/loan_records.h"
#include "engine/store/quota_records.h"
#include "engine/store/settings.h"
#include "tests/unit/store/store_fixture.h"

namespace berth::test {
namespace {

constexpr Seconds kStart{1'767'225'600};  // a midnight
constexpr std::int64_t kAlwaysOwned = 3000;

class AccountProperty : public StoreTest {
 protected:
  enum class Quotas { kOfModels, kThatOverlap };

  void play(std::uint64_t seed, Quotas quotas, bool clock_goes_back) {
    SCOPED_TRACE(seed);
    Random random(seed);
    random_ = &random;
    quotas_ = quotas;
    Database db = open(std::to_string(seed) + ".db");
    db_ = &db;
    EXPECT_OK(db.execute("PRAGMA synchronous = OFF"));
    now_ = kStart + Seconds(1000);
    used_.clear();
    names_ = {"train", "serve"};
    prepare();
    note_use();
    begin_ = counted_from_ = now_;
    counted_ = 0;
    for (int step = 0; step < 60; ++step) {
      now_ += Seconds(static_cast<std::int64_t>(random.below(3) * random.below(30000)));
      if (clock_goes_back && random.below(5) == 0) now_ -= Seconds(static_cast<std::int64_t>(random.below(50000)));
      last_changed_ = must_have(db.integer("SELECT value FROM meta WHERE key = 'accounts_changed'"));
      act();
      pass_time();
      if (quotas == Quotas::kOfModels) expect_the_ledgers_word();
      if (HasFailure()) return;
    }
    now_ += Seconds(777);
    last_changed_ = must_have(db.integer("SELECT value FROM meta WHERE key = 'accounts_changed'"));
    settle();
    pass_time();
    expect_sums(clock_goes_back);
    for (const Finding& finding : must_have(check_state(db)))
      ADD_FAILURE() << finding.object << " " << finding.sentence;
  }

 private:
  std::int64_t any(std::uint64_t bound) { return static_cast<std::int64_t>(random_->below(bound)); }
  std::string any_queue() { return names_[random_->below(names_.size())]; }

  void prepare() {
    fill(*db_);
    EXPECT_OK(change(
        *db_,
        [](Change& c) -> Status {
          BERTH_TRY(alter_device_model(c, "A100", {.family = "big"}));
          BERTH_TRY(add_device_model(c, {"H100", MiB(81920), 2.0, "big"}));
          BERTH_TRY(add_node_type(c, {"h100x4", MilliCpu(64000), MiB(262144), "H100", 4, ""}));
          const std::vector<NodeRequest> nodes = {{"h1", "h100x4", "", "", {}}};
          BERTH_TRY(add_nodes(c, nodes));
          for (const auto& [key, value] : {std::pair{"min_runtime", "0s"},
                                           {"pending_delay", "0s"},
                                           {"eviction_cooldown", "0s"},
                                           {"order_policy", "fair_share"}}) {
            BERTH_TRY(set_setting(c, key, value));
          }
          BERTH_TRY(add_queue(c, {"always", ""}));
          const QuotaSetting owned[] = {{.resource = "T4", .amount = kAlwaysOwned}};
          return set_quota(c, "always", owned);
        },
        now_));
  }

  void settle() {
    EXPECT_OK(change(
        *db_,
        [](Change& c) -> Status {
          c.use_changed();
          return {};
        },
        now_));
  }

  void act() {
    switch (random_->below(10)) {
      case 0:
      case 1: return submit_and_round();
      case 2: return round();
      case 3:
      case 4: return end_one();
      case 5:
      case 6: return set_one_quota();
      case 7: return lend_one();
      case 8: return rename_or_make();
      default: return settle();
    }
  }

  std::string any_resource() {
    constexpr const char* kOfModels[] = {"A100", "T4", "H100"};
    constexpr const char* kAll[] = {"A100", "T4", "H100", "big", "gpu", "gpu"};
    return quotas_ == Quotas::kOfModels ? kOfModels[random_->below(3)] : kAll[random_->below(6)];
  }

  void submit_and_round() {
    const bool is_shared = any(2) == 0;
    const std::int64_t devices = is_shared ? 1 : 1 + any(2);
    const MilliGpu share = is_shared ? MilliGpu(100 * (1 + any(9))) : kWholeDevice;
    JobRequest request = job("", {group(1 + any(4), devices, share)});
    request.queue = any_queue();
    if (any(2) == 0) request.groups[0].models = {any(2) == 0 ? "A100" : "T4"};
    EXPECT_OK(change(
        *db_,
        [&](Change& c) -> Status {
          BERTH_ASSIGN(Submitter submitter, Submitter::make(c));
          BERTH_TRY(submitter.submit(request).status());
          return submitter.finish();
        },
        now_));
    round();
  }

  void round() {
    const Loaded loaded = must_have(load_state(*db_, {.now = now_}));
    const ScheduleResult planned = must_have(plan_schedule(loaded.snapshot));
    EXPECT_OK(apply_plan(*db_, planned.plan, {.actor = "tester", .now = now_}).status());
  }

  void end_one() {
    const std::int64_t job =
        must_have(db_->integer("SELECT coalesce(max(id), 0) FROM (SELECT id FROM jobs WHERE state = 'running' ORDER BY "
                               "id * 7919 % 101 LIMIT 1)"));
    if (job == 0) return settle();
    EXPECT_OK(change(
        *db_, [&](Change& c) { return end_job(c, job, JobState::kFinished); }, now_));
  }

  // What does not hold (a loan that its lender could no longer give) is refused, and then time passes alone.
  template <class Body>
  void try_change(Body&& body) {
    if (!change(*db_, body, now_).ok()) settle();
  }

  void set_one_quota() {
    const std::string queue = any(5) == 0 ? "all" : any_queue();
    QuotaSetting setting{.resource = any_resource()};
    if (any(5) != 0) setting.amount = 500 * any(30);
    QuotaPeriod period;
    if (any(4) == 0) period = {.from = now_, .to = now_ + Seconds(1 + any(60000))};
    try_change([&](Change& c) { return set_quota(c, queue, std::span(&setting, 1), period); });
  }

  void lend_one() {
    LoanRequest loan{.lender = any_queue(), .borrower = any_queue(), .resource = any_resource()};
    loan.amount = 500 * (1 + any(6));
    if (any(2) == 0) loan.until = now_ + Seconds(1 + any(50000));
    try_change([&](Change& c) { return add_loan(c, loan); });
  }

  void rename_or_make() {
    const std::string name = "queue" + std::to_string(names_.size()) + "-" + std::to_string(any(1000000));
    if (any(2) == 0) {
      names_.push_back(name);
      EXPECT_OK(change(
          *db_,
          [&](Change& c) {
            return add_queue(c, {name, any(2) == 0 ? "all" : ""});
          },
          now_));
      return;
    }
    std::string& old = names_[random_->below(names_.size())];
    EXPECT_OK(change(
        *db_, [&](Change& c) { return alter_queue(c, old, {.name = name}); }, now_));
    for (auto& [key, use] : used_) {
      if (key.first == old) renamed_.emplace(std::pair(name, key.second), use);
    }
    std::erase_if(used_, [&](const auto& each) { return each.first.first == old; });
    used_.merge(renamed_);
    old = name;
    settle();
  }

  struct Use {
    std::int64_t held = 0;  // milli-GPU, now
    std::int64_t sum = 0;   // milli-GPU-seconds
    Seconds since;
  };
  using UseKey = std::pair<std::string, std::string>;

  void note_use() {
    std::map<UseKey, std::int64_t> held;
    Statement rows =
        must_have(db_->prepare("SELECT q.name, m.name, u.gpu_milli FROM queue_use u JOIN queues q ON q.id = "
                               "u.queue_id JOIN device_models m ON m.id = u.model_id"));
    while (rows.next()) held[{std::string(rows.text(0)), std::string(rows.text(1))}] = rows.integer(2);
    for (const auto& [key, amount] : held) used_.try_emplace(key, Use{.held = 0, .sum = 0, .since = now_});
    for (auto& [key, use] : used_) use.held = held[key];
  }

  // The slow truth. A clock behind the last change of an account is one that was set back.
  void pass_time() {
    const Seconds last(last_changed_);
    const Seconds until = now_ < last ? last : now_;
    for (auto& [key, use] : used_) {
      use.sum += use.held * (until - use.since).value();
      use.since = now_;
    }
    counted_ += (until - counted_from_).value();
    counted_from_ = now_;
    note_use();
  }

  // Without overlapping quotas the accounts are those of the borrow ledger.
  void expect_the_ledgers_word() {
    EXPECT_EQ(
        must_have(db_->integer(
            "SELECT count(*) FROM (SELECT b.name AS queue, r.resource AS model, sum(r.amount) AS borrowed, "
            "sum(iif(r.lender_id IS NULL, r.amount, 0)) AS unowned FROM borrowing_records r JOIN queues b ON b.id = "
            "r.borrower_id GROUP BY 1, 2 EXCEPT SELECT queue, device_model, borrowed, unowned FROM "
            "account_rates)")),
        0);
    EXPECT_EQ(must_have(db_->integer("SELECT count(*) FROM (SELECT l.name, r.resource, sum(r.amount) FROM "
                                     "borrowing_records r JOIN queues l ON l.id = r.lender_id GROUP BY 1, 2 EXCEPT "
                                     "SELECT queue, device_model, lent FROM account_rates)")),
              0);
  }

  void expect_sums(bool clock_goes_back) {
    AccountQuery query{.from = Seconds(0), .to = now_ + Seconds(10 * 86400), .now = now_, .queues = {}};
    query.models = AccountParts::kApart;
    const AccountReport by_model = must_have(read_accounts(*db_, query));
    query.days = AccountParts::kApart;
    const AccountReport by_day = must_have(read_accounts(*db_, query));
    std::map<UseKey, std::int64_t> used;
    std::int64_t always = 0;
    std::map<std::pair<std::int64_t, std::string>, AccountSums> of_all;
    for (const AccountLine& line : by_day.lines) {
      const AccountRates& time = line.sums.time;
      EXPECT_GE(line.sums.idle(), 0);
      EXPECT_GE(time.borrowed, time.unowned);
      used[{line.queue, line.device_model}] += line.sums.used();
      of_all[{line.day.value(), line.device_model}].add(line.sums);
      if (line.queue != "always") continue;
      always += time.owned;
      const bool is_whole = line.day > begin_ && line.day + Seconds(86400) <= now_;
      if (!clock_goes_back && is_whole) {
        EXPECT_EQ(time.owned, kAlwaysOwned * 86400);
      }
    }
    EXPECT_EQ(always, kAlwaysOwned * counted_);
    if (!clock_goes_back) {
      EXPECT_EQ(counted_, (now_ - begin_).value());
    }
    for (const auto& [key, sums] : of_all) {
      EXPECT_EQ(sums.time.borrowed, sums.time.lent + sums.time.unowned) << key.second;
      EXPECT_EQ(sums.time.loaned_in, sums.time.loaned_out) << key.second;
    }
    for (const auto& [key, use] : used_) EXPECT_EQ(used[key], use.sum) << key.first << " " << key.second;
    EXPECT_EQ(by_day.all.used(), by_model.all.used());
    EXPECT_EQ(by_day.all.lost,
              must_have(db_->integer("SELECT coalesce(sum(lost_gpu_milli_s), 0) FROM evictions WHERE state = 'done'")));
    expect_the_views_word(query);
    lost_ += by_day.all.lost;
    lent_ += by_day.all.time.lent;
    loaned_ += by_day.all.time.loaned_in;
  }

  // The view counts until the machine's now.
  void expect_the_views_word(AccountQuery query) {
    constexpr std::string_view kNow = "SELECT CAST(strftime('%s', 'now') AS INTEGER)";
    const auto said = [&] {
      std::vector<std::string> lines;
      Statement rows = must_have(
          db_->prepare("SELECT day, queue, device_model, owned, used, unowned, lent, idle, loaned_in, lost FROM "
                       "account_sums ORDER BY 1, 2, 3"));
      while (rows.next()) {
        std::string line;
        for (int column = 0; column < rows.column_count(); ++column) line += std::string(rows.text(column)) + " ";
        lines.push_back(line);
      }
      return lines;
    };
    std::vector<std::string> lines;
    for (query.now = Seconds(-1); query.now != Seconds(must_have(db_->integer(kNow)));) {
      query.now = Seconds(must_have(db_->integer(kNow)));
      lines = said();
    }
    query.to = query.now + Seconds(86400 * 365);
    const AccountReport report = must_have(read_accounts(*db_, query));
    EXPECT_EQ(report.lines.size(), lines.size());
    for (std::size_t i = 0; i < std::min(lines.size(), report.lines.size()); ++i) {
      const AccountSums& sums = report.lines[i].sums;
      std::string line = print_time(report.lines[i].day).substr(0, 10) + " " + report.lines[i].queue + " " +
                         report.lines[i].device_model + " ";
      for (const std::int64_t amount : {sums.time.owned, sums.used(), sums.time.unowned, sums.time.lent, sums.idle(),
                                        sums.time.loaned_in, sums.lost}) {
        line += std::to_string(amount) + " ";
      }
      EXPECT_EQ(line, lines[i]);
      if (line != lines[i]) return;
    }
  }

 protected:
  std::int64_t lost_ = 0;  // by all histories together
  std::int64_t lent_ = 0;
  std::int64_t loaned_ = 0;

 private:
  Database* db_ = nullptr;
  Random* random_ = nullptr;
  Quotas quotas_ = Quotas::kOfModels;
  Seconds now_;
  Seconds begin_;
  Seconds counted_from_;
  std::int64_t counted_ = 0;  // seconds
  std::int64_t last_changed_ = 0;
  std::vector<std::string> names_;
  std::map<UseKey, Use> used_;
  std::map<UseKey, Use> renamed_;
};

TEST_F(AccountProperty, TheyAddUp) {
  for (std::uint64_t seed = 1; seed <= 12 && !HasFailure(); ++seed) {
    play(seed, seed % 2 == 0 ? Quotas::kOfModels : Quotas::kThatOverlap, false);
  }
  EXPECT_GT(lost_, 0);
  EXPECT_GT(lent_, 0);
  EXPECT_GT(loaned_, 0);
}

TEST_F(AccountProperty, AlsoWhenTheClockIsSetBack) {
  for (std::uint64_t seed = 101; seed <= 112 && !HasFailure(); ++seed) {
    play(seed, seed % 2 == 0 ? Quotas::kOfModels : Quotas::kThatOverlap, true);
  }
}

}  // namespace
}  // namespace berth::test
