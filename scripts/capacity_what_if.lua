-- How long would jobs have waited with fewer or more nodes? Plays the past again over sizes of the cluster, and plots.
--
--   berth --script capacity_what_if.lua [type=a100x8] [from=-2] [to=4] [step=2] [since=2026-10-01] [until=2026-11-01]
--                                       [policy=live]
--
--   type           the node type that there would be less or more of; without it the most frequent
--   from, to, step how many nodes less (below 0) or more
--   since, until   the time to be played again; without them the 30 days up to now
--   policy         as BACKTEST takes it: live, or 'fair_share + berth'
--
-- Nothing changes. HELP BACKTEST says what is played and what is not.
local known = {type = true, from = true, to = true, step = true, since = true, ["until"] = true, policy = true}
for name in pairs(berth.args) do
  if type(name) == "string" and not known[name] then error("unknown argument '" .. name .. "'", 0) end
end
local function number(name, otherwise)
  local value = math.tointeger(tonumber(berth.args[name] or otherwise))
  return value or error(name .. ": expected a whole number, found '" .. berth.args[name] .. "'", 0)
end
local least, most, step = number("from", -2), number("to", 4), number("step", 2)
if step < 1 or least > most then error("expected from <= to and a step of at least 1", 0) end

local types = berth.query([[
  SELECT t.name AS type, count(*) AS nodes FROM nodes n JOIN node_types t ON t.id = n.type_id
  WHERE ?1 IS NULL OR t.name = ?1 GROUP BY t.id ORDER BY nodes DESC, t.name]], berth.args.type)
if #types == 0 then error("there are no nodes" .. (berth.args.type and " of type " .. berth.args.type or ""), 0) end
local node_type, nodes = types[1].type, types[1].nodes
local since = berth.args.since or berth.time_text(berth.now() - 30 * 86400)

local rows = {}
local x, mean, p90 = {}, {}, {}
for more = least, most, step do
  if nodes + more > 0 then
    local request = {using = berth.args.policy or "live", from = since, to = berth.args["until"]}
    local change = string.format("%d x %s", math.abs(more), node_type)
    if more > 0 then request.more_nodes = change elseif more < 0 then request.fewer_nodes = change end
    local answer = berth.backtest(request)
    for _, row in ipairs(answer.tables.results) do
      if row.policy ~= "recorded" and row.wait_mean then
        row.nodes = nodes + more
        rows[#rows + 1] = row
        x[#x + 1], mean[#mean + 1], p90[#p90 + 1] = row.nodes, row.wait_mean / 3600, row.wait_p90 / 3600
      end
    end
  end
end
if #rows == 0 then
  berth.finding("no job came since " .. since)
  return
end
berth.show(rows, {
  "nodes",
  {name = "wait_mean", decimals = 0},
  {name = "wait_p90", decimals = 0},
  {name = "completion_mean", decimals = 0},
  {name = "utilisation_pct", decimals = 1},
})
berth.plot{
  title = "hours that jobs wait",
  x = "nodes of type " .. node_type .. " (now " .. nodes .. ")",
  series = {{name = "mean", x = x, y = mean}, {name = "p90", x = x, y = p90}},
}
