local function queues()
  return berth.query("SELECT group_concat(name, ' ') AS names FROM (SELECT name FROM queues ORDER BY name)")[1].names
end

-- All of it, seen from within; what one statement refuses takes only itself back.
print(berth.transaction(function()
  berth.exec("CREATE QUEUE one")
  berth.exec("CREATE QUEUE two UNDER one")
  print(pcall(berth.exec, "CREATE QUEUE two"))
  print("within", queues())
  return "answers", 2
end))

-- Nothing of it.
print(pcall(berth.transaction, function()
  berth.exec("DROP QUEUE two")
  berth.exec("SET backfill = none")
  berth.exec("CREATE QUEUE three UNDER four")
end))
print("after", queues())

-- Taken back: several changes, and what a round would do then.
print(berth.what_if(function()
  berth.exec("DROP NODES a[1-2]")
  berth.exec("SUBMIT JOB after IN QUEUE nlp WITH (gpus = 4)")
  return berth.plan().notes[1], berth.query("SELECT count(*) AS n FROM nodes")[1].n
end))
print(berth.plan().notes[1], berth.query("SELECT count(*) AS n FROM nodes")[1].n)

-- What reaches further than the database.
local function refused(...) print(select(2, pcall(...))) end
berth.transaction(function()
  refused(berth.exec, "RUN SCHEDULE")
  refused(berth.exec, "RUN ALL")
  refused(berth.exec, "APPLY PLAN 1")
  refused(berth.exec, "SNAPSHOT LOAD 'x.db'")
  refused(berth.exec, "VACUUM ROUNDS")
  refused(berth.transaction, function() end)
  refused(berth.what_if, function() end)
  refused(berth.query, "UPDATE meta SET value = ?1 WHERE key = 'state_version'", 1)
  refused(berth.query, "DELETE FROM queues")
end)
refused(berth.transaction)
refused(berth.transaction, "f")
refused(berth.transaction, function() coroutine.yield() end)
local inside = coroutine.wrap(function() berth.transaction(function() coroutine.yield(1) end) end)
refused(inside)
refused(berth.transaction, function() error({code = 7}) end)
berth.transaction(function() end)
print("end", queues())
