/*  hints.c -- changes that would let a waiting job start sooner.
 *
 *  A closed list of changes. Each is tried: the code that decides judges the changed job, and a hint shows only its
 *  result. So a hint is as true as a plan, for the moment at which it was asked for. */
#include "broker/core/requests/hints.h"

#include <string.h>

#include "broker/core/decide/evaluate.h"
#include "broker/core/decide/infeasible.h"
#include "broker/core/decide/limits.h"
#include "broker/core/decide/names.h"
#include "broker/core/decide/overflow.h"
#include "broker/core/decide/pool_rejection.h"
#include "broker/core/preempt/preempt.h"
#include "broker/core/requests/ahead.h"
#include "broker/core/state/ask.h"
#include "broker/core/state/budget_limits.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/option.h"
#include "broker/core/state/why.h"

enum { HINTS_MAX = 6, MODELS_MAX = 3, TRIES_MAX = 3, MIN_TIME_MS = 60000, CENT = 10000 };

typedef struct advisor {
    helio_broker_core_t *core;
    const evaluation_t *e; /* of the job as it is */
    int64_t expected_ms;   /* 0 = unknown */
    helio_start_estimate_t *start_estimate;
} advisor_t;

static void add(const advisor_t *self, helio_hint_kind_t kind, helio_details_t change, helio_details_t effect)
{
    helio_start_estimate_t *p = self->start_estimate;
    if (p->hints.count == HINTS_MAX)
        return;
    if (!p->hints.items)
        p->hints.items = helio_arena_alloc(self->core->effects->arena, HINTS_MAX, sizeof *p->hints.items);
    p->hints.items[p->hints.count++] = (helio_hint_t){kind, change, effect};
}

/*  A start at a pool, and its cost. at_ms: 0 = now; code: STARTS_NOW, STARTS_AT or STARTS_BY. */
static helio_details_t start_of(helio_broker_core_t *core, helio_detail_code_t code, const option_t *o,
                                const helio_plan_t *plan, int64_t at_ms)
{
    const helio_value_t values[] = {helio_value_string(o->site->name), helio_value_text(o->pool->info.name),
                                    helio_value_number(plan->cost_micro_usd),
                                    helio_value_number((int64_t)plan->carbon_mg), helio_value_number(at_ms)};
    return core_why(core, helio_detail_make(core->effects->arena, code, values, at_ms ? 5 : 4));
}

/*  What would become of the changed job; empty = nothing better. */
static helio_details_t effect_of(const advisor_t *self, const ask_t *changed)
{
    helio_broker_core_t *core = self->core;
    job_class_t class;
    evaluation_t e = core_evaluate_ask(core, changed, self->e->class, &class);
    choice_t choice = core_choose(core, &e);
    if (choice.now && !choice.later)
        return start_of(core, changed->judged_ms ? HELIO_DETAIL_STARTS_AT : HELIO_DETAIL_STARTS_NOW, choice.now,
                        &choice.now->c.now, changed->judged_ms);
    core_decide(core, &e, &choice);
    const helio_plan_t *later = e.waits ? &e.chosen->c.later : NULL;
    if (later && (!self->expected_ms || later->start_ms < self->expected_ms))
        return start_of(core, HELIO_DETAIL_STARTS_AT, e.chosen, later, later->start_ms);
    if (!e.waits && !choice.now && core_preempt_expect(core, &e) &&
        (!self->expected_ms || e.preempts_at_ms < self->expected_ms)) {
        helio_details_t effect =
            start_of(core, HELIO_DETAIL_STARTS_BY, e.preempts, &e.preempts->c.now, e.preempts_at_ms);
        core_why_join(core, &effect, &e.preempts_details);
        return effect;
    }
    if (e.reserved && (!self->expected_ms || e.reservation.at_ms < self->expected_ms))
        return start_of(core, HELIO_DETAIL_STARTS_BY, e.reserved, &e.reserved->c.now, e.reservation.at_ms);
    return (helio_details_t){0};
}

static bool try(const advisor_t *self, const ask_t *changed, helio_hint_kind_t kind, helio_details_t change)
{
    helio_details_t effect = effect_of(self, changed);
    if (effect.items.count)
        add(self, kind, change, effect);
    return effect.items.count > 0;
}

static bool is_rejected(const advisor_t *self, helio_rejection_t rejection)
{
    for (uint32_t i = 0; i < self->e->count; i++)
        if (self->e->options[i].c.rejection == rejection)
            return true;
    return false;
}

/* ---- caps ---------------------------------------------------------------------------------------------- */

/*  The limit that admits one more pool: the least one above `above`. 0 = none. */
static uint64_t next_bound(const advisor_t *self, helio_rejection_t cap, uint64_t above)
{
    uint64_t least = 0;
    for (uint32_t i = 0; i < self->e->count; i++) {
        const option_t *o = &self->e->options[i];
        int64_t cost = o->c.high_cost_micro_usd + o->c.transfer.egress_micro_usd;
        uint64_t value = cap == HELIO_REJECTION_COST_CAP ? cost > 0 ? (uint64_t)cost : 0 : o->c.high_mg_per_kwh;
        if (o->c.rejection == cap && value > above && (!least || value < least))
            least = value;
    }
    return least;
}

/*  Of a job whose own bounds keep it from every pool: the change lets it wait for capacity at one, if it starts
 *  nowhere yet. */
static void raise_anyway(const advisor_t *self, const ask_t *changed, helio_hint_kind_t kind, helio_details_t change)
{
    job_class_t class;
    if (!self->e->feasible && core_evaluate_ask(self->core, changed, self->e->class, &class).feasible)
        add(self, kind, change, (helio_details_t){0});
}

static void raise_cost(const advisor_t *self)
{
    uint64_t bound = self->e->class->want.max_cost_micro_usd;
    ask_t first = {0};
    helio_details_t first_change = {0};
    for (int i = 0; i < TRIES_MAX && (bound = next_bound(self, HELIO_REJECTION_COST_CAP, bound)); i++) {
        ask_t changed = core_ask_of(self->e->class);
        changed.want.max_cost_micro_usd = (bound + CENT - 1) / CENT * CENT;
        const helio_details_t change = CORE_WHY(self->core, HELIO_DETAIL_TRY_MAX_COST,
                                                helio_value_number((int64_t)(changed.want.max_cost_micro_usd / 1000)));
        if (try(self, &changed, HELIO_HINT_KIND_MAX_COST, change))
            return;
        if (!i) {
            first = changed;
            first_change = change;
        }
    }
    if (first_change.items.count)
        raise_anyway(self, &first, HELIO_HINT_KIND_MAX_COST, first_change);
}

static void raise_carbon(const advisor_t *self)
{
    uint64_t bound = self->e->class->want.max_carbon_mg_per_kwh;
    ask_t first = {0};
    helio_details_t first_change = {0};
    for (int i = 0; i < TRIES_MAX && (bound = next_bound(self, HELIO_REJECTION_CARBON_CAP, bound)); i++) {
        ask_t changed = core_ask_of(self->e->class);
        changed.want.max_carbon_mg_per_kwh = (bound + 999) / 1000 * 1000;
        const helio_details_t change = CORE_WHY(self->core, HELIO_DETAIL_TRY_MAX_CARBON,
                                                helio_value_number((int64_t)changed.want.max_carbon_mg_per_kwh));
        if (try(self, &changed, HELIO_HINT_KIND_MAX_CARBON, change))
            return;
        if (!i) {
            first = changed;
            first_change = change;
        }
    }
    if (first_change.items.count)
        raise_anyway(self, &first, HELIO_HINT_KIND_MAX_CARBON, first_change);
}

/* ---- the request ------------------------------------------------------------------------------------------- */

static bool is_asked_for(const helio_requirement_t *want, helio_text_t model)
{
    for (uint32_t i = 0; i < want->gpus.count; i++)
        if (!want->gpus.items[i].model.size || helio_text_equal(want->gpus.items[i].model, model))
            return true;
    return false;
}

static void other_gpus(const advisor_t *self)
{
    const helio_requirement_t *want = &self->e->class->want;
    helio_text_t tried[MODELS_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; want->gpus.count && i < self->e->count && count < MODELS_MAX; i++) {
        helio_text_t model = self->e->options[i].pool->info.gpu;
        bool known = !model.size || is_asked_for(want, model);
        for (uint32_t k = 0; k < count; k++)
            known = known || helio_text_equal(tried[k], model);
        if (known)
            continue;
        tried[count++] = model;
        ask_t changed = core_ask_of(self->e->class);
        helio_gpu_ask_t ask = {.model = model, .count = want->gpus.items[0].count};
        changed.want.gpus.items = &ask;
        changed.want.gpus.count = 1;
        (void)try(self, &changed, HELIO_HINT_KIND_GPU,
                  CORE_WHY(self->core, HELIO_DETAIL_TRY_GPU, helio_value_text(model), helio_value_number(ask.count)));
    }
}

/*  Asking for less, if it fits nowhere as it is. */
static void what_fits(const advisor_t *self)
{
    ask_t changed = core_ask_of(self->e->class);
    helio_detail_t change =
        core_infeasible_remedy(self->core, &self->e->class->want, HELIO_DETAIL_TRY_REQUEST, &changed.want);
    if (!change.code)
        return;
    helio_details_t why = core_why(self->core, change);
    core_why_add(self->core, &why, core_infeasible_fewer(self->core, &self->e->class->want, &changed.want));
    (void)try(self, &changed, HELIO_HINT_KIND_GPU, why);
}

/*  What was probably meant, rather than more of what was not. */
static bool other_spelling(const advisor_t *self)
{
    ask_t changed = core_ask_of(self->e->class);
    helio_details_t changes = {0};
    return core_placement_correct(self->core, &changed.want, &changes) &&
           try(self, &changed, HELIO_HINT_KIND_SITES, changes);
}

static void more_sites(const advisor_t *self)
{
    if (other_spelling(self))
        return;
    ask_t changed = core_ask_of(self->e->class);
    changed.want.sites.count = 0;
    if (is_rejected(self, HELIO_REJECTION_SITE_PATTERN))
        (void)try(self, &changed, HELIO_HINT_KIND_SITES, CORE_WHY0(self->core, HELIO_DETAIL_TRY_SITES));
    changed = core_ask_of(self->e->class);
    changed.want.regions.count = 0;
    if (is_rejected(self, HELIO_REJECTION_RESIDENCY))
        (void)try(self, &changed, HELIO_HINT_KIND_REGIONS, CORE_WHY0(self->core, HELIO_DETAIL_TRY_REGIONS));
}

/*  There is capacity, but the job would delay a gang unless it ends before. */
static void shorter_time(const advisor_t *self)
{
    helio_broker_core_t *core = self->core;
    int64_t longest_ms = 0;
    for (uint32_t i = 0; i < self->e->feasible; i++) {
        const option_t *o = &self->e->options[i];
        int64_t left_ms = o->pool->reservation.class ? o->pool->reservation.at_ms - core->wall_ms : 0;
        if (core_pending_rejection(core, self->e->class, o, NULL) == HELIO_REJECTION_NO_CAPACITY &&
            left_ms > longest_ms)
            longest_ms = left_ms;
    }
    ask_t changed = core_ask_of(self->e->class);
    longest_ms -= (int64_t)changed.want.grace_ms;
    longest_ms -= longest_ms % MIN_TIME_MS;
    if (longest_ms < MIN_TIME_MS || (uint64_t)longest_ms >= changed.want.time_limit_ms)
        return;
    changed.want.time_limit_ms = (uint64_t)longest_ms;
    (void)try(self, &changed, HELIO_HINT_KIND_TIME,
              CORE_WHY(core, HELIO_DETAIL_TRY_TIME, helio_value_number(longest_ms)));
}

/*  Pools that its overflow group closes or rejects: an operator would change the group. */
static void through_overflow(const advisor_t *self)
{
    const evaluation_t *e = self->e;
    for (uint32_t i = 0; i < e->count; i++) {
        const option_t *o = &e->options[i];
        bool closed = o->c.rejection == HELIO_REJECTION_NONE && core_overflow_is_closed(e->class, o);
        if (!closed && o->c.rejection != HELIO_REJECTION_OVERFLOW)
            continue;
        const helio_details_t why = core_why(self->core, core_overflow_detail(self->core, e->class, o));
        add(self, HELIO_HINT_KIND_SITES,
            CORE_WHY(self->core, HELIO_DETAIL_TRY_OVERFLOW, helio_value_string(core_overflow_name(e->class))), why);
        return;
    }
}

/* ---- its queue ----------------------------------------------------------------------------------------- */

/*  The queue with the next higher priority. */
static queue_t *next_queue(const advisor_t *self)
{
    const queue_t *own = self->e->class->queue;
    queue_t *next = NULL;
    for (queue_t *q = self->core->queues; q; q = q->hh.next) {
        bool above = q->tier > own->tier || (q->tier == own->tier && q->priority > own->priority);
        above = above && !q->removed;
        bool nearer = !next || q->tier < next->tier || (q->tier == next->tier && q->priority < next->priority);
        if (above && nearer)
            next = q;
    }
    return next;
}

static helio_details_t fewer_ahead(const advisor_t *self, const helio_start_estimate_t *there)
{
    return CORE_WHY(self->core, HELIO_DETAIL_JOBS_AHEAD, helio_value_number((int64_t)there->ahead_jobs),
                    helio_value_number((int64_t)self->start_estimate->ahead_jobs));
}

static void higher_queue(const advisor_t *self)
{
    helio_broker_core_t *core = self->core;
    queue_t *queue = next_queue(self);
    if (!queue)
        return;
    ask_t changed = core_ask_of(self->e->class);
    account_t none = {.tenant = changed.account->tenant, .queue = queue, .holds.quota = queue->each}, *account;
    HASH_FIND_PTR(none.tenant->accounts, &queue, account);
    changed.queue = queue;
    core_budget_each(queue, &none.spends);
    changed.account = account ? account : &none;
    changed.want.queue = helio_text_of(queue->name);
    helio_details_t change = CORE_WHY(core, HELIO_DETAIL_TRY_QUEUE, helio_value_string(queue->name));
    if (try(self, &changed, HELIO_HINT_KIND_QUEUE, change))
        return;
    job_class_t class;
    evaluation_t e = core_evaluate_ask(core, &changed, self->e->class, &class);
    choice_t choice = core_choose(core, &e);
    core_decide(core, &e, &choice);
    if (core_is_capped(&e))
        return; /* its quota or budget there forbids it, whatever is ahead */
    helio_start_estimate_t there = {0};
    core_start_estimate_ahead(core, &class, class.waiting, (helio_text_t){0}, &there);
    if (there.ahead_jobs < self->start_estimate->ahead_jobs)
        add(self, HELIO_HINT_KIND_QUEUE, change, fewer_ahead(self, &there));
}

/*  The least priority that puts it ahead of the other jobs of its tenant in its queue. */
static int32_t foremost(const advisor_t *self)
{
    const job_class_t *own = self->e->class;
    int32_t priority = own->priority;
    for (const job_class_t *class = self->core->classes; class; class = class->hh.next)
        if (class->account == own->account && class->waiting && class->priority >= priority)
            priority = class->priority + 1;
    return priority;
}

/*  By an edit, because no job file has a priority. */
static void higher_priority(const advisor_t *self)
{
    helio_broker_core_t *core = self->core;
    ask_t changed = core_ask_of(self->e->class);
    helio_start_estimate_t there = {0};
    changed.priority = foremost(self);
    if (!self->e->class->id || changed.priority > HELIO_EDIT_PRIORITY_MAX)
        return;
    job_class_t class = core_class_of_ask(&changed, self->e->class);
    class.id = 0; /* its own class is one of those that it passes */
    core_start_estimate_ahead(core, &class, class.waiting, (helio_text_t){0}, &there);
    if (there.ahead_jobs < self->start_estimate->ahead_jobs)
        add(self, HELIO_HINT_KIND_PRIORITY,
            CORE_WHY(core, HELIO_DETAIL_TRY_PRIORITY, helio_value_number(changed.priority),
                     helio_value_string(changed.account->tenant->name)),
            fewer_ahead(self, &there));
}

void core_hints(helio_broker_core_t *self, const evaluation_t *e, helio_reason_t reason, int64_t expected_ms,
                helio_start_estimate_t *ret_estimate)
{
    /* a trial is an evaluation, too, and would overwrite these options */
    option_t *options = helio_arena_alloc(self->effects->arena, e->count + 1, sizeof *options);
    if (e->count)
        memcpy(options, e->options, e->count * sizeof *options);
    evaluation_t kept = *e;
    kept.options = options;
    const advisor_t own = {self, &kept, expected_ms, ret_estimate};
    if (reason == HELIO_REASON_NONE || !e->count)
        return;
    if (reason == HELIO_REASON_WAITING_FOR_WINDOW) {
        ask_t changed = core_ask_of(e->class);
        changed.want.free_until_ms = 0;
        (void)try(&own, &changed, HELIO_HINT_KIND_FLEXIBLE, CORE_WHY0(self, HELIO_DETAIL_TRY_NO_FLEXIBLE));
    }
    if (e->capped_gpus)
        add(&own, HELIO_HINT_KIND_QUOTA, core_why(self, core_quota_remedy(self, e->class, e->capped_gpus)),
            core_quota_room(self, e->class, e->capped_gpus));
    through_overflow(&own);
    if (e->over_budget)
        add(&own, HELIO_HINT_KIND_BUDGET, CORE_WHY0(self, HELIO_DETAIL_TRY_BUDGET), (helio_details_t){0});
    if (reason == HELIO_REASON_NEVER_FITS)
        what_fits(&own);
    raise_cost(&own);
    raise_carbon(&own);
    if (is_rejected(&own, HELIO_REJECTION_DEADLINE)) {
        ask_t changed = core_ask_of(e->class);
        changed.want.deadline_wall_ms = 0;
        (void)try(&own, &changed, HELIO_HINT_KIND_DEADLINE, CORE_WHY0(self, HELIO_DETAIL_TRY_DEADLINE));
    }
    shorter_time(&own);
    other_gpus(&own);
    more_sites(&own);
    if (reason == HELIO_REASON_WAITING_FOR_CAPACITY && e->feasible) { /* no place in the order opens a closed site */
        higher_priority(&own);
        higher_queue(&own);
    }
}
