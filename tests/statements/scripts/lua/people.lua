berth.log("for people")
