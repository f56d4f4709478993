#!/bin/bash
# Files and folders of this tree that documents name exist: a page that sends its reader nowhere fails.
# Looked at: what stands in backticks in the documents and ends as a source does, or begins with a top folder.
set -u
top=${1:?usage: named_files.sh SOURCE_DIR}
cd "$top" || exit 2
documents=$(find README.md docs tests -name '*.md' ! -path 'docs/reference/*' | sort)
known=$(find federation broker site-agent client simulator schema deploy tests docs cmake examples \( -type f -o -type d \) | sort)
faults=0 names=0
while IFS=: read -r document line name; do
  names=$((names + 1))
  name=${name#\`} name=${name%\`} name=${name%/}
  grep -qxF -- "$name" <<<"$known" || grep -qE -- "/$(sed 's/[.[\*^$]/\\&/g' <<<"$name")\$" <<<"$known" && continue
  echo "$document:$line: no file or folder of this tree is named $name"
  faults=$((faults + 1))
done < <(grep -noE '`[A-Za-z0-9_./-]+\.(c|h|def|sql|sh|py|txt)`|`(federation|broker|site-agent|client|simulator|schema|tests|deploy)/[A-Za-z0-9_./-]+`' $documents /dev/null)
[ "$names" -gt 0 ] || { echo "no document names a file"; faults=1; }
echo "$names names, $faults faults"
[ "$faults" -eq 0 ]
