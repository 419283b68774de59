#!/usr/bin/env bash
# From a fresh machine to a planned round: installs what is missing, builds, fills a demo database with the cluster of
# examples/demo, plans a round, shows the plan, the cluster, and why one job waits; then lets three jobs really run on this
# machine. On a terminal it opens the shell on the demo database in the end. May be run again: the demo database is made anew each time.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
echo "building (a few minutes the first time) ..." >&2
cmake --preset release >/dev/null
cmake --build --preset release --target berth -- --quiet

berth=$PWD/build/release/berth
database=$PWD/build/quickstart/demo.db
mkdir -p build/quickstart
rm -f "$database" "$database"-wal "$database"-shm

bold='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\033[1m' plain=$'\033[0m'; fi
title() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
run() {
  title "berth> $1"
  "$berth" --db "$database" -c "$1" 2>&1
}

title "-- a cluster of 320 GPUs, and 363 jobs of five departments (examples/demo)"
(cd examples/demo && "$berth" --db "$database" cluster.sql 2>&1)
run "PLAN SCHEDULE;"
run "APPLY PLAN 1;"
run "SHOW CLUSTER;"
run "SHOW MAP;"
run "EXPLAIN JOB foundation;"
run "EXPLAIN JOB crawl;"

title "-- jobs that really run: this machine as a node, with two pretended GPUs"
demo=$database
database=$PWD/build/quickstart/local.db
rm -rf "$database" "$database"-wal "$database"-shm "$database".executors
run "IMPORT NODES FROM LOCAL WITH (fake_gpus = 2);"
run "CREATE QUEUE lab;"
run "SUBMIT JOB gang IN QUEUE lab WITH (tasks = 2, gpus = 1, memory = 64MiB, command = 'echo task \$BERTH_RANK of \$BERTH_GANG_SIZE on device \$CUDA_VISIBLE_DEVICES; sleep 2');"
run "SUBMIT JOB after IN QUEUE lab WITH (gpus = 1, memory = 64MiB, command = 'echo the gang is done');"
run "SUBMIT JOB lucky IN QUEUE lab WITH (memory = 64MiB, retries = 1, command = 'test \$BERTH_ATTEMPT = 2');"
run "RUN ALL; EXPLAIN JOB after;"
title "berth> RUN ALL EVERY 1s;    (for 7 seconds)"
"$berth" --db "$database" --timeout 7s -c "RUN ALL EVERY 1s" 2>&1 || true
run "SELECT j.name, r.attempt, r.state, r.detail FROM runs r JOIN jobs j ON j.id = r.job_id ORDER BY r.id;"
run "SHOW LOG OF JOB gang TASK 1;"
database=$demo

if [ -t 0 ] && [ -t 1 ]; then
  title "-- the shell on this database; HELP lists the statements, Ctrl-D leaves"
  exec "$berth" --db "$database"
fi
cat <<END

To go on with this database:
  build/release/berth --db build/quickstart/demo.db
and there, for example: HELP; SHOW JOBS STATE pending; EXPLAIN PLAN 1; RUN SCHEDULE;
END
