/*  inventory.c -- groups the GPUs of this machine by model, and completes a pool from them. */
#include "site-agent/telemetry/inventory.h"

#include <string.h>

void helio_gpu_inventory(const helio_nvml_t *nvml, helio_gpu_inventory_t *ret_inventory)
{
    *ret_inventory = (helio_gpu_inventory_t){0};
    for (uint32_t i = 0; i < helio_nvml_count(nvml); i++) {
        const helio_gpu_t *gpu = helio_nvml_gpu(nvml, i);
        if (!gpu->memory_bytes) {
            ret_inventory->silent++;
            continue;
        }
        uint32_t at = 0;
        while (at < ret_inventory->group_count && strcmp(ret_inventory->groups[at].model, gpu->model) != 0)
            at++;
        helio_gpu_group_t *group = &ret_inventory->groups[at];
        if (at == ret_inventory->group_count) {
            ret_inventory->group_count++;
            memcpy(group->model, gpu->model, sizeof group->model);
            group->memory_bytes = gpu->memory_bytes;
            group->first = i;
        }
        if (gpu->memory_bytes < group->memory_bytes)
            group->memory_bytes = gpu->memory_bytes;
        group->count++;
        ret_inventory->gpus++;
    }
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
                      HELIO_TEXT_ARGS(pool->name), HELIO_TEXT_ARGS(pool->gpu), models.data);
}

helio_rc helio_gpu_inventory_fill(const helio_gpu_inventory_t *self, helio_arena_t *arena, helio_pool_t *pool,
                                  helio_error_t *err)
{
    if (!self->gpus)
        return HELIO_OK;
    const helio_gpu_group_t *group = pool->gpu.size ? group_of(self, pool->gpu) : &self->groups[0];
    if (!group)
        return no_such_model(self, pool, err);
    if (!pool->gpu.size && self->group_count > 1)
        return helio_fail(
            err, HELIO_INVALID,
            "this machine has GPUs of the models %s and %s: name in `gpu` the one that pool '%.*s' offers",
            self->groups[0].model, self->groups[1].model, HELIO_TEXT_ARGS(pool->name));
    if (pool->gpus_per_node > group->count)
        return helio_fail(err, HELIO_INVALID,
                          "pool '%.*s' declares %u GPUs a node, but this machine has %u of the model %s",
                          HELIO_TEXT_ARGS(pool->name), pool->gpus_per_node, group->count, group->model);
    if (!pool->gpu.size)
        pool->gpu = helio_arena_text(arena, helio_text_of(group->model));
    if (!pool->gpu_memory_bytes)
        pool->gpu_memory_bytes = group->memory_bytes;
    if (!pool->gpus_per_node)
        pool->gpus_per_node = group->count;
    return HELIO_OK;
}
