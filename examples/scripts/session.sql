-- Scripts of an administrator, in Lua: scripts/*.lua, and three short ones that lie beside this file.
CREATE DEVICE MODEL A100 WITH (memory = 80GiB, price = 2);
CREATE NODE TYPE a100x8 WITH (cpu = 128, memory = 1TiB, device_model = A100, devices = 8);
CREATE NODES gpu[1-4] TYPE a100x8;
CREATE QUEUE search;
CREATE QUEUE research;
ALTER QUEUE search SET QUOTA (A100 = 16);
ALTER QUEUE research SET QUOTA (A100 = 16);
SET order_policy = fair_share;
SET min_runtime = 0s;
SET pending_delay = 0s;
SUBMIT JOB sweep IN QUEUE research WITH (tasks = 24, gpus = 1, cpu = 8, checkpoint_every = 12h);
RUN SCHEDULE;

-- 9h later
-- Search wants its own back. What it would cost research is more than the script may spend; a larger sum does.
SUBMIT JOB ranking IN QUEUE search WITH (tasks = 12, gpus = 1, cpu = 8);
RUN SCRIPT '../../scripts/nightly_rebalance.lua' WITH (args = 'most_lost=100');
RUN SCRIPT '../../scripts/nightly_rebalance.lua' WITH (args = ('most_lost=250', 'scores=berth,best_fit'));
SHOW EVENTS LAST 1;

-- 20d later
RUN SCRIPT '../../scripts/month_end_chargeback.lua' WITH (args = 'month=2026-01');

-- A script is read as it is; an error says where, and what was meant.
RUN SCRIPT 'broken.lua';

-- What it does it does statement by statement, or all together (berth.transaction), or only to see (berth.what_if).
RUN SCRIPT 'new_team.lua' WITH (args = ('vision', 'quota=8'));
RUN SCRIPT 'new_team.lua' WITH (args = ('vision', 'quota=8'));
RUN SCRIPT 'maintenance.lua';
SHOW QUEUES;
