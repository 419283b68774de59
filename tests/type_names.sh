#!/usr/bin/env bash
# One name, one type: two definitions of a type under one full name are undefined behaviour, which no compiler tells when
# they stand in different files. Usage: tests/type_names.sh [FOLDER]; FOLDER is a checkout, this one unless given.
#
# clang-format puts namespaces and their types at the start of a line, and "}  // namespace" at their end.
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"

list_types() {  # "full name, file" of each type outside anonymous namespaces
  find "$@" \( -name '*.h' -o -name '*.cpp' \) -print0 | sort -z | xargs -0 awk '
    FNR == 1 { depth = 0 }
    /^namespace( [A-Za-z_:0-9]+)? \{/ { names[++depth] = ($2 == "{") ? "(anonymous)" : $2; next }
    /^}  \/\/ namespace/ { --depth; next }
    # Forward declarations end with a semicolon; specialisations have arguments.
    /^(template <.*> )?(struct|class|union|enum( class| struct)?) / {
      line = $0
      sub(/ *\/\/.*/, "", line)
      if (line ~ /;$/) next
      sub(/^template <.*> /, "", line)
      sub(/^(struct|class|union|enum class|enum struct|enum) /, "", line)
      gsub(/(\[\[[^\]]*\]\]|alignas\([^)]*\)) /, "", line)
      name = line
      sub(/[^A-Za-z_0-9:].*/, "", name)
      sub(/:$/, "", name)
      rest = substr(line, length(name) + 1)
      if (name == "" || rest ~ /^</) next
      full = ""
      for (i = 1; i <= depth; ++i) { if (names[i] == "(anonymous)") next; full = full names[i] "::" }
      print full name, FILENAME
    }'
}

engine=$(list_types engine shell)
[ "$(wc -l <<<"$engine")" -gt 100 ] || { echo "found only these types: $engine"; exit 1; }
# Test programs are linked one by one: their own names may come twice, the engine's may not come again.
twice=$( { echo "$engine" | awk '{ print $1 }' | sort | uniq -d
           for folder in tests bench examples; do
             [ -d "$folder" ] && list_types "$folder" | awk 'NR == FNR { known[$1]; next } $1 in known { print $1 }' <(echo "$engine") -
           done; } | sort -u)
[ -z "$twice" ] && { echo "$(wc -l <<<"$engine") types, each name once"; exit 0; }
echo "types that are defined twice:"
for name in $twice; do { echo "$engine"; list_types tests; } | awk -v name="$name" '$1 == name { print "  " $1 "  " $2 }'; done
exit 1
