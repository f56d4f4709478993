/*  shares.c -- the keys `shares` of a site file. */
#include "site-agent/agent/shares.h"

#include <stddef.h>

#include "federation/energy/power.h"

#define AT(member) .offset = offsetof(helio_share_rule_t, member)

static const helio_spec_field_t fields[] = {
    {.key = "pool",
     .kind = HELIO_SPEC_TEXT,
     AT(pool),
     .required = true,
     .most = 32,
     .example = "l4",
     .doc =
         "A pool of one node with `sharing: mps` or `sharing: timeslice`. Its `gpus_per_node`, `memory`, power and price are those of "
         "a share: a GPU has `jobs_per_gpu` of them."},
    {.key = "jobs_per_gpu",
     .kind = HELIO_SPEC_U32,
     AT(jobs_per_gpu),
     .required = true,
     .least = 2,
     .most = HELIO_SHARES_JOBS_PER_GPU_MAX,
     .example = "4",
     .doc =
         "How many shares a GPU has, so that at most so many jobs use it at a time. With MPS each share is so much of its compute "
         "units and of its memory; with time-slicing nothing bounds what a job takes while its turn lasts."},
    {.key = "mps_command",
     .kind = HELIO_SPEC_STRINGS,
     AT(mps_command),
     .most = HELIO_SHARES_COMMAND_MAX,
     .example = "[nvidia-cuda-mps-control, -d]",
     .doc =
         "With `sharing: mps`: the command that starts the pool's MPS daemon, unless one runs; no shell reads it. It finds its GPUs "
         "and directories in `CUDA_VISIBLE_DEVICES`, `CUDA_MPS_PIPE_DIRECTORY` and `CUDA_MPS_LOG_DIRECTORY`, and ends when the "
         "daemon runs. Default: `[nvidia-cuda-mps-control, -d]`."},
};
const helio_spec_table_t helio_share_rule_table = HELIO_SPEC_TABLE("shares", helio_share_rule_t, fields, NULL);

static const helio_pool_t *pool_of(const helio_site_profile_t *site, helio_text_t name)
{
    for (uint32_t i = 0; i < site->pools.count; i++)
        if (helio_text_equal(site->pools.items[i].name, name))
            return &site->pools.items[i];
    return NULL;
}

static helio_rc check_one(const helio_share_rules_t *rules, uint32_t index, const helio_site_profile_t *site,
                          helio_error_t *err)
{
    const helio_share_rule_t *rule = &rules->items[index];
    const helio_pool_t *pool = pool_of(site, rule->pool);
    if (!pool)
        return helio_fail(err, HELIO_INVALID, "agent.shares: the site has no pool '%.*s'", HELIO_TEXT_ARGS(rule->pool));
    for (uint32_t i = 0; i < index; i++)
        if (helio_text_equal(rules->items[i].pool, rule->pool))
            return helio_fail(err, HELIO_INVALID, "agent.shares: two entries are of the pool '%.*s'",
                              HELIO_TEXT_ARGS(rule->pool));
    if (pool->sharing != HELIO_SHARING_MPS && pool->sharing != HELIO_SHARING_TIMESLICE)
        return helio_fail(err, HELIO_INVALID,
                          "agent.shares: the pool '%.*s' has sharing '%s'\nhelp: say `sharing: mps` or `sharing: "
                          "timeslice` in the pool, or remove the entry",
                          HELIO_TEXT_ARGS(rule->pool), helio_sharing_name(pool->sharing));
    if (pool->nodes != 1)
        return helio_fail(err, HELIO_INVALID, "agent.shares: the pool '%.*s' has %u nodes, and this machine is one",
                          HELIO_TEXT_ARGS(rule->pool), pool->nodes);
    if (rule->mps_command.count && pool->sharing != HELIO_SHARING_MPS)
        return helio_fail(err, HELIO_INVALID,
                          "agent.shares: '%.*s' is not shared by MPS\nhelp: remove mps_command, or say `sharing: mps`",
                          HELIO_TEXT_ARGS(rule->pool));
    return HELIO_OK;
}

helio_rc helio_shares_check(const helio_share_rules_t *rules, const helio_site_profile_t *site, helio_error_t *err)
{
    if (rules->count && !helio_text_is(site->backend, "local"))
        return helio_fail(err, HELIO_INVALID,
                          "agent.shares: only the backend `local` hands out shares of GPUs itself; elsewhere the "
                          "scheduler does\nhelp: remove `shares`");
    helio_rc rc = HELIO_OK;
    for (uint32_t i = 0; i < rules->count && !rc; i++)
        rc = check_one(rules, i, site, err);
    return rc;
}

const helio_share_rule_t *helio_shares_of(const helio_share_rules_t *rules, helio_text_t pool)
{
    for (uint32_t i = 0; i < rules->count; i++)
        if (helio_text_equal(rules->items[i].pool, pool))
            return &rules->items[i];
    return NULL;
}

uint32_t helio_shares_per_gpu(const helio_share_rules_t *rules, helio_text_t pool)
{
    const helio_share_rule_t *rule = helio_shares_of(rules, pool);
    return rule ? rule->jobs_per_gpu : 1;
}

void helio_shares_fill_power(const helio_share_rules_t *rules, helio_pool_t *pool)
{
    double per = helio_shares_per_gpu(rules, pool->name);
    if (!helio_power_fill(pool))
        return;
    pool->idle_w /= per;
    pool->base_w /= per;
    pool->slope_w /= per;
    pool->host_w /= per;
}
