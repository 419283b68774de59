#!/usr/bin/env bash
# Installs what is missing, builds, runs every test. Arguments go to ctest: scripts/test.sh -L fast
#
#   --all        the suite with random tests on more cases, drawn anew: BERTH_SEED of the first is printed, BERTH_SEEDS
#                of them (100)
#   --asserts    a build with assertions; invariants are checked after every step
#   --sanitize   the whole suite under the address and undefined-behaviour sanitizers, then what uses threads (label
#                threads) under the thread sanitizer; slow
#
# BERTH_PRESET names another preset of CMakePresets.json.
set -euo pipefail
cd "$(dirname "$0")/.."

run_suite() {  # preset, arguments of ctest
  local preset=$1
  shift
  cmake --preset "$preset" >/dev/null
  cmake --build --preset "$preset"
  ctest --preset "$preset" -j "$(nproc)" "$@"
}

kind=${1:-}
case $kind in
  --all | --asserts | --sanitize) shift ;;
  *) kind=plain ;;
esac
scripts/setup.sh
case $kind in
  --all)
    export BERTH_SEEDS=${BERTH_SEEDS:-100}
    export BERTH_SEED=${BERTH_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
    echo "BERTH_SEED=$BERTH_SEED BERTH_SEEDS=$BERTH_SEEDS"
    run_suite "${BERTH_PRESET:-release}" "$@"
    ;;
  --asserts) run_suite asserts "$@" ;;
  --sanitize)
    export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:abort_on_error=1}
    export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
    run_suite asan "$@"
    run_suite tsan -L threads "$@"
    ;;
  plain) run_suite "${BERTH_PRESET:-release}" "$@" ;;
esac
