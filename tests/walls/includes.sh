#!/bin/bash
# Who may include whom. One line a room: the rooms it may use besides itself, and the libraries' headers that belong to it
# alone. The compiler cannot hold these walls, since every system header is reachable from everywhere.
set -u
top=${1:?usage: includes.sh SOURCE_DIR}
cd "$top" || exit 2

pure="federation/base federation/model federation/energy federation/policy" # what decides without I/O is made of
declare -A may=(
  [federation/base]=""
  [federation/model]="federation/base"
  [federation/energy]="federation/base federation/model"
  [federation/policy]="federation/base federation/model federation/energy"
  [federation/spec]="federation/base federation/model"
  [federation/wire]="federation/base federation/model"
  [federation/net]="federation/base"
  [broker/model]="federation/base federation/model federation/energy federation/policy"
  [broker/core/state]="$pure broker/model"
  [broker/core/forecast]="$pure broker/model broker/core/state"
  [broker/core/holds]="$pure broker/model broker/core/state broker/core/forecast"
  [broker/core/decide]="$pure broker/model broker/core/state broker/core/forecast broker/core/holds"
  [broker/core/preempt]="$pure broker/model broker/core/state broker/core/holds broker/core/decide"
  [broker/core/migrate]="$pure broker/model broker/core/state broker/core/forecast broker/core/holds broker/core/decide"
  [broker/core/round]="$pure broker/model broker/core/state broker/core/holds broker/core/decide broker/core/preempt broker/core/migrate"
  [broker/core/sites]="$pure broker/model broker/core/state broker/core/forecast broker/core/holds"
  [broker/core/requests]="$pure broker/model broker/core/state broker/core/forecast broker/core/holds broker/core/decide broker/core/preempt broker/core/migrate"
  [broker/core]="$pure broker/model broker/core/state broker/core/forecast broker/core/holds broker/core/decide broker/core/preempt broker/core/migrate broker/core/round broker/core/sites broker/core/requests"
  [broker/release]="federation/base broker/model"
  [broker/store]="federation/base federation/model federation/spec broker/model"
  [broker/gateway]="federation/base federation/model federation/spec federation/wire federation/net broker/model"
  [broker/engine]="federation/base federation/model federation/wire federation/net broker/model broker/core broker/release broker/store broker/gateway"
  [broker/http]="federation/base federation/model federation/energy federation/spec broker/model broker/store broker/engine"
  [broker/program]="federation/base federation/model federation/spec federation/net broker/model broker/store broker/engine broker/http"
  [broker]="federation/base broker/program"
  [site-agent/core]="federation/base federation/model federation/energy federation/policy"
  [site-agent/backends]="federation/base federation/model federation/spec site-agent/core site-agent/shim"
  [site-agent/backends/slurm]="federation/base federation/model federation/spec site-agent/core site-agent/shim site-agent/backends"
  [site-agent/feeds]="federation/base federation/model federation/energy federation/spec site-agent/core site-agent/backends"
  [site-agent/telemetry]="federation/base federation/model"
  [site-agent/journal]="federation/base federation/model federation/wire site-agent/core"
  [site-agent/uplink]="federation/base federation/model federation/spec federation/wire federation/net site-agent/core"
  [site-agent/agent]="federation/base federation/model federation/energy federation/spec federation/net site-agent/core site-agent/backends site-agent/backends/slurm site-agent/feeds site-agent/telemetry site-agent/journal site-agent/uplink"
  [site-agent/shim]="federation/base"
  [site-agent]="federation/base federation/model federation/spec federation/net site-agent/core site-agent/backends site-agent/telemetry site-agent/journal site-agent/uplink site-agent/agent"
  [client/sbatch]="federation/base federation/model federation/spec"
  [client/lib]="federation/base federation/model federation/energy federation/spec client/sbatch"
  [client]="federation/base client/lib"
  [simulator]="federation/base federation/model federation/energy federation/policy federation/spec federation/wire broker/model broker/core broker/release site-agent/core"
)
# A library's header and the only rooms that may see it.
declare -A owner=(
  [zmq.h]="federation/net" [czmq.h]="federation/net" [libpq-fe.h]="broker/store" [msgpack.h]="federation/wire"
  [yaml.h]="federation/spec" [microhttpd.h]="broker/http" [sqlite3.h]="site-agent/journal"
  [curl/curl.h]="client/lib site-agent/feeds" [libsmartcols/libsmartcols.h]="client/lib" [dlfcn.h]="site-agent/telemetry"
)

faults=0
fault() { echo "$1"; faults=$((faults + 1)); }

files=0
while IFS= read -r file; do
  files=$((files + 1))
  room=$(dirname "$file")
  if [ -z "${may[$room]+set}" ]; then
    fault "$file: the folder $room is no room that tests/walls/includes.sh knows"
    continue
  fi
  while IFS= read -r include; do
    target=$(dirname "$include")
    [ "$target" = "$room" ] && continue
    case " ${may[$room]} " in
      *" $target "*) ;;
      *) fault "$file: $room may not include $include" ;;
    esac
  done < <(sed -nE 's/^[[:space:]]*#[[:space:]]*include[[:space:]]+"([^"]+)".*/\1/p' "$file")
  while IFS= read -r include; do
    rooms=${owner[$include]:-}
    [ -z "$rooms" ] && continue
    case " $rooms " in
      *" $room "*) ;;
      *) fault "$file: <$include> belongs to $rooms alone" ;;
    esac
  done < <(sed -nE 's/^[[:space:]]*#[[:space:]]*include[[:space:]]+<([^>]+)>.*/\1/p' "$file")
done < <(find federation broker site-agent client simulator -name '*.[ch]' -o -name '*.def' | grep -E '\.(c|h|def)$' | sort)

[ "$files" -gt 0 ] || fault "no source file was found under $top"
echo "$files files, $faults faults"
[ "$faults" -eq 0 ]
