#!/bin/bash
# Calls that this project does not make. Only federation/base/clock.c reads clocks.
set -u
top=${1:?usage: banned.sh SOURCE_DIR}
cd "$top" || exit 2
calls='strcpy|strcat|sprintf|vsprintf|strtok|atoi|atol|atof|rand|random|srand|srandom|time|gettimeofday|clock_gettime|sleep|usleep|system|popen|localtime|gmtime|alloca|gets|tmpnam|mktemp'
hits=$(find federation broker site-agent client simulator -name '*.[ch]' ! -path federation/base/clock.c -print0 |
  xargs -0 -r awk -v calls="(^|[^A-Za-z0-9_.>\"])($calls)[ \t]*\\\\(" '
    { line = $0; gsub(/"([^"\\]|\\.)*"/, "\"\"", line); sub(/\/\/.*/, "", line)
      while (match(line, /\/\*[^*]*\*\//)) line = substr(line, 1, RSTART - 1) substr(line, RSTART + RLENGTH)
      if (line ~ /^[ \t]*(\*|\/\*)/) next
      if (line ~ calls) print FILENAME ":" FNR ": " $0 }')
if [ -n "$hits" ]; then
  echo "$hits"
  exit 1
fi
statics=$(grep -rnE '^[[:space:]]+static [^(]*(;|=)' --include='*.c' federation broker site-agent client simulator |
  grep -vE 'static (const|_Thread_local const)|static [a-z_ ]*\*const|\[\] = \{|static const' | head)
if [ -n "$statics" ]; then
  echo "function-static variables (a library has no mutable state of its own):"
  echo "$statics"
  exit 1
fi
# A sum of what sites report ends at helio.bounded(): cast to an integer, it fails its statement when it is saturated.
sums=$(grep -rnE 'sum\([^()]*(gpu_ms|run_ms|wait_ms|_j|_mg|_usd|units_done)\) *(filter \([^()]*\))?::(int8|bigint)' --include='*.sql' schema/queries schema/report schema/views_page.sql)
if [ -n "$sums" ]; then
  echo "$sums"
  echo "a sum of reported figures is cast to an integer: use helio.bounded()"
  exit 1
fi
