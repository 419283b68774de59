-- When a waiting job was last held back by itself, because starting it would break an assertion: for reservation_ttl from
-- then on rounds make and keep no room for it. assertion_holds says only what the last round did.
CREATE TABLE assertion_refusals (
  job_id       INTEGER PRIMARY KEY REFERENCES jobs ON DELETE CASCADE,
  assertion_id INTEGER NOT NULL REFERENCES assertions ON DELETE CASCADE,
  refused_at   INTEGER NOT NULL
) STRICT;
CREATE INDEX assertion_refusals_assertion ON assertion_refusals (assertion_id);
