/*  Budgets: how they are written, the calendar, and what of a run falls into a period. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "federation/base/civil.h"
#include "federation/base/rng.h"
#include "federation/policy/budget.h"

static const int64_t DAY_MS = 86400000;
enum { H = 3600000 };

static int64_t date(int64_t year, int64_t month, int64_t day)
{
    return helio_days_of_civil(year, month, day) * DAY_MS;
}

static void budget__is_read_and_written_back(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t kind;
        int64_t limit;
        uint32_t period;
        const char *back; /* NULL = as written */
    } cases[] = {
        {"5000 gpu-h/month", HELIO_BUDGET_GPU, INT64_C(5000) * H, HELIO_PERIOD_MONTH, NULL},
        {"20000 USD/month", HELIO_BUDGET_MONEY, INT64_C(20000000000), HELIO_PERIOD_MONTH, NULL},
        {"2 t/month", HELIO_BUDGET_CARBON, INT64_C(2000000000), HELIO_PERIOD_MONTH, NULL},
        {"2000kg/week", HELIO_BUDGET_CARBON, INT64_C(2000000000), HELIO_PERIOD_WEEK, "2 t/week"},
        {"500 kg/day", HELIO_BUDGET_CARBON, 500000000, HELIO_PERIOD_DAY, NULL},
        {" 0.5 USD / day ", HELIO_BUDGET_MONEY, 500000, HELIO_PERIOD_DAY, "0.5 USD/day"},
        {"0 USD/day", HELIO_BUDGET_MONEY, 0, HELIO_PERIOD_DAY, NULL},
        {"0.25 gpu-h/day", HELIO_BUDGET_GPU, 900000, HELIO_PERIOD_DAY, NULL},
        {"1000000000 USD/month", HELIO_BUDGET_MONEY, HELIO_BUDGET_AMOUNT_MAX, HELIO_PERIOD_MONTH, NULL},
        {"none", HELIO_BUDGET_KINDS, 0, HELIO_PERIOD_NONE, ""},
        {"none USD", HELIO_BUDGET_MONEY, 0, HELIO_PERIOD_NONE, NULL},
        {"none  kg", HELIO_BUDGET_CARBON, 0, HELIO_PERIOD_NONE, "none t"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_budget_ask_t ask;
        char back[HELIO_BUDGET_TEXT_SIZE] = "";
        assert_int_equal(helio_budget_parse(helio_text_of(cases[i].text), &ask, NULL), HELIO_OK);
        assert_int_equal(ask.kind, cases[i].kind);
        assert_int_equal(ask.budget.limit, cases[i].limit);
        assert_int_equal(ask.budget.period, cases[i].period);
        if (ask.kind < HELIO_BUDGET_KINDS)
            helio_budget_text(ask.kind, ask.budget, back);
        assert_string_equal(back, cases[i].back ? cases[i].back : cases[i].text);
    }
}

static void budget__errors_suggest_what_was_meant(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "'5000 gpu-h/month'"},
        {"lots", "'5000 gpu-h/month'"},
        {"-5 USD/day", "'5000 gpu-h/month'"},
        {"5", "the unit is missing"},
        {"5/day", "the unit is missing"},
        {"5 USD", "/day, /week or /month"},
        {"5 USD/", "/day, /week or /month"},
        {"5 usd/month", "did you mean 'USD'?"},
        {"5 gpuh/month", "did you mean 'gpu-h'?"},
        {"5 GPU-hours/month", "did you mean 'gpu-h'?"},
        {"5 EUR/month", "unknown unit 'EUR'"},
        {"5 USD/mnth", "did you mean 'month'?"},
        {"5 USD/year", "unknown period 'year'"},
        {"none EUR", "unknown unit 'EUR'"},
        {"nonesuch", "'5000 gpu-h/month'"},
        {"1. USD/day", "unknown unit '. USD'"},
        {"1.0000001 USD/day", "'5000 gpu-h/month'"},
        {"1000000001 USD/month", "the amount is too large"},
        {"99999999999999999999999999999999 USD/month", "the amount is too large"},
        {"99999999999999999999999999999999999999999999999999 USD/month", "too long"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_budget_ask_t ask = {.kind = 77};
        helio_error_t err = {0};
        assert_int_equal(helio_budget_parse(helio_text_of(cases[i].text), &ask, &err), HELIO_INVALID);
        assert_int_equal(ask.kind, 77);
        if (!strstr(err.text, cases[i].says))
            fail_msg("'%s' is told: %s", cases[i].text, err.text);
    }
}

static void budget__figures_have_the_unit_of_the_limit(void **state)
{
    (void)state;
    static const struct {
        uint32_t kind;
        int64_t limit, amount;
        const char *figure, *unit;
    } cases[] = {
        {HELIO_BUDGET_GPU, INT64_C(5000) * H, INT64_C(4980) * H + H - 1, "4,980", "GPU-hours"},
        {HELIO_BUDGET_GPU, INT64_C(5000) * H, INT64_C(32) * H, "32", "GPU-hours"},
        {HELIO_BUDGET_GPU, INT64_C(5000) * H, H / 4, "0.25", "GPU-hours"},
        {HELIO_BUDGET_MONEY, INT64_C(20000000000), INT64_C(1234567890123), "1,234,567", "USD"},
        {HELIO_BUDGET_MONEY, INT64_C(20000000000), 12340000, "12.3", "USD"},
        {HELIO_BUDGET_MONEY, INT64_C(20000000000), -1500000, "-1.5", "USD"},
        {HELIO_BUDGET_MONEY, 0, 0, "0", "USD"},
        {HELIO_BUDGET_CARBON, INT64_C(2000000000), 1500000000, "1.5", "t CO2e"},
        {HELIO_BUDGET_CARBON, 500000000, 1500000000, "1,500", "kg CO2e"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char figure[HELIO_BUDGET_TEXT_SIZE];
        helio_budget_figure(cases[i].kind, cases[i].limit, cases[i].amount, figure);
        assert_string_equal(figure, cases[i].figure);
        assert_string_equal(helio_budget_unit(cases[i].kind, cases[i].limit), cases[i].unit);
    }
    char figure[HELIO_BUDGET_TEXT_SIZE];
    static const struct {
        int64_t micro_usd;
        const char *figure;
    } small[] = {{0, "0"}, {1, "0.000001"}, {-316, "-0.000316"}, {999, "0.000999"}, {1000, "0.001"}, {1999, "0.001"}};
    for (size_t i = 0; i < sizeof small / sizeof small[0]; i++) { /* 0 is said of nothing else */
        helio_budget_figure(HELIO_BUDGET_MONEY, 1000000, small[i].micro_usd, figure);
        assert_string_equal(figure, small[i].figure);
    }
    helio_budget_figure(HELIO_BUDGET_MONEY, 1, INT64_MAX, figure);
    assert_string_equal(figure, "9,223,372,036,854");
}

static void level__rises_when_a_fifth_is_left_and_when_nothing_is(void **state)
{
    (void)state;
    static const struct {
        int64_t limit, left;
        helio_budget_level_t level;
    } levels[] = {
        {100, 100, HELIO_BUDGET_LEVEL_LOW},
        {100, 21, HELIO_BUDGET_LEVEL_LOW},
        {100, 20, HELIO_BUDGET_LEVEL_HIGH},
        {100, 1, HELIO_BUDGET_LEVEL_HIGH},
        {100, 0, HELIO_BUDGET_LEVEL_FULL},
        {100, -5, HELIO_BUDGET_LEVEL_FULL},
        {0, 0, HELIO_BUDGET_LEVEL_FULL},
        {1, 1, HELIO_BUDGET_LEVEL_LOW},
        {INT64_MAX, INT64_MAX, HELIO_BUDGET_LEVEL_LOW},
        {INT64_MAX, INT64_MAX / 5, HELIO_BUDGET_LEVEL_HIGH},
    };
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++)
        if (helio_budget_level(levels[i].limit, levels[i].left) != levels[i].level)
            fail_msg("case %zu: %s", i, helio_budget_level_name(helio_budget_level(levels[i].limit, levels[i].left)));
    for (uint32_t level = 0; level < HELIO_BUDGET_LEVELS; level++)
        for (uint32_t other = 0; other <= level; other++)
            assert_int_equal(strcmp(helio_budget_level_name(level), helio_budget_level_name(other)) == 0,
                             level == other);
}

static void period__follows_the_calendar(void **state)
{
    (void)state;
    const struct {
        uint32_t period;
        int64_t at, begin, next;
        const char *text;
    } cases[] = {
        {HELIO_PERIOD_DAY, date(2026, 11, 21) + 5 * H, date(2026, 11, 21), date(2026, 11, 22), "2026-11-21"},
        {HELIO_PERIOD_DAY, date(2024, 2, 29), date(2024, 2, 29), date(2024, 3, 1), "2024-02-29"},
        {HELIO_PERIOD_WEEK, date(2026, 11, 22) + 23 * H, date(2026, 11, 16), date(2026, 11, 23),
         "the week of 2026-11-16"},
        {HELIO_PERIOD_WEEK, date(2026, 11, 23), date(2026, 11, 23), date(2026, 11, 30), "the week of 2026-11-23"},
        {HELIO_PERIOD_WEEK, date(2027, 1, 1), date(2026, 12, 28), date(2027, 1, 4), "the week of 2026-12-28"},
        {HELIO_PERIOD_MONTH, date(2026, 2, 28), date(2026, 2, 1), date(2026, 3, 1), "February 2026"},
        {HELIO_PERIOD_MONTH, date(2024, 2, 1), date(2024, 2, 1), date(2024, 3, 1), "February 2024"},
        {HELIO_PERIOD_MONTH, date(2100, 2, 28), date(2100, 2, 1), date(2100, 3, 1), "February 2100"},
        {HELIO_PERIOD_MONTH, date(2026, 12, 31) + DAY_MS - 1, date(2026, 12, 1), date(2027, 1, 1), "December 2026"},
        {HELIO_PERIOD_MONTH, 0, 0, date(1970, 2, 1), "January 1970"},
        {HELIO_PERIOD_DAY, -1, -DAY_MS, 0, "1969-12-31"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[HELIO_BUDGET_TEXT_SIZE];
        assert_int_equal(helio_period_begin(cases[i].period, cases[i].at), cases[i].begin);
        assert_int_equal(helio_period_next(cases[i].period, cases[i].at), cases[i].next);
        helio_period_text(cases[i].period, cases[i].begin, text);
        assert_string_equal(text, cases[i].text);
    }
}

static void period__each_follows_on_from_the_one_before(void **state)
{
    (void)state;
    for (uint32_t period = HELIO_PERIOD_DAY; period < HELIO_PERIOD_COUNT; period++) {
        int64_t at = helio_period_begin(period, date(1999, 6, 1));
        while (at < date(2101, 1, 1)) {
            int64_t next = helio_period_next(period, at);
            assert_true(next > at && next % H == 0);
            assert_int_equal(helio_period_begin(period, at), at);
            assert_int_equal(helio_period_begin(period, next - 1), at);
            assert_int_equal(helio_period_begin(period, next), next);
            at = next;
        }
    }
}

static void spend__parts_of_periods_add_up_to_the_whole(void **state)
{
    (void)state;
    helio_rng_t rng = {.state = 7};
    for (int round = 0; round < 2000; round++) {
        helio_spend_t spend = {
            .of = {(int64_t)(helio_rng_next(&rng) % (uint64_t)HELIO_SPEND_MAX)},
            .start_ms = (int64_t)(helio_rng_next(&rng) % (uint64_t)DAY_MS),
            .run_ms = 1 + helio_rng_next(&rng) % (uint64_t)(5 * DAY_MS),
        };
        spend.last_ms = spend.run_ms;
        int64_t sum = 0, cut = 0;
        while (cut < 10 * DAY_MS) {
            int64_t next = cut + 1 + (int64_t)(helio_rng_next(&rng) % (uint64_t)DAY_MS);
            int64_t part = helio_spend_within(&spend, 0, cut, next);
            assert_true(part >= 0 && part <= helio_spend_densest(&spend, 0, next - cut) + 1);
            sum += part;
            cut = next;
        }
        assert_int_equal(sum, spend.of[0]);
    }
}

static void spend__continues_at_its_rate_when_a_run_lasts_longer(void **state)
{
    (void)state;
    helio_spend_t spend = {.of = {100}, .start_ms = 1000, .run_ms = 500, .last_ms = 1500};
    assert_int_equal(helio_spend_within(&spend, 0, 0, 1000), 0);
    assert_int_equal(helio_spend_within(&spend, 0, 1000, 1250), 50);
    assert_int_equal(helio_spend_within(&spend, 0, 1000, 9000), 300);
    assert_int_equal(helio_spend_within(&spend, 0, 2000, 9000), 100);
    assert_int_equal(helio_spend_within(&spend, 0, 9000, 2000), 0);
    spend.run_ms = 0; /* all at once */
    assert_int_equal(helio_spend_within(&spend, 0, 1000, 1001), 100);
    assert_int_equal(helio_spend_within(&spend, 0, 1001, 9000), 0);
}

/*  At the time that is named it fits, and a moment before it does not. */
static void spend__fits_from_the_given_time_on(void **state)
{
    (void)state;
    helio_rng_t rng = {.state = 11};
    for (int round = 0; round < 2000; round++) {
        int64_t end_ms = DAY_MS;
        helio_spend_t spend = {
            .of = {1000 + (int64_t)(helio_rng_next(&rng) % 1000000)},
            .start_ms = (int64_t)(helio_rng_next(&rng) % (uint64_t)DAY_MS),
            .run_ms = 1000 + helio_rng_next(&rng) % (uint64_t)(2 * DAY_MS),
        };
        spend.last_ms = spend.run_ms;
        int64_t left = (int64_t)(helio_rng_next(&rng) % 1200000) - 100000;
        int64_t fits_ms = helio_spend_fits_ms(&spend, 0, left, end_ms), begin_ms = spend.start_ms;
        assert_true(fits_ms >= begin_ms && fits_ms <= end_ms);
        spend.start_ms = fits_ms;
        assert_true(fits_ms == end_ms || helio_spend_within(&spend, 0, 0, end_ms) <= left);
        if (fits_ms == begin_ms)
            continue;
        spend.start_ms = fits_ms - 2 - (int64_t)(spend.run_ms / (uint64_t)spend.of[0]);
        assert_true(helio_spend_within(&spend, 0, 0, end_ms) > left);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(budget__is_read_and_written_back),
        cmocka_unit_test(budget__errors_suggest_what_was_meant),
        cmocka_unit_test(budget__figures_have_the_unit_of_the_limit),
        cmocka_unit_test(level__rises_when_a_fifth_is_left_and_when_nothing_is),
        cmocka_unit_test(period__follows_the_calendar),
        cmocka_unit_test(period__each_follows_on_from_the_one_before),
        cmocka_unit_test(spend__parts_of_periods_add_up_to_the_whole),
        cmocka_unit_test(spend__continues_at_its_rate_when_a_run_lasts_longer),
        cmocka_unit_test(spend__fits_from_the_given_time_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
