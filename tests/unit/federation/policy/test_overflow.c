/*  Overflow groups: their text, and which of their steps are open. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "federation/policy/overflow.h"

static helio_overflow_t parsed(const char *text)
{
    helio_overflow_t overflow;
    helio_error_t err = {0};
    if (helio_overflow_parse(helio_text_of(text), &overflow, &err) != HELIO_OK)
        fail_msg("%s: %s", text, err.text);
    return overflow;
}

static void parse__reads_sites_times_and_prices(void **state)
{
    (void)state;
    helio_overflow_t o = parsed(" home-* ;eu-*,!eu-test , after=10m; cloud,after=30m,max-price=3.25 ");
    assert_int_equal(o.count, 3);
    assert_int_equal(o.steps[1].pattern_count, 2);
    assert_true(helio_text_is(o.steps[1].patterns[1].text, "!eu-test"));
    assert_int_equal(o.steps[1].after_ms, 600000);
    assert_int_equal(o.steps[1].max_price_micro_usd, 0);
    assert_int_equal(o.steps[2].max_price_micro_usd, 3250000);
    char name[16];
    helio_overflow_name(&o.steps[1], name, sizeof name);
    assert_string_equal(name, "eu-*, !eu-test");
    helio_overflow_name(&o.steps[1], name, 6);
    assert_string_equal(name, "eu-*,");
}

static void parse__names_the_step_that_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "no step is given"},
        {"  ", "no step is given"},
        {"a;", "step 2: '' is neither"},
        {";a", "step 1: '' is neither"},
        {"a;after=10m", "step 2: no sites"},
        {"a,after=10m", "step 1: the first step is always open"},
        {"a;b,after=10m;c,after=9m", "step 3: its after must not be less"},
        {"a;b,after=10", "step 2: after needs a duration"},
        {"a;b,after=10w", "step 2: after needs a duration"},
        {"a;b,after=", "step 2: after needs a duration"},
        {"a;b,after=-1s", "step 2: after needs a duration"},
        {"a;b,after=31d", "step 2: after needs a duration"},
        {"a;b,after=99999999999999999999s", "step 2: after needs a duration"},
        {"a;b,max-price=0", "step 2: max-price"},
        {"a;b,max-price=.5", "step 2: max-price"},
        {"a;b,max-price=1.1234567", "step 2: max-price"},
        {"a;b,max-price=10001", "step 2: max-price"},
        {"a;b,max-price=3 USD", "step 2: max-price"},
        {"a b", "step 1: 'a b' is neither"},
        {"!", "step 1: '!' is neither"},
        {"a,b,c,d,e,f,g,h,i", "step 1: at most 8 site patterns"},
        {"a;b;c;d;e;f;g;h;i", "at most 8 steps"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_overflow_t overflow;
        helio_error_t err = {0};
        assert_int_equal(helio_overflow_parse(helio_text_of(cases[i].text), &overflow, &err), HELIO_INVALID);
        if (!strstr(err.text, cases[i].says))
            fail_msg("'%s' says '%s', not '%s'", cases[i].text, err.text, cases[i].says);
    }
    char longer[HELIO_OVERFLOW_TEXT_MAX + 2];
    memset(longer, 'a', sizeof longer);
    helio_overflow_t overflow;
    assert_int_equal(helio_overflow_parse((helio_text_t){longer, sizeof longer - 1}, &overflow, NULL), HELIO_TOO_BIG);
}

static void step__is_the_first_that_names_the_site(void **state)
{
    (void)state;
    helio_overflow_t o = parsed("home-*; eu-*,!eu-test; cloud");
    assert_int_equal(helio_overflow_step_of(&o, HELIO_TEXT("home-1")), 0);
    assert_int_equal(helio_overflow_step_of(&o, HELIO_TEXT("eu-1")), 1);
    assert_int_equal(helio_overflow_step_of(&o, HELIO_TEXT("cloud")), 2);
    assert_int_equal(helio_overflow_step_of(&o, HELIO_TEXT("eu-test")), 3);
}

static void open__after_the_wait_or_at_once_without_an_earlier_alive_step(void **state)
{
    (void)state;
    helio_overflow_t o = parsed("a; b,after=10m; c,after=30m");
    static const struct {
        uint32_t alive;
        int64_t waited_min;
        uint32_t open;
    } cases[] = {
        {7, -5, 1}, {7, 0, 1},  {7, 9, 1}, {7, 10, 2}, {7, 29, 2}, {7, 30, 3},
        {6, 0, 2},  {6, 30, 3}, {4, 0, 3}, {0, 0, 3},  {5, 12, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(helio_overflow_open(&o, cases[i].alive, cases[i].waited_min * 60000), cases[i].open);
    o = parsed("a; b");
    assert_int_equal(helio_overflow_open(&o, 3, 0), 2);
}

static void alive__is_a_pool_that_can_start_the_job_now_or_later(void **state)
{
    (void)state;
    static const struct {
        helio_rejection_t rejection;
        int64_t not_before_ms;
        bool alive;
    } cases[] = {
        {HELIO_REJECTION_NONE, 0, true},        {HELIO_REJECTION_NO_SUCH_GPU, 0, false},
        {HELIO_REJECTION_DRAINING, 0, false},   {HELIO_REJECTION_SITE_SILENT, 0, false},
        {HELIO_REJECTION_CARBON_CAP, 0, false}, {HELIO_REJECTION_CARBON_CAP, 1000, true},
        {HELIO_REJECTION_OVERFLOW, 0, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_candidate_t c = {.rejection = cases[i].rejection, .not_before_ms = cases[i].not_before_ms};
        assert_int_equal(helio_overflow_is_alive(&c), cases[i].alive);
    }
    helio_plan_t plan = {.cost_micro_usd = 24000000};
    assert_int_equal(helio_overflow_price(&plan, 8, 3600000), 3000000);
    assert_int_equal(helio_overflow_price(&plan, 0, 3600000), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parse__reads_sites_times_and_prices),
        cmocka_unit_test(parse__names_the_step_that_is_wrong),
        cmocka_unit_test(step__is_the_first_that_names_the_site),
        cmocka_unit_test(open__after_the_wait_or_at_once_without_an_earlier_alive_step),
        cmocka_unit_test(alive__is_a_pool_that_can_start_the_job_now_or_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
