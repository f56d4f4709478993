#!/bin/bash
# Injects faults into one machine of a running lab, and promotes members. MEMBER is 1, 2, 3, or `primary`.
#
#   deploy/ha-lab/member.sh DIR COMMAND [MEMBER]
#     status            one line per daemon, and Patroni's table of the members
#     database, proxy   prints the connection string of a broker: with all members, or by haproxy
#     primary           prints the number of the primary; exit 3 if there is none
#     whole             waits until there is a primary and all others follow it
#     kill9 MEMBER      the machine fails: its etcd, Patroni and PostgreSQL die at once
#     start MEMBER      it comes back
#     pause MEMBER      SIGSTOP to all of its processes: it accepts connections and never answers
#     cont MEMBER       SIGCONT
#     cut MEMBER        its cable is pulled (only with NETWORK=1)
#     mend MEMBER       and plugged in again
#     switchover        another member becomes the primary, in order; returns when it is
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=deploy/ha-lab/lib.sh
. "$here/lib.sh"
case ${1:-} in -h|--help) usage; exit 0 ;; esac
if [ $# -lt 2 ] || [ $# -gt 3 ]; then usage >&2; exit 2; fi
[ -f "$1/.ha-lab" ] && [ -f "$1/settings" ] || fail "$1 is not a lab"
lab=$(cd "$1" && pwd -P)
# shellcheck source=/dev/null
. "$lab/settings"
command=$2
k=${3:-}
exec 9>>"$lab/.lock"
flock -w 60 9 || fail "another command is running on $lab"
if [ "$k" = primary ]; then k=$(primary) || fail "there is no primary"; fi
case $command in
  kill9|start|pause|cont|cut|mend) number MEMBER "$k" 1 "$machines" ;;
  status|database|proxy|primary|whole|switchover) [ -z "$k" ] || { usage >&2; exit 2; } ;;
  *) usage >&2; exit 2 ;;
esac
control() { patronictl -c "$lab/patroni-1.yaml" "$@"; }

case $command in
  status)
    for name in $(recorded '*'); do printf '%-12s %s\n' "$name" "$(state_of "$name")"; done
    control list ;;
  database) listed ;;
  proxy) proxied ;;
  primary) primary || exit 3 ;;
  whole) watched=none; wait_for 120 "a primary and its standbys" whole ;;
  kill9) kill9_machine "$k" || fail "processes are left: $(processes "$k")" ;;
  start)
    [ "$(state_of "etcd-$k")" = down ] || fail "member $k is $(state_of "etcd-$k") already"
    start_etcd "$k"
    if [ "$k" -le "$members" ]; then start_patroni "$k"; fi ;;
  pause|cont)
    # shellcheck disable=SC2046
    kill -"$([ "$command" = pause ] && echo STOP || echo CONT)" $(processes "$k") ;;
  cut|mend)
    [ "$network" = 1 ] || fail "the members share an address; up.sh with NETWORK=1 gives each one a cable"
    ip link set "$(device_of "$k")" "$([ "$command" = cut ] && echo down || echo up)" ;;
  switchover)
    was=$(primary) || fail "there is no primary"
    control switchover helio --master "pg$was" --force >>"$(log_of switchover)" 2>&1 || { tail -n 5 "$(log_of switchover)" >&2; fail "refused"; }
    moved() { local now; now=$(primary) && [ "$now" != "$was" ]; }
    watched=none
    wait_for 30 "another primary" moved
    primary ;;
esac
