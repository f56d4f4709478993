/*  scales.c -- which pools of a site grow and shrink, and by which rule. */
#include "simulator/experiment/scales.h"

#include <string.h>

#include "federation/spec/reader.h"
#include "site-agent/scale/plan.h"

static helio_pool_t *pool_of(const exp_fleet_site_t *site, helio_text_t name)
{
    for (uint32_t i = 0; i < site->profile.pools.count; i++)
        if (helio_text_equal(site->profile.pools.items[i].name, name))
            return &site->profile.pools.items[i];
    return NULL;
}

static helio_rc settle_one(helio_spec_reader_t *reader, const helio_spec_node_t *item, const helio_scale_rule_t *rule,
                           exp_fleet_site_t *site)
{
    helio_pool_t *pool = pool_of(site, rule->pool);
    if (!pool || !pool->gpus_per_node)
        return helio_spec_diagnose(reader, helio_spec_find(item, "pool"), HELIO_SPEC_CONTRADICTION_PROBLEM, NULL,
                                   "site '%.*s' has no pool '%.*s' with GPUs", HELIO_TEXT_ARGS(site->profile.name),
                                   HELIO_TEXT_ARGS(rule->pool));
    if (pool->elastic)
        return helio_spec_diagnose(reader, helio_spec_find(item, "pool"), HELIO_SPEC_CONTRADICTION_PROBLEM, NULL,
                                   "two entries are of the pool '%.*s'", HELIO_TEXT_ARGS(rule->pool));
    if (rule->min > rule->max)
        return helio_spec_diagnose(reader, helio_spec_find(item, "min"), HELIO_SPEC_CONTRADICTION_PROBLEM, NULL,
                                   "min %u is more than max %u", rule->min, rule->max);
    pool->elastic = true;
    pool->max_nodes = pool->nodes + rule->max;
    return HELIO_OK;
}

static void add_default(helio_arena_t *arena, exp_fleet_site_t *site, helio_pool_t *pool)
{
    helio_scale_rules_t *rules = &site->scale;
    helio_scale_rule_t *items = helio_arena_alloc(arena, rules->count + 1, sizeof *items);
    if (rules->count)
        memcpy(items, rules->items, rules->count * sizeof *items);
    helio_spec_defaults(&helio_scale_rule_table, arena, &items[rules->count]);
    items[rules->count].pool = pool->name;
    items[rules->count++].max = pool->max_nodes - pool->nodes;
    rules->items = items;
    pool->elastic = true;
}

helio_rc exp_scales_settle(helio_spec_reader_t *reader, const helio_spec_node_t *node, exp_fleet_site_t *site)
{
    const helio_spec_node_t *agent = helio_spec_find(node, "agent");
    const helio_spec_node_t *there =
        agent && agent->type == HELIO_SPEC_MAPPING ? helio_spec_find(agent, "scale") : NULL;
    const helio_spec_node_t *list = helio_spec_find(node, "scale"), *item = list ? list->first : NULL;
    if (there)
        return helio_spec_diagnose(reader, there, HELIO_SPEC_FORBIDDEN_PROBLEM,
                                   "move `scale` out of `agent`, beside `pools`",
                                   "the settings of the agent are not read here");
    helio_rc rc = HELIO_OK;
    for (uint32_t i = 0; rc == HELIO_OK && i < site->scale.count; i++, item = item->next)
        rc = settle_one(reader, item, &site->scale.items[i], site);
    for (uint32_t i = 0; rc == HELIO_OK && i < site->profile.pools.count; i++) {
        helio_pool_t *pool = &site->profile.pools.items[i];
        if (pool->elastic || pool->max_nodes <= pool->nodes)
            continue;
        if (pool->max_nodes - pool->nodes > HELIO_SCALE_INSTANCES_MAX)
            return helio_spec_diagnose(reader, node, HELIO_SPEC_BAD_VALUE_PROBLEM, NULL,
                                       "site '%.*s', pool '%.*s': max_nodes is more than %d above nodes",
                                       HELIO_TEXT_ARGS(site->profile.name), HELIO_TEXT_ARGS(pool->name),
                                       HELIO_SCALE_INSTANCES_MAX);
        add_default(reader->arena, site, pool);
    }
    return rc;
}

const helio_scale_rule_t *exp_scales_rule(const exp_fleet_site_t *site, uint32_t pool)
{
    for (uint32_t i = 0; i < site->scale.count; i++)
        if (helio_text_equal(site->scale.items[i].pool, site->profile.pools.items[pool].name))
            return &site->scale.items[i];
    return NULL;
}
