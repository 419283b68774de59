#include "engine/store/lease.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "engine/base/text.h"

namespace berth {

namespace {

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

bool process_is_gone(std::int64_t pid) { return ::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH; }

Result<Transaction> begin_write(Database& db) {
  Result<Transaction> begun = Transaction::begin_write(db);
  if (begun.ok()) return begun;
  return name_writer(db, std::move(begun).status());
}

}  // namespace

Status name_writer(Database& db, Status failed) {
  if (failed.code() != Code::kBusy) return failed;
  Result<Statement> row = db.prepare("SELECT name, holder, host, pid FROM leases WHERE expires_at > 0");
  const std::string host = host_name();
  while (row.ok() && row->next()) {
    const bool is_here = row->text(2) == host;
    if (is_here && (row->integer(3) == ::getpid() || process_is_gone(row->integer(3)))) continue;
    return Status(Code::kBusy,
                  fmt::format("{}; a {} is being run by {} (process {} on {})", failed.message(), row->text(0),
                              row->text(1), row->integer(3), row->text(2)),
                  failed.hint());
  }
  return failed;
}

Result<Lease> Lease::acquire(Database& db, const LeaseRequest& request) {
  const std::string host = host_name();
  BERTH_ASSIGN(Transaction transaction, begin_write(db));
  BERTH_ASSIGN(Statement row, db.prepare("SELECT holder, host, pid, expires_at, token FROM leases WHERE name = ?1"));
  std::int64_t token = 1;
  if (row.with(request.name).next()) {
    const bool expired = row.quantity<Seconds>(3) <= request.now;
    const bool orphaned = row.text(1) == host && process_is_gone(row.integer(2));
    if (!expired && !orphaned) {
      return Status(Code::kBusy,
                    fmt::format("a {} is being run by {} (process {} on {}), until {} at the latest", request.name,
                                row.text(0), row.integer(2), row.text(1), print_time(row.quantity<Seconds>(3))),
                    "wait for it to end, then try again");
    }
    token = row.integer(4) + 1;
  }
  BERTH_TRY(row.status());
  BERTH_ASSIGN(Statement put,
               db.prepare("INSERT OR REPLACE INTO leases (name, holder, host, pid, acquired_at, expires_at, "
                          "token) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"));
  BERTH_TRY(
      put.run(request.name, request.holder, host, ::getpid(), request.now, request.now + request.duration, token));
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
    return Status(Code::kConflict, fmt::format("the right to run a {} was lost: it had expired", request_.name));
  }
  BERTH_TRY(transaction.commit());
  request_.now = now;
  return {};
}

Status Lease::keep(Seconds now) {
  return now - request_.now < Seconds(request_.duration.value() / 4) ? Status() : renew(now);
}

// The row stays, expired, so that tokens never repeat.
Status Lease::release() {
  Database* db = std::exchange(db_, nullptr);
  if (db == nullptr) return {};
  BERTH_ASSIGN(Transaction transaction, Transaction::begin_write(*db));
  BERTH_ASSIGN(Statement update, db->prepare("UPDATE leases SET expires_at = 0 WHERE name = ?1 AND token = ?2"));
  BERTH_TRY(update.run(request_.name, token_));
  return transaction.commit();
}

}  // namespace berth
