#!/usr/bin/env python3
"""GPUs reserved by the clock, with a real broker, PostgreSQL and processes: training saves and leaves before the window begins,
inference finds its GPUs free in it, and training resumes from its file after the window. Passes at any time of day.
  tests/integration/windows.py --build BUILD_DIR"""
import argparse, datetime, os, shutil, sys, tempfile, time, zoneinfo

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "faults"))
from federation import Federation, LocalSite, check, trainer  # noqa: E402

AHEAD_S = 75  # from the writing of the site file to the window: training must run for a while before it
ZONE = zoneinfo.ZoneInfo("Europe/Stockholm")  # the site's

class OneNode(LocalSite):
    nodes = 1

    def site_keys(self):
        self.begin = (int(time.time()) + AHEAD_S + 59) // 60 * 60
        hours = "-".join(f"{datetime.datetime.fromtimestamp(at, ZONE):%H:%M}" for at in (self.begin, self.begin + 60))
        return (super().site_keys() +
                f'windows:\n  - {{pool: h100, reserve_gpus: 6, when: "{hours}"}}\n')


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--build", required=True)
    options = args.parse_args()
    folder = tempfile.mkdtemp(prefix="helio-windows-")
    site = OneNode("north", 2.0)
    f = Federation(options.build, folder, [site])
    until = lambda at: time.sleep(max(0, at - time.time()))
    submit, state, logs = f.submit_one, f.look_up, f.logs
    try:
        f.up()
        train = submit(name="train", queue="standard", gpu="H100:8", cpus=1, time="10h", run=trainer("$HELIO_CHECKPOINT_DIR/step"),
                       checkpoint={"signal": "USR1", "grace": "5s"})
        f.wait_for(lambda: state(train) == "running", 20, "training does not start")
        f.wait_for(lambda: "from 0 resume 0" in logs(train), 20, "training says nothing")
        check(time.time() < site.begin - 40, "this machine is too slow for the test")
        until(site.begin - 38)
        check(state(train) == "running", "training left too early")
        until(site.begin)
        check(state(train) == "queued", f"training is {state(train)} when the window begins")
        print("training has saved and left when the window begins")
        explain = f.helio("explain", train).stdout
        check("GPUs of north/h100 are reserved until" in explain, f"explain does not say why it waits:\n{explain}")
        asked = time.time()
        urgent = submit(name="answer", queue="express", gpu="H100:6", cpus=1, time="10m", run="exec sleep 10")
        f.wait_for(lambda: state(urgent) == "running", 5, "inference waits")
        print(f"inference ran after {time.time() - asked:.1f} s")
        f.wait_for(lambda: state(urgent) == "succeeded", 30, "inference does not end")
        until(site.begin + 57)
        check(state(train) == "queued", "training resumed before the end of the window")
        f.wait_for(lambda: state(train) == "running", 10, "training does not come back")
        print(f"training resumed {time.time() - site.begin - 60:.1f} s after the window's end")
        f.wait_for(lambda: "resume 1" in logs(train), 10, "training does not know that it was here before")
        check("from 0" not in logs(train), f"training started from the beginning:\n{logs(train)}")
        why = f.sql("select reason from helio_report.job_transitions where to_state = 'stopping'")
        check(len(why) == 1 and why[0][0].startswith("GPUs of north/h100 are reserved from "), f"stopped: {why}")
        f.helio("cancel", train)
        f.wait_for(lambda: f.open_jobs() == 0, 30, "jobs are not over")
    finally:
        f.down()
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
