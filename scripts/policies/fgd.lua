-- Fragmentation gradient descent (Weng et al., ATC'23): the placement after which the least idle GPU is useless to the
-- typical tasks. Chooses the nodes and devices that the built-in fgd does.
--
-- F = sum over typical shapes of popularity x idle GPU that the shape cannot use there; the score is the whole part of
-- 100 sigmoid(drop of F / 1000). F is remembered by device model, free CPU between two demands, and free devices.
summary = "The placement that lowers fragmentation for the typical workload the most."

local exp, floor = math.exp, math.floor

local MOST_REMEMBERED = 40000

local workload        -- the typical shapes
local brackets        -- their CPU demands, ascending
local bracket_of      -- free CPU -> how many of them it reaches
local level_of        -- free thousandths of a device -> how many distinct demands on one it reaches
local level_count
local mark_of         -- a number that stands for an amount free on a device
local needs           -- distinct demands for GPUs: {level, devices}
local need_of         -- by shape: its place in needs
local layouts         -- by model, then CPU bracket: popularities of the shapes, split by what they lack there, and the
                      -- F that are known
local remembered_count

local function distinct(field)
  local values, seen = {}, {}
  for _, shape in ipairs(workload) do
    local value = shape[field]
    if not seen[value] and (field == "cpu_milli" or shape.gpus > 0) then
      seen[value] = true
      values[#values + 1] = value
    end
  end
  table.sort(values)
  return values
end

-- How many of the ascending values are at most `amount`.
local function reached(values, amount)
  local low, high = 0, #values
  while low < high do
    local middle = (low + high + 1) // 2
    if values[middle] <= amount then low = middle else high = middle - 1 end
  end
  return low
end

function prepare(cluster)
  workload = cluster.workload
  brackets, bracket_of = distinct("cpu_milli"), {}
  local levels = distinct("milli")
  level_count = #levels
  level_of = {}
  mark_of = {}
  for milli = 0, 1000 do
    level_of[milli] = reached(levels, milli)
    -- Bits without order (splitmix64), so that no two sums of a few of them are equal.
    local z = (milli + 1) * 0x9E3779B97F4A7C15
    z = (z ~ (z >> 30)) * 0xBF58476D1CE4E5B9
    z = (z ~ (z >> 27)) * 0x94D049BB133111EB
    mark_of[milli] = z ~ (z >> 31)
  end
  needs, need_of = {}, {}
  local places = {}
  for i, shape in ipairs(workload) do
    local level = shape.gpus > 0 and reached(levels, shape.milli) or 0
    local key = level * 1000 + shape.gpus
    if not places[key] then
      needs[#needs + 1] = {level, shape.gpus}
      places[key] = #needs
    end
    need_of[i] = places[key]
  end
  layouts, remembered_count = {}, 0
end

-- The shapes of the workload, in its order, by what they find at a node of this model with that much CPU.
local function lay_out(model, place)
  local layout = {known = {}, enough = {}, enough_need = {}, lacking = {}, lacking_need = {}, fits = {}, full = {}, barred = {}}
  local cpu = brackets[place] or -1
  for i, shape in ipairs(workload) do
    local allowed = #shape.models == 0
    for _, name in ipairs(shape.models) do allowed = allowed or name == model end
    local part
    if shape.gpus == 0 then
      part = cpu >= shape.cpu_milli and layout.fits or layout.full
    elseif not allowed then
      part = layout.barred
    else
      part = cpu >= shape.cpu_milli and layout.enough or layout.lacking
      local need = part == layout.enough and layout.enough_need or layout.lacking_need
      need[#need + 1] = need_of[i]
    end
    part[#part + 1] = shape.popularity
  end
  return layout
end

local devices, idle, usable, useless = {}, {}, {}, {}

local function sum(part, amount)
  local total = 0.0
  for i = 1, #part do total = total + part[i] * amount end
  return total
end

-- The sums are added up one part after the other, in the order of the workload: the last bit decides between nodes.
local function fragmentation(layout, milli, count)
  for level = 0, level_count do devices[level], idle[level] = 0, 0 end
  for i = 1, count do
    local free = milli[i]
    local level = level_of[free]
    devices[level] = devices[level] + 1
    idle[level] = idle[level] + free
  end
  for level = 1, level_count do
    devices[level] = devices[level] + devices[level - 1]
    idle[level] = idle[level] + idle[level - 1]
  end
  local all = idle[level_count]
  for i = 1, #needs do
    -- Devices that reach at least this level: those that do not reach the one before.
    local need = needs[i]
    local below = need[1] - 1
    local enough = below < 0 or count - devices[below] >= need[2]
    usable[i] = enough
    useless[i] = enough and below >= 0 and idle[below] or all
  end
  local lack_gpu, lack_cpu, lack_both = 0.0, 0.0, 0.0
  local part, need = layout.enough, layout.enough_need
  for i = 1, #part do lack_gpu = lack_gpu + part[i] * useless[need[i]] end
  part, need = layout.lacking, layout.lacking_need
  for i = 1, #part do
    if usable[need[i]] then
      lack_cpu = lack_cpu + part[i] * all
    else
      lack_both = lack_both + part[i] * all
    end
  end
  return lack_both + lack_gpu + lack_cpu + sum(layout.fits, all) + sum(layout.full, all) + sum(layout.barred, all)
end

-- The layout of a node's model and CPU, with the F that are known there.
local function layout_of(model, cpu)
  local place = bracket_of[cpu]
  if not place then
    place = reached(brackets, cpu)
    bracket_of[cpu] = place
  end
  local by_model = layouts[model]
  if not by_model then
    by_model = {}
    layouts[model] = by_model
  end
  local layout = by_model[place]
  if not layout then
    layout = lay_out(model, place)
    by_model[place] = layout
  end
  return layout
end

local function remember(layout, key, milli, count)
  local value = fragmentation(layout, milli, count)
  remembered_count = remembered_count + 1
  if remembered_count > MOST_REMEMBERED then
    for _, by_model in pairs(layouts) do
      for _, each in pairs(by_model) do each.known = {} end
    end
    remembered_count = 0
  end
  layout.known[key] = value
  return value
end

local function score_of(drop)
  return floor(100 * (1 / (1 + exp(-drop / 1000))))
end

-- Of a device, by a fraction; 0 where the memory of devices is not tracked.
local function needed_memory(node, shape)
  local total = node.total_device_memory_mib
  if total == 0 or shape.gpu_memory_mib > 0 then return total == 0 and 0 or shape.gpu_memory_mib end
  return total * shape.milli // 1000
end

local trial = {}

-- F does not depend on which device has how much free: the key of a node is the sum of numbers that stand for amounts.
local function read_devices(node)
  local count, milli, key = node.devices, node.milli, 0
  for i = 1, count do
    local free = milli[i]
    trial[i] = free
    key = key + mark_of[free]
  end
  return count, key
end

-- F when device i has so much less.
local function taken_from(layout, key, i, milli, count)
  local free = trial[i]
  key = key - mark_of[free] + mark_of[free - milli]
  local value = layout.known[key]
  if value then return value end
  trial[i] = free - milli
  value = remember(layout, key, trial, count)
  trial[i] = free
  return value
end

function score(node, shape)
  local count, key = read_devices(node)
  local model, cpu, milli = node.model, node.cpu_milli, shape.milli
  local layout = layout_of(model, cpu)
  local before = layout.known[key] or remember(layout, key, trial, count)
  layout = layout_of(model, cpu - shape.cpu_milli)
  if not shape.fraction then
    local taken = 0
    for i = 1, count do
      if taken < shape.gpus and trial[i] == 1000 then
        trial[i] = 0
        key = key - mark_of[1000] + mark_of[0]
        taken = taken + 1
      end
    end
    return score_of(before - (layout.known[key] or remember(layout, key, trial, count)))
  end
  local needed, memory = needed_memory(node, shape), node.device_memory_mib
  local least, tried
  for i = 1, count do
    local free = trial[i]
    if free >= milli and free ~= tried and (needed == 0 or memory[i] >= needed) then
      tried = free
      local after = taken_from(layout, key, i, milli, count)
      if not least or after < least then least = after end
    end
  end
  return score_of(before - least)
end

-- The first of those with the highest score; devices with as much free have the same.
function device(node, shape, fits)
  local count, key = read_devices(node)
  local layout = layout_of(node.model, node.cpu_milli)
  local before = layout.known[key] or remember(layout, key, trial, count)
  layout = layout_of(node.model, node.cpu_milli - shape.cpu_milli)
  local milli, best, best_score, tried = shape.milli, nil, nil, nil
  for n = 1, #fits do
    local i = fits[n]
    if trial[i] ~= tried then
      tried = trial[i]
      local gained = score_of(before - taken_from(layout, key, i, milli, count))
      if not best or gained > best_score then best, best_score = i, gained end
    end
  end
  return best
end
