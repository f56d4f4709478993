/*  sanitize.c -- what sites report of themselves and of run times, checked against what is possible.
 *
 *  A site is trusted to run jobs, but must not be able to harm the federation. A price beyond what the database can add
 *  up would fail every list of sites, and a run of a year that began a minute ago would become thousands of rows of the
 *  ledger. A rent below zero would be a gift, and no tariff is far below what electricity exchanges allow. What a site offers
 *  binds it: it cannot state a low rent, take a job, and then raise the rent of the hours in which the job runs. */
#include "broker/core/sites/sanitize.h"

#include <math.h>

#include "broker/core/state/core.h"
#include "broker/core/state/submissions.h"
#include "federation/base/number.h"

enum {
    CLOCK_SLACK_MS = 600000,    /* between a run and its report, and for a broker's clock that was set */
    OWN_CLOCK_SLACK_MS = 60000, /* nothing sets that one: what a site can add to a run is as short as a quick failure */
    OWN_CLOCK_DRIFT = 50, /* each of two clocks drifts by less than 1 %, so a run is longer by a fiftieth at most */
    OVERTIME_MS =
        86400000,       /* beyond the limit: the grace, an hour at most, and a suspended host; as put_attempt has it */
    WATTS_MAX = 100000, /* of a device, or of a host's share for one, as a site states it of a pool */
    /* Of a device with its share of the host, as reported of a run: several times what any GPU takes that
     * federation/energy/power.c knows. As put_attempt has it. */
    USED_WATTS_MAX = 5000,
    POOL_NODES_MAX = 100000,
    /* A GPU-hour of a run costs at most this multiple of what it was to cost at its placement, on the mean over the
     * expected run: an hour can be dearer than the mean, and a spot market moves. */
    OFFER_BINDS = 4
};

/*  For a leader that saw the placement. */
static uint64_t since_placement_ms(const helio_broker_core_t *self, const use_limits_t *limits)
{
#ifdef HELIO_MUTANT_wall_clock_alone
    return UINT64_MAX;
#endif
    uint64_t ms = (uint64_t)(self->now_ms - limits->placed_ms);
    return ms + ms / OWN_CLOCK_DRIFT + OWN_CLOCK_SLACK_MS;
}

/*  A run cannot be longer than since its limits begin nor, since the agent stops it, than its time limit. The age is
 *  by a wall clock that goes on when it is set back, so that it does not shrink. If they seem to begin later than
 *  that, only the time limit applies. */
static uint64_t longest_run_ms(const helio_broker_core_t *self, const use_limits_t *limits)
{
    int64_t age_ms = self->latest_wall_ms - limits->from_ms;
    uint64_t limit = limits->time_limit_ms + OVERTIME_MS;
    if (limits->placed_ms)
        limit = helio_lesser_u64(limit, since_placement_ms(self, limits));
    return age_ms < 0 ? limit : helio_lesser_u64((uint64_t)age_ms + CLOCK_SLACK_MS, limit);
}

/*  Of an older attempt the placement is not known: it had at most what the largest of the job's alternatives asks for. */
static uint64_t most_gpus(const job_t *job, bool current)
{
    const helio_requirement_t *want = &job->submission->class->want;
    uint64_t per_node = current ? job->gpus_per_node : 0;
#ifdef HELIO_MUTANT_old_attempt_of_any_size
    if (!current)
        return (uint64_t)HELIO_JOB_NODES_MAX * HELIO_JOB_GPUS_PER_NODE_MAX;
#endif
    for (uint32_t i = 0; !current && i < want->gpus.count; i++)
        if (want->gpus.items[i].count > per_node)
            per_node = want->gpus.items[i].count;
    if (!current && want->whole_nodes)
        per_node = HELIO_JOB_GPUS_PER_NODE_MAX;
    return per_node * want->nodes;
}

double core_rent_most(int64_t rent_micro_usd, uint64_t gpu_ms)
{
#ifdef HELIO_MUTANT_offer_binds_nobody
    return 0;
#endif
    if (!gpu_ms)
        return 0;
    double micro_usd = rent_micro_usd > 0 ? (double)rent_micro_usd + 1 : 1; /* it was rounded */
    return OFFER_BINDS * micro_usd / 1e6 / ((double)gpu_ms / HELIO_HOUR_MS);
}

/*  By its newest placement, also for an older attempt, whose placement is not known. */
static double rent_most(const job_t *job)
{
    if (!job->last)
        return 0;
    const int64_t *planned = job->last->commitment.spend.of;
    return core_rent_most(planned[HELIO_BUDGET_MONEY] - job->last->transfer.egress_micro_usd,
                          (uint64_t)planned[HELIO_BUDGET_GPU]);
}

use_limits_t core_use_limits(const job_t *job, bool current)
{
    const submission_row_t *row = &job->submission->row;
    int64_t placed_ms = current ? job->last->commitment.placed_ms - (int64_t)job->last->transfer.ms : 0;
    return (use_limits_t){
        .gpus = most_gpus(job, current),
        .nodes = job->submission->class->want.nodes,
        .time_limit_ms = row->time_limit_ms,
        .from_ms = placed_ms > row->submitted_ms ? placed_ms : row->submitted_ms,
        .placed_ms = current ? job->last->placed_ms : 0,
        .rent_most = rent_most(job),
    };
}

bool core_report_bound(const helio_broker_core_t *self, const use_limits_t *limits, helio_report_t *report)
{
    const helio_report_t said = *report;
    report->run_ms = helio_lesser_u64(said.run_ms, longest_run_ms(self, limits));
    uint64_t hosts = limits->gpus > limits->nodes ? limits->gpus : limits->nodes;
    report->gpu_ms = helio_lesser_u64(said.gpu_ms, report->run_ms * limits->gpus);
    report->energy_j = helio_lesser_u64(said.energy_j, (report->run_ms / 1000 + 1) * hosts * USED_WATTS_MAX);
    return report->run_ms != said.run_ms || report->gpu_ms != said.gpu_ms || report->energy_j != said.energy_j;
}

static double bounded(double value, double least, double most)
{
    return value < least ? least : value > most ? most : value;
}

static double of_signal(double value, uint32_t signal)
{
    const helio_signal_range_t range = helio_signal_range(signal);
    return bounded(value, range.least, range.most);
}

void core_profile_bound(helio_site_profile_t *profile)
{
    profile->latitude = bounded(profile->latitude, -90, 90);
    profile->longitude = bounded(profile->longitude, -180, 180);
    profile->pue = of_signal(profile->pue, HELIO_SIGNAL_PUE);
    profile->carbon_g_per_kwh =
        profile->carbon_g_per_kwh < 0 ? -1 : of_signal(profile->carbon_g_per_kwh, HELIO_SIGNAL_CARBON);
    profile->electricity_usd_per_kwh = of_signal(profile->electricity_usd_per_kwh, HELIO_SIGNAL_ELECTRICITY);
}

void core_pool_bound(helio_pool_t *pool)
{
    pool->gpu_memory_bytes = helio_lesser_u64(pool->gpu_memory_bytes, INT64_MAX);
    pool->memory_bytes_per_node = helio_lesser_u64(pool->memory_bytes_per_node, INT64_MAX);
    pool->price_usd_per_gpu_h = of_signal(pool->price_usd_per_gpu_h, HELIO_SIGNAL_PRICE);
    pool->spot_usd_per_gpu_h = of_signal(pool->spot_usd_per_gpu_h, HELIO_SIGNAL_PRICE);
    pool->interruptions_per_h = bounded(pool->interruptions_per_h, 0, HELIO_POOL_INTERRUPTIONS_MAX);
    pool->idle_w = bounded(pool->idle_w, 0, WATTS_MAX);
    pool->base_w = bounded(pool->base_w, 0, WATTS_MAX);
    pool->slope_w = bounded(pool->slope_w, 0, WATTS_MAX);
    pool->host_w = bounded(pool->host_w, 0, WATTS_MAX);
}

uint32_t core_count_bound(uint32_t count)
{
    return (uint32_t)helio_lesser_u64(count, (uint64_t)POOL_NODES_MAX * HELIO_JOB_GPUS_PER_NODE_MAX);
}

/*  NAN: none is. */
static double first_good(helio_f64s_t points, double least)
{
    uint32_t i = 0;
    while (i < points.count && points.items[i] < least)
        i++;
    return i < points.count ? points.items[i] : NAN;
}

/*  Tables have no room for gaps: they are filled here as policies fill them, by the last good point. */
helio_f64s_t core_points_bound(helio_broker_core_t *self, uint32_t signal, helio_f64s_t points)
{
    const helio_signal_range_t range = helio_signal_range(signal);
    double *items = helio_arena_alloc(self->effects->arena, points.count, sizeof *items);
    double value = range.gap_below ? first_good(points, range.least) : 0;
    if (isnan(value))
        return (helio_f64s_t){0};
    for (uint32_t i = 0; i < points.count; i++) {
        if (!range.gap_below || points.items[i] >= range.least)
            value = points.items[i];
        items[i] = bounded(value, range.least, range.most);
    }
    return (helio_f64s_t){items, points.count};
}
