local s = ('a'):rep(2000) s:find(('a*'):rep(3) .. 'b') pcall(string.rep, 'x', 1e9) while true do pcall(function() while true do end end) end
