// May this task run on this node now - and if not, why not.
//
// Pure functions of a node's state and a task's shape. The reasons are checked in the order of the Reason enum, so what
// can never change (no such device model) is named before what will (devices in use).
//
// A task that must stay within one link group needs a listed group with enough free devices. Where no listed group is
// as large as the task, the node itself is the group.
#pragma once

#include "engine/model/ledger.h"
#include "engine/model/plan.h"
#include "engine/model/shape.h"

namespace berth {

// The first reason why one task of `shape` cannot be placed on a node in state `view` now; kNone = it can.
// `accepts` = the node's state lets new tasks start; `unhealthy` = its devices that must not be used (they show 0
// free).
Reason reason_against(const NodeView& view, const TaskShape& shape, bool accepts = true, DeviceMask unhealthy = 0);

// Same answer as reason_against(view, shape) == kNone, faster.
bool is_feasible(const NodeView& view, const TaskShape& shape);

// Could one task ever run on an empty, healthy node of this kind?
bool is_feasible_when_empty(const NodeKind& kind, const TaskShape& shape);

// For a fraction: devices with that much compute and device memory free. For whole devices: those wholly free. Empty
// for a CPU task.
DeviceMask feasible_devices(const NodeView& view, const TaskShape& shape);

// How many tasks of `shape` fit on the node at once, at most `most`.
int copies_that_fit(const NodeView& view, const TaskShape& shape, int most);

}  // namespace berth
