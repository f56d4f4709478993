/*  evictions.c -- the promises on preemption: who may take whose place, that a place which was made is not given back to
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

static checks_eviction_t *evicted_of(sim_checks_t *self, helio_job_key_t key)
{
    checks_eviction_t *evicted;
    HASH_FIND(hh, self->evictions, &key, sizeof key, evicted);
    if (!evicted) {
        evicted = helio_new(1, sizeof *evicted);
        evicted->key = key;
        HASH_ADD(hh, self->evictions, key, sizeof evicted->key, evicted);
    }
    return evicted;
}

/*  What stands before a character. */
static helio_text_t cut(helio_text_t *rest, char before)
{
    const char *end = memchr(rest->data, before, rest->size);
    helio_text_t word = {rest->data, end ? (uint32_t)(end - rest->data) : rest->size};
    uint32_t used = end ? word.size + 1 : word.size;
    *rest = (helio_text_t){rest->data + used, rest->size - used};
    return word;
}

void checks_eviction_transition(sim_checks_t *self, const helio_row_transition_t *row)
{
    static const char begin[] = "preempted by ";
    if (row->to != HELIO_JOB_STOPPING || row->reason.size < sizeof begin ||
        memcmp(row->reason.data, begin, sizeof begin - 1) != 0)
        return;
    helio_text_t rest = {row->reason.data + sizeof begin - 1, row->reason.size - (uint32_t)(sizeof begin - 1)};
    helio_text_t queue = cut(&rest, '/'), tenant = cut(&rest, ' ');
    const sim_job_t *job = sim_workload_given(self->workload, row->key.job);
    if (!job)
        return;
    uint32_t evictor = tier_of(queue), victim = tier_of(job->queue);
    bool reclaims = evictor == victim && !helio_text_is(tenant, job->tenant);
    if (victim == HELIO_TIER_CRITICAL)
        sim_violate(self->engine, "critical work was evicted");
    else if (evictor < victim || (evictor == victim && !reclaims))
        sim_violate(self->engine, "work was evicted by work of no higher tier that reclaims nothing");
    checks_eviction_t *evicted = evicted_of(self, row->key);
    if (evicted->life != sim_broker_life(self->broker)) /* a leader's decisions may be lost with it */
        evicted->times = 0;
    bool own = helio_text_is(tenant, job->tenant);
    evicted->others += !own;
    evicted->times += !own && victim == HELIO_TIER_STANDARD;
    if (evicted->times > HELIO_EVICT_TIMES_MAX)
        sim_violate(self->engine, "a job was evicted %u times for others", evicted->times);
    evicted->life = sim_broker_life(self->broker);
    evicted->at_ms = sim_now_ms(self->engine);
    evicted->open = true;
    evicted->sessions = sim_network_streams(self->federation->network); /* a hold ends with its site's session */
    (void)helio_text_copy(queue, evicted->queue, sizeof evicted->queue);
    (void)helio_text_copy(tenant, evicted->tenant, sizeof evicted->tenant);
    self->sights.evictions++;
}

/*  Otherwise a tenant could make its jobs immune by preempting them itself. */
void checks_eviction_state(sim_checks_t *self, const helio_row_state_t *row)
{
    const checks_eviction_t *evicted;
    HASH_FIND(hh, self->evictions, &row->key, sizeof row->key, evicted);
    if (row->evictions > (evicted ? evicted->others : 0))
        sim_violate(self->engine, "an eviction counts that was not for another tenant's work");
}

/*  False when it is not certain: a job of that queue and tenant may have been cancelled, or may prefer a better hour. */
static bool is_wanted(const sim_checks_t *self, const checks_eviction_t *evicted)
{
    for (uint32_t i = 0; i < sim_workload_count(self->workload); i++) {
        const sim_job_t *job = sim_workload_job(self->workload, i);
        if (strcmp(job->tenant, evicted->tenant) != 0)
            continue;
        if (job->edited) /* it may have left that queue, or stand behind others of its tenant */
            return false;
        if (helio_text_is(job->queue, evicted->queue) && (job->cancel_ms || job->submission.spec.flexible_ms))
            return false;
    }
    return true;
}

void checks_eviction_placement(sim_checks_t *self, const helio_row_placement_t *row)
{
    const sim_job_t *job = sim_workload_given(self->workload, row->key.job);
    if (!job)
        return;
    checks_eviction_t *evicted, *next;
    HASH_FIND(hh, self->evictions, &row->key, sizeof row->key, evicted);
    bool back = evicted && evicted->open && evicted->life == sim_broker_life(self->broker) &&
                helio_text_is(row->site, evicted->site) && sim_now_ms(self->engine) < evicted->at_ms + 30000 &&
                evicted->sessions == sim_network_streams(self->federation->network) && is_wanted(self, evicted);
    if (back && !self->returned)
        self->returned = evicted;
    HASH_ITER(hh, self->evictions, evicted, next)
    {
        if (!helio_text_is(job->queue, evicted->queue) || strcmp(job->tenant, evicted->tenant) != 0)
            continue;
        evicted->open = false;
        if (evicted == self->returned)
            self->returned = NULL;
    }
    evicted = evicted_of(self, row->key);
    (void)helio_text_copy(row->site, evicted->site, sizeof evicted->site);
    evicted->open = false;
}

/*  One round may place both, in any order, when other room became free as well. */
void checks_eviction_step(sim_checks_t *self)
{
    if (self->returned)
        sim_violate(self->engine, "a job that was evicted was placed again before the one that it was evicted for");
}

void checks_evictions_free(sim_checks_t *self)
{
    checks_eviction_t *evicted, *next;
    HASH_ITER(hh, self->evictions, evicted, next)
    {
        HASH_DEL(self->evictions, evicted);
        free(evicted);
    }
}
