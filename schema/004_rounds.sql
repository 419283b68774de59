-- What was decided, what happened, who runs rounds, and how Berth is set.

CREATE TABLE rounds (
  id              INTEGER PRIMARY KEY AUTOINCREMENT,
  kind            TEXT NOT NULL,
  state_version   INTEGER NOT NULL,  -- planned on; applying it made the next
  started_at      INTEGER NOT NULL,
  actor           TEXT NOT NULL DEFAULT '',
  order_policy    TEXT NOT NULL,
  score_policy    TEXT NOT NULL,
  seed            INTEGER NOT NULL,
  placed_tasks    INTEGER NOT NULL,
  started_jobs    INTEGER NOT NULL,
  waiting_jobs    INTEGER NOT NULL,
  load_seconds    REAL NOT NULL,
  order_seconds   REAL NOT NULL,
  place_seconds   REAL NOT NULL,
  apply_seconds   REAL NOT NULL  -- up to the commit
) STRICT;

-- Which jobs a round started, and which waiting jobs it gave another reason than the round before.
CREATE TABLE decisions (
  round_id INTEGER NOT NULL REFERENCES rounds ON DELETE CASCADE,
  seq      INTEGER NOT NULL,
  job_id   INTEGER NOT NULL,
  kind     TEXT NOT NULL CHECK (kind IN ('start', 'wait')),
  reason   TEXT,  -- of a wait
  detail   TEXT NOT NULL,  -- JSON; start: {"tasks": 8}; wait: {"group": 0, "fits": 3, "needed": 8}
  PRIMARY KEY (round_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  time          INTEGER NOT NULL,
  state_version INTEGER NOT NULL,  -- the version that the event's statement made
  kind          TEXT NOT NULL,     -- 'create node', 'run schedule', ...
  object        TEXT NOT NULL,
  actor         TEXT NOT NULL,
  detail        TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX events_version ON events (state_version);

CREATE TABLE plans (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  created_at    INTEGER NOT NULL,
  state_version INTEGER NOT NULL,  -- the version it was planned on
  kind          TEXT NOT NULL,
  plan_json     TEXT NOT NULL CHECK (json_valid(plan_json)),
  state         TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'applied'))
) STRICT;

CREATE TABLE settings (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE leases (
  name        TEXT PRIMARY KEY,
  holder      TEXT NOT NULL,
  host        TEXT NOT NULL,
  pid         INTEGER NOT NULL,
  acquired_at INTEGER NOT NULL,
  expires_at  INTEGER NOT NULL,
  token       INTEGER NOT NULL  -- tells one acquisition from the next
) STRICT, WITHOUT ROWID;
