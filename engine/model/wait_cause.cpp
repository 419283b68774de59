#include "engine/model/wait_cause.h"

#include <fmt/format.h>

#include <array>

#include "engine/base/text.h"

namespace berth {

namespace {

struct WaitCauseRow {
  std::string_view name;
  std::string_view words;
};

constexpr std::array<WaitCauseRow, 12> kWaitCauses = {{
    {"round", "no round has judged it yet"},
    {"held", "it was held"},
    {"dependency", "jobs it depends on have not finished"},
    {"own_quota", "its queue may not use more"},
    {"lender_reclaimed", "what its queue had borrowed was taken back"},
    {"order", "jobs ahead of it take the room"},
    {"reservation", "room is reserved"},
    {"locality", "there is room, not close enough together"},
    {"fragmentation", "there is enough free, in pieces too small"},
    {"no_capacity", "there is not enough free"},
    {"assertion", "starting it would break an assertion"},
    {"policy", "a policy holds it back"},
}};

}  // namespace

std::string_view wait_cause_name(WaitCause cause) { return kWaitCauses[static_cast<std::size_t>(cause)].name; }
std::string_view wait_cause_words(WaitCause cause) { return kWaitCauses[static_cast<std::size_t>(cause)].words; }

Result<WaitCause> read_wait_cause(std::string_view text) {
  for (std::size_t i = 0; i < kWaitCauses.size(); ++i) {
    if (equals_ignoring_case(kWaitCauses[i].name, text)) return static_cast<WaitCause>(i);
  }
  return Status(Code::kInvalid, fmt::format("'{}' is not a cause of waiting", text));
}

namespace {

WaitCause plain_cause(const Waiting& waiting) {
  switch (waiting.reason) {
    case Reason::kNone: return WaitCause::kRound;
    case Reason::kNodeNotUp:
    case Reason::kPool:
    case Reason::kNoDevice:
    case Reason::kDeviceModel:
    case Reason::kDeviceMemory:
    case Reason::kNodeTooSmall:
    case Reason::kUnhealthyDevice:
    case Reason::kKeptOut:
    case Reason::kCpu:
    case Reason::kMemory:
    case Reason::kGpuMemory: return WaitCause::kNoCapacity;
    case Reason::kGpu:
    case Reason::kGang: return waiting.in_pieces ? WaitCause::kFragmentation : WaitCause::kNoCapacity;
    case Reason::kGpuFragmented: return WaitCause::kFragmentation;
    case Reason::kLinkGroup:
    case Reason::kLocality: return WaitCause::kLocality;
    case Reason::kOrder:
    case Reason::kBlocked: return WaitCause::kOrder;
    case Reason::kReserved: return WaitCause::kReservation;
    case Reason::kQuota:
    case Reason::kLimit:
    case Reason::kLenderKeeps: return WaitCause::kOwnQuota;
    case Reason::kDependency: return WaitCause::kDependency;
    case Reason::kAssertion: return WaitCause::kAssertion;
    case Reason::kPolicy: return WaitCause::kPolicy;
  }
  return WaitCause::kRound;
}

}  // namespace

WaitCause cause_of(const Waiting& waiting, WaitCause last, bool reclaimed) {
  const WaitCause plain = plain_cause(waiting);
  const bool lacks_room = plain == WaitCause::kNoCapacity || plain == WaitCause::kFragmentation;
  if (reclaimed && (lacks_room || plain == WaitCause::kOwnQuota)) return WaitCause::kLenderReclaimed;
  if (lacks_room && (waiting.passed_over || last == WaitCause::kOrder)) return WaitCause::kOrder;
  return plain;
}

WaitCause cause_of(EvictionRule rule) { return is_reclaim(rule) ? WaitCause::kLenderReclaimed : WaitCause::kOrder; }

bool is_reclaim(EvictionRule rule) { return rule == EvictionRule::kReclaim || rule == EvictionRule::kLoan; }

}  // namespace berth
