-- Once a night: plans a round under one or several score policies, and carries the best plan out if it costs little.
--
--   berth --script nightly_rebalance.lua [most_lost=4] [scores=berth,fgd] [dry_run=yes]
--
--   most_lost   GPU-hours of work that the plan's evictions may cost at most
--   scores      score policies to be tried; without it the one of the settings
--   dry_run     yes: plans and tells, and changes nothing
--
-- The best plan starts jobs on the most GPUs; of equal ones that which costs less. Exit code 4: no plan may be carried
-- out, because it costs too much or would break an assertion.
local known = {most_lost = true, scores = true, dry_run = true}
for name in pairs(berth.args) do
  if type(name) == "string" and not known[name] then error("unknown argument '" .. name .. "'", 0) end
end
local most_lost = tonumber(berth.args.most_lost or 4)
if not most_lost then error("most_lost: expected a number of GPU-hours, found '" .. berth.args.most_lost .. "'", 0) end

local statements = {}
for score in (berth.args.scores or ""):gmatch("[^,]+") do
  statements[#statements + 1] = "SCHEDULE WITH (score = " .. berth.quote(score) .. ")"
end
if #statements == 0 then statements = {"SCHEDULE"} end

-- Devices that are wholly free, and GPUs left over on those that are shared.
local function room()
  return berth.query([[
    SELECT coalesce(pool, '-') AS pool, device_model, sum(devices) AS devices, sum(devices_free) AS free_devices,
           round(sum(free_on_shared_milli) / 1000.0, 1) AS left_over
    FROM fragmentation GROUP BY 1, 2 ORDER BY 1, 2]])
end

local function sum(rows, column)
  local all = 0
  for _, row in ipairs(rows or {}) do all = all + (tonumber(row[column]) or 0) end
  return all
end

-- A plan with what it brings and costs.
local function consider(statement)
  local plan = berth.plan(statement)
  return {
    plan = plan.plan,
    statement = "PLAN " .. statement,
    gpus = sum(plan.tables.placements, "gpu"),
    evictions = #(plan.tables.evictions or {}),
    lost = sum(plan.tables.evictions, "gpu_hours_lost"),
    breaks = plan.findings,
    notes = plan.notes,
  }
end

-- The best that may be carried out, and all of them. Nil when there is none.
local function choose()
  local best
  local all = {columns = {"plan", "statement", "gpus", "evictions", {name = "lost", decimals = 2}, "may"}}
  for i, statement in ipairs(statements) do
    local candidate = consider(statement)
    candidate.may = candidate.breaks and "breaks an assertion" or candidate.lost > most_lost and "costs too much" or "yes"
    all[i] = candidate
    local better = not best or candidate.gpus > best.gpus or candidate.gpus == best.gpus and candidate.lost < best.lost
    if candidate.may == "yes" and better then best = candidate end
  end
  return best, all
end

local before = room()
for attempt = 1, 3 do
  local best, all = choose()
  berth.show(all, all.columns)
  if not best then
    berth.finding("no plan was carried out: evictions may cost " .. most_lost .. " GPU-hours, and no assertion may break")
    return
  end
  if best.gpus == 0 and best.evictions == 0 then
    berth.log("nothing to do")
    break
  end
  if berth.args.dry_run == "yes" then
    berth.log("dry run: APPLY PLAN " .. best.plan .. "; would carry it out")
    return
  end
  local done, said = pcall(berth.apply, best.plan)
  if done then
    berth.log(said.notes[#said.notes])
    break
  end
  -- Somebody changed something in between: what was planned is not what would happen.
  if attempt == 3 then error(said, 0) end
  berth.log("planned again: " .. said)
end

-- What it was good for.
local rows = {columns = {"pool", "device_model", "devices", "free_before", "free_now", "left_over_before", "left_over_now"}}
for i, now in ipairs(room()) do
  local was = before[i]
  rows[i] = {
    pool = now.pool,
    device_model = now.device_model,
    devices = now.devices,
    free_before = was.free_devices,
    free_now = now.free_devices,
    left_over_before = was.left_over,
    left_over_now = now.left_over,
  }
end
berth.show(rows)
for _, late in ipairs(berth.query(
  "SELECT job, queue, datetime(expected, 'unixepoch') AS expected FROM reservations_now WHERE expected < ? ORDER BY expected",
  berth.now())) do
  berth.finding(late.job .. " of " .. late.queue .. " was expected to start at " .. late.expected)
end
