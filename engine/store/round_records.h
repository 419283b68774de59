// The decision ledger: what each round looked at and what it decided, kept whole, so that REPLAY can plan it again.
//
// A record is made of the parts of model/record_codec.h, packed. A part that the tables have already is not stored
// again, so a round costs what has changed since the last one, and no round needs another to be read. Every part is
// checked against its hash when it is read.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>

#include "engine/model/record_codec.h"
#include "engine/store/sqlite.h"

namespace berth {

// Encoded outside of any transaction: what is in them must not depend on it, and the lock is held for less long.
struct RoundRecord {
  EncodedRecord input;
  EncodedRecord plan;
  double seconds = 0;  // it took to encode
};
RoundRecord record_of(const Snapshot& snapshot, const Plan& plan);

struct WrittenRecord {
  std::int64_t id = 0;
  std::int64_t new_bytes = 0;
};
// Inside the caller's transaction.
Result<WrittenRecord> write_round_record(Database& db, const RoundRecord& record, Seconds now);

// As text and not yet decoded: comparing does not need to.
struct RecordedRound {
  std::int64_t round = 0;
  std::string kind;
  Seconds at;
  std::string engine;  // that planned it
  double plan_seconds = 0;
  Snapshot snapshot;
  Plan plan;
  std::string plan_bytes;  // the recorded plan, to the byte
};
// kNotFound: no such round, or its record is gone. kCorrupt: damaged. kInvalid: of a format that this program does not
// read.
Result<RecordedRound> read_recorded_round(Database& db, std::int64_t round);

// Every byte of an encoded plan: two plans are equal when these are.
std::string bytes_of(const EncodedRecord& record);

// XXH3 of 128 bits, in hexadecimal: of a file that a plan rests on.
std::string digest_of(std::string_view bytes);

// "berth 0.1.0, GCC 12.2.0": what planned.
std::string engine_name();

inline constexpr std::int64_t kAnySize = std::numeric_limits<std::int64_t>::max();
// Deletes records older than `keep_since`, then the oldest of those that together added more than `most_bytes` to the
// file, and parts that no record has any more; in the caller's transaction. Records deleted.
Result<std::int64_t> prune_records(Database& db, Seconds keep_since, std::int64_t most_bytes = kAnySize);
// The same in a transaction of its own.
Status drop_records(Database& db, Seconds keep_since);

// A record of which a part does not unpack to what was packed. A round that finds such a part by its hash takes it for
// whole, so the rounds to come are damaged with it.
struct DamagedRecord {
  std::int64_t record = 0;
  std::int64_t part = 0;  // 0 = the one that lists the others
  std::string of;         // "round 12", "plan 3"
};
// Unpacks every part there is.
Result<std::vector<DamagedRecord>> find_damaged_records(Database& db);
// Deletes them with their parts, in the caller's transaction. Records deleted.
Result<std::int64_t> drop_damaged_records(Database& db);

// Writes every recorded input again as `rewrite` leaves it; records of which it says false go, as do those of other
// formats. In the caller's transaction.
Status rewrite_recorded_snapshots(Database& db, const std::function<bool(Snapshot&)>& rewrite);

struct RecordStatistics {
  std::int64_t records = 0;
  std::int64_t parts = 0;
  std::int64_t stored_bytes = 0;    // of parts, packed
  std::int64_t unpacked_bytes = 0;  // of the same
};
Result<RecordStatistics> record_statistics(Database& db);

}  // namespace berth
