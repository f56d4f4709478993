"""For each alert of deploy/prometheus/heliostat.rules.yml: series that make it fire and clear. promtool runs the rules over
them in virtual time, a sample a minute from 0 on."""

BROKER = 'instance="a:7480", job="heliostat"'


def one(name, labels=""):
    """The selector of a metric that one broker serves."""
    return f"{name}{{{labels + ', ' if labels else ''}{BROKER}}}"


def step(low, high, before=10, during=40, after=200):
    """low, then high, then low again."""
    return f"{low}x{before - 1} {high}x{during - 1} {low}x{after - 1}"


def slopes(slow, fast, before=10, during=40, after=200):
    """A counter that grows by `slow` a minute, then by `fast`, then by `slow`."""
    steep = slow * before
    late = steep + fast * during
    return f"0+{slow}x{before - 1} {steep}+{fast}x{during - 1} {late}+{slow}x{after - 1}"


SITE = 'site="north"'
UP = {one("helio_site_up", SITE): "1x400"}
LEASE = {one("helio_broker_lease_seconds"): "900x400"}
FREE = {one("helio_site_gpus_free", SITE): "8x400"}
LE = [(bound, one("helio_job_wait_seconds_bucket", f'tier="critical", le="{bound}"')) for bound in ("900", "3600", "+Inf")]

# alert: (series, the minute when it fires and did not before, the minute when it is over, labels beside alertname and severity)
ALERTS = {
    "HeliostatBrokerDown": ({'up{instance="a:7480", job="heliostat"}': step(1, 0)}, 13, 55, {"instance": "a:7480", "job": "heliostat"}),
    "HeliostatNoLeader": ({one("helio_broker_leader"): step(1, 0)}, 12, 55, {}),
    "HeliostatDatabaseAway": ({one("helio_broker_leader"): "1x400", one("helio_broker_ready"): step(1, 0)}, 12, 55,
                              {"instance": "a:7480", "job": "heliostat"}),
    "HeliostatDatabaseFull": ({one("helio_db_full"): step(0, 1)}, 11, 55, {"instance": "a:7480", "job": "heliostat"}),
    "HeliostatCommitsStopped": ({one("helio_engine_held_effects"): step(0, 5), one("helio_db_batches_total"): slopes(60, 0)}, 15, 55,
                                {"instance": "a:7480", "job": "heliostat"}),
    "HeliostatDatabaseSlow": ({one("helio_db_commit_seconds_sum"): slopes(1, 30), one("helio_db_commit_seconds_count"): "0+15x400"},
                              25, 70, {"job": "heliostat"}),
    "HeliostatDecisionsSlow": ({one("helio_engine_step_max_seconds"): step("0.01", 3)}, 25, 55, {"instance": "a:7480", "job": "heliostat"}),
    "HeliostatHttpErrors": ({one("helio_http_requests_total", 'route="GET /v1/jobs", code="503"'): slopes(0, 60),
                             one("helio_http_requests_total", 'route="GET /v1/jobs", code="200"'): "0+60x400"}, 25, 70, {"job": "heliostat"}),
    "HeliostatTokensRefused": ({one("helio_http_tokens_refused_total"): slopes(1, 600)}, 30, 70, {}),
    "HeliostatAuditBroken": ({one("helio_audit_broken"): step(0, 1)}, 11, 55, {}),
    "HeliostatAuditNotVerified": ({one("helio_audit_verified_timestamp_seconds"): "0x4400 264000x200"}, 4350, 4450, {}),
    "HeliostatSiteSilent": ({one("helio_site_up", SITE): step(1, 0), one("helio_site_draining", SITE): "0x400"}, 12, 55, {"site": "north"}),
    "HeliostatLeasesNearEnd": ({**LEASE, one("helio_site_message_age_seconds", SITE): "5x9 60+60x9 660+60x4 5x200"}, 20, 40, {"site": "north"}),
    "HeliostatSiteRefused": ({one("helio_site_refused", SITE): step(0, 1)}, 12, 55, {"site": "north"}),
    "HeliostatSiteOffersNothing": ({**UP, one("helio_site_pools", SITE): "2x400", one("helio_site_pools_withheld", SITE): step(1, 2)},
                                   30, 55, {"site": "north"}),
    "HeliostatSiteRefusesJobs": ({one("helio_refusals_total"): slopes(0, 3)}, 20, 75, {}),
    "HeliostatSiteMemoryLost": ({one("helio_site_memory_lost", SITE): step(0, 1)}, 11, 55, {"site": "north"}),
    "HeliostatSiteUnreconciled": ({one("helio_site_unreconciled", SITE): step(0, 1)}, 20, 55, {"site": "north"}),
    "HeliostatClockSkew": ({one("helio_site_clock_ahead_seconds", SITE): step(1, -90)}, 20, 55, {"site": "north"}),
    "HeliostatAgentRestarts": ({one("helio_agent_sessions_total"): slopes(0, 2), one("helio_sites"): "3x400"}, 30, 90, {}),
    "HeliostatReportsStuck": ({one("helio_agent_spool_reports"): "0x9 0+5x39 0x199"}, 40, 80, {}),
    "HeliostatFeedFailed": ({**UP, one("helio_feed_failed", SITE + ', signal="carbon_g_per_kwh"'): step(0, 1)}, 45, 55,
                            {"site": "north", "signal": "carbon_g_per_kwh"}),
    "HeliostatFeedOld": ({**UP, one("helio_forecast_age_seconds", SITE + ', signal="carbon_g_per_kwh"'): step(600, 90000)}, 25, 55,
                         {"site": "north", "signal": "carbon_g_per_kwh"}),
    "HeliostatEnergyUnbalanced": ({one("helio_energy_balance_ratio", SITE): step(1, "0.8", 10, 200)}, 140, 215, {"site": "north"}),
    "HeliostatJobsHeld": ({one("helio_jobs", 'state="held"'): step(5, 8), one("helio_jobs_held_by_people"): "5x400"}, 25, 55, {}),
    "HeliostatJobsSuspect": ({one("helio_jobs", 'state="suspect"'): step(0, 3)}, 20, 55, {}),
    "HeliostatQueueWait": ({LE[0][1]: slopes(10, 0), LE[1][1]: slopes(10, 10), LE[2][1]: slopes(10, 10)}, 49, 140, {"tier": "critical"}),
    "HeliostatNothingPlaced": ({**FREE, one("helio_jobs", 'state="queued"'): "4x400", one("helio_placements_total"): slopes(1, 0, 10, 120)},
                               115, 140, {}),
    "HeliostatBudgetNear": ({one("helio_budgets", 'kind="money", level="high"'): step(0, 1)}, 20, 55, {"kind": "money"}),
    "HeliostatBudgetFull": ({one("helio_budgets", 'kind="money", level="full"'): step(0, 1)}, 20, 55, {"kind": "money"}),
}
