# shellcheck shell=bash
# The daemons of a lab, which are started and ended by scripts: sourced, with the variable `lab` set to the lab's folder
# (absolute), and with a function log_of NAME that prints the path of a daemon's log.
#
# Every daemon has a name and, while it should run, a file $lab/run/NAME with its pid and start time: a pid alone may
# meanwhile belong to another process.

fail() { echo "${0##*/}: $*" >&2; exit 1; }

born() { # PID: prints its start time; fails if the process does not exist or is a zombie
  local line
  { read -r line <"/proc/$1/stat"; } 2>/dev/null || return 1
  line=${line##*) } # the command's name is in brackets and may contain anything
  # shellcheck disable=SC2086
  set -- $line
  [ "$1" != Z ] && [ "$1" != X ] && echo "${20}"
}
pid_of() { # NAME: prints the pid of the daemon if it is still the process that was started
  local pid start
  { read -r pid start <"$lab/run/$1"; } 2>/dev/null || return 1
  [ "$(born "$pid")" = "$start" ] && echo "$pid"
}
recorded() { # PATTERN: the names of the recorded daemons, running or not
  local file
  # shellcheck disable=SC2086
  for file in "$lab"/run/$1; do [ -f "$file" ] && basename "$file"; done
  return 0
}
any_alive() { local name; for name in $(recorded '*'); do pid_of "$name" >/dev/null && return 0; done; return 1; }

launch() { # NAME COMMAND…: starts a daemon and records it
  local name=$1 pid
  shift
  # shellcheck disable=SC2016
  printf '=== %s started at %(%FT%T)T\n' "$name" -1 >>"$(log_of "$name")"
  (cd / && exec setsid "$@") </dev/null >>"$(log_of "$name")" 2>&1 9>&- &
  pid=$!
  echo "$pid $(born "$pid")" >"$lab/run/$name"
}

watched='*' # daemons whose end fails the current command
check_daemons() { # fails, with the end of the log, if one of them has ended
  local name
  for name in $(recorded "$watched"); do
    pid_of "$name" >/dev/null && continue
    rm -f "$lab/run/$name"
    echo "--- the end of $(log_of "$name"):" >&2
    tac "$(log_of "$name")" | sed '/^=== /q' | head -n 15 | tac >&2
    fail "$name has ended unexpectedly; see the log above"
  done
}
wait_for() { # SECONDS WHAT COMMAND…: until the command succeeds
  local end=$((SECONDS + $1)) what=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    check_daemons
    [ "$SECONDS" -lt "$end" ] || fail "still waiting for $what; logs are in $lab/*/log and $lab/log"
    sleep 0.05
  done
}

stop() { # SIGNAL NAME…: all at once, then waits; after 10 s the rest is killed
  local signal=$1 name pid until
  shift
  for name in "$@"; do # a paused process handles no signal until it continues
    if pid=$(pid_of "$name"); then kill -"$signal" "$pid" 2>/dev/null; kill -CONT "$pid" 2>/dev/null || true; fi
  done
  until=$((SECONDS + 10))
  for name in "$@"; do
    while pid=$(pid_of "$name"); do
      [ "$SECONDS" -lt "$until" ] || kill -KILL "$pid" 2>/dev/null
      sleep 0.02
    done
    rm -f "$lab/run/$name"
  done
}

state_of() { # NAME
  local pid
  pid=$(pid_of "$1") || { echo down; return; }
  if grep -q '^State:[[:space:]]*T' "/proc/$pid/status" 2>/dev/null; then echo paused; else echo running; fi
}
signal() { # SIGNAL NAME
  local pid
  pid=$(pid_of "$2") || fail "$2 is not running"
  kill -"$1" "$pid"
}

port_taken() { (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
taken_port() { # FIRST COUNT: prints the first port of the range that is in use; fails if none is
  local port
  for ((port = $1; port < $1 + $2; port++)); do if port_taken "$port"; then echo "$port"; return; fi; done
  return 1
}
free_range() { # COUNT LOW HIGH: prints the first of so many free ports. Random, so that two labs that start at the same time do not collide
  local first
  for _ in $(seq 50); do
    first=$(($2 + (RANDOM * 32768 + RANDOM) % ($3 - $2 - $1)))
    taken_port "$first" "$1" >/dev/null || { echo "$first"; return; }
  done
  return 1
}
number() { # NAME VALUE MIN MAX
  [[ $2 =~ ^[0-9]{1,6}$ ]] && [ "$2" -ge "$3" ] && [ "$2" -le "$4" ] || bad "$1 is '$2'; it must be a number from $3 to $4"
}
bad() { echo "${0##*/}: $*" >&2; exit 2; }
usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; }
