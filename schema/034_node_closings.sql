-- Nodes that their executor's system closes at a moment to come, for maintenance say: it takes no task there that may
-- still run then. A job without a time limit counts as if it had usual_limit; NULL = as one that never ends.
CREATE TABLE node_closings (
  node_id     INTEGER PRIMARY KEY REFERENCES nodes ON DELETE CASCADE,
  closes_at   INTEGER NOT NULL,
  usual_limit INTEGER
) STRICT;
-- 1 = the system itself says that a node failed: no loss is counted for that.
ALTER TABLE launch_losses ADD COLUMN node_failed INTEGER NOT NULL DEFAULT 0 CHECK (node_failed IN (0, 1));
