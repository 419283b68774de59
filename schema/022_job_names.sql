-- The name of a job may be given again once the job has ended. Ids are never given again: what refers to a job has its id.

CREATE TABLE made_jobs (
  id                INTEGER PRIMARY KEY AUTOINCREMENT,  -- never reused: decisions and events of old jobs keep their meaning
  name              TEXT NOT NULL CHECK (name <> ''),  -- of one job that has not ended at a time
  queue_id          INTEGER NOT NULL REFERENCES queues,
  priority_class_id INTEGER REFERENCES priority_classes,
  state             TEXT NOT NULL DEFAULT 'pending'
                    CHECK (state = 'pending' OR state = 'held' OR state = 'running' OR
                           state = 'finished' OR state = 'failed' OR state = 'cancelled'),
  user_name         TEXT NOT NULL DEFAULT '',
  submit_time       INTEGER NOT NULL,            -- times in Unix seconds, UTC
  start_time        INTEGER,                     -- of the present or last attempt
  end_time          INTEGER,
  time_limit_s      INTEGER NOT NULL DEFAULT 0 CHECK (time_limit_s >= 0),  -- 0 = none
  wait_reason       TEXT,                        -- the dominant reason the last round that judged it found
  wait_since        INTEGER,                     -- when that reason was first found
  allow_infeasible  INTEGER NOT NULL DEFAULT 0 CHECK (allow_infeasible IN (0, 1)),
  tag TEXT NOT NULL DEFAULT '',  -- of the recurrence group: script, arguments, data; '' = none
  checkpoint_interval_s INTEGER NOT NULL DEFAULT 0 CHECK (checkpoint_interval_s >= 0),  -- 0 = never
  checkpoint_grace_s INTEGER NOT NULL DEFAULT 0 CHECK (checkpoint_grace_s >= 0),  -- from the signal to the end
  restart_cost_s INTEGER NOT NULL DEFAULT 0 CHECK (restart_cost_s >= 0),
  min_runtime_s INTEGER CHECK (min_runtime_s >= 0),  -- NULL = the setting's
  preemptible INTEGER NOT NULL DEFAULT 1 CHECK (preemptible IN (0, 1)),
  quota_mark INTEGER NOT NULL DEFAULT 0,  -- while running: bit d = within the quota of its ancestor at depth d
  attained_milli_s INTEGER NOT NULL DEFAULT 0,  -- milli-GPU-seconds of ended attempts
  evictions INTEGER NOT NULL DEFAULT 0,
  last_eviction INTEGER,
  predicted_p50_s INTEGER,  -- durations as predicted at submission; NULL = nothing known
  predicted_p80_s INTEGER,
  predicted_p90_s INTEGER,
  predicted_level TEXT,
  wait_cause TEXT,  -- NULL = no round has judged it yet
  wait_beneficiary_id INTEGER,  -- queue that has what the job waits for; NULL = none
  command TEXT CHECK (command <> ''),  -- of /bin/sh; NULL = Berth keeps the books, starts nothing
  working_directory TEXT NOT NULL DEFAULT '',  -- '' = the executor's
  environment TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(environment)),
  image TEXT NOT NULL DEFAULT '',  -- for executors that need one
  checkpoint_signal TEXT NOT NULL DEFAULT '',  -- 'USR1'; '' = none is sent
  retry_limit INTEGER NOT NULL DEFAULT 0 CHECK (retry_limit >= 0),
  failures INTEGER NOT NULL DEFAULT 0,  -- attempts that failed, and
  losses INTEGER NOT NULL DEFAULT 0,  -- that were lost with their node
  CHECK ((end_time IS NOT NULL) = (state = 'finished' OR state = 'failed' OR state = 'cancelled')),
  CHECK (state <> 'running' OR start_time IS NOT NULL)
) STRICT;
INSERT INTO made_jobs SELECT * FROM jobs;
-- Ids of jobs that are gone are not given again, either.
INSERT INTO sqlite_sequence SELECT 'made_jobs', seq FROM sqlite_sequence
  WHERE name = 'jobs' AND NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'made_jobs');
UPDATE sqlite_sequence SET seq = max(seq, (SELECT seq FROM sqlite_sequence WHERE name = 'jobs'))
  WHERE name = 'made_jobs' AND EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'jobs');
-- Views of others may name the table: they are looked at when it is there again.
PRAGMA legacy_alter_table = ON;
DROP TABLE jobs;
ALTER TABLE made_jobs RENAME TO jobs;
PRAGMA legacy_alter_table = OFF;
CREATE UNIQUE INDEX jobs_live_name ON jobs (name) WHERE end_time IS NULL;
CREATE INDEX jobs_name ON jobs (name);
-- As in step 2.
CREATE INDEX jobs_live ON jobs (id, end_time) WHERE end_time IS NULL;
CREATE INDEX jobs_held ON jobs (id) WHERE state = 'held';
CREATE INDEX jobs_ended ON jobs (end_time) WHERE end_time IS NOT NULL;
