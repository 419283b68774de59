-- The node on which the least CPU and GPU are left over: chooses as the built-in best_fit does.
summary = "The node on which the least CPU and GPU are left over."

local floor = math.floor

function score(node, shape)
  local cpu = (node.cpu_milli - shape.cpu_milli) / 128000
  local gpu = (node.free_milli - shape.total_milli) / 8000
  local fit = (1 - (cpu * 0.5 + gpu * 0.5)) * 100
  -- Towards 0, as the published simulator does.
  return fit >= 0 and floor(fit) or -floor(-fit)
end
