/*  budgets.c -- what tenants spend: charged and committed. The commitment ends in the step that charges what the job
 *  used.
 *
 *  What a budget of money is charged of a row of the ledger is never below zero: cheap hours of one site must not pay for
 *  dear ones elsewhere, and no site can add to a budget. The ledger has the true figure. */
#include "broker/core/state/budgets.h"

#include <assert.h>

#include "broker/core/state/accounts.h"
#include "broker/core/state/budget_amounts.h"
#include "broker/core/state/budget_limits.h"
#include "broker/core/state/changes.h"
#include "broker/core/state/checks.h"
#include "broker/core/state/core.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/queues.h"

enum { REVIEW_MS = 60000, BEYOND_LIMIT_MS = 600000 };

/*  Of a row of the ledger. A reversal takes back what its estimate was charged. */
static int64_t charged_money(const helio_row_ledger_t *row)
{
#ifdef HELIO_MUTANT_negative_cost_adds_to_budget
    return row->cost_micro_usd;
#endif
    return row->cost_micro_usd > 0 ? row->cost_micro_usd : 0;
}

/* ---- what is committed --------------------------------------------------------------------------------- */

static void commit(int64_t sums[HELIO_BUDGET_KINDS], const int64_t *parts, int sign)
{
    for (uint32_t kind = 0; kind < HELIO_BUDGET_KINDS; kind++) {
        sums[kind] += sign * parts[kind];
        assert(sums[kind] >= 0);
    }
}

static void count(helio_broker_core_t *self, job_t *job, int sign)
{
    account_t *account = job->submission->class->account;
    spending_t *spendings[] = {&account->spends, &account->tenant->spends};
    commitment_t *own = &job->last->commitment;
    helio_spend_t at_limit =
        core_spend_until_limit(&own->spend, helio_requirement_longest_ms(&job->submission->class->want));
    own->counted = sign > 0;
    for (uint32_t period = HELIO_PERIOD_NONE + 1; period < HELIO_PERIOD_COUNT; period++)
        for (uint32_t turn = 0; turn < BUDGET_TURNS; turn++) {
            const int64_t *begins = &self->calendar.begins[period][turn];
            int64_t parts[HELIO_BUDGET_KINDS], at_limits[HELIO_BUDGET_KINDS];
            for (uint32_t kind = 0; kind < HELIO_BUDGET_KINDS; kind++) {
                parts[kind] = helio_spend_within(&own->spend, kind, begins[0], begins[1]);
                at_limits[kind] = helio_spend_within(&at_limit, kind, begins[0], begins[1]);
            }
            for (uint32_t i = 0; i < 2; i++) {
                commit(spendings[i]->committed[period][turn], parts, sign);
                commit(spendings[i]->at_limits[period][turn], at_limits, sign);
            }
        }
}

/*  The length that counts: the expected one, then that of nine runs in ten, then the limit. A job that still waits at
 *  its site has not begun. */
static void estimate_again(const helio_broker_core_t *self, job_t *job)
{
    commitment_t *own = &job->last->commitment;
    helio_spend_t *spend = &own->spend;
    bool began = job->started_ms && job->state >= HELIO_JOB_RUNNING;
    int64_t start_ms = began && job->started_ms < self->wall_ms ? job->started_ms : self->wall_ms;
    spend->start_ms = start_ms > own->placed_ms ? start_ms : own->placed_ms;
    int64_t ran_ms = self->wall_ms - spend->start_ms;
    uint64_t passed_ms = began && ran_ms > 0 ? (uint64_t)ran_ms : 0, limit_ms = job->submission->row.time_limit_ms;
    spend->last_ms = passed_ms < spend->run_ms  ? spend->run_ms
                     : passed_ms < own->high_ms ? own->high_ms
                     : passed_ms < limit_ms     ? limit_ms
                                                : passed_ms + BEYOND_LIMIT_MS;
}

/*  Running jobs are checked at most once a minute, however many last longer than expected. */
static void review_by(helio_broker_core_t *self, const commitment_t *own)
{
    int64_t at_ms = own->spend.start_ms + (int64_t)own->spend.last_ms;
    at_ms += REVIEW_MS - at_ms % REVIEW_MS;
    if (self->calendar.any)
        core_check_by(self, CORE_CHECK_BUDGET_RUNS, at_ms);
}

static void clear(spending_t *spending)
{
    for (uint32_t period = 0; period < HELIO_PERIOD_COUNT; period++)
        for (uint32_t turn = 0; turn < BUDGET_TURNS; turn++)
            for (uint32_t kind = 0; kind < HELIO_BUDGET_KINDS; kind++)
                spending->committed[period][turn][kind] = spending->at_limits[period][turn][kind] = 0;
}

void core_budgets_recount(helio_broker_core_t *self)
{
    for (tenant_t *tenant = self->tenants; tenant; tenant = tenant->hh.next) {
        clear(&tenant->spends);
        for (account_t *account = tenant->accounts; account; account = account->hh.next)
            clear(&account->spends);
    }
    core_check_at(self, CORE_CHECK_BUDGET_RUNS, INT64_MAX);
    core_check_at(self, CORE_CHECK_BUDGET_PERIODS, self->calendar.any ? self->calendar.rollover_ms : INT64_MAX);
    for (site_t *site = self->sites; site; site = site->hh.next)
        for (job_t *job = site->live; job; job = job->next) {
            job->last->commitment.counted = false;
            if (!self->calendar.any)
                continue;
            estimate_again(self, job);
            count(self, job, 1);
            review_by(self, &job->last->commitment);
        }
}

void core_budget_place(helio_broker_core_t *self, job_t *job, const helio_row_placement_t *row)
{
    commitment_t *own = &job->last->commitment;
    own->placed_ms = row->start_ms + core_amount_of(row->transfer_ms);
    own->high_ms = row->expected_high_ms;
    own->spend = (helio_spend_t){
        .of = {[HELIO_BUDGET_GPU] = core_amount_product(row->gpus, row->expected_ms),
               [HELIO_BUDGET_MONEY] = core_amount_bounded(row->planned_cost_micro_usd),
               [HELIO_BUDGET_CARBON] = core_amount_bounded(core_amount_of(row->planned_carbon_mg))},
        .start_ms = own->placed_ms,
        .run_ms = row->expected_ms,
        .last_ms = row->expected_ms,
    };
    if (!self->calendar.any)
        return;
    count(self, job, 1);
    review_by(self, own);
}

void core_budget_started(helio_broker_core_t *self, job_t *job)
{
    if (!job->last->commitment.counted)
        return;
    count(self, job, -1);
    estimate_again(self, job);
    count(self, job, 1);
    review_by(self, &job->last->commitment);
}

void core_budget_job_left(helio_broker_core_t *self, job_t *job)
{
    const account_t *account = job->submission->class->account;
    if (!job->last->commitment.counted)
        return;
    count(self, job, -1);
    if (account->spends.any || account->tenant->spends.any) { /* classes that wait for the budget are asked again */
        core_capacity_changed(self);
    }
}

/* ---- charged ----------------------------------------------------------------------------------------------- */

bool core_budget_charges_end(job_t *job, uint32_t epoch)
{
    commitment_t *own = job->last ? &job->last->commitment : NULL;
    bool before = own && own->charged_epoch >= epoch;
    if (own && !before)
        own->charged_epoch = epoch;
    return !before;
}

static void charge(helio_broker_core_t *self, spending_t *spending, int64_t hour_ms, const int64_t *amounts)
{
    for (uint32_t period = HELIO_PERIOD_NONE + 1; period < HELIO_PERIOD_COUNT; period++)
        for (uint32_t turn = 0; turn < BUDGET_TURNS; turn++) {
            const int64_t *begins = &self->calendar.begins[period][turn];
            for (uint32_t kind = 0; hour_ms >= begins[0] && hour_ms < begins[1] && kind < HELIO_BUDGET_KINDS; kind++)
                core_amount_add(&spending->charged[period][turn][kind], amounts[kind]);
        }
}

/*  Of a removed queue, it counts for the tenant alone. */
static void charge_named(helio_broker_core_t *self, helio_text_t tenant_name, helio_text_t queue_name, int64_t at_ms,
                         const int64_t *amounts)
{
    tenant_t *tenant;
    queue_t *queue = core_queue_find(self, queue_name);
    HASH_FIND(hh, self->tenants, tenant_name.data, tenant_name.size, tenant);
    if (!tenant)
        return;
    charge(self, &tenant->spends, at_ms, amounts);
    if (queue)
        charge(self, &core_account_get(tenant, queue)->spends, at_ms, amounts);
}

void core_budget_charge(helio_broker_core_t *self, const helio_row_ledger_t *row)
{
    int sign = row->part == HELIO_LEDGER_REVERSAL ? -1 : 1;
    const int64_t amounts[] = {[HELIO_BUDGET_GPU] = sign * core_amount_of(row->gpu_ms),
                               [HELIO_BUDGET_MONEY] = sign * charged_money(row),
                               [HELIO_BUDGET_CARBON] = sign * core_amount_of(row->carbon_mg)};
    charge_named(self, row->tenant, row->queue, row->hour_ms, amounts);
}

void core_budget_load_spent(helio_broker_core_t *self, const helio_row_spent_t *row)
{
    const int64_t amounts[] = {[HELIO_BUDGET_GPU] = core_amount_of(row->gpu_ms),
                               [HELIO_BUDGET_MONEY] = row->cost_micro_usd,
                               [HELIO_BUDGET_CARBON] = core_amount_of(row->carbon_mg)};
    charge_named(self, row->tenant, row->queue, row->day_ms, amounts);
}

void core_budget_load_expected_use(helio_broker_core_t *self, const helio_row_expected_use_t *row)
{
    job_t *job = core_job_find(self, row->key);
    if (!job || !job->last)
        return;
    if (row->ended)
        (void)core_budget_charges_end(job, row->epoch);
    if (row->epoch != job->epoch)
        return;
    helio_row_placement_t placement = {
        .gpus = job->gpus_per_node * job->submission->class->want.nodes,
        .start_ms = row->start_ms,
        .transfer_ms = row->transfer_ms,
        .planned_cost_micro_usd = row->cost_micro_usd,
        .planned_carbon_mg = row->carbon_mg,
        .expected_ms = row->expected_ms ? row->expected_ms : job->submission->row.time_limit_ms,
        .expected_high_ms = row->expected_high_ms,
    };
    core_budget_place(self, job, &placement);
    job->last->commitment.counted = false; /* counted when everything is loaded */
}

/* ---- the clock ----------------------------------------------------------------------------------------- */

static void roll_over_spending(spending_t *spending, uint32_t period, bool follows)
{
    for (uint32_t kind = 0; kind < HELIO_BUDGET_KINDS; kind++) {
        int64_t *charged = spending->charged[period][BUDGET_TURN_THIS];
        charged[kind] = follows ? spending->charged[period][BUDGET_TURN_NEXT][kind] : 0;
        spending->charged[period][BUDGET_TURN_NEXT][kind] = 0;
    }
}

static void roll_over_period(helio_broker_core_t *self, uint32_t period)
{
    int64_t *begins = self->calendar.begins[period], begin_ms = helio_period_begin(period, self->wall_ms);
    bool computed = begins[BUDGET_TURN_NEXT] > begins[BUDGET_TURN_THIS];
    if (computed && begin_ms == begins[BUDGET_TURN_THIS])
        return;
    bool follows = begin_ms == begins[BUDGET_TURN_NEXT];
    begins[BUDGET_TURN_THIS] = begin_ms;
    begins[BUDGET_TURN_NEXT] = helio_period_next(period, begin_ms);
    begins[BUDGET_TURNS] = helio_period_next(period, begins[BUDGET_TURN_NEXT]);
    for (tenant_t *tenant = self->tenants; tenant; tenant = tenant->hh.next) {
        roll_over_spending(&tenant->spends, period, follows);
        for (account_t *account = tenant->accounts; account; account = account->hh.next)
            roll_over_spending(&account->spends, period, follows);
    }
}

/*  A clock that goes back ends no period, and does not begin one again. */
void core_budgets_roll_over(helio_broker_core_t *self)
{
    if (self->wall_ms < self->calendar.rollover_ms)
        return;
    for (uint32_t period = HELIO_PERIOD_NONE + 1; period < HELIO_PERIOD_COUNT; period++)
        roll_over_period(self, period);
    self->calendar.rollover_ms = self->calendar.begins[HELIO_PERIOD_DAY][BUDGET_TURN_NEXT];
    if (!self->loaded || !self->calendar.any)
        return;
    core_budgets_recount(self);
    core_capacity_changed(self);
}

/* ---- what is left ------------------------------------------------------------------------------------------- */

int64_t core_spending_left(const spending_t *spending, uint32_t kind, budget_turn_t turn)
{
    const helio_budget_t *budget = &spending->budgets[kind];
    int64_t left = budget->limit;
    core_amount_add(&left, -spending->charged[budget->period][turn][kind]);
#ifdef HELIO_MUTANT_running_not_committed
    return left;
#endif
    core_amount_add(&left, -spending->committed[budget->period][turn][kind]);
    return left;
}

int64_t core_spending_left_at_limits(const spending_t *spending, uint32_t kind, budget_turn_t turn)
{
    const helio_budget_t *budget = &spending->budgets[kind];
    int64_t left = budget->limit;
#ifdef HELIO_MUTANT_budgets_trust_the_past
    return INT64_MAX;
#endif
    core_amount_add(&left, -spending->charged[budget->period][turn][kind]);
    left = left < 0 ? 0 : left < HELIO_BUDGET_AMOUNT_MAX ? left : HELIO_BUDGET_AMOUNT_MAX;
    return BUDGET_AT_LIMITS_MOST * left - spending->at_limits[budget->period][turn][kind];
}

static void add_levels(const spending_t *spending, helio_broker_figures_t *figures)
{
    for (uint32_t kind = 0; kind < HELIO_BUDGET_KINDS && spending->any; kind++)
        if (spending->budgets[kind].period)
            figures->budgets[kind][helio_budget_level(spending->budgets[kind].limit,
                                                      core_spending_left(spending, kind, BUDGET_TURN_THIS))]++;
}

void core_budgets_figures(const helio_broker_core_t *self, helio_broker_figures_t *ret_figures)
{
    for (const tenant_t *tenant = self->tenants; tenant && self->calendar.any; tenant = tenant->hh.next) {
        add_levels(&tenant->spends, ret_figures);
        for (const account_t *account = tenant->accounts; account; account = account->hh.next)
            add_levels(&account->spends, ret_figures);
    }
}

/* ---- setting ---------------------------------------------------------------------------------------------------- */

static void set_each(helio_broker_core_t *self, queue_t *queue, uint32_t kind, helio_budget_t budget)
{
    queue->each_budgets[kind] = budget;
    for (tenant_t *tenant = self->tenants; tenant; tenant = tenant->hh.next)
        for (account_t *account = tenant->accounts; account; account = account->hh.next)
            if (account->queue == queue && !account->spends.own[kind])
                core_spending_set(&account->spends, kind, budget, false);
}

void core_budget_assign(helio_broker_core_t *self, tenant_t *tenant, queue_t *queue, uint32_t kind,
                        helio_budget_t budget)
{
    if (!tenant)
        set_each(self, queue, kind, budget);
    else if (!queue)
        core_spending_set(&tenant->spends, kind, budget, true);
    else
        core_spending_set(&core_account_get(tenant, queue)->spends, kind, budget, true);
    self->calendar.any = false;
    for (const tenant_t *t = self->tenants; t; t = t->hh.next) {
        self->calendar.any = self->calendar.any || t->spends.any;
        for (const account_t *account = t->accounts; account; account = account->hh.next)
            self->calendar.any = self->calendar.any || account->spends.any;
    }
    for (const queue_t *q = self->queues; q; q = q->hh.next)
        for (uint32_t of = 0; of < HELIO_BUDGET_KINDS; of++)
            self->calendar.any = self->calendar.any || q->each_budgets[of].period;
}

/*  A row of a removed tenant or queue is ignored. */
void core_budget_load(helio_broker_core_t *self, const helio_row_budget_t *row)
{
    tenant_t *tenant;
    queue_t *queue = row->queue.size ? core_queue_find(self, row->queue) : NULL;
    bool each = helio_text_is(row->tenant, "*");
    HASH_FIND(hh, self->tenants, row->tenant.data, row->tenant.size, tenant);
    if ((!tenant && !each) || (row->queue.size && !queue) || (each && !queue))
        return;
    core_budget_assign(self, each ? NULL : tenant, queue, row->kind, (helio_budget_t){row->amount, row->period});
}

/* ---- the sums, recounted ------------------------------------------------------------------------------------- */

/*  account: NULL = all of the tenant. */
static void check_sums(const helio_broker_core_t *self, const tenant_t *tenant, const account_t *account, uint32_t kind)
{
    const spending_t *spending = account ? &account->spends : &tenant->spends;
    uint32_t period = spending->budgets[kind].period;
    for (uint32_t turn = 0; period && turn < BUDGET_TURNS; turn++) {
        const int64_t *begins = &self->calendar.begins[period][turn];
        int64_t committed = 0, at_limits = 0;
        for (const site_t *site = self->sites; site; site = site->hh.next)
            for (const job_t *job = site->live; job; job = job->next) {
                const commitment_t *own = &job->last->commitment;
                const account_t *of = job->submission->class->account;
                if (!own->counted || of->tenant != tenant || (account && of != account))
                    continue;
                helio_spend_t at_limit =
                    core_spend_until_limit(&own->spend, helio_requirement_longest_ms(&job->submission->class->want));
                committed += helio_spend_within(&own->spend, kind, begins[0], begins[1]);
                at_limits += helio_spend_within(&at_limit, kind, begins[0], begins[1]);
            }
        assert(committed == spending->committed[period][turn][kind]);
        assert(at_limits == spending->at_limits[period][turn][kind] && at_limits >= committed);
    }
}

void core_budgets_check(const helio_broker_core_t *self)
{
    for (const tenant_t *tenant = self->tenants; tenant && self->calendar.any; tenant = tenant->hh.next)
        for (uint32_t kind = 0; kind < HELIO_BUDGET_KINDS; kind++) {
            check_sums(self, tenant, NULL, kind);
            for (const account_t *account = tenant->accounts; account; account = account->hh.next)
                check_sums(self, tenant, account, kind);
        }
}
