#!/usr/bin/env python3
"""Unchanged sbatch scripts do the same through `helio sbatch` as through sbatch itself.

    tests/integration/sbatch_scripts.py --build BUILD_DIR [--only NAME] [--keep]

Each script of tests/data/sbatch runs in a folder of its own: once by sbatch on a real two-node cluster (deploy/slurm-lab),
once by `helio sbatch` through a broker to the same cluster. The test compares the exit code of every task, the
output, and every file that the script left in its folder. Job numbers, times, process numbers and folder names are
ignored; everything else must be equal. Exit 0 only if all are; 77 without Slurm.
"""
import argparse, glob, os, pwd, re, shutil, subprocess, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "faults"))
from federation import TOP, Federation
from kill9 import make_sites


FIRST_JOB = 71001
OVER = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY"}


def as_user(name):
    return [] if pwd.getpwuid(os.getuid()).pw_name == name else [
        "setpriv", f"--reuid={name}", f"--regid={pwd.getpwnam(name).pw_gid}", "--init-groups", "--"]


def folder_for(federation, *parts):
    path = federation.path(*parts)
    os.makedirs(path)
    os.chown(path, *(pwd.getpwnam(federation.job_user)[2:4])) if os.getuid() == 0 else None
    return path


def directly(federation, site, script, folder):
    """{task: exit code}, with the output in slurm-* files or in the files that the script names."""
    env = {"PATH": os.environ["PATH"], "SLURM_CONF": site.conf, "HOME": folder, "LANG": "C.UTF-8"}
    done = subprocess.run([*as_user(federation.job_user), "sbatch", "--parsable", script], text=True, cwd=folder, env=env,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        raise SystemExit(f"sbatch {script}: {done.stderr}")
    job = done.stdout.strip().split(";")[0]
    federation.wait_for(lambda: all(state in OVER for state in site.slurm(
        "squeue", "--noheader", "--states=all", "--array", f"--jobs={job}", "--format=%T").split()), 120,
        f"{script}: Slurm's job {job} is not over")
    codes = {}
    for line in site.slurm("scontrol", "--oneliner", "show", "job", job).splitlines():
        fields = dict(word.split("=", 1) for word in line.split() if "=" in word)
        code, signal = map(int, fields["ExitCode"].split(":"))
        codes[fields.get("ArrayTaskId", "")] = code or (128 + signal if signal else 0)
    return job, codes


def through(federation, script, folder):
    job = federation.helio("sbatch", "--parsable", "-D", folder, script).stdout.strip()
    federation.wait_for(lambda: (federation.sql(f"select count(*) from helio_report.jobs where job_id like '{job}%' and state "
                                                "not in ('succeeded','failed','timeout','cancelled')") or [["1"]])[0][0] == "0",
                        120, f"{script}: {job} is not over")
    rows = federation.sql(f"select job_id, exit_code from helio_report.jobs where job_id like '{job}%'")
    return job, {key.split(".")[1] if "." in key else "": int(code) for key, code in rows}


def plain(text, job, folder):
    """Removes what differs from run to run. Slurm's numbers begin at FIRST_JOB, so that they can be recognised."""
    text = text.replace(folder, "FOLDER").replace(job, "JOB")
    text = re.sub(r"helio-[0-9a-z]{26}(-\d+)?-\d+", "JOB", text)
    text = re.sub(rf"(?<!\d){FIRST_JOB // 1000}\d{{3}}(?!\d)", "JOB", text)
    text = re.sub(r"(?<!\d)1\d{9}(?=_\d)", "JOB", text)  # an array's number in file names; sbatch's is the job's
    return re.sub(r"\b\d{1,2}:\d{2}:\d{2}\b", "TIME", text)


def left_behind(folder, job):
    """name -> text of each file of the folder."""
    return {plain(os.path.relpath(path, folder), job, folder): plain(open(path, errors="replace").read(), job, folder)
            for path in glob.glob(folder + "/**/*", recursive=True) if os.path.isfile(path)}


def compare(federation, site, script):
    name = os.path.basename(script)[:-3]
    mine, theirs = folder_for(federation, "run", name, "helio"), folder_for(federation, "run", name, "sbatch")
    slurm_job, slurm_codes = directly(federation, site, script, theirs)
    job, codes = through(federation, script, mine)
    faults = []
    if codes != slurm_codes:
        faults.append(f"exit codes {codes}, by sbatch {slurm_codes}")
    expected, found = left_behind(theirs, slurm_job), left_behind(mine, job)
    # `helio logs` prints what sbatch writes to slurm-JOB.out, if the script names no file of its own
    for file in [f for f in expected if re.fullmatch(r"slurm-JOB(_\d+)?\.out", f) and f not in found]:
        task = re.sub(r"slurm-JOB_?|\.out", "", file)
        found[file] = plain(federation.helio("logs", f"{job}.{task}" if task else job, check=False).stdout, job, mine)
    if set(found) != set(expected):
        faults.append(f"files {sorted(found)}, by sbatch {sorted(expected)}")
    for file in sorted(set(found) & set(expected)):
        if found[file] != expected[file]:
            faults.append(f"{file} differs:\n  helio : {found[file]!r}\n  sbatch: {expected[file]!r}")
    return faults


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--build", required=True)
    args.add_argument("--only", default="")
    args.add_argument("--keep", action="store_true")
    args = args.parse_args()
    folder = tempfile.mkdtemp(prefix="helio-sbatch-")
    sites, lab = make_sites("slurm:1", EXTRA=f"FirstJobId={FIRST_JOB}")
    federation = Federation(args.build, folder, sites)
    bad = count = 0
    try:
        federation.up()
        for script in sorted(glob.glob(TOP + "/tests/data/sbatch/*.sh")):
            if args.only in os.path.basename(script):
                faults = compare(federation, sites[0], script)
                count += 1
                bad += bool(faults)
                for fault in faults:
                    print("FAULT", os.path.basename(script), fault)
        print(f"{count} scripts through helio sbatch and through sbatch, {bad} with a different result")
    except SystemExit as end:
        print(end)
        bad += 1
    finally:
        federation.down()
        subprocess.run([TOP + "/deploy/slurm-lab/down.sh", lab] + ([] if bad or args.keep else ["--purge"]), check=False,
                       stdout=subprocess.DEVNULL)
        if bad or args.keep:
            print("all files are kept in", folder, lab)
        else:
            shutil.rmtree(folder)
    sys.exit(1 if bad or not count else 0)


if __name__ == "__main__":
    main()
