-- Devices that are marked unhealthy because their machine has them no more; they are healthy again when it has.
CREATE TABLE gone_devices (
  node_id      INTEGER NOT NULL REFERENCES nodes ON DELETE CASCADE,
  device_index INTEGER NOT NULL,
  PRIMARY KEY (node_id, device_index)
) STRICT, WITHOUT ROWID;
