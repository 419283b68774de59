# Jobs really run: as processes of this machine. They go on when Berth ends; the next RUN ALL sees what became of them.
say() { printf '\nberth> %s\n' "$1"; berth -c "$1"; }

# Rounds until nothing is left to run, as cron or RUN ALL EVERY 1s would.
finish() {
  while [ "$(berth --mode csv -c "SELECT count(*) FROM jobs WHERE state IN ('pending', 'running') AND command IS NOT NULL" 2>/dev/null | tail -1)" != 0 ]; do
    berth -c "RUN ALL" >/dev/null 2>&1
    sleep 0.2
  done
}

say "CREATE EXECUTOR here TYPE local WITH (node = here, fake_gpus = 2, limits = none)"
say "CREATE DEVICE MODEL A100 WITH (memory = 80GiB)"
say "CREATE NODE TYPE small WITH (cpu = 4, memory = 4GiB, device_model = A100, devices = 2)"
say "CREATE NODE here TYPE small"
say "CREATE QUEUE lab"
say "SUBMIT JOB hello IN QUEUE lab WITH (tasks = 2, gpus = 1, memory = 256MiB, env = ('GREETING=hello'), command = 'echo \$GREETING from task \$BERTH_RANK of \$BERTH_GANG_SIZE, device \$CUDA_VISIBLE_DEVICES')"
say "SUBMIT JOB lucky IN QUEUE lab WITH (memory = 256MiB, retries = 1, command = 'echo attempt \$BERTH_ATTEMPT; test \$BERTH_ATTEMPT = 2')"
say "SUBMIT JOB broken IN QUEUE lab WITH (memory = 256MiB, command = 'echo no such file >&2; exit 3')"
# The node was described smaller than this machine is: that is a drift, and said once (SHOW DRIFT).
say "RUN ALL"
finish
say "SHOW LOG OF JOB hello TASK 1"
say "SHOW LOG OF JOB lucky"
say "SHOW LOG OF JOB broken ERRORS"
say "SELECT j.name, r.attempt, r.state, r.detail FROM runs r JOIN jobs j ON j.id = r.job_id ORDER BY j.id, r.attempt"
say "SELECT j.name, c.from_state, c.to_state FROM run_changes c JOIN runs r ON r.id = c.run_id JOIN jobs j ON j.id = r.job_id WHERE j.name = 'broken' AND c.to_state IN ('pending', 'starting') ORDER BY c.id"
say "CHECK"
