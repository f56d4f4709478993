#!/bin/bash
# A temporary PostgreSQL for tests: its own data folder with a unix socket, no TCP port, fsync on.
#
#   tests/postgres.sh up DIR [--watch PID]   creates and starts a server, prints its libpq connection string;
#                                            --watch stops it when that process has ended
#   tests/postgres.sh kill DIR               kill -9 of its postmaster: a crash
#   tests/postgres.sh start DIR              starts it again after kill
#   tests/postgres.sh restart DIR            ends all sessions and starts it again
#   tests/postgres.sh down DIR               stops it and removes DIR
#
# HELIO_PGCONF holds more lines of configuration, if set. HELIO_PGTEMPLATE names a data folder to copy, which saves the second that
# initdb takes; the first `up` makes it. All copies have the same system identifier, so tests that compare servers do not set it.
# PostgreSQL refuses to run as root: root starts it as HELIO_PGUSER (default: postgres), other users as themselves.
set -euo pipefail

fail() { echo "postgres.sh: $*" >&2; exit 1; }

bin_dir() {
    local dir
    for dir in ${HELIO_PGBIN:-} $(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -rV); do
        if [ -x "$dir/initdb" ]; then echo "$dir"; return; fi
    done
    dir=$(command -v initdb) || fail "PostgreSQL is not installed (Debian: apt install postgresql)"
    dirname "$(readlink -f "$dir")"
}

as_owner() {
    if [ "$(id -u)" = 0 ]; then (cd / && runuser -u "${HELIO_PGUSER:-postgres}" -- "$@"); else "$@"; fi
}

# A unix socket's path has at most 107 bytes; a deep DIR keeps its socket elsewhere.
socket_dir() {
    if [ ${#1} -le 80 ]; then echo "$1"; else echo "/tmp/helio-pg-$(printf %s "$1" | cksum | cut -d' ' -f1)"; fi
}

conninfo() { echo "host=$(socket_dir "$1") port=5432 user=postgres dbname=postgres"; } # the port is part of the socket's name

# The server of a pg_ctl that did not wait for it long enough.
lives() { local pid; pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null) && kill -0 "$pid" 2>/dev/null && [ "$(readlink -f "/proc/$pid/cwd")" = "$(readlink -f "$1/data")" ]; }

# After a crash the old server's children need a moment to detach from its shared memory; then every file is synced before the
# recovery, for a minute and more where the disk is busy with others' work.
start() {
    local dir=$1 try end=$((SECONDS + 280))
    for try in 1 2 3 4 5 6 7 8; do
        if as_owner "$bin/pg_ctl" -D "$dir/data" -w -t 240 -l "$dir/log" start >/dev/null 2>&1; then return; fi
        while lives "$dir" && [ "$SECONDS" -lt "$end" ]; do
            if as_owner "$bin/pg_isready" -q -h "$(socket_dir "$dir")" -p 5432; then return; fi
            sleep 0.2
        done
        sleep 0.3
    done
    tail -n 20 "$dir/log" >&2
    fail "PostgreSQL did not start"
}

configure() {
    local dir=$1
    cat >"$dir/data/postgresql.auto.conf" <<CONF
listen_addresses = ''
port = 5432
unix_socket_directories = '$(socket_dir "$dir")'
max_connections = 120
shared_buffers = 64MB
log_min_messages = warning
$([ "$(cat "$dir/data/PG_VERSION")" -lt 14 ] || echo "recovery_init_sync_method = syncfs") # one call, not one for each file
${HELIO_PGCONF:-}
CONF
}

initdb() {
    as_owner "$bin/initdb" -D "$1/data" -U postgres -A trust -E UTF8 --locale=C.UTF-8 -k -N >"$1/initdb.log" 2>&1 ||
        { cat "$1/initdb.log" >&2; fail "initdb failed"; }
}

# The template of a user has the user's number as its name; an incomplete one has another name.
copy_template() {
    local template=$HELIO_PGTEMPLATE/$(id -u) new=$HELIO_PGTEMPLATE/new
    (
        flock 9
        if [ ! -e "$template" ]; then
            rm -rf "$new"
            initdb "$1"
            mv "$1/data" "$new"
            mv "$new" "$template"
        fi
    ) 9>"$HELIO_PGTEMPLATE/lock"
    cp -a "$template" "$1/data"
}

up() {
    local dir=$1
    shift
    local watch=""
    if [ "${1:-}" = --watch ]; then watch=$2; fi
    [ ! -e "$dir/data" ] || fail "$dir holds a server already"
    mkdir -p "$dir" "$(socket_dir "$dir")"
    chmod 755 "$dir"
    if [ "$(id -u)" = 0 ]; then chown "${HELIO_PGUSER:-postgres}" "$dir" "$(socket_dir "$dir")"; fi
    if [ -n "${HELIO_PGTEMPLATE:-}" ]; then copy_template "$dir"; else initdb "$dir"; fi
    configure "$dir"
    start "$dir"
    if [ -n "$watch" ]; then
        (trap '' HUP INT TERM
         while kill -0 "$watch" 2>/dev/null && [ -e "$dir/data" ]; do sleep 1; done
         [ ! -e "$dir/data" ] || down "$dir") >/dev/null 2>&1 </dev/null &
    fi
    conninfo "$dir"
}

crash() {
    local pid
    pid=$(head -n 1 "$1/data/postmaster.pid") || fail "$1: no server"
    kill -9 "$pid"
    while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
}

down() {
    local dir=$1
    [ -e "$dir/data/PG_VERSION" ] || [ -e "$dir/initdb.log" ] || fail "$dir holds no server of this script"
    as_owner "$bin/pg_ctl" -D "$dir/data" -m immediate stop >/dev/null 2>&1 || true
    [ "$(socket_dir "$dir")" = "$dir" ] || rm -rf "$(socket_dir "$dir")"
    rm -rf "$dir"
}

[ $# -ge 2 ] || { sed -n '2,14p' "$0" | cut -c3- >&2; exit 2; }
bin=$(bin_dir)
command=$1
mkdir -p "$(dirname "$2")"
dir=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
shift 2
case $command in
up) up "$dir" "$@" ;;
start) start "$dir" ;;
kill) crash "$dir" ;;
restart) as_owner "$bin/pg_ctl" -D "$dir/data" -m fast -t 60 stop >/dev/null; start "$dir" ;;
down) down "$dir" ;;
*) fail "unknown command $command" ;;
esac
