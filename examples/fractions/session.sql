-- One machine with two devices of 16 GiB.
CREATE DEVICE MODEL T4 WITH (memory = 16GiB);
CREATE NODE TYPE t4x2 WITH (cpu = 32, memory = 128GiB, device_model = T4, devices = 2);
CREATE NODE serve1 TYPE t4x2;
CREATE QUEUE search;

-- A quarter of a device and no word about its memory: a quarter of that too, 4 GiB.
SUBMIT JOB rank IN QUEUE search WITH (tasks = 3, gpus = 0.25, cpu = 2, memory = 8GiB);
-- Little computing, much memory: a tenth of a device with 10 GiB. It fits beside none of the others.
SUBMIT JOB embed IN QUEUE search WITH (gpus = 0.1, gpu_memory = 10GiB, cpu = 2, memory = 8GiB);
RUN SCHEDULE;
SHOW TASKS;
SHOW DEVICES;

-- Nine tenths of device 1 are idle, but only 6 GiB of its memory: half a device with 8 GiB has to wait.
SUBMIT JOB train IN QUEUE search WITH (gpus = 0.5, cpu = 2, memory = 8GiB);
RUN SCHEDULE;
EXPLAIN JOB train;

-- What no device could ever give is refused at once, and so is one and a half of a device.
SUBMIT JOB huge IN QUEUE search WITH (gpus = 0.5, gpu_memory = 24GiB);
SUBMIT JOB odd IN QUEUE search WITH (gpus = 1.5);

-- Triggers in the database hold the sums, whoever writes. The same in SQL:
SELECT node, device_index, used_milli, memory_used_mib, memory_mib FROM device_usage;
CHECK;
