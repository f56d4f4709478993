/*  test_turns.c -- whose large body is read next. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "broker/http/request/turns.h"

enum { MANY = 64 };

static helio_turns_t turns;
static helio_turn_t all[MANY];

static int up(void **state)
{
    (void)state;
    turns = (helio_turns_t){0};
    memset(all, 0, sizeof all);
    return 0;
}

/*  Number `at` of the turns, which comes at time `at`. */
static void enter(uint32_t at, const char *tenant, uint64_t bytes)
{
    all[at] = (helio_turn_t){.tenant = tenant, .size = bytes, .since_ms = at, .owner = &all[at]};
    helio_turns_enter(&turns, &all[at]);
}

static uint32_t next(void)
{
    const helio_turn_t *turn = helio_turns_next(&turns);
    assert_non_null(turn);
    assert_ptr_equal(turn->owner, turn);
    return (uint32_t)(turn - all);
}

static void turns__of_one_tenant_are_in_order(void **state)
{
    (void)state;
    assert_null(helio_turns_next(&turns));
    enter(0, "a", 900);
    enter(1, "a", 100);
    enter(2, "a", 900);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(next(), i);
    assert_null(helio_turns_next(&turns));
}

static void turns__a_small_body_is_before_the_large_ones_of_others(void **state)
{
    (void)state;
    enter(0, "a", 16000);
    enter(1, "b", 12000);
    enter(2, "c", 100);
    assert_int_equal(next(), 2);
    assert_int_equal(next(), 1);
    assert_int_equal(next(), 0);
}

/*  However many bodies one tenant sends, another one's waits for one of them at most. */
static void turns__tenants_share_the_time(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 10; i++)
        enter(i, "greedy", 1000);
    assert_int_equal(next(), 0);
    assert_int_equal(next(), 1);
    enter(10, "modest", 1000);
    enter(11, "other", 1000);
    assert_int_equal(next(), 2);
    assert_int_equal(next(), 10);
    assert_int_equal(next(), 11);
    enter(12, "modest", 1000); /* its second: one of each of the others is before it */
    assert_int_equal(next(), 3);
    assert_int_equal(next(), 12);
}

/*  Small ones that keep coming do not pass it by for ever. */
static void turns__a_large_body_is_read_at_last(void **state)
{
    (void)state;
    enter(0, "large", 1000);
    uint32_t before = 0;
    for (uint32_t i = 1; i < MANY; i++) {
        enter(i, "small", 100);
        if (next() == 0)
            break;
        before++;
    }
    assert_int_equal(before, 9);
}

static void turns__say_what_waits_too_long(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 4; i++)
        enter(i, "a", 100);
    assert_int_equal(next(), 0);
    assert_null(helio_turns_overdue(&turns, 0));
    assert_ptr_equal(helio_turns_overdue(&turns, 2), &all[1]);
    assert_ptr_equal(helio_turns_overdue(&turns, 2), &all[2]);
    assert_null(helio_turns_overdue(&turns, 2));
    assert_int_equal(next(), 3);
    assert_null(helio_turns_overdue(&turns, INT64_MAX));
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup(test, up)
    const struct CMUnitTest tests[] = {
        CASE(turns__of_one_tenant_are_in_order), CASE(turns__a_small_body_is_before_the_large_ones_of_others),
        CASE(turns__tenants_share_the_time),     CASE(turns__a_large_body_is_read_at_last),
        CASE(turns__say_what_waits_too_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
