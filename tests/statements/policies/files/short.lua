-- Short jobs first, those of the queue `held` not at all.
summary = "Short jobs first."
knobs = {
  held = {type = "text", default = "", sentence = "A queue that is held back."},
  weight = {type = "integer", default = 1, least = 0, most = 10, sentence = "What a GPU counts."},
  mode = {type = "choice", default = "gpus", choices = {"gpus", "tasks"}},
  loud = {type = "boolean", default = false},
}

function order(job, queue, round)
  if queue.name == knob.held then return nil, "queue " .. queue.name .. " is held back" end
  return {knob.mode == "gpus" and job.total_milli * knob.weight or job.tasks, job.submit}
end
