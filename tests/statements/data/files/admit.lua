-- At most two jobs wait in a queue.
summary = "At most two jobs wait in a queue."

function admit(job, view)
  if view.queues[job.queue].pending_jobs >= 2 then
    return nil, "two jobs wait already"
  end
  job.tag = "seen"
  return job
end
