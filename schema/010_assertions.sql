-- What no plan may bring about: queries whose rows are violations.
CREATE TABLE assertions (
  id          INTEGER PRIMARY KEY,
  name        TEXT NOT NULL UNIQUE,
  query       TEXT NOT NULL,
  state       TEXT NOT NULL DEFAULT 'on' CHECK (state IN ('on', 'off')),
  created_at  INTEGER NOT NULL,
  created_by  TEXT NOT NULL
) STRICT;
