/*  migration.c -- compares the rest of a run here and at another pool. */
#include "federation/policy/migration.h"

#include "federation/policy/spot.h"

_Static_assert((int)HELIO_SPOT_RESTART_MS == (int)HELIO_MIGRATION_RESTART_MS, "a restart takes as long either way");

/*  Scales a run time here to one there, without overflow: years of milliseconds are below 2^40. */
static uint64_t scaled(uint64_t ms, const helio_migration_target_t *here, const helio_migration_target_t *there)
{
    const uint64_t most = UINT64_C(1) << 53;
    ms = ms < most ? ms : most;
    if (!here->run_ms)
        return ms;
    helio_i128_t there_ms = (helio_i128_t)ms * (helio_i128_t)there->run_ms / (helio_i128_t)here->run_ms;
    return there_ms > (helio_i128_t)most ? most : (uint64_t)there_ms;
}

static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static uint64_t at_most(uint64_t value, uint64_t most)
{
    return value < most ? value : most;
}

uint64_t helio_migration_lost_ms(uint64_t ran_ms, uint64_t every_ms, bool signalled)
{
    if (signalled)
        return 0; /* work done while it leaves is lost, and charged as such */
    if (!every_ms || ran_ms < every_ms + HELIO_MIGRATION_CHECKPOINT_MS)
        return ran_ms;
    return (ran_ms - HELIO_MIGRATION_CHECKPOINT_MS) % every_ms + HELIO_MIGRATION_CHECKPOINT_MS;
}

/*  Until it has saved what it did since its last checkpoint; 0: it has just done so, or never does. */
static uint64_t unsaved_until_ms(const helio_migration_job_t *job)
{
    if (job->signalled || !job->every_ms)
        return 0;
    if (job->ran_ms < HELIO_MIGRATION_CHECKPOINT_MS)
        return job->every_ms + HELIO_MIGRATION_CHECKPOINT_MS - job->ran_ms;
    uint64_t over_ms = (job->ran_ms - HELIO_MIGRATION_CHECKPOINT_MS) % job->every_ms;
    return over_ms ? job->every_ms - over_ms : 0;
}

uint64_t helio_migration_residence_ms(uint32_t times, uint64_t ran_ms, uint64_t protection_ms)
{
    return less(times ? HELIO_MIGRATION_RESIDENCE_MS : protection_ms, ran_ms);
}

uint32_t helio_migration_needs_per_mille(uint32_t times)
{
    return times ? HELIO_MIGRATION_SAVES_AGAIN_PER_MILLE : HELIO_MIGRATION_SAVES_PER_MILLE;
}

static int64_t needs(const helio_plan_t *here, uint32_t times)
{
    int64_t rest = here->score_micro_usd < 0 ? -here->score_micro_usd : here->score_micro_usd;
    int64_t part = rest / 1000 * helio_migration_needs_per_mille(times);
    return part > HELIO_MIGRATION_SAVES_LEAST_MICRO_USD ? part : HELIO_MIGRATION_SAVES_LEAST_MICRO_USD;
}

/*  The rest of the run, at most the remaining limit of this attempt. */
static uint64_t rest_of(const helio_migration_job_t *job, const helio_migration_target_t *here)
{
    uint64_t floor_ms = here->run_ms / 1000 * HELIO_MIGRATION_FLOOR_PER_MILLE;
    uint64_t rest_ms = less(here->run_ms, job->ran_ms + job->before_ms);
    return at_most(rest_ms > floor_ms ? rest_ms : floor_ms, less(job->limit_ms, job->ran_ms));
}

/*  It is uncertain what earlier attempts saved, so only this attempt counts; beyond p90 the whole limit is used. */
static uint64_t high_rest_of(const helio_migration_job_t *job, const helio_migration_target_t *here, uint64_t rest_ms)
{
    uint64_t left_ms = less(job->limit_ms, job->ran_ms), high_ms = less(here->run_high_ms, job->ran_ms);
    if (!high_ms)
        return left_ms;
    return at_most(high_ms > rest_ms ? high_ms : rest_ms, left_ms);
}

/*  The plan of a run alone, without waiting and without transfers. */
static helio_plan_t plan_of(const helio_migration_job_t *job, const helio_migration_target_t *target, int64_t begin_ms,
                            uint64_t run_ms)
{
    helio_work_t work = {
        .gpus = target->gpus, .run_ms = run_ms, .prices = job->prices, .now_ms = begin_ms, .objective = job->objective};
    helio_extras_t extras = {.redo_ppm = target->redo_ppm};
    work.prices.scarcity_micro_usd_per_gpu_h = 0; /* its own GPUs count as taken here */
    return helio_plan_of(target->pool_forecast, &work, &extras, begin_ms);
}

static int64_t weighed(const helio_plan_t *plan)
{
    return plan->terms[HELIO_TERM_MONEY] + plan->terms[HELIO_TERM_CARBON] + plan->terms[HELIO_TERM_RISK];
}

static int64_t per(helio_i128_t product, int64_t divisor)
{
    const int64_t most = INT64_C(1) << 53;
    helio_i128_t whole = product / divisor;
    return whole > most ? most : (int64_t)whole;
}

/*  Egress, carbon, and the time until it computes again. */
static int64_t way_cost(const helio_migration_job_t *job, const helio_migration_target_t *there, uint64_t away_ms)
{
    const helio_transfer_t *transfer = &there->transfer;
    helio_i128_t gpu_ms = (helio_i128_t)there->gpus * (helio_i128_t)away_ms;
    int64_t cost = 0;
    if (helio_objective_counts(job->objective, HELIO_TERM_TRANSFER))
        cost += transfer->egress_micro_usd +
                per((helio_i128_t)transfer->carbon_mg * job->prices.carbon_micro_usd_per_t, 1000000000);
    if (helio_objective_counts(job->objective, HELIO_TERM_WAIT))
        cost += per(gpu_ms * job->prices.wait_micro_usd_per_gpu_h, HELIO_HOUR_MS);
    return cost;
}

/*  An unknown price is taken as the one here: no job migrates for it. */
static int64_t unknown_price(const helio_migration_job_t *job, const helio_migration_target_t *here,
                             const helio_migration_target_t *there, const helio_migration_t *migration)
{
    bool unknown = there->price_unknown && !here->price_unknown && migration->here.cost_micro_usd > 0;
    return unknown && helio_objective_counts(job->objective, HELIO_TERM_MONEY) ? migration->here.cost_micro_usd : 0;
}

static helio_rejection_t bounds(const helio_migration_job_t *job, const helio_migration_target_t *there,
                                const helio_migration_t *migration)
{
    if (job->deadline_wall_ms && migration->begin_ms + (int64_t)migration->run_high_ms > job->deadline_wall_ms)
        return HELIO_REJECTION_DEADLINE;
    if (!job->max_cost_micro_usd && !job->max_carbon_mg_per_kwh)
        return HELIO_REJECTION_NONE;
    helio_plan_t high = plan_of(job, there, migration->begin_ms, migration->run_high_ms);
    if (job->max_cost_micro_usd &&
        high.cost_micro_usd + there->transfer.egress_micro_usd > (int64_t)job->max_cost_micro_usd)
        return HELIO_REJECTION_COST_CAP;
    if (job->max_carbon_mg_per_kwh &&
        (!there->pool_forecast->carbon_from.known || helio_plan_mg_per_kwh(&high) > job->max_carbon_mg_per_kwh))
        return HELIO_REJECTION_CARBON_CAP;
    return HELIO_REJECTION_NONE;
}

helio_migration_stay_t helio_migration_stay(const helio_migration_job_t *job, const helio_migration_target_t *here)
{
    uint64_t rest_ms = rest_of(job, here);
    uint64_t look_ms = job->look_ms ? at_most(rest_ms, unsaved_until_ms(job) + job->look_ms) : rest_ms;
    return (helio_migration_stay_t){
        .here = *here,
        .rest_ms = rest_ms,
        .look_ms = look_ms,
        .high_ms = high_rest_of(job, here, rest_ms),
        .rest = plan_of(job, here, job->now_ms, look_ms),
        .leaving = plan_of(job, here, job->now_ms, job->leave_ms),
    };
}

/*  It stays for wait_ms more, does lost_ms of its work again, and the rest there. Compared are the hours of look_ms; what
 *  the whole rest uses there is in `run`. */
static helio_migration_t weigh(const helio_migration_job_t *job, const helio_migration_stay_t *stay,
                               const helio_migration_target_t *there, uint64_t wait_ms, uint64_t lost_ms)
{
    const helio_migration_target_t *here = &stay->here;
    const helio_plan_t *leaving = &stay->leaving;
    uint64_t twice_ms = HELIO_MIGRATION_RESTART_MS + scaled(lost_ms, here, there);
    uint64_t rest_there_ms = at_most(scaled(less(stay->rest_ms, wait_ms), here, there), job->limit_ms);
    uint64_t look_there_ms = at_most(scaled(less(stay->look_ms, wait_ms), here, there), rest_there_ms);
    uint64_t away_ms = job->leave_ms + there->transfer.ms;
    helio_migration_t migration = {
        .rest_ms = stay->rest_ms,
        .run_ms = at_most(rest_there_ms + twice_ms, job->limit_ms),
        .run_high_ms = at_most(scaled(less(stay->high_ms, wait_ms), here, there) + twice_ms, job->limit_ms),
        .begin_ms = job->now_ms + (int64_t)(wait_ms + away_ms),
        .saved_in_ms = wait_ms,
        .here = stay->rest,
    };
    helio_plan_t whole = plan_of(job, there, migration.begin_ms, look_there_ms + twice_ms), staying = {0};
    if (wait_ms)
        staying = plan_of(job, here, job->now_ms, wait_ms);
    migration.there = plan_of(job, there, migration.begin_ms + (int64_t)twice_ms, look_there_ms);
    migration.there.terms[HELIO_TERM_DISRUPTION] = weighed(&whole) - weighed(&migration.there) + weighed(leaving) +
                                                   weighed(&staying) +
                                                   way_cost(job, there, away_ms + HELIO_MIGRATION_RESTART_MS);
    int64_t unknown_micro_usd = unknown_price(job, here, there, &migration);
    migration.there.terms[HELIO_TERM_RISK] += unknown_micro_usd;
    migration.there.start_ms = migration.begin_ms;
    migration.there.score_micro_usd = weighed(&migration.there) + migration.there.terms[HELIO_TERM_DISRUPTION];
    migration.run =
        look_there_ms == rest_there_ms ? whole : plan_of(job, there, migration.begin_ms, rest_there_ms + twice_ms);
    migration.run.score_micro_usd = migration.there.score_micro_usd;
    migration.saves_micro_usd = migration.here.score_micro_usd - migration.there.score_micro_usd;
    migration.saves_money_micro_usd = migration.here.cost_micro_usd - whole.cost_micro_usd - leaving->cost_micro_usd -
                                      staying.cost_micro_usd - there->transfer.egress_micro_usd - unknown_micro_usd;
    migration.saves_mg = (int64_t)migration.here.carbon_mg - (int64_t)whole.carbon_mg - (int64_t)leaving->carbon_mg -
                         (int64_t)staying.carbon_mg - (int64_t)there->transfer.carbon_mg;
    migration.needs_micro_usd = needs(&migration.here, job->times);
    migration.rejection = bounds(job, there, &migration);
    return migration;
}

helio_migration_t helio_migration_weigh(const helio_migration_job_t *job, const helio_migration_stay_t *stay,
                                        const helio_migration_target_t *there)
{
#ifdef HELIO_MUTANT_migrations_amid_work
    uint64_t until_ms = 0 * unsaved_until_ms(job);
#else
    uint64_t until_ms = unsaved_until_ms(job);
#endif
    helio_migration_t migration =
        weigh(job, stay, there, 0, helio_migration_lost_ms(job->ran_ms, job->every_ms, job->signalled));
    if (!until_ms || until_ms >= stay->rest_ms)
        return migration;
    helio_migration_t saved = weigh(job, stay, there, until_ms, HELIO_MIGRATION_CHECKPOINT_MS);
    return saved.rejection == HELIO_REJECTION_NONE && saved.saves_micro_usd > migration.saves_micro_usd ? saved
                                                                                                        : migration;
}

bool helio_migration_is_worthwhile(const helio_migration_t *migration)
{
#ifdef HELIO_MUTANT_migrations_for_nothing
    return migration->rejection == HELIO_REJECTION_NONE;
#endif
    return migration->rejection == HELIO_REJECTION_NONE && migration->rest_ms &&
           migration->saves_micro_usd >= migration->needs_micro_usd;
}

int64_t helio_migration_saves_per_mille(const helio_migration_t *migration)
{
    int64_t rest =
        migration->here.score_micro_usd < 0 ? -migration->here.score_micro_usd : migration->here.score_micro_usd;
    if (!rest)
        return 0;
    helio_i128_t share = (helio_i128_t)migration->saves_micro_usd * 1000 / rest;
    return share > 1000000 ? 1000000 : share < -1000000 ? -1000000 : (int64_t)share;
}
