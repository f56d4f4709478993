#!/usr/bin/env python3
"""notify.py --build TREE: `helio notify` over a real broker and agent. Receivers verify the signatures, refuse, take too long,
are down for a while; notify is killed with SIGKILL, and so is the broker; the events that it has read last are gone. Every job that ends is delivered at least once to
each target that can be reached, under the same id in each attempt, in order for each job; a dead target delays no other;
what is refused is given up at once. Deadlines at risk and budgets are told once. SIGTERM ends it within a second."""
import argparse, base64, collections, contextlib, datetime, hashlib, hmac, http.server, json, os, shutil, signal, sqlite3
import sys, tempfile, threading, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "faults"))
from federation import TOP, Federation, LocalSite, check, free_port

KEY = b"a key of thirty-two bytes, or so"
SECRET = "whsec_" + base64.b64encode(KEY).decode()


class Receiver:
    """Takes messages at one port. `answer` decides on each: a status, or None to hang until the sender gives up."""

    def __init__(self, answer=lambda n: 200, signed=True):
        self.port, self.answer, self.signed = free_port(), answer, signed
        self.taken, self.attempts, self.faults, self.server = [], 0, [], None  # taken: (webhook-id, document), in order
        self.lock = threading.Lock()

    def start(self):
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.verify(self.headers, body)
                with receiver.lock:
                    receiver.attempts += 1
                    status = receiver.answer(receiver.attempts)
                    if status is not None and 200 <= status < 300:
                        receiver.taken.append((self.headers["webhook-id"], json.loads(body)))
                if status is None:
                    self.rfile.read(1)  # until the sender closes
                    self.close_connection = True
                    return
                self.send_response(status)
                if status == 429:
                    self.send_header("Retry-After", "1")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.server.handle_error = lambda *_: None  # a sender that was killed
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True, kwargs={"poll_interval": 0.05}).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def verify(self, headers, body):
        if not self.signed:
            return
        message = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        wanted = "v1," + base64.b64encode(hmac.new(KEY, message, hashlib.sha256).digest()).decode()
        if headers["webhook-signature"] != wanted or abs(time.time() - int(headers["webhook-timestamp"])) > 60:
            self.faults.append(f"a wrong signature: {headers}")
        if json.loads(body)["id"] != headers["webhook-id"]:
            self.faults.append(f"two ids: {headers['webhook-id']}, {body}")

    def ended(self):
        """The jobs of whose end it was told."""
        with self.lock:
            return {doc["job"]["id"] for _, doc in self.taken if doc["event"] in ("job_ended", "job_failed")}

    def events(self, kind):
        with self.lock:
            return [doc for _, doc in self.taken if doc["event"] == kind]


class Notify:
    def __init__(self, fed, receivers):
        self.fed, self.receivers, self.stops = fed, receivers, []
        os.umask(0o077)
        secret, self.mails = fed.write("hook-secret", SECRET + "\n"), fed.path("mails")
        os.chmod(secret, 0o600)
        script = fed.write("sendmail", f"""#!/bin/sh
# fails at first, as one does that is full
[ -e {self.mails}.full ] || {{ : >{self.mails}.full; exit 75; }}
[ -z "$HELIO_TOKEN" ] || exit 1
printf '%s\\n' "$(tr '\\n' '|')" >>{self.mails}
""")
        os.chmod(script, 0o700)
        url = lambda name: f"url: http://127.0.0.1:{receivers[name].port}/hook, secret_file: hook-secret, timeout: 700ms"
        self.config = fed.write("notify.yaml", f"""state: notify
targets:
  - {{name: good, {url('good')}, on: [job_started, job_ended, job_failed, deadline_at_risk, budget_near]}}
  - {{name: flaky, {url('flaky')}, on: [job_started, job_ended]}}
  - {{name: slow, {url('slow')}, on: [job_ended]}}
  - {{name: refuses, {url('refuses')}, on: [job_ended]}}
  - {{name: dead, {url('dead')}, on: [job_ended], keep: 3}}
  - {{name: chat, url: "http://127.0.0.1:{receivers['chat'].port}/", format: slack, on: [job_failed], names: ["bad*"]}}
  - {{name: mail, command: [/usr/bin/env, SENDMAIL={script}, {TOP}/deploy/notify/mail, oncall@example.org, b@example.org], on: [job_failed]}}
""")
        self.command = [fed.tool("helio"), "notify", "--config", self.config]
        fed.commands["notify"] = ["env", f"HELIO_BROKER={fed.env['HELIO_BROKER']}", f"HELIO_TOKEN={fed.env['HELIO_TOKEN']}",
                                  *self.command]

    def start(self):
        begun = self.fed.log("notify").count(" started ") if self.fed.starts["notify"] else 0
        self.fed.start("notify")
        self.fed.wait_for(lambda: self.fed.log("notify").count(" started ") > begun, 10, "notify does not start")

    def stop(self):
        """SIGTERM; how long it took is kept."""
        begun = time.monotonic()
        self.fed.procs["notify"].send_signal(signal.SIGTERM)
        code = self.fed.procs["notify"].wait(10)
        check(code == 0, f"notify ended with {code}: {self.fed.log('notify')[-2000:]}")
        self.stops.append(time.monotonic() - begun)


    def lose_events(self):
        """As if what was read came from another copy of the database."""
        with contextlib.closing(sqlite3.connect(self.fed.path("notify", "notify.db"))) as db:
            db.execute("update cursor set last = 1000000000000")
            db.commit()


def submit(fed, count, name="fine", run="true"):
    docs = [{"name": f"{name}-{i}", "gpu": "H100:1", "time": "5m", "run": run} for i in range(count)]
    return set(fed.submit(docs, f"{name}-{count}-{time.monotonic()}"))


def time_in(seconds):
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def wait_told(fed, receiver, jobs, what, seconds=30):
    fed.wait_for(lambda: jobs <= receiver.ended(), seconds,
                 f"{what}: not told of {len(jobs - receiver.ended())} of {len(jobs)} ends")


def check_order(receiver, name):
    """For each job its start before its end; repeats only under the same id."""
    check(not receiver.faults, f"{name}: {receiver.faults[:2]}")
    ids, seen = collections.defaultdict(set), collections.defaultdict(list)
    for message_id, doc in receiver.taken:
        if "job" in doc:
            ids[doc["event"], doc["job"]["id"], doc["job"]["epoch"]].add(message_id)
            if message_id not in seen[doc["job"]["id"]]:
                seen[doc["job"]["id"]].append(message_id)
    check(all(len(of) == 1 for of in ids.values()), f"{name}: two ids for one event: {dict(ids)}")
    for job, messages in seen.items():
        check(messages == sorted(messages, key=lambda m: not m.startswith("job_started")), f"{name}: {job} out of order: {messages}")


def check_exact(fed, notify, everything, bad):
    """What targets get that refuse, are dead, take texts, or are commands."""
    receivers, log = notify.receivers, fed.log("notify")
    check(" refused target=refuses" in log and not receivers["refuses"].taken and receivers["refuses"].attempts < 2 * len(everything),
          f"refused messages were sent again: {receivers['refuses'].attempts}")
    check(" dropped target=dead" in log and "delivery_failed target=dead" in log, "the dead target is not in the log")
    check(all(set(doc) == {"text"} for _, doc in receivers["chat"].taken) and len(receivers["chat"].taken) == len(bad),
          f"chat: {receivers['chat'].taken}")
    mails = open(notify.mails).read().splitlines()
    check({job for job in bad if sum(f"job_failed {job}|" in mail for mail in mails) == 1} == bad and len(mails) == len(bad)
          and all(mail.startswith("To: oncall@example.org, b@example.org|") and "exit code 3" in mail for mail in mails), f"mails: {mails}")


def check_file(fed, right):
    """A wrong file is refused with line, column and remedy, and a wrong token by the broker."""
    wrong = fed.write("wrong.yaml", "state: s\ntargets:\n  - {name: a, url: https://x.example, on: [job_ended]}\n  - {nam: b}\n")
    for arguments, words in ((["--config", wrong], ["wrong.yaml:3:", "secret_file", "unknown key 'nam'", "did you mean 'name'"]),
                             ([], ["--config FILE"])):
        done = fed.helio("notify", *arguments, check=False)
        check(done.returncode == 2 and all(word in done.stderr for word in words), f"notify {arguments}: {done}")
    fed.env["HELIO_TOKEN"], token = "hel_none_none", fed.env["HELIO_TOKEN"]
    done = fed.helio("notify", "--config", right, check=False)
    fed.env["HELIO_TOKEN"] = token
    check(done.returncode == 4 and "token" in done.stderr, f"a token that is none: {done}")


def check_test(fed, notify):
    """--check sends a test to each target, and fails if one fails."""
    done = fed.helio("notify", "--config", notify.config, "--check", check=False)
    lines = {line.split()[0]: line for line in done.stdout.splitlines()}
    check(done.returncode == 1 and "delivered" in lines["good"] and "delivered" in lines["chat"] and "400" in lines["refuses"]
          and "exited with 75" in lines["mail"] and "delivered" not in lines["dead"], f"--check: {done}")
    check(SECRET not in done.stdout + done.stderr, "--check shows a secret")
    for receiver in notify.receivers.values():
        receiver.taken.clear()
        receiver.attempts = 0


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--build", required=True)
    folder = tempfile.mkdtemp(prefix="helio-notify-")
    fed = Federation(args.parse_args().build, folder, [LocalSite("north", 1.0)])
    receivers = {
        "good": Receiver(),
        "flaky": Receiver(lambda n: (503, 429)[n - 1] if n <= 2 else 200),
        "slow": Receiver(lambda n: None if n <= 1 else 200),
        "refuses": Receiver(lambda n: 400),
        "dead": Receiver(),  # never started
        "chat": Receiver(signed=False),
    }
    try:
        fed.up()
        for name in receivers.keys() - {"dead"}:
            receivers[name].start()
        notify, good = Notify(fed, receivers), receivers["good"]
        check_file(fed, notify.config)
        check_test(fed, notify)
        before = submit(fed, 1, "before")
        fed.wait_for(lambda: fed.open_jobs() == 0, 30, "a job does not end")
        notify.start()
        fed.wait_for(lambda: " begins " in fed.log("notify"), 10, "notify does not know where to begin")

        jobs = submit(fed, 6)
        bad = submit(fed, 2, "bad", "exit 3")
        wait_told(fed, good, jobs | bad, "good")
        wait_told(fed, receivers["flaky"], jobs | bad, "flaky")
        wait_told(fed, receivers["slow"], jobs | bad, "slow")
        failed = good.events("job_failed")
        check({doc["job"]["id"] for doc in failed} == bad and all(doc["job"]["exit_code"] == 3 and doc["job"]["user"] == "tester"
              and "exit code 3" in doc["text"] for doc in failed), f"failed jobs: {failed}")

        # killed while jobs end, and while a target is down
        receivers["flaky"].stop()
        more = submit(fed, 6)
        fed.wait_for(lambda: len(more & good.ended()) > 1, 15, "no job ends")
        fed.kill("notify")
        more |= submit(fed, 4, "unseen")
        fed.wait_for(lambda: fed.open_jobs() == 0, 30, "jobs do not end")
        receivers["flaky"].start()
        notify.start()
        wait_told(fed, good, more, "good, after SIGKILL")
        wait_told(fed, receivers["flaky"], more, "flaky, after it was down")

        # the broker under it
        fed.kill("broker")
        fed.revive("broker")
        fed.wait_ready()
        last = submit(fed, 3, "after")
        wait_told(fed, good, last, "good, after the broker was killed")
        wait_told(fed, receivers["slow"], jobs | bad | more | last, "slow")
        notify.stop()

        check_exact(fed, notify, jobs | bad | more | last, bad)
        check(not before & good.ended(), "a job was told that ended before the first start")

        # the broker has other events than those that were read, as after a restore
        fed.helio("drain", "north", "--reason", "so that jobs wait")
        late = fed.submit_one(name="late", gpu="H100:1", time="5m", array="0-1", placement={"deadline": time_in(302)}, run="true")
        at_risk = time.monotonic() + 2.2
        missed = submit(fed, 3, "missed")
        fed.helio("cancel", *missed)
        notify.lose_events()
        notify.start()
        wait_told(fed, good, missed, "good, after its events were lost")
        check("events_missed" in fed.log("notify"), "the log does not say that events were missed")
        notify.stop()

        # deadlines and budgets: looked at when it starts, and each minute
        fed.helio("quota", "set", "demo", "--budget", "0.00001 gpu-h/month")
        fed.wait_for(lambda: time.monotonic() > at_risk, 5, "time stands still")
        for _ in range(2):  # told once, though it is started twice
            notify.start()
            fed.wait_for(lambda: good.events("budget_near") and good.events("deadline_at_risk"), 15, "no budget, or no deadline is told")
            notify.stop()
        check(min(notify.stops) < 1, f"SIGTERM takes more than a second: {notify.stops}")  # the machine can be busy at one of them
        told = [doc["id"] for doc in good.events("budget_near") + good.events("deadline_at_risk")]
        check(len(told) == len(set(told)), f"something was told twice: {told}")
        risk = good.events("deadline_at_risk")[0]
        check(risk["job"]["id"] == late and risk["deadline"]["risk"] in ("late", "no_site"), f"a deadline: {risk}")
        check(good.events("budget_near")[0]["budget"]["threshold_percent"] == 100, f"a budget: {good.events('budget_near')}")

        everything = jobs | bad | more | last | missed
        check(everything <= good.ended(), "a job was not told")
        for name in ("good", "flaky", "slow"):
            check_order(receivers[name], name)
        log = fed.log("notify")
        check(SECRET not in log and base64.b64encode(KEY).decode() not in log and fed.env["HELIO_TOKEN"] not in log, "a secret is in the log")
        print(f"{len(everything)} ends told to three targets, over SIGKILL of notify and of the broker")
    finally:
        fed.down()
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
