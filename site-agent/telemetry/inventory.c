/*  inventory.c -- groups the GPUs of this machine by model, and completes a pool from them. */
#include "site-agent/telemetry/inventory.h"

#include <stdio.h>
#include <string.h>

bool helio_gpu_group_name(const helio_nvml_t *nvml, uint32_t index, char ret_name[HELIO_GPU_GROUP_SIZE])
{
    uint32_t gpus = helio_nvml_count(nvml);
    const helio_gpu_slice_device_t *slice = index < gpus ? NULL : helio_nvml_slice(nvml, index - gpus);
    const helio_gpu_t *gpu = helio_nvml_gpu(nvml, slice ? slice->gpu : index);
    if (!gpu || !gpu->memory_bytes || gpu->in_slices != (slice != NULL))
        return false;
    (void)snprintf(ret_name, HELIO_GPU_GROUP_SIZE, "%.31s%s%.23s", gpu->model, slice ? "/" : "",
                   slice ? slice->profile : "");
    return true;
}

static void count_device(helio_gpu_inventory_t *self, const char *name, uint32_t index, uint64_t memory_bytes)
{
    uint32_t at = 0;
    while (at < self->group_count && strcmp(self->groups[at].model, name) != 0)
        at++;
    if (at == HELIO_GPU_GROUPS_MAX)
        return;
    helio_gpu_group_t *group = &self->groups[at];
    if (at == self->group_count) {
        self->group_count++;
        (void)snprintf(group->model, sizeof group->model, "%s", name);
        group->memory_bytes = memory_bytes;
        group->first = index;
    }
    if (memory_bytes < group->memory_bytes)
        group->memory_bytes = memory_bytes;
    group->count++;
}

void helio_gpu_inventory(const helio_nvml_t *nvml, helio_gpu_inventory_t *ret_inventory)
{
    char name[HELIO_GPU_GROUP_SIZE];
    uint32_t gpus = helio_nvml_count(nvml);
    *ret_inventory = (helio_gpu_inventory_t){0};
    for (uint32_t i = 0; i < gpus; i++) {
        uint64_t memory_bytes = helio_nvml_gpu(nvml, i)->memory_bytes;
        ret_inventory->gpus += memory_bytes > 0;
        ret_inventory->silent += memory_bytes == 0;
        if (helio_gpu_group_name(nvml, i, name))
            count_device(ret_inventory, name, i, memory_bytes);
    }
    for (uint32_t i = 0; i < helio_nvml_slice_count(nvml); i++)
        if (helio_gpu_group_name(nvml, gpus + i, name))
            count_device(ret_inventory, name, gpus + i, helio_nvml_slice(nvml, i)->memory_bytes);
}

static const helio_gpu_group_t *group_of(const helio_gpu_inventory_t *self, helio_text_t model)
{
    for (uint32_t i = 0; i < self->group_count; i++)
        if (helio_text_is(model, self->groups[i].model))
            return &self->groups[i];
    return NULL;
}

static helio_rc no_such_model(const helio_gpu_inventory_t *self, const helio_pool_t *pool, helio_error_t *err)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t models = {0};
    for (uint32_t i = 0; i < self->group_count; i++)
        helio_buffer_printf(&models, "%s%s", i ? ", " : "", self->groups[i].model);
    return helio_fail(err, HELIO_INVALID,
                      "pool '%.*s' declares the GPU model %.*s, but the GPUs of this machine are %s",
                      HELIO_TEXT_ARGS(pool->name), HELIO_TEXT_ARGS(pool->gpu),
                      models.size ? models.data : "in MIG mode and have no slices");
}

static helio_rc too_many(const helio_pool_t *pool, const helio_gpu_group_t *group, uint32_t jobs_per_gpu,
                         helio_error_t *err)
{
    if (jobs_per_gpu > 1)
        return helio_fail(err, HELIO_INVALID,
                          "pool '%.*s' declares %u shares a node, but this machine has %u of the model %s, each for %u "
                          "jobs",
                          HELIO_TEXT_ARGS(pool->name), pool->gpus_per_node, group->count, group->model, jobs_per_gpu);
    return helio_fail(err, HELIO_INVALID,
                      "pool '%.*s' declares %u GPUs a node, but this machine has %u of the model %s",
                      HELIO_TEXT_ARGS(pool->name), pool->gpus_per_node, group->count, group->model);
}

helio_rc helio_gpu_inventory_fill(const helio_gpu_inventory_t *self, helio_arena_t *arena, uint32_t jobs_per_gpu,
                                  helio_pool_t *pool, helio_error_t *err)
{
    if (!self->gpus || (!self->group_count && !pool->gpu.size))
        return HELIO_OK;
    const helio_gpu_group_t *group = pool->gpu.size ? group_of(self, pool->gpu) : &self->groups[0];
    if (!group)
        return no_such_model(self, pool, err);
    if (!pool->gpu.size && self->group_count > 1)
        return helio_fail(
            err, HELIO_INVALID,
            "this machine has GPUs of the models %s and %s: name in `gpu` the one that pool '%.*s' offers",
            self->groups[0].model, self->groups[1].model, HELIO_TEXT_ARGS(pool->name));
    if (pool->gpus_per_node > group->count * jobs_per_gpu)
        return too_many(pool, group, jobs_per_gpu, err);
    if (!pool->gpu.size) {
        pool->gpu = helio_arena_text(arena, helio_text_of(group->model));
        if (helio_gpu_slice(pool->gpu).size)
            pool->sharing = HELIO_SHARING_MIG;
    }
    if (!pool->gpu_memory_bytes)
        pool->gpu_memory_bytes = group->memory_bytes / jobs_per_gpu;
    if (!pool->gpus_per_node)
        pool->gpus_per_node = group->count * jobs_per_gpu;
    return HELIO_OK;
}
