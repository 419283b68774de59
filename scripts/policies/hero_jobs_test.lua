local function hero(time_limit, queue)
  return {name = "h", queue = queue or "hero", time_limit = time_limit, total_milli = 64000, groups = {{gpus = 8, tasks = 8}}}
end

function test_large_first()
  cluster("16x8:H100")
  job{name = "small", queue = "ads", gpus = 1, waited = 3600, priority = 5}
  job{name = "hero", queue = "hero", gpus = 8, tasks = 8}
  expect(round().order, {"hero", "small"})
end

function test_dear_to_end()
  expect(victim_cost{total_milli = 64000} > victim_cost{total_milli = 8000}, true)
end

function test_admission()
  expect(admit(hero(3600)).refusal, nil)
  expect(admit(hero(0)).refusal, "it needs a time limit of at most 604800 seconds")
  expect(admit(hero(3600, "ads")).refusal, "a job of 64 devices and more belongs into queue hero")
  expect(admit{name = "s", queue = "hero", time_limit = 0, total_milli = 1000}.refusal,
         "queue hero is for jobs of 64 devices and more")
end
