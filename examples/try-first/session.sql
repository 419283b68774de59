-- Look before you leap: a change as a plan, a policy in the shadow of the live one.
CREATE DEVICE MODEL A100 WITH (memory = 80GiB);
CREATE NODE TYPE a100x8 WITH (cpu = 128, memory = 1TiB, device_model = A100, devices = 8);
CREATE NODES gpu[1-2] TYPE a100x8;
CREATE QUEUE search;
CREATE QUEUE research;
SET order_policy = fifo;
SUBMIT JOB sweep IN QUEUE research WITH (tasks = 12, min_tasks = 4, gpus = 1, cpu = 8, memory = 64GiB, time_limit = 8h);
RUN SCHEDULE;

-- Would a job start now, when, where? It is not submitted.
PLAN SUBMIT JOB ranking IN QUEUE search WITH (tasks = 2, gpus = 4, cpu = 32, memory = 256GiB, time_limit = 2h);

-- What would a quota change? The change and the round after it are kept as a plan.
SUBMIT JOB ranking IN QUEUE search WITH (tasks = 2, gpus = 4, cpu = 32, memory = 256GiB, time_limit = 2h);
SET min_runtime = 0s;
SET pending_delay = 0s;
PLAN ALTER QUEUE search SET QUOTA (A100 = 8);

-- Somebody else was faster: what the plan rests on is no longer so.
SUBMIT JOB probe IN QUEUE search WITH (gpus = 1, cpu = 4, memory = 32GiB);
APPLY PLAN 2;
PLAN ALTER QUEUE search SET QUOTA (A100 = 8);
APPLY PLAN 3;
SHOW EVENTS LAST 2;

-- A candidate plans every round beside the live policy; nothing of it happens.
ALTER POLICY smallest_first SET MODE SHADOW;
CREATE DEVICE MODEL L4 WITH (memory = 24GiB);
CREATE NODE TYPE l4x4 WITH (cpu = 32, memory = 128GiB, device_model = L4, devices = 4);
CREATE NODE small1 TYPE l4x4;
SUBMIT JOB wide IN QUEUE research WITH (tasks = 4, gpus = 1, models = L4, cpu = 4, memory = 16GiB, time_limit = 1h);
SUBMIT JOB narrow IN QUEUE research WITH (gpus = 1, models = L4, cpu = 4, memory = 16GiB, time_limit = 10m);
RUN SCHEDULE;
SHOW SHADOW smallest_first;
PLAN ALTER POLICY smallest_first SET MODE LIVE;
ALTER POLICY smallest_first SET MODE LIVE;
