---@meta
-- What policies in Lua may define and see. Made from engine/lua/policy_api.cpp; editors read it.
-- Beside it a policy has math, string, table, coroutine, assert, error, ipairs, next, pairs, pcall, select,
-- tonumber, tostring, type and xpcall. Views are read-only, and filled anew for every call.

---@class Cluster
---@field nodes integer How many nodes there are.
---@field models string[] The device models.
---@field pools string[] The pools.
---@field workload WorkloadShape[] The typical tasks, most popular first; each has popularity, too.

---@class Node
---@field pool string Its pool; '' = none.
---@field model string The model of its devices; '' = it has none.
---@field devices integer How many devices it has.
---@field total_cpu_milli integer Milli-cores of the empty node.
---@field total_memory_mib integer Memory of the empty node.
---@field total_device_memory_mib integer Memory of each device; 0 = not tracked.
---@field cpu_milli integer Milli-cores that are free.
---@field milli integer[] Free thousandths of each device. In score and feasible in no order.
---@field free_milli integer The sum of those.
---@field free_devices integer How many devices are wholly free.
---@field device_memory_mib integer[] Free memory of each device; all 0 = not tracked.
---@field memory_mib integer Free memory; only where the script says needs = {'memory'}.
---@field tenants integer Bits of who runs there: 1 fractions, 2 tasks of one device, 4 of two, 8 of four ...; only where the script says needs = {'tenants'}.

---@class Shape
---@field cpu_milli integer Milli-cores that a task asks for.
---@field memory_mib integer Memory; only where the script says needs = {'memory'}.
---@field gpus integer Devices; 0 = a CPU task.
---@field milli integer Thousandths of each device.
---@field total_milli integer Thousandths of all its devices.
---@field gpu_memory_mib integer Memory of each device; 0 = in proportion.
---@field fraction boolean It asks for part of one device.
---@field models string[] The device models that it may use; empty = any.
---@field pool string The pool that it must run in; '' = any.

---@class Job
---@field id integer Its number.
---@field priority_class string '' = none.
---@field priority integer The value of that class.
---@field submit integer When it was submitted, Unix seconds.
---@field waited integer Seconds since then.
---@field time_limit integer Seconds; 0 = none.
---@field expected integer Seconds that it is expected to run, the median; 0 = not known.
---@field expected_p90 integer The same, rather too long.
---@field tasks integer All its tasks.
---@field gang integer Those that must start together.
---@field total_milli integer Thousandths of devices that all its tasks ask for.
---@field total_cpu_milli integer Milli-cores that they ask for.
---@field total_memory_mib integer Memory that they ask for.
---@field models string[] The device models that its first group may use; empty = any.
---@field pool string The pool that its first group must run in; '' = any.
---@field service integer Device-seconds that it has had in earlier attempts.
---@field evictions integer How often it was evicted.
---@field running boolean It runs, and could get more tasks.

---@class Queue
---@field name string '' = the job has no queue.
---@field parent string The queue above; '' = none.
---@field weight number Its share of the surplus.
---@field priority_band integer Surplus goes to higher bands first.
---@field used_milli integer Thousandths of devices that it uses as the round begins.
---@field quota_milli integer Its quota of all devices; -1 = it has none of that kind.
---@field decayed_usage number Device-seconds that it used, the old ones counting less.

---@class Round
---@field now integer The time of the round, Unix seconds. There is no other clock.
---@field hour integer 0 to 23, UTC.
---@field minute integer 0 to 59.
---@field weekday integer 1 = Monday to 7 = Sunday.
---@field waiting integer Jobs that the order is asked about.

---@class Victim
---@field queue string The queue of its job; '' = none.
---@field priority integer The value of its job's priority class.
---@field ran integer Seconds that its job has run.
---@field lost integer Device-seconds of work that would be lost with its whole job.
---@field tasks integer Tasks of its job that run.
---@field total_milli integer Thousandths of devices that its job holds.
---@field evictions integer How often its job was evicted.

---@class NewJob
---@field name string '' = it is named after its number.
---@field queue string Its queue.
---@field priority_class string '' = none.
---@field user string Who submits it; cannot be changed.
---@field tag string The same for jobs that come again; '' = none.
---@field time_limit integer Seconds; 0 = none.
---@field held boolean It waits for RELEASE JOB.
---@field total_milli integer Thousandths of devices of all its tasks; changes nothing.
---@field groups NewGroup[] Its task groups.

---@class NewGroup
---@field name string '' = main.
---@field tasks integer How many tasks.
---@field min_tasks integer How many of them must start together.
---@field gpus integer Devices of a task.
---@field milli integer Thousandths of each device.
---@field gpu_memory_mib integer Memory of each device; 0 = in proportion.
---@field cpu_milli integer Milli-cores of a task.
---@field memory_mib integer Memory of a task.
---@field models string[] The device models that it may use; empty = any.
---@field pool string The pool that it must run in; '' = any.
---@field locality string How close its tasks must lie: any, rack, node, link_group.

---@class AdmitView
---@field now integer The time, Unix seconds.
---@field hour integer 0 to 23, UTC.
---@field minute integer 0 to 59.
---@field weekday integer 1 = Monday to 7 = Sunday.
---@field devices integer All devices.
---@field free_devices integer Those wholly free, healthy, on nodes that are up.
---@field free_devices_of table<string, integer> The same by device model.
---@field used_milli integer Thousandths of devices in use.
---@field pending_jobs integer Jobs that wait.
---@field running_jobs integer Jobs that run.
---@field queues table<string, AdmitQueue> By name.

---@class AdmitQueue
---@field used_milli integer Thousandths of devices that its own jobs hold.
---@field quota_milli integer Its quota of all devices; -1 = it has none of that kind.
---@field pending_jobs integer Its jobs that wait.
---@field running_jobs integer Its jobs that run.

---@class WorkloadShape: Shape
---@field popularity number The share of tasks that are like it.

-- The knobs that the policy declares, with their values.
---@type table<string, any>
knob = {}

-- Called once before score, device and feasible are: for what they need of the whole cluster.
---@param cluster Cluster
function prepare(cluster) end

-- Which waiting job is tried first: the smallest number, or the smallest list compared from the left; ties go to the job submitted first. nil and a reason hold the job back this round.
-- Setting: order_policy.
---@param job Job
---@param queue Queue
---@param round Round
---@return number|number[]|nil, string?
function order(job, queue, round) end

-- Which node that fits a task gets it: the highest number, told apart to a thousandth; ties go to the first node. Asked once for nodes in the same state.
-- Setting: score_policy.
---@param node Node
---@param shape Shape
---@return number
function score(node, shape) end

-- With score: which device a fraction of one gets, of the places in node.milli where it fits. Without it the one with least free.
---@param node Node
---@param shape Shape
---@param fits integer[]
---@return integer
function device(node, shape, fits) end

-- Whether a task may run on a node that fits it. Asked once for nodes in the same state.
-- Setting: filter_policy.
---@param node Node
---@param shape Shape
---@return boolean, string?
function feasible(node, shape) end

-- What it costs in GPU-seconds to end a running job to make room, beside the work that is lost: of those that may be evicted, of one priority, the cheapest goes.
-- Setting: victim_policy.
---@param job Victim
---@return number
function victim_cost(job) end

-- Called at SUBMIT: the job as it is to be, or nil and what the user is told.
-- Setting: admit_policy.
---@param job NewJob
---@param view AdmitView
---@return NewJob|nil, string?
function admit(job, view) end

-- How many replicas a service should have. No round calls it yet.
---@param service table
---@return integer
function target(service) end

-- Which nodes change between uses. No round calls it yet.
---@param pool table
---@return table
function mixing(pool) end
