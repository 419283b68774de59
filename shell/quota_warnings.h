// What the statements about quotas and loans share: a change, then warnings of what cannot be honoured after it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/store/quota_shortfall.h"
#include "shell/cmd_support.h"

namespace berth {

// Runs `body` as one statement; the note, then what cannot be honoured of the resources that body names.
template <class Body>
Result<Output> change_quotas(Session& session, std::string note, Body&& body) {
  std::vector<QuotaShortfall> shortfalls;
  const Result<std::int64_t> version = engine_of(session).change([&](Change& change) -> Status {
    BERTH_ASSIGN(const std::vector<std::string> resources, body(change));
    BERTH_ASSIGN(shortfalls, find_shortfalls(change.db(), change.now(), resources));
    return {};
  });
  if (!version.ok()) return version.status();
  Output output = Output::note(std::move(note));
  for (const QuotaShortfall& shortfall : shortfalls) output.add_note("warning: " + describe_shortfall(shortfall));
  return output;
}

}  // namespace berth
