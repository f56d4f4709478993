/*  infeasible.c -- what no site could run, even empty, in words: what each site has, and what would fit.
 *
 *  What would fit is tried by the filter itself before it is said.
 */
#include "broker/core/decide/infeasible.h"

#include <string.h>

#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"

enum { SITES_NAMED = 3, MODELS_NAMED = 6, GB = 1000000000 };

static uint32_t nodes_of(const helio_pool_t *pool)
{
    return pool->max_nodes > pool->nodes ? pool->max_nodes : pool->nodes;
}

static bool lacks_cpus(const helio_requirement_t *want, const helio_pool_t *pool)
{
    return pool->cpus_per_node && want->cpus > pool->cpus_per_node;
}

static bool lacks_memory(const helio_requirement_t *want, const helio_pool_t *pool)
{
    return pool->memory_bytes_per_node && want->memory_bytes > pool->memory_bytes_per_node;
}

/*  "4 nodes of 8 GPUs, 64 CPUs" */
static const char *size_text(helio_broker_core_t *self, const helio_requirement_t *want,
                             const helio_pool_t *pool)
{
    uint32_t nodes = nodes_of(pool);
    const char *text = core_printf(self, "%u node%s", nodes, nodes == 1 ? "" : "s"), *joint = " of";
    if (want->gpus.count) {
        text = core_printf(self, "%s%s %u GPU%s", text, joint, pool->gpus_per_node,
                           pool->gpus_per_node == 1 ? "" : "s");
        joint = ",";
    }
    if (lacks_cpus(want, pool)) {
        text = core_printf(self, "%s%s %u CPUs", text, joint, pool->cpus_per_node);
        joint = ",";
    }
    if (lacks_memory(want, pool))
        text = core_printf(self, "%s%s %llu GB", text, joint,
                           (unsigned long long)(pool->memory_bytes_per_node / GB));
    return text;
}

static const char *gpu_text(helio_broker_core_t *self, const helio_requirement_t *want, const helio_pool_t *pool)
{
    bool by_memory = false;
    for (uint32_t i = 0; i < want->gpus.count; i++)
        by_memory = by_memory || want->gpus.items[i].memory_bytes;
    if (!pool->gpus_per_node)
        return "has no GPUs";
    return by_memory ? core_printf(self, "has %.*s of %llu GB", HELIO_TEXT_ARGS(pool->gpu),
                                   (unsigned long long)(pool->gpu_memory_bytes / GB))
                     : core_printf(self, "has %.*s", HELIO_TEXT_ARGS(pool->gpu));
}

const char *core_infeasible_detail(helio_broker_core_t *self, const helio_requirement_t *want, const site_t *site,
                               const helio_pool_t *pool, helio_rejection_t rejection)
{
    switch ((int)rejection) {
    case HELIO_REJECTION_RESIDENCY:
        return core_printf(self, "in %.*s", HELIO_TEXT_ARGS(site->profile.region));
    case HELIO_REJECTION_BACKEND:
        return core_printf(self, "of kind %.*s", HELIO_TEXT_ARGS(site->profile.backend));
    case HELIO_REJECTION_NO_SUCH_GPU:
        return gpu_text(self, want, pool);
    case HELIO_REJECTION_TOO_SMALL:
        return core_printf(self, "has %s", size_text(self, want, pool));
    case HELIO_REJECTION_NO_INTERCONNECT:
        return core_printf(self, "has %s", helio_interconnect_name(pool->interconnect));
    case HELIO_REJECTION_NO_SHARING:
        return core_printf(self, "shares by %s", helio_sharing_name(pool->sharing));
    case HELIO_REJECTION_NO_USER_MAPPING:
        return core_printf(self,
                           "has no Unix user for tenant %.*s; its operator adds one under `agent.users`",
                           HELIO_TEXT_ARGS(want->tenant));
    default:
        return "";
    }
}

/* ---- what would fit ------------------------------------------------------------------------------------ */

/*  The most that the pool could take of what is asked for. In `ret_ask` what it asks of GPUs, which `ret`
 * views. */
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
        *ret_ask = (helio_gpu_ask_t){
            .model = helio_gpu_model(pool->gpu), .mig = helio_gpu_slice(pool->gpu), .count = count};
        ret->gpus.items = ret_ask;
        ret->gpus.count = 1;
        ret->nodes = nodes < nodes_of(pool) ? (uint32_t)nodes : nodes_of(pool);
    } else if (ret->nodes > nodes_of(pool)) {
        ret->nodes = nodes_of(pool);
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

/*  The more of it the better, of a model that it asks for before others; 0 = nothing would. */
static uint64_t worth(const helio_requirement_t *want, const helio_requirement_t *fit,
                      const helio_pool_t *pool)
{
    uint64_t gpus = fit->gpus.count ? fit->gpus.items[0].count : 0;
    uint64_t same = asks_for(want, pool->gpu),
             whole = fit->cpus == want->cpus && fit->memory_bytes == want->memory_bytes;
    return 1 + fit->nodes * (gpus ? gpus : 1) + (whole << 40) + (same << 41);
}

const char *core_infeasible_remedy(helio_broker_core_t *self, const helio_requirement_t *want,
                               helio_requirement_t *ret_fit, const char **ret_site)
{
    uint64_t best = 0;
    helio_gpu_ask_t *asks = helio_arena_alloc(self->effects->arena, 2, sizeof *asks);
    for (const site_t *site = self->sites; site; site = site->hh.next)
        for (uint32_t i = 0; i < site->pool_count; i++) {
            helio_requirement_t fit;
            bool fits = fit_to(want, site, &site->pools[i].info, &asks[0], &fit);
            uint64_t value = fits ? worth(want, &fit, &site->pools[i].info) : 0;
            if (value < best || !value || (value == best && strcmp(site->name, *ret_site) > 0))
                continue;
            best = value;
            asks[1] = asks[0];
            *ret_fit = fit;
            *ret_site = site->name;
        }
    if (!best)
        return "";
    const char *text = "";
    if (ret_fit->gpus.count) {
        ret_fit->gpus.items = &asks[1];
        text = core_printf(self, "`gpu: %.*s%s%.*s:%u`", HELIO_TEXT_ARGS(asks[1].model),
                           asks[1].mig.size ? "/" : "", HELIO_TEXT_ARGS(asks[1].mig), asks[1].count);
    }
    if (ret_fit->nodes != want->nodes)
        text = core_printf(self, "%s%s`nodes: %u`", text, text[0] ? ", " : "", ret_fit->nodes);
    if (ret_fit->cpus != want->cpus)
        text = core_printf(self, "%s%s`cpus: %u`", text, text[0] ? ", " : "", ret_fit->cpus);
    if (ret_fit->memory_bytes != want->memory_bytes)
        text = core_printf(self, "%s%s`memory: %lluGB`", text, text[0] ? ", " : "",
                           (unsigned long long)(ret_fit->memory_bytes / GB));
    return text;
}

/* ---- why nowhere --------------------------------------------------------------------------------------- */

/*  "TooSmall at lulea, oregon and 3 more" */
static const char *where_text(helio_broker_core_t *self, const helio_requirement_t *want,
                              helio_rejection_t rejection)
{
    const char *text = "";
    uint32_t count = 0;
    for (const site_t *site = self->sites; site; site = site->hh.next) {
        bool there = false;
        for (uint32_t i = 0; i < site->pool_count; i++)
            there = there ||
                    helio_choice_filter(want, &site->profile, &site->pools[i].info).rejection == rejection;
        if (there && count++ < SITES_NAMED)
            text = core_printf(self, "%s%s%s", text, text[0] ? ", " : "", site->name);
    }
    const char *more = count > SITES_NAMED ? core_printf(self, " and %u more", count - SITES_NAMED) : "";
    return count ? core_printf(self, "%s at %s%s", helio_rejection_name(rejection), text, more) : "";
}

/*  The largest of what is too small, as far as that is why. */
static const char *largest_text(helio_broker_core_t *self, const helio_requirement_t *want)
{
    uint32_t gpus = 0, nodes = 0, cpus = 0, least_gpus = UINT32_MAX;
    uint64_t memory_bytes = 0;
    for (const site_t *site = self->sites; site; site = site->hh.next)
        for (uint32_t i = 0; i < site->pool_count; i++) {
            const helio_pool_t *pool = &site->pools[i].info;
            if (helio_choice_filter(want, &site->profile, pool).rejection != HELIO_REJECTION_TOO_SMALL)
                continue;
            gpus = pool->gpus_per_node > gpus ? pool->gpus_per_node : gpus;
            nodes = nodes_of(pool) > nodes ? nodes_of(pool) : nodes;
            cpus = pool->cpus_per_node > cpus ? pool->cpus_per_node : cpus;
            memory_bytes =
                pool->memory_bytes_per_node > memory_bytes ? pool->memory_bytes_per_node : memory_bytes;
        }
    for (uint32_t i = 0; i < want->gpus.count; i++)
        least_gpus = want->gpus.items[i].count < least_gpus ? want->gpus.items[i].count : least_gpus;
    if (want->gpus.count && least_gpus > gpus)
        return core_printf(self, "the largest node of them has %u GPU%s", gpus, gpus == 1 ? "" : "s");
    if (want->nodes > nodes)
        return core_printf(self, "the largest pool of them has %u node%s", nodes, nodes == 1 ? "" : "s");
    if (cpus && want->cpus > cpus)
        return core_printf(self, "the largest node of them has %u CPUs", cpus);
    if (memory_bytes && want->memory_bytes > memory_bytes)
        return core_printf(self, "the largest node of them has %llu GB",
                           (unsigned long long)(memory_bytes / GB));
    return "none has all that it asks for together";
}

/*  "there are A100, H100" */
static const char *models_text(helio_broker_core_t *self)
{
    helio_text_t seen[MODELS_NAMED];
    uint32_t count = 0;
    const char *text = "";
    for (const site_t *site = self->sites; site; site = site->hh.next)
        for (uint32_t i = 0; i < site->pool_count && count < MODELS_NAMED; i++) {
            helio_text_t gpu = site->pools[i].info.gpu;
            bool known = !gpu.size;
            for (uint32_t k = 0; k < count; k++)
                known = known || helio_text_equal(seen[k], gpu);
            if (known)
                continue;
            seen[count++] = gpu;
            text = core_printf(self, "%s%s%.*s", text, text[0] ? ", " : "", HELIO_TEXT_ARGS(gpu));
        }
    return count ? core_printf(self, "there are %s", text) : "there are no GPUs";
}

static const char *cause_text(helio_broker_core_t *self, const helio_requirement_t *want,
                              helio_rejection_t cause)
{
    if (cause == HELIO_REJECTION_TOO_SMALL)
        return largest_text(self, want);
    if (cause == HELIO_REJECTION_NO_SUCH_GPU)
        return models_text(self);
    if (cause == HELIO_REJECTION_NO_USER_MAPPING)
        return core_printf(
            self, "no Unix user for tenant %.*s there; a site's operator adds one under `agent.users`",
            HELIO_TEXT_ARGS(want->tenant));
    return "";
}

const char *core_infeasible_text(helio_broker_core_t *self, const helio_requirement_t *want)
{
    bool seen[HELIO_REJECTION_COUNT] = {false};
    uint32_t furthest = HELIO_REJECTION_NONE;
    for (const site_t *site = self->sites; site; site = site->hh.next)
        for (uint32_t i = 0; i < site->pool_count; i++) {
            uint32_t r = helio_choice_filter(want, &site->profile, &site->pools[i].info).rejection;
            seen[r] = true;
            furthest = r > furthest ? r : furthest;
        }
    const char *text = "", *site = "", *cause = cause_text(self, want, (helio_rejection_t)furthest);
    helio_requirement_t fit;
    for (uint32_t r = HELIO_REJECTION_COUNT - 1; r > HELIO_REJECTION_NONE;
         r--) /* those that came furthest first */
        if (seen[r])
            text = core_printf(self, "%s%s%s", text, text[0] ? ", " : "",
                               where_text(self, want, (helio_rejection_t)r));
    if (cause[0])
        text = core_printf(self, "%s: %s", text, cause);
    const char *remedy = core_infeasible_remedy(self, want, &fit, &site);
    return remedy[0] ? core_printf(self, "%s; %s would fit (%s)", text, remedy, site) : text;
}

bool core_is_feasible(helio_broker_core_t *self, const helio_requirement_t *want)
{
    uint32_t pools = 0;
    for (const site_t *site = self->sites; site; site = site->hh.next)
        for (uint32_t i = 0; i < site->pool_count; i++, pools++)
            if (helio_choice_filter(want, &site->profile, &site->pools[i].info).rejection ==
                HELIO_REJECTION_NONE)
                return true;
    return pools == 0;
}
