#!/usr/bin/env bash
# Accepts what the examples print now as what they should print: read the diff before you commit it.
# Arguments: names of examples; none = all.   scripts/approve.sh demo
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${BERTH_PRESET:-release}
cmake --build --preset "$preset" --target berth transcript
names=("$@")
if [ ${#names[@]} -eq 0 ]; then
  for file in examples/*/expected.txt; do names+=("$(basename "$(dirname "$file")")"); done
fi
for name in "${names[@]}"; do
  if [ "$name" = embed ]; then
    examples/embed/check.sh --approve "build/$preset" c++
  else
    examples/run.sh --approve "build/$preset" "examples/$name"
  fi
done
git --no-pager diff --stat -- examples
