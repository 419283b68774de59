-- Rules of the house, said in SQL: no plan may break them. A cluster of 16 GPUs in two racks, for two departments.
CREATE DEVICE MODEL A100 WITH (memory = 80GiB);
CREATE NODE TYPE a100x4 WITH (cpu = 64, memory = 512GiB, device_model = A100, devices = 4);
CREATE NODES gpu[1-2] TYPE a100x4 RACK r1;
CREATE NODES gpu[3-4] TYPE a100x4 RACK r2;
CREATE QUEUE serving;
CREATE QUEUE research;

-- One node's worth of GPUs stays free for what is urgent.
CREATE ASSERTION four_gpus_free AS SELECT count(*) - sum(used_milli) / 1000.0 AS gpus_free FROM device_usage HAVING gpus_free < 4;
-- Replicas of one service do not all stand in one rack.
CREATE ASSERTION two_racks AS SELECT j.name, count(*) AS replicas FROM jobs j JOIN allocations a ON a.job_id = j.id JOIN nodes n ON n.id = a.node_id WHERE j.queue_id = (SELECT id FROM queues WHERE name = 'serving') GROUP BY j.id HAVING count(*) > 1 AND count(DISTINCT n.rack) = 1;

SUBMIT JOB chat IN QUEUE serving WITH (tasks = 2, gpus = 1, cpu = 4, memory = 32GiB);
PLAN SCHEDULE;
RUN SCHEDULE;

-- Held back: both replicas would stand in one rack.
EXPLAIN JOB chat;
CANCEL JOB chat;
SUBMIT JOB sweep IN QUEUE research WITH (tasks = 3, gpus = 4, cpu = 16, memory = 64GiB);
SUBMIT JOB probe IN QUEUE research WITH (gpus = 1, cpu = 4, memory = 16GiB);

-- Only what would break a rule waits, and says why. With SET assertion_action = refuse nothing of the round is done.
RUN SCHEDULE;
SHOW JOBS;
SHOW ASSERTIONS;
