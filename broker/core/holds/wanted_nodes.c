/*  wanted_nodes.c -- nodes of elastic pools that waiting jobs want, by classes in the scheduling order.
 *
 *  The work grows with the classes that want nodes, not with their jobs. */
#include "broker/core/holds/wanted_nodes.h"

#include "broker/core/state/accounts.h"
#include "broker/core/state/budget_starts.h"
#include "broker/core/state/classes.h"
#include "broker/core/state/core.h"
#include "broker/core/state/order.h"
#include "broker/core/state/pools.h"
#include "broker/core/state/sites.h"
#include "broker/core/state/tenants.h"

/*  What a node has for jobs; UINT64_MAX = more than is ever asked for. */
typedef struct node_room {
    uint64_t gpus, cpus, memory_bytes;
} node_room_t;

/*  Of one pool: the nodes that jobs want, and what these jobs leave of the last of them. */
typedef struct tally {
    uint64_t nodes;
    node_room_t left;
} tally_t;

/* ---- nodes of jobs --------------------------------------------------------------------------------------------- */

static node_room_t node_of(const pool_t *pool)
{
    const helio_pool_t *info = &pool->info;
    return (node_room_t){info->gpus_per_node, info->cpus_per_node ? info->cpus_per_node : UINT64_MAX,
                         info->memory_bytes_per_node ? info->memory_bytes_per_node : UINT64_MAX};
}

static uint64_t fit(uint64_t most, uint64_t has, uint64_t each)
{
    return each && has / each < most ? has / each : most;
}

/*  How many jobs of the class that room takes. One that asks for nothing that is counted takes all of it. */
static uint64_t jobs_in(const job_class_t *class, const node_room_t *room)
{
    uint64_t most = fit(UINT64_MAX, room->gpus, class->grows.gpus_per_node);
    if (room->cpus != UINT64_MAX)
        most = fit(most, room->cpus, class->want.cpus);
    if (room->memory_bytes != UINT64_MAX)
        most = fit(most, room->memory_bytes, class->want.memory_bytes);
    return most == UINT64_MAX ? 0 : most;
}

static uint64_t less(uint64_t has, uint64_t jobs, uint64_t each)
{
    return has == UINT64_MAX ? has : has / jobs < each ? 0 : has - jobs * each;
}

static void take(node_room_t *room, const job_class_t *class, uint64_t jobs)
{
    *room = jobs ? (node_room_t){less(room->gpus, jobs, class->grows.gpus_per_node),
                                 less(room->cpus, jobs, class->want.cpus),
                                 less(room->memory_bytes, jobs, class->want.memory_bytes)}
                 : *room;
}

/*  First what is left of the last node, then new ones. */
static void add(tally_t *tally, const pool_t *pool, const job_class_t *class, uint64_t jobs)
{
    node_room_t node = node_of(pool);
    uint64_t each = jobs_in(class, &node), there = tally->nodes ? jobs_in(class, &tally->left) : 0;
    if (class->want.nodes > 1) {
        tally->nodes += jobs * class->want.nodes;
        tally->left = (node_room_t){0};
        return;
    }
    there = there < jobs ? there : jobs;
    take(&tally->left, class, there);
    jobs -= there;
    if (!jobs)
        return;
    uint64_t nodes = each ? (jobs + each - 1) / each : jobs;
    tally->nodes += nodes;
    tally->left = each ? node : (node_room_t){0};
    take(&tally->left, class, each ? jobs - (nodes - 1) * each : 0);
}

/* ---- jobs that may run ----------------------------------------------------------------------------------------- */

static void forget_claims(const job_class_t *class)
{
    class->account->claims = class->account->tenant->claims = (claims_t){0};
}

/*  How many of its jobs may run beside those of the classes before it, which it claims. */
static uint32_t claim_jobs(helio_broker_core_t *self, const job_class_t *class)
{
#ifdef HELIO_MUTANT_demand_of_each_class
    forget_claims(class);
#endif
    uint64_t gpus = (uint64_t) class->grows.gpus_per_node * class->want.nodes;
    uint32_t jobs = (uint32_t)fit(class->waiting_count, core_quota_left_unclaimed(class), gpus);
    helio_spend_t spend = class->grows.spend;
    spend.start_ms = spend.start_ms > self->wall_ms ? spend.start_ms : self->wall_ms;
#ifndef HELIO_MUTANT_demand_beyond_budgets
    jobs = core_budget_room_unclaimed(self, class, &spend, jobs);
#endif
    core_budget_claim(self, class, &spend, jobs);
    class->account->claims.gpus += jobs * gpus;
    class->account->tenant->claims.gpus += jobs * gpus;
    return jobs;
}

static bool wants_nodes(const job_class_t *class)
{
    return class->waiting && class->grows.site;
}

/*  Jobs of a class that want nodes of a pool. */
typedef struct want {
    const job_class_t *class;
    pool_t *pool;
    uint32_t jobs;     /* that have not started */
    uint32_t *started; /* at each of the times */
} want_t;

typedef struct wants {
    want_t *items; /* in the scheduling order */
    uint32_t count;
} wants_t;

struct wanted {
    tally_t tally; /* of the time that is counted */
    uint64_t room; /* nodes that waiting jobs can have then */
    uint32_t nodes[];
};

static wants_t claim_all(helio_broker_core_t *self)
{
    uint32_t count = 0, at = 0;
    wants_t wants = {0};
    for (const job_class_t *class = self->classes; class; class = class->hh.next)
        count += wants_nodes(class);
    const job_class_t **classes = helio_arena_alloc(self->effects->arena, count, sizeof *classes);
    wants.items = helio_arena_alloc(self->effects->arena, count, sizeof *wants.items);
    for (const job_class_t *class = self->classes; class; class = class->hh.next)
        if (wants_nodes(class)) {
            forget_claims(class);
            classes[at++] = class;
        }
    core_scheduling_sort(classes, count);
    for (uint32_t i = 0; i < count; i++) {
        const growth_t *grows = &classes[i]->grows;
        uint32_t jobs = claim_jobs(self, classes[i]);
        if (!core_pool_is_of(grows->pool, grows->site))
            continue;
        pool_t *pool = &grows->site->pools[grows->pool - grows->site->pools];
        if (pool->wanted)
            wants.items[wants.count++] = (want_t){classes[i], pool, jobs, NULL};
    }
    return wants;
}

static void begin(helio_broker_core_t *self, uint32_t times)
{
    for (site_t *site = self->sites; site; site = site->hh.next)
        for (uint32_t i = 0; i < site->pool_count; i++) {
            pool_t *pool = &site->pools[i];
            size_t size = sizeof *pool->wanted + times * sizeof pool->wanted->nodes[0];
            pool->wanted = pool->info.elastic ? helio_arena_alloc(self->effects->arena, 1, size) : NULL;
        }
}

static void note(pool_t *pool, uint32_t time)
{
    uint64_t most = helio_pool_nodes_most(&pool->info), nodes = pool->wanted->tally.nodes;
    pool->wanted->nodes[time] = (uint32_t)(nodes < most ? nodes : most);
}

void core_wanted_now(helio_broker_core_t *self)
{
    begin(self, 1);
    const wants_t wants = claim_all(self);
    for (uint32_t i = 0; i < wants.count; i++) {
        const want_t *want = &wants.items[i];
        add(&want->pool->wanted->tally, want->pool, want->class, want->jobs);
        note(want->pool, 0);
    }
}

/* ---- hours ahead ----------------------------------------------------------------------------------------------- */

/*  How many jobs of the class start on what is left of the pool. */
static uint32_t starts(const want_t *want)
{
    const tally_t *tally = &want->pool->wanted->tally;
    uint64_t room = want->pool->wanted->room, left = room > tally->nodes ? room - tally->nodes : 0, jobs;
    if (want->class->want.nodes > 1) {
        jobs = left / want->class->want.nodes;
    } else {
        node_room_t node = node_of(want->pool);
        uint64_t each = jobs_in(want->class, &node);
        jobs = left * (each ? each : 1) + (tally->nodes ? jobs_in(want->class, &tally->left) : 0);
    }
#ifdef HELIO_MUTANT_ahead_of_room
    jobs = want->jobs;
#endif
    return (uint32_t)(jobs < want->jobs ? jobs : want->jobs);
}

/*  Those that started before, and by their limits are not over. */
static uint32_t go_on(const want_t *want, const int64_t *times_ms, uint32_t time)
{
    int64_t longest_ms = (int64_t)helio_requirement_longest_ms(&want->class->want);
    uint32_t jobs = 0;
    for (uint32_t i = 0; i < time; i++) {
        int64_t start_ms = times_ms[i] + (i ? 0 : (int64_t)want->pool->info.provision_ms);
        jobs += start_ms + longest_ms > times_ms[time] ? want->started[i] : 0;
    }
    return jobs;
}

static void begin_time(helio_broker_core_t *self, int64_t at_ms, core_wanted_room_fn *room)
{
    for (site_t *site = self->sites; site; site = site->hh.next)
        for (uint32_t i = 0; i < site->pool_count; i++) {
            pool_t *pool = &site->pools[i];
            if (pool->wanted) {
                pool->wanted->tally = (tally_t){0};
                pool->wanted->room = room(self, site, pool, at_ms);
            }
        }
}

void core_wanted_ahead(helio_broker_core_t *self, const int64_t *times_ms, uint32_t count, core_wanted_room_fn *room)
{
    begin(self, count);
    const wants_t wants = claim_all(self);
    for (uint32_t i = 0; i < wants.count; i++)
        wants.items[i].started = helio_arena_alloc(self->effects->arena, count, sizeof(uint32_t));
    for (uint32_t time = 0; time < count; time++) {
        begin_time(self, times_ms[time], room);
        for (uint32_t i = 0; i < wants.count; i++)
            add(&wants.items[i].pool->wanted->tally, wants.items[i].pool, wants.items[i].class,
                go_on(&wants.items[i], times_ms, time));
        for (uint32_t i = 0; i < wants.count; i++) {
            want_t *want = &wants.items[i];
            want->started[time] = starts(want);
            want->jobs -= want->started[time];
            add(&want->pool->wanted->tally, want->pool, want->class, want->started[time]);
            note(want->pool, time);
        }
    }
}

uint32_t core_wanted_nodes(const pool_t *pool, uint32_t time)
{
    return pool->wanted ? pool->wanted->nodes[time] : 0;
}
