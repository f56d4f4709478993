/*  site_fields.c -- the fields of the site file. The fleet file of the simulator lists such sites. */
#include <stddef.h>

#include "federation/spec/rules.h"

#define AT(member) .offset = offsetof(helio_site_profile_t, member)
#define POOL(member) .offset = offsetof(helio_pool_t, member)

/*  The profile stores the word: backends are an open set on the wire. */
static const char *const backend_names[] = {"local", "slurm", "kubernetes", "exec"};
enum { BACKEND_COUNT = sizeof backend_names / sizeof backend_names[0] };

static const char *backend_word(uint32_t value)
{
    return value < BACKEND_COUNT ? backend_names[value] : "unknown";
}

static helio_rc backend_of(helio_text_t word, uint32_t *ret_value)
{
    for (uint32_t i = 0; i < BACKEND_COUNT; i++)
        if (helio_text_is(word, backend_names[i])) {
            *ret_value = i;
            return HELIO_OK;
        }
    return HELIO_NOT_FOUND;
}

static const helio_spec_field_t power_fields[] = {
    {.key = "idle_w",
     .kind = HELIO_SPEC_F64,
     POOL(idle_w),
     .least = 0,
     .most = 100000,
     .fallback = "0",
     .example = "60",
     .doc = "Power of an idle GPU, in watts."},
    {.key = "base_w",
     .kind = HELIO_SPEC_F64,
     POOL(base_w),
     .least = 0,
     .most = 100000,
     .fallback = "0",
     .example = "86",
     .doc = "Power of an allocated GPU at utilisation 0, in watts."},
    {.key = "slope_w",
     .kind = HELIO_SPEC_F64,
     POOL(slope_w),
     .least = 0,
     .most = 100000,
     .fallback = "0",
     .example = "243",
     .doc = "Additional power at utilisation 1, in watts; linear in between."},
    {.key = "host_w",
     .kind = HELIO_SPEC_F64,
     POOL(host_w),
     .least = 0,
     .most = 100000,
     .fallback = "0",
     .example = "100",
     .doc = "Power of the host per allocated GPU, in watts."},
};
static const helio_spec_table_t power_table = HELIO_SPEC_TABLE("power", helio_pool_t, power_fields, NULL);

static helio_rc check_pool(helio_spec_reader_t *reader, const helio_spec_node_t *node, void *ret_struct)
{
    helio_pool_t *pool = ret_struct;
    const helio_spec_node_t *max_nodes = helio_spec_find(node, "max_nodes");
    if (!max_nodes)
        pool->max_nodes = pool->nodes;
    if (pool->max_nodes < pool->nodes)
        return helio_spec_diagnose(reader, max_nodes, HELIO_SPEC_CONTRADICTION_PROBLEM, NULL,
                                   "%s: max_nodes %u is less than nodes %u", reader->path, pool->max_nodes,
                                   pool->nodes);
    if (!pool->gpu.size && pool->gpus_per_node > 0)
        return helio_spec_diagnose(reader, helio_spec_find(node, "gpus_per_node"), HELIO_SPEC_MISSING_PROBLEM,
                                   "add 'gpu: H100'", "%s: a pool with gpus_per_node needs 'gpu', the GPU model",
                                   reader->path);
    bool slices = helio_gpu_slice(pool->gpu).size > 0;
    if (slices && pool->sharing != HELIO_SHARING_MIG)
        return helio_spec_diagnose(reader, helio_spec_find(node, "gpu"), HELIO_SPEC_CONTRADICTION_PROBLEM,
                                   "add 'sharing: mig'", "%s: a pool of MIG slices needs 'sharing: mig'", reader->path);
    if (!slices && pool->sharing == HELIO_SHARING_MIG)
        return helio_spec_diagnose(reader, helio_spec_find(node, "sharing"), HELIO_SPEC_CONTRADICTION_PROBLEM,
                                   "write 'gpu: H100/1g.10gb'",
                                   "%s: 'sharing: mig' needs a gpu that names the MIG profile", reader->path);
    if (pool->spot && pool->interruptions_per_h <= 0)
        return helio_spec_diagnose(reader, helio_spec_find(node, "spot"), HELIO_SPEC_MISSING_PROBLEM,
                                   "add 'interruptions_per_h: 0.02', by what the provider says or what you have seen",
                                   "%s: a spot pool needs 'interruptions_per_h'", reader->path);
    if (!pool->spot && pool->interruptions_per_h > 0)
        return helio_spec_diagnose(reader, helio_spec_find(node, "interruptions_per_h"),
                                   HELIO_SPEC_CONTRADICTION_PROBLEM, "add 'spot: true'",
                                   "%s: only a spot pool has 'interruptions_per_h'", reader->path);
    if (pool->spot && pool->owned)
        return helio_spec_diagnose(reader, helio_spec_find(node, "spot"), HELIO_SPEC_CONTRADICTION_PROBLEM,
                                   "add 'owned: false'", "%s: a spot pool is rented, not owned", reader->path);
    return HELIO_OK;
}

static const helio_spec_field_t pool_fields[] = {
    {.key = "name",
     .kind = HELIO_SPEC_TEXT,
     POOL(name),
     .required = true,
     .rule = &helio_spec_rule_name,
     .example = "h100",
     .doc = "Name of the pool, unique within the site."},
    {.key = "gpu",
     .kind = HELIO_SPEC_TEXT,
     POOL(gpu),
     .rule = &helio_spec_rule_pool_gpu,
     .example = "H100",
     .doc = "GPU model, as jobs request it. `H100/1g.10gb` with `sharing: mig` is a pool of MIG slices: then memory, "
            "gpus_per_node, power and price are those of a slice. Default: no GPU, a CPU pool."},
    {.key = "memory", .kind = HELIO_SPEC_BYTES, POOL(gpu_memory_bytes), .example = "80GB", .doc = "Memory of one GPU."},
    {.key = "nodes",
     .kind = HELIO_SPEC_U32,
     POOL(nodes),
     .most = 100000,
     .fallback = "0",
     .example = "16",
     .doc = "Number of nodes."},
    {.key = "max_nodes",
     .kind = HELIO_SPEC_U32,
     POOL(max_nodes),
     .most = 100000,
     .example = "32",
     .doc =
         "Maximum number of nodes. A pool that an agent grows (`agent.scale`) has its own: `nodes` and `max`. Elsewhere nothing "
         "adds nodes: leave it out. Default: `nodes`."},
    {.key = "gpus_per_node",
     .kind = HELIO_SPEC_U32,
     POOL(gpus_per_node),
     .most = HELIO_JOB_GPUS_PER_NODE_MAX,
     .fallback = "0",
     .example = "8",
     .doc =
         "GPUs of one node. A Slurm site may omit this key, and nodes, cpus_per_node and node_memory: the cluster "
         "reports them. A pool of one node at a site with the backend `local` may omit this key: the driver counts."},
    {.key = "cpus_per_node",
     .kind = HELIO_SPEC_U32,
     POOL(cpus_per_node),
     .most = 4096,
     .fallback = "0",
     .example = "96",
     .doc = "CPUs of one node. 0: CPU requests are not checked."},
    {.key = "node_memory",
     .kind = HELIO_SPEC_BYTES,
     POOL(memory_bytes_per_node),
     .example = "2TB",
     .doc = "Main memory of one node. Default: memory requests are not checked."},
    {.key = "interconnect",
     .kind = HELIO_SPEC_CHOICE,
     POOL(interconnect),
     .words = HELIO_SPEC_ENUM(helio_interconnect, HELIO_INTERCONNECT),
     .fallback = "any",
     .example = "nvlink",
     .doc = "Best interconnect of the pool between GPUs and nodes."},
    {.key = "sharing",
     .kind = HELIO_SPEC_CHOICE,
     POOL(sharing),
     .words = HELIO_SPEC_ENUM(helio_sharing, HELIO_SHARING),
     .fallback = "none",
     .example = "none",
     .doc = "How the GPUs of the pool are shared."},
    {.key = "owned",
     .kind = HELIO_SPEC_BOOL,
     POOL(owned),
     .fallback = "true",
     .example = "true",
     .doc = "Owned GPUs cost electricity; other GPUs cost rent."},
    {.key = "price_usd_per_gpu_h",
     .kind = HELIO_SPEC_F64,
     POOL(price_usd_per_gpu_h),
     .least = 0,
     .most = 10000,
     .fallback = "0",
     .example = "2.74",
     .doc = "Rent per GPU-hour."},
    {.key = "spot_usd_per_gpu_h",
     .kind = HELIO_SPEC_F64,
     POOL(spot_usd_per_gpu_h),
     .least = 0,
     .most = 10000,
     .fallback = "0",
     .example = "1.1",
     .doc =
         "Rent per GPU-hour of a pool with `spot: true`. It counts for no other pool: make a pool of its own for spot "
         "capacity. Default: as `price_usd_per_gpu_h`."},
    {.key = "spot",
     .kind = HELIO_SPEC_BOOL,
     POOL(spot),
     .fallback = "false",
     .example = "false",
     .doc =
         "The provider can take nodes of this pool away at any time. Only jobs that declare a checkpoint, or allow it by "
         "`placement.spot`, run there; `price_usd_per_gpu_h` is then the on-demand price with which it is compared."},
    {.key = "interruptions_per_h",
     .kind = HELIO_SPEC_F64,
     POOL(interruptions_per_h),
     .least = 0,
     .most = HELIO_POOL_INTERRUPTIONS_MAX,
     .fallback = "0",
     .example = "0",
     .doc =
         "How often a node of a spot pool is taken away in an hour, on average: 0.02 is once in 50 hours. Required with "
         "`spot: true`."},
    {.key = "provision",
     .kind = HELIO_SPEC_DURATION,
     POOL(provision_ms),
     .example = "5m",
     .doc = "Time that an elastic node takes to start: the wait of a job that needs one."},
    {.key = "power",
     .kind = HELIO_SPEC_GROUP,
     .table = &power_table,
     .example = "{idle_w: 60, base_w: 86, slope_w: 243, host_w: 100}",
     .doc =
         "Power model of one GPU: (host_w + base_w + slope_w x utilisation) x the site's pue. Default: by the model of "
         "the GPU. A model without figures needs it, and a price: the check of the site file fails without."},
};
static const helio_spec_table_t pool_table = HELIO_SPEC_TABLE("pool", helio_pool_t, pool_fields, check_pool);

/*  A cluster with its own scheduler reports its nodes itself; on the agent's own machine the driver counts. */
static bool knows_its_gpus(const helio_site_profile_t *site, const helio_pool_t *pool)
{
    return helio_text_is(site->backend, "slurm") || (helio_text_is(site->backend, "local") && pool->nodes == 1);
}

static helio_rc check_site(helio_spec_reader_t *reader, const helio_spec_node_t *node, void *ret_struct)
{
    const helio_site_profile_t *site = ret_struct;
    const helio_spec_node_t *pools = helio_spec_find(node, "pools");
    const helio_spec_node_t *item = pools ? pools->first : NULL;
    for (uint32_t i = 0; i < site->pools.count; i++, item = item->next) {
        const helio_pool_t *pool = &site->pools.items[i];
        if (pool->gpu.size && pool->gpus_per_node == 0 && !knows_its_gpus(site, pool))
            return helio_spec_diagnose(reader, helio_spec_find(item, "gpu"), HELIO_SPEC_MISSING_PROBLEM,
                                       "add 'gpus_per_node: 8'", "pools[%u]: a GPU pool needs 'gpus_per_node'", i);
        for (uint32_t j = 0; j < i; j++)
            if (helio_text_equal(site->pools.items[i].name, site->pools.items[j].name))
                return helio_spec_diagnose(reader, helio_spec_find(item, "name"), HELIO_SPEC_CONTRADICTION_PROBLEM,
                                           NULL, "pools: two pools are named '%.*s'",
                                           HELIO_TEXT_ARGS(site->pools.items[i].name));
    }
    return HELIO_OK;
}

static const helio_spec_field_t site_fields[] = {
    {.key = "name",
     .kind = HELIO_SPEC_TEXT,
     AT(name),
     .required = true,
     .rule = &helio_spec_rule_name,
     .example = "oregon",
     .doc = "Name of the site, unique within the federation; the same name as for the site's key."},
    {.key = "backend",
     .kind = HELIO_SPEC_TEXT,
     AT(backend),
     .words = &(const helio_spec_enum_t){backend_word, backend_of, BACKEND_COUNT},
     .fallback = "local",
     .example = "slurm",
     .doc = "Backend that runs jobs at this site."},
    {.key = "region",
     .kind = HELIO_SPEC_TEXT,
     AT(region),
     .rule = &helio_spec_rule_name,
     .example = "US-CAL-CISO",
     .doc = "Region of the site: the key of carbon, price and forecast data. `regions` of a job is matched with it: "
            "`[EU]` matches `EU` and `EU-SE`, but not `SE-SE3`."},
    {.key = "lat",
     .kind = HELIO_SPEC_F64,
     AT(latitude),
     .least = -90,
     .most = 90,
     .fallback = "0",
     .example = "45.6",
     .doc = "Latitude in degrees north."},
    {.key = "lon",
     .kind = HELIO_SPEC_F64,
     AT(longitude),
     .least = -180,
     .most = 180,
     .fallback = "0",
     .example = "-121.2",
     .doc = "Longitude in degrees east."},
    {.key = "timezone",
     .kind = HELIO_SPEC_TEXT,
     AT(timezone),
     .most = 64,
     .rule = &helio_spec_rule_option,
     .fallback = "UTC",
     .example = "America/Los_Angeles",
     .doc = "IANA time zone, for schedules in local time."},
    {.key = "pue",
     .kind = HELIO_SPEC_F64,
     AT(pue),
     .least = 1,
     .most = 5,
     .fallback = "1",
     .example = "1.15",
     .doc = "Power usage effectiveness: power of the building divided by power of the computers."},
    {.key = "carbon_g_per_kwh",
     .kind = HELIO_SPEC_F64,
     AT(carbon_g_per_kwh),
     .least = -1,
     .most = 5000,
     .fallback = "-1",
     .example = "250",
     .doc = "Static carbon intensity, used where no series is available. -1: unknown."},
    {.key = "electricity_usd_per_kwh",
     .kind = HELIO_SPEC_F64,
     AT(electricity_usd_per_kwh),
     .least = -100,
     .most = 100,
     .fallback = "0",
     .example = "0.12",
     .doc = "Static electricity price, used where no series is available. It may be negative."},
    {.key = "containers",
     .kind = HELIO_SPEC_BOOL,
     AT(containers),
     .fallback = "false",
     .example = "true",
     .doc = "The site has a container runtime and accepts jobs with an image. An agent says so by itself where "
            "`agent.containers` names the runtime."},
    {.key = "leases",
     .kind = HELIO_SPEC_BOOL,
     AT(leases),
     .fallback = "false",
     .example = "true",
     .doc = "The site itself stops jobs when their lease expires, even while the agent is down."},
    {.key = "pools",
     .kind = HELIO_SPEC_LIST,
     AT(pools),
     .most = HELIO_SITE_POOLS_MAX,
     .table = &pool_table,
     .example = "[{name: h100, gpu: H100, memory: 80GB, nodes: 16, gpus_per_node: 8}]",
     .doc = "Pools of the site; the nodes of a pool are identical."},
};
const helio_spec_table_t helio_spec_site_table =
    HELIO_SPEC_TABLE("site", helio_site_profile_t, site_fields, check_site);

/*  The site's keys, and the sections that other readers parse. */
static const helio_spec_field_t file_fields[] = {
    {.kind = HELIO_SPEC_INCLUDE, .table = &helio_spec_site_table},
    {.key = "windows", .kind = HELIO_SPEC_SKIP, .doc = "Windows of reserved GPUs (windows.h)."},
    {.key = "agent", .kind = HELIO_SPEC_SKIP, .doc = "Settings of the agent, which reads them itself."},
};
static const helio_spec_table_t file_table = HELIO_SPEC_TABLE("site", helio_site_profile_t, file_fields, NULL);

helio_rc helio_spec_parse_site(helio_spec_source_t source, helio_arena_t *arena, helio_site_profile_t *ret_site,
                               helio_diagnostic_t *ret_diagnostic)
{
    return helio_spec_read(&file_table, source, HELIO_SPEC_SOURCE_MAX, arena, ret_site, ret_diagnostic);
}
