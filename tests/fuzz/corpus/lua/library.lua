local t = {3, 1, 2, k = 'v', [7] = 1.5}
table.sort(t, function(a, b) return a > b end)
table.insert(t, 2, 'x') table.remove(t, 1) table.move(t, 1, 3, 2) print = nil
local s = ('%5.2f %s %q'):format(3.5, 'text', 'quoted') .. table.concat({'a', 'b'}, ',')
for k, v in pairs(t) do s = s .. tostring(k) end
for w in s:gmatch('%w+') do t[#t + 1] = w:upper():rep(3, '-') end
function f(x) return select('#', table.unpack(t)) end
local co = coroutine.wrap(function() coroutine.yield(1) error({}) end)
co() pcall(co) xpcall(f, function(e) return e end)
