# The stages of a test run: sourced by run.sh. A stage is a command; 0 = passed, 77 = skipped, anything else = failed.
# A stage prints a line "SKIPPED: WHAT: WHY" for everything that it cannot test on this machine; each such line is counted.
# shellcheck shell=bash

logs=$(mktemp -d)
passed=0 failed=0 skipped=0
failures=() skips=()
began=$SECONDS

perform() { # NAME COMMAND…
  local status=0 start=$SECONDS TIMEFORMAT='%U %S'
  { time "${@:2}" >"$logs/$1.log" 2>&1 </dev/null; } 2>"$logs/$1.times" || status=$?
  echo "$status $((SECONDS - start)) $(awk 'END { print int($1 + $2) }' "$logs/$1.times")" >"$logs/$1.end"
}

# Prints the failed cases first and the end of the log after them, since a reader may see only the beginning.
failure() { # LOG
  grep -a -E '\*\*\*(Failed|Timeout|Exception|Not Run)|^\[  (ERROR|LINE|FAILED) |^VIOLATION |^[A-Za-z.]*(Error|Exception): ' "$1" | head -n 20
  grep -a -v '^[[:space:]]*$' "$1" | tail -n 3
  echo ...
  grep -a -v -E ' Passed +[0-9.]+ sec$| Start +[0-9]+: |^\[( RUN |  *OK )|^\[[0-9]+/[0-9]+\] (Building|Linking) ' "$1" | tail -n "${HELIO_FAILURE_LINES:-60}"
}

# Counts and prints the result of a stage that was performed: its seconds, and those of the processors (daemons that outlive their
# parents are not in them).
verdict() { # NAME
  local status seconds processor log=$logs/$1.log line
  read -r status seconds processor <"$logs/$1.end"
  case $status in
    0)
      passed=$((passed + 1))
      line=$(grep -a -v -E '^[[:space:]]*$|^SKIPPED: ' "$log" | tail -n 1 | cut -c1-110)
      printf 'ok      %-28s %4d s %4d cpu  %s\n' "$1" "$seconds" "$processor" "$line" ;;
    77)
      line=$(grep -a '^SKIPPED: ' "$log" | tail -n 1)
      printf 'SKIPPED %-28s %4d s %4d cpu  %s\n' "$1" "$seconds" "$processor" "${line#SKIPPED: }" ;;
    *)
      failed=$((failed + 1)); failures+=("$1")
      printf 'FAILED  %-28s %4d s %4d cpu\n' "$1" "$seconds" "$processor"; failure "$log" | sed 's/^/    | /' ;;
  esac
  while IFS= read -r line; do
    skipped=$((skipped + 1)); skips+=("$1: ${line#SKIPPED: }")
  done < <(grep -a '^SKIPPED: ' "$log" || { [ "$status" != 77 ] || echo "SKIPPED: it does not say why"; })
  return "$status"
}

# The cases that unit tests skipped, from ctest's log: the line before cmocka's own has the reason.
skipped_cases() { # LOG
  awk '/^\[==========\] Running/ { running = 1 }
    /^\[==========\] [0-9]+ test\(s\) run/ { running = 0 }
    /^\[ RUN      \]/ { why = "it does not say why" }
    /^SKIPPED: / { why = substr($0, 10) }
    running && /^\[  SKIPPED \] / { print "SKIPPED: " $4 ": " why }' "$1"
}

closing_line() {
  local skip
  echo
  [ ${#failures[@]} -gt 0 ] && echo "failed: ${failures[*]}; logs in $logs"
  [ ${#failures[@]} -eq 0 ] && rm -rf "$logs"
  for skip in "${skips[@]}"; do echo "skipped: $skip"; done
  echo "took $((SECONDS - began)) s"
  echo "$passed passed, $failed failed, $skipped skipped"
  [ "$failed" -eq 0 ]
}
