#!/usr/bin/env python3
"""A cloud with a state folder: the provider's command of an elastic pool, and the adapter of the engine on its instances.
  cloud.py STATE list POOL | create POOL COUNT | delete POOL NAME
  cloud.py STATE interrupt NAME SECONDS          (a spot instance gets notice, and is taken away so much later)
  cloud.py STATE adapter          (a request of the backend `exec` on standard input)
An instance starts jobs two seconds after it was created. `STATE/log` has one line for each create and delete, `STATE/most` the
highest number of instances that there ever were. No job starts on an instance that is to be taken away, or that a file of `STATE/notices`
names. While `STATE/broken` exists, the provider fails."""
import fcntl, json, os, signal, subprocess, sys, time

STATE = sys.argv[1]
STARTS_S, GPUS = 2, 8


def load():
    try:
        with open(f"{STATE}/cloud.json", encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return {"next": 1, "instances": {}, "jobs": {}}


def save(cloud):
    with open(f"{STATE}/cloud.json.new", "w", encoding="utf-8") as file:
        json.dump(cloud, file)
    os.rename(f"{STATE}/cloud.json.new", f"{STATE}/cloud.json")


def note(text):
    with open(f"{STATE}/log", "a", encoding="utf-8") as file:
        file.write(text + "\n")


def lives(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def used(cloud, name):
    return sum(job["gpus"] for job in cloud["jobs"].values() if job.get("on") == name and lives(job["pid"]))


def end(cloud, name):
    cloud["instances"].pop(name, None)
    for job in cloud["jobs"].values():
        if job.get("on") == name and lives(job["pid"]):
            os.killpg(job["pid"], signal.SIGKILL)


def take_away(cloud):
    for name, instance in list(cloud["instances"].items()):
        if time.time() >= instance.get("until", time.time() + 1):
            note(f"gone {name} {'busy' if used(cloud, name) else 'idle'}")
            end(cloud, name)


def provider(cloud, verb, pool, *rest):
    if os.path.exists(f"{STATE}/broken"):
        sys.exit("the provider is out of order")
    if verb == "list":
        for name, instance in cloud["instances"].items():
            print(name, "interrupted" if "until" in instance else "running" if time.time() >= instance["ready"] else "starting")
    elif verb == "interrupt":
        cloud["instances"][pool]["until"] = time.time() + float(rest[0])
        note(f"interrupt {pool}")
    elif verb == "create":
        for _ in range(int(rest[0])):
            name = f"{pool}-{cloud['next']}"
            cloud["next"] += 1
            cloud["instances"][name] = {"ready": time.time() + STARTS_S}
            note(f"create {name}")
        with open(f"{STATE}/most", "a", encoding="utf-8") as file:
            file.write(f"{len(cloud['instances'])}\n")
    elif verb == "delete":
        note(f"delete {rest[0]} {'busy' if used(cloud, rest[0]) else 'idle'}")
        end(cloud, rest[0])


def is_leaving(cloud, name):
    return "until" in cloud["instances"][name] or os.path.exists(f"{STATE}/notices/{name}")


def start_jobs(cloud):
    for name, job in cloud["jobs"].items():
        for instance, known in cloud["instances"].items():
            if "on" in job or time.time() < known["ready"] or is_leaving(cloud, instance) or GPUS - used(cloud, instance) < job["gpus"]:
                continue
            env = dict(os.environ, HELIO_BATCH_ID=name, HELIO_BATCH_GPUS=str(job["gpus"]))
            process = subprocess.Popen([job["shim"], "--batch", job["folder"]], user=job["uid"] if os.getuid() == 0 else None, env=env,
                                       cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       start_new_session=True)
            job.update(on=instance, pid=process.pid)


def state_of(job):
    return "waiting" if "on" not in job else "running" if lives(job["pid"]) else "ended"


def adapter(cloud, ask):
    op, name = ask["op"], ask.get("name")
    if op == "capabilities":
        return [{"end": {"helio": 1, "engine": "cloud", "carries": False}}]
    if op == "inventory":
        start_jobs(cloud)
        nodes = [{"node": {"name": one, "gpus": GPUS, "gpus_used": used(cloud, one)}}
                 for one, instance in cloud["instances"].items() if time.time() >= instance["ready"]]
        jobs = [{"attempt": {"name": one, "id": one, "state": state_of(job), "node": job.get("on", "")}}
                for one, job in cloud["jobs"].items()]
        return nodes + jobs + [{"end": {"nodes": len(nodes), "attempts": len(jobs)}}]
    if op == "submit":
        cloud["jobs"].setdefault(name, {"gpus": ask["gpus"], "uid": ask["uid"], "shim": ask["shim"],
                                        "folder": f"{ask['folder']}/attempts/{name}"})
        start_jobs(cloud)
        return [{"end": {"submitted": name}}]
    job = cloud["jobs"].get(name)
    if op == "cancel" and job and "on" not in job or op == "forget":
        cloud["jobs"].pop(name, None)
    elif op == "cancel" and job and ask["mode"] == "kill" and lives(job["pid"]):
        os.killpg(job["pid"], signal.SIGKILL)
    elif op not in ("cancel", "forget"):
        sys.exit(f"unknown: {op}")
    return [{"end": {}}]


def main():
    with open(f"{STATE}/lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        cloud = load()
        take_away(cloud)
        if sys.argv[2] == "adapter":
            for line in adapter(cloud, json.loads(sys.stdin.readline())):
                print(json.dumps(line))
        else:
            provider(cloud, *sys.argv[2:])
        save(cloud)


main()
