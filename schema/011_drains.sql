-- What executors are to know of nodes, what their inventories say of them.

-- Nodes that a statement has drained: the systems behind their executors are to put nothing there either (RUN SYNC). They
-- are drained until somebody resumes them, whatever becomes of the node meanwhile.
CREATE TABLE drains (
  node_id INTEGER PRIMARY KEY REFERENCES nodes ON DELETE CASCADE,
  reason  TEXT NOT NULL,
  since   INTEGER NOT NULL,
  told_at INTEGER  -- the system behind the executor has it; NULL = not yet
) STRICT;
INSERT INTO drains (node_id, reason, since)
  SELECT id, 'drained', unixepoch() FROM nodes
  WHERE state IN ('draining', 'drained') AND id NOT IN (SELECT node_id FROM node_health WHERE state = 'cordoned');

-- Where the inventory of an executor and the tables differ now.
CREATE TABLE inventory_drift (
  executor_id INTEGER NOT NULL REFERENCES executors ON DELETE CASCADE,
  node        TEXT NOT NULL,
  kind        TEXT NOT NULL CHECK (kind IN ('new', 'gone', 'different')),
  here        TEXT NOT NULL,
  there       TEXT NOT NULL,
  since       INTEGER NOT NULL,
  PRIMARY KEY (executor_id, node)
) STRICT, WITHOUT ROWID;
ALTER TABLE executors ADD COLUMN inventory_at INTEGER NOT NULL DEFAULT 0;  -- the last comparison
