/*  columns.c -- the tables of columns. */
#include "client/output/columns.h"

#define T HELIO_CELL_TEXT
#define N HELIO_CELL_COUNT
#define F HELIO_CELL_NUMBER
#define COLUMNS(array, name)                        \
    {                                               \
        array, sizeof array / sizeof array[0], name \
    }

static const helio_column_t jobs[] = {
    {"ID", "id", HELIO_CELL_ID, false},
    {"NAME", "name", T, false},
    {"TENANT", "tenant", T, true},
    {"USER", "user", T, true},
    {"QUEUE", "queue", T, false},
    {"KIND", "kind", T, true},
    {"TIER", "tier", T, true},
    {"STATE", "state", HELIO_CELL_STATE, false},
    {"SITE", "site", T, false},
    {"POOL", "pool", T, true},
    {"GPUS", "gpus", N, false},
    {"MODEL", "gpu_model", T, true},
    {"AGE", "submitted_at", HELIO_CELL_AGE, false},
    {"RUN", "run_seconds", HELIO_CELL_SECONDS, false},
    {"EXIT", "exit_code", N, true},
    {"ATTEMPTS", "attempts", N, true},
    {"COST", "cost_usd", HELIO_CELL_MONEY, true},
    {"ENERGY", "energy_kwh", HELIO_CELL_ENERGY, true},
    {"CO2E", "carbon_g", HELIO_CELL_CARBON, true},
    {"REASON", "reason", T, false},
    {"EXPECTED-START", "expected_start", HELIO_CELL_START, true},
    {"LABELS", "labels", HELIO_CELL_PAIRS, true},
};
const helio_columns_t helio_columns_of_jobs = COLUMNS(jobs, "id");

static const helio_column_t job[] = {
    {"Id", "id", HELIO_CELL_ID, false},
    {"Name", "name", T, false},
    {"State", "state", HELIO_CELL_STATE, false},
    {"Reason", "reason", T, false},
    {"Detail", "detail", HELIO_CELL_SAID, false},
    {"Expected start", "expected_start", HELIO_CELL_START, false},
    {"Exit code", "exit_code", N, false},
    {"Tenant", "tenant", T, false},
    {"User", "user", T, false},
    {"Labels", "labels", HELIO_CELL_PAIRS, false},
    {"Queue", "queue", T, false},
    {"Priority", "priority", N, true},
    {"Kind", "kind", T, false},
    {"Tier", "tier", T, false},
    {"Site", "site", T, false},
    {"Pool", "pool", T, false},
    {"Home site", "home_site", T, false},
    {"GPUs", "gpus", N, false},
    {"GPU model", "gpu_model", T, false},
    {"Nodes", "nodes", N, false},
    {"Time limit", "time_limit_s", HELIO_CELL_SECONDS, false},
    {"Goal", "goal", T, false},
    {"May wait", "flexible_s", HELIO_CELL_SECONDS, false},
    {"Deadline", "deadline", HELIO_CELL_START, false},
    {"Max cost", "max_cost_usd", HELIO_CELL_MONEY, false},
    {"Max g/kWh", "max_carbon_g_per_kwh", F, false},
    {"Attempts", "attempts", N, false},
    {"Epoch", "epoch", N, true},
    {"Tasks", "tasks_total", N, false},
    {"Submitted", "submitted_at", HELIO_CELL_TIME, false},
    {"Started", "started_at", HELIO_CELL_TIME, false},
    {"Finished", "finished_at", HELIO_CELL_TIME, false},
    {"Waited", "wait_seconds", HELIO_CELL_SECONDS, false},
    {"Ran", "run_seconds", HELIO_CELL_SECONDS, false},
    {"Saved", "saved_seconds", HELIO_CELL_SECONDS, false},
    {"GPU time", "gpu_seconds", HELIO_CELL_SECONDS, false},
    {"Cost", "cost_usd", HELIO_CELL_MONEY, false},
    {"Energy", "energy_kwh", HELIO_CELL_ENERGY, false},
    {"CO2e", "carbon_g", HELIO_CELL_CARBON, false},
};
const helio_columns_t helio_columns_of_job = COLUMNS(job, "id");

static const helio_column_t history[] = {
    /* clang-format off */
    {"TIME", "time", HELIO_CELL_TIME, false},
    {"EPOCH", "epoch", N, false},
    {"FROM", "from|from_state", T, false},
    {"TO", "to|to_state", HELIO_CELL_STATE, false},
    {"REASON", "reason", T, false},
    {"ACTOR", "actor", T, false},
    /* clang-format on */
};
const helio_columns_t helio_columns_of_history = COLUMNS(history, "time");

static const helio_column_t edits[] = {
    /* clang-format off */
    {"TIME", "time", HELIO_CELL_TIME, false}, {"FIELD", "field", T, false}, {"FROM", "from", HELIO_CELL_SAID, false},
    {"TO", "to", HELIO_CELL_SAID, false},
    {"ACTOR", "actor", T, false},
    /* clang-format on */
};
const helio_columns_t helio_columns_of_edits = COLUMNS(edits, "field");

static const helio_column_t candidates[] = {
    {"", "chosen", T, false},
    {"SITE", "site", T, false},
    {"POOL", "pool", T, false},
    {"START", "start", HELIO_CELL_START, false},
    {"COST", "cost_usd", HELIO_CELL_MONEY, false},
    {"ENERGY", "energy_kwh", HELIO_CELL_ENERGY, false},
    {"CO2E", "carbon_g", HELIO_CELL_CARBON, false},
    {"SCORE", "score_usd", HELIO_CELL_MONEY, false},
    {"WHY", "why", HELIO_CELL_SAID, false},
};
const helio_columns_t helio_columns_of_candidates = COLUMNS(candidates, "site");

static const helio_column_t plan[] = {
    {"", "chosen", T, false},
    {"SITE", "site", T, false},
    {"POOL", "pool", T, false},
    {"BACKEND", "backend", T, true},
    {"START", "start", HELIO_CELL_START, false},
    {"COST", "cost_usd", HELIO_CELL_MONEY, false},
    {"ENERGY", "energy_kwh", HELIO_CELL_ENERGY, false},
    {"CO2E", "carbon_g", HELIO_CELL_CARBON, false},
    {"SCORE", "score_usd", HELIO_CELL_MONEY, false},
    {"WHY", "why", HELIO_CELL_SAID, false},
};
const helio_columns_t helio_columns_of_plan = COLUMNS(plan, "site");

static const helio_column_t events[] = {
    {"SEQ", "seq", N, true},
    {"TIME", "time", HELIO_CELL_TIME, false},
    {"ID", "id|job_id|job", HELIO_CELL_ID, false},
    {"NAME", "name", T, false},
    {"TENANT", "tenant", T, true},
    {"QUEUE", "queue", T, true},
    {"EPOCH", "epoch", N, true},
    {"FROM", "from|from_state", T, false},
    {"TO", "to|to_state|state", HELIO_CELL_STATE, false},
    {"SITE", "site", T, false},
    {"REASON", "reason", T, false},
    {"ACTOR", "actor", T, true},
};
const helio_columns_t helio_columns_of_events = COLUMNS(events, "id|job_id|job");

static const helio_column_t sites[] = {
    {"SITE", "site", T, false},
    {"REGION", "region", T, true},
    {"BACKEND", "backend", T, false},
    {"STATE", "state", HELIO_CELL_STATE, false},
    {"SEEN", "seen_s", HELIO_CELL_SECONDS, false},
    {"FREE", "gpus_free", N, false},
    {"GPUS", "gpus_total", N, false},
    {"RESERVED", "gpus_reserved", N, true},
    {"RUNNING", "jobs_running", N, false},
    {"G/KWH", "carbon_g_per_kwh", F, false},
    {"USD/GPUH", "price_usd_per_gpu_h", F, false},
    {"USD/KWH", "electricity_usd_per_kwh", F, true},
    {"PUE", "pue", F, false},
    {"WATTS", "power_watts", F, true},
    {"AGENT", "agent_version", T, true},
    {"DRAIN-REASON", "drain_reason", T, true},
    {"CURTAILED-%", "curtailed_to_percent", N, true},
    {"REFUSED", "refused", T, true},
};
const helio_columns_t helio_columns_of_sites = COLUMNS(sites, "site");

static const helio_column_t gpus[] = {
    {"GPU", "gpu_model", T, false},
    {"MEMORY-GB", "gpu_memory_gb", N, true},
    {"SITE", "site", T, false},
    {"POOL", "pool", T, false},
    {"FREE", "gpus_free", N, false},
    {"TOTAL", "gpus_total", N, false},
    {"RESERVED", "gpus_reserved", N, true},
    {"LARGEST", "largest_block_gpus", N, false},
    {"NODES", "nodes", N, true},
    {"LINK", "interconnect", T, true},
    {"SHARING", "sharing", T, true},
    {"USD/GPUH", "price_usd_per_gpu_h", F, false},
    {"STATE", "site_state", HELIO_CELL_STATE, false},
    {"CURTAILED-%", "curtailed_to_percent", N, true},
};
const helio_columns_t helio_columns_of_gpus = COLUMNS(gpus, "gpu_model");

static const helio_column_t forecast[] = {
    {"SITE", "site", T, false},
    {"SIGNAL", "signal", T, false},
    {"POOL", "pool", T, true},
    {"NOW", "now", F, false},
    {"MIN", "min", F, false},
    {"MEAN", "mean", F, false},
    {"MAX", "max", F, false},
    {"P10..P90", "range", T, false},
    {"UNIT", "unit", T, false},
    {"AGE", "issued_at", HELIO_CELL_AGE, false},
    {"SOURCE", "source", T, false},
    {"KIND", "kind", T, true},
    {"ESTIMATED", "estimated", T, true},
    {"ERROR", "error", T, true},
    {"AHEAD", "ahead", T, false},
};
const helio_columns_t helio_columns_of_forecast = COLUMNS(forecast, "site");

static const helio_column_t points[] = {
    /* clang-format off */
    {"SITE", "site", T, false},
    {"SIGNAL", "signal", T, false},
    {"POOL", "pool", T, false},
    {"TIME", "time", HELIO_CELL_TIME, false},
    {"VALUE", "value", F, false},
    {"P10", "p10", F, false},
    {"P90", "p90", F, false},
    {"ISSUED", "issued_at", HELIO_CELL_TIME, false},
    {"SOURCE", "source", T, false},
    {"KIND", "kind", T, false},
    {"FACTOR", "factor", T, false},
    {"ESTIMATED", "estimated", T, false},
    /* clang-format on */
};
const helio_columns_t helio_columns_of_points = COLUMNS(points, "site");

static const helio_column_t quotas[] = {
    /* clang-format off */
    {"TENANT", "tenant", T, false},
    {"QUEUE", "queue", T, false},
    {"IN-USE", "gpus_in_use", N, false},
    {"GUARANTEED", "guaranteed_gpus", N, false},
    {"BURST", "burst_gpus", N, false},
    {"WEIGHT", "weight", F, false},
    {"JOBS", "jobs_running", N, true},
    {"GPUH/DAY", "gpu_hours_day", F, false},
    {"BUDGETS", "budgets", T, true},
    /* clang-format on */
};
const helio_columns_t helio_columns_of_quotas = COLUMNS(quotas, "tenant");

static const helio_column_t budgets[] = {
    {"TENANT", "tenant", T, false},
    {"QUEUE", "queue", T, false},
    {"PERIOD", "period", T, false},
    {"BUDGET", "budget_text", T, false},
    {"USED", "used_text", T, false},
    {"COMMITTED", "committed_text", T, false},
    {"LEFT", "left_text", T, false},
    {"UNIT", "unit", T, false},
    {"NEXT-PERIOD", "begins_again", HELIO_CELL_START, false},
};
const helio_columns_t helio_columns_of_budgets = COLUMNS(budgets, "tenant");

static const helio_column_t tenants[] = {
    {"TENANT", "tenant", T, false}, {"HOME", "home_site", T, false}, {"WEIGHT", "weight", F, false},
    {"USERS", "users", N, false},   {"JOBS", "jobs_open", N, false}, {"CREATED", "created_at", HELIO_CELL_TIME, true},
};
const helio_columns_t helio_columns_of_tenants = COLUMNS(tenants, "tenant");

static const helio_column_t data[] = {
    {"PREFIX", "prefix", T, false},
    {"SITES", "sites_text", T, false},
    {"TENANT", "tenant", T, false},
    {"SET", "set_at", HELIO_CELL_TIME, true},
};
const helio_columns_t helio_columns_of_data = COLUMNS(data, "prefix");

static const helio_column_t links[] = {
    /* clang-format off */
    {"FROM", "from", T, false},
    {"TO", "to", T, false},
    {"GBIT/S", "gbps", F, false},
    {"USD/GB", "egress_usd_per_gb", F, false},
    {"RTT-MS", "rtt_ms", N, false},
    {"SET", "set_at", HELIO_CELL_TIME, true},
    /* clang-format on */
};
const helio_columns_t helio_columns_of_links = COLUMNS(links, "from");

static const helio_column_t queues[] = {
    {"QUEUE", "queue", T, false},
    {"PRIORITY", "priority", N, false},
    {"REGIONS", "regions", T, false},
    {"SET", "priority_set", N, true},
    {"TIER", "tier", T, false},
    {"TIME", "time_limit_s", HELIO_CELL_SECONDS, false},
    {"GPUS-MAX", "burst_gpus", N, false},
    {"QUEUED", "queued", N, false},
    {"RUNNING", "running", N, false},
    {"HELD", "held", N, false},
    {"GPUS-QUEUED", "gpus_queued", N, true},
    {"GPUS-RUNNING", "gpus_running", N, true},
};
const helio_columns_t helio_columns_of_queues = COLUMNS(queues, "queue");

static const helio_column_t desired[] = {
    {"SITE", "site", T, false},
    {"POOL", "pool", T, false},
    {"NODES", "nodes", N, false},
    {"MAX", "nodes_most", N, false},
    {"GPUS/NODE", "gpus_per_node", N, true},
    {"RUNNING", "running_gpus", N, false},
    {"WAITING", "waiting_gpus", N, false},
    {"PLANNED", "planned_gpus", N, false},
    {"DESIRED", "desired_gpus", N, false},
    {"+1H", "desired_gpus_in_1h", N, false},
    {"+2-4H", "desired_gpus_in_2h_to_4h", N, false},
    {"+5-12H", "desired_gpus_in_5h_to_12h", N, false},
    {"+13-24H", "desired_gpus_in_13h_to_24h", N, false},
};
const helio_columns_t helio_columns_of_desired = COLUMNS(desired, "pool");

static const helio_column_t curtailments[] = {
    {"SITE", "site", T, false},
    {"TO-%", "to_percent", N, false},
    {"STATE", "state", T, false},
    {"FROM", "from", HELIO_CELL_TIME, false},
    {"UNTIL", "until", HELIO_CELL_TIME, false},
    {"ENDED", "ended_at", HELIO_CELL_TIME, true},
    {"LIMIT-W", "limit_watts", N, false},
    {"USED-W", "used_watts", N, false},
    {"KEPT-W", "kept_watts", N, false},
    {"STOPPED", "jobs_stopped", N, false},
    {"LOST", "lost_gpu_s", HELIO_CELL_SECONDS, false},
    {"ACTOR", "actor", T, true},
    {"REASON", "reason", T, false},
};
const helio_columns_t helio_columns_of_curtailments = COLUMNS(curtailments, "site");

static const helio_column_t overflows[] = {
    {"NAME", "name", T, false},
    {"QUEUE", "queue", T, false},
    {"TENANT", "tenant", T, false},
    {"STEPS", "steps", T, false},
};
const helio_columns_t helio_columns_of_overflows = COLUMNS(overflows, "name");

static const helio_column_t rules[] = {
    {"HOURS", "schedule", T, false}, {"ZONE", "zone", T, false},         {"UNTIL", "until", HELIO_CELL_TIME, false},
    {"REGION", "region", T, false},  {"PRIORITY", "priority", N, false}, {"NOW", "now", T, false},
};
const helio_columns_t helio_columns_of_rules = COLUMNS(rules, "schedule");

static const helio_column_t report[] = {
    {"Jobs", "jobs_total", N, false},
    {"GPU time", "gpu_seconds", HELIO_CELL_SECONDS, false},
    {"Cost", "cost_usd", HELIO_CELL_MONEY, false},
    {"Energy", "energy_kwh", HELIO_CELL_ENERGY, false},
    {"CO2e", "carbon_g", HELIO_CELL_CARBON, false},
};
const helio_columns_t helio_columns_of_report = COLUMNS(report, "jobs_total");

static const helio_column_t balance[] = {
    {"DAY", "day", T, false},
    {"SITE", "site", T, false},
    {"JOBS", "jobs_kwh", HELIO_CELL_ENERGY, false},
    {"IDLE", "idle_kwh", HELIO_CELL_ENERGY, false},
    {"FOREIGN", "foreign_kwh", HELIO_CELL_ENERGY, false},
    {"OVERHEAD", "overhead_kwh", HELIO_CELL_ENERGY, false},
    {"METER", "meter_kwh", HELIO_CELL_ENERGY, false},
    {"DIFFERENCE", "difference_ratio", HELIO_CELL_NUMBER, false},
    {"HOURS", "hours_compared", N, false},
    {"HOURS-ACCOUNTED", "hours", N, true},
    {"ESTIMATED", "estimated", T, true},
};
const helio_columns_t helio_columns_of_balance = COLUMNS(balance, "day");

static const helio_column_t baselines[] = {
    {"DAY", "day", T, false},
    {"TENANT", "tenant", T, false},
    {"BASELINE", "baseline", T, false},
    {"JOBS", "jobs", N, false},
    {"COST", "used_cost_usd", HELIO_CELL_MONEY, false},
    {"SAVED-COST", "saved_cost_usd", HELIO_CELL_MONEY, false},
    {"ENERGY", "used_energy_kwh", HELIO_CELL_ENERGY, false},
    {"SAVED-ENERGY", "saved_energy_kwh", HELIO_CELL_ENERGY, false},
    {"CO2E", "used_carbon_g", HELIO_CELL_CARBON, false},
    {"SAVED-CO2E", "saved_carbon_g", HELIO_CELL_CARBON, false},
    {"WAIT", "used_wait_seconds", HELIO_CELL_SECONDS, false},
    {"SAVED-WAIT", "saved_wait_seconds", HELIO_CELL_SECONDS, false},
    {"INTENSITY", "carbon_kind", T, false},
    {"ESTIMATED", "jobs_estimated", N, true},
    {"BASE-COST", "baseline_cost_usd", HELIO_CELL_MONEY, true},
    {"BASE-ENERGY", "baseline_energy_kwh", HELIO_CELL_ENERGY, true},
    {"BASE-CO2E", "baseline_carbon_g", HELIO_CELL_CARBON, true},
    {"BASE-WAIT", "baseline_wait_seconds", HELIO_CELL_SECONDS, true},
};
const helio_columns_t helio_columns_of_baselines = COLUMNS(baselines, "day");

static const helio_column_t tokens[] = {
    {"TOKEN", "token_id|id", T, false},
    {"TENANT", "tenant", T, false},
    {"USER", "user", T, false},
    {"ROLE", "role", T, false},
    {"CREATED", "created_at", HELIO_CELL_TIME, false},
    {"EXPIRES", "expires_at", HELIO_CELL_TIME, false},
    {"REVOKED", "revoked_at", HELIO_CELL_TIME, false},
};
const helio_columns_t helio_columns_of_tokens = COLUMNS(tokens, "token_id|id");

static const helio_column_t keys[] = {
    {"SITE", "site", T, false},
    {"KEY", "public_key", T, false},
    {"CREATED", "created_at", HELIO_CELL_TIME, false},
    {"REVOKED", "revoked_at", HELIO_CELL_TIME, false},
};
const helio_columns_t helio_columns_of_keys = COLUMNS(keys, "public_key");

static const helio_column_t principals[] = {
    {"KIND", "kind", T, false},
    {"TENANT", "tenant", T, false},
    {"NAME", "name", T, false},
    {"ROLES", "roles", T, false},
    {"CREATED", "created_at", HELIO_CELL_TIME, false},
    {"REVOKED", "revoked_at", HELIO_CELL_TIME, false},
    {"DISABLED", "disabled_at", HELIO_CELL_TIME, false},
};
const helio_columns_t helio_columns_of_principals = COLUMNS(principals, "name");

static const helio_column_t audit_chain[] = {
    {"Entries", "entries", N, false},
    {"Broken at", "broken_at", N, false},
};
const helio_columns_t helio_columns_of_audit_chain = COLUMNS(audit_chain, "broken_at");

static const helio_column_t audit[] = {
    {"NUMBER", "audit_id", N, false}, {"TIME", "time", HELIO_CELL_TIME, false}, {"ACTOR", "actor", T, false},
    {"ACTION", "action", T, false},   {"OBJECT", "object", T, false},           {"DETAIL", "detail", T, false},
    {"HASH", "hash", T, true},
};
const helio_columns_t helio_columns_of_audit = COLUMNS(audit, "audit_id");

static const helio_column_t checks[] = {
    {"CHECK", "check", T, false},
    {"RESULT", "result", T, false},
    {"TEXT", "text", HELIO_CELL_SAID, false},
    {"HELP", "help", HELIO_CELL_SAID, false},
};
const helio_columns_t helio_columns_of_checks = COLUMNS(checks, "check");
