/*  settings.c -- the keys `scale` of a site file. */
#include "site-agent/scale/settings.h"

#include <stddef.h>

#define AT(member) .offset = offsetof(helio_scale_rule_t, member)

static const helio_spec_field_t fields[] = {
    {.key = "pool",
     .kind = HELIO_SPEC_TEXT,
     AT(pool),
     .required = true,
     .most = 32,
     .example = "a100-cloud",
     .doc = "The pool. It becomes elastic: what it can have is `max` nodes more than its `nodes`."},
    {.key = "command",
     .kind = HELIO_SPEC_STRINGS,
     AT(command),
     .most = 64,
     .example = "[/etc/heliostat/provider]",
     .doc =
         "The provider's command and its arguments; no shell reads them. The agent adds `list POOL`, `create POOL COUNT` or "
         "`delete POOL NAME`. Of the agent's environment it gets PATH and HOME. Default: the agent adds and ends nothing, an autoscaler of "
         "yours does, by the GPUs that the broker wants there; then only `max` counts. A site with the backend `kubernetes` has no command."},
    {.key = "up_above",
     .kind = HELIO_SPEC_U32,
     AT(up_above),
     .most = 100000,
     .fallback = "0",
     .example = "0",
     .doc = "The pool grows while waiting jobs want more nodes than this."},
    {.key = "up_for",
     .kind = HELIO_SPEC_DURATION,
     AT(up_for_ms),
     .most = 86400000,
     .fallback = "10s",
     .example = "10s",
     .doc = "For how long they must have wanted that."},
    {.key = "down_below",
     .kind = HELIO_SPEC_U32,
     AT(down_below),
     .least = 1,
     .most = 100000,
     .fallback = "1",
     .example = "1",
     .doc = "The pool shrinks while waiting jobs want fewer nodes than this: an instance without a job is ended."},
    {.key = "down_for",
     .kind = HELIO_SPEC_DURATION,
     AT(down_for_ms),
     .most = 604800000,
     .fallback = "10m",
     .example = "10m",
     .doc = "For how long they must have wanted so few, and the instance must have had no job."},
    {.key = "min",
     .kind = HELIO_SPEC_U32,
     AT(min),
     .most = 4096,
     .fallback = "0",
     .example = "0",
     .doc = "Instances that always run."},
    {.key = "max",
     .kind = HELIO_SPEC_U32,
     AT(max),
     .required = true,
     .least = 1,
     .most = 4096,
     .example = "8",
     .doc = "Instances that run at most."},
    {.key = "poll",
     .kind = HELIO_SPEC_DURATION,
     AT(poll_ms),
     .least = 200,
     .most = 3600000,
     .fallback = "15s",
     .example = "15s",
     .doc = "Time between two lists."},
    {.key = "timeout",
     .kind = HELIO_SPEC_DURATION,
     AT(timeout_ms),
     .least = 1000,
     .most = 3600000,
     .fallback = "2m",
     .example = "2m",
     .doc = "Maximum time of one run of the command; then it is killed, and the next list shows what it did."},
    {.key = "notice",
     .kind = HELIO_SPEC_PATH,
     AT(notice),
     .most = 511,
     .example = "/shared/heliostat/notices",
     .doc =
         "Folder of interruption notices: a file named as an instance says that the provider takes it away. The agent looks twice a "
         "second. Only its user and root may write there, and into the folders above: `helio-agent check` fails otherwise. Default: only "
         "what `list` says counts."},
};
const helio_spec_table_t helio_scale_rule_table = HELIO_SPEC_TABLE("scale", helio_scale_rule_t, fields, NULL);

static helio_pool_t *pool_of(const helio_site_profile_t *site, helio_text_t name)
{
    for (uint32_t i = 0; i < site->pools.count; i++)
        if (helio_text_equal(site->pools.items[i].name, name))
            return &site->pools.items[i];
    return NULL;
}

static helio_rc settle_one(const helio_scale_rule_t *rule, const helio_site_profile_t *site, helio_error_t *err)
{
    helio_pool_t *pool = pool_of(site, rule->pool);
    if (!pool)
        return helio_fail(err, HELIO_INVALID, "agent.scale: the site has no pool '%.*s'", HELIO_TEXT_ARGS(rule->pool));
    if (pool->elastic)
        return helio_fail(err, HELIO_INVALID, "agent.scale: two entries are of the pool '%.*s'",
                          HELIO_TEXT_ARGS(rule->pool));
    if (rule->min > rule->max)
        return helio_fail(err, HELIO_INVALID, "agent.scale: min %u is more than max %u", rule->min, rule->max);
    if (!rule->command.count && (rule->min || rule->notice.size))
        return helio_fail(err, HELIO_INVALID,
                          "agent.scale: '%.*s' has no command, so min and notice do nothing\nhelp: add command, or "
                          "remove both",
                          HELIO_TEXT_ARGS(rule->pool));
    if (rule->command.count && !helio_text_is(site->backend, "exec"))
        return helio_fail(err, HELIO_INVALID,
                          "agent.scale: only a site with the backend `exec` adds nodes by a command\nhelp: remove "
                          "command, and let an autoscaler of the cluster add them");
    pool->elastic = true;
    pool->max_nodes = pool->nodes + rule->max;
    return HELIO_OK;
}

helio_rc helio_scale_settle(const helio_scale_rules_t *rules, helio_site_profile_t *site, helio_error_t *err)
{
    if (rules->count && !helio_text_is(site->backend, "exec") && !helio_text_is(site->backend, "kubernetes"))
        return helio_fail(
            err, HELIO_INVALID,
            "agent.scale: only sites with the backends `exec` and `kubernetes` have elastic pools; the nodes of others "
            "come and go with their own scheduler\nhelp: remove `scale`");
    helio_rc rc = HELIO_OK;
    for (uint32_t i = 0; i < rules->count && !rc; i++)
        rc = settle_one(&rules->items[i], site, err);
    for (uint32_t i = 0; i < site->pools.count && !rc; i++) {
        const helio_pool_t *pool = &site->pools.items[i];
        if (!pool->elastic && pool->max_nodes > pool->nodes && !helio_text_is(site->backend, "slurm"))
            rc = helio_fail(err, HELIO_INVALID,
                            "pools: '%.*s' has max_nodes %u, and nothing adds nodes to its %u\n"
                            "help: add `scale: [{pool: %.*s, max: %u}]` under `agent`, or remove max_nodes",
                            HELIO_TEXT_ARGS(pool->name), pool->max_nodes, pool->nodes, HELIO_TEXT_ARGS(pool->name),
                            pool->max_nodes - pool->nodes);
    }
    return rc;
}
