#!/bin/bash
# Runs the schema's tests (schema/tests, pgTAP) on a migrated database. It needs a superuser, since it installs the extension;
# every file rolls back its changes. Without an argument it starts and migrates a temporary server of its own.
#
#   tests/pgtap.sh [CONNINFO]
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
conninfo=${1:-}
work=$(mktemp -d /tmp/helio-pgtap-XXXXXX)
finish() {
    [ ! -e "$work/pg" ] || "$root/tests/postgres.sh" down "$work/pg"
    rm -rf "$work"
}
trap finish EXIT

if [ -z "$conninfo" ]; then
    chmod 755 "$work"
    conninfo=$("$root/tests/postgres.sh" up "$work/pg")
    for file in "$root"/schema/migrations/*.sql "$root"/schema/report/*.sql; do
        psql -qX -v ON_ERROR_STOP=1 -1 -f "$file" "$conninfo" >/dev/null
    done
fi
if [ "$(psql -qXAt -c "select count(*) from pg_available_extensions where name = 'pgtap'" "$conninfo")" = 0 ]; then
    echo "SKIPPED: the server has no pgtap (Debian: apt install postgresql-15-pgtap)" >&2
    exit 77
fi
psql -qX -c "create extension if not exists pgtap" "$conninfo" >/dev/null

failed=0
for file in "$root"/schema/tests/*.sql; do
    name=$(basename "$file")
    if ! psql -qXAt -v ON_ERROR_STOP=1 -f "$file" "$conninfo" >"$work/$name.out" 2>"$work/$name.err"; then
        grep -vE '^ok' "$work/$name.out" || true
        cat "$work/$name.err"
        echo "FAILED $name: stopped by an error"
        failed=1
    elif grep -qE '^(not ok|# Looks like)' "$work/$name.out"; then
        grep -vE '^ok' "$work/$name.out"
        echo "FAILED $name"
        failed=1
    else
        echo "ok $name: $(grep -c '^ok' "$work/$name.out") tests"
    fi
done

# The page of the views is generated from their comments.
page=$root/docs/reference/views.md
psql -qXAt -v ON_ERROR_STOP=1 -f "$root/schema/views_page.sql" "$conninfo" >"$work/views.md"
[ -z "${HELIO_GOLDEN_WRITE:-}" ] || cp "$work/views.md" "$page"
if diff "$page" "$work/views.md" >"$work/views.diff"; then
    echo "ok views.md: $(grep -c '^## ' "$page") views"
else
    head -n 20 "$work/views.diff"
    echo "FAILED docs/reference/views.md differs from schema/report; HELIO_GOLDEN_WRITE=1 writes it"
    failed=1
fi
exit $failed
