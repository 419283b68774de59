-- How the public tables looked at any moment: what every committed change replaced, so that it can be undone on paper.

-- What columns the rows of a table had when their changes were written down.
CREATE TABLE history_layouts (
  id         INTEGER PRIMARY KEY,
  table_name TEXT NOT NULL,
  columns    TEXT NOT NULL CHECK (json_valid(columns)),  -- ["id", "name", ...]
  keys       TEXT NOT NULL CHECK (json_valid(keys)),     -- those that tell rows apart
  UNIQUE (table_name, columns, keys)
) STRICT;

-- One committed transaction that changed something. What the first row left is the oldest that is known.
CREATE TABLE history_moments (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  time          INTEGER NOT NULL,
  state_version INTEGER NOT NULL,  -- that it left
  kind          TEXT NOT NULL DEFAULT 'change'
                CHECK (kind = 'change' OR kind = 'begin' OR kind = 'load'),  -- load: of a snapshot; what was there since the row before is not known
  bytes         INTEGER NOT NULL   -- of its changes, as stored
) STRICT;

-- What one transaction replaced in one table.
CREATE TABLE history_changes (
  id         INTEGER PRIMARY KEY,
  moment_id  INTEGER NOT NULL,
  layout_id  INTEGER NOT NULL,
  size       INTEGER NOT NULL,  -- of what data unpacks to (zstd); 0 = it is not packed
  data       BLOB NOT NULL
) STRICT;
CREATE INDEX history_changes_table ON history_changes (layout_id, moment_id);
CREATE INDEX history_changes_moment ON history_changes (moment_id);
