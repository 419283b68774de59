#include "engine/store/hosting.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/base/text.h"
#include "engine/policy/feasibility.h"

namespace berth {

namespace {

Status never_fits(std::string sentence) {
  return Status(Code::kInfeasible, std::move(sentence),
                "WITH (allow_infeasible = true) accepts it all the same, to wait for such nodes");
}

// Copies of `shape` that an empty node of `kind` holds at once, at most `most`.
std::int64_t copies_on_empty(const NodeKind& kind, const TaskShape& shape, std::int64_t most) {
  const std::vector<std::int32_t> milli(static_cast<std::size_t>(kind.device_count),
                                        static_cast<std::int32_t>(kWholeDevice.value()));
  const std::vector<std::int32_t> memory(static_cast<std::size_t>(kind.device_count),
                                         static_cast<std::int32_t>(kind.device_memory.value()));
  NodeView view;
  view.kind = &kind;
  view.cpu = kind.cpu;
  view.memory = kind.memory;
  view.milli = milli;
  view.device_memory = memory;
  return copies_that_fit(view, shape, static_cast<int>(std::min<std::int64_t>(most, INT32_MAX)));
}

bool allows_model(const TaskShape& shape, const NodeKind& kind) {
  return shape.models == 0 || (kind.model >= 0 && (shape.models >> kind.model & 1) != 0);
}

}  // namespace

Result<Hosting> Hosting::read(Database& db, const Catalog& catalog) {
  Hosting hosting(catalog);
  BERTH_ASSIGN(
      Statement rows,
      db.prepare("SELECT type_id, coalesce(pool_id, 0), coalesce(rack, ''), count(*) FROM nodes GROUP BY 1, 2, 3"));
  while (rows.next()) {
    BERTH_ASSIGN(NodeKind kind, catalog.kind(rows.integer(0), rows.integer(1)));
    hosting.kinds_.push_back({std::move(kind), std::string(rows.text(2)), rows.integer(3)});
  }
  BERTH_TRY(rows.status());
  return hosting;
}

Status Hosting::check(const TaskGroup& group) const {
  const bool fits = std::any_of(kinds_.begin(), kinds_.end(),
                                [&](const KindCount& each) { return is_feasible_when_empty(each.kind, group.shape); });
  return fits ? check_gang(group) : explain(group.shape);
}

// Narrows the nodes down one demand after the other; the demand that leaves none is the one to name, with the most that
// the nodes left before it offer.
Status Hosting::explain(const TaskShape& shape) const {
  if (kinds_.empty()) return never_fits("the cluster has no nodes yet, so no task can run");
  std::vector<const NodeKind*> left;
  for (const KindCount& each : kinds_) left.push_back(&each.kind);
  const auto narrow = [&left](auto&& keep) {
    std::vector<const NodeKind*> kept;
    std::copy_if(left.begin(), left.end(), std::back_inserter(kept), [&](const NodeKind* kind) { return keep(*kind); });
    if (kept.empty()) return false;
    left = std::move(kept);
    return true;
  };
  const auto most = [&left](auto&& amount) {
    return *std::max_element(left.begin(), left.end(),
                             [&](const NodeKind* a, const NodeKind* b) { return amount(*a) < amount(*b); });
  };

  if (!narrow([&](const NodeKind& kind) { return shape.pool < 0 || kind.pool == shape.pool; })) {
    const std::string& pool = catalog_->pools()[static_cast<std::size_t>(shape.pool)];
    return never_fits(fmt::format("pool '{}' has no nodes", pool)).about("pool", pool);
  }
  if (!narrow([&](const NodeKind& kind) { return allows_model(shape, kind); })) {
    return never_fits("no node has a device of the models asked for").about("models");
  }
  if (!narrow([&](const NodeKind& kind) { return kind.device_count >= shape.gpu_count; })) {
    return never_fits(fmt::format("wants {} devices on one node; the most a node it may use has is {}", shape.gpu_count,
                                  most([](const NodeKind& kind) { return kind.device_count; })->device_count))
        .about("gpus");
  }
  if (!narrow([&](const NodeKind& kind) {
        return shape.gpu_count == 0 || device_memory_for(shape, kind.device_memory) <= kind.device_memory;
      }) ||
      !narrow([&](const NodeKind& kind) {
        return kind.device_memory == MiB(0) || shape.gpu_memory <= kind.device_memory;
      })) {
    const NodeKind* best = most([](const NodeKind& kind) { return kind.device_memory; });
    return never_fits(fmt::format("wants {} of device memory; the most any device it may use has is {} ({})",
                                  print_memory(shape.gpu_memory), print_memory(best->device_memory),
                                  catalog_->models()[static_cast<std::size_t>(best->model)].name))
        .about("gpu_memory");
  }
  if (!narrow([&](const NodeKind& kind) { return kind.cpu >= shape.cpu; })) {
    return never_fits(fmt::format("wants {} CPU on one node; the most a node it may use has is {}",
                                  print_cpu(shape.cpu),
                                  print_cpu(most([](const NodeKind& kind) { return kind.cpu; })->cpu)))
        .about("cpu");
  }
  if (!narrow([&](const NodeKind& kind) { return kind.memory >= shape.memory; })) {
    return never_fits(fmt::format("wants {} of memory on one node; the most a node it may use has is {}",
                                  print_memory(shape.memory),
                                  print_memory(most([](const NodeKind& kind) { return kind.memory; })->memory)))
        .about("memory");
  }
  return never_fits("no node, even when empty, can run such a task");
}

Status Hosting::check_gang(const TaskGroup& group) const {
  const Locality within = group.locality_required ? group.locality : Locality::kAny;
  std::int64_t most = 0;
  std::map<std::string, std::int64_t> in_rack;
  for (const KindCount& each : kinds_) {
    if (!is_feasible_when_empty(each.kind, group.shape)) continue;
    const std::int64_t copies = copies_on_empty(each.kind, group.shape, group.min_tasks);
    switch (within) {
      case Locality::kAny: most += copies * each.nodes; break;
      case Locality::kRack:
        if (!each.rack.empty()) most = std::max(most, in_rack[each.rack] += copies * each.nodes);
        break;
      case Locality::kNode:
      case Locality::kLinkGroup: most = std::max(most, copies); break;
    }
    if (most >= group.min_tasks) return {};
  }
  const std::string_view where = within == Locality::kAny    ? "the whole cluster"
                                 : within == Locality::kRack ? "a rack"
                                                             : "a node";
  return never_fits(fmt::format("{} of its tasks must start together; {} when empty has room for {}", group.min_tasks,
                                where, most))
      .about(group.min_tasks < group.count ? "min_tasks" : "tasks");
}

}  // namespace berth
