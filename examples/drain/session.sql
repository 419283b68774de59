-- Four machines, two of them busy.
CREATE DEVICE MODEL V100 WITH (memory = 32GiB);
CREATE NODE TYPE v100x4 WITH (cpu = 64, memory = 256GiB, device_model = V100, devices = 4);
CREATE NODES gpu[1-4] TYPE v100x4;
CREATE QUEUE vision;
SUBMIT JOB first IN QUEUE vision WITH (tasks = 2, gpus = 4, cpu = 16, memory = 64GiB);
RUN SCHEDULE;

-- gpu1 needs a new fan. Draining stops nothing; it only lets nothing new start there. gpu3 runs nothing.
DRAIN NODES gpu1, gpu3;
SELECT node, state, tasks, gpu_used_milli FROM node_usage;

-- A job that would need what is drained says so.
SUBMIT JOB second IN QUEUE vision WITH (tasks = 2, gpus = 4, cpu = 16, memory = 64GiB);
EXPLAIN JOB second;

-- A plan made now and applied after the cluster has changed is refused.
PLAN SCHEDULE;
RESUME NODE gpu3;
APPLY PLAN 1;

-- With gpu3 back there is room, and when the last task on gpu1 ends, gpu1 is drained.
RUN SCHEDULE;
FINISH JOB first;
SELECT node, state, tasks, gpu_used_milli FROM node_usage;
RESUME NODE gpu1;
SELECT kind, object, detail FROM events ORDER BY id DESC LIMIT 5;
