function order(job)
  if job.total_milli > 1000 then return job.colour end
  return 1
end
function score(node)
  if node.model == "T4" then while true do end end
  return 1
end
