-- At the end of a month: what each queue owes and is owed, by device model, and a balance of all.
--
--   berth --read-only --script month_end_chargeback.lua [month=2026-10] [csv=october.csv]
--
--   month   of the report; without it the month before this one
--   csv     also writes all lines into this file, as REPORT CHARGEBACK ... INTO does
--
-- Exit code 4: the accounts do not add up, or there are none of that month.
local known = {month = true, csv = true}
for name in pairs(berth.args) do
  if type(name) == "string" and not known[name] then error("unknown argument '" .. name .. "'", 0) end
end
local month = berth.args.month
  or berth.query("SELECT strftime('%Y-%m', ?, 'unixepoch', 'start of month', '-1 day') AS month", berth.now())[1].month
local period = berth.query("SELECT date(?1 || '-01') AS first, date(?1 || '-01', '+1 month') AS next", month)[1]
if not period.first or not month:find("^%d%d%d%d%-%d%d$") then
  error("month: expected a month such as 2026-10, found '" .. month .. "'", 0)
end

local report = "REPORT CHARGEBACK FROM '" .. period.first .. "' TO '" .. period.next .. "' BY model"
local answer = berth.exec(report)
for _, note in ipairs(answer.notes) do berth.log(note) end
local lines = answer.rows
if #lines == 0 then
  berth.finding("there are no accounts of " .. month)
  return
end
if berth.args.csv then
  berth.log(berth.exec(report .. " INTO " .. berth.quote(berth.args.csv) .. " WITH (replace = true)").notes[1])
end

-- A table for each queue; amounts in GPU-hours, price and credit in the site's money.
local shown = {"owned", "used_own", "borrowed", "lent", "idle", "lost", "price", "credit"}
local columns = {"device_model"}
for _, name in ipairs(shown) do columns[#columns + 1] = {name = name, decimals = 2} end

local function add(into, line)
  for _, name in ipairs(shown) do into[name] = (into[name] or 0) + (line[name] or 0) end
end

local queues, of_queue, all = {}, {}, {}
for _, line in ipairs(lines) do
  if not of_queue[line.queue] then
    queues[#queues + 1] = line.queue
    of_queue[line.queue] = {title = line.queue .. ", " .. month, sum = {device_model = "all"}}
  end
  local rows = of_queue[line.queue]
  rows[#rows + 1] = line
  add(rows.sum, line)
  add(all, line)
end
for _, queue in ipairs(queues) do
  local rows = of_queue[queue]
  if #rows > 1 then rows[#rows + 1] = rows.sum end
  berth.show(rows, columns)
  print()
end

local balance = {title = "balance, " .. month}
for i, queue in ipairs(queues) do
  local sum = of_queue[queue].sum
  balance[i] = {queue = queue, pays = sum.price, is_credited = sum.credit, balance = sum.credit - sum.price}
end
balance[#balance + 1] = {queue = "all", pays = all.price, is_credited = all.credit, balance = all.credit - all.price}
berth.show(balance, {
  "queue",
  {name = "pays", decimals = 2},
  {name = "is_credited", decimals = 2},
  {name = "balance", decimals = 2},
})

-- What all borrow is what all lend, and what is nobody's.
local unowned = 0
for _, line in ipairs(lines) do unowned = unowned + line.unowned end
if math.abs(all.borrowed - all.lent - unowned) > 0.01 then
  berth.finding(string.format("%.2f GPU-hours were borrowed, but %.2f lent and %.2f unowned", all.borrowed, all.lent, unowned))
end
