-- Jobs that the last round gave nothing, because starting them would break an assertion. With like_job_id: the round
-- did not try the job itself, but that one, which is like it.
CREATE TABLE assertion_holds (
  job_id       INTEGER PRIMARY KEY REFERENCES jobs ON DELETE CASCADE,
  assertion_id INTEGER NOT NULL REFERENCES assertions ON DELETE CASCADE,
  like_job_id  INTEGER
) STRICT;
CREATE INDEX assertion_holds_assertion ON assertion_holds (assertion_id);
-- A round is no longer cut behind the first decision that breaks an assertion: only what breaks it is held back.
UPDATE settings SET value = 'hold' WHERE key = 'assertion_action' AND value = 'degrade';

-- Why this victim, and of how many that the rule allowed to evict; NULL = decided before this was kept.
ALTER TABLE evictions ADD COLUMN why TEXT
  CHECK (why IN ('only', 'lowest_class', 'least_lost', 'least_for_room', 'policy', 'loan'));
ALTER TABLE evictions ADD COLUMN candidates INTEGER;

-- How many starts were known when this was told: from 20 on p90 is measured, before it is the forecast with long
-- durations; NULL = told before this was kept.
ALTER TABLE expectations ADD COLUMN known_starts INTEGER;
