/*  test_remote_forecast.c -- the forecasts of sites, as people and programs read them. */
#include "tests/unit/client/program/remote_testing.h"

#define POINT(hour, value, more) "{\"time\":\"2026-03-01T" hour ":00:00.000Z\",\"value\":" value more "}"

static const char forecast_of_lulea[] =
    "[{\"signal\":\"carbon_g_per_kwh\",\"pool\":null,\"issued_at\":\"2026-03-01T00:00:00.000Z\",\"step_"
    "s\":3600,"
    "\"kind\":\"average\",\"factor\":\"lifecycle\",\"source\":\"test\",\"estimated\":true,\"points\":"
    "[" POINT("01", "10", ",\"p10\":8,\"p90\":11") "," POINT("02", "30", ",\"p10\":20,\"p90\":44") "," POINT(
        "03", "\"NaN\"", "") "," POINT("04", "50", "") "],\"errors\":[{\"horizon_h_from\":0,"
                                                       "\"horizon_h_to\":1,\"hours\":9,\"mean_"
                                                       "absolute_error\":1.5,"
                                                       "\"mean_ape_ratio\":0.031,\"bias\":0.5},{"
                                                       "\"horizon_h_from\":2,\"horizon_h_to\":6,"
                                                       "\"hours\":9,\"mean_absolute_error\":4,"
                                                       "\"mean_ape_ratio\":null,\"bias\":0}]},{"
                                                       "\"signal\":\"free_gpus\",\"pool\":\"a\","
                                                       "\"issued_at\":null,\"step_s\":7200,"
                                                       "\"kind\":null,\"factor\":null,\"source\":"
                                                       "null,\"estimated\":false,\"points\":"
                                                       "[" POINT("01", "4", "") "," POINT("03", "4",
                                                                                          "") "],\"errors\":[]}]";

static void forecast__draws_one_line_per_series_and_keeps_the_figures(void **state)
{
    (void)state;
    static const struct {
        const char *words[8];
        const char *expected[6];
    } cases[] = {
        {{"forecast", "lulea"}, {"SIGNAL", "10    30   50  8..44", "g/kWh", " 04.9", "the same for 4h"}},
        {{"forecast", "lulea", "--color", "always"}, {"▁▄ █", "the same for 4h"}},
        {{"forecast", "lulea", "--hours", "2", "--signal", "carbon"}, {"10    20   30", "09\n"}},
        {{"forecast", "lulea", "-o", "wide"}, {"average lifecycle", "3.1% to 1h, 4 g/kWh to 6h", "not measured"}},
        {{"forecast", "lulea", "-o", "csv", "--signal", "carbon"},
         {"site,signal,pool,time,value,p10,p90,issued_at,source,kind,factor,estimated",
          "lulea,carbon_g_per_kwh,,2026-03-01T02:00:00.000Z,30,20,44,2026-03-01T00:00:00.000Z,test,average,"
          "lifecycle,true"}},
        {{"forecast", "-o", "json", "--hours", "1"}, {"\"site\": \"lulea\"", "\"mean_ape_ratio\": 0.031"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        outcome_t outcome = play(RULES({"GET /v1/sites/lulea/forecast", 0, 200, NULL, forecast_of_lulea, WHOLE, 0},
                                       {"GET /v1/sites", 0, 200, NULL, "[{\"site\":\"lulea\"}]", WHOLE, 0}),
                                 cases[i].words);
        assert_int_equal(outcome.code, 0);
        for (size_t k = 0; cases[i].expected[k]; k++)
            if (!strstr(outcome.out, cases[i].expected[k]))
                fail_msg("case %zu: no '%s' in\n%s", i, cases[i].expected[k], outcome.out);
        end(&outcome);
    }
}

/*  What is over is not told: its first point goes on. */
static void forecast__of_short_steps_shows_the_current_step_as_now(void **state)
{
    (void)state;
    static const char series[] = "[{\"signal\":\"reserved_gpus\",\"pool\":\"a\",\"step_s\":900,\"points\":["
                                 "{\"time\":\"2026-03-01T00:30:00.000Z\",\"value\":0},"
                                 "{\"time\":\"2026-03-01T00:45:00.000Z\",\"value\":8},"
                                 "{\"time\":\"2026-03-01T01:00:00.000Z\",\"value\":0}]}]";
    outcome_t outcome =
        play(RULES({"GET /v1/sites/lulea/forecast", 0, 200, NULL, series, WHOLE, 0}), WORDS("forecast", "lulea"));
    assert_int_equal(outcome.code, 0);
    assert_non_null(strstr(outcome.out, "reserved    0  2.67  2.67"));
    end(&outcome);
}

/*  What a source foretells can reach further than the 48 hours that are shown by default. */
static void forecast__shows_as_many_hours_as_are_asked_for(void **state)
{
    (void)state;
    static const char series[] = "[{\"signal\":\"carbon_g_per_kwh\",\"step_s\":3600,\"points\":[" POINT(
        "00", "10", "") "," POINT("01", "20", "") ",{\"time\":\"2026-03-03T23:00:00.000Z\",\"value\":30}]}]";
    static const char line[] = "  04.....................................................................9\n";
    outcome_t outcome = play(RULES({"GET /v1/sites/lulea/forecast", 0, 200, NULL, series, WHOLE, 0}),
                             WORDS("forecast", "lulea", "--hours", "72"));
    assert_int_equal(sizeof line - 1, 2 + 72 + 1);
    assert_non_null(strstr(outcome.out, line));
    end(&outcome);
    outcome = play(RULES({"GET /v1/sites/lulea/forecast", 0, 200, NULL, series, WHOLE, 0}), WORDS("forecast", "lulea"));
    assert_non_null(strstr(outcome.out, "  09\n"));
    end(&outcome);
}

static void forecast__without_quantiles_has_no_column_for_them(void **state)
{
    (void)state;
    static const char series[] = "[{\"signal\":\"pue\",\"pool\":null,\"step_s\":3600,\"points\":[" POINT(
        "01", "1.2", "") "," POINT("02", "1.2", "") "]}]";
    outcome_t outcome =
        play(RULES({"GET /v1/sites/lulea/forecast", 0, 200, NULL, series, WHOLE, 0}), WORDS("forecast", "lulea"));
    assert_int_equal(outcome.code, 0);
    assert_null(strstr(outcome.out, "P10..P90"));
    assert_non_null(strstr(outcome.out, "the same for 2h"));
    end(&outcome);
}

static void forecast__of_a_site_without_series_says_so(void **state)
{
    (void)state;
    outcome_t outcome = play(RULES({"GET /v1/sites/lulea/forecast", 0, 200, NULL, "[]", WHOLE, 0}),
                             WORDS("forecast", "lulea", "--signal", "price"));
    expect(&outcome, 0, NULL, "lulea sends no forecast of price");
    end(&outcome);
    outcome = play(RULES({"GET /", 0, 200, NULL, "[]", WHOLE, 0}), WORDS("forecast", "--hours", "0"));
    expect(&outcome, 2, "", "from 1 to 192");
    end(&outcome);
    outcome = play(RULES({"GET /", 0, 200, NULL, "[]", WHOLE, 0}), WORDS("forecast", "--hours", "193"));
    expect(&outcome, 2, "", "must be from 1 to 192, as many as a series can have"); /* and not, silently, 192 */
    end(&outcome);
    /* a broker that lies: no times, no figures, times that go back */
    outcome = play(RULES({"GET /v1/sites/lulea/forecast", 0, 200, NULL,
                          "[{\"points\":[{\"time\":7},{\"value\":\"x\"}],\"signal\":\"odd\",\"step_s\":-4},{"
                          "\"points\":[" POINT("05", "1e300", "") "," POINT("01", "2", "") "," POINT(
                              "05", "3", "") "],\"step_s\":1e300}]",
                          WHOLE, 0}),
                   WORDS("forecast", "lulea"));
    assert_int_equal(outcome.code, 0);
    assert_non_null(strstr(outcome.out, "odd"));
    end(&outcome);
}

static void forecast__of_an_unknown_site_says_which_was_meant(void **state)
{
    (void)state;
    static const char *const sites[] = {"[{\"site\":\"oregon\"},{\"site\":\"lulea\"}]", "[{\"site\":\"oregon\"}]",
                                        "[]"};
    for (size_t i = 0; i < 3; i++) {
        outcome_t outcome = play(RULES({"GET /v1/sites/luela/forecast", 0, 404, NULL,
                                        "{\"title\":\"Not Found\",\"detail\":\"there is no site luela\"}", WHOLE, 0},
                                       {"GET /v1/sites", 0, 200, NULL, sites[i], WHOLE, 0}),
                                 WORDS("forecast", "luela"));
        expect(&outcome, HELIO_EXIT_NOT_FOUND, "", "there is no site luela");
        assert_int_equal(strstr(outcome.err, "did you mean 'lulea'?") != NULL, i == 0);
        end(&outcome);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forecast__of_an_unknown_site_says_which_was_meant),
        cmocka_unit_test(forecast__draws_one_line_per_series_and_keeps_the_figures),
        cmocka_unit_test(forecast__of_short_steps_shows_the_current_step_as_now),
        cmocka_unit_test(forecast__shows_as_many_hours_as_are_asked_for),
        cmocka_unit_test(forecast__without_quantiles_has_no_column_for_them),
        cmocka_unit_test(forecast__of_a_site_without_series_says_so),
    };
    /* The double is on this machine, whatever proxy the environment names. */
    (void)setenv("no_proxy", "*", 1);
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
