-- What queues owned, borrowed, lent, left idle and lost, in GPU time by day: what departments are charged and credited.

ALTER TABLE device_models ADD COLUMN price_milli INTEGER CHECK (price_milli >= 0);  -- of a borrowed GPU-hour, in thousandths; NULL = the setting's

-- What each queue has and uses since a moment, in milli-GPU. When a row changes, what it was until then is added to its
-- sums of the day (of since), and these to account_days with the first change of the next: quotas and loans of the past
-- stay what they were. device_model: of what is used or lent the model in use; of what is idle and of loans what the quota is of (a
-- model, a family, or gpu).
CREATE TABLE account_rates (
  id               INTEGER PRIMARY KEY,
  queue            TEXT NOT NULL,
  device_model     TEXT NOT NULL,
  since            INTEGER NOT NULL,
  owned            INTEGER NOT NULL,            -- loans counted; what is neither used nor lent is idle
  used_own         INTEGER NOT NULL,            -- used of what it owns
  borrowed         INTEGER NOT NULL,            -- used beyond that
  unowned          INTEGER NOT NULL,            -- of borrowed: nobody's quota
  lent             INTEGER NOT NULL,            -- what others use of what it owns
  loaned_in        INTEGER NOT NULL,            -- by loans; in owned
  loaned_out       INTEGER NOT NULL,            -- by loans; not in owned
  owned_today      INTEGER NOT NULL DEFAULT 0,  -- milli-GPU-seconds, as all below
  used_own_today   INTEGER NOT NULL DEFAULT 0,
  borrowed_today   INTEGER NOT NULL DEFAULT 0,
  unowned_today    INTEGER NOT NULL DEFAULT 0,
  lent_today       INTEGER NOT NULL DEFAULT 0,
  loaned_in_today  INTEGER NOT NULL DEFAULT 0,
  loaned_out_today INTEGER NOT NULL DEFAULT 0,
  CHECK (owned >= used_own + lent AND borrowed >= unowned),
  CHECK (used_own >= 0 AND unowned >= 0 AND lent >= 0 AND loaned_in >= 0 AND loaned_out >= 0),
  UNIQUE (queue, device_model)
) STRICT;

-- The sums of days, in milli-GPU-seconds. Queues by name: what a queue was charged outlives it.
CREATE TABLE account_days (
  day          INTEGER NOT NULL CHECK (day % 86400 = 0),  -- midnight, UTC
  queue        TEXT NOT NULL,
  device_model TEXT NOT NULL,
  owned        INTEGER NOT NULL DEFAULT 0,
  used_own     INTEGER NOT NULL DEFAULT 0,
  borrowed     INTEGER NOT NULL DEFAULT 0,
  unowned      INTEGER NOT NULL DEFAULT 0,
  lent         INTEGER NOT NULL DEFAULT 0,
  loaned_in    INTEGER NOT NULL DEFAULT 0,
  loaned_out   INTEGER NOT NULL DEFAULT 0,
  use_known    INTEGER NOT NULL DEFAULT 0,  -- held by runs whose utilisation was recorded
  unused       INTEGER NOT NULL DEFAULT 0,  -- of use_known: held and not utilised
  PRIMARY KEY (day, queue, device_model)
) STRICT, WITHOUT ROWID;

-- Work that evictions cost, in milli-GPU-seconds, on the day of the decision.
CREATE TABLE account_losses (
  day          INTEGER NOT NULL CHECK (day % 86400 = 0),
  queue        TEXT NOT NULL,  -- that lost
  device_model TEXT NOT NULL,
  beneficiary  TEXT NOT NULL,  -- the queue that it was for
  rule         TEXT NOT NULL CHECK (rule IN ('reclaim', 'priority', 'loan')),
  evictions    INTEGER NOT NULL,
  lost         INTEGER NOT NULL,
  PRIMARY KEY (day, queue, device_model, beneficiary, rule)
) STRICT, WITHOUT ROWID;

-- Dates that have passed.
CREATE INDEX quotas_begin ON quotas (valid_from) WHERE valid_from IS NOT NULL;
CREATE INDEX quotas_end ON quotas (valid_to) WHERE valid_to IS NOT NULL;
CREATE INDEX loans_begin ON loans (valid_from) WHERE state = 'open';
