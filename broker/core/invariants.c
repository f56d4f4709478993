/*  invariants.c -- the invariants of the core between any two steps, as assertions.
 *
 *  Counts and lists that different rooms keep of the same jobs must agree. They are recounted here from the jobs, each
 *  of which has its own class, site and state. */
#include "broker/core/invariants.h"

#include <assert.h>

#include "broker/core/broker_core.h"
#include "broker/core/holds/expected_ends.h"
#include "broker/core/holds/expected_starts.h"
#include "broker/core/holds/preemptions.h"
#include "broker/core/state/budgets.h"
#include "broker/core/state/core.h"
#include "broker/core/state/pools.h"

/*  Counts from the jobs; the lists must have as many members. Each member of a list is checked to belong there, so
 *  equal counts mean that none is missing. */
typedef struct tally {
    uint64_t states[HELIO_JOB_STATE_COUNT];
    uint64_t held_by_people;
    uint64_t waiting, live;
} tally_t;

static void job_check(const job_t *job)
{
    const submission_t *submission = job->submission;
    const job_class_t *class = submission->class;
    bool live = helio_job_state_is_live(job->state);
    assert(!helio_job_state_is_terminal(job->state)); /* a terminal job leaves with the step that ends it */
    assert(live == (job->site != NULL));
    assert(!job->pool || job->site);
    assert(!job->dirty && !job->ended_next);
    assert(submission->open_tasks && submission->fed_tasks <= submission->open_tasks);
    assert(class->refs && class->account->tenant == submission->tenant && class->queue == submission->queue);
    if (live) {
        assert(job->fed && job->last && job->epoch && job->attempts);
    } else {
        assert(!job->counted && !job->leaving && !job->migrating && !job->preemption && !job->dispatch_seq);
        assert(job->intent == HELIO_INTENT_NONE && (!job->last || !job->last->gpus));
    }
    assert(!job->counted || job->pool);
    assert(!job->preemption || job->preemption->pool == job->pool);
    assert(job->state != HELIO_JOB_HELD || !job->fed);
    assert(!job->kept_back || (job->state == HELIO_JOB_QUEUED && !job->fed));
}

/*  Of pools that exist: one that was freed would be taken for the next one at its address. */
static void doubts_check(const helio_broker_core_t *self, const job_class_t *class)
{
    for (uint32_t i = 0; i < CLASS_DOUBTS_MAX; i++) {
        bool exists = !class->doubts[i].pool;
        for (const site_t *site = self->sites; site && !exists; site = site->hh.next)
            exists = core_pool_is_of(class->doubts[i].pool, site);
        assert(exists);
    }
}

/*  Returns how many jobs wait in the class. */
static uint32_t class_check(const helio_broker_core_t *self, const job_class_t *class)
{
    uint32_t waiting = 0;
    bool returned = !class->returned;
    for (const job_t *job = class->waiting; job; job = job->next) {
        assert(job->state == HELIO_JOB_QUEUED && job->fed && job->submission->class == class);
        returned = returned || job == class->returned;
        waiting++;
    }
    assert(class->refs && returned);
    assert(waiting == class->waiting_count && class->preemptions <= waiting);
    assert(waiting || (!class->window.pool && !class->reserved)); /* nothing is reserved without a waiting job */
    assert(!class->reserved || class->reserved->reservation.class == class);
    doubts_check(self, class);
    return waiting;
}

static void pool_check(const helio_broker_core_t *self, const site_t *site, const pool_t *pool)
{
    uint32_t preemptions = 0;
    const preemption_t *preemption;
    DL_FOREACH(core_preempt_first(self), preemption)
    {
        preemptions += preemption->pool == pool;
        assert(preemption->pool != pool || preemption->site == site);
    }
    assert(preemptions == pool->preemptions);
    assert(!pool->reservation.class || pool->reservation.class->reserved == pool);
    assert(pool->preemptible_count <= pool->preemptible_capacity);
    core_expected_ends_check(self, site, pool);
    core_expected_starts_check(self, pool);
    assert(pool->wait_count <= WAITS_MAX);
}

/*  Returns how many jobs are live at the site. */
static uint32_t site_check(const helio_broker_core_t *self, const site_t *site)
{
    uint32_t live = 0;
    for (const job_t *job = site->live; job; job = job->next) {
        assert(job->site == site && helio_job_state_is_live(job->state));
        assert(!job->pool || core_pool_is_of(job->pool, site));
        live++;
    }
    assert(!site->inventory_closed || site->peer);
    for (uint32_t i = 0; i < site->pool_count; i++)
        pool_check(self, site, &site->pools[i]);
    return live;
}

/*  A preemption counts its victims that have not left. */
static void preemption_check(const preemption_t *preemption)
{
    uint32_t left = 0;
    for (const job_t *job = preemption->site->live; job; job = job->next)
        left += job->preemption == preemption;
    assert(left == preemption->left);
}

/*  What tenants are charged with and count, recounted from the jobs. */
static void tenant_check(const helio_broker_core_t *self, const tenant_t *tenant)
{
    uint64_t open = 0, gpus = 0, leaving = 0, held = 0, held_leaving = 0;
    for (const account_t *account = tenant->accounts; account; account = account->hh.next) {
        assert(account->tenant == tenant);
        held += account->holds.gpus;
        held_leaving += account->leaving_gpus;
    }
    for (const job_t *job = self->jobs; job; job = job->hh.next) {
        if (job->submission->tenant != tenant)
            continue;
        open++;
        gpus += job->site ? job->last->gpus : 0;
        leaving += job->leaving ? job->last->gpus : 0;
    }
    assert(open == tenant->open_jobs);
    assert(gpus == tenant->holds.gpus && gpus == held);
    assert(leaving == tenant->leaving_gpus && leaving == held_leaving);
}

static tally_t tally_of(const helio_broker_core_t *self)
{
    tally_t tally = {.waiting = 0};
    for (const job_t *job = self->jobs; job; job = job->hh.next) {
        job_check(job);
        tally.states[job->state]++;
        tally.held_by_people += core_job_is_held_by_people(job);
        tally.waiting += job->state == HELIO_JOB_QUEUED && job->fed;
        tally.live += job->site != NULL;
    }
    return tally;
}

void core_assert_invariants(const helio_broker_core_t *self)
{
    assert(!self->effects && !self->event); /* between two steps */
    if (!self->loaded)
        return;
    tally_t tally = tally_of(self);
    for (uint32_t state = 0; state < HELIO_JOB_STATE_COUNT; state++)
        assert(helio_job_state_is_terminal(state) || tally.states[state] == self->figures.jobs[state]);
    assert(tally.held_by_people == self->figures.jobs_held_by_people);
    assert(HASH_COUNT(self->jobs) == self->open_jobs);
    for (const job_class_t *class = self->classes; class; class = class->hh.next)
        tally.waiting -= class_check(self, class);
    for (const site_t *site = self->sites; site; site = site->hh.next)
        tally.live -= site_check(self, site);
    assert(!tally.waiting && !tally.live);
    for (const tenant_t *tenant = self->tenants; tenant; tenant = tenant->hh.next)
        tenant_check(self, tenant);
    core_budgets_check(self);
    core_lines_check(self);
    const preemption_t *preemption;
    DL_FOREACH(core_preempt_first(self), preemption)
    {
        preemption_check(preemption);
    }
}
