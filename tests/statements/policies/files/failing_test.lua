function test_wrong_value()
  cluster("1x4:A100")
  job{name = "a", gpus = 1}
  expect(round().starts, {a = "n2"})
end

function test_typo()
  cluster("1x4:A100 pol=train")
end

function test_field()
  job{name = "a", gpu = 1}
end

function test_holds()
end
