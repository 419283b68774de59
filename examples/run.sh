#!/usr/bin/env bash
# Runs one example and compares what it prints with its expected.txt.
#
#   examples/run.sh [--approve] BUILD EXAMPLE      e.g. examples/run.sh build/release examples/demo
#
# An example is a folder with session.sql, run by examples/transcript.cpp, or with session.sh, run with the folder of
# `berth` on the PATH and a database of its own in BERTH_DB. --approve writes expected.txt instead of comparing.
set -euo pipefail

approve=
if [ "${1:-}" = --approve ]; then approve=yes; shift; fi
[ $# -eq 2 ] || { echo "usage: examples/run.sh [--approve] BUILD EXAMPLE" >&2; exit 2; }
build=$(cd "$1" && pwd)
cd "$2"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
if [ -f session.sh ]; then
  PATH=$build:$PATH BERTH_DB=$scratch/berth.db SCRATCH=$scratch bash session.sh >"$scratch/printed.txt" 2>&1
else
  "$build/examples/transcript" "$scratch/berth.db" session.sql >"$scratch/printed.txt" 2>&1
fi

if [ -n "$approve" ]; then
  cp "$scratch/printed.txt" expected.txt
elif ! diff -u expected.txt "$scratch/printed.txt"; then
  echo "the example prints something else; when that is right, scripts/approve.sh $(basename "$PWD") accepts it" >&2
  exit 1
fi
