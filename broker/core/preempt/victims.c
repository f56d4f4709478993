/*  victims.c -- who would have to leave one pool, so that a class finds room there.
 *
 *  Who may evict whom, and which set of victims is the least, says federation/policy/victims.h. Here is what that
 *  choice is made of. Which node a job holds is not known, only how many nodes have how many GPUs free. So victims
 *  are told to leave only if the room suffices both if it comes back on the fullest nodes and if it comes back on the
 *  emptiest.
 */
#include "broker/core/preempt/victims.h"

#include <utlist.h>

#include "broker/core/holds/preemptions.h"
#include "broker/core/holds/site_windows.h"
#include "broker/core/state/accounts.h"
#include "broker/core/state/budgets.h"
#include "broker/core/state/core.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/option.h"
#include "broker/core/state/order.h"
#include "broker/core/state/pools.h"
#include "broker/core/state/preemptible.h"

/*  Of jobs that run there now or are leaving, in this round. */
static void find_prey(helio_broker_core_t *self, const site_t *site, pool_t *pool)
{
    if (pool->prey_round == self->rounds)
        return;
    pool->prey_round = self->rounds;
    pool->prey_count = 0;
    pool->prey_least_tier = HELIO_TIER_CRITICAL;
    job_t *job;
    DL_FOREACH(site->live, job)
    {
        bool leaves = job->state == HELIO_JOB_STOPPING && !job->eviction;
        if (job->pool != pool || !job->counted || (!leaves && !core_evict_can(self, job, true)))
            continue;
        if (pool->prey_count == pool->prey_capacity) {
            pool->prey_capacity = pool->prey_capacity ? pool->prey_capacity * 2 : 64;
            pool->prey = helio_grow(pool->prey, pool->prey_capacity, sizeof *pool->prey);
        }
        uint32_t tier = leaves ? HELIO_TIER_BEST_EFFORT : core_evict_tier(job);
        pool->prey_least_tier = tier < pool->prey_least_tier ? tier : pool->prey_least_tier;
        int64_t young_ms = helio_evict_young_ms(core_evict_tier(job)) - (int64_t)core_evict_ran_ms(self, job);
        pool->prey[pool->prey_count++] = (prey_t){job, !leaves && young_ms > 0 ? self->wall_ms + young_ms : 0,
                                                  core_evict_lost_ms(self, job) * core_job_gpus(job)};
    }
}

static uint32_t owner_of(hunt_t *hunt, const void *who, const helio_holdings_t *holds, uint64_t leaving_gpus)
{
    for (uint32_t i = 0; i < hunt->owner_count; i++)
        if (hunt->owners[i] == who)
            return i;
    if (hunt->owner_count == HUNT_OWNERS_MAX)
        return HELIO_VICTIM_NO_OWNER;
    uint64_t kept = holds->quota.guaranteed_gpus + leaving_gpus;
    hunt->owners[hunt->owner_count] = who;
    hunt->spare[hunt->owner_count] = holds->gpus > kept ? holds->gpus - kept : 0;
    return hunt->owner_count++;
}

/*  Of another tenant, which holds more than it is guaranteed; what it has spare is found in the choice. */
static bool take_owners(hunt_t *hunt, const job_t *job, helio_victim_t *victim)
{
    const account_t *account = job->submission->class->account;
    const tenant_t *tenant = account->tenant;
    if (tenant == hunt->class->account->tenant)
        return false;
    victim->owners[0] = owner_of(hunt, tenant, &tenant->holds, tenant->leaving_gpus);
    victim->owners[1] = owner_of(hunt, account, &account->holds, account->leaving_gpus);
    return victim->owners[0] != HELIO_VICTIM_NO_OWNER && victim->owners[1] != HELIO_VICTIM_NO_OWNER;
}

static void take_prey(hunt_t *hunt, const prey_t *prey)
{
    job_t *job = prey->job;
    bool leaves = job->state == HELIO_JOB_STOPPING && !job->eviction;
    bool runs = job->state == HELIO_JOB_RUNNING || job->state == HELIO_JOB_SUSPENDED;
    uint32_t evictor = hunt->class->queue->tier, tier = core_evict_tier(job);
    helio_victim_t victim = {
        .tier = leaves ? HELIO_TIER_BEST_EFFORT : tier,
        .gpus = core_job_gpus(job),
        .lost_gpu_ms = prey->lost_gpu_ms,
        .share = helio_share_rank(&job->submission->tenant->share, job->submission->tenant->holds.quota.weight_milli),
        .age = hunt->count,
        .leaves = leaves,
        .owners = {HELIO_VICTIM_NO_OWNER, HELIO_VICTIM_NO_OWNER},
    };
    if (!leaves && (!runs || !helio_evict_allowed(evictor, tier, hunt->reclaims)))
        return;
    if (!leaves && victim.gpus && !hunt->option->c.gpus_per_node)
        return; /* no quota bounds jobs that need no GPU: they do not empty those that have some */
    if (!leaves && !helio_evict_allowed(evictor, tier, false) && !take_owners(hunt, job, &victim))
        return;
    if (!leaves && prey->young_until_ms && !hunt->young_too) {
        if (!hunt->young_until_ms || prey->young_until_ms < hunt->young_until_ms)
            hunt->young_until_ms = prey->young_until_ms;
        return;
    }
    hunt->jobs[hunt->count] = job;
    hunt->victims[hunt->count++] = victim;
}

/*  Room that comes back to the emptiest nodes that can have held it, one after another. */
static void give_to_emptiest(const pool_t *pool, free_nodes_t *free_now, uint32_t nodes, uint32_t gpus)
{
    for (uint32_t left = gpus <= pool->info.gpus_per_node ? nodes : 0; left; left--) {
        uint32_t k = pool->info.gpus_per_node - gpus;
        while (k && !free_now->by_gpus[k])
            k--;
        if (!free_now->by_gpus[k])
            return;
        free_now->by_gpus[k]--;
        free_now->by_gpus[k + gpus]++;
    }
}

static bool fits_without(void *arg, const uint32_t *chosen, uint32_t count)
{
    const hunt_t *hunt = arg;
    const helio_requirement_t *want = &hunt->class->want;
    const pool_t *pool = hunt->option->pool;
    room_t room = {0};
    kept_back_t back = {0};
    for (uint32_t i = 0; i < count; i++) {
        const job_t *job = hunt->jobs[chosen[i]];
        back.gpus += core_job_gpus(job);
        back.best_effort_gpus += core_evict_tier(job) == HELIO_TIER_BEST_EFFORT ? core_job_gpus(job) : 0;
        core_room_add(&room, job->submission->class->want.nodes, job->gpus_per_node, &job->submission->class->want);
    }
    free_nodes_t fullest = hunt->others, emptiest = hunt->others;
    core_room_return(pool, &fullest, &room);
    for (uint32_t gpus = HELIO_JOB_GPUS_PER_NODE_MAX; gpus > 0; gpus--)
        give_to_emptiest(pool, &emptiest, room.nodes_by_gpus[gpus], gpus);
    emptiest.cpus = fullest.cpus;
    emptiest.memory_bytes = fullest.memory_bytes;
    uint32_t gpus = hunt->option->c.gpus_per_node;
    return core_kept_allows(hunt->core, hunt->class, pool, gpus, back) &&
           core_room_fits(pool, &fullest, want->nodes, gpus, want->cpus, want->memory_bytes) &&
           core_room_fits(pool, &emptiest, want->nodes, gpus, want->cpus, want->memory_bytes);
}

/*  What is free, and comes back for those who have evictions under way there, less what they take. */
static void leave_others_theirs(hunt_t *hunt)
{
    const pool_t *pool = hunt->option->pool;
    const eviction_t *eviction;
    hunt->others = pool->free;
    hunt->others_fit = true;
    if (!pool->evictions)
        return;
    DL_FOREACH(core_evict_first(hunt->core), eviction)
    {
        if (eviction->pool == pool)
            core_room_return(pool, &hunt->others, &eviction->back);
    }
    DL_FOREACH(core_evict_first(hunt->core), eviction)
    {
        const helio_requirement_t *want = &eviction->class->want;
        if (eviction->pool == pool)
            hunt->others_fit = hunt->others_fit &&
                               core_room_take(pool, &hunt->others, want->nodes, eviction->gpus_per_node, want->cpus,
                                              want->memory_bytes);
    }
}

static bool is_owed(const helio_holdings_t *holds, const uint64_t expected_gpus[HELIO_TIER_COUNT], uint32_t gpus)
{
    uint64_t all = holds->gpus + gpus;
    for (uint32_t tier = 0; tier < HELIO_TIER_COUNT; tier++)
        all += expected_gpus[tier];
    return all <= holds->quota.guaranteed_gpus;
}

/*  Would its tenant, with this start and those that are expected, hold no more than it is guaranteed? */
static bool reclaims(const job_class_t *class, uint32_t gpus)
{
    const account_t *account = class->account;
#ifdef HELIO_MUTANT_guarantee_ignored
    return false;
#endif
    return gpus && (is_owed(&account->holds, account->expected_gpus, gpus) ||
                    is_owed(&account->tenant->holds, account->tenant->expected_gpus, gpus));
}

static bool is_within_quota(const job_class_t *class, uint32_t gpus)
{
    return class->expected_gpus + gpus <= core_quota_left(class);
}

/*  With the starts for which others leave already. */
static bool is_within_budget(const hunt_t *hunt, const option_t *option)
{
    uint32_t starts = hunt->class->evictions + 1;
    return core_budget_room(hunt->core, hunt->class, option, &option->c.now, starts) == starts;
}

static uint64_t part_of(uint64_t want, uint64_t node, uint32_t gpus)
{
    uint64_t part = node && want < node ? (want * gpus + node - 1) / node : gpus;
    return node && want ? part : 0;
}

/*  Those whose CPUs or memory it takes: else one that asks for a GPU and all of a node's CPUs would empty the node,
 *  and be charged for one. */
static uint32_t taken_gpus(const job_class_t *class, const option_t *option)
{
    const helio_pool_t *pool = &option->pool->info;
    const helio_requirement_t *want = &class->want;
    uint64_t gpus = option->c.gpus_per_node, of_cpus = part_of(want->cpus, pool->cpus_per_node, pool->gpus_per_node),
             of_memory = part_of(want->memory_bytes, pool->memory_bytes_per_node, pool->gpus_per_node);
    if (!gpus)
        return 0;
    gpus = of_cpus > gpus ? of_cpus : gpus;
    return (uint32_t)(of_memory > gpus ? of_memory : gpus) * want->nodes;
}

bool core_hunt_spoken_for(const job_class_t *class, const pool_t *pool)
{
    const job_class_t *held = pool->reservation.class;
    return held && held != class && held->waiting &&
           core_class_turn_at(class, held, pool->reservation.site) >= 0;
}

bool core_hunt_resting(const hunt_t *hunt, const option_t *option)
{
    return hunt->core->now_ms < option->pool->penalty_until_ms ||
           option->site->unanswered >= hunt->core->options.offers_unanswered_max;
}

helio_victims_t core_hunt_at(hunt_t *hunt)
{
    const option_t *option = hunt->option;
    pool_t *pool = option->pool;
    helio_victims_t none = {.count = 0};
    uint32_t gpus = core_option_gpus(hunt->class, option);
    hunt->count = hunt->owner_count = 0;
    hunt->reclaims = reclaims(hunt->class, gpus);
    if (core_hunt_resting(hunt, option) || (hunt->class->queue->tier == HELIO_TIER_BEST_EFFORT && !hunt->reclaims) ||
        !is_within_quota(hunt->class, taken_gpus(hunt->class, option)) || !is_within_budget(hunt, option) ||
        core_hunt_spoken_for(hunt->class, pool))
        return none;
    find_prey(hunt->core, option->site, pool);
    if (!helio_evict_allowed(hunt->class->queue->tier, pool->prey_least_tier, hunt->reclaims))
        return none; /* classes are many, and few of them may evict anybody */
    for (uint32_t i = 0; i < pool->prey_count && hunt->count < HELIO_EVICT_CONSIDERED_MAX; i++)
        take_prey(hunt, &pool->prey[i]);
    if (!hunt->count)
        return none;
    leave_others_theirs(hunt);
    return hunt->others_fit ? helio_victims_choose(hunt->victims, hunt->count, hunt->spare, hunt->owner_count,
                                                   fits_without, hunt)
                            : none;
}
