print("größe", #"größe", berth.query("SELECT name FROM queues WHERE name = ?", "größe")[1].name) berth.exec("DROP QUEUE \"größe\"")
