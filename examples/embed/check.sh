#!/usr/bin/env bash
# Installs the build into a scratch folder, builds the example against what was installed, runs it.
#
#   examples/embed/check.sh BUILD COMPILER
set -euo pipefail
build=$1 compiler=$2
cd "$(dirname "$0")"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cmake --install "$build" --prefix "$scratch/prefix" >/dev/null
cmake -S . -B "$scratch/build" -G Ninja -D CMAKE_PREFIX_PATH="$scratch/prefix" -D CMAKE_CXX_COMPILER="$compiler" >/dev/null
cmake --build "$scratch/build"
"$scratch/build/embed" "$scratch/embed.db" >"$scratch/printed.txt" 2>&1
diff -u expected.txt "$scratch/printed.txt"
"$scratch/prefix/bin/berth" --db "$scratch/embed.db" --read-only -c "CHECK"
