/*  inventory.h -- the GPUs of this machine as pools, so that a site file can leave them out. A GPU in MIG mode counts by
 *  its slices: "H100/1g.10gb". */
#ifndef HELIO_TELEMETRY_INVENTORY_H
#define HELIO_TELEMETRY_INVENTORY_H

#include "federation/model/site.h"
#include "site-agent/telemetry/nvml.h"

enum { HELIO_GPU_GROUP_SIZE = HELIO_GPU_MODEL_SIZE + HELIO_GPU_PROFILE_SIZE, HELIO_GPU_GROUPS_MAX = 128 };

typedef struct helio_gpu_group {
    char model[HELIO_GPU_GROUP_SIZE]; /* "H100", "H100/1g.10gb" */
    uint64_t memory_bytes;            /* of the smallest of them */
    uint32_t count;
    uint32_t first; /* index of the first of them, as of helio_gpu_group_name */
} helio_gpu_group_t;

typedef struct helio_gpu_inventory {
    helio_gpu_group_t groups[HELIO_GPU_GROUPS_MAX]; /* by model, in the driver's order; slices after GPUs */
    uint32_t group_count;
    uint32_t gpus;   /* that respond, those in MIG mode too */
    uint32_t silent; /* that do not */
} helio_gpu_inventory_t;

/*  The name of a device as pools have it; index: of a GPU, or the number of GPUs plus that of a slice. False: nothing can
 *  run on it as a whole (it does not respond, or is in MIG mode), or there is none. */
bool helio_gpu_group_name(const helio_nvml_t *nvml, uint32_t index, char ret_name[HELIO_GPU_GROUP_SIZE]);

void helio_gpu_inventory(const helio_nvml_t *nvml, helio_gpu_inventory_t *ret_inventory);

/*  Fills what a pool of one node leaves out (gpu, gpu_memory_bytes, gpus_per_node); given values stay. jobs_per_gpu: the
 *  pool's unit is such a share of a GPU. Has no effect without GPUs. INVALID: the pool contradicts the machine (more GPUs, another model), or does not say which of several
 *  models it means. Texts are allocated in the arena. */
HELIO_MUST_CHECK helio_rc helio_gpu_inventory_fill(const helio_gpu_inventory_t *self, helio_arena_t *arena,
                                                   uint32_t jobs_per_gpu, helio_pool_t *pool, helio_error_t *err);

#endif
