/*  result.c -- energy, carbon and money by the true series; waits and slowdowns; the rows that are printed. */
#include "simulator/experiment/result.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "federation/base/clock.h"
#include "federation/base/json.h"
#include "federation/base/number.h"
#include "federation/energy/power.h"
#include "federation/policy/pool_forecast.h"
#include "simulator/experiment/advice_text.h"
#include "simulator/experiment/bound.h"
#include "simulator/experiment/cloud_text.h"

enum { SLOWDOWN_LEAST_S = 10, NAME_WIDTH_LEAST = 12 /* of the first column */ };
static const double MS_PER_HOUR = 3600000;

void exp_result_init(exp_result_t *self, const exp_world_t *world, const char *policy)
{
    *self = (exp_result_t){.policy = policy, .jobs = world->trace->count, .capacity_ratio = NAN};
    self->waits_ms = helio_new(self->jobs, sizeof *self->waits_ms);
    self->exposures = helio_new(exp_fleet_pool_number(world->fleet, world->fleet->count, 0), sizeof *self->exposures);
    exp_detail_init(&self->detail, world->detailed, world->fleet->count, world->trace->team_count,
                    world->trace->jobs[0].submit_ms);
    if (world->classes)
        exp_demand_init(&self->demand, world->classes->count, world->trace->jobs[0].submit_ms);
    for (uint32_t i = 0; i < world->trace->count; i++)
        self->detail.teams[world->trace->jobs[i].team_number].jobs++;
}

void exp_result_clear(exp_result_t *self)
{
    free(self->waits_ms);
    free(self->exposures);
    exp_detail_clear(&self->detail);
    exp_demand_clear(&self->demand);
    *self = (exp_result_t){0};
}

static double hours_in_span(const exp_world_t *world, int64_t from_ms, int64_t to_ms)
{
    from_ms = from_ms > world->trace->from_ms ? from_ms : world->trace->from_ms;
    to_ms = to_ms < world->trace->to_ms ? to_ms : world->trace->to_ms;
    return to_ms > from_ms ? (double)(to_ms - from_ms) / MS_PER_HOUR : 0;
}

/*  Of one GPU of a rented pool. */
static double rent_of(const exp_world_t *world, uint32_t site, uint32_t pool, int64_t from_ms, int64_t to_ms)
{
    const exp_series_t *series = exp_world_rent(world, site, pool);
    return series ? exp_series_integral(series, from_ms, to_ms)
                  : helio_pool_rent_usd(&world->fleet->items[site].profile.pools.items[pool]) *
                        (double)(to_ms - from_ms) / MS_PER_HOUR;
}

/*  What a run of kw costs and emits from one time to another. */
static exp_cell_t account(const exp_world_t *world, const exp_use_t *use, double kw, int64_t from_ms, int64_t to_ms)
{
    const exp_fleet_site_t *site = &world->fleet->items[use->site];
    const helio_pool_t *pool = &site->profile.pools.items[use->pool];
    const exp_series_t *carbon = exp_series_find(world->carbon, site->profile.region),
                       *price = exp_series_find(world->price, site->price_region);
    double hours = (double)(to_ms - from_ms) / MS_PER_HOUR;
    exp_cell_t sum = {.gpu_hours = use->gpus * hours, .grams = kw * exp_series_integral(carbon, from_ms, to_ms)};
    if (pool->owned && price)
        sum.usd = kw * exp_series_integral(price, from_ms, to_ms);
    else if (pool->owned)
        sum.usd = kw * hours * site->profile.electricity_usd_per_kwh;
    else
        sum.usd = rent_of(world, use->site, use->pool, from_ms, to_ms) * use->gpus;
    return sum;
}

static void add_hours(exp_result_t *self, const exp_world_t *world, const exp_use_t *use, double kw)
{
    for (int64_t at_ms = use->from_ms, next_ms; at_ms < use->to_ms; at_ms = next_ms) {
        int64_t hour_ms = helio_hour_of(at_ms);
        next_ms = helio_lesser_i64(hour_ms + HELIO_HOUR_MS, use->to_ms);
        exp_cell_t *cell = exp_detail_cell(&self->detail, hour_ms / HELIO_HOUR_MS, use->site);
        if (!cell)
            continue;
        exp_cell_t part = account(world, use, kw, at_ms, next_ms);
        cell->gpu_hours += part.gpu_hours;
        cell->grams += part.grams;
        cell->usd += part.usd;
    }
}

void exp_result_add_use(exp_result_t *self, const exp_world_t *world, const exp_use_t *use)
{
    const exp_fleet_site_t *site = &world->fleet->items[use->site];
    const helio_pool_t *pool = &site->profile.pools.items[use->pool];
    double kw = helio_pool_watts(pool, use->util) * site->profile.pue * use->gpus / 1000;
    double busy = hours_in_span(world, use->from_ms, use->to_ms);
    exp_cell_t sum = account(world, use, kw, use->from_ms, use->to_ms);
    self->kwh += kw * (double)(use->to_ms - use->from_ms) / MS_PER_HOUR;
    self->exposures[exp_fleet_pool_number(world->fleet, use->site, use->pool)].run_hours +=
        (double)(use->to_ms - use->from_ms) / MS_PER_HOUR;
    self->grams += sum.grams;
    self->usd += sum.usd;
    self->gpu_hours_in_span += use->gpus * busy;
    self->idle_kwh -= pool->idle_w * site->profile.pue * use->gpus * busy / 1000;
    if (use->ordered_gpus) {
        self->cloud.used_gpu_hours += sum.gpu_hours * use->ordered_gpus / use->gpus;
        self->cloud.used_usd += pool->owned ? 0 : sum.usd * use->ordered_gpus / use->gpus;
    }
    self->detail.teams[use->team].gpu_hours += sum.gpu_hours;
    self->detail.teams[use->team].grams += sum.grams;
    if (self->detail.wanted)
        add_hours(self, world, use, kw);
    if (world->classes)
        exp_demand_add(&self->demand, world->classes->of_job[use->job], use->gpus, use->from_ms, use->to_ms);
}

void exp_result_add_interruption(exp_result_t *self, const exp_world_t *world, uint32_t site, uint32_t pool)
{
    self->exposures[exp_fleet_pool_number(world->fleet, site, pool)].interrupted++;
}

void exp_result_add_instance(exp_result_t *self, const exp_world_t *world, uint32_t site, uint32_t pool,
                             int64_t from_ms, int64_t to_ms)
{
    const helio_site_profile_t *profile = &world->fleet->items[site].profile;
    const helio_pool_t *info = &profile->pools.items[pool];
    double hours = (double)(to_ms - from_ms) / MS_PER_HOUR;
    double in_span = hours_in_span(world, from_ms, to_ms) * info->gpus_per_node;
    self->cloud.hours += hours;
    self->cloud.gpu_hours += hours * info->gpus_per_node;
    self->cloud.in_span_gpu_hours += in_span;
    self->cloud.usd += info->owned ? 0 : rent_of(world, site, pool, from_ms, to_ms) * info->gpus_per_node;
    self->idle_kwh += info->idle_w * profile->pue * in_span / 1000;
}

void exp_result_add_taken(exp_result_t *self, uint32_t gpus, int64_t lost_ms)
{
    self->cloud.interruptions++;
    self->cloud.lost_gpu_hours += gpus * (double)lost_ms / MS_PER_HOUR;
}

void exp_result_add_egress(exp_result_t *self, int64_t micro_usd)
{
    self->usd += (double)micro_usd / 1e6;
}

void exp_result_add_local(exp_result_t *self, const exp_world_t *world, const exp_use_t *use)
{
    const helio_site_profile_t *site = &world->fleet->items[use->site].profile;
    double busy = hours_in_span(world, use->from_ms, use->to_ms);
    self->idle_kwh -= site->pools.items[use->pool].idle_w * site->pue * use->gpus * busy / 1000;
}

void exp_result_add_reserve(exp_result_t *self, const exp_world_t *world, uint32_t site, uint32_t pool, uint32_t served,
                            uint32_t shortfall, int64_t from_ms, int64_t to_ms)
{
    const helio_site_profile_t *profile = &world->fleet->items[site].profile;
    self->short_gpu_hours += shortfall * (double)(to_ms - from_ms) / MS_PER_HOUR;
    double in_span = served * hours_in_span(world, from_ms, to_ms);
    self->served_gpu_hours += in_span;
    self->idle_kwh -= profile->pools.items[pool].idle_w * profile->pue * in_span / 1000;
}

void exp_result_add_end(exp_result_t *self, const exp_job_t *job, int64_t started_ms, int64_t ended_ms)
{
    double wait_s = (double)(started_ms - job->submit_ms) / 1000, run_s = (double)job->duration_ms / 1000;
    double jct_s = (double)(ended_ms - job->submit_ms) / 1000;
    double slowdown = fmax(1, jct_s / fmax(run_s, SLOWDOWN_LEAST_S));
    exp_team_sum_t *team = &self->detail.teams[job->team_number];
    self->waits_ms[self->finished++] = started_ms - job->submit_ms;
    self->wait_sum_s += wait_s;
    self->wait_gpu_s += wait_s * job->nodes * job->gpus_per_node;
    self->jct_sum_s += jct_s;
    self->slowdown_sum += slowdown;
    self->slowdown_most = fmax(self->slowdown_most, slowdown);
    self->deadline_misses += job->deadline_ms && ended_ms > job->deadline_ms;
    team->finished++;
    team->wait_s += wait_s;
    team->slowdown += slowdown;
}

static int by_value(const void *a_, const void *b_)
{
    int64_t a = *(const int64_t *)a_, b = *(const int64_t *)b_;
    return (a > b) - (a < b);
}

void exp_result_close(exp_result_t *self, const exp_world_t *world)
{
    double hours = hours_in_span(world, INT64_MIN, INT64_MAX);
    for (uint32_t i = 0; i < world->fleet->count; i++) {
        const helio_site_profile_t *site = &world->fleet->items[i].profile;
        for (uint32_t p = 0; p < site->pools.count; p++) {
            const helio_pool_t *pool = &site->pools.items[p];
            self->idle_kwh += pool->idle_w * site->pue * pool->nodes * pool->gpus_per_node * hours / 1000;
        }
    }
    qsort(self->waits_ms, self->finished, sizeof *self->waits_ms, by_value);
}

/*  Nearest rank; 0 without jobs. */
double exp_result_wait_s(const exp_result_t *self, double share)
{
    uint32_t at = (uint32_t)(share * self->finished);
    if (!self->finished)
        return 0;
    return (double)self->waits_ms[at < self->finished ? at : self->finished - 1] / 1000;
}

static double mean(const exp_result_t *self, double sum)
{
    return self->finished ? sum / self->finished : 0;
}

/*  Of nodes that are there whatever waits. */
static uint64_t fixed_gpus(const exp_world_t *world)
{
    uint64_t gpus = 0;
    for (uint32_t i = 0; i < world->fleet->count; i++)
        for (uint32_t p = 0; p < world->fleet->items[i].profile.pools.count; p++)
            gpus += (uint64_t)world->fleet->items[i].profile.pools.items[p].nodes *
                    world->fleet->items[i].profile.pools.items[p].gpus_per_node;
    return gpus;
}

static double utilization(const exp_result_t *self, const exp_world_t *world, double gpu_hours)
{
    double capacity =
        (double)fixed_gpus(world) * hours_in_span(world, INT64_MIN, INT64_MAX) + self->cloud.in_span_gpu_hours;
    return capacity > 0 ? fmin(1, gpu_hours / capacity) : 0;
}

double exp_result_utilization(const exp_result_t *self, const exp_world_t *world)
{
    return utilization(self, world, self->gpu_hours_in_span);
}

double exp_result_utilization_with_inference(const exp_result_t *self, const exp_world_t *world)
{
    return utilization(self, world, self->gpu_hours_in_span + self->served_gpu_hours);
}

static double rounded(double value, double to)
{
    return round(value * to) / to;
}

/*  A number that was looked for, or null. */
static void put_found(helio_json_writer_t *json, const char *key, bool found, double value, double to)
{
    helio_json_put_real(json, key, found ? rounded(value, to) : NAN);
}

static void put_bounds(helio_json_writer_t *json, const exp_result_t *row, const exp_result_t *base)
{
    char until[HELIO_RFC3339_SIZE];
    bool found = row->bound_until_ms != 0;
    put_found(json, "carbon_lower_bound_kg", found, row->least.grams / 1000, 10);
    put_found(json, "cost_lower_bound_usd", found, row->least.usd, 100);
    put_found(json, "carbon_same_hours_kg", found, row->same_hours.grams / 1000, 10);
    put_found(json, "cost_same_hours_usd", found, row->same_hours.usd, 100);
    put_found(json, "carbon_reached_ratio", found, exp_bound_reached(row, base, false), 1e4);
    put_found(json, "cost_reached_ratio", found, exp_bound_reached(row, base, true), 1e4);
    if (found) {
        helio_rfc3339(row->bound_until_ms, until);
        helio_json_put_string(json, "bound_until", until);
    } else {
        helio_json_put_null(json, "bound_until");
    }
}

static void put_row(helio_json_writer_t *json, const exp_result_t *row, const exp_result_t *base,
                    const exp_world_t *world)
{
    helio_json_begin_object(json, NULL);
    helio_json_put_string(json, "policy", row->policy);
    helio_json_put_u64(json, "jobs", row->jobs);
    helio_json_put_u64(json, "finished", row->finished);
    helio_json_put_u64(json, "unfinished", row->jobs - row->finished);
    helio_json_put_real(json, "utilization", rounded(exp_result_utilization(row, world), 1e5));
    helio_json_put_real(json, "utilization_with_inference",
                        rounded(world->reserves ? exp_result_utilization_with_inference(row, world) : NAN, 1e5));
    helio_json_put_real(json, "wait_mean_s", rounded(mean(row, row->wait_sum_s), 10));
    helio_json_put_real(json, "wait_p50_s", exp_result_wait_s(row, .5));
    helio_json_put_real(json, "wait_p95_s", exp_result_wait_s(row, .95));
    helio_json_put_real(json, "wait_max_s", exp_result_wait_s(row, 1));
    helio_json_put_real(json, "jct_mean_s", rounded(mean(row, row->jct_sum_s), 10));
    if (row->finished)
        helio_json_put_real(json, "slowdown_mean", rounded(mean(row, row->slowdown_sum), 1e4));
    else
        helio_json_put_null(json, "slowdown_mean");
    helio_json_put_real(json, "slowdown_max", row->finished ? rounded(row->slowdown_most, 1e4) : NAN);
    helio_json_put_u64(json, "deadline_misses", row->deadline_misses);
    if (exp_world_has_cost(world))
        helio_json_put_real(json, "cost_usd", rounded(row->usd, 100));
    else
        helio_json_put_null(json, "cost_usd");
    helio_json_put_real(json, "energy_kwh", rounded(row->kwh, 10));
    helio_json_put_real(json, "idle_energy_kwh", rounded(row->idle_kwh, 10));
    helio_json_put_real(json, "carbon_kg", rounded(row->grams / 1000, 10));
    helio_json_put_u64(json, "moves", row->moves);
    helio_json_put_real(json, "reserve_shortfall_gpu_h", rounded(row->short_gpu_hours, 10));
    exp_cloud_put(json, row, world);
    helio_json_put_real(json, "effective_capacity_ratio", rounded(row->capacity_ratio, 1e3));
    put_bounds(json, row, base);
    helio_json_put_real(json, "local_wait_mean_s",
                        row->local_started ? rounded(row->local_wait_sum_s / row->local_started, 10) : NAN);
    helio_json_put_real(json, "decisions_per_s",
                        row->wall_s > 0 ? rounded((double)row->placements / row->wall_s, 10) : NAN);
    helio_json_put_real(json, "wall_s", rounded(row->wall_s, 1000));
    if (row->advice)
        exp_advice_put(json, row->advice, row, world);
    helio_json_end(json);
}

void exp_results_json(const exp_result_t *results, uint32_t count, const exp_world_t *world, helio_buffer_t *out)
{
    helio_json_writer_t json = helio_json_indented_into(out);
    helio_json_begin_array(&json, NULL);
    for (uint32_t i = 0; i < count; i++)
        put_row(&json, &results[i], exp_result_base(results, count), world);
    helio_json_end(&json);
    helio_buffer_text(out, "\n");
}

static void put_reached(helio_buffer_t *out, double best, double reached)
{
    if (isnan(best))
        helio_buffer_printf(out, " %11s", "-");
    else
        helio_buffer_printf(out, " %11.1f", best);
    if (isnan(reached))
        helio_buffer_printf(out, " %8s", "-");
    else
        helio_buffer_printf(out, " %7.1f%%", 100 * reached);
}

/*  The columns of those figures that were looked for. */
static void put_found_columns(const exp_result_t *row, const exp_result_t *base, const exp_world_t *world,
                              bool with_capacity, helio_buffer_t *out)
{
    if (world->reserves)
        helio_buffer_printf(out, " %11.1f", row->short_gpu_hours);
    if (with_capacity && isnan(row->capacity_ratio))
        helio_buffer_text(out, "         -");
    else if (with_capacity)
        helio_buffer_printf(out, " %9.3f", row->capacity_ratio);
    if (!row->bound_until_ms)
        return;
    put_reached(out, row->same_hours.grams / 1000, exp_bound_reached(row, base, false));
    put_reached(out, row->same_hours.usd, exp_bound_reached(row, base, true));
}

void exp_results_table(const exp_result_t *results, uint32_t count, const exp_world_t *world, helio_buffer_t *out)
{
    int width = NAME_WIDTH_LEAST;
    bool with_capacity = false;
    for (uint32_t i = 0; i < count; i++)
        with_capacity = with_capacity || !isnan(results[i].capacity_ratio);
    for (uint32_t i = 0; i < count; i++)
        width = (int)strlen(results[i].policy) > width ? (int)strlen(results[i].policy) : width;
    helio_buffer_printf(out, "%-*s %8s %6s %9s %9s %9s %9s %7s %11s %11s %11s %6s%s%s%s\n", width, "POLICY", "DONE",
                        "UTIL", "WAIT", "WAIT P50", "WAIT P95", "SLOWDOWN", "MISSED", "COST USD", "KWH", "CO2E KG",
                        "MOVES", world->reserves ? " SHORT GPU-H" : "", with_capacity ? "  CAPACITY" : "",
                        results->bound_until_ms ? "   CO2E BEST  REACHED   COST BEST  REACHED" : "");
    for (uint32_t i = 0; i < count; i++) {
        const exp_result_t *row = &results[i];
        char cost[32] = "-";
        if (exp_world_has_cost(world))
            (void)snprintf(cost, sizeof cost, "%.0f", row->usd);
        helio_buffer_printf(out, "%-*s %8u %6.3f %8.0fs %8.0fs %8.0fs %9.3f %7u %11s %11.0f %11.1f %6llu", width,
                            row->policy, row->finished, exp_result_utilization(row, world), mean(row, row->wait_sum_s),
                            exp_result_wait_s(row, .5), exp_result_wait_s(row, .95), mean(row, row->slowdown_sum),
                            row->deadline_misses, cost, row->kwh, row->grams / 1000, (unsigned long long)row->moves);
        put_found_columns(row, exp_result_base(results, count), world, with_capacity, out);
        helio_buffer_text(out, "\n");
    }
    exp_cloud_print(results, count, world, out);
    if (results->bound_until_ms)
        exp_bounds_text(results, count, world, out);
    if (results->advice)
        exp_advice_print(results, count, world, out);
}
