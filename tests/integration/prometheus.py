#!/usr/bin/env python3
"""Prometheus and Alertmanager beside a real federation: what the broker serves, the rules of deploy/prometheus, and that each
alert fires and clears.

    tests/integration/prometheus.py --build BUILD_DIR [--keep]

1. promtool accepts the text of /metrics, the rules and the settings. Every metric that a rule names is one that the broker serves.
2. Every alert has its runbook, and fires and clears over recorded series in virtual time (prometheus_rules.py).
3. Faults of a federation make alerts fire at Alertmanager, and mending them makes them clear: a feed without its file, a clock that
   is wrong, a site that is silent, a budget, a changed audit, a database and a broker that are killed. The rules are the same, but
   for the time that an alert waits (`for`), which is a second here.
"""
import argparse, json, os, re, shutil, signal, subprocess, sys, tempfile, time, urllib.error, urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [HERE, os.path.join(HERE, "..", "faults")]
import hosts, prometheus_rules
from federation import TOP, check, free_port, run

RULES = os.path.join(TOP, "deploy/prometheus/heliostat.rules.yml")
RUNBOOKS = os.path.join(TOP, "docs/runbooks")
DEPRECATED = "Deprecated, removed in the next release"
FIRES_S, CLEARS_S = 45, 45  # a site is silent after 15 s, and its row is read every 5 s

parser = argparse.ArgumentParser()
parser.add_argument("--build", required=True)
parser.add_argument("--keep", action="store_true")
args = parser.parse_args()


# ---- the rules as text: no reader of YAML is needed for what they hold

def alerts_of(text):
    """{alert: (severity, expression, runbook)}"""
    found = {}
    for block in re.split(r"^ +- (?=alert: |record: )", text, flags=re.M)[1:]:
        name = re.match(r"alert: (\w+)", block)
        if not name:
            continue
        expression = re.search(r"expr: (?:>-\n)?(.*?)^ +(?:for|labels):", block, re.S | re.M).group(1)
        found[name.group(1)] = (re.search(r"severity: (\w+)", block).group(1), expression, re.search(r"runbook: (\S+)", block).group(1))
    return found


def metrics_of(expression):
    return set(re.findall(r"(?<![:\w])helio_\w+", expression))


def base(name, served):
    """The metric whose histogram or summary has this series."""
    stem = re.sub(r"_(bucket|sum|count)$", "", name)
    return name if name in served else stem


# ---- 1: names

def check_names(text, rules):
    with open(os.path.join(TOP, "docs/reference/metrics.md")) as page:  # generated from the same code
        served = set(re.findall(r"^\| `(helio_\w+)`", page.read(), re.M))
    shown = set(re.findall(r"^# TYPE (helio_\w+)", text, re.M))
    check(shown - served == set(), f"the broker serves what its reference page lacks: {shown - served}")
    deprecated = set(re.findall(rf"^# HELP (helio_\w+) {DEPRECATED}", text, re.M))
    for source, names in (("the rules", metrics_of(rules)), ("prometheus_rules.py", metrics_of(str(prometheus_rules.ALERTS)))):
        unknown = {name for name in names if base(name, served) not in served}
        check(not unknown, f"{source}: the broker does not serve {unknown}")
        check(not names & deprecated, f"{source}: {names & deprecated} will be removed")
    for name, label, value in re.findall(r'(helio_\w+)\{(state|level|tier)="(\w+)"', rules):
        check(re.search(rf'^{name}(_bucket)?\{{[^}}]*{label}="{value}"', text, re.M), f"no {name} has {label}={value}")
    linted = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
    faults = [line for line in linted.splitlines() if line.split(" ")[0] not in deprecated]
    check(not faults, "promtool check metrics:\n" + "\n".join(faults))
    return len(shown)


# ---- 2: virtual time

def check_runbooks(alerts):
    for name, (severity, _expression, runbook) in alerts.items():
        path = os.path.join(TOP, runbook)
        check(os.path.exists(path), f"{name}: there is no {runbook}")
        with open(path) as file:
            page = file.read()
        check(page.startswith(f"# {name}\n\nSeverity: {severity}."), f"{runbook} does not begin with the alert and its severity")
        for part in ("Symptom", "Check", "Fix", "Verify"):
            check(f"\n## {part}\n" in page, f"{runbook} has no part '{part}'")
    with open(os.path.join(RUNBOOKS, "README.md")) as file:
        listed = dict(re.findall(r"^\| (Heliostat\w+) \| (\w+) \|", file.read(), re.M))
    check(listed == {name: parts[0] for name, parts in alerts.items()}, "docs/runbooks/README.md does not list exactly the alerts of the rules")
    pages = {os.path.basename(parts[2]) for parts in alerts.values()} | {"README.md"}
    check(set(os.listdir(RUNBOOKS)) == pages, f"pages without an alert: {set(os.listdir(RUNBOOKS)) - pages}")


def labels_of(name, severity, labels):
    return ", ".join(f'{key}="{value}"' for key, value in {"alertname": name, "alertstate": "firing", "severity": severity, **labels}.items())


def check_virtual(folder, alerts):
    missing = set(alerts) ^ set(prometheus_rules.ALERTS)
    check(not missing, f"not in both the rules and prometheus_rules.py: {missing}")
    tests = []
    for name, (series, fires, over, labels) in prometheus_rules.ALERTS.items():
        firing = [{"labels": f"ALERTS{{{labels_of(name, alerts[name][0], labels)}}}", "value": 1}]
        ask = f'ALERTS{{alertname="{name}", alertstate="firing"}}'
        tests.append({"name": name, "interval": "1m", "input_series": [{"series": key, "values": values} for key, values in series.items()],
                      "promql_expr_test": [{"expr": ask, "eval_time": f"{at}m", "exp_samples": samples}
                                           for at, samples in ((9, []), (fires, firing), (over, []))]})
    path = os.path.join(folder, "rules.test.json")  # JSON is YAML
    with open(path, "w") as file:
        json.dump({"rule_files": [RULES], "evaluation_interval": "1m", "tests": tests}, file)
    done = subprocess.run(["promtool", "test", "rules", path], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    check(done.returncode == 0, f"promtool test rules:\n{done.stdout[-6000:]}")


# ---- 3: a federation

class Monitor:
    """Prometheus and Alertmanager of this machine, on ports of their own."""
    def __init__(self, federation):
        self.f, self.procs = federation, []
        self.prometheus, self.alertmanager = (f"127.0.0.1:{free_port()}" for _ in range(2))
        with open(os.path.join(TOP, "deploy/prometheus/prometheus.yml")) as file:
            settings = file.read()
        with open(RULES) as file:
            rules = re.sub(r"^( +)for: \w+$", r"\1for: 1s", file.read(), flags=re.M)
        federation.write("heliostat.rules.yml", rules)
        federation.write("heliostat.token", federation.env["HELIO_TOKEN"])
        settings = settings.replace("127.0.0.1:9093", self.alertmanager).replace("127.0.0.1:7480", federation.urls["broker"][len("http://"):])
        settings = re.sub(r"_interval: 15s", "_interval: 1s", settings)
        self.settings = federation.write("prometheus.yml", settings)

    def start(self):
        shutil.copy(os.path.join(TOP, "deploy/prometheus/alertmanager.yml"), self.f.path("alertmanager.yml"))
        run("promtool", "check", "config", self.settings)
        run("amtool", "check-config", self.f.path("alertmanager.yml"))
        self.begin("alertmanager", "prometheus-alertmanager", "--config.file", self.f.path("alertmanager.yml"), "--storage.path",
                   self.f.path("alertmanager"), "--web.listen-address", self.alertmanager, "--cluster.listen-address", "")
        self.begin("prometheus", "prometheus", "--config.file", self.settings, "--storage.tsdb.path", self.f.path("tsdb"),
                   "--web.listen-address", self.prometheus, "--rules.alert.resend-delay", "1s")

    def begin(self, name, *command):
        log = open(self.f.path(f"{name}.log"), "ab")
        self.procs.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True))

    def stop(self):
        for proc in self.procs:
            proc.terminate()
        for proc in self.procs:
            try:
                proc.wait(10)
            except subprocess.TimeoutExpired:
                proc.kill()
                proc.wait()

    def firing(self):
        """{(alert, site)} of the alerts that Alertmanager holds."""
        try:
            with urllib.request.urlopen(f"http://{self.alertmanager}/api/v2/alerts?active=true&inhibited=true", timeout=5) as answer:
                return {(alert["labels"]["alertname"], alert["labels"].get("site")) for alert in json.load(answer)}
        except OSError:
            return set()

    def await_alerts(self, wanted, fires, seconds):
        left = set(wanted)
        deadline = time.monotonic() + seconds
        while left:
            now = self.firing()
            left = {alert for alert in left if (alert in now) != fires}
            check(not left or time.monotonic() < deadline,
                  f"after {seconds} s {'do not fire' if fires else 'still fire'}: {left}; these fire: {now}; {self.why()}")
            time.sleep(0.2)

    def why(self):
        """What Prometheus says of its targets, for the report of a fault."""
        try:
            with urllib.request.urlopen(f"http://{self.prometheus}/api/v1/targets", timeout=5) as answer:
                return [(target["health"], target["lastError"]) for target in json.load(answer)["data"]["activeTargets"]]
        except OSError as error:
            return str(error)


def page_of(f):
    asked = urllib.request.Request(f.urls["broker"] + "/metrics", headers={"Authorization": f"Bearer {f.env['HELIO_TOKEN']}"})
    with urllib.request.urlopen(asked, timeout=10) as answer:
        return answer.read().decode()


class FedSite(hosts.Site):
    """A site whose carbon comes from a file that does not exist yet."""
    def agent_keys(self, federation):
        self.feed = federation.path(self.name, "carbon.csv")
        return super().agent_keys(federation) + f"  feeds: [{{signal: carbon, source: csv, name: grid, path: {self.feed}}}]\n"

    def write_feed(self):
        hour = int(time.time()) // 3600 * 3600
        with open(self.feed, "w") as file:
            file.write("time,value\n")
            for back in range(48, -1, -1):
                file.write(time.strftime("%Y-%m-%dT%H:00:00Z", time.gmtime(hour - back * 3600)) + f",{100 + back}\n")


def tamper(f, change):
    """Changes an entry of the audit, as only the owner of the database can; then an administrator verifies."""
    done = f.sql("begin; alter table helio.audit disable trigger append_only; "
                 f"update helio.audit set actor = {change} where audit_id = 1; alter table helio.audit enable trigger append_only; commit")
    check(done is not None, "the audit cannot be changed")
    return f.helio("audit", "verify", check=False)


def restart(f, name):
    f.kill(name)
    f.start(name)


def faults_of_sites(f, m, fed, away, skewed):
    """Several faults at once, since each takes its time to be seen."""
    wanted = {("HeliostatFeedFailed", fed.name), ("HeliostatSiteSilent", away.name), ("HeliostatAuditBroken", None), ("HeliostatBudgetNear", None)}
    f.kill(away.name)
    check("does not match" in tamper(f, "actor || '!'").stderr, "a changed entry of the audit is not found")
    f.helio("quota", "set", "demo", "--budget", "100 USD/month")
    f.submit_one(name="spender", gpu="H100:1", time="1h", run="exec sleep 600")  # foreseen: 85 USD
    if skewed.has_clock:
        skewed.clock.set(-120)
        wanted.add(("HeliostatClockSkew", skewed.name))
    m.await_alerts(wanted, True, FIRES_S)
    f.start(away.name)
    fed.write_feed()
    restart(f, fed.name)  # a restart asks at once; otherwise after a minute
    check("intact" in tamper(f, "left(actor, -1)").stderr, "the audit is not whole again")
    f.helio("quota", "set", "demo", "--budget", "none")
    if skewed.has_clock:
        skewed.clock.set(0)
    m.await_alerts(wanted, False, CLEARS_S)
    return wanted


def fault_of_the_database(f, m):
    wanted = {("HeliostatDatabaseAway", None)}
    f.kill("postgres")
    m.await_alerts(wanted, True, FIRES_S)
    f.revive("postgres")
    m.await_alerts(wanted, False, CLEARS_S)
    return wanted


def fault_of_the_broker(f, m):
    wanted = {("HeliostatBrokerDown", None), ("HeliostatNoLeader", None)}
    f.kill("broker")
    m.await_alerts(wanted, True, FIRES_S)
    f.start("broker")
    m.await_alerts(wanted, False, CLEARS_S)
    return wanted


def main():
    for tool in ("promtool", "amtool", "prometheus", "prometheus-alertmanager"):
        if not shutil.which(tool):
            print(f"SKIPPED: alerts: {tool} is not installed (Debian: the packages of deploy/packages/prometheus.txt)")
            return 77
    began = time.monotonic()
    folder = tempfile.mkdtemp(prefix="helio-prometheus-")
    with open(RULES) as file:
        rules = file.read()
    alerts = alerts_of(rules)
    run("promtool", "check", "rules", "--lint-fatal", RULES)
    check_runbooks(alerts)
    check_virtual(folder, alerts)
    sites = [FedSite("fed", 80.0), hosts.Site("away", 85.0), hosts.Site("skewed", 85.0, clock=bool(hosts.FAKETIME))]
    if not hosts.FAKETIME:
        print("SKIPPED: the wrong clock of a site: libfaketime is not installed")
    f = hosts.Hosts(args.build, folder, sites)
    m = None
    try:
        f.up()
        f.helio("audit", "verify")
        shown = check_names(page_of(f), rules)
        m = Monitor(f)
        m.start()
        fired = faults_of_sites(f, m, *sites) | fault_of_the_database(f, m) | fault_of_the_broker(f, m)
    finally:
        if m:
            m.stop()
        f.down()
    if not args.keep:
        shutil.rmtree(folder)
    print(f"{shown} metrics; {len(alerts)} alerts fire and clear over recorded series, {len(fired)} of them by faults of a federation; "
          f"{time.monotonic() - began:.0f} s")
    return 0


sys.exit(main())
