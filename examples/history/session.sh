# A cluster like Alibaba's PAI and ten days of its work, made up from the published figures; what ran becomes history,
# and the history predicts what comes next.
cd "$SCRATCH"
berth -c "GENERATE NODES pai_like WITH (jobs = 600, gpus = 64, days = 10) INTO 'nodes.csv'"
berth -c "GENERATE TRACE pai_like WITH (jobs = 600, gpus = 64, days = 10, seed = 7) INTO 'past.csv'"
head -3 past.csv

berth -c "IMPORT NODES FROM 'nodes.csv'; IMPORT TRACE 'past.csv' WITH (create_missing = true, shift = true)"

# Who asks for how much more than he uses.
berth -c "SELECT q.name AS queue, count(*) AS runs, round(sum(g.cpu_milli) / 1000.0) AS cores_asked,
            round(sum(u.cpu_mean_milli) / 1000.0) AS cores_used
          FROM run_usage u JOIN runs r ON r.id = u.run_id JOIN jobs j ON j.id = r.job_id
          JOIN queues q ON q.id = j.queue_id JOIN task_groups g ON g.job_id = j.id AND g.group_index = u.group_index
          GROUP BY q.id ORDER BY runs DESC LIMIT 3"

# The same work once more, under two policies.
berth -c "SIMULATE JOBS FROM 'past.csv' ON NODES FROM 'nodes.csv' USING fifo + berth, smallest_first + berth INTO again" \
  >/dev/null
berth -c "SELECT policy, tasks, placed, round(wait_mean) AS wait_mean, round(completion_mean) AS completion_mean
          FROM simulation_results WHERE simulation = 'again'"
berth -c "CHECK"
