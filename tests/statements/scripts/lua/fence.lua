#!/usr/bin/env -S berth --script
local function tell(f, ...) print(select(2, pcall(f, ...))) end
tell(function() return os end)
tell(function() return io end)
tell(function() return require("os") end)
tell(function() return getmetatable(berth) end)
tell(function() return load("return 1") end)
tell(function() berth.exec = nil end)
tell(function() berth = nil end)
tell(function() print = nil end)
tell(function() berth.args[1] = "x" end)
tell(function() berth.query.x = 1 end)
tell(function() return berth.exce end)
local names = {}
for name in pairs(berth) do names[#names + 1] = name end
print(table.concat(names, " "))
