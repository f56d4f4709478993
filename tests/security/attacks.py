#!/usr/bin/env python3
"""Attacks on a running federation, generated from tables and a seed: on the people's door (people.py), on what each caller may see
and change (access.py), on the database by every login of dashboards (readers.py), by job files (documents.py), and on the
sites' door (sites.py). After each of them the broker runs, others are served, and the audit's chain is whole.
  tests/security/attacks.py --build BUILD_DIR [--seed N] [--only PART]..."""
import argparse, os, resource, shutil, signal, sys, tempfile, time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "faults"))
from federation import Federation, LocalSite, check  # noqa: E402
import access, documents, people, readers, sites  # noqa: E402
from door import Door  # noqa: E402

PARTS = {"access": access, "readers": readers, "documents": documents, "sites": sites, "people": people}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", choices=PARTS)
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    folder = tempfile.mkdtemp(prefix="helio-security-")
    federation = Federation(options.build, folder, [LocalSite("north", 2)], tenants=("demo", "acme", "globex", "ops"))
    try:
        federation.up()
        door = Door(federation.env["HELIO_BROKER"], federation.env["HELIO_TOKEN"])
        count = 0
        for name in options.only or PARTS:
            for what, attack in PARTS[name].attack(federation, door, options.seed):
                began = time.monotonic()
                cases = attack()
                count += cases
                print(f"{what}: {cases} cases in {time.monotonic() - began:.1f} s", flush=True)
        check(federation.procs["broker"].poll() is None, "the broker ended")
        federation.helio("audit", "verify")
    finally:
        federation.down()
    shutil.rmtree(folder, ignore_errors=True)
    print(f"{count} attacks, and everybody else was served")


if __name__ == "__main__":
    main()
