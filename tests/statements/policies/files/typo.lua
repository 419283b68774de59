function ordr(job) return job.id end
