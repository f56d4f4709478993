/*  test_redial.c -- targets take turns, and delays double between their bounds. */
#include "federation/base/redial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

enum { LEAST_MS = 1000, MOST_MS = 30000 };

static helio_redial_t redial_of(uint32_t targets)
{
    return (helio_redial_t){.target_count = targets, .least_ms = LEAST_MS, .most_ms = MOST_MS};
}

static void each_target_has_its_turn_whatever_ended_the_one_before(void **state)
{
    (void)state;
    helio_rng_t rng = {7};
    helio_redial_t self = redial_of(3);
    for (uint32_t i = 0; i < 10; i++) {
        assert_int_equal(self.target, i % 3);
        if (i % 2)
            helio_redial_heard(&self);
        if (i % 4 == 3)
            helio_redial_refused(&self, i);
        (void)helio_redial_next(&self, &rng);
    }
    helio_redial_t alone = redial_of(1);
    (void)helio_redial_next(&alone, &rng);
    assert_int_equal(alone.target, 0);
}

static void the_delay_doubles_up_to_its_bound_and_half_of_it_is_random(void **state)
{
    (void)state;
    static const int64_t most_ms[] = {1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000};
    bool low = false, high = false;
    for (uint64_t seed = 0; seed < 200; seed++) {
        helio_rng_t rng = {seed};
        helio_redial_t self = redial_of(2);
        for (uint32_t i = 0; i < sizeof most_ms / sizeof most_ms[0]; i++) {
            int64_t delay_ms = helio_redial_next(&self, &rng);
            assert_true(delay_ms >= most_ms[i] / 2 && delay_ms <= most_ms[i]);
            low = low || delay_ms < most_ms[i] * 6 / 10;
            high = high || delay_ms > most_ms[i] * 9 / 10;
        }
    }
    assert_true(low && high);
}

static void a_connection_that_was_heard_from_begins_anew_unless_it_was_refused(void **state)
{
    (void)state;
    helio_rng_t rng = {7};
    helio_redial_t self = redial_of(2);
    for (int i = 0; i < 40; i++)
        (void)helio_redial_next(&self, &rng);
    helio_redial_heard(&self);
    assert_true(helio_redial_next(&self, &rng) <= LEAST_MS);
    helio_redial_heard(&self);
    helio_redial_refused(&self, 1);
    assert_true(helio_redial_next(&self, &rng) <= LEAST_MS);
    helio_redial_heard(&self);
    helio_redial_refused(&self, 4);
    assert_true(helio_redial_next(&self, &rng) >= LEAST_MS * 8 / 2);
    for (int i = 0; i < 3; i++)
        (void)helio_redial_next(&self, &rng);
    helio_redial_refused(&self, 2); /* shortens nothing */
    assert_true(helio_redial_next(&self, &rng) >= MOST_MS / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_target_has_its_turn_whatever_ended_the_one_before),
        cmocka_unit_test(the_delay_doubles_up_to_its_bound_and_half_of_it_is_random),
        cmocka_unit_test(a_connection_that_was_heard_from_begins_anew_unless_it_was_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
