-- Tasks run where their data lie: a data set is kept in one pool, and the memory that a task asks for is about what it
-- reads. Large readers keep to the home pool, small ones may go elsewhere when that leaves whole devices free.
summary = "Tasks with much memory keep to the pool where the data lie."

needs = {"memory"}

knobs = {
  home = {type = "text", default = "data", sentence = "The pool where the data lie."},
  large_mib = {type = "integer", default = 32768, least = 0, sentence = "Tasks that ask for so much memory are large readers."},
}

function feasible(node, shape)
  if shape.memory_mib >= knob.large_mib and node.pool ~= knob.home then
    return false, "its data lie in pool " .. knob.home
  end
  return true
end

function score(node, shape)
  local at_home = node.pool == knob.home
  local is_large = shape.memory_mib >= knob.large_mib
  local fullness = 1 - (node.devices > 0 and node.free_milli / (1000 * node.devices) or 1)
  return (at_home == is_large and 10 or 0) + fullness
end
