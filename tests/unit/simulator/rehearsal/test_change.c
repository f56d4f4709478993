/*  test_change.c -- the forms of changes, and the rows that they alter. */
#include "tests/unit/simulator/rehearsal/rehearsal_testing.h"

static void change__is_read_with_all_its_parts(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        reh_change_kind_t kind;
        const char *name, *second;
        double factor;
        uint32_t number;
        int64_t for_ms;
    } rows[] = {
        {"down=lulea", REH_CHANGE_DOWN, "lulea", "", 0, 0, 0},
        {"down=lulea:90m", REH_CHANGE_DOWN, "lulea", "", 0, 0, 90 * MINUTE},
        {"drain=lulea", REH_CHANGE_DRAIN, "lulea", "", 0, 0, 0},
        {"price=lulea:1.5", REH_CHANGE_PRICE, "lulea", "", 1.5, 0, 0},
        {"price=lulea:0", REH_CHANGE_PRICE, "lulea", "", 0, 0, 0},
        {"nodes=lulea/h100:16", REH_CHANGE_NODES, "lulea", "h100", 0, 16, 0},
        {"quota=vision:64", REH_CHANGE_QUOTA, "vision", "", 0, 64, 0},
        {"goal=vision:green", REH_CHANGE_GOAL, "vision", "", 0, HELIO_GOAL_GREEN, 0},
        {"curtail=lulea:60%", REH_CHANGE_CURTAIL, "lulea", "", 0, 60, 0},
        {"curtail=lulea:0%:90m", REH_CHANGE_CURTAIL, "lulea", "", 0, 0, 90 * MINUTE},
        {"quota=vision/batch:0", REH_CHANGE_QUOTA, "vision", "batch", 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        reh_change_t change;
        if (reh_change_parse(rows[i].text, &change, &err) != HELIO_OK)
            fail_msg("%s", err.text);
        bool fits = change.kind == rows[i].kind && helio_text_is(change.name, rows[i].name) &&
                    helio_text_is(change.second, rows[i].second) && change.number == rows[i].number &&
                    change.for_ms == rows[i].for_ms;
        if (!fits || change.factor < rows[i].factor || change.factor > rows[i].factor)
            fail_msg("%s is read otherwise", rows[i].text);
    }
}

static void change__of_no_form_is_refused_with_all_forms(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "down",
        "down=",
        "down:lulea",
        "up=lulea",
        "down=a/b",
        "down=lulea:",
        "down=lulea:0s",
        "down=lulea:4",
        "drain=lulea:1h",
        "price=a",
        "price=a:x",
        "price=a:-1",
        "price=a:1e9",
        "nodes=a:4",
        "nodes=a/:4",
        "nodes=a/b:4.5",
        "nodes=a/b",
        "nodes=a/b:100001",
        "quota=a",
        "quota=a/:4",
        "quota=a:-4",
        "quota=:4",
        "goal=a:blue",
        "goal=a/b:green",
        "curtail=a",
        "curtail=a:60",
        "curtail=a:101%",
        "curtail=a:%",
        "curtail=a:60%:",
        "curtail=a:60%:2",
        "curtail=a/b:60%",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        reh_change_t change;
        if (reh_change_parse(wrong[i], &change, &err) != HELIO_INVALID)
            fail_msg("'%s' is taken", wrong[i]);
        assert_non_null(strstr(err.text, "quota=TENANT[/QUEUE]:GPUS"));
    }
}

static void down__for_a_number_without_a_unit_says_so(void **state)
{
    (void)state;
    reh_change_t change;
    assert_int_equal(reh_change_parse("down=lulea:4", &change, &err), HELIO_INVALID);
    assert_non_null(strstr(err.text, "'down=lulea:4': '4' has no unit, as in lulea:4h\n"));
    assert_int_equal(reh_change_parse("down=lulea:soon", &change, &err), HELIO_INVALID);
    assert_non_null(strstr(err.text, "'down=lulea:soon': expected SITE[:DURATION] after '='\n"));
}

static void price__without_its_factor_says_what_is_expected(void **state)
{
    (void)state;
    reh_change_t change;
    assert_int_equal(reh_change_parse("price=lulea", &change, &err), HELIO_INVALID);
    assert_non_null(strstr(err.text, "'price=lulea': expected SITE:FACTOR after '='\n"));
    assert_int_equal(reh_change_parse("prize=lulea:2", &change, &err), HELIO_INVALID);
    assert_non_null(strstr(err.text, "'prize=lulea:2' is no change\n"));
}

static void price__scales_series_past_and_issued_and_static_figures_of_one_site(void **state)
{
    (void)state;
    double hours[] = {0.1, 0.2}, high[] = {0.2, 0.3};
    helio_row_series_t series = {.site = HELIO_TEXT("north"),
                                 .signal = HELIO_SIGNAL_ELECTRICITY,
                                 .issued_ms = NOON,
                                 .start_ms = NOON,
                                 .step_s = 3600,
                                 .values = {hours, 2},
                                 .p10 = {hours, 2},
                                 .p90 = {high, 2}};
    helio_row_actual_t actual = {
        .site = HELIO_TEXT("north"), .signal = HELIO_SIGNAL_ELECTRICITY, .hour_ms = NOON - HOUR, .value = 0.4};
    add_site("north", 1, 0);
    add_site("south", 1, 0);
    put_part(&parts.expected, HELIO_BROKER_EV_LOAD_ACTUAL, &actual);
    put_part(&parts.capacities, HELIO_SNAPSHOT_SERIES, &series);
    series.signal = HELIO_SIGNAL_CARBON;
    put_part(&parts.capacities, HELIO_SNAPSHOT_SERIES, &series);
    reh_change_t change;
    reh_copy_t copy;
    assert_int_equal(reh_change_parse("price=north:2", &change, &err), HELIO_OK);
    assert_int_equal(reh_copy_read(snapshot(), &copy, &err), HELIO_OK);
    assert_int_equal(reh_change_apply(&change, &copy, &err), HELIO_OK);
    assert_true(copy.sites[0].profile.pools.items[0].price_usd_per_gpu_h > 1.99);
    assert_true(copy.sites[1].profile.pools.items[0].price_usd_per_gpu_h < 1.01);
    assert_true(copy.sites[0].series[0]->values.items[1] > 0.399 && copy.sites[0].series[0]->p90.items[1] > 0.599);
    assert_true(copy.sites[0].series[1]->values.items[1] < 0.201); /* carbon is no price */
    for (uint32_t i = 0; i < copy.part_count; i++)
        if (copy.parts[i].kind == HELIO_BROKER_EV_LOAD_ACTUAL)
            assert_true(((const helio_row_actual_t *)copy.parts[i].record)->value > 0.799);
    reh_copy_clear(&copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(change__is_read_with_all_its_parts),
        CASE(change__of_no_form_is_refused_with_all_forms),
        CASE(down__for_a_number_without_a_unit_says_so),
        CASE(price__without_its_factor_says_what_is_expected),
        CASE(price__scales_series_past_and_issued_and_static_figures_of_one_site),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
