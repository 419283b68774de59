-- What a run was told of an eviction, and what its tasks say themselves.

-- From told_at on its tasks know that they are to stop: by the checkpoint signal, or by the stop itself. What ends from
-- then until told_until (NULL = open) is ended by the eviction, also when that is withdrawn meanwhile.
ALTER TABLE runs ADD COLUMN told_at INTEGER;
ALTER TABLE runs ADD COLUMN told_until INTEGER;
UPDATE runs SET told_at = coalesce(
    (SELECT min(time) FROM run_changes WHERE run_id = runs.id AND to_state = 'stopping'), start_time)
  WHERE end_time IS NULL AND state = 'stopping' AND stop_state = 'evicted';
UPDATE runs SET
    told_at = coalesce((SELECT max(time) FROM evictions WHERE victim_id = runs.job_id AND state = 'stopping'), start_time),
    told_until = (SELECT stop_at FROM stopping_jobs WHERE job_id = runs.job_id)
  WHERE end_time IS NULL AND told_at IS NULL AND EXISTS (SELECT 1 FROM stopping_jobs WHERE job_id = runs.job_id)
    AND (SELECT checkpoint_signal FROM jobs WHERE id = runs.job_id) <> '';

-- A task that was told to stop and had done its work all the same says so in a file (BERTH_DONE_FILE).
ALTER TABLE run_tasks ADD COLUMN said_done INTEGER NOT NULL DEFAULT 0 CHECK (said_done IN (0, 1));

-- Ended by an eviction of which it was told by its checkpoint signal.
INSERT INTO run_edges VALUES ('pending', 'evicted'), ('starting', 'evicted'), ('running', 'evicted');
