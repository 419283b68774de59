-- 1: the job got the tasks it needs; only more of them would break the assertion.
ALTER TABLE assertion_holds ADD COLUMN only_surplus INTEGER NOT NULL DEFAULT 0 CHECK (only_surplus IN (0, 1));
