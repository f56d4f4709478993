/*  leave.c -- returns what a job held at its site when it leaves. */
#include "broker/core/holds/leave.h"

#include "broker/core/state/changes.h"
#include "broker/core/state/core.h"
#include "broker/core/state/pools.h"

void core_job_give_back(helio_broker_core_t *self, job_t *job, pool_t *pool)
{
    if (!job->counted)
        return;
    job->counted = false;
    const helio_requirement_t *want = &job->submission->class->want;
    core_pool_give(pool, want->nodes, job->gpus_per_node, want->cpus, want->memory_bytes);
#ifdef HELIO_MUTANT_freed_unseen
    (void)self;
#else
    core_capacity_changed(self);
#endif
}
