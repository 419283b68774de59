local answer = berth.simulate{
  from = berth.args.jobs,
  nodes = berth.args.nodes,
  using = {"fifo + berth", "smallest_first + berth"},
  backfill = "none",
  seed = 7,
  into = "night",
}
for _, row in ipairs(answer.tables.results or answer.rows) do print(row.policy, row.tasks, row.placed) end
print(berth.query("SELECT statement FROM simulations WHERE name = 'night'")[1].statement:gsub("'[^']*/", "'"))
berth.transaction(function() berth.exec("DROP SIMULATION night") end)
