"""What users and an operator do: submissions through both brokers with a key and retries, cancels, releases, attestations. Every
document says how its job must end, whatever fails meanwhile."""
import collections, http.client, json, queue, random, threading, time, urllib.parse

from chaos import truth, world

# kind: the policy on_site_loss; gpus of the whole job; ends: the states that it may end in; code: of its program;
# throttle: tasks at once; after: (condition, name of the other document)
Doc = collections.namedtuple("Doc", "name kind tenant policy gpus ends code tasks throttle after body cancel_s")

KINDS = {"single": 30, "gang": 4, "array": 8, "chain": 10, "fail": 6, "retry": 4, "cancel": 8, "linger": 6, "flexible": 5,
         "timeout": 4, "quota": 9, "budget": 6}
POLICIES = {"strict": 5, "lease": 4, "eager": 3}
TRY_S = 5  # until a submitter tries the other broker


def pick(rng, weights):
    return rng.choices(list(weights), list(weights.values()))[0]


def make(rng, number, records, names):
    """The next document. names: those of earlier documents, which it may depend on."""
    kind, policy = pick(rng, KINDS), pick(rng, POLICIES)
    name, gpus, seconds, ends, code, more = f"{kind}-{number}", rng.choice((1, 1, 2, 4)), rng.uniform(1, 12), "succeeded", 0, {}
    tasks, throttle, after, tenant, linger_s, cancel_s = 1, 0, None, "demo", 0, None
    if kind in ("single", "cancel", "linger") and rng.random() < 0.4:
        seconds = rng.uniform(20, 45)
    if kind == "gang":
        gpus, more = 16, {"nodes": 2}
    elif kind == "array":
        tasks, throttle = rng.randint(3, 6), rng.randint(1, 3)
        gpus, seconds, more = 1, rng.uniform(1, 5), {"array": f"0-{tasks - 1}%{throttle}"}
    elif kind == "chain" and names:
        after = (rng.choice(("after_ok", "after_any", "after_not_ok", "after_start")), rng.choice(names[-12:]))
    elif kind in ("fail", "retry"):
        code, ends, more = rng.randint(1, 100), "failed", {"retries": 1} if kind == "retry" else {}
    elif kind in ("cancel", "linger"):
        ends, cancel_s = "cancelled", rng.uniform(0, 20)
        linger_s = rng.uniform(1, 2.5) if kind == "linger" else 0
    elif kind == "flexible":
        more = {"placement": {"flexible": "30s", "goal": "cheap"}}
    elif kind == "timeout":
        seconds, ends, code, more = 600, "timeout", 124, {"time": "4s"}
    elif kind == "quota":
        tenant, policy, gpus = "small", "strict", rng.choice((1, 2))
    elif kind == "budget":
        tenant, policy, gpus, seconds, more = "poor", "strict", 2, rng.uniform(5, 12), {"time": "20s"}
    body = {"name": name, "gpu": f"H100:{8 if kind == 'gang' else gpus}", "time": "3m", "on_site_loss": policy,
            "env": {"TRUTH": records}, "run": truth.script(seconds, code if ends == "failed" else 0, linger_s), **more}
    return Doc(name, kind, tenant, policy, gpus, ends, code, tasks, throttle, after, body, cancel_s)


class Users:
    """Threads that submit and cancel until they are told that it is done."""
    def __init__(self, federation, rng):
        self.f, self.rng = federation, rng
        self.docs, self.ids, self.names, self.complaints = {}, {}, [], []  # by name; ids of acknowledged documents
        self.work, self.lock = queue.Queue(), threading.Lock()
        self.tries, self.stopped = 0, False
        self.threads = [threading.Thread(target=self.serve, daemon=True) for _ in range(5)]
        for thread in self.threads:
            thread.start()

    def request(self, broker, method, path, body=None, tenant="demo", timeout=TRY_S, **headers):
        """(status, answer); status 0 = no answer, so its outcome is unknown."""
        url = urllib.parse.urlsplit(self.f.urls[broker])
        connection = http.client.HTTPConnection(url.hostname, url.port, timeout=timeout)
        try:
            more = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body and json.dumps(body), {
                "Authorization": f"Bearer {self.f.tokens[tenant]}", "Content-Type": "application/json", **more})
            answer = connection.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if text.startswith(b"{") else {}
        except (OSError, http.client.HTTPException, ValueError):
            return 0, {}
        finally:
            connection.close()

    def insist(self, method, path, body, tenant, done, seconds=300, **headers):
        """Asks one broker and the other in turn until one of them answers finally."""
        end, turn, pause = time.monotonic() + seconds, random.randint(0, 1), 0.1
        while time.monotonic() < end:
            status, answer = self.request(world.BROKERS[turn % 2], method, path, body, tenant, **headers)
            if status in done:
                return status, answer
            if status not in (0, 408, 429, 500, 502, 503, 504):
                self.complaints.append(("refused", f"{method} {path}: {status} {answer}"))
                return status, answer
            turn, self.tries, pause = turn + 1, self.tries + 1, min(pause * 1.5, 1)
            time.sleep(pause)
        return 0, {}

    def submit_next(self):
        parents = [name for name in self.names if name in self.ids and self.docs[name].tenant == "demo"]
        doc = make(self.rng, len(self.names), self.f.records, parents)
        self.names.append(doc.name)
        if doc.after:
            doc.body["depends"] = {doc.after[0]: [self.ids[doc.after[1]]]}
        self.docs[doc.name] = doc
        self.work.put(("submit", doc))

    def submit(self, doc, seconds=300):
        """The id; None = nobody answered."""
        status, answer = self.insist("POST", "/v1/jobs", doc.body, doc.tenant, (200, 201), seconds, Idempotency_Key=doc.name)
        return answer["jobs"][0]["id"] if status in (200, 201) else None

    def serve(self):
        while not self.stopped:
            try:
                what, doc = self.work.get(timeout=0.5)
            except queue.Empty:
                continue
            if what == "submit":
                job = self.submit(doc)
                if job:
                    self.ids[doc.name] = job
                    if doc.cancel_s is not None:
                        timer = threading.Timer(doc.cancel_s, self.work.put, [("cancel", doc)])
                        timer.daemon = True
                        timer.start()
            else:
                self.insist("DELETE", f"/v1/jobs/{self.ids[doc.name]}", None, doc.tenant, (202, 200, 409))
            self.work.task_done()

    def operate(self, runs_now):
        """What an operator does about jobs that wait for one: releases what is held, and attests that nothing runs any more of what
        an agent without memory cannot prove, after a look at the processes. runs_now: keys of jobs that run."""
        rows = self.f.sql("select helio.job_text(job_id, task), helio.state_word(state), coalesce(site, ''), coalesce(details::text, '') "
                          "from helio.job_state where helio.state_word(state) in ('held', 'suspect')") or []
        doubted = collections.defaultdict(list)
        for key, state, site, why in rows:
            if state == "held":
                self.insist("POST", f"/v1/jobs/{key}/release", {}, "demo", (200, 202, 409), 5)
            elif "SiteMemoryLost" in why:
                doubted[site].append(key)
        for site, keys in doubted.items():
            if not runs_now & set(keys):
                self.insist("POST", f"/v1/sites/{site}/attest", {"dead": True, "reason": "chaos looked at its processes"}, "demo",
                            (200, 202, 409), 5)

    def ask_again(self):
        """Every document once more: an acknowledged key must give the same id."""
        for doc in self.docs.values():
            job = self.submit(doc, 30)
            if job and job != self.ids.setdefault(doc.name, job):
                self.complaints.append(("key-twice", f"{doc.name}: {self.ids[doc.name]} was acknowledged, its key gives {job} now"))

    def stop(self):
        self.stopped = True
        for thread in self.threads:
            thread.join(TRY_S * 2)
