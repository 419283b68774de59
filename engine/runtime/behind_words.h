// Why a job waits for other jobs: one ahead of it, those that make room for it, those it comes after.
#pragma once

#include <cstdint>

#include "engine/model/plan.h"
#include "engine/runtime/reason_words.h"
#include "engine/store/sqlite.h"

namespace berth {

// It comes after a job that failed or was cancelled.
Result<bool> waits_for_ever(Database& db, std::int64_t job);

// Of kBlocked, kReserved and kDependency.
Result<SaidReason> say_behind(Database& db, const Waiting& waiting, const Snapshot& snapshot, const Plan& plan);

}  // namespace berth
