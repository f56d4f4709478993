#!/bin/bash
# The events that broker and agent log, and the list of them in docs/operations.md, are the same: an operator can look up every
# line, and the page names no event that nobody logs. An event is a lower-case word in a call of helio_log, or in a table of
# {level, word} that such a call reads.
set -u
top=${1:?usage: log_events.sh SOURCE_DIR}
cd "$top" || exit 2
mapfile -t sources < <(find broker site-agent federation -name '*.c')
logged=$(perl -0ne 'while (/helio_log\([^;]*?;|\{HELIO_(?:INFO|WARN|ERROR), "[a-z_]+"\}/sg) { my $call = $&; print "$1\n" while $call =~ /"([a-z][a-z_]*)"/g }' \
  "${sources[@]}" | sort -u)
listed=$(sed -n '/^## Log events/,/^## [^L]/p' docs/operations.md | grep -oE '^\| `[^|]*' | grep -oE '`[a-z_]+`' | tr -d '`' | sort -u)
[ -n "$logged" ] || { echo "no source logs anything"; exit 1; }
unlisted=$(comm -23 <(echo "$logged") <(echo "$listed")) unlogged=$(comm -13 <(echo "$logged") <(echo "$listed"))
[ -z "$unlisted" ] || echo "docs/operations.md does not list:" $unlisted
[ -z "$unlogged" ] || echo "docs/operations.md lists what nobody logs:" $unlogged
echo "$(wc -l <<<"$logged") events"
[ -z "$unlisted$unlogged" ]
