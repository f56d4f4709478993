#!/bin/sh
# How well run times are predicted on public traces of GPU jobs: durations.sh BUILD (see README.md)
set -eu
folder=${HELIO_DATA:-}/traces
if [ ! -f "$folder/philly.csv.gz" ]; then
  echo "SKIPPED: how well runs are foreseen; HELIO_DATA names no folder with traces/philly.csv.gz"
  exit 0
fi
for trace in philly helios-venus pai-2020-sample; do
  gzip -dc "$folder/$trace.csv.gz" | "$1/tests/bench/bench_durations" "$trace"
done
