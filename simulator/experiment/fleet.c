/*  fleet.c -- the fields of the fleet file. */
#include "simulator/experiment/fleet.h"

#include <math.h>
#include <stddef.h>

#include "federation/energy/power.h"
#include "federation/spec/reader.h"

enum { SITES_MAX = 10000 };

static helio_rc refuse(helio_spec_reader_t *reader, const helio_spec_node_t *node, void *ret_struct)
{
    (void)ret_struct;
    return helio_spec_diagnose(reader, node, HELIO_SPEC_FORBIDDEN_PROBLEM, NULL, "%s is not simulated yet",
                               reader->path);
}

static const helio_spec_field_t site_fields[] = {
    {.kind = HELIO_SPEC_INCLUDE, .offset = offsetof(exp_fleet_site_t, profile), .table = &helio_spec_site_table},
    {.key = "price_region",
     .kind = HELIO_SPEC_TEXT,
     .offset = offsetof(exp_fleet_site_t, price_region),
     .example = "US-CAL-CISO",
     .doc = "Key into the price file, where it is not the region."},
    {.key = "forecast_region",
     .kind = HELIO_SPEC_TEXT,
     .offset = offsetof(exp_fleet_site_t, forecast_region),
     .example = "US-CAL-CISO",
     .doc = "Key into the forecast file, where it is not the region."},
    {.key = "windows", .kind = HELIO_SPEC_CUSTOM, .custom = refuse, .schema = "{}", .doc = "Reserved GPUs."},
    {.key = "agent", .kind = HELIO_SPEC_SKIP, .doc = "Settings of the agent."},
};
static const helio_spec_table_t site_table = HELIO_SPEC_TABLE("site", exp_fleet_site_t, site_fields, NULL);

/*  NULL: all of the pool is. */
static const char *not_simulated(const helio_pool_t *pool)
{
    if (pool->max_nodes > pool->nodes)
        return "elastic pools (max_nodes) are";
    if (pool->provision_ms)
        return "the time that new nodes take (provision) is";
    if (pool->spot_usd_per_gpu_h > 0)
        return "spot capacity (spot_usd_per_gpu_h) is";
    return NULL;
}

static helio_rc check_site(helio_spec_reader_t *reader, const helio_spec_node_t *node, exp_fleet_site_t *site)
{
    if (!site->price_region.size)
        site->price_region = site->profile.region;
    if (!site->forecast_region.size)
        site->forecast_region = site->profile.region;
    for (uint32_t i = 0; i < site->profile.pools.count; i++) {
        helio_pool_t *pool = &site->profile.pools.items[i];
        const char *missing = not_simulated(pool);
        if (missing)
            return helio_spec_diagnose(reader, node, HELIO_SPEC_FORBIDDEN_PROBLEM, NULL,
                                       "site '%.*s', pool '%.*s': %s not simulated yet",
                                       HELIO_TEXT_ARGS(site->profile.name), HELIO_TEXT_ARGS(pool->name), missing);
        (void)helio_power_fill(pool);
    }
    return HELIO_OK;
}

static helio_rc check_fleet(helio_spec_reader_t *reader, const helio_spec_node_t *node, void *ret_struct)
{
    exp_fleet_t *fleet = ret_struct;
    const helio_spec_node_t *sites = helio_spec_find(node, "sites"), *item = sites->first;
    for (uint32_t i = 0; i < fleet->count; i++, item = item->next) {
        helio_rc rc = check_site(reader, item, &fleet->items[i]);
        if (rc != HELIO_OK)
            return rc;
        if (exp_fleet_find(fleet, fleet->items[i].profile.name) < i)
            return helio_spec_diagnose(reader, helio_spec_find(item, "name"), HELIO_SPEC_CONTRADICTION_PROBLEM, NULL,
                                       "two sites are named '%.*s'", HELIO_TEXT_ARGS(fleet->items[i].profile.name));
    }
    if (!exp_fleet_gpus(fleet))
        return helio_spec_diagnose(reader, sites, HELIO_SPEC_MISSING_PROBLEM, NULL, "sites: the fleet has no GPU");
    return HELIO_OK;
}

static const helio_spec_field_t fleet_fields[] = {
    {.key = "sites",
     .kind = HELIO_SPEC_LIST,
     .offset = offsetof(exp_fleet_t, items),
     .required = true,
     .most = SITES_MAX,
     .table = &site_table,
     .example = "[{name: oregon, region: US-NW, pools: [{name: h100, gpu: H100, nodes: 16, gpus_per_node: 8}]}]",
     .doc = "Sites of the fleet."},
    {.key = "links", .kind = HELIO_SPEC_CUSTOM, .custom = refuse, .schema = "{}", .doc = "Links between sites."},
};
static const helio_spec_table_t fleet_table = HELIO_SPEC_TABLE("fleet", exp_fleet_t, fleet_fields, check_fleet);

helio_rc exp_fleet_parse(helio_spec_source_t source, helio_arena_t *arena, exp_fleet_t *ret_fleet,
                         helio_diagnostics_t *ret_wrong)
{
    return helio_spec_judge(&fleet_table, source, HELIO_SPEC_SOURCE_MAX, arena, ret_fleet, ret_wrong);
}

uint32_t exp_fleet_find(const exp_fleet_t *self, helio_text_t name)
{
    uint32_t i = 0;
    while (i < self->count && !helio_text_equal(self->items[i].profile.name, name))
        i++;
    return i;
}

uint64_t exp_fleet_gpus(const exp_fleet_t *self)
{
    uint64_t gpus = 0;
    for (uint32_t i = 0; i < self->count; i++)
        for (uint32_t p = 0; p < self->items[i].profile.pools.count; p++)
            gpus += (uint64_t)self->items[i].profile.pools.items[p].nodes *
                    self->items[i].profile.pools.items[p].gpus_per_node;
    return gpus;
}

helio_rc exp_fleet_scale(exp_fleet_t *self, double factor)
{
    for (uint32_t i = 0; i < self->count; i++) {
        for (uint32_t p = 0; p < self->items[i].profile.pools.count; p++) {
            helio_pool_t *pool = &self->items[i].profile.pools.items[p];
            double nodes = pool->nodes ? fmax(1, round(pool->nodes * factor)) : 0;
            if (!(nodes <= HELIO_JOB_NODES_MAX))
                return HELIO_TOO_BIG;
            pool->nodes = (uint32_t)nodes;
            pool->max_nodes = pool->max_nodes ? pool->nodes : 0;
        }
    }
    return HELIO_OK;
}
