#!/bin/bash
# The one test command. Installs what it needs from Debian, builds, runs everything, prints a summary line.
#
#   tests/run.sh            everything: at most 30 minutes on two cores
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

# shellcheck source=tests/stages.sh
. tests/stages.sh

# What every build tree is given; ccache is used where it is, never needed.
cmake_args=()
command -v ccache >/dev/null && cmake_args+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)

wanted() { case $1 in *"$only"*|build*) ;; *) return 1 ;; esac; }
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
suite() { # BUILD LABEL [JOBS]: ctest, and what its tests skipped
  local status=0
  # leaks of libraries' one-time initialisation are theirs; everything else of the sanitizers stays on
  ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
    ctest --test-dir "$1" --output-on-failure -j "${3:-2}" -L "$2" || status=1
  skipped_cases "$1/Testing/Temporary/LastTest.log"
  return "$status"
}
races() { # daemons with ThreadSanitizer
  build tsan helio-broker helio-agent helio-shim helio && tests/faults/races.py --build build-tsan
}
# How much is tested by how much: lines of tests against lines of sources.
ratio() {
  local tests sources
  tests=$(git ls-files -z 'tests/*.[ch]' 'tests/*.sh' 'tests/*.py' 'schema/tests/*.sql' | xargs -0 cat | wc -l)
  sources=$(git ls-files -z {federation,broker,site-agent,client,simulator}/'*.[ch]' {federation,broker,site-agent,client,simulator}/'*.def' \
    schema/{migrations,queries,report}/'*.sql' | xargs -0 cat | wc -l)
  echo "$tests lines of tests for $sources lines of sources: $((100 * tests / sources)) for 100"
}

packages=(build run test)
[ -n "$quick" ] || packages+=(slurm)
if ! stage build-packages deploy/packages/install.sh "${packages[@]}"; then echo "0 passed, 1 failed"; exit 1; fi
if ! stage build-release build release all mutants; then echo "$passed passed, $failed failed"; exit 1; fi
slow build-dev build dev unit_tests
slow clang build clang all

# Real Slurm clusters (deploy/slurm-lab); skipped loudly where Slurm, or what it needs of the machine, is missing.
on_slurm() {
  [ -n "$(ls -A /sys/fs/cgroup 2>/dev/null)" ] && { "$@"; return; }
  echo "SKIPPED: real Slurm: /sys/fs/cgroup is empty here, and slurmd does not start without a cgroup file system"; return 77
}
beside windows tests/integration/windows.py --build build-release
beside restore tests/faults/restore.py --build build-release
beside slurm-life on_slurm tests/integration/slurm_life.py --build build-release
beside slurm-outages on_slurm tests/faults/slurm_outage.py --build build-release
beside machines tests/faults/machines.py --build build-release
begin_waiting

stage layers suite build-release layers
stage unit-release suite build-release unit
[ -x build-dev/helio-broker ] && slow unit-sanitized suite build-dev unit
stage simulation suite build-release sim
stage mutants suite build-release mutants 6 # most of them wait
stage pgtap tests/pgtap.sh
slow fuzz tests/fuzz/run.sh
slow races races
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
stage moves tests/integration/migrations.py --build build-release
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
ratio
closing_line
