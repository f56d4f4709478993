/*  budget_starts.h -- whether one more start is within every budget. */
#ifndef HELIO_BROKER_CORE_STATE_BUDGET_STARTS_H
#define HELIO_BROKER_CORE_STATE_BUDGET_STARTS_H

#include "broker/core/state/budgets.h"
#include "broker/core/state/nouns.h"
#include "federation/policy/migration.h"
#include "federation/policy/terms.h"
#include "federation/policy/transfer.h"

/*  The budget that a start would exceed, and how. */
typedef struct shortage {
    const spending_t *of; /* NULL = none */
    bool of_queue;
    bool alone;     /* it exceeds the whole budget */
    bool at_limits; /* it is within the budget as estimated, but not if the jobs run to their time limits */
    uint32_t kind;
    budget_turn_t turn;
    int64_t needs;
    int64_t fits_ms; /* when such a start would be within it, as things are; 0 = never */
} shortage_t;

/*  How many such starts the budgets allow, at most `most`. plan: the option's start now, or its later one. */
uint32_t core_budget_room(helio_broker_core_t *self, const job_class_t *class, const struct option *option,
                          const helio_plan_t *plan, uint32_t most);
/*  Whether the budgets allow one start now. */
bool core_budget_allows(helio_broker_core_t *self, const job_class_t *class, const struct option *option);
/*  The expected use of a start now. */
helio_spend_t core_budget_spend(const helio_broker_core_t *self, const job_class_t *class, const struct option *option);
/*  How many starts of the class with that use the budgets allow beside what is claimed of them, at most `most`. */
uint32_t core_budget_room_unclaimed(helio_broker_core_t *self, const job_class_t *class, const helio_spend_t *spend,
                                    uint32_t most);
/*  Claims so many of them, of both budgets: no more than there is room for. */
void core_budget_claim(helio_broker_core_t *self, const job_class_t *class, const helio_spend_t *spend,
                       uint32_t starts);
/*  Of the budgets that a start now would exceed, the one that would allow it last. */
shortage_t core_budget_shortage(helio_broker_core_t *self, const job_class_t *class, const struct option *option);
/*  Whether the budgets allow a job to migrate: what is committed of it from now on counts as free. *ret_short: as for a
 *  start. */
bool core_budget_allows_migration(helio_broker_core_t *self, const job_t *job, const helio_migration_t *migration,
                                  const helio_transfer_t *transfer, uint64_t gpus, shortage_t *ret_short);

#endif
