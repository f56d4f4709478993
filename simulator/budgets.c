/*  budgets.c -- a tenant that may spend so many GPU-hours a day, in a third of the worlds; and the promise that
 *  what is booked and what is foreseen of its jobs at sites never comes to more, but for what single runs took
 *  beyond what was foreseen of them, and what jobs had run before they were moved.
 *
 *  It ends with the faults, so that all comes to its end. Nothing is drawn from the world's random numbers: the
 * other worlds run as they did. Half of these cross a midnight, at which the budget begins again.
 */
#include <stdio.h>

#include "simulator/internal.h"

enum {
    LEAST_GPU_H = 2 * WORLD_GPUS_PER_NODE, /* every job fits in it: they are foreseen by an hour at most */
    RETRY_MS = 2000
};

static const char tenant[] = "red";
static const int64_t DAY_MS = 86400000;

static bool has_budgets(const world_t *self)
{
    return self->options.seed % 3 == 1;
}

static void say(world_t *self, const char *budget, uint64_t number)
{
    helio_word_t word = {helio_text_of(budget)};
    helio_ev_quota_t event = {
        .call = BUDGETS_CALL + number,
        .user = HELIO_TEXT("operator"),
        .role = HELIO_ROLE_OPERATOR,
        .tenant = helio_text_of(tenant),
        .budgets = {.items = &word, .count = 1},
    };
    if (self->broker.up)
        broker_step(self, HELIO_BROKER_EV_QUOTA, &event);
}

/*  Said again until it is durable. */
static void on_say(world_t *self, happening_t *item)
{
    bool ends = item->number;
    char text[48];
    int64_t limit;
    if (helio_vdb_budget(self->vdb, tenant, &limit) != ends)
        return;
    (void)snprintf(text, sizeof text, "%lld gpu-h/day",
                   (long long)(LEAST_GPU_H + (int64_t)(world_draw(self, 41, 0) % 8)));
    world_later(self, RETRY_MS, on_say)->number = item->number;
    say(self, ends ? "none" : text, item->number);
}

void budgets_make(world_t *self)
{
    if (!has_budgets(self))
        return;
    (void)world_later(self, 0, on_say);
    world_later(self, self->options.faults_ms, on_say)->number = 1;
}

void budgets_answer(world_t *self, const helio_fx_answer_t *answer)
{
    if (answer->rc != HELIO_OK)
        world_violate(self, "a good budget was refused: %.*s", HELIO_TEXT_ARGS(answer->text));
}

/*  Of the day that is, or the one that begins amid the faults. Jobs that were placed before the budget was durable may
 *  be more than it. */
void budgets_check(world_t *self)
{
    int64_t limit, day_ms = WORLD_HOUR_WALL_MS - WORLD_HOUR_WALL_MS % DAY_MS;
    if (!has_budgets(self) || !helio_vdb_budget(self->vdb, tenant, &limit)) {
        self->budget_held = 0;
        return;
    }
    int64_t held = helio_vdb_spends(self->vdb, tenant, day_ms);
    if (!self->budget_held)
        self->budget_held = held > limit ? held : limit;
    if (held > self->budget_held)
        world_violate(self, "%s has %lld GPU-seconds booked and committed of a day, its budget is %lld", tenant,
                      (long long)(held / 1000), (long long)(limit / 1000));
}
