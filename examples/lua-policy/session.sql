-- A site's own rule, as a policy in Lua: jobs of queue batch start at night and on weekends only.
CREATE DEVICE MODEL A100 WITH (memory = 80GiB);
CREATE NODE TYPE a100x4 WITH (cpu = 64, memory = 512GiB, device_model = A100, devices = 4);
CREATE NODES gpu[1-2] TYPE a100x4;
CREATE QUEUE ads;
CREATE QUEUE batch;

CREATE POLICY night FROM '../../scripts/policies/nights_and_weekends.lua';
TEST POLICY night FROM '../../scripts/policies/nights_and_weekends_test.lua';
SHOW POLICY night;

SUBMIT JOB train IN QUEUE ads WITH (tasks = 1, gpus = 4, cpu = 8, memory = 64GiB);
SUBMIT JOB sweep IN QUEUE batch WITH (tasks = 1, gpus = 4, cpu = 8, memory = 64GiB);
-- What would it change?
PLAN SET order_policy = night;
SET order_policy = night;
RUN SCHEDULE;
EXPLAIN JOB sweep;

-- A knob of the policy, checked by what it declares.
ALTER POLICY night SET (opens = 0, closes = 23);
RUN SCHEDULE;
SHOW JOBS;
