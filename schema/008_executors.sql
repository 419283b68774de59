-- How plans become processes: executors, the attempts of jobs and their tasks there, and effects on their way out.

CREATE TABLE executors (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,  -- never reused: what it once ran keeps its meaning
  name         TEXT NOT NULL UNIQUE CHECK (name <> ''),
  type         TEXT NOT NULL,
  options      TEXT NOT NULL CHECK (json_valid(options)),  -- those that were given
  is_default   INTEGER NOT NULL DEFAULT 0 CHECK (is_default IN (0, 1)),  -- of nodes whose pool names none
  state        TEXT NOT NULL DEFAULT 'unknown' CHECK (state = 'unknown' OR state = 'up' OR state = 'down'),
  last_contact INTEGER,                     -- the last answer
  failures     INTEGER NOT NULL DEFAULT 0,  -- calls in a row that failed
  next_try     INTEGER NOT NULL DEFAULT 0,  -- not asked before
  error        TEXT NOT NULL DEFAULT ''     -- of the last call, when it failed
) STRICT;
CREATE UNIQUE INDEX executors_default ON executors (is_default) WHERE is_default = 1;
ALTER TABLE pools ADD COLUMN executor_id INTEGER REFERENCES executors;  -- NULL = the default one
-- Names this database in everything that its executors keep.
INSERT INTO meta VALUES ('tag', lower(hex(randomblob(4))));

ALTER TABLE jobs ADD COLUMN command TEXT CHECK (command <> '');  -- of /bin/sh; NULL = Berth keeps the books, starts nothing
ALTER TABLE jobs ADD COLUMN working_directory TEXT NOT NULL DEFAULT '';  -- '' = the executor's
ALTER TABLE jobs ADD COLUMN environment TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(environment));
ALTER TABLE jobs ADD COLUMN image TEXT NOT NULL DEFAULT '';              -- for executors that need one
ALTER TABLE jobs ADD COLUMN checkpoint_signal TEXT NOT NULL DEFAULT '';  -- 'USR1'; '' = none is sent
ALTER TABLE jobs ADD COLUMN retry_limit INTEGER NOT NULL DEFAULT 0 CHECK (retry_limit >= 0);
ALTER TABLE jobs ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;  -- attempts that failed, and
ALTER TABLE jobs ADD COLUMN losses INTEGER NOT NULL DEFAULT 0;    -- that were lost with their node

-- The states of a run and every way from one to the next; '' is before it is made.
CREATE TABLE run_edges (
  from_state TEXT NOT NULL,
  to_state   TEXT NOT NULL,
  PRIMARY KEY (from_state, to_state)
) STRICT, WITHOUT ROWID;
INSERT INTO run_edges VALUES
  ('', 'pending'),           -- its launch is in the outbox
  ('pending', 'starting'),   -- the executor has it
  ('pending', 'stopping'),   -- taken back, maybe too late
  ('starting', 'running'),   -- all its tasks run, or have run
  ('starting', 'stopping'),
  ('running', 'stopping'),   -- told to end, see stop_state
  ('starting', 'succeeded'), ('running', 'succeeded'),
  ('pending', 'failed'),     -- the executor refused it
  ('starting', 'failed'), ('running', 'failed'),
  ('pending', 'lost'),       -- its node is, maybe with it
  ('starting', 'lost'), ('running', 'lost'),
  ('stopping', 'succeeded'), -- it was quicker
  ('stopping', 'failed'), ('stopping', 'evicted'), ('stopping', 'lost'), ('stopping', 'cancelled'),
  -- Of jobs that no executor runs: Berth is told when they end.
  ('', 'succeeded'), ('', 'failed'), ('', 'evicted'), ('', 'cancelled');

-- Attempts of jobs: those that an executor runs from their launch on, the others when they have ended.
CREATE TABLE made_runs (
  id         INTEGER PRIMARY KEY,
  job_id     INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE,
  attempt    INTEGER NOT NULL CHECK (attempt > 0),
  state      TEXT NOT NULL CHECK (state IN ('pending', 'starting', 'running', 'stopping', 'succeeded', 'failed', 'evicted',
                                            'lost', 'cancelled')),
  start_time INTEGER NOT NULL,
  end_time   INTEGER,           -- NULL = it is live
  tasks      INTEGER NOT NULL,
  gpu_milli  INTEGER NOT NULL,  -- of all tasks together
  nodes      TEXT NOT NULL CHECK (json_valid(nodes)),  -- ["train001", ...]
  detail     TEXT NOT NULL DEFAULT '',
  stop_state TEXT CHECK (stop_state IN ('failed', 'evicted', 'lost', 'cancelled')),  -- of one that is stopping: what it will be
  UNIQUE (job_id, attempt),
  CHECK ((end_time IS NULL) = (state IN ('pending', 'starting', 'running', 'stopping')))
) STRICT;
INSERT INTO made_runs
  SELECT id, job_id, attempt, iif(outcome = 'finished', 'succeeded', outcome), start_time, end_time, tasks, gpu_milli, nodes,
         detail, NULL
  FROM runs;
-- Dropping runs takes what refers to it along: that is put aside meanwhile.
CREATE TABLE kept_usage AS SELECT * FROM run_usage;
DROP TABLE runs;
ALTER TABLE made_runs RENAME TO runs;
INSERT OR REPLACE INTO run_usage SELECT * FROM kept_usage;
DROP TABLE kept_usage;
CREATE UNIQUE INDEX runs_live ON runs (job_id) WHERE end_time IS NULL;

-- Every change of a run's state.
CREATE TABLE run_changes (
  id         INTEGER PRIMARY KEY,
  run_id     INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
  time       INTEGER NOT NULL,
  from_state TEXT NOT NULL,
  to_state   TEXT NOT NULL,
  detail     TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX run_changes_run ON run_changes (run_id);

CREATE TRIGGER runs_begin AFTER INSERT ON runs
  WHEN NOT EXISTS (SELECT 1 FROM run_edges WHERE from_state = '' AND to_state = NEW.state)
BEGIN
  SELECT RAISE(ABORT, 'a run does not begin in that state');
END;
CREATE TRIGGER runs_change AFTER UPDATE OF state ON runs
  WHEN NEW.state <> OLD.state
   AND NOT EXISTS (SELECT 1 FROM run_edges WHERE from_state = OLD.state AND to_state = NEW.state)
BEGIN
  SELECT RAISE(ABORT, 'a run does not change so');
END;

-- The tasks of a run at its executor.
CREATE TABLE run_tasks (
  run_id      INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
  group_index INTEGER NOT NULL,
  task_index  INTEGER NOT NULL,
  executor_id INTEGER NOT NULL,
  sequence    INTEGER NOT NULL,  -- of the launch it belongs to, within the run
  node_id     INTEGER NOT NULL,
  phase       TEXT NOT NULL DEFAULT 'pending'
              CHECK (phase = 'pending' OR phase = 'starting' OR phase = 'running' OR phase = 'ended' OR phase = 'lost'),
  external    TEXT NOT NULL DEFAULT '',  -- the executor's own name: a process, a Slurm job, a pod
  start_time  INTEGER,
  end_time    INTEGER,
  exit_code   INTEGER,
  end_signal  INTEGER,
  cpu_s       INTEGER,           -- used; NULL = not measured, as below
  memory_peak_mib INTEGER,
  detail      TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (run_id, group_index, task_index)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_tasks_live ON run_tasks (executor_id, run_id)
  WHERE phase = 'pending' OR phase = 'starting' OR phase = 'running';

-- What executors are still to be told. Rows come with the change that decided them and go when they have been told, so
-- each is told at least once; (round, seq) is the same at every delivery.
CREATE TABLE outbox (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  round_id    INTEGER NOT NULL,  -- 0 = a statement or a sync
  seq         INTEGER NOT NULL,
  executor_id INTEGER NOT NULL REFERENCES executors,
  kind        TEXT NOT NULL CHECK (kind = 'launch' OR kind = 'signal' OR kind = 'stop' OR kind = 'forget'),
  run_id      INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
  sequence    INTEGER NOT NULL DEFAULT 0,  -- of a launch
  created_at  INTEGER NOT NULL,
  tries       INTEGER NOT NULL DEFAULT 0,
  next_try    INTEGER NOT NULL DEFAULT 0,
  error       TEXT NOT NULL DEFAULT '',
  UNIQUE (round_id, seq)
) STRICT;
CREATE INDEX outbox_due ON outbox (executor_id, next_try);

-- Nodes that their executor does not find in order. suspect = since a moment ago; down = for longer, and what ran there is
-- lost; back = in order again, watched for a while; aside = it came and went too often;
-- cordoned = somebody else drains it.
CREATE TABLE node_health (
  node_id  INTEGER PRIMARY KEY REFERENCES nodes ON DELETE CASCADE,
  state    TEXT NOT NULL CHECK (state = 'suspect' OR state = 'down' OR state = 'back' OR state = 'aside' OR state = 'cordoned' OR state = 'good'),
  since    INTEGER NOT NULL,
  failures INTEGER NOT NULL DEFAULT 1,  -- within the window of the setting flap_window
  window   INTEGER NOT NULL,            -- began
  detail   TEXT NOT NULL DEFAULT ''
) STRICT;

-- Work on our nodes that is not ours: counted as used, never touched.
CREATE TABLE foreign_use (
  node_id     INTEGER NOT NULL REFERENCES nodes ON DELETE CASCADE,
  what        TEXT NOT NULL,
  cpu_milli   INTEGER NOT NULL CHECK (cpu_milli >= 0),
  memory_mib  INTEGER NOT NULL CHECK (memory_mib >= 0),
  gpu_count   INTEGER NOT NULL CHECK (gpu_count >= 0),
  device_mask INTEGER NOT NULL DEFAULT 0,  -- which devices, where it is known
  since       INTEGER NOT NULL,
  PRIMARY KEY (node_id, what)
) STRICT, WITHOUT ROWID;

-- What the last sync found other than the tables said, and what it did about it.
CREATE TABLE drift (
  id          INTEGER PRIMARY KEY,
  time        INTEGER NOT NULL,
  executor_id INTEGER NOT NULL,
  kind        TEXT NOT NULL,
  object      TEXT NOT NULL,
  expected    TEXT NOT NULL,
  found       TEXT NOT NULL,
  repair      TEXT NOT NULL
) STRICT;
CREATE INDEX drift_time ON drift (time);

-- Rounds that cron or a loop runs: the last of each kind, and how often one is due.
CREATE TABLE scheduled_runs (
  kind        TEXT PRIMARY KEY,  -- 'schedule', 'sync', 'all', ...
  actor       TEXT NOT NULL,
  started_at  INTEGER NOT NULL,
  seconds     REAL,
  result      TEXT NOT NULL,  -- 'running', 'done', 'failed', 'busy', ...
  summary     TEXT NOT NULL DEFAULT '',
  interval_s  INTEGER,        -- as observed between the last two starts
  last_good   INTEGER
) STRICT, WITHOUT ROWID;
