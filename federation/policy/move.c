#include "federation/policy/move.h"

/*  Scales a run time here to one there, without overflow: years of milliseconds are below 2^40. */
static uint64_t scaled(uint64_t ms, const helio_spot_t *here, const helio_spot_t *there)
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

uint64_t helio_move_lost_ms(uint64_t ran_ms, uint64_t every_ms, bool signalled)
{
    if (signalled)
        return 0; /* work done while it leaves is lost, and charged as such */
    return every_ms ? at_most(ran_ms, every_ms) : ran_ms;
}

uint64_t helio_move_stays_ms(uint32_t times, uint64_t ran_ms, uint64_t young_ms)
{
    return less(times ? HELIO_MOVE_RESIDENCE_MS : young_ms, ran_ms);
}

uint32_t helio_move_needs_per_mille(uint32_t times)
{
    return times ? HELIO_MOVE_SAVES_AGAIN_PER_MILLE : HELIO_MOVE_SAVES_PER_MILLE;
}

static int64_t needs(const helio_plan_t *here, uint32_t times)
{
    int64_t rest = here->score_micro_usd < 0 ? -here->score_micro_usd : here->score_micro_usd;
    int64_t part = rest / 1000 * helio_move_needs_per_mille(times);
    return part > HELIO_MOVE_SAVES_LEAST_MICRO_USD ? part : HELIO_MOVE_SAVES_LEAST_MICRO_USD;
}

/*  The rest of the run, never beyond the limit of this attempt. */
static uint64_t rest_of(const helio_mover_t *job, const helio_spot_t *here)
{
    uint64_t floor_ms = here->run_ms / 1000 * HELIO_MOVE_FLOOR_PER_MILLE;
    uint64_t rest_ms = less(here->run_ms, job->ran_ms + job->before_ms);
    return at_most(rest_ms > floor_ms ? rest_ms : floor_ms, less(job->limit_ms, job->ran_ms));
}

/*  It is uncertain what earlier attempts saved, so only this attempt counts; beyond p90 the whole limit is used. */
static uint64_t high_rest_of(const helio_mover_t *job, const helio_spot_t *here, uint64_t rest_ms)
{
    uint64_t left_ms = less(job->limit_ms, job->ran_ms), high_ms = less(here->run_high_ms, job->ran_ms);
    if (!high_ms)
        return left_ms;
    return at_most(high_ms > rest_ms ? high_ms : rest_ms, left_ms);
}

/*  The plan of a run alone, without waiting and without transfers. */
static helio_plan_t plan_of(const helio_mover_t *job, const helio_spot_t *spot, int64_t begin_ms,
                            uint64_t run_ms)
{
    helio_work_t work = {.gpus = spot->gpus, .run_ms = run_ms, .prices = job->prices, .now_ms = begin_ms};
    helio_extras_t none = {.stale = false};
    work.prices.scarcity_micro_usd_per_gpu_h = 0; /* its own GPUs count as taken here */
    return helio_plan_of(spot->outlook, &work, &none, begin_ms);
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
static int64_t way_cost(const helio_mover_t *job, const helio_spot_t *there, uint64_t away_ms)
{
    const helio_transfer_t *transfer = &there->transfer;
    helio_i128_t gpu_ms = (helio_i128_t)there->gpus * (helio_i128_t)away_ms;
    return transfer->egress_micro_usd +
           per((helio_i128_t)transfer->carbon_mg * job->prices.carbon_micro_usd_per_t, 1000000000) +
           per(gpu_ms * job->prices.wait_micro_usd_per_gpu_h, HELIO_HOUR_MS);
}

static helio_rejection_t bounds(const helio_mover_t *job, const helio_spot_t *there, const helio_move_t *move)
{
    helio_plan_t high = plan_of(job, there, move->begin_ms, move->run_high_ms);
    if (job->deadline_wall_ms && move->begin_ms + (int64_t)move->run_high_ms > job->deadline_wall_ms)
        return HELIO_REJECTION_DEADLINE;
    if (job->max_cost_micro_usd &&
        high.cost_micro_usd + there->transfer.egress_micro_usd > (int64_t)job->max_cost_micro_usd)
        return HELIO_REJECTION_COST_CAP;
    if (job->max_carbon_mg_per_kwh &&
        (!there->outlook->carbon_from.known || helio_plan_mg_per_kwh(&high) > job->max_carbon_mg_per_kwh))
        return HELIO_REJECTION_CARBON_CAP;
    return HELIO_REJECTION_NONE;
}

helio_move_t helio_move_weigh(const helio_mover_t *job, const helio_spot_t *here, const helio_spot_t *there)
{
    uint64_t rest_ms = rest_of(job, here), high_ms = high_rest_of(job, here, rest_ms);
    uint64_t twice_ms = HELIO_MOVE_RESTART_MS +
                        scaled(helio_move_lost_ms(job->ran_ms, job->every_ms, job->signalled), here, there);
    uint64_t rest_there_ms = at_most(scaled(rest_ms, here, there), job->limit_ms);
    uint64_t away_ms = job->leave_ms + there->transfer.ms;
    helio_move_t move = {
        .rest_ms = rest_ms,
        .run_ms = at_most(rest_there_ms + twice_ms, job->limit_ms),
        .run_high_ms = at_most(scaled(high_ms, here, there) + twice_ms, job->limit_ms),
        .begin_ms = job->now_ms + (int64_t)away_ms,
        .here = plan_of(job, here, job->now_ms, rest_ms),
    };
    helio_plan_t leaving = plan_of(job, here, job->now_ms, job->leave_ms);
    helio_plan_t whole = plan_of(job, there, move.begin_ms, rest_there_ms + twice_ms);
    move.there = plan_of(job, there, move.begin_ms + (int64_t)twice_ms, rest_there_ms);
    move.there.terms[HELIO_TERM_MOVE] = weighed(&whole) - weighed(&move.there) + weighed(&leaving) +
                                        way_cost(job, there, away_ms + HELIO_MOVE_RESTART_MS);
    move.there.start_ms = move.begin_ms;
    move.there.score_micro_usd = weighed(&move.there) + move.there.terms[HELIO_TERM_MOVE];
    move.run = whole;
    move.run.score_micro_usd = move.there.score_micro_usd;
    move.saves_micro_usd = move.here.score_micro_usd - move.there.score_micro_usd;
    move.saves_money_micro_usd = move.here.cost_micro_usd - whole.cost_micro_usd - leaving.cost_micro_usd -
                                 there->transfer.egress_micro_usd;
    move.saves_mg = (int64_t)move.here.carbon_mg - (int64_t)whole.carbon_mg - (int64_t)leaving.carbon_mg -
                    (int64_t)there->transfer.carbon_mg;
    move.needs_micro_usd = needs(&move.here, job->times);
    move.rejection = bounds(job, there, &move);
    return move;
}

bool helio_move_is_worth(const helio_move_t *move)
{
#ifdef HELIO_MUTANT_moves_for_nothing
    return move->rejection == HELIO_REJECTION_NONE;
#endif
    return move->rejection == HELIO_REJECTION_NONE && move->rest_ms &&
           move->saves_micro_usd >= move->needs_micro_usd;
}

int64_t helio_move_saves_per_mille(const helio_move_t *move)
{
    int64_t rest = move->here.score_micro_usd < 0 ? -move->here.score_micro_usd : move->here.score_micro_usd;
    if (!rest)
        return 0;
    helio_i128_t share = (helio_i128_t)move->saves_micro_usd * 1000 / rest;
    return share > 1000000 ? 1000000 : share < -1000000 ? -1000000 : (int64_t)share;
}
