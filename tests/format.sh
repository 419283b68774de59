#!/usr/bin/env bash
# Fails when clang-format would change a file. Run: tests/format.sh
set -euo pipefail
cd "$(dirname "$0")/.."
find engine shell tests bench examples -name '*.h' -o -name '*.cpp' 2>/dev/null | grep -v /build/ | sort |
  xargs clang-format --dry-run --Werror
