function order(job) return help(job) end
function help(job) return job.id end
