/*  reserved.c -- the GPUs that sites reserve, hour by hour, and what jobs leave of them. */
#include "simulator/experiment/internal.h"

#include "federation/policy/pool_forecast.h"

void exp_reserved_renew(exp_run_t *self)
{
    const exp_fleet_t *fleet = self->world->fleet;
    for (uint32_t i = 0, number = 0; self->reserved && i < fleet->count; i++)
        for (uint32_t pool = 0; pool < fleet->items[i].profile.pools.count; pool++)
            self->reserved[number++] =
                exp_reserves_at(self->world->reserves, i, pool, helio_hour_of(self->wall_ms) / HELIO_HOUR_MS);
}

void exp_reserved_account(exp_run_t *self, int64_t from_ms)
{
    const exp_fleet_t *fleet = self->world->fleet;
    for (uint32_t i = 0, number = 0; self->reserved && i < fleet->count; i++)
        for (uint32_t pool = 0; pool < fleet->items[i].profile.pools.count; pool++, number++) {
            uint32_t served;
            if (!self->reserved[number] || self->sites[i].down)
                continue;
            uint32_t shortfall = exp_site_shortfall(&self->sites[i], pool, self->reserved[number], &served);
            exp_result_add_reserve(self->result, self->world, i, pool, served, shortfall, from_ms, self->wall_ms);
        }
}
