-- Jobs of one queue run at night and on weekends only; all others by priority, and by the time they came.
summary = "Jobs of one queue at night and on weekends only, the others by priority."

knobs = {
  queue = {type = "text", default = "batch", sentence = "The queue that waits for the night."},
  opens = {type = "integer", default = 20, least = 0, most = 23, sentence = "The hour (UTC) at which its jobs may start."},
  closes = {type = "integer", default = 6, least = 0, most = 23, sentence = "The hour from which they may not."},
}

local SATURDAY = 6

local function is_open(round)
  if round.weekday >= SATURDAY then return true end
  if knob.opens < knob.closes then return round.hour >= knob.opens and round.hour < knob.closes end
  return round.hour >= knob.opens or round.hour < knob.closes
end

function order(job, queue, round)
  if queue.name == knob.queue and not is_open(round) then
    return nil, "it starts from " .. knob.opens .. " to " .. knob.closes .. " o'clock UTC, and on weekends"
  end
  return -job.priority
end
