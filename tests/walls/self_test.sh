#!/bin/bash
# The walls' own test: each of them must fall over a small tree that breaks it.
set -u
here=${1:?usage: self_test.sh WALLS_DIR}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{federation/base,broker/core,site-agent,client,simulator}

expect_fall() { # name, script, argument
  if "$here/$2" "$3" >"$work/out" 2>&1; then
    echo "$1 was not noticed by $2"; cat "$work/out"; exit 1
  fi
}
echo '#include "federation/base/x.h"' >"$work/broker/core/a.c"
"$here/includes.sh" "$work" >"$work/out" 2>&1 || { echo "a good tree is refused:"; cat "$work/out"; exit 1; }
"$here/banned.sh" "$work" >"$work/out" 2>&1 || { echo "a good tree is refused:"; cat "$work/out"; exit 1; }
echo '#include "federation/net/loop.h"' >"$work/broker/core/a.c"; expect_fall "a forbidden room" includes.sh "$work"
echo '#include <libpq-fe.h>' >"$work/broker/core/a.c"; expect_fall "a forbidden library" includes.sh "$work"
echo 'int f(void) { return (int)time(0); }' >"$work/broker/core/a.c"; expect_fall "a clock" banned.sh "$work"
printf 'int f(void)\n{\n    static int calls;\n    return ++calls;\n}\n' >"$work/broker/core/a.c"; expect_fall "a static variable" banned.sh "$work"
command -v cc >/dev/null || { echo "no compiler: the symbols wall is not tested"; exit 0; }
echo 'int counter = 1; int f(void); int f(void) { return counter; }' >"$work/g.c"
for room in federation_model federation_energy federation_policy broker_model broker_core broker_core_state broker_core_forecast broker_core_holds broker_core_decide broker_core_preempt broker_core_migrate \
            broker_core_round broker_core_sites broker_core_requests site_agent_core; do
  echo 'int g(void); int g(void) { return 1; }' >"$work/$room.c"
  cc -c "$work/$room.c" -o "$work/$room.o" && ar rcs "$work/libhelio_$room.a" "$work/$room.o"
done
"$here/symbols.sh" "$work" >"$work/out" 2>&1 || { echo "a good build is refused:"; cat "$work/out"; exit 1; }
cc -c "$work/g.c" -o "$work/g.o" && ar rcs "$work/libhelio_broker_core.a" "$work/g.o"; expect_fall "a writable global" symbols.sh "$work"
echo '#include <time.h>
long f(void); long f(void) { return (long)time(0); }' >"$work/t.c"
cc -c "$work/t.c" -o "$work/t.o" && rm "$work/libhelio_broker_core.a" && ar rcs "$work/libhelio_broker_core.a" "$work/t.o"; expect_fall "a clock in a pure room" symbols.sh "$work"
echo "every wall falls when it should"
