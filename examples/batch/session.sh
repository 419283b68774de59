#!/usr/bin/env bash
# Berth without a person: statements from files and pipes, answers for programs, exit codes that say what happened.
# examples/run.sh puts berth on the PATH, and in BERTH_DB a database that does not exist yet.

# Shows the command, what it prints, and its exit code.
run() {
  local word line='$'
  for word in "$@"; do
    case $word in *' '*) line+=" \"$word\"" ;; *) line+=" $word" ;; esac
  done
  echo "$line"
  "$@" 2>&1
  printf 'exit code %d\n\n' $?
}

echo '-- 0: done. A file of statements runs as if typed; data go to standard output, all else to standard error.'
run berth cluster.sql
run berth --mode csv -c 'RUN SCHEDULE'
run berth --json -c 'SELECT job, state, tasks FROM jobs_now ORDER BY job'

echo '-- 1: failed. A script stops at its first error and says where.'
run berth broken.sql
run berth --keep-going broken.sql

echo '-- 2: wrong usage, nothing was done.'
run berth --jason -c 'SHOW CLUSTER'

echo '-- 3: busy, somebody else runs a round; here the lease of another machine. cron tries again a minute later.'
sqlite3 "$BERTH_DB" "INSERT OR REPLACE INTO leases (name, holder, host, pid, acquired_at, expires_at, token) VALUES ('round', 'ann', 'elsewhere', 1, 0, 4102444800, 7)"
run berth -c 'RUN SCHEDULE'
sqlite3 "$BERTH_DB" "DELETE FROM leases"

echo '-- 4: done, with findings: the good rows were imported, one was not.'
run berth -c "IMPORT JOBS FROM 'jobs.csv' WITH (skip_bad_rows = true)"
run berth -c "IMPORT JOBS FROM 'jobs.csv'"

echo '-- Readers change nothing and wait for nobody.'
run berth --read-only -c 'RUN SCHEDULE'
run berth --read-only - <<< 'SHOW QUEUES; SELECT job FROM jobs_now ORDER BY job;'
