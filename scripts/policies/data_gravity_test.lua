local function situation()
  cluster("1x4:A100 pool=far; 1x4:A100 pool=data")
end

function test_large_readers_stay()
  situation()
  job{name = "reader", gpus = 1, memory = "64GiB"}
  expect(feasible("n1", "reader"), false)
  expect(round().starts.reader, "n2")
end

function test_small_ones_leave_room()
  situation()
  job{name = "small", gpus = 1, memory = "1GiB"}
  expect(round().starts.small, "n1")
end

function test_home_is_full()
  situation()
  job{name = "a", gpus = 4, memory = "64GiB"}
  job{name = "b", gpus = 4, memory = "64GiB"}
  local r = round()
  expect(r.starts, {a = "n2"})
  expect(r.waits.b, "policy")
end
