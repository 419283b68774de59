-- The machines. Names of tables and columns are a public interface; amounts are integers: milli-cores, MiB, milli-GPU.

-- Facts about the database itself; 'state_version' counts accepted statements and rounds.
CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value ANY NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO meta VALUES ('state_version', 0);

CREATE TABLE pools (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE CHECK (name <> '')
) STRICT;

CREATE TABLE device_models (
  id         INTEGER PRIMARY KEY,
  name       TEXT NOT NULL UNIQUE CHECK (name <> ''),
  memory_mib INTEGER NOT NULL CHECK (memory_mib BETWEEN 0 AND 2147483647),  -- of one device; 0 = not tracked
  speed      REAL NOT NULL DEFAULT 1.0 CHECK (speed > 0)  -- relative to a reference device
) STRICT;

CREATE TABLE node_types (
  id              INTEGER PRIMARY KEY,
  name            TEXT NOT NULL UNIQUE CHECK (name <> ''),
  cpu_milli       INTEGER NOT NULL CHECK (cpu_milli BETWEEN 0 AND 1099511627776),  -- 2^40: no sum overflows
  memory_mib      INTEGER NOT NULL CHECK (memory_mib BETWEEN 0 AND 1099511627776),
  device_model_id INTEGER REFERENCES device_models,
  device_count    INTEGER NOT NULL DEFAULT 0 CHECK (device_count BETWEEN 0 AND 32),
  link_groups     TEXT NOT NULL DEFAULT '',  -- '[[0 1] [2 3]] [[4 5] [6 7]]': devices that talk fast to each other
  CHECK ((device_model_id IS NULL) = (device_count = 0))
) STRICT;

CREATE TABLE nodes (
  id      INTEGER PRIMARY KEY,
  name    TEXT NOT NULL UNIQUE CHECK (name <> ''),
  type_id INTEGER NOT NULL REFERENCES node_types,
  pool_id INTEGER REFERENCES pools,
  rack    TEXT CHECK (rack <> ''),
  state   TEXT NOT NULL DEFAULT 'up' CHECK (state IN ('up', 'draining', 'drained', 'down', 'booting')),
  labels  TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(labels))  -- {"zone": "a"}
) STRICT;

-- One row a device. Kept in step with nodes and node_types by the triggers below.
CREATE TABLE devices (
  node_id      INTEGER NOT NULL REFERENCES nodes ON DELETE CASCADE,
  device_index INTEGER NOT NULL CHECK (device_index BETWEEN 0 AND 31),
  health       TEXT NOT NULL DEFAULT 'healthy' CHECK (health IN ('healthy', 'unhealthy')),
  PRIMARY KEY (node_id, device_index)
) STRICT, WITHOUT ROWID;
CREATE INDEX devices_unhealthy ON devices (node_id, device_index) WHERE health <> 'healthy';

-- The numbers 0 to 31, for triggers (which cannot count).
CREATE TABLE device_slots (device_index INTEGER PRIMARY KEY) STRICT;
INSERT INTO device_slots
  WITH RECURSIVE slot (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM slot WHERE n < 31) SELECT n FROM slot;

CREATE TRIGGER nodes_add_devices AFTER INSERT ON nodes
BEGIN
  INSERT INTO devices (node_id, device_index)
    SELECT NEW.id, s.device_index
    FROM node_types t JOIN device_slots s ON s.device_index < t.device_count
    WHERE t.id = NEW.type_id
      AND NOT EXISTS (SELECT 1 FROM devices d WHERE d.node_id = NEW.id AND d.device_index = s.device_index);
END;

CREATE TRIGGER nodes_change_devices AFTER UPDATE OF type_id ON nodes
BEGIN
  DELETE FROM devices WHERE node_id = NEW.id
    AND device_index >= (SELECT device_count FROM node_types WHERE id = NEW.type_id);
  INSERT INTO devices (node_id, device_index)
    SELECT NEW.id, s.device_index
    FROM node_types t JOIN device_slots s ON s.device_index < t.device_count
    WHERE t.id = NEW.type_id
      AND NOT EXISTS (SELECT 1 FROM devices d WHERE d.node_id = NEW.id AND d.device_index = s.device_index);
END;

CREATE TRIGGER nodes_drop_devices AFTER DELETE ON nodes
BEGIN
  DELETE FROM devices WHERE node_id = OLD.id;
END;

CREATE TRIGGER node_types_change_devices AFTER UPDATE OF device_count ON node_types
BEGIN
  DELETE FROM devices WHERE device_index >= NEW.device_count
    AND node_id IN (SELECT id FROM nodes WHERE type_id = NEW.id);
  INSERT INTO devices (node_id, device_index)
    SELECT n.id, s.device_index
    FROM nodes n JOIN device_slots s ON s.device_index < NEW.device_count
    WHERE n.type_id = NEW.id
      AND NOT EXISTS (SELECT 1 FROM devices d WHERE d.node_id = n.id AND d.device_index = s.device_index);
END;
