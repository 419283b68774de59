-- What the table berth gives.
local nodes = berth.query("SELECT name, rack, NULL AS note FROM nodes WHERE name LIKE ? ORDER BY name", "a%")
print(#nodes, nodes[1].name, nodes[1].rack, nodes[1].note, nodes.columns[2])
print(1, 2.0, 1 / 4, true, nil, {})
berth.show(nodes)
berth.show({{gpus = 8, queue = "nlp"}, {gpus = 2.5}})
berth.show({{gpus = 8, queue = "nlp"}, {gpus = 2.5}}, {"queue", {name = "gpus", decimals = 2}})
berth.show(berth.query("SELECT name FROM queues WHERE 0"))

local answer = berth.exec("SUBMIT JOB ? IN QUEUE nlp WITH (tasks = ?, gpus = 1);", "it's", 2)
print(answer.notes[1], answer.findings, #answer.rows, answer.plan)
print(#berth.exec("SHOW QUEUES").rows, berth.exec("SELECT count(*) AS jobs FROM jobs").rows[1].jobs)

print(berth.to_json({list = {1, 2, {}}, text = 'say "hi"', ["ü"] = 0.5, yes = true}), berth.to_json(nodes[1]))
print(berth.args[1], berth.args.days, berth.args.weeks, #berth.args)
print(berth.time_text(berth.now()), berth.now())
berth.plot{title = "jobs", x = "hour", series = {{name = "waiting", x = {0, 1, 2}, y = {4, 2, 1.5}}}}
