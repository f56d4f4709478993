/*  sanitize.c -- what sites say of themselves and of a run's length, held against what can be true.
 *
 *  A site is trusted to run jobs, not with the federation's life: a price beyond what the database can add up
 * would fail every list of sites, a run of a year that began a minute ago would become thousands of rows of
 * the ledger.
 */
#include "broker/core/sites/sanitize.h"

#include "broker/core/state/core.h"
#include "broker/core/state/submissions.h"
#include "federation/base/number.h"

enum {
    CLOCK_SLACK_MS = 600000, /* between a run and its report, and for a broker's clock that was set */
    OVERTIME_MS = 86400000,  /* beyond the limit: the job's grace, a host that slept */
    WATTS_MAX = 100000,      /* of a device or of a host's share of one */
    POINT_MAX = 2000000000,  /* of any signal: a gigawatt is the largest that can be */
    POOL_NODES_MAX = 100000
};

/*  No attempt is older than its job, and its limit is kept below the agent. A clock that was set back makes no job
 * younger: where it says that one is yet to be submitted, only the limit bounds it. */
static uint64_t longest_run_ms(const helio_broker_core_t *self, const job_t *job)
{
    const submission_row_t *row = &job->submission->row;
    int64_t age_ms = self->latest_wall_ms - row->submitted_ms;
    uint64_t limit = row->time_limit_ms + OVERTIME_MS;
    return age_ms < 0 ? limit : helio_lesser_u64((uint64_t)age_ms + CLOCK_SLACK_MS, limit);
}

bool core_report_cut(const helio_broker_core_t *self, const job_t *job, bool current, helio_report_t *report)
{
    const helio_report_t said = *report;
    report->run_ms = helio_lesser_u64(said.run_ms, longest_run_ms(self, job));
    uint64_t gpus = (uint64_t)HELIO_JOB_NODES_MAX * HELIO_JOB_GPUS_PER_NODE_MAX;
    uint64_t nodes = job->submission->class->want.nodes;
    if (current)
        gpus = nodes * job->gpus_per_node;
    report->gpu_ms = helio_lesser_u64(said.gpu_ms, report->run_ms * gpus);
    report->energy_j =
        helio_lesser_u64(said.energy_j, (report->run_ms / 1000 + 1) * (gpus > nodes ? gpus : nodes) * WATTS_MAX);
    return report->run_ms != said.run_ms || report->gpu_ms != said.gpu_ms ||
           report->energy_j != said.energy_j;
}

static double bounded(double value, double least, double most)
{
    return value < least ? least : value > most ? most : value;
}

void core_profile_bound(helio_site_profile_t *profile)
{
    profile->latitude = bounded(profile->latitude, -90, 90);
    profile->longitude = bounded(profile->longitude, -180, 180);
    profile->pue = bounded(profile->pue, 0, 10);
    profile->carbon_g_per_kwh = bounded(profile->carbon_g_per_kwh, -1, 1e5);
    profile->electricity_usd_per_kwh = bounded(profile->electricity_usd_per_kwh, -1e3, 1e3);
}

void core_pool_bound(helio_pool_t *pool)
{
    pool->gpu_memory_bytes = helio_lesser_u64(pool->gpu_memory_bytes, INT64_MAX);
    pool->memory_bytes_per_node = helio_lesser_u64(pool->memory_bytes_per_node, INT64_MAX);
    pool->price_usd_per_gpu_h = bounded(pool->price_usd_per_gpu_h, -1e6, 1e6);
    pool->spot_usd_per_gpu_h = bounded(pool->spot_usd_per_gpu_h, -1e6, 1e6);
    pool->idle_w = bounded(pool->idle_w, 0, WATTS_MAX);
    pool->base_w = bounded(pool->base_w, 0, WATTS_MAX);
    pool->slope_w = bounded(pool->slope_w, 0, WATTS_MAX);
    pool->host_w = bounded(pool->host_w, 0, WATTS_MAX);
}

uint32_t core_count_bound(uint32_t count)
{
    return (uint32_t)helio_lesser_u64(count, (uint64_t)POOL_NODES_MAX * HELIO_JOB_GPUS_PER_NODE_MAX);
}

helio_f64s_t core_points_bound(helio_broker_core_t *self, helio_f64s_t points)
{
    double *items = helio_arena_alloc(self->effects->arena, points.count, sizeof *items);
    for (uint32_t i = 0; i < points.count; i++)
        items[i] = bounded(points.items[i], -POINT_MAX, POINT_MAX);
    return (helio_f64s_t){items, points.count};
}
