-- The job that has had the least service goes first, in levels (Gu et al., Tiresias, NSDI'19); in a level by arrival.
summary = "The job that has had the least GPU time so far first, in levels."

knobs = {
  first = {type = "number", default = 3250, least = 0, sentence = "GPU-seconds that end the first level."},
  second = {type = "number", default = 7200, least = 0, sentence = "GPU-seconds that end the second."},
}

function order(job)
  local level = job.service < knob.first and 0 or job.service < knob.second and 1 or 2
  return {level, job.submit}
end
