// Shadow policies as rows: which are watched, what they would have done in each round, and what that adds up to.
//
// Watching changes no state that a round looks at, so what is noted here moves no state version.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/store/change.h"

namespace berth {

struct ShadowRow {
  std::int64_t id = 0;
  std::string policy;
  std::optional<std::string> order_policy = {};  // takes the live one's place
  std::optional<std::string> score_policy = {};
  Seconds since = {};
};

// kExists when it is watched already.
Status add_shadow(Change& change, const ShadowRow& shadow);
// kNotFound with the nearest name.
Status drop_shadow(Change& change, std::string_view policy);
Result<std::vector<ShadowRow>> list_shadows(Database& db);
Result<ShadowRow> find_shadow(Database& db, std::string_view policy);

// What became of a job in one plan.
struct ShadowDifference {
  std::int64_t job = 0;
  std::string live;    // "starts on n1, n2", "waits: GPUs in use", "evicted for job rank"
  std::string shadow;  // the same of the shadow's plan
};

enum class ShadowState : std::uint8_t { kPlanned, kOverBudget, kFailed };
struct ShadowRound {
  ShadowState state = ShadowState::kPlanned;
  std::string detail;
  double seconds = 0;
  // Jobs.
  std::int64_t live_starts = 0;
  std::int64_t shadow_starts = 0;
  std::int64_t only_live = 0;
  std::int64_t only_shadow = 0;
  std::int64_t elsewhere = 0;
  MilliGpu live_gpu;
  MilliGpu shadow_gpu;
  std::int64_t live_evictions = 0;
  std::int64_t shadow_evictions = 0;
  std::int64_t live_lost = 0;  // milli-GPU-seconds
  std::int64_t shadow_lost = 0;
  std::vector<ShadowDifference> differences;
  std::vector<std::int64_t> started_live;  // pending jobs that it starts
  std::vector<std::int64_t> started_by_shadow;
};
// In a transaction of its own. Of the differences the first kMostShadowDifferences are kept.
inline constexpr std::size_t kMostShadowDifferences = 100;
Status write_shadow_round(Database& db, const ShadowRow& shadow, std::int64_t round, Seconds now,
                          const ShadowRound& seen);

}  // namespace berth
