#!/bin/bash
# Runs all tests: installs packages from Debian, builds, runs every stage, prints a summary line.
#
#   tests/run.sh            everything: about half an hour on two cores
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

# Options of every build tree; ccache is used if it is installed.
cmake_args=()
command -v ccache >/dev/null && cmake_args+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)

wanted() { case $1 in *"$only"*|build*) ;; *) return 1 ;; esac; }
stage() { if wanted "$1"; then perform "$@" && verdict "$1"; fi; } # now, and its verdict
slow() { [ -n "$quick" ] || stage "$@"; }

# Stages that mostly wait for clocks run beside those that compute, in lanes; within a lane one after another. Their results are
# printed last. With --quick there are no lanes: `beside` leaves a stage out, and `aside` performs it at once.
lanes=(slurm faults clusters users)
declare -A lane_stages
lane_pids=()
beside() { if [ -z "$quick" ] && wanted "$2"; then lane_stages[$1]+="${*:2}"$'\n'; fi; } # LANE NAME COMMAND…
aside() { if [ -n "$quick" ]; then stage "${@:2}"; else beside "$@"; fi; }
perform_lane() { # LANE
  while IFS= read -r words; do
    # shellcheck disable=SC2086
    perform $words
  done < <(printf %s "${lane_stages[$1]:-}")
}
interrupt_lanes() { for pid in "${lane_pids[@]}"; do kill -INT -- "-$pid" 2>/dev/null; done; exit 130; }
begin_waiting() {
  local lane
  set -m # each lane is a process group of its own, which can be interrupted as a whole
  for lane in "${lanes[@]}"; do
    perform_lane "$lane" &
    lane_pids+=("$!")
  done
  set +m
  trap interrupt_lanes INT TERM
}
end_waiting() {
  local lane words
  wait "${lane_pids[@]}"
  for lane in "${lanes[@]}"; do
    while read -r words; do verdict "${words%% *}"; done < <(printf %s "${lane_stages[$lane]:-}")
  done
}

build() { # PRESET TARGET…; it gives way to stages that wait for clocks
  cmake --preset "$1" -DHELIO_WERROR=ON "${cmake_args[@]}" && nice cmake --build "build-$1" --target "${@:2}"
}
suite() { # BUILD LABEL [JOBS]: ctest, and what its tests skipped; some tests mostly wait, so there is one job more than cores
  local status=0
  mkdir -p "$logs/database"
  # leaks of libraries' one-time initialisation are ignored; all other checks of the sanitizers stay on
  HELIO_PGTEMPLATE=$logs/database ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
    ctest --test-dir "$1" --output-on-failure -j "${3:-3}" -L "$2" || status=1
  skipped_cases "$1/Testing/Temporary/LastTest.log"
  return "$status"
}
clang() { # the code that it would generate is of no use here
  cmake --preset clang -DHELIO_WERROR=ON && nice tests/warnings.py --build build-clang
}
races() { # daemons with ThreadSanitizer
  build tsan helio-broker helio-agent helio-shim helio && tests/faults/races.py --build build-tsan
}
# Everything fails at random, with the same seed each time; before it, whether its checks can fail at all.
chaos() {
  tests/faults/chaos_test.py && tests/faults/chaos.py --build build-release --minutes 5 --seed 17
}
# Lines of tests compared with lines of sources.
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

# Real Slurm clusters (deploy/slurm-lab); reported as skipped if Slurm, or something it needs, is missing.
on_slurm() {
  [ -n "$(ls -A /sys/fs/cgroup 2>/dev/null)" ] && { "$@"; return; }
  echo "SKIPPED: real Slurm: /sys/fs/cgroup is empty here, and slurmd does not start without a cgroup file system"; return 77
}
on_ha_lab() { # its packages are installed for this stage alone
  deploy/packages/install.sh ha && { "$@"; return; }
  echo "SKIPPED: promotion of a standby: the packages of deploy/packages/ha.txt cannot be installed here"; return 77
}
on_prometheus() { # likewise
  deploy/packages/install.sh prometheus && { "$@"; return; }
  echo "SKIPPED: alerts: the packages of deploy/packages/prometheus.txt cannot be installed here"; return 77
}
# What cannot be installed is skipped by the tests themselves. An sshd is installed only where the machine keeps packages from starting
# their daemons: it would listen to everybody.
on_engines() {
  deploy/packages/install.sh gridengine || true
  [ ! -x /usr/sbin/policy-rc.d ] || deploy/packages/install.sh ssh || true
  "$@"
}
on_containers() { deploy/packages/install.sh containers || true; "$@"; }
# Clients that others wrote, for the double of Kubernetes; without them their part is skipped.
kubernetes_clients() {
  { command -v kubectl >/dev/null && /usr/bin/python3 -P -c 'import kubernetes.client' 2>/dev/null; } || deploy/packages/install.sh kubernetes
  tests/integration/kubernetes_clients.py
}
beside slurm slurm-life on_slurm tests/integration/slurm_life.py --build build-release
beside slurm slurm-outages on_slurm tests/faults/slurm_outage.py --build build-release
beside slurm slurm-campaign on_slurm tests/faults/slurm_campaign.py --build build-release --jobs 120 --longest 6 --seed 7
beside slurm slurm-backend on_slurm tests/integration/slurm_backend.sh build-release
beside slurm slurm-scripts on_slurm tests/integration/sbatch_scripts.py --build build-release
beside slurm slurm-shapes on_slurm tests/integration/slurm_shapes.py --build build-release
beside slurm slurm-docs on_slurm tests/integration/slurm_docs.sh build-release
beside slurm slurm-shim on_slurm tests/integration/slurm_shim.sh build-release
beside faults machines tests/faults/machines.py --build build-release
beside faults restore tests/faults/restore.py --build build-release
beside faults memory tests/faults/memory.py --build build-release
beside faults promotion on_ha_lab tests/faults/promotion.py --build build-release
beside faults chaos chaos
beside faults rolling tests/faults/rolling.py --build build-release
beside clusters prometheus on_prometheus tests/integration/prometheus.py --build build-release
beside clusters grafana tests/integration/grafana.py --build build-release
beside clusters kubernetes-clients kubernetes_clients
beside clusters kubernetes-life tests/integration/kubernetes_life.py --build build-release
beside clusters kubernetes-docs tests/integration/kubernetes_docs.sh build-release
beside clusters kubernetes-replay tests/doubles/kubernetes_replay.py
beside clusters kubernetes-spoilt tests/doubles/kubernetes_test.py
beside clusters containers on_containers tests/integration/containers.py --build build-release
beside clusters console tests/console/run.sh build-release
if [ -n "$quick" ]; then kills=(--jobs 60 --kills 4); else kills=(--jobs 500 --kills 16); fi
aside clusters kill9 tests/faults/kill9.py --build build-release "${kills[@]}"
beside clusters model tests/model.sh --brief
aside users bad-input tests/integration/bad_input.sh build-release
aside users queues tests/integration/queues.sh build-release
aside users budgets tests/integration/budgets.sh build-release
aside users rehearse tests/integration/rehearse.sh build-release
aside users quickstart tests/integration/quickstart.sh build-release
aside users preemption tests/integration/preemption.py --build build-release
beside users curtail tests/integration/curtail.py --build build-release
aside users elastic tests/integration/elastic.py --build build-release
aside users spot tests/integration/spot.py --build build-release
aside users migrations tests/integration/migrations.py --build build-release
beside users docs tests/integration/docs.sh build-release
beside users versions tests/integration/versions.py --build build-release
beside users windows tests/integration/windows.py --build build-release
beside users keys tests/integration/keys.py --build build-release
beside users channels tests/integration/channels.py --build build-release
beside users exec-life on_engines tests/integration/exec_life.py --build build-release
beside users exec-docs on_engines tests/integration/exec_docs.sh build-release
begin_waiting

slow build-dev build dev unit_tests
slow clang clang
stage layers suite build-release layers
stage unit-release suite build-release unit 5 # more than half of their time they wait
[ -x build-dev/helio-broker ] && slow unit-sanitized suite build-dev unit 4
stage simulation suite build-release sim
stage mutants suite build-release mutants 6 # most of them wait
stage pgtap tests/pgtap.sh
slow fuzz tests/fuzz/run.sh 10
slow races races
stage security tests/security/attacks.py --build build-release
stage units tests/integration/units.sh build-release
slow slurm-lab on_slurm tests/integration/slurm_lab.sh
end_waiting
# Last and alone, since its figures must agree with Slurm's accounting within a second.
slow slurm-sites on_slurm tests/faults/kill9.py --build build-release --sites slurm:3,local:1 --jobs 300 --kills 12

echo
ratio
closing_line
