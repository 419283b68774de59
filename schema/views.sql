-- Views for reading: dropped and made again whenever this text changes. Column names are a public interface.

-- How many devices an allocation has (the bits of device_mask, counted in parallel) and the milli-GPU of all of them.
CREATE VIEW allocation_sizes AS
  SELECT node_id, job_id, group_index, task_index, device_count, device_count * gpu_milli AS gpu_total_milli, cpu_milli,
         memory_mib
  FROM (SELECT node_id, job_id, group_index, task_index, gpu_milli, cpu_milli, memory_mib,
               (((nibbles + (nibbles >> 4)) & 252645135) * 16843009 >> 24) & 255 AS device_count
        FROM (SELECT node_id, job_id, group_index, task_index, gpu_milli, cpu_milli, memory_mib,
                     (pairs & 858993459) + ((pairs >> 2) & 858993459) AS nibbles
              FROM (SELECT node_id, job_id, group_index, task_index, gpu_milli, cpu_milli, memory_mib,
                           device_mask - ((device_mask >> 1) & 1431655765) AS pairs
                    FROM allocations)));

-- One row a node: what it is, what it has, what is used.
CREATE VIEW node_usage AS
  SELECT n.id AS node_id, n.name AS node, t.name AS type, p.name AS pool, n.rack, n.state, m.name AS device_model,
         t.device_count AS devices,
         (SELECT count(*) FROM devices d WHERE d.node_id = n.id AND d.health <> 'healthy') AS devices_unhealthy,
         t.device_count * 1000 AS gpu_milli,
         (SELECT coalesce(sum(gpu_total_milli), 0) FROM allocation_sizes s WHERE s.node_id = n.id) AS gpu_used_milli,
         t.cpu_milli,
         (SELECT coalesce(sum(a.cpu_milli), 0) FROM allocations a WHERE a.node_id = n.id) AS cpu_used_milli,
         t.memory_mib,
         (SELECT coalesce(sum(a.memory_mib), 0) FROM allocations a WHERE a.node_id = n.id) AS memory_used_mib,
         (SELECT count(*) FROM allocations a WHERE a.node_id = n.id) AS tasks,
         n.labels
  FROM nodes n
  JOIN node_types t ON t.id = n.type_id
  LEFT JOIN device_models m ON m.id = t.device_model_id
  LEFT JOIN pools p ON p.id = n.pool_id;

-- One row a device.
CREATE VIEW device_usage AS
  SELECT n.id AS node_id, n.name AS node, d.device_index, m.name AS device_model, d.health,
         (SELECT coalesce(sum(a.gpu_milli), 0) FROM allocations a
          WHERE a.node_id = d.node_id AND (a.device_mask >> d.device_index) & 1) AS used_milli,
         m.memory_mib,
         (SELECT coalesce(sum(a.gpu_memory_mib), 0) FROM allocations a
          WHERE a.node_id = d.node_id AND (a.device_mask >> d.device_index) & 1) AS memory_used_mib,
         (SELECT count(*) FROM allocations a
          WHERE a.node_id = d.node_id AND (a.device_mask >> d.device_index) & 1) AS tasks
  FROM devices d
  JOIN nodes n ON n.id = d.node_id
  JOIN node_types t ON t.id = n.type_id
  JOIN device_models m ON m.id = t.device_model_id;

-- Jobs that have not ended: pending, held, running.
CREATE VIEW live_jobs AS SELECT * FROM jobs WHERE end_time IS NULL;

-- One row a job that waits, is held or runs.
CREATE VIEW jobs_now AS
  SELECT j.id AS job_id, j.name AS job, q.name AS queue, c.name AS priority_class, j.user_name, j.state, j.submit_time,
         j.start_time, j.time_limit_s, j.wait_reason, j.wait_since,
         (SELECT sum(g.task_count) FROM task_groups g WHERE g.job_id = j.id) AS tasks,
         (SELECT count(*) FROM allocations a WHERE a.job_id = j.id) AS tasks_placed,
         (SELECT sum(g.task_count * g.gpu_count * g.gpu_milli) FROM task_groups g WHERE g.job_id = j.id) AS gpu_milli,
         (SELECT sum(g.task_count * g.cpu_milli) FROM task_groups g WHERE g.job_id = j.id) AS cpu_milli,
         (SELECT sum(g.task_count * g.memory_mib) FROM task_groups g WHERE g.job_id = j.id) AS memory_mib
  FROM live_jobs j
  JOIN queues q ON q.id = j.queue_id
  LEFT JOIN priority_classes c ON c.id = j.priority_class_id;

-- One row a task of a job that waits, is held or runs; node and device_mask are NULL while it is not placed.
CREATE VIEW tasks AS
  WITH RECURSIVE each_task (job_id, group_index, task_index, task_count) AS (
    SELECT g.job_id, g.group_index, 0, g.task_count
    FROM live_jobs j JOIN task_groups g ON g.job_id = j.id
    UNION ALL
    SELECT job_id, group_index, task_index + 1, task_count FROM each_task WHERE task_index + 1 < task_count)
  SELECT e.job_id, j.name AS job, g.name AS task_group, e.group_index, e.task_index, j.state AS job_state,
         iif(a.node_id IS NULL, 'waiting', 'running') AS state,
         n.name AS node, a.device_mask, g.gpu_count, g.gpu_milli, a.gpu_memory_mib, g.cpu_milli, g.memory_mib, a.start_time
  FROM each_task e
  JOIN jobs j ON j.id = e.job_id
  JOIN task_groups g ON g.job_id = e.job_id AND g.group_index = e.group_index
  LEFT JOIN allocations a ON a.job_id = e.job_id AND a.group_index = e.group_index AND a.task_index = e.task_index
  LEFT JOIN nodes n ON n.id = a.node_id;

-- One row a queue: its own jobs and those of all queues below it.
CREATE VIEW queue_usage AS
  WITH RECURSIVE below (top_id, queue_id) AS (
    SELECT id, id FROM queues
    UNION
    SELECT b.top_id, q.id FROM below b JOIN queues q ON q.parent_id = b.queue_id),
  used (queue_id, tasks, gpu_milli, cpu_milli, memory_mib) AS (
    SELECT j.queue_id, count(*), sum(s.gpu_total_milli), sum(s.cpu_milli), sum(s.memory_mib)
    FROM allocation_sizes s JOIN jobs j ON j.id = s.job_id
    GROUP BY j.queue_id),
  live (queue_id, pending, held, running) AS (
    SELECT queue_id, sum(state = 'pending'), sum(state = 'held'), sum(state = 'running')
    FROM live_jobs GROUP BY queue_id)
  SELECT q.id AS queue_id, q.name AS queue, p.name AS parent,
         coalesce(sum(l.pending), 0) AS jobs_pending, coalesce(sum(l.held), 0) AS jobs_held,
         coalesce(sum(l.running), 0) AS jobs_running, coalesce(sum(u.tasks), 0) AS tasks_running,
         coalesce(sum(u.gpu_milli), 0) AS gpu_used_milli, coalesce(sum(u.cpu_milli), 0) AS cpu_used_milli,
         coalesce(sum(u.memory_mib), 0) AS memory_used_mib
  FROM queues q
  LEFT JOIN queues p ON p.id = q.parent_id
  JOIN below b ON b.top_id = q.id
  LEFT JOIN used u ON u.queue_id = b.queue_id
  LEFT JOIN live l ON l.queue_id = b.queue_id
  GROUP BY q.id;

-- Where free GPU capacity lies, by pool and device model, on nodes that are up: on wholly free devices, or left over on shared ones.
CREATE VIEW fragmentation AS
  SELECT p.name AS pool, m.name AS device_model, count(*) AS devices,
         sum(u.used_milli = 0) AS devices_free,
         sum(1000 - u.used_milli) AS free_milli,
         sum(iif(u.used_milli > 0, 1000 - u.used_milli, 0)) AS free_on_shared_milli,
         sum(u.tasks > 1) AS devices_shared
  FROM device_usage u
  JOIN nodes n ON n.id = u.node_id
  JOIN node_types t ON t.id = n.type_id
  JOIN device_models m ON m.id = t.device_model_id
  LEFT JOIN pools p ON p.id = n.pool_id
  WHERE n.state = 'up' AND u.health = 'healthy'
  GROUP BY n.pool_id, m.id;

-- What a resource of quotas is: the device models that count. cpu, memory and gpu are not in it.
CREATE VIEW resource_models AS
  SELECT name AS resource, name AS device_model FROM device_models
  UNION
  SELECT family, name FROM device_models WHERE family IS NOT NULL;

-- What pending jobs of each queue itself ask for, by the device models they may use ('A100|H100', NULL = any).
CREATE VIEW queue_demand AS
  SELECT j.queue_id, g.models, sum(g.task_count * g.gpu_count * g.gpu_milli) AS gpu_milli,
         sum(g.task_count * g.cpu_milli) AS cpu_milli, sum(g.task_count * g.memory_mib) AS memory_mib
  FROM live_jobs j JOIN task_groups g ON g.job_id = j.id
  WHERE j.state = 'pending'
  GROUP BY j.queue_id, g.models;

-- One row a queue and resource that somebody has a quota or limit of; amounts of a queue are those of its branch, in
-- milli-cores, MiB or milli-GPU. As of the last change of use or round, but for what is pending. A task counts against a
-- device model or family when all models it may use belong to it.
CREATE VIEW queue_standing AS
  WITH RECURSIVE below (top_id, queue_id) AS (
    SELECT id, id FROM queues
    UNION
    SELECT b.top_id, q.id FROM below b JOIN queues q ON q.parent_id = b.queue_id),
  governed (resource, by_model) AS (
    SELECT resource, resource IN (SELECT resource FROM resource_models) FROM standings GROUP BY resource),
  counted (models, resource) AS (
    SELECT d.models, r.resource
    FROM (SELECT DISTINCT models FROM queue_demand) d JOIN governed r
    WHERE NOT r.by_model OR (d.models IS NOT NULL AND NOT EXISTS (
      SELECT 1 FROM json_each('[' || replace(json_quote(d.models), '|', '","') || ']') m
      WHERE m.value NOT IN (SELECT device_model FROM resource_models WHERE resource = r.resource)))),
  asked (queue_id, resource, amount) AS (
    SELECT b.top_id, c.resource,
           sum(CASE WHEN c.resource = 'cpu' AND NOT r.by_model THEN d.cpu_milli
                    WHEN c.resource = 'memory' AND NOT r.by_model THEN d.memory_mib ELSE d.gpu_milli END)
    FROM queue_demand d JOIN counted c ON c.models IS d.models JOIN governed r ON r.resource = c.resource
    JOIN below b ON b.queue_id = d.queue_id
    GROUP BY b.top_id, c.resource)
  SELECT s.queue_id, q.name AS queue, s.resource, s.quota, s.limit_amount, s.borrow_limit, s.lend_limit,
         coalesce(s.weight, q.weight) AS weight, s.fair_share, s.allocated, s.borrowed, s.lent, s.loaned_in,
         s.loaned_out, coalesce(a.amount, 0) AS pending, s.starving_since
  FROM standings s
  JOIN queues q ON q.id = s.queue_id
  LEFT JOIN asked a ON a.queue_id = s.queue_id AND a.resource = s.resource;

-- Who uses whose idle quota since when; lender NULL = capacity that is nobody's quota. Milli-cores, MiB or milli-GPU.
CREATE VIEW borrowing AS
  SELECT r.borrower_id, b.name AS borrower, r.lender_id, l.name AS lender, r.resource, r.amount, r.since
  FROM borrowing_records r
  JOIN queues b ON b.id = r.borrower_id
  LEFT JOIN queues l ON l.id = r.lender_id;

-- The moment that what holds by date is told of: the last change of use or round. Of the past: the time asked for.
CREATE VIEW dates_at AS
  SELECT value AS time FROM meta WHERE key = 'borrowing_at';

-- Loans that hold, as of the last change of use or round.
CREATE VIEW loans_now AS
  SELECT l.id AS loan_id, o.name AS lender, b.name AS borrower, l.resource, l.amount, l.valid_from, l.valid_to,
         l.return_grace_s
  FROM loans l
  JOIN queues o ON o.id = l.lender_id
  JOIN queues b ON b.id = l.borrower_id
  WHERE l.state = 'open' AND l.valid_from <= (SELECT time FROM dates_at)
    AND (l.valid_to IS NULL OR (SELECT time FROM dates_at) < l.valid_to);
-- One row a stretch of time in which a job waited for one thing; to_time is NULL while it lasts.
CREATE VIEW wait_intervals AS
  SELECT job_id, from_time, to_time, cause, beneficiary_id FROM wait_stretches
  UNION ALL
  SELECT id, coalesce(wait_since, submit_time), NULL, coalesce(wait_cause, 'round'), wait_beneficiary_id
  FROM live_jobs WHERE state IN ('pending', 'held');

-- What each job waited for until now, and which queue had it: the seconds of a job add up to all that it waited.
CREATE VIEW wait_parts AS
  SELECT i.job_id, j.name AS job, q.name AS queue, i.cause, b.name AS beneficiary,
         sum(max(0, coalesce(i.to_time, CAST(strftime('%s', 'now') AS INTEGER)) - i.from_time)) AS seconds
  FROM wait_intervals i
  JOIN jobs j ON j.id = i.job_id
  JOIN queues q ON q.id = j.queue_id
  LEFT JOIN queues b ON b.id = i.beneficiary_id
  GROUP BY i.job_id, i.cause, i.beneficiary_id;

-- The same by queue and day (UTC).
CREATE VIEW waits_by_queue_and_day AS
  WITH RECURSIVE piece (job_id, cause, beneficiary_id, from_time, to_time, until) AS (
    SELECT job_id, cause, beneficiary_id, from_time, min(until, (from_time / 86400 + 1) * 86400), until
    FROM (SELECT job_id, cause, beneficiary_id, from_time,
                 coalesce(to_time, CAST(strftime('%s', 'now') AS INTEGER)) AS until FROM wait_intervals)
    WHERE until > from_time
    UNION ALL
    SELECT job_id, cause, beneficiary_id, to_time, min(until, to_time + 86400), until FROM piece WHERE to_time < until)
  SELECT q.name AS queue, date(p.from_time, 'unixepoch') AS day, p.cause, b.name AS beneficiary,
         count(DISTINCT p.job_id) AS jobs, sum(p.to_time - p.from_time) AS seconds
  FROM piece p
  JOIN jobs j ON j.id = p.job_id
  JOIN queues q ON q.id = j.queue_id
  LEFT JOIN queues b ON b.id = p.beneficiary_id
  GROUP BY q.id, day, p.cause, p.beneficiary_id;

-- One row an eviction: who made room for whom, by which rule, and what it cost.
CREATE VIEW eviction_log AS
  SELECT e.id AS eviction, e.round_id, e.time, v.name AS victim, vq.name AS victim_queue,
         iif(e.rule = 'loan', 'loan ' || e.beneficiary_id, b.name) AS beneficiary,
         bq.name AS beneficiary_queue, e.rule, e.tasks, e.whole, e.lost_gpu_milli_s,
         iif(e.state = 'ended' AND EXISTS (SELECT 1 FROM runs r WHERE r.job_id = e.victim_id AND r.state = 'cancelled'
           AND e.time BETWEEN r.start_time AND r.end_time), 'cancelled', e.state) AS state, e.why, e.candidates
  FROM evictions e
  LEFT JOIN jobs v ON v.id = e.victim_id
  LEFT JOIN queues vq ON vq.id = e.victim_queue_id
  LEFT JOIN jobs b ON b.id = e.beneficiary_id AND e.rule <> 'loan'
  LEFT JOIN queues bq ON bq.id = e.beneficiary_queue_id;

-- One row a job for which room is held.
CREATE VIEW reservations_now AS
  SELECT r.job_id, j.name AS job, q.name AS queue, r.kind, r.made_at, r.expected, r.expires,
         count(t.job_id) AS tasks, count(DISTINCT t.node_id) AS nodes
  FROM reservations r
  JOIN jobs j ON j.id = r.job_id
  JOIN queues q ON q.id = j.queue_id
  LEFT JOIN reserved_tasks t ON t.job_id = r.job_id
  GROUP BY r.job_id;

-- What each shadow policy adds up to. Jobs count that started, by its plan or really, since it is watched; room that it
-- gave to one job is there again in the next round, so the times are an estimate.
CREATE VIEW shadow_effect AS
  SELECT s.policy, s.since, coalesce(r.rounds, 0) AS rounds, coalesce(r.over_budget, 0) AS rounds_over_budget,
         coalesce(r.failed, 0) AS rounds_failed, coalesce(r.different, 0) AS rounds_different,
         r.mean_ms, coalesce(r.elsewhere, 0) AS jobs_elsewhere,
         coalesce(j.earlier, 0) AS jobs_earlier, j.mean_earlier_s,
         coalesce(j.later, 0) AS jobs_later, coalesce(j.not_yet, 0) AS jobs_not_started_live,
         coalesce(r.live_evictions, 0) AS live_evictions, coalesce(r.shadow_evictions, 0) AS shadow_evictions,
         coalesce(r.live_lost, 0) AS live_lost_gpu_milli_s, coalesce(r.shadow_lost, 0) AS shadow_lost_gpu_milli_s
  FROM shadows s
  LEFT JOIN (SELECT shadow_id, count(*) AS rounds, sum(state = 'over_budget') AS over_budget,
                    sum(state = 'failed') AS failed,
                    sum(only_live + only_shadow + elsewhere > 0 OR live_evictions <> shadow_evictions) AS different,
                    avg(seconds) * 1000 AS mean_ms, sum(elsewhere) AS elsewhere, sum(live_evictions) AS live_evictions,
                    sum(shadow_evictions) AS shadow_evictions, sum(live_lost) AS live_lost, sum(shadow_lost) AS shadow_lost
             FROM shadow_rounds GROUP BY shadow_id) r ON r.shadow_id = s.id
  LEFT JOIN (SELECT shadow_id, sum(shadow_time < live_time) AS earlier,
                    avg(iif(shadow_time < live_time, live_time - shadow_time, NULL)) AS mean_earlier_s,
                    sum(live_time IS NOT NULL AND shadow_time IS NULL) AS later, sum(live_time IS NULL) AS not_yet
             FROM shadow_starts GROUP BY shadow_id) j ON j.shadow_id = s.id;

-- What a borrowed GPU-hour costs where its device model has no price of its own, and the percent of it that the lender
-- gets.
CREATE VIEW account_terms AS
  SELECT CAST(coalesce((SELECT value FROM settings WHERE key = 'gpu_hour_price'), '1') AS REAL) AS price,
         CAST(coalesce((SELECT value FROM settings WHERE key = 'lender_share'), '100') AS INTEGER) AS lender_share;

-- Prices of a GPU-hour. Where a quota is of several models, and nobody uses it, the price is that of the cheapest.
CREATE VIEW account_prices AS
  WITH models (name, family, price) AS (
    SELECT name, family, coalesce(price_milli / 1000.0, (SELECT price FROM account_terms)) FROM device_models)
  SELECT device_model, min(price) AS price
  FROM (SELECT name AS device_model, price FROM models
        UNION ALL
        SELECT family, price FROM models WHERE family IS NOT NULL AND family NOT IN (SELECT name FROM models)
        UNION ALL
        SELECT 'gpu', price FROM models WHERE 'gpu' NOT IN (SELECT name FROM models))
  GROUP BY device_model;

-- What each queue itself owned, used, borrowed, lent and lost, by day (UTC) and device model, until now; in
-- milli-GPU-seconds, so that sums are exact. Of what is used or lent the model is the one in use, else what the quota is
-- of: a model, a family, or gpu. For every row
--   owned = used_own + lent + idle        used = used_own + borrowed
-- and over all queues, for every day and model, borrowed = lent + unowned, and loaned_in = loaned_out.
--   owned      quota of its own that it has, loans counted; what queues below it own is theirs
--   borrowed   used above that; unowned: of it, what is nobody's quota
--   lent       its quota that others use, who borrow it
--   loaned_in  quota that loans gave it (in owned); loaned_out: that it gave by loans (not in owned)
--   use_known  held by ended runs whose utilisation was recorded; unused: of that, held but not utilised
--   lost       work that evictions cost its jobs; chargeback_losses says for whom
CREATE VIEW account_sums AS
  WITH RECURSIVE clock (until) AS (
    SELECT max(CAST(strftime('%s', 'now') AS INTEGER),
               coalesce((SELECT value FROM meta WHERE key = 'accounts_changed'), 0))),
  piece (queue, device_model, owned, used_own, borrowed, unowned, lent, loaned_in, loaned_out, from_time, to_time, until) AS (
    SELECT queue, device_model, owned, used_own, borrowed, unowned, lent, loaned_in, loaned_out, since,
           min(until, (since / 86400 + 1) * 86400), until
    FROM account_rates JOIN clock WHERE until > since
    UNION ALL
    SELECT queue, device_model, owned, used_own, borrowed, unowned, lent, loaned_in, loaned_out, to_time,
           min(until, to_time + 86400), until
    FROM piece WHERE to_time < until),
  part (day, queue, device_model, owned, used_own, borrowed, unowned, lent, loaned_in, loaned_out, use_known, unused, lost) AS (
    SELECT day, queue, device_model, owned, used_own, borrowed, unowned, lent, loaned_in, loaned_out, use_known, unused, 0
    FROM account_days
    UNION ALL
    SELECT since - since % 86400, queue, device_model, owned_today, used_own_today, borrowed_today, unowned_today,
           lent_today, loaned_in_today, loaned_out_today, 0, 0, 0
    FROM account_rates
    UNION ALL
    SELECT from_time - from_time % 86400, queue, device_model, owned * (to_time - from_time),
           used_own * (to_time - from_time), borrowed * (to_time - from_time), unowned * (to_time - from_time),
           lent * (to_time - from_time), loaned_in * (to_time - from_time), loaned_out * (to_time - from_time), 0, 0, 0
    FROM piece
    UNION ALL
    SELECT day, queue, device_model, 0, 0, 0, 0, 0, 0, 0, 0, 0, lost FROM account_losses)
  SELECT date(day, 'unixepoch') AS day, queue, device_model, sum(owned) AS owned, sum(used_own + borrowed) AS used,
         sum(used_own) AS used_own, sum(borrowed) AS borrowed, sum(unowned) AS unowned, sum(lent) AS lent,
         sum(owned - used_own - lent) AS idle, sum(loaned_in) AS loaned_in, sum(loaned_out) AS loaned_out,
         sum(use_known) AS use_known, sum(unused) AS unused, sum(lost) AS lost
  FROM part
  GROUP BY day, queue, device_model
  HAVING sum(owned + used_own + borrowed + lent + loaned_in + loaned_out + use_known + lost) > 0;

-- The same in GPU-hours, with what the queue pays for what it borrows and for loans, used or not, and what it is credited
-- for what it lends; by the prices of today.
CREATE VIEW chargeback AS
  SELECT s.day, s.queue, s.device_model, s.owned / 3.6e6 AS owned, s.used / 3.6e6 AS used, s.used_own / 3.6e6 AS used_own,
         s.borrowed / 3.6e6 AS borrowed, s.unowned / 3.6e6 AS unowned, s.lent / 3.6e6 AS lent, s.idle / 3.6e6 AS idle,
         s.loaned_in / 3.6e6 AS loaned_in, s.loaned_out / 3.6e6 AS loaned_out, s.use_known / 3.6e6 AS use_known,
         s.unused / 3.6e6 AS unused, s.lost / 3.6e6 AS lost,
         coalesce(p.price, t.price) * (s.borrowed + s.loaned_in) / 3.6e6 AS price,
         coalesce(p.price, t.price) * (s.lent + s.loaned_out) / 3.6e6 * t.lender_share / 100 AS credit
  FROM account_sums s
  JOIN account_terms t
  LEFT JOIN account_prices p ON p.device_model = s.device_model;

-- GPU-hours of work that evictions cost each queue, and the queue they were for, by day of the decision.
CREATE VIEW chargeback_losses AS
  SELECT date(day, 'unixepoch') AS day, queue, device_model, nullif(beneficiary, '') AS beneficiary_queue, rule, evictions,
         lost / 3.6e6 AS lost
  FROM account_losses;

-- When waiting jobs were expected to start, and when they did: the first start after that was told (NULL = none yet).
-- left_at: when it stopped waiting for that start without one, because its user held it or it ended.
CREATE VIEW eta AS
  SELECT job_id, job, queue, made_at, forecast, p50, p90, known_starts,
         iif(coalesce(held_at, started) >= started, started, NULL) AS start_time,
         state, end_time,
         iif(coalesce(held_at, started) >= started, NULL, coalesce(held_at, end_time)) AS left_at
  FROM (
    SELECT e.job_id, j.name AS job, q.name AS queue, e.made_at, e.forecast, e.p50, e.p90, e.known_starts, j.state,
           j.end_time,
           coalesce((SELECT min(r.start_time) FROM runs r WHERE r.job_id = e.job_id AND r.start_time >= e.made_at),
                    iif(j.start_time >= e.made_at, j.start_time, NULL)) AS started,
           coalesce((SELECT min(w.from_time) FROM wait_stretches w
                     WHERE w.job_id = e.job_id AND w.cause = 'held' AND w.from_time >= e.made_at),
                    iif(j.state = 'held' AND j.wait_since >= e.made_at, j.wait_since, NULL)) AS held_at
    FROM expectations e
    JOIN jobs j ON j.id = e.job_id
    JOIN queues q ON q.id = j.queue_id);
