#!/bin/bash
# hardening.sh BUILD_DIR -- what the programs of a release build are hardened with, as their files say: position-independent,
# the tables of the linker read-only before main, no executable stack, protected stacks, checked copies. On x86-64 each object has
# the marks of control-flow protection; the programs lack them where the C library's own start files do.
set -uo pipefail
build=${1:?usage: hardening.sh BUILD_DIR}
cd "$build" || exit 2
faults=0 checks=0
need() { # PROGRAM WHAT CONDITION…
  checks=$((checks + 1))
  "${@:3}" || { echo "$1: $2"; faults=$((faults + 1)); }
}
has() { grep -qE -- "$1" <<<"$2"; }
lacks() { ! has "$@"; }
for program in helio helio-broker helio-agent helio-shim helio-simulate; do
  [ -x "$program" ] || { echo "$build has no $program"; exit 2; }
  head=$(readelf -hlW "$program") dynamic=$(readelf -dW "$program") symbols=$(nm -D --undefined-only "$program")
  need "$program" "is not position-independent" has 'FLAGS_1.*PIE' "$dynamic"
  need "$program" "has no RELRO segment" has 'GNU_RELRO' "$head"
  need "$program" "binds functions late" has 'BIND_NOW' "$dynamic"
  need "$program" "has an executable stack" has 'GNU_STACK .* RW +0x' "$head"
  need "$program" "has a segment that is writable and executable" lacks 'LOAD .* RWE' "$head"
  need "$program" "has no stack protector" has '__stack_chk_fail' "$symbols"
  need "$program" "has no checked copies (_FORTIFY_SOURCE)" has '__(memcpy|snprintf|vsnprintf|fprintf|printf|strcpy|memset|memmove|read)_chk' "$symbols"
done
mapfile -t objects < <(grep -oE -- '-o CMakeFiles/[^ ]+\.c\.o' compile_commands.json | cut -c4-) # not what an older tree left here
if has 'X86-64' "$head"; then
  marked=$(readelf -nW "${objects[@]}" | grep -c 'IBT, SHSTK')
  need "$build" "$((${#objects[@]} - marked)) objects have no marks of control-flow protection" [ "$marked" -eq "${#objects[@]}" ]
fi
unprotected=$(grep '"command"' compile_commands.json | grep -v -- '-fstack-clash-protection')
need compile_commands.json "sources are built without -fstack-clash-protection" [ -z "$unprotected" ]
echo "$checks checks, $faults faults"
[ "$faults" = 0 ]
