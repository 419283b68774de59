-- Checksums of rows whose text matters, see store/row_sums.h; NULL = not known.
ALTER TABLE events ADD COLUMN checksum INTEGER;
ALTER TABLE plans ADD COLUMN checksum INTEGER;
ALTER TABLE jobs ADD COLUMN checksum INTEGER;
ALTER TABLE task_groups ADD COLUMN checksum INTEGER;
ALTER TABLE policy_versions ADD COLUMN checksum INTEGER;
ALTER TABLE assertions ADD COLUMN checksum INTEGER;
