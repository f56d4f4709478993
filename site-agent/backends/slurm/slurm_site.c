/*  slurm_site.c -- fills in what a site file leaves out, from the cluster itself, before the agent starts. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "federation/model/gpu_name.h"
#include "site-agent/backends/slurm/capacity_internal.h"
#include "site-agent/backends/slurm/slurm_internal.h"

typedef struct cluster {
    helio_slurm_nodes_t nodes;
    helio_slurm_partitions_t partitions;
} cluster_t;

/* ---- queries ------------------------------------------------------------------------------------------------ */

static helio_rc ask(const helio_slurm_settings_t *settings, const char *what, helio_arena_t *arena,
                    helio_text_t *ret_text, helio_error_t *err)
{
    const char *argv[] = {"scontrol", "--all", "--details", "--oneliner", "show", what, NULL};
    static const char *const env[] = {"SLURM_TIME_FORMAT=%s", NULL};
    helio_commands_options_t options;
    helio_slurm_environment(settings, arena, &options);
    helio_command_t command = {
        .argv = argv, .env = env, .timeout_ms = settings->timeout_ms, .max_bytes = HELIO_SLURM_LIST_BYTES};
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {.max = HELIO_SLURM_LIST_BYTES + 1};
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t complaint = {0};
    helio_error_t why = {0};
    int exit_code = 0;
    helio_rc rc = helio_command_wait(&options, &command, &exit_code, &out, &complaint, &why);
    if (rc)
        return helio_fail(err, rc, "scontrol: %s", why.text);
    if (exit_code || complaint.size)
        return helio_fail(err, HELIO_UNAVAILABLE, "scontrol show %s ends with %d: %.300s", what, exit_code,
                          complaint.data ? complaint.data : "");
    *ret_text = helio_arena_text(arena, helio_buffer_view(&out));
    return HELIO_OK;
}

static helio_rc ask_cluster(const helio_slurm_settings_t *settings, helio_arena_t *arena, cluster_t *ret_cluster,
                            helio_error_t *err)
{
    helio_text_t text;
    helio_rc rc = ask(settings, "node", arena, &text, err);
    if (!rc)
        rc = helio_slurm_read_nodes(text, arena, &ret_cluster->nodes, err);
    if (!rc)
        rc = ask(settings, "partition", arena, &text, err);
    return rc ? rc : helio_slurm_read_partitions(text, arena, &ret_cluster->partitions, err);
}

static bool is_set(helio_text_t config, const char *key)
{
    size_t size = strlen(key);
    for (const char *at = config.data, *end = at + config.size; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const char *is = memchr(at, '=', (size_t)((stop ? stop : end) - at));
        if (is && (size_t)(is - at) > size && memcmp(at, key, size) == 0 && at[size] == ' ')
            return (size_t)((stop ? stop : end) - is) < 8 || memcmp(is, "= (null)", 8) != 0;
        at = stop ? stop + 1 : end;
    }
    return false;
}

helio_rc helio_slurm_read_prologs(helio_text_t config, bool *ret_some)
{
    if (!config.size || !memmem(config.data, config.size, "\nProlog  ", 9))
        return HELIO_INVALID;
    *ret_some = is_set(config, "Prolog") || is_set(config, "PrologSlurmctld") || is_set(config, "ResumeProgram");
    return HELIO_OK;
}

helio_rc helio_slurm_ask_prologs(const helio_slurm_settings_t *settings, helio_arena_t *arena, bool *ret_some)
{
    helio_text_t text;
    helio_rc rc = ask(settings, "config", arena, &text, NULL);
    return rc ? rc : helio_slurm_read_prologs(text, ret_some);
}

/* ---- pools that the file names ------------------------------------------------------------------------- */

static bool is_complete(const helio_site_profile_t *site)
{
    for (uint32_t i = 0; i < site->pools.count; i++)
        if (!site->pools.items[i].nodes || (site->pools.items[i].gpu.size && !site->pools.items[i].gpus_per_node))
            return false;
    return site->pools.count > 0;
}

static bool has_partition(const cluster_t *cluster, helio_text_t name)
{
    for (uint32_t i = 0; i < cluster->partitions.count; i++)
        if (name.size ? helio_text_equal(cluster->partitions.items[i].name, name)
                      : cluster->partitions.items[i].is_default)
            return true;
    return false;
}

typedef struct sums {
    uint32_t gpus, cpus, cpus_per_gpu;
    uint64_t memory_bytes, memory_bytes_per_gpu;
    helio_text_t type;  /* in the cluster's spelling; "" = it has none */
    helio_text_t other; /* another type; "" = there is one */
    bool mixed;         /* several */
} sums_t;

/*  All of a node, of whichever pool, of which the pool's are a part. */
static uint32_t gpus_of(const helio_slurm_members_t *members, const helio_slurm_place_t *place)
{
    uint32_t sum = 0;
    if (members->part != HELIO_SLURM_WHOLE)
        return helio_slurm_total(members, place);
    for (uint32_t k = 0; k < place->node->gpu_kinds; k++)
        if (helio_slurm_part_of(place->node->gpus[k].type) == HELIO_SLURM_WHOLE)
            sum += place->node->gpus[k].count;
    return sum;
}

/*  Of nodes that differ a pool has the largest: each job that some node can run fits, and Slurm finds the node. What a
 *  job gets that says nothing fits each node that has its GPUs, and leaves their share to GPUs of other types. */
static sums_t sum_up(const helio_slurm_picture_t *picture, const helio_slurm_members_t *members)
{
    sums_t sums = {.cpus_per_gpu = UINT32_MAX, .memory_bytes_per_gpu = UINT64_MAX};
    bool first = true;
    for (uint32_t i = 0; i < members->count; i++) {
        const helio_slurm_place_t *place = &picture->places[members->places[i]];
        uint32_t gpus = helio_slurm_total(members, place);
        uint64_t memory = place->node->memory_bytes;
        sums.gpus = gpus > sums.gpus ? gpus : sums.gpus;
        sums.cpus = place->node->cpus > sums.cpus ? place->node->cpus : sums.cpus;
        sums.memory_bytes = memory > sums.memory_bytes ? memory : sums.memory_bytes;
        uint32_t all_gpus = gpus_of(members, place);
        if (gpus && place->node->cpus / all_gpus < sums.cpus_per_gpu)
            sums.cpus_per_gpu = place->node->cpus / all_gpus;
        if (gpus && memory / all_gpus < sums.memory_bytes_per_gpu)
            sums.memory_bytes_per_gpu = memory / all_gpus;
        for (uint32_t k = 0; k < place->node->gpu_kinds; k++) {
            if (!helio_slurm_has_kind(members, place->node->gpus[k].type))
                continue;
            if (!first && !helio_text_equal(sums.type, place->node->gpus[k].type)) {
                sums.mixed = true;
                sums.other = sums.type;
            }
            sums.type = place->node->gpus[k].type;
            first = false;
        }
    }
    return sums;
}

/*  Who tolerates no neighbours gets none. */
static helio_rc check_part(const helio_pool_t *pool, const helio_slurm_members_t *members, helio_error_t *err)
{
    bool shared = pool->sharing == HELIO_SHARING_MPS || pool->sharing == HELIO_SHARING_TIMESLICE;
    if (members->part == HELIO_SLURM_SHARE && !shared)
        return helio_fail(err, HELIO_INVALID,
                          "pool '%.*s': its `gres` is a share of a GPU: say `sharing: timeslice` or `sharing: mps`",
                          HELIO_TEXT_ARGS(pool->name));
    if (members->part == HELIO_SLURM_SLICE && pool->sharing != HELIO_SHARING_MIG)
        return helio_fail(err, HELIO_INVALID,
                          "pool '%.*s': its `gres` is a slice of a GPU: say `sharing: mig` and name the profile in "
                          "`gpu`, as in A100/1g.5gb",
                          HELIO_TEXT_ARGS(pool->name));
    return HELIO_OK;
}

static helio_rc contradicts(const helio_pool_t *pool, const helio_slurm_members_t *members, const sums_t *sums,
                            helio_error_t *err)
{
    if (pool->nodes > members->count)
        return helio_fail(
            err, HELIO_INVALID,
            "pool '%.*s' has %u nodes in the site file, but the cluster has %u of them in partition '%.*s'",
            HELIO_TEXT_ARGS(pool->name), pool->nodes, members->count, HELIO_TEXT_ARGS(members->partition));
    if (pool->gpus_per_node > sums->gpus)
        return helio_fail(
            err, HELIO_INVALID,
            "pool '%.*s' has %u GPUs per node in the site file, but the nodes of partition '%.*s' have at most %u",
            HELIO_TEXT_ARGS(pool->name), pool->gpus_per_node, HELIO_TEXT_ARGS(members->partition), sums->gpus);
    if (sums->mixed && members->by_model)
        return helio_fail(err, HELIO_INVALID,
                          "pool '%.*s': partition '%.*s' has GPUs of the types '%.*s' and '%.*s'; name its `gres` "
                          "under agent.slurm.pools, or define a pool for each",
                          HELIO_TEXT_ARGS(pool->name), HELIO_TEXT_ARGS(members->partition),
                          HELIO_TEXT_ARGS(sums->other), HELIO_TEXT_ARGS(sums->type));
    return HELIO_OK;
}

static void complete(helio_pool_t *pool, const helio_slurm_members_t *members, sums_t *sums, helio_arena_t *arena)
{
    if (pool->cpus_per_node || !sums->gpus) /* the file says what a node has, and so what a GPU's share is */
        sums->cpus_per_gpu = 0;
    if (pool->memory_bytes_per_node || !sums->gpus)
        sums->memory_bytes_per_gpu = 0;
    if (!pool->nodes)
        pool->nodes = members->count;
    if (pool->max_nodes < pool->nodes)
        pool->max_nodes = pool->nodes;
    if (sums->gpus && !pool->gpu.size)
        pool->gpu = sums->type.size && !sums->mixed && members->part == HELIO_SLURM_WHOLE
                        ? helio_arena_text(arena, sums->type)
                        : HELIO_TEXT("GPU");
    if (!pool->gpu_memory_bytes && !sums->mixed)
        pool->gpu_memory_bytes = helio_gpu_product_memory(sums->type);
    if (!pool->gpus_per_node && pool->gpu.size)
        pool->gpus_per_node = sums->gpus < HELIO_JOB_GPUS_PER_NODE_MAX ? sums->gpus : HELIO_JOB_GPUS_PER_NODE_MAX;
    if (!pool->cpus_per_node)
        pool->cpus_per_node = sums->cpus < 4096 ? sums->cpus : 4096;
    if (!pool->memory_bytes_per_node)
        pool->memory_bytes_per_node = sums->memory_bytes;
}

/*  So that sbatch gets the cluster's own spelling. */
static void keep_mapping(helio_slurm_settings_t *settings, const helio_pool_t *pool,
                         const helio_slurm_members_t *members, const sums_t *sums, helio_arena_t *arena)
{
    bool any = helio_slurm_has_gpus(members) && (!sums->type.size || sums->mixed);
    helio_slurm_pool_t mapping = {.pool = pool->name,
                                  .partition = helio_arena_text(arena, members->partition),
                                  .units = members->units,
                                  .gres = any ? HELIO_TEXT("*") : helio_arena_text(arena, sums->type),
                                  .cpus_per_gpu = sums->cpus_per_gpu,
                                  .memory_bytes_per_gpu = sums->memory_bytes_per_gpu};
    for (uint32_t i = 0; i < settings->pools.count; i++)
        if (helio_text_equal(settings->pools.items[i].pool, pool->name)) {
            settings->pools.items[i] = mapping;
            return;
        }
    settings->pools.items[settings->pools.count++] = mapping;
}

/*  own: what it offers itself of its nodes. A pool whose nodes others offer has them all. */
static helio_rc fill_pool(const helio_slurm_picture_t *picture, const cluster_t *cluster, uint32_t index,
                          const helio_slurm_members_t *own, helio_pool_t *pool, helio_slurm_settings_t *settings,
                          helio_arena_t *arena, helio_error_t *err)
{
    helio_slurm_members_t members;
    helio_slurm_members(picture, index, &members);
    if (!has_partition(cluster, members.partition))
        return helio_fail(err, HELIO_INVALID,
                          "pool '%.*s': the cluster has no partition '%.*s'; name one under agent.slurm.pools",
                          HELIO_TEXT_ARGS(pool->name), HELIO_TEXT_ARGS(members.partition));
    if (!members.count)
        return helio_fail(err, HELIO_INVALID,
                          "pool '%.*s': no node of partition '%.*s' has GPUs of the type '%.*s'; say `gres` under "
                          "agent.slurm.pools",
                          HELIO_TEXT_ARGS(pool->name), HELIO_TEXT_ARGS(members.partition),
                          HELIO_TEXT_ARGS(members.gres));
    sums_t sums = sum_up(picture, &members);
    helio_rc rc = check_part(pool, &members, err);
    rc = rc ? rc : contradicts(pool, &members, &sums, err);
    if (rc)
        return rc;
    if (own->count) {
        members = *own;
        sums = sum_up(picture, own);
    }
    complete(pool, &members, &sums, arena);
    helio_slurm_pool_options_t options;
    helio_slurm_pool_options(picture, &members, arena, &options);
    pool->options.items = options.items;
    pool->options.count = options.count;
    keep_mapping(settings, pool, &members, &sums, arena);
    return HELIO_OK;
}

/* ---- pools that the file does not name ---------------------------------------------------------------------- */

static helio_text_t upper(helio_arena_t *arena, helio_text_t text)
{
    char *copy = helio_arena_alloc(arena, text.size + 1, 1);
    for (uint32_t i = 0; i < text.size; i++)
        copy[i] = (char)toupper((unsigned char)text.data[i]);
    return (helio_text_t){copy, text.size};
}

static bool is_named(const helio_site_profile_t *site, helio_text_t name)
{
    for (uint32_t i = 0; i < site->pools.count; i++)
        if (helio_text_equal(site->pools.items[i].name, name))
            return true;
    return false;
}

/*  What job files call GPUs of that type: that model for the driver's name of a product. */
static helio_text_t model_of(helio_arena_t *arena, helio_text_t type)
{
    char model[HELIO_GPU_MODEL_SIZE];
    if (!helio_gpu_is_product(type))
        return type.size <= 32 ? upper(arena, type) : HELIO_TEXT("GPU");
    helio_gpu_model_of(type, model);
    return upper(arena, helio_text_of(model));
}

/*  The first of these that no pool has. */
static helio_text_t name_of(const helio_site_profile_t *site, helio_text_t partition, helio_text_t type,
                            helio_arena_t *arena)
{
    char model[HELIO_GPU_MODEL_SIZE] = "";
    if (helio_gpu_is_product(type))
        helio_gpu_model_of(type, model);
    helio_text_t names[] = {helio_text_of(model), type.size ? type : partition,
                            helio_arena_printf(arena, "%.*s-%s", HELIO_TEXT_ARGS(partition), model),
                            helio_arena_printf(arena, "%.*s-%.*s", HELIO_TEXT_ARGS(partition), HELIO_TEXT_ARGS(type))};
    for (size_t i = model[0] ? 0 : 1; i < sizeof names / sizeof names[0]; i++)
        if ((model[0] || i != 2) && names[i].size <= 32 && !is_named(site, names[i]))
            return helio_arena_text(arena, names[i]); /* the model is on the stack */
    return (helio_text_t){0};
}

static void add_pool(helio_site_profile_t *site, helio_slurm_settings_t *settings, helio_text_t partition,
                     const helio_slurm_gres_t *gpus, helio_arena_t *arena)
{
    helio_text_t type = gpus ? gpus->type : (helio_text_t){0};
    helio_text_t name = name_of(site, partition, type, arena);
    if (!name.size || site->pools.count == HELIO_SITE_POOLS_MAX)
        return;
    site->pools.items[site->pools.count++] = (helio_pool_t){.name = helio_arena_text(arena, name),
                                                            .gpu = type.size ? model_of(arena, type)
                                                                   : gpus    ? HELIO_TEXT("GPU")
                                                                             : (helio_text_t){0},
                                                            .owned = true};
    settings->pools.items[settings->pools.count++] =
        (helio_slurm_pool_t){.pool = site->pools.items[site->pools.count - 1].name,
                             .partition = helio_arena_text(arena, partition),
                             .gres = type.size ? helio_arena_text(arena, type)
                                     : gpus    ? HELIO_TEXT("*")
                                               : (helio_text_t){0}};
}

/*  In the default partition, or in no partition that came before this one: partitions often share nodes, and what is
 *  offered twice is promised twice. */
static bool is_new(const cluster_t *cluster, const helio_slurm_node_t *node, uint32_t partition)
{
    if (cluster->partitions.items[partition].is_default)
        return true;
    for (uint32_t i = 0; i < cluster->partitions.count; i++) {
        const helio_slurm_partition_t *other = &cluster->partitions.items[i];
        if ((i < partition || other->is_default) && i != partition &&
            helio_slurm_in_list(node->partitions, other->name))
            return false;
    }
    return true;
}

/*  Pools of slices and shares are only made by the site file. */
static bool has_whole(const helio_slurm_node_t *node)
{
    for (uint32_t k = 0; k < node->gpu_kinds; k++)
        if (helio_slurm_part_of(node->gpus[k].type) == HELIO_SLURM_WHOLE)
            return true;
    return false;
}

static void add_kinds(helio_site_profile_t *site, helio_slurm_settings_t *settings, const cluster_t *cluster,
                      uint32_t partition, helio_arena_t *arena)
{
    helio_text_t name = cluster->partitions.items[partition].name;
    helio_text_t seen[HELIO_SLURM_GRES_MAX * 4];
    uint32_t seen_count = 0;
    const helio_slurm_gres_t *untyped = NULL;
    bool plain = false, gpus = false;
    for (uint32_t i = 0; i < cluster->nodes.count; i++) {
        const helio_slurm_node_t *node = &cluster->nodes.items[i];
        if (!helio_slurm_in_list(node->partitions, name) || !is_new(cluster, node, partition))
            continue;
        bool whole = has_whole(node);
        plain = plain || !whole;
        gpus = gpus || whole;
        for (uint32_t k = 0; k < node->gpu_kinds; k++) {
            uint32_t at = 0;
            if (helio_slurm_part_of(node->gpus[k].type) != HELIO_SLURM_WHOLE)
                continue;
            while (at < seen_count && !helio_text_equal(seen[at], node->gpus[k].type))
                at++;
            if (!node->gpus[k].type.size)
                untyped = &node->gpus[k];
            if (!node->gpus[k].type.size || at < seen_count || seen_count == sizeof seen / sizeof seen[0])
                continue;
            seen[seen_count++] = node->gpus[k].type;
            add_pool(site, settings, name, &node->gpus[k], arena);
        }
    }
    if (untyped) /* last: GPUs of any type belong to it that no pool before it has */
        add_pool(site, settings, name, untyped, arena);
    if (plain && !gpus)
        add_pool(site, settings, name, NULL, arena);
}

/* ---- entry -------------------------------------------------------------------------------------------------- */

static void make_room(helio_site_profile_t *site, helio_slurm_settings_t *settings, helio_arena_t *arena)
{
    helio_pool_t *pools = helio_arena_alloc(arena, HELIO_SITE_POOLS_MAX, sizeof *pools);
    helio_slurm_pool_t *mappings =
        helio_arena_alloc(arena, settings->pools.count + HELIO_SITE_POOLS_MAX, sizeof *mappings);
    for (uint32_t i = 0; i < site->pools.count; i++)
        pools[i] = site->pools.items[i];
    for (uint32_t i = 0; i < settings->pools.count; i++)
        mappings[i] = settings->pools.items[i];
    site->pools.items = pools;
    settings->pools.items = mappings;
}

/*  A line for a pool that does not exist would silently have no effect. */
static helio_rc check_names(const helio_site_profile_t *site, const helio_slurm_settings_t *settings,
                            helio_error_t *err)
{
    for (uint32_t i = 0; site->pools.count && i < settings->pools.count; i++)
        if (!is_named(site, settings->pools.items[i].pool))
            return helio_fail(
                err, HELIO_INVALID, "agent.slurm.pools: the site file has no pool '%.*s' (its first is '%.*s')",
                HELIO_TEXT_ARGS(settings->pools.items[i].pool), HELIO_TEXT_ARGS(site->pools.items[0].name));
    return HELIO_OK;
}

helio_rc helio_slurm_fill_site(helio_site_profile_t *site, helio_slurm_settings_t *settings, helio_arena_t *arena,
                               helio_error_t *err)
{
    cluster_t cluster = {0};
    helio_error_t why = {0};
    helio_rc rc = check_names(site, settings, err);
    if (rc)
        return rc;
    rc = ask_cluster(settings, arena, &cluster, &why);
    if (rc && is_complete(site))
        return HELIO_OK; /* the file alone suffices until the controller answers */
    if (rc)
        return helio_fail(err, HELIO_UNAVAILABLE,
                          "the cluster cannot be queried (set nodes and gpus_per_node of each pool to start "
                          "without it): %.300s",
                          why.text);
    helio_site_profile_t mine = *site;
    helio_slurm_settings_t mapped = *settings;
    make_room(&mine, &mapped, arena);
    for (uint32_t i = 0; !site->pools.count && i < cluster.partitions.count; i++)
        add_kinds(&mine, &mapped, &cluster, i, arena);
    for (uint32_t i = 0; i < cluster.partitions.count; i++)
        cluster.partitions.items[i].up =
            true; /* which pool a node belongs to does not depend on the moment of the start */
    helio_slurm_view_t view = {
        .site = &mine, .settings = &mapped, .nodes = &cluster.nodes, .partitions = &cluster.partitions};
    helio_slurm_picture_t picture;
    helio_slurm_picture(&view, arena, &picture);
    helio_slurm_members_t *own = helio_slurm_members_of_all(&picture);
    helio_slurm_share_out(&picture, own);
    for (uint32_t i = 0; i < mine.pools.count && !rc; i++)
        rc = fill_pool(&picture, &cluster, i, &own[i], &mine.pools.items[i], &mapped, arena, err);
    if (rc)
        return rc;
    bool prologs = true;
    if (!mapped.prolog_ms && helio_slurm_ask_prologs(settings, arena, &prologs) == HELIO_OK)
        mapped.prolog_ms = prologs ? HELIO_SLURM_PROLOG_MS : HELIO_SLURM_LAUNCH_MS;
    *site = mine;
    *settings = mapped;
    return HELIO_OK;
}

static helio_slurm_pool_nodes_t count_nodes(const helio_slurm_picture_t *picture, const helio_slurm_members_t *members)
{
    helio_slurm_pool_nodes_t counts = {.partition_up = members->partition_up,
                                       .own = members->count,
                                       .shared = members->of_others,
                                       .with = members->with};
    for (uint32_t k = 0; k < members->count; k++) {
        const helio_slurm_node_t *node = picture->places[members->places[k]].node;
        counts.open += !node->closed && (node->up || node->idle_off);
    }
    return counts;
}

helio_rc helio_slurm_ask_nodes(const helio_site_profile_t *site, const helio_slurm_settings_t *settings,
                               helio_arena_t *arena, helio_slurm_pool_nodes_t *ret_pools)
{
    cluster_t cluster = {0};
    helio_rc rc = ask_cluster(settings, arena, &cluster, NULL);
    if (rc)
        return rc;
    helio_slurm_view_t view = {
        .site = site, .settings = settings, .nodes = &cluster.nodes, .partitions = &cluster.partitions};
    helio_slurm_picture_t picture;
    helio_slurm_picture(&view, arena, &picture);
    helio_slurm_members_t *all = helio_slurm_members_of_all(&picture);
    helio_slurm_share_out(&picture, all);
    for (uint32_t i = 0; i < site->pools.count; i++)
        ret_pools[i] = count_nodes(&picture, &all[i]);
    return HELIO_OK;
}
