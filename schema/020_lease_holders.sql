-- Who holds a lease, told from a later process of the same number. '' and 0: taken by an earlier version.
ALTER TABLE leases ADD COLUMN boot TEXT NOT NULL DEFAULT '';                -- of the machine
ALTER TABLE leases ADD COLUMN process_start INTEGER NOT NULL DEFAULT 0;  -- in clock ticks since that boot
