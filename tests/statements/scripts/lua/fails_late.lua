berth.exec("CREATE QUEUE early")
berth.exec("ALTER QUEUE early SET WEIGHT 3")
local missing
print(missing.name)
