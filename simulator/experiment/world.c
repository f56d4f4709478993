/*  world.c -- what the inputs of an experiment say, whatever a policy does with them. */
#include "simulator/experiment/result.h"

bool exp_world_has_cost(const exp_world_t *world)
{
    bool known = world->price != NULL;
    for (uint32_t i = 0; i < world->fleet->count; i++)
        for (uint32_t p = 0; p < world->fleet->items[i].profile.pools.count; p++)
            known = known || !world->fleet->items[i].profile.pools.items[p].owned ||
                    world->fleet->items[i].profile.electricity_usd_per_kwh != 0;
    return known;
}

const exp_series_t *exp_world_rent(const exp_world_t *world, uint32_t site, uint32_t pool)
{
    const helio_site_profile_t *profile = &world->fleet->items[site].profile;
    const helio_pool_t *info = &profile->pools.items[pool];
    return info->owned || !world->rent ? NULL : exp_series_find_rent(world->rent, profile->name, info->name);
}
