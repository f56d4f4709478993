/*  Quantities as people write them. */
#include "spec_testing.h"

#include "federation/base/duration.h"
#include "federation/base/rng.h"
#include "federation/base/suggest.h"
#include "federation/spec/value.h"

typedef struct amount_case {
    const char *text;
    helio_rc rc;
    uint64_t value;
} amount_case_t;

typedef helio_rc (*amount_fn)(helio_text_t text, uint64_t *ret_value);

static void check(amount_fn parse, const amount_case_t *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        exact_t exact = exact_of("", cases[i].text, strlen(cases[i].text));
        uint64_t value = 4711;
        helio_rc rc = parse(exact.source.text, &value);
        if (rc != cases[i].rc || value != (rc == HELIO_OK ? cases[i].value : 4711))
            fail_msg("'%s': rc %d, value %llu", cases[i].text, (int)rc, (unsigned long long)value);
        free(exact.bytes);
    }
}
#define CHECK(parse, cases) check(parse, cases, sizeof(cases) / sizeof((cases)[0]))

static void value__durations_have_units_in_descending_order(void **state)
{
    static const amount_case_t cases[] = {
        {"90s", HELIO_OK, 90000},
        {"15m", HELIO_OK, 900000},
        {"6h", HELIO_OK, 21600000},
        {"2d", HELIO_OK, 172800000},
        {"1w", HELIO_OK, 604800000},
        {"1h30m", HELIO_OK, 5400000},
        {"500ms", HELIO_OK, 500},
        {"1m1ms", HELIO_OK, 60001},
        {"0", HELIO_OK, 0},
        {"0s", HELIO_OK, 0},
        {"", HELIO_INVALID, 0},
        {"90", HELIO_INVALID, 0},
        {"h", HELIO_INVALID, 0},
        {"30m1h", HELIO_INVALID, 0},
        {"1h1h", HELIO_INVALID, 0},
        {"1.5h", HELIO_INVALID, 0},
        {"-1h", HELIO_INVALID, 0},
        {"1h ", HELIO_INVALID, 0},
        {" 1h", HELIO_INVALID, 0},
        {"1H", HELIO_INVALID, 0},
        {"1hours", HELIO_INVALID, 0},
        {"18446744073709551616s", HELIO_TOO_BIG, 0},
        {"18446744073709551615w", HELIO_TOO_BIG, 0},
        {"9223372036854775807ms", HELIO_OK, INT64_MAX},
        {"9223372036854775808ms", HELIO_TOO_BIG, 0},
    };
    (void)state;
    CHECK(helio_duration_parse, cases);
}

static void value__sizes_are_decimal_or_binary(void **state)
{
    static const amount_case_t cases[] = {
        {"256GB", HELIO_OK, UINT64_C(256000000000)},
        {"512MiB", HELIO_OK, UINT64_C(536870912)},
        {"2TB", HELIO_OK, UINT64_C(2000000000000)},
        {"1.5GB", HELIO_OK, UINT64_C(1500000000)},
        {"1.5KiB", HELIO_OK, 1536},
        {"1 PB", HELIO_OK, UINT64_C(1000000000000000)},
        {"1kB", HELIO_OK, 1000},
        {"7B", HELIO_OK, 7},
        {"0", HELIO_OK, 0},
        {"256", HELIO_INVALID, 0},
        {"256G", HELIO_INVALID, 0},
        {"256Gi", HELIO_INVALID, 0},
        {"256Gb", HELIO_INVALID, 0},
        {"1kiB", HELIO_INVALID, 0},
        {"1iB", HELIO_INVALID, 0},
        {"GB", HELIO_INVALID, 0},
        {".5GB", HELIO_INVALID, 0},
        {"1.GB", HELIO_INVALID, 0},
        {"-1GB", HELIO_INVALID, 0},
        {"1  GB", HELIO_INVALID, 0},
        {"9223372036854775807B", HELIO_OK, INT64_MAX},
        {"9223372036854775808B", HELIO_TOO_BIG, 0},
        {"99999999999999999999999999999999999999PB", HELIO_TOO_BIG, 0},
        {"999999999999999999999999999999PB", HELIO_TOO_BIG, 0},
    };
    (void)state;
    CHECK(helio_bytes_parse, cases);
}

static helio_rc grams(helio_text_t text, uint64_t *ret_value)
{
    return helio_quantity_parse(text, "g/kWh", 3, ret_value);
}

static helio_rc money(helio_text_t text, uint64_t *ret_value)
{
    int64_t micro = 0;
    helio_rc rc = helio_money_parse(text, &micro);
    if (rc == HELIO_OK)
        *ret_value = (uint64_t)micro;
    return rc;
}

static helio_rc per_tonne(helio_text_t text, uint64_t *ret_value)
{
    int64_t micro = 0;
    helio_rc rc = helio_rate_parse(text, "t", &micro);
    if (rc == HELIO_OK)
        *ret_value = (uint64_t)micro;
    return rc;
}

static void value__quantities_are_scaled_exactly(void **state)
{
    static const amount_case_t gram_cases[] = {
        {"250 g/kWh", HELIO_OK, 250000},    {"250g/kWh", HELIO_OK, 250000}, {"0.125 g/kWh", HELIO_OK, 125},
        {"0.1255 g/kWh", HELIO_INVALID, 0}, {"250", HELIO_INVALID, 0},      {"250 kg/kWh", HELIO_INVALID, 0},
        {"250 g/kWh ", HELIO_INVALID, 0},
    };
    static const amount_case_t money_cases[] = {
        {"400 USD", HELIO_OK, 400000000}, {"0.5 USD", HELIO_OK, 500000},
        {"0.000001USD", HELIO_OK, 1},     {"0.0000001 USD", HELIO_INVALID, 0},
        {"-1 USD", HELIO_INVALID, 0},     {"400 EUR", HELIO_INVALID, 0},
        {"$400", HELIO_INVALID, 0},       {"9223372036855 USD", HELIO_TOO_BIG, 0},
    };
    static const amount_case_t rate_cases[] = {
        {"200 USD/t", HELIO_OK, 200000000}, {"200 USD", HELIO_INVALID, 0}, {"200 USD/kg", HELIO_INVALID, 0}};
    (void)state;
    CHECK(grams, gram_cases);
    CHECK(money, money_cases);
    CHECK(per_tonne, rate_cases);
}

static void value__whole_numbers_do_not_wrap(void **state)
{
    static const amount_case_t cases[] = {
        {"0", HELIO_OK, 0},
        {"18446744073709551615", HELIO_OK, UINT64_MAX},
        {"18446744073709551616", HELIO_TOO_BIG, 0},
        {"", HELIO_INVALID, 0},
        {"-1", HELIO_INVALID, 0},
        {"1 ", HELIO_INVALID, 0},
        {"0x10", HELIO_INVALID, 0},
        {"1e3", HELIO_INVALID, 0},
        {"+1", HELIO_INVALID, 0},
    };
    int64_t value = 0;
    (void)state;
    CHECK(helio_u64_parse, cases);
    assert_int_equal(helio_i64_parse(HELIO_TEXT("-9223372036854775808"), &value), HELIO_OK);
    assert_true(value == INT64_MIN);
    assert_int_equal(helio_i64_parse(HELIO_TEXT("-9223372036854775809"), &value), HELIO_TOO_BIG);
    assert_int_equal(helio_i64_parse(HELIO_TEXT("9223372036854775808"), &value), HELIO_TOO_BIG);
    assert_int_equal(helio_i64_parse(HELIO_TEXT("-"), &value), HELIO_INVALID);
    assert_int_equal(helio_i64_parse((helio_text_t){0}, &value), HELIO_INVALID);
}

static void value__fractions_follow_the_grammar_of_json(void **state)
{
    static const char *const good[] = {"0", "-1.5", "1e-4", "2.5E+3", "00.5"};
    static const char *const bad[] = {"",   ".5", "1.", "+1",  "nan", "inf", "0x1p3",
                                      "1e", " 1", "1 ", "1,5", "--1", "-",   "1e+"};
    double value = 0;
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_int_equal(helio_f64_parse(helio_text_of(good[i]), &value), HELIO_OK);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(helio_f64_parse(helio_text_of(bad[i]), &value), HELIO_INVALID);
    assert_int_equal(helio_f64_parse(HELIO_TEXT("1e999"), &value), HELIO_TOO_BIG);
    assert_int_equal(helio_f64_parse(HELIO_TEXT("-0.25"), &value), HELIO_OK);
    assert_true(value == -0.25);
}

static void value__texts_read_back_as_the_same_amount(void **state)
{
    helio_rng_t rng = {7};
    char text[HELIO_VALUE_SIZE];
    (void)state;
    for (int i = 0; i < 20000; i++) {
        uint64_t value = helio_rng_next(&rng) >> (1 + helio_rng_below(&rng, 62)), back = 0;
        int64_t micro = 0;
        if (i % 3 == 0)
            value = value % 1000 * (i % 2 ? 1000000000 : 1 << 30);
        helio_duration_text(value, text);
        assert_int_equal(helio_duration_parse(helio_text_of(text), &back), HELIO_OK);
        assert_true(back == value);
        helio_bytes_text(value, text);
        assert_int_equal(helio_bytes_parse(helio_text_of(text), &back), HELIO_OK);
        assert_true(back == value);
        helio_money_text((int64_t)value, text);
        assert_int_equal(helio_money_parse(helio_text_of(text), &micro), HELIO_OK);
        assert_true((uint64_t)micro == value);
    }
}

static void value__texts_are_as_short_as_people_write_them(void **state)
{
    char text[HELIO_VALUE_SIZE];
    (void)state;
    helio_duration_text(5400000, text);
    assert_string_equal(text, "1h30m");
    helio_duration_text(0, text);
    assert_string_equal(text, "0s");
    helio_bytes_text(UINT64_C(256000000000), text);
    assert_string_equal(text, "256GB");
    helio_bytes_text(UINT64_C(80) << 30, text);
    assert_string_equal(text, "80GiB");
    helio_bytes_text(0, text);
    assert_string_equal(text, "0B");
    helio_money_text(400000000, text);
    assert_string_equal(text, "400 USD");
    helio_money_text(-500000, text);
    assert_string_equal(text, "-0.5 USD");
    helio_money_text(INT64_MIN, text);
    assert_string_equal(text, "-9223372036854.775808 USD");
}

static void suggest__distance_counts_edits_and_swaps(void **state)
{
    static const struct {
        const char *a, *b;
        uint32_t distance;
    } cases[] = {{"", "", 0},       {"", "abc", 3},           {"flexble", "flexible", 1}, {"trian", "train", 1},
                 {"GPU", "gpu", 0}, {"kitten", "sitting", 3}, {"ca", "abc", 3},           {"nodes", "nodes", 0}};
    char longer[66];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_text_t a = helio_text_of(cases[i].a), b = helio_text_of(cases[i].b);
        assert_int_equal(helio_edit_distance(a, b), cases[i].distance);
        assert_int_equal(helio_edit_distance(b, a), cases[i].distance);
    }
    memset(longer, 'x', sizeof longer);
    assert_int_equal(helio_edit_distance((helio_text_t){longer, 65}, HELIO_TEXT("x")), UINT32_MAX);
    assert_int_equal(helio_edit_distance((helio_text_t){longer, 64}, HELIO_TEXT("x")), 63);
}

static void suggest__far_words_are_not_suggested(void **state)
{
    helio_suggestion_t suggestion = {.written = HELIO_TEXT("zebra")};
    (void)state;
    helio_suggestion_offer(&suggestion, "nodes");
    helio_suggestion_offer(&suggestion, "time");
    assert_null(suggestion.best);
    suggestion = (helio_suggestion_t){.written = HELIO_TEXT("node")};
    helio_suggestion_offer(&suggestion, "mode");
    helio_suggestion_offer(&suggestion, "nodes"); /* as near, and begins alike */
    assert_string_equal(suggestion.best, "nodes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(value__durations_have_units_in_descending_order),
        cmocka_unit_test(value__sizes_are_decimal_or_binary),
        cmocka_unit_test(value__quantities_are_scaled_exactly),
        cmocka_unit_test(value__whole_numbers_do_not_wrap),
        cmocka_unit_test(value__fractions_follow_the_grammar_of_json),
        cmocka_unit_test(value__texts_read_back_as_the_same_amount),
        cmocka_unit_test(value__texts_are_as_short_as_people_write_them),
        cmocka_unit_test(suggest__distance_counts_edits_and_swaps),
        cmocka_unit_test(suggest__far_words_are_not_suggested),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
