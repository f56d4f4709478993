/*  site_fields.c -- the site file, one field an entry. The fleet file of the simulator lists such sites. */
#include <stddef.h>

#include "federation/spec/rules.h"

#define AT(member) .offset = offsetof(helio_site_profile_t, member)
#define POOL(member) .offset = offsetof(helio_pool_t, member)

/*  The word is what the profile stores: backends are an open set on the wire. */
static const char *const backend_words[] = {"local", "slurm", "kubernetes", "exec"};
enum { BACKEND_COUNT = sizeof backend_words / sizeof backend_words[0] };

static const char *backend_word(uint32_t value)
{
    return value < BACKEND_COUNT ? backend_words[value] : "unknown";
}

static helio_rc backend_of(helio_text_t word, uint32_t *ret_value)
{
    for (uint32_t i = 0; i < BACKEND_COUNT; i++)
        if (helio_text_is(word, backend_words[i])) {
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
     .doc = "Watts of one GPU that nobody uses."},
    {.key = "base_w",
     .kind = HELIO_SPEC_F64,
     POOL(base_w),
     .least = 0,
     .most = 100000,
     .fallback = "0",
     .example = "86",
     .doc = "Watts of one allocated GPU at utilisation 0."},
    {.key = "slope_w",
     .kind = HELIO_SPEC_F64,
     POOL(slope_w),
     .least = 0,
     .most = 100000,
     .fallback = "0",
     .example = "243",
     .doc = "Further watts at utilisation 1; linear between."},
    {.key = "host_w",
     .kind = HELIO_SPEC_F64,
     POOL(host_w),
     .least = 0,
     .most = 100000,
     .fallback = "0",
     .example = "100",
     .doc = "The host's watts for each allocated GPU."},
};
static const helio_spec_table_t power_table = HELIO_SPEC_TABLE("power", helio_pool_t, power_fields, NULL);

static helio_rc check_pool(helio_spec_reader_t *reader, const helio_spec_node_t *node, void *ret_struct)
{
    helio_pool_t *pool = ret_struct;
    const helio_spec_node_t *max_nodes = helio_spec_find(node, "max_nodes");
    if (!max_nodes)
        pool->max_nodes = pool->nodes;
    if (pool->max_nodes < pool->nodes)
        return helio_spec_complain(reader, max_nodes, HELIO_SPEC_CONTRADICTION_PROBLEM, NULL,
                                   "%s: max_nodes %u is less than nodes %u", reader->path, pool->max_nodes,
                                   pool->nodes);
    if (!pool->gpu.size && pool->gpus_per_node > 0)
        return helio_spec_complain(reader, helio_spec_find(node, "gpus_per_node"), HELIO_SPEC_MISSING_PROBLEM,
                                   "add 'gpu: H100'", "%s: a pool of GPUs needs gpu, their model",
                                   reader->path);
    bool slices = helio_gpu_slice(pool->gpu).size > 0;
    if (slices && pool->sharing != HELIO_SHARING_MIG)
        return helio_spec_complain(reader, helio_spec_find(node, "gpu"), HELIO_SPEC_CONTRADICTION_PROBLEM,
                                   "add 'sharing: mig'", "%s: MIG slices are shared GPUs", reader->path);
    if (!slices && pool->sharing == HELIO_SHARING_MIG)
        return helio_spec_complain(reader, helio_spec_find(node, "sharing"), HELIO_SPEC_CONTRADICTION_PROBLEM,
                                   "write 'gpu: H100/1g.10gb'", "%s: gpu does not say which MIG slices it offers",
                                   reader->path);
    return HELIO_OK;
}

static const helio_spec_field_t pool_fields[] = {
    {.key = "name",
     .kind = HELIO_SPEC_TEXT,
     POOL(name),
     .required = true,
     .rule = &helio_spec_rule_name,
     .example = "h100",
     .doc = "Unique within the site."},
    {.key = "gpu",
     .kind = HELIO_SPEC_TEXT,
     POOL(gpu),
     .rule = &helio_spec_rule_pool_gpu,
     .example = "H100",
     .doc = "Model, as jobs ask for it; `H100/1g.10gb`, with `sharing: mig`: MIG slices, and memory, gpus_per_node, "
            "power and price are those of slices. Not said: a CPU pool."},
    {.key = "memory",
     .kind = HELIO_SPEC_BYTES,
     POOL(gpu_memory_bytes),
     .example = "80GB",
     .doc = "Of one GPU."},
    {.key = "nodes",
     .kind = HELIO_SPEC_U32,
     POOL(nodes),
     .most = 100000,
     .fallback = "0",
     .example = "16",
     .doc = "Nodes that are there."},
    {.key = "max_nodes",
     .kind = HELIO_SPEC_U32,
     POOL(max_nodes),
     .most = 100000,
     .example = "32",
     .doc = "Elastic pools: up to so many nodes. Not said: as many as nodes."},
    {.key = "gpus_per_node",
     .kind = HELIO_SPEC_U32,
     POOL(gpus_per_node),
     .most = HELIO_JOB_GPUS_PER_NODE_MAX,
     .fallback = "0",
     .example = "8",
     .doc = "GPUs of one node. A Slurm site may leave it out, as nodes, cpus_per_node and node_memory: the "
            "cluster says them."},
    {.key = "cpus_per_node",
     .kind = HELIO_SPEC_U32,
     POOL(cpus_per_node),
     .most = 4096,
     .fallback = "0",
     .example = "96",
     .doc = "CPUs of one node. 0: not checked."},
    {.key = "node_memory",
     .kind = HELIO_SPEC_BYTES,
     POOL(memory_bytes_per_node),
     .example = "2TB",
     .doc = "Main memory of one node. Not said: not checked."},
    {.key = "interconnect",
     .kind = HELIO_SPEC_WORD,
     POOL(interconnect),
     .words = HELIO_SPEC_ENUM(helio_interconnect, HELIO_INTERCONNECT),
     .fallback = "any",
     .example = "nvlink",
     .doc = "The best that the pool has between GPUs and nodes."},
    {.key = "sharing",
     .kind = HELIO_SPEC_WORD,
     POOL(sharing),
     .words = HELIO_SPEC_ENUM(helio_sharing, HELIO_SHARING),
     .fallback = "none",
     .example = "none",
     .doc = "How the pool's GPUs are shared."},
    {.key = "owned",
     .kind = HELIO_SPEC_BOOL,
     POOL(owned),
     .fallback = "true",
     .example = "true",
     .doc = "Owned GPUs cost electricity; others cost rent."},
    {.key = "price_usd_per_gpu_h",
     .kind = HELIO_SPEC_F64,
     POOL(price_usd_per_gpu_h),
     .least = 0,
     .most = 10000,
     .fallback = "0",
     .example = "2.74",
     .doc = "Rent of one GPU for an hour."},
    {.key = "spot_usd_per_gpu_h",
     .kind = HELIO_SPEC_F64,
     POOL(spot_usd_per_gpu_h),
     .least = 0,
     .most = 10000,
     .fallback = "0",
     .example = "1.1",
     .doc = "The same for capacity that may be taken back. 0: there is none."},
    {.key = "provision",
     .kind = HELIO_SPEC_DURATION,
     POOL(provision_ms),
     .example = "5m",
     .doc = "How long an elastic node takes to come up."},
    {.key = "power",
     .kind = HELIO_SPEC_GROUP,
     .table = &power_table,
     .example = "{idle_w: 60, base_w: 86, slope_w: 243, host_w: 100}",
     .doc = "Power of one GPU: host_w + base_w + slope_w x utilisation, times the site's pue."},
};
static const helio_spec_table_t pool_table = HELIO_SPEC_TABLE("pool", helio_pool_t, pool_fields, check_pool);

/*  A cluster with a scheduler of its own says itself what its nodes are. */
static bool knows_its_nodes(const helio_site_profile_t *site)
{
    return helio_text_is(site->backend, "slurm");
}

static helio_rc check_site(helio_spec_reader_t *reader, const helio_spec_node_t *node, void *ret_struct)
{
    const helio_site_profile_t *site = ret_struct;
    const helio_spec_node_t *pools = helio_spec_find(node, "pools");
    const helio_spec_node_t *item = pools ? pools->first : NULL;
    for (uint32_t i = 0; i < site->pools.count; i++, item = item->next) {
        const helio_pool_t *pool = &site->pools.items[i];
        if (pool->gpu.size && pool->gpus_per_node == 0 && !knows_its_nodes(site))
            return helio_spec_complain(reader, helio_spec_find(item, "gpu"), HELIO_SPEC_MISSING_PROBLEM,
                                       "add 'gpus_per_node: 8'", "pools[%u]: a pool of GPUs needs gpus_per_node", i);
        for (uint32_t j = 0; j < i; j++)
            if (helio_text_equal(site->pools.items[i].name, site->pools.items[j].name))
                return helio_spec_complain(
                    reader, helio_spec_find(item, "name"), HELIO_SPEC_CONTRADICTION_PROBLEM, NULL,
                    "pools: two pools have the name '%.*s'", HELIO_TEXT_ARGS(site->pools.items[i].name));
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
     .doc = "Unique within the federation; the same as in the site's key."},
    {.key = "backend",
     .kind = HELIO_SPEC_TEXT,
     AT(backend),
     .words = &(const helio_spec_enum_t){backend_word, backend_of, BACKEND_COUNT},
     .fallback = "local",
     .example = "slurm",
     .doc = "What runs jobs here."},
    {.key = "region",
     .kind = HELIO_SPEC_TEXT,
     AT(region),
     .rule = &helio_spec_rule_name,
     .example = "US-CAL-CISO",
     .doc = "Key into carbon, price and forecast data; what `regions` of a job is matched with: `[EU]` takes `EU` and "
            "`EU-SE`, but not `SE-SE3`."},
    {.key = "lat",
     .kind = HELIO_SPEC_F64,
     AT(latitude),
     .least = -90,
     .most = 90,
     .fallback = "0",
     .example = "45.6",
     .doc = "Degrees north."},
    {.key = "lon",
     .kind = HELIO_SPEC_F64,
     AT(longitude),
     .least = -180,
     .most = 180,
     .fallback = "0",
     .example = "-121.2",
     .doc = "Degrees east."},
    {.key = "timezone",
     .kind = HELIO_SPEC_TEXT,
     AT(timezone),
     .most = 64,
     .rule = &helio_spec_rule_option,
     .fallback = "UTC",
     .example = "America/Los_Angeles",
     .doc = "IANA name; for schedules in local time."},
    {.key = "pue",
     .kind = HELIO_SPEC_F64,
     AT(pue),
     .least = 1,
     .most = 5,
     .fallback = "1",
     .example = "1.15",
     .doc = "Power usage effectiveness: the building's power over the computers'."},
    {.key = "carbon_g_per_kwh",
     .kind = HELIO_SPEC_F64,
     AT(carbon_g_per_kwh),
     .least = -1,
     .most = 5000,
     .fallback = "-1",
     .example = "250",
     .doc = "A static figure, used where there is no series. -1: not known."},
    {.key = "electricity_usd_per_kwh",
     .kind = HELIO_SPEC_F64,
     AT(electricity_usd_per_kwh),
     .least = -100,
     .most = 100,
     .fallback = "0",
     .example = "0.12",
     .doc = "A static figure, used where there is no series; it may be negative."},
    {.key = "containers",
     .kind = HELIO_SPEC_BOOL,
     AT(containers),
     .fallback = "false",
     .example = "true",
     .doc = "There is a container runtime: jobs with an image may come."},
    {.key = "leases",
     .kind = HELIO_SPEC_BOOL,
     AT(leases),
     .fallback = "false",
     .example = "true",
     .doc = "Jobs are stopped by the site itself when their lease runs out, also while the agent is down."},
    {.key = "pools",
     .kind = HELIO_SPEC_LIST,
     AT(pools),
     .most = HELIO_SITE_POOLS_MAX,
     .table = &pool_table,
     .example = "[{name: h100, gpu: H100, memory: 80GB, nodes: 16, gpus_per_node: 8}]",
     .doc = "Nodes of one sort each."},
};
const helio_spec_table_t helio_spec_site_table =
    HELIO_SPEC_TABLE("site", helio_site_profile_t, site_fields, check_site);

/*  The site's keys and somebody else's part. */
static const helio_spec_field_t file_fields[] = {
    {.kind = HELIO_SPEC_INCLUDE, .table = &helio_spec_site_table},
    {.key = "windows", .kind = HELIO_SPEC_SKIP, .doc = "GPUs that are kept by the hour (windows.h)."},
    {.key = "agent", .kind = HELIO_SPEC_SKIP, .doc = "Settings of the agent, which reads them itself."},
};
static const helio_spec_table_t file_table =
    HELIO_SPEC_TABLE("site", helio_site_profile_t, file_fields, NULL);

helio_rc helio_spec_parse_site(helio_spec_source_t source, helio_arena_t *arena,
                               helio_site_profile_t *ret_site, helio_diagnostic_t *ret_diagnostic)
{
    return helio_spec_read(&file_table, source, HELIO_SPEC_SOURCE_MAX, arena, ret_site, ret_diagnostic);
}
