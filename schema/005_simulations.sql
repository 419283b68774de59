-- Results of SIMULATE. Simulations do not touch the cluster's state.

CREATE TABLE simulations (
  name       TEXT PRIMARY KEY CHECK (name <> ''),
  kind       TEXT NOT NULL,  -- 'arrivals', 'jobs'
  statement  TEXT NOT NULL,
  seed       INTEGER NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Waits, completion and makespan in seconds; NULL where the kind of simulation does not know them.
CREATE TABLE simulation_results (
  simulation           TEXT NOT NULL REFERENCES simulations ON DELETE CASCADE,
  policy               TEXT NOT NULL,
  tasks                INTEGER NOT NULL,
  placed               INTEGER NOT NULL,
  failed               INTEGER NOT NULL,
  allocated_pct_at_100 REAL,
  allocated_pct_at_130 REAL,
  fragmented_pct       REAL,
  wait_mean            REAL,
  wait_p50             REAL,
  wait_p90             REAL,
  wait_p99             REAL,
  completion_mean      REAL,
  makespan             REAL,
  decisions            INTEGER NOT NULL,
  decisions_per_second REAL NOT NULL,
  peak_memory_mib      REAL NOT NULL,
  PRIMARY KEY (simulation, policy)
) STRICT, WITHOUT ROWID;

CREATE TABLE simulation_curves (
  simulation     TEXT NOT NULL,
  policy         TEXT NOT NULL,
  arrived_pct    REAL NOT NULL,
  allocated_pct  REAL NOT NULL,
  fragmented_pct REAL,
  FOREIGN KEY (simulation, policy) REFERENCES simulation_results ON DELETE CASCADE
) STRICT;
CREATE INDEX simulation_curves_by_policy ON simulation_curves (simulation, policy);

CREATE TABLE simulation_tasks (
  simulation TEXT NOT NULL,
  policy     TEXT NOT NULL,
  sequence   INTEGER NOT NULL,
  task       TEXT NOT NULL,
  node       TEXT,  -- NULL = not placed
  devices    TEXT,  -- '0-1'
  state      TEXT NOT NULL,
  submit     INTEGER,
  start      INTEGER,
  "end"      INTEGER,
  PRIMARY KEY (simulation, policy, sequence),
  FOREIGN KEY (simulation, policy) REFERENCES simulation_results ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE simulation_utilisation (
  simulation    TEXT NOT NULL,
  policy        TEXT NOT NULL,
  time          INTEGER NOT NULL,  -- seconds since the first submission
  allocated_pct REAL NOT NULL,
  running       INTEGER NOT NULL,
  waiting       INTEGER NOT NULL,
  FOREIGN KEY (simulation, policy) REFERENCES simulation_results ON DELETE CASCADE
) STRICT;
CREATE INDEX simulation_utilisation_by_policy ON simulation_utilisation (simulation, policy);
