/*  victim_set.c -- the rules of preemption, and the search for the least set of victims. */
#include "federation/policy/victim_set.h"

#include <assert.h>
#include <string.h>

static const char *const cause_names[] = {
#define X(name, word) word,
    HELIO_PREEMPT_CAUSE_TABLE(X)
#undef X
};

const char *helio_preempt_cause_name(uint32_t value)
{
    return value < HELIO_PREEMPT_CAUSE_COUNT ? cause_names[value] : "unknown";
}

helio_rc helio_preempt_cause_of(helio_text_t word, uint32_t *ret_value)
{
    for (uint32_t i = 0; i < HELIO_PREEMPT_CAUSE_COUNT; i++)
        if (helio_text_is(word, cause_names[i])) {
            *ret_value = i;
            return HELIO_OK;
        }
    return HELIO_NOT_FOUND;
}

bool helio_preempt_allowed(uint32_t preempting_tier, uint32_t victim_tier, bool reclaims)
{
    if (victim_tier >= HELIO_TIER_CRITICAL)
        return false;
    return victim_tier < preempting_tier || (reclaims && victim_tier == preempting_tier);
}

bool helio_preempt_is_immune(uint32_t tier, uint32_t times)
{
    return tier != HELIO_TIER_BEST_EFFORT && times >= HELIO_PREEMPT_TIMES_MAX;
}

uint64_t helio_preempt_lost_ms(uint64_t ran_ms, uint64_t checkpoint_every_ms, bool signalled, uint64_t grace_ms)
{
    uint64_t lost = ran_ms < HELIO_PREEMPT_LOST_MAX_MS ? ran_ms : HELIO_PREEMPT_LOST_MAX_MS;
    if (checkpoint_every_ms && checkpoint_every_ms < lost)
        lost = checkpoint_every_ms;
    if (signalled && grace_ms < lost)
        lost = grace_ms;
    return lost;
}

int64_t helio_preempt_patience_ms(uint64_t lost_gpu_ms, uint64_t gpus, bool reclaims)
{
    uint64_t most = reclaims ? HELIO_PREEMPT_PATIENCE_RECLAIM_MS : HELIO_PREEMPT_PATIENCE_TIER_MS;
    uint64_t work = lost_gpu_ms / (gpus ? gpus : 1);
    return (int64_t)(work < most ? work : most);
}

int64_t helio_preempt_protection_ms(uint32_t tier)
{
    return tier == HELIO_TIER_BEST_EFFORT ? HELIO_PREEMPT_PROTECTION_BEST_EFFORT_MS
                                          : HELIO_PREEMPT_PROTECTION_STANDARD_MS;
}

/* ---- orders ---------------------------------------------------------------------------------------------- */

typedef enum order { CHEAPEST_FIRST, SMALLEST_FIRST } order_t;

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_preference(const helio_victim_t *a, const helio_victim_t *b, order_t order)
{
    int by = compare(b->leaves, a->leaves);
    by = by ? by : compare(a->tier, b->tier);
    by = by || order == CHEAPEST_FIRST ? by : compare(a->gpus, b->gpus);
    by = by ? by : compare(a->lost_gpu_ms, b->lost_gpu_ms);
    by = by ? by : compare(a->gpus, b->gpus);
    by = by ? by : compare(b->share, a->share);
    return by ? by : compare(b->age, a->age);
}

/*  Insertion sort of runs that are then merged: stable, and without a comparator that would need a global. */
static void sort(const helio_victim_t *victims, uint32_t *order, uint32_t *spare_room, uint32_t count, order_t by)
{
    for (uint32_t width = 1; width < count; width *= 2) {
        for (uint32_t at = 0; at < count; at += 2 * width) {
            uint32_t a = at, b = at + width < count ? at + width : count;
            uint32_t a_end = b, b_end = at + 2 * width < count ? at + 2 * width : count;
            for (uint32_t to = at; to < b_end; to++) {
                bool left = a < a_end && (b >= b_end || by_preference(&victims[order[a]], &victims[order[b]], by) <= 0);
                spare_room[to] = left ? order[a++] : order[b++];
            }
        }
        memcpy(order, spare_room, count * sizeof *order);
    }
}

/* ---- sets ------------------------------------------------------------------------------------------------ */

typedef struct search {
    const helio_victim_t *victims;
    const uint64_t *spare;
    uint32_t spare_count;
    helio_victims_fit_fn fits;
    void *arg;
    helio_victims_t best;
} search_t;

static void weigh(const search_t *self, helio_victims_t *set)
{
    set->leaving = set->worst_tier = 0;
    set->gpus = set->lost_gpu_ms = 0;
    for (uint32_t i = 0; i < set->count; i++) {
        const helio_victim_t *victim = &self->victims[set->chosen[i]];
        if (victim->leaves) {
            set->leaving++;
            continue;
        }
        set->worst_tier = victim->tier > set->worst_tier ? victim->tier : set->worst_tier;
        set->gpus += victim->gpus;
        set->lost_gpu_ms += victim->lost_gpu_ms;
    }
}

static bool is_less(const helio_victims_t *a, const helio_victims_t *b)
{
    if (!b->count)
        return a->count > 0;
    if (a->worst_tier != b->worst_tier)
        return a->worst_tier < b->worst_tier;
    if (a->gpus != b->gpus)
        return a->gpus < b->gpus;
    return a->lost_gpu_ms < b->lost_gpu_ms;
}

static void offer(search_t *self, helio_victims_t *set)
{
    weigh(self, set);
    if (is_less(set, &self->best))
        self->best = *set;
}

/*  Removes victims that are not needed, the most expensive first. */
static void spare_some(const search_t *self, helio_victims_t *set)
{
    for (uint32_t i = set->count; i-- > 0 && set->count > 1;) {
        uint32_t without[HELIO_PREEMPT_SET_MAX], count = 0;
        for (uint32_t k = 0; k < set->count; k++)
            if (k != i)
                without[count++] = set->chosen[k];
        if (!self->fits(self->arg, without, count))
            continue;
        memcpy(set->chosen, without, count * sizeof *without);
        set->count = count;
    }
}

/*  The victims, in order, that can be preempted together without taking any tenant below its guarantee. */
static uint32_t affordable(const search_t *self, const uint32_t *order, uint32_t count, uint32_t *ret_line)
{
    uint64_t left[2 * HELIO_PREEMPT_CONSIDERED_MAX];
    uint32_t taken = 0;
    assert(self->spare_count <= sizeof left / sizeof left[0]);
    if (self->spare_count)
        memcpy(left, self->spare, self->spare_count * sizeof *left);
    for (uint32_t i = 0; i < count && taken < HELIO_PREEMPT_SET_MAX; i++) {
        const helio_victim_t *victim = &self->victims[order[i]];
        bool can = true;
        for (uint32_t o = 0; o < HELIO_VICTIM_OWNERS; o++)
            can = can && (victim->owners[o] == HELIO_VICTIM_NO_OWNER || left[victim->owners[o]] >= victim->gpus);
        if (!can)
            continue;
        for (uint32_t o = 0; o < HELIO_VICTIM_OWNERS; o++)
            if (victim->owners[o] != HELIO_VICTIM_NO_OWNER)
                left[victim->owners[o]] -= victim->gpus;
        ret_line[taken++] = order[i];
    }
    return taken;
}

/*  As many victims of the order as needed. */
static void try_line(search_t *self, const uint32_t *line, uint32_t count)
{
    if (!count || !self->fits(self->arg, line, count))
        return;
    uint32_t low = 1, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (self->fits(self->arg, line, middle))
            high = middle;
        else
            low = middle + 1;
    }
    helio_victims_t set = {.count = low};
    memcpy(set.chosen, line, low * sizeof *line);
    spare_some(self, &set);
    offer(self, &set);
}

static void try_alone(search_t *self, const uint32_t *order, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t line[1];
        if (!affordable(self, &order[i], 1, line) || !self->fits(self->arg, line, 1))
            continue;
        helio_victims_t set = {.chosen = {line[0]}, .count = 1};
        offer(self, &set);
        return; /* the order is that of preference: later sets are not better */
    }
}

helio_victims_t helio_victims_choose(const helio_victim_t *victims, uint32_t count, const uint64_t *spare,
                                     uint32_t spare_count, helio_victims_fit_fn fits, void *arg)
{
    search_t self = {.victims = victims, .spare = spare, .spare_count = spare_count, .fits = fits, .arg = arg};
    uint32_t order[HELIO_PREEMPT_CONSIDERED_MAX], room[HELIO_PREEMPT_CONSIDERED_MAX], line[HELIO_PREEMPT_SET_MAX];
    count = count < HELIO_PREEMPT_CONSIDERED_MAX ? count : HELIO_PREEMPT_CONSIDERED_MAX;
    if (!count || fits(arg, NULL, 0))
        return self.best;
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    sort(victims, order, room, count, CHEAPEST_FIRST);
    try_line(&self, line, affordable(&self, order, count, line));
    sort(victims, order, room, count, SMALLEST_FIRST);
    try_line(&self, line, affordable(&self, order, count, line));
    try_alone(&self, order, count);
    return self.best;
}
