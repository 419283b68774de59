-- Packing: tasks arrive, none ever ends, one that does not fit is dropped. How much of the cluster can be filled?
SIMULATE ARRIVALS FROM '../demo/jobs.csv' ON NODES FROM '../demo/nodes.csv' USING best_fit, fgd, berth WITH (inflate = 1.3, seed = 7) INTO packing;
COMPARE SIMULATIONS packing POLICY fgd, packing POLICY berth;

-- Waiting: the same jobs at their times, with their durations, on a cluster that is sometimes too small.
SIMULATE JOBS FROM 'jobs.csv' ON NODES FROM 'nodes.csv' USING fifo + berth, smallest_first + berth INTO night;

-- The results are tables. Which jobs pay for smallest_first?
SELECT a.task, a.start - a.submit AS fifo_wait, b.start - b.submit AS smallest_first_wait
FROM simulation_tasks a JOIN simulation_tasks b ON b.simulation = a.simulation AND b.task = a.task
WHERE a.simulation = 'night' AND a.policy = 'fifo + berth' AND b.policy = 'smallest_first + berth'
ORDER BY smallest_first_wait - fifo_wait DESC LIMIT 5;
SHOW SIMULATIONS;
