-- When its executor took in a stop. The row stays until the tasks have ended, for the stop may get lost on its way.
ALTER TABLE outbox ADD COLUMN told_at INTEGER CHECK (told_at IS NULL OR kind = 'stop');
