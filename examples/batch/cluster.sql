CREATE DEVICE MODEL L4 WITH (memory = 24GiB);
CREATE NODE TYPE l4x4 WITH (cpu = 64, memory = 256GiB, device_model = L4, devices = 4);
CREATE NODES gpu[1-2] TYPE l4x4;
CREATE QUEUE batch;
SUBMIT JOB nightly IN QUEUE batch WITH (user = cron, tasks = 2, gpus = 2, cpu = 8, memory = 32GiB);
SUBMIT JOB report IN QUEUE batch WITH (user = cron, tasks = 4, gpus = 2, cpu = 8, memory = 32GiB);
SET backfill = greedy;
