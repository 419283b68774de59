// What the imports share: names that a file brings along, and its records as requests.
#pragma once

#include <fmt/format.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/runtime/import.h"
#include "engine/sim/trace.h"
#include "engine/store/job_records.h"
#include "engine/store/names.h"

namespace berth {

// Adds what a row names and the database lacks, when asked to.
class MissingNames {
 public:
  MissingNames(Change& change, bool create, ImportReport& report) : change_(change), create_(create), report_(report) {}

  // `add` makes the thing. kNotFound, with the nearest name, where nothing may be made.
  template <class Add>
  Status ensure(Thing thing, const std::string& name, Add add) {
    if (name.empty() || there_.contains({thing, name})) return {};
    const Status found = find(thing, name);
    if (found.code() == Code::kNotFound && create_) {
      BERTH_TRY(add());
      report_.also_created.push_back(fmt::format("{} {}", thing_word(thing), name));
    } else if (!found.ok()) {
      return found;
    }
    there_.insert({thing, name});
    return {};
  }
  Status ensure_pool(const std::string& name);
  Status ensure_queue(const std::string& name);
  // A new class can be made from a number only.
  Status ensure_priority_class(const std::string& name);

 private:
  Status find(Thing thing, const std::string& name);

  Change& change_;
  bool create_;
  ImportReport& report_;
  std::set<std::pair<Thing, std::string>> there_;
};

// What becomes of rows that cannot be read or are refused: each is reported and left out, or all together refuse the
// file.
class RowErrors {
 public:
  // `unreadable`: found before.
  RowErrors(const ImportOptions& options, ImportReport& report, std::vector<Status> unreadable = {});
  // ok where the import goes on, with `status` reported unless it is ok itself. kInterrupted.
  Status take(Status status, const std::string& place);
  // After the last row: ok, or what refuses the file.
  Status verdict() const;

 private:
  const ImportOptions& options_;
  ImportReport& report_;
  std::vector<Status> bad_;
};

TaskGroupRequest group_request(const TraceTaskGroup& group);

}  // namespace berth
