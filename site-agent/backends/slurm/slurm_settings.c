/*  slurm_settings.c -- the keys that the backend `slurm` adds to a site file, and what follows from them. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "site-agent/backends/slurm/slurm_internal.h"

#define AT(member) .offset = offsetof(helio_slurm_settings_t, member)
#define POOL(member) .offset = offsetof(helio_slurm_pool_t, member)

enum { PATH_MOST = 2048 };

static bool is_option(helio_text_t text)
{
    for (uint32_t i = 0; i < text.size; i++)
        if (!(islower((unsigned char)text.data[i]) || isdigit((unsigned char)text.data[i]) ||
              (text.data[i] == '-' && i > 0)))
            return false;
    return text.size > 1 && text.size <= 64;
}
static const helio_spec_rule_t option_rule = {is_option, "a long option of sbatch without its dashes",
                                              "^[a-z0-9][a-z0-9-]{1,63}$"};

static bool is_word(helio_text_t text)
{
    for (uint32_t i = 0; i < text.size; i++)
        if (!(isalnum((unsigned char)text.data[i]) || strchr("_.-", text.data[i])))
            return false;
    return text.size > 0 && text.data[0] != '-';
}
static const helio_spec_rule_t word_rule = {is_word, "letters, digits, '_', '.' and '-'",
                                            "^[A-Za-z0-9_.][A-Za-z0-9_.-]*$"};

static bool is_gres(helio_text_t text)
{
    return helio_text_is(text, "*") || is_word(text);
}
static const helio_spec_rule_t gres_rule = {is_gres, "a GRES type, or '*' for any",
                                            "^([*]|[A-Za-z0-9_.][A-Za-z0-9_.-]*)$"};

static const helio_spec_field_t pool_fields[] = {
    {.key = "pool",
     .kind = HELIO_SPEC_TEXT,
     POOL(pool),
     .required = true,
     .most = 32,
     .example = "h100",
     .doc = "Name of a pool of this file."},
    {.key = "partition",
     .kind = HELIO_SPEC_TEXT,
     POOL(partition),
     .most = 64,
     .rule = &word_rule,
     .example = "gpu",
     .doc = "The partition whose nodes make up the pool. Default: the cluster's default partition."},
    {.key = "gres",
     .kind = HELIO_SPEC_TEXT,
     POOL(gres),
     .most = 64,
     .rule = &gres_rule,
     .example = "h100",
     .doc =
         "The GRES type, as in `gpu:h100:8` or `gpu:a100_1g.5gb:7`; `*` is any. `shard` or `mps`: the pool has shares of GPUs by "
         "that resource, and says `sharing: timeslice` or `sharing: mps`. Default: the type that is the pool's `gpu`, or the name of "
         "a product of it (`nvidia_h100_80gb_hbm3` for `H100`, `a100_1g.5gb` for `A100/1g.5gb`)."},
    {.key = "units",
     .kind = HELIO_SPEC_U32,
     POOL(units),
     .least = 1,
     .most = 10000,
     .fallback = "1",
     .example = "25",
     .doc =
         "With `gres: shard` or `gres: mps`: how much of it is one GPU of the pool. `25` of the 100 that a GPU has by `mps` are a quarter."},
};
static const helio_spec_table_t pool_table = HELIO_SPEC_TABLE("pools", helio_slurm_pool_t, pool_fields, NULL);

static const helio_spec_field_t fields[] = {
    {.key = "shared",
     .kind = HELIO_SPEC_PATH,
     AT(shared),
     .most = PATH_MOST,
     .example = "/shared/heliostat",
     .doc = "Folder that this host and all nodes see under the same path; attempts, their output and the "
            "shim live there. "
            "The backend `slurm` needs it."},
    {.key = "conf",
     .kind = HELIO_SPEC_PATH,
     AT(conf),
     .most = PATH_MOST,
     .example = "/etc/slurm/slurm.conf",
     .doc = "SLURM_CONF of the cluster. Default: Slurm's own."},
    {.key = "commands",
     .kind = HELIO_SPEC_PATH,
     AT(commands),
     .most = PATH_MOST,
     .example = "/opt/slurm/bin",
     .doc = "Folder of sbatch, squeue, scontrol, scancel and sacct. Default: found by PATH."},
    {.key = "poll",
     .kind = HELIO_SPEC_DURATION,
     AT(poll_ms),
     .least = 1000,
     .most = 60000,
     .fallback = "2s",
     .example = "2s",
     .doc =
         "Interval at which the queue is read, with one command for all jobs. A slow controller is queried less often."},
    {.key = "timeout",
     .kind = HELIO_SPEC_DURATION,
     AT(timeout_ms),
     .least = 1000,
     .most = 600000,
     .fallback = "30s",
     .example = "30s",
     .doc = "Time limit of one Slurm command."},
    {.key = "withdraw",
     .kind = HELIO_SPEC_DURATION,
     AT(withdraw_ms),
     .most = 2592000000,
     .fallback = "10m",
     .example = "10m",
     .doc =
         "How long a job can wait in the cluster's queue while no job of its size can start there (nodes drained or down, "
         "the partition closed), or while it is held; while a limit of its account or QOS is reached, at most a minute. Then "
         "the agent withdraws it, unless it has "
         "started, and the broker places it again. `0s`: never."},
    {.key = "queue_ahead",
     .kind = HELIO_SPEC_DURATION,
     AT(ahead_ms),
     .most = 60000,
     .fallback = "8s",
     .example = "8s",
     .doc =
         "How long before running jobs are expected to end the next jobs can be queued at the cluster, so that no GPU is "
         "idle between them; of short jobs up to four for each GPU. The expectation is based on the run times of jobs of the same user, "
         "size and time limit. `0s`: never."},
    {.key = "prolog",
     .kind = HELIO_SPEC_DURATION,
     AT(prolog_ms),
     .least = 1000,
     .most = 3600000,
     .example = "30s",
     .doc =
         "The longest time between Slurm's start of a job and its first program: prologs, nodes that power up, "
         "slow disks. A job whose status files leave out more of the time that it was on its nodes is charged "
         "by Slurm's times, and no other job is charged for more of it. Default: `10s`, or `2m` where the cluster has prologs or powers nodes up."},
    {.key = "clock_tolerance",
     .kind = HELIO_SPEC_DURATION,
     AT(clock_tolerance_ms),
     .most = 3600000,
     .fallback = "5s",
     .example = "5s",
     .doc = "Maximum difference between the clocks of nodes and of this host; leases are shortened by this time."},
    {.key = "pools",
     .kind = HELIO_SPEC_LIST,
     AT(pools),
     .most = HELIO_SITE_POOLS_MAX,
     .table = &pool_table,
     .example = "[{pool: h100, partition: gpu, gres: h100}]",
     .doc =
         "Which nodes make up each pool. A pool that is not named here consists of the nodes of the default partition "
         "with its `gpu`."},
    {.key = "options",
     .kind = HELIO_SPEC_STRINGS,
     AT(options),
     .most = 64,
     .rule = &option_rule,
     .example = "[core-spec]",
     .doc = "Further long options of sbatch that jobs can set in their `slurm:` part."},
    {.key = "shim",
     .kind = HELIO_SPEC_PATH,
     AT(shim),
     .most = PATH_MOST,
     .example = "/usr/libexec/heliostat/helio-shim",
     .doc = "helio-shim on the nodes. Default: a copy that the agent puts into `shared`."},
};
const helio_spec_table_t helio_slurm_settings_table = HELIO_SPEC_TABLE("slurm", helio_slurm_settings_t, fields, NULL);

void helio_slurm_settings_copy(const helio_slurm_settings_t *from, helio_arena_t *arena, helio_slurm_settings_t *ret)
{
    *ret = *from;
    ret->shared = helio_arena_text(arena, from->shared);
    ret->conf = helio_arena_text(arena, from->conf);
    ret->commands = helio_arena_text(arena, from->commands);
    ret->shim = helio_arena_text(arena, from->shim);
    ret->pools.items = helio_arena_alloc(arena, from->pools.count + 1, sizeof *from->pools.items);
    for (uint32_t i = 0; i < from->pools.count; i++) {
        helio_slurm_pool_t *pool = &ret->pools.items[i];
        *pool = from->pools.items[i];
        pool->pool = helio_arena_text(arena, pool->pool);
        pool->partition = helio_arena_text(arena, pool->partition);
        pool->gres = helio_arena_text(arena, pool->gres);
    }
    ret->options.items = helio_arena_alloc(arena, from->options.count + 1, sizeof *from->options.items);
    for (uint32_t i = 0; i < from->options.count; i++)
        ret->options.items[i].text = helio_arena_text(arena, from->options.items[i].text);
}

static helio_text_t type_of(helio_arena_t *arena, helio_text_t text)
{
    char *copy = helio_arena_alloc(arena, text.size + 1, 1);
    for (uint32_t i = 0; i < text.size; i++)
        copy[i] = text.data[i] == '/' ? '_' : (char)tolower((unsigned char)text.data[i]);
    return (helio_text_t){copy, text.size};
}

void helio_slurm_pool_of(const helio_slurm_settings_t *settings, const helio_site_profile_t *site, helio_text_t pool,
                         helio_arena_t *arena, helio_slurm_pool_t *ret_pool)
{
    helio_slurm_pool_t found = {.pool = pool};
    for (uint32_t i = 0; i < settings->pools.count; i++)
        if (helio_text_equal(settings->pools.items[i].pool, pool))
            found = settings->pools.items[i];
    for (uint32_t i = 0; !found.gres.size && i < site->pools.count; i++)
        if (helio_text_equal(site->pools.items[i].name, pool))
            found.gres = type_of(arena, site->pools.items[i].gpu);
    *ret_pool = found;
}

/*  Made from nothing: a SBATCH_… or SQUEUE_… variable of the agent's environment would change what every command
 *  does. */
void helio_slurm_environment(const helio_slurm_settings_t *settings, helio_arena_t *arena,
                             helio_commands_options_t *ret_options)
{
    const char *usual = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin", *own = getenv("PATH");
    if (settings->commands.size)
        own = helio_arena_printf(arena, "%.*s:%s", HELIO_TEXT_ARGS(settings->commands), usual).data;
    else if (!own || !*own)
        own = usual;
    const char **env = helio_arena_alloc(arena, 4, sizeof *env);
    env[0] = "LC_ALL=C";
    env[1] = "TZ=UTC";
    if (settings->conf.size)
        env[2] = helio_arena_printf(arena, "SLURM_CONF=%.*s", HELIO_TEXT_ARGS(settings->conf)).data;
    *ret_options = (helio_commands_options_t){.path = own, .env = env, .at_once = 4, .queue_max = 4096};
}
