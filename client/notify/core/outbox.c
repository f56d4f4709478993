/*  outbox.c -- one line of deliveries for each target. */
#include "client/notify/core/outbox.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef struct delivery {
    uint64_t number;
    uint64_t about;
    int64_t give_up_ms;
    int64_t due_ms;    /* not before */
    uint32_t failures; /* of it */
    uint32_t ahead;    /* deliveries about the same thing before it */
    bool under_way;
} delivery_t;

typedef struct line {
    helio_outbox_target_t target;
    delivery_t *items; /* in their order */
    uint32_t count, capacity;
    uint32_t under_way;
    uint32_t failures; /* of the target, in a row */
    int64_t due_ms;    /* no attempt before */
} line_t;

struct helio_outbox {
    line_t *lines;
    uint32_t count;
    helio_rng_t rng;
};

helio_outbox_t *helio_outbox_new(const helio_outbox_target_t *targets, uint32_t count, uint64_t seed)
{
    helio_outbox_t *self = helio_new(1, sizeof *self);
    self->lines = helio_new(count ? count : 1, sizeof *self->lines);
    self->count = count;
    self->rng.state = seed;
    for (uint32_t i = 0; i < count; i++)
        self->lines[i] = (line_t){.target = targets[i], .due_ms = INT64_MIN};
    return self;
}

void helio_outbox_destroy(helio_outbox_t **self_p)
{
    helio_outbox_t *self = *self_p;
    if (!self)
        return;
    for (uint32_t i = 0; i < self->count; i++)
        free(self->lines[i].items);
    free(self->lines);
    free(self);
    *self_p = NULL;
}

/*  Takes it out; those behind it that are about the same thing move up. */
static void take_out(line_t *line, uint32_t at)
{
    uint64_t about = line->items[at].about;
    if (line->items[at].under_way)
        line->under_way--;
    memmove(&line->items[at], &line->items[at + 1], (line->count - at - 1) * sizeof *line->items);
    line->count--;
    for (uint32_t i = at; i < line->count; i++)
        if (line->items[i].about == about)
            line->items[i].ahead--;
}

/*  The oldest that nobody is sending; the line's count = all are. */
static uint32_t oldest(const line_t *line)
{
    uint32_t at = 0;
    while (at < line->count && line->items[at].under_way)
        at++;
    return at;
}

uint64_t helio_outbox_add(helio_outbox_t *self, uint32_t target, uint64_t number, uint64_t about, int64_t give_up_ms)
{
    assert(target < self->count);
    line_t *line = &self->lines[target];
    uint64_t dropped = 0;
    uint32_t at = oldest(line);
    if (line->count >= line->target.keep && at < line->count) {
        dropped = line->items[at].number;
        take_out(line, at);
    }
    if (line->count == line->capacity) {
        line->capacity = line->capacity ? line->capacity * 2 : 16;
        line->items = helio_grow(line->items, line->capacity, sizeof *line->items);
    }
    delivery_t *added = &line->items[line->count];
    *added = (delivery_t){.number = number, .about = about, .give_up_ms = give_up_ms, .due_ms = INT64_MIN};
    for (uint32_t i = 0; i < line->count; i++)
        added->ahead += line->items[i].about == about;
    line->count++;
    return dropped;
}

/*  How many attempts the target may have at once: one, while it fails. */
static uint32_t at_once(const line_t *line)
{
    return line->failures ? 1 : HELIO_OUTBOX_AT_ONCE;
}

static bool is_ready(const delivery_t *delivery)
{
#ifdef HELIO_MUTANT_notify_order
    return !delivery->under_way;
#else
    return !delivery->under_way && !delivery->ahead;
#endif
}

/*  Of those that are due, one that failed least: so one that its receiver cannot take holds up nothing but its own. */
static delivery_t *choose(line_t *line, int64_t now_ms)
{
    delivery_t *best = NULL;
    if (now_ms < line->due_ms || line->under_way >= at_once(line))
        return NULL;
    for (uint32_t i = 0; i < line->count; i++) {
        delivery_t *at = &line->items[i];
        if (!is_ready(at) || at->due_ms > now_ms || at->give_up_ms <= now_ms)
            continue;
#ifdef HELIO_MUTANT_notify_oldest_first
        return at;
#endif
        if (!at->failures)
            return at;
        if (!best || at->failures < best->failures)
            best = at;
    }
    return best;
}

bool helio_outbox_next(helio_outbox_t *self, int64_t now_ms, helio_outbox_attempt_t *ret_attempt)
{
    for (uint32_t i = 0; i < self->count; i++) {
        delivery_t *delivery = choose(&self->lines[i], now_ms);
        if (!delivery)
            continue;
        delivery->under_way = true;
        self->lines[i].under_way++;
        *ret_attempt = (helio_outbox_attempt_t){.target = i, .number = delivery->number};
        return true;
    }
    return false;
}

bool helio_outbox_expired(helio_outbox_t *self, int64_t now_ms, helio_outbox_attempt_t *ret_attempt)
{
    for (uint32_t target = 0; target < self->count; target++) {
        line_t *line = &self->lines[target];
        for (uint32_t i = 0; i < line->count; i++) {
            if (line->items[i].under_way || line->items[i].give_up_ms > now_ms)
                continue;
            *ret_attempt = (helio_outbox_attempt_t){.target = target, .number = line->items[i].number};
            take_out(line, i);
            return true;
        }
    }
    return false;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t helio_outbox_due_ms(const helio_outbox_t *self)
{
    int64_t due_ms = INT64_MAX;
    for (uint32_t target = 0; target < self->count; target++) {
        const line_t *line = &self->lines[target];
        for (uint32_t i = 0; i < line->count; i++) {
            const delivery_t *at = &line->items[i];
            if (at->under_way)
                continue;
            due_ms = least(due_ms, at->give_up_ms);
            if (is_ready(at) && line->under_way < at_once(line))
                due_ms = least(due_ms, at->due_ms > line->due_ms ? at->due_ms : line->due_ms);
        }
    }
    return due_ms;
}

helio_outbox_verdict_t helio_outbox_judge(const helio_outbox_outcome_t *outcome)
{
    if (!outcome->answered)
        return HELIO_OUTBOX_RETRY;
    if (outcome->by_command)
        return outcome->status == 0 ? HELIO_OUTBOX_DELIVERED : HELIO_OUTBOX_RETRY;
    if (outcome->status >= 200 && outcome->status < 300)
        return HELIO_OUTBOX_DELIVERED;
    bool again = outcome->status >= 500 || outcome->status == 408 || outcome->status == 429;
    return again ? HELIO_OUTBOX_RETRY : HELIO_OUTBOX_REFUSED; /* a redirect leads to nobody we know */
}

/*  The lower half is certain, the rest is chance: many that wait do not come back together. */
static uint64_t wait_of(helio_outbox_t *self, uint32_t failures)
{
    uint64_t whole = (uint64_t)HELIO_OUTBOX_FIRST_WAIT_MS << (failures < 10 ? failures - 1 : 9);
    if (whole > HELIO_OUTBOX_LONGEST_WAIT_MS)
        whole = HELIO_OUTBOX_LONGEST_WAIT_MS;
    return whole / 2 + helio_rng_below(&self->rng, whole / 2 + 1);
}

static uint32_t find(const line_t *line, uint64_t number)
{
    uint32_t at = 0;
    while (at < line->count && line->items[at].number != number)
        at++;
    assert(at < line->count && line->items[at].under_way);
    return at;
}

static void put_off(helio_outbox_t *self, line_t *line, delivery_t *delivery, const helio_outbox_outcome_t *outcome,
                    int64_t now_ms)
{
    /* attempts that were under way together fail for one reason, and count once */
    bool same = line->failures && line->due_ms > now_ms;
    line->failures += !same;
    uint64_t wait_ms = wait_of(self, line->failures), own_ms = wait_of(self, ++delivery->failures);
    if (wait_ms < outcome->retry_after_ms)
        wait_ms = outcome->retry_after_ms;
    if (same && line->due_ms > now_ms + (int64_t)wait_ms)
        wait_ms = (uint64_t)(line->due_ms - now_ms);
    if (own_ms < wait_ms)
        own_ms = wait_ms;
    line->due_ms = now_ms + (int64_t)wait_ms;
    delivery->due_ms = now_ms + (int64_t)own_ms;
    delivery->under_way = false;
    line->under_way--;
}

helio_outbox_verdict_t helio_outbox_settle(helio_outbox_t *self, helio_outbox_attempt_t attempt,
                                           const helio_outbox_outcome_t *outcome, int64_t now_ms, uint64_t *ret_wait_ms)
{
    assert(attempt.target < self->count);
    line_t *line = &self->lines[attempt.target];
    uint32_t at = find(line, attempt.number);
    helio_outbox_verdict_t verdict = helio_outbox_judge(outcome);
    *ret_wait_ms = 0;
    if (verdict == HELIO_OUTBOX_RETRY) {
        delivery_t *delivery = &line->items[at];
        put_off(self, line, delivery, outcome, now_ms);
        *ret_wait_ms = (uint64_t)(delivery->due_ms - now_ms);
        if (delivery->give_up_ms > delivery->due_ms)
            return HELIO_OUTBOX_RETRY;
        verdict = HELIO_OUTBOX_TOO_OLD; /* by the time of its next attempt */
    } else {
        line->failures = 0; /* it is there, whatever it thinks of this one */
        line->due_ms = INT64_MIN;
    }
    take_out(line, at);
    return verdict;
}

uint32_t helio_outbox_waiting(const helio_outbox_t *self, uint32_t target)
{
    return self->lines[target].count;
}
