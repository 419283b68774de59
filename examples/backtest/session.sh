# Ten days of a made-up cluster are the past; which policy would have served them better, and would four more machines?
cd "$SCRATCH"
berth -c "GENERATE NODES pai_like WITH (jobs = 800, gpus = 64, days = 10) INTO 'nodes.csv'"
berth -c "GENERATE TRACE pai_like WITH (jobs = 800, gpus = 64, days = 10, seed = 7) INTO 'past.csv'" 2>/dev/null
berth -c "IMPORT NODES FROM 'nodes.csv'; IMPORT TRACE 'past.csv' WITH (create_missing = true)" 2>/dev/null

# live is what the settings say. Each policy may be given other rules than the settings'.
berth -c "BACKTEST USING live, fair_share + berth, sjf + berth WITH (backfill = greedy) FROM '2020-07-03' TO '2020-07-08'
          WITH (preemption = none) INTO policies"

# The same, looked up again: what it meant for two of the departments, and how sure the difference is.
berth -c "SELECT policy, queue, jobs, round(wait_mean) AS wait_mean, round(wait_p90) AS wait_p90,
            round(satisfied_share, 2) AS satisfied_share
          FROM backtest_results WHERE simulation = 'policies' AND queue IN ('search', 'vision') ORDER BY queue_seq, seq"
berth -c "SELECT policy, baseline, earlier, later, same, round(mean) AS mean, round(mean_low) AS low, round(mean_high) AS high
          FROM backtest_pairs WHERE simulation = 'policies'"

# What would more machines have done, without another policy?
berth -c "BACKTEST USING live FROM '2020-07-03' TO '2020-07-08' WITH (more_nodes = '2 x v100x8-96c-512gib') INTO more" \
  >/dev/null
berth -c "SELECT simulation, policy, round(wait_mean) AS wait_mean, round(utilisation_pct, 1) AS utilisation_pct
          FROM backtest_results WHERE queue IS NULL AND policy = 'live' ORDER BY simulation DESC"
berth -c "SHOW BACKTESTS"
