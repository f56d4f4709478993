/*  Deliveries in virtual time: what is tried when, and that nothing is lost, repeated or overtaken. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "client/notify/core/outbox.h"

#define NEVER INT64_MAX

static const helio_outbox_outcome_t well = {.answered = true, .status = 200};
static const helio_outbox_outcome_t silent = {.answered = false};

static helio_outbox_outcome_t status(long code)
{
    return (helio_outbox_outcome_t){.answered = true, .status = code};
}

static helio_outbox_t *outbox_of(uint32_t targets, uint32_t keep)
{
    helio_outbox_target_t *of = helio_new(targets, sizeof *of);
    for (uint32_t i = 0; i < targets; i++)
        of[i].keep = keep;
    helio_outbox_t *self = helio_outbox_new(of, targets, 42);
    free(of);
    return self;
}

static void add(helio_outbox_t *self, uint32_t target, uint64_t number, uint64_t about)
{
    assert_int_equal(helio_outbox_add(self, target, number, about, NEVER), 0);
}

static helio_outbox_attempt_t expect_next(helio_outbox_t *self, int64_t now_ms, uint64_t number)
{
    helio_outbox_attempt_t attempt = {.target = 0};
    assert_true(helio_outbox_next(self, now_ms, &attempt));
    assert_int_equal(attempt.number, number);
    return attempt;
}

static void expect_none(helio_outbox_t *self, int64_t now_ms)
{
    helio_outbox_attempt_t attempt;
    assert_false(helio_outbox_next(self, now_ms, &attempt));
}

static helio_outbox_verdict_t settle(helio_outbox_t *self, helio_outbox_attempt_t attempt,
                                     helio_outbox_outcome_t outcome, int64_t now_ms)
{
    uint64_t wait_ms;
    return helio_outbox_settle(self, attempt, &outcome, now_ms, &wait_ms);
}

static void answers__are_judged_by_their_status(void **state)
{
    (void)state;
    static const struct {
        long status;
        helio_outbox_verdict_t verdict;
    } cases[] = {{200, HELIO_OUTBOX_DELIVERED}, {204, HELIO_OUTBOX_DELIVERED}, {301, HELIO_OUTBOX_REFUSED},
                 {400, HELIO_OUTBOX_REFUSED},   {404, HELIO_OUTBOX_REFUSED},   {410, HELIO_OUTBOX_REFUSED},
                 {408, HELIO_OUTBOX_RETRY},     {429, HELIO_OUTBOX_RETRY},     {500, HELIO_OUTBOX_RETRY},
                 {503, HELIO_OUTBOX_RETRY}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_outbox_outcome_t outcome = status(cases[i].status);
        assert_int_equal(helio_outbox_judge(&outcome), cases[i].verdict);
    }
    helio_outbox_outcome_t command = {.answered = true, .by_command = true};
    assert_int_equal(helio_outbox_judge(&silent), HELIO_OUTBOX_RETRY);
    assert_int_equal(helio_outbox_judge(&command), HELIO_OUTBOX_DELIVERED);
    command.status = 75;
    assert_int_equal(helio_outbox_judge(&command), HELIO_OUTBOX_RETRY);
}

static void deliveries__about_one_job_keep_their_order(void **state)
{
    (void)state;
    helio_outbox_t *self = outbox_of(1, 100);
    add(self, 0, 1, 7);
    add(self, 0, 2, 7);
    add(self, 0, 3, 8);
    helio_outbox_attempt_t first = expect_next(self, 0, 1), other = expect_next(self, 0, 3);
    expect_none(self, 0); /* 2 waits for 1 */
    assert_int_equal(settle(self, first, silent, 0), HELIO_OUTBOX_RETRY);
    assert_int_equal(settle(self, other, well, 0), HELIO_OUTBOX_DELIVERED);
    expect_none(self, 0);
    first = expect_next(self, 1000, 1);
    assert_int_equal(settle(self, first, well, 1000), HELIO_OUTBOX_DELIVERED);
    (void)expect_next(self, 1000, 2);
    helio_outbox_destroy(&self);
}

static void waits__double_within_bounds_and_honour_the_receiver(void **state)
{
    (void)state;
    helio_outbox_t *self = outbox_of(1, 100);
    int64_t now_ms = 0;
    uint64_t wait_ms = 0, whole = HELIO_OUTBOX_FIRST_WAIT_MS;
    add(self, 0, 1, 7);
    for (int i = 0; i < 20; i++) {
        helio_outbox_attempt_t attempt = expect_next(self, now_ms, 1);
        assert_int_equal(helio_outbox_settle(self, attempt, &silent, now_ms, &wait_ms), HELIO_OUTBOX_RETRY);
        assert_in_range(wait_ms, whole / 2, whole);
        assert_int_equal(helio_outbox_due_ms(self), now_ms + (int64_t)wait_ms);
        expect_none(self, now_ms + (int64_t)wait_ms - 1);
        now_ms += (int64_t)wait_ms;
        whole = whole * 2 < HELIO_OUTBOX_LONGEST_WAIT_MS ? whole * 2 : HELIO_OUTBOX_LONGEST_WAIT_MS;
    }
    helio_outbox_attempt_t attempt = expect_next(self, now_ms, 1);
    helio_outbox_outcome_t busy = {.answered = true, .status = 429, .retry_after_ms = 3600000};
    assert_int_equal(helio_outbox_settle(self, attempt, &busy, now_ms, &wait_ms), HELIO_OUTBOX_RETRY);
    assert_int_equal(wait_ms, 3600000);
    helio_outbox_destroy(&self);
}

static void attempts__that_fail_together_count_once(void **state)
{
    (void)state;
    helio_outbox_t *self = outbox_of(1, 100);
    helio_outbox_attempt_t attempts[HELIO_OUTBOX_AT_ONCE];
    for (uint32_t i = 0; i <= HELIO_OUTBOX_AT_ONCE; i++)
        add(self, 0, i + 1, i);
    for (uint32_t i = 0; i < HELIO_OUTBOX_AT_ONCE; i++)
        attempts[i] = expect_next(self, 0, i + 1);
    expect_none(self, 0);
    for (uint32_t i = 0; i < HELIO_OUTBOX_AT_ONCE; i++)
        assert_int_equal(settle(self, attempts[i], silent, 0), HELIO_OUTBOX_RETRY);
    assert_in_range(helio_outbox_due_ms(self), HELIO_OUTBOX_FIRST_WAIT_MS / 2, HELIO_OUTBOX_FIRST_WAIT_MS);
    /* then one at a time, the one that did not fail first, until one is well */
    helio_outbox_attempt_t probe = expect_next(self, 1000, HELIO_OUTBOX_AT_ONCE + 1);
    expect_none(self, 1000);
    assert_int_equal(settle(self, probe, well, 1000), HELIO_OUTBOX_DELIVERED);
    for (uint32_t i = 0; i < HELIO_OUTBOX_AT_ONCE; i++)
        (void)expect_next(self, 1000, i + 1);
    helio_outbox_destroy(&self);
}

static void dead_targets__delay_no_other(void **state)
{
    (void)state;
    helio_outbox_t *self = outbox_of(2, 1000);
    for (uint64_t i = 0; i < 10; i++) {
        add(self, 0, 2 * i + 1, i);
        add(self, 1, 2 * i + 2, i);
    }
    helio_outbox_attempt_t attempt;
    uint32_t delivered = 0;
    while (helio_outbox_next(self, 0, &attempt)) {
        if (attempt.target == 1)
            delivered += settle(self, attempt, well, 0) == HELIO_OUTBOX_DELIVERED;
    }
    assert_int_equal(delivered, 10);
    assert_int_equal(helio_outbox_waiting(self, 0), 10);
    helio_outbox_destroy(&self);
}

static void one_that_cannot_be_taken__holds_up_nothing_else(void **state)
{
    (void)state;
    helio_outbox_t *self = outbox_of(1, 1000);
    for (uint64_t i = 1; i <= 50; i++)
        add(self, 0, i, i);
    int64_t now_ms = 0;
    for (int turns = 0; helio_outbox_waiting(self, 0) > 1 && turns < 1000; turns++) {
        helio_outbox_attempt_t attempt;
        while (helio_outbox_next(self, now_ms, &attempt))
            (void)settle(self, attempt, attempt.number == 1 ? status(500) : well, now_ms);
        now_ms = helio_outbox_due_ms(self);
    }
    assert_int_equal(helio_outbox_waiting(self, 0), 1);
    assert_true(now_ms < 10000);
    helio_outbox_destroy(&self);
}

static void the_oldest__make_room(void **state)
{
    (void)state;
    helio_outbox_t *self = outbox_of(1, 3);
    for (uint64_t i = 1; i <= 3; i++)
        add(self, 0, i, 7);
    helio_outbox_attempt_t first = expect_next(self, 0, 1);
    assert_int_equal(helio_outbox_add(self, 0, 4, 7, NEVER), 2); /* the first is under way */
    assert_int_equal(helio_outbox_waiting(self, 0), 3);
    assert_int_equal(settle(self, first, well, 0), HELIO_OUTBOX_DELIVERED);
    (void)expect_next(self, 0, 3);
    helio_outbox_destroy(&self);
}

static void too_old__is_given_up(void **state)
{
    (void)state;
    helio_outbox_t *self = outbox_of(1, 10);
    assert_int_equal(helio_outbox_add(self, 0, 1, 7, 10000), 0);
    assert_int_equal(helio_outbox_add(self, 0, 2, 7, 12000), 0);
    int64_t now_ms = 0;
    helio_outbox_attempt_t attempt;
    helio_outbox_verdict_t verdict = HELIO_OUTBOX_RETRY;
    while (verdict == HELIO_OUTBOX_RETRY) {
        assert_true(helio_outbox_next(self, now_ms, &attempt));
        assert_int_equal(attempt.number, 1);
        verdict = settle(self, attempt, silent, now_ms);
        now_ms = verdict == HELIO_OUTBOX_RETRY ? helio_outbox_due_ms(self) : now_ms;
        assert_true(now_ms < 10000);
    }
    assert_int_equal(verdict, HELIO_OUTBOX_TOO_OLD);
    assert_false(helio_outbox_expired(self, 11999, &attempt));
    assert_true(helio_outbox_expired(self, 12000, &attempt)); /* nobody tried it meanwhile */
    assert_int_equal(attempt.number, 2);
    assert_int_equal(helio_outbox_waiting(self, 0), 0);
    assert_true(helio_outbox_due_ms(self) == NEVER);
    helio_outbox_destroy(&self);
}

/* ---- anything in any order ---------------------------------------------------------------------------------- */

enum { TARGETS = 3, ITEMS = 400, JOBS = 25, SEEDS = 40 };

typedef struct item {
    uint32_t target;
    uint64_t about;
    bool added, under_way, over; /* on disk; being sent; acknowledged or refused, and so forgotten */
} item_t;

typedef struct world {
    helio_outbox_t *outbox;
    helio_rng_t rng;
    item_t items[ITEMS];
    uint32_t added;
    int64_t now_ms;
} world_t;

static bool chance(world_t *self, uint32_t percent)
{
    return helio_rng_below(&self->rng, 100) < percent;
}

/*  The process is killed: only what is on disk is known, in its order. */
static void restart(world_t *self)
{
    helio_outbox_destroy(&self->outbox);
    self->outbox = outbox_of(TARGETS, ITEMS);
    for (uint32_t i = 0; i < self->added; i++) {
        self->items[i].under_way = false;
        if (!self->items[i].over)
            add(self->outbox, self->items[i].target, i + 1, self->items[i].about);
    }
}

static void begin_attempts(world_t *self)
{
    helio_outbox_attempt_t attempt;
    while (helio_outbox_next(self->outbox, self->now_ms, &attempt)) {
        item_t *item = &self->items[attempt.number - 1];
        assert_true(item->added && !item->over && !item->under_way && item->target == attempt.target);
        for (uint32_t i = 0; i + 1 < attempt.number; i++)
            assert_false(self->items[i].target == item->target && self->items[i].about == item->about &&
                         !self->items[i].over);
        item->under_way = true;
    }
}

static helio_outbox_outcome_t outcome_of(world_t *self, uint32_t target, bool peace)
{
    static const long faults[] = {408, 429, 500, 503};
    bool down = !peace && target == 2 && (self->now_ms / 20000) % 2 == 0;
    if (down || (!peace && chance(self, 30)))
        return chance(self, 50) ? silent : status(faults[helio_rng_below(&self->rng, 4)]);
    return !peace && chance(self, 5) ? status(400) : well;
}

static void end_attempts(world_t *self, bool peace)
{
    for (uint32_t i = 0; i < self->added; i++) {
        item_t *item = &self->items[i];
        if (!item->under_way || (!peace && chance(self, 40)))
            continue;
        helio_outbox_attempt_t attempt = {.target = item->target, .number = i + 1};
        helio_outbox_verdict_t verdict =
            settle(self->outbox, attempt, outcome_of(self, item->target, peace), self->now_ms);
        assert_int_not_equal(verdict, HELIO_OUTBOX_TOO_OLD);
        item->under_way = false;
        item->over = verdict != HELIO_OUTBOX_RETRY;
    }
}

static uint32_t left(const world_t *self)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < self->added; i++)
        count += !self->items[i].over;
    return count;
}

static void nothing__is_lost_or_repeated_or_overtaken(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        world_t *self = helio_new(1, sizeof *self);
        self->rng.state = seed;
        self->outbox = outbox_of(TARGETS, ITEMS);
        for (uint32_t turn = 0; self->added < ITEMS; turn++) {
            for (uint64_t n = helio_rng_below(&self->rng, 4); n && self->added < ITEMS; n--) {
                item_t *item = &self->items[self->added++];
                item->target = (uint32_t)helio_rng_below(&self->rng, TARGETS);
                item->about = helio_rng_below(&self->rng, JOBS);
                item->added = true;
                add(self->outbox, item->target, self->added, item->about);
            }
            begin_attempts(self);
            end_attempts(self, false);
            self->now_ms += (int64_t)helio_rng_below(&self->rng, 2000);
            if (chance(self, 3))
                restart(self);
        }
        for (uint32_t turn = 0; left(self); turn++) {
            assert_true(turn < 10 * ITEMS);
            begin_attempts(self);
            end_attempts(self, true);
            int64_t due_ms = helio_outbox_due_ms(self->outbox);
            assert_true(!left(self) || due_ms < NEVER);
            self->now_ms = due_ms > self->now_ms && due_ms < NEVER ? due_ms : self->now_ms;
        }
        for (uint32_t i = 0; i < TARGETS; i++)
            assert_int_equal(helio_outbox_waiting(self->outbox, i), 0);
        helio_outbox_destroy(&self->outbox);
        free(self);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers__are_judged_by_their_status),
        cmocka_unit_test(deliveries__about_one_job_keep_their_order),
        cmocka_unit_test(waits__double_within_bounds_and_honour_the_receiver),
        cmocka_unit_test(attempts__that_fail_together_count_once),
        cmocka_unit_test(dead_targets__delay_no_other),
        cmocka_unit_test(one_that_cannot_be_taken__holds_up_nothing_else),
        cmocka_unit_test(the_oldest__make_room),
        cmocka_unit_test(too_old__is_given_up),
        cmocka_unit_test(nothing__is_lost_or_repeated_or_overtaken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
