/*  evictions.c -- the promises on those who are made to leave: who may take whose place, that a place which was made
 *  is not given back to whoever left it, and that nobody is chased about for ever. Watched on the rows that a leader
 *  writes. */
#include <stdlib.h>
#include <string.h>

#include "simulator/internal.h"

/*  Best-effort, standard or critical, by the queue. */
static uint32_t tier_of(helio_text_t queue)
{
    return helio_text_is(queue, "urgent") ? HELIO_TIER_CRITICAL
           : helio_text_is(queue, "spare") ? HELIO_TIER_BEST_EFFORT
                                           : HELIO_TIER_STANDARD;
}

static wevicted_t *evicted_of(world_t *self, helio_job_key_t key)
{
    wevicted_t *evicted;
    HASH_FIND(hh, self->evicted, &key, sizeof key, evicted);
    if (!evicted) {
        evicted = helio_new(1, sizeof *evicted);
        evicted->key = key;
        HASH_ADD(hh, self->evicted, key, sizeof evicted->key, evicted);
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

void evictions_transition(world_t *self, const helio_row_transition_t *row)
{
    static const char begin[] = "preempted by ";
    if (row->to != HELIO_JOB_STOPPING || row->reason.size < sizeof begin ||
        memcmp(row->reason.data, begin, sizeof begin - 1) != 0)
        return;
    helio_text_t rest = {row->reason.data + sizeof begin - 1, row->reason.size - (uint32_t)(sizeof begin - 1)};
    helio_text_t queue = cut(&rest, '/'), tenant = cut(&rest, ' ');
    const wjob_t *job = workload_given(self, row->key.job);
    if (!job)
        return;
    uint32_t evictor = tier_of(queue), victim = tier_of(job->queue);
    bool reclaims = evictor == victim && !helio_text_is(tenant, job->tenant);
    if (victim == HELIO_TIER_CRITICAL)
        world_violate(self, "critical work was evicted");
    else if (evictor < victim || (evictor == victim && !reclaims))
        world_violate(self, "work was evicted by work of no higher tier that reclaims nothing");
    wevicted_t *evicted = evicted_of(self, row->key);
    if (evicted->life != self->broker.life) /* what a leader decides may be lost with it: only its own counts */
        evicted->times = 0;
    bool own = helio_text_is(tenant, job->tenant);
    evicted->others += !own;
    evicted->times += !own && victim == HELIO_TIER_STANDARD;
    if (evicted->times > HELIO_EVICT_TIMES_MAX)
        world_violate(self, "a job was evicted %u times for others", evicted->times);
    evicted->life = self->broker.life;
    evicted->at_ms = self->now_ms;
    evicted->open = true;
    evicted->sessions = self->next_connection; /* a hold ends with its site's session */
    (void)helio_text_copy(queue, evicted->queue, sizeof evicted->queue);
    (void)helio_text_copy(tenant, evicted->tenant, sizeof evicted->tenant);
    self->evictions++;
}

/*  Or a tenant could make its jobs immune by evicting them itself. */
void evictions_state(world_t *self, const helio_row_state_t *row)
{
    const wevicted_t *evicted;
    HASH_FIND(hh, self->evicted, &row->key, sizeof row->key, evicted);
    if (row->evictions > (evicted ? evicted->others : 0))
        world_violate(self, "an eviction counts that was not for another tenant's work");
}

/*  Not for sure: where one of that queue and tenant may have been cancelled, or may prefer a better hour by now. */
static bool is_wanted(const world_t *self, const wevicted_t *evicted)
{
    for (uint32_t i = 0; i < self->job_count; i++) {
        const wjob_t *job = &self->jobs[i];
        if (strcmp(job->tenant, evicted->tenant) != 0)
            continue;
        if (job->edited) /* it may have left that queue, or stand behind others of its tenant */
            return false;
        if (helio_text_is(job->queue, evicted->queue) && (job->cancel_ms || job->submission.spec.flexible_ms))
            return false;
    }
    return true;
}

void evictions_placement(world_t *self, const helio_row_placement_t *row)
{
    const wjob_t *job = workload_given(self, row->key.job);
    if (!job)
        return;
    wevicted_t *evicted, *next;
    HASH_FIND(hh, self->evicted, &row->key, sizeof row->key, evicted);
    bool back = evicted && evicted->open && evicted->life == self->broker.life &&
                helio_text_is(row->site, evicted->site) && self->now_ms < evicted->at_ms + 30000 &&
                evicted->sessions == self->next_connection && is_wanted(self, evicted);
    if (back)
        world_violate(self, "a job that was evicted was placed again before the one that it was evicted for");
    HASH_ITER(hh, self->evicted, evicted, next)
    {
        if (helio_text_is(job->queue, evicted->queue) && strcmp(job->tenant, evicted->tenant) == 0)
            evicted->open = false;
    }
    evicted = evicted_of(self, row->key);
    (void)helio_text_copy(row->site, evicted->site, sizeof evicted->site);
    evicted->open = false;
}

void evictions_free(world_t *self)
{
    wevicted_t *evicted, *next;
    HASH_ITER(hh, self->evicted, evicted, next)
    {
        HASH_DEL(self->evicted, evicted);
        free(evicted);
    }
}
