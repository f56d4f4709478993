/*  infeasible.c -- why no site could run a job, even empty: what each site has, and what would fit.
 *
 *  What would fit is tested by the filter itself before it is suggested. */
#include "broker/core/decide/infeasible.h"

#include <string.h>

#include "broker/core/decide/names.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/why.h"

enum { SITES_NAMED = 3, MODELS_NAMED = 6, GB = 1000000000 };

static bool lacks_cpus(const helio_requirement_t *want, const helio_pool_t *pool)
{
    return pool->cpus_per_node && want->cpus > pool->cpus_per_node;
}

static bool lacks_memory(const helio_requirement_t *want, const helio_pool_t *pool)
{
    return pool->memory_bytes_per_node && want->memory_bytes > pool->memory_bytes_per_node;
}

static helio_detail_t size_of(helio_broker_core_t *self, const helio_requirement_t *want, const helio_pool_t *pool)
{
    return CORE_DETAIL(self, HELIO_DETAIL_POOL_SIZE_IS, helio_value_number(helio_pool_nodes_most(pool)),
                       helio_value_number(want->gpus.count ? pool->gpus_per_node : 0),
                       helio_value_number(lacks_cpus(want, pool) ? pool->cpus_per_node : 0),
                       helio_value_number(lacks_memory(want, pool) ? (int64_t)pool->memory_bytes_per_node : 0));
}

static helio_detail_t gpu_of(helio_broker_core_t *self, const helio_requirement_t *want, const helio_pool_t *pool)
{
    bool by_memory = false;
    for (uint32_t i = 0; i < want->gpus.count; i++)
        by_memory = by_memory || want->gpus.items[i].memory_bytes;
    if (!pool->gpus_per_node)
        return HELIO_DETAIL0(HELIO_DETAIL_POOL_HAS_NO_GPU);
    return CORE_DETAIL(self, HELIO_DETAIL_POOL_GPU_IS, helio_value_text(pool->gpu),
                       helio_value_number(by_memory ? (int64_t)pool->gpu_memory_bytes : 0));
}

static helio_detail_t names_of(helio_broker_core_t *self, const helio_requirement_t *want, const helio_pool_t *pool)
{
    helio_missing_name_t missing = helio_choice_missing_name(want, pool);
    uint32_t count = missing.names.size > 0;
    for (uint32_t i = 0; i < missing.names.size; i++)
        count += missing.names.data[i] == ',';
    return CORE_DETAIL(self, HELIO_DETAIL_NAMES_ARE, helio_value_text(missing.option), helio_value_text(missing.value),
                       (helio_value_t){.number = count, .text = missing.names});
}

helio_detail_t core_infeasible_detail(helio_broker_core_t *self, const helio_requirement_t *want, const site_t *site,
                                      const helio_pool_t *pool, helio_rejection_t rejection)
{
    switch ((int)rejection) {
    case HELIO_REJECTION_RESIDENCY:
        return CORE_DETAIL(self, HELIO_DETAIL_REGION_IS, helio_value_text(site->profile.region));
    case HELIO_REJECTION_BACKEND:
        return CORE_DETAIL(self, HELIO_DETAIL_BACKEND_IS, helio_value_text(site->profile.backend));
    case HELIO_REJECTION_NO_SUCH_GPU:
        return gpu_of(self, want, pool);
    case HELIO_REJECTION_TOO_SMALL:
        if (want->nodes > 1 && !helio_site_runs_gangs(&site->profile, pool))
            return HELIO_DETAIL0(HELIO_DETAIL_POOL_RUNS_NO_GANGS);
        return size_of(self, want, pool);
    case HELIO_REJECTION_NO_INTERCONNECT:
        return CORE_DETAIL(self, HELIO_DETAIL_INTERCONNECT_IS,
                           helio_value_string(helio_interconnect_name(pool->interconnect)));
    case HELIO_REJECTION_NO_SHARING:
        return CORE_DETAIL(self, HELIO_DETAIL_SHARING_IS, helio_value_string(helio_sharing_name(pool->sharing)));
    case HELIO_REJECTION_NO_SPOT:
        return CORE_DETAIL(self, HELIO_DETAIL_SPOT_NEEDS_CONSENT, helio_value_text(pool->name));
    case HELIO_REJECTION_NO_USER_MAPPING:
        return CORE_DETAIL(self, HELIO_DETAIL_NO_UNIX_USER, helio_value_text(want->tenant));
    case HELIO_REJECTION_NO_SUCH_NAME:
        return names_of(self, want, pool);
    default:
        return (helio_detail_t){0};
    }
}

/* ---- what would fit ------------------------------------------------------------------------------------ */

/*  The most of the request that the pool could take. *ret_ask: its GPUs, which *ret has a view of. */
static bool fit_to(const helio_requirement_t *want, const site_t *site, const helio_pool_t *pool,
                   helio_gpu_ask_t *ret_ask, helio_requirement_t *ret)
{
    *ret = *want;
    if (want->gpus.count) {
        const helio_gpu_ask_t *asked = &want->gpus.items[0];
        uint64_t total = (uint64_t)asked->count * want->nodes;
        uint32_t count = asked->count < pool->gpus_per_node ? asked->count : pool->gpus_per_node;
        if (!count)
            return false;
        uint64_t nodes = (total + count - 1) / count;
        *ret_ask =
            (helio_gpu_ask_t){.model = helio_gpu_model(pool->gpu), .mig = helio_gpu_slice(pool->gpu), .count = count};
        ret->gpus.items = ret_ask;
        ret->gpus.count = 1;
        ret->nodes = nodes < helio_pool_nodes_most(pool) ? (uint32_t)nodes : helio_pool_nodes_most(pool);
    } else if (ret->nodes > helio_pool_nodes_most(pool)) {
        ret->nodes = helio_pool_nodes_most(pool);
    }
    if (lacks_cpus(want, pool))
        ret->cpus = pool->cpus_per_node;
    if (lacks_memory(want, pool))
        ret->memory_bytes = pool->memory_bytes_per_node;
    return ret->nodes && helio_choice_filter(ret, &site->profile, pool).rejection == HELIO_REJECTION_NONE;
}

static bool asks_for(const helio_requirement_t *want, helio_text_t gpu)
{
    helio_text_t model = helio_gpu_model(gpu), slice = helio_gpu_slice(gpu);
    for (uint32_t i = 0; i < want->gpus.count; i++) {
        const helio_gpu_ask_t *ask = &want->gpus.items[i];
        if ((!ask->model.size || helio_text_equal(ask->model, model)) && helio_text_equal(ask->mig, slice))
            return true;
    }
    return false;
}

/*  The larger the better; a model that is asked for comes before others; 0 = nothing fits. */
static uint64_t worth(const helio_requirement_t *want, const helio_requirement_t *fit, const helio_pool_t *pool)
{
    uint64_t gpus = fit->gpus.count ? fit->gpus.items[0].count : 0;
    uint64_t same = asks_for(want, pool->gpu),
             whole = fit->cpus == want->cpus && fit->memory_bytes == want->memory_bytes;
    return 1 + fit->nodes * (gpus ? gpus : 1) + (whole << 40) + (same << 41);
}

/*  What changes of `want`, as the parameters of WOULD_FIT. Memory in whole GB, rounded down: a job file with that size
 *  fits. */
static void changes_of(helio_broker_core_t *self, const helio_requirement_t *want, const helio_requirement_t *fit,
                       const char *site, helio_value_t ret_values[6])
{
    const helio_gpu_ask_t *ask = fit->gpus.count ? &fit->gpus.items[0] : NULL;
    const char *gpu = ask ? core_printf(self, "%.*s%s%.*s", HELIO_TEXT_ARGS(ask->model), ask->mig.size ? "/" : "",
                                        HELIO_TEXT_ARGS(ask->mig))
                          : "";
    ret_values[0] = helio_value_string(gpu);
    ret_values[1] = helio_value_number(ask ? ask->count : 0);
    ret_values[2] = helio_value_number(fit->nodes != want->nodes ? fit->nodes : 0);
    ret_values[3] = helio_value_number(fit->cpus != want->cpus ? fit->cpus : 0);
    ret_values[4] = helio_value_number(fit->memory_bytes != want->memory_bytes ? (int64_t)(fit->memory_bytes / GB) : 0);
    ret_values[5] = helio_value_string(site);
}

helio_detail_t core_infeasible_remedy(helio_broker_core_t *self, const helio_requirement_t *want,
                                      helio_detail_code_t code, helio_requirement_t *ret_fit)
{
    uint64_t best = 0;
    const char *best_site = "";
    helio_gpu_ask_t *asks = helio_arena_alloc(self->effects->arena, 2, sizeof *asks);
    for (const site_t *site = self->sites; site; site = site->hh.next)
        for (uint32_t i = 0; i < site->pool_count; i++) {
            helio_requirement_t fit;
            bool fits = fit_to(want, site, &site->pools[i].info, &asks[0], &fit);
            uint64_t value = fits ? worth(want, &fit, &site->pools[i].info) : 0;
            if (value < best || !value || (value == best && strcmp(site->name, best_site) > 0))
                continue;
            best = value;
            asks[1] = asks[0];
            *ret_fit = fit;
            best_site = site->name;
        }
    if (!best)
        return CORE_NO_DETAIL;
    if (ret_fit->gpus.count)
        ret_fit->gpus.items = &asks[1];
    helio_value_t values[6];
    changes_of(self, want, ret_fit, best_site, values);
    return helio_detail_make(self->effects->arena, code, values, code == HELIO_DETAIL_WOULD_FIT ? 6 : 5);
}

helio_detail_t core_infeasible_fewer(helio_broker_core_t *self, const helio_requirement_t *want,
                                     const helio_requirement_t *fit)
{
    uint64_t asked = helio_requirement_gpus(want), gpus = helio_requirement_gpus(fit);
    if (gpus >= asked)
        return CORE_NO_DETAIL;
    return CORE_DETAIL(self, HELIO_DETAIL_WOULD_FIT_FEWER, helio_value_number((int64_t)gpus),
                       helio_value_number((int64_t)asked));
}

/* ---- why nowhere --------------------------------------------------------------------------------------- */

/*  The sites that have a pool with this rejection; code NONE: no site. */
static helio_detail_t rejected_at(helio_broker_core_t *self, const helio_requirement_t *want,
                                  helio_rejection_t rejection)
{
    const char *names = "";
    uint32_t count = 0;
    for (const site_t *site = self->sites; site; site = site->hh.next) {
        bool there = false;
        for (uint32_t i = 0; i < site->pool_count; i++)
            there = there || helio_choice_filter(want, &site->profile, &site->pools[i].info).rejection == rejection;
        if (there && count++ < SITES_NAMED)
            names = core_printf(self, "%s%s%s", names, names[0] ? "," : "", site->name);
    }
    if (!count)
        return (helio_detail_t){0};
    return CORE_DETAIL(self, HELIO_DETAIL_REJECTED_AT, helio_value_string(helio_rejection_name(rejection)),
                       (helio_value_t){.number = count, .text = helio_text_of(names)});
}

/*  The largest of what is too small, if that is the reason. */
static helio_detail_t largest(helio_broker_core_t *self, const helio_requirement_t *want)
{
    uint32_t gpus = 0, nodes = 0, cpus = 0, least_gpus = UINT32_MAX;
    uint64_t memory_bytes = 0;
    for (const site_t *site = self->sites; site; site = site->hh.next)
        for (uint32_t i = 0; i < site->pool_count; i++) {
            const helio_pool_t *pool = &site->pools[i].info;
            if (helio_choice_filter(want, &site->profile, pool).rejection != HELIO_REJECTION_TOO_SMALL)
                continue;
            gpus = pool->gpus_per_node > gpus ? pool->gpus_per_node : gpus;
            nodes = helio_pool_nodes_most(pool) > nodes ? helio_pool_nodes_most(pool) : nodes;
            cpus = pool->cpus_per_node > cpus ? pool->cpus_per_node : cpus;
            memory_bytes = pool->memory_bytes_per_node > memory_bytes ? pool->memory_bytes_per_node : memory_bytes;
        }
    for (uint32_t i = 0; i < want->gpus.count; i++)
        least_gpus = want->gpus.items[i].count < least_gpus ? want->gpus.items[i].count : least_gpus;
    if (want->gpus.count && least_gpus > gpus)
        return CORE_DETAIL(self, HELIO_DETAIL_LARGEST_NODE_GPUS, helio_value_number(gpus));
    if (want->nodes > nodes)
        return CORE_DETAIL(self, HELIO_DETAIL_LARGEST_POOL_NODES, helio_value_number(nodes));
    if (cpus && want->cpus > cpus)
        return CORE_DETAIL(self, HELIO_DETAIL_LARGEST_NODE_CPUS, helio_value_number(cpus));
    if (memory_bytes && want->memory_bytes > memory_bytes)
        return CORE_DETAIL(self, HELIO_DETAIL_LARGEST_NODE_MEMORY, helio_value_number((int64_t)memory_bytes));
    return HELIO_DETAIL0(HELIO_DETAIL_NO_POOL_HAS_ALL);
}

static helio_detail_t models(helio_broker_core_t *self)
{
    helio_text_t seen[MODELS_NAMED];
    uint32_t count = 0;
    const char *names = "";
    for (const site_t *site = self->sites; site; site = site->hh.next)
        for (uint32_t i = 0; i < site->pool_count && count < MODELS_NAMED; i++) {
            helio_text_t gpu = site->pools[i].info.gpu;
            bool known = !gpu.size;
            for (uint32_t k = 0; k < count; k++)
                known = known || helio_text_equal(seen[k], gpu);
            if (known)
                continue;
            seen[count++] = gpu;
            names = core_printf(self, "%s%s%.*s", names, names[0] ? "," : "", HELIO_TEXT_ARGS(gpu));
        }
    return count ? CORE_DETAIL(self, HELIO_DETAIL_GPU_MODELS_ARE,
                               (helio_value_t){.number = count, .text = helio_text_of(names)})
                 : HELIO_DETAIL0(HELIO_DETAIL_NO_GPU_ANYWHERE);
}

/*  Adds those words of `values` that `names` does not have, up to a few; *count is of all of them. */
static const char *join(helio_broker_core_t *self, const char *names, helio_text_t values, uint32_t *count)
{
    for (uint32_t at = 0, end; at < values.size; at = end + 1) {
        for (end = at; end < values.size && values.data[end] != ',';)
            end++;
        const char *word = core_printf(self, ",%.*s,", (int)(end - at), values.data + at);
        if (end == at || strstr(core_printf(self, ",%s,", names), word))
            continue;
        if ((*count)++ < MODELS_NAMED)
            names = core_printf(self, "%s%s%.*s", names, names[0] ? "," : "", (int)(end - at), values.data + at);
    }
    return names;
}

/*  What the clusters that could run it have instead of the name. */
static helio_detail_t no_such_name(helio_broker_core_t *self, const helio_requirement_t *want)
{
    helio_missing_name_t first = {0};
    const char *names = "";
    uint32_t count = 0;
    for (const site_t *site = self->sites; site; site = site->hh.next)
        for (uint32_t i = 0; i < site->pool_count; i++) {
            const helio_pool_t *pool = &site->pools[i].info;
            if (helio_choice_filter(want, &site->profile, pool).rejection != HELIO_REJECTION_NO_SUCH_NAME)
                continue;
            helio_missing_name_t missing = helio_choice_missing_name(want, pool);
            if (!first.option.size)
                first = missing;
            if (helio_text_equal(missing.option, first.option))
                names = join(self, names, missing.names, &count);
        }
    return CORE_DETAIL(self, HELIO_DETAIL_NO_CLUSTER_HAS, helio_value_text(first.option), helio_value_text(first.value),
                       (helio_value_t){.number = count, .text = helio_text_of(names)});
}

static helio_detail_t cause_of(helio_broker_core_t *self, const helio_requirement_t *want, helio_rejection_t rejection)
{
    if (rejection == HELIO_REJECTION_TOO_SMALL)
        return largest(self, want);
    if (rejection == HELIO_REJECTION_NO_SUCH_GPU)
        return models(self);
    if (rejection == HELIO_REJECTION_NO_USER_MAPPING)
        return CORE_DETAIL(self, HELIO_DETAIL_NO_UNIX_USER, helio_value_text(want->tenant));
    if (rejection == HELIO_REJECTION_NO_SUCH_NAME)
        return no_such_name(self, want);
    return (helio_detail_t){0};
}

/*  A list of words to which no site answers is the reason: all sites are rejected by it. */
static bool is_of_a_name(const helio_broker_core_t *self, const helio_requirement_t *want, helio_rejection_t rejection)
{
    return (rejection == HELIO_REJECTION_SITE_PATTERN && core_placement_names_none(self, want, NAMES_SITES)) ||
           (rejection == HELIO_REJECTION_RESIDENCY && core_placement_names_none(self, want, NAMES_REGIONS)) ||
           (rejection == HELIO_REJECTION_BACKEND && core_placement_names_none(self, want, NAMES_BACKENDS));
}

helio_details_t core_infeasible_details(helio_broker_core_t *self, const helio_requirement_t *want)
{
    bool seen[HELIO_REJECTION_COUNT] = {false};
    uint32_t furthest = HELIO_REJECTION_NONE;
    for (const site_t *site = self->sites; site; site = site->hh.next)
        for (uint32_t i = 0; i < site->pool_count; i++) {
            uint32_t r = helio_choice_filter(want, &site->profile, &site->pools[i].info).rejection;
            seen[r] = true;
            furthest = r > furthest ? r : furthest;
        }
    helio_details_t why = {0};
    core_placement_names(self, want, &why);
    for (uint32_t r = HELIO_REJECTION_COUNT - 1; r > HELIO_REJECTION_NONE; r--) /* the furthest rejections first */
        if (seen[r] && !is_of_a_name(self, want, (helio_rejection_t)r))
            core_why_add(self, &why, rejected_at(self, want, (helio_rejection_t)r));
    core_why_add(self, &why, cause_of(self, want, (helio_rejection_t)furthest));
    helio_requirement_t fit;
    helio_detail_t remedy = core_infeasible_remedy(self, want, HELIO_DETAIL_WOULD_FIT, &fit);
    core_why_add(self, &why, remedy);
    if (remedy.code)
        core_why_add(self, &why, core_infeasible_fewer(self, want, &fit));
    return why;
}

bool core_is_feasible(helio_broker_core_t *self, const helio_requirement_t *want)
{
    uint32_t pools = 0;
    for (const site_t *site = self->sites; site; site = site->hh.next)
        for (uint32_t i = 0; i < site->pool_count; i++, pools++)
            if (helio_choice_filter(want, &site->profile, &site->pools[i].info).rejection == HELIO_REJECTION_NONE)
                return true;
    return pools == 0;
}
