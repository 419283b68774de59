-- Policies written in Lua, and their versions.
CREATE TABLE policies (
  id          INTEGER PRIMARY KEY,
  name        TEXT NOT NULL UNIQUE,
  version     INTEGER NOT NULL,  -- the one in use
  file        TEXT NOT NULL,     -- where its text was read
  created_at  INTEGER NOT NULL,
  created_by  TEXT NOT NULL
) STRICT;

CREATE TABLE policy_versions (
  policy_id   INTEGER NOT NULL REFERENCES policies ON DELETE CASCADE,
  version     INTEGER NOT NULL,
  source      TEXT NOT NULL,
  hooks       TEXT NOT NULL,     -- that it defines: 'order,score'
  summary     TEXT NOT NULL,
  created_at  INTEGER NOT NULL,
  created_by  TEXT NOT NULL,
  PRIMARY KEY (policy_id, version)
) STRICT, WITHOUT ROWID;

-- Knobs that were set; the others have the default that the text gives them.
CREATE TABLE policy_knobs (
  policy_id   INTEGER NOT NULL REFERENCES policies ON DELETE CASCADE,
  name        TEXT NOT NULL,
  value       TEXT NOT NULL,
  PRIMARY KEY (policy_id, name)
) STRICT, WITHOUT ROWID;
