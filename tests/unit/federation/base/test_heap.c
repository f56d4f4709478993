/*  test_heap.c -- the binary heap against the plain rule: the least leaves first, whatever came and went before. */
#include "federation/base/heap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "federation/base/rng.h"

enum { ENTRIES = 200, STEPS = 20000 };

typedef struct entry {
    int before_me; /* so that the item is not the first member */
    uint64_t key;
    helio_heap_item_t item;
} entry_t;

static entry_t *entry_of(helio_heap_item_t *item)
{
    return HELIO_HEAP_OWNER(item, entry_t, item);
}

static bool before(helio_heap_item_t *a, helio_heap_item_t *b)
{
    return entry_of(a)->key < entry_of(b)->key;
}

static void an_empty_heap_has_no_first(void **state)
{
    (void)state;
    helio_heap_t heap = {.before = before};
    assert_null(helio_heap_first(&heap));
    assert_null(helio_heap_take(&heap));
    helio_heap_clear(&heap);
}

static void items_leave_in_the_order_of_their_keys(void **state)
{
    (void)state;
    static const uint64_t keys[] = {5, 1, 9, 3, 7, 2, 8, 6, 4, 0};
    entry_t entries[10] = {0};
    helio_heap_t heap = {.before = before};
    for (size_t i = 0; i < 10; i++) {
        entries[i].key = keys[i];
        helio_heap_put(&heap, &entries[i].item);
        assert_true(entries[i].item.slot);
    }
    for (uint64_t key = 0; key < 10; key++) {
        assert_int_equal(entry_of(helio_heap_first(&heap))->key, key);
        helio_heap_item_t *item = helio_heap_take(&heap);
        assert_int_equal(entry_of(item)->key, key);
        assert_false(item->slot);
    }
    assert_null(helio_heap_take(&heap));
    helio_heap_clear(&heap);
}

static void removing_an_item_that_is_in_no_heap_changes_nothing(void **state)
{
    (void)state;
    entry_t in = {.key = 1}, out = {.key = 0};
    helio_heap_t heap = {.before = before};
    helio_heap_put(&heap, &in.item);
    helio_heap_remove(&heap, &out.item);
    assert_int_equal(heap.count, 1);
    assert_ptr_equal(helio_heap_first(&heap), &in.item);
    helio_heap_clear(&heap);
    assert_false(in.item.slot);
}

/*  The slow way: look at all of them. */
static const entry_t *least_of(const entry_t *entries)
{
    const entry_t *least = NULL;
    for (size_t i = 0; i < ENTRIES; i++)
        if (entries[i].item.slot && (!least || entries[i].key < least->key))
            least = &entries[i];
    return least;
}

static void the_first_is_the_least_after_any_sequence_of_changes(void **state)
{
    (void)state;
    static entry_t entries[ENTRIES];
    helio_rng_t rng = {1};
    helio_heap_t heap = {.before = before};
    for (uint32_t step = 0; step < STEPS; step++) {
        entry_t *entry = &entries[helio_rng_below(&rng, ENTRIES)];
        uint64_t key = helio_rng_below(&rng, 1000000) * ENTRIES + (uint64_t)(entry - entries); /* none is equal */
        if (!entry->item.slot) {
            entry->key = key;
            helio_heap_put(&heap, &entry->item);
        } else if (helio_rng_below(&rng, 2)) {
            entry->key = key;
            helio_heap_reorder(&heap, &entry->item);
        } else {
            helio_heap_remove(&heap, &entry->item);
            assert_false(entry->item.slot);
        }
        const entry_t *least = least_of(entries);
        helio_heap_item_t *first = helio_heap_first(&heap);
        assert_ptr_equal(first ? entry_of(first) : NULL, least);
    }
    assert_true(heap.count > 1);
    uint64_t last = 0;
    for (helio_heap_item_t *item; (item = helio_heap_take(&heap)); last = entry_of(item)->key)
        assert_true(entry_of(item)->key > last);
    helio_heap_clear(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_heap_has_no_first),
        cmocka_unit_test(items_leave_in_the_order_of_their_keys),
        cmocka_unit_test(removing_an_item_that_is_in_no_heap_changes_nothing),
        cmocka_unit_test(the_first_is_the_least_after_any_sequence_of_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
