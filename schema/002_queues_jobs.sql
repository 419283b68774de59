-- Who may ask (queues, priority classes) and what was asked for (jobs and their task groups).
-- CHECKs of columns that rounds write say OR, not IN: for a list of more than two SQLite builds a table at every write.

CREATE TABLE queues (
  id        INTEGER PRIMARY KEY,
  name      TEXT NOT NULL UNIQUE CHECK (name <> ''),
  parent_id INTEGER REFERENCES queues CHECK (parent_id <> id)
) STRICT;

CREATE TABLE priority_classes (
  id    INTEGER PRIMARY KEY,
  name  TEXT NOT NULL UNIQUE CHECK (name <> ''),
  value INTEGER NOT NULL CHECK (value BETWEEN -1000000 AND 1000000)  -- higher goes first
) STRICT;

CREATE TABLE jobs (
  id                INTEGER PRIMARY KEY AUTOINCREMENT,  -- never reused: decisions and events of old jobs keep their meaning
  name              TEXT NOT NULL UNIQUE CHECK (name <> ''),
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
  CHECK ((end_time IS NOT NULL) = (state = 'finished' OR state = 'failed' OR state = 'cancelled')),
  CHECK (state <> 'running' OR start_time IS NOT NULL)
) STRICT;
-- Live jobs are found here in id order, so ended ones cost nothing; starting a job leaves the index alone.
CREATE INDEX jobs_live ON jobs (id, end_time) WHERE end_time IS NULL;
CREATE INDEX jobs_held ON jobs (id) WHERE state = 'held';
CREATE INDEX jobs_ended ON jobs (end_time) WHERE end_time IS NOT NULL;

-- Equal tasks of a job. The job starts when every group can place min_tasks of its tasks in the same round.
CREATE TABLE task_groups (
  job_id            INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE,
  group_index       INTEGER NOT NULL CHECK (group_index >= 0),
  name              TEXT NOT NULL,
  task_count        INTEGER NOT NULL CHECK (task_count BETWEEN 1 AND 1000000),
  min_tasks         INTEGER NOT NULL CHECK (min_tasks BETWEEN 1 AND task_count),
  cpu_milli         INTEGER NOT NULL CHECK (cpu_milli BETWEEN 0 AND 1099511627776),  -- of one task, as all below
  memory_mib        INTEGER NOT NULL CHECK (memory_mib BETWEEN 0 AND 1099511627776),
  gpu_count         INTEGER NOT NULL CHECK (gpu_count BETWEEN 0 AND 32),
  gpu_milli         INTEGER NOT NULL CHECK (gpu_milli BETWEEN 0 AND 1000),  -- of each device
  gpu_memory_mib    INTEGER NOT NULL CHECK (gpu_memory_mib BETWEEN 0 AND 2147483647),  -- of each device; 0 = in proportion to gpu_milli
  models            TEXT,                                          -- 'A100|H100'; NULL = any
  pool_id           INTEGER REFERENCES pools,                      -- NULL = any
  locality          TEXT NOT NULL DEFAULT 'any'
                    CHECK (locality = 'any' OR locality = 'rack' OR locality = 'node' OR locality = 'link_group'),
  locality_required INTEGER NOT NULL DEFAULT 1 CHECK (locality_required IN (0, 1)),
  PRIMARY KEY (job_id, group_index),
  CHECK ((gpu_count = 0) = (gpu_milli = 0)),
  CHECK (gpu_milli = 1000 OR gpu_count <= 1)
) STRICT, WITHOUT ROWID;
