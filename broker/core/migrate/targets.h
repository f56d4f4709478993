/*  targets.h -- migration targets: where the running jobs of a class could go. */
#ifndef HELIO_BROKER_CORE_MIGRATE_TARGETS_H
#define HELIO_BROKER_CORE_MIGRATE_TARGETS_H

#include "broker/core/state/nouns.h"
#include "federation/policy/choice.h"
#include "federation/policy/migration.h"
#include "federation/reason/detail.h"

/*  One pool where the jobs of a class could go; part of targets_t. */
typedef struct target {
    site_t *site;
    pool_t *pool;
    /* NONE, OVERFLOW, or one of the reason NEVER_FITS. No limit of a job: that applies to the rest of its run */
    helio_rejection_t rejection;
    uint32_t ask;
    uint32_t gpus_per_node;
    uint32_t step; /* of the class's overflow group */
    helio_migration_target_t of;
} target_t;

/*  Of a class; valid while what they depend on stands. */
struct targets {
    uint64_t facts, pools;
    int64_t hour_ms;
    uint32_t count;
    target_t items[];
};

/*  Where jobs of the class could go. Valid until the next call. */
const targets_t *core_migration_targets(helio_broker_core_t *self, job_class_t *class);
/*  The target at a pool; NULL = the class has none there. */
const target_t *core_migration_target_at(const targets_t *targets, const pool_t *pool);
/*  Whether the job could ever go there: it fits, and the pool is of no later overflow step than the pool where it runs,
 *  and of no later alternative in the job's list of GPUs. What is temporary is not considered, except that a pool where
 *  a job of the class failed at once is no target as long as that counts. here: the target where it runs, or NULL. */
bool core_migration_target_is_suitable(const helio_broker_core_t *self, const job_t *job, const target_t *here,
                                       const target_t *target);

/*  A running job as all its targets are weighed: looked up once, since targets are many. */
typedef struct weighing {
    helio_migration_job_t job;
    helio_migration_stay_t stay;
} weighing_t;
weighing_t core_migration_weighing(helio_broker_core_t *self, const job_t *job);
/*  What would become of it at that target. */
helio_migration_t core_migration_target_weigh(const weighing_t *weighing, const target_t *target);
/*  What keeps the job from the target now, apart from the saving, with details. For a job that has left its site: what
 *  keeps it from its target. */
helio_rejection_t core_migration_target_rejection(helio_broker_core_t *self, const job_t *job, const target_t *target,
                                                  helio_details_t *ret_details);

#endif
