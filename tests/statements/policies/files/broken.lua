function order(job)
  return job.id
