/*  Records that know their own fields: equal, hash, copy; and the effects that carry them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "federation/base/record.h"
#include "federation/base/step.h"

#define LEAF_FIELDS(F, R)   \
    F(R, TEXT, name, 16, _) \
    F(R, U32, x, 0, _)
HELIO_RECORD_DECLARE(leaf, LEAF_FIELDS)
HELIO_RECORD_DEFINE(leaf, LEAF_FIELDS)

/*  One of each kind. */
#define TREE_FIELDS(F, R)       \
    F(R, BOOL, yes, 0, _)       \
    F(R, I32, small, 0, _)      \
    F(R, U32, count, 0, _)      \
    F(R, I64, when, 0, _)       \
    F(R, U64, size, 0, _)       \
    F(R, F64, real, 0, _)       \
    F(R, UUID, id, 0, _)        \
    F(R, KEY, key, 0, _)        \
    F(R, TEXT, text, 64, _)     \
    F(R, BYTES, bytes, 64, _)   \
    F(R, U32S, numbers, 16, _)  \
    F(R, F64S, reals, 16, _)    \
    F(R, RECORD, leaf, 0, leaf) \
    F(R, LIST, leaves, 16, leaf)
HELIO_RECORD_DECLARE(tree, TREE_FIELDS)
HELIO_RECORD_DEFINE(tree, TREE_FIELDS)

static uint32_t numbers[] = {1, 2, 3};
static double reals[] = {0.5, -1};
static leaf_t leaves[] = {{{"one", 3}, 1}, {{"two", 3}, 2}};

static tree_t sample(void)
{
    return (tree_t){.yes = true,
                    .small = -4,
                    .count = 5,
                    .when = -6,
                    .size = 7,
                    .real = 8.25,
                    .id = {{9}},
                    .key = {{{10}}, 11},
                    .text = HELIO_TEXT("text"),
                    .bytes = HELIO_TEXT("by\0tes"),
                    .numbers = {numbers, 3},
                    .reals = {reals, 2},
                    .leaf = {HELIO_TEXT("leaf"), 12},
                    .leaves = {leaves, 2}};
}

/*  The sample with one thing changed; false when there are no more. */
static bool change(uint32_t which, tree_t *tree, helio_arena_t *arena)
{
    helio_record_copy(&tree_type, arena, tree, tree);
    switch (which) {
    case 0:
        tree->yes = false;
        return true;
    case 1:
        tree->small++;
        return true;
    case 2:
        tree->count++;
        return true;
    case 3:
        tree->when++;
        return true;
    case 4:
        tree->size++;
        return true;
    case 5:
        tree->real = 8.5;
        return true;
    case 6:
        tree->id.bytes[15] = 1;
        return true;
    case 7:
        tree->key.task = HELIO_NO_TASK;
        return true;
    case 8:
        tree->text = HELIO_TEXT("texT");
        return true;
    case 9:
        tree->bytes = HELIO_TEXT("by\0teS");
        return true;
    case 10:
        tree->numbers.items[2]++;
        return true;
    case 11:
        tree->numbers.count--;
        return true;
    case 12:
        tree->reals.items[1] = 1;
        return true;
    case 13:
        tree->leaf.x++;
        return true;
    case 14:
        tree->leaves.items[1].name = HELIO_TEXT("twO");
        return true;
    case 15:
        tree->leaves.count--;
        return true;
    case 16:
        tree->key.job.bytes[3] = 1;
        return true;
    default:
        return false;
    }
}

static void describe__a_record_lists_its_fields_in_order(void **state)
{
    (void)state;
    assert_string_equal(tree_type.name, "tree");
    assert_int_equal(tree_type.size, sizeof(tree_t));
    assert_int_equal(tree_type.field_count, 14);
    assert_string_equal(tree_type.fields[8].name, "text");
    assert_int_equal(tree_type.fields[8].kind, HELIO_KIND_TEXT);
    assert_int_equal(tree_type.fields[8].bound, 64);
    assert_int_equal(tree_type.fields[8].offset, offsetof(tree_t, text));
    assert_ptr_equal(tree_type.fields[13].nested, &leaf_type);
    assert_null(tree_type.fields[8].nested);
}

/*  As the hash without a key; and another key gives other hashes, of single fields as of whole records. */
static void keyed_hash__sees_every_field_and_its_key(void **state)
{
    (void)state;
    HELIO_AUTO(helio_arena_destroy) helio_arena_t *arena = helio_arena_new();
    const helio_hash_key_t keys[] = {{{1, 2}}, {{1, 3}}, {{2, 2}}};
    tree_t a = sample(), same = sample(), b;
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
        uint64_t hash = helio_record_keyed_hash(&tree_type, &a, &keys[k]);
        assert_true(helio_record_keyed_hash(&tree_type, &same, &keys[k]) == hash);
        assert_true(hash != helio_record_hash(&tree_type, &a, HELIO_HASH_SEED));
        for (size_t other = 0; other < k; other++)
            assert_true(helio_record_keyed_hash(&tree_type, &a, &keys[other]) != hash);
        for (uint32_t which = 0;; which++) {
            b = sample();
            if (!change(which, &b, arena))
                break;
            if (helio_record_keyed_hash(&tree_type, &b, &keys[k]) == hash)
                fail_msg("change %u was not seen", which);
        }
    }
}

static void equal__and_hash_see_every_field(void **state)
{
    (void)state;
    helio_arena_t *arena = helio_arena_new();
    tree_t a = sample();
    uint64_t hash = helio_record_hash(&tree_type, &a, HELIO_HASH_SEED);
    tree_t b = sample();
    assert_true(helio_record_equal(&tree_type, &a, &b));
    assert_true(helio_record_hash(&tree_type, &b, HELIO_HASH_SEED) == hash);
    uint32_t which = 0;
    for (;; which++) {
        b = sample();
        if (!change(which, &b, arena))
            break;
        if (helio_record_equal(&tree_type, &a, &b) || helio_record_equal(&tree_type, &b, &a))
            fail_msg("change %u was not seen", which);
        assert_true(helio_record_hash(&tree_type, &b, HELIO_HASH_SEED) != hash);
    }
    assert_int_equal(which, 17);
    helio_arena_destroy(&arena);
}

static void equal__compares_contents_and_not_addresses(void **state)
{
    (void)state;
    helio_arena_t *arena = helio_arena_new();
    tree_t a = sample(), b;
    helio_record_copy(&tree_type, arena, &a, &b);
    assert_true(helio_record_equal(&tree_type, &a, &b));
    tree_t empty = {0}, other = {0};
    other.text = HELIO_TEXT("");
    other.numbers.items = numbers; /* of count 0 */
    assert_true(helio_record_equal(&tree_type, &empty, &other));
    assert_true(helio_record_hash(&tree_type, &empty, 1) == helio_record_hash(&tree_type, &other, 1));
    helio_arena_destroy(&arena);
}

static void hash__distinguishes_where_a_field_ends(void **state)
{
    (void)state;
    tree_t a = {.text = HELIO_TEXT("ab"), .bytes = HELIO_TEXT("c")};
    tree_t b = {.text = HELIO_TEXT("a"), .bytes = HELIO_TEXT("bc")};
    assert_true(helio_record_hash(&tree_type, &a, 1) != helio_record_hash(&tree_type, &b, 1));
    assert_true(helio_record_hash(&tree_type, &a, 1) != helio_record_hash(&tree_type, &a, 2));
}

static void copy__shares_nothing_with_its_origin(void **state)
{
    (void)state;
    helio_arena_t *arena = helio_arena_new();
    char text[] = "text";
    uint32_t own_numbers[] = {1, 2, 3};
    char name[] = "one";
    leaf_t own_leaves[] = {{{name, 3}, 1}, {HELIO_TEXT("two"), 2}};
    tree_t origin = sample(), copy, expected = sample();
    origin.text = (helio_text_t){text, 4};
    origin.numbers.items = own_numbers;
    origin.leaves.items = own_leaves;
    helio_record_copy(&tree_type, arena, &origin, &copy);
    text[0] = 'T';
    own_numbers[0] = 99;
    name[0] = 'O';
    own_leaves[1].x = 99;
    assert_true(helio_record_equal(&tree_type, &copy, &expected));
    assert_string_equal(copy.text.data, "text"); /* terminated */
    helio_arena_destroy(&arena);
}

static void effects__keep_copies_in_order_until_the_next_step(void **state)
{
    (void)state;
    static const helio_step_kind_t kinds[] = {{"LEAF", &leaf_type, HELIO_RELEASE_ROW},
                                              {"TREE", &tree_type, HELIO_RELEASE_HELD}};
    helio_effects_t *effects = helio_effects_new();
    assert_true(effects->wake_ms == INT64_MAX);
    for (uint32_t i = 0; i < 500; i++) {
        leaf_t leaf = {HELIO_TEXT("x"), i};
        leaf_t *kept = helio_effects_add(effects, 0, kinds, 7, &leaf);
        assert_ptr_not_equal(kept, &leaf);
    }
    tree_t tree = sample();
    (void)helio_effects_add(effects, 1, kinds, 8, &tree);
    assert_int_equal(effects->count, 501);
    for (uint32_t i = 0; i < 500; i++) {
        assert_int_equal(((const leaf_t *)effects->items[i].payload)->x, i);
        assert_int_equal(effects->items[i].release, HELIO_RELEASE_ROW);
        assert_int_equal(effects->items[i].batch, 7);
    }
    assert_int_equal(effects->items[500].release, HELIO_RELEASE_HELD);
    effects->wake_ms = 3;
    helio_effects_reset(effects);
    assert_int_equal(effects->count, 0);
    assert_true(effects->wake_ms == INT64_MAX);
    helio_effects_destroy(&effects);
    assert_null(effects);
    helio_effects_destroy(&effects);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(describe__a_record_lists_its_fields_in_order),
        cmocka_unit_test(keyed_hash__sees_every_field_and_its_key),
        cmocka_unit_test(equal__and_hash_see_every_field),
        cmocka_unit_test(equal__compares_contents_and_not_addresses),
        cmocka_unit_test(hash__distinguishes_where_a_field_ends),
        cmocka_unit_test(copy__shares_nothing_with_its_origin),
        cmocka_unit_test(effects__keep_copies_in_order_until_the_next_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
