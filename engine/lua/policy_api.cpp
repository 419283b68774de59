#include "engine/lua/policy_api.h"

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <vector>

#include "engine/base/text.h"

namespace berth {

namespace {

constexpr std::array<HookRow, kHookCount> kHooks = {{
    {"prepare", "cluster: Cluster", "",
     "Called once before score, device and feasible are: for what they need of the whole cluster."},
    {"order", "job: Job, queue: Queue, round: Round", "number|number[]|nil, string?",
     "Which waiting job is tried first: the smallest number, or the smallest list compared from the left; ties go to "
     "the job submitted first. nil and a reason hold the job back this round.",
     "order_policy"},
    {"score", "node: Node, shape: Shape", "number",
     "Which node that fits a task gets it: the highest number, told apart to a thousandth; ties go to the first node. "
     "Asked once for nodes in the same state.",
     "score_policy"},
    {"device", "node: Node, shape: Shape, fits: integer[]", "integer",
     "With score: which device a fraction of one gets, of the places in node.milli where it fits. Without it the one "
     "with least free."},
    {"feasible", "node: Node, shape: Shape", "boolean, string?",
     "Whether a task may run on a node that fits it. Asked once for nodes in the same state.", "filter_policy"},
    {"victim_cost", "job: Victim", "number",
     "What it costs in GPU-seconds to end a running job to make room, beside the work that is lost: of those that may "
     "be evicted, of one priority, the cheapest goes.",
     "victim_policy"},
    {"admit", "job: NewJob, view: AdmitView", "NewJob|nil, string?",
     "Called at SUBMIT: the job as it is to be, or nil and what the user is told.", "admit_policy"},
    {"target", "service: table", "integer", "How many replicas a service should have. No round calls it yet."},
    {"mixing", "pool: table", "table", "Which nodes change between uses. No round calls it yet."},
}};

constexpr std::array kFields = {
    ViewField{"Cluster", "nodes", "integer", "How many nodes there are."},
    ViewField{"Cluster", "models", "string[]", "The device models."},
    ViewField{"Cluster", "pools", "string[]", "The pools."},
    ViewField{"Cluster", "workload", "Shape[]", "The typical tasks, most popular first; each has popularity, too."},

    ViewField{"Node", "pool", "string", "Its pool; '' = none."},
    ViewField{"Node", "model", "string", "The model of its devices; '' = it has none."},
    ViewField{"Node", "devices", "integer", "How many devices it has."},
    ViewField{"Node", "total_cpu_milli", "integer", "Milli-cores of the empty node."},
    ViewField{"Node", "total_memory_mib", "integer", "Memory of the empty node."},
    ViewField{"Node", "total_device_memory_mib", "integer", "Memory of each device; 0 = not tracked."},
    ViewField{"Node", "cpu_milli", "integer", "Milli-cores that are free."},
    ViewField{"Node", "milli", "integer[]", "Free thousandths of each device. In score and feasible in no order."},
    ViewField{"Node", "free_milli", "integer", "The sum of those."},
    ViewField{"Node", "free_devices", "integer", "How many devices are wholly free."},
    ViewField{"Node", "device_memory_mib", "integer[]", "Free memory of each device; all 0 = not tracked."},
    ViewField{"Node", "memory_mib", "integer", "Free memory; only where the script says needs = {'memory'}."},
    ViewField{"Node", "tenants", "integer",
              "Bits of who runs there: 1 fractions, 2 tasks of one device, 4 of two, 8 of four ...; only where the "
              "script says needs = {'tenants'}."},

    ViewField{"Shape", "cpu_milli", "integer", "Milli-cores that a task asks for."},
    ViewField{"Shape", "memory_mib", "integer", "Memory; only where the script says needs = {'memory'}."},
    ViewField{"Shape", "gpus", "integer", "Devices; 0 = a CPU task."},
    ViewField{"Shape", "milli", "integer", "Thousandths of each device."},
    ViewField{"Shape", "total_milli", "integer", "Thousandths of all its devices."},
    ViewField{"Shape", "gpu_memory_mib", "integer", "Memory of each device; 0 = in proportion."},
    ViewField{"Shape", "fraction", "boolean", "It asks for part of one device."},
    ViewField{"Shape", "models", "string[]", "The device models that it may use; empty = any."},
    ViewField{"Shape", "pool", "string", "The pool that it must run in; '' = any."},

    ViewField{"Job", "id", "integer", "Its number."},
    ViewField{"Job", "priority_class", "string", "'' = none."},
    ViewField{"Job", "priority", "integer", "The value of that class."},
    ViewField{"Job", "submit", "integer", "When it was submitted, Unix seconds."},
    ViewField{"Job", "waited", "integer", "Seconds since then."},
    ViewField{"Job", "time_limit", "integer", "Seconds; 0 = none."},
    ViewField{"Job", "expected", "integer", "Seconds that it is expected to run, the median; 0 = not known."},
    ViewField{"Job", "expected_p90", "integer", "The same, rather too long."},
    ViewField{"Job", "tasks", "integer", "All its tasks."},
    ViewField{"Job", "gang", "integer", "Those that must start together."},
    ViewField{"Job", "total_milli", "integer", "Thousandths of devices that all its tasks ask for."},
    ViewField{"Job", "total_cpu_milli", "integer", "Milli-cores that they ask for."},
    ViewField{"Job", "total_memory_mib", "integer", "Memory that they ask for."},
    ViewField{"Job", "models", "string[]", "The device models that its first group may use; empty = any."},
    ViewField{"Job", "pool", "string", "The pool that its first group must run in; '' = any."},
    ViewField{"Job", "service", "integer", "Device-seconds that it has had in earlier attempts."},
    ViewField{"Job", "evictions", "integer", "How often it was evicted."},
    ViewField{"Job", "running", "boolean", "It runs, and could get more tasks."},

    ViewField{"Queue", "name", "string", "'' = the job has no queue."},
    ViewField{"Queue", "parent", "string", "The queue above; '' = none."},
    ViewField{"Queue", "weight", "number", "Its share of the surplus."},
    ViewField{"Queue", "priority_band", "integer", "Surplus goes to higher bands first."},
    ViewField{"Queue", "used_milli", "integer", "Thousandths of devices that it uses as the round begins."},
    ViewField{"Queue", "quota_milli", "integer", "Its quota of all devices; -1 = it has none of that kind."},
    ViewField{"Queue", "decayed_usage", "number", "Device-seconds that it used, the old ones counting less."},

    ViewField{"Round", "now", "integer", "The time of the round, Unix seconds. There is no other clock."},
    ViewField{"Round", "hour", "integer", "0 to 23, UTC."},
    ViewField{"Round", "minute", "integer", "0 to 59."},
    ViewField{"Round", "weekday", "integer", "1 = Monday to 7 = Sunday."},
    ViewField{"Round", "waiting", "integer", "Jobs that the order is asked about."},

    ViewField{"Victim", "queue", "string", "The queue of its job; '' = none."},
    ViewField{"Victim", "priority", "integer", "The value of its job's priority class."},
    ViewField{"Victim", "ran", "integer", "Seconds that its job has run."},
    ViewField{"Victim", "lost", "integer", "Device-seconds of work that would be lost with its whole job."},
    ViewField{"Victim", "tasks", "integer", "Tasks of its job that run."},
    ViewField{"Victim", "total_milli", "integer", "Thousandths of devices that its job holds."},
    ViewField{"Victim", "evictions", "integer", "How often its job was evicted."},
    ViewField{"NewJob", "name", "string", "'' = it is named after its number."},
    ViewField{"NewJob", "queue", "string", "Its queue."},
    ViewField{"NewJob", "priority_class", "string", "'' = none."},
    ViewField{"NewJob", "user", "string", "Who submits it; cannot be changed."},
    ViewField{"NewJob", "tag", "string", "The same for jobs that come again; '' = none."},
    ViewField{"NewJob", "time_limit", "integer", "Seconds; 0 = none."},
    ViewField{"NewJob", "held", "boolean", "It waits for RELEASE JOB."},
    ViewField{"NewJob", "total_milli", "integer", "Thousandths of devices of all its tasks; changes nothing."},
    ViewField{"NewJob", "groups", "NewGroup[]", "Its task groups."},

    ViewField{"NewGroup", "name", "string", "'' = main."},
    ViewField{"NewGroup", "tasks", "integer", "How many tasks."},
    ViewField{"NewGroup", "min_tasks", "integer", "How many of them must start together."},
    ViewField{"NewGroup", "gpus", "integer", "Devices of a task."},
    ViewField{"NewGroup", "milli", "integer", "Thousandths of each device."},
    ViewField{"NewGroup", "gpu_memory_mib", "integer", "Memory of each device; 0 = in proportion."},
    ViewField{"NewGroup", "cpu_milli", "integer", "Milli-cores of a task."},
    ViewField{"NewGroup", "memory_mib", "integer", "Memory of a task."},
    ViewField{"NewGroup", "models", "string[]", "The device models that it may use; empty = any."},
    ViewField{"NewGroup", "pool", "string", "The pool that it must run in; '' = any."},
    ViewField{"NewGroup", "locality", "string", "How close its tasks must lie: any, rack, node, link_group."},

    ViewField{"AdmitView", "now", "integer", "The time, Unix seconds."},
    ViewField{"AdmitView", "hour", "integer", "0 to 23, UTC."},
    ViewField{"AdmitView", "minute", "integer", "0 to 59."},
    ViewField{"AdmitView", "weekday", "integer", "1 = Monday to 7 = Sunday."},
    ViewField{"AdmitView", "devices", "integer", "All devices."},
    ViewField{"AdmitView", "free_devices", "integer", "Those wholly free, healthy, on nodes that are up."},
    ViewField{"AdmitView", "free_devices_of", "table<string, integer>", "The same by device model."},
    ViewField{"AdmitView", "used_milli", "integer", "Thousandths of devices in use."},
    ViewField{"AdmitView", "pending_jobs", "integer", "Jobs that wait."},
    ViewField{"AdmitView", "running_jobs", "integer", "Jobs that run."},
    ViewField{"AdmitView", "queues", "table<string, AdmitQueue>", "By name."},

    ViewField{"AdmitQueue", "used_milli", "integer", "Thousandths of devices that its own jobs hold."},
    ViewField{"AdmitQueue", "quota_milli", "integer", "Its quota of all devices; -1 = it has none of that kind."},
    ViewField{"AdmitQueue", "pending_jobs", "integer", "Its jobs that wait."},
    ViewField{"AdmitQueue", "running_jobs", "integer", "Its jobs that run."},
};

}  // namespace

std::span<const HookRow> policy_hooks() { return kHooks; }
std::string_view hook_name(Hook hook) { return kHooks[static_cast<std::size_t>(hook)].name; }
std::span<const ViewField> policy_view_fields() { return kFields; }

std::string policy_annotations() {
  std::string text =
      "---@meta\n"
      "-- What policies in Lua may define and see. Made from engine/lua/policy_api.cpp; editors read it.\n"
      "-- Beside it a policy has math, string, table, coroutine, assert, error, ipairs, next, pairs, pcall, select,\n"
      "-- tonumber, tostring, type and xpcall. Views are read-only, and filled anew for every call.\n";
  std::string_view view;
  for (const ViewField& field : kFields) {
    if (field.view != view) fmt::format_to(std::back_inserter(text), "\n---@class {}\n", field.view);
    view = field.view;
    const std::string_view type = field.view == "Cluster" && field.type == "Shape[]" ? "WorkloadShape[]" : field.type;
    fmt::format_to(std::back_inserter(text), "---@field {} {} {}\n", field.name, type, field.sentence);
  }
  text += "\n---@class WorkloadShape: Shape\n---@field popularity number The share of tasks that are like it.\n";
  text += "\n-- The knobs that the policy declares, with their values.\n---@type table<string, any>\nknob = {}\n";
  for (const HookRow& hook : kHooks) {
    fmt::format_to(std::back_inserter(text), "\n-- {}\n", hook.sentence);
    if (!hook.setting.empty()) fmt::format_to(std::back_inserter(text), "-- Setting: {}.\n", hook.setting);
    std::vector<std::string> names;
    for (const std::string_view parameter : split(hook.parameters, ',')) {
      const std::vector<std::string_view> parts = split(parameter, ':');
      names.emplace_back(trim(parts.front()));
      fmt::format_to(std::back_inserter(text), "---@param {} {}\n", names.back(), trim(parts.back()));
    }
    if (!hook.results.empty()) fmt::format_to(std::back_inserter(text), "---@return {}\n", hook.results);
    fmt::format_to(std::back_inserter(text), "function {}({}) end\n", hook.name, join(names, ", "));
  }
  return text;
}

}  // namespace berth
