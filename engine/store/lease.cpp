#include "engine/store/lease.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "engine/base/process_mark.h"
#include "engine/base/text.h"

namespace berth {

namespace {

// One row of the table.
struct Holder {
  std::string name;
  std::string holder;
  std::string host;
  ProcessMark process;
  Seconds expires;
  std::int64_t token = 0;

  bool is_here() const { return host == host_name(); }
  bool is_own() const { return is_here() && process.pid == ::getpid() && (process.boot.empty() || is_alive(process)); }
  // It ran on this machine and its process is no more: a container's first process is the number 1 each time.
  bool is_gone() const { return is_here() && state() == ProcessState::kGone; }
  bool lives_here() const { return is_here() && state() == ProcessState::kAlive; }
  ProcessState state() const {
    if (!process.boot.empty()) return process_state(process);
    return ::kill(process.pid, 0) != 0 && errno == ESRCH ? ProcessState::kGone : ProcessState::kAlive;
  }
  std::string words() const { return fmt::format("{} (process {} on {})", holder, process.pid, host); }
};

Result<std::vector<Holder>> holders(Database& db) {
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT name, holder, host, pid, process_start, boot, expires_at, token FROM "
                                          "leases ORDER BY name"));
  std::vector<Holder> all;
  while (rows.next()) {
    all.push_back({std::string(rows.text(0)),
                   std::string(rows.text(1)),
                   std::string(rows.text(2)),
                   {static_cast<std::int32_t>(rows.integer(3)), rows.integer(4), std::string(rows.text(5))},
                   rows.quantity<Seconds>(6),
                   rows.integer(7)});
  }
  BERTH_TRY(rows.status());
  return all;
}

// This process could not give these leases back, on a full disk or while another wrote. It may take them again.
class LeftLeases {
 public:
  void add(const Database& db, const std::string& name, std::int64_t token) {
    const std::scoped_lock lock(mutex_);
    all_.emplace(db.path(), name, token);
  }
  bool contains(const Database& db, const Holder& holder) {
    const std::scoped_lock lock(mutex_);
    return holder.is_own() && all_.contains({db.path(), holder.name, holder.token});
  }

 private:
  std::mutex mutex_;
  std::set<std::tuple<std::string, std::string, std::int64_t>> all_;
};

LeftLeases& left_leases() {
  static LeftLeases left;
  return left;
}

Result<Transaction> begin_write(Database& db) {
  Result<Transaction> begun = Transaction::begin_write(db);
  if (begun.ok()) return begun;
  return name_writer(db, std::move(begun).status());
}

}  // namespace

Status name_writer(Database& db, Status failed) {
  if (failed.code() != Code::kBusy) return failed;
  const Result<std::vector<Holder>> all = holders(db);
  if (!all.ok()) return failed;
  for (const Holder& each : *all) {
    if (each.expires <= Seconds(0) || each.is_own() || each.is_gone()) continue;
    return Status(Code::kBusy, fmt::format("{}; a {} is being run by {}", failed.message(), each.name, each.words()),
                  failed.hint());
  }
  return failed;
}

Result<Lease> Lease::acquire(Database& db, const LeaseRequest& request) {
  BERTH_ASSIGN(Transaction transaction, begin_write(db));
  BERTH_ASSIGN(const std::vector<Holder> all, holders(db));
  std::int64_t token = 1;
  if (const auto held = std::ranges::find(all, request.name, &Holder::name); held != all.end()) {
    if (held->expires > request.now && !held->is_gone() && !left_leases().contains(db, *held)) {
      return Status(Code::kBusy,
                    fmt::format("a {} is being run by {}, until {} at the latest", request.name, held->words(),
                                print_time(held->expires)),
                    "wait for it to end, then try again; BREAK LEASE, where that process is gone for good");
    }
    token = held->token + 1;
  }
  BERTH_ASSIGN(Statement put,
               db.prepare("INSERT OR REPLACE INTO leases (name, holder, host, pid, process_start, boot, acquired_at, "
                          "expires_at, token) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"));
  const ProcessMark own = own_process_mark();
  BERTH_TRY(put.run(request.name, request.holder, host_name(), own.pid, own.start, own.boot, request.now,
                    request.now + request.duration, token));
  BERTH_TRY(transaction.commit());
  return Lease(db, request, token);
}

Lease::Lease(Lease&& other) noexcept
    : db_(std::exchange(other.db_, nullptr)), request_(std::move(other.request_)), token_(other.token_) {}

Lease::~Lease() {
  if (db_ != nullptr) (void)release();
}

Status Lease::renew(Seconds now) {
  BERTH_ASSIGN(Transaction transaction, Transaction::begin_write(*db_));
  BERTH_ASSIGN(Statement update, db_->prepare("UPDATE leases SET expires_at = ?3 WHERE name = ?1 AND token = ?2"));
  BERTH_TRY(update.run(request_.name, token_, now + request_.duration));
  if (db_->changed_rows() == 0) {
    return lost();
  }
  BERTH_TRY(transaction.commit());
  request_.now = now;
  return {};
}

Status Lease::lost() const {
  return Status(Code::kConflict,
                fmt::format("the right to run a {} was lost: it had expired, or was broken", request_.name));
}

Status Lease::keep(Seconds now) {
  return now - request_.now >= Seconds(request_.duration.value() / 4) ? renew(now) : check();
}

Status Lease::check() const {
  BERTH_ASSIGN(Statement row, db_->prepare("SELECT 1 FROM leases WHERE name = ?1 AND token = ?2"));
  const bool is_held = row.with(request_.name, token_).next();
  BERTH_TRY(row.status());
  return is_held ? Status() : lost();
}

// The row stays, expired, so that tokens never repeat.
Status Lease::release() {
  Database* db = std::exchange(db_, nullptr);
  if (db == nullptr) return {};
  const auto end = [&]() -> Status {
    BERTH_ASSIGN(Transaction transaction, Transaction::begin_write(*db));
    BERTH_ASSIGN(Statement update, db->prepare("UPDATE leases SET expires_at = 0 WHERE name = ?1 AND token = ?2"));
    BERTH_TRY(update.run(request_.name, token_));
    return transaction.commit();
  };
  Status ended = end();
  if (!ended.ok()) left_leases().add(*db, request_.name, token_);
  return ended;
}

// The tokens go on, so that a holder that was thought to be gone does not take the next one's lease for its own.
Result<std::vector<std::string>> break_leases(Change& change) {
  BERTH_ASSIGN(const std::vector<Holder> all, holders(change.db()));
  std::vector<std::string> broken;
  for (const Holder& each : all) {
    if (each.expires <= Seconds(0)) continue;
    if (each.lives_here() && !each.is_own()) {
      return Status(Code::kConflict, fmt::format("a {} is being run by {}, which lives", each.name, each.words()),
                    "end that process first: Ctrl-C or SIGTERM ends it after its round");
    }
    broken.push_back(fmt::format("{}'s {}", each.words(), each.name));
  }
  if (broken.empty()) return Status(Code::kNotFound, "nobody runs a round");
  BERTH_TRY(change.db().execute("UPDATE leases SET expires_at = 0, token = token + 1 WHERE expires_at > 0"));
  for (const std::string& each : broken) BERTH_TRY(change.record("break lease", each));
  return broken;
}

}  // namespace berth
