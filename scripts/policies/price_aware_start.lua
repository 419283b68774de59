-- Work that can wait starts when power is cheap (or clean): jobs of one queue are held back in dear hours, unless they
-- have waited long. There is no forecast but the hours given here.
summary = "Jobs that can wait start in cheap hours, or after a longest wait."

knobs = {
  queue = {type = "text", default = "flexible", sentence = "The queue whose jobs can wait."},
  dear_from = {type = "integer", default = 16, least = 0, most = 23, sentence = "The hour (UTC) from which power is dear."},
  dear_to = {type = "integer", default = 21, least = 0, most = 24, sentence = "The hour from which it is cheap again."},
  longest_wait = {type = "integer", default = 86400, least = 0, sentence = "Seconds after which a job starts all the same."},
}

function order(job, queue, round)
  local is_dear = round.hour >= knob.dear_from and round.hour < knob.dear_to
  local runs_into_it = not is_dear and round.hour < knob.dear_from and
      job.expected > 0 and (knob.dear_from - round.hour) * 3600 < job.expected
  if queue.name == knob.queue and job.waited < knob.longest_wait then
    if is_dear then return nil, "power is dear until " .. knob.dear_to .. " o'clock UTC" end
    if runs_into_it and job.expected <= (24 - knob.dear_to + knob.dear_from) * 3600 then
      return nil, "it would run into the hours from " .. knob.dear_from .. " o'clock UTC"
    end
  end
  return {-job.priority, job.submit}
end
