/*  slurm_ahead.c -- GPUs that attempts will leave within `queue_ahead`, by how long attempts like them have run, and those
 *  that attempts have just left, as the nodes' figures do not show yet. They are offered ahead, so that the next attempt
 *  is in Slurm's queue when they become free.
 *
 *  Attempts are alike if they have one tenant, user, pool, size and time limit. Of those that ran at least as long as
 *  one that runs now, the share that then ended within `queue_ahead` is the probability that it will. Attempts that
 *  outlast all others of their kind are not expected to end, so nothing is queued behind long ones. Of a kind that
 *  lasts only moments several follow one another within `queue_ahead`: a list is too seldom for one at a time.
 */
#include "site-agent/backends/slurm/slurm_internal.h"

enum {
    RUNS_LEAST = 2,
    RUN_KEPT_MS = 3600000,
    TURNS_MOST = 4,
    LAUNCH_MS = 1000, /* between two, at least */
    BRISK_MS = 20000, /* this many of them ended within that time */
    BRISK_LEAST = 4,
    FREED_MS = 500,  /* after an end that status files told Slurm shows the nodes in use for a moment */
    VACANT_MS = 4000 /* for so long turns are expected of a GPU that one of a brief kind has left */
};

uint64_t helio_slurm_kin(const helio_order_t *order)
{
    uint64_t hash = HELIO_HASH_SEED;
    const uint64_t figures[] = {order->nodes, order->gpus_per_node, order->cpus_per_node, order->memory_bytes_per_node,
                                order->time_limit_ms};
    const helio_text_t texts[] = {order->tenant, order->user, order->pool};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        hash = helio_hash(hash, &texts[i].size, sizeof texts[i].size);
        hash = helio_hash(hash, texts[i].data, texts[i].size);
    }
    hash = helio_hash(hash, figures, sizeof figures);
    return hash ? hash : 1;
}

/*  How many that last so long can follow one another. */
static uint32_t turns_of(const helio_slurm_t *self, int64_t mean_ms)
{
    int64_t turns = (int64_t)self->settings.ahead_ms / (mean_ms + LAUNCH_MS);
#ifdef HELIO_MUTANT_short_ones_one_at_a_time
    turns = 1;
#endif
    return turns < 1 ? 1 : turns > TURNS_MOST ? TURNS_MOST : (uint32_t)turns;
}

static bool is_alike(const helio_slurm_t *self, const helio_slurm_run_t *run, uint64_t kin)
{
    return run->kin == kin && self->now_boot_ms - run->at_ms <= RUN_KEPT_MS;
}

static uint32_t turns_of_kin(const helio_slurm_t *self, uint64_t kin)
{
    int64_t sum_ms = 0;
    uint32_t alike = 0;
    for (uint32_t i = 0; kin && i < HELIO_SLURM_RUNS_KEPT; i++) {
        const helio_slurm_run_t *run = &self->runs.items[i];
        alike += is_alike(self, run, kin);
        sum_ms += is_alike(self, run, kin) ? run->ran_ms : 0;
    }
    return alike < RUNS_LEAST ? 1 : turns_of(self, sum_ms / alike);
}

bool helio_slurm_is_brisk(const helio_slurm_t *self)
{
    int64_t sum_ms = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < HELIO_SLURM_RUNS_KEPT; i++) {
        const helio_slurm_run_t *run = &self->runs.items[i];
        bool recent = run->kin && self->now_boot_ms - run->at_ms <= BRISK_MS;
        count += recent;
        sum_ms += recent ? run->ran_ms : 0;
    }
    return count >= BRISK_LEAST && sum_ms / count < 2 * (int64_t)self->settings.poll_ms;
}

static helio_slurm_ahead_t size_of(const helio_slurm_attempt_t *attempt)
{
    return (helio_slurm_ahead_t){.pool = helio_text_of(attempt->pool),
                                 .nodes = attempt->nodes,
                                 .gpus_per_node = attempt->gpus_per_node,
                                 .cpus_per_node = attempt->cpus_per_node,
                                 .memory_bytes_per_node = attempt->memory_bytes_per_node,
                                 .turns = turns_of_kin(attempt->backend, attempt->kin)};
}

/*  In thousandths: how likely its end is. What is still seen to run may have ended since the last list. */
static uint32_t ends_soon(const helio_slurm_attempt_t *attempt)
{
    const helio_slurm_t *self = attempt->backend;
    int64_t age_ms = self->now_wall_ms - attempt->started_wall_ms, until_ms = age_ms + (int64_t)self->settings.ahead_ms;
    uint32_t alike = 0, longer = 0, soon = 0;
    age_ms -= (int64_t)self->settings.poll_ms;
    for (uint32_t i = 0; i < HELIO_SLURM_RUNS_KEPT; i++) {
        const helio_slurm_run_t *run = &self->runs.items[i];
        if (!is_alike(self, run, attempt->kin))
            continue;
        alike++;
        longer += run->ran_ms >= age_ms;
        soon += run->ran_ms >= age_ms && run->ran_ms <= until_ms;
    }
    return alike < RUNS_LEAST || !longer ? 0 : 1000 * soon / longer;
}

void helio_slurm_note_run(const helio_slurm_attempt_t *attempt, int64_t ran_ms, bool own)
{
    const helio_slurm_t *self = attempt->backend;
    helio_slurm_runs_t *runs = &attempt->backend->runs;
    if (own && attempt->kin)
        runs->items[runs->next++ % HELIO_SLURM_RUNS_KEPT] =
            (helio_slurm_run_t){.kin = attempt->kin, .ran_ms = ran_ms, .at_ms = self->now_boot_ms};
    if (!attempt->gpus_per_node || !attempt->nodes)
        return;
    int64_t at_ms = self->now_boot_ms + (attempt->noticed_ms ? FREED_MS : 0);
    helio_slurm_left_t *left = &runs->left[runs->left_next++ % HELIO_SLURM_RUNS_KEPT];
    *left = (helio_slurm_left_t){.what = size_of(attempt),
                                 .at_ms = at_ms ? at_ms : 1,
                                 .shown = attempt->holds_list && attempt->holds_list <= self->poll.nodes_after};
    memcpy(left->pool, attempt->pool, sizeof left->pool);
}

/*  The nodes' figures that were asked for since the list that shows its end show its GPUs free. */
void helio_slurm_note_freed(const helio_slurm_attempt_t *attempt)
{
    helio_slurm_t *self = attempt->backend;
    for (uint32_t i = 0; i < HELIO_SLURM_RUNS_KEPT; i++) {
        helio_slurm_left_t *left = &self->runs.left[i];
        if (left->at_ms != attempt->noticed_ms + FREED_MS || strcmp(left->pool, attempt->pool) != 0)
            continue;
        left->at_ms = self->poll.asked_ms > 1 ? self->poll.asked_ms - 1 : 1;
        return;
    }
}

typedef struct kinds {
    helio_slurm_ahead_t *items;
    uint64_t *thousandths;
    uint32_t count;
} kinds_t;

static void add_one(kinds_t *kinds, helio_slurm_ahead_t one, uint32_t thousandths)
{
    uint32_t i = 0;
    for (; i < kinds->count; i++) {
        const helio_slurm_ahead_t *other = &kinds->items[i];
        if (helio_text_equal(other->pool, one.pool) && other->gpus_per_node == one.gpus_per_node &&
            other->cpus_per_node == one.cpus_per_node && other->memory_bytes_per_node == one.memory_bytes_per_node)
            break;
    }
    if (i == kinds->count) {
        kinds->items[kinds->count] = one;
        kinds->thousandths[kinds->count++] = 0;
    }
    kinds->thousandths[i] += (uint64_t)thousandths * one.turns * one.nodes;
    if (kinds->items[i].turns < one.turns)
        kinds->items[i].turns = one.turns;
}

static bool can_end(const helio_slurm_attempt_t *attempt)
{
    return attempt->phase == HELIO_SLURM_AT_RUNNING && attempt->started_wall_ms && attempt->kin &&
           !attempt->noticed_ms && attempt->gpus_per_node && attempt->nodes &&
           attempt->stop_mode == HELIO_SLURM_NO_STOP && !attempt->suspended;
}

/*  A GPU that the figures still show in use has all its turns to come; of one that they show free, the first is offered
 *  as free, and the others follow. */
static void add_left(const helio_slurm_t *self, kinds_t *kinds)
{
    for (uint32_t i = 0; i < HELIO_SLURM_RUNS_KEPT; i++) {
        const helio_slurm_left_t *left = &self->runs.left[i];
        helio_slurm_ahead_t one = left->what;
        one.pool = helio_text_of(left->pool);
        if (!left->at_ms)
            continue;
        if (left->shown && left->at_ms >= self->poll.nodes_at_ms)
            add_one(kinds, one, 1000);
        else if (one.turns > 1 && self->now_boot_ms - left->at_ms <= VACANT_MS)
            add_one(kinds, one, 1000 * (one.turns - 1) / one.turns);
    }
}

const helio_slurm_ahead_t *helio_slurm_ahead(const helio_slurm_t *self, helio_arena_t *arena, uint32_t *ret_count)
{
    size_t most = (size_t)self->attempts.count + HELIO_SLURM_RUNS_KEPT + 1;
    kinds_t kinds = {.items = helio_arena_alloc(arena, most, sizeof *kinds.items),
                     .thousandths = helio_arena_alloc(arena, most, sizeof *kinds.thousandths)};
    for (const helio_slurm_attempt_t *attempt = helio_slurm_first(self); attempt && self->settings.ahead_ms;
         attempt = helio_slurm_after(attempt)) {
        uint32_t thousandths = can_end(attempt) ? ends_soon(attempt) : 0;
        if (thousandths)
            add_one(&kinds, size_of(attempt), thousandths);
    }
    if (self->settings.ahead_ms)
        add_left(self, &kinds);
    for (uint32_t i = 0; i < kinds.count; i++)
        kinds.items[i].nodes = (uint32_t)((kinds.thousandths[i] + 500) / 1000);
    *ret_count = kinds.count;
    return kinds.items;
}

uint64_t helio_slurm_ahead_hash(const helio_slurm_ahead_t *ahead, uint32_t count)
{
    uint64_t hash = HELIO_HASH_SEED;
    for (uint32_t i = 0; i < count; i++) {
        hash = helio_hash(hash, ahead[i].pool.data, ahead[i].pool.size);
        hash = helio_hash(hash, &ahead[i].gpus_per_node, sizeof ahead[i].gpus_per_node);
        hash = helio_hash(hash, &ahead[i].nodes, sizeof ahead[i].nodes);
    }
    return hash;
}
