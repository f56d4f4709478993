/*  quota.c -- a ClusterQueue's figures as what pools have left. */
#include "federation/base/number.h"
#include "site-agent/backends/kubernetes/document.h"
#include "site-agent/backends/kubernetes/quota.h"

static uint64_t plus(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static bool is_stopped(const json_t *queue)
{
    helio_text_t policy = helio_kube_text(HELIO_KUBE_AT(queue, "spec", "stopPolicy"));
    const json_t *active = helio_kube_named(HELIO_KUBE_AT(queue, "status", "conditions"), "type", "Active");
    return (policy.size && !helio_text_is(policy, "None")) ||
           helio_text_is(helio_kube_text(json_object_get(active, "status")), "False");
}

static bool covers(const json_t *group, const char *resource)
{
    const json_t *covered = json_object_get(group, "coveredResources");
    for (size_t i = 0; i < json_array_size(covered); i++)
        if (helio_text_is(helio_kube_text(json_array_get(covered, i)), resource))
            return true;
    return false;
}

bool helio_kube_flavor_is_of(const json_t *local, const char *flavor, const helio_pool_t *pool)
{
    const json_t *found = helio_kube_named(HELIO_KUBE_AT(local, "status", "flavors"), "name", flavor);
    helio_text_t product = helio_kube_text(HELIO_KUBE_AT(found, "nodeLabels", HELIO_KUBE_PRODUCT));
    return !product.size || helio_kube_is_product(product, pool);
}

/*  Of one flavor and resource, in thousandths. */
static uint64_t left_of(const json_t *cluster, const json_t *flavor, const char *name, const char *resource)
{
    const json_t *quota = helio_kube_named(json_object_get(flavor, "resources"), "name", resource);
    const json_t *row = helio_kube_named(HELIO_KUBE_AT(cluster, "status", "flavorsReservation"), "name", name);
    const json_t *used = helio_kube_named(json_object_get(row, "resources"), "name", resource);
    uint64_t nominal = helio_kube_milli(json_object_get(quota, "nominalQuota"));
    uint64_t reserved = helio_kube_milli(json_object_get(used, "total"));
    return nominal > reserved ? nominal - reserved : 0;
}

/*  Of all flavors for a pool, in thousandths; `uncovered` if no group of the queue has the resource. */
static uint64_t left_milli(const json_t *local, const json_t *cluster, const helio_pool_t *pool, const char *resource,
                           uint64_t uncovered)
{
    const json_t *groups = HELIO_KUBE_AT(cluster, "spec", "resourceGroups");
    uint64_t left = 0;
    bool covered = false;
    for (size_t g = 0; g < json_array_size(groups); g++) {
        const json_t *group = json_array_get(groups, g), *flavors = json_object_get(group, "flavors");
        if (!covers(group, resource))
            continue;
        covered = true;
        for (size_t f = 0; f < json_array_size(flavors); f++) {
            const json_t *flavor = json_array_get(flavors, f);
            const char *name = json_string_value(json_object_get(flavor, "name"));
            if (name && helio_kube_flavor_is_of(local, name, pool))
                left = plus(left, left_of(cluster, flavor, name, resource));
        }
    }
    return covered ? left : uncovered;
}

void helio_kube_quota_read(const json_t *local, const json_t *cluster, const helio_site_profile_t *site,
                           helio_kube_quota_t *ret_quota)
{
    bool admits = local && cluster && !is_stopped(local) && !is_stopped(cluster);
    *ret_quota = (helio_kube_quota_t){.known = true};
    for (uint32_t p = 0; p < site->pools.count && admits; p++) {
        const helio_pool_t *pool = &site->pools.items[p];
        helio_kube_left_t *left = &ret_quota->pools[p];
        char resource[HELIO_KUBE_RESOURCE_SIZE];
        helio_kube_resource(pool, resource);
        uint64_t memory = left_milli(local, cluster, pool, "memory", UINT64_MAX);
        left->gpus = resource[0] ? left_milli(local, cluster, pool, resource, 0) / 1000 : UINT64_MAX;
        left->cpu_milli = left_milli(local, cluster, pool, "cpu", UINT64_MAX);
        left->memory_bytes = memory == UINT64_MAX ? UINT64_MAX : memory / 1000;
    }
}

/* ---- figures ------------------------------------------------------------------------------------------- */

void helio_kube_quota_limit(const helio_kube_left_t *left, uint64_t waiting_gpus, helio_pool_capacity_t *pool)
{
    uint64_t gpus = left->gpus > waiting_gpus ? left->gpus - waiting_gpus : 0;
    for (uint32_t k = pool->free_nodes.count; k-- > 1;) {
        uint32_t nodes = pool->free_nodes.items[k], whole = (uint32_t)helio_lesser_u64(nodes, gpus / k);
        gpus -= (uint64_t)whole * k;
        pool->free_nodes.items[k] = whole;
        if (whole == nodes)
            continue;
        uint32_t rest = (uint32_t)(gpus < k ? gpus : 0); /* less than one node's: a further one has so many free */
        pool->free_nodes.items[rest]++;
        pool->free_nodes.items[0] += nodes - whole - 1;
        pool->gpus_reserved += (nodes - whole) * k - rest;
    }
    pool->cpus_free = (uint32_t)helio_lesser_u64(pool->cpus_free, left->cpu_milli / 1000);
    pool->memory_free_bytes = helio_lesser_u64(pool->memory_free_bytes, left->memory_bytes);
}
