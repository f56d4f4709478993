/*  preemptions.c -- the promises on preemption: which work may preempt which, that freed capacity does not go back to
 *  the preempted job, and that no job is preempted for ever. The check reads the rows that a leader writes. */
#include <stdlib.h>
#include <string.h>

#include "federation/reason/codes.h"
#include "simulator/checks/internal.h"

/*  A job that was placed, and perhaps preempted since. */
struct checks_preemption {
    helio_job_key_t key;
    char site[33];              /* of its last placement */
    uint32_t gpus;              /* of that */
    bool stays;                 /* it is there, and was not told to stop */
    char queue[33], tenant[33]; /* of the job that preempted it */
    helio_job_key_t by;
    bool open;       /* no job of that queue and tenant was placed since */
    bool left;       /* it has left its site */
    uint32_t times;  /* under this leader, of standard work, for other tenants: these give immunity */
    uint32_t others; /* preemptions for other tenants' work, under any leader */
    uint64_t life;   /* of the leader that preempted it */
    int64_t at_ms;
    UT_hash_handle hh;
};

/*  The queue decides the tier: best-effort, standard or critical. */
static uint32_t tier_of(helio_text_t queue)
{
    return helio_text_is(queue, "urgent")  ? HELIO_TIER_CRITICAL
           : helio_text_is(queue, "spare") ? HELIO_TIER_BEST_EFFORT
                                           : HELIO_TIER_STANDARD;
}

static checks_preemption_t *preempted_of(sim_checks_t *self, helio_job_key_t key)
{
    checks_preemption_t *preempted;
    HASH_FIND(hh, self->preemptions, &key, sizeof key, preempted);
    if (!preempted) {
        preempted = helio_new(1, sizeof *preempted);
        preempted->key = key;
        HASH_ADD(hh, self->preemptions, key, sizeof preempted->key, preempted);
    }
    return preempted;
}

/*  A suspect job has none that its site knows of: the site is silent, or has lost its memory. */
static bool takes_room(uint32_t state)
{
    return helio_job_state_is_live(state) && state != HELIO_JOB_STOPPING && state != HELIO_JOB_SUSPECT;
}

void checks_preemption_transition(sim_checks_t *self, const helio_row_transition_t *row)
{
    enum { TENANT, QUEUE, KEY }; /* the indexes of these parameters */
    const helio_detail_t *by = helio_details_find(&row->why, HELIO_DETAIL_PREEMPTED_BY);
    if (!takes_room(row->to) || row->from == HELIO_JOB_SUSPECT)
        preempted_of(self, row->key)->stays = takes_room(row->to);
    if (row->from == HELIO_JOB_STOPPING && (by || row->to == HELIO_JOB_QUEUED)) /* as was asked, or by itself before */
        preempted_of(self, row->key)->left = true;
    if (row->to != HELIO_JOB_STOPPING || !by || row->from == HELIO_JOB_SUSPECT) /* its site came back while it ends */
        return;
    helio_text_t queue = helio_detail_value(by, QUEUE).text, tenant = helio_detail_value(by, TENANT).text;
    const sim_job_t *job = sim_workload_given(self->workload, row->key.job);
    if (!job)
        return;
    uint32_t preempting = tier_of(queue), victim = tier_of(job->queue);
    bool reclaims = preempting == victim && !helio_text_is(tenant, job->tenant);
    if (victim == HELIO_TIER_CRITICAL)
        sim_violate(self->engine, "critical work was preempted");
    else if (preempting < victim || (preempting == victim && !reclaims))
        sim_violate(self->engine, "work was preempted by work of no higher tier that reclaims no guarantee");
    checks_preemption_t *preempted = preempted_of(self, row->key);
    if (preempted->life !=
        sim_broker_epoch(checks_leader(self))) /* what a leader decided can be lost with that leader */
        preempted->times = 0;
    bool own = helio_text_is(tenant, job->tenant);
    preempted->others += !own;
    preempted->times += !own && victim == HELIO_TIER_STANDARD;
    if (preempted->times > HELIO_PREEMPT_TIMES_MAX)
        sim_violate(self->engine, "a job was preempted %u times for other tenants", preempted->times);
    preempted->life = sim_broker_epoch(checks_leader(self));
    preempted->at_ms = sim_now_ms(self->engine);
    preempted->open = true;
    preempted->left = false;
    if (helio_job_key_parse(helio_detail_value(by, KEY).text, &preempted->by) != HELIO_OK)
        sim_violate(self->engine, "a preempted job does not say for which job");
    (void)helio_text_copy(queue, preempted->queue, sizeof preempted->queue);
    (void)helio_text_copy(tenant, preempted->tenant, sizeof preempted->tenant);
    self->seen.preemptions++;
}

/*  Preemptions for the tenant's own work must not count. Otherwise a tenant could make its jobs immune by preempting
 *  them itself. */
void checks_preemption_state(sim_checks_t *self, const helio_row_state_t *row)
{
    const checks_preemption_t *preempted;
    HASH_FIND(hh, self->preemptions, &row->key, sizeof row->key, preempted);
    if (row->preemptions > (preempted ? preempted->others : 0))
        sim_violate(self->engine, "a preemption for the tenant's own work was counted");
}

/*  False when it is uncertain: a job of that queue and tenant may have been cancelled, or may prefer a cheaper hour. */
static bool is_wanted(const sim_checks_t *self, const checks_preemption_t *preempted)
{
    for (uint32_t i = 0; i < sim_workload_count(self->workload); i++) {
        const sim_job_t *job = sim_workload_job(self->workload, i);
        if (strcmp(job->tenant, preempted->tenant) != 0)
            continue;
        if (job->edited) /* it may have left that queue, or wait behind others of its tenant */
            return false;
        if (helio_text_is(job->queue, preempted->queue) && (job->cancel_ms || job->submission.spec.flexible_ms))
            return false;
    }
    return true;
}

/*  The jobs that stay at the site leave the job that preempted it as many GPUs as it asks for: more came back than that
 *  job needs, because the nodes are unknown. */
static bool leaves_enough(const sim_checks_t *self, const checks_preemption_t *preempted, uint32_t gpus)
{
    const sim_job_t *by = sim_workload_given(self->workload, preempted->by.job);
    if (!by)
        return true;
    const helio_job_spec_t *spec = &by->submission.spec;
    uint32_t taken = gpus + (spec->gpus.count ? spec->gpus.items[0].count * spec->nodes : 0);
    const checks_preemption_t *other, *next;
    HASH_ITER(hh, self->preemptions, other, next)
    {
        taken += other->stays && strcmp(other->site, preempted->site) == 0 ? other->gpus : 0;
    }
    return taken <= SIM_NODES_PER_SITE * SIM_GPUS_PER_NODE;
}

/*  By the details of a class: it names one site where it preempts, and whether it does elsewhere as well. */
static bool may_preempt_at(const helio_details_t *details, const char *site)
{
    const helio_detail_t *told = helio_details_find(details, HELIO_DETAIL_PREEMPTS),
                         *leave = helio_details_find(details, HELIO_DETAIL_PREEMPTED_LEAVE);
    uint32_t first = told ? 1 : 0; /* the index of the parameter "site"; that of "elsewhere" is 3 more */
    const helio_detail_t *detail = told ? told : leave;
    return detail && (helio_text_is(helio_detail_value(detail, first).text, site) ||
                      helio_detail_value(detail, first + 3).number != 0);
}

/*  A budget or a quota can forbid the start after capacity was made: what other jobs of the tenant used is known only
 *  when they end. And the broker may have been wrong about the nodes that jobs leave, which only the next summary of
 *  their site shows: a class that waits on, and preempts nothing there any more, has given up. Then the capacity is free
 *  for all. */
void checks_preemption_class(sim_checks_t *self, const helio_row_class_t *row)
{
    bool capped = helio_text_is(row->reason, helio_reason_name(HELIO_REASON_POLICY_CAP));
    bool waits = helio_text_is(row->reason, helio_reason_name(HELIO_REASON_WAITING_FOR_CAPACITY));
    if (!capped && !waits)
        return;
    checks_preemption_t *preempted, *next;
    HASH_ITER(hh, self->preemptions, preempted, next)
    {
        if (helio_text_is(row->queue, preempted->queue) && helio_text_is(row->tenant, preempted->tenant) &&
            (capped || (preempted->left && !may_preempt_at(&row->details, preempted->site))))
            preempted->open = false;
    }
}

/*  A site that is back lists a copy of the job that preempted others: the job no longer waits for capacity but for that
 *  copy's end, and what came back is free for all. */
static void free_for_all(void *arg, const helio_broker_job_view_t *view)
{
    sim_checks_t *self = arg;
    const sim_job_t *job = view->kept_back ? sim_workload_given(self->workload, view->key.job) : NULL;
    if (!job)
        return;
    checks_preemption_t *preempted, *next;
    HASH_ITER(hh, self->preemptions, preempted, next)
    {
        if (strcmp(preempted->queue, view->queue) == 0 && strcmp(preempted->tenant, job->tenant) == 0)
            preempted->open = false;
    }
}

void checks_preemption_inventory(sim_checks_t *self)
{
    const helio_broker_core_t *core = sim_broker_core(checks_leader(self));
    if (core)
        helio_broker_core_each(core, free_for_all, self);
}

void checks_preemption_placement(sim_checks_t *self, const helio_row_placement_t *row)
{
    const sim_job_t *job = sim_workload_given(self->workload, row->key.job);
    if (!job)
        return;
    checks_preemption_t *preempted, *next;
    HASH_FIND(hh, self->preemptions, &row->key, sizeof row->key, preempted);
    bool back = preempted && preempted->open && helio_text_is(row->site, preempted->site) &&
                sim_now_ms(self->engine) < preempted->at_ms + 30000 && is_wanted(self, preempted) &&
                !leaves_enough(self, preempted, row->gpus);
    if (back && !self->returned)
        self->returned = preempted;
    HASH_ITER(hh, self->preemptions, preempted, next)
    {
        if (!helio_text_is(job->queue, preempted->queue) || strcmp(job->tenant, preempted->tenant) != 0)
            continue;
        preempted->open = false;
        if (preempted == self->returned)
            self->returned = NULL;
    }
    preempted = preempted_of(self, row->key);
    (void)helio_text_copy(row->site, preempted->site, sizeof preempted->site);
    preempted->gpus = row->gpus;
    preempted->stays = true;
    preempted->open = false;
}

/*  What is stored of a job, as the new leader loads it. */
static void load(const sim_checks_t *self, checks_preemption_t *preempted)
{
    const helio_row_state_t row = sim_database_state(self->database, preempted->key).row;
    bool stops = row.state == HELIO_JOB_STOPPING, queued = row.state == HELIO_JOB_QUEUED;
    preempted->stays = takes_room(row.state);
    if (row.site.size) /* a later placement was lost with the last leader */
        (void)helio_text_copy(row.site, preempted->site, sizeof preempted->site);
    preempted->left = queued;
    preempted->open =
        preempted->open && (stops || queued) && helio_details_find(&row.why, HELIO_DETAIL_PREEMPTED_BY) != NULL;
}

/*  Whether a job that leaves the same site for the same other one is still there. */
static bool is_held(const sim_checks_t *self, const checks_preemption_t *preempted)
{
    const checks_preemption_t *other, *next;
    HASH_ITER(hh, self->preemptions, other, next)
    {
        if (other->open && !other->left && helio_job_key_equal(other->by, preempted->by) &&
            strcmp(other->site, preempted->site) == 0)
            return true;
    }
    return false;
}

/*  What the last leader decided without a commit came to nothing. What it stored, the new leader holds as long as one of
 *  these jobs is still there. */
void checks_preemption_takeover(sim_checks_t *self)
{
    checks_preemption_t *preempted, *next;
    HASH_ITER(hh, self->preemptions, preempted, next)
    {
        load(self, preempted);
    }
    HASH_ITER(hh, self->preemptions, preempted, next)
    {
        preempted->open =
            preempted->open && is_held(self, preempted); /* one of those that are there holds itself open */
    }
}

/*  One round may place both jobs, in any order, when other capacity became free as well. So the check runs after the
 *  step. */
void checks_preemption_step(sim_checks_t *self)
{
    if (self->returned)
        sim_violate(self->engine, "a preempted job was placed again before the job that preempted it");
}

void checks_preemptions_free(sim_checks_t *self)
{
    checks_preemption_t *preempted, *next;
    HASH_ITER(hh, self->preemptions, preempted, next)
    {
        HASH_DEL(self->preemptions, preempted);
        free(preempted);
    }
}
