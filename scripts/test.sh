#!/usr/bin/env bash
# Installs what is missing, builds, runs every test. Arguments go to ctest: scripts/test.sh -L fast
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
preset=${BERTH_PRESET:-release}
cmake --preset "$preset" >/dev/null
cmake --build --preset "$preset"
ctest --preset "$preset" -j "$(nproc)" "$@"
