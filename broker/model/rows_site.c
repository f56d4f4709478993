/*  rows_site.c -- profiles of sites and pools from their rows. */
#include "broker/model/rows_site.h"

helio_site_profile_t helio_row_site_profile(const helio_row_site_t *self)
{
    return (helio_site_profile_t){
        .name = self->site,
        .backend = self->backend,
        .region = self->region,
        .latitude = self->latitude,
        .longitude = self->longitude,
        .timezone = self->timezone,
        .pue = self->pue,
        .carbon_g_per_kwh = self->carbon_g_per_kwh,
        .electricity_usd_per_kwh = self->electricity_usd_per_kwh,
        .containers = self->containers,
        .leases = self->leases,
    };
}

helio_pool_t helio_row_pool_profile(const helio_row_pool_t *self)
{
    return (helio_pool_t){
        .name = self->pool,
        .gpu = self->gpu,
        .gpu_memory_bytes = self->gpu_memory_bytes,
        .nodes = self->nodes,
        .max_nodes = self->max_nodes,
        .elastic = self->max_nodes > self->nodes,
        .gpus_per_node = self->gpus_per_node,
        .cpus_per_node = self->cpus_per_node,
        .memory_bytes_per_node = self->memory_bytes_per_node,
        .interconnect = self->interconnect,
        .sharing = self->sharing,
        .owned = self->owned,
        .price_usd_per_gpu_h = self->price_usd_per_gpu_h,
        .idle_w = self->idle_w,
        .base_w = self->base_w,
        .slope_w = self->slope_w,
        .host_w = self->host_w,
    };
}
