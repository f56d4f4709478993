/*  test_report.c -- the page: complete, of itself alone, and with names of files as text. */
#include "tests/unit/simulator/experiment/world_testing.h"

#include "simulator/experiment/bound.h"
#include "simulator/experiment/report.h"

static uint32_t count_of(const char *text, const char *part)
{
    uint32_t found = 0;
    for (const char *at = text; (at = strstr(at, part)); at++)
        found++;
    return found;
}

/*  Of two policies, over jobs of two teams. */
static const char *page_with(const char *teams[2], bool with_bounds)
{
    static const char *const policies[] = {"isolated", "least-wait"};
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t rows = {0}, page = {0};
    exp_result_t results[2];
    exp_classes_t classes;
    helio_buffer_text(&rows, "submit_unix,duration_s,gpus,home_site,team\n");
    for (int i = 0; i < 40; i++)
        helio_buffer_printf(&rows, "%lld,%d,8,%s,\"%s\"\n", (long long)T0 + 400 * i, 1800 + 600 * (i % 7),
                            i % 3 ? "north" : "south", teams[i % 2]);
    helio_buffer_append(&rows, "", 1);
    load(rows.data);
    world.detailed = true;
    exp_classes_init(&classes, &fleet, &trace);
    world.classes = with_bounds ? &classes : NULL;
    for (int i = 0; i < 2; i++)
        exp_run(&world, exp_policy_find(helio_text_of(policies[i])), NULL, NULL, &results[i]);
    if (with_bounds)
        exp_bounds_find(&world, results, 2);
    exp_report(results, 2, &world, "helio simulate --jobs '<jobs>.csv'", &page);
    for (int i = 0; i < 2; i++)
        exp_result_clear(&results[i]);
    exp_classes_clear(&classes);
    assert_false(page.overflow);
    return helio_arena_string(arena, helio_buffer_view(&page));
}

static const char *page_of(const char *teams[2])
{
    return page_with(teams, false);
}

static void page__asks_for_nothing_from_anywhere(void **state)
{
    (void)state;
    const char *page = page_of((const char *[2]){"red", "blue"});
    static const char *const forbidden[] = {"http:",   "https:",  "//",    "src=", "url(",
                                            "@import", "<script", "<link", "<img"};
    for (size_t i = 0; i < sizeof forbidden / sizeof forbidden[0]; i++)
        if (strstr(page, forbidden[i]))
            fail_msg("the page has '%s'", forbidden[i]);
}

static void page__has_the_plots_of_each_policy(void **state)
{
    (void)state;
    const char *page = page_of((const char *[2]){"red", "blue"});
    assert_int_equal(count_of(page, "<section class=\"policy\""), 2);
    assert_int_equal(count_of(page, "<h3>Utilisation over time, by site</h3>"), 2);
    assert_int_equal(count_of(page, "<h3>Carbon, each 1 h, by site</h3>"), 2);
    assert_int_equal(count_of(page, "<h3>Cost, each 1 h, by site</h3>"), 2);
    assert_int_equal(count_of(page, "<h3>Where jobs went, by the hour of the day</h3>"), 2);
    assert_int_equal(count_of(page, "<h2>How long jobs waited</h2>"), 1);
    assert_int_equal(count_of(page, "<h3>Teams that lost most</h3>"), 1); /* isolated, against least-wait */
    assert_int_equal(count_of(page, "<svg "), 9);
    assert_int_equal(count_of(page, "</svg>"), 9);
    assert_int_equal(count_of(page, "nan"), 0);
    assert_int_equal(count_of(page, "inf"), 0);
    static const char *const needed[] = {"north",       "south", "west", ">red<", ">blue<", "prefers-color-scheme:dark",
                                         "@media print"};
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
        if (!strstr(page, needed[i]))
            fail_msg("the page has no '%s'", needed[i]);
}

static void page__shows_names_as_they_are_written(void **state)
{
    (void)state;
    const char *page = page_of((const char *[2]){"<img onerror=x>", "a&b"});
    assert_null(strstr(page, "<img"));
    assert_null(strstr(page, "<jobs>"));
    assert_non_null(strstr(page, "&lt;img onerror=x&gt;"));
    assert_non_null(strstr(page, "a&amp;b"));
    assert_non_null(strstr(page, "&lt;jobs&gt;.csv"));
}

static void page__says_what_was_possible_if_bounds_are_wanted(void **state)
{
    (void)state;
    const char *teams[] = {"red", "blue"}, *sentence = "<p>No schedule that does this work by 2023-10-0";
    assert_int_equal(count_of(page_with(teams, true), sentence), 1);
    assert_int_equal(count_of(page_with(teams, true), "<td class=\"good\">+0.0 % (0 %)</td>"), 2); /* least-wait */
    assert_int_equal(count_of(page_with(teams, true), "(and of what is possible)"), 1);
    assert_int_equal(count_of(page_of(teams), sentence), 0);
    assert_int_equal(count_of(page_of(teams), "(0 %)"), 0);
}

/*  What the hours sum up to is what the rows say. */
static void hours__sum_up_to_the_row(void **state)
{
    (void)state;
    load_many(5, 60);
    world.detailed = true;
    run("greenest");
    double grams = 0, usd = 0, gpu_hours = 0, team_hours = 0;
    uint32_t starts = 0;
    for (uint32_t i = 0; i < result.detail.hours * fleet.count; i++) {
        grams += result.detail.cells[i].grams;
        usd += result.detail.cells[i].usd;
        gpu_hours += result.detail.cells[i].gpu_hours;
    }
    for (uint32_t site = 0; site < fleet.count; site++)
        for (uint32_t hour = 0; hour < EXP_DAY_HOURS; hour++)
            starts += result.detail.starts[site][hour];
    for (uint32_t i = 0; i < result.detail.team_count; i++)
        team_hours += result.detail.teams[i].gpu_hours;
    assert_true(fabs(grams / result.grams - 1) < 1e-9 && fabs(usd / result.usd - 1) < 1e-9);
    assert_true(fabs(gpu_hours / team_hours - 1) < 1e-9 && gpu_hours > 0);
    assert_int_equal(starts, result.placements);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_WORLD(page__asks_for_nothing_from_anywhere),
        IN_WORLD(page__says_what_was_possible_if_bounds_are_wanted),
        IN_WORLD(page__has_the_plots_of_each_policy),
        IN_WORLD(page__shows_names_as_they_are_written),
        IN_WORLD(hours__sum_up_to_the_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
