function test_small_jobs_first_until_others_have_waited()
  cluster("1x8:A100")
  job{name = "large", queue = "ads", gpus = 4}
  job{name = "small", queue = "ads", gpus = 1}
  expect(round().order, {"small", "large"})
end

function test_waiting_counts()
  cluster("1x8:A100")
  job{name = "large", queue = "ads", gpus = 4, waited = 3600}
  job{name = "small", queue = "ads", gpus = 1}
  expect(round().order, {"large", "small"})
end

function test_priority_before_points()
  cluster("1x8:A100")
  job{name = "small", queue = "ads", gpus = 1}
  job{name = "urgent", queue = "ads", gpus = 4, priority = 5}
  expect(round().order, {"urgent", "small"})
end
