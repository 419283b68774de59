-- A new team with all that belongs to it, or nothing: new_team.lua NAME quota=GPUS
local name, quota = berth.args[1], berth.args.quota
berth.transaction(function()
  berth.exec("CREATE QUEUE ?", name)
  berth.exec("CREATE QUEUE ? UNDER ?", name .. "-batch", name)
  berth.exec("ALTER QUEUE ? SET QUOTA (A100 = ?)", name, quota)
end)
print("team " .. name .. " owns " .. quota .. " A100")
