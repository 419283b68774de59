-- Two lines, of which the second has a slip.
for _, job in ipairs(berth.query("SELECT job FROM jobs_now WHERE state = 'pending'")) do print(job.job) end
berth.exec("SUBMIT JOB report IN QUEUE serach WITH (gpus = 1)")
