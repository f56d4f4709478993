/*  hints.c -- how a job that waits could start sooner.
 *
 *  A closed list of changes to its document. Each is tried: the decision's own code judges the job as it
 * would be then, and only what it says is shown. So a hint is as true as a plan, at the moment at which it is
 * asked for.
 */
#include "broker/core/requests/hints.h"

#include <string.h>

#include "broker/core/decide/evaluate.h"
#include "broker/core/decide/infeasible.h"
#include "broker/core/decide/limits.h"
#include "broker/core/decide/overflow.h"
#include "broker/core/decide/pending.h"
#include "broker/core/preempt/preempt.h"
#include "broker/core/requests/ahead.h"
#include "broker/core/state/ask.h"
#include "broker/core/state/budget_limits.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/option.h"
#include "broker/core/state/text.h"
#include "broker/core/state/why.h"

enum { HINTS_MAX = 6, MODELS_MAX = 3, TRIES_MAX = 3, MIN_TIME_MS = 60000, CENT = 10000 };

typedef struct advisor {
    helio_broker_core_t *core;
    const evaluation_t *e; /* as it is */
    int64_t expected_ms;   /* 0 = not foreseen */
    helio_start_estimate_t *start_estimate;
} advisor_t;

static void add(const advisor_t *self, helio_hint_kind_t kind, const char *change, const char *effect)
{
    helio_start_estimate_t *p = self->start_estimate;
    if (p->hints.count == HINTS_MAX)
        return;
    if (!p->hints.items)
        p->hints.items = helio_arena_alloc(self->core->effects->arena, HINTS_MAX, sizeof *p->hints.items);
    p->hints.items[p->hints.count++] = (helio_hint_t){kind, core_text_cut(change, 160), core_text_cut(effect, 240)};
}

static const char *place_and_cost(helio_broker_core_t *core, const option_t *o, const helio_plan_t *plan)
{
    double grams = (double)plan->carbon_mg / 1000;
    const char *carbon =
        grams < 999.5 ? core_printf(core, "%.0f g", grams) : core_printf(core, "%.3g kg", grams / 1000);
    return core_printf(core, "%s/%.*s, %s and %s CO2e", o->site->name, HELIO_TEXT_ARGS(o->pool->info.name),
                       core_money_text(core, plan->cost_micro_usd), carbon);
}

/*  What would become of it; "" = nothing better. */
static const char *effect_of(const advisor_t *self, const ask_t *changed)
{
    helio_broker_core_t *core = self->core;
    job_class_t class;
    evaluation_t e = core_evaluate_ask(core, changed, self->e->class, &class);
    choice_t choice = core_choose(core, &e);
    if (choice.now && !choice.later)
        return core_printf(core, "starts at once at %s",
                           place_and_cost(core, choice.now, &choice.now->c.now));
    core_decide(core, &e, &choice);
    if (e.waits && (!self->expected_ms || e.chosen->c.later.start_ms < self->expected_ms))
        return core_printf(core, "starts %s at %s", core_minute_text(core, e.chosen->c.later.start_ms),
                           place_and_cost(core, e.chosen, &e.chosen->c.later));
    if (!e.waits && !choice.now && core_preempt_expect(core, &e) &&
        (!self->expected_ms || e.preempts_at_ms < self->expected_ms))
        return core_printf(core, "starts by %s at %s; %s", core_second_text(core, e.preempts_at_ms),
                           place_and_cost(core, e.preempts, &e.preempts->c.now), core_sentences(core, &e.preempts_details));
    if (e.reserved && (!self->expected_ms || e.reservation.at_ms < self->expected_ms))
        return core_printf(core, "starts by %s at %s", core_minute_text(core, e.reservation.at_ms),
                           place_and_cost(core, e.reserved, &e.reserved->c.now));
    return "";
}

static bool try(const advisor_t *self, const ask_t *changed, helio_hint_kind_t kind, const char *change)
{
    const char *effect = effect_of(self, changed);
    if (effect[0])
        add(self, kind, change, effect);
    return effect[0];
}

static bool is_rejected(const advisor_t *self, helio_rejection_t rejection)
{
    for (uint32_t i = 0; i < self->e->count; i++)
        if (self->e->options[i].c.rejection == rejection)
            return true;
    return false;
}

/* ---- caps ---------------------------------------------------------------------------------------------- */

/*  The bound that lets one more pool in: the least that is above `above`. 0 = there is none. */
static uint64_t next_bound(const advisor_t *self, helio_rejection_t cap, uint64_t above)
{
    uint64_t least = 0;
    for (uint32_t i = 0; i < self->e->count; i++) {
        const option_t *o = &self->e->options[i];
        int64_t cost = o->c.high_cost_micro_usd + o->c.transfer.egress_micro_usd;
        uint64_t value =
            cap == HELIO_REJECTION_COST_CAP ? cost > 0 ? (uint64_t)cost : 0 : o->c.high_mg_per_kwh;
        if (o->c.rejection == cap && value > above && (!least || value < least))
            least = value;
    }
    return least;
}

static void raise_cost(const advisor_t *self)
{
    uint64_t bound = self->e->class->want.max_cost_micro_usd;
    for (int i = 0; i < TRIES_MAX && (bound = next_bound(self, HELIO_REJECTION_COST_CAP, bound)); i++) {
        ask_t changed = core_ask_of(self->e->class);
        changed.want.max_cost_micro_usd = (bound + CENT - 1) / CENT * CENT;
        if (try(self, &changed, HELIO_HINT_KIND_MAX_COST,
                core_printf(self->core, "raise `max_cost` to %llu.%02llu USD",
                            (unsigned long long)(changed.want.max_cost_micro_usd / 1000000),
                            (unsigned long long)(changed.want.max_cost_micro_usd / CENT % 100))))
            return;
    }
}

static void raise_carbon(const advisor_t *self)
{
    uint64_t bound = self->e->class->want.max_carbon_mg_per_kwh;
    for (int i = 0; i < TRIES_MAX && (bound = next_bound(self, HELIO_REJECTION_CARBON_CAP, bound)); i++) {
        ask_t changed = core_ask_of(self->e->class);
        changed.want.max_carbon_mg_per_kwh = (bound + 999) / 1000 * 1000;
        if (try(self, &changed, HELIO_HINT_KIND_MAX_CARBON,
                core_printf(self->core, "raise `max_carbon` to %llu g/kWh",
                            (unsigned long long)(changed.want.max_carbon_mg_per_kwh / 1000))))
            return;
    }
}

/* ---- what it asks for ---------------------------------------------------------------------------------- */

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
                  core_printf(self->core, "allow `%.*s:%u` too in `gpu`", HELIO_TEXT_ARGS(model), ask.count));
    }
}

/*  Less of it, where it fits nowhere as it is. */
static void what_fits(const advisor_t *self)
{
    const char *site = "";
    ask_t changed = core_ask_of(self->e->class);
    const char *change = core_infeasible_remedy(self->core, &self->e->class->want, &changed.want, &site);
    if (change[0])
        (void)try(self, &changed, HELIO_HINT_KIND_GPU, change);
}

static void more_sites(const advisor_t *self)
{
    ask_t changed = core_ask_of(self->e->class);
    changed.want.sites.count = 0;
    if (is_rejected(self, HELIO_REJECTION_SITE_PATTERN))
        (void)try(self, &changed, HELIO_HINT_KIND_SITES, "allow more of `placement.sites`");
    changed = core_ask_of(self->e->class);
    changed.want.regions.count = 0;
    if (is_rejected(self, HELIO_REJECTION_RESIDENCY))
        (void)try(self, &changed, HELIO_HINT_KIND_REGIONS, "allow more of `placement.regions`");
}

/*  It has room, but would delay a gang: unless it is over before. */
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
    longest_ms -= longest_ms % MIN_TIME_MS;
    ask_t changed = core_ask_of(self->e->class);
    if (longest_ms < MIN_TIME_MS || (uint64_t)longest_ms >= changed.want.time_limit_ms)
        return;
    changed.want.time_limit_ms = (uint64_t)longest_ms;
    (void)try(self, &changed, HELIO_HINT_KIND_TIME,
              core_printf(core, "a `time` of at most %lldm", (long long)(longest_ms / MIN_TIME_MS)));
}

/*  Places that its overflow group closes or rejects: the group that an operator would change. */
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
            core_printf(self->core, "an operator changes overflow group `%s` (`helio overflow set`)",
                        core_overflow_name(e->class)),
            core_printf(self->core, "%s: %s", o->site->name, core_sentences(self->core, &why)));
        return;
    }
}

/* ---- its queue ----------------------------------------------------------------------------------------- */

/*  The next one above its own. */
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

static void higher_queue(const advisor_t *self)
{
    helio_broker_core_t *core = self->core;
    queue_t *queue = next_queue(self);
    if (!queue)
        return;
    ask_t changed = core_ask_of(self->e->class);
    account_t none = {.tenant = changed.account->tenant,
                      .queue = queue,
                      .holds.quota = queue->each},
              *account;
    HASH_FIND_PTR(none.tenant->accounts, &queue, account);
    changed.queue = queue;
    core_budget_each(queue, &none.spends);
    changed.account = account ? account : &none;
    changed.want.queue = helio_text_of(queue->name);
    const char *change = core_printf(core, "queue `%s`", queue->name);
    if (try(self, &changed, HELIO_HINT_KIND_QUEUE, change))
        return;
    job_class_t class;
    evaluation_t e = core_evaluate_ask(core, &changed, self->e->class, &class);
    choice_t choice = core_choose(core, &e);
    core_decide(core, &e, &choice);
    if (core_is_capped(&e))
        return; /* its quota or budget there forbids it, whoever goes before */
    helio_start_estimate_t there = {0};
    core_start_estimate_ahead(core, &class, class.waiting, (helio_text_t){0}, &there);
    if (there.ahead_jobs < self->start_estimate->ahead_jobs)
        add(self, HELIO_HINT_KIND_QUEUE, change,
            core_printf(core, "%llu job%s before it instead of %llu", (unsigned long long)there.ahead_jobs,
                        there.ahead_jobs == 1 ? "" : "s", (unsigned long long)self->start_estimate->ahead_jobs));
}

/*  The least priority that puts it before the other jobs of its tenant in its queue. */
static int32_t foremost(const advisor_t *self)
{
    const job_class_t *own = self->e->class;
    int32_t priority = own->priority;
    for (const job_class_t *class = self->core->classes; class; class = class->hh.next)
        if (class->account == own->account && class->waiting && class->priority >= priority)
            priority = class->priority + 1;
    return priority;
}

/*  No file has it: an edit of a job that waits. */
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
            core_printf(core, "`priority` %d among %s's own jobs", changed.priority,
                        changed.account->tenant->name),
            core_printf(core, "%llu job%s before it instead of %llu", (unsigned long long)there.ahead_jobs,
                        there.ahead_jobs == 1 ? "" : "s", (unsigned long long)self->start_estimate->ahead_jobs));
}

void core_hints(helio_broker_core_t *self, const evaluation_t *e, helio_reason_t reason, int64_t expected_ms,
                helio_start_estimate_t *ret_estimate)
{
    /* a trial is an evaluation too, and would write over this one's options */
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
        (void)try(&own, &changed, HELIO_HINT_KIND_FLEXIBLE, "without `flexible`");
    }
    if (e->capped_gpus)
        add(&own, HELIO_HINT_KIND_QUOTA, core_quota_remedy(self, e->class, e->capped_gpus),
            core_printf(self, "would leave the %u GPU%s that it needs", e->capped_gpus,
                        e->capped_gpus == 1 ? "" : "s"));
    through_overflow(&own);
    if (e->over_budget) {
        const helio_details_t why = core_budget_details(self, e->class, &e->shortage);
        add(&own, HELIO_HINT_KIND_BUDGET, "a larger budget: an operator sets it with `helio quota set`",
            core_sentences(self, &why));
    }
    if (reason == HELIO_REASON_NEVER_FITS)
        what_fits(&own);
    raise_cost(&own);
    raise_carbon(&own);
    if (is_rejected(&own, HELIO_REJECTION_DEADLINE)) {
        ask_t changed = core_ask_of(e->class);
        changed.want.deadline_wall_ms = 0;
        (void)try(&own, &changed, HELIO_HINT_KIND_DEADLINE, "a later `deadline`, or none");
    }
    shorter_time(&own);
    other_gpus(&own);
    more_sites(&own);
    if (reason == HELIO_REASON_WAITING_FOR_CAPACITY) {
        higher_priority(&own);
        higher_queue(&own);
    }
}
