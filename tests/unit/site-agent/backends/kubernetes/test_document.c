/*  test_document.c -- members of documents, and quantities as the API writes them. */
#include "tests/unit/site-agent/backends/kubernetes/recorded.h"

#include "site-agent/backends/kubernetes/document.h"

static const struct {
    const char *text;
    uint64_t milli;
} quantities[] = {
    {"0", 0},
    {"1", 1000},
    {"+1", 1000},
    {"191500m", 191500},
    {"64Gi", 64ull * 1024 * 1024 * 1024 * 1000},
    {"2112491840Ki", 2112491840ull * 1024 * 1000},
    {"3456G", 3456000000000ull * 1000},
    {"0.5", 500},
    {".5", 500},
    {"5.", 5000},
    {"1.5Gi", 1536ull * 1024 * 1024 * 1000},
    {"1e3", 1000 * 1000},
    {"1E3", 1000 * 1000},
    {"1E", UINT64_MAX},
    {"12e-1", 1200},
    {"1n", 1},
    {"1u", 1},
    {"1000001u", 1001}, /* rounded up, as the API does */
    {"1000000u", 1000},
    {"1e-9", 1},
    {"0.0001", 1},
    {"16Ei", UINT64_MAX},
    {"99999999999999999999999999", UINT64_MAX},
    {"1e25", UINT64_MAX},
    {"2k", 2000000},
    {"1M", 1000000000},
};

static const char *const no_quantities[] = {"",    "-1",  "Gi", "1 Gi", "12 gigs", "1.2.3", "1Xi",  "e3",  "1e",  "1e+",
                                            "0x1", "1mi", " 1", "1 ",   "1e9999",  "1kk",   "1Kii", "--1", "NaN", "."};

static void quantities_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof quantities / sizeof *quantities; i++) {
        uint64_t milli = 7;
        if (helio_kube_quantity(helio_text_of(quantities[i].text), &milli) || milli != quantities[i].milli)
            fail_msg("%s: %llu", quantities[i].text, (unsigned long long)milli);
    }
}

static void what_is_no_quantity_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof no_quantities / sizeof *no_quantities; i++) {
        uint64_t milli = 7;
        if (helio_kube_quantity(helio_text_of(no_quantities[i]), &milli) != HELIO_INVALID || milli != 7)
            fail_msg("'%s' is taken for %llu", no_quantities[i], (unsigned long long)milli);
    }
}

static void members_can_be_numbers_or_missing(void **state)
{
    (void)state;
    const json_t *document = written("{'cpu': '1500m', 'pods': 110, 'less': -3, 'no': null, 'part': 1.5}");
    assert_int_equal(helio_kube_milli(json_object_get(document, "cpu")), 1500);
    assert_int_equal(helio_kube_units(json_object_get(document, "cpu")), 1);
    assert_int_equal(helio_kube_units(json_object_get(document, "pods")), 110);
    assert_int_equal(helio_kube_milli(json_object_get(document, "less")), 0);
    assert_int_equal(helio_kube_milli(json_object_get(document, "no")), 0);
    assert_int_equal(helio_kube_milli(json_object_get(document, "part")), 0);
    assert_int_equal(helio_kube_milli(NULL), 0);
}

static void paths_and_lists_end_quietly(void **state)
{
    (void)state;
    const json_t *document = written("{'a': {'b': [{'type': 'X', 'n': 1}, {'type': 'Y', 'n': 2}]}, 'null': null}");
    const json_t *list = HELIO_KUBE_AT(document, "a", "b");
    assert_int_equal(json_integer_value(json_object_get(helio_kube_named(list, "type", "Y"), "n")), 2);
    assert_null(helio_kube_named(list, "type", "Z"));
    assert_null(helio_kube_named(NULL, "type", "X"));
    assert_null(HELIO_KUBE_AT(document, "a", "c", "d"));
    assert_null(HELIO_KUBE_AT(NULL, "a"));
    assert_int_equal(helio_kube_text(HELIO_KUBE_AT(document, "null")).size, 0);
    assert_false(helio_kube_condition(document, "Ready"));
}

static void conditions_are_true_only_by_the_word(void **state)
{
    (void)state;
    const json_t *node = written("{'status': {'conditions': [{'type': 'Ready', 'status': 'Unknown'}, "
                                 "{'type': 'Good', 'status': 'True'}, {'type': 'Bad', 'status': 'False'}]}}");
    assert_true(helio_kube_condition(node, "Good"));
    assert_false(helio_kube_condition(node, "Bad"));
    assert_false(helio_kube_condition(node, "Ready"));
    assert_int_equal(helio_kube_time(written("'1970-01-01T00:00:01Z'")), 1000);
    assert_int_equal(helio_kube_time(written("null")), 0);
}

/*  Every quantity that a real server has answered is one. */
static void recorded_quantities_are_all_read(void **state)
{
    (void)state;
    json_t *nodes = items(recorded("core/10-node-list"));
    uint32_t count = 0;
    for (size_t i = 0; i < json_array_size(nodes); i++) {
        json_t *capacity = HELIO_KUBE_AT(json_array_get(nodes, i), "status", "capacity");
        const char *name;
        json_t *value;
        json_object_foreach(capacity, name, value)
        {
            uint64_t milli;
            assert_int_equal(helio_kube_quantity(helio_kube_text(value), &milli), HELIO_OK);
            count++;
        }
    }
    assert_true(count > 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantities_are_read),
        cmocka_unit_test(what_is_no_quantity_is_refused),
        DOCUMENT_TEST(members_can_be_numbers_or_missing),
        DOCUMENT_TEST(paths_and_lists_end_quietly),
        DOCUMENT_TEST(conditions_are_true_only_by_the_word),
        DOCUMENT_TEST(recorded_quantities_are_all_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
