-- Checksums of rounds and loans, see store/row_sums.h; NULL = not known.
ALTER TABLE rounds ADD COLUMN checksum INTEGER;
ALTER TABLE loans ADD COLUMN checksum INTEGER;
