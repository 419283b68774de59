function test_fuller_node_first()
  cluster("1x8:A100; 1x2:A100 cpu=64")
  job{name = "a", gpus = 1, cpu = 8}
  expect(score("n2", "a") > score("n1", "a"), true, "the smaller node is fuller")
  expect(round().starts.a, "n2")
end
