#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# `run.sh SUITE...` (bookworm, trixie): does what the README promises hold on a machine with nothing
# on it? For each suite makes a minimal root with nothing but make, copies this checkout's last
# commit into it, runs the two commands as README.md prints them, and `make run` once more. Prints a
# table of times on standard output (for docs/fill.py --table), everything else on standard error.
# Needs root, mmdebstrap and git; takes ten to thirty minutes a suite. Not part of ctest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
readonly checkout=$PWD
[ $# -ge 1 ] || { echo "usage: run.sh SUITE..." >&2; exit 2; }
for program in mmdebstrap git unshare; do
  command -v "$program" >/dev/null || { echo "run.sh: $program is missing" >&2; exit 2; }
done
[ "$(id -u)" = 0 ] || { echo "run.sh: only root can make a root" >&2; exit 2; }

# The commands of the README's first block of code.
mapfile -t commands < <(sed -n '/^```$/,/^```$/p' README.md | grep -m 2 '^make ')
[ ${#commands[@]} = 2 ] || { echo "run.sh: README.md does not begin with two commands" >&2; exit 1; }
commands+=("${commands[0]}")

folder=$(mktemp -d "${TMPDIR:-/var/tmp}/collwatch-fresh.XXXXXX")
trap 'rm -rf --one-file-system "$folder"' EXIT

# Runs a command in the root with its own mounts, which vanish with it.
inside() {
  local root=$1
  shift
  unshare --mount --propagation private bash -euc '
    root=$1
    shift
    mount --bind "$root" "$root"
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys"
    mount --rbind /dev "$root/dev"
    exec chroot "$root" env -i HOME=/root LANG=C.UTF-8 TERM=dumb \
      PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"' _ "$root" "$@" </dev/null
}

status=0
echo "| suite | command | seconds | exit | ended with |"
echo "|---|---|---|---|---|"
for suite in "$@"; do
  root=$folder/$suite
  mmdebstrap --quiet --variant=minbase --include=make "$suite" "$root" >&2
  rm -rf "$root"/var/lib/apt/lists/*
  git clone -q "$checkout" "$root/collwatch"
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  for command in "${commands[@]}"; do
    started=$SECONDS
    code=0
    inside "$root" bash -c "cd /collwatch && $command" >"$folder/log" 2>&1 || code=$?
    cat "$folder/log" >&2
    last=$(grep -v '^ *$' "$folder/log" | tail -n 1 | tr -d '|\r' | sed 's/\x1b\[[0-9;]*m//g')
    case "$command" in *test*) last=$(grep 'tests passed' "$folder/log" || echo "$last") ;; esac
    echo "| $suite | \`$command\` | $((SECONDS - started)) | $code | $last |"
    [ "$code" = 0 ] || status=1
  done
  rm -rf --one-file-system "$root"
done
exit "$status"
