/*  test_why.c -- sentences that compare candidates: what is said, and that it agrees with the figures of the table. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "client/output/humanise.h"
#include "client/output/output.h"
#include "client/reasons/why.h"
#include "federation/base/rng.h"

static json_t *parsed(const char *text)
{
    json_error_t err;
    json_t *json = json_loads(text, 0, &err);
    if (!json)
        fail_msg("%s: %s", err.text, text);
    return json;
}

/* ---- differences ------------------------------------------------------------------------------------------- */

static const char *difference(const json_t *a, const json_t *b)
{
    static char text[256];
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
    helio_why_difference(a, b, &out);
    (void)snprintf(text, sizeof text, "%s", out.data ? out.data : "");
    return text;
}

/*  "the same" is said where the table prints the same text, and only there. */
static void difference__is_the_same_only_where_the_printed_figures_are(void **state)
{
    (void)state;
    static const struct {
        double cost_a, cost_b, carbon_a, carbon_b;
        const char *expected;
    } cases[] = {
        {12, 12, 500, 500, "the same cost, the same CO2e"},
        {12.001, 12.004, 500, 500, "the same cost, the same CO2e"}, /* both are printed as $12.00 */
        {12.004, 12.006, 500, 500, "$0.0020 less, the same CO2e"},  /* $12.00 and $12.01 */
        {12.01, 12.00, 500, 500, "$0.0100 more, the same CO2e"},
        {10, 53, 9900, 0, "$43.00 less, 9.9 kg CO2e more"},
        {53, 10, 0, 9900, "$43.00 more, 9.9 kg CO2e less"},
        {0, 0, 0, 0, "the same cost, the same CO2e"},
        {-1, 1, 100, 101, "$2.00 less, 1 g CO2e less"}, /* prices can be negative */
        {12, 12, 1000000, 1000001, "the same cost, the same CO2e"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_t *a = json_pack("{s:f, s:f}", "cost_usd", cases[i].cost_a, "carbon_g", cases[i].carbon_a);
        json_t *b = json_pack("{s:f, s:f}", "cost_usd", cases[i].cost_b, "carbon_g", cases[i].carbon_b);
        const char *told = difference(a, b);
        if (strcmp(told, cases[i].expected) != 0)
            fail_msg("case %zu: \"%s\", not \"%s\"", i, told, cases[i].expected);
        json_decref(a);
        json_decref(b);
    }
}

static void difference__of_missing_or_strange_figures_is_not_told(void **state)
{
    (void)state;
    static const char *const strange[] = {"{}",
                                          "[]",
                                          "null",
                                          "7",
                                          "{\"cost_usd\":1}",
                                          "{\"carbon_g\":1}",
                                          "{\"cost_usd\":\"1\",\"carbon_g\":1}",
                                          "{\"cost_usd\":null,\"carbon_g\":1}",
                                          "{\"cost_usd\":[1],\"carbon_g\":{}}"};
    json_t *whole = parsed("{\"cost_usd\":1,\"carbon_g\":2}");
    for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++) {
        json_t *json = json_loads(strange[i], JSON_DECODE_ANY, NULL);
        assert_string_equal(difference(json, whole), "");
        assert_string_equal(difference(whole, json), "");
        json_decref(json);
    }
    assert_string_equal(difference(NULL, whole), "");
    assert_string_equal(difference(whole, NULL), "");
    json_decref(whole);
}

/*  Random figures, near and far: the sentence never contradicts what the table would print. */
static void property__sentence_and_table_agree(void **state)
{
    (void)state;
    helio_rng_t rng = {7};
    for (int i = 0; i < 20000; i++) {
        double cost = (double)helio_rng_below(&rng, 2000000) / 10000;
        double other = cost + ((double)helio_rng_below(&rng, 400) - 200) / (i % 2 ? 10000 : 10);
        double carbon = (double)helio_rng_below(&rng, 5000000) / 1000;
        double carbon_other = carbon + ((double)helio_rng_below(&rng, 400) - 200) / (i % 3 ? 1000 : 1);
        char mine[HELIO_HUMAN_SIZE], theirs[HELIO_HUMAN_SIZE];
        json_t *a = json_pack("{s:f, s:f}", "cost_usd", cost, "carbon_g", carbon);
        json_t *b = json_pack("{s:f, s:f}", "cost_usd", other, "carbon_g", carbon_other);
        const char *told = difference(a, b);
        helio_human_money(cost, mine);
        helio_human_money(other, theirs);
        bool same = strcmp(mine, theirs) == 0;
        if (same != (strncmp(told, "the same cost", 13) == 0))
            fail_msg("%s and %s: %s", mine, theirs, told);
        if (!same && strstr(told, cost < other ? " less, " : " more, ") == NULL)
            fail_msg("%s and %s: %s", mine, theirs, told);
        helio_human_mass(carbon, mine);
        helio_human_mass(carbon_other, theirs);
        if ((strcmp(mine, theirs) == 0) != (strstr(told, "the same CO2e") != NULL))
            fail_msg("%s and %s: %s", mine, theirs, told);
        json_decref(a);
        json_decref(b);
    }
}

/* ---- who comes next ---------------------------------------------------------------------------------------- */

#define CANDIDATE(site, score, more) \
    "{\"site\":\"" site "\",\"pool\":\"a\",\"cost_usd\":" score ",\"carbon_g\":100,\"score_usd\":" score more "}"

/*  next: the site of helio_why_next_best; NULL = none. behind: helio_why_behind. */
static void next_best__is_one_that_could_have_been_chosen(void **state)
{
    (void)state;
    static const struct {
        const char *reply, *next, *behind;
    } cases[] = {
        {"{\"chosen\":\"north\",\"candidates\":[" CANDIDATE("north", "1", "") "," CANDIDATE(
             "south", "3", "") "," CANDIDATE("west", "2", "") "]}",
         "west", "west, $1.00 behind in score (money, carbon and waiting together)"},
        {"{\"chosen\":\"north\",\"candidates\":[" CANDIDATE("north", "1", "") "," CANDIDATE(
             "south", "2", ",\"reason\":\"Quota\"") "," CANDIDATE("west", "4", "") "]}",
         "west", "west, $3.00 behind in score (money, carbon and waiting together)"},
        {"{\"chosen\":\"north\",\"candidates\":[" CANDIDATE("north", "1", "") "," CANDIDATE(
             "south", "2", ",\"reason\":\"NoCapacity\"") "]}",
         NULL, ""},
        {"{\"chosen\":\"north\",\"candidates\":[" CANDIDATE("north", "1", "") "," CANDIDATE("south", "1.001", "") "]}",
         "south", "south, equal in score (money, carbon and waiting together)"},
        {"{\"chosen\":\"south\",\"candidates\":[" CANDIDATE("north", "1", "") "," CANDIDATE("south", "2", "") "]}",
         "north",
         "north, $1.00 ahead in score (money, carbon and waiting together); the table says why it was not chosen"},
        /* taken by equal jobs of the same round: that is not the alternative */
        {"{\"chosen\":\"south\",\"first_choice\":\"north\",\"first_choice_pool\":\"a\",\"candidates\":[" CANDIDATE(
             "north", "1", "") "," CANDIDATE("south", "2", "") "," CANDIDATE("west", "5", "") "]}",
         "west", "west, $3.00 behind in score (money, carbon and waiting together)"},
        {"{\"chosen\":null,\"candidates\":[" CANDIDATE("north", "1", "") "," CANDIDATE("south", "2", "") "]}", "north",
         ""},
        {"{\"chosen\":\"north\",\"candidates\":[{\"site\":\"south\",\"pool\":\"a\"}]}", NULL, ""},
        {"{\"chosen\":\"north\",\"candidates\":[7,null,\"x\",[]]}", NULL, ""},
        {"{\"chosen\":\"north\",\"candidates\":7}", NULL, ""},
        {"{}", NULL, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_t *reply = parsed(cases[i].reply);
        const json_t *next = helio_why_next_best(reply);
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t behind = {0};
        if (cases[i].next ? !next || strcmp(helio_output_string(next, "site"), cases[i].next) != 0 : next != NULL)
            fail_msg("case %zu: %s", i, next ? helio_output_string(next, "site") : "none");
        helio_why_behind(reply, &behind);
        if (strcmp(behind.data ? behind.data : "", cases[i].behind) != 0)
            fail_msg("case %zu: %s", i, behind.data);
        json_decref(reply);
    }
}

/*  A term counts if its figures differ visibly; a broker of the release before calls one of them otherwise. */
static void behind__names_the_terms_that_differ_with_their_signs(void **state)
{
    (void)state;
    static const struct {
        const char *own, *theirs, *expected; /* terms of the chosen and of the next */
    } cases[] = {
        {"\"money\":10", "\"money\":53", ": money +$43.00"},
        {"\"money\":10,\"carbon\":5", "\"money\":53,\"carbon\":3", ": money +$43.00, carbon -$2.00"},
        {"\"money\":10,\"carbon\":5", "\"money\":53,\"carbon\":5.001", ": money +$43.00"},
        {"\"shadow\":0", "\"shadow\":1", ": scarce GPUs +$1.00"},
        {"\"wait\":0", "\"wait\":1", ": waiting +$1.00"},
        {"\"disruption\":0,\"move\":0", "\"disruption\":2,\"move\":2", ": disruption +$2.00"},
        {"\"move\":0", "\"move\":2", ": disruption +$2.00"},
        {"\"money\":10", "\"money\":\"x\"", " (money, carbon and waiting together)"},
        {"\"money\":10", "", " (money, carbon and waiting together)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[1024], expected[256];
        (void)snprintf(
            text, sizeof text,
            "{\"chosen\":\"north\",\"candidates\":[{\"site\":\"north\",\"pool\":\"a\",\"score_usd\":1,\"terms\":{%s}},"
            "{\"site\":\"south\",\"pool\":\"a\",\"score_usd\":2,\"terms\":{%s}}]}",
            cases[i].own, cases[i].theirs);
        (void)snprintf(expected, sizeof expected, "south, $1.00 behind in score%s", cases[i].expected);
        json_t *reply = parsed(text);
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t behind = {0};
        helio_why_behind(reply, &behind);
        assert_string_equal(behind.data, expected);
        json_decref(reply);
    }
}

/* ---- rows -------------------------------------------------------------------------------------------------- */

static json_t *rows_of(const char *reply, double flexible_s)
{
    json_t *json = parsed(reply), *rows = helio_why_rows(json, flexible_s);
    json_decref(json);
    return rows;
}

static const json_t *row_of(const json_t *rows, const char *site)
{
    size_t i;
    const json_t *row;
    json_array_foreach(rows, i, row)
    {
        if (strcmp(helio_output_string(row, "site"), site) == 0)
            return row;
    }
    return NULL;
}

static const char *why_of(const json_t *rows, const char *site)
{
    return helio_output_string(row_of(rows, site), "why");
}

static void rows__say_why_each_candidate_was_or_was_not_chosen(void **state)
{
    (void)state;
    static const struct {
        const char *reply;
        double flexible_s;
        const char *north, *south; /* why, in the table */
    } cases[] = {
        {"{\"chosen\":\"north\",\"candidates\":[" CANDIDATE("north", "1", "") "," CANDIDATE("south", "3", "") "]}", 0,
         "cheapest and cleanest", "+$2.00"},
        {"{\"chosen\":\"north\",\"candidates\":[" CANDIDATE("north", "1", "") "," CANDIDATE("south", "1.001", "") "]}",
         0, "cheapest and cleanest", "same cost, same CO2e"},
        {"{\"chosen\":\"north\",\"candidates\":[" CANDIDATE("north", "1", "") "," CANDIDATE("south", "1", "") "]}", 0,
         "equal to the next best", "same cost, same CO2e"},
        {"{\"chosen\":\"north\",\"candidates\":[" CANDIDATE("north", "1", "") "," CANDIDATE(
             "south", "3", ",\"reason\":\"Quota\",\"detail\":\"7 of 8 GPUs in use\"") "]}",
         0, "the only one that can run it", "Quota: 7 of 8 GPUs in use"},
        {"{\"chosen\":\"south\",\"candidates\":[" CANDIDATE("north", "1", ",\"detail\":\"late\"") "," CANDIDATE(
             "south", "3", "") "]}",
         0, "-$2.00; late", "ranked first"},
        {"{\"chosen\":\"south\",\"candidates\":[" CANDIDATE("north", "1", "") "," CANDIDATE("south", "3", "") "]}", 0,
         "-$2.00", "ranked first"},
        {"{\"chosen\":\"south\",\"candidates\":[" CANDIDATE(
             "north", "1",
             ",\"detail\":\"x\",\"details\":[{\"code\":\"GPUNamedLater\",\"params\":{}}]") "," CANDIDATE("south", "3",
                                                                                                         "") "]}",
         0, "-$2.00; x", "its GPU model comes first in `gpu`"},
        {"{\"chosen\":\"south\",\"candidates\":[" CANDIDATE(
             "north", "1",
             ",\"detail\":\"x\",\"details\":[{\"code\":\"SiteLate\",\"params\":{}}]") "," CANDIDATE("south", "3",
                                                                                                    "") "]}",
         0, "-$2.00; x", "best of the others"},
        {"{\"chosen\":\"south\",\"first_choice\":\"north\",\"first_choice_pool\":\"a\",\"candidates\":[" CANDIDATE(
             "north", "1", "") "," CANDIDATE("south", "3", "") "]}",
         0, "taken by similar jobs", "best of those with capacity left"},
        {"{\"chosen\":\"north\",\"reason\":\"WaitingForWindow\",\"candidates\":[" CANDIDATE(
             "north", "1", "") "," CANDIDATE("south", "3", "") "]}",
         7200, "cheapest and cleanest within the 2h00m that it may wait", "+$2.00"},
        {"{\"reason\":\"PolicyCap\",\"details\":[{\"code\":\"QuotaInUse\",\"params\":{}}],\"candidates\":[" CANDIDATE(
             "north", "1", "") "," CANDIDATE("south", "3", "") "]}",
         0, "Quota", "Quota"},
        {"{\"reason\":\"PolicyCap\",\"details\":[{\"code\":\"BudgetTooSmall\",\"params\":{}}],\"candidates\":[" CANDIDATE(
             "north", "1", "") "," CANDIDATE("south", "3", "") "]}",
         0, "Budget", "Budget"},
        {"{\"reason\":\"WaitingForCapacity\",\"candidates\":[" CANDIDATE("north", "1", "") "," CANDIDATE("south", "3",
                                                                                                         "") "]}",
         0, "could run it", "could run it"},
        /* what the headline says already is not said again */
        {"{\"reason\":\"NeverFits\",\"details\":[{\"code\":\"PoolHasNoGPU\",\"params\":{}}],\"candidates\":[" CANDIDATE(
             "north", "0",
             ",\"reason\":\"NoSuchGPU\",\"detail\":\"has no GPUs\",\"details\":[{\"code\":\"PoolHasNoGPU\","
             "\"params\":{}}]") "," CANDIDATE("south", "0", ",\"reason\":\"TooSmall\",\"detail\":\"has 1 node\"") "]}",
         0, "NoSuchGPU", "TooSmall: has 1 node"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_t *rows = rows_of(cases[i].reply, cases[i].flexible_s);
        assert_int_equal(json_array_size(rows), 2);
        if (strcmp(why_of(rows, "north"), cases[i].north) != 0 || strcmp(why_of(rows, "south"), cases[i].south) != 0)
            fail_msg("case %zu: \"%s\", \"%s\"", i, why_of(rows, "north"), why_of(rows, "south"));
        json_decref(rows);
    }
}

/*  An impossible start costs nothing and has no hour; what was computed is shown. */
static void rows__of_rejected_candidates_have_figures_only_if_some_were_computed(void **state)
{
    (void)state;
    json_t *rows = rows_of(
        "{\"candidates\":["
        "{\"site\":\"a\",\"reason\":\"TooSmall\",\"start\":\"2026-03-01T00:00:00Z\",\"cost_usd\":0,\"energy_kwh\":0,\"carbon_g\":0,"
        "\"score_usd\":0},"
        "{\"site\":\"b\",\"reason\":\"CostCap\",\"start\":\"2026-03-01T00:00:00Z\",\"cost_usd\":12,\"energy_kwh\":5,\"carbon_g\":0,"
        "\"score_usd\":12},"
        "{\"site\":\"c\",\"start\":\"2026-03-01T00:00:00Z\",\"cost_usd\":0,\"energy_kwh\":0,\"carbon_g\":0,\"score_usd\":0},"
        "7]}",
        0);
    assert_int_equal(json_array_size(rows), 3);
    assert_null(json_object_get(row_of(rows, "a"), "cost_usd"));
    assert_null(json_object_get(row_of(rows, "a"), "start"));
    assert_non_null(json_object_get(row_of(rows, "b"), "cost_usd"));
    assert_null(json_object_get(row_of(rows, "b"), "start"));
    assert_non_null(json_object_get(row_of(rows, "c"), "cost_usd"));
    assert_non_null(json_object_get(row_of(rows, "c"), "start"));
    json_decref(rows);
}

/*  What waits for a better hour could start elsewhere at once: the past start of its decision means now, unless the
 *  decision expected it later than at once. */
static void rows__of_a_job_that_waits_for_an_hour_say_where_it_could_start_now(void **state)
{
    (void)state;
    static const struct {
        const char *reason, *more, *start;
    } cases[] = {
        {"WaitingForWindow", "", "2026-03-01T12:00:00.000Z"},
        {"WaitingForWindow", ",\"reason\":\"NoCapacity\"", NULL},
        {"WaitingForCapacity", "", NULL},
    };
    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        char reply[512];
        bool later = i % 2;
        (void)snprintf(reply, sizeof reply,
                       "{\"state\":\"queued\",\"reason\":\"%s\",\"decided_at\":\"2026-03-01T11:00:00.000Z\","
                       "\"expected\":{\"at\":\"2026-03-01T12:00:00.000Z\"},"
                       "\"candidates\":[{\"site\":\"a\",\"start\":\"2026-03-01T11:%s:00.000Z\"%s}]}",
                       cases[i / 2].reason, later ? "30" : "00", cases[i / 2].more);
        json_t *rows = rows_of(reply, 0);
        const char *start = json_string_value(json_object_get(json_array_get(rows, 0), "start"));
        if (later || !cases[i / 2].start)
            assert_null(start);
        else
            assert_string_equal(start, cases[i / 2].start);
        json_decref(rows);
    }
}

/*  A job that still waits is not told of times that its old decision expected and that have passed. */
static void rows__of_a_waiting_job_name_no_time_that_has_passed(void **state)
{
    (void)state;
    static const char reply[] =
        "{\"state\":\"%s\",\"expected\":{\"at\":\"2026-03-01T02:00:00Z\"},\"candidates\":[{\"site\":\"a\",\"pool\":\"a\","
        "\"start\":\"%s\",\"reason\":\"NoCapacity\",\"detail\":\"no GPU is free before 2026-03-01T01:00Z\",\"details\":[{\"code\":"
        "\"NoGPUFree\",\"params\":{\"until\":\"%s\"}}]}]}";
    static const struct {
        const char *state, *until, *why;
    } cases[] = {
        {"queued", "2026-03-01T01:00:00Z", "NoCapacity: no GPU is free"},
        {"held", "2026-03-01T01:00:00Z", "NoCapacity: no GPU is free"},
        {"queued", "2026-03-01T03:00:00Z", "NoCapacity: no GPU is free before 2026-03-01T01:00Z"},
        {"running", "2026-03-01T01:00:00Z", "NoCapacity: no GPU is free before 2026-03-01T01:00Z"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[1024];
        (void)snprintf(text, sizeof text, reply, cases[i].state, cases[i].until, cases[i].until);
        json_t *rows = rows_of(text, 0);
        assert_string_equal(why_of(rows, "a"), cases[i].why);
        json_decref(rows);
    }
}

/* ---- the expected run -------------------------------------------------------------------------------------- */

static void rows__are_in_the_order_of_the_scores(void **state)
{
    (void)state;
    json_t *reply = parsed("{\"chosen\":\"d\",\"candidates\":["
                           "{\"site\":\"z\",\"score_usd\":0,\"reason\":\"NoSuchGPU\"},"
                           "{\"site\":\"a\",\"score_usd\":9},"
                           "{\"site\":\"f\",\"score_usd\":7,\"reason\":\"NoCapacity\"},"
                           "{\"site\":\"b\",\"score_usd\":3}, 7,"
                           "{\"site\":\"e\",\"score_usd\":1,\"reason\":\"NoCapacity\"},"
                           "{\"site\":\"d\",\"score_usd\":4},"
                           "{\"site\":\"c\",\"score_usd\":3},"
                           "{\"site\":\"y\",\"score_usd\":0,\"reason\":\"Residency\"},"
                           "{\"site\":\"x\",\"reason\":\"Residency\"}]}");
    json_t *rows = helio_why_rows(reply, 0), *row;
    char order[32] = "";
    size_t i, used = 0;
    json_array_foreach(rows, i, row) used +=
        (size_t)snprintf(order + used, sizeof order - used, "%s", helio_output_string(row, "site"));
    assert_string_equal(order, "dbcaefxyz"); /* equal ones as they came; without a score by name */
    json_decref(rows);
    json_decref(reply);
}

static void run__tells_what_the_estimate_rests_on(void **state)
{
    (void)state;
    static const struct {
        const char *reply, *expected;
    } cases[] = {
        {"{\"time_limit_s\":21600,\"run\":{\"duration_s\":2520,\"duration_p90_s\":4200,\"runs\":17,\"failed\":0,\"basis\":\"name\","
         "\"of\":\"finetune\"}}",
         "42m (90% of runs within 1h10m), from 17 runs of finetune; time limit 6h00m"},
        {"{\"run\":{\"duration_s\":60,\"duration_p90_s\":60,\"runs\":1,\"failed\":1,\"basis\":\"user\",\"of\":\"ada\"}}",
         "1m (90% of runs within 1m), from 1 run of user ada; 1 similar run failed or was cancelled recently"},
        {"{\"run\":{\"duration_s\":60,\"duration_p90_s\":60,\"runs\":2,\"failed\":2,\"basis\":\"kind\",\"of\":\"train\"}}",
         "1m (90% of runs within 1m), from 2 runs of kind train; 2 similar runs failed or were cancelled recently"},
        {"{\"run\":{\"duration_s\":60,\"duration_p90_s\":60,\"runs\":2,\"basis\":\"user\",\"of\":\"\"}}",
         "1m (90% of runs within 1m), from 2 runs of user -"},
        {"{\"reason\":\"NeverFits\",\"run\":{\"duration_s\":60,\"duration_p90_s\":60,\"runs\":2,\"basis\":\"user\"}}",
         ""},
        {"{\"run\":null}", ""},
        {"{\"run\":{}}", ""},
        {"{\"run\":{\"duration_s\":\"60\",\"duration_p90_s\":60,\"runs\":2}}", ""},
        {"{}", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_t *reply = parsed(cases[i].reply);
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
        helio_why_run(reply, &out);
        assert_string_equal(out.data ? out.data : "", cases[i].expected);
        json_decref(reply);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(difference__is_the_same_only_where_the_printed_figures_are),
        cmocka_unit_test(difference__of_missing_or_strange_figures_is_not_told),
        cmocka_unit_test(property__sentence_and_table_agree),
        cmocka_unit_test(next_best__is_one_that_could_have_been_chosen),
        cmocka_unit_test(behind__names_the_terms_that_differ_with_their_signs),
        cmocka_unit_test(rows__say_why_each_candidate_was_or_was_not_chosen),
        cmocka_unit_test(rows__of_rejected_candidates_have_figures_only_if_some_were_computed),
        cmocka_unit_test(rows__of_a_job_that_waits_for_an_hour_say_where_it_could_start_now),
        cmocka_unit_test(rows__of_a_waiting_job_name_no_time_that_has_passed),
        cmocka_unit_test(rows__are_in_the_order_of_the_scores),
        cmocka_unit_test(run__tells_what_the_estimate_rests_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
