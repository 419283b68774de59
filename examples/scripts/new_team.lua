-- A new team with all that belongs to it, or nothing: new_team.lua NAME quota=GPUS
local name, quota = berth.args[1], berth.args.quota
berth.transaction(function()
  berth.exec("CREATE QUEUE " .. berth.quote(name))
  berth.exec("CREATE QUEUE " .. berth.quote(name .. "-batch") .. " UNDER " .. berth.quote(name))
  berth.exec("ALTER QUEUE " .. berth.quote(name) .. " SET QUOTA (A100 = " .. quota .. ")")
end)
print("team " .. name .. " owns " .. quota .. " A100")
