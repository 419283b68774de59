-- What nobody may break: queues form trees. And what shows that something is gone.

-- UNION, not UNION ALL: it ends where there is a cycle already.
CREATE TRIGGER queues_tree_insert AFTER INSERT ON queues
  WHEN NEW.parent_id IS NOT NULL
BEGIN
  SELECT RAISE(ABORT, 'a queue cannot lie below itself')
  WHERE NEW.id IN (WITH RECURSIVE above (id) AS (
    SELECT NEW.parent_id UNION SELECT q.parent_id FROM above a JOIN queues q ON q.id = a.id WHERE q.parent_id IS NOT NULL)
    SELECT id FROM above);
END;

CREATE TRIGGER queues_tree_update AFTER UPDATE OF id, parent_id ON queues
  WHEN NEW.parent_id IS NOT NULL
BEGIN
  SELECT RAISE(ABORT, 'a queue cannot lie below itself')
  WHERE NEW.id IN (WITH RECURSIVE above (id) AS (
    SELECT NEW.parent_id UNION SELECT q.parent_id FROM above a JOIN queues q ON q.id = a.id WHERE q.parent_id IS NOT NULL)
    SELECT id FROM above);
END;

ALTER TABLE rounds ADD COLUMN decisions INTEGER;  -- rows of that table; NULL = of an older program, which did not count
