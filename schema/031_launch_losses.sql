-- Launches that a node lost before they began, since one began there. A node that loses whatever is started there gets
-- nothing new for a while.
CREATE TABLE launch_losses (
  node_id INTEGER NOT NULL REFERENCES nodes ON DELETE CASCADE,
  job_id  INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE,
  attempt INTEGER NOT NULL,
  time    INTEGER NOT NULL,
  PRIMARY KEY (node_id, job_id, attempt)
) STRICT, WITHOUT ROWID;
