/*  bound.c -- rooms, rates and demand of the bounds. */
#include "simulator/experiment/bound.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "federation/base/clock.h"
#include "federation/base/number.h"
#include "federation/energy/power.h"
#include "federation/policy/pool_forecast.h"
#include "simulator/experiment/cheapest.h"

/*  What the problems of all rows have in common; each array is as in exp_problem_t. */
typedef struct ground {
    const exp_world_t *world;
    int64_t first_hour;
    uint32_t hours;
    double *room, *grams_per_kwh, *usd_per_kwh, *no_rent, *rent, *kw_low, *kw_high;
} ground_t;

static const exp_fleet_site_t *site_of(const ground_t *self, uint32_t place)
{
    return &self->world->fleet->items[self->world->classes->places[place].site];
}

static const helio_pool_t *pool_of(const ground_t *self, uint32_t place)
{
    return &site_of(self, place)->profile.pools.items[self->world->classes->places[place].pool];
}

/*  The part of the hour in which the site is there. */
static double present(const exp_fleet_site_t *site, int64_t hour)
{
    int64_t from_ms = hour * HELIO_HOUR_MS, to_ms = from_ms + HELIO_HOUR_MS, gone_ms = 0;
    for (uint32_t i = 0; i < site->outages.count; i++) {
        const exp_outage_t *outage = &site->outages.items[i];
        int64_t begin_ms = outage->from_ms > from_ms ? outage->from_ms : from_ms;
        int64_t end_ms = helio_lesser_i64(outage->to_ms, to_ms);
        gone_ms += end_ms > begin_ms ? end_ms - begin_ms : 0;
    }
    return 1 - (double)gone_ms / (double)HELIO_HOUR_MS;
}

/*  One that changes by the hour counts as in its cheapest hour: the bound stays one. */
static double least_rent(const ground_t *self, uint32_t place)
{
    const exp_place_t *at = &self->world->classes->places[place];
    const exp_series_t *series = exp_world_rent(self->world, at->site, at->pool);
    double least = series ? exp_series_at(series, self->first_hour) : helio_pool_rent_usd(pool_of(self, place));
    for (uint32_t i = 1; series && i < self->hours; i++)
        least = fmin(least, exp_series_at(series, self->first_hour + i));
    return least;
}

static void fill_hours(ground_t *self, uint32_t place)
{
    const exp_fleet_site_t *site = site_of(self, place);
    const helio_pool_t *pool = pool_of(self, place);
    const exp_series_t *carbon = exp_series_find(self->world->carbon, site->profile.region),
                       *price = exp_series_find(self->world->price, site->price_region);
    for (uint32_t i = 0; i < self->hours; i++) {
        size_t at = (size_t)i * self->world->classes->place_count + place;
        int64_t hour = self->first_hour + i;
        self->room[at] = (double)helio_pool_nodes_most(pool) * pool->gpus_per_node * present(site, hour);
        self->grams_per_kwh[at] = exp_series_at(carbon, hour);
        if (pool->owned)
            self->usd_per_kwh[at] = price ? exp_series_at(price, hour) : site->profile.electricity_usd_per_kwh;
    }
    self->rent[place] = pool->owned ? 0 : least_rent(self, place);
}

static void fill_kw(ground_t *self)
{
    const exp_classes_t *classes = self->world->classes;
    for (uint32_t k = 0; k < classes->count; k++)
        for (uint32_t i = 0; i < classes->items[k].place_count; i++) {
            uint32_t place = classes->items[k].places[i];
            size_t at = (size_t)k * classes->place_count + place;
            double pue = site_of(self, place)->profile.pue;
            self->kw_low[at] = helio_pool_watts(pool_of(self, place), classes->items[k].util_low) * pue / 1000;
            self->kw_high[at] = helio_pool_watts(pool_of(self, place), classes->items[k].util_high) * pue / 1000;
        }
}

static void ground_init(ground_t *self, const exp_world_t *world, int64_t first_hour, uint32_t hours)
{
    uint32_t places = world->classes->place_count, classes = world->classes->count;
    size_t slots = (size_t)hours * places;
    *self = (ground_t){.world = world, .first_hour = first_hour, .hours = hours};
    self->room = helio_new(slots, sizeof(double));
    self->grams_per_kwh = helio_new(slots, sizeof(double));
    self->usd_per_kwh = helio_new(slots, sizeof(double));
    self->no_rent = helio_new(places, sizeof(double));
    self->rent = helio_new(places, sizeof(double));
    self->kw_low = helio_new((size_t)classes * places, sizeof(double));
    self->kw_high = helio_new((size_t)classes * places, sizeof(double));
    for (uint32_t i = 0; i < places; i++)
        fill_hours(self, i);
    fill_kw(self);
}

static void ground_clear(ground_t *self)
{
    free(self->room);
    free(self->grams_per_kwh);
    free(self->usd_per_kwh);
    free(self->no_rent);
    free(self->rent);
    free(self->kw_low);
    free(self->kw_high);
}

static exp_bound_t solve(const ground_t *self, const exp_demand_t *demand, bool may_wait)
{
    exp_problem_t problem = {.classes = self->world->classes,
                             .hours = self->hours,
                             .room = self->room,
                             .per_kwh = self->grams_per_kwh,
                             .fixed = self->no_rent,
                             .kw_low = self->kw_low,
                             .kw_high = self->kw_high};
    exp_bound_t bound = {.usd = NAN};
    bound.grams = exp_cheapest(&problem, demand, may_wait);
    if (!exp_world_has_cost(self->world))
        return bound;
    problem.per_kwh = self->usd_per_kwh;
    problem.fixed = self->rent;
    bound.usd = exp_cheapest(&problem, demand, may_wait);
    return bound;
}

/*  The work as early as it could be done: by the end of an hour, no schedule has done more of it. */
static void add_jobs(const exp_world_t *world, exp_demand_t *ret_demand)
{
    const exp_trace_t *trace = world->trace;
    exp_demand_init(ret_demand, world->classes->count, trace->jobs[0].submit_ms);
    for (uint32_t i = 0; i < trace->count; i++) {
        const exp_job_t *job = &trace->jobs[i];
        if (world->classes->of_job[i] != EXP_CLASS_NONE)
            exp_demand_add(ret_demand, world->classes->of_job[i], job->nodes * job->gpus_per_node, job->submit_ms,
                           job->submit_ms + job->duration_ms);
    }
}

void exp_bounds_find(const exp_world_t *world, exp_result_t *results, uint32_t count)
{
    ground_t ground;
    exp_demand_t jobs;
    add_jobs(world, &jobs);
    uint32_t hours = jobs.hours;
    for (uint32_t i = 0; i < count; i++)
        hours = results[i].demand.hours > hours ? results[i].demand.hours : hours;
    ground_init(&ground, world, jobs.first_hour, hours);
    exp_bound_t least = solve(&ground, &jobs, true);
    for (uint32_t i = 0; i < count; i++) {
        results[i].least = least;
        results[i].same_hours = solve(&ground, &results[i].demand, false);
        results[i].bound_until_ms = (jobs.first_hour + hours) * HELIO_HOUR_MS;
    }
    ground_clear(&ground);
    exp_demand_clear(&jobs);
}

const exp_result_t *exp_result_base(const exp_result_t *results, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(results[i].policy, "least-wait") == 0)
            return &results[i];
    return results;
}

double exp_bound_reached(const exp_result_t *self, const exp_result_t *base, bool money)
{
    double base_sum = money ? base->usd : base->grams, sum = money ? self->usd : self->grams;
    double possible = base_sum - (money ? base->same_hours.usd : base->same_hours.grams);
    /* less than a millionth is what rounding leaves of nothing */
    if (self->finished != base->finished || !(possible > 1e-6 * fabs(base_sum)))
        return NAN;
    return (base_sum - sum) / possible;
}

void exp_bounds_text(const exp_result_t *results, uint32_t count, const exp_world_t *world, helio_buffer_t *out)
{
    const exp_result_t *base = exp_result_base(results, count);
    char until[HELIO_RFC3339_SIZE], usd[48] = "", same_usd[48] = "";
    helio_rfc3339(base->bound_until_ms, until);
    if (exp_world_has_cost(world)) {
        (void)snprintf(usd, sizeof usd, " or costs less than %.0f USD", base->least.usd);
        (void)snprintf(same_usd, sizeof same_usd, " and %.0f USD", base->same_hours.usd);
    }
    helio_buffer_printf(
        out,
        "No schedule that does this work by %.16sZ emits less than %.1f kg%s. In the hours in which %s did "
        "it, the best sites make %.1f kg%s: 100 %% of what is possible without other hours.\n",
        until, base->least.grams / 1000, usd, base->policy, base->same_hours.grams / 1000, same_usd);
}
