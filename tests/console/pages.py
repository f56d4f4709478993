#!/usr/bin/env python3
"""The console in a headless Chromium over a federation of real processes: runs the cases of the files *.test.mjs beside
this one.
  tests/console/pages.py --build BUILD_DIR [--shots FOLDER] [--pictures FOLDER] [--keep] [WORD…]
WORD: only the cases whose name contains it. --shots: pictures of every page, in both themes and as on a phone, go there.
--pictures: those of the README go there, and nothing else is done."""
import argparse, datetime, http.server, json, os, shutil, subprocess, sys, tempfile, threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "faults"))
from federation import OWNED, Federation, LocalSite, free_port  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))


class PlacedSite(LocalSite):
    """A site somewhere on the map, whose carbon intensity changes over the day by a file."""

    def __init__(self, name, place, grams, price, nodes=1):
        super().__init__(name, price)
        lat, lon, region, timezone = place
        self.grams, self.nodes = grams, nodes
        self.place = f"region: {region}\nlat: {lat}\nlon: {lon}\ntimezone: {timezone}\npue: 1.2\n"

    def site_keys(self):
        return (f"pools:\n  - {{name: h100, gpu: H100, memory: 80GB, nodes: {self.nodes}, gpus_per_node: 8, cpus_per_node: 64, {OWNED}}}\n"
                f"electricity_usd_per_kwh: {self.price}\n")

    def agent_keys(self, federation):
        hours = [datetime.datetime.now(datetime.timezone.utc).replace(minute=0, second=0, microsecond=0) + datetime.timedelta(hours=h)
                 for h in range(-24, 72)]
        lines = "".join(f"{hour:%Y-%m-%dT%H:%M:%SZ},{self.grams + 5 * (hour.hour % 12)}\n" for hour in hours)
        feed = federation.write(f"{self.name}/carbon.csv", "time,grams\n" + lines)
        return (super().agent_keys(federation) +
                f'  feeds:\n    - {{signal: carbon, source: csv, name: by-hour, path: "{feed}", value_column: grams}}\n')


SITES = [  # four of them are neighbours: their labels must not cover one another
    PlacedSite("lulea", (65.6, 22.2, "EU-SE", "Europe/Stockholm"), 30, 0.06),
    PlacedSite("frankfurt", (50.1, 8.7, "EU-DE", "Europe/Berlin"), 280, 0.10, nodes=2),
    PlacedSite("amsterdam", (52.4, 4.9, "EU-NL", "Europe/Amsterdam"), 330, 0.12),
    PlacedSite("paris", (48.9, 2.4, "EU-FR", "Europe/Paris"), 50, 0.09),
    PlacedSite("virginia", (39.0, -77.5, "US-VA", "America/New_York"), 370, 0.08),
    PlacedSite("brisbane", (-27.5, 153.0, "AU-QLD", "Australia/Brisbane"), 700, 0.11),
]


class Controls(http.server.BaseHTTPRequestHandler):
    """POST /kill/NAME and /start/NAME, by which the cases kill and start daemons."""
    federation = None

    def do_POST(self):
        _, verb, name = self.path.split("/")
        {"kill": self.federation.kill, "start": self.federation.start}[verb](name)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def controls(federation):
    Controls.federation = federation
    server = http.server.ThreadingHTTPServer(("127.0.0.1", free_port()), Controls)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def token(federation, role, user):
    out = federation.helio("token", "add", "--tenant", "demo", "--user", user, "--role", role, "-o", "json").stdout
    return json.loads(out)


def seed(federation):
    """Two more teams, quotas and budgets by the command line; what two weeks leave in the database, by seed.sql."""
    for name, home in (("robotics", "frankfurt"), ("genomics", "brisbane")):
        federation.helio("tenants", "set", name, "--home", home, "--weight", "2" if name == "robotics" else "1")
    for words in (("demo", "--guaranteed", "8", "--burst", "48", "--budget", "5000 USD/month", "--budget", "2000 gpu-h/month"),
                  ("robotics", "--guaranteed", "16", "--budget", "200 kg/month"),
                  ("demo", "--queue", "batch", "--guaranteed", "4")):
        federation.helio("quota", "set", *words)
    done = subprocess.run(["psql", "-qX1", "-v", "ON_ERROR_STOP=1", federation.database, "-f", os.path.join(HERE, "seed.sql")], text=True,
                          stderr=subprocess.PIPE)
    if done.returncode:
        raise SystemExit(f"seed.sql: {done.stderr}")


def check_tools():
    """What is missing is said before a federation is started."""
    browser = os.environ.get("HELIO_CHROMIUM", "/usr/bin/chromium")
    modules = os.environ.get("HELIO_MODULES", os.path.join(os.path.dirname(os.path.dirname(HERE)), "console", "package.json"))
    if not shutil.which("node"):
        raise SystemExit("there is no program `node`: deploy/packages/install.sh node")
    if not os.access(browser, os.X_OK):
        raise SystemExit(f"there is no browser {browser}: deploy/packages/install.sh console, or name one in HELIO_CHROMIUM")
    look = "const r = require('module').createRequire(process.argv[1]); r.resolve('playwright-core'); r.resolve('axe-core/axe.min.js')"
    if subprocess.run(["node", "-e", look, modules], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
        raise SystemExit(f"the modules playwright-core and axe-core are not in {os.path.dirname(modules)}/node_modules: "
                         "run `npm ci --ignore-scripts` there, or name the package.json beside them in HELIO_MODULES")


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--build", required=True)
    args.add_argument("--shots", default="")
    args.add_argument("--pictures", default="")
    args.add_argument("--keep", action="store_true", help="leave the federation running until Enter")
    args.add_argument("words", nargs="*")
    options = args.parse_args()
    check_tools()
    folder = tempfile.mkdtemp(prefix="helio-console-")
    federation = Federation(options.build, folder, SITES)
    try:
        federation.up()
        seed(federation)
        user, gone = token(federation, "user", "ana"), token(federation, "user", "leaver")
        env = dict(federation.env, HELIO_URL=federation.urls["broker"], HELIO_ADMIN=federation.env["HELIO_TOKEN"], HELIO_USER=user["token"],
                   HELIO_LEAVER=gone["token"], HELIO_LEAVER_ID=gone["token_id"], HELIO_CONTROLS=controls(federation),
                   HELIO_SHOTS=options.shots, HELIO_PICTURES=options.pictures, HELIO_DATABASE=federation.database, HELIO_TOOL=federation.tool("helio"))
        words = [f"--test-name-pattern={word}" for word in (["pictures:"] if options.pictures else options.words)]
        codes, results = [], []
        # the third kills what the others look at; the last submits thousands of jobs
        for cases in ("views.test.mjs", "operations.test.mjs", "pages.test.mjs", "many.test.mjs"):
            done = subprocess.run(["node", "--test", "--test-reporter=tap", *words, os.path.join(HERE, cases)], env=env, text=True,
                                  stdout=subprocess.PIPE)
            print("".join(f"{line[2:]}\n" for line in done.stdout.splitlines() if line.startswith("# ") and "a frame after" in line), end="")
            results += [line for line in done.stdout.splitlines() if line.startswith(("ok ", "not ok ")) and "# SKIP" not in line]
            codes.append(done.returncode)
            if done.returncode:
                print(done.stdout)
        failed = sum(line.startswith("not ok ") for line in results)
        print(f"{len(results) - failed} cases in a browser passed, {failed} failed")
        if options.keep:
            input(f"{env['HELIO_URL']}/console/ with {env['HELIO_ADMIN']}; Enter ends it")
        if any(codes):
            raise SystemExit(f"{federation.last_words()}\nthe console's pages: exit {codes}")
    finally:
        federation.down()
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
