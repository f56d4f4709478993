/*  budgets.h -- what tenants have spent in a budget period, and what is committed.
 *
 *  For each tenant, and for each tenant in each queue: what the ledger has of the current and later periods (charged),
 *  and the expected use of the jobs at sites (committed). Both change with the rows, without a walk over the jobs. Only
 *  when a period begins, and when a run lasts longer than expected, are commitments recounted. */
#ifndef HELIO_BROKER_CORE_STATE_BUDGETS_H
#define HELIO_BROKER_CORE_STATE_BUDGETS_H

#include "broker/core/state/nouns.h"
#include "broker/model/figures.h"
#include "broker/model/rows_account.h"
#include "broker/model/rows_job.h"
#include "broker/model/rows_policy.h"
#include "federation/policy/budget.h"

typedef enum budget_turn { BUDGET_TURN_THIS, BUDGET_TURN_NEXT, BUDGET_TURNS } budget_turn_t;

typedef struct spending {
    helio_budget_t budgets[HELIO_BUDGET_KINDS];
    bool own[HELIO_BUDGET_KINDS]; /* set for this tenant, not for each tenant */
    bool any;                     /* at least one budget is set */
    int64_t charged[HELIO_PERIOD_COUNT][BUDGET_TURNS][HELIO_BUDGET_KINDS];
    int64_t committed[HELIO_PERIOD_COUNT][BUDGET_TURNS][HELIO_BUDGET_KINDS];
    int64_t at_limits[HELIO_PERIOD_COUNT][BUDGET_TURNS][HELIO_BUDGET_KINDS]; /* the same if all jobs run to their
                                                                                 time limits */
} spending_t;

/*  What starts that have not happened would take beside what is committed: a sum for one computation. */
typedef struct claims {
    uint64_t gpus;
    int64_t spends[HELIO_BUDGET_KINDS][BUDGET_TURNS];    /* in the periods of the budgets that are set */
    int64_t at_limits[HELIO_BUDGET_KINDS][BUDGET_TURNS]; /* if they run to their time limits */
} claims_t;

/*  Starts are estimated by past runs, and users choose what runs they have. So, whatever the past says, the jobs at sites
 *  can use at most this many times what is left of a budget, if all of them run to their time limits. Three: runs use a
 *  third of their limits and more where users choose limits that mean something, and a budget is never exceeded by more
 *  than twice itself. */
enum { BUDGET_AT_LIMITS_MOST = 3 };

/*  The periods of the core, by the wall clock. */
typedef struct calendar {
    int64_t begins[HELIO_PERIOD_COUNT][BUDGET_TURNS + 1]; /* of this period, of the next, and of the one after it */
    int64_t rollover_ms;                                  /* when the next of them begins; 0 = not computed yet */
    bool any;                                             /* some tenant has a budget, so expected use is counted */
} calendar_t;

/*  The expected use of a placement: part of the job's last_placement_t. */
typedef struct commitment {
    helio_spend_t spend;
    int64_t placed_ms;
    uint64_t high_ms;       /* nine runs in ten are not longer */
    uint32_t charged_epoch; /* the newest one whose end is charged; 0 = none */
    bool counted;           /* it is part of its tenant's committed */
} commitment_t;

/*  At every step, because periods end by the wall clock. */
void core_budgets_roll_over(helio_broker_core_t *self);
/*  The expected use of the placement is committed from the step that places the job until the job leaves its site. */
void core_budget_place(helio_broker_core_t *self, job_t *job, const helio_row_placement_t *row);
/*  The run began: its commitment counts from now on. */
void core_budget_started(helio_broker_core_t *self, job_t *job);
void core_budget_job_left(helio_broker_core_t *self, job_t *job);
/*  Charges a row of the ledger to the tenant and the queue that it names; a reversal gives back. */
void core_budget_charge(helio_broker_core_t *self, const helio_row_ledger_t *row);
/*  Notes that the end of that epoch, the job's newest, is stored. False: it was before, and the ledger does not take
 *  its rows again. */
bool core_budget_charges_end(job_t *job, uint32_t epoch);
/*  The number of budgets, by kind and by how much of them is used. */
void core_budgets_figures(const helio_broker_core_t *self, helio_broker_figures_t *ret_figures);
/*  Asserts that the sums are those of the jobs at sites. */
void core_budgets_check(const helio_broker_core_t *self);
/*  Recounts the commitments, after a budget was set. */
void core_budgets_recount(helio_broker_core_t *self);
void core_budget_load(helio_broker_core_t *self, const helio_row_budget_t *row);
void core_budget_load_spent(helio_broker_core_t *self, const helio_row_spent_t *row);
void core_budget_load_expected_use(helio_broker_core_t *self, const helio_row_expected_use_t *row);
/*  What one budget leaves in this period or the next: the limit less what is charged and committed; can be negative. */
int64_t core_spending_left(const spending_t *spending, uint32_t kind, budget_turn_t turn);
/*  What more jobs can use that run to their time limits: BUDGET_AT_LIMITS_MOST times what is not charged, less what
 *  the jobs at sites use if they do; can be negative. */
int64_t core_spending_left_at_limits(const spending_t *spending, uint32_t kind, budget_turn_t turn);
/*  tenant, queue NULL: as for core_budget_set (requests/budgets.h). Writes no row; the caller recounts the
 *  commitments. */
void core_budget_assign(helio_broker_core_t *self, tenant_t *tenant, queue_t *queue, uint32_t kind,
                        helio_budget_t budget);

#endif
