/*  The heap of embedded nodes, held against a plain search over the same nodes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "federation/base/heap.h"
#include "federation/base/rng.h"

enum { ALARMS = 100 };

typedef struct alarm {
    helio_heap_node_t node; /* first: a node is its alarm */
    int64_t at_ms;
} alarm_t;

static int64_t at_of(const helio_heap_node_t *node)
{
    return ((const alarm_t *)(const void *)node)->at_ms;
}

static bool is_before(const helio_heap_node_t *a, const helio_heap_node_t *b)
{
    return at_of(a) < at_of(b);
}

static void heap__gives_its_nodes_in_order(void **state)
{
    (void)state;
    helio_heap_t heap;
    alarm_t alarms[] = {{{0}, 5}, {{0}, 1}, {{0}, 9}, {{0}, 3}, {{0}, 3}, {{0}, 7}};
    const int64_t order[] = {1, 3, 3, 5, 7, 9};
    helio_heap_init(&heap, is_before);
    assert_null(helio_heap_first(&heap));
    for (size_t i = 0; i < sizeof alarms / sizeof alarms[0]; i++)
        helio_heap_put(&heap, &alarms[i].node);
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        helio_heap_node_t *first = helio_heap_first(&heap);
        assert_int_equal(at_of(first), order[i]);
        helio_heap_remove(&heap, first);
        assert_int_equal(first->slot, 0);
    }
    assert_null(helio_heap_first(&heap));
    helio_heap_clear(&heap);
}

static void heap__a_node_that_is_in_no_heap_can_be_removed(void **state)
{
    (void)state;
    helio_heap_t heap;
    alarm_t in = {{0}, 1}, out = {{0}, 2};
    helio_heap_init(&heap, is_before);
    helio_heap_put(&heap, &in.node);
    helio_heap_remove(&heap, &out.node);
    assert_ptr_equal(helio_heap_first(&heap), &in.node);
    helio_heap_clear(&heap);
}

/*  The least of those that are in; INT64_MAX = none. */
static int64_t least_of(const alarm_t alarms[ALARMS])
{
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < ALARMS; i++)
        if (alarms[i].node.slot && alarms[i].at_ms < least)
            least = alarms[i].at_ms;
    return least;
}

static void heap__keeps_its_order_while_nodes_come_go_and_change(void **state)
{
    (void)state;
    helio_heap_t heap;
    helio_rng_t rng = {7};
    alarm_t alarms[ALARMS] = {{{0}, 0}};
    helio_heap_init(&heap, is_before);
    for (uint32_t step = 0; step < 20000; step++) {
        alarm_t *alarm = &alarms[helio_rng_below(&rng, ALARMS)];
        if (helio_rng_below(&rng, 3)) {
            alarm->at_ms = (int64_t)helio_rng_below(&rng, 50);
            helio_heap_put(&heap, &alarm->node);
        } else {
            helio_heap_remove(&heap, &alarm->node);
        }
        helio_heap_node_t *first = helio_heap_first(&heap);
        assert_int_equal(first ? at_of(first) : INT64_MAX, least_of(alarms));
    }
    helio_heap_clear(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heap__gives_its_nodes_in_order),
        cmocka_unit_test(heap__a_node_that_is_in_no_heap_can_be_removed),
        cmocka_unit_test(heap__keeps_its_order_while_nodes_come_go_and_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
