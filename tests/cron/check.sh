#!/usr/bin/env bash
# Rounds in the background: run-round's exit codes and log, the loop's signals, and whether cron, systemd and logrotate
# accept their files. A tool that is not installed is said to be skipped.
#
#   tests/cron/check.sh BERTH
set -uo pipefail

berth=$(readlink -f "$1")
cron=$(readlink -f "$(dirname "$0")/../../scripts/cron")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
export PATH=$(dirname "$berth"):$PATH

failures=0
expect() {  # expect WHAT EXPECTED FOUND
  [ "$2" = "$3" ] && return
  echo "$1: expected '$2', found '$3'" >&2
  failures=$((failures + 1))
}

berth --db a.db -c "CREATE NODE TYPE box WITH (cpu = 4, memory = 4GiB); CREATE NODE n1 TYPE box; CREATE QUEUE q;
  CREATE EXECUTOR fake TYPE simulated; SUBMIT JOB a IN QUEUE q WITH (command = 'x')" 2>/dev/null

# ---- one round
said=$("$cron/run-round" a.db log.jsonl 2>&1); expect "run-round" "0 " "$? $said"
expect "its log" 1 "$(wc -l <log.jsonl)"
expect "a line of JSON" 1 "$(grep -c '"started_jobs": 1' log.jsonl)"
said=$("$cron/run-round" missing.db 2>&1); expect "run-round without a database" 1 $?

# ---- the month before
mkdir reports
said=$("$cron/month-end" a.db reports 2>&1); expect "month-end" "0 " "$? $said"
said=$("$cron/month-end" a.db reports 2>&1); expect "month-end again" "0 " "$? $said"
expect "its files" "1 1" "$(ls reports/chargeback-20??-??.html | wc -l) $(grep -c '^queue,device_model,owned' reports/*.csv)"
said=$("$cron/month-end" a.db nowhere 2>&1); expect "month-end without a folder" 1 $?

# Somebody else runs a round: no error, no harm, and said to whoever asks.
sqlite3 a.db "INSERT OR REPLACE INTO leases (name, holder, host, pid, acquired_at, expires_at, token) VALUES ('round', 'ann', 'elsewhere', 1, 0, 4102444800, 7)"
said=$("$cron/run-round" a.db log.jsonl 2>&1); expect "run-round while another runs" "0 " "$? $said"
said=$(berth --db a.db -c "RUN ALL" 2>&1); expect "RUN ALL while another runs" 3 $?
expect "who it is" 1 "$(grep -c 'run by ann' <<<"$said")"
sqlite3 a.db "DELETE FROM leases"
expect "SHOW SCHEDULED RUNS" "schedule|done" "$(berth --db a.db -c 'RUN SCHEDULE' >/dev/null 2>&1
  sqlite3 a.db "SELECT kind || '|' || result FROM scheduled_runs WHERE kind = 'schedule'")"

# An executor that does not answer is a finding.
berth --db a.db -c "ALTER EXECUTOR fake WITH (down = true)" 2>/dev/null
said=$(berth --db a.db -c "RUN ALL" 2>&1); expect "RUN ALL with an executor that is down" 4 $?
berth --db a.db -c "ALTER EXECUTOR fake WITH (down = false)" 2>/dev/null

# ---- the loop: SIGHUP begins a round at once, SIGTERM ends it after the round it is in; a policy whose file has changed
# gets a new version before the next round, and keeps the last one that could be read
echo 'function score() return 1 end' >night.lua
berth --db a.db -c "CREATE POLICY night FROM 'night.lua'; SET score_policy = night" 2>/dev/null
policies() { sqlite3 a.db "SELECT group_concat(detail, '; ') FROM events WHERE kind IN ('alter policy', 'refuse policy')"; }
berth --db a.db --mode jsonl -c "RUN ALL EVERY 1h WITH (metrics = 'berth.prom')" >loop.jsonl 2>loop.txt &
loop=$!
rounds() { for _ in $(seq 100); do [ "$(wc -l <loop.jsonl)" -ge "$1" ] && break; sleep 0.1; done; wc -l <loop.jsonl; }
expect "the loop's first round" 1 "$(rounds 1)"
echo 'function score() return 2 end' >night.lua
kill -HUP $loop
expect "a round after SIGHUP" 2 "$(rounds 2)"
expect "a policy read anew" "version 2 from night.lua" "$(policies)"
echo 'function score( return' >night.lua
kill -HUP $loop
expect "a round with a policy that cannot be read" 3 "$(rounds 3)"
expect "the policy that stays" 1 "$(policies | grep -c 'lua; version 2 stays: night.lua:1: ')"
kill -TERM $loop
wait $loop; expect "the loop's end" 0 $?
expect "what it says" 1 "$(grep -c 'the loop ends after 3 rounds' loop.txt)"
expect "its metrics" 1 "$(grep -c '^berth_round_ok{kind="all"} 1$' berth.prom)"
said=$(berth --db a.db --timeout 1s -c "RUN ALL EVERY 1s" 2>&1); expect "--timeout" 1 $?
# An upgrade takes the program's file away from under the loop: it goes on starting jobs.
cp "$berth" old-berth
berth --db b.db -c "IMPORT NODES FROM LOCAL WITH (node = here); CREATE QUEUE q" 2>/dev/null
./old-berth --db b.db --mode jsonl -c "RUN ALL EVERY 1s" >loop.jsonl 2>/dev/null &
loop=$!
rounds 1 >/dev/null
rm old-berth
berth --db b.db -c "SUBMIT JOB a IN QUEUE q WITH (cpu = 0.1, memory = 1MiB, command = 'true')" 2>/dev/null
for _ in $(seq 100); do [ "$(sqlite3 b.db 'SELECT state FROM jobs')" = finished ] && break; sleep 0.1; done
expect "a job after an upgrade" finished "$(sqlite3 b.db 'SELECT state FROM jobs')"
kill -TERM $loop
wait $loop

(umask 077; berth --db a.db -c "EXPORT METRICS TO 'new.prom'" 2>/dev/null)
expect "metrics are for another user to read, whatever the umask" 644 "$(stat -c %a new.prom)"

# ---- the files
expect "crontab: five fields and a command" 7 "$(grep -cE '^([0-9*/,-]+ +){5}[^ ]' "$cron/crontab.example")"
if command -v systemd-analyze >/dev/null; then
  mkdir units
  for unit in "$cron"/*.service "$cron"/*.timer; do
    # Programs and users of an installation are not here.
    sed -e 's|^ExecStart=[^ ]*|ExecStart=/bin/true|' -e '/^User=/d' "$unit" >"units/$(basename "$unit")"
  done
  said=$(systemd-analyze verify --man=no units/*.service units/*.timer 2>&1); expect "systemd-analyze" "0 " "$? $said"
else
  echo "skipped: systemd-analyze is not installed"
fi
if command -v logrotate >/dev/null; then
  said=$(logrotate -d "$cron/logrotate.example" 2>&1); expect "logrotate -d" 0 $?
  expect "logrotate's errors" 0 "$(grep -c '^error' <<<"$said")"
else
  echo "skipped: logrotate is not installed"
fi
exit $((failures > 0))
