-- Who holds what where, and the triggers that keep every device, node and model from being over-allocated. They are plain SQL,
-- need no foreign keys and look at rows as they are after the change, so they hold for any program that writes to this file.

-- One row a placed task. Clustered by node: what a node runs is one short range.
CREATE TABLE allocations (
  node_id        INTEGER NOT NULL,  -- of nodes; the triggers below see to that
  job_id         INTEGER NOT NULL,
  group_index    INTEGER NOT NULL,
  task_index     INTEGER NOT NULL CHECK (task_index >= 0),
  device_mask    INTEGER NOT NULL CHECK (device_mask BETWEEN 0 AND 4294967295),  -- bit i = device i
  gpu_milli      INTEGER NOT NULL CHECK (gpu_milli BETWEEN 0 AND 1000),  -- of each device
  gpu_memory_mib INTEGER NOT NULL CHECK (gpu_memory_mib >= 0),           -- of each device
  cpu_milli      INTEGER NOT NULL CHECK (cpu_milli >= 0),
  memory_mib     INTEGER NOT NULL CHECK (memory_mib >= 0),
  start_time     INTEGER NOT NULL,
  round_id       INTEGER,  -- the round that placed it; its row may have been pruned
  PRIMARY KEY (node_id, job_id, group_index, task_index),
  FOREIGN KEY (job_id, group_index) REFERENCES task_groups,
  CHECK ((device_mask = 0) = (gpu_milli = 0)),
  -- Only whole devices come in numbers; a part is a part of one device.
  CHECK (gpu_milli IN (0, 1000) OR device_mask & (device_mask - 1) = 0)
) STRICT, WITHOUT ROWID;
-- A task sits on at most one node.
CREATE UNIQUE INDEX allocations_task ON allocations (job_id, group_index, task_index);

-- Because a part covers one device only, the sum over the rows that share a device with the new one is exact: a whole
-- device shared with anything gives more than 1000, and a part is summed on its one device.
CREATE TRIGGER allocations_fit_insert AFTER INSERT ON allocations
BEGIN
  SELECT CASE
      WHEN count(*) = 0 THEN RAISE(ABORT, 'allocation on a node that does not exist')
      WHEN NEW.gpu_milli NOT BETWEEN 0 AND 1000 OR NEW.device_mask < 0 OR NEW.gpu_memory_mib < 0
        OR NEW.cpu_milli < 0 OR NEW.memory_mib < 0 THEN RAISE(ABORT, 'allocation of an amount that cannot be')
      WHEN NEW.device_mask >> t.device_count <> 0 THEN RAISE(ABORT, 'allocation of a device that the node does not have')
      WHEN sum(a.gpu_milli) FILTER (WHERE a.device_mask & NEW.device_mask) > 1000
        THEN RAISE(ABORT, 'over-allocated: more than 1000 milli-GPU of a device')
      WHEN sum(a.gpu_memory_mib) FILTER (WHERE a.device_mask & NEW.device_mask) > m.memory_mib AND m.memory_mib > 0
        THEN RAISE(ABORT, 'over-allocated: memory of a device')
      WHEN sum(a.cpu_milli) > t.cpu_milli THEN RAISE(ABORT, 'over-allocated: CPU of a node')
      WHEN sum(a.memory_mib) > t.memory_mib THEN RAISE(ABORT, 'over-allocated: memory of a node')
    END
  FROM nodes n JOIN node_types t ON t.id = n.type_id LEFT JOIN device_models m ON m.id = t.device_model_id
    CROSS JOIN allocations a ON a.node_id = n.id
  WHERE n.id = NEW.node_id;
END;

CREATE TRIGGER allocations_fit_update AFTER UPDATE ON allocations
BEGIN
  SELECT CASE
      WHEN count(*) = 0 THEN RAISE(ABORT, 'allocation on a node that does not exist')
      WHEN NEW.gpu_milli NOT BETWEEN 0 AND 1000 OR NEW.device_mask < 0 OR NEW.gpu_memory_mib < 0
        OR NEW.cpu_milli < 0 OR NEW.memory_mib < 0 THEN RAISE(ABORT, 'allocation of an amount that cannot be')
      WHEN NEW.device_mask >> t.device_count <> 0 THEN RAISE(ABORT, 'allocation of a device that the node does not have')
      WHEN sum(a.gpu_milli) FILTER (WHERE a.device_mask & NEW.device_mask) > 1000
        THEN RAISE(ABORT, 'over-allocated: more than 1000 milli-GPU of a device')
      WHEN sum(a.gpu_memory_mib) FILTER (WHERE a.device_mask & NEW.device_mask) > m.memory_mib AND m.memory_mib > 0
        THEN RAISE(ABORT, 'over-allocated: memory of a device')
      WHEN sum(a.cpu_milli) > t.cpu_milli THEN RAISE(ABORT, 'over-allocated: CPU of a node')
      WHEN sum(a.memory_mib) > t.memory_mib THEN RAISE(ABORT, 'over-allocated: memory of a node')
    END
  FROM nodes n JOIN node_types t ON t.id = n.type_id LEFT JOIN device_models m ON m.id = t.device_model_id
    CROSS JOIN allocations a ON a.node_id = n.id
  WHERE n.id = NEW.node_id;
END;

-- Nodes whose type or device model is too small for what runs there. Rows with the same device_mask share the same devices:
-- parts of one device, or a single row of whole ones.
CREATE VIEW oversized_allocations (node_id, type_id, device_model_id) AS
  SELECT n.id, n.type_id, t.device_model_id
  FROM nodes n JOIN node_types t ON t.id = n.type_id JOIN allocations a ON a.node_id = n.id
  GROUP BY n.id
  HAVING sum(a.cpu_milli) > t.cpu_milli OR sum(a.memory_mib) > t.memory_mib
      OR max(a.device_mask) >> t.device_count <> 0
  UNION ALL
  SELECT n.id, n.type_id, t.device_model_id
  FROM nodes n JOIN node_types t ON t.id = n.type_id JOIN device_models m ON m.id = t.device_model_id
    JOIN allocations a ON a.node_id = n.id
  WHERE m.memory_mib > 0
  GROUP BY n.id, a.device_mask
  HAVING sum(a.gpu_memory_mib) > m.memory_mib;

-- The nodes that run tasks on devices, and whether the memory of those devices is tracked. While they do, it must stay so:
-- what the tasks hold of it would be wrong.
CREATE VIEW device_tasks (node_id, type_id, device_model_id, tracked) AS
  SELECT n.id, n.type_id, t.device_model_id, m.memory_mib > 0
  FROM nodes n JOIN node_types t ON t.id = n.type_id JOIN device_models m ON m.id = t.device_model_id
  WHERE EXISTS (SELECT 1 FROM allocations a WHERE a.node_id = n.id AND a.device_mask <> 0);

-- A name leads to what runs: a row that takes the name of another (INSERT OR REPLACE deletes that one without a word to any
-- trigger) must not pull a node, type or model from under running tasks.
CREATE TRIGGER nodes_name_insert BEFORE INSERT ON nodes
BEGIN
  SELECT RAISE(ABORT, 'another node of that name runs tasks')
  FROM nodes n WHERE n.name = NEW.name AND n.id IS NOT NEW.id AND EXISTS (SELECT 1 FROM allocations WHERE node_id = n.id);
  SELECT RAISE(ABORT, 'tasks run on devices of the node: whether their memory is tracked cannot change')
  FROM device_tasks d WHERE d.node_id = NEW.id
    AND d.tracked <> (SELECT m.memory_mib > 0 FROM node_types t JOIN device_models m ON m.id = t.device_model_id
                      WHERE t.id = NEW.type_id);
END;

CREATE TRIGGER nodes_name_update BEFORE UPDATE OF name, type_id ON nodes
BEGIN
  SELECT RAISE(ABORT, 'another node of that name runs tasks')
  FROM nodes n WHERE n.name = NEW.name AND n.id <> OLD.id AND EXISTS (SELECT 1 FROM allocations WHERE node_id = n.id);
  SELECT RAISE(ABORT, 'tasks run on devices of the node: whether their memory is tracked cannot change')
  FROM device_tasks d WHERE d.node_id = OLD.id
    AND d.tracked <> (SELECT m.memory_mib > 0 FROM node_types t JOIN device_models m ON m.id = t.device_model_id
                      WHERE t.id = NEW.type_id);
END;

CREATE TRIGGER node_types_name_insert BEFORE INSERT ON node_types
BEGIN
  SELECT RAISE(ABORT, 'nodes have another type of that name')
  FROM node_types t WHERE t.name = NEW.name AND t.id IS NOT NEW.id AND EXISTS (SELECT 1 FROM nodes WHERE type_id = t.id);
  SELECT RAISE(ABORT, 'tasks run on devices of the type: whether their memory is tracked cannot change')
  FROM device_tasks d WHERE d.type_id = NEW.id
    AND d.tracked <> (SELECT m.memory_mib > 0 FROM device_models m WHERE m.id = NEW.device_model_id);
END;

CREATE TRIGGER node_types_name_update BEFORE UPDATE OF name, device_model_id ON node_types
BEGIN
  SELECT RAISE(ABORT, 'nodes have another type of that name')
  FROM node_types t WHERE t.name = NEW.name AND t.id <> OLD.id AND EXISTS (SELECT 1 FROM nodes WHERE type_id = t.id);
  SELECT RAISE(ABORT, 'tasks run on devices of the type: whether their memory is tracked cannot change')
  FROM device_tasks d WHERE d.type_id = OLD.id
    AND d.tracked <> (SELECT m.memory_mib > 0 FROM device_models m WHERE m.id = NEW.device_model_id);
END;

CREATE TRIGGER device_models_name_insert BEFORE INSERT ON device_models
BEGIN
  SELECT RAISE(ABORT, 'node types have another device model of that name')
  FROM device_models m WHERE m.name = NEW.name AND m.id IS NOT NEW.id
    AND EXISTS (SELECT 1 FROM node_types WHERE device_model_id = m.id);
  SELECT RAISE(ABORT, 'tasks run on devices of the model: whether their memory is tracked cannot change')
  FROM device_tasks d WHERE d.device_model_id = NEW.id AND d.tracked <> (NEW.memory_mib > 0);
END;

CREATE TRIGGER device_models_name_update BEFORE UPDATE OF name, memory_mib ON device_models
BEGIN
  SELECT RAISE(ABORT, 'node types have another device model of that name')
  FROM device_models m WHERE m.name = NEW.name AND m.id <> OLD.id
    AND EXISTS (SELECT 1 FROM node_types WHERE device_model_id = m.id);
  SELECT RAISE(ABORT, 'tasks run on devices of the model: whether their memory is tracked cannot change')
  FROM device_tasks d WHERE d.device_model_id = OLD.id AND d.tracked <> (NEW.memory_mib > 0);
END;

CREATE TRIGGER device_models_busy_delete BEFORE DELETE ON device_models
  WHEN EXISTS (SELECT 1 FROM node_types WHERE device_model_id = OLD.id)
BEGIN
  SELECT RAISE(ABORT, 'node types have the device model');
END;

-- INSERT too: INSERT OR REPLACE is an update in disguise.
CREATE TRIGGER nodes_fit_insert AFTER INSERT ON nodes
  WHEN EXISTS (SELECT 1 FROM allocations WHERE node_id = NEW.id)
BEGIN
  SELECT RAISE(ABORT, 'over-allocated: the node would be too small for the tasks it runs')
  WHERE EXISTS (SELECT 1 FROM oversized_allocations WHERE node_id = NEW.id);
END;

CREATE TRIGGER nodes_fit_update AFTER UPDATE OF id, type_id ON nodes
BEGIN
  SELECT RAISE(ABORT, 'the node runs tasks: its id cannot change')
  WHERE NEW.id <> OLD.id AND EXISTS (SELECT 1 FROM allocations WHERE node_id IN (OLD.id, NEW.id));
  SELECT RAISE(ABORT, 'over-allocated: the node would be too small for the tasks it runs')
  WHERE EXISTS (SELECT 1 FROM oversized_allocations WHERE node_id = NEW.id);
END;

CREATE TRIGGER nodes_busy_delete BEFORE DELETE ON nodes
  WHEN EXISTS (SELECT 1 FROM allocations WHERE node_id = OLD.id)
BEGIN
  SELECT RAISE(ABORT, 'the node runs tasks');
END;

CREATE TRIGGER node_types_fit_insert AFTER INSERT ON node_types
BEGIN
  SELECT RAISE(ABORT, 'over-allocated: nodes of the type would be too small for the tasks they run')
  WHERE EXISTS (SELECT 1 FROM oversized_allocations WHERE type_id = NEW.id);
END;

CREATE TRIGGER node_types_fit_update AFTER UPDATE ON node_types
BEGIN
  SELECT RAISE(ABORT, 'nodes have the type: its id cannot change')
  WHERE NEW.id <> OLD.id AND EXISTS (SELECT 1 FROM nodes WHERE type_id IN (OLD.id, NEW.id));
  SELECT RAISE(ABORT, 'over-allocated: nodes of the type would be too small for the tasks they run')
  WHERE EXISTS (SELECT 1 FROM oversized_allocations WHERE type_id = NEW.id);
END;

CREATE TRIGGER device_models_fit_insert AFTER INSERT ON device_models
BEGIN
  SELECT RAISE(ABORT, 'over-allocated: devices of the model would have too little memory for the tasks they run')
  WHERE EXISTS (SELECT 1 FROM oversized_allocations WHERE device_model_id = NEW.id);
END;

CREATE TRIGGER device_models_fit_update AFTER UPDATE ON device_models
BEGIN
  SELECT RAISE(ABORT, 'node types have the device model: its id cannot change')
  WHERE NEW.id <> OLD.id AND EXISTS (SELECT 1 FROM node_types WHERE device_model_id IN (OLD.id, NEW.id));
  SELECT RAISE(ABORT, 'over-allocated: devices of the model would have too little memory for the tasks they run')
  WHERE EXISTS (SELECT 1 FROM oversized_allocations WHERE device_model_id = NEW.id);
END;

CREATE TRIGGER node_types_busy_delete BEFORE DELETE ON node_types
  WHEN EXISTS (SELECT 1 FROM nodes WHERE type_id = OLD.id)
BEGIN
  SELECT RAISE(ABORT, 'nodes have the type');
END;

-- Attempts that ended: a row each time a job stopped running.
CREATE TABLE runs (
  id         INTEGER PRIMARY KEY,
  job_id     INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE,
  attempt    INTEGER NOT NULL CHECK (attempt > 0),
  start_time INTEGER NOT NULL,
  end_time   INTEGER NOT NULL,
  outcome    TEXT NOT NULL CHECK (outcome IN ('finished', 'failed', 'cancelled', 'evicted')),
  tasks      INTEGER NOT NULL,
  gpu_milli  INTEGER NOT NULL,  -- of all tasks together
  nodes      TEXT NOT NULL CHECK (json_valid(nodes)),  -- ["train001", ...]
  detail     TEXT NOT NULL DEFAULT '',
  UNIQUE (job_id, attempt)
) STRICT;
