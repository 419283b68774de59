local function moments() return berth.query("SELECT count(*) AS n FROM history_moments")[1].n end
local function tell(f, ...) print(select(2, pcall(f, ...))) end
local function version() return berth.query("SELECT value FROM meta WHERE key = 'state_version'")[1].value end

-- A transaction is one moment of the history, whatever it took back of itself; what was only tried is none.
local moment, state = moments(), version()
berth.transaction(function()
  berth.exec("CREATE QUEUE first")
  pcall(berth.exec, "CREATE QUEUE second UNDER nowhere")
  berth.exec("ALTER QUEUE first SET WEIGHT 2")
  tell(berth.query, "SELECT * FROM as_of('queues', '2026-01-01')")
end)
print(moments() - moment, version() - state)
moment, state = moments(), version()
berth.what_if(function() berth.exec("DROP QUEUE first") end)
tell(berth.what_if, function() berth.exec("DROP QUEUE first") error("stop") end)
print(moments() - moment, version() - state)

-- PLAN of a change on top of others that are only tried.
print(berth.what_if(function()
  berth.exec("SUBMIT JOB wide IN QUEUE nlp WITH (tasks = 4, gpus = 1, models = T4)")
  local plan = berth.plan("DRAIN NODE t1")
  return plan.notes[1], plan.plan ~= nil, berth.query("SELECT count(*) AS n FROM jobs")[1].n
end))
print(#berth.exec("SHOW PLANS").rows, berth.query("SELECT count(*) AS n FROM jobs")[1].n)
