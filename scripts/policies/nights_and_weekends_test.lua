local function situation(time)
  cluster("1x4:A100")
  now(time)
  job{name = "nightly", queue = "batch", gpus = 1}
  job{name = "urgent", queue = "ads", gpus = 1, priority = 10}
  job{name = "plain", queue = "ads", gpus = 1, waited = 60}
end

function test_by_day()
  situation("2026-11-04 12:00")  -- a Wednesday
  local r = round()
  expect(r.order, {"urgent", "plain"})
  expect(r.starts.nightly, nil)
  expect(r.waits.nightly, "it starts from 20 to 6 o'clock UTC, and on weekends")
end

function test_by_night()
  situation("2026-11-04 23:00")
  expect(round().starts.nightly, "n1")
end

function test_on_saturday()
  situation("2026-11-07 12:00")
  expect(round().starts.nightly, "n1")
end

function test_hours_are_knobs()
  situation("2026-11-04 12:00")
  knob("opens", 11)
  knob("closes", 13)
  expect(round().starts.nightly, "n1")
end
