/*  targets.h -- migration targets: where the running jobs of a class could go. */
#ifndef HELIO_BROKER_CORE_MIGRATE_TARGETS_H
#define HELIO_BROKER_CORE_MIGRATE_TARGETS_H

#include "broker/core/state/nouns.h"
#include "federation/policy/choice.h"
#include "federation/policy/migration.h"
#include "federation/reason/detail.h"

/*  Where the jobs of a class could go: of targets_t. */
typedef struct target {
    site_t *site;
    pool_t *pool;
    helio_rejection_t rejection; /* NEVER_FITS and OVERFLOW alone: bounds are held against the rest of the run */
    uint32_t ask;
    uint32_t gpus_per_node;
    uint32_t step; /* of the class's overflow group */
    helio_migration_target_t of;
} target_t;

/*  Of a class, while what they rest on stands. */
struct targets {
    uint64_t facts, pools;
    int64_t hour_ms;
    uint32_t count;
    target_t items[];
};

/*  Where jobs of the class could go; valid until the next such call. */
const targets_t *core_migration_targets(helio_broker_core_t *self, job_class_t *class);
/*  It may go there: it fits, by all that does not pass, and is no step or alternative behind where it runs. */
bool core_migration_target_is_suitable(const targets_t *targets, const job_t *job, const target_t *target);
/*  What would become of a job that runs, at that spot. */
helio_migration_t core_migration_target_weigh(helio_broker_core_t *self, const job_t *job, const target_t *target);
/*  What keeps it from there now, whatever it saves, with words. Of one that has left: what keeps it from its place. */
helio_rejection_t core_migration_target_rejection(helio_broker_core_t *self, const job_t *job, const target_t *target,
                                      helio_details_t *ret_details);

#endif
