/*  migrate.h -- running jobs that are migrated to where the rest of their run does better. */
#ifndef HELIO_BROKER_CORE_MIGRATE_MIGRATE_H
#define HELIO_BROKER_CORE_MIGRATE_MIGRATE_H

#include "broker/core/holds/migrations.h"
#include "broker/core/state/nouns.h"

/*  Before the turns: those that have left. Returns how many were tried. */
uint32_t core_migrations_place(helio_broker_core_t *self);
/*  After the turns: who leaves. In pieces, when there is something new. */
void core_migrations_judge(helio_broker_core_t *self);

#endif
