-- What past runs tell about the next: how long jobs run, what they use, and what is asked for less of.

-- The durations of the last runs of each kind of job, from the narrowest kind (level) to the widest. Columns that a level
-- does not look at are NULL.
CREATE TABLE prediction_keys (
  level     TEXT NOT NULL,
  key       INTEGER NOT NULL,           -- a hash of what follows
  tag       TEXT,
  user_name TEXT,
  models    TEXT,
  request   TEXT,
  runs      INTEGER NOT NULL,           -- ever observed
  last_end  INTEGER NOT NULL,
  samples   TEXT NOT NULL CHECK (json_valid(samples)),  -- [[seconds, end], ...], the last 32
  PRIMARY KEY (level, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX prediction_keys_age ON prediction_keys (last_end);

-- How good predictions made at submission turned out to be: finished runs by the error of the p50 in whole percent.
CREATE TABLE prediction_errors (
  level         TEXT NOT NULL,
  error_percent INTEGER NOT NULL CHECK (error_percent BETWEEN 0 AND 200),  -- 200 = that or more
  runs          INTEGER NOT NULL CHECK (runs > 0),
  p90_held      INTEGER NOT NULL CHECK (p90_held BETWEEN 0 AND runs),  -- took no longer than the p90
  PRIMARY KEY (level, error_percent)
) STRICT, WITHOUT ROWID;

-- What one task of a group used in one run: means over the tasks, peaks of the one that used most. NULL = not measured.
CREATE TABLE run_usage (
  run_id              INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
  group_index         INTEGER NOT NULL,
  recurrence          INTEGER NOT NULL,  -- equal for the same group of the same tag and user; 0 = the job has no tag
  end_time            INTEGER NOT NULL,  -- of the run
  cpu_mean_milli      INTEGER CHECK (cpu_mean_milli >= 0),
  cpu_peak_milli      INTEGER CHECK (cpu_peak_milli >= 0),
  memory_peak_mib     INTEGER CHECK (memory_peak_mib >= 0),
  gpu_mean_milli      INTEGER CHECK (gpu_mean_milli BETWEEN 0 AND 1000),  -- of each device: 1000 = busy all the time
  gpu_memory_peak_mib INTEGER CHECK (gpu_memory_peak_mib >= 0),           -- of each device
  out_of_memory       INTEGER NOT NULL DEFAULT 0 CHECK (out_of_memory IN (0, 1)),
  PRIMARY KEY (run_id, group_index)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_usage_recurrence ON run_usage (recurrence, end_time) WHERE recurrence <> 0;

-- What a job asked for where admission gave it less: task_groups has the amounts it runs with.
CREATE TABLE requested_amounts (
  job_id         INTEGER NOT NULL,
  group_index    INTEGER NOT NULL,
  cpu_milli      INTEGER NOT NULL,  -- of one task, as all below
  memory_mib     INTEGER NOT NULL,
  gpu_count      INTEGER NOT NULL,
  gpu_milli      INTEGER NOT NULL,
  gpu_memory_mib INTEGER NOT NULL,
  policy         TEXT NOT NULL,     -- that decided it
  PRIMARY KEY (job_id, group_index),
  FOREIGN KEY (job_id, group_index) REFERENCES task_groups ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- What became of the jobs of each queue in a timed simulation asked BY QUEUE. Waits in seconds.
CREATE TABLE simulation_queues (
  simulation          TEXT NOT NULL,
  policy              TEXT NOT NULL,
  seq                 INTEGER NOT NULL,  -- in the order of the queues
  queue               TEXT,              -- '' = jobs without a queue, NULL = all jobs
  jobs                INTEGER NOT NULL,
  started             INTEGER NOT NULL,
  wait_mean           REAL,
  wait_p50            INTEGER,
  wait_p90            INTEGER,
  wait_p99            INTEGER,
  wait_most           INTEGER,
  completion_mean     REAL,
  worst_finish_ratio  REAL,
  evictions           INTEGER NOT NULL,
  lost_gpu_milli_s    INTEGER NOT NULL,
  gpu_milli_s         INTEGER NOT NULL,
  starts_within_quota INTEGER NOT NULL,
  starts_borrowing    INTEGER NOT NULL,
  entitled_jobs       INTEGER NOT NULL,
  entitled_wait_mean  REAL,
  longest_denied_s    INTEGER NOT NULL,
  PRIMARY KEY (simulation, policy, seq),
  FOREIGN KEY (simulation, policy) REFERENCES simulation_results ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
