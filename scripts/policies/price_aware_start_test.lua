local function situation(time, expected)
  cluster("1x4:A100")
  now(time)
  job{name = "flex", queue = "flexible", gpus = 1, expected = expected}
  job{name = "now", queue = "ads", gpus = 1}
end

function test_held_in_dear_hours()
  situation("2026-11-04 17:30", 600)
  local r = round()
  expect(r.starts, {now = "n1"})
  expect(r.waits.flex, "power is dear until 21 o'clock UTC")
end

function test_starts_in_cheap_hours()
  situation("2026-11-04 03:00", 3600)
  expect(round().starts.flex, "n1")
end

function test_not_shortly_before()
  situation("2026-11-04 15:00", 7200)
  expect(round().waits.flex, "it would run into the hours from 16 o'clock UTC")
end

function test_not_for_ever()
  situation("2026-11-04 17:30", 600)
  job{name = "old", queue = "flexible", gpus = 1, waited = 90000}
  expect(round().starts.old, "n1")
end
