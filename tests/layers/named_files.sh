#!/bin/bash
# Checks that the files and folders that documents name exist in this tree.
# It checks text in backticks that ends like a source file, or begins with a top folder.
# It also checks that each line of the glossary begins its last column with the file to read first.
set -u
top=${1:?usage: named_files.sh SOURCE_DIR}
cd "$top" || exit 2
documents=$(find README.md docs tests -name '*.md' ! -path 'docs/reference/*' | sort)
known=$(find federation broker site-agent client clients simulator schema deploy tests docs cmake examples console/src console/dist \( -type f -o -type d \) | sort)
faults=0 names=0
while IFS=: read -r document line name; do
  names=$((names + 1))
  name=${name#\`} name=${name%\`} name=${name%/}
  grep -qxF -- "$name" <<<"$known" || grep -qE -- "/$(sed 's/[.[\*^$]/\\&/g' <<<"$name")\$" <<<"$known" && continue
  echo "$document:$line: no file or folder of this tree is named $name"
  faults=$((faults + 1))
done < <(grep -noE '`[A-Za-z0-9_./-]+\.(c|h|def|sql|sh|py|txt)`|`(federation|broker|site-agent|client|clients|simulator|schema|tests|deploy)/[A-Za-z0-9_./-]+`' $documents /dev/null)
while IFS= read -r row; do
  where=${row%" |"} where=${where##*| } where=${where#\`} where=${where%%\`*}
  [ -f "$where" ] && continue
  echo "docs/glossary.md: no file to read first: $row"
  faults=$((faults + 1))
done < <(grep -E '^\| ' docs/glossary.md 2>/dev/null | grep -vE '^\| term \|')
[ "$names" -gt 0 ] || { echo "no document names a file"; faults=1; }
echo "$names names, $faults faults"
[ "$faults" -eq 0 ]
