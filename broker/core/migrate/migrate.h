/*  migrate.h -- migration of running jobs to a site that is better for the rest of their run. */
#ifndef HELIO_BROKER_CORE_MIGRATE_MIGRATE_H
#define HELIO_BROKER_CORE_MIGRATE_MIGRATE_H

#include "broker/core/holds/migrations.h"
#include "broker/core/state/nouns.h"

migration_pass_t *core_migration_pass_new(void);
void core_migration_pass_destroy(migration_pass_t **self_p);

/*  Before classes are asked: places jobs that left their site to migrate. Returns how many were tried. */
uint32_t core_migrations_place(helio_broker_core_t *self);
/*  After classes are asked: decides which jobs migrate. In portions, and only when something is new. */
void core_migrations_judge(helio_broker_core_t *self);
/*  When the last judgement wants another round (wall clock); INT64_MAX = it does not. */
int64_t core_migrations_next_check_ms(const helio_broker_core_t *self);

#endif
