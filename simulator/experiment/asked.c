#include "simulator/experiment/asked.h"

#include <math.h>
#include <stdlib.h>

static const double MS_PER_HOUR = 3600000, SHARE = .9;

static double unused(const exp_asked_t *asked)
{
    return fmax(0, asked->gpu_hours_asked - asked->gpu_hours_used) + asked->gpu_hours_used - asked->gpu_hours_busy;
}

static int by_unused(const void *a_, const void *b_)
{
    const exp_asked_t *a = a_, *b = b_;
    if (unused(a) > unused(b) || unused(a) < unused(b))
        return unused(a) > unused(b) ? -1 : 1;
    return (a->team > b->team) - (a->team < b->team);
}

typedef struct used_share {
    uint32_t team;
    double share; /* of its limit */
} used_share_t;

static int by_team_and_share(const void *a_, const void *b_)
{
    const used_share_t *a = a_, *b = b_;
    if (a->team != b->team)
        return a->team > b->team ? 1 : -1;
    return (a->share > b->share) - (a->share < b->share);
}

/*  Nearest rank, of the shares of each team. */
static void find_limits(const exp_trace_t *trace, exp_asked_t *asked)
{
    used_share_t *shares = helio_new(trace->count, sizeof *shares);
    for (uint32_t i = 0; i < trace->count; i++) {
        const exp_job_t *job = &trace->jobs[i];
        shares[i] = (used_share_t){job->team_number, (double)job->duration_ms / (double)job->limit_ms};
    }
    qsort(shares, trace->count, sizeof *shares, by_team_and_share);
    for (uint32_t i = 0; i < trace->count; i += asked[shares[i].team].jobs) {
        exp_asked_t *team = &asked[shares[i].team];
        uint32_t at = (uint32_t)(SHARE * team->jobs);
        team->limit_p90 = shares[i + (at < team->jobs ? at : team->jobs - 1)].share;
    }
    free(shares);
}

exp_asked_t *exp_asked_of(const exp_trace_t *trace)
{
    exp_asked_t *asked = helio_new(trace->team_count, sizeof *asked);
    for (uint32_t i = 0; i < trace->team_count; i++)
        asked[i].team = i;
    for (uint32_t i = 0; i < trace->count; i++) {
        const exp_job_t *job = &trace->jobs[i];
        exp_asked_t *team = &asked[job->team_number];
        double gpus = (double)job->nodes * job->gpus_per_node, used = gpus * (double)job->duration_ms / MS_PER_HOUR;
        team->jobs++;
        team->gpu_hours_asked += gpus * (double)job->limit_ms / MS_PER_HOUR;
        team->gpu_hours_used += used;
        team->gpu_hours_busy += used * job->util;
    }
    find_limits(trace, asked);
    qsort(asked, trace->team_count, sizeof *asked, by_unused);
    return asked;
}

double exp_hours_between(const exp_exposure_t *exposure)
{
    return exposure->interrupted ? exposure->run_hours / exposure->interrupted : HUGE_VAL;
}
