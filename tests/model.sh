#!/bin/bash
# The model of what keeps a job from running twice (docs/model): spin visits every state of a `strict` job and very many of a
# `lease` job, and finds each seeded bug.
#
#   tests/model.sh          everything: about six minutes and 6 GB of memory
#   tests/model.sh --brief  without the rows below that are marked `long`: what tests/run.sh runs
#   tests/model.sh WORD     only the rows that contain the word
set -uo pipefail
model=$(cd "$(dirname "$0")/.." && pwd)/docs/model/attempts.pml
brief=
[ "${1:-}" != --brief ] || { brief=1; shift; }
only=${1:-}
memory_mib=6000 seconds=170
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# OPTIONS SWITCHES…: builds and runs the search; its output is in $work/pan.out.
search() {
  local options=$1; shift
  # shellcheck disable=SC2086
  (cd "$work" && rm -f -- *.trail && cp "$model" . && spin -a ${options:+-DBREADTH} "$@" attempts.pml >spin.out 2>&1 &&
    gcc -O2 -DSAFETY -DNOREDUCE $options -DMEMLIM=$memory_mib -o pan pan.c >>spin.out 2>&1) ||
    { cat "$work/spin.out"; return 1; }
  (cd "$work" && timeout "$seconds" ./pan "-m${depth:-1000000}" -w26 >pan.out 2>&1) || true
}
figure() { sed -n "s/^ *\([0-9.e+]*\) $1.*/\1/p" "$work/pan.out" | head -n 1; }

failed=0 rows=0
wanted() { case " $* " in *"$only"*) rows=$((rows + 1)) ;; *) return 1 ;; esac; }
fail() { echo "FAILED  $*"; tail -n 12 "$work/pan.out"; failed=$((failed + 1)); }

long() { [ -n "$brief" ] || "$@"; }
holds() { # every state is visited, and no assertion fails
  wanted "$@" || return 0
  search "" "$@" || { failed=$((failed + 1)); return; }
  if grep -q 'errors: 0$' "$work/pan.out" && ! grep -q -e 'max search depth too small' -e 'Search not completed' -e 'out of memory' "$work/pan.out"; then
    echo "holds   $*: $(figure 'states, stored') states, $(figure 'transitions') transitions"
  else
    fail "$*: not shown to hold"
  fi
}
searched() { # SECONDS SWITCHES…: no assertion fails; the model is too large to visit every state, and the row says so
  local seconds=$1; shift
  wanted "$@" || return 0
  search "" "$@" || { failed=$((failed + 1)); return; }
  if grep -q '^pan:1: ' "$work/pan.out" || ! grep -q '^Depth=' "$work/pan.out"; then
    fail "$*: an assertion fails, or nothing was searched"
  elif grep -q 'errors: 0$' "$work/pan.out"; then
    echo "searched $*: $(figure 'states, stored') states"
  else
    echo "searched $*: $(tail -n 2 "$work/pan.out" | grep -o 'States= *[0-9.e+]*') before the time was over"
    echo "SKIPPED: model $*: not every state was visited in $seconds s"
  fi
}
found() { # an assertion fails; a search in breadth finds the shortest way to it
  wanted "$@" && fails "-DBFS" 1000000 "$@"
}
found_deep() { # as before, where breadth takes too much memory: in depth, at most so many steps
  wanted "${@:2}" && fails "" "$@"
}
fails() { # OPTIONS DEPTH SWITCHES…
  local options=$1 depth=$2; shift 2
  search "$options" "$@" || { failed=$((failed + 1)); return; }
  if grep -q '^pan:1: assertion violated' "$work/pan.out"; then
    echo "found   $*: $(grep -o 'assertion violated.*' "$work/pan.out" | head -n 1)"
  else
    fail "$*: not found"
  fi
}

holds -DMEMORY
long holds -DRESTORE
long searched 40 -DLEASE -DMEMORY
found -DLEASE -DBUG_GRANT_UNCOMMITTED
found -DLEASE -DBUG_SHORT_COUNT
long found -DLEASE -DBUG_FORMER_FORGOTTEN
found -DLEASE -DBUG_REQUEUE_AT_SILENCE
long found_deep 300 -DLEASE -DBUG_OLD_REPORT
long found_deep 150 -DLEASE -DMEMORY -DBUG_LEASE_OF_ANY
found -DMEMORY -DBUG_NOT_HERE_IS_PROOF
found -DBUG_OLD_ATTEMPT
found -DBUG_NO_FENCE
found -DBUG_ORDER_UNCOMMITTED
found -DBUG_STOP_UNANSWERED
found -DBUG_SECOND_AGENT
long found -DRESTORE -DBUG_EPOCH_AGAIN
long found -DRESTORE -DBUG_COPY_UNHEEDED
found -DRESTORE -DBUG_AWAITED_BRIEFLY
[ "$rows" -gt 0 ] || { echo "no row contains '$only'"; exit 2; }
echo "$rows rows, $failed failed"
[ "$failed" -eq 0 ]
