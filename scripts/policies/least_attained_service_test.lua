function test_levels()
  cluster("1x8:A100")
  job{name = "old", gpus = 1, service = 8000, waited = 900}
  job{name = "middle", gpus = 1, service = 5000, waited = 600}
  job{name = "new", gpus = 1, waited = 10}
  job{name = "first", gpus = 1, service = 100, waited = 300}
  expect(round().order, {"first", "new", "middle", "old"})
end
