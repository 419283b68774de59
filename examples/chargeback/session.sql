-- Two departments own 16 A100 and 8 H100 between them. An hour on what is not one's own has a price.
CREATE DEVICE MODEL A100 WITH (memory = 80GiB);
CREATE DEVICE MODEL H100 WITH (memory = 80GiB, price = 4.5);
CREATE NODE TYPE a100x8 WITH (cpu = 128, memory = 1TiB, device_model = A100, devices = 8);
CREATE NODE TYPE h100x8 WITH (cpu = 128, memory = 1TiB, device_model = H100, devices = 8);
CREATE NODES a[1-2] TYPE a100x8;
CREATE NODE h1 TYPE h100x8;
CREATE QUEUE search;
CREATE QUEUE research;
ALTER QUEUE search SET QUOTA (A100 = 12, H100 = 8);
ALTER QUEUE research SET QUOTA (A100 = 4);
SET gpu_hour_price = 2;
SET lender_share = 80;

-- Research works on what search leaves idle.
SUBMIT JOB sweep IN QUEUE research WITH (tasks = 10, gpus = 1, cpu = 8, models = A100, checkpoint_every = 1h);
SUBMIT JOB pretrain IN QUEUE research WITH (gpus = 4, cpu = 32, models = H100);
RUN SCHEDULE;

-- 9h later
-- Search takes its own back. What did that cost, and whom?
SUBMIT JOB ranking IN QUEUE search WITH (tasks = 12, gpus = 1, cpu = 8, models = A100);
RUN SCHEDULE;

-- 12h later
-- It lends two H100 of its own accord, for a day.
CREATE LOAN 2 H100 FROM search TO research UNTIL '2026-01-07 06:00';

-- 2d later
-- A job tells what it made of its devices.
FINISH JOB ranking WITH (gpu_util = 0.4);
CANCEL JOB sweep;
RUN SCHEDULE;
REPORT CHARGEBACK FROM '2026-01-05' TO '2026-01-08';
REPORT CHARGEBACK THIS MONTH BY model;
REPORT CHARGEBACK THIS MONTH BY day OF QUEUE research;

-- Everything is a SELECT away, too.
SELECT day, queue, rule, beneficiary_queue, evictions, round(lost, 1) AS lost FROM chargeback_losses;

-- At the end of the month, from cron: the page for the people, the table for the books.
--   berth -c "REPORT CHARGEBACK LAST MONTH INTO '/srv/reports/chargeback.html' WITH (replace = true)"
REPORT CHARGEBACK FROM '2026-01-05' TO '2026-01-07' BY model INTO '-';
