#!/usr/bin/env bash
# nodes.csv and jobs.csv of the examples are what the generator (the argument) writes. With --approve they are written.
set -euo pipefail

approve=
if [ "${1:-}" = --approve ]; then approve=yes; shift; fi
generator=$(realpath "$1")
cd "$(dirname "$0")/.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
while read -r example gpus jobs seed; do
  "$generator" "$scratch" "$gpus" "$jobs" "$seed"
  for file in nodes.csv jobs.csv; do
    if [ -n "$approve" ]; then cp "$scratch/$file" "$example/$file"; else cmp "$example/$file" "$scratch/$file"; fi
  done
done <<END
demo 320 360 7
simulate 64 360 3
END
