summary = "Fewest free devices."
function score(node, shape) return -node.free_milli / 1000 end
function order(job) return job.id end
