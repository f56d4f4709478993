#!/bin/bash
# No library of this project has a writable global; the pure rooms refer to no clock, randomness, environment, file, thread or socket.
set -u
build=${1:?usage: symbols.sh BUILD_DIR}
faults=0
libraries=$(find "$build" -maxdepth 1 -name 'libhelio_*.a' | sort)
[ -n "$libraries" ] || { echo "no library in $build"; exit 1; }
for library in $libraries; do
  # D d: data, B b: bss, C: common. .data.rel.ro (constant tables of pointers) shows as d too, so ask for sections.
  writable=$(objdump -t "$library" 2>/dev/null | awk '$4 ~ /^\.(data|bss)$/ || $3 ~ /^\.(data|bss)$/ || /\*COM\*/' |
    awk '!/ d[f ]? / && $NF !~ /^\.(data|bss)$/ { print $NF }' | sort -u)
  if [ -n "$writable" ]; then
    echo "$(basename "$library"): writable globals: $(xargs <<<"$writable")"
    faults=$((faults + 1))
  fi
done
impure='time|gettimeofday|clock_gettime|clock|rand|random|rand_r|getrandom|getenv|secure_getenv|open|open64|openat|fopen|fopen64|read|write|socket|connect|send|recv|poll|epoll_wait|pthread_create|pthread_mutex_lock|fork|vfork|posix_spawn|execve|nanosleep|usleep|sleep|dlopen|zmq_.*|PQ.*|sqlite3_.*|printf|puts|fprintf'
# The sub-folders of a pure room must be pure, too.
for room in federation_model federation_energy federation_reason federation_policy broker_model broker_core site_agent_core client_notify_core; do
  pure=$(grep -E "/libhelio_$room(_[a-z_]+)?\.a$" <<<"$libraries")
  [ -n "$pure" ] || { echo "libhelio_$room.a is missing"; faults=$((faults + 1)); continue; }
  for library in $pure; do
    refs=$(nm -u "$library" 2>/dev/null | awk '$1 == "U" { sub(/@.*/, "", $2); print $2 }' | sort -u | grep -xE "$impure" | xargs)
    [ -z "$refs" ] || { echo "$(basename "$library") belongs to a pure room, but refers to: $refs"; faults=$((faults + 1)); }
  done
done
[ "$faults" -eq 0 ] && echo "layers hold over $(echo "$libraries" | wc -l) libraries"
[ "$faults" -eq 0 ]
