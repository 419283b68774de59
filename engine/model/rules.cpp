#include "engine/model/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/base/text.h"

namespace berth {

namespace {

constexpr std::array<std::string_view, 5> kBackfillNames = {"greedy", "none", "none_per_queue", "easy", "conservative"};
constexpr std::array<std::string_view, 3> kPreemptionNames = {"none", "reclaim", "replan"};
constexpr std::array<std::string_view, 4> kEvictionRuleNames = {"reclaim", "priority", "loan", "replan"};
constexpr std::array<std::string_view, 7> kVictimChoiceReasonNames = {
    "unknown", "only", "lowest_class", "least_lost", "least_for_room", "policy", "loan"};
constexpr std::array<std::string_view, 2> kReservationNames = {"backfill", "eviction"};

template <class Enum, std::size_t N>
Result<Enum> read_rule_name(const std::array<std::string_view, N>& names, std::string_view what,
                            std::string_view text) {
  for (std::size_t i = 0; i < N; ++i) {
    if (equals_ignoring_case(names[i], text)) return static_cast<Enum>(i);
  }
  std::vector<std::string> known(names.begin(), names.end());
  std::string hint = suggest(text, known);
  if (hint.empty()) hint = "known: " + join(known, ", ");
  return Status(Code::kInvalid, fmt::format("'{}' is not a kind of {}", text, what), std::move(hint));
}

}  // namespace

std::string_view backfill_mode_name(BackfillMode mode) { return kBackfillNames[static_cast<std::size_t>(mode)]; }

Result<BackfillMode> read_backfill_mode(std::string_view text) {
  return read_rule_name<BackfillMode>(kBackfillNames, "backfill", text);
}

std::string_view preemption_name(Preemption preemption) {
  return kPreemptionNames[static_cast<std::size_t>(preemption)];
}

Result<Preemption> read_preemption(std::string_view text) {
  return read_rule_name<Preemption>(kPreemptionNames, "preemption", text);
}

std::string_view eviction_rule_name(EvictionRule rule) { return kEvictionRuleNames[static_cast<std::size_t>(rule)]; }

Result<EvictionRule> read_eviction_rule(std::string_view text) {
  return read_rule_name<EvictionRule>(kEvictionRuleNames, "eviction rule", text);
}

std::string_view victim_choice_reason_name(VictimChoiceReason reason) {
  return kVictimChoiceReasonNames[static_cast<std::size_t>(reason)];
}

Result<VictimChoiceReason> read_victim_choice_reason(std::string_view text) {
  return read_rule_name<VictimChoiceReason>(kVictimChoiceReasonNames, "reason for a choice of victims", text);
}

std::string_view reservation_kind_name(ReservationKind kind) {
  return kReservationNames[static_cast<std::size_t>(kind)];
}

Result<ReservationKind> read_reservation_kind(std::string_view text) {
  return read_rule_name<ReservationKind>(kReservationNames, "reservation", text);
}

}  // namespace berth
