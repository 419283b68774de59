while true do pcall(function() local s = ("x"):rep(100) end) end
