// Snapshots and plans as bytes, for the record that every round leaves.
//
// A value becomes a short head, which differs from round to round, and parts, which mostly do not: a hundred nodes, a
// hundred jobs, the quotas. Parts are cut where ids say, not where the previous one ended, so a change in one place
// leaves the others as they were, and who keeps equal parts once keeps a history of rounds in little more than what
// changed. Decoding gives back an equal value, byte for byte when encoded again.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/model/plan.h"
#include "engine/model/snapshot.h"

namespace berth {

// Of what encode_* write. decode_* take those from the oldest on, which lack parts that came later.
inline constexpr std::int64_t kRecordFormat = 10;
inline constexpr std::int64_t kOldestRecordFormat = 4;

struct EncodedRecord {
  std::string head;
  std::vector<std::string> parts;
};

EncodedRecord encode_snapshot(const Snapshot& snapshot);
EncodedRecord encode_plan(const Plan& plan);
// kCorrupt when the bytes are not what the other wrote.
Result<Snapshot> decode_snapshot(std::string_view head, std::span<const std::string> parts);
Result<Plan> decode_plan(std::string_view head, std::span<const std::string> parts);

}  // namespace berth
