// Why a job waits for other jobs: one ahead of it, those that make room for it, those it comes after.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/plan.h"
#include "engine/round/round_state.h"
#include "engine/runtime/reason_words.h"
#include "engine/store/sqlite.h"

namespace berth {

// It comes after a job that failed or was cancelled, or after one that does.
Result<bool> waits_for_ever(Database& db, std::int64_t job);

// Names of those that come after it, and after them.
Result<std::vector<std::string>> jobs_waiting_for(Database& db, std::int64_t job);

// Of kBlocked, kReserved and kDependency.
Result<SaidReason> say_behind(Database& db, const Waiting& waiting, const Snapshot& snapshot, const Plan& plan);

// "it was evicted 6 times: where it borrows it reserves nothing until 07:40"; empty = it does not step back.
std::string step_back_words(const Snapshot& snapshot, const RoundState& state, const Job& job);

}  // namespace berth
