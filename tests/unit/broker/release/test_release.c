/*  test_release.c -- effects that wait for their commit: order, copies, and effects held during a release. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "broker/model/effects.h"
#include "broker/model/events.h"
#include "broker/release/release.h"
#include "federation/base/rng.h"

enum { SEEN_MAX = 4096 };

typedef struct seen {
    uint64_t calls[SEEN_MAX];
    uint64_t batches[SEEN_MAX];
    helio_text_t texts[SEEN_MAX];
    uint32_t count;
} seen_t;

static void see(void *arg, const helio_effect_t *effect)
{
    seen_t *seen = arg;
    const helio_fx_reply_t *answer = effect->payload;
    assert_true(seen->count < SEEN_MAX);
    seen->calls[seen->count] = answer->call;
    seen->texts[seen->count] = answer->reason;
    seen->batches[seen->count++] = effect->batch;
}

static void hold(helio_release_queue_t *queue, uint64_t batch, uint64_t call, const char *text)
{
    helio_fx_reply_t answer = {.call = call, .reason = helio_text_of(text)};
    helio_effect_t effect = {HELIO_BROKER_FX_REPLY, HELIO_RELEASE_HELD, batch, &answer};
    helio_release_queue_hold(queue, &effect);
}

static void release__nothing_leaves_before_its_batch(void **state)
{
    (void)state;
    helio_release_queue_t *queue = helio_release_queue_new(helio_broker_effects);
    static seen_t seen;
    seen.count = 0;
    hold(queue, 3, 1, "a");
    hold(queue, 4, 2, "b");
    assert_int_equal(helio_release_queue_release(queue, 2, see, &seen), 0);
    assert_int_equal(seen.count, 0);
    assert_int_equal(helio_release_queue_release(queue, 3, see, &seen), 1);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.calls[0], 1);
    assert_int_equal(helio_release_queue_count(queue), 1);
    assert_int_equal(helio_release_queue_release(queue, 4, see, &seen), 1);
    assert_int_equal(seen.calls[1], 2);
    assert_int_equal(helio_release_queue_count(queue), 0);
    helio_release_queue_destroy(&queue);
    assert_null(queue);
}

static void release__a_held_effect_is_a_copy(void **state)
{
    (void)state;
    helio_release_queue_t *queue = helio_release_queue_new(helio_broker_effects);
    static seen_t seen;
    seen.count = 0;
    char text[] = "first";
    hold(queue, 1, 1, text);
    memset(text, 'x', sizeof text - 1);
    (void)helio_release_queue_release(queue, 1, see, &seen);
    assert_true(helio_text_is(seen.texts[0], "first")); /* valid after the call, until the next one */
    helio_release_queue_destroy(&queue);
}

typedef struct holder {
    helio_release_queue_t *queue;
    seen_t *seen;
} holder_t;

static void see_and_hold(void *arg, const helio_effect_t *effect)
{
    holder_t *holder = arg;
    see(holder->seen, effect);
    hold(holder->queue, effect->batch + 1, ((const helio_fx_reply_t *)effect->payload)->call + 100, "again");
}

static void release__a_visitor_can_hold_effects_of_a_later_batch(void **state)
{
    (void)state;
    helio_release_queue_t *queue = helio_release_queue_new(helio_broker_effects);
    static seen_t seen;
    seen.count = 0;
    hold(queue, 7, 1, "a");
    holder_t holder = {queue, &seen};
    assert_int_equal(helio_release_queue_release(queue, 7, see_and_hold, &holder), 1);
    assert_int_equal(helio_release_queue_count(queue), 1);
    assert_int_equal(helio_release_queue_release(queue, 7, see, &seen), 0);
    assert_int_equal(helio_release_queue_release(queue, 8, see, &seen), 1);
    assert_int_equal(seen.calls[1], 101);
    helio_release_queue_destroy(&queue);
}

static void release__order_is_kept_over_any_run_of_holds_and_commits(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        helio_rng_t rng = {seed};
        helio_release_queue_t *queue = helio_release_queue_new(helio_broker_effects);
        static seen_t seen;
        seen.count = 0;
        uint64_t open = 1, committed = 0, next = 1;
        for (uint32_t i = 0; i < 2000; i++) {
            switch (helio_rng_below(&rng, 4)) {
            case 0:
            case 1:
                hold(queue, open, next++, "x");
                break;
            case 2:
                open++;
                break;
            default:
                if (committed + 1 < open)
                    committed += 1 + helio_rng_below(&rng, open - committed - 1);
                (void)helio_release_queue_release(queue, committed, see, &seen);
                for (uint32_t s = 0; s < seen.count; s++)
                    assert_true(seen.batches[s] <= committed);
            }
        }
        (void)helio_release_queue_release(queue, UINT64_MAX, see, &seen);
        assert_int_equal(seen.count, next - 1);
        for (uint32_t s = 0; s < seen.count; s++)
            assert_int_equal(seen.calls[s], s + 1);
        helio_release_queue_destroy(&queue);
    }
}

static void release__an_open_batch_without_rows_is_as_durable_as_those_before_it(void **state)
{
    (void)state;
    static const struct {
        uint64_t committed, open, rows, durable;
    } cases[] = {
        {0, 1, 0, 1}, /* nothing was ever written: nothing can be lost */
        {0, 1, 1, 0}, {4, 5, 0, 5},
        {4, 5, 9, 4}, {3, 5, 0, 3}, /* batch 4 is in flight: what waits on 5 must wait for 4 as well */
        {3, 5, 2, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(helio_release_durable(cases[i].committed, cases[i].open, cases[i].rows), cases[i].durable);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(release__nothing_leaves_before_its_batch),
        cmocka_unit_test(release__a_held_effect_is_a_copy),
        cmocka_unit_test(release__a_visitor_can_hold_effects_of_a_later_batch),
        cmocka_unit_test(release__order_is_kept_over_any_run_of_holds_and_commits),
        cmocka_unit_test(release__an_open_batch_without_rows_is_as_durable_as_those_before_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
