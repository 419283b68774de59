-- Own quota first, then borrowed; inside each, waiting and small jobs count (after 58.com's WPAI).
summary = "Jobs within their queue's quota far before those that borrow; waiting counts."

knobs = {
  wait_bonus = {type = "number", default = 1, least = 0, sentence = "What each minute waited counts."},
  size_penalty = {type = "number", default = 10, least = 0, sentence = "What each GPU asked for counts against a job."},
}

function order(job, queue, round)
  local borrows = queue.quota_milli >= 0 and queue.used_milli + job.total_milli > queue.quota_milli
  local points = job.waited / 60 * knob.wait_bonus - job.total_milli / 1000 * knob.size_penalty
  return {borrows and 1 or 0, -job.priority, -points}
end
