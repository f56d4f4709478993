/*  preempt.c -- which jobs a class without capacity preempts, and where.
 *
 *  victim_search.c finds the victims at one pool. Here pools are compared, and the victims at the best one are told to
 *  stop. From then on the preemption is in holds/preemptions.c. */
#include "broker/core/holds/expected_starts.h"
#include "broker/core/preempt/preempt.h"

#include <stdlib.h>

#include "broker/core/decide/evaluate.h"
#include "broker/core/decide/overflow.h"
#include "broker/core/holds/awaited_sites.h"
#include "broker/core/holds/preemptions.h"
#include "broker/core/preempt/victim_search.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/option.h"
#include "broker/core/state/order.h"
#include "broker/core/state/pools.h"
#include "broker/core/state/preemptible.h"
#include "broker/core/state/why.h"

enum {
    PREEMPTIONS_MAX = 256,         /* under way at once */
    PREEMPTIONS_OF_CLASS_MAX = 64, /* the same, for one class */
    PREEMPT_POOLS_MAX = 16,        /* pools that are searched for victims, the best first */
    QUEUES_NAMED = 3               /* of the victims' queues */
};

/* ---- one preemption ---------------------------------------------------------------------------------------- */

static int64_t product(uint64_t a, int64_t b, int64_t per)
{
    double p = (double)a * (double)b / (double)per;
    return p > 1e15 ? INT64_C(1000000000000000) : (int64_t)p;
}

/*  Lost work is paid for again: at the pool's price, and with the wait of the victims. */
static int64_t loss_of(const victim_search_t *search, const helio_victims_t *set)
{
    const helio_requirement_t *want = &search->class->want;
    uint64_t gpus = core_option_gpus(search->class, search->option), limit_ms = want->time_limit_ms;
    int64_t money = search->option->c.now.cost_micro_usd, loss = 0;
    for (uint32_t i = 0; i < set->count; i++) {
        const helio_victim_t *victim = &search->victims[set->chosen[i]];
        const helio_requirement_t *of = &search->jobs[set->chosen[i]]->submission->class->want;
        if (victim->leaves)
            continue;
        if (gpus && limit_ms && money > 0)
            loss += product(victim->lost_gpu_ms, money, (int64_t)(gpus * limit_ms));
        loss += product(victim->lost_gpu_ms, of->wait_price_micro_usd_per_gpu_h, HELIO_HOUR_MS);
    }
    return loss;
}

static uint64_t grace_of(const victim_search_t *search, const helio_victims_t *set)
{
    uint64_t longest = 0;
    for (uint32_t i = 0; i < set->count; i++) {
        const job_t *job = search->jobs[set->chosen[i]];
        bool waits = search->victims[set->chosen[i]].leaves || core_preempt_tier(job) != HELIO_TIER_BEST_EFFORT;
        uint64_t grace_ms = waits ? job->submission->grace_ms : 0;
        longest = grace_ms > longest ? grace_ms : longest;
    }
    return longest;
}

/*  Whether other jobs end by their limit before the victims would have left. */
static bool ends_sooner(victim_search_t *search, const helio_victims_t *set)
{
    const option_t *option = search->option;
    reservation_t found;
    int64_t at_ms = core_reserve_expect(search->core, search->class, option->site, option->pool,
                                        option->c.gpus_per_node, INT64_MAX, &found);
    return set->count > set->leaving && at_ms && found.known && !option->pool->preemptions &&
           at_ms <= search->core->wall_ms + (int64_t)grace_of(search, set);
}

/*  The job of the class that the next preemption is for: those ahead of it have theirs. */
static const job_t *next_of(const job_class_t *class)
{
    const job_t *job = class->waiting;
    for (uint32_t i = 0; i < class->preemptions && job->next; i++)
        job = job->next;
    return job;
}

/*  A new leader finds the preemption again by it (core_preempt_resume). */
static helio_details_t reason_of(helio_broker_core_t *self, const preemption_t *preemption)
{
    const job_class_t *class = preemption->class;
    char key[HELIO_KEY_SIZE];
    helio_job_key_text(preemption->key, key);
    return CORE_WHY(self, HELIO_DETAIL_PREEMPTED_BY, helio_value_string(class->account->tenant->name),
                    helio_value_string(class->queue->name), helio_value_string(key));
}

static void begin(victim_search_t *search, const helio_victims_t *set)
{
    helio_broker_core_t *self = search->core;
    const option_t *option = search->option;
    job_class_t *class = search->class;
    preemption_t *preemption = helio_new(1, sizeof *preemption);
    *preemption = (preemption_t){
        .class = class,
        .site = option->site,
        .pool = option->pool,
        .gpus_per_node = option->c.gpus_per_node,
        .key = next_of(class)->key,
        .tier = class->queue->tier,
        .victims = set->count - set->leaving,
        .at_ms = self->wall_ms + (int64_t)grace_of(search, set),
    };
    const helio_preempt_cause_t why =
        set->worst_tier < class->queue->tier ? HELIO_PREEMPT_CAUSE_TIER : HELIO_PREEMPT_CAUSE_GUARANTEE;
    const helio_details_t reason = reason_of(self, preemption);
    for (uint32_t i = 0; i < set->count; i++) {
        job_t *job = search->jobs[set->chosen[i]];
        if (!search->victims[set->chosen[i]].leaves)
            (void)core_preempt_job(self, job, why, class->account->tenant, &reason);
        core_preempt_join(preemption, job);
    }
    core_preempt_add(self, preemption);
}

/*  Whether the option is a later step or a later alternative than the best one found, or its step is closed. */
static bool is_behind(const victim_search_t *search, const option_t *option, const option_t *best)
{
    return core_overflow_is_closed(search->class, option) ||
           (best && (option->step > best->step || (option->step == best->step && option->c.ask > best->c.ask)));
}

/*  What a start on preempted capacity costs, beside the loss: it does not wait in the site's own queue. */
static int64_t unqueued_score(const option_t *option)
{
    return option->c.now.score_micro_usd - option->c.queue_micro_usd;
}

/*  When other jobs' limits free enough at a pool that costs no more (wall clock); 0 = unknown. */
static int64_t room_by_itself_ms(const victim_search_t *search, const evaluation_t *e, const option_t *best,
                                 int64_t total)
{
    int64_t first_ms = 0;
    for (uint32_t i = 0; i < e->feasible && i < PREEMPT_POOLS_MAX && !is_behind(search, &e->options[i], best); i++) {
        const option_t *option = &e->options[i];
        reservation_t found;
        if (unqueued_score(option) > total || option->pool->preemptions ||
            core_option_takes_no_offers(search, option) || core_pool_is_claimed(search->class, option->pool) ||
            core_would_wait(search->core, e, option))
            continue;
        int64_t at_ms = core_reserve_expect(search->core, search->class, option->site, option->pool,
                                            option->c.gpus_per_node, first_ms ? first_ms : INT64_MAX, &found);
        if (at_ms && found.known)
            first_ms = at_ms;
    }
    return first_ms;
}

/*  Whether preempting saves less than is lost. Other classes can take the capacity that becomes free: so a class waits
 *  for it once only, for a limited time, and with one job, because only the first such capacity is known. */
static bool rather_waits(victim_search_t *search, const evaluation_t *e, const option_t *best, int64_t total,
                         const helio_victims_t *set)
{
    const helio_broker_core_t *core = search->core;
    const job_class_t *class = search->class;
    bool reclaims = set->worst_tier >= class->queue->tier;
    if (class->preemptions + 1 < class->waiting_count || set->count == set->leaving ||
        (class->patient_until_ms && core->wall_ms >= class->patient_until_ms))
        return false;
    int64_t gone_ms = core->wall_ms + (int64_t)grace_of(search, set);
    int64_t patience_ms = helio_preempt_patience_ms(set->lost_gpu_ms, core_option_gpus(class, best), reclaims);
    int64_t at_ms = room_by_itself_ms(search, e, best, total);
    if (!at_ms || at_ms > gone_ms + patience_ms)
        return false;
    search->patient_until_ms = class->patient_until_ms ? class->patient_until_ms : gone_ms + patience_ms;
    return true;
}

/*  Finds the best pool for one more job of the class, with the loss there in its total. Then the search is of that
 *  pool. */
static bool find_best(victim_search_t *search, evaluation_t *e, helio_victims_t *ret_set)
{
    helio_victims_t best_set = {.count = 0};
    const option_t *best = NULL;
    int64_t best_total = 0, best_loss = 0;
    uint32_t looked_at = 0;
    for (uint32_t i = 0; i < e->feasible && looked_at < PREEMPT_POOLS_MAX; i++) {
        const option_t *option = &e->options[i];
        if (is_behind(search, option, best))
            break;
        if (core_is_paused(search->core, search->class, option))
            continue;
        search->option = option;
        helio_victims_t set = core_victims_at(search);
        looked_at += search->count > 0;
        if (!set.count || ends_sooner(search, &set) || core_would_wait(search->core, e, option))
            continue;
        int64_t loss = loss_of(search, &set), total = unqueued_score(option) + loss;
        if (best && total >= best_total)
            continue;
        best = option;
        best_set = set;
        best_total = total;
        best_loss = loss;
    }
    if (!best)
        return false;
    search->option = best;
    (void)core_victims_at(search); /* find its victims again: the last search can be of another pool */
    if (rather_waits(search, e, best, best_total, &best_set))
        return false;
    *ret_set = best_set;
    e->preempts = best;
    e->loss_micro_usd = best_loss;
    return true;
}

static bool preempt_one(victim_search_t *search, evaluation_t *e)
{
    helio_victims_t set;
    if (!find_best(search, e, &set))
        return false;
    begin(search, &set);
    return true;
}

bool core_preempt(helio_broker_core_t *self, evaluation_t *e)
{
    job_class_t *class = e->class;
    core_preempt_give_up(self, class);
    if (core_is_capped(e) || !e->feasible || core_class_misses(self, class))
        return false;
    int64_t reconciling_ms = core_preempt_reconciling_ms(self);
    if (reconciling_ms) {
        int64_t at_ms = self->wall_ms + reconciling_ms;
        class->next_check_ms = class->next_check_ms && class->next_check_ms < at_ms ? class->next_check_ms : at_ms;
        return false;
    }
    if (class->queue->tier == HELIO_TIER_BEST_EFFORT && !core_is_below_guarantee(class))
        return false; /* most classes: no job is of a lower tier, and none is reclaimed */
    victim_search_t *search = helio_new(1, sizeof *search);
    search->core = self;
    search->class = class;
    bool any = false;
    while (class->preemptions < class->waiting_count && class->preemptions < PREEMPTIONS_OF_CLASS_MAX &&
           core_preempt_count(self) < PREEMPTIONS_MAX && preempt_one(search, e))
        any = true;
    if (class->preemptions < class->waiting_count && search->protected_until_ms &&
        (!class->next_check_ms || search->protected_until_ms < class->next_check_ms))
        class->next_check_ms = search->protected_until_ms;
    if (search->patient_until_ms) {
        int64_t at_ms = class->patient_until_ms = search->patient_until_ms;
        class->next_check_ms = class->next_check_ms && class->next_check_ms < at_ms ? class->next_check_ms : at_ms;
    }
    free(search);
    return any;
}

/* ---- what it would preempt --------------------------------------------------------------------------------- */

/*  One detail for each queue, the first ones by name. */
static helio_details_t would_preempt(const victim_search_t *search, const helio_victims_t *set)
{
    helio_broker_core_t *self = search->core;
    const queue_t *queues[QUEUES_NAMED];
    uint32_t jobs[QUEUES_NAMED] = {0}, count = 0, others = 0;
    for (uint32_t i = 0; i < set->count; i++) {
        const queue_t *queue = search->jobs[set->chosen[i]]->submission->queue;
        uint32_t at = 0;
        while (at < count && queues[at] != queue)
            at++;
        if (search->victims[set->chosen[i]].leaves)
            continue;
        if (at == QUEUES_NAMED) {
            others++;
            continue;
        }
        count += at == count;
        queues[at] = queue;
        jobs[at]++;
    }
    helio_details_t why = {0};
    for (uint32_t i = 0; i < count; i++)
        core_why_add(self, &why,
                     CORE_DETAIL(self, HELIO_DETAIL_WOULD_PREEMPT, helio_value_number(jobs[i]),
                                 helio_value_string(queues[i]->name)));
    if (others)
        core_why_add(self, &why,
                     CORE_DETAIL(self, HELIO_DETAIL_WOULD_PREEMPT, helio_value_number(others), helio_value_string("")));
    return why;
}

/*  The time by which all of them can be told to stop (wall clock). */
static int64_t told_ms(const victim_search_t *search, const helio_victims_t *set)
{
    int64_t at_ms = search->core->wall_ms + core_preempt_reconciling_ms(search->core);
    for (uint32_t i = 0; i < set->count; i++) {
        const job_t *job = search->jobs[set->chosen[i]];
        int64_t protection_ms =
            helio_preempt_protection_ms(core_preempt_tier(job)) - (int64_t)core_preempt_ran_ms(search->core, job);
        if (!search->victims[set->chosen[i]].leaves && search->core->wall_ms + protection_ms > at_ms)
            at_ms = search->core->wall_ms + protection_ms;
    }
    return at_ms;
}

bool core_preempt_expect(helio_broker_core_t *self, evaluation_t *e)
{
    helio_victims_t set;
    if (core_is_capped(e) || !e->feasible || e->class->judged_ms)
        return false;
    victim_search_t *search = helio_new(1, sizeof *search);
    search->core = self;
    search->class = e->class;
    bool any = find_best(search, e, &set);
    if (!any && search->protected_until_ms) {
        search->protected_too = true;
        any = find_best(search, e, &set);
    }
    if (any) {
        e->preempts_at_ms = told_ms(search, &set) + (int64_t)grace_of(search, &set);
        e->preempts_details = would_preempt(search, &set);
        if (!e->preempts_details.items.count)
            e->preempts_details = CORE_WHY0(self, HELIO_DETAIL_VICTIMS_LEAVE);
    }
    free(search);
    return any;
}
