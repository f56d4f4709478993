"""The queries of dashboards, and those of deploy/grafana: each over a day and over 30 days, by the operator's reader and by that of one tenant."""
import glob, json, os, random, re, statistics, subprocess

DAY_GOAL_MS, MONTH_GOAL_MS = 200, 1000  # at ten million jobs
TENANT, READER = "tenant7", "bench_reader"
WAITING_TENANT = "demo"  # whose jobs wait: it has used nothing yet, so no board offers its name

# {range}: of the column `time`, which each of these views has.
QUERIES = (
    ("money, kWh, CO2e by tenant", "select time, tenant, sum(cost_usd), sum(energy_kwh), sum(carbon_g) from usage_daily where {range} group by 1, 2"),
    ("money, kWh, CO2e by site", "select time, site, sum(cost_usd), sum(energy_kwh), sum(carbon_g) from usage_daily where {range} group by 1, 2"),
    ("use by queue and GPU", "select time, queue, gpu_model, sum(gpu_seconds), sum(jobs) from usage_daily where {range} group by 1, 2, 3"),
    ("usage_daily, every row", "select * from usage_daily where {range}"),
    ("saved by baseline", "select time, baseline, sum(carbon_g_saved), sum(cost_usd_saved) from savings_daily where {range} group by 1, 2"),
    ("ledger by hour and site", "select time, site, sum(cost_usd), sum(energy_kwh), sum(carbon_g) from ledger_hourly where {range} group by 1, 2"),
    ("ledger by price source", "select price_source, sum(cost_usd) from ledger_hourly where {range} group by 1"),
    ("balance by hour", "select time, site, jobs_kwh, idle_kwh, meter_kwh, difference_ratio from energy_balance where {range}"),
    ("utilisation by hour", "select time, site, allocated_ratio, units_per_gpu_hour from utilization_hourly where {range}"),
    ("waiting times", "select time, queue, sum(jobs), max(wait_p95_seconds) from queue_wait where {range} group by 1, 2"),
    ("what waits, and why", "select time, queue, reason, sum(jobs) from queue_waiting where {range} group by 1, 2, 3"),
    ("jobs by state", "select state, sum(jobs) from jobs_hourly where {range} group by 1"),
    ("failed jobs", "select reason, sum(jobs) from jobs_hourly where {range} and state = 'failed' group by 1"),
    ("newest 100 jobs", "select * from jobs where submitted_at >= {since} and submitted_at < {until} order by submitted_at desc limit 100"),
    ("state changes by hour", "select time, to_state, sum(changes) from job_transitions_hourly where {range} group by 1, 2"),
    ("placements by site", "select site, sum(placements), sum(planned_cost_usd) from placements_hourly where {range} group by 1"),
    ("candidates by site", "select site, rejected_reason, sum(candidates), sum(score_usd * candidates) / sum(candidates) from placement_candidates_hourly where {range} group by 1, 2"),
    ("migrations", "select * from migrations where {range}"),
    ("errors of durations", "select * from duration_error where {range}"),
    ("power and carbon of sites", "select time, site, avg(power_watts), avg(carbon_g_per_kwh) from site_energy_hourly where {range} group by 1, 2"),
    ("prices of sites", "select time, site, avg(price_usd_per_gpu_h) from site_price_hourly where {range} group by 1, 2"),
    ("budgets", "select * from budgets"),
)
OF_A_JOB = ("jobs", "job_transitions", "placements", "placement_candidates", "edits", "migrations", "ledger")


DASHBOARDS = os.path.join(os.path.dirname(__file__), "../../deploy/grafana/dashboards")
POINTS = 500  # of a graph: what Grafana divides its time range by


def _of_grafana(sql):
    """[(name, query)]: the macros and variables of each target are replaced as its data source does; every site and tenant is chosen, or one where only one can be."""
    found = []
    for path in sorted(glob.glob(DASHBOARDS + "/*.json")):
        with open(path) as file:
            board = json.load(file)
        chosen = {v["name"]: sql(v["query"]).splitlines()[:None if v["multi"] else 1] for v in board["templating"]["list"]}
        chosen = {name: values + [WAITING_TENANT] if name == "tenant" else values for name, values in chosen.items()}
        for panel in board["panels"]:
            for target in panel["targets"]:
                query = target["rawSql"].replace("{", "{{").replace("}", "}}")
                query = re.sub(r"\$__timeFilter\(([^()]+)\)", r"\1 between {since} and {until}", query)
                query = query.replace("$__timeFrom()", "{since}").replace("$__timeTo()", "{until}")
                query = re.sub(r"\$__timeGroup\(([^(),]+), *\$__interval\)", r"floor(extract(epoch from \1)/{step})*{step}", query)
                for name, values in chosen.items():
                    query = query.replace("$" + name, ",".join(f"'{value}'" for value in values))
                found.append((f"{board['title'].split()[-1]}: {panel['title']}"[:44], query))
    return found


def _times_ms(conninfo, role, queries, processor):
    """Planning and execution of each query, in one session: elapsed, or what they took of a processor; None: it was cancelled."""
    settings = subprocess.run(["psql", "-qXAt", conninfo, "-c", f"select format('set %s = %L', split_part(c, '=', 1), split_part(c, '=', 2)) "
                               f"from pg_roles, unnest(rolconfig) c where rolname = '{role}' and c !~ '^temp_file_limit'"], check=True, text=True,
                              stdout=subprocess.PIPE).stdout.splitlines()  # as a login of the role has them
    script = [f"set role {role}; set search_path = helio_report; " + "; ".join(settings)]
    if processor:
        script = ["set max_parallel_workers_per_gather = 0"] + script + ["reset role; set client_min_messages = log", "set log_statement_stats = on",
                                                                        f"set role {role}"]
    done = subprocess.run(["psql", "-qXAt", conninfo] + [word for line in script + ["explain (analyze, timing off, format json) " + q for q in queries]
                                                         for word in ("-c", line)], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    plans = [json.loads(text)[0] for text in re.findall(r"^\[.*?^\]$", done.stdout, re.S | re.M)]
    if not processor or len(plans) < len(queries):
        return [plan["Planning Time"] + plan["Execution Time"] for plan in plans] or None
    used = re.findall(r"^!\s+([0-9.]+) s user, ([0-9.]+) s system, [0-9.]+ s elapsed$", done.stderr, re.M)
    return [1000 * (float(user) + float(system)) for user, system in used[-len(queries):]]


def _line(name, days, goal_ms, times):
    shown = []
    for role_times in times:
        if not role_times:
            shown.append("   over 30 s        ")
            continue
        p95 = sorted(role_times)[min(len(role_times) - 1, int(len(role_times) * 0.95))]
        shown.append(f"{statistics.median(role_times):9.1f} {p95:9.1f} {'over' if p95 > goal_ms else '    '}")
    print(f"  {name:44} {days:>8} " + " | ".join(shown), flush=True)


def measure(sql, conninfo, runs, match, last_days, processor):
    """Each run is of another stretch of the last days, the last one up to now, as boards open; the first one is not counted."""
    sql(f"do $$ begin if not exists (select from pg_roles where rolname = '{READER}') then "
        f"perform helio.put_reader('{READER}', '{{{TENANT}}}'); end if; end $$")
    roles, rng = ("helio_reader", READER), random.Random(1)
    print(f"  {'dashboard query, ms':44} {'':>8} {'operator: p50':>9}       p95 goal | tenant: p50       p95 goal", flush=True)
    for name, query in QUERIES + tuple(_of_grafana(sql)):
        if match and not re.search(match, name):
            continue
        for days, goal_ms in ((1, DAY_GOAL_MS), (30, MONTH_GOAL_MS)) if re.search("{(range|since|until)}", query) else ((0, DAY_GOAL_MS),):
            ends = [rng.randrange(0, last_days - days) for _ in range(runs)] + [0]
            stretches = [{"since": f"(now() - interval '{end + days} days')", "until": f"(now() - interval '{end} days')"} for end in ends]
            stretches = [s | {"step": max(days * 86400 // POINTS, 60), "range": f"time >= {s['since']} and time < {s['until']}"} for s in stretches]
            times = [_times_ms(conninfo, role, [query.format(**s) for s in stretches], processor) for role in roles]
            _line(name, f"{days} days" if days else "", goal_ms, [t and t[1:] for t in times])
    ids = sql(f"select helio.job_text(job_id, -1) from (select job_id from helio.jobs tablesample system (0.01) where tenant = '{TENANT}' "
              f"limit {runs + 1}) j").splitlines()
    for view in OF_A_JOB:
        if ids and (not match or re.search(match, view)):
            times = [_times_ms(conninfo, role, [f"select * from {view} where job_id = '{job}'" for job in ids], processor) for role in roles]
            _line(f"one job in {view}", "", 50, [t and t[1:] for t in times])
