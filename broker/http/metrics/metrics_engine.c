/*  metrics_engine.c -- the metrics of engine, core and store. */
#include <inttypes.h>

#include "broker/http/metrics/exposition.h"
#include "broker/http/metrics/metrics.h"

static void jobs_text(const helio_engine_figures_t *engine, helio_buffer_t *out)
{
    helio_metric_head(out, "jobs", "gauge", "Jobs that are not over, by state.");
    for (uint32_t state = 0; state < HELIO_JOB_STATE_COUNT; state++)
        if (!helio_job_state_is_terminal(state))
            helio_metric_labelled(out, "jobs", "state", helio_job_state_name(state), (double)engine->core.jobs[state]);
    helio_metric_head(out, "jobs_finished_total", "counter",
                      "Jobs that ended since this broker started, by terminal state.");
    for (uint32_t state = 0; state < HELIO_JOB_STATE_COUNT; state++)
        if (helio_job_state_is_terminal(state))
            helio_metric_labelled(out, "jobs_finished_total", "state", helio_job_state_name(state),
                                  (double)engine->core.jobs[state]);
}

static void singles(const helio_engine_figures_t *engine, helio_buffer_t *out)
{
    const struct {
        const char *name, *type, *help;
        double value;
    } rows[] = {
        {"broker_leader", "gauge", "1 if this broker is the leader.", engine->leader},
        {"broker_ready", "gauge",
         "1 if this broker is the leader, has loaded its state and is connected to its database.", engine->ready},
        {"broker_lease_seconds", "gauge", "The lease that this broker grants to sites.",
         (double)engine->lease_ms / 1e3},
        {"broker_epoch", "gauge", "The number of this broker's leadership.", (double)engine->broker_epoch},
        {"sites", "gauge", "Known sites.", (double)engine->core.sites},
        {"sites_ready", "gauge", "Sites that accept new jobs.", (double)engine->core.sites_ready},
        {"jobs_held_by_people", "gauge",
         "Jobs that a user or an operator holds on purpose; helio_jobs counts them as held, too.",
         (double)engine->core.jobs_held_by_people},
        {"job_classes", "gauge", "Classes of equal waiting jobs.", (double)engine->core.classes},
        {"placements_total", "counter", "Placements decided.", (double)engine->core.placements_total},
        {"reserve_shortfall_gpu_seconds_total", "counter",
         "GPU seconds that site reservation windows reserve but other work still uses.",
         (double)engine->core.reserve_shortfall_gpu_ms / 1000},
        {"refusals_total", "counter", "Offers that sites refused.", (double)engine->core.refusals_total},
        {"reports_stale_total", "counter", "Reports of an epoch that was not current.",
         (double)engine->core.stale_reports_total},
        {"reports_illegal_total", "counter", "Reports that would lead to a transition that is not in the table.",
         (double)engine->core.illegal_reports_total},
        {"series_dropped_total", "counter",
         "Series of sites that were ignored: for pools that do not exist, or more than a site is allowed to send.",
         (double)engine->core.series_dropped_total},
        {"pool_options_dropped_total", "counter",
         "Times that partitions or features of a pool were ignored, because the site sent more than it is allowed to.",
         (double)engine->core.pool_options_dropped_total},
        {"db_batches_total", "counter", "Committed batches.", (double)engine->store.batches_total},
        {"db_rows_total", "counter", "Committed rows.", (double)engine->store.rows_total},
        {"db_reconnects_total", "counter", "Connections to the database that were restored after a loss.",
         (double)engine->store.reconnects_total},
        {"db_commit_last_seconds", "gauge", "Time of the last batch from seal to commit.",
         (double)engine->store.commit_us_last / 1e6},
        {"db_full", "gauge",
         "1 if the database refuses rows because its disk is full, or a similar resource is exhausted.",
         engine->database_full},
        {"engine_held_effects", "gauge", "Replies and instructions to sites that wait for the commit of their batch.",
         (double)engine->held_effects},
        {"engine_step_max_seconds", "gauge", "Longest step of the core since the last scrape.",
         (double)engine->step_us_max / 1e6},
        {"agent_sessions", "gauge", "Sites with a session.", (double)engine->sessions},
        {"agent_sessions_total", "counter", "Sessions that sites started, by connecting or reconnecting.",
         (double)engine->sessions_total},
        {"agent_spool_reports", "gauge",
         "Reports that agents still hold because no broker has acknowledged them, by their last summaries.",
         (double)engine->core.reports_pending},
        {"engine_calls_total", "counter", "Calls from the HTTP server to the engine.", (double)engine->calls_total},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        helio_metric_single(out, rows[i].name, rows[i].type, rows[i].help, rows[i].value);
}

/*  Bytes of channels that have ended: those of a live one are known when it ends. */
static void channels(const helio_engine_figures_t *engine, helio_buffer_t *out)
{
    helio_metric_single(out, "channels", "gauge", "Channels to running jobs that are open.",
                        (double)engine->core.channels);
    helio_metric_head(out, "channels_total", "counter",
                      "Channels that were opened since this broker started, by kind.");
    for (uint32_t kind = 0; kind < HELIO_CHANNEL_KIND_COUNT; kind++)
        helio_metric_labelled(out, "channels_total", "kind", helio_channel_kind_name(kind),
                              (double)engine->core.channels_total[kind]);
    helio_metric_head(out, "channel_bytes_total", "counter",
                      "Bytes of channels that have ended, by direction: in to jobs, out of them.");
    helio_metric_labelled(out, "channel_bytes_total", "direction", "in", (double)engine->core.channel_bytes_in_total);
    helio_metric_labelled(out, "channel_bytes_total", "direction", "out", (double)engine->core.channel_bytes_out_total);
}

static void decisions(const helio_engine_figures_t *engine, helio_buffer_t *out)
{
    helio_metric_head(out, "preemptions_total", "counter", "Preemptions of running jobs, by cause.");
    for (uint32_t why = 0; why < HELIO_PREEMPT_CAUSE_COUNT; why++)
        helio_metric_labelled(out, "preemptions_total", "reason", helio_preempt_cause_name(why),
                              (double)engine->core.preemptions_total[why]);
    helio_metric_head(out, "candidates_rejected_total", "counter",
                      "Pools that decisions rejected, by reason. A repeated decision counts once.");
    for (uint32_t why = HELIO_REJECTION_NONE + 1; why < HELIO_REJECTION_COUNT; why++)
        helio_metric_labelled(out, "candidates_rejected_total", "reason", helio_rejection_name(why),
                              (double)engine->tally.rejected[why]);
    helio_metric_head(out, "placement_duration_seconds", "histogram",
                      "Time of the core's steps that placed jobs, without their commit (db_commit_seconds).");
    helio_metric_histogram(out, "placement_duration_seconds", NULL, NULL, &engine->tally.placing_us,
                           &helio_tally_placing_bounds, 1e6);
    helio_metric_head(out, "job_wait_seconds", "histogram",
                      "Time from a job's submission to its first start, by tier of its queue.");
    for (uint32_t tier = 0; tier < HELIO_TIER_COUNT; tier++)
        helio_metric_histogram(out, "job_wait_seconds", "tier", helio_tier_name(tier), &engine->core.wait_ms[tier],
                               &helio_broker_wait_bounds, 1e3);
}

/*  Tenants are no label, because their number has no bound. helio_report.budgets shows each budget by name. */
static void budgets(const helio_engine_figures_t *engine, helio_buffer_t *out)
{
    helio_metric_head(
        out, "budgets", "gauge",
        "Budgets of tenants and their queues, by kind and level of what is spent or committed: low, high (4/5), full.");
    for (uint32_t kind = 0; kind < HELIO_BUDGET_KINDS; kind++)
        for (uint32_t level = 0; level < HELIO_BUDGET_LEVELS; level++)
            helio_buffer_printf(out, "helio_budgets{kind=\"%s\",level=\"%s\"} %" PRIu64 "\n",
                                helio_budget_kind_name(kind), helio_budget_level_name(level),
                                engine->core.budgets[kind][level]);
}

/*  Base units. A negative price reduces the cost, and a site worse than the baseline reduces what was avoided. */
static void accounts(const helio_engine_figures_t *engine, helio_buffer_t *out)
{
    const helio_tally_t *tally = &engine->tally;
    helio_metric_single(out, "gpu_seconds_total", "counter", "GPU time charged to jobs since this broker started.",
                        (double)tally->gpu_ms.total / 1e3);
    helio_metric_single(out, "energy_joules_total", "counter", "Energy accounted to jobs since this broker started.",
                        (double)tally->energy_j.total);
    helio_metric_single(out, "emissions_grams_total", "counter", "CO2e accounted to jobs since this broker started.",
                        (double)tally->carbon_mg.total / 1e3);
    helio_metric_single(out, "cost_usd", "gauge",
                        "Money charged to jobs since this broker started. Negative prices reduce it.",
                        (double)tally->cost_micro_usd / 1e6);
    helio_metric_head(
        out, "emissions_avoided_grams", "gauge",
        "CO2e that a baseline would have emitted in addition, for the jobs that ended since this broker started.");
    helio_metric_labelled(out, "emissions_avoided_grams", "baseline", "home",
                          (double)tally->home.carbon_mg_saved / 1e3);
    helio_metric_labelled(out, "emissions_avoided_grams", "baseline", "least-wait",
                          (double)tally->earliest_start.carbon_mg_saved / 1e3);
    helio_metric_head(
        out, "cost_saved_usd", "gauge",
        "Money that a baseline would have cost in addition, for the jobs that ended since this broker started.");
    helio_metric_labelled(out, "cost_saved_usd", "baseline", "home", (double)tally->home.micro_usd_saved / 1e6);
    helio_metric_labelled(out, "cost_saved_usd", "baseline", "least-wait",
                          (double)tally->earliest_start.micro_usd_saved / 1e6);
}

/*  Labels are names of sites, but never more than the figures hold. */
static void clocks(const helio_engine_figures_t *engine, helio_buffer_t *out)
{
    if (!engine->core.clock_count)
        return;
    helio_metric_head(
        out, "site_clock_ahead_seconds", "gauge",
        "How far the site's clock is ahead of the leader's, by its last summary; negative if it is behind. "
        "Of many sites, the 16 that differ most.");
    for (uint32_t i = 0; i < engine->core.clock_count; i++)
        helio_metric_labelled(out, "site_clock_ahead_seconds", "site", engine->core.clocks[i].site,
                              (double)engine->core.clocks[i].ahead_ms / 1e3);
}

static void frames(const helio_engine_figures_t *engine, helio_buffer_t *out)
{
    helio_metric_head(out, "agent_frames_bad_total", "counter", "Frames from sites that were refused, by reason.");
    for (uint32_t i = 0; i < HELIO_ENGINE_BAD_FRAMES_MAX && engine->frames_bad_total[i].why; i++)
        helio_metric_labelled(out, "agent_frames_bad_total", "reason", engine->frames_bad_total[i].why,
                              (double)engine->frames_bad_total[i].count);
    helio_metric_head(out, "agent_frames_total", "counter", "Frames exchanged with sites, by direction.");
    helio_metric_labelled(out, "agent_frames_total", "direction", "in", (double)engine->frames_in_total);
    helio_metric_labelled(out, "agent_frames_total", "direction", "out", (double)engine->frames_out_total);
    helio_metric_head(out, "agent_reads_slowed_total", "counter",
                      "Times that the broker paused reading from a site because it sent more than it is allowed to.");
    helio_buffer_text(out, "helio_agent_reads_slowed_total ");
    helio_metric_number(out, (double)engine->reads_slowed_total);
}

/*  A sum and a count, from which the mean over any window follows. */
static void summary(helio_buffer_t *out, const char *name, const char *help, uint64_t us_sum, uint64_t count)
{
    helio_metric_head(out, name, "summary", help);
    helio_buffer_printf(out, "helio_%s_sum ", name);
    helio_metric_number(out, (double)us_sum / 1e6);
    helio_buffer_printf(out, "helio_%s_count %" PRIu64 "\n", name, count);
}

void helio_metrics_engine(const helio_engine_figures_t *engine, helio_buffer_t *out)
{
    singles(engine, out);
    channels(engine, out);
    decisions(engine, out);
    budgets(engine, out);
    accounts(engine, out);
    clocks(engine, out);
    frames(engine, out);
    summary(out, "db_commit_seconds", "Time of batches from seal to commit.", engine->store.commit_us_sum,
            engine->store.batches_total);
    summary(out, "engine_step_seconds", "Time of the core's steps.", engine->step_us_sum, engine->steps_total);
    jobs_text(engine, out);
}
