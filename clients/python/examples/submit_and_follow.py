#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Submits a job file, prints where the job is planned, follows its output, and says what it used.

    submit_and_follow.py JOB.yaml
"""
import sys
from pathlib import Path

import heliostat


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    client = heliostat.Client()
    try:
        plan = client.plan(Path(sys.argv[1]))
        print(f"would run at {plan['chosen']}" if plan["chosen"] else f"would wait: {plan['detail']}", file=sys.stderr)
        submission = client.submit(Path(sys.argv[1]))
        print(f"job {submission.id}" + (f"; note: {submission.note}" if submission.note else ""), file=sys.stderr)
        for piece in client.logs(submission.id, follow=True):
            sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()
        job = client.wait(submission.id)
    except heliostat.Invalid as error:
        print(error.diagnostic or error, file=sys.stderr)
        return 2
    except heliostat.HeliostatError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{job['state']} at {job['site']}: {job['gpu_seconds']} GPU-s, {job['energy_kwh']} kWh, {job['carbon_g']} g CO2e, {job['cost_usd']} USD", file=sys.stderr)
    return 0 if job["state"] == "succeeded" else job["exit_code"] or 1


if __name__ == "__main__":
    sys.exit(main())
