-- Jobs that want a large part of the cluster go first and are not ended for others; nobody may submit one without the
-- queue for it, and it must say how long it runs.
summary = "Very large jobs: one queue, first in the order, dear to end, and with a time limit."

knobs = {
  queue = {type = "text", default = "hero", sentence = "The queue of the large jobs."},
  devices = {type = "integer", default = 64, least = 1, sentence = "A job of so many devices is large."},
  longest = {type = "integer", default = 7 * 86400, least = 1, sentence = "The longest time limit of one, seconds."},
}

local function is_large(job)
  return job.total_milli >= knob.devices * 1000
end

function order(job)
  return {is_large(job) and 0 or 1, -job.priority, job.submit}
end

function victim_cost(job)
  return is_large(job) and 1e9 or 0
end

function admit(job, view)
  if not is_large(job) then
    if job.queue == knob.queue then return nil, "queue " .. knob.queue .. " is for jobs of " .. knob.devices .. " devices and more" end
    return job
  end
  if job.queue ~= knob.queue then return nil, "a job of " .. knob.devices .. " devices and more belongs into queue " .. knob.queue end
  if job.time_limit == 0 or job.time_limit > knob.longest then
    return nil, "it needs a time limit of at most " .. knob.longest .. " seconds"
  end
  return job
end
