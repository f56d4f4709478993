/*  records.h -- what is written and said of a migration. */
#ifndef HELIO_BROKER_CORE_MIGRATE_RECORDS_H
#define HELIO_BROKER_CORE_MIGRATE_RECORDS_H

#include "broker/core/migrate/targets.h"
#include "broker/core/state/nouns.h"
#include "federation/policy/move.h"

/*  "moved from north to south: saves $3.10 and 1.2 kg CO2e of what is left" */
const char *core_moved_text(helio_broker_core_t *self, const job_t *job, const spot_t *to,
                            const helio_move_t *move);
/*  The decision and its candidates; returns its number. */
uint64_t core_moved_write(helio_broker_core_t *self, const job_t *job, const spots_t *spots, const spot_t *to,
                          const char *detail);
/*  Of a job that runs and asked for it: whether another pool would be better, and why it is not moved; "" = it did not
 *  ask. */
const char *core_moved_explain(helio_broker_core_t *self, const job_t *job);

#endif
