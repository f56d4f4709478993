/*  The queue between actors. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

#include "federation/base/ring.h"

static void ring__is_first_in_first_out_and_refuses_when_full(void **state)
{
    (void)state;
    helio_ring_t *ring = helio_ring_new(4);
    int items[6];
    assert_null(helio_ring_pop(ring));
    for (int round = 0; round < 10; round++) { /* the ends go round */
        for (int i = 0; i < 4; i++)
            assert_int_equal(helio_ring_push(ring, &items[i]), HELIO_OK);
        assert_int_equal(helio_ring_push(ring, &items[4]), HELIO_BUSY);
        assert_ptr_equal(helio_ring_pop(ring), &items[0]);
        assert_int_equal(helio_ring_push(ring, &items[5]), HELIO_OK);
        assert_int_equal(helio_ring_push(ring, &items[4]), HELIO_BUSY);
        for (int i = 1; i < 4; i++)
            assert_ptr_equal(helio_ring_pop(ring), &items[i]);
        assert_ptr_equal(helio_ring_pop(ring), &items[5]);
        assert_null(helio_ring_pop(ring));
    }
    helio_ring_destroy(&ring);
    assert_null(ring);
    helio_ring_destroy(&ring);
}

static bool readable(const helio_ring_t *ring, int timeout_ms)
{
    struct pollfd fd = {.fd = helio_ring_fd(ring), .events = POLLIN};
    return poll(&fd, 1, timeout_ms) == 1;
}

static void ring__its_descriptor_is_readable_from_push_to_drain(void **state)
{
    (void)state;
    helio_ring_t *ring = helio_ring_new(2);
    int item;
    assert_false(readable(ring, 0));
    helio_ring_drain_wakeups(ring); /* nothing to drain does not block */
    assert_int_equal(helio_ring_push(ring, &item), HELIO_OK);
    assert_int_equal(helio_ring_push(ring, &item), HELIO_OK);
    assert_true(readable(ring, 0));
    helio_ring_drain_wakeups(ring);
    assert_false(readable(ring, 0));
    assert_ptr_equal(helio_ring_pop(ring), &item);
    assert_ptr_equal(helio_ring_pop(ring), &item);
    helio_ring_destroy(&ring);
}

enum { PRODUCERS = 3, EACH = 50000 };

typedef struct producer {
    helio_ring_t *ring;
    uint32_t number;
    uint32_t (*items)[EACH];
} producer_t;

static void *produce(void *arg)
{
    producer_t *self = arg;
    for (uint32_t i = 0; i < EACH; i++) {
        self->items[self->number][i] = self->number * EACH + i;
        while (helio_ring_push(self->ring, &self->items[self->number][i]) != HELIO_OK)
            (void)sched_yield();
    }
    return NULL;
}

static void ring__several_producers_lose_nothing_and_keep_their_own_order(void **state)
{
    (void)state;
    static uint32_t items[PRODUCERS][EACH];
    helio_ring_t *ring = helio_ring_new(64);
    pthread_t threads[PRODUCERS];
    producer_t producers[PRODUCERS];
    for (uint32_t i = 0; i < PRODUCERS; i++) {
        producers[i] = (producer_t){ring, i, items};
        assert_int_equal(pthread_create(&threads[i], NULL, produce, &producers[i]), 0);
    }
    uint32_t next[PRODUCERS] = {0}, got = 0;
    while (got < PRODUCERS * EACH) {
        assert_true(readable(ring, 60000)); /* a lost wake-up would end here */
        helio_ring_drain_wakeups(ring);
        uint32_t *item;
        while ((item = helio_ring_pop(ring))) {
            uint32_t producer = *item / EACH;
            assert_true(producer < PRODUCERS);
            assert_int_equal(*item % EACH, next[producer]);
            next[producer]++;
            got++;
        }
    }
    for (uint32_t i = 0; i < PRODUCERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_null(helio_ring_pop(ring));
    helio_ring_destroy(&ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ring__is_first_in_first_out_and_refuses_when_full),
        cmocka_unit_test(ring__its_descriptor_is_readable_from_push_to_drain),
        cmocka_unit_test(ring__several_producers_lose_nothing_and_keep_their_own_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
