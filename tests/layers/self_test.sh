#!/bin/bash
# Tests the layering checks: each of them must fail on a small tree that breaks its rule.
set -u
here=${1:?usage: self_test.sh LAYERS_DIR}
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
mkdir -p "$work"/{docs,tests}
echo 'See `broker/core/a.c` and `a.c`.' >"$work/README.md"
"$here/named_files.sh" "$work" >"$work/out" 2>&1 || { echo "a good document is refused:"; cat "$work/out"; exit 1; }
echo 'See `b.c`.' >"$work/README.md"; expect_fall "a file that does not exist" named_files.sh "$work"
echo 'See `broker/nothing`.' >"$work/README.md"; expect_fall "a folder that does not exist" named_files.sh "$work"
echo 'See `a.c`.' >"$work/README.md"
printf '| term | meaning | where |\n|---|---|---|\n| core | decides | `broker/core/a.c`, table `x` |\n' >"$work/docs/glossary.md"
"$here/named_files.sh" "$work" >"$work/out" 2>&1 || { echo "a good glossary is refused:"; cat "$work/out"; exit 1; }
echo '| row | of a table | table `x` |' >>"$work/docs/glossary.md"; expect_fall "a term without a file" named_files.sh "$work"
sed -i 's/table `x` |$/`broker\/core` |/' "$work/docs/glossary.md"; expect_fall "a term that names a folder only" named_files.sh "$work"; rm "$work/docs/glossary.md"
printf '## Log events\n| `began` | info |\n' >"$work/docs/operations.md"
echo 'void f(void) { helio_log(log, HELIO_INFO, "began", "site=%s", site); }' >"$work/broker/core/a.c"
"$here/log_events.sh" "$work" >"$work/out" 2>&1 || { echo "a good list of events is refused:"; cat "$work/out"; exit 1; }
echo 'void g(void) { helio_log(log, HELIO_INFO, bad ? "failed" : "began", "site=%s", site); }' >"$work/site-agent/b.c"; expect_fall "an event that is not listed" log_events.sh "$work"; rm "$work/site-agent/b.c"
echo '| `ended` | info |' >>"$work/docs/operations.md"; expect_fall "a listed event that nobody logs" log_events.sh "$work"; rm "$work/docs/operations.md"
mkdir -p "$work"/{federation/policy,federation/reason,schema/queries,schema/report}
echo 'int f(const char *x) { return strcmp(x, "queued"); }' >"$work/client/a.c"
"$here/sentences.py" "$work" >"$work/out" 2>&1 || { echo "a compared word is refused:"; cat "$work/out"; exit 1; }
echo 'int f(const char *x) { return strncmp(x, "quota of ", 9); }' >"$work/client/a.c"; expect_fall "a sentence that is decoded" sentences.py "$work"
sed -i 's/quota of /quota of acme/' "$work/client/a.c"; expect_fall "a sentence that is decoded" sentences.py "$work"
echo 'int f(const char *x) { return memcmp(x, "database: ", 10); }' >"$work/client/a.c"; expect_fall "the beginning of a sentence" sentences.py "$work"
printf 'int f(const char *x)\n{\n    static const char at[] =\n        "let a superuser run:";\n    return strstr(x, at) != 0;\n}\n' >"$work/client/a.c"; expect_fall "a sentence in a constant" sentences.py "$work"
printf 'static const char *const heads[] = {"ready: ", "not ready"};\nint f(const char *x) { return strncmp(x,\n    heads[0], 7); }\n' >"$work/client/a.c"; expect_fall "a sentence in a list of constants" sentences.py "$work"
echo 'int f(const helio_error_t *err) { return strstr(err->text, "(42501") != 0; }' >"$work/client/a.c"; expect_fall "the text of an error" sentences.py "$work"
printf 'void g(void)\n{\n    static const char at[] = "it is late";\n    puts(at); /* strcmp(at, "so be it") */\n}\nint f(const char *x)\n{\n    static const char at[] = "late";\n    return strcmp(x, at);\n}\n' >"$work/client/a.c"
"$here/sentences.py" "$work" >"$work/out" 2>&1 || { echo "a compared word is refused:"; cat "$work/out"; exit 1; }
rm "$work/client/a.c"
cp "$here/../../.clang-format" "$work"
rm -r "$work/broker"; mkdir "$work/broker"; printf 'int f(void)\n{\n    return 1;\n}\n' >"$work/broker/a.c"
"$here/format.sh" "$work" >"$work/out" 2>&1 || [ $? -eq 77 ] || { echo "a good layout is refused:"; cat "$work/out"; exit 1; }
echo 'int  g(void) { return 2; }' >"$work/broker/a.c"; expect_fall "another layout" format.sh "$work"
echo "select * from x where reason like 'moved%'" >"$work/schema/report/a.sql"; expect_fall "a sentence that SQL decodes" sentences.py "$work"; rm "$work/schema/report/a.sql"
command -v cc >/dev/null || { echo "no compiler: the checks of object files are not tested"; exit 0; }

# A tree of two rooms, the upper one of three files, and a build of it.
printf 'lower:\nupper: lower\n' >"$work/rooms.txt"
: >"$work/circles.txt"
source_file() { # PATH FUNCTION [CALLED…]: a file with one function that calls others
  mkdir -p "$work/$(dirname "$1")" "$work/build/CMakeFiles/helio.dir/$(dirname "$1")"
  { printf 'void %s(void);\n' "${@:2}"; echo "void $2(void) {"; [ $# -gt 2 ] && printf '  %s();\n' "${@:3}"; echo "}"; } >"$work/$1"
  cc -c "$work/$1" -o "$work/build/CMakeFiles/helio.dir/$1.o"
}
good_house() {
  source_file lower/base.c base
  source_file upper/top.c top middle base
  source_file upper/middle.c middle leaf
  source_file upper/leaf.c leaf
  local row="" file
  for file in lower/base.c upper/top.c upper/middle.c upper/leaf.c; do
    row+="${row:+,}{\"directory\": \"$work/build\", \"command\": \"cc -o CMakeFiles/helio.dir/$file.o\", \"file\": \"$work/$file\"}"
  done
  echo "[$row]" >"$work/build/compile_commands.json"
}
calls() { "$here/calls.py" "$work" "$work/build" "$work/rooms.txt" "$work/circles.txt" >"$work/out" 2>&1; }
expect_calls() { # WORDS WHAT: the check falls and says WORDS
  if calls || ! grep -q "$1" "$work/out"; then echo "$2 was not noticed by calls.py"; cat "$work/out"; exit 1; fi
}
good_house
calls || { echo "a good house is refused:"; cat "$work/out"; exit 1; }
source_file lower/base.c base leaf; expect_calls "lower may not call leaf of upper/leaf.c" "a call that points up"
good_house; source_file upper/leaf.c leaf top; expect_calls "a circle of calls between 3 files: leaf.c middle.c top.c" "a circle of files"
echo "upper: leaf.c middle.c top.c" >"$work/circles.txt"
calls || { echo "a known circle is refused:"; cat "$work/out"; exit 1; }
good_house; expect_calls "its line must go" "a known circle that is broken"
: >"$work/circles.txt"
source_file upper/leaf.c base; source_file upper/middle.c middle; expect_calls "base is defined in lower/base.c and upper/leaf.c" "a namesake"
good_house; printf 'lower: upper\nupper: lower\n' >"$work/rooms.txt"; expect_calls "a circle of rooms: lower upper" "a circle in the table"
printf 'upper: lower\nlower:\n' >"$work/rooms.txt"; expect_calls "the rows are sorted" "a table that is not sorted"
printf 'lower:\nupper: lower\nupper:\n' >"$work/rooms.txt"; expect_calls "upper is listed twice" "a room that is listed twice"
printf 'lower:\nupper: lower\n' >"$work/rooms.txt"
rm "$work/build/CMakeFiles/helio.dir/upper/top.c.o"; expect_calls "1 of 4 object files are not built" "an object file that is missing"

echo 'int counter = 1; int f(void); int f(void) { return counter; }' >"$work/g.c"
for room in federation_model federation_energy federation_reason federation_policy broker_model broker_core site_agent_core client_notify_core; do
  echo 'int g(void); int g(void) { return 1; }' >"$work/$room.c"
  cc -c "$work/$room.c" -o "$work/$room.o" && ar rcs "$work/libhelio_$room.a" "$work/$room.o"
done
"$here/symbols.sh" "$work" >"$work/out" 2>&1 || { echo "a good build is refused:"; cat "$work/out"; exit 1; }
cc -c "$work/g.c" -o "$work/g.o" && ar rcs "$work/libhelio_broker_core.a" "$work/g.o"; expect_fall "a writable global" symbols.sh "$work"
echo '#include <time.h>
long f(void); long f(void) { return (long)time(0); }' >"$work/t.c"
cc -c "$work/t.c" -o "$work/t.o" && rm "$work/libhelio_broker_core.a" && ar rcs "$work/libhelio_broker_core.a" "$work/t.o"; expect_fall "a clock in a pure room" symbols.sh "$work"
cc -c "$work/broker_core.c" -o "$work/broker_core.o" && rm "$work/libhelio_broker_core.a" && ar rcs "$work/libhelio_broker_core.a" "$work/broker_core.o"
ar rcs "$work/libhelio_broker_core_state.a" "$work/t.o"; expect_fall "a clock in a part of a pure room" symbols.sh "$work"
echo "every check fails when it should"
