#include "engine/round/gang_room.h"

#include <algorithm>

#include "engine/policy/feasibility.h"

namespace berth {

GangRoom::GangRoom(const Ledger& ledger, const Job& job, const NodeScore& policy)
    : ledger_(ledger), policy_(policy), groups_(job.groups) {
  for (const TaskGroup& group : groups_) {
    const std::int32_t needed = group.min_tasks - group.placed;
    if (needed <= 0) continue;
    GroupRoom room{.group = &group, .needed = needed};
    room.fits.resize(ledger.node_count());
    const bool anywhere = !group.locality_required || group.locality == Locality::kAny;
    room.total.resize(anywhere                            ? 1
                      : group.locality == Locality::kRack ? ledger.cluster().racks.size()
                                                          : ledger.node_count());
    for (std::size_t n = 0; n < ledger.node_count(); ++n) recount(room, static_cast<NodeIndex>(n));
    rooms_.push_back(std::move(room));
  }
}

std::int32_t GangRoom::place_of(const GroupRoom& room, NodeIndex node) const {
  const TaskGroup& group = *room.group;
  if (!group.locality_required || group.locality == Locality::kAny) return 0;
  const std::vector<Node>& nodes = ledger_.cluster().nodes;
  const auto place = [&](NodeIndex n) {
    return group.locality == Locality::kRack ? nodes[static_cast<std::size_t>(n)].rack : n;
  };
  const std::int32_t here = place(node);
  return group.anchor >= 0 && here != place(group.anchor) ? -1 : here;
}

void GangRoom::recount(GroupRoom& room, NodeIndex node) const {
  const std::int32_t place = place_of(room, node);
  if (place < 0) return;
  const TaskShape& shape = room.group->shape;
  const NodeKind& kind = ledger_.cluster().kind_of(static_cast<std::size_t>(node));
  const bool may_run = ledger_.accepts_tasks(node) && policy_.allows(kind, shape);
  const std::int32_t count = may_run ? copies_that_fit(ledger_.view(node), shape, room.needed) : 0;
  std::int32_t& known = room.fits[static_cast<std::size_t>(node)];
  if (count == known) return;
  std::int64_t& total = room.total[static_cast<std::size_t>(place)];
  if (total >= room.needed) --room.enough;
  total += count - known;
  known = count;
  if (total >= room.needed) ++room.enough;
}

void GangRoom::recount(NodeIndex node) {
  for (GroupRoom& room : rooms_) recount(room, node);
}

bool GangRoom::may_suffice() const {
  return std::ranges::all_of(rooms_, [](const GroupRoom& room) { return room.enough > 0; });
}

}  // namespace berth
