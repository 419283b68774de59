-- A company's cluster: 320 GPUs of five models, and 360 jobs of five departments that all want to start.
.read cluster.sql
-- Three more, each of a kind that is hard to place.
SUBMIT JOB foundation IN QUEUE nlp PRIORITY high WITH (user = ann, tasks = 8, gpus = 8, cpu = 96, memory = 800GiB, models = H100, locality = rack);
SUBMIT JOB notebook IN QUEUE platform PRIORITY low WITH (user = bob, gpus = 0.5, gpu_memory = 40GiB, cpu = 4, memory = 16GiB, models = L40S);
SUBMIT JOB crawl IN QUEUE ads PRIORITY low WITH (user = eve, tasks = 40, min_tasks = 40, cpu = 48, memory = 128GiB);

-- What would a round do?
PLAN SCHEDULE;
APPLY PLAN 1;
SHOW CLUSTER;
SHOW MAP;
SHOW QUEUES;

-- Who waits, and for what?
SELECT wait_reason, count(*) AS jobs, sum(tasks) AS tasks FROM jobs_now WHERE state = 'pending' GROUP BY 1 ORDER BY 2 DESC;
EXPLAIN JOB foundation;
EXPLAIN JOB notebook;
EXPLAIN JOB crawl;
CHECK;

-- Would another policy serve the waiting better? The same jobs, at their times and with their durations.
SIMULATE JOBS FROM 'jobs.csv' ON CLUSTER USING priority + berth, priority + worst_fit, smallest_first + berth INTO week;
