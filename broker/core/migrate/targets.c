/*  targets.c -- where a running job could migrate: what the rest of its run would cost there, and what keeps it away.
 *
 *  The targets of a class are kept while what they depend on stands. Free capacity, and whether a class waits for it,
 *  is checked at each pool every time. */
#include "broker/core/migrate/targets.h"

#include <stdlib.h>

#include "broker/core/decide/evaluate.h"
#include "broker/core/decide/limits.h"
#include "broker/core/forecast/pool_forecast.h"
#include "broker/core/holds/curtailed.h"
#include "broker/core/holds/site_windows.h"
#include "broker/core/state/accounts.h"
#include "broker/core/state/ask.h"
#include "broker/core/state/budget_starts.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/lines.h"
#include "broker/core/state/option.h"
#include "broker/core/state/pools.h"
#include "broker/core/state/preemptible.h"
#include "broker/core/state/why.h"
#include "federation/policy/spot.h"

/*  A copy of its class in which it is the only job, so that nothing of the class changes. */
static job_class_t class_of(const job_t *job, job_t *ret_alone)
{
    const ask_t ask = core_ask_of(job->submission->class);
    job_class_t class = core_class_of_ask(&ask, job->submission->class);
    *ret_alone = *job;
    ret_alone->prev = ret_alone->next = NULL;
    class.waiting = ret_alone;
    class.waiting_count = 1;
    class.preemptions = 0;
    class.expected_gpus = 0;
    return class;
}

static target_t target_of(helio_broker_core_t *self, const job_class_t *class, const option_t *option)
{
    const helio_candidate_t *c = &option->c;
    helio_rejection_t rejection = c->rejection;
    bool passes = helio_rejection_group(rejection) == HELIO_REASON_WAITING_FOR_CAPACITY,
         bound = helio_rejection_group(rejection) == HELIO_REASON_POLICY_CAP;
    if (rejection != HELIO_REJECTION_OVERFLOW && passes)
        rejection = HELIO_REJECTION_NONE; /* temporary; core_migration_target_rejection checks it at each question */
    /* The rejection is a limit on a whole run, so the overflow group's price was not compared. A target that could
     * exceed that price is avoided. */
    if (bound)
        rejection = class->overflow ? HELIO_REJECTION_OVERFLOW : HELIO_REJECTION_NONE;
    return (target_t){
        .site = option->site,
        .pool = option->pool,
        .rejection = rejection,
        .ask = c->ask,
        .gpus_per_node = c->gpus_per_node,
        .step = option->step,
        .of = {.pool_forecast = core_pool_forecast(self, option->site, option->pool),
               .gpus = core_option_gpus(class, option),
               .run_ms = c->run_ms,
               .run_high_ms = c->run_high_ms,
               .redo_ppm = c->redo_ppm,
               .transfer = c->transfer,
               .price_unknown = option->price_unknown},
    };
}

const targets_t *core_migration_targets(helio_broker_core_t *self, job_class_t *class)
{
    targets_t *targets = class->targets;
    int64_t hour_ms = helio_hour_of(self->wall_ms);
    if (targets && targets->facts == self->facts_version && targets->pools == self->pools_version &&
        targets->hour_ms == hour_ms)
        return targets;
    job_class_t alone;
    const ask_t ask = core_ask_of(class);
    evaluation_t e = core_evaluate_ask(self, &ask, class, &alone);
    free(targets);
    targets = class->targets = helio_grow(NULL, 1, sizeof *targets + e.count * sizeof(target_t));
    *targets =
        (targets_t){.facts = self->facts_version, .pools = self->pools_version, .hour_ms = hour_ms, .count = e.count};
    for (uint32_t i = 0; i < e.count; i++)
        targets->items[i] = target_of(self, &alone, &e.options[i]);
    return targets;
}

const target_t *core_migration_target_at(const targets_t *targets, const pool_t *pool)
{
    for (uint32_t i = 0; i < targets->count; i++)
        if (targets->items[i].pool == pool)
            return &targets->items[i];
    return NULL;
}

weighing_t core_migration_weighing(helio_broker_core_t *self, const job_t *job)
{
    const submission_t *submission = job->submission;
    const helio_requirement_t *want = &submission->class->want;
    bool killed = core_preempt_tier(job) == HELIO_TIER_BEST_EFFORT && !submission->signalled;
    uint64_t gpus = core_migration_target_gpus(job, job->gpus_per_node);
    weighing_t weighing;
    weighing.job = (helio_migration_job_t){
        .prices = {want->carbon_price_micro_usd_per_t, want->wait_price_micro_usd_per_gpu_h, 0},
        .objective = self->options.objective,
        .now_ms = self->wall_ms,
        .ran_ms = core_preempt_ran_ms(self, job),
        .before_ms = gpus ? job->used.gpu_ms / gpus : 0,
        .limit_ms = want->time_limit_ms,
        .leave_ms = killed ? 0 : submission->grace_ms,
        .every_ms = submission->checkpoint_every_ms,
#ifndef HELIO_MUTANT_migrations_for_the_rest
        .look_ms = HELIO_MIGRATION_LOOK_MS,
#endif
        .signalled = submission->signalled,
        .times = job->migrations,
        .deadline_wall_ms = want->deadline_wall_ms,
        .max_cost_micro_usd = want->max_cost_micro_usd,
        .max_carbon_mg_per_kwh = want->max_carbon_mg_per_kwh,
    };
    helio_migration_target_t here = {.pool_forecast = core_pool_forecast(self, job->site, job->pool),
                                     .gpus = gpus,
                                     .run_ms = helio_requirement_run_ms(want, job->pool->info.gpu),
                                     .run_high_ms = helio_requirement_run_high_ms(want, job->pool->info.gpu)};
    here.redo_ppm = helio_spot_redo_ppm(want, &job->pool->info, here.run_ms);
    here.price_unknown = gpus && !helio_pool_forecast_has_price(here.pool_forecast, &job->pool->info);
    weighing.stay = helio_migration_stay(&weighing.job, &here);
    return weighing;
}

helio_migration_t core_migration_target_weigh(const weighing_t *weighing, const target_t *target)
{
    return helio_migration_weigh(&weighing->job, &weighing->stay, &target->of);
}

typedef struct place {
    const site_t *site;
    const pool_t *pool;
} place_t;

/*  The class could use the pool's GPUs and waits for nothing else. */
static bool waits_for(const job_class_t *class, void *arg)
{
    const place_t *place = arg;
    return (class->reason == HELIO_REASON_WAITING_FOR_CAPACITY || class->reason == HELIO_REASON_NONE ||
            class->reason == HELIO_REASON_QUEUED) &&
           helio_choice_filter(&class->want, &place->site->profile, &place->pool->info).rejection ==
               HELIO_REJECTION_NONE;
}

static bool is_waited_for(helio_broker_core_t *self, const site_t *site, pool_t *pool)
{
    if (pool->waited_round == self->rounds)
        return pool->waited_for;
    place_t place = {site, pool};
    pool->waited_round = self->rounds;
    pool->waited_for = core_any_waiting_class(self, waits_for, &place);
    return pool->waited_for;
}

/*  Whether a run of the whole time limit would take GPUs that a later hour of the pool promises to waiting classes. */
static bool breaks_promise(const helio_broker_core_t *self, const pool_t *pool, uint32_t gpus, uint64_t limit_ms)
{
    uint64_t hours = limit_ms / HELIO_HOUR_MS + 1;
    uint32_t free_gpus = core_pool_gpus_free(pool);
    for (uint64_t h = 0; h <= hours && h < PROMISE_HOURS; h++) {
        uint64_t hour = (uint64_t)(self->wall_ms / HELIO_HOUR_MS) + h;
        if (gpus && pool->promised_gpus[hour % PROMISE_HOURS] + gpus > free_gpus)
            return pool->promised_gpus[hour % PROMISE_HOURS] > 0;
    }
    return false;
}

/*  Whether the site accepts offers now. still_runs: the job has not left its site yet, so a doubtful target is
 *  avoided. */
static bool is_taking(const helio_broker_core_t *self, const target_t *target, bool still_runs)
{
    const site_t *site = target->site;
    if (still_runs && (site->stale || self->now_ms < target->pool->doubtful_until_ms))
        return false;
    return site->state == HELIO_SITE_STATE_READY && site->inventory_closed && site->capacity_known &&
           self->now_ms >= target->pool->penalty_until_ms && site->unanswered < self->options.offers_unanswered_max;
}

static bool fits_budgets(helio_broker_core_t *self, const job_t *job, const target_t *target, uint32_t gpus,
                         const job_class_t *class, helio_details_t *ret_details)
{
    shortage_t shortage = {0};
    if (!class->account->spends.any && !class->account->tenant->spends.any)
        return true;
    const weighing_t weighing = core_migration_weighing(self, job);
    helio_migration_t migration = core_migration_target_weigh(&weighing, target);
    if (core_budget_allows_migration(self, job, &migration, &target->of.transfer, gpus, &shortage))
        return true;
    *ret_details = core_budget_details(self, class, &shortage);
    return false;
}

helio_rejection_t core_migration_target_rejection(helio_broker_core_t *self, const job_t *job, const target_t *target,
                                                  helio_details_t *ret_details)
{
    const pool_t *pool = target->pool;
    uint32_t gpus = core_migration_target_gpus(job, target->gpus_per_node),
             has = core_migration_target_gpus(job, job->gpus_per_node);
    bool still_runs = job->site != NULL; /* its own GPUs come back */
    int64_t until_ms;
    *ret_details = (helio_details_t){0};
    if (target->site->draining)
        return HELIO_REJECTION_DRAINING;
    if (!is_taking(self, target, still_runs))
        return HELIO_REJECTION_SITE_SILENT;
    job_t alone;
    job_class_t class = class_of(job, &alone);
    const helio_requirement_t *want = &class.want;
    if (gpus > (still_runs ? has : 0) && gpus - (still_runs ? has : 0) > core_quota_left(&class)) {
        *ret_details = core_quota_details(self, &class, gpus);
        return HELIO_REJECTION_QUOTA;
    }
    if (still_runs && !fits_budgets(self, job, target, gpus, &class, ret_details))
        return HELIO_REJECTION_BUDGET;
    if (!core_room_fits(pool, &pool->free, want->nodes, target->gpus_per_node, want->cpus, want->memory_bytes)) {
        uint32_t free_gpus = core_pool_gpus_free(pool);
        *ret_details = free_gpus ? CORE_WHY(self, HELIO_DETAIL_GPUS_FREE, helio_value_number(free_gpus),
                                            helio_value_number(0), helio_value_number(gpus))
                                 : CORE_WHY(self, HELIO_DETAIL_NO_GPU_FREE, helio_value_number(0));
        return HELIO_REJECTION_NO_CAPACITY;
    }
    if (!core_site_window_allows(self, &class, pool, target->gpus_per_node, (freed_gpus_t){0}))
        *ret_details =
            core_why(self, core_site_window_detail(self, &class, target->site, pool, target->gpus_per_node, &until_ms));
    else if (!core_curtail_allows(self, &class, target->site, target->pool, target->gpus_per_node, 0)) {
        *ret_details =
            core_why(self, core_curtail_detail(self, &class, target->site, pool, target->gpus_per_node, &until_ms));
        return HELIO_REJECTION_CURTAILED;
    } else if (!still_runs)
        return HELIO_REJECTION_NONE;
    else if (pool->reservation.class && pool->reservation.class->waiting)
        *ret_details = CORE_WHY(self, HELIO_DETAIL_HELD_FOR_GANG, helio_value_number(0));
    else if (pool->preemptions)
        *ret_details = CORE_WHY0(self, HELIO_DETAIL_HELD_FOR_PREEMPTOR);
    else if (breaks_promise(self, pool, gpus, want->time_limit_ms))
        *ret_details = CORE_WHY0(self, HELIO_DETAIL_HELD_FOR_WINDOW);
    else if (is_waited_for(self, target->site, target->pool))
        *ret_details = CORE_WHY0(self, HELIO_DETAIL_JOBS_WAIT_THERE);
    else
        return HELIO_REJECTION_NONE;
    return HELIO_REJECTION_NO_CAPACITY;
}

bool core_migration_target_is_suitable(const helio_broker_core_t *self, const job_t *job, const target_t *here,
                                       const target_t *target)
{
    bool further = here && (target->step > here->step || (!job->submission->class->want.gpus_any &&
                                                          target->step == here->step && target->ask > here->ask));
    return target->pool != job->pool && target->rejection == HELIO_REJECTION_NONE && !further &&
           !core_class_doubts(job->submission->class, target->pool, self->now_ms);
}
