function test_cheapest_that_is_allowed()
  cluster("1x4:H100; 1x4:A100; 1x4:T4")
  job{name = "any", gpus = 1}
  job{name = "large", gpus = 1, models = {"A100", "H100"}}
  expect(round().starts, {any = "n3", large = "n2"})
end

function test_prices_are_a_knob()
  cluster("1x4:H100; 1x4:A100")
  knob("prices", "A100 9, H100 1")
  job{name = "any", gpus = 1}
  expect(round().starts.any, "n1")
end
