#include "simulator/experiment/advice_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "federation/base/duration.h"
#include "federation/policy/checkpoint_interval.h"

enum { TEAMS_SHOWN = 10, SITE_WIDTH = 16, POOL_WIDTH = 12 };
static const double MS_PER_HOUR = 3600000, FAR_MORE = 2 /* times what is used */;
static const double YEARS_MOST_MS = 1e14; /* of a mean: no run is longer */

static double rounded(double value, double to)
{
    return round(value * to) / to;
}

static const helio_pool_t *pool_of(const exp_world_t *world, uint32_t site, uint32_t pool)
{
    return &world->fleet->items[site].profile.pools.items[pool];
}

/*  How often jobs should save at a pool. */
typedef struct interval {
    double hours_between; /* INFINITY = no run was interrupted, and nothing is known */
    uint64_t every_ms;
    double loss_ratio;
} interval_t;

static interval_t interval_of(const exp_advice_t *advice, const exp_exposure_t *exposure)
{
    interval_t self = {.hours_between = exp_hours_between(exposure)};
    if (!isfinite(self.hours_between))
        return self;
    uint64_t takes_ms = (uint64_t)advice->checkpoint_takes_ms,
             mean_ms = (uint64_t)fmin(self.hours_between * MS_PER_HOUR, YEARS_MOST_MS);
    self.every_ms = helio_checkpoint_interval_ms(takes_ms, mean_ms);
    self.loss_ratio = helio_checkpoint_loss_ratio(takes_ms, self.every_ms, mean_ms);
    return self;
}

/* ---- JSON ------------------------------------------------------------------------------------------------- */

static void put_place(helio_json_writer_t *json, const exp_world_t *world, uint32_t site, uint32_t pool)
{
    helio_json_put_text(json, "site", world->fleet->items[site].profile.name);
    helio_json_put_text(json, "pool", pool_of(world, site, pool)->name);
}

static void put_gain(helio_json_writer_t *json, const exp_gain_t *gain, const exp_world_t *world)
{
    helio_json_put_i64(json, "finished", gain->finished);
    helio_json_put_i64(json, "deadline_misses", gain->deadline_misses);
    helio_json_put_real(json, "gpu_hours_waited", rounded(gain->gpu_hours_waited, 100));
    helio_json_put_real(json, "cost_usd", exp_world_has_cost(world) ? rounded(gain->usd, 100) : NAN);
    helio_json_put_real(json, "carbon_kg", rounded(gain->kg, 10));
    helio_json_put_real(json, "worth_usd", rounded(gain->worth_usd, 100));
}

static void put_nodes(helio_json_writer_t *json, const exp_advice_t *advice, const exp_world_t *world)
{
    helio_json_begin_array(json, "one_more_node");
    for (uint32_t i = 0; i < advice->node_count; i++) {
        const exp_gain_t *gain = &advice->nodes[i];
        helio_json_begin_object(json, NULL);
        put_place(json, world, gain->site, gain->pool);
        helio_json_put_u64(json, "gpus", pool_of(world, gain->site, gain->pool)->gpus_per_node);
        put_gain(json, gain, world);
        helio_json_end(json);
    }
    helio_json_end(json);
    helio_json_begin_array(json, "by_chance_usd");
    for (uint32_t i = 0; i < EXP_CHANCES; i++)
        helio_json_put_real(json, NULL, rounded(advice->by_chance_usd[i], 100));
    helio_json_end(json);
}

static void put_intervals(helio_json_writer_t *json, const exp_advice_t *advice, const exp_result_t *row,
                          const exp_world_t *world)
{
    helio_json_begin_array(json, "checkpoints");
    for (uint32_t site = 0; site < world->fleet->count; site++) {
        for (uint32_t pool = 0; pool < world->fleet->items[site].profile.pools.count; pool++) {
            const exp_exposure_t *exposure = &row->exposures[exp_fleet_pool_number(world->fleet, site, pool)];
            interval_t interval = interval_of(advice, exposure);
            bool known = exposure->interrupted > 0;
            helio_json_begin_object(json, NULL);
            put_place(json, world, site, pool);
            helio_json_put_real(json, "run_hours", rounded(exposure->run_hours, 10));
            helio_json_put_u64(json, "interrupted", exposure->interrupted);
            helio_json_put_real(json, "hours_between", known ? rounded(interval.hours_between, 100) : NAN);
            helio_json_put_real(json, "every_s", known ? round((double)interval.every_ms / 1000) : NAN);
            helio_json_put_real(json, "loss_ratio", known ? rounded(interval.loss_ratio, 1e4) : NAN);
            helio_json_end(json);
        }
    }
    helio_json_end(json);
}

static void put_teams(helio_json_writer_t *json, const exp_trace_t *trace)
{
    exp_asked_t *asked = exp_asked_of(trace);
    helio_json_begin_array(json, "teams");
    for (uint32_t i = 0; i < trace->team_count; i++) {
        const exp_asked_t *team = &asked[i];
        helio_json_begin_object(json, NULL);
        helio_json_put_text(json, "team", trace->teams[team->team]);
        helio_json_put_u64(json, "jobs", team->jobs);
        helio_json_put_real(json, "gpu_hours_asked", trace->has_limits ? rounded(team->gpu_hours_asked, 10) : NAN);
        helio_json_put_real(json, "gpu_hours_used", rounded(team->gpu_hours_used, 10));
        helio_json_put_real(json, "gpu_hours_busy", trace->has_utils ? rounded(team->gpu_hours_busy, 10) : NAN);
        helio_json_put_real(json, "limit_p90_ratio", trace->has_limits ? rounded(team->limit_p90, 1e4) : NAN);
        helio_json_end(json);
    }
    helio_json_end(json);
    free(asked);
}

void exp_advice_put(helio_json_writer_t *json, const exp_advice_t *advice, const exp_result_t *row,
                    const exp_world_t *world)
{
    helio_json_begin_object(json, "advice");
    put_nodes(json, advice, world);
    helio_json_put_real(json, "checkpoint_takes_s", (double)advice->checkpoint_takes_ms / 1000);
    put_intervals(json, advice, row, world);
    put_teams(json, world->trace);
    helio_json_end(json);
}

/* ---- text ------------------------------------------------------------------------------------------------- */

/*  Two names of a site and a pool, as wide as is usual. */
static void print_place(helio_buffer_t *out, helio_text_t site, helio_text_t pool)
{
    helio_buffer_printf(out, "%-*.*s %-*.*s", SITE_WIDTH, HELIO_TEXT_ARGS(site), POOL_WIDTH, HELIO_TEXT_ARGS(pool));
}

static void print_nodes(const exp_advice_t *advice, const exp_result_t *row, const exp_world_t *world,
                        helio_buffer_t *out)
{
    const exp_trace_t *trace = world->trace;
    helio_buffer_printf(
        out,
        "\nOne more node with %s: the difference of two runs over %.1f days, at %.2f USD/t and %.2f USD/gpu-h of "
        "waiting.\nThe price of the node and its idle power are not in it. That all jobs come up to a minute later is "
        "worth %+.2f to %+.2f USD:\ndifferences of that size can be chance.\n",
        row->policy, (double)(trace->to_ms - trace->from_ms) / MS_PER_HOUR / 24,
        (double)advice->carbon_micro_usd_per_t / 1e6, (double)advice->wait_micro_usd_per_gpu_h / 1e6,
        advice->by_chance_usd[0], advice->by_chance_usd[EXP_CHANCES - 1]);
    helio_buffer_printf(out, "%-*s %-*s %5s %11s %13s %11s %11s %6s\n", SITE_WIDTH, "SITE", POOL_WIDTH, "POOL", "GPUS",
                        "WORTH USD", "GPU-H WAITED", "COST USD", "CO2E KG", "DONE");
    for (uint32_t i = 0; i < advice->node_count; i++) {
        const exp_gain_t *gain = &advice->nodes[i];
        const helio_pool_t *pool = pool_of(world, gain->site, gain->pool);
        char cost[32] = "-";
        if (exp_world_has_cost(world))
            (void)snprintf(cost, sizeof cost, "%+.2f", gain->usd);
        print_place(out, world->fleet->items[gain->site].profile.name, pool->name);
        helio_buffer_printf(out, " %5u %11.2f %+13.2f %11s %+11.1f %+6lld\n", pool->gpus_per_node, gain->worth_usd,
                            gain->gpu_hours_waited, cost, gain->kg, (long long)gain->finished);
    }
}

static void print_interval(const exp_advice_t *advice, const exp_exposure_t *exposure, helio_buffer_t *out)
{
    char between[HELIO_DURATION_SIZE], every[HELIO_DURATION_SIZE];
    interval_t interval = interval_of(advice, exposure);
    helio_duration_text_brief((uint64_t)fmin(interval.hours_between * MS_PER_HOUR, YEARS_MOST_MS), between);
    helio_duration_text_brief(interval.every_ms, every);
    helio_buffer_printf(out, " %11.1f %11u %9s %9s %6.1f%%\n", exposure->run_hours, exposure->interrupted, between,
                        every, 100 * interval.loss_ratio);
}

static void print_intervals(const exp_advice_t *advice, const exp_result_t *row, const exp_world_t *world,
                            helio_buffer_t *out)
{
    char takes[HELIO_DURATION_SIZE];
    bool any = false;
    helio_duration_text((uint64_t)advice->checkpoint_takes_ms, takes);
    for (uint32_t site = 0; site < world->fleet->count; site++) {
        for (uint32_t pool = 0; pool < world->fleet->items[site].profile.pools.count; pool++) {
            const exp_exposure_t *exposure = &row->exposures[exp_fleet_pool_number(world->fleet, site, pool)];
            if (!exposure->interrupted)
                continue;
            if (!any)
                helio_buffer_printf(out,
                                    "\nCheckpoints with %s, if one takes %s: by the runs that outages ended.\n"
                                    "%-*s %-*s %11s %11s %9s %9s %7s\n",
                                    row->policy, takes, SITE_WIDTH, "SITE", POOL_WIDTH, "POOL", "RUN HOURS",
                                    "INTERRUPTED", "EVERY", "SAVE", "LOSS");
            any = true;
            print_place(out, world->fleet->items[site].profile.name, pool_of(world, site, pool)->name);
            print_interval(advice, exposure, out);
        }
    }
    if (!any)
        helio_buffer_printf(out, "\nNo run was interrupted with %s: nothing is known of checkpoints.\n", row->policy);
}

static bool asks_for_far_more(const exp_trace_t *trace, const exp_asked_t *team)
{
    return (trace->has_limits && team->gpu_hours_asked >= FAR_MORE * team->gpu_hours_used) ||
           (trace->has_utils && team->gpu_hours_used >= FAR_MORE * team->gpu_hours_busy);
}

static void print_team(const exp_trace_t *trace, const exp_asked_t *team, helio_buffer_t *out)
{
    char asked[32] = "-", limit[32] = "-", busy[32] = "-";
    if (trace->has_limits) {
        (void)snprintf(asked, sizeof asked, "%.1f", team->gpu_hours_asked);
        (void)snprintf(limit, sizeof limit, "%.0f%%", 100 * team->limit_p90);
    }
    if (trace->has_utils)
        (void)snprintf(busy, sizeof busy, "%.0f%%", 100 * team->gpu_hours_busy / team->gpu_hours_used);
    helio_buffer_printf(out, "%-*.*s %8u %12s %12.1f %11s %6s\n", SITE_WIDTH, HELIO_TEXT_ARGS(trace->teams[team->team]),
                        team->jobs, asked, team->gpu_hours_used, limit, busy);
}

static void print_teams(const exp_trace_t *trace, helio_buffer_t *out)
{
    exp_asked_t *asked = exp_asked_of(trace);
    uint32_t shown = 0;
    if (!trace->has_limits)
        helio_buffer_text(out,
                          "\nThe trace has no limits of time, so nothing is known of the time that teams ask for.");
    if (!trace->has_utils)
        helio_buffer_text(out, "\nThe trace has no utilisation, so nothing is known of GPUs that are not busy.");
    for (uint32_t i = 0; i < trace->team_count && shown < TEAMS_SHOWN; i++) {
        if (!asks_for_far_more(trace, &asked[i]))
            continue;
        if (!shown++)
            helio_buffer_printf(out,
                                "\nTeams that ask for twice the GPU-hours that they use, or more:\n"
                                "%-*s %8s %12s %12s %11s %6s\n",
                                SITE_WIDTH, "TEAM", "JOBS", "GPU-H ASKED", "GPU-H USED", "9 OF 10 BY", "BUSY");
        print_team(trace, &asked[i], out);
    }
    if (!shown && (trace->has_limits || trace->has_utils))
        helio_buffer_text(out, "\nNo team asks for twice the GPU-hours that it uses.");
    helio_buffer_text(out, shown ? "" : "\n");
    free(asked);
}

void exp_advice_print(const exp_result_t *results, uint32_t count, const exp_world_t *world, helio_buffer_t *out)
{
    for (uint32_t i = 0; i < count; i++) {
        print_nodes(results[i].advice, &results[i], world, out);
        print_intervals(results[i].advice, &results[i], world, out);
    }
    print_teams(world->trace, out);
}
