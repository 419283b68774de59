-- Tasks of half a device go to T4s; nobody loses more for room than a short run.
summary = "Where tasks may run, who makes room, and who may submit."

function feasible(node, shape)
  if shape.fraction and node.model ~= "T4" then return false, "fractions run on T4s" end
  return true
end

function victim_cost(job)
  return job.queue == "nlp" and 1e6 or 0
end

function admit(job, view)
  local group = job.groups[1]
  if group.gpus > 4 then return nil, "at most 4 GPUs a task, found " .. group.gpus end
  if job.queue == "ads" and view.queues.ads.pending_jobs >= 2 then return nil, "ads has enough that waits" end
  if job.time_limit == 0 then job.time_limit = 3600 end
  if group.gpus == 0 then group.pool = "serve" end
  if job.tag == "loop" then while true do end end
  if job.tag == "typo" then job.gropus = {} end
  if job.tag == "wrong" then job.groups[1].tasks = -1 end
  return job
end
