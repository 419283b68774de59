-- Policies that are only watched: planned beside the live ones in each round, on the same input; nothing of it happens.

CREATE TABLE shadows (
  id           INTEGER PRIMARY KEY,
  policy       TEXT NOT NULL UNIQUE,
  order_policy TEXT,  -- what it takes the place of; NULL = the live one stays
  score_policy TEXT,
  since        INTEGER NOT NULL,
  created_by   TEXT NOT NULL,
  CHECK (order_policy IS NOT NULL OR score_policy IS NOT NULL)
) STRICT;

-- One round as the shadow planned it. Milli-GPU and milli-GPU-seconds.
CREATE TABLE shadow_rounds (
  shadow_id        INTEGER NOT NULL REFERENCES shadows ON DELETE CASCADE,
  round_id         INTEGER NOT NULL REFERENCES rounds ON DELETE CASCADE,
  state            TEXT NOT NULL CHECK (state IN ('planned', 'over_budget', 'failed')),
  detail           TEXT NOT NULL DEFAULT '',  -- why it failed
  seconds          REAL NOT NULL,
  live_starts      INTEGER NOT NULL DEFAULT 0,  -- jobs
  shadow_starts    INTEGER NOT NULL DEFAULT 0,
  only_live        INTEGER NOT NULL DEFAULT 0,
  only_shadow      INTEGER NOT NULL DEFAULT 0,
  elsewhere        INTEGER NOT NULL DEFAULT 0,  -- both start it, on other nodes
  live_gpu_milli   INTEGER NOT NULL DEFAULT 0,
  shadow_gpu_milli INTEGER NOT NULL DEFAULT 0,
  live_evictions   INTEGER NOT NULL DEFAULT 0,
  shadow_evictions INTEGER NOT NULL DEFAULT 0,
  live_lost        INTEGER NOT NULL DEFAULT 0,
  shadow_lost      INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (shadow_id, round_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX shadow_rounds_round ON shadow_rounds (round_id);

-- Decisions about jobs that differ, the first of each round.
CREATE TABLE shadow_differences (
  shadow_id INTEGER NOT NULL,
  round_id  INTEGER NOT NULL,
  seq       INTEGER NOT NULL,
  job_id    INTEGER NOT NULL,
  live      TEXT NOT NULL,
  shadow    TEXT NOT NULL,
  PRIMARY KEY (shadow_id, round_id, seq),
  FOREIGN KEY (shadow_id, round_id) REFERENCES shadow_rounds ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- When each job that waited under the shadow's eyes first started: by the shadow's plan, and really.
CREATE TABLE shadow_starts (
  shadow_id   INTEGER NOT NULL REFERENCES shadows ON DELETE CASCADE,
  job_id      INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE,
  shadow_time INTEGER,
  live_time   INTEGER,
  PRIMARY KEY (shadow_id, job_id)
) STRICT, WITHOUT ROWID;
