function test_replicas_spread()
  cluster("2x2:T4 pool=r1; 2x2:T4 pool=r2")
  job{name = "web", gpus = 0.5, tasks = 4}
  expect(round().starts.web, "n1 n2 n3 n4")
end

function test_whole_devices_are_packed()
  cluster("2x4:T4")
  job{name = "a", gpus = 2}
  job{name = "b", gpus = 2}
  expect(round().starts, {a = "n1", b = "n1"})
end
