-- A job that is told to stop at the end of a loan gets its checkpoint signal only when its grace begins. 1 = its tasks
-- are still to get it.
ALTER TABLE stopping_jobs ADD COLUMN signal_to_come INTEGER NOT NULL DEFAULT 0 CHECK (signal_to_come IN (0, 1));
