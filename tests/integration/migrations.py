#!/usr/bin/env python3
"""Migration of a running job, with a real broker, PostgreSQL, two agents and processes: the wind at north drops, the job gets
its checkpoint signal, saves where both sites can read, and resumes at south from its checkpoint. When the wind returns the
job stays, since it has just migrated.
  tests/integration/migrations.py --build BUILD_DIR"""
import argparse, datetime, json, os, shutil, sys, tempfile, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "faults"))
from federation import Federation, LocalSite, check, trainer  # noqa: E402

class WindySite(LocalSite):
    """A site with the intensity of a file, from the start of the current hour on."""

    def __init__(self, name, grams):
        super().__init__(name, 2.0)
        self.grams = grams

    def up(self, federation):
        super().up(federation)
        self.file = federation.path(self.name, "carbon.csv")
        self.blow(self.grams)

    def agent_keys(self, federation):
        return (super().agent_keys(federation) +
                f"  feeds: [{{signal: carbon, source: csv, path: {self.file}, every: 1s}}]\n")

    def blow(self, grams):
        hour = datetime.datetime.now(datetime.timezone.utc).replace(minute=0, second=0, microsecond=0)
        with open(self.file + ".new", "w") as f:
            f.write("time,value\n")
            for h in range(-1, 48):
                f.write(f"{hour + datetime.timedelta(hours=h):%Y-%m-%dT%H:%M:%SZ},{grams}\n")
        os.rename(self.file + ".new", self.file)


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--build", required=True)
    options = args.parse_args()
    folder = tempfile.mkdtemp(prefix="helio-migrations-")
    north, south = WindySite("north", 30), WindySite("south", 300)
    f = Federation(options.build, folder, [north, south])
    state, logs = f.look_up, f.logs
    place = lambda job: f.look_up(job, "site")
    doc = dict(name="train", queue="preemptible", gpu="H100:8", cpus=1, time="10h", run=trainer("$SHARED/step", " at $HELIO_SITE"),
               env={"SHARED": f.records}, placement={"goal": "green", "on_better_site": "checkpoint"})
    f.judged = True
    try:
        f.up()
        silent = f.helio("submit", "-", stdin=json.dumps(dict(doc, run="exit 0")))
        check("will not be migrated" in silent.stderr, f"submit gives no note:\n{silent.stderr}")
        planned = f.helio("plan", "-", stdin=json.dumps(doc)).stdout
        check("will not be migrated" in planned, f"plan gives no note:\n{planned}")
        doc["checkpoint"] = {"signal": "USR1", "grace": "10s"}
        train = f.submit_one(**doc)
        f.wait_for(lambda: "from 0 resume 0 at north" in logs(train), 30, "training does not start at north")
        better = lambda: f.helio("explain", train).stdout
        check("no other site would be better" in better(), f"explain does not say why it stays:\n{better()}")
        north.blow(900)
        began = time.time()
        f.wait_for(lambda: place(train) == "south" and state(train) == "running", 40, "training is not moved")
        print(f"training runs at south {time.time() - began:.1f} s after the wind dropped at north")
        f.wait_for(lambda: "resume 1 at south" in logs(train), 20, "training does not know that it was here before")
        said = logs(train)
        check("from 0" not in said, f"training started from the beginning:\n{said}")
        why = f.sql(f"select details->0->>'code', details->0->'params'->>'to' from helio_report.job_transitions where job_id = '{train}' and to_state = 'stopping'")
        check(len(why) == 1 and tuple(why[0]) == ("Migrated", "south"), f"stopped: {why}")
        terms = f.sql("select site, disruption_term_usd > 0 from helio_report.placement_candidates "
                      f"where job_id = '{train}' and epoch = 2 order by rank")
        check(terms == [["south", "t"], ["north", "f"]], f"candidates: {terms}")
        migrated = f.sql(f"select from_site, to_site, reached_target from helio_report.migrations where job_id = '{train}'")
        check(migrated == [["north", "south", "t"]], f"helio_report.migrations: {migrated}")
        north.blow(30)
        south.blow(900)
        f.wait_for(lambda: "it was migrated recently and stays until" in better(), 20, "explain does not say why it stays")
        check(state(train) == "running" and place(train) == "south", "training does not stay")
        print("training stays when the wind returns")
        f.helio("cancel", train)
        f.wait_for(lambda: f.open_jobs() == 0, 30, "jobs are not over")
        f.judge()
    finally:
        f.down()
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
