#!/usr/bin/env python3
"""The boards of deploy/grafana on a database with history: every query runs as the reader role, names its columns, gives rows, and
has no column without a value.

    tests/integration/grafana.py --build BUILD_DIR [--keep]

Grafana's macros and variables are replaced as its PostgreSQL data source does. The history is that of tests/bench (years.sql), a
small one, with a few open jobs, a budget and what sites offer now (grafana.sql).
"""
import argparse, csv, glob, io, json, os, re, shutil, subprocess, sys, tempfile, time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BOARDS = os.path.join(TOP, "deploy/grafana/dashboards")
JOBS, DAYS = 20000, 2  # jobs over a year, and days of samples of sites: every board has something to show
LOOK_BACK_S = {"m": 60, "h": 3600, "d": 86400}
POINTS = 500          # of a graph: what Grafana divides its time range by

parser = argparse.ArgumentParser()
parser.add_argument("--build", required=True)
parser.add_argument("--keep", action="store_true")
args = parser.parse_args()
faults = []


def run(*command, **kw):
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kw)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


# ---- what Grafana does with a query

def quoted(values):
    return ",".join("'" + value.replace("'", "''") + "'" for value in values)


def expanded(sql, since_s, values):
    """The text that the data source sends, for a range that ends now."""
    interval = max(since_s // POINTS, 60)
    at = lambda s: time.strftime("'%Y-%m-%dT%H:%M:%SZ'", time.gmtime(s))
    now = time.time()
    sql = re.sub(r"\$__timeFilter\(([^()]+)\)", lambda m: f"{m[1]} BETWEEN {at(now - since_s)} AND {at(now)}", sql)
    sql = sql.replace("$__timeFrom()", at(now - since_s)).replace("$__timeTo()", at(now))
    sql = re.sub(r"\$__timeGroup\(([^(),]+), *\$__interval\)", lambda m: f"floor(extract(epoch from {m[1]})/{interval})*{interval}", sql)
    for name, chosen in values.items():
        sql = re.sub(rf"\$\{{{name}\}}|\${name}\b", lambda m: quoted(chosen), sql)
    return sql


def seconds_of(text):
    """now-24h"""
    number, unit = re.fullmatch(r"now-(\d+)([mhd])", text).groups()
    return int(number) * LOOK_BACK_S[unit]


class Database:
    def __init__(self, folder):
        self.folder, self.tool = folder, os.path.join(os.path.abspath(args.build), "helio-broker")
        os.chmod(folder, 0o755)
        self.conninfo = run(TOP + "/tests/postgres.sh", "up", folder + "/pg", env=dict(os.environ, HELIO_PGCONF="fsync = off")).strip()
        self.reader = self.conninfo.replace("user=postgres", "user=helio_reader")

    def fill(self):
        conf = os.path.join(self.folder, "broker.yaml")
        with open(conf, "w") as file:
            file.write(f'database: "{self.conninfo}"\nlisten_http: 127.0.0.1:1\nlisten_sites: tcp://127.0.0.1:1\n'
                       f"key_file: {self.folder}/broker.key\n")
        run(self.tool, "migrate", "--config", conf)
        end_ms = int(time.time() * 1000) - 600000
        bench = os.path.join(TOP, "tests/bench/")
        self.script(bench + "years_sites.sql", end_ms=end_ms, days=DAYS, sites=12)
        year_ms = 365 * 86400000
        self.script(bench + "years.sql", sites=12, start_ms=end_ms - year_ms, gap_ms=(year_ms - 6000000) // JOBS, base=0, key_every=25,
                    **{"from": 0, "to": JOBS - 1})
        self.script(os.path.join(TOP, "tests/integration/grafana.sql"))
        # the history was written without triggers
        since = f"helio.utc_hour(helio.ms_at({end_ms - year_ms})) - interval '2 days'"
        run("psql", "-qX", "-v", "ON_ERROR_STOP=1", "-c", "select helio.sum_up()", "-c",
            f"update helio.rolled set rolled_to = {since}, announced_to = {since}", self.conninfo)
        while run("psql", "-qXAt", "-v", "ON_ERROR_STOP=1", "-c", "select helio.roll_up(9999)", self.conninfo).strip() != "0":
            pass

    def script(self, path, **values):
        flags = [word for key, value in values.items() for word in ("-v", f"{key}={value}")]
        run("psql", "-qX", "-v", "ON_ERROR_STOP=1", *flags, "-f", path, self.conninfo)

    def ask(self, sql):
        """Column names and rows, by the reader role; an error is a text."""
        done = subprocess.run(["psql", "-qX", "--csv", "-v", "ON_ERROR_STOP=1", self.reader, "-c", sql], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode:
            return done.stderr.strip(), []
        rows = list(csv.reader(io.StringIO(done.stdout)))
        return rows[0], rows[1:]

    def down(self):
        subprocess.run([TOP + "/tests/postgres.sh", "down", self.folder + "/pg"], check=False)


def check_query(database, where, target, kind, sql):
    names, rows = database.ask(sql)
    if isinstance(names, str):
        faults.append(f"{where}: {names}\n    {sql}")
        return
    if len(set(names)) != len(names) or "?column?" in names:
        faults.append(f"{where}: its columns are {names}")
    if "$" in sql:
        faults.append(f"{where}: a macro or variable is left: {sql}")
    if not rows:
        faults.append(f"{where}: no rows\n    {sql}")
    for i, name in enumerate(names):
        if rows and not any(row[i] for row in rows):
            faults.append(f"{where}: {name} has no value")
    if kind == "timeseries" and (target["format"] != "time_series" or names[0] != "time"):
        faults.append(f"{where}: a graph needs the column time first, and the format time_series")


def check_board(database, path):
    with open(path) as file:
        board = json.load(file)
    since_s, name, values, asked = seconds_of(board["time"]["from"]), os.path.basename(path), {}, 0
    for variable in board["templating"]["list"]:
        names, rows = database.ask(variable["query"])
        if isinstance(names, str) or not rows:
            faults.append(f"{name}: the variable {variable['name']} has no values: {names}")
            continue
        chosen = [row[0] for row in rows]
        values[variable["name"]] = chosen if variable["multi"] else chosen[:1]
    places = set()
    for panel in board["panels"]:
        for target in panel["targets"]:
            asked += 1
            check_query(database, f"{name}, {panel['title']}", target, panel["type"], expanded(target["rawSql"], since_s, values))
            if target["datasource"]["uid"] != "heliostat":
                faults.append(f"{name}, {panel['title']}: another data source")
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        if places & cells or at["x"] + at["w"] > 24:
            faults.append(f"{name}, {panel['title']}: it covers another panel")
        places |= cells
    return asked


def main():
    began = time.monotonic()
    folder = tempfile.mkdtemp(prefix="helio-grafana-")
    database = None
    try:
        database = Database(folder)
        database.fill()
        paths = sorted(glob.glob(BOARDS + "/*.json"))
        asked = sum(check_board(database, path) for path in paths)
        with open(os.path.join(TOP, "deploy/grafana/provisioning/datasources/heliostat.yml")) as file:
            source = file.read()
        if "uid: heliostat\n" not in source or "user: helio_reader\n" not in source:
            faults.append("the data source is not the one of the boards, or not the reader role's")
    finally:
        if database and not args.keep:
            database.down()
            shutil.rmtree(folder)
    for fault in faults:
        print(fault)
    print(f"{asked} queries of {len(paths)} boards, {len(faults)} faults; {time.monotonic() - began:.0f} s")
    return 1 if faults or len(paths) != 5 else 0


sys.exit(main())
