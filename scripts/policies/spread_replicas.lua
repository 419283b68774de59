-- Online tasks, those that ask for part of a device, spread: each goes to the node with the most left, so that losing a
-- node (or the rack behind it) takes few. All other tasks are packed, so that room for large ones stays.
-- Racks of their own are pools of their own here: what a score sees of a node is its pool and what is free.
summary = "Fractions spread over nodes and pools, whole devices are packed."

local function free_share(node)
  if node.devices == 0 then return node.cpu_milli / node.total_cpu_milli end
  return node.free_milli / (1000 * node.devices)
end

function score(node, shape)
  local free = free_share(node)
  return shape.fraction and free or 1 - free
end
