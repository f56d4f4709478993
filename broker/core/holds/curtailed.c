/*  curtailed.c -- curtailed sites: what may start there, and which jobs leave.
 *
 *  Jobs leave by tier, the lowest first; within a tier those that save their work, then those that lose least, then the
 *  youngest. Each gets its grace. Work that may not be preempted stays: critical jobs, jobs preempted too often, and jobs
 *  that have only just begun, until they have run for a while. A job that left returns to its queue, and starts
 *  elsewhere, or there once the site may use more. */
#include "broker/core/holds/curtailed.h"

#include <math.h>
#include <stdlib.h>
#include <utlist.h>

#include "broker/core/holds/preemptions.h"
#include "broker/core/state/changes.h"
#include "broker/core/state/core.h"
#include "broker/core/state/curtailments.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/pools.h"
#include "broker/core/state/preemptible.h"
#include "broker/core/state/sites.h"
#include "broker/core/state/submissions.h"
#include "broker/core/state/why.h"
#include "federation/energy/power.h"

enum {
    AGAIN_MS = 1000,                   /* when a job that cannot be stopped yet is looked at again */
    FIGURES_EVERY_MS = 10000,          /* how often changed figures are stored */
    AHEAD_MS = HELIO_JOB_GRACE_MAX_MS, /* no job needs more to save its work */
    AHEAD_EVERY_MS = 5000              /* how often jobs are looked for that have to leave before one begins */
};

/* ---- power ------------------------------------------------------------------------------------------------- */

static double gpu_w(const site_t *site, const pool_t *pool)
{
    double pue = site->profile.pue > 1 ? site->profile.pue : 1;
    return pue * helio_pool_watts(&pool->info, 1);
}

static double job_w(const job_t *job)
{
    return job->pool ? gpu_w(job->site, job->pool) * core_job_gpus(job) : 0;
}

static double full_w(const site_t *site)
{
    double sum = 0;
    for (uint32_t i = 0; i < site->pool_count; i++)
        sum += gpu_w(site, &site->pools[i]) * site->pools[i].info.gpus_per_node *
               helio_pool_nodes_most(&site->pools[i].info);
    return sum;
}

static uint64_t gpus_of(const free_nodes_t *nodes)
{
    uint64_t sum = 0;
    for (uint32_t k = 1; k <= HELIO_JOB_GPUS_PER_NODE_MAX; k++)
        sum += (uint64_t)k * nodes->by_gpus[k];
    return sum;
}

/*  GPUs of a pool in use: what its site reported, with what was placed and ended since, and at least those of our own
 *  jobs. A site that withholds a pool reports all of it as used, so then only our jobs count. */
static uint64_t used_gpus(const site_t *site, const pool_t *pool)
{
    uint64_t ours = 0;
    const job_t *job;
    DL_FOREACH(site->live, job)
    {
        ours += job->pool == pool ? core_job_gpus(job) : 0;
    }
    if (!site->capacity_known || pool->last.withheld)
        return ours;
    uint64_t before = gpus_of(&pool->figured) + pool->last.gpus_allocated, now = gpus_of(&pool->free);
    uint64_t used = before > now ? before - now : 0, most = pool->last.gpus_total;
    used = used < most ? used : most;
    return used > ours ? used : ours;
}

/*  Counted once a round, and with each placement in it. */
static double used_w(const helio_broker_core_t *self, site_t *site)
{
    if (site->power_round == self->rounds && self->rounds)
        return site->power_w;
    site->power_w = 0;
    for (uint32_t i = 0; i < site->pool_count; i++)
        site->power_w += gpu_w(site, &site->pools[i]) * (double)used_gpus(site, &site->pools[i]);
    site->power_round = self->rounds;
    return site->power_w;
}

void core_curtail_placed(helio_broker_core_t *self, const job_t *job)
{
    if (job->site->power_round == self->rounds)
        job->site->power_w += job_w(job);
}

/*  The share of the site's power when it was ordered (0: its pools were not known): a site that reports more GPUs
 *  meanwhile may not use more. Slightly more than that, so that rounding never forbids what fits exactly. */
static double limit_w(const site_t *site, const helio_row_curtailment_t *row)
{
    return (row->full_w ? (double)row->full_w : full_w(site)) * row->percent / 100 * (1 + 1e-9);
}

/* ---- which jobs leave -------------------------------------------------------------------------------------- */

typedef struct leaver {
    job_t *job;
    uint32_t tier;
    bool saves;
    uint64_t lost_gpu_ms;
    int64_t grace_ms; /* that it needs to save its work; 0 = it saves none */
    double w;
    bool stays;
} leaver_t;

static int by_loss(const void *a_, const void *b_)
{
    const leaver_t *a = a_, *b = b_;
    if (a->tier != b->tier)
        return a->tier < b->tier ? -1 : 1;
    if (a->saves != b->saves)
        return a->saves ? -1 : 1;
    if (a->lost_gpu_ms != b->lost_gpu_ms)
        return a->lost_gpu_ms < b->lost_gpu_ms ? -1 : 1;
    return core_job_by_age(b->job, a->job);
}

/*  Here best-effort jobs get their grace, too. */
static leaver_t leaver_of(const helio_broker_core_t *self, job_t *job)
{
    const submission_t *submission = job->submission;
    uint64_t lost_ms = helio_preempt_lost_ms(core_preempt_ran_ms(self, job), submission->checkpoint_every_ms,
                                             submission->signalled, submission->grace_ms);
    bool saves = submission->signalled || submission->checkpoint_every_ms;
    return (leaver_t){.job = job,
                      .tier = core_preempt_tier(job),
                      .saves = saves,
                      .lost_gpu_ms = lost_ms * core_job_gpus(job),
                      .grace_ms = submission->signalled ? (int64_t)submission->grace_ms : 0,
                      .w = job_w(job)};
}

/*  Whether it can have to leave, but not yet. */
static bool is_later(const helio_broker_core_t *self, const job_t *job)
{
    bool comes =
        job->state == HELIO_JOB_OFFERED || job->state == HELIO_JOB_ACCEPTED || job->state == HELIO_JOB_STARTING;
    return core_preempt_can(self, job, true) ||
           (comes && core_preempt_tier(job) < HELIO_TIER_CRITICAL && !core_preempt_is_immune(job));
}

/*  The jobs that leave, in their order; those that need not are marked. The caller frees them. */
static leaver_t *find_leavers(helio_broker_core_t *self, const site_t *site, curtail_plan_t *plan, uint32_t *ret_count)
{
    uint32_t count = 0, capacity = 0, taken = 0;
    leaver_t *leavers = NULL;
    job_t *job;
    DL_FOREACH(site->live, job)
    {
        if (!job->pool || !core_job_gpus(job))
            continue;
        if (job->state == HELIO_JOB_STOPPING)
            plan->leaves_w += job_w(job);
        else if (!core_preempt_can(self, job, false))
            plan->later_w += is_later(self, job) ? job_w(job) : 0;
        else {
            if (count == capacity) {
                capacity = capacity ? capacity * 2 : 32;
                leavers = helio_grow(leavers, capacity, sizeof *leavers);
            }
            leavers[count++] = leaver_of(self, job);
        }
    }
    double wanted = plan->used_w - plan->leaves_w - plan->limit_w, back = 0;
    if (count)
        qsort(leavers, count, sizeof *leavers, by_loss);
    while (taken < count && back < wanted)
        back += leavers[taken++].w;
    for (uint32_t i = taken; i-- > 0;) /* enough without it; the most expensive first */
        if (back - leavers[i].w >= wanted) {
            back -= leavers[i].w;
            leavers[i].stays = true;
        }
    for (uint32_t i = 0; i < taken; i++)
        plan->jobs += !leavers[i].stays;
    plan->kept_w = wanted > back ? wanted - back : 0;
    plan->later_w = plan->later_w < plan->kept_w ? plan->later_w : plan->kept_w;
    *ret_count = taken;
    return leavers;
}

static curtail_plan_t plan_of(helio_broker_core_t *self, site_t *site, const helio_row_curtailment_t *row)
{
    return (curtail_plan_t){.full_w = row->full_w ? (double)row->full_w : ceil(full_w(site)),
                            .limit_w = limit_w(site, row),
                            .used_w = used_w(self, site)};
}

curtail_plan_t core_curtail_plan(helio_broker_core_t *self, site_t *site, const helio_row_curtailment_t *row)
{
    uint32_t count;
    core_findings_expire(self);
    curtail_plan_t plan = plan_of(self, site, row);
    free(find_leavers(self, site, &plan, &count));
    return plan;
}

bool core_curtail_stops(helio_broker_core_t *self, site_t *site, const helio_row_curtailment_t *row, const job_t *job)
{
    uint32_t count;
    bool stops = false;
    core_findings_expire(self);
    curtail_plan_t plan = plan_of(self, site, row);
    leaver_t *leavers = find_leavers(self, site, &plan, &count);
    for (uint32_t i = 0; i < count; i++)
        stops = stops || (leavers[i].job == job && !leavers[i].stays);
    free(leavers);
    return stops;
}

static helio_value_t until_of(const curtailment_t *curtailment)
{
    return helio_value_number(curtailment->row.until_ms);
}

/*  Stores the figures, at once if they are the first or jobs were stopped. Returns in how many ms that is due; 0 = it is
 *  not. */
static int64_t keep_figures(helio_broker_core_t *self, curtailment_t *curtailment, const curtail_plan_t *plan, bool now)
{
    helio_row_curtailment_t *row = &curtailment->row;
    const helio_row_curtailment_t before = *row;
    row->full_w = (uint64_t)plan->full_w; /* only the first time */
    row->used_w = (uint64_t)(plan->used_w + 0.5);
    row->kept_w = (uint64_t)(plan->kept_w + 0.5);
    curtailment->moved = curtailment->moved || row->used_w != before.used_w || row->kept_w != before.kept_w ||
                         row->full_w != before.full_w;
    int64_t since_ms = curtailment->row_ms ? self->now_ms - curtailment->row_ms : FIGURES_EVERY_MS;
    if (!now && before.judged_ms && !curtailment->moved)
        return 0;
    if (!now && before.judged_ms && since_ms < FIGURES_EVERY_MS)
        return FIGURES_EVERY_MS - since_ms;
    row->judged_ms = self->wall_ms;
    curtailment->moved = false;
    core_curtailment_write(self, curtailment);
    return 0;
}

static void stop_for(helio_broker_core_t *self, const site_t *site, curtailment_t *curtailment, const leaver_t *leaver)
{
    helio_row_curtailment_t *row = &curtailment->row;
    helio_details_t reason =
        CORE_WHY(self, HELIO_DETAIL_STOPPED_FOR_CURTAILMENT, helio_value_string(site->name),
                 helio_value_number(row->percent), until_of(curtailment), helio_value_text(row->reason));
    (void)core_preempt_job(self, leaver->job, HELIO_PREEMPT_CAUSE_CURTAILMENT, NULL, &reason);
    row->jobs_stopped++;
    row->lost_gpu_ms += leaver->lost_gpu_ms;
}

/*  Returns in how many ms it is to be looked at again; 0 = when something changes. */
static int64_t shed(helio_broker_core_t *self, site_t *site, curtailment_t *curtailment)
{
    helio_row_curtailment_t *row = &curtailment->row;
    uint32_t count, stopped = row->jobs_stopped;
    curtail_plan_t plan = plan_of(self, site, row);
    leaver_t *leavers = find_leavers(self, site, &plan, &count);
    for (uint32_t i = 0; i < count; i++)
        if (!leavers[i].stays)
            stop_for(self, site, curtailment, &leavers[i]);
    free(leavers);
    int64_t due_ms = keep_figures(self, curtailment, &plan, row->jobs_stopped != stopped);
    return plan.later_w > 0 ? AGAIN_MS : due_ms;
}

/*  Of one that will begin: jobs that would have to leave then, and need time to save their work, leave so long before. As
 *  soon as the first does, nothing starts there that would not fit under the limit: it would take the place of what
 *  left. Returns in how many ms to look again. */
static int64_t prepare(helio_broker_core_t *self, site_t *site, curtailment_t *curtailment)
{
    uint32_t count, stopped = 0;
    int64_t left_ms = curtailment->row.from_ms - self->wall_ms, again_ms = AHEAD_EVERY_MS;
    if (left_ms > AHEAD_MS)
        return left_ms - AHEAD_MS;
    curtail_plan_t plan = plan_of(self, site, &curtailment->row);
    leaver_t *leavers = find_leavers(self, site, &plan, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (leavers[i].stays || !leavers[i].grace_ms)
            continue;
        int64_t wait_ms = left_ms - leavers[i].grace_ms;
        if (wait_ms > 0) {
            again_ms = wait_ms < again_ms ? wait_ms : again_ms;
            continue;
        }
        curtailment->prepares = true;
        stop_for(self, site, curtailment, &leavers[i]);
        stopped++;
    }
    free(leavers);
    if (stopped)
        core_curtailment_write(self, curtailment);
    return left_ms < again_ms ? left_ms : again_ms;
}

static int64_t prepare_all(helio_broker_core_t *self, site_t *site)
{
    int64_t soonest_ms = 0;
    curtailment_t *each;
    DL_FOREACH(site->curtailments, each)
    {
        int64_t again_ms = each->row.from_ms > self->wall_ms ? prepare(self, site, each) : 0;
        soonest_ms = again_ms && (!soonest_ms || again_ms < soonest_ms) ? again_ms : soonest_ms;
    }
    return soonest_ms;
}

void core_curtail_review(helio_broker_core_t *self)
{
    int64_t next_ms = core_curtailments_next_ms(self);
    for (site_t *site = self->curtailments ? self->sites : NULL; site; site = site->hh.next) {
        bool there = site->state == HELIO_SITE_STATE_READY && site->inventory_closed && site->capacity_known;
        curtailment_t *now = core_curtailment_now(self, site);
        int64_t again_ms = now && there ? shed(self, site, now) : 0;
        int64_t ahead_ms = there ? prepare_all(self, site) : 0;
        if (again_ms && self->wall_ms + again_ms < next_ms)
            next_ms = self->wall_ms + again_ms;
        if (ahead_ms && self->wall_ms + ahead_ms < next_ms)
            next_ms = self->wall_ms + ahead_ms;
    }
    core_check_at(self, CORE_CHECK_CURTAILMENTS, next_ms);
}

void core_curtail_recheck(helio_broker_core_t *self)
{
    for (site_t *site = self->curtailments ? self->sites : NULL; site; site = site->hh.next) {
        curtailment_t *each, *next;
        DL_FOREACH_SAFE(site->curtailments, each, next)
        {
            if (each->row.until_ms > self->wall_ms)
                continue;
            core_curtailment_drop(self, site, each);
            core_facts_changed(self, site);
        }
        if (core_curtailments_begin(self, site))
            core_facts_changed(self, site);
    }
    core_check_at(self, CORE_CHECK_CURTAILMENTS, core_curtailments_next_ms(self));
    core_round_due(self);
}

/* ---- whether a job can start ------------------------------------------------------------------------------- */

/*  The power of jobs that others are leaving for, beyond what those return: it is theirs. */
static double awaited_w(const helio_broker_core_t *self, const job_class_t *class, const site_t *site)
{
    double sum = 0;
    bool own = false;
    const preemption_t *preemption;
    DL_FOREACH(core_preempt_first(self), preemption)
    {
        if (preemption->site != site)
            continue;
        bool mine = preemption->class->id == class->id && !own;
        own = own || mine;
        double gpus = mine ? 0 : (double)preemption->gpus_per_node * preemption->class->want.nodes;
        for (uint32_t k = 1; k <= HELIO_JOB_GPUS_PER_NODE_MAX; k++)
            gpus -= (double)k * preemption->back.nodes_by_gpus[k];
        sum += gpus * gpu_w(site, preemption->pool);
    }
    return sum > 0 ? sum : 0;
}

bool core_curtail_allows(helio_broker_core_t *self, const job_class_t *class, site_t *site, const pool_t *pool,
                         uint32_t gpus_per_node, uint64_t back_gpus)
{
    const curtailment_t *now = gpus_per_node ? core_curtailment_binding(self, site) : NULL;
    if (!now)
        return true;
#ifdef HELIO_MUTANT_curtailment_ignored
    return true;
#endif
    double gpus = (double)gpus_per_node * class->want.nodes - (double)back_gpus;
    return used_w(self, site) + awaited_w(self, class, site) + gpus * gpu_w(site, pool) <= limit_w(site, &now->row);
}

bool core_curtail_excludes(const helio_broker_core_t *self, const job_class_t *class, const site_t *site,
                           const pool_t *pool, uint32_t gpus_per_node)
{
    const curtailment_t *now = gpus_per_node ? core_curtailment_binding(self, site) : NULL;
    return now && (double)gpus_per_node * class->want.nodes * gpu_w(site, pool) > limit_w(site, &now->row);
}

helio_detail_t core_curtail_detail(helio_broker_core_t *self, const job_class_t *class, site_t *site,
                                   const pool_t *pool, uint32_t gpus_per_node, int64_t *ret_until_ms)
{
    const curtailment_t *now = core_curtailment_binding(self, site);
    if (!now)
        return (helio_detail_t){0};
    *ret_until_ms = now->row.until_ms;
    double needed = (double)gpus_per_node * class->want.nodes * gpu_w(site, pool);
    return CORE_DETAIL(self, HELIO_DETAIL_CURTAILED_TO, helio_value_string(site->name),
                       helio_value_number(now->row.percent), until_of(now),
                       helio_value_number((int64_t)used_w(self, site)),
                       helio_value_number((int64_t)limit_w(site, &now->row)), helio_value_number((int64_t)needed));
}
