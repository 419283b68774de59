# The part of a launch's script that is the same for all (bash 4.2 or later): see slurm_script.h. The part before it sets
# FOLDER DIRECTORY TIME_LIMIT KILL_WAIT and the functions run_command, start_tasks NODE and everywhere.
# shellcheck shell=bash disable=SC2154

# The folder itself is kept to, also when it is moved; LAUNCH is its name at the start.
LAUNCH=$FOLDER
cd "$FOLDER" 2>/dev/null && FOLDER=.

# Every background job gets a process group of its own, and SIGINT is not ignored in it.
set -m

now() { printf '%(%s)T' -1; }

# One line of this node's record. Where there was no room, the line before it may be unfinished.
note() {
  local record=$FOLDER/node.$node
  [ -z "$(tail -c 1 "$record" 2>/dev/null)" ] || printf '\n' >>"$record"
  printf '%s\n' "$*" >>"$record"
}

# note_start GROUP TASK MOMENT PID: what is not written down could not be told to end. Where there is no room for it the
# task waits, for ten minutes at most; 2 = it was told to end meanwhile.
note_start() {
  local left=600
  note start "$@" 2>/dev/null && return 0
  while [ $((left -= 1)) -gt 0 ]; do
    sleep 1
    note start "$@" 2>/dev/null || continue
    is_stopped "$1" "$2" || return 0
    note stop "$1" "$2" "$(now)" TERM
    return 2
  done
  return 1
}

is_noted() { grep -q "^start $1 $2 " "$FOLDER/node.$node" 2>/dev/null; } # GROUP TASK

# Berth has asked for its end.
is_stopped() { # GROUP TASK
  local signal grace tasks
  [ -e "$FOLDER/control" ] || return 1
  while read -r signal grace tasks; do
    [[ -n $signal && $grace != -* ]] || continue
    case ",$tasks" in *",$1-$2,"* | ,all) return 0 ;; esac
  done <"$FOLDER/control"
  return 1
}

# A task may remove what lies around its working folder: it is written anew.
keep_record() { # GROUP TASK MOMENT PID
  has_record || note start "$@" 2>/dev/null
  [ -z "$winner" ] || [ -L "$FOLDER/claim" ] || ln -s "$winner" "$FOLDER/claim" 2>/dev/null
}

# send SIGNAL PID: to all of the process group that PID leads, or led.
send() { kill -s "$1" -- "-$2" 2>/dev/null; }

# Something of the group that PID led lives: not gone, and not only waiting to be buried. Where main() has ended by
# pthread_exit() it seems so, and the other threads work on.
group_lives() {
  kill -0 -- "-$1" 2>/dev/null || return 1
  cat /proc/[0-9]*/stat 2>/dev/null | awk -v "group=$1" '
    {sub(/.*[)] /, ""); if ($3 == group && ($1 != "Z" || $18 > 1) && $1 != "X") {lives = 1; exit}} END {exit !lives}'
}

# What a task has submitted to Slurm took its environment along, and is a job of its own.
is_another_job() { # FILE
  [ -n "${SLURM_JOB_ID-}" ] && grep -qsz '^SLURM_JOB_ID=' -- "$1" && ! grep -qszxF "SLURM_JOB_ID=$SLURM_JOB_ID" -- "$1"
}
# with_variable GREP_OPTION TEXT: processes whose environment shows it.
with_variable() {
  local file
  while read -r file; do
    is_another_job "$file" && continue
    file=${file%/environ}
    echo "${file#/proc/}"
  done < <(grep -lsz "$1" -- "$2" /proc/[0-9]*/environ)
}
# What is of a task shows its BERTH_DONE_FILE, also when it has left the group for a session of its own.
named() { with_variable -xF "BERTH_DONE_FILE=$LAUNCH/$1-$2.done"; } # GROUP TASK
# Of any task of the launch, for when the record is gone, with all that lay in the folder.
all_named() { with_variable -F "BERTH_DONE_FILE=$LAUNCH/"; }
has_record() { [ -s "$FOLDER/node.$node" ]; }
send_all_named() { # SIGNAL
  local pids
  mapfile -t pids < <(all_named)
  [ "${#pids[@]}" != 0 ] && kill -s "$1" -- "${pids[@]}" 2>/dev/null
}
task_lives() { group_lives "$3" || [ -n "$(named "$1" "$2")" ]; } # GROUP TASK PID

# send_named SIGNAL GROUP TASK
send_named() {
  local pids
  mapfile -t pids < <(named "$2" "$3")
  [ "${#pids[@]}" = 0 ] || kill -s "$1" -- "${pids[@]}" 2>/dev/null
}
kill_all() { # GROUP TASK PID
  send KILL "$3"
  send_named KILL "$1" "$2"
}

# pause SECONDS: without a process for it; needs `never`, from which nothing comes.
pause() { read -r -t "$1" -u "$never" || true; }
open_never() { exec {never}<> <(:); }

# after SECONDS COMMAND...: in the background, given up when it is sent TERM.
after() {
  local seconds=$1
  shift
  (
    give_way
    trap 'kill "$sleeper" 2>/dev/null; exit 0' TERM
    sleep "$seconds" &
    sleeper=$!
    wait "$sleeper" && "$@"
  ) </dev/null >/dev/null 2>&1 &
}

# The number of a group may be another's when nobody watches its task any more.
out_of_time() { # GROUP TASK PID WATCHER
  local stat
  read -r stat <"/proc/$BASHPID/stat"
  stat=${stat##*) ? }
  [ "${stat%% *}" = "$4" ] || return 0
  note late "$1" "$2" "$(now)"
  tell_to_end TERM "$3"
  sleep "$KILL_WAIT"
  kill_task "$1" "$2" "$3"
}

# What is stopped hears only KILL and CONT.
tell_to_end() { send "$1" "$2" && send CONT "$2"; } # SIGNAL PID

# The number of its group may be another's when it has ended. Again, until what it starts meanwhile is gone, too.
kill_task() { # GROUP TASK PID
  local left=$((KILL_WAIT * 4 + 4))
  while { ! has_record || running | grep -qx "$1 $2 $3"; } && task_lives "$@" && [ $((left -= 1)) -ge 0 ]; do
    kill_all "$@"
    sleep 0.25
  done
}

# What was asked of a task last: "stop" or "late" (it is killed after its grace), or the number of a signal with which it
# was to run on and until when what is left of it may heed that; nothing = it was asked nothing.
asked() { # GROUP TASK
  awk -v "group=$1" -v "task=$2" '
    $2 != group || $3 != task {next}
    $1 == "stop" || $1 == "late" {asked = $1}
    $1 == "signal" && asked != "stop" && asked != "late" {asked = $5 " " $6}
    END {print asked}' "$FOLDER/node.$node"
}

# A task has ended when nothing of it lives. What its first process leaves behind goes at once; after the grace
# where the task was told to stop or somebody else ended that process. Where the signal that ended it or the script in it
# was ours, as it ends a shell around a program that minds it, the others run on; else they have as long as it lasts.
until_task_ends() { # GROUP TASK PID CODE HOW
  local said until left=$((KILL_WAIT * 4)) rest_told=
  while task_lives "$1" "$2" "$3"; do
    read -r said until <<<"$(asked "$1" "$2")"
    case $said in
      stop | late)
        # What has left the group hears of it when the group is gone.
        if [ -z "$rest_told" ] && ! group_lives "$3"; then
          rest_told=1
          send_named TERM "$1" "$2"
          send_named CONT "$1" "$2"
        fi
        ;;
      *)
        if [ -n "$said" ] && { [ "$4" = $((128 + said)) ] || [ "$(now)" -lt "${until:-0}" ]; }; then
          :
        elif [ "$5" = exit ] || [ $((left -= 1)) -lt 0 ]; then
          kill_all "$1" "$2" "$3"
        fi
        ;;
    esac
    pause 0.25
  done
}

# An end that was asked for some time ago, and the script has not heard of it.
is_unheard() {
  local group number pid asked_at said
  asked_at=$(stat -c %Y "$FOLDER/control" 2>/dev/null) && [ $(($(now) - asked_at)) -ge 5 ] || return 1
  while read -r group number pid; do
    is_stopped "$group" "$number" || continue
    said=$(asked "$group" "$number")
    [ "$said" = stop ] || [ "$said" = late ] || return 0
  done < <(running)
  return 1
}

# Under a proctrack that knows a job's processes by their group, or by who started them, the script is killed without
# what tasks have started: then that follows it. And where the daemon that holds the job has died, no signal of Slurm's
# reaches the script: URG tells it to look at what was asked.
guard() { # PID of the script
  local group number pid signal turns=0
  trap - CONT
  stay
  open_never
  while kill -0 "$1" 2>/dev/null; do
    pause 1
    [ $(((turns += 1) % 3)) != 0 ] || ! is_unheard || kill -s URG "$1" 2>/dev/null
  done
  for signal in TERM KILL; do
    while read -r group number pid; do
      [ "$signal" = KILL ] || note left "$group" "$number" "$(now)"
      [ "$signal" = KILL ] || note stop "$group" "$number" "$(now)" "$signal"
      tell_to_end "$signal" "$pid"
      [ "$signal" != KILL ] || send_named KILL "$group" "$number"
    done < <(running)
    has_record || { send_all_named "$signal" && send_all_named CONT; }
    pause "$KILL_WAIT"
  done
}

# What the watchers left, as one that was killed does: nobody will write down how it ends.
end_left() {
  local group number pid signal lives left
  for signal in TERM KILL; do
    left=$((KILL_WAIT * 4))
    lives=1
    while [ "$lives" = 1 ]; do
      lives=0
      while read -r group number pid; do
        task_lives "$group" "$number" "$pid" || continue
        lives=1
        [ "$left" = $((KILL_WAIT * 4)) ] || continue
        [ "$signal" = KILL ] || note left "$group" "$number" "$(now)"
        tell_to_end "$signal" "$pid"
        send_named "$signal" "$group" "$number"
      done < <(running)
      if ! has_record && send_all_named 0; then
        lives=1
        if [ "$signal" = KILL ] || [ "$left" = $((KILL_WAIT * 4)) ]; then
          send_all_named "$signal" && send_all_named CONT
        fi
      fi
      [ $((left -= 1)) -ge 0 ] || break
      [ "$lives" = 0 ] || sleep 0.25
    done
  done
}

# CONT is how Berth says that there is something in `control`, and what Slurm sends before TERM when it ends a job.
heard() {
  local before=$obeyed group number pid
  control
  [ "$obeyed" = "$before" ] || return 0
  note_told
}
# Others tell all to end, perhaps quicker than this is noted.
note_told() {
  local group number pid
  while read -r group number pid; do note told "$group" "$number" "$(now)"; done < <(running 1)
}

# choose POSITIONS: of the devices that Slurm gave this node, those of one task ("1,3" = the first and the third).
choose() {
  local name
  for name in CUDA_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES GPU_DEVICE_ORDINAL; do
    case $1 in
      all) ;;
      none) export "$name=" ;;
      *) [ -z "${!name-}" ] || export "$name=$(cut -d, -f"$1" <<<"${!name}")" ;;
    esac
  done
}

# The most memory that was in use, in MiB, where Slurm gives the job a control group and this task is alone in it.
memory_peak() {
  local path file
  [ "$task_count" = 1 ] || return 0
  path=$(sed -n -e 's/^0:://p' -e 's/^[0-9]*:memory://p' /proc/self/cgroup 2>/dev/null | grep -m1 "/job_") || return 0
  path=${path%%/task_*}
  for file in "/sys/fs/cgroup$path/memory.peak" "/sys/fs/cgroup/memory$path/memory.max_usage_in_bytes"; do
    [ ! -r "$file" ] || { echo $(($(<"$file") >> 20)); return 0; }
  done
}

# Processor time of the children that have ended, in seconds: the second line of `times` is "1m2.345s 0m0.678s".
cpu_seconds() {
  times | awk 'NR == 2 {gsub("s", ""); split($1, user, "m"); split($2, system_, "m")
                        printf "%d", (user[1] + system_[1]) * 60 + user[2] + system_[2] + 0.5}'
}

# Signals that whoever cancels a job sends to all of it: they are for the tasks. Ignored, not trapped: of a child that
# ends while a trap interrupts the waiting bash may lose the status.
stay() { trap '' TERM INT HUP QUIT USR1 USR2; }
give_way() { trap - TERM INT HUP QUIT USR1 USR2; }

# Until child PID has ended, although SIGCONT interrupts the waiting; 0 only if it ended well.
await() {
  local code
  wait "$1"
  code=$?
  while kill -0 "$1" 2>/dev/null; do sleep 0.05; wait "$1"; code=$?; done
  return "$code"
}

# watch GROUP TASK RANK CPUS MEMORY GPU_SHARE GPU_MEMORY POSITIONS: runs one task and writes down its end.
watch() {
  local pid began code timer='' said how='signal'
  began=$(now)
  set -m
  trap - CONT
  stay
  open_never
  (
    exec {never}>&-
    give_way
    note_start "$1" "$2" "$began" "$BASHPID"
    case $? in
      1) exit 78 ;;
      2) kill -s TERM "$BASHPID" ;;
    esac
    # Of the task alone: processes that have them are the task's.
    export BERTH_NODE=$node BERTH_TASK_GROUP=$1 BERTH_TASK=$2 BERTH_RANK=$3 BERTH_CPUS=$4 BERTH_MEMORY_MIB=$5 BERTH_GPU_SHARE=$6 \
      BERTH_GPU_MEMORY_MIB=$7 BERTH_DONE_FILE=$LAUNCH/$1-$2.done
    choose "$8"
    cd "$DIRECTORY" || exit 126
    run_command
  ) >>"$FOLDER/$1-$2.out" 2>>"$FOLDER/$1-$2.err" </dev/null &
  pid=$!
  if [ "$TIME_LIMIT" -gt 0 ]; then
    after "$TIME_LIMIT" out_of_time "$1" "$2" "$pid" "$BASHPID"
    timer=$!
  fi
  # `wait` tells an exit code above 128 from a signal by nothing; the list of jobs does, until it was waited for.
  {
    while kill -0 "$pid"; do
      pause 0.1
      keep_record "$1" "$2" "$began" "$pid"
    done
    said=$(jobs -l | grep -E "^\[[0-9]+\][-+ ]+ *$pid ")
    wait "$pid"
    code=$?
  } 2>/dev/null
  # It did not begin: Slurm says that the job has failed, and nothing says by what.
  is_noted "$1" "$2" || return 1
  if [ "$code" -le 128 ] || [[ $said = *" Exit $code "* ]]; then
    how='exit'
    note exit "$1" "$2" "$(now)" "$code"
  fi
  until_task_ends "$1" "$2" "$pid" "$code" "$how"
  note end "$1" "$2" "$(now)" "$code" "$(cpu_seconds)" "$(memory_peak)"
  [ -z "$timer" ] || kill "$timer" 2>/dev/null
  [ "$code" = 0 ]
}

# GROUP TASK PID of the tasks of this node that have started and not ended.
# running [SECONDS]: or has ended so long ago.
running() {
  awk -v "since=$(($(now) - ${1:--1}))" '
       $1 == "start" {pid[$2 " " $3] = $5}
       $1 == "end" && $4 < since {delete pid[$2 " " $3]}
       END {for (task in pid) print task, pid[task]}' "$FOLDER/node.$node"
}

# Lines of `control` that were not obeyed yet: "SIGNAL GRACE TASKS"; GRACE '-20' = no more than the signal, which lasts 20
# seconds, TASKS "all" or "0-3,1-0,".
control() {
  local signal grace tasks group number pid line=0
  [ -e "$FOLDER/control" ] || return 0
  # Another file than before: a task has removed that one.
  if [ -z "$held" ] || ! [ "$FOLDER/control" -ef "/dev/fd/$held" ]; then
    obeyed=0
    exec {held}<"$FOLDER/control"
  fi
  while read -r signal grace tasks; do
    line=$((line + 1))
    [ "$line" -gt "$obeyed" ] || continue
    obeyed=$line
    [ -n "$signal" ] || continue
    while read -r group number pid; do
      case ",$tasks" in *",$group-$number,"* | ,all) ;; *) continue ;; esac
      if [[ $grace = -* ]]; then
        note signal "$group" "$number" "$(now)" "$(kill -l "$signal")" "$(($(now) + ${grace#-}))"
      else
        note stop "$group" "$number" "$(now)" "$signal"
      fi
      tell_to_end "$signal" "$pid"
      [[ $grace = -* ]] && continue
      after "$grace" kill_task "$group" "$number" "$pid"
      timers+=("$!")
    done < <(running)
  done <"$FOLDER/control"
}

# Only what has been written down as started can be told to end. At most some seconds: see note_start.
until_all_started() {
  local line started left=250
  while [ $((left -= 1)) -gt 0 ]; do
    started=0
    while read -r line; do [[ $line != start* ]] || started=$((started + 1)); done <"$FOLDER/node.$node"
    [ "$started" -lt "$task_count" ] || return 0
    sleep 0.02
  done
}

# All tasks of this node, to their ends.
run_node() {
  local failed=0 watcher guard
  node=${SLURMD_NODENAME:-$(hostname -s)}
  obeyed=0 held='' early=0 task_count=0 watchers=() timers=()
  winner=$(readlink "$FOLDER/claim")
  # Requests wait until all have started; where there is none, somebody else means them to end.
  trap 'early=1; [ -s "$FOLDER/control" ] || note_told' CONT
  stay
  : >>"$FOLDER/node.$node"
  # Of nobody's children any more, so that it outlives who is killed with all of his.
  guard=$(set -m; guard "$$" </dev/null >/dev/null 2>&1 & echo "$!")
  start_tasks "$node"
  until_all_started
  trap heard CONT
  trap control URG
  if [ "$early" = 0 ]; then control; else heard; fi
  for watcher in "${watchers[@]}"; do await "$watcher" || failed=1; done
  end_left
  [ "${#timers[@]}" = 0 ] || kill "${timers[@]}" 2>/dev/null
  kill -KILL "$guard" 2>/dev/null
  return "$failed"
}

# The claim, in one step that only one can win, with the winner's name in it.
claim() {
  ln -s "$1" "$FOLDER/claim" 2>/dev/null
  [ "$(readlink "$FOLDER/claim")" = "$1" ]
}

# in_pilots NODE:JOB:ARGUMENTS...: a step in the pilot job of each node, with these further arguments of srun. Where Slurm
# has no room for them now, they are tried again; `trying` says so as long as it is young (slurm_records.h).
in_pilots() {
  local pause=5
  trap : CONT
  stay
  touch "$FOLDER/trying"
  until start_steps "$@" || ! finds_them_busy; do
    sleep "$pause"
    touch "$FOLDER/trying"
    pause=$((pause < 30 ? pause * 2 : 60))
  done
  cat "$FOLDER/said" >&2
  rm -f "$FOLDER/trying" "$FOLDER/said"
}

# Nothing has begun, and nobody has asked for its end.
finds_them_busy() {
  grep -qs -e 'are busy' -e 'presently disabled' "$FOLDER/said" && ! compgen -G "$FOLDER/node.*" >/dev/null && [ ! -s "$FOLDER/control" ]
}

start_steps() {
  local each name job arguments names=() steps=() failed=0 i left=500 started
  : >"$FOLDER/said"
  for each in "$@"; do
    IFS=: read -r name job arguments <<<"$each"
    # shellcheck disable=SC2086
    (
      give_way
      exec srun --jobid="$job" --nodelist="$name" --nodes=1 --ntasks=1 --exact --immediate=5 --mpi=none --export=ALL \
        --job-name="${LAUNCH##*/}" $arguments bash "$FOLDER/script" node 2>>"$FOLDER/said"
    ) &
    names+=("$name") steps+=("$!")
  done
  # All or nothing: one that could not start takes the others with it.
  while [ "${#steps[@]}" -gt 1 ] && [ $((left -= 1)) -gt 0 ]; do
    started=0
    for i in "${!steps[@]}"; do
      if [ -s "$FOLDER/node.${names[i]}" ]; then
        started=$((started + 1))
      elif ! kill -0 "${steps[i]}" 2>/dev/null; then
        kill "${steps[@]}" 2>/dev/null
        left=0
      fi
    done
    [ "$started" -lt "${#steps[@]}" ] || break
    sleep 0.02
  done
  for i in "${steps[@]}"; do await "$i" || failed=1; done
  return "$failed"
}

case ${1-} in
  node) run_node ;;
  pilot)
    shift
    ! claim "pilot.$$.$(now).$RANDOM" || in_pilots "$@"
    ;;
  *)
    # A controller that has lost its last moments starts the same job again, with nothing that would say so.
    if claim "$SLURM_JOB_ID.${SLURM_RESTART_COUNT:-0}.$$.$(now).$RANDOM"; then
      everywhere
      code=$?
      # Whoever kills this script, or srun below it, makes Slurm tell all tasks to end, and say FAILED.
      ln -s "$code" "$FOLDER/over" 2>/dev/null
      exit "$code"
    elif [ ! -L "$FOLDER/claim" ]; then
      echo "$LAUNCH cannot be written on $(hostname -s)" >&2
      exit 78
    fi
    ;;
esac
