#!/usr/bin/env python3
"""Tests verdict.reach: a campaign in which every case occurred passes; for any other, it names the missing case."""
import collections, random, sys

import verdict, workload
from federation import LocalSite

JOBS = workload.make(60, random.Random(1), "/records")
GOOD = dict(ran_at=collections.Counter(north=1, south=2), sites=[LocalSite("north", 1), LocalSite("south", 1)],
            killed=collections.Counter(broker=1, postgres=1), daemons=["broker", "postgres"], jobs=JOBS, compared=len(JOBS))
MISSED = [
    (dict(ran_at=collections.Counter(north=3)), "no job ran at south"),
    (dict(killed=collections.Counter(broker=2)), "postgres was never killed while jobs were open"),
    (dict(jobs=[job for job in JOBS if job.state != "timeout"]), "no job was to end as timeout"),
    (dict(compared=3), f"3 attempts were compared with the ledger, of {len(JOBS)} jobs"),
]

faults = [f"a good campaign has the fault: {fault}" for fault in verdict.reach(**GOOD)]
for change, sentence in MISSED:
    said = list(verdict.reach(**{**GOOD, **change}))
    if said != [sentence]:
        faults.append(f"'{sentence}' was expected, not {said}")
print("\n".join(faults) or f"{len(MISSED)} campaigns with a missing case are detected")
sys.exit(1 if faults else 0)
