-- When jobs were expected to start, and how good that was; backtests, and what they must know of the past.

-- What a BACKTEST was run on. Its policies are rows of simulation_results too, its jobs rows of simulation_tasks.
CREATE TABLE backtests (
  simulation TEXT PRIMARY KEY REFERENCES simulations ON DELETE CASCADE,
  from_time  INTEGER NOT NULL,
  to_time    INTEGER NOT NULL,
  jobs       INTEGER NOT NULL,  -- submitted between the two, and counted
  there      INTEGER NOT NULL,  -- jobs that were there already: load
  seeds      INTEGER NOT NULL,
  notes      TEXT NOT NULL CHECK (json_valid(notes))  -- what was assumed: ["...", ...]
) STRICT, WITHOUT ROWID;

-- What became of those jobs under each policy, of all (queue NULL) and by queue ('' = jobs without one); 'recorded' is
-- what really happened. Waits in seconds; of several seeds the mean.
CREATE TABLE backtest_results (
  simulation         TEXT NOT NULL REFERENCES backtests ON DELETE CASCADE,
  policy             TEXT NOT NULL,
  seq                INTEGER NOT NULL,  -- of the policy, in the order of the statement; 0 = recorded
  queue_seq          INTEGER NOT NULL,  -- 0 = all
  queue              TEXT,
  jobs               REAL NOT NULL,
  started            REAL NOT NULL,
  ended              REAL NOT NULL,
  wait_mean          REAL,
  wait_least         REAL,  -- of the seeds' means
  wait_most          REAL,
  wait_p50           REAL,
  wait_p90           REAL,
  wait_p99           REAL,
  completion_mean    REAL,
  utilisation_pct    REAL,  -- of all GPUs, between the two moments; of all queues only, as is fairness
  fairness           REAL,
  satisfied_share    REAL,
  worst_finish_ratio REAL,
  evictions          REAL NOT NULL,
  lost_gpu_milli_s   REAL NOT NULL,
  gpu_milli_s        REAL NOT NULL,
  never_start        REAL,  -- jobs that can never start, those there at the beginning counted; of all queues only
  PRIMARY KEY (simulation, seq, queue_seq)
) STRICT, WITHOUT ROWID;

-- Two policies job by job: seconds that a job waits longer than under the baseline, with 95 % confidence intervals.
CREATE TABLE backtest_pairs (
  simulation  TEXT NOT NULL REFERENCES backtests ON DELETE CASCADE,
  seq         INTEGER NOT NULL,
  policy      TEXT NOT NULL,
  baseline    TEXT NOT NULL,
  jobs        INTEGER NOT NULL,
  earlier     INTEGER NOT NULL,
  later       INTEGER NOT NULL,
  same        INTEGER NOT NULL,
  only_here   INTEGER NOT NULL,  -- started under the policy alone
  only_there  INTEGER NOT NULL,
  mean        REAL NOT NULL,
  mean_low    REAL NOT NULL,
  mean_high   REAL NOT NULL,
  median      REAL NOT NULL,
  median_low  REAL NOT NULL,
  median_high REAL NOT NULL,
  PRIMARY KEY (simulation, seq)
) STRICT, WITHOUT ROWID;

-- When a waiting job was expected to start, told once a wait: half of such jobs start by p50, nine in ten by p90. What
-- came of it is in the view eta.
CREATE TABLE expectations (
  job_id   INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE,
  made_at  INTEGER NOT NULL,
  forecast INTEGER NOT NULL,  -- before it was corrected by what forecasts before it missed by
  p50      INTEGER NOT NULL,
  p90      INTEGER NOT NULL CHECK (p90 >= p50),
  PRIMARY KEY (job_id, made_at)
) STRICT, WITHOUT ROWID;
CREATE INDEX expectations_made ON expectations (made_at);

-- What a job that runs held until it gained tasks or gave some up, one row a stretch of time. What it held last is in
-- runs, or in allocations while it runs.
CREATE TABLE run_sizes (
  job_id    INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE,
  from_time INTEGER NOT NULL,
  to_time   INTEGER NOT NULL CHECK (to_time > from_time),
  gpu_milli INTEGER NOT NULL,  -- of all tasks together
  PRIMARY KEY (job_id, from_time)
) STRICT, WITHOUT ROWID;
