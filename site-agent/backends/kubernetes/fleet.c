/*  fleet.c -- sums of nodes, moved by each change. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "site-agent/backends/kubernetes/document.h"
#include "site-agent/backends/kubernetes/fleet.h"

#define VENDOR "nvidia.com/"

struct helio_kube_owner {
    UT_hash_handle hh;
    uint32_t pods, bound;
    char name[]; /* the key */
};

/*  What a pod takes of its node. */
struct helio_kube_pod {
    UT_hash_handle hh;
    char *key;
    helio_kube_node_t *node;   /* NULL = none yet */
    helio_kube_owner_t *owner; /* NULL = none */
    bool ended;                /* it takes nothing, and counts for its owner alone */
    uint64_t cpu_milli, memory_bytes;
    uint64_t gpus[]; /* by resource */
};

/* ---- arithmetic ---------------------------------------------------------------------------------------- */

uint64_t helio_kube_sum(helio_kube_sum_t sum)
{
    return sum > UINT64_MAX ? UINT64_MAX : (uint64_t)sum;
}

static uint64_t rounded_up(uint64_t milli)
{
    return milli / 1000 + (milli % 1000 != 0);
}

/* ---- creation and end ---------------------------------------------------------------------------------- */

static uint32_t resource_at(helio_kube_fleet_t *self, const helio_pool_t *pool)
{
    char name[HELIO_KUBE_RESOURCE_SIZE];
    helio_kube_resource(pool, name);
    for (uint32_t r = 0; r < self->resource_count; r++)
        if (strcmp(self->resources[r], name) == 0)
            return r;
    if (!name[0])
        return UINT32_MAX;
    (void)snprintf(self->resources[self->resource_count], HELIO_KUBE_RESOURCE_SIZE, "%s", name);
    return self->resource_count++;
}

helio_kube_fleet_t *helio_kube_fleet_new(const helio_site_profile_t *site, const char *const *tolerated,
                                         uint32_t tolerated_count)
{
    helio_kube_fleet_t *self = helio_new(1, sizeof *self);
    self->site = site;
    self->tolerated = tolerated;
    self->tolerated_count = tolerated_count;
    for (uint32_t p = 0; p < site->pools.count; p++)
        self->resource_of[p] = resource_at(self, &site->pools.items[p]);
    return self;
}

static void node_free(helio_kube_fleet_t *self, helio_kube_node_t *node)
{
    HASH_DEL(self->nodes, node);
    free(node->taken);
    free(node->name);
    free(node);
}

static void pod_free(helio_kube_fleet_t *self, helio_kube_pod_t *pod)
{
    HASH_DEL(self->pods, pod);
    free(pod->key);
    free(pod);
}

void helio_kube_fleet_destroy(helio_kube_fleet_t **self_p)
{
    helio_kube_fleet_t *self = *self_p;
    helio_kube_pod_t *pod, *next_pod;
    helio_kube_node_t *node, *next_node;
    helio_kube_owner_t *owner, *next_owner;
    if (!self)
        return;
    HASH_ITER(hh, self->pods, pod, next_pod) pod_free(self, pod);
    HASH_ITER(hh, self->nodes, node, next_node) node_free(self, node);
    HASH_ITER(hh, self->owners, owner, next_owner)
    {
        HASH_DEL(self->owners, owner);
        free(owner);
    }
    free(self);
    *self_p = NULL;
}

/* ---- nodes --------------------------------------------------------------------------------------------- */

static helio_kube_node_t *node_of(helio_kube_fleet_t *self, helio_text_t name)
{
    helio_kube_node_t *node;
    HASH_FIND(hh, self->nodes, name.data ? name.data : "", name.size, node);
    if (node)
        return node;
    node = helio_new(1, sizeof *node);
    node->name = helio_new(name.size + 1, 1);
    (void)helio_text_copy(name, node->name, name.size + 1);
    node->taken = helio_new(self->resource_count + 1, sizeof *node->taken);
    HASH_ADD_KEYPTR(hh, self->nodes, node->name, name.size, node);
    return node;
}

static void drop_unnamed(helio_kube_fleet_t *self, helio_kube_node_t *node)
{
    if (node && !node->listed && !node->named)
        node_free(self, node);
}

static bool is_tolerated(const helio_kube_fleet_t *self, helio_text_t key)
{
    for (uint32_t i = 0; i < self->tolerated_count; i++)
        if (helio_text_is(key, self->tolerated[i]))
            return true;
    return false;
}

/*  Whether a new pod of the federation can go there. */
static bool is_open(const helio_kube_fleet_t *self, const json_t *node)
{
    if (json_is_true(HELIO_KUBE_AT(node, "spec", "unschedulable")))
        return false;
    const json_t *taints = HELIO_KUBE_AT(node, "spec", "taints");
    for (size_t i = 0; i < json_array_size(taints); i++) {
        const json_t *taint = json_array_get(taints, i);
        if (!helio_text_is(helio_kube_text(json_object_get(taint, "effect")), "PreferNoSchedule") &&
            !is_tolerated(self, helio_kube_text(json_object_get(taint, "key"))))
            return false;
    }
    return true;
}

static bool has_gpus(json_t *allocatable)
{
    const char *name;
    json_t *value;
    json_object_foreach(allocatable, name, value) if (strncmp(name, VENDOR, sizeof VENDOR - 1) == 0 &&
                                                      helio_kube_units(value)) return true;
    return false;
}

/*  A quantity that a node offers, in thousandths; 0 if it is more than a node can have. */
static uint64_t offered(helio_kube_fleet_t *self, const json_t *node, const char *resource, uint64_t most_units,
                        uint32_t *absurd)
{
    const json_t *value = json_object_get(HELIO_KUBE_AT(node, "status", "allocatable"), resource);
    uint64_t milli = helio_kube_milli(value);
    if (milli / 1000 <= most_units)
        return milli;
    helio_text_t name = helio_kube_text(HELIO_KUBE_AT(node, "metadata", "name")), said = helio_kube_text(value);
    (void)snprintf(self->remark, sizeof self->remark,
                   "node %.*s reports %.*s of %s, more than the plausible %llu, so nothing of the node is offered",
                   (int)(name.size < 100 ? name.size : 100), name.size ? name.data : "",
                   (int)(said.size < 40 ? said.size : 40), said.size ? said.data : "too many", resource,
                   (unsigned long long)most_units);
    ++*absurd;
    return 0;
}

static void take_gpus(helio_kube_fleet_t *self, const json_t *node, helio_kube_facts_t *facts)
{
    helio_text_t product = helio_kube_text(HELIO_KUBE_AT(node, "metadata", "labels", HELIO_KUBE_PRODUCT));
    bool any = has_gpus(HELIO_KUBE_AT(node, "status", "allocatable"));
    uint64_t units[HELIO_SITE_POOLS_MAX] = {0};
    for (uint32_t r = 0; r < self->resource_count && any; r++)
        units[r] = offered(self, node, self->resources[r], HELIO_KUBE_NODE_GPUS_MAX, &facts->absurd) / 1000;
    for (uint32_t p = 0; p < self->site->pools.count; p++) {
        uint32_t resource = self->resource_of[p];
        bool serves = resource == UINT32_MAX
                          ? !any
                          : units[resource] && helio_kube_is_product(product, &self->site->pools.items[p]);
        facts->serves |= serves ? UINT64_C(1) << p : 0;
        facts->gpus[p] = serves && resource != UINT32_MAX ? units[resource] : 0;
    }
}

static helio_kube_facts_t read_node(helio_kube_fleet_t *self, const json_t *node)
{
    helio_kube_facts_t facts = {.open = is_open(self, node)};
    self->steps++;
    if (!helio_kube_condition(node, "Ready"))
        return facts;
    take_gpus(self, node, &facts);
    facts.cpu_milli = offered(self, node, "cpu", HELIO_KUBE_NODE_CPUS_MAX, &facts.absurd);
    facts.memory_bytes = offered(self, node, "memory", HELIO_KUBE_NODE_MEMORY_MAX, &facts.absurd) / 1000;
    return facts;
}

static bool is_same(const helio_kube_facts_t *a, const helio_kube_facts_t *b)
{
    return a->open == b->open && a->cpu_milli == b->cpu_milli && a->memory_bytes == b->memory_bytes &&
           a->serves == b->serves && a->absurd == b->absurd && memcmp(a->gpus, b->gpus, sizeof a->gpus) == 0;
}

bool helio_kube_fleet_node(helio_kube_fleet_t *self, const json_t *document, bool gone)
{
    helio_kube_node_t *node = node_of(self, helio_kube_text(HELIO_KUBE_AT(document, "metadata", "name")));
    helio_kube_facts_t facts = gone ? (helio_kube_facts_t){0} : read_node(self, document);
    bool differs = node->listed == gone || !is_same(&facts, &node->facts);
    self->absurd += (uint32_t)(facts.absurd != 0) - (uint32_t)(node->facts.absurd != 0);
    for (uint32_t p = 0; p < self->site->pools.count; p++)
        self->serving[p] += (uint32_t)(facts.serves >> p & 1) - (uint32_t)(node->facts.serves >> p & 1);
    node->facts = facts;
    node->listed = !gone;
    drop_unnamed(self, node);
    return differs;
}

/* ---- pods ---------------------------------------------------------------------------------------------- */

static helio_kube_owner_t *owner_of(helio_kube_fleet_t *self, helio_text_t name)
{
    helio_kube_owner_t *owner;
    if (!name.size)
        return NULL;
    HASH_FIND(hh, self->owners, name.data, name.size, owner);
    if (owner)
        return owner;
    owner = helio_new(1, sizeof *owner + name.size + 1);
    (void)helio_text_copy(name, owner->name, name.size + 1);
    HASH_ADD_KEYPTR(hh, self->owners, owner->name, name.size, owner);
    return owner;
}

/*  What a pod's containers request together; one of its init containers can need more than all of them. */
static uint64_t requested_milli(helio_kube_fleet_t *self, const json_t *pod, const char *resource)
{
    const json_t *containers = HELIO_KUBE_AT(pod, "spec", "containers");
    const json_t *before = HELIO_KUBE_AT(pod, "spec", "initContainers");
    helio_kube_sum_t sum = 0;
    uint64_t most = 0;
    self->steps += json_array_size(containers) + json_array_size(before);
    for (size_t i = 0; i < json_array_size(containers); i++)
        sum += helio_kube_milli(HELIO_KUBE_AT(json_array_get(containers, i), "resources", "requests", resource));
    for (size_t i = 0; i < json_array_size(before); i++) {
        uint64_t one = helio_kube_milli(HELIO_KUBE_AT(json_array_get(before, i), "resources", "requests", resource));
        most = one > most ? one : most;
    }
    return sum > most ? helio_kube_sum(sum) : most;
}

static void take_requests(helio_kube_fleet_t *self, const json_t *document, helio_kube_pod_t *pod)
{
    pod->cpu_milli = requested_milli(self, document, "cpu");
    pod->memory_bytes = rounded_up(requested_milli(self, document, "memory"));
    for (uint32_t r = 0; r < self->resource_count; r++)
        pod->gpus[r] = rounded_up(requested_milli(self, document, self->resources[r]));
}

/*  Adds what a pod takes, or with `back` takes it away again. */
static void move(helio_kube_fleet_t *self, const helio_kube_pod_t *pod, bool back)
{
    uint32_t one = back ? UINT32_MAX : 1; /* -1 */
    helio_kube_sum_t sign = back ? -(helio_kube_sum_t)1 : 1;
    if (pod->owner)
        pod->owner->bound += pod->node ? one : 0;
    if (pod->node)
        pod->node->named += one;
    if (pod->ended)
        return;
    for (uint32_t r = 0; r < self->resource_count; r++) {
        if (pod->gpus[r] && !pod->node)
            self->queued[r] += one;
        if (pod->gpus[r] && pod->node) {
            pod->node->taken[r].gpus += sign * pod->gpus[r];
            pod->node->taken[r].pods += one;
        }
    }
    if (!pod->node)
        return;
    pod->node->cpu_milli += sign * pod->cpu_milli;
    pod->node->memory_bytes += sign * pod->memory_bytes;
    pod->node->pods += one;
}

static void read_pod(helio_kube_fleet_t *self, const json_t *document, helio_text_t owner, helio_kube_pod_t *pod)
{
    helio_text_t node = helio_kube_text(HELIO_KUBE_AT(document, "spec", "nodeName"));
    helio_text_t phase = helio_kube_text(HELIO_KUBE_AT(document, "status", "phase"));
    self->steps++;
    pod->ended = helio_text_is(phase, "Succeeded") || helio_text_is(phase, "Failed");
    pod->node = node.size ? node_of(self, node) : NULL;
    pod->owner = owner_of(self, owner);
    if (!pod->ended)
        take_requests(self, document, pod);
}

static bool takes_the_same(const helio_kube_fleet_t *self, const helio_kube_pod_t *a, const helio_kube_pod_t *b)
{
    return a->node == b->node && a->owner == b->owner && a->ended == b->ended && a->cpu_milli == b->cpu_milli &&
           a->memory_bytes == b->memory_bytes &&
           memcmp(a->gpus, b->gpus, self->resource_count * sizeof a->gpus[0]) == 0;
}

static void drop_owner(helio_kube_fleet_t *self, helio_kube_owner_t *owner)
{
    if (!owner || --owner->pods)
        return;
    HASH_DEL(self->owners, owner);
    free(owner);
}

/*  The node and the owner of what a pod was are dropped only when what it is now has its own. */
static void remove_pod(helio_kube_fleet_t *self, helio_kube_pod_t *pod)
{
    helio_kube_node_t *node = pod->node;
    move(self, pod, true);
    drop_owner(self, pod->owner);
    pod_free(self, pod);
    drop_unnamed(self, node);
}

bool helio_kube_fleet_pod(helio_kube_fleet_t *self, const json_t *document, helio_text_t owner, bool gone)
{
    char key[HELIO_KUBE_KEY_SIZE];
    helio_kube_pod_t *former, *pod = NULL;
    helio_kube_key(document, key);
    HASH_FIND_STR(self->pods, key, former);
    if (!gone) {
        pod = helio_new(1, sizeof *pod + self->resource_count * sizeof pod->gpus[0]);
        pod->key = helio_strdup(key);
        read_pod(self, document, owner, pod);
        if (pod->owner)
            pod->owner->pods++;
        move(self, pod, false);
    }
    bool differs = gone ? former != NULL : !former || !takes_the_same(self, pod, former);
    if (former)
        remove_pod(self, former);
    if (pod)
        HASH_ADD_KEYPTR(hh, self->pods, pod->key, strlen(pod->key), pod);
    return differs;
}

uint32_t helio_kube_fleet_bound(const helio_kube_fleet_t *self, helio_text_t name)
{
    const helio_kube_owner_t *owner;
    HASH_FIND(hh, self->owners, name.data, name.size, owner);
    return owner ? owner->bound : 0;
}
