-- When an executor took in a stop, until its tasks have ended: what was told may be lost on its way, and is told again.
ALTER TABLE outbox ADD COLUMN told_at INTEGER CHECK (told_at IS NULL OR kind = 'stop');
