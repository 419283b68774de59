-- The first node of the cheapest device model that a task may use.
summary = "The cheapest device model that fits, the first node of it."

knobs = {
  prices = {type = "text", default = "T4 0.35, A100 3.2, H100 7", sentence = "Device models and what one costs an hour."},
  unknown = {type = "number", default = 1, least = 0, sentence = "The price of models that are not named, and of nodes without devices."},
}

local price_of

local function read_prices()
  price_of = {}
  for part in knob.prices:gmatch("[^,]+") do
    local model, price = part:match("^%s*(%S+)%s+(%S+)")
    if not tonumber(price) then error("prices: '" .. part .. "': expected a device model and a number") end
    price_of[model] = tonumber(price)
  end
end

function score(node, shape)
  if not price_of then read_prices() end
  return -(price_of[node.model] or knob.unknown)
end
