-- A cluster: eight machines with eight A100 each, in two racks. NVLink joins devices 0-3 and 4-7.
CREATE DEVICE MODEL A100 WITH (memory = 80GiB);
CREATE NODE TYPE a100x8 WITH (cpu = 128, memory = 1TiB, device_model = A100, devices = 8, link_groups = '[0 1 2 3] [4 5 6 7]');
CREATE NODES train[1-4] TYPE a100x8 RACK r1;
CREATE NODES train[5-8] TYPE a100x8 RACK r2;
CREATE QUEUE nlp;
CREATE QUEUE vision;

-- A gang: six tasks of four GPUs, each inside one NVLink group, all in one rack. And work of others.
SUBMIT JOB bert IN QUEUE nlp WITH (user = ann, tasks = 6, gpus = 4, cpu = 32, memory = 200GiB, locality = rack);
SUBMIT JOB segment IN QUEUE vision WITH (user = bob, tasks = 3, gpus = 8, cpu = 64, memory = 400GiB);
SUBMIT JOB llama IN QUEUE nlp WITH (user = ann, tasks = 4, gpus = 8, cpu = 64, memory = 400GiB);

-- What would a round do? Nothing starts yet.
PLAN SCHEDULE;
APPLY PLAN 1;
SHOW MAP;

-- Why does llama wait?
EXPLAIN JOB llama;
EXPLAIN JOB llama ON NODE train7;

-- Work ends; the next round starts llama.
FINISH JOB segment;
RUN SCHEDULE;
SHOW JOBS;
