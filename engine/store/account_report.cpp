#include "engine/store/account_report.h"

#include <algorithm>
#include <tuple>

#include "engine/store/account_records.h"

namespace berth {

namespace {

constexpr double kMilliSecondsOfHour = 3.6e6;

// Money is added up for milli-GPU-seconds, so that sums come out even.
AccountSums in_hours(AccountSums sums) {
  sums.price /= kMilliSecondsOfHour;
  sums.credit /= kMilliSecondsOfHour;
  return sums;
}

class AccountReader {
 public:
  AccountReader(Database& db, const AccountQuery& query) : db_(db), query_(query) {}

  Result<AccountReport> read() {
    BERTH_ASSIGN(const Transaction one_state, Transaction::begin_read(db_));
    BERTH_TRY(read_terms());
    BERTH_TRY(read_days());
    BERTH_TRY(read_open());
    BERTH_TRY(read_losses());
    for (auto& [key, sums] : lines_) {
      report_.all.add(sums);
      report_.lines.push_back({Seconds(std::get<0>(key)), std::get<1>(key), std::get<2>(key), in_hours(sums)});
    }
    report_.all = in_hours(report_.all);
    return std::move(report_);
  }

 private:
  bool is_wanted(std::string_view queue) const {
    return query_.queues.empty() || std::ranges::find(query_.queues, queue) != query_.queues.end();
  }

  void add(Seconds day, std::string_view queue, std::string_view model, AccountSums sums) {
    if (sums == AccountSums() || day < query_.from || day >= query_.to || !is_wanted(queue)) return;
    const auto found = price_.find(model);
    const double price = found == price_.end() ? report_.usual_price : found->second;
    sums.price = price * static_cast<double>(sums.time.borrowed + sums.time.loaned_in);
    sums.credit = price * static_cast<double>(sums.time.lent + sums.time.loaned_out) *
                  static_cast<double>(report_.lender_share) / 100;
    const std::string_view by_model = query_.models == AccountParts::kApart ? model : std::string_view();
    lines_[{query_.days == AccountParts::kApart ? day.value() : 0, std::string(queue), std::string(by_model)}].add(
        sums);
  }

  Status read_terms() {
    BERTH_ASSIGN(Statement terms, db_.prepare("SELECT (SELECT value FROM meta WHERE key = 'accounts_begin'), price, "
                                              "lender_share FROM account_terms"));
    if (terms.next()) {
      if (!terms.is_null(0)) report_.begin = terms.quantity<Seconds>(0);
      report_.usual_price = terms.real(1);
      report_.lender_share = terms.integer(2);
    }
    BERTH_TRY(terms.status());
    BERTH_ASSIGN(Statement prices, db_.prepare("SELECT p.device_model, p.price, m.price_milli IS NOT NULL FROM "
                                               "account_prices p LEFT JOIN device_models m ON m.name = p.device_model "
                                               "ORDER BY m.id"));
    while (prices.next()) {
      price_.emplace(prices.text(0), prices.real(1));
      if (prices.integer(2) != 0) report_.prices.emplace_back(prices.text(0), prices.real(1));
    }
    return prices.status();
  }

  Status read_days() {
    BERTH_ASSIGN(Statement rows,
                 db_.prepare("SELECT day, queue, device_model, owned, used_own, borrowed, unowned, lent, "
                             "loaned_in, loaned_out, use_known, unused FROM account_days "
                             "WHERE day >= ?1 AND day < ?2"));
    rows.with(query_.from, query_.to);
    while (rows.next()) {
      AccountSums sums;
      sums.time = {rows.integer(3), rows.integer(4), rows.integer(5), rows.integer(6),
                   rows.integer(7), rows.integer(8), rows.integer(9)};
      sums.use_known = rows.integer(10);
      sums.unused = rows.integer(11);
      add(rows.quantity<Seconds>(0), rows.text(1), rows.text(2), sums);
    }
    return rows.status();
  }

  // What is so since a moment counts until now; before it on its day there are the sums of that day.
  Status read_open() {
    BERTH_ASSIGN(Statement rows,
                 db_.prepare("SELECT queue, device_model, owned, used_own, borrowed, unowned, lent, loaned_in, "
                             "loaned_out, since, (SELECT value FROM meta WHERE key = 'accounts_changed'), owned_today, "
                             "used_own_today, borrowed_today, unowned_today, lent_today, loaned_in_today, "
                             "loaned_out_today FROM account_rates"));
    while (rows.next()) {
      const auto since = rows.quantity<Seconds>(9);
      add_open(rows, Seconds(since.value() - since.value() % kAccountDay.value()), 11, 1);
      const Seconds until = std::min(query_.to, std::max(query_.now, rows.quantity<Seconds>(10)));
      BERTH_TRY(for_days_of(std::max(since, query_.from), until, [&](Seconds day, Seconds length) -> Status {
        add_open(rows, day, 2, length.value());
        return {};
      }));
    }
    return rows.status();
  }

  void add_open(const Statement& row, Seconds day, int column, std::int64_t times) {
    AccountSums sums;
    for (std::int64_t AccountRates::*part :
         {&AccountRates::owned, &AccountRates::used_own, &AccountRates::borrowed, &AccountRates::unowned,
          &AccountRates::lent, &AccountRates::loaned_in, &AccountRates::loaned_out}) {
      sums.time.*part = row.integer(column++) * times;
    }
    add(day, row.text(0), row.text(1), sums);
  }

  Status read_losses() {
    BERTH_ASSIGN(Statement rows, db_.prepare("SELECT day, queue, device_model, beneficiary, rule, evictions, lost FROM "
                                             "account_losses WHERE day >= ?1 AND day < ?2"));
    rows.with(query_.from, query_.to);
    std::map<std::tuple<std::string, std::string, std::string>, AccountLoss> losses;
    while (rows.next()) {
      if (!is_wanted(rows.text(1))) continue;
      AccountSums sums;
      sums.lost = rows.integer(6);
      add(rows.quantity<Seconds>(0), rows.text(1), rows.text(2), sums);
      AccountLoss& loss = losses[{std::string(rows.text(1)), std::string(rows.text(3)), std::string(rows.text(4))}];
      loss.evictions += rows.integer(5);
      loss.lost += rows.integer(6);
    }
    BERTH_TRY(rows.status());
    for (auto& [key, loss] : losses) {
      std::tie(loss.queue, loss.beneficiary, loss.rule) = key;
      report_.losses.push_back(std::move(loss));
    }
    std::ranges::stable_sort(report_.losses, std::greater<>(), &AccountLoss::lost);
    return {};
  }

  Database& db_;
  const AccountQuery& query_;
  std::map<std::string, double, std::less<>> price_;
  std::map<std::tuple<std::int64_t, std::string, std::string>, AccountSums> lines_;
  AccountReport report_;
};

}  // namespace

void AccountSums::add(const AccountSums& other) {
  time.owned += other.time.owned;
  time.used_own += other.time.used_own;
  time.borrowed += other.time.borrowed;
  time.unowned += other.time.unowned;
  time.lent += other.time.lent;
  time.loaned_in += other.time.loaned_in;
  time.loaned_out += other.time.loaned_out;
  use_known += other.use_known;
  unused += other.unused;
  lost += other.lost;
  price += other.price;
  credit += other.credit;
}

Result<AccountReport> read_accounts(Database& db, const AccountQuery& query) { return AccountReader(db, query).read(); }

}  // namespace berth
