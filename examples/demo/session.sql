-- A company's cluster: 320 GPUs of five models, and 363 jobs of five departments that all want to start.
.read cluster.sql

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

-- And under another policy? The same jobs at their times, with their durations: balance breaks up what gangs need.
SIMULATE JOBS FROM 'jobs.csv' ON CLUSTER USING priority + berth, priority + worst_fit INTO week;
