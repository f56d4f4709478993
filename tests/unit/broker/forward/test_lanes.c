/*  test_lanes.c -- whose forward is sent next. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "broker/forward/lanes.h"

enum { MANY = 400 };

static helio_lanes_t *lanes;
static helio_forward_t forwards[MANY];
static const helio_forward_t *sent[HELIO_FORWARD_CONNECTIONS_MAX];
static uint32_t sent_count;

static int up(void **state)
{
    (void)state;
    lanes = helio_lanes_new();
    memset(forwards, 0, sizeof forwards);
    sent_count = 0;
    return 0;
}

static int down(void **state)
{
    (void)state;
    while (sent_count)
        helio_lanes_leave(lanes, sent[--sent_count]);
    while (helio_lanes_overdue(lanes, INT64_MAX))
        ;
    helio_lanes_destroy(&lanes);
    return 0;
}

/*  How many of them were let in, from the forward at `from` on. */
static uint32_t enter(uint32_t from, uint32_t count, const char *tenant, helio_forward_kind_t kind)
{
    uint32_t entered = 0;
    for (uint32_t i = from; i < from + count; i++) {
        forwards[i].tenant = tenant;
        forwards[i].kind = kind;
        entered += helio_lanes_enter(lanes, &forwards[i], i);
    }
    return entered;
}

static uint32_t send_all(void)
{
    uint32_t before = sent_count;
    for (helio_forward_t *forward; (forward = helio_lanes_next(lanes)); sent_count++) {
        assert_true(sent_count < HELIO_FORWARD_CONNECTIONS_MAX);
        sent[sent_count] = forward;
    }
    return sent_count - before;
}

/*  Six tenants, one after the other, take all places of a kind, from the forward at `from` on. */
static void fill(uint32_t from, const char *const tenants[], helio_forward_kind_t kind, uint32_t places)
{
    uint32_t before = sent_count;
    for (uint32_t i = 0; i < 6; i++) {
        (void)enter(from + i * 30, 30, tenants[i], kind);
        (void)send_all();
    }
    assert_int_equal(sent_count - before, places);
}

/*  How many places of a kind the tenants get that come one after the other, each with more forwards than it gets. */
static void assert_shares(void **state, helio_forward_kind_t kind, uint32_t count, const uint32_t shares[])
{
    static const char *const tenants[] = {"a", "b", "c", "d", "e", "f"};
    (void)up(state);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(enter(i * 30, 30, tenants[i], kind), 30);
        assert_int_equal(send_all(), shares[i]);
    }
    (void)down(state);
}

static void lanes__a_tenant_leaves_as_many_places_as_it_has(void **state)
{
    assert_shares(state, HELIO_FORWARD_REQUEST, 6, (const uint32_t[]){12, 6, 3, 1, 1, 1});
    assert_shares(state, HELIO_FORWARD_LOG, 4, (const uint32_t[]){3, 2, 1, 1});
}

/*  Also where it could have had it before: the one that has most waits until others have had theirs. */
static void lanes__a_place_that_becomes_free_is_for_whoever_has_none(void **state)
{
    (void)state;
    static const char *const tenants[] = {"a", "b", "c", "d", "e", "f"};
    fill(0, tenants, HELIO_FORWARD_REQUEST, 24);
    (void)enter(180, 1, "late", HELIO_FORWARD_REQUEST);
    assert_int_equal(send_all(), 0);
    helio_lanes_leave(lanes, sent[0]); /* of a */
    memmove(&sent[0], &sent[1], --sent_count * sizeof sent[0]);
    assert_int_equal(send_all(), 1);
    assert_string_equal(sent[sent_count - 1]->tenant, "late");
}

/*  None of the first tenants can fill it, whatever waits. */
static void lanes__hold_forwards_of_further_tenants(void **state)
{
    (void)state;
    static helio_forward_t many[6][400];
    static const char *const tenants[] = {"a", "b", "c", "d", "e", "f"};
    static const uint32_t held[] = {256, 256, 256, 128, 64, 32};
    for (uint32_t i = 0; i < 6; i++) {
        uint32_t entered = 0;
        for (uint32_t j = 0; j < 400; j++) {
            many[i][j] = (helio_forward_t){.tenant = tenants[i], .kind = HELIO_FORWARD_REQUEST};
            entered += helio_lanes_enter(lanes, &many[i][j], 0);
        }
        assert_int_equal(entered, held[i]);
    }
    assert_int_equal(enter(0, 1, "late", HELIO_FORWARD_REQUEST), 1);
}

static void lanes__the_kinds_share_no_place(void **state)
{
    (void)state;
    static const char *const tenants[] = {"a", "b", "c", "d", "e", "f"};
    fill(0, tenants, HELIO_FORWARD_LOG, 7);
    fill(200, tenants, HELIO_FORWARD_REQUEST, 24);
    assert_int_equal(enter(399, 1, "", HELIO_FORWARD_PROBE), 1);
    assert_int_equal(send_all(), 1);
}

/*  Among those who may have it, a place goes to each in turn. */
static void lanes__tenants_take_turns(void **state)
{
    (void)state;
    static const char *const turns[] = {"a", "b", "c", "a", "b", "c", "a"};
    for (uint32_t i = 0; i < 3; i++)
        (void)enter(i * 10, 3, turns[i], HELIO_FORWARD_REQUEST);
    assert_int_equal(send_all(), 9);
    for (uint32_t i = 0; i < 7; i++)
        assert_string_equal(sent[i]->tenant, turns[i]);
}

static void lanes__of_one_tenant_the_oldest_is_first(void **state)
{
    (void)state;
    (void)enter(0, 40, "a", HELIO_FORWARD_REQUEST);
    assert_int_equal(send_all(), 12);
    for (uint32_t i = 0; i < 12; i++)
        assert_ptr_equal(sent[i], &forwards[i]);
    helio_lanes_leave(lanes, sent[--sent_count]);
    assert_int_equal(send_all(), 1);
    assert_ptr_equal(sent[11], &forwards[12]);
}

static void lanes__hold_so_many_of_a_tenant(void **state)
{
    (void)state;
    assert_int_equal(enter(0, 100, "a", HELIO_FORWARD_LOG), 64);
    assert_int_equal(enter(100, 10, "b", HELIO_FORWARD_LOG), 10);
    assert_int_equal(enter(110, 10, "a", HELIO_FORWARD_REQUEST), 10);
    assert_int_equal(send_all(), 3 + 2 + 10);
    assert_int_equal(enter(120, 1, "a", HELIO_FORWARD_LOG), 0); /* those that were sent count, too */
    for (uint32_t i = 0; i < sent_count; i++)
        if (sent[i]->kind == HELIO_FORWARD_LOG && strcmp(sent[i]->tenant, "a") == 0) {
            helio_lanes_leave(lanes, sent[i]);
            sent[i] = sent[--sent_count];
            break;
        }
    assert_int_equal(enter(120, 2, "a", HELIO_FORWARD_LOG), 1);
}

static void lanes__say_what_waits_too_long(void **state)
{
    (void)state;
    (void)enter(0, 20, "a", HELIO_FORWARD_REQUEST); /* number i at time i */
    (void)enter(20, 20, "b", HELIO_FORWARD_LOG);
    assert_int_equal(send_all(), 12 + 3);
    assert_null(helio_lanes_overdue(lanes, 11));
    assert_ptr_equal(helio_lanes_overdue(lanes, 13), &forwards[12]);
    assert_ptr_equal(helio_lanes_overdue(lanes, 13), &forwards[13]);
    assert_null(helio_lanes_overdue(lanes, 13)); /* those that were sent are not meant */
    uint32_t left = 0;
    while (helio_lanes_overdue(lanes, INT64_MAX))
        left++;
    assert_int_equal(left, 6 + 17);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, up, down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes__a_tenant_leaves_as_many_places_as_it_has),
        CASE(lanes__a_place_that_becomes_free_is_for_whoever_has_none),
        CASE(lanes__hold_forwards_of_further_tenants),
        CASE(lanes__the_kinds_share_no_place),
        CASE(lanes__tenants_take_turns),
        CASE(lanes__of_one_tenant_the_oldest_is_first),
        CASE(lanes__hold_so_many_of_a_tenant),
        CASE(lanes__say_what_waits_too_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
