// Could this cluster, empty and healthy, ever run such tasks - and if not, what is the most it offers?
//
// Asked when a job is submitted, so that a slip ("2000GiB") is refused at once instead of waiting for ever. Looks at
// the nodes there are, in whatever state; not at what runs.
#pragma once

#include <string>
#include <vector>

#include "engine/model/job.h"
#include "engine/store/catalog.h"

namespace berth {

class Hosting {
 public:
  static Result<Hosting> read(Database& db, const Catalog& catalog);

  // kInfeasible with the best there is: "wants 200GiB of device memory; the most any device has is 80GiB (H100)".
  // The whole gang is looked at: min_tasks of the group must fit the empty cluster together, or one node or rack of it
  // where they must lie there.
  Status check(const TaskGroup& group) const;

 private:
  struct KindCount {
    NodeKind kind;
    std::string rack;  // empty = in none
    std::int64_t nodes;
  };
  explicit Hosting(const Catalog& catalog) : catalog_(&catalog) {}
  Status explain(const TaskShape& shape) const;
  Status check_gang(const TaskGroup& group) const;

  const Catalog* catalog_;
  std::vector<KindCount> kinds_;
};

}  // namespace berth
