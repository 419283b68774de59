-- What rounds looked at and decided, kept whole, so that REPLAY can plan them again.

-- Pieces of snapshots and plans. Equal pieces are one row, so a round adds little more than what changed since the last.
CREATE TABLE record_parts (
  id    INTEGER PRIMARY KEY,
  hash  BLOB NOT NULL UNIQUE,  -- XXH3, 128 bits, of what `data` unpacks to
  size  INTEGER NOT NULL,      -- of that
  data  BLOB NOT NULL          -- zstd
) STRICT;

-- One planning. input_parts and plan_parts name pieces that list the ids of the others, in order.
CREATE TABLE round_records (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  recorded_at  INTEGER NOT NULL,
  engine       TEXT NOT NULL,     -- the program that planned, and its compiler
  format       INTEGER NOT NULL,  -- of heads and pieces
  input_head   BLOB NOT NULL,
  input_parts  INTEGER NOT NULL REFERENCES record_parts,
  plan_head    BLOB NOT NULL,
  plan_parts   INTEGER NOT NULL REFERENCES record_parts,
  new_bytes    INTEGER NOT NULL   -- what this record added to the file, of pieces and heads
) STRICT;
CREATE INDEX round_records_time ON round_records (recorded_at);

ALTER TABLE rounds ADD COLUMN record_id INTEGER REFERENCES round_records ON DELETE SET NULL;
ALTER TABLE rounds ADD COLUMN record_seconds REAL NOT NULL DEFAULT 0;
ALTER TABLE plans ADD COLUMN record_id INTEGER REFERENCES round_records ON DELETE SET NULL;
CREATE INDEX rounds_record ON rounds (record_id);
CREATE INDEX plans_record ON plans (record_id);
