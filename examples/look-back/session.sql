-- "What happened in the last half hour?" A small cluster, a job that waits, and somebody who changed things.
CREATE DEVICE MODEL A100 WITH (memory = 80GiB);
CREATE NODE TYPE a100x4 WITH (cpu = 64, memory = 512GiB, device_model = A100, devices = 4);
CREATE NODES gpu[1-3] TYPE a100x4 RACK r1;
CREATE QUEUE vision;
CREATE QUEUE nlp;
SUBMIT JOB segment IN QUEUE vision WITH (user = bob, tasks = 2, gpus = 4, cpu = 16, memory = 64GiB);
SUBMIT JOB bert IN QUEUE nlp WITH (user = ann, tasks = 2, gpus = 4, cpu = 16, memory = 64GiB);
RUN SCHEDULE;

-- Later: one node is drained, the quota of a department changed, a job has finished.
DRAIN NODE gpu3 WITH (reason = 'memory errors');
ALTER QUEUE nlp SET QUOTA (A100 = 8);
FINISH JOB segment;
RUN SCHEDULE;

-- What is different from what the first round left?
DIFF STATE BETWEEN 'round 1' AND now;
DIFF STATE BETWEEN 'round 1' AND now OF QUEUES;

-- Any table or view as it was; also at a time, such as '2026-11-01 09:00', or '90m ago'.
SELECT node, state, gpu_used_milli FROM as_of('node_usage', 'round 1');
SELECT b.name, a.state AS then_was, b.state AS is_now FROM as_of('jobs', 'round 1') a JOIN jobs b USING (id);

-- All about one thing.
SHOW HISTORY OF JOB segment;
SHOW HISTORY OF NODE gpu3;
