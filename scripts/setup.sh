#!/usr/bin/env bash
# Installs the Debian packages that building and testing Berth needs; does nothing when they are there.
set -euo pipefail

packages=(
  ca-certificates g++ cmake ninja-build ccache pkg-config git
  clang clang-format clang-tidy
  libboost-dev libsqlite3-dev liblua5.4-dev libreadline-dev libfmt-dev nlohmann-json3-dev libpugixml-dev zlib1g-dev libxxhash-dev libzstd-dev
  libgtest-dev libgmock-dev libbenchmark-dev
  sqlite3 less
  slurm-wlm munge  # for the tests of the slurm executor alone
  libcpp-httplib-dev libssl-dev
)
# For tests/kubernetes; any kubectl will do.
command -v kubectl >/dev/null || packages+=(kubernetes-client)

missing=()
for package in "${packages[@]}"; do
  if [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" != installed ]; then
    missing+=("$package")
  fi
done
[ ${#missing[@]} -eq 0 ] && exit 0

echo "installing: ${missing[*]}"
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "error: installing packages needs root (or sudo)" >&2; exit 1; }
  as_root=(sudo)
fi
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
