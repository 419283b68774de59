#!/usr/bin/env bash
# From a fresh machine to a planned round: installs what is missing, builds, fills a demo database with the cluster of
# examples/demo, plans a round, shows the plan, the cluster, and why one job waits. On a terminal it then opens the shell
# on that database. May be run again: the demo database is made anew each time.
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

if [ -t 0 ] && [ -t 1 ]; then
  title "-- the shell on this database; HELP lists the statements, Ctrl-D leaves"
  exec "$berth" --db "$database"
fi
cat <<END

To go on with this database:
  build/release/berth --db build/quickstart/demo.db
and there, for example: HELP; SHOW JOBS STATE pending; EXPLAIN PLAN 1; RUN SCHEDULE;
END
