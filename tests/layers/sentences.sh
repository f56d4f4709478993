#!/bin/bash
# No code parses a sentence. Broker, client and simulator decide by codes and parameters (federation/reason); a text that is
# compared is a word, a name or a flag, never a part of a sentence. Only the agent has to read the output of other programs.
set -u
top=${1:?usage: sentences.sh SOURCE_DIR}
cd "$top" || exit 2
calls='strncmp|strcmp|strstr|strcasestr|strncasecmp|strcasecmp|memmem|helio_text_is|helio_text_begins'
hits=$(grep -rnE "($calls) ?\\([^\";]*\"[^\"]*[a-z]+ [a-z][^\"]*\"" --include='*.[ch]' broker client simulator federation/policy federation/reason |
  grep -vE '^[^:]+:[0-9]+:[[:space:]]*(/\*|\*)')
likes=$(grep -rniE "(reason|detail|text)[a-z_.]* (not )?(like|similar to|~) '" --include='*.sql' schema/queries schema/report |
  grep -vF "t.details is null and t.reason like 'moved from %'") # rows that a release before details wrote
if [ -n "$hits$likes" ]; then
  echo "a sentence is compared; compare its code:"
  printf '%s\n' "$hits" "$likes" | grep .
  exit 1
fi
echo "no sentence is compared"
