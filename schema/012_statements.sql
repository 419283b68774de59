-- Who asked for each change, in the words of the statement; plans of changes.

ALTER TABLE events ADD COLUMN statement TEXT NOT NULL DEFAULT '';  -- empty: nobody typed one

-- From here on every step of the state version has an event.
INSERT INTO meta SELECT 'journalled_since', value FROM meta WHERE key = 'state_version';

-- Of a plan of a change: the statement, and the XXH3-128 of each file that it reads as JSON {"nodes.csv": "5a..."}.
ALTER TABLE plans ADD COLUMN statement TEXT NOT NULL DEFAULT '';
ALTER TABLE plans ADD COLUMN files TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(files));
