-- What a database that was restored from an earlier state has to know.

-- Of the keys that the tasks of a run have at their executors: another one after each restore, so that nothing new is
-- taken for what ran before. meta has the present one under 'generation'; 0 = it was never restored.
ALTER TABLE runs ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;

-- Tasks of ours that run and of which this database knows nothing: they began after the state it was restored from.
-- Nobody stops them but an admin.
CREATE TABLE strays (
  executor_id INTEGER NOT NULL,
  job_id      INTEGER NOT NULL,  -- as it was numbered then
  attempt     INTEGER NOT NULL,
  generation  INTEGER NOT NULL,
  group_index INTEGER NOT NULL,
  task_index  INTEGER NOT NULL,
  node        TEXT NOT NULL,     -- '' = not known
  since       INTEGER NOT NULL,
  verdict     TEXT NOT NULL DEFAULT 'none' CHECK (verdict IN ('none', 'stop', 'keep')),
  holds_job   INTEGER NOT NULL DEFAULT 0 CHECK (holds_job IN (0, 1)),  -- its job would wait for a second start
  PRIMARY KEY (executor_id, job_id, attempt, generation, group_index, task_index)
) STRICT, WITHOUT ROWID;
