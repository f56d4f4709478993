/*  test_lots.c -- how tenants share the memory for large bodies. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "broker/http/request/lots.h"

enum { ALL = 1200, MANY = 8 };

static helio_lots_t *lots;
static helio_lot_t all[MANY];

static int up(void **state)
{
    (void)state;
    lots = helio_lots_new(ALL);
    return 0;
}

static int down(void **state)
{
    (void)state;
    for (int i = 0; i < MANY; i++)
        helio_lots_give_back(&all[i]);
    helio_lots_destroy(&lots);
    return 0;
}

static bool take(int at, const char *tenant, uint64_t bytes)
{
    bool taken = helio_lots_take(lots, &all[at], tenant, bytes);
    if (taken)
        assert_int_equal(all[at].bytes, bytes);
    return taken;
}

static void lots__leave_half_of_what_is_free_to_others(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++)
        assert_true(take(i, "a", 100));
    assert_false(take(6, "a", 1));
    assert_true(take(6, "b", 300));
    assert_false(take(7, "b", 1));
    assert_true(take(7, "c", 300)); /* of a tenant that has nothing, all that is free */
    assert_false(take(7, "c", 301));
    helio_lots_give_back(&all[0]);
    assert_false(take(0, "a", 1));
    assert_true(take(0, "d", 100));
}

/*  A body that grows is still its tenant's first one. */
static void lots__let_the_only_body_of_a_tenant_grow(void **state)
{
    (void)state;
    for (uint64_t bytes = 100; bytes <= ALL; bytes += 100)
        assert_true(take(0, "a", bytes));
    assert_false(take(0, "a", ALL + 1));
    assert_int_equal(all[0].bytes, ALL);
    assert_false(take(1, "b", 1));
    helio_lots_give_back(&all[0]);
    assert_true(take(0, "a", 400));
    assert_true(take(1, "a", 200));
    assert_false(take(0, "a", 401));
    assert_false(take(1, "a", 201));
    helio_lots_give_back(&all[1]);
    assert_true(take(0, "a", ALL));
}

static void lots__are_given_back_once(void **state)
{
    (void)state;
    assert_true(take(0, "a", ALL));
    helio_lots_give_back(&all[0]);
    helio_lots_give_back(&all[0]);
    assert_true(take(1, "b", ALL));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, up, down)
    const struct CMUnitTest tests[] = {
        TEST(lots__leave_half_of_what_is_free_to_others),
        TEST(lots__let_the_only_body_of_a_tenant_grow),
        TEST(lots__are_given_back_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
