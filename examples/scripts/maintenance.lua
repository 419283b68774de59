-- Which node had better be drained? Tries each beside a job that is expected, and takes it all back.
for _, row in ipairs(berth.query("SELECT name FROM nodes ORDER BY name")) do
  local starts, tasks = berth.what_if(function()
    berth.exec("DRAIN NODE ?", row.name)
    berth.exec("SUBMIT JOB expected IN QUEUE search WITH (tasks = 2, gpus = 8)")
    return berth.plan().rows[1].starts_jobs,
      berth.query("SELECT count(*) AS n FROM tasks WHERE node = ?", row.name)[1].n
  end)
  print(row.name .. ": " .. tasks .. " tasks run there; " .. (starts > 0 and "the job could start" or "the job would wait"))
end
