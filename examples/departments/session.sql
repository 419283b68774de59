-- Three departments own a cluster of 32 A100 between them.
CREATE DEVICE MODEL A100 WITH (memory = 80GiB);
CREATE NODE TYPE a100x8 WITH (cpu = 128, memory = 1TiB, device_model = A100, devices = 8);
CREATE NODES gpu[1-4] TYPE a100x8;
CREATE QUEUE search;
CREATE QUEUE ads;
CREATE QUEUE research;
ALTER QUEUE search SET QUOTA (A100 = 16);
ALTER QUEUE ads SET QUOTA (A100 = 12) LEND LIMIT (A100 = 8);
ALTER QUEUE research SET QUOTA (A100 = 4);
SET order_policy = fair_share;
SET min_runtime = 2m;

-- Nobody else is there: research borrows what the others lend.
SUBMIT JOB sweep-1 IN QUEUE research WITH (tasks = 8, gpus = 1, cpu = 8, memory = 64GiB, time_limit = 8h, checkpoint_every = 30m);
SUBMIT JOB sweep-2 IN QUEUE research WITH (tasks = 8, gpus = 1, cpu = 8, memory = 64GiB, time_limit = 8h);
SUBMIT JOB sweep-3 IN QUEUE research WITH (tasks = 8, gpus = 1, cpu = 8, memory = 64GiB, time_limit = 8h);
SUBMIT JOB sweep-4 IN QUEUE research WITH (tasks = 8, gpus = 1, cpu = 8, memory = 64GiB, time_limit = 8h);
RUN SCHEDULE;
SHOW QUEUES;
SHOW BORROWING;

-- One of the four waits: ads keeps four GPUs for itself. What would start it?
EXPLAIN JOB sweep-4;
EXPLAIN JOB sweep-4 COUNTERFACTUAL;

-- The owner comes back. First as a plan: who would make room, and what is lost?
SUBMIT JOB ranking IN QUEUE search WITH (tasks = 2, gpus = 8, cpu = 64, memory = 512GiB, time_limit = 2h);
PLAN SCHEDULE;
APPLY PLAN 1;
SHOW EVICTIONS;
SHOW QUEUES;

-- Ads lends four GPUs of its own accord, for a time.
CREATE LOAN 4 A100 FROM ads TO research UNTIL '2099-12-01' RETURN GRACE 2h;
SHOW LOANS;
RUN SCHEDULE;
EXPLAIN JOB sweep-2;
SHOW WAITS OF JOB sweep-2;
