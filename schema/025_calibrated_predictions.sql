-- Whether the p90 that was predicted at submission bounds the run: enough runs like it were known, and it held for them.
ALTER TABLE jobs ADD COLUMN predicted_p90_bounds INTEGER NOT NULL DEFAULT 0 CHECK (predicted_p90_bounds IN (0, 1));
