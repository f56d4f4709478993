#!/bin/bash
# Checks which room includes which, by rooms.txt beside this script or by the table that is given instead. The compiler cannot
# check this, since every system header can be included everywhere.
set -u
top=${1:?usage: includes.sh SOURCE_DIR [ROOMS]}
rooms_file=$(realpath "${2:-$(dirname "$0")/rooms.txt}")
cd "$top" || exit 2

declare -A may owner
while IFS=: read -r name users; do
  case $name in
    '' | '#'*) ;;
    '<'*) name=${name#<}; owner[${name%>}]=$users ;;
    *) may[$name]=$users ;;
  esac
done <"$rooms_file"

faults=0
fault() { echo "$1"; faults=$((faults + 1)); }

files=0
while IFS= read -r file; do
  files=$((files + 1))
  room=${file%/*}
  if [ -z "${may[$room]+set}" ]; then
    fault "$file: the folder $room is no room that rooms.txt lists"
    continue
  fi
  while IFS= read -r include; do
    target=${include%/*}
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
