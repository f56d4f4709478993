/*  inventory.h -- the GPUs of this machine as pools, so that a site file can leave them out. */
#ifndef HELIO_TELEMETRY_INVENTORY_H
#define HELIO_TELEMETRY_INVENTORY_H

#include "federation/model/site.h"
#include "site-agent/telemetry/nvml.h"

typedef struct helio_gpu_group {
    char model[32];
    uint64_t memory_bytes; /* of the smallest of them */
    uint32_t count;
    uint32_t first; /* index of the first of them */
} helio_gpu_group_t;

typedef struct helio_gpu_inventory {
    helio_gpu_group_t groups[HELIO_NVML_GPUS_MAX]; /* by model, in the driver's order */
    uint32_t group_count;
    uint32_t gpus;   /* that respond */
    uint32_t silent; /* that do not */
} helio_gpu_inventory_t;

void helio_gpu_inventory(const helio_nvml_t *nvml, helio_gpu_inventory_t *ret_inventory);

/*  Fills what a pool of one node leaves out (gpu, gpu_memory_bytes, gpus_per_node); given values stay. Has no effect
 *  without GPUs. INVALID: the pool contradicts the machine (more GPUs, another model), or does not say which of several
 *  models it means. Texts are allocated in the arena. */
HELIO_MUST_CHECK helio_rc helio_gpu_inventory_fill(const helio_gpu_inventory_t *self, helio_arena_t *arena,
                                                   helio_pool_t *pool, helio_error_t *err);

#endif
