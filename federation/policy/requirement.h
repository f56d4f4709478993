/*  requirement.h -- the properties of a job that matter to a decision. Jobs with equal requirements share one class. */
#ifndef HELIO_POLICY_REQUIREMENT_H
#define HELIO_POLICY_REQUIREMENT_H

#include "federation/model/job.h"

#define HELIO_REQUIREMENT_FIELDS(F, R)                                                                         \
    F(R, TEXT, tenant, 32, _)                                                                                  \
    F(R, TEXT, queue, 32, _)                                                                                   \
    F(R, TEXT, home, 32, _) /* the site that wins ties */                                                      \
    F(R, LIST, gpus, 8, helio_gpu_ask)                                                                         \
    F(R, BOOL, gpus_any, 0, _)                                                                                 \
    F(R, U32, nodes, HELIO_JOB_NODES_MAX, _)                                                                   \
    F(R, U32, cpus, 4096, _)                                                                                   \
    F(R, U64, memory_bytes, 0, _)                                                                              \
    F(R, U32, interconnect, HELIO_INTERCONNECT_COUNT - 1, _)                                                   \
    F(R, U32, sharing, HELIO_SHARING_COUNT - 1, _)                                                             \
    F(R, BOOL, container, 0, _)                                                                                \
    F(R, BOOL, lease, 0, _)       /* it must be stoppable while the agent is down */                           \
    F(R, BOOL, spot, 0, _)        /* it may run on spot capacity, ... */                                       \
    F(R, U64, spot_lost_ms, 0, _) /* ... and loses so much work by an interruption (spot.h) */                 \
    F(R, U64, time_limit_ms, 0, _)                                                                             \
    F(R, U64, grace_ms, 0, _) /* that its document asks for: it can hold its GPUs so long beyond the limit */  \
    F(R, I64, deadline_wall_ms, 0, _)                                                                          \
    F(R, LIST, sites, HELIO_JOB_LIST_MAX, helio_string)                                                        \
    F(R, LIST, regions, HELIO_JOB_LIST_MAX, helio_string)                                                      \
    F(R, U64, max_cost_micro_usd, 0, _)                                                                        \
    F(R, U64, max_carbon_mg_per_kwh, 0, _)                                                                     \
    F(R, LIST, backends, 8, helio_string)                                                                      \
    F(R, I64, carbon_price_micro_usd_per_t, 0, _)                                                              \
    F(R, I64, wait_price_micro_usd_per_gpu_h, 0, _)                                                            \
    F(R, I64, free_until_ms, 0, _) /* last full hour until which waiting is free; 0 = never */                 \
    F(R, I64, scarcity_price_micro_usd_per_gpu_h, 0, _)                                                        \
    F(R, LIST, data, HELIO_JOB_LIST_MAX, helio_data_ask)                                                       \
    F(R, BOOL, whole_nodes, 0, _)   /* as the next two, of the job's `slurm` part: it gets all of its nodes */ \
    F(R, TEXT, partition, 65536, _) /* "" = not set */                                                         \
    F(R, TEXT, constraint, 65536, _)                                                                           \
    F(R, U64, expected_ms, 0, _)      /* p50 of its run as on an A100, in steps (duration.h); 0 = unknown */   \
    F(R, U64, expected_high_ms, 0, _) /* p90, the same */
HELIO_RECORD_DECLARE(helio_requirement, HELIO_REQUIREMENT_FIELDS)

/*  Views into spec and the arguments; time_limit_ms and home are already resolved to the defaults of queue and
 *  tenant.
 *
 *  A deferred start is the beginning of an hour (choice.h). `flexible` is therefore stored as the last full hour
 *  before it ends, without loss, and jobs of the same hour share a class. A `flexible` that ends before the next
 *  hour begins is dropped.
 *
 *  The expected run time is not in the document: it is 0, and the caller sets it (helio_requirement_expect). */
helio_requirement_t helio_requirement_of(const helio_job_spec_t *spec, helio_text_t tenant, helio_text_t home,
                                         uint64_t time_limit_ms, int64_t submitted_ms);

/*  The value of free_until_ms for a job that may wait for flexible_ms. */
int64_t helio_requirement_free_until(uint64_t flexible_ms, int64_t submitted_ms);

/*  p50 and p90 as on an A100, 0 = unknown, and the limit is used. Rounded to steps, so that jobs of similar length share a class. */
void helio_requirement_expect(helio_requirement_t *self, uint64_t p50_ms, uint64_t p90_ms);
/*  Expected run time on this model, at most the limit: for the score (p50), and for deadline and caps (p90). */
uint64_t helio_requirement_run_ms(const helio_requirement_t *self, helio_text_t gpu_model);
uint64_t helio_requirement_run_high_ms(const helio_requirement_t *self, helio_text_t gpu_model);

/*  How long it can hold its GPUs at the most: to its time limit, and through the grace that it asks for. The half minute
 *  of a job that asks for none does not count. */
uint64_t helio_requirement_longest_ms(const helio_requirement_t *self);

/*  GPUs over all nodes, of the first alternative; 0 = a CPU job. */
uint32_t helio_requirement_gpus(const helio_requirement_t *self);

/*  "8×H100 ×2 nodes" for people, in the arena. */
helio_text_t helio_requirement_text(const helio_requirement_t *self, helio_arena_t *arena);

#endif
