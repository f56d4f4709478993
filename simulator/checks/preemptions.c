/*  preemptions.c -- the promises on preemption: who may take whose place, that a place which was made is not given back to
 *  the job that left it, and that no job is preempted for ever. Watched on the rows that a leader writes. */
#include <stdlib.h>
#include <string.h>

#include "simulator/checks/internal.h"

/*  A job that was placed, and perhaps told to leave for another. */
struct checks_eviction {
    helio_job_key_t key;
    char site[33];              /* of its last placement */
    char queue[33], tenant[33]; /* for whose job it left */
    bool open;                  /* and none of those was placed since */
    uint32_t times;             /* in that life, of those that may make it immune: of standard work for other tenants */
    uint32_t others;            /* for other tenants' work, ever */
    uint64_t life;              /* of the leader that decided so */
    uint64_t sessions;          /* counts streams until then */
    int64_t at_ms;
    UT_hash_handle hh;
};

/*  Best-effort, standard or critical, by the queue. */
static uint32_t tier_of(helio_text_t queue)
{
    return helio_text_is(queue, "urgent")  ? HELIO_TIER_CRITICAL
           : helio_text_is(queue, "spare") ? HELIO_TIER_BEST_EFFORT
                                           : HELIO_TIER_STANDARD;
}

static checks_eviction_t *preempted_of(sim_checks_t *self, helio_job_key_t key)
{
    checks_eviction_t *preempted;
    HASH_FIND(hh, self->preemptions, &key, sizeof key, preempted);
    if (!preempted) {
        preempted = helio_new(1, sizeof *preempted);
        preempted->key = key;
        HASH_ADD(hh, self->preemptions, key, sizeof preempted->key, preempted);
    }
    return preempted;
}

void checks_eviction_transition(sim_checks_t *self, const helio_row_transition_t *row)
{
    enum { TENANT, QUEUE }; /* their places among the parameters */
    const helio_detail_t *by = helio_details_find(&row->why, HELIO_DETAIL_PREEMPTED_BY);
    if (row->to != HELIO_JOB_STOPPING || !by)
        return;
    helio_text_t queue = helio_detail_value(by, QUEUE).text, tenant = helio_detail_value(by, TENANT).text;
    const sim_job_t *job = sim_workload_given(self->workload, row->key.job);
    if (!job)
        return;
    uint32_t evictor = tier_of(queue), victim = tier_of(job->queue);
    bool reclaims = evictor == victim && !helio_text_is(tenant, job->tenant);
    if (victim == HELIO_TIER_CRITICAL)
        sim_violate(self->engine, "critical work was evicted");
    else if (evictor < victim || (evictor == victim && !reclaims))
        sim_violate(self->engine, "work was evicted by work of no higher tier that reclaims nothing");
    checks_eviction_t *preempted = preempted_of(self, row->key);
    if (preempted->life != sim_broker_life(self->broker)) /* a leader's decisions may be lost with it */
        preempted->times = 0;
    bool own = helio_text_is(tenant, job->tenant);
    preempted->others += !own;
    preempted->times += !own && victim == HELIO_TIER_STANDARD;
    if (preempted->times > HELIO_PREEMPT_TIMES_MAX)
        sim_violate(self->engine, "a job was evicted %u times for others", preempted->times);
    preempted->life = sim_broker_life(self->broker);
    preempted->at_ms = sim_now_ms(self->engine);
    preempted->open = true;
    preempted->sessions = sim_network_streams(self->federation->network); /* a hold ends with its site's session */
    (void)helio_text_copy(queue, preempted->queue, sizeof preempted->queue);
    (void)helio_text_copy(tenant, preempted->tenant, sizeof preempted->tenant);
    self->sights.preemptions++;
}

/*  Otherwise a tenant could make its jobs immune by preempting them itself. */
void checks_eviction_state(sim_checks_t *self, const helio_row_state_t *row)
{
    const checks_eviction_t *preempted;
    HASH_FIND(hh, self->preemptions, &row->key, sizeof row->key, preempted);
    if (row->preemptions > (preempted ? preempted->others : 0))
        sim_violate(self->engine, "an eviction counts that was not for another tenant's work");
}

/*  False when it is not certain: a job of that queue and tenant may have been cancelled, or may prefer a better hour. */
static bool is_wanted(const sim_checks_t *self, const checks_eviction_t *preempted)
{
    for (uint32_t i = 0; i < sim_workload_count(self->workload); i++) {
        const sim_job_t *job = sim_workload_job(self->workload, i);
        if (strcmp(job->tenant, preempted->tenant) != 0)
            continue;
        if (job->edited) /* it may have left that queue, or stand behind others of its tenant */
            return false;
        if (helio_text_is(job->queue, preempted->queue) && (job->cancel_ms || job->submission.spec.flexible_ms))
            return false;
    }
    return true;
}

void checks_eviction_placement(sim_checks_t *self, const helio_row_placement_t *row)
{
    const sim_job_t *job = sim_workload_given(self->workload, row->key.job);
    if (!job)
        return;
    checks_eviction_t *preempted, *next;
    HASH_FIND(hh, self->preemptions, &row->key, sizeof row->key, preempted);
    bool back = preempted && preempted->open && preempted->life == sim_broker_life(self->broker) &&
                helio_text_is(row->site, preempted->site) && sim_now_ms(self->engine) < preempted->at_ms + 30000 &&
                preempted->sessions == sim_network_streams(self->federation->network) && is_wanted(self, preempted);
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
    preempted->open = false;
}

/*  One round may place both, in any order, when other room became free as well. */
void checks_eviction_step(sim_checks_t *self)
{
    if (self->returned)
        sim_violate(self->engine, "a job that was evicted was placed again before the one that it was evicted for");
}

void checks_evictions_free(sim_checks_t *self)
{
    checks_eviction_t *preempted, *next;
    HASH_ITER(hh, self->preemptions, preempted, next)
    {
        HASH_DEL(self->preemptions, preempted);
        free(preempted);
    }
}
