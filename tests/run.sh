#!/bin/bash
# The one test command. Installs what it needs from Debian, builds, runs everything, prints a summary line.
#
#   tests/run.sh            everything: at most 25 minutes on two cores
#   tests/run.sh --quick    without sanitizers, fuzzing, Slurm and the long campaigns: at most 5 minutes
#   tests/run.sh --only N   only the stages whose name contains N (build stages always run)
set -uo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top" || exit 2
quick=
only=
while [ $# -gt 0 ]; do
  case $1 in
    --quick) quick=1 ;;
    --only) only=${2:?--only needs a word}; shift ;;
    *) echo "usage: tests/run.sh [--quick] [--only STAGE]" >&2; exit 2 ;;
  esac
  shift
done

logs=$(mktemp -d)
passed=0 failed=0 skipped=0
failures=()
began=$SECONDS

# What every build tree is given; ccache is used where it is, never needed.
cmake_args=()
command -v ccache >/dev/null && cmake_args+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)

verdict() { # NAME
  local status seconds log=$logs/$1.log
  read -r status seconds <"$logs/$1.end"
  if [ "$status" = 0 ]; then
    passed=$((passed + 1)); printf 'ok      %-28s %4d s  %s\n' "$1" "$seconds" "$(grep -a -v '^[[:space:]]*$' "$log" | tail -n 1 | cut -c1-110)"
  elif [ "$status" = 77 ]; then
    skipped=$((skipped + 1)); printf 'SKIPPED %-28s %4d s  %s\n' "$1" "$seconds" "$(tail -n 1 "$log" | cut -c1-110)"
  else
    failed=$((failed + 1)); failures+=("$1"); printf 'FAILED  %-28s %4d s\n' "$1" "$seconds"; failure "$log" | sed 's/^/    | /'
  fi
  return "$status"
}
# What failed first, the end of the log after it: whoever reads this may be shown its beginning alone.
failure() { # LOG
  grep -a -E '\*\*\*(Failed|Timeout|Exception|Not Run)|^\[  (ERROR|LINE|FAILED) ' "$1" | head -n 20
  grep -a -v -E ' Passed +[0-9.]+ sec$| Start +[0-9]+: |^\[( RUN |  *OK )' "$1" | tail -n "${HELIO_FAILURE_LINES:-60}"
}
wanted() { case $1 in *"$only"*|build*) ;; *) return 1 ;; esac; }
perform() { # NAME COMMAND…   (exit 77 = skipped, says why in its last line)
  local status=0 start=$SECONDS
  "${@:2}" >"$logs/$1.log" 2>&1 </dev/null || status=$?
  echo "$status $((SECONDS - start))" >"$logs/$1.end"
}
stage() { if wanted "$1"; then perform "$@" && verdict "$1"; fi; } # now, and its verdict
slow() { [ -n "$quick" ] || stage "$@"; }

# Stages that mostly wait for clocks run one after another beside those that compute; their verdicts come last.
waiting=()
beside() { if [ -z "$quick" ] && wanted "$1"; then waiting+=("$*"); fi; }
begin_waiting() {
  set -m # a process group of its own, which can be interrupted as a whole
  for words in "${waiting[@]}"; do
    # shellcheck disable=SC2086
    perform $words
  done &
  beside_pid=$!
  set +m
  trap 'kill -INT -- "-$beside_pid" 2>/dev/null; exit 130' INT TERM
}
end_waiting() {
  wait "$beside_pid"
  for words in "${waiting[@]}"; do verdict "${words%% *}"; done
}

build() { # PRESET TARGET…
  cmake --preset "$1" -DHELIO_WERROR=ON "${cmake_args[@]}" && cmake --build "build-$1" --target "${@:2}"
}
suite() { # BUILD LABEL…: ctest, which prints its own summary last
  local dir=$1
  shift
  # leaks of libraries' one-time initialisation are theirs; everything else of the sanitizers stays on
  ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
    ctest --test-dir "$dir" --output-on-failure -j 2 -L "$1" || return 1
}

packages=(build run test)
[ -n "$quick" ] || packages+=(slurm)
if ! stage build-packages deploy/packages/install.sh "${packages[@]}"; then echo "0 passed, 1 failed"; exit 1; fi
if ! stage build-release build release all mutants; then echo "$passed passed, $failed failed"; exit 1; fi
slow build-dev build dev unit_tests
slow build-clang build clang all

# Real Slurm clusters (deploy/slurm-lab); skipped loudly where Slurm, or what it needs of the machine, is missing.
on_slurm() {
  [ -n "$(ls -A /sys/fs/cgroup 2>/dev/null)" ] && { "$@"; return; }
  echo "SKIPPED: /sys/fs/cgroup is empty here, and slurmd does not start without a cgroup file system"; return 77
}
beside windows tests/integration/windows.py --build build-release
beside restore tests/faults/restore.py --build build-release
beside slurm-life on_slurm tests/integration/slurm_life.py --build build-release
beside slurm-outages on_slurm tests/faults/slurm_outage.py --build build-release
beside machines tests/faults/machines.py --build build-release
begin_waiting

stage walls suite build-release walls
stage unit-release suite build-release unit
[ -x build-dev/helio-broker ] && slow unit-sanitized suite build-dev unit
stage simulation suite build-release sim
stage mutants suite build-release mutants
stage pgtap tests/pgtap.sh
slow fuzz tests/fuzz/run.sh
if [ -n "$quick" ]; then
  stage kill9 tests/faults/kill9.py --build build-release --jobs 60 --kills 4
else
  stage kill9 tests/faults/kill9.py --build build-release --jobs 500 --kills 16
fi
stage bad-input tests/integration/bad_input.sh build-release
stage queues tests/integration/queues.sh build-release
stage budgets tests/integration/budgets.sh build-release
stage quickstart tests/integration/quickstart.sh build-release
slow docs tests/integration/docs.sh build-release
stage preemption tests/integration/preemption.py --build build-release
stage moves tests/integration/moves.py --build build-release
slow versions tests/integration/versions.py --build build-release
stage units tests/integration/units.sh build-release
slow slurm-lab on_slurm tests/integration/slurm_lab.sh
slow slurm-shim on_slurm tests/integration/slurm_shim.sh build-release
slow slurm-backend on_slurm tests/integration/slurm_backend.sh build-release
slow slurm-docs on_slurm tests/integration/slurm_docs.sh build-release
slow slurm-scripts on_slurm tests/integration/sbatch_scripts.py --build build-release
end_waiting
# Last and alone: it is compared with Slurm's accounting, within a second.
slow slurm-sites on_slurm tests/faults/kill9.py --build build-release --sites slurm:3,local:1 --jobs 300 --kills 12

echo
[ ${#failures[@]} -gt 0 ] && echo "failed: ${failures[*]}; logs in $logs"
[ ${#failures[@]} -eq 0 ] && rm -rf "$logs"
echo "took $((SECONDS - began)) s"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
