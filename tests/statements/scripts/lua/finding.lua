berth.exec("CREATE QUEUE kept") berth.finding("one queue was missing")
