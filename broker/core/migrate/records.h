/*  records.h -- what is written and said of a migration. */
#ifndef HELIO_BROKER_CORE_MIGRATE_RECORDS_H
#define HELIO_BROKER_CORE_MIGRATE_RECORDS_H

#include "broker/core/migrate/targets.h"
#include "broker/core/state/nouns.h"
#include "federation/policy/migration.h"

/*  "moved from north to south: saves $3.10 and 1.2 kg CO2e of what is left" */
const char *core_migration_text(helio_broker_core_t *self, const job_t *job, const target_t *to,
                            const helio_migration_t *migration);
/*  The decision and its candidates; returns its number. */
uint64_t core_migration_write(helio_broker_core_t *self, const job_t *job, const targets_t *targets, const target_t *to,
                          const char *detail);
/*  Of a job that runs and asked for it: whether another pool would be better, and why it is not moved; "" = it did not
 *  ask. */
const char *core_migration_explain(helio_broker_core_t *self, const job_t *job);

#endif
