#!/usr/bin/env python3
"""clients/python against a real federation: jobs from their submission to their end, output across attempts, a broker that is killed meanwhile,
answers that are lost after the request was sent, the examples, and the wheel. What is exchanged is compared with docs/openapi.yaml.
  tests/clients/python_federation.py --build BUILD_DIR"""
import argparse, os, py_compile, re, shutil, subprocess, sys, tempfile, threading, time, types, zipfile
from pathlib import Path

sys.dont_write_bytecode = True
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CLIENT = os.path.join(TOP, "clients", "python")
sys.path[:0] = [os.path.join(TOP, "tests", "clients"), os.path.join(TOP, "tests", "faults"), CLIENT, os.path.join(CLIENT, "examples")]
from federation import Federation, LocalSite, check, run  # noqa: E402
from double import Double, answer  # noqa: E402
from lossy import Lossy  # noqa: E402
import heliostat  # noqa: E402

DOC = {"name": "python", "gpu": "H100:1", "run": "echo one; echo two"}
TRAIN = "echo begin $HELIO_EPOCH; while [ ! -e $HELIO_CHECKPOINT_DIR/go ]; do sleep 0.1; done; echo end $HELIO_EPOCH"


class Test:
    def __init__(self, federation):
        self.f = federation
        home = federation.path("home", ".config", "helio")
        os.makedirs(home)
        token = os.path.join(home, "token")
        with open(token, "w") as file:
            file.write(federation.env["HELIO_TOKEN"] + "\n")
        os.chmod(token, 0o600)
        with open(os.path.join(home, "config.yaml"), "w") as file:
            file.write(f"context: here\ncontexts:\n  - name: here\n    broker: {federation.env['HELIO_BROKER']}\n    token_file: token\n")
        self.environ = {name: value for name, value in os.environ.items() if not name.startswith("HELIO_")}
        self.environ.update(HOME=federation.path("home"), PYTHONPATH=CLIENT)
        self.environ.pop("XDG_CONFIG_HOME", None)
        found = heliostat.load_settings(environ=self.environ, directory=federation.dir)
        self.client = heliostat.Client(found.brokers, found.token)

    def go(self, job):
        """Lets a job go on that runs TRAIN."""
        folder = re.search(r"^dir (.*)$", b"".join(self.client.logs(job)).decode(), re.M)
        Path(folder.group(1), "go").touch()

    def train(self, name):
        return self.client.submit(dict(DOC, name=name, run="echo dir $HELIO_CHECKPOINT_DIR; " + TRAIN, retries=2)).id

    def submits(self):
        c = self.client
        check(c.whoami()["tenant"] == "demo", "another tenant")
        first, text = c.submit(DOC), c.submit("name: python\nrun: |\n  exit 3\n---\nname: python\nrun: 'true'\n")
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("name: python\nrun: echo file\narray: 0-2\n")
            file.flush()
            array = c.submit(Path(file.name))
        check([job["state"] for job in c.wait_all([first.id, *text.ids, array.id], timeout=60)] == ["succeeded", "failed", "succeeded", "succeeded"], "the ends")
        check(b"".join(c.logs(first.id)) == b"one\ntwo\n" == b"".join(c.logs(first.id, follow=True)), "the log")
        check(b"".join(c.logs(first.id, offset=4)) == b"two\n", "the log from an offset")
        check(c.job(text.ids[0])["exit_code"] == 3 and c.job(array.id)["tasks"] == {"succeeded": 3}, "how they ended")
        check(len(list(c.jobs(name="python", page=2))) == 6, "the pages of a list")
        for call, kind in ((lambda: c.wait(text.ids[0], check=True), heliostat.JobFailed), (lambda: b"".join(c.logs(array.id, follow=True)), heliostat.Conflict),
                           (lambda: c.job(first.id[:6]), heliostat.Ambiguous), (lambda: c.job("0" * 26), heliostat.NotFound),
                           (lambda: c.submit("run: a\ngpus: 1\n"), heliostat.Invalid), (lambda: c.submit(dict(DOC, gpu="B300:1")), heliostat.Infeasible),
                           (lambda: c.submit(DOC, idempotency_key=first.idempotency_key) and c.submit(dict(DOC, run="other"), idempotency_key=first.idempotency_key), heliostat.Conflict),
                           (lambda: heliostat.Client(c.settings.brokers, "hel_aaaaaaaaaaaa_" + "b" * 32).sites(), heliostat.Unauthenticated)):
            try:
                call()
            except kind as error:
                check(not isinstance(error, heliostat.Problem) or (error.code and error.detail), f"no code: {error!r}")
            else:
                raise SystemExit(f"{kind.__name__} is not raised")

    def commands(self):
        c = self.client
        later = c.submit(dict(DOC, placement={"not_before": "2040-01-01T00:00:00Z"})).id
        c.edit(later, priority=5, max_cost="40 USD")
        check([edit["field"] for edit in c.job(later)["edits"]] == ["priority", "max_cost"], f"the edits: {c.job(later)['edits']}")
        c.hold(later)
        check(c.job(later)["state"] == "held" and c.explain(later)["state"] == "held", "it is not held")
        c.release(later)
        check(c.explain(later)["detail"] and c.cancel(later)["status"], "no explanation")
        check(c.wait(later, timeout=20)["state"] == "cancelled", "it is not cancelled")
        plan = c.plan(DOC)
        check(plan["chosen"] == "north" and c.plan(DOC, drain="north")["chosen"] == "south" and c.plan(id=later, carbon=100, wait=1)["candidates"], f"the plan: {plan}")
        check({site["site"] for site in c.sites()} == {"north", "south"} and len(c.gpus()) == 2 and len(c.queues()) == 5 and c.quotas() is not None, "lists")
        check(c.report(days=1)["jobs_total"] >= 7 and list(c.audit(page=2)), "the report")

    def follows(self):
        """The output of two attempts, while the broker is killed and started again."""
        c, job = self.client, self.train("follows")
        got, seen, events = [], [], c.events(last_event_id="0")
        reader = threading.Thread(target=lambda: got.extend(c.logs(job, follow=True)), daemon=True)
        watcher = threading.Thread(target=lambda: seen.extend(take(events, lambda event: event.data.get("id") == job and event.data.get("to") == "succeeded")), daemon=True)
        waited = []
        waiter = threading.Thread(target=lambda: waited.append(c.wait(job)), daemon=True)
        for thread in (reader, watcher, waiter):
            thread.start()
        self.f.wait_for(lambda: b"begin 1" in b"".join(got), 30, "the first attempt says nothing")
        c.requeue(job)
        self.f.wait_for(lambda: b"begin 2" in b"".join(got), 40, f"the second attempt says nothing: {got}")
        self.f.kill("broker")
        self.f.start("broker")
        self.go(job)
        for thread in (reader, watcher, waiter):
            thread.join(60)
            check(not thread.is_alive(), f"it does not end; {got}, {c.job(job)}")
        text = re.sub(r"dir .*\n", "", b"".join(got).decode())
        check(text == "begin 1\nbegin 2\nend 2\n", f"the followed log: {text!r}")
        check(waited[0]["state"] == "succeeded", f"waited for {waited}")
        numbers = [int(event.id) for event in seen if event.kind == "transition"]
        check(numbers == sorted(set(numbers)), f"events twice, or in another order: {numbers}")
        transitions = [(event.data["epoch"], event.data["to"]) for event in seen if event.data.get("id") == job]
        check((1, "running") in transitions and (2, "running") in transitions, f"the transitions: {transitions}")

    def settings(self):
        """`helio` and this client choose the same broker and the same token, or both refuse, whatever files and variables there are."""
        one, two = Double(), Double()
        for double in (one, two):
            double.on("GET /v1/sites", answer(200, []))
        contexts = "contexts:\n  - name: a\n    broker: ONE\n    token: hel_a_a\n  - {name: b, broker: \"TWO\", token_file: 'token'}\n"
        cases = ({"user": "broker: ONE\ntoken: hel_u_u\n"}, {"user": "context: b\n" + contexts}, {"user": contexts, "HELIO_CONTEXT": "a"}, {"user": contexts},
                 {"user": "context: none\n" + contexts}, {"user": "context: a\n" + contexts, "HELIO_BROKER": "TWO"}, {"user": contexts, "HELIO_CONTEXT": "b", "HELIO_TOKEN": "hel_e_e"},
                 {"user": "broker: ONE\ntoken: hel_u_u\n", "here": "broker: TWO\n"}, {"user": "broker: TWO/\ntoken: hel_u_u\n", "here": "broker: TWO\n"},
                 {"here": "broker: TWO\ntoken: hel_h_h # its own\n", "user": "token: hel_u_u\nbroker: ONE\n"}, {"user": "broker: TWO, ONE\ntoken: hel_u_u\n"},
                 {"user": "context: a\n" + contexts, "here": "broker: TWO\n"}, {"user": "broker: ONE\ntoken: hel_u_u\n", "mode": 0o644}, {"HELIO_BROKER": "ONE", "HELIO_TOKEN_FILE": "none"},
                 {"user": "broker: ftp://a\n"}, {"user": "broker: ONE\ntimeout: 5\n"}, {"user": "# nothing\n"}, {"HELIO_BROKER": "ONE", "HELIO_TOKEN": "a b"})
        for number, case in enumerate(cases):
            home = self.f.path(f"settings-{number}")
            os.makedirs(os.path.join(home, "helio"))
            filled = {name: value.replace("ONE", one.url).replace("TWO", two.url) if isinstance(value, str) else value for name, value in case.items()}
            for name, path in (("user", "helio/config.yaml"), ("here", ".helio.yaml")):
                if name in filled:
                    Path(home, path).write_text(filled[name])
                    os.chmod(Path(home, path), case.get("mode", 0o600))
            Path(home, "helio", "token").write_text("hel_f_f\n")
            os.chmod(Path(home, "helio", "token"), 0o600)
            environ = {"PATH": os.environ["PATH"], "XDG_CONFIG_HOME": home, **{name: value for name, value in filled.items() if name.startswith("HELIO_")}}
            done = subprocess.run([self.f.tool("helio"), "sites", "-o", "json"], env=environ, cwd=home, capture_output=True, text=True)
            told = lambda: [[request.headers.get("authorization") for request in double.seen] for double in (one, two)]
            by_helio = done.returncode == 0, told()
            one.seen.clear(), two.seen.clear()
            try:
                found = heliostat.load_settings(environ=environ, directory=home)
                good = heliostat.Client(found.brokers, found.token or None).sites() == []
            except heliostat.SettingsError:
                good = False
            check(by_helio == (good, told()), f"helio and heliostat.py choose otherwise: {by_helio}, {good, told()} by {case}: {done.stderr[-300:]}")
            one.seen.clear(), two.seen.clear()

    def answers_are_lost(self):
        lossy = Lossy(self.f.env["HELIO_BROKER"])
        c = heliostat.Client(lossy.url, self.f.env["HELIO_TOKEN"])
        lossy.lose = 2
        done = c.submit(dict(DOC, name="lossy"))
        check(lossy.lost == 2 and done.existed == (True,), f"{lossy.lost} answers were lost: {done}")
        check([job["id"] for job in self.client.jobs(name="lossy")] == [done.id], "a lost answer gave two jobs")
        self.client.wait(done.id, timeout=30)
        job = self.train("lossy-cancel")
        self.f.wait_for(lambda: self.client.job(job)["state"] == "running", 30, "it does not run")
        lossy.lose = 1
        try:
            c.requeue(job)
            raise SystemExit("OutcomeUnknown is not raised")
        except heliostat.OutcomeUnknown:
            pass
        self.f.wait_for(lambda: self.client.job(job)["epoch"] == 2, 40, "the request whose answer was lost was not carried out")
        lossy.lose = 1
        c.cancel(job, now=True)
        check(self.client.wait(job, timeout=30)["state"] == "cancelled" and lossy.lost == 4, "it is not cancelled")

    def examples(self):
        path = self.f.write("example.yaml", "name: example\ngpu: H100:1\nrun: echo of the example\n")
        done = subprocess.run(["/usr/bin/python3", os.path.join(CLIENT, "examples", "submit_and_follow.py"), path], env=self.environ, cwd=self.f.dir, capture_output=True, text=True)
        check(done.returncode == 0 and done.stdout == "of the example\n" and "succeeded at north" in done.stderr, f"the example: {done}")
        wrong = self.f.write("wrong.yaml", "name: example\nrum: echo\n")
        done = subprocess.run(["/usr/bin/python3", os.path.join(CLIENT, "examples", "submit_and_follow.py"), wrong], env=self.environ, cwd=self.f.dir, capture_output=True, text=True)
        check(done.returncode == 2 and "did you mean" in done.stderr, f"a wrong job file: {done}")

    def airflow(self):
        """The operator with a stand-in for Airflow's classes."""
        said = []

        class BaseOperator:
            def __init__(self, **kwargs):
                self.log = types.SimpleNamespace(info=lambda text, *values: said.append(text % values))
        models, errors = types.ModuleType("airflow.models"), types.ModuleType("airflow.exceptions")
        models.BaseOperator, errors.AirflowException = BaseOperator, type("AirflowException", (Exception,), {})
        sys.modules.update({"airflow": types.ModuleType("airflow"), "airflow.models": models, "airflow.exceptions": errors})
        from heliostat_airflow import HeliostatOperator
        task = types.SimpleNamespace(dag_id="d", run_id="r", task_id="t", map_index=-1, try_number=1)
        make = lambda **job: HeliostatOperator(task_id="t", job=dict(DOC, name="airflow", **job), broker=self.client.settings.brokers[0], token=self.client.settings.token)
        operator = make()
        job = operator.execute({"ti": task})
        check(job["state"] == "succeeded" and said[-2:] == ["one", "two"], f"the operator: {job}, {said}")
        check(make().execute({"ti": task})["id"] == job["id"], "the same try gave another job")
        task.try_number = 2
        try:
            make(run="exit 7").execute({"ti": task})
            raise SystemExit("a failed job does not fail its task")
        except errors.AirflowException as error:
            check("exit code 7" in str(error), f"the error: {error}")

    def wheel(self):
        """The wheel has the one file; it is typed, and imports by itself."""
        folder = self.f.path("wheel")
        shutil.copytree(CLIENT, folder, ignore=shutil.ignore_patterns("__pycache__"))
        for path in Path(folder).rglob("*.py"):
            py_compile.compile(str(path), cfile=self.f.path("compiled"), doraise=True)
        version = re.search(r"project\(heliostat VERSION (\S+)", Path(TOP, "CMakeLists.txt").read_text()).group(1)
        check(heliostat.__version__ == version, f"heliostat.py is {heliostat.__version__}, the project {version}")
        build = "import sys; from setuptools import build_meta; print(build_meta.build_wheel(sys.argv[1]))"
        if subprocess.run(["/usr/bin/python3", "-P", "-c", "import setuptools, wheel"], stderr=subprocess.DEVNULL).returncode:
            print("SKIPPED: the wheel of the Python client: python3-setuptools or python3-wheel is not installed")
            return
        out = self.f.path("dist")
        os.mkdir(out)
        name = run("/usr/bin/python3", "-c", build, out, cwd=folder).splitlines()[-1]
        with zipfile.ZipFile(os.path.join(out, name)) as file:
            names = [one for one in file.namelist() if ".dist-info/" not in one]
            about = file.read(next(one for one in file.namelist() if one.endswith("METADATA"))).decode()
        check(names == ["heliostat.py"] and f"Version: {version}" in about and "Requires-Dist" not in about, f"the wheel has {names}: {about[:400]}")
        said = run("/usr/bin/python3", "-I", "-c", f"import sys; sys.path.insert(0, {os.path.join(out, name)!r}); import heliostat; print(heliostat.__file__)")
        check(name in said, f"imported from {said}")

    def types(self):
        if not os.access("/usr/bin/mypy", os.X_OK):
            print("SKIPPED: the types of the Python client: mypy is not installed")
            return
        run("/usr/bin/mypy", "--strict", "--python-version", "3.9", "--cache-dir", self.f.path("mypy"), os.path.join(CLIENT, "heliostat.py"),
            os.path.join(CLIENT, "examples", "submit_and_follow.py"), env=dict(self.environ, MYPYPATH=CLIENT))


def take(events, is_last):
    for event in events:
        yield event
        if is_last(event):
            return


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--build", required=True)
    options = args.parse_args()
    folder = tempfile.mkdtemp(prefix="helio-python-")
    federation = Federation(options.build, folder, [LocalSite("north", 2.0), LocalSite("south", 3.0)])
    federation.judged = True
    try:
        federation.up()
        test = Test(federation)
        for case in (test.settings, test.submits, test.commands, test.answers_are_lost, test.follows, test.examples, test.airflow, test.wheel, test.types):
            began = time.monotonic()
            case()
            print(f"ok {case.__name__} {time.monotonic() - began:.1f} s", flush=True)
        federation.judge()
    except SystemExit:
        print(federation.last_words(), file=sys.stderr)
        raise
    finally:
        federation.down()
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
