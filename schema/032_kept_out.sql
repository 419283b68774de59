-- Launches that waited in the cluster's own queue because a node of theirs is kept for something else. Such a node takes
-- no job for a while that may run as long as one of these; time_limit 0 = it had none.
CREATE TABLE kept_out_launches (
  node_id    INTEGER NOT NULL REFERENCES nodes ON DELETE CASCADE,
  job_id     INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE,
  attempt    INTEGER NOT NULL,
  time_limit INTEGER NOT NULL,
  time       INTEGER NOT NULL,
  PRIMARY KEY (node_id, job_id, attempt)
) STRICT, WITHOUT ROWID;
