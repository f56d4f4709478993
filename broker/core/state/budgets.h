/*  budgets.h -- what tenants have spent in a period, and what is committed of it.
 *
 *  Of each tenant, and of each tenant in each queue: what the ledger has of the current and later periods, and what is
 *  foreseen of the jobs at sites. Both move with the rows, never by a walk over jobs; except that commitments are
 *  counted anew when a period begins, and when a run has lasted longer than foreseen. */
#ifndef HELIO_BROKER_CORE_STATE_BUDGETS_H
#define HELIO_BROKER_CORE_STATE_BUDGETS_H

#include "broker/core/state/nouns.h"
#include "broker/model/figures.h"
#include "broker/model/rows_account.h"
#include "broker/model/rows_job.h"
#include "broker/model/rows_policy.h"
#include "federation/policy/budget.h"
#include "federation/policy/migration.h"
#include "federation/policy/terms.h"
#include "federation/policy/transfer.h"

typedef enum budget_period { BUDGET_PERIOD_THIS, BUDGET_PERIOD_NEXT, BUDGET_PERIODS } budget_period_t;

typedef struct spending {
    helio_budget_t budgets[HELIO_BUDGET_KINDS];
    bool own[HELIO_BUDGET_KINDS]; /* set for this tenant, not for each */
    bool any;                     /* there is some budget */
    int64_t charged[HELIO_PERIOD_COUNT][BUDGET_PERIODS][HELIO_BUDGET_KINDS];
    int64_t committed[HELIO_PERIOD_COUNT][BUDGET_PERIODS][HELIO_BUDGET_KINDS];
} spending_t;

/*  Of the core. Wall clock. */
typedef struct calendar {
    int64_t begins[HELIO_PERIOD_COUNT][BUDGET_PERIODS + 1]; /* of this period, the next and the one after it */
    int64_t rollover_ms;   /* when the next of them begins; 0 = it was not looked at yet */
    bool any;          /* somebody has a budget: what is foreseen is counted */
} calendar_t;

/*  What is foreseen of a placement: part of the job's place_name_t. */
typedef struct commitment {
    helio_spend_t spend;
    int64_t placed_ms;
    uint64_t high_ms; /* nine runs in ten are no longer */
    uint64_t epochs;  /* bit i: an epoch e with e % 64 == i has been booked */
    bool counted;     /* in what its tenant has committed */
} commitment_t;

/*  Which budget a start would not keep, and how. */
typedef struct shortage {
    const spending_t *of; /* NULL = none */
    bool of_queue;
    bool alone; /* more than the whole budget */
    uint32_t kind;
    budget_period_t budget_period;
    int64_t needs;
    int64_t fits_ms; /* when such a start keeps it, as things are; 0 = never */
} shortage_t;

/*  At every step: periods end by the wall clock. */
void core_budgets_roll_over(helio_broker_core_t *self);
/*  How many such starts the budgets allow, at most `most`. plan: the option's start now or its later one. */
uint32_t core_budget_room(helio_broker_core_t *self, const job_class_t *class, const struct option *option,
                          const helio_plan_t *plan, uint32_t most);
/*  The same of a start now. */
bool core_budget_allows(helio_broker_core_t *self, const job_class_t *class, const struct option *option);
/*  Of the budgets that a start now would not keep, the one that it would keep last. */
shortage_t core_budget_shortage(helio_broker_core_t *self, const job_class_t *class,
                             const struct option *option);
/*  The same of a job that would leave its place for another: what is committed of it from now on would be
 * free. ret_short: as of a start. */
bool core_budget_allows_migration(helio_broker_core_t *self, const job_t *job, const helio_migration_t *migration,
                             const helio_transfer_t *transfer, uint64_t gpus, shortage_t *ret_short);
/*  What is foreseen of the placement is committed from the step that places the job until it leaves its site.
 */
void core_budget_place(helio_broker_core_t *self, job_t *job, const helio_row_placement_t *row);
void core_budget_started(helio_broker_core_t *self, job_t *job);
void core_budget_job_left(helio_broker_core_t *self, job_t *job);
/*  A row of the ledger, of a job that is not over. */
void core_budget_charge(helio_broker_core_t *self, const job_t *job, const helio_row_ledger_t *row);
/*  An end of that epoch is written. False: one was before, and the ledger will not take its rows again. */
bool core_budget_charges_end(job_t *job, uint32_t epoch);
/*  How many there are, by kind and how much is gone. */
void core_budgets_figures(const helio_broker_core_t *self, helio_broker_figures_t *ret_figures);
/*  Counts anew what is committed: a budget was set. */
void core_budgets_recount(helio_broker_core_t *self);
void core_budget_load(helio_broker_core_t *self, const helio_row_budget_t *row);
void core_budget_load_spent(helio_broker_core_t *self, const helio_row_spent_t *row);
void core_budget_load_expected_use(helio_broker_core_t *self, const helio_row_expected_use_t *row);
/*  Of one budget, in this period or the next: the limit less what is booked and committed; can be negative. */
int64_t core_spending_left(const spending_t *spending, uint32_t kind, budget_period_t budget_period);
/*  tenant, queue NULL: core_budget_set (requests/budgets.h). Writes no row; commitments are to be counted anew. */
void core_budget_assign(helio_broker_core_t *self, tenant_t *tenant, queue_t *queue, uint32_t kind,
                        helio_budget_t budget);

#endif
