/*  victim_search.c -- the jobs that would have to leave one pool so that a class finds capacity there.
 *
 *  federation/policy/victim_set.h defines which job can preempt which, and which set of victims is minimal; here are
 *  the inputs of that choice. The broker does not know the nodes of a job, only how many nodes have how many free GPUs.
 *  So jobs are preempted only if the capacity suffices both if it comes back on the fullest nodes and if it comes back
 *  on the emptiest. */
#include "broker/core/preempt/victim_search.h"

#include <utlist.h>

#include "broker/core/holds/curtailed.h"
#include "broker/core/holds/expected_ends.h"
#include "broker/core/holds/preemptions.h"
#include "broker/core/holds/site_windows.h"
#include "broker/core/state/accounts.h"
#include "broker/core/state/budget_starts.h"
#include "broker/core/state/core.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/option.h"
#include "broker/core/state/order.h"
#include "broker/core/state/pools.h"
#include "broker/core/state/preemptible.h"

/*  Of the jobs that run there now or are leaving, in this round. */
static void find_preemptible(helio_broker_core_t *self, const site_t *site, pool_t *pool)
{
    if (pool->preemptible_round == self->rounds)
        return;
    pool->preemptible_round = self->rounds;
    pool->preemptible_count = 0;
    pool->preemptible_lowest_tier = HELIO_TIER_CRITICAL;
    job_t *job;
    DL_FOREACH(site->live, job)
    {
        bool leaves = job->state == HELIO_JOB_STOPPING && !job->preemption;
        if (job->pool != pool || !job->counted || (!leaves && !core_preempt_can(self, job, true)))
            continue;
        if (pool->preemptible_count == pool->preemptible_capacity) {
            pool->preemptible_capacity = pool->preemptible_capacity ? pool->preemptible_capacity * 2 : 64;
            pool->preemptible = helio_grow(pool->preemptible, pool->preemptible_capacity, sizeof *pool->preemptible);
        }
        uint32_t tier = leaves ? HELIO_TIER_BEST_EFFORT : core_preempt_tier(job);
        pool->preemptible_lowest_tier = tier < pool->preemptible_lowest_tier ? tier : pool->preemptible_lowest_tier;
        int64_t protection_ms =
            helio_preempt_protection_ms(core_preempt_tier(job)) - (int64_t)core_preempt_ran_ms(self, job);
        pool->preemptible[pool->preemptible_count++] =
            (preemptible_t){job, !leaves && protection_ms > 0 ? self->wall_ms + protection_ms : 0,
                            core_preempt_lost_ms(self, job) * core_job_gpus(job)};
    }
}

static uint32_t owner_of(victim_search_t *search, const void *who, const helio_holdings_t *holds, uint64_t leaving_gpus)
{
    for (uint32_t i = 0; i < search->owner_count; i++)
        if (search->owners[i] == who)
            return i;
    if (search->owner_count == VICTIM_OWNERS_MAX)
        return HELIO_VICTIM_NO_OWNER;
    uint64_t kept = holds->quota.guaranteed_gpus + leaving_gpus;
    search->owners[search->owner_count] = who;
    search->spare[search->owner_count] = holds->gpus > kept ? holds->gpus - kept : 0;
    return search->owner_count++;
}

/*  Whether the job is of another tenant that holds more than its guarantee. The choice computes how much can be
 *  reclaimed. */
static bool take_owners(victim_search_t *search, const job_t *job, helio_victim_t *victim)
{
    const account_t *account = job->submission->class->account;
    const tenant_t *tenant = account->tenant;
    if (tenant == search->class->account->tenant)
        return false;
    victim->owners[0] = owner_of(search, tenant, &tenant->holds, tenant->leaving_gpus);
    victim->owners[1] = owner_of(search, account, &account->holds, account->leaving_gpus);
    return victim->owners[0] != HELIO_VICTIM_NO_OWNER && victim->owners[1] != HELIO_VICTIM_NO_OWNER;
}

static void take_preemptible(victim_search_t *search, const preemptible_t *preemptible)
{
    job_t *job = preemptible->job;
    bool leaves = job->state == HELIO_JOB_STOPPING && !job->preemption;
    bool runs = job->state == HELIO_JOB_RUNNING || job->state == HELIO_JOB_SUSPENDED;
    uint32_t preemptor = search->class->queue->tier, tier = core_preempt_tier(job);
    helio_victim_t victim = {
        .tier = leaves ? HELIO_TIER_BEST_EFFORT : tier,
        .gpus = core_job_gpus(job),
        .lost_gpu_ms = preemptible->lost_gpu_ms,
        .share = helio_share_rank(&job->submission->tenant->share, job->submission->tenant->holds.quota.weight_milli),
        .age = search->count,
        .leaves = leaves,
        .owners = {HELIO_VICTIM_NO_OWNER, HELIO_VICTIM_NO_OWNER},
    };
    if (!leaves && (!runs || !helio_preempt_allowed(preemptor, tier, search->reclaims)))
        return;
    if (!leaves && victim.gpus && !search->option->c.gpus_per_node)
        return; /* quotas do not limit jobs without GPUs, so such jobs must not preempt GPU jobs */
    if (!leaves && !helio_preempt_allowed(preemptor, tier, false) && !take_owners(search, job, &victim))
        return;
    if (!leaves && preemptible->protected_until_ms && !search->protected_too) {
        if (!search->protected_until_ms || preemptible->protected_until_ms < search->protected_until_ms)
            search->protected_until_ms = preemptible->protected_until_ms;
        return;
    }
    search->jobs[search->count] = job;
    search->victims[search->count++] = victim;
}

/*  Returns capacity to the emptiest nodes that can have held it, one after another. */
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
    const victim_search_t *search = arg;
    const helio_requirement_t *want = &search->class->want;
    const pool_t *pool = search->option->pool;
    room_t room = {0};
    freed_gpus_t back = {0};
    for (uint32_t i = 0; i < count; i++) {
        const job_t *job = search->jobs[chosen[i]];
        back.gpus += core_job_gpus(job);
        back.best_effort_gpus += core_preempt_tier(job) == HELIO_TIER_BEST_EFFORT ? core_job_gpus(job) : 0;
        core_room_add(&room, job->submission->class->want.nodes, job->gpus_per_node, &job->submission->class->want);
    }
    free_nodes_t fullest = search->others, emptiest = search->others;
    core_room_return(pool, &fullest, &room);
    for (uint32_t gpus = HELIO_JOB_GPUS_PER_NODE_MAX; gpus > 0; gpus--)
        give_to_emptiest(pool, &emptiest, room.nodes_by_gpus[gpus], gpus);
    emptiest.cpus = fullest.cpus;
    emptiest.memory_bytes = fullest.memory_bytes;
    uint32_t gpus = search->option->c.gpus_per_node;
    return core_site_window_allows(search->core, search->class, pool, gpus, back) &&
           core_curtail_allows(search->core, search->class, search->option->site, pool, gpus, back.gpus) &&
           core_room_fits(pool, &fullest, want->nodes, gpus, want->cpus, want->memory_bytes) &&
           core_room_fits(pool, &emptiest, want->nodes, gpus, want->cpus, want->memory_bytes);
}

/*  What is free or comes back for other preemptions under way there, less what those will take. */
static void leave_others_theirs(victim_search_t *search)
{
    const pool_t *pool = search->option->pool;
    const preemption_t *preemption;
    search->others = pool->free;
    search->others_fit = true;
    if (!pool->preemptions)
        return;
    DL_FOREACH(core_preempt_first(search->core), preemption)
    {
        if (preemption->pool == pool)
            core_room_return(pool, &search->others, &preemption->back);
    }
    DL_FOREACH(core_preempt_first(search->core), preemption)
    {
        const helio_requirement_t *want = &preemption->class->want;
        if (preemption->pool == pool)
            search->others_fit =
                search->others_fit && core_room_take(pool, &search->others, want->nodes, preemption->gpus_per_node,
                                                     want->cpus, want->memory_bytes);
    }
}

static bool is_below_guarantee(const helio_holdings_t *holds, const uint64_t expected_gpus[HELIO_TIER_COUNT],
                               uint32_t gpus)
{
    uint64_t all = holds->gpus + gpus;
    for (uint32_t tier = 0; tier < HELIO_TIER_COUNT; tier++)
        all += expected_gpus[tier];
    return all <= holds->quota.guaranteed_gpus;
}

/*  Whether its tenant, with this start and the expected ones, would be within its guarantee. */
static bool reclaims(const job_class_t *class, uint32_t gpus)
{
    const account_t *account = class->account;
#ifdef HELIO_MUTANT_guarantee_ignored
    return false;
#endif
    return gpus && (is_below_guarantee(&account->holds, account->expected_gpus, gpus) ||
                    is_below_guarantee(&account->tenant->holds, account->tenant->expected_gpus, gpus));
}

static bool is_within_quota(const job_class_t *class, uint32_t gpus)
{
    return class->expected_gpus + gpus <= core_quota_left(class);
}

/*  With the starts for which other jobs are leaving already. */
static bool is_within_budget(const victim_search_t *search, const option_t *option)
{
    uint32_t starts = search->class->preemptions + 1;
    return core_budget_room(search->core, search->class, option, &option->c.now, starts) == starts;
}

static uint64_t part_of(uint64_t want, uint64_t node, uint32_t gpus)
{
    uint64_t part = node && want < node ? (want * gpus + node - 1) / node : gpus;
    return node && want ? part : 0;
}

/*  The GPUs whose share of CPUs or memory it takes. Otherwise a job with one GPU and all CPUs of a node would empty the
 *  node and be charged for one GPU. */
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

bool core_pool_is_claimed(const job_class_t *class, const pool_t *pool)
{
    const job_class_t *held = pool->reservation.class;
    return held && held != class && held->waiting && core_class_compare_at(class, held, pool->reservation.site) >= 0;
}

bool core_option_takes_no_offers(const victim_search_t *search, const option_t *option)
{
    return search->core->now_ms < option->pool->penalty_until_ms ||
           option->site->unanswered >= search->core->options.offers_unanswered_max;
}

helio_victims_t core_victims_at(victim_search_t *search)
{
    const option_t *option = search->option;
    pool_t *pool = option->pool;
    helio_victims_t none = {.count = 0};
    uint32_t gpus = core_option_gpus(search->class, option);
    search->count = search->owner_count = 0;
    search->reclaims = reclaims(search->class, gpus);
    if (core_option_takes_no_offers(search, option) ||
        (search->class->queue->tier == HELIO_TIER_BEST_EFFORT && !search->reclaims) ||
        !is_within_quota(search->class, taken_gpus(search->class, option)) || !is_within_budget(search, option) ||
        core_pool_is_claimed(search->class, pool))
        return none;
    uint32_t lowest = core_pool_lowest_tier(search->core, option->site, pool);
    if (!helio_preempt_allowed(search->class->queue->tier, lowest, search->reclaims))
        return none;
    find_preemptible(search->core, option->site, pool);
    if (!helio_preempt_allowed(search->class->queue->tier, pool->preemptible_lowest_tier, search->reclaims))
        return none; /* classes are many, and few of them can preempt anything */
    for (uint32_t i = 0; i < pool->preemptible_count && search->count < HELIO_PREEMPT_CONSIDERED_MAX; i++)
        take_preemptible(search, &pool->preemptible[i]);
    if (!search->count)
        return none;
    leave_others_theirs(search);
    return search->others_fit ? helio_victims_choose(search->victims, search->count, search->spare, search->owner_count,
                                                     fits_without, search)
                              : none;
}
