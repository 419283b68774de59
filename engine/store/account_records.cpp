#include "engine/store/account_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

namespace berth {

namespace {

// After a clock that jumped ahead, no more than this is written of it.
constexpr Seconds kLongestStretch = 1000 * kAccountDay;

struct OpenAccount {
  std::int64_t id = 0;
  std::string queue;
  std::string name;
  Seconds since;
  AccountRates rates;
};

struct AccountClock {
  bool began = false;
  std::optional<Seconds> last;  // when an account changed
};

Result<AccountClock> read_clock(Database& db) {
  BERTH_ASSIGN(Statement rows,
               db.prepare("SELECT key, value FROM meta WHERE key IN ('accounts_begin', 'accounts_changed')"));
  AccountClock clock;
  while (rows.next()) {
    if (rows.text(0) == "accounts_begin") {
      clock.began = true;
    } else {
      clock.last = rows.quantity<Seconds>(1);
    }
  }
  BERTH_TRY(rows.status());
  return clock;
}

Result<std::vector<OpenAccount>> read_open_accounts(Database& db) {
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT id, queue, device_model, since, owned, used_own, borrowed, unowned, "
                                          "lent, loaned_in, loaned_out FROM account_rates"));
  std::vector<OpenAccount> open;
  while (rows.next()) {
    open.push_back({rows.integer(0),
                    std::string(rows.text(1)),
                    std::string(rows.text(2)),
                    rows.quantity<Seconds>(3),
                    {rows.integer(4), rows.integer(5), rows.integer(6), rows.integer(7), rows.integer(8),
                     rows.integer(9), rows.integer(10)}});
  }
  BERTH_TRY(rows.status());
  return open;
}

Result<std::vector<ModelName>> read_model_names(Database& db) {
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT id, name FROM device_models ORDER BY id"));
  std::vector<ModelName> models;
  while (rows.next()) models.push_back({rows.integer(0), std::string(rows.text(1))});
  BERTH_TRY(rows.status());
  return models;
}

Status put_meta(Database& db, std::string_view key, Seconds value) {
  BERTH_ASSIGN(Statement put, db.prepare("INSERT INTO meta VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = ?2"));
  return put.run(key, value);
}

constexpr std::string_view kSumsOfToday =
    "since - since % 86400, queue, device_model, owned_today, used_own_today, borrowed_today, unowned_today, "
    "lent_today, "
    "loaned_in_today, loaned_out_today FROM account_rates";
constexpr std::string_view kAddToDay =
    "INSERT INTO account_days (day, queue, device_model, owned, used_own, borrowed, unowned, lent, loaned_in, "
    "loaned_out) {} ON CONFLICT DO UPDATE SET owned = owned + excluded.owned, used_own = used_own + excluded.used_own, "
    "borrowed = borrowed + excluded.borrowed, unowned = unowned + excluded.unowned, lent = lent + excluded.lent, "
    "loaned_in = loaned_in + excluded.loaned_in, loaned_out = loaned_out + excluded.loaned_out";

class AccountWriter {
 public:
  AccountWriter(Database& db, Seconds now, const AccountClock& clock) : db_(db), now_(now) {
    is_set_back_ = clock.last && now < *clock.last;
    until_ = is_set_back_ ? *clock.last : now;
  }

  // The stored rows become those of the table; whether any did change.
  Result<bool> write(AccountTable table) {
    BERTH_ASSIGN(const std::vector<OpenAccount> open, read_open_accounts(db_));
    const NameIndex queues = index_of(table.queues);
    const NameIndex names = index_of(table.names);
    for (const OpenAccount& account : open) {
      const auto queue = queues.find(account.queue);
      const auto name = names.find(account.name);
      const bool is_there = queue != queues.end() && name != names.end();
      AccountRates* next = is_there ? &table.at(queue->second, name->second) : nullptr;
      BERTH_TRY(turn(account, next == nullptr ? AccountRates() : *next));
      if (next != nullptr) *next = {};  // written
    }
    for (std::size_t q = 0; q < table.queues.size(); ++q) {
      for (std::size_t n = 0; n < table.names.size(); ++n) {
        if (table.at(q, n) != AccountRates()) BERTH_TRY(add(table.queues[q], table.names[n], table.at(q, n)));
      }
    }
    return changed_;
  }

 private:
  using NameIndex = std::unordered_map<std::string_view, std::size_t>;
  static NameIndex index_of(std::span<const std::string> names) {
    NameIndex index;
    for (std::size_t i = 0; i < names.size(); ++i) index.emplace(names[i], i);
    return index;
  }
  static std::int64_t day_of(Seconds time) { return time.value() / kAccountDay.value(); }

  Status turn(const OpenAccount& account, const AccountRates& next) {
    const bool is_of_today = !is_set_back_ && day_of(account.since) == day_of(now_);
    if (is_of_today && account.rates == next) return {};
    changed_ = true;
    if (is_of_today) return go_on(account, next, now_ - account.since);
    BERTH_TRY(close(account));
    if (next != AccountRates()) return go_on(account, next, Seconds(0));
    BERTH_ASSIGN(Statement remove, db_.prepare("DELETE FROM account_rates WHERE id = ?1"));
    return remove.run(account.id);
  }

  Status add(const std::string& queue, const std::string& name, const AccountRates& r) {
    BERTH_ASSIGN(Statement insert,
                 db_.prepare("INSERT INTO account_rates (queue, device_model, since, owned, used_own, "
                             "borrowed, unowned, lent, loaned_in, loaned_out) "
                             "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"));
    changed_ = true;
    return insert.run(queue, name, now_, r.owned, r.used_own, r.borrowed, r.unowned, r.lent, r.loaned_in, r.loaned_out);
  }

  // The sums of the day get what it was so long.
  Status go_on(const OpenAccount& account, const AccountRates& next, Seconds length) {
    BERTH_ASSIGN(
        Statement update,
        db_.prepare(
            "UPDATE account_rates SET owned_today = owned_today + owned * ?2, used_own_today = used_own_today + "
            "used_own * ?2, borrowed_today = borrowed_today + borrowed * ?2, unowned_today = unowned_today + "
            "unowned * ?2, lent_today = lent_today + lent * ?2, loaned_in_today = loaned_in_today + loaned_in * "
            "?2, loaned_out_today = loaned_out_today + loaned_out * ?2, since = ?3, owned = ?4, used_own = ?5, "
            "borrowed = ?6, unowned = ?7, lent = ?8, loaned_in = ?9, loaned_out = ?10 WHERE id = ?1"));
    return update.run(account.id, length, now_, next.owned, next.used_own, next.borrowed, next.unowned, next.lent,
                      next.loaned_in, next.loaned_out);
  }

  // Its sums, and what it was until now, go to the days.
  Status close(const OpenAccount& account) {
    BERTH_ASSIGN(Statement flush, db_.prepare(fmt::format(
                                      kAddToDay, fmt::format("SELECT {} WHERE id = ?1 AND owned_today + "
                                                             "borrowed_today + loaned_in_today + loaned_out_today > 0",
                                                             kSumsOfToday))));
    BERTH_TRY(flush.run(account.id));
    BERTH_ASSIGN(Statement empty,
                 db_.prepare("UPDATE account_rates SET owned_today = 0, used_own_today = 0, borrowed_today = 0, "
                             "unowned_today = 0, lent_today = 0, loaned_in_today = 0, loaned_out_today = 0 WHERE id = "
                             "?1"));
    BERTH_TRY(empty.run(account.id));
    if (account.rates == AccountRates()) return {};
    BERTH_ASSIGN(Statement add,
                 db_.prepare(fmt::format(kAddToDay, "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")));
    const AccountRates& r = account.rates;
    const Seconds from = std::max(account.since, until_ - kLongestStretch);
    return for_days_of(from, until_, [&](Seconds day, Seconds length) {
      const std::int64_t s = length.value();
      return add.run(day, account.queue, account.name, r.owned * s, r.used_own * s, r.borrowed * s, r.unowned * s,
                     r.lent * s, r.loaned_in * s, r.loaned_out * s);
    });
  }

  Database& db_;
  Seconds now_;
  Seconds until_;  // what was so counts
  bool is_set_back_ = false;
  bool changed_ = false;
};

struct Part {
  std::string device_model;
  std::int64_t amount = 0;
};

// `amount` over rows of a name and a weight; nothing when the weights are nothing.
Result<std::vector<Part>> split_by(Statement& rows, std::int64_t amount) {
  std::vector<Part> parts;
  std::int64_t all = 0;
  while (rows.next()) {
    parts.push_back({std::string(rows.text(0)), rows.integer(1)});
    all += rows.integer(1);
  }
  BERTH_TRY(rows.status());
  if (all == 0) return std::vector<Part>();
  for (Part& part : parts) {
    const std::int64_t weight = part.amount;
    part.amount = all == 0 ? 0 : amount / all * weight + amount % all * weight / all;
    amount -= part.amount;
    all -= weight;
  }
  return parts;
}

// A task group of an ended run.
struct EndedGroup {
  std::string queue;
  Seconds start;
  Seconds end;
  std::int64_t share = 0;  // milli-GPU of each device
  std::vector<Part> held;  // milli-GPU of all its tasks, by device model
};

// What the run held at its end, the group's part of it by what was asked for; models by the nodes it was on.
Result<EndedGroup> read_ended_group(Database& db, std::int64_t run, std::int64_t group) {
  EndedGroup ended;
  std::int64_t held = 0;
  {
    BERTH_ASSIGN(
        Statement row,
        db.prepare(
            "SELECT q.name, max(r.start_time, (SELECT value FROM meta WHERE key = 'accounts_begin')), r.end_time, "
            "g.gpu_milli, r.gpu_milli * (g.task_count * g.gpu_count * g.gpu_milli) / (SELECT max(1, "
            "sum(task_count * gpu_count * gpu_milli)) FROM task_groups WHERE job_id = r.job_id) FROM runs r "
            "JOIN jobs j ON j.id = r.job_id JOIN queues q ON q.id = j.queue_id JOIN task_groups g ON g.job_id = "
            "r.job_id AND g.group_index = ?2 WHERE r.id = ?1"));
    if (!row.with(run, group).next()) {
      BERTH_TRY(row.status());
      return ended;
    }
    ended = {std::string(row.text(0)), row.quantity<Seconds>(1), row.quantity<Seconds>(2), row.integer(3), {}};
    held = row.integer(4);
  }
  BERTH_ASSIGN(Statement models,
               db.prepare("SELECT m.name, count(*) FROM runs r JOIN json_each(r.nodes) e JOIN nodes n ON n.name = "
                          "e.value JOIN node_types t ON t.id = n.type_id JOIN device_models m ON m.id = "
                          "t.device_model_id WHERE r.id = ?1 GROUP BY m.id ORDER BY m.id"));
  BERTH_ASSIGN(ended.held, split_by(models.with(run), held));
  return ended;
}

// `sign`: 1 adds what is known now, -1 takes back what was.
Status add_run_use(Database& db, const EndedGroup& ended, std::int64_t mean, std::int64_t sign) {
  BERTH_ASSIGN(Statement add,
               db.prepare("INSERT INTO account_days (day, queue, device_model, use_known, unused) VALUES "
                          "(?1, ?2, ?3, ?4, ?5) ON CONFLICT DO UPDATE SET use_known = use_known + ?4, "
                          "unused = unused + ?5"));
  const std::int64_t idle = std::max<std::int64_t>(0, ended.share - mean);
  for (const Part& part : ended.held) {
    BERTH_TRY(for_days_of(ended.start, ended.end, [&](Seconds day, Seconds length) {
      const std::int64_t seconds = length.value() * sign;
      return add.run(day, ended.queue, part.device_model, part.amount * seconds,
                     part.amount * idle / ended.share * seconds);
    }));
  }
  return {};
}

}  // namespace

Status keep_accounts(Database& db, Seconds now, const QuotaUse& use, const QueueUseRows& held,
                     std::span<const Lending> ledger) {
  BERTH_ASSIGN(const std::vector<ModelName> models, read_model_names(db));
  BERTH_ASSIGN(const AccountClock clock, read_clock(db));
  if (!clock.began) BERTH_TRY(put_meta(db, "accounts_begin", now));
  AccountWriter writer(db, now, clock);
  BERTH_ASSIGN(const bool changed, writer.write(work_out_accounts(use, held, models, ledger)));
  return changed ? put_meta(db, "accounts_changed", now) : Status();
}

Result<std::vector<std::string>> find_accounts_that_differ(Database& db, const QuotaUse& use, const QueueUseRows& held,
                                                           std::span<const Lending> ledger) {
  std::vector<std::string> wrong;
  BERTH_ASSIGN(const AccountClock clock, read_clock(db));
  BERTH_ASSIGN(const std::vector<OpenAccount> open, read_open_accounts(db));
  // A redacted snapshot brings none along.
  if (!clock.began || open.empty()) return wrong;
  BERTH_ASSIGN(const std::vector<ModelName> models, read_model_names(db));
  AccountTable table = work_out_accounts(use, held, models, ledger);
  std::map<std::pair<std::string, std::string>, AccountRates> rates;
  for (std::size_t q = 0; q < table.queues.size(); ++q) {
    for (std::size_t n = 0; n < table.names.size(); ++n) {
      if (table.at(q, n) != AccountRates()) rates[{table.queues[q], table.names[n]}] = table.at(q, n);
    }
  }
  for (const OpenAccount& account : open) {
    const auto found = rates.find({account.queue, account.name});
    if (account.rates != (found == rates.end() ? AccountRates() : found->second))
      wrong.push_back(fmt::format("account of queue {} {}", account.queue, account.name));
    if (found != rates.end()) rates.erase(found);
  }
  for (const auto& [of, missing] : rates) wrong.push_back(fmt::format("account of queue {} {}", of.first, of.second));
  return wrong;
}

Status rename_account(Database& db, const std::string& name, const std::string& new_name) {
  // A dropped queue of the new name has left rows without rates.
  const std::string left = fmt::format(kAddToDay, fmt::format("SELECT {} WHERE queue = ?2 AND ?1 <> ?2", kSumsOfToday));
  const std::string_view renames[] = {
      left,
      "DELETE FROM account_rates WHERE queue = ?2 AND ?1 <> ?2",
      "INSERT INTO account_days SELECT day, ?2, device_model, owned, used_own, borrowed, unowned, lent, loaned_in, "
      "loaned_out, use_known, unused FROM account_days WHERE queue = ?1 ON CONFLICT DO UPDATE SET owned = owned + "
      "excluded.owned, used_own = used_own + excluded.used_own, borrowed = borrowed + excluded.borrowed, unowned = "
      "unowned + excluded.unowned, lent = lent + excluded.lent, loaned_in = loaned_in + excluded.loaned_in, loaned_out "
      "= "
      "loaned_out + excluded.loaned_out, use_known = use_known + excluded.use_known, unused = unused + excluded.unused",
      "DELETE FROM account_days WHERE queue = ?1 AND queue <> ?2",
      "INSERT INTO account_losses SELECT day, ?2, device_model, beneficiary, rule, evictions, lost FROM account_losses "
      "WHERE queue = ?1 ON CONFLICT DO UPDATE SET evictions = evictions + excluded.evictions, lost = lost + "
      "excluded.lost",
      "DELETE FROM account_losses WHERE queue = ?1 AND queue <> ?2",
      "INSERT INTO account_losses SELECT day, queue, device_model, ?2, rule, evictions, lost FROM account_losses "
      "WHERE beneficiary = ?1 ON CONFLICT DO UPDATE SET evictions = evictions + excluded.evictions, lost = lost + "
      "excluded.lost",
      "DELETE FROM account_losses WHERE beneficiary = ?1 AND beneficiary <> ?2",
      "UPDATE account_rates SET queue = ?2 WHERE queue = ?1"};
  for (const std::string_view sql : renames) {
    BERTH_ASSIGN(Statement rename, db.prepare(sql));
    BERTH_TRY(rename.run(name, new_name));
  }
  return {};
}

Status account_run_use(Change& change, std::int64_t run, std::int64_t group, std::optional<std::int64_t> before,
                       std::optional<std::int64_t> after) {
  if (before == after) return {};
  BERTH_ASSIGN(const EndedGroup ended, read_ended_group(change.db(), run, group));
  if (before) BERTH_TRY(add_run_use(change.db(), ended, *before, -1));
  return after ? add_run_use(change.db(), ended, *after, 1) : Status();
}

Status account_eviction(Change& change, std::int64_t eviction) {
  Database& db = change.db();
  BERTH_ASSIGN(Statement row,
               db.prepare("SELECT e.time, v.name, coalesce(b.name, ''), e.rule, e.lost_gpu_milli_s, e.victim_id FROM "
                          "evictions e JOIN queues v ON v.id = e.victim_queue_id LEFT JOIN queues b ON b.id = "
                          "e.beneficiary_queue_id WHERE e.id = ?1"));
  if (!row.with(eviction).next()) return row.status();
  BERTH_ASSIGN(Statement models,
               db.prepare("SELECT m.name, sum(a.gpu_milli * g.gpu_count) FROM allocations a JOIN task_groups g ON "
                          "g.job_id = a.job_id AND g.group_index = a.group_index JOIN nodes n ON n.id = a.node_id JOIN "
                          "node_types t ON t.id = n.type_id JOIN device_models m ON m.id = t.device_model_id WHERE "
                          "a.job_id = ?1 AND g.gpu_count > 0 GROUP BY m.id ORDER BY m.id"));
  BERTH_ASSIGN(const std::vector<Part> parts, split_by(models.with(row.integer(5)), row.integer(4)));
  BERTH_ASSIGN(Statement add, db.prepare("INSERT INTO account_losses (day, queue, device_model, beneficiary, rule, "
                                         "evictions, lost) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO UPDATE "
                                         "SET evictions = evictions + ?6, lost = lost + ?7"));
  std::int64_t counted = 1;  // by its first model
  for (const Part& part : parts) {
    const std::int64_t day = row.integer(0) - row.integer(0) % kAccountDay.value();
    BERTH_TRY(add.run(day, row.text(1), part.device_model, row.text(2), row.text(3), counted, part.amount));
    counted = 0;
  }
  return {};
}

Result<std::int64_t> prune_accounts(Database& db, Seconds day) {
  std::int64_t deleted = 0;
  for (const std::string_view sql :
       {"DELETE FROM account_days WHERE day < ?1", "DELETE FROM account_losses WHERE day < ?1"}) {
    BERTH_ASSIGN(Statement remove, db.prepare(sql));
    BERTH_TRY(remove.run(day));
    deleted += db.changed_rows();
  }
  return deleted;
}

}  // namespace berth
