-- Halves and whole devices come: a half that starts leaves whole devices whole where it can.
function test_halves_share_a_device()
  cluster("2x2:A100")
  job{name = "a", gpus = 0.5}
  job{name = "b", gpus = 0.5}
  local r = round()
  expect(r.starts, {a = "n1", b = "n1"})
end

function test_cpu_tasks_score_the_same_without_a_workload()
  cluster("2x2:A100")
  job{name = "a", cpu = 1}
  expect(score("n1", "a"), 50)
end
