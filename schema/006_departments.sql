-- What departments own, lend and borrow; what a job costs to evict; what held it up.

-- A name that quotas may use for several models: the models A100-40G and A100-80G of the family A100.
ALTER TABLE device_models ADD COLUMN family TEXT CHECK (family <> '');

ALTER TABLE queues ADD COLUMN weight REAL NOT NULL DEFAULT 1.0 CHECK (weight >= 0);  -- share of what nobody's quota covers
ALTER TABLE queues ADD COLUMN priority_band INTEGER NOT NULL DEFAULT 0;              -- surplus goes to higher bands first
ALTER TABLE queues ADD COLUMN eviction_budget_milli INTEGER CHECK (eviction_budget_milli >= 0);  -- milli-GPU-hours its jobs may lose in an hour; NULL = the setting's
ALTER TABLE queues ADD COLUMN rightsizing TEXT NOT NULL DEFAULT 'off'
  CHECK (rightsizing = 'off' OR rightsizing = 'wpai' OR rightsizing = 'histogram');

-- What a queue has of one resource. Amounts in milli-cores, MiB or milli-GPU; NULL = not said. A row with dates counts
-- between them, instead of what the row without dates says of the same column; of two dated rows the one that begins
-- later wins.
CREATE TABLE quotas (
  id           INTEGER PRIMARY KEY,
  queue_id     INTEGER NOT NULL REFERENCES queues ON DELETE CASCADE,
  resource     TEXT NOT NULL CHECK (resource <> ''),  -- 'cpu', 'memory', 'gpu', a device model or a family
  quota        INTEGER CHECK (quota >= 0),
  limit_amount INTEGER CHECK (limit_amount >= 0),   -- never more than this, borrowed included
  borrow_limit INTEGER CHECK (borrow_limit >= 0),   -- never more than this above the quota
  lend_limit   INTEGER CHECK (lend_limit >= 0),     -- others never use more than this of the quota
  weight       REAL CHECK (weight >= 0),            -- of this resource; NULL = the queue's
  valid_from   INTEGER,
  valid_to     INTEGER,
  CHECK (valid_from IS NULL OR valid_to IS NULL OR valid_from < valid_to)
) STRICT;
CREATE UNIQUE INDEX quotas_always ON quotas (queue_id, resource) WHERE valid_from IS NULL AND valid_to IS NULL;
CREATE INDEX quotas_queue ON quotas (queue_id, resource);

-- Quota that one queue gives to another for a time: purchased and borrowed records of a department.
CREATE TABLE loans (
  id             INTEGER PRIMARY KEY AUTOINCREMENT,
  lender_id      INTEGER NOT NULL REFERENCES queues,
  borrower_id    INTEGER NOT NULL REFERENCES queues,
  resource       TEXT NOT NULL CHECK (resource <> ''),
  amount         INTEGER NOT NULL CHECK (amount > 0),
  valid_from     INTEGER NOT NULL,
  valid_to       INTEGER,                                     -- NULL = until returned
  return_grace_s INTEGER NOT NULL DEFAULT 0 CHECK (return_grace_s >= 0),
  state          TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'returned')),  -- returned, or its time is up
  CHECK (lender_id <> borrower_id),
  CHECK (valid_to IS NULL OR valid_from <= valid_to)
) STRICT;
CREATE INDEX loans_open ON loans (valid_to) WHERE state = 'open';

-- The borrow ledger: what each queue uses above its quota, and whose idle quota that is. Written with every change of use.
CREATE TABLE borrowing_records (
  borrower_id INTEGER NOT NULL REFERENCES queues ON DELETE CASCADE,
  lender_id   INTEGER REFERENCES queues ON DELETE CASCADE,  -- NULL = capacity that is nobody's quota
  resource    TEXT NOT NULL,
  amount      INTEGER NOT NULL CHECK (amount > 0),
  since       INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX borrowing_pair ON borrowing_records (borrower_id, resource, coalesce(lender_id, 0));

-- How each queue, with all below it, stands with each resource that somebody has a quota or limit of. Written with the
-- borrow ledger: both are of the moment in meta under 'borrowing_at'.
CREATE TABLE standings (
  queue_id       INTEGER NOT NULL REFERENCES queues ON DELETE CASCADE,
  resource       TEXT NOT NULL,
  quota          INTEGER NOT NULL,  -- loans counted
  limit_amount   INTEGER,           -- NULL = none, as below
  borrow_limit   INTEGER,
  lend_limit     INTEGER,
  weight         REAL,              -- NULL = the queue's
  allocated      INTEGER NOT NULL,
  borrowed       INTEGER NOT NULL,  -- by use, from outside; loans are not in it
  lent           INTEGER NOT NULL,  -- by use, to outside
  loaned_in      INTEGER NOT NULL,
  loaned_out     INTEGER NOT NULL,
  fair_share     INTEGER,           -- as the last round divided what there is; NULL = not yet
  starving_since INTEGER,           -- since when jobs wait that its unused quota would cover; NULL = none
  PRIMARY KEY (queue_id, resource)
) STRICT, WITHOUT ROWID;

ALTER TABLE jobs ADD COLUMN tag TEXT NOT NULL DEFAULT '';  -- of the recurrence group: script, arguments, data; '' = none
ALTER TABLE jobs ADD COLUMN checkpoint_interval_s INTEGER NOT NULL DEFAULT 0 CHECK (checkpoint_interval_s >= 0);  -- 0 = never
ALTER TABLE jobs ADD COLUMN checkpoint_grace_s INTEGER NOT NULL DEFAULT 0 CHECK (checkpoint_grace_s >= 0);  -- from the signal to the end
ALTER TABLE jobs ADD COLUMN restart_cost_s INTEGER NOT NULL DEFAULT 0 CHECK (restart_cost_s >= 0);
ALTER TABLE jobs ADD COLUMN min_runtime_s INTEGER CHECK (min_runtime_s >= 0);  -- NULL = the setting's
ALTER TABLE jobs ADD COLUMN preemptible INTEGER NOT NULL DEFAULT 1 CHECK (preemptible IN (0, 1));
ALTER TABLE jobs ADD COLUMN quota_mark INTEGER NOT NULL DEFAULT 0;  -- while running: bit d = within the quota of its ancestor at depth d
ALTER TABLE jobs ADD COLUMN attained_milli_s INTEGER NOT NULL DEFAULT 0;  -- milli-GPU-seconds of ended attempts
ALTER TABLE jobs ADD COLUMN evictions INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN last_eviction INTEGER;
ALTER TABLE jobs ADD COLUMN predicted_p50_s INTEGER;  -- durations as predicted at submission; NULL = nothing known
ALTER TABLE jobs ADD COLUMN predicted_p80_s INTEGER;
ALTER TABLE jobs ADD COLUMN predicted_p90_s INTEGER;
ALTER TABLE jobs ADD COLUMN predicted_level TEXT;
-- What a waiting job waits for, for wait_parts; wait_since says since when (NULL = since it was submitted), wait_reason
-- why in more detail. It moves when the cause or the beneficiary does.
ALTER TABLE jobs ADD COLUMN wait_cause TEXT;              -- NULL = no round has judged it yet
ALTER TABLE jobs ADD COLUMN wait_beneficiary_id INTEGER;  -- queue that has what the job waits for; NULL = none

-- A job starts only after these have finished; 'broken' = one failed or was cancelled, so it never will.
CREATE TABLE dependencies (
  job_id   INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE,
  after_id INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE,
  state    TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'met', 'broken')),  -- follows the state of after_id
  PRIMARY KEY (job_id, after_id),
  CHECK (job_id <> after_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX dependencies_after ON dependencies (after_id);
-- What a round looks at: those of the past cost nothing.
CREATE INDEX dependencies_unmet ON dependencies (job_id) WHERE state <> 'met';

CREATE TABLE evictions (
  id                   INTEGER PRIMARY KEY AUTOINCREMENT,
  round_id             INTEGER NOT NULL,
  time                 INTEGER NOT NULL,  -- of the decision; the end comes a grace later
  victim_id            INTEGER NOT NULL,
  victim_queue_id      INTEGER NOT NULL,
  beneficiary_id       INTEGER NOT NULL,  -- job; by rule 'loan' the loan
  beneficiary_queue_id INTEGER NOT NULL,  -- of the job, or the lender
  rule                 TEXT NOT NULL CHECK (rule IN ('reclaim', 'priority', 'loan')),
  tasks                INTEGER NOT NULL,  -- of the victim: all, or its surplus
  whole                INTEGER NOT NULL CHECK (whole IN (0, 1)),
  lost_gpu_milli_s     INTEGER NOT NULL,  -- work since the last checkpoint and the restart, milli-GPU-seconds
  -- Told to stop and not stopped yet; carried out; taken back, for nobody needed its room any more; or it ended by
  -- itself before. The last two lost nothing.
  state                TEXT NOT NULL DEFAULT 'done' CHECK (state IN ('stopping', 'done', 'withdrawn', 'ended'))
) STRICT;
CREATE INDEX evictions_victim ON evictions (victim_id);
CREATE INDEX evictions_time ON evictions (time);

-- Room held for a job: the first in the order that does not fit yet, or one whose victims are still writing checkpoints.
CREATE TABLE reservations (
  job_id     INTEGER PRIMARY KEY REFERENCES jobs ON DELETE CASCADE,
  kind       TEXT NOT NULL CHECK (kind IN ('backfill', 'eviction')),
  made_at    INTEGER NOT NULL,
  expected   INTEGER NOT NULL,  -- start
  expires    INTEGER            -- NULL = when the job starts or is no longer first
) STRICT;
CREATE TABLE reserved_tasks (
  job_id         INTEGER NOT NULL REFERENCES reservations ON DELETE CASCADE,
  group_index    INTEGER NOT NULL,
  task_index     INTEGER NOT NULL,
  node_id        INTEGER NOT NULL,
  device_mask    INTEGER NOT NULL,
  gpu_milli      INTEGER NOT NULL,
  gpu_memory_mib INTEGER NOT NULL,
  cpu_milli      INTEGER NOT NULL,
  memory_mib     INTEGER NOT NULL,
  PRIMARY KEY (job_id, group_index, task_index)
) STRICT, WITHOUT ROWID;
-- Jobs told to stop for a beneficiary, and when they will be stopped.
CREATE TABLE stopping_jobs (
  job_id         INTEGER PRIMARY KEY REFERENCES jobs ON DELETE CASCADE,
  beneficiary_id INTEGER NOT NULL,  -- as in evictions
  rule           TEXT NOT NULL CHECK (rule IN ('reclaim', 'priority', 'loan')),
  stop_at        INTEGER NOT NULL
) STRICT;

-- What a job waited for, one row a stretch of time. The stretch that still lasts is in jobs (wait_cause, wait_since).
CREATE TABLE wait_stretches (
  job_id         INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE,
  from_time      INTEGER NOT NULL,
  to_time        INTEGER NOT NULL CHECK (to_time > from_time),
  cause          TEXT NOT NULL,
  beneficiary_id INTEGER,  -- queue
  PRIMARY KEY (job_id, from_time)
) STRICT, WITHOUT ROWID;

-- GPU time each queue used, decaying: what fair_share remembers.
CREATE TABLE decayed_usage (
  queue_id         INTEGER PRIMARY KEY REFERENCES queues ON DELETE CASCADE,
  gpu_milli_s      REAL NOT NULL,
  updated_at       INTEGER NOT NULL
) STRICT;

-- What the jobs of each queue hold, by device model (0 = nodes without devices): follows the allocations.
CREATE TABLE queue_use (
  queue_id   INTEGER NOT NULL REFERENCES queues ON DELETE CASCADE,
  model_id   INTEGER NOT NULL,
  cpu_milli  INTEGER NOT NULL,
  memory_mib INTEGER NOT NULL,
  gpu_milli  INTEGER NOT NULL,  -- of all devices
  PRIMARY KEY (queue_id, model_id)
) STRICT, WITHOUT ROWID;
INSERT INTO queue_use
  SELECT j.queue_id, coalesce(t.device_model_id, 0), sum(a.cpu_milli), sum(a.memory_mib), sum(a.gpu_milli * g.gpu_count)
  FROM allocations a
  JOIN jobs j ON j.id = a.job_id
  JOIN task_groups g ON g.job_id = a.job_id AND g.group_index = a.group_index
  JOIN nodes n ON n.id = a.node_id
  JOIN node_types t ON t.id = n.type_id
  GROUP BY 1, 2;
