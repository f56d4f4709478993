/*  records.h -- what is stored about a migration, and its explanation. */
#ifndef HELIO_BROKER_CORE_MIGRATE_RECORDS_H
#define HELIO_BROKER_CORE_MIGRATE_RECORDS_H

#include "broker/core/migrate/targets.h"
#include "broker/core/state/nouns.h"
#include "federation/policy/migration.h"
#include "federation/reason/detail.h"

/*  Source, target and expected saving. */
helio_details_t core_migration_why(helio_broker_core_t *self, const job_t *job, const target_t *to,
                                   const helio_migration_t *migration);
/*  Writes the decision and its candidates. Returns the decision's id. */
uint64_t core_migration_write(helio_broker_core_t *self, const job_t *job, const targets_t *targets, const target_t *to,
                              const helio_details_t *why);
/*  For a running job that asked to migrate: whether another pool would be better, and why it does not migrate. Empty:
 *  it did not ask. */
helio_details_t core_migration_explain(helio_broker_core_t *self, const job_t *job);

#endif
