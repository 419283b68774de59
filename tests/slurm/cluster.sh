#!/usr/bin/env bash
# A private Slurm cluster on 127.0.0.1 for the tests: real munged, slurmctld and one slurmd for each node.
#
#   cluster.sh FOLDER start [NODES [CPUS [GPUS]]]    configure and start; returns when every node is idle
#   cluster.sh FOLDER stop                           end every job and daemon that start began
#   cluster.sh FOLDER kill-node NODE                 as a power cut: its slurmd and what that runs are killed
#   cluster.sh FOLDER start-node NODE
#   cluster.sh FOLDER stop-controller | start-controller
#   cluster.sh FOLDER set KEY VALUE                  changes a line of slurm.conf that may change while it runs
#   cluster.sh possible                              exit 0 when it can run here, else says why not
#
# Clients find it by SLURM_CONF=FOLDER/slurm.conf. Nothing outside FOLDER is written; every wait is bounded; processes
# are ended by the numbers in FOLDER/pids only, and only while they still are what was started. FOLDER is to lie below
# directories that root owns and others cannot replace (munge insists; /tmp/x will do).
#
# Three things that are easy to get wrong: slurmctld and slurmd look at the name they were started by and drop every
# gres under another one (Debian installs them as slurmd-wlm); slurmd -d names the slurmstepd that belongs to it; and a
# GPU's File has to be a character device, of which the last digits become the index in CUDA_VISIBLE_DEVICES.
set -euo pipefail
export LC_ALL=C PATH="$PATH:/usr/sbin:/sbin"

programs=(munged munge slurmctld slurmd slurmstepd sbatch srun scancel squeue sinfo scontrol)

missing() {
  local program
  [ "$(id -u)" -eq 0 ] || echo "root"
  for program in "${programs[@]}"; do command -v "$program" >/dev/null || echo "$program"; done
}

if [ "${1:-}" = possible ]; then
  lacking=$(missing | paste -sd ' ')
  [ -z "$lacking" ] && exit 0
  echo "a Slurm cluster cannot be started here, it lacks: $lacking (Debian: apt-get install slurm-wlm munge, as root)"
  exit 1
fi

folder=${1:?folder}
verb=${2:?verb}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd -P)
export SLURM_CONF=$folder/slurm.conf
patience=30  # seconds, for each thing waited for

fail() { echo "cluster.sh: $*" >&2; exit 1; }

# When process $1 started, in ticks since boot; nothing when it is gone or a zombie.
birth_of() {
  local line
  { read -r line <"/proc/$1/stat"; } 2>/dev/null || return 0
  # shellcheck disable=SC2086
  set -- ${line##*) }
  [ "$1" = Z ] || echo "${20}"
}

# run NAME COMMAND...: in the background, in a session of its own, written down.
run() {
  local name=$1
  shift
  setsid "$@" >>"$folder/log/$name" 2>&1 </dev/null &
  echo "$! $(birth_of $!)" >"$folder/pids/$name"
}

# Sets pid to that of NAME; false when it does not run.
runs() {
  local birth
  pid=0
  { read -r pid birth <"$folder/pids/$1"; } 2>/dev/null || return 1
  [ -n "$birth" ] && [ "$(birth_of "$pid")" = "$birth" ]
}

until_true() {
  local left=$((patience * 20))
  until "$@" >/dev/null 2>&1; do
    [ $((left -= 1)) -gt 0 ] || return 1
    sleep 0.05
  done
}

ended() { ! runs "$1"; }

# end NAME SIGNAL
end() {
  if runs "$1"; then
    kill "-$2" "$pid" 2>/dev/null || true
    until_true ended "$1" || { runs "$1" && kill -KILL "$pid" 2>/dev/null || true; }
  fi
  rm -f "$folder/pids/$1"
}

# Every process below $1, children first.
below() {
  local child
  for child in $(cat /proc/"$1"/task/*/children 2>/dev/null); do
    below "$child"
    echo "$child"
  done
}

# The real program under its own name: see above.
program() {
  local path
  path=$(command -v "$1-wlm" || command -v "$1")
  mkdir -p "$folder/bin"
  ln -sfn "$path" "$folder/bin/$1"
  echo "$folder/bin/$1"
}

configure() {
  local nodes=$1 cpus=$2 gpus=$3 i gres="" host port device
  host=$(hostname -s)
  port=$((20000 + ($$ % 400) * 25))
  while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do port=$((port + 25)); done
  mkdir -p "$folder"/{log,pids,state,spool,dev,munge}
  chmod 755 "$folder" "$folder/munge"
  (umask 077 && head -c 128 /dev/urandom >"$folder/munge/key")
  echo "AutoDetect=off" >"$folder/gres.conf"
  if [ "$gpus" -gt 0 ]; then
    gres="Gres=gpu:a100:$gpus"
    for device in /dev/null /dev/zero /dev/full; do [ -c "$device" ] && break; done
    for ((i = 0; i < gpus; i++)); do ln -sfn "$device" "$folder/dev/nvidia$i"; done
    echo "NodeName=n[1-$nodes] Name=gpu Type=a100 File=$folder/dev/nvidia[0-$((gpus - 1))]" >>"$folder/gres.conf"
  fi
  for ((i = 1; i <= nodes; i++)); do mkdir -p "$folder/spool/n$i"; done
  cat >"$SLURM_CONF" <<CONF
ClusterName=berth
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$folder/munge/socket
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool/%n
SlurmctldPidFile=$folder/spool/slurmctld.pid
SlurmdPidFile=$folder/spool/slurmd-%n.pid
SlurmctldLogFile=$folder/log/slurmctld.log
SlurmdLogFile=$folder/log/slurmd-%n.log
ProctrackType=proctrack/${PROCTRACK:-linuxproc}
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SwitchType=switch/none
MailProg=/bin/true
PropagateResourceLimits=NONE
SlurmdParameters=config_overrides
ReturnToService=2
SlurmctldTimeout=60
SlurmdTimeout=${SLURMD_TIMEOUT:-60}
KillWait=2
MinJobAge=${MIN_JOB_AGE:-300}
MessageTimeout=${MESSAGE_TIMEOUT:-3}
MaxJobCount=20000
GresTypes=gpu
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1,default_queue_depth=1000
NodeName=n[1-$nodes] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + nodes))] CPUs=$cpus RealMemory=16000 $gres Feature=rack1
PartitionName=berth Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
}

munge_answers() { munge -n -S "$folder/munge/socket"; }
controller_answers() { scontrol ping | grep -q 'is UP'; }
# All of them, or the one named. A job that ended meanwhile may be completing there: Slurm gives it up only after minutes.
nodes_answer() {
  sinfo -h -N ${1:+-n "$1"} -o %T >"$folder/states" && [ -s "$folder/states" ] &&
    ! grep -qvE '^(idle|mixed|allocated|completing|draine?d?)$' "$folder/states"
}

start_controller() {
  run slurmctld "$(program slurmctld)" -D -f "$SLURM_CONF"
  until_true controller_answers || fail "slurmctld does not answer: see $folder/log/slurmctld.log"
}

start_node() { runs "slurmd-$1" || run "slurmd-$1" "$(program slurmd)" -D -d "$(program slurmstepd)" -f "$SLURM_CONF" -N "$1"; }

kill_node() {
  local each
  runs "slurmd-$1" || fail "node $1 does not run"
  # A stepd leaves the tree of its slurmd, but goes on writing to that node's log.
  for each in $(ps -eo pid=,args= | awk -v "node=$1" '$2 ~ /^slurmstepd:/ {print $1}'); do
    tr '\0' '\n' <"/proc/$each/environ" 2>/dev/null | grep -qx "SLURM_CONF=$SLURM_CONF" || continue
    grep -qs "$folder/log/slurmd-$1.log" <(ls -l "/proc/$each/fd" 2>/dev/null) || continue
    # shellcheck disable=SC2046
    kill -KILL $(below "$each") "$each" 2>/dev/null || true
  done
  end "slurmd-$1" KILL
}

no_jobs() { [ -z "$(squeue -h)" ]; }

stop() {
  local each
  if runs slurmctld && controller_answers; then
    squeue -h -o %A | sort -u | xargs -r scancel >/dev/null 2>&1 || true
    until_true no_jobs || echo "cluster.sh: some jobs did not end" >&2
  fi
  for each in "$folder"/pids/slurmd-*; do
    [ -e "$each" ] && runs "${each##*/}" && kill -TERM "$pid" 2>/dev/null || true
  done
  for each in "$folder"/pids/slurmd-* "$folder"/pids/slurmctld "$folder"/pids/munged; do
    [ -e "$each" ] && end "${each##*/}" TERM || true
  done
}

start() {
  local lacking i
  lacking=$(missing | paste -sd ' ')
  [ -z "$lacking" ] || fail "this machine lacks: $lacking"
  configure "${1:-4}" "${2:-8}" "${3:-4}"
  trap '[ $? -eq 0 ] || stop' EXIT
  run munged munged --foreground --force --key-file="$folder/munge/key" --socket="$folder/munge/socket" \
    --pid-file="$folder/munge/pid" --log-file="$folder/log/munged.log" --seed-file="$folder/munge/seed"
  until_true munge_answers || fail "munged does not answer: see $folder/log/munged"
  start_controller
  for ((i = 1; i <= ${1:-4}; i++)); do start_node "n$i"; done
  until_true nodes_answer || fail "the nodes do not answer: $(sinfo -h -N -o '%N %T %E'); see $folder/log"
}

case $verb in
  start) start "${@:3}" ;;
  stop) stop ;;
  kill-node) kill_node "${3:?node}" ;;
  start-node) start_node "${3:?node}"; until_true nodes_answer "$3" || fail "node $3 does not come back: $(sinfo -h -N -o '%N %T %E')" ;;
  stop-controller) end slurmctld TERM ;;
  start-controller) start_controller ;;
  set)
    sed -i "s|^${3:?key}=.*|$3=${4:?value}|" "$SLURM_CONF"
    scontrol reconfigure
    ;;
  *) fail "no verb '$verb'" ;;
esac
