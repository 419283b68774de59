-- Packing: tasks arrive, none ever ends, one that does not fit is dropped. How much of the cluster can be filled?
SIMULATE ARRIVALS FROM '../demo/jobs.csv' ON NODES FROM '../demo/nodes.csv' USING best_fit, fgd, gpu_packing WITH (inflate = 1.3, seed = 7) INTO packing;
COMPARE SIMULATIONS packing POLICY fgd, packing POLICY gpu_packing;

-- Waiting: the same jobs at their times, with their durations, on a cluster that is sometimes too small.
SIMULATE JOBS FROM 'jobs.csv' ON NODES FROM 'nodes.csv' USING fifo + fgd, smallest_first + fgd INTO night;

-- The results are tables. Which jobs pay for smallest_first?
SELECT a.task, a.start - a.submit AS fifo_wait, b.start - b.submit AS smallest_first_wait
FROM simulation_tasks a JOIN simulation_tasks b ON b.simulation = a.simulation AND b.task = a.task
WHERE a.simulation = 'night' AND a.policy = 'fifo + fgd' AND b.policy = 'smallest_first + fgd'
ORDER BY smallest_first_wait - fifo_wait DESC LIMIT 5;
SHOW SIMULATIONS;
