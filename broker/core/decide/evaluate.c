/*  evaluate.c -- judges every pool for a class, and chooses among them.
 *
 *  The verdicts of a waiting class are cached while what they depend on stands: the scoring step (HELIO_SCORE_STEP_MS),
 *  profiles, series, which sites have a session. Free capacity is not part of it: the pool is asked each time. */
#include "broker/core/decide/evaluate.h"

#include <stdlib.h>
#include <string.h>

#include "broker/core/decide/gangs.h"
#include "broker/core/decide/overflow.h"
#include "broker/core/forecast/pool_forecast.h"
#include "broker/core/forecast/queue_wait.h"
#include "broker/core/forecast/transfers.h"
#include "broker/core/holds/awaited_sites.h"
#include "broker/core/holds/curtailed.h"
#include "broker/core/holds/preemptions.h"
#include "broker/core/holds/reservations.h"
#include "broker/core/holds/site_windows.h"
#include "broker/core/state/accounts.h"
#include "broker/core/state/budget_starts.h"
#include "broker/core/state/classes.h"
#include "broker/core/state/core.h"
#include "broker/core/state/option.h"
#include "broker/core/state/pools.h"
#include "broker/core/state/queues.h"

struct evaluator {
    option_t *scratch; /* of an evaluation that is not cached */
    uint32_t capacity;
    supposition_t supposed;
    helio_pool_forecast_t repriced; /* scratch: of a pool whose prices are supposed */
};

evaluator_t *core_evaluator_new(void)
{
    return helio_new(1, sizeof(evaluator_t));
}

void core_evaluator_destroy(evaluator_t **self_p)
{
    evaluator_t *self = *self_p;
    free(self->scratch);
    free(self);
    *self_p = NULL;
}

static int by_preference(const void *a_, const void *b_)
{
    const option_t *a = a_, *b = b_;
    bool fa = a->c.rejection == HELIO_REJECTION_NONE, fb = b->c.rejection == HELIO_REJECTION_NONE;
    if (fa != fb)
        return fa ? -1 : 1;
    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    if (a->c.ask != b->c.ask)
        return a->c.ask < b->c.ask ? -1 : 1;
#ifdef HELIO_MUTANT_registered_first
    if (a->site != b->site)
        return a->site < b->site ? -1 : 1;
#endif
#ifdef HELIO_MUTANT_dearest_first
    if (a->c.now.score_micro_usd != b->c.now.score_micro_usd)
        return a->c.now.score_micro_usd > b->c.now.score_micro_usd ? -1 : 1;
#endif
    if (a->c.now.score_micro_usd != b->c.now.score_micro_usd)
        return a->c.now.score_micro_usd < b->c.now.score_micro_usd ? -1 : 1;
    if (a->home != b->home)
        return a->home ? -1 : 1;
    int order = strcmp(a->site->name, b->site->name);
    return order ? order : (a->pool > b->pool) - (a->pool < b->pool);
}

/*  Where the site's own scheduler gives a figure, or nodes are yet to come. */
static int64_t queue_wait_ms(const job_class_t *class, const site_t *site, const pool_t *pool, int64_t wall_ms)
{
    if (!pool->wait_count && !pool->info.elastic)
        return 0;
    helio_candidate_t c = helio_choice_filter(&class->want, &site->profile, &pool->info);
    return c.rejection == HELIO_REJECTION_NONE ? core_queue_wait_ms(pool, &class->want, c.gpus_per_node, wall_ms) : 0;
}

void core_suppose(helio_broker_core_t *self, supposition_t supposed)
{
    self->evaluator->supposed = supposed;
}

/*  The pool's, or at the prices that are supposed. Valid until the next call. */
static const helio_pool_forecast_t *forecast_of(helio_broker_core_t *self, const site_t *site, pool_t *pool)
{
    const helio_pool_forecast_t *as_it_is = core_pool_forecast(self, site, pool);
    evaluator_t *evaluator = self->evaluator;
    if (evaluator->supposed.site != site || evaluator->supposed.price_per_mille == 1000)
        return as_it_is;
    evaluator->repriced = *as_it_is;
    helio_pool_forecast_reprice(&evaluator->repriced, evaluator->supposed.price_per_mille);
    return &evaluator->repriced;
}

static option_t judge(helio_broker_core_t *self, job_class_t *class, site_t *site, pool_t *pool)
{
    int64_t wall_ms = core_judged_ms(self, class);
    const supposition_t *supposed = &self->evaluator->supposed;
    bool no_link;
    helio_transfer_t transfer = core_transfer(self, &class->want, site, pool, wall_ms, &no_link);
    helio_site_now_t now = {
        .ready = site->state == HELIO_SITE_STATE_READY && site->inventory_closed && site->capacity_known,
        .away = core_site_is_away(self, site),
        .draining = site->draining || (supposed->site == site && supposed->drains),
        .wall_ms = wall_ms,
        .pool_forecast = forecast_of(self, site, pool),
        .extras = {.stale = site->stale,
                   .queue_wait_ms = queue_wait_ms(class, site, pool, wall_ms),
                   .transfer = transfer,
                   .no_link = no_link},
        .held_start_ms = class->window.pool == pool ? class->window.start_ms : 0,
        .objective = self->options.objective,
    };
    option_t option = {site,
                       pool,
                       helio_choice_judge(&class->want, &site->profile, &pool->info, &now),
                       helio_text_is(class->want.home, site->name),
                       site->facts,
                       0,
                       false,
                       0};
    option.price_unknown = option.c.gpus_per_node && !helio_pool_forecast_has_price(now.pool_forecast, &pool->info);
    if (class->want.gpus_any)
        option.c.ask = 0;
    core_overflow_judge(self, class, &option);
    return option;
}

static void add_risk(helio_plan_t *plan, int64_t micro_usd)
{
    plan->terms[HELIO_TERM_RISK] += micro_usd;
    plan->score_micro_usd += micro_usd;
}

/*  A missing price can have any value. It is taken as just above the dearest known one of the job's candidates, so that
 *  it makes no pool the cheapest; if none is known, money decides nothing. */
static void weigh_unknown_prices(const helio_broker_core_t *self, evaluation_t *e)
{
    if (!helio_objective_counts(self->options.objective, HELIO_TERM_MONEY))
        return;
    int64_t dearest = -1;
    for (uint32_t i = 0; i < e->count; i++) {
        const option_t *option = &e->options[i];
        int64_t money = option->c.now.terms[HELIO_TERM_MONEY] > 0 ? option->c.now.terms[HELIO_TERM_MONEY] : 0;
        if (!option->price_unknown && option->c.run_ms)
            dearest = money > dearest ? money : dearest;
    }
#ifdef HELIO_MUTANT_unknown_price_is_cheap
    dearest = -1;
#endif
    for (uint32_t i = 0; i < e->count; i++) {
        option_t *option = &e->options[i];
        if (!option->price_unknown || !option->c.run_ms)
            continue;
        int64_t more = dearest + 1 - option->unknown_micro_usd;
        option->unknown_micro_usd += more;
        add_risk(&option->c.now, more);
        if (option->c.later.start_ms)
            add_risk(&option->c.later, more);
    }
}

static void order(const helio_broker_core_t *self, evaluation_t *e)
{
    weigh_unknown_prices(self, e);
    qsort(e->options, e->count, sizeof *e->options, by_preference);
}

/*  For a class that can wait for a later start, and one that waits already, because every summary leads to another
 *  evaluation. With a deadline, what can start now changes with the clock. The class of a plan does not exist
 *  afterwards. */
static bool is_cached(const helio_broker_core_t *self, const job_class_t *class)
{
    if (self->evaluator->supposed.site)
        return false;
    if (class->deferred_round == self->rounds)
        return true; /* asked again in this same round */
    return class->refs && !class->want.deadline_wall_ms &&
           (class->want.free_until_ms > self->wall_ms || class->reason != HELIO_REASON_NONE);
}

/*  Memory for the verdicts: the class's own if they are cached. */
static option_t *options_of(helio_broker_core_t *self, job_class_t *class, uint32_t count, bool cached)
{
    option_t *options;
    if (cached) {
        options = class->options = helio_grow(class->options, count ? count : 1, sizeof *options);
        class->option_count = count;
        class->options_facts = self->facts_version;
        class->options_pools = self->pools_version;
        class->options_step = self->wall_ms / HELIO_SCORE_STEP_MS;
        return options;
    }
    if (self->evaluator->capacity < count) {
        self->evaluator->scratch = helio_grow(self->evaluator->scratch, count, sizeof *options);
        self->evaluator->capacity = count;
    }
    class->options_step = 0; /* the earlier cache is no longer valid */
    return self->evaluator->scratch;
}

static void judge_all(helio_broker_core_t *self, evaluation_t *e, bool cached)
{
    for (site_t *site = self->sites; site; site = site->hh.next)
        e->count += site->pool_count;
    e->options = options_of(self, e->class, e->count, cached);
    option_t *option = e->options;
    for (site_t *site = self->sites; site; site = site->hh.next)
        for (uint32_t i = 0; i < site->pool_count; i++)
            *option++ = judge(self, e->class, site, &site->pools[i]);
    if (e->count)
        order(self, e);
}

static bool waits_otherwise(const helio_broker_core_t *self, const job_class_t *class, const option_t *option)
{
    const pool_t *pool = option->pool;
    if ((!pool->wait_count && !pool->info.elastic && !option->c.queue_wait_ms) || !option->c.run_ms)
        return false;
    int64_t wait_ms = core_queue_wait_ms(pool, &class->want, option->c.gpus_per_node, core_judged_ms(self, class));
    return wait_ms != option->c.queue_wait_ms;
}

/*  Cached verdicts: judges again those of sites that changed since, and of queues that did. */
static void judge_changed(helio_broker_core_t *self, evaluation_t *e)
{
    job_class_t *class = e->class;
    e->options = class->options;
    e->count = class->option_count;
    if (class->options_facts == self->facts_version && !self->queues_told)
        return;
    class->options_facts = self->facts_version;
    bool changed = false;
    for (uint32_t i = 0; i < e->count; i++) {
        option_t *option = &e->options[i];
        if (option->facts == option->site->facts && !waits_otherwise(self, class, option))
            continue;
        *option = judge(self, class, option->site, option->pool);
        changed = true;
    }
    if (changed)
        order(self, e);
}

evaluation_t core_evaluate(helio_broker_core_t *self, job_class_t *class)
{
    evaluation_t e = {.class = class};
    bool cached = is_cached(self, class);
    /* the costs of a transfer also depend on other sites */
    bool stands = !class->want.data.count || class->options_facts == self->facts_version;
    if (cached && stands && class->options && class->options_pools == self->pools_version &&
        class->options_step == self->wall_ms / HELIO_SCORE_STEP_MS)
        judge_changed(self, &e);
    else
        judge_all(self, &e, cached);
    while (e.feasible < e.count && e.options[e.feasible].c.rejection == HELIO_REJECTION_NONE)
        e.feasible++;
    for (uint32_t i = 0; i < e.count && class->overflow; i++)
        e.alive |= helio_overflow_is_alive(&e.options[i].c) ? UINT32_C(1) << e.options[i].step : 0;
    return e;
}

evaluation_t core_evaluate_ask(helio_broker_core_t *self, const ask_t *ask, const job_class_t *in_place_of,
                               job_class_t *ret_class)
{
    *ret_class = core_class_of_ask(ask, in_place_of);
    return core_evaluate(self, ret_class);
}

bool core_is_paused(const helio_broker_core_t *self, const job_class_t *class, const option_t *option)
{
    return class->waiting && !core_class_next(class, option->pool, self->now_ms);
}

static bool has_room(helio_broker_core_t *self, const job_class_t *class, const option_t *option)
{
    pool_t *pool = option->pool;
    const helio_requirement_t *want = &class->want;
    if (class->judged_ms)
        return !core_overflow_is_closed(class, option) && core_option_gpus(class, option) <= core_quota_left(class) &&
               core_budget_allows(self, class, option) &&
               core_window_room(self, class, option->site, option->pool, option->c.gpus_per_node, class->judged_ms) > 0;
    return self->now_ms >= pool->penalty_until_ms && !core_is_paused(self, class, option) &&
           !core_overflow_is_closed(class, option) && option->site->unanswered < self->options.offers_unanswered_max &&
           core_room_fits(pool, &pool->free, want->nodes, option->c.gpus_per_node, want->cpus, want->memory_bytes) &&
           core_option_gpus(class, option) <= core_quota_left(class) && core_budget_allows(self, class, option) &&
           (core_preempt_holds(self, class, pool) || core_reserve_allows(self, class, pool, option->c.gpus_per_node)) &&
           core_preempt_allows(self, class, pool, option->c.gpus_per_node) &&
           core_site_window_allows(self, class, pool, option->c.gpus_per_node, (freed_gpus_t){0}) &&
           core_curtail_allows(self, class, option->site, pool, option->c.gpus_per_node, 0);
}

bool core_has_room(helio_broker_core_t *self, const job_class_t *class, const option_t *option)
{
    return has_room(self, class, option);
}

static double free_share(const pool_t *pool)
{
    bool gpus = pool->info.gpus_per_node > 0;
    double total = (double)pool->info.nodes * (gpus ? pool->info.gpus_per_node : pool->info.cpus_per_node);
    double left = gpus ? core_pool_gpus_free(pool) : (double)pool->free.cpus;
    return total > 0 ? left / total : 0;
}

/*  A pool that failed or refused such a job just now, or a site that has not been heard of for seconds. */
bool core_is_doubtful(const helio_broker_core_t *self, const job_class_t *class, const option_t *option)
{
    return self->now_ms < option->pool->doubtful_until_ms || option->site->stale ||
           core_class_doubts(class, option->pool, self->now_ms);
}

/*  Among equally good options (same step, alternative and score) the home site, else the largest free share. */
static const option_t *choose_among(helio_broker_core_t *self, const evaluation_t *e, bool doubtful_too)
{
    for (uint32_t i = 0; i < e->feasible;) {
        const option_t *first = &e->options[i], *best = NULL;
        double best_share = -1;
        uint32_t end = i;
        for (; end < e->feasible && e->options[end].step == first->step && e->options[end].c.ask == first->c.ask &&
               e->options[end].c.now.score_micro_usd == first->c.now.score_micro_usd;
             end++) {
            const option_t *option = &e->options[end];
            if ((!doubtful_too && core_is_doubtful(self, e->class, option)) || !has_room(self, e->class, option))
                continue;
            double share = option->home ? 2 : free_share(option->pool);
            if (share > best_share) {
                best = option;
                best_share = share;
            }
        }
        if (best)
            return best;
        i = end;
    }
    return NULL;
}

static const option_t *choose_now(helio_broker_core_t *self, const evaluation_t *e)
{
    const option_t *best = choose_among(self, e, false);
    return best ? best : choose_among(self, e, true);
}

static const option_t *choose_later(helio_broker_core_t *self, const evaluation_t *e, const option_t *now,
                                    uint32_t *ret_room)
{
    const job_class_t *class = e->class;
    const option_t *best = NULL;
    int64_t best_rank = INT64_MAX, wall_ms = core_judged_ms(self, class);
    for (uint32_t i = 0; i < e->count; i++) {
        const option_t *option = &e->options[i];
        const helio_plan_t *later = &option->c.later, *beside = now ? &now->c.now : &option->c.now;
        if (!later->start_ms || core_overflow_is_closed(class, option) || (now && option->step > now->step) ||
            (now && option->step == now->step && option->c.ask > now->c.ask))
            continue;
        bool held = class->window.pool == option->pool && class->window.start_ms == later->start_ms;
        int64_t rank = helio_choice_rank(later, beside, wall_ms, held);
        if (rank >= best_rank || (now && helio_choice_worth(later, beside, wall_ms, held) >= beside->score_micro_usd))
            continue;
        uint32_t room =
            core_window_room(self, class, option->site, option->pool, option->c.gpus_per_node, later->start_ms);
        room = core_budget_room(self, class, option, later, room);
        if (!room)
            continue;
        best = option;
        best_rank = rank;
        *ret_room = room;
    }
    return best;
}

choice_t core_choose(helio_broker_core_t *self, const evaluation_t *e)
{
    core_overflow_open(self, e);
    choice_t choice = {.now = choose_now(self, e)};
    if (e->class->want.free_until_ms > core_judged_ms(self, e->class))
        choice.later = choose_later(self, e, choice.now, &choice.room);
    return choice;
}

bool core_would_wait(const helio_broker_core_t *self, const evaluation_t *e, const option_t *option)
{
    const window_t *window = &e->class->window;
    const helio_plan_t *now = &option->c.now;
    for (uint32_t i = 0; i < e->count && e->class->want.free_until_ms > self->wall_ms; i++) {
        const option_t *other = &e->options[i];
        const helio_plan_t *later = &other->c.later;
        bool held = window->pool == other->pool && window->start_ms == later->start_ms;
        if (later->start_ms && other->c.ask <= option->c.ask &&
            helio_choice_worth(later, now, self->wall_ms, held) < now->score_micro_usd)
            return true;
    }
    return false;
}

/*  Whether it would wait for that start even if the best pool of all had capacity now. Then it waits for the window,
 *  not for capacity. */
static bool is_worth_waiting_for(const helio_broker_core_t *self, const evaluation_t *e, const option_t *later)
{
    const helio_plan_t *now = &e->options[0].c.now;
    const window_t *window = &e->class->window;
    bool held = window->pool == later->pool && window->start_ms == later->c.later.start_ms;
    return !e->feasible || helio_choice_worth(&later->c.later, now, self->wall_ms, held) < now->score_micro_usd;
}

/*  The least that it can be placed with, if that exceeds its quota; else 0. */
static uint32_t capped_gpus(const evaluation_t *e)
{
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 0; i < e->feasible; i++) {
        uint32_t gpus = core_option_gpus(e->class, &e->options[i]);
        least = gpus < least ? gpus : least;
    }
    return e->feasible && least > core_quota_left(e->class) ? least : 0;
}

/*  Of the options that its quota allows, the one that its budgets would allow first; NULL: they allow one now. */
static const option_t *over_budget(helio_broker_core_t *self, const evaluation_t *e, shortage_t *ret_shortage)
{
    const account_t *account = e->class->account;
    const option_t *first = NULL;
    if (!account->spends.any && !account->tenant->spends.any)
        return NULL;
    for (uint32_t i = 0; i < e->feasible; i++) {
        const option_t *option = &e->options[i];
        if (core_option_gpus(e->class, option) > core_quota_left(e->class))
            continue;
        if (core_budget_allows(self, e->class, option))
            return NULL;
        shortage_t found = core_budget_shortage(self, e->class, option);
        if (!first || (ret_shortage->alone && !found.alone) ||
            (ret_shortage->alone == found.alone && found.fits_ms < ret_shortage->fits_ms)) {
            first = option;
            *ret_shortage = found;
        }
    }
    return first;
}

bool core_is_capped(const evaluation_t *e)
{
    return e->capped_gpus || e->over_budget;
}

void core_decide(helio_broker_core_t *self, evaluation_t *e, const choice_t *choice)
{
    e->waits = choice->later && (choice->now || is_worth_waiting_for(self, e, choice->later));
    e->chosen = e->waits ? choice->later : NULL;
    e->now = e->waits ? choice->now : NULL;
    e->capped_gpus = e->waits ? 0 : capped_gpus(e);
    e->over_budget = e->waits || e->capped_gpus ? NULL : over_budget(self, e, &e->shortage);
    if (!e->waits)
        core_gang_find_reservation(self, e);
}
