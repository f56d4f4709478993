/*  fleet.c -- the fields of the fleet file. */
#include "simulator/experiment/fleet.h"

#include <math.h>
#include <stddef.h>

#include "federation/energy/power.h"
#include "federation/energy/schedule.h"
#include "federation/policy/quota.h"
#include "federation/policy/transfer.h"
#include "federation/spec/reader.h"
#include "simulator/experiment/scales.h"
#include "site-agent/scale/plan.h"

enum {
    SITES_MAX = 10000,
    LINKS_MAX = 10000,   /* as many as a broker has (broker/model/rows_policy.h) */
    TENANTS_MAX = 10000, /* larger than any federation's list of teams */
    OUTAGES_MAX = 1000   /* of one site: one a day for years */
};
static const double GBPS_LEAST = 0.001, GBPS_MOST = 1e6; /* what a link of the broker can have, in Mbit/s */
static const double EGRESS_MOST = 1000;                  /* USD per GB, likewise */
static const double WEIGHT_LEAST = 0.001, WEIGHT_MOST = 1000;

const exp_queue_t exp_queues[] = {{"express", 1000, HELIO_TIER_CRITICAL, 3600000},
                                  {"reserved", 800, HELIO_TIER_CRITICAL, 86400000},
                                  {"standard", 500, HELIO_TIER_STANDARD, 86400000},
                                  {"batch", 100, HELIO_TIER_STANDARD, 86400000},
                                  {"preemptible", 10, HELIO_TIER_BEST_EFFORT, 86400000}};
const uint32_t exp_queue_count = sizeof exp_queues / sizeof exp_queues[0];

const exp_queue_t *exp_queue_find(helio_text_t name)
{
    for (uint32_t i = 0; i < exp_queue_count; i++)
        if (helio_text_is(name, exp_queues[i].name))
            return &exp_queues[i];
    return NULL;
}

/*  ---- outages ---- */

static helio_rc check_outage(helio_spec_reader_t *reader, const helio_spec_node_t *node, void *ret_struct)
{
    const exp_outage_t *outage = ret_struct;
    if (outage->to_ms > outage->from_ms)
        return HELIO_OK;
    return helio_spec_diagnose(reader, helio_spec_find(node, "to"), HELIO_SPEC_CONTRADICTION_PROBLEM, NULL,
                               "an outage ends after it has begun");
}

static const helio_spec_field_t outage_fields[] = {
    {.key = "from",
     .kind = HELIO_SPEC_TIME,
     .offset = offsetof(exp_outage_t, from_ms),
     .required = true,
     .example = "2023-10-03T10:00:00Z",
     .doc = "The site's nodes stop, and nothing is heard of it from then on."},
    {.key = "to",
     .kind = HELIO_SPEC_TIME,
     .offset = offsetof(exp_outage_t, to_ms),
     .required = true,
     .example = "2023-10-03T14:00:00Z",
     .doc = "The site is back, and all its nodes are free."},
};
static const helio_spec_table_t outage_table = HELIO_SPEC_TABLE("outage", exp_outage_t, outage_fields, check_outage);

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
    {.key = "outages",
     .kind = HELIO_SPEC_LIST,
     .offset = offsetof(exp_fleet_site_t, outages),
     .most = OUTAGES_MAX,
     .table = &outage_table,
     .example = "[{from: 2023-10-03T10:00:00Z, to: 2023-10-03T14:00:00Z}]",
     .doc = "When the site has neither power nor a connection, in ascending order."},
    {.key = "windows",
     .kind = HELIO_SPEC_LIST,
     .offset = offsetof(exp_fleet_site_t, windows),
     .most = HELIO_WINDOWS_MAX,
     .table = &helio_spec_window_table,
     .example = "[{pool: h100, reserve_gpus: 64, when: \"Mon..Fri 08:00-20:00\"}]",
     .doc = "Reserved GPUs, by the clock or by a series of `--inference`."},
    {.key = "scale",
     .kind = HELIO_SPEC_LIST,
     .offset = offsetof(exp_fleet_site_t, scale),
     .most = 64,
     .table = &helio_scale_rule_table,
     .example = "[{pool: a100-cloud, max: 8}]",
     .doc = "How elastic pools grow and shrink, as under `agent` of a site file; commands are not run."},
    {.key = "agent", .kind = HELIO_SPEC_SKIP, .doc = "Settings of the agent."},
};
static const helio_spec_table_t site_table = HELIO_SPEC_TABLE("site", exp_fleet_site_t, site_fields, NULL);

static helio_rc check_site(helio_spec_reader_t *reader, const helio_spec_node_t *node, exp_fleet_site_t *site)
{
    if (!site->price_region.size)
        site->price_region = site->profile.region;
    if (!site->forecast_region.size)
        site->forecast_region = site->profile.region;
    for (uint32_t i = 0; i < site->profile.pools.count; i++)
        (void)helio_power_fill(&site->profile.pools.items[i]);
    return exp_scales_settle(reader, node, site);
}

static helio_rc check_outages(helio_spec_reader_t *reader, const helio_spec_node_t *node, const exp_outages_t *outages)
{
    const helio_spec_node_t *list = helio_spec_find(node, "outages"), *item = list ? list->first : NULL;
    for (uint32_t i = 0; i < outages->count; i++, item = item->next)
        if (i && outages->items[i].from_ms < outages->items[i - 1].to_ms)
            return helio_spec_diagnose(reader, helio_spec_find(item, "from"), HELIO_SPEC_CONTRADICTION_PROBLEM, NULL,
                                       "the outage begins before the one above it has ended");
    return HELIO_OK;
}

static helio_rc check_windows(helio_spec_reader_t *reader, const helio_spec_node_t *node, const exp_fleet_site_t *site)
{
    const helio_spec_node_t *list = helio_spec_find(node, "windows"), *item = list ? list->first : NULL;
    const helio_site_profile_t *profile = &site->profile;
    for (uint32_t i = 0; i < site->windows.count; i++, item = item->next) {
        const helio_window_t *window = &site->windows.items[i];
        helio_schedule_t schedule;
        helio_error_t why = {0};
        uint32_t pool = exp_fleet_find_pool(profile, window->pool);
        if (pool == profile->pools.count || !profile->pools.items[pool].gpus_per_node)
            return helio_spec_diagnose(reader, helio_spec_find(item, "pool"), HELIO_SPEC_CONTRADICTION_PROBLEM, NULL,
                                       "site '%.*s' has no pool '%.*s' with GPUs", HELIO_TEXT_ARGS(profile->name),
                                       HELIO_TEXT_ARGS(window->pool));
        if (profile->pools.items[pool].elastic || profile->pools.items[pool].spot)
            return helio_spec_diagnose(reader, helio_spec_find(item, "pool"), HELIO_SPEC_FORBIDDEN_PROBLEM, NULL,
                                       "windows of elastic and spot pools are not simulated");
        if (window->when.size && helio_schedule_parse(window->when, &schedule, &why) != HELIO_OK)
            return helio_spec_diagnose(reader, helio_spec_find(item, "when"), HELIO_SPEC_BAD_VALUE_PROBLEM, NULL, "%s",
                                       why.text);
    }
    return HELIO_OK;
}

/*  ---- links ---- */

static const helio_spec_field_t link_fields[] = {
    {.key = "from",
     .kind = HELIO_SPEC_TEXT,
     .offset = offsetof(exp_link_t, from),
     .required = true,
     .example = "oregon",
     .doc = "A site, or \"*\" for any."},
    {.key = "to",
     .kind = HELIO_SPEC_TEXT,
     .offset = offsetof(exp_link_t, to),
     .required = true,
     .example = "\"*\"",
     .doc = "A site, or \"*\" for any."},
    {.key = "gbps",
     .kind = HELIO_SPEC_F64,
     .offset = offsetof(exp_link_t, gbps),
     .least = GBPS_LEAST,
     .most = GBPS_MOST,
     .required = true,
     .example = "5",
     .doc = "Rate in 10^9 bits a second."},
    {.key = "egress_usd_per_gb",
     .kind = HELIO_SPEC_F64,
     .offset = offsetof(exp_link_t, egress_usd_per_gb),
     .most = EGRESS_MOST,
     .example = "0.02",
     .doc = "Price of data that leaves by it."},
    {.key = "rtt_ms",
     .kind = HELIO_SPEC_U32,
     .offset = offsetof(exp_link_t, rtt_ms),
     .set_offset = offsetof(exp_link_t, rtt_known),
     .most = HELIO_LINK_RTT_MS_MAX,
     .example = "90",
     .doc = "Round trip; without it, as the distance of the sites says."},
};
static const helio_spec_table_t link_table = HELIO_SPEC_TABLE("link", exp_link_t, link_fields, NULL);

static helio_rc check_end(helio_spec_reader_t *reader, const helio_spec_node_t *item, const char *key,
                          const exp_fleet_t *fleet, helio_text_t name)
{
    if (helio_text_is(name, "*") || exp_fleet_find(fleet, name) < fleet->count)
        return HELIO_OK;
    return helio_spec_diagnose(reader, helio_spec_find(item, key), HELIO_SPEC_CONTRADICTION_PROBLEM, NULL,
                               "the fleet has no site '%.*s'", HELIO_TEXT_ARGS(name));
}

static helio_rc check_links(helio_spec_reader_t *reader, const helio_spec_node_t *node, const exp_fleet_t *fleet)
{
    const helio_spec_node_t *list = helio_spec_find(node, "links"), *item = list ? list->first : NULL;
    helio_rc rc = HELIO_OK;
    for (uint32_t i = 0; rc == HELIO_OK && i < fleet->links.count; i++, item = item->next) {
        const exp_link_t *link = &fleet->links.items[i];
        rc = check_end(reader, item, "from", fleet, link->from);
        rc = rc == HELIO_OK ? check_end(reader, item, "to", fleet, link->to) : rc;
        for (uint32_t k = 0; rc == HELIO_OK && k < i; k++)
            if (helio_text_equal(fleet->links.items[k].from, link->from) &&
                helio_text_equal(fleet->links.items[k].to, link->to))
                rc = helio_spec_diagnose(reader, item, HELIO_SPEC_CONTRADICTION_PROBLEM, NULL,
                                         "a second link from '%.*s' to '%.*s'", HELIO_TEXT_ARGS(link->from),
                                         HELIO_TEXT_ARGS(link->to));
    }
    return rc;
}

/*  ---- tenants ---- */

static helio_rc check_queue_quota(helio_spec_reader_t *reader, const helio_spec_node_t *node, void *ret_struct)
{
    const exp_queue_quota_t *quota = ret_struct;
    if (!exp_queue_find(quota->queue))
        return helio_spec_diagnose(reader, helio_spec_find(node, "queue"), HELIO_SPEC_CONTRADICTION_PROBLEM, NULL,
                                   "there is no queue '%.*s': express, reserved, standard, batch and preemptible exist",
                                   HELIO_TEXT_ARGS(quota->queue));
    if (quota->limited && quota->guaranteed_gpus > quota->burst_gpus)
        return helio_spec_diagnose(reader, helio_spec_find(node, "guaranteed_gpus"), HELIO_SPEC_CONTRADICTION_PROBLEM,
                                   NULL, "more than burst_gpus");
    return HELIO_OK;
}

static const helio_spec_field_t queue_quota_fields[] = {
    {.key = "queue",
     .kind = HELIO_SPEC_TEXT,
     .offset = offsetof(exp_queue_quota_t, queue),
     .required = true,
     .example = "express",
     .doc = "One of the default queues."},
    {.key = "guaranteed_gpus",
     .kind = HELIO_SPEC_U32,
     .offset = offsetof(exp_queue_quota_t, guaranteed_gpus),
     .most = HELIO_QUOTA_GPUS_MAX,
     .example = "16",
     .doc = "Below it, the tenant is considered first."},
    {.key = "burst_gpus",
     .kind = HELIO_SPEC_U32,
     .offset = offsetof(exp_queue_quota_t, burst_gpus),
     .set_offset = offsetof(exp_queue_quota_t, limited),
     .most = HELIO_QUOTA_GPUS_MAX,
     .example = "64",
     .doc = "At once, over all sites; without it the queue's default."},
};
static const helio_spec_table_t queue_quota_table =
    HELIO_SPEC_TABLE("quota", exp_queue_quota_t, queue_quota_fields, check_queue_quota);

static helio_rc check_tenant(helio_spec_reader_t *reader, const helio_spec_node_t *node, void *ret_struct)
{
    const exp_tenant_t *tenant = ret_struct;
    if (helio_text_is(tenant->name, EXP_EACH_TENANT) &&
        (tenant->limited || tenant->guaranteed_gpus || helio_spec_find(node, "weight")))
        return helio_spec_diagnose(reader, helio_spec_find(node, "name"), HELIO_SPEC_CONTRADICTION_PROBLEM, NULL,
                                   "'*' is each team in single queues: its quotas are under queues");
    if (tenant->limited && tenant->guaranteed_gpus > tenant->burst_gpus)
        return helio_spec_diagnose(reader, helio_spec_find(node, "guaranteed_gpus"), HELIO_SPEC_CONTRADICTION_PROBLEM,
                                   NULL, "more than burst_gpus");
    return HELIO_OK;
}

static const helio_spec_field_t tenant_fields[] = {
    {.key = "name",
     .kind = HELIO_SPEC_TEXT,
     .offset = offsetof(exp_tenant_t, name),
     .required = true,
     .example = "vision",
     .doc = "A team of the trace; \"*\" is each team without a quota of its own in a queue."},
    {.key = "weight",
     .kind = HELIO_SPEC_F64,
     .offset = offsetof(exp_tenant_t, weight),
     .least = WEIGHT_LEAST,
     .most = WEIGHT_MOST,
     .fallback = "1",
     .example = "2",
     .doc = "Its part of contended capacity."},
    {.key = "guaranteed_gpus",
     .kind = HELIO_SPEC_U32,
     .offset = offsetof(exp_tenant_t, guaranteed_gpus),
     .most = HELIO_QUOTA_GPUS_MAX,
     .example = "16",
     .doc = "Below it, the tenant is considered first."},
    {.key = "burst_gpus",
     .kind = HELIO_SPEC_U32,
     .offset = offsetof(exp_tenant_t, burst_gpus),
     .set_offset = offsetof(exp_tenant_t, limited),
     .most = HELIO_QUOTA_GPUS_MAX,
     .example = "64",
     .doc = "At once, over all sites and queues; without it there is no limit."},
    {.key = "queues",
     .kind = HELIO_SPEC_LIST,
     .offset = offsetof(exp_tenant_t, queues),
     .most = 5, /* the default queues */
     .table = &queue_quota_table,
     .example = "[{queue: express, burst_gpus: 16}]",
     .doc = "Quotas in single queues."},
};
static const helio_spec_table_t tenant_table = HELIO_SPEC_TABLE("tenant", exp_tenant_t, tenant_fields, check_tenant);

static helio_rc check_tenants(helio_spec_reader_t *reader, const helio_spec_node_t *node, const exp_tenants_t *tenants)
{
    const helio_spec_node_t *list = helio_spec_find(node, "tenants"), *item = list ? list->first : NULL;
    for (uint32_t i = 0; i < tenants->count; i++, item = item->next)
        for (uint32_t k = 0; k < i; k++)
            if (helio_text_equal(tenants->items[k].name, tenants->items[i].name))
                return helio_spec_diagnose(reader, helio_spec_find(item, "name"), HELIO_SPEC_CONTRADICTION_PROBLEM,
                                           NULL, "two tenants are named '%.*s'",
                                           HELIO_TEXT_ARGS(tenants->items[i].name));
    return HELIO_OK;
}

/*  ---- the file ---- */

static helio_rc check_fleet(helio_spec_reader_t *reader, const helio_spec_node_t *node, void *ret_struct)
{
    exp_fleet_t *fleet = ret_struct;
    const helio_spec_node_t *sites = helio_spec_find(node, "sites"), *item = sites->first;
    for (uint32_t i = 0; i < fleet->count; i++, item = item->next) {
        helio_rc rc = check_site(reader, item, &fleet->items[i]);
        rc = rc == HELIO_OK ? check_outages(reader, item, &fleet->items[i].outages) : rc;
        rc = rc == HELIO_OK ? check_windows(reader, item, &fleet->items[i]) : rc;
        if (rc != HELIO_OK)
            return rc;
        if (exp_fleet_find(fleet, fleet->items[i].profile.name) < i)
            return helio_spec_diagnose(reader, helio_spec_find(item, "name"), HELIO_SPEC_CONTRADICTION_PROBLEM, NULL,
                                       "two sites are named '%.*s'", HELIO_TEXT_ARGS(fleet->items[i].profile.name));
    }
    if (!exp_fleet_gpus(fleet))
        return helio_spec_diagnose(reader, sites, HELIO_SPEC_MISSING_PROBLEM, NULL, "sites: the fleet has no GPU");
    helio_rc rc = check_links(reader, node, fleet);
    return rc == HELIO_OK ? check_tenants(reader, node, &fleet->tenants) : rc;
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
    {.key = "links",
     .kind = HELIO_SPEC_LIST,
     .offset = offsetof(exp_fleet_t, links),
     .most = LINKS_MAX,
     .table = &link_table,
     .example = "[{from: oregon, to: \"*\", gbps: 5, egress_usd_per_gb: 0.02, rtt_ms: 90}]",
     .doc = "Links between sites."},
    {.key = "tenants",
     .kind = HELIO_SPEC_LIST,
     .offset = offsetof(exp_fleet_t, tenants),
     .most = TENANTS_MAX,
     .table = &tenant_table,
     .example = "[{name: vision, weight: 2, guaranteed_gpus: 16}]",
     .doc = "Quotas and shares of teams that have others than the defaults."},
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

uint32_t exp_fleet_find_pool(const helio_site_profile_t *site, helio_text_t name)
{
    uint32_t i = 0;
    while (i < site->pools.count && !helio_text_equal(site->pools.items[i].name, name))
        i++;
    return i;
}

uint32_t exp_fleet_pool_number(const exp_fleet_t *self, uint32_t site, uint32_t pool)
{
    for (uint32_t i = 0; i < site; i++)
        pool += self->items[i].profile.pools.count;
    return pool;
}

uint64_t exp_fleet_gpus(const exp_fleet_t *self)
{
    uint64_t gpus = 0;
    for (uint32_t i = 0; i < self->count; i++)
        for (uint32_t p = 0; p < self->items[i].profile.pools.count; p++)
            gpus += (uint64_t)helio_pool_nodes_most(&self->items[i].profile.pools.items[p]) *
                    self->items[i].profile.pools.items[p].gpus_per_node;
    return gpus;
}

bool exp_fleet_has_windows(const exp_fleet_t *self)
{
    for (uint32_t i = 0; i < self->count; i++)
        if (self->items[i].windows.count)
            return true;
    return false;
}

bool exp_fleet_has_outages(const exp_fleet_t *self)
{
    for (uint32_t i = 0; i < self->count; i++)
        if (self->items[i].outages.count)
            return true;
    return false;
}

bool exp_fleet_has_instances(const exp_fleet_t *self)
{
    bool any = false;
    for (uint32_t i = 0; i < self->count; i++)
        for (uint32_t p = 0; p < self->items[i].profile.pools.count; p++)
            any = any || self->items[i].profile.pools.items[p].elastic || self->items[i].profile.pools.items[p].spot;
    return any;
}

exp_fleet_t exp_fleet_copy(const exp_fleet_t *self, helio_arena_t *arena)
{
    exp_fleet_t copy = *self;
    copy.items = helio_arena_alloc(arena, self->count, sizeof *copy.items);
    for (uint32_t i = 0; i < self->count; i++) {
        copy.items[i] = self->items[i];
        uint32_t pools = self->items[i].profile.pools.count;
        copy.items[i].profile.pools.items = helio_arena_alloc(arena, pools, sizeof(helio_pool_t));
        for (uint32_t p = 0; p < pools; p++)
            copy.items[i].profile.pools.items[p] = self->items[i].profile.pools.items[p];
    }
    return copy;
}

static double scaled(uint32_t nodes, double factor)
{
    return nodes ? fmax(1, round(nodes * factor)) : 0;
}

helio_rc exp_fleet_scale(exp_fleet_t *self, double factor)
{
    for (uint32_t i = 0; i < self->count; i++) {
        for (uint32_t p = 0; p < self->items[i].profile.pools.count; p++) {
            helio_pool_t *pool = &self->items[i].profile.pools.items[p];
            double nodes = scaled(pool->nodes, factor),
                   more = scaled(helio_pool_nodes_most(pool) - pool->nodes, factor);
            if (!(nodes + more <= HELIO_JOB_NODES_MAX) || !(more <= HELIO_SCALE_INSTANCES_MAX))
                return HELIO_TOO_BIG;
            pool->nodes = (uint32_t)nodes;
            pool->max_nodes = pool->max_nodes ? pool->nodes + (uint32_t)more : 0;
        }
    }
    return HELIO_OK;
}
