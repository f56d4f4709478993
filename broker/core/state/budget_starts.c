/*  budget_starts.c -- whether one more start is within every budget.
 *
 *  A start is checked against the period in which it begins and the next one. That is enough: a run counts as spending
 *  evenly, so no later period gets more of it than the second. It is checked twice: as it is expected to be, and as if
 *  it ran to its time limit (BUDGET_AT_LIMITS_MOST). */
#include "broker/core/state/budget_starts.h"

#include "broker/core/state/accounts.h"
#include "broker/core/state/budget_amounts.h"
#include "broker/core/state/budgets.h"
#include "broker/core/state/core.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/option.h"
#include "broker/core/state/tenants.h"

static helio_spend_t spend_of_plan(const helio_plan_t *plan, const helio_transfer_t *transfer, uint64_t gpus,
                                   uint64_t run_ms, int64_t start_ms)
{
    int64_t cost = plan->cost_micro_usd, carbon = core_amount_of(plan->carbon_mg);
    core_amount_add(&cost, transfer->egress_micro_usd);
    core_amount_add(&carbon, core_amount_of(transfer->carbon_mg));
    return (helio_spend_t){
        .of = {[HELIO_BUDGET_GPU] = core_amount_product(gpus, run_ms),
               [HELIO_BUDGET_MONEY] = core_amount_bounded(cost),
               [HELIO_BUDGET_CARBON] = core_amount_bounded(carbon)},
        .start_ms = start_ms + core_amount_of(transfer->ms),
        .run_ms = run_ms,
        .last_ms = run_ms,
    };
}

/*  A start: as it is expected to be, and if it runs to its time limit. */
typedef struct start {
    helio_spend_t spend, at_limit;
} start_t;

static start_t start_with(const job_class_t *class, const helio_spend_t *spend)
{
    return (start_t){*spend, core_spend_until_limit(spend, class->want.time_limit_ms)};
}

static start_t start_of(const job_class_t *class, const option_t *option, const helio_plan_t *plan, int64_t start_ms)
{
    helio_spend_t spend =
        spend_of_plan(plan, &option->c.transfer, core_option_gpus(class, option), option->c.run_ms, start_ms);
    return start_with(class, &spend);
}

/*  The most that it uses in any time as long as the budget's period. */
static int64_t densest(const helio_broker_core_t *self, const spending_t *spending, const helio_spend_t *spend,
                       uint32_t kind)
{
    const int64_t *begins = self->calendar.begins[spending->budgets[kind].period];
    return helio_spend_densest(spend, kind, begins[1] - begins[0]);
}

/*  It exceeds the limit of a whole period, whenever it starts. */
static bool is_too_much_alone(const helio_broker_core_t *self, const spending_t *spending, const helio_spend_t *spend,
                              uint32_t kind)
{
    return densest(self, spending, spend, kind) > spending->budgets[kind].limit;
}

/*  The same, if it runs to its time limit. */
static bool is_too_long_alone(const helio_broker_core_t *self, const spending_t *spending,
                              const helio_spend_t *at_limit, uint32_t kind)
{
#ifdef HELIO_MUTANT_budgets_trust_the_past
    return false;
#endif
    return densest(self, spending, at_limit, kind) > BUDGET_AT_LIMITS_MOST * spending->budgets[kind].limit;
}

static uint32_t fit(uint32_t most, int64_t left, int64_t part)
{
    if (!part || left / part >= (int64_t)most)
        return most;
    return left < part ? 0 : (uint32_t)(left / part);
}

/*  claims: NULL = none. */
static uint32_t room_in(helio_broker_core_t *self, const spending_t *spending, const claims_t *claims,
                        const start_t *start, uint32_t most)
{
    static const claims_t nothing = {0};
    claims = claims ? claims : &nothing;
    for (uint32_t kind = 0; kind < HELIO_BUDGET_KINDS && spending->any && most; kind++) {
        uint32_t period = spending->budgets[kind].period;
        if (!period || !start->spend.of[kind])
            continue;
        if (is_too_much_alone(self, spending, &start->spend, kind) ||
            is_too_long_alone(self, spending, &start->at_limit, kind))
            return 0;
        for (uint32_t turn = 0; turn < BUDGET_TURNS; turn++) {
            const int64_t *begins = &self->calendar.begins[period][turn];
            most = fit(most, core_spending_left(spending, kind, turn) - claims->spends[kind][turn],
                       helio_spend_within(&start->spend, kind, begins[0], begins[1]));
            most = fit(most, core_spending_left_at_limits(spending, kind, turn) - claims->at_limits[kind][turn],
                       helio_spend_within(&start->at_limit, kind, begins[0], begins[1]));
        }
    }
    return most;
}

static bool is_budgeted(const helio_broker_core_t *self, const account_t *account)
{
    return self->calendar.any && (account->spends.any || account->tenant->spends.any);
}

uint32_t core_budget_room(helio_broker_core_t *self, const job_class_t *class, const option_t *option,
                          const helio_plan_t *plan, uint32_t most)
{
    const account_t *account = class->account;
    if (!is_budgeted(self, account))
        return most;
#ifdef HELIO_MUTANT_budget_ignored
    return most;
#endif
    int64_t start_ms = core_judged_ms(self, class);
    start_t start = start_of(class, option, plan, plan->start_ms > start_ms ? plan->start_ms : start_ms);
    most = room_in(self, &account->spends, NULL, &start, most);
    return room_in(self, &account->tenant->spends, NULL, &start, most);
}

bool core_budget_allows(helio_broker_core_t *self, const job_class_t *class, const option_t *option)
{
    return core_budget_room(self, class, option, &option->c.now, 1) > 0;
}

helio_spend_t core_budget_spend(const helio_broker_core_t *self, const job_class_t *class, const option_t *option)
{
    return start_of(class, option, &option->c.now, core_judged_ms(self, class)).spend;
}

uint32_t core_budget_room_unclaimed(helio_broker_core_t *self, const job_class_t *class, const helio_spend_t *spend,
                                    uint32_t most)
{
    const account_t *account = class->account;
    start_t start = start_with(class, spend);
    if (!is_budgeted(self, account))
        return most;
    most = room_in(self, &account->spends, &account->claims, &start, most);
    return room_in(self, &account->tenant->spends, &account->tenant->claims, &start, most);
}

/*  Only of budgets that limit such a start: their room bounds the sums. */
static void claim_of(const helio_broker_core_t *self, const spending_t *spending, const start_t *start, uint32_t starts,
                     claims_t *claims)
{
    for (uint32_t kind = 0; kind < HELIO_BUDGET_KINDS && spending->any; kind++) {
        uint32_t period = spending->budgets[kind].period;
        for (uint32_t turn = 0; period && turn < BUDGET_TURNS; turn++) {
            const int64_t *begins = &self->calendar.begins[period][turn];
            claims->spends[kind][turn] += starts * helio_spend_within(&start->spend, kind, begins[0], begins[1]);
            claims->at_limits[kind][turn] += starts * helio_spend_within(&start->at_limit, kind, begins[0], begins[1]);
        }
    }
}

void core_budget_claim(helio_broker_core_t *self, const job_class_t *class, const helio_spend_t *spend, uint32_t starts)
{
    account_t *account = class->account;
    start_t start = start_with(class, spend);
    if (!is_budgeted(self, account))
        return;
    claim_of(self, &account->spends, &start, starts, &account->claims);
    claim_of(self, &account->tenant->spends, &start, starts, &account->tenant->claims);
}

/*  Whether b would allow the start later than a. */
static bool is_worse(const shortage_t *a, const shortage_t *b)
{
    if (!b->of || a->alone != b->alone)
        return !b->of || a->alone;
    return a->fits_ms > b->fits_ms;
}

static void note_shortage(helio_broker_core_t *self, shortage_t found, const helio_spend_t *spend, int64_t left,
                          shortage_t *worst)
{
    const int64_t *begins = self->calendar.begins[found.of->budgets[found.kind].period];
    found.needs = found.alone ? densest(self, found.of, spend, found.kind)
                              : helio_spend_within(spend, found.kind, begins[found.turn], begins[found.turn + 1]);
    if (!found.alone && (!found.needs || found.needs <= left))
        return;
    if (!found.alone)
        found.fits_ms = found.turn == BUDGET_TURN_THIS
                            ? helio_spend_fits_ms(spend, found.kind, left, begins[BUDGET_TURN_NEXT])
                            : begins[BUDGET_TURNS];
    if (is_worse(&found, worst))
        *worst = found;
}

static void look_for_shortage(helio_broker_core_t *self, const spending_t *spending, bool of_queue,
                              const start_t *start, shortage_t *worst)
{
    for (uint32_t kind = 0; kind < HELIO_BUDGET_KINDS && spending->any; kind++) {
        if (!spending->budgets[kind].period)
            continue;
        shortage_t found = {.of = spending, .of_queue = of_queue, .kind = kind}, late = found;
        late.at_limits = true;
        found.alone = is_too_much_alone(self, spending, &start->spend, kind);
        late.alone = !found.alone && is_too_long_alone(self, spending, &start->at_limit, kind);
        for (; found.turn < BUDGET_TURNS; late.turn = ++found.turn) {
            note_shortage(self, found, &start->spend, core_spending_left(spending, kind, found.turn), worst);
            note_shortage(self, late, &start->at_limit, core_spending_left_at_limits(spending, kind, late.turn), worst);
        }
    }
}

shortage_t core_budget_shortage(helio_broker_core_t *self, const job_class_t *class, const option_t *option)
{
    shortage_t worst = {0};
    const account_t *account = class->account;
    start_t start = start_of(class, option, &option->c.now, core_judged_ms(self, class));
    look_for_shortage(self, &account->tenant->spends, false, &start, &worst);
    look_for_shortage(self, &account->spends, true, &start, &worst);
    return worst;
}

/*  What the rest of the run at the target uses in [begins[0], begins[1]) beyond what is committed of it already. */
static int64_t more_within(const helio_broker_core_t *self, const helio_spend_t *spend, const helio_spend_t *own,
                           uint32_t kind, const int64_t *begins)
{
    int64_t from_ms = begins[0] > self->wall_ms ? begins[0] : self->wall_ms;
    return helio_spend_within(spend, kind, begins[0], begins[1]) - helio_spend_within(own, kind, from_ms, begins[1]);
}

/*  The run at the target can last as long as the limit, too. */
bool core_budget_allows_migration(helio_broker_core_t *self, const job_t *job, const helio_migration_t *migration,
                                  const helio_transfer_t *transfer, uint64_t gpus, shortage_t *ret_short)
{
    const account_t *account = job->submission->class->account;
    const helio_spend_t *own = &job->last->commitment.spend;
    const spending_t *spendings[] = {&account->tenant->spends, &account->spends};
    uint64_t limit_ms = job->submission->row.time_limit_ms;
    helio_spend_t spend = spend_of_plan(&migration->run, transfer, gpus, migration->run_ms, self->wall_ms),
                  own_at_limit = core_spend_until_limit(own, limit_ms),
                  at_limit = core_spend_until_limit(&spend, limit_ms);
    for (uint32_t i = 0; i < 2 && job->last->commitment.counted; i++)
        for (uint32_t kind = 0; kind < HELIO_BUDGET_KINDS && spendings[i]->any; kind++) {
            uint32_t period = spendings[i]->budgets[kind].period;
            for (uint32_t turn = 0; period && turn < BUDGET_TURNS; turn++) {
                const int64_t *begins = &self->calendar.begins[period][turn];
                int64_t more = more_within(self, &spend, own, kind, begins),
                        longer = more_within(self, &at_limit, &own_at_limit, kind, begins);
                bool is_short = more > 0 && more > core_spending_left(spendings[i], kind, turn);
                if (!is_short && (longer <= 0 || longer <= core_spending_left_at_limits(spendings[i], kind, turn)))
                    continue;
                *ret_short = (shortage_t){.of = spendings[i],
                                          .of_queue = i,
                                          .kind = kind,
                                          .turn = turn,
                                          .at_limits = !is_short,
                                          .needs = is_short ? more : longer};
                return false;
            }
        }
    return true;
}
