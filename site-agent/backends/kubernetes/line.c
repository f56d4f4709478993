/*  line.c -- the line at a ClusterQueue. */
#include "site-agent/backends/kubernetes/line.h"

#include <stdlib.h>
#include <string.h>

#include "federation/base/number.h"
#include "site-agent/backends/kubernetes/document.h"
#include "site-agent/backends/kubernetes/quota.h"

enum { SECONDS_MAX = 31622400 /* a year: no deadline counts for more */, SOON_MS = 1000 };

/*  One Workload. */
typedef struct stand {
    int64_t since_ms; /* admitted, or created */
    int64_t limit_ms; /* 0 = none is known */
    int64_t priority;
    uint32_t *gpus; /* of each pool of the site */
} stand_t;

struct helio_kube_line {
    const helio_site_profile_t *site;
    helio_arena_t *arena;
    json_t *local;    /* the queue of the site; its status names the flavors */
    json_t *feeding;  /* "namespace/name" of LocalQueues of the ClusterQueue */
    const char *name; /* the ClusterQueue */
    bool strict;
    uint64_t waiting_count, holding_count; /* by the queue's own figures */
    uint64_t held_gpus[HELIO_SITE_POOLS_MAX];
    stand_t *holders, *waiting;
    uint32_t holder_count, seen;
};

/* ---- the queue ----------------------------------------------------------------------------------------- */

static uint64_t count_of(const json_t *value)
{
    json_int_t count = json_is_integer(value) ? json_integer_value(value) : 0;
    return count > 0 ? (uint64_t)count : 0;
}

static uint64_t plus(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t held_of(const helio_kube_line_t *self, const json_t *cluster, const helio_pool_t *pool)
{
    const json_t *flavors = HELIO_KUBE_AT(cluster, "status", "flavorsReservation");
    char resource[HELIO_KUBE_RESOURCE_SIZE];
    uint64_t held = 0;
    helio_kube_resource(pool, resource);
    for (size_t f = 0; f < json_array_size(flavors); f++) {
        const json_t *flavor = json_array_get(flavors, f);
        const char *name = json_string_value(json_object_get(flavor, "name"));
        const json_t *used = helio_kube_named(json_object_get(flavor, "resources"), "name", resource);
        if (name && helio_kube_flavor_is_of(self->local, name, pool))
            held = plus(held, helio_kube_units(json_object_get(used, "total")));
    }
    return held;
}

static void add_feeding(helio_kube_line_t *self, helio_text_t space, helio_text_t name)
{
    char key[HELIO_KUBE_KEY_SIZE];
    (void)snprintf(key, sizeof key, "%.*s/%.*s", HELIO_TEXT_ARGS(space), HELIO_TEXT_ARGS(name));
    (void)json_object_set_new(self->feeding, key, json_true());
}

helio_kube_line_t *helio_kube_line_new(const helio_site_profile_t *site, helio_text_t space, const json_t *local,
                                       const json_t *cluster)
{
    helio_kube_line_t *self = helio_new(1, sizeof *self);
    self->site = site;
    self->arena = helio_arena_new();
    self->local = json_incref((json_t *)(uintptr_t)local);
    self->feeding = json_object();
    self->name = helio_arena_string(self->arena, helio_kube_text(HELIO_KUBE_AT(local, "spec", "clusterQueue")));
    self->strict = helio_text_is(helio_kube_text(HELIO_KUBE_AT(cluster, "spec", "queueingStrategy")), "StrictFIFO");
    self->waiting_count = count_of(HELIO_KUBE_AT(cluster, "status", "pendingWorkloads"));
    self->holding_count = count_of(HELIO_KUBE_AT(cluster, "status", "reservingWorkloads"));
    for (uint32_t p = 0; p < site->pools.count; p++)
        self->held_gpus[p] = held_of(self, cluster, &site->pools.items[p]);
    add_feeding(self, space, helio_kube_text(HELIO_KUBE_AT(local, "metadata", "name")));
    return self;
}

void helio_kube_line_destroy(helio_kube_line_t **self_p)
{
    helio_kube_line_t *self = *self_p;
    if (!self)
        return;
    json_decref(self->local);
    json_decref(self->feeding);
    helio_arena_destroy(&self->arena);
    free(self->holders);
    free(self->waiting);
    free(self);
    *self_p = NULL;
}

bool helio_kube_line_is_busy(const helio_kube_line_t *self)
{
    return self->waiting_count || self->holding_count;
}

uint32_t helio_kube_line_waiting(const helio_kube_line_t *self)
{
    return (uint32_t)helio_lesser_u64(self->waiting_count, UINT32_MAX);
}

void helio_kube_line_take_queues(helio_kube_line_t *self, const json_t *items)
{
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *queue = json_array_get(items, i), *metadata = json_object_get(queue, "metadata");
        if (helio_text_is(helio_kube_text(HELIO_KUBE_AT(queue, "spec", "clusterQueue")), self->name))
            add_feeding(self, helio_kube_text(json_object_get(metadata, "namespace")),
                        helio_kube_text(json_object_get(metadata, "name")));
    }
}

/* ---- Workloads ----------------------------------------------------------------------------------------- */

static int64_t ms_of(const json_t *seconds)
{
    uint64_t value = count_of(seconds);
    return (int64_t)(value < SECONDS_MAX ? value : SECONDS_MAX) * 1000;
}

/*  The earliest end that something will make. */
static int64_t limit_of(const json_t *workload)
{
    const json_t *sets = HELIO_KUBE_AT(workload, "spec", "podSets");
    int64_t least_ms = ms_of(HELIO_KUBE_AT(workload, "spec", "maximumExecutionTimeSeconds"));
    for (size_t i = 0; i < json_array_size(sets); i++) {
        int64_t ms = ms_of(HELIO_KUBE_AT(json_array_get(sets, i), "template", "spec", "activeDeadlineSeconds"));
        if (ms && (!least_ms || ms < least_ms))
            least_ms = ms;
    }
    return least_ms;
}

static void add(uint32_t *sum, uint64_t by)
{
    *sum = by > UINT32_MAX - *sum ? UINT32_MAX : *sum + (uint32_t)by;
}

/*  What one that waits asks for, of any flavor: the queue has written that down once it had no quota for it; before, the
 *  pods' own limits say it. */
static uint64_t asked_of(const json_t *workload, const char *resource)
{
    const json_t *told = HELIO_KUBE_AT(workload, "status", "resourceRequests");
    const json_t *sets = HELIO_KUBE_AT(workload, "spec", "podSets");
    uint64_t gpus = 0;
    for (size_t i = 0; i < json_array_size(told); i++)
        gpus = plus(gpus,
                    helio_kube_units(json_object_get(json_object_get(json_array_get(told, i), "resources"), resource)));
    for (size_t i = 0; !json_array_size(told) && i < json_array_size(sets); i++) {
        const json_t *set = json_array_get(sets, i), *containers = HELIO_KUBE_AT(set, "template", "spec", "containers");
        uint64_t of_pod = 0, pods = count_of(json_object_get(set, "count"));
        for (size_t c = 0; c < json_array_size(containers); c++)
            of_pod = plus(of_pod, helio_kube_units(json_object_get(
                                      HELIO_KUBE_AT(json_array_get(containers, c), "resources", "limits"), resource)));
        gpus = plus(gpus, of_pod && pods > UINT64_MAX / of_pod ? UINT64_MAX : of_pod * pods);
    }
    return gpus;
}

/*  What one holds of the flavors of a pool. */
static uint64_t held_by(const helio_kube_line_t *self, const json_t *workload, const helio_pool_t *pool,
                        const char *resource)
{
    const json_t *sets = HELIO_KUBE_AT(workload, "status", "admission", "podSetAssignments");
    uint64_t gpus = 0;
    for (size_t i = 0; i < json_array_size(sets); i++) {
        const json_t *set = json_array_get(sets, i);
        const char *flavor = json_string_value(json_object_get(json_object_get(set, "flavors"), resource));
        if (flavor && helio_kube_flavor_is_of(self->local, flavor, pool))
            gpus = plus(gpus, helio_kube_units(json_object_get(json_object_get(set, "resourceUsage"), resource)));
    }
    return gpus;
}

static bool waits_here(const helio_kube_line_t *self, const json_t *workload)
{
    const json_t *reserved = helio_kube_named(HELIO_KUBE_AT(workload, "status", "conditions"), "type", "QuotaReserved");
    char key[HELIO_KUBE_KEY_SIZE];
    helio_text_t space = helio_kube_text(HELIO_KUBE_AT(workload, "metadata", "namespace"));
    helio_text_t queue = helio_kube_text(HELIO_KUBE_AT(workload, "spec", "queueName"));
    (void)snprintf(key, sizeof key, "%.*s/%.*s", HELIO_TEXT_ARGS(space), HELIO_TEXT_ARGS(queue));
    return json_object_get(self->feeding, key) && !json_is_false(HELIO_KUBE_AT(workload, "spec", "active")) &&
           !helio_text_is(helio_kube_text(json_object_get(reserved, "reason")), "Inadmissible");
}

static stand_t stand_of(helio_kube_line_t *self, const json_t *workload, bool holds)
{
    const json_t *conditions = HELIO_KUBE_AT(workload, "status", "conditions");
    const json_t *reserved = helio_kube_named(conditions, "type", "QuotaReserved");
    const json_t *since = holds ? json_object_get(reserved, "lastTransitionTime")
                                : HELIO_KUBE_AT(workload, "metadata", "creationTimestamp");
    stand_t stand = {.since_ms = helio_kube_time(since),
                     .limit_ms = limit_of(workload),
                     .priority = json_integer_value(HELIO_KUBE_AT(workload, "spec", "priority")),
                     .gpus = helio_arena_alloc(self->arena, self->site->pools.count + 1, sizeof *stand.gpus)};
    for (uint32_t p = 0; p < self->site->pools.count; p++) {
        const helio_pool_t *pool = &self->site->pools.items[p];
        char resource[HELIO_KUBE_RESOURCE_SIZE];
        helio_kube_resource(pool, resource);
        if (resource[0])
            add(&stand.gpus[p], holds ? held_by(self, workload, pool, resource) : asked_of(workload, resource));
    }
    return stand;
}

void helio_kube_line_take(helio_kube_line_t *self, const json_t *items)
{
    if (!self->holders)
        self->holders = helio_new(HELIO_KUBE_LINE_HOLDERS_MAX, sizeof *self->holders);
    if (!self->waiting)
        self->waiting = helio_new(HELIO_KUBE_LINE_WAITING_MAX, sizeof *self->waiting);
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *workload = json_array_get(items, i);
        helio_text_t of = helio_kube_text(HELIO_KUBE_AT(workload, "status", "admission", "clusterQueue"));
        if (helio_kube_condition(workload, "Finished"))
            continue;
        if (helio_text_is(of, self->name) && self->holder_count < HELIO_KUBE_LINE_HOLDERS_MAX)
            self->holders[self->holder_count++] = stand_of(self, workload, true);
        else if (!of.size && waits_here(self, workload) && self->seen < HELIO_KUBE_LINE_WAITING_MAX)
            self->waiting[self->seen++] = stand_of(self, workload, false);
    }
}

/* ---- what is to be expected ---------------------------------------------------------------------------- */

typedef struct entry {
    int64_t priority, since_ms, limit_ms;
    uint64_t gpus;
    bool admitted;
} entry_t;

typedef struct back {
    int64_t at_ms;
    uint64_t gpus;
} back_t;

/*  The rest of a simulation of the queue, for one pool. */
typedef struct course {
    entry_t *entries;
    uint32_t entry_count, first; /* all before `first` are admitted */
    back_t *backs;               /* what is returned, the next last */
    uint32_t back_count;
    uint64_t left;
    int64_t now_ms;
    bool strict;
} course_t;

static int by_turn(const void *a_, const void *b_)
{
    const entry_t *a = a_, *b = b_;
    if (a->priority != b->priority)
        return a->priority > b->priority ? -1 : 1;
    return a->since_ms < b->since_ms ? -1 : a->since_ms > b->since_ms;
}

static int by_time_down(const void *a_, const void *b_)
{
    const back_t *a = a_, *b = b_;
    return a->at_ms > b->at_ms ? -1 : a->at_ms < b->at_ms;
}

static void give_back(course_t *self, int64_t at_ms, uint64_t gpus)
{
    uint32_t at = self->back_count++;
    for (; at > 0 && self->backs[at - 1].at_ms < at_ms; at--)
        self->backs[at] = self->backs[at - 1];
    self->backs[at] = (back_t){at_ms, gpus};
}

/*  Whom the quota suffices for now. */
static void admit(course_t *self)
{
    for (uint32_t i = self->first; i < self->entry_count; i++) {
        entry_t *entry = &self->entries[i];
#ifdef HELIO_MUTANT_queue_line_passed
        self->strict = false;
#endif
        if (!entry->admitted && entry->gpus > self->left && self->strict)
            break;
        if (!entry->admitted && entry->gpus <= self->left) {
            entry->admitted = true;
            self->left -= entry->gpus;
            if (entry->limit_ms && entry->gpus)
                give_back(self, self->now_ms + entry->limit_ms, entry->gpus);
        }
    }
    while (self->first < self->entry_count && self->entries[self->first].admitted)
        self->first++;
}

/*  False: nothing more comes back. */
static bool go_on(course_t *self)
{
    if (!self->back_count)
        return false;
    self->now_ms = self->backs[self->back_count - 1].at_ms;
    while (self->back_count && self->backs[self->back_count - 1].at_ms == self->now_ms)
        self->left = plus(self->left, self->backs[--self->back_count].gpus);
    return true;
}

/*  Those that the queue counts, and that are not seen. */
static void add_unseen(const helio_kube_line_t *self, uint32_t pool, course_t *course)
{
    uint64_t unseen = self->waiting_count > self->seen ? self->waiting_count - self->seen : 0, limits = 0, sum_s = 0;
    for (uint32_t i = 0; i < self->seen; i++) {
        limits += self->waiting[i].limit_ms > 0;
        sum_s += (uint64_t)self->waiting[i].limit_ms / 1000;
    }
    for (uint32_t i = 0; i < self->holder_count; i++) {
        limits += self->holders[i].limit_ms > 0;
        sum_s += (uint64_t)self->holders[i].limit_ms / 1000;
    }
    uint64_t gpus = self->holding_count ? self->held_gpus[pool] / self->holding_count : 0;
    if (!course->strict && gpus <= course->left)
        gpus = plus(course->left, 1); /* what fits does not wait */
    const entry_t mean = {.priority = INT64_MIN,
                          .since_ms = INT64_MAX,
                          .limit_ms = limits ? (int64_t)(sum_s / limits) * 1000 : 0,
                          .gpus = gpus ? gpus : 1};
    for (; unseen && course->entry_count < HELIO_KUBE_LINE_WAITING_MAX; unseen--)
        course->entries[course->entry_count++] = mean;
}

static void begin(const helio_kube_line_t *self, uint32_t pool, course_t *course)
{
    const int64_t soon_ms = course->now_ms + SOON_MS;
    course->entries = helio_new(HELIO_KUBE_LINE_WAITING_MAX, sizeof *course->entries);
    course->backs = helio_new(HELIO_KUBE_LINE_HOLDERS_MAX + HELIO_KUBE_LINE_WAITING_MAX, sizeof *course->backs);
    for (uint32_t i = 0; i < self->seen; i++)
        if (self->waiting[i].gpus[pool])
            course->entries[course->entry_count++] = (entry_t){
                .priority = self->waiting[i].priority,
                .since_ms = self->waiting[i].since_ms,
                .limit_ms = self->waiting[i].limit_ms,
                .gpus = self->waiting[i].gpus[pool],
            };
    add_unseen(self, pool, course);
    if (course->entry_count)
        qsort(course->entries, course->entry_count, sizeof *course->entries, by_turn);
    for (uint32_t i = 0; i < self->holder_count; i++) {
        const stand_t *holder = &self->holders[i];
        int64_t end_ms = holder->since_ms + holder->limit_ms;
        if (holder->limit_ms && holder->since_ms && holder->gpus[pool])
            course->backs[course->back_count++] =
                (back_t){end_ms > soon_ms ? end_ms : soon_ms, holder->gpus[pool]}; /* it is late: any moment */
    }
    if (course->back_count)
        qsort(course->backs, course->back_count, sizeof *course->backs, by_time_down);
}

void helio_kube_line_expect(const helio_kube_line_t *self, uint32_t pool, uint64_t left_gpus, int64_t now_ms,
                            uint32_t sizes, uint32_t *ret_wait_s)
{
    const uint64_t each = self->site->pools.items[pool].gpus_per_node;
    course_t course = {.left = left_gpus, .now_ms = now_ms, .strict = self->strict};
    uint32_t next = 0;
    for (uint32_t i = 0; i < sizes; i++)
        ret_wait_s[i] = UINT32_MAX;
    if (!each)
        return;
    begin(self, pool, &course);
    do {
        admit(&course);
        bool behind = course.strict && course.first < course.entry_count;
        for (; next < sizes && !behind && course.left >= each << next; next++)
            ret_wait_s[next] = (uint32_t)helio_lesser_u64((uint64_t)(course.now_ms - now_ms) / 1000, UINT32_MAX - 1);
    } while (next < sizes && go_on(&course));
    free(course.entries);
    free(course.backs);
}
