/*  hunt.c -- whom a class whose turn found no room tells to leave, and where.
 *
 *  Who may evict whom, and which set of victims is the least, says federation/policy/victims.h. Here is what that
 * choice is made of, pool by pool. Which node a job holds is not known, only how many nodes have how many GPUs free. So
 * victims are told to leave only if the room suffices both if it comes back on the fullest nodes and if it comes back on
 * the emptiest. What is under way then is evict.c's.
 */
#include <stdlib.h>
#include <string.h>

#include "broker/core/evaluation.h"

enum {
    EVICTIONS_MAX = 256,         /* under way at once */
    EVICTIONS_OF_CLASS_MAX = 64, /* the same, for one class */
    EVICTION_POOLS_MAX = 16,     /* pools where victims are looked for, the best first */
    OWNERS_MAX = 256,            /* tenants and their queues that are reclaimed from at once */
    QUEUES_NAMED = 3             /* of those whose jobs would leave */
};

static uint32_t gpus_of(const job_t *job)
{
    return job->gpus_per_node * job->submission->class->want.nodes;
}

/* ---- who would have to leave ----------------------------------------------------------------------------- */

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
        pool->prey[pool->prey_count++] = (prey_t){
            job, !leaves && young_ms > 0 ? self->wall_ms + young_ms : 0, core_evict_lost_ms(self, job) * gpus_of(job)};
    }
}

/*  A pool, and what the choice among those there is made of. */
typedef struct hunt {
    helio_broker_core_t *core;
    job_class_t *class;
    const option_t *option;
    bool reclaims;
    helio_victim_t victims[HELIO_EVICT_CONSIDERED_MAX];
    job_t *jobs[HELIO_EVICT_CONSIDERED_MAX];
    uint32_t count;
    uint64_t spare[OWNERS_MAX];
    const void *owners[OWNERS_MAX]; /* tenants and accounts */
    uint32_t owner_count;
    free_nodes_t others; /* free, once all evictions under way there are over */
    bool others_fit;
    bool young_too;         /* as if those were old enough: of a plan */
    int64_t young_until_ms; /* the first that may be evicted later; 0 = none */
    int64_t patient_until_ms; /* it waits for room that comes by itself, so long at most; 0 = it does not */
} hunt_t;

static uint32_t owner_of(hunt_t *hunt, const void *who, const helio_holdings_t *holds, uint64_t leaving_gpus)
{
    for (uint32_t i = 0; i < hunt->owner_count; i++)
        if (hunt->owners[i] == who)
            return i;
    if (hunt->owner_count == OWNERS_MAX)
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
        .gpus = gpus_of(job),
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
    uint64_t back_gpus = 0;
    for (uint32_t i = 0; i < count; i++) {
        const job_t *job = hunt->jobs[chosen[i]];
        back_gpus += (uint64_t)job->gpus_per_node * job->submission->class->want.nodes;
        core_room_add(&room, job->submission->class->want.nodes, job->gpus_per_node, &job->submission->class->want);
    }
    free_nodes_t fullest = hunt->others, emptiest = hunt->others;
    core_room_return(pool, &fullest, &room);
    for (uint32_t gpus = HELIO_JOB_GPUS_PER_NODE_MAX; gpus > 0; gpus--)
        give_to_emptiest(pool, &emptiest, room.nodes_by_gpus[gpus], gpus);
    emptiest.cpus = fullest.cpus;
    emptiest.memory_bytes = fullest.memory_bytes;
    uint32_t gpus = hunt->option->c.gpus_per_node;
    return core_kept_allows(hunt->core, hunt->class, pool, gpus, back_gpus) &&
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
    DL_FOREACH(hunt->core->evictions, eviction)
    {
        if (eviction->pool == pool)
            core_room_return(pool, &hunt->others, &eviction->back);
    }
    DL_FOREACH(hunt->core->evictions, eviction)
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

static uint64_t part_of(uint64_t want, uint64_t node, uint32_t gpus)
{
    uint64_t part = node && want < node ? (want * gpus + node - 1) / node : gpus;
    return node && want ? part : 0;
}

/*  Those whose CPUs or memory it takes: else one that asks for a GPU and all of a node's CPUs would empty the node, and be
 *  charged for one. */
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

/*  A gang that goes before it has the pool: what came back would be that one's. */
static bool is_spoken_for(const job_class_t *class, const pool_t *pool)
{
    const job_class_t *held = pool->reservation.class;
    return held && held != class && held->waiting &&
           core_class_turn_at(class, held, pool->reservation.site) >= 0;
}

/*  It would not be offered anything. */
static bool is_resting(const hunt_t *hunt, const option_t *option)
{
    return hunt->core->now_ms < option->pool->penalty_until_ms ||
           option->site->unanswered >= hunt->core->options.offers_unanswered_max;
}

static helio_victims_t hunt_at(hunt_t *hunt)
{
    const option_t *option = hunt->option;
    pool_t *pool = option->pool;
    helio_victims_t none = {.count = 0};
    uint32_t gpus = core_option_gpus(hunt->class, option);
    hunt->count = hunt->owner_count = 0;
    hunt->reclaims = reclaims(hunt->class, gpus);
    if (is_resting(hunt, option) || (hunt->class->queue->tier == HELIO_TIER_BEST_EFFORT && !hunt->reclaims) ||
        !is_within_quota(hunt->class, taken_gpus(hunt->class, option)) || is_spoken_for(hunt->class, pool))
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

/* ---- one eviction ---------------------------------------------------------------------------------------- */

static int64_t product(uint64_t a, int64_t b, int64_t per)
{
    double p = (double)a * (double)b / (double)per;
    return p > 1e15 ? INT64_C(1000000000000000) : (int64_t)p;
}

/*  What is lost is paid for again: the pool's price, and the wait of those who leave. */
static int64_t loss_of(const hunt_t *hunt, const helio_victims_t *set)
{
    const helio_requirement_t *want = &hunt->class->want;
    uint64_t gpus = core_option_gpus(hunt->class, hunt->option), limit_ms = want->time_limit_ms;
    int64_t money = hunt->option->c.now.cost_micro_usd, loss = 0;
    for (uint32_t i = 0; i < set->count; i++) {
        const helio_victim_t *victim = &hunt->victims[set->chosen[i]];
        const helio_requirement_t *of = &hunt->jobs[set->chosen[i]]->submission->class->want;
        if (victim->leaves)
            continue;
        if (gpus && limit_ms && money > 0)
            loss += product(victim->lost_gpu_ms, money, (int64_t)(gpus * limit_ms));
        loss += product(victim->lost_gpu_ms, of->wait_price_micro_usd_per_gpu_h, HELIO_HOUR_MS);
    }
    return loss;
}

static uint64_t grace_of(const hunt_t *hunt, const helio_victims_t *set)
{
    uint64_t longest = 0;
    for (uint32_t i = 0; i < set->count; i++) {
        const job_t *job = hunt->jobs[set->chosen[i]];
        bool waits = hunt->victims[set->chosen[i]].leaves || core_evict_tier(job) != HELIO_TIER_BEST_EFFORT;
        uint64_t grace_ms = waits ? job->submission->grace_ms : 0;
        longest = grace_ms > longest ? grace_ms : longest;
    }
    return longest;
}

/*  Others end by their limit before the victims would have left. */
static bool ends_sooner(hunt_t *hunt, const helio_victims_t *set)
{
    const option_t *option = hunt->option;
    reservation_t found;
    int64_t at_ms = core_reserve_expect(hunt->core, hunt->class, option->site, option->pool, option->c.gpus_per_node,
                                        &found);
    return set->count > set->leaving && at_ms && found.known && !option->pool->evictions &&
           at_ms <= hunt->core->wall_ms + (int64_t)grace_of(hunt, set);
}

/*  Of the class, whom the next eviction is for: those before it have theirs. */
static const job_t *next_of(const job_class_t *class)
{
    const job_t *job = class->waiting;
    for (uint32_t i = 0; i < class->evictions && job->next; i++)
        job = job->next;
    return job;
}

static const char *reason_of(helio_broker_core_t *self, const job_class_t *class)
{
    char key[HELIO_KEY_SIZE];
    helio_job_key_text(next_of(class)->key, key);
    return core_printf(self, "preempted by %s/%s job %s", class->queue->name, class->account->tenant->name,
                       &key[HELIO_ID_SIZE - 1 - 8]);
}

static void begin(hunt_t *hunt, const helio_victims_t *set)
{
    helio_broker_core_t *self = hunt->core;
    const option_t *option = hunt->option;
    job_class_t *class = hunt->class;
    eviction_t *eviction = helio_new(1, sizeof *eviction);
    *eviction = (eviction_t){
        .class = class,
        .site = option->site,
        .pool = option->pool,
        .gpus_per_node = option->c.gpus_per_node,
        .tier = class->queue->tier,
        .why = set->worst_tier < class->queue->tier ? HELIO_EVICT_WHY_TIER : HELIO_EVICT_WHY_GUARANTEE,
        .victims = set->count - set->leaving,
        .left = set->count,
        .at_ms = self->wall_ms + (int64_t)grace_of(hunt, set),
    };
    const char *reason = reason_of(self, class);
    for (uint32_t i = 0; i < set->count; i++) {
        job_t *job = hunt->jobs[set->chosen[i]];
        if (!hunt->victims[set->chosen[i]].leaves)
            (void)core_evict_job(self, job, eviction->why, class->account->tenant, reason);
        job->eviction = eviction;
        core_room_add(&eviction->back, job->submission->class->want.nodes, job->gpus_per_node,
                      &job->submission->class->want);
    }
    core_evict_add(self, eviction);
}

/*  The first of the open steps where others may be told to leave, and the first alternative there. */
static bool is_behind(const hunt_t *hunt, const option_t *option, const option_t *best)
{
    return core_overflow_is_closed(hunt->class, option) ||
           (best &&
            (option->step > best->step || (option->step == best->step && option->c.ask > best->c.ask)));
}

/*  When others' limits make room for it at a pool that costs no more; 0 = not foreseen. */
static int64_t room_by_itself_ms(const hunt_t *hunt, const evaluation_t *e, const option_t *best, int64_t total)
{
    int64_t first_ms = 0;
    for (uint32_t i = 0; i < e->feasible && i < EVICTION_POOLS_MAX && !is_behind(hunt, &e->options[i], best); i++) {
        const option_t *option = &e->options[i];
        reservation_t found;
        if (option->c.now.score_micro_usd > total || option->pool->evictions || is_resting(hunt, option) ||
            is_spoken_for(hunt->class, option->pool) || core_would_wait(hunt->core, e, option))
            continue;
        int64_t at_ms = core_reserve_expect(hunt->core, hunt->class, option->site, option->pool,
                                            option->c.gpus_per_node, &found);
        if (at_ms && found.known && (!first_ms || at_ms < first_ms))
            first_ms = at_ms;
    }
    return first_ms;
}

/*  To evict would spare less than is lost. Others may take the room that comes: so it is waited for once, and not long; and
 *  by one job, since only the first such room is known. */
static bool rather_waits(hunt_t *hunt, const evaluation_t *e, const option_t *best, int64_t total,
                         const helio_victims_t *set)
{
    const helio_broker_core_t *core = hunt->core;
    const job_class_t *class = hunt->class;
    bool reclaims = set->worst_tier >= class->queue->tier;
    if (class->evictions + 1 < class->waiting_count || set->count == set->leaving ||
        (class->patient_until_ms && core->wall_ms >= class->patient_until_ms))
        return false;
    int64_t gone_ms = core->wall_ms + (int64_t)grace_of(hunt, set);
    int64_t patience_ms =
        helio_evict_patience_ms(set->lost_gpu_ms, core_option_gpus(class, best), reclaims);
    int64_t at_ms = room_by_itself_ms(hunt, e, best, total);
    if (!at_ms || at_ms > gone_ms + patience_ms)
        return false;
    hunt->patient_until_ms = class->patient_until_ms ? class->patient_until_ms : gone_ms + patience_ms;
    return true;
}

/*  The best pool for one more of the class, what is lost there counted in. Then the hunt is of that pool. */
static bool find_best(hunt_t *hunt, evaluation_t *e, helio_victims_t *ret_set)
{
    helio_victims_t best_set = {.count = 0};
    const option_t *best = NULL;
    int64_t best_total = 0, best_loss = 0;
    uint32_t looked_at = 0;
    for (uint32_t i = 0; i < e->feasible && looked_at < EVICTION_POOLS_MAX; i++) {
        const option_t *option = &e->options[i];
        if (is_behind(hunt, option, best))
            break;
        hunt->option = option;
        helio_victims_t set = hunt_at(hunt);
        looked_at += hunt->count > 0;
        if (!set.count || ends_sooner(hunt, &set) || core_would_wait(hunt->core, e, option))
            continue;
        int64_t loss = loss_of(hunt, &set), total = option->c.now.score_micro_usd + loss;
        if (best && total >= best_total)
            continue;
        best = option;
        best_set = set;
        best_total = total;
        best_loss = loss;
    }
    if (!best)
        return false;
    hunt->option = best;
    (void)hunt_at(hunt); /* its victims again: the last one looked at may be another pool's */
    if (rather_waits(hunt, e, best, best_total, &best_set))
        return false;
    *ret_set = best_set;
    e->evicts = best;
    e->loss_micro_usd = best_loss;
    return true;
}

static bool evict_one(hunt_t *hunt, evaluation_t *e)
{
    helio_victims_t set;
    if (!find_best(hunt, e, &set))
        return false;
    begin(hunt, &set);
    return true;
}

bool core_evict(helio_broker_core_t *self, evaluation_t *e)
{
    job_class_t *class = e->class;
    core_evict_give_up(self, class);
    if (e->capped_gpus || !e->feasible)
        return false;
    int64_t unheard_ms = core_evict_unheard_ms(self);
    if (unheard_ms) {
        int64_t at_ms = self->wall_ms + unheard_ms;
        class->look_ms = class->look_ms && class->look_ms < at_ms ? class->look_ms : at_ms;
        return false;
    }
    hunt_t *hunt = helio_new(1, sizeof *hunt);
    hunt->core = self;
    hunt->class = class;
    bool any = false;
    while (class->evictions < class->waiting_count && class->evictions < EVICTIONS_OF_CLASS_MAX &&
           self->eviction_count < EVICTIONS_MAX && evict_one(hunt, e))
        any = true;
    if (class->evictions < class->waiting_count && hunt->young_until_ms &&
        (!class->look_ms || hunt->young_until_ms < class->look_ms))
        class->look_ms = hunt->young_until_ms;
    if (hunt->patient_until_ms) {
        int64_t at_ms = class->patient_until_ms = hunt->patient_until_ms;
        class->look_ms = class->look_ms && class->look_ms < at_ms ? class->look_ms : at_ms;
    }
    free(hunt);
    return any;
}

/* ---- whom it would tell to leave ------------------------------------------------------------------------- */

/*  "3 jobs of queue preemptible and 1 job of queue batch" */
static const char *victims_text(const hunt_t *hunt, const helio_victims_t *set)
{
    helio_broker_core_t *self = hunt->core;
    const queue_t *queues[QUEUES_NAMED];
    uint32_t jobs[QUEUES_NAMED] = {0}, count = 0, others = 0;
    for (uint32_t i = 0; i < set->count; i++) {
        const queue_t *queue = hunt->jobs[set->chosen[i]]->submission->queue;
        uint32_t at = 0;
        while (at < count && queues[at] != queue)
            at++;
        if (hunt->victims[set->chosen[i]].leaves)
            continue;
        if (at == QUEUES_NAMED) {
            others++;
            continue;
        }
        count += at == count;
        queues[at] = queue;
        jobs[at]++;
    }
    const char *text = "";
    for (uint32_t i = 0; i < count; i++)
        text = core_printf(self, "%s%s%u job%s of queue %s", text, !i ? "" : others || i + 1 < count ? ", " : " and ",
                           jobs[i], jobs[i] == 1 ? "" : "s", queues[i]->name);
    return others ? core_printf(self, "%s and %u more", text, others) : text;
}

/*  The latest at which all of them may be told to. */
static int64_t told_ms(const hunt_t *hunt, const helio_victims_t *set)
{
    int64_t at_ms = hunt->core->wall_ms + core_evict_unheard_ms(hunt->core);
    for (uint32_t i = 0; i < set->count; i++) {
        const job_t *job = hunt->jobs[set->chosen[i]];
        int64_t young_ms =
            helio_evict_young_ms(core_evict_tier(job)) - (int64_t)core_evict_ran_ms(hunt->core, job);
        if (!hunt->victims[set->chosen[i]].leaves && hunt->core->wall_ms + young_ms > at_ms)
            at_ms = hunt->core->wall_ms + young_ms;
    }
    return at_ms;
}

bool core_evict_foresee(helio_broker_core_t *self, evaluation_t *e)
{
    helio_victims_t set;
    if (e->capped_gpus || !e->feasible || e->class->judged_ms)
        return false;
    hunt_t *hunt = helio_new(1, sizeof *hunt);
    hunt->core = self;
    hunt->class = e->class;
    bool any = find_best(hunt, e, &set);
    if (!any && hunt->young_until_ms) {
        hunt->young_too = true;
        any = find_best(hunt, e, &set);
    }
    if (any) {
        const char *whom = victims_text(hunt, &set);
        e->evicts_at_ms = told_ms(hunt, &set) + (int64_t)grace_of(hunt, &set);
        e->evicts_text = whom[0] ? core_printf(self, "would preempt %s", whom) : "waits for jobs that are leaving";
    }
    free(hunt);
    return any;
}
