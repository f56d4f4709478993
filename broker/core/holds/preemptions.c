/*  preemptions.c -- preemptions under way: jobs told to stop, and the capacity that they return.
 *
 *  The capacity is held for the class until it starts, so that neither other classes nor the victims take it. preempt.c
 *  finds the victims.
 *
 *  A preemption is in memory only, but each victim's reason names the job that it leaves for. So a new leader holds the
 *  capacity again as soon as the site has sent its inventory. What cannot be found again costs little: a class that needs
 *  capacity waits for jobs that are being stopped anyway before it preempts others. */
#include "broker/core/holds/preemptions.h"

#include <stdlib.h>
#include <utlist.h>

#include "broker/core/holds/awaited_sites.h"
#include "broker/core/state/changes.h"
#include "broker/core/state/core.h"
#include "broker/core/state/dispatch.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/pools.h"
#include "broker/core/state/preemptible.h"
#include "broker/core/state/why.h"

struct preemptions {
    preemption_t *first; /* in the order in which they began */
    uint32_t count;
    int64_t reconciling_until_ms; /* monotonic: sites not heard of can still have the last leader's until then */
};

preemptions_t *core_preemptions_new(void)
{
    return helio_new(1, sizeof(preemptions_t));
}

void core_preemptions_destroy(preemptions_t **self_p)
{
    preemptions_t *self = *self_p;
    assert(!self->first);
    free(self);
    *self_p = NULL;
}

preemption_t *core_preempt_first(const helio_broker_core_t *self)
{
    return self->preemptions->first;
}

uint32_t core_preempt_count(const helio_broker_core_t *self)
{
    return self->preemptions->count;
}

void core_preempt_move_by(helio_broker_core_t *self, int64_t by_ms)
{
    preemption_t *preemption;
    DL_FOREACH(self->preemptions->first, preemption)
    {
        preemption->at_ms += by_ms;
    }
}

enum {
    OVERDUE_MS = 60000,    /* after the last grace; then the preemption has failed */
    RECONCILING_MS = 20000 /* agents find a new leader within seconds; later ones are not waited for */
};

/* ---- one job is told to stop ------------------------------------------------------------------------------- */

static void count_leaving(job_t *job)
{
    account_t *account = job->submission->class->account;
    job->leaving = true;
    account->leaving_gpus += job->last->gpus;
    account->tenant->leaving_gpus += job->last->gpus;
}

/*  The latest time at which it is gone, if it is told to stop now (wall clock). */
static int64_t gone_ms(const helio_broker_core_t *self, const job_t *job)
{
    bool killed = core_preempt_mode(job) == HELIO_STOP_MODE_KILL;
    return self->wall_ms + (killed ? 0 : (int64_t)job->submission->grace_ms);
}

static void tell_to_leave(helio_broker_core_t *self, job_t *job, helio_preempt_cause_t why,
                          const helio_details_t *reason, const char *actor)
{
    job->intent = HELIO_INTENT_PREEMPT;
    count_leaving(job);
    self->figures.preemptions_total[why]++;
    core_job_change_state(self, job, HELIO_JOB_STOPPING, *reason, actor);
    core_stop(self, job, core_preempt_mode(job), reason);
}

int64_t core_preempt_job(helio_broker_core_t *self, job_t *job, helio_preempt_cause_t why, const tenant_t *gainer,
                         const helio_details_t *reason)
{
    bool counts = gainer && gainer != job->submission->tenant;
#ifdef HELIO_MUTANT_own_preemptions_count
    counts = gainer;
#endif
    if (counts && job->preemptions < UINT8_MAX)
        job->preemptions++;
    tell_to_leave(self, job, why, reason, "broker");
    return gone_ms(self, job);
}

void core_preempt_on_request(helio_broker_core_t *self, job_t *job, const helio_details_t *reason, const char *actor)
{
    tell_to_leave(self, job, HELIO_PREEMPT_CAUSE_REQUEUE, reason, actor);
}

void core_preempt_load(job_t *job)
{
    if (job->intent == HELIO_INTENT_PREEMPT)
        count_leaving(job);
}

void core_preempt_loaded(helio_broker_core_t *self)
{
    self->preemptions->reconciling_until_ms = self->now_ms + RECONCILING_MS;
}

/*  It is unknown what the last leader's preemptions were for. So nothing is preempted until all jobs that it told to
 *  stop have reported. */
int64_t core_preempt_reconciling_ms(const helio_broker_core_t *self)
{
    const job_t *job;
    if (self->now_ms >= self->preemptions->reconciling_until_ms)
        return 0;
    for (const site_t *site = self->sites; site; site = site->hh.next)
        DL_FOREACH(site->inventory_closed ? NULL : site->live, job)
        {
            if (job->intent == HELIO_INTENT_PREEMPT)
                return self->preemptions->reconciling_until_ms - self->now_ms;
        }
    return 0;
}

/* ---- preemptions under way --------------------------------------------------------------------------------- */

static void room_sub(room_t *room, const job_t *job)
{
    const helio_requirement_t *want = &job->submission->class->want;
    room->nodes_by_gpus[job->gpus_per_node <= HELIO_JOB_GPUS_PER_NODE_MAX ? job->gpus_per_node : 0] -= want->nodes;
    room->cpus -= (uint64_t)want->cpus * want->nodes;
    room->memory_bytes -= want->memory_bytes * want->nodes;
}

static uint32_t gpus_for(const preemption_t *preemption)
{
    return preemption->gpus_per_node * preemption->class->want.nodes;
}

/*  By the tier that the queue had when it began, because that can change. */
static void expect(preemption_t *preemption, int64_t gpus)
{
    job_class_t *class = preemption->class;
    class->expected_gpus += (uint64_t)gpus;
    class->account->expected_gpus[preemption->tier] += (uint64_t)gpus;
    class->account->tenant->expected_gpus[preemption->tier] += (uint64_t)gpus;
}

void core_preempt_add(helio_broker_core_t *self, preemption_t *preemption)
{
    job_class_t *class = preemption->class;
    expect(preemption, gpus_for(preemption));
    class->preemptions++;
    preemption->pool->preemptions++;
    self->preemptions->count++;
    DL_APPEND(self->preemptions->first, preemption);
    if (!class->next_check_ms || preemption->at_ms + OVERDUE_MS < class->next_check_ms)
        class->next_check_ms = preemption->at_ms + OVERDUE_MS;
}

void core_preempt_join(preemption_t *preemption, job_t *victim)
{
    const helio_requirement_t *want = &victim->submission->class->want;
    victim->preemption = preemption;
    preemption->left++;
    core_room_add(&preemption->back, want->nodes, victim->gpus_per_node, want);
}

/*  Victims that were told to stop leave all the same. */
static void drop(helio_broker_core_t *self, preemption_t *preemption)
{
    job_t *job;
    if (preemption->left)
        DL_FOREACH(preemption->site->live, job)
        {
            if (job->preemption == preemption)
                job->preemption = NULL;
        }
    expect(preemption, -(int64_t)gpus_for(preemption));
    preemption->class->preemptions--;
    preemption->pool->preemptions--;
    self->preemptions->count--;
    DL_DELETE(self->preemptions->first, preemption);
    free(preemption);
    core_capacity_changed(self); /* the held capacity is free for other classes */
}

void core_preempt_victim_left(helio_broker_core_t *self, job_t *job)
{
    (void)self;
    if (job->leaving) {
        account_t *account = job->submission->class->account;
        account->leaving_gpus -= job->last->gpus;
        account->tenant->leaving_gpus -= job->last->gpus;
        job->leaving = false;
    }
    if (!job->preemption)
        return;
    room_sub(&job->preemption->back, job);
    job->preemption->left--;
    job->preemption = NULL;
}

/*  The class of the job that the victim names; NULL: that job is over, or was edited since. */
static job_class_t *resumes_for(helio_broker_core_t *self, const job_t *victim, helio_job_key_t *ret_key)
{
    enum { TENANT, QUEUE, KEY }; /* the indexes of these parameters */
    const helio_detail_t *by = victim->why ? helio_details_find(victim->why, HELIO_DETAIL_PREEMPTED_BY) : NULL;
    if (!by || helio_job_key_parse(helio_detail_value(by, KEY).text, ret_key) != HELIO_OK)
        return NULL;
    const job_t *job = core_job_find(self, *ret_key);
    job_class_t *class = job ? job->submission->class : NULL;
    bool same = class && helio_text_is(helio_detail_value(by, TENANT).text, class->account->tenant->name) &&
                helio_text_is(helio_detail_value(by, QUEUE).text, class->queue->name);
    return same ? class : NULL;
}

static preemption_t *resume(helio_broker_core_t *self, const job_t *victim)
{
    helio_job_key_t key;
    preemption_t *preemption;
    job_class_t *class = resumes_for(self, victim, &key);
    if (!class)
        return NULL;
    DL_FOREACH(self->preemptions->first, preemption)
    {
        if (preemption->pool == victim->pool && helio_job_key_equal(preemption->key, key))
            return preemption;
    }
    helio_candidate_t there = helio_choice_filter(&class->want, &victim->site->profile, &victim->pool->info);
    if (class->preemptions >= class->waiting_count || there.rejection != HELIO_REJECTION_NONE)
        return NULL;
    preemption = helio_new(1, sizeof *preemption);
    *preemption = (preemption_t){.class = class,
                                 .site = victim->site,
                                 .pool = victim->pool,
                                 .gpus_per_node = there.gpus_per_node,
                                 .key = key,
                                 .tier = class->queue->tier,
                                 .at_ms = self->wall_ms};
    core_preempt_add(self, preemption);
    return preemption;
}

void core_preempt_resume(helio_broker_core_t *self, const site_t *site)
{
    job_t *job;
#ifdef HELIO_MUTANT_preemption_forgotten
    return;
#endif
    DL_FOREACH(site->live, job)
    {
        bool leaves = job->state == HELIO_JOB_STOPPING && job->pool && !job->preemption;
        preemption_t *preemption = leaves ? resume(self, job) : NULL;
        if (!preemption)
            continue;
        int64_t at_ms = gone_ms(self, job);
        preemption->at_ms = at_ms > preemption->at_ms ? at_ms : preemption->at_ms;
        preemption->victims++;
        core_preempt_join(preemption, job);
    }
}

void core_preempt_trim(helio_broker_core_t *self, job_class_t *class)
{
    while (class->preemptions > class->waiting_count) {
        preemption_t *last = NULL, *preemption;
        DL_FOREACH(self->preemptions->first, preemption)
        {
            if (preemption->class == class)
                last = preemption;
        }
        if (!last)
            return;
        drop(self, last);
    }
}

void core_preempt_free(helio_broker_core_t *self)
{
    while (self->preemptions->first)
        drop(self, self->preemptions->first);
}

/*  A job starts there: the preemption with the fewest victims left is over. */
uint32_t core_preempt_class_placed(helio_broker_core_t *self, job_class_t *class, const pool_t *pool)
{
    preemption_t *least = NULL, *preemption;
    class->patient_until_ms = 0;
    if (!class->preemptions)
        return 0;
    DL_FOREACH(self->preemptions->first, preemption)
    {
        if (preemption->class == class && preemption->pool == pool && (!least || preemption->left < least->left))
            least = preemption;
    }
    if (!least)
        return 0;
    uint32_t victims = least->left ? 0 : least->victims; /* its victims are still there: it starts on other capacity */
    drop(self, least);
    return victims;
}

void core_preempt_class_drop(helio_broker_core_t *self, const job_class_t *class)
{
    preemption_t *preemption, *next;
    if (class->preemptions)
        DL_FOREACH_SAFE(self->preemptions->first, preemption, next)
        {
            if (preemption->class == class)
                drop(self, preemption);
        }
}

void core_preempt_site_drop(helio_broker_core_t *self, const site_t *site)
{
    preemption_t *preemption, *next;
    DL_FOREACH_SAFE(self->preemptions->first, preemption, next)
    {
        if (preemption->site == site)
            drop(self, preemption);
    }
}

void core_preempt_review(helio_broker_core_t *self)
{
    preemption_t *preemption, *next;
    DL_FOREACH_SAFE(self->preemptions->first, preemption, next)
    {
        const site_t *site = preemption->site;
        if (site->state != HELIO_SITE_STATE_READY || !(site->inventory_closed || core_site_is_away(self, site)) ||
            site->draining || self->wall_ms >= preemption->at_ms + OVERDUE_MS) {
            preemption->class->blocked_at = 0;
            drop(self, preemption);
        }
    }
}

/*  The site has placed things differently than assumed. But while other jobs are leaving the pool for the class, it can
 *  still find capacity. */
void core_preempt_give_up(helio_broker_core_t *self, const job_class_t *class)
{
    preemption_t *preemption, *next, *other;
    if (!class->preemptions)
        return;
    DL_FOREACH_SAFE(self->preemptions->first, preemption, next)
    {
        bool hopes = false;
        DL_FOREACH(self->preemptions->first, other)
        {
            hopes = hopes || (other->class == class && other->pool == preemption->pool && other->left);
        }
        if (preemption->class == class && !hopes)
            drop(self, preemption);
    }
}

bool core_preempt_holds(const helio_broker_core_t *self, const job_class_t *class, const pool_t *pool)
{
    const preemption_t *preemption;
    if (class->preemptions && pool->preemptions)
        DL_FOREACH(self->preemptions->first, preemption)
        {
            if (preemption->class->id == class->id && preemption->pool == pool)
                return true;
        }
    return false;
}

bool core_preempt_allows(const helio_broker_core_t *self, const job_class_t *class, const pool_t *pool,
                         uint32_t gpus_per_node)
{
#ifdef HELIO_MUTANT_hold_ignored
    return true;
#endif
    if (!pool->preemptions)
        return true;
    const helio_requirement_t *want = &class->want;
    free_nodes_t after = pool->free;
    if (!core_room_take(pool, &after, want->nodes, gpus_per_node, want->cpus, want->memory_bytes))
        return false;
    bool own = false;
    const preemption_t *preemption;
    DL_FOREACH(self->preemptions->first, preemption)
    {
        if (preemption->pool == pool)
            core_room_return(pool, &after, &preemption->back);
    }
    DL_FOREACH(self->preemptions->first, preemption)
    {
        const helio_requirement_t *held = &preemption->class->want;
        if (preemption->pool != pool)
            continue;
        if (preemption->class->id == class->id && !own) { /* it can take what is held for it */
            own = true;
            continue;
        }
        if (!core_room_take(pool, &after, held->nodes, preemption->gpus_per_node, held->cpus, held->memory_bytes))
            return false;
    }
    return true;
}

helio_detail_t core_preempt_detail(helio_broker_core_t *self, const job_class_t *class, int64_t *ret_expected_ms)
{
    const preemption_t *preemption, *first = NULL;
    uint32_t victims = 0, elsewhere = 0;
    if (!class->preemptions)
        return (helio_detail_t){0};
    DL_FOREACH(self->preemptions->first, preemption)
    {
        if (preemption->class != class)
            continue;
        first = first ? first : preemption;
        victims += preemption->victims;
        elsewhere += preemption->pool != first->pool;
    }
    if (!first)
        return (helio_detail_t){0};
    *ret_expected_ms = first->at_ms;
    helio_value_t site = helio_value_string(first->site->name), pool = helio_value_text(first->pool->info.name),
                  at = helio_value_number(first->at_ms), others = helio_value_number(elsewhere > 0);
    return victims ? CORE_DETAIL(self, HELIO_DETAIL_PREEMPTS, helio_value_number(victims), site, pool, at, others)
                   : CORE_DETAIL(self, HELIO_DETAIL_PREEMPTED_LEAVE, site, pool, at, others);
}
