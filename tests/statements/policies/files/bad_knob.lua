knobs = {weight = {type = "integer", default = 30, most = 10}}
function order(job) return 1 end
