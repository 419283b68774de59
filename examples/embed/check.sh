#!/usr/bin/env bash
# Installs the build into a scratch folder, builds the example against what was installed, runs it. --approve: accepts
# what it prints.
#
#   examples/embed/check.sh [--approve] BUILD COMPILER
set -euo pipefail

approve=
if [ "${1:-}" = --approve ]; then approve=yes; shift; fi
build=$(realpath "$1")
compiler=$2
cd "$(dirname "$0")"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cmake --install "$build" --prefix "$scratch/prefix" >/dev/null
cmake -S . -B "$scratch/build" -G Ninja -D CMAKE_PREFIX_PATH="$scratch/prefix" -D CMAKE_CXX_COMPILER="$compiler" >/dev/null
cmake --build "$scratch/build" >/dev/null
code=0
"$scratch/build/embed" "$scratch/embed.db" >"$scratch/printed.txt" 2>&1 || code=$?
echo "exit code $code" >>"$scratch/printed.txt"
if [ -n "$approve" ]; then cp "$scratch/printed.txt" expected.txt; fi
diff -u expected.txt "$scratch/printed.txt"
"$scratch/prefix/bin/berth" --db "$scratch/embed.db" --read-only -c "CHECK"
