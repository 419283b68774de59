// Whether the history shows the past that was.
//
// After each statement every table is kept aside, as text; at the end of a file each of these must be what the history
// makes of that moment. Used by the mode history.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "shell/session.h"

namespace berth::test {

class KeptPast {
 public:
  // kInternal when rows have changed and the history says nothing.
  Status keep(Session& session);
  // What differs, a sentence each.
  Result<std::vector<std::string>> differences(Session& session) const;

 private:
  using Tables = std::map<std::string, std::string>;  // rows as text by name
  std::map<std::int64_t, Tables> kept_;               // by moment
};

}  // namespace berth::test
