/*  test_plan.c -- when an elastic pool grows and shrinks: it never exceeds its maximum, never ends a node with a job,
 *  and acts only on a fresh list of its nodes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "site-agent/scale/plan.h"

enum { SECOND = 1000, MINUTE = 60000 };

static helio_scale_rule_t rule;
static helio_scale_pool_t pool;
static int64_t now;
static uint32_t waiting; /* at the engine */

static int begin(void **state)
{
    (void)state;
    rule = (helio_scale_rule_t){
        .up_above = 0, .up_for_ms = 10 * SECOND, .down_below = 1, .down_for_ms = 5 * MINUTE, .min = 0, .max = 4};
    pool = (helio_scale_pool_t){
        .rule = &rule, .provision_ms = 2 * MINUTE, .items = helio_new(HELIO_SCALE_INSTANCES_MAX, sizeof *pool.items)};
    now = 1000000;
    waiting = 0;
    return 0;
}

static int end(void **state)
{
    (void)state;
    free(pool.items);
    return 0;
}

static void list(const char *answer)
{
    helio_error_t err;
    assert_int_equal(helio_scale_list(&pool, helio_text_of(answer), now, &err), HELIO_OK);
}

/*  Names of nodes, those with a job in capitals. */
static void nodes(const char *names)
{
    helio_scale_nodes_begin(&pool);
    for (; *names; names++) {
        char name[2] = {(char)(*names | 0x20), '\0'};
        helio_scale_node(&pool, helio_text_of(name), !(*names & 0x20));
    }
    helio_scale_nodes_end(&pool, waiting, now);
}

/*  Steps of a second, each with the same demand and nodes, until something is done or the time is over. */
static helio_scale_step_t within(int64_t ms, uint32_t demand, const char *names)
{
    helio_scale_step_t step = {0};
    for (int64_t until = now + ms; now < until && !step.act; now += SECOND) {
        helio_scale_demand(&pool, demand, now);
        nodes(names);
        step = helio_scale_decide(&pool, now);
    }
    return step;
}

static void assert_creates(helio_scale_step_t step, uint32_t count)
{
    assert_int_equal(step.act, HELIO_SCALE_CREATE);
    assert_int_equal(step.count, count);
}

static void assert_nothing(helio_scale_step_t step)
{
    assert_int_equal(step.act, HELIO_SCALE_NOTHING);
}

static void plan__grows_for_what_lasts_and_never_above_its_maximum(void **state)
{
    (void)state;
    assert_nothing(within(MINUTE, 9, "")); /* nothing was listed */
    list("");
    pool.above_ms = 0;
    assert_nothing(within(9 * SECOND, 9, ""));
    assert_creates(within(3 * SECOND, 9, ""), 4);
    assert_nothing(within(MINUTE, 9, "")); /* before the next list */
    list("a\nb\nc\nd\n");
    assert_nothing(within(MINUTE, 9, "a"));
}

static void plan__what_comes_is_not_created_again(void **state)
{
    (void)state;
    list("");
    assert_creates(within(MINUTE, 2, ""), 2);
    list(""); /* the provider's list lags */
    assert_nothing(within(MINUTE, 2, ""));
    list("a starting\n");
    assert_nothing(within(SECOND, 2, ""));
    list("a\nb\n");
    assert_nothing(within(MINUTE, 2, ""));
    list("a\nb\n");
    assert_creates(within(MINUTE, 2, "AB"), 2); /* two more are wanted beside these */
}

static void plan__creates_again_what_never_came(void **state)
{
    (void)state;
    list("");
    assert_creates(within(MINUTE, 1, ""), 1);
    now += 5 * MINUTE;
    list("");
    assert_creates(within(MINUTE, 1, ""), 1);
}

static void plan__small_demand_is_left_alone(void **state)
{
    (void)state;
    rule.up_above = 2;
    list("");
    assert_nothing(within(10 * MINUTE, 2, ""));
    assert_creates(within(MINUTE, 3, ""), 3);
}

static void plan__an_idle_instance_leaves_before_it_ends(void **state)
{
    (void)state;
    list("a\nb\n");
    assert_nothing(within(20 * MINUTE, 0, "AB"));
    assert_nothing(within(4 * MINUTE, 0, "Ab"));
    assert_int_equal(helio_scale_leaving(&pool), 0);
    assert_nothing(within(MINUTE + 4 * SECOND, 0, "Ab"));
    assert_int_equal(helio_scale_leaving(&pool), 1);
    helio_scale_step_t step = within(MINUTE, 0, "Ab");
    assert_int_equal(step.act, HELIO_SCALE_DELETE);
    assert_string_equal(step.name, "b");
    list("a\nb ending\n");
    assert_nothing(within(20 * MINUTE, 0, "A"));
}

static void plan__an_order_keeps_what_was_about_to_leave(void **state)
{
    (void)state;
    list("a\n");
    assert_nothing(within(5 * MINUTE + 4 * SECOND, 0, "a"));
    assert_int_equal(helio_scale_leaving(&pool), 1);
    helio_scale_order(&pool, now);
    assert_int_equal(helio_scale_leaving(&pool), 0);
    assert_nothing(within(4 * MINUTE, 0, "a"));
    assert_nothing(within(MINUTE, 1, "a")); /* wanted: it stays */
    assert_int_equal(helio_scale_leaving(&pool), 0);
}

static void plan__what_is_billed_and_never_became_a_node_ends(void **state)
{
    (void)state;
    list("lost\n"); /* as after a restart of the agent */
    helio_scale_step_t step = within(6 * MINUTE, 0, "");
    assert_int_equal(step.act, HELIO_SCALE_DELETE);
    assert_string_equal(step.name, "lost");
}

static void plan__a_restarted_agent_ends_nothing_before_it_knows_the_nodes(void **state)
{
    (void)state;
    rule.down_for_ms = 0;
    list("a\n");
    for (int i = 0; i < 600; i++, now += SECOND)
        assert_nothing(helio_scale_decide(&pool, now));
    nodes("A");
    assert_nothing(helio_scale_decide(&pool, now));
}

static void plan__nothing_that_has_just_been_listed_ends_before_its_jobs_are_known(void **state)
{
    (void)state;
    rule.max = 1;
    rule.down_for_ms = 0;
    nodes("A"); /* before the first list */
    list("a\nb\n");
    assert_nothing(helio_scale_decide(&pool, now));
    helio_scale_step_t step = within(MINUTE, 0, "A");
    assert_int_equal(step.act, HELIO_SCALE_DELETE);
    assert_string_equal(step.name, "b");
}

static void plan__a_node_that_joins_is_not_created_twice(void **state)
{
    (void)state;
    rule.up_for_ms = 0;
    list("");
    assert_creates(within(MINUTE, 1, ""), 1);
    list("a\n");
    assert_nothing(within(2 * SECOND, 1, ""));
    assert_nothing(within(2 * SECOND, 1, "a"));
    assert_nothing(within(3 * SECOND, 1, "A")); /* the job that wanted the node runs, but the demand still counts it */
    assert_nothing(within(MINUTE, 0, "A"));
    assert_creates(within(MINUTE, 1, "A"), 1); /* another one wants a node */
}

static void plan__nothing_ends_while_the_engine_is_silent(void **state)
{
    (void)state;
    list("a\n");
    nodes("a"); /* a job can have begun there since */
    for (int i = 0; i < 3600; i++, now += SECOND)
        assert_nothing(helio_scale_decide(&pool, now));
    assert_int_equal(within(MINUTE, 0, "a").act, HELIO_SCALE_DELETE);
}

static void plan__a_broker_that_is_silent_wants_nothing(void **state)
{
    (void)state;
    list("a\n");
    assert_nothing(within(SECOND, 4, "a"));
    bool ended = false;
    for (int i = 0; i < 600 && !ended; i++, now += SECOND) {
        nodes("a");
        helio_scale_step_t step = helio_scale_decide(&pool, now);
        ended = step.act == HELIO_SCALE_DELETE;
        if (step.act == HELIO_SCALE_CREATE)
            list("a\n");
    }
    assert_true(ended);
}

static void plan__keeps_the_minimum_and_gives_up_what_is_above_the_maximum(void **state)
{
    (void)state;
    rule.min = 1;
    list("");
    assert_creates(within(2 * SECOND, 0, ""), 1);
    list("a\n");
    assert_nothing(within(20 * MINUTE, 0, "a"));
    list("a\nb\nc\nd\ne\n");
    helio_scale_step_t step = within(MINUTE, 9, "ABCDe");
    assert_int_equal(step.act, HELIO_SCALE_DELETE);
    assert_string_equal(step.name, "e");
}

static void plan__backs_off_after_failures(void **state)
{
    (void)state;
    list("");
    assert_creates(within(MINUTE, 1, ""), 1);
    helio_scale_ended(&pool, false, now);
    now += 10 * MINUTE;
    pool.due = 0;
    list("");
    for (int i = 0; i < 4; i++)
        helio_scale_ended(&pool, false, now);
    assert_nothing(within(30 * SECOND, 1, ""));
    assert_creates(within(2 * MINUTE, 1, ""), 1);
    helio_scale_ended(&pool, true, now);
    assert_int_equal(pool.failures, 0);
}

static void plan__an_instance_that_is_taken_away_counts_as_no_help(void **state)
{
    (void)state;
    rule.up_for_ms = 0;
    list("a interrupted\nb\n");
    assert_true(helio_scale_is_taken(&pool, HELIO_TEXT("a")));
    assert_false(helio_scale_is_taken(&pool, HELIO_TEXT("b")));
    nodes("ab");
    now += MINUTE;
    assert_nothing(within(2 * SECOND, 1, "ab")); /* b is enough */
    list("a interrupted\nb\n");
    assert_creates(within(2 * SECOND, 2, "ab"), 1); /* nothing starts on a */
    list("a interrupted\nb\nc\n");
    rule.max = 3;
    assert_nothing(within(MINUTE, 4, "aBC")); /* it is still billed */
}

static void plan__grows_for_what_waits_at_the_engine(void **state)
{
    (void)state;
    list("a interrupted\nb\n");
    waiting = 1; /* it was to run on a */
    assert_nothing(within(9 * SECOND, 0, "AB"));
    assert_creates(within(10 * SECOND, 0, "AB"), 1);
    list("a ending\nb\nc\n");
    assert_nothing(within(MINUTE, 0, "B")); /* c comes */
    waiting = 0;
    assert_nothing(within(MINUTE, 0, "BC"));
}

static void plan__an_instance_that_is_taken_away_is_told_once(void **state)
{
    (void)state;
    list("a\nb interrupted\n");
    assert_string_equal(helio_scale_news(&pool), "b");
    assert_null(helio_scale_news(&pool));
    helio_scale_notices_begin(&pool);
    helio_scale_notice(&pool, HELIO_TEXT("a"));
    helio_scale_notice(&pool, HELIO_TEXT("nobody"));
    assert_true(helio_scale_is_taken(&pool, HELIO_TEXT("a")));
    assert_string_equal(helio_scale_news(&pool), "a");
    list("a\nb interrupted\n"); /* the list says nothing of a notice */
    assert_null(helio_scale_news(&pool));
    helio_scale_notices_begin(&pool); /* the file is gone: it was called off */
    assert_false(helio_scale_is_taken(&pool, HELIO_TEXT("a")));
    assert_null(helio_scale_news(&pool));
    helio_scale_notice(&pool, HELIO_TEXT("a"));
    assert_string_equal(helio_scale_news(&pool), "a");
}

static void plan__an_answer_that_is_no_list_counts_as_none(void **state)
{
    (void)state;
    helio_error_t err;
    list("a\n\n  b   running t4\n");
    assert_int_equal(pool.count, 2);
    static const char *const bad[] = {"a\n--all\n", "a;b\n", "\x01\n", "Error:\xc3\xa4\n",
                                      "0123456789012345678901234567890123456789012345678901234567890123\n"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(helio_scale_list(&pool, helio_text_of(bad[i]), now, &err), HELIO_INVALID);
        assert_int_equal(pool.count, 2);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(plan__grows_for_what_lasts_and_never_above_its_maximum),
        CASE(plan__what_comes_is_not_created_again),
        CASE(plan__creates_again_what_never_came),
        CASE(plan__small_demand_is_left_alone),
        CASE(plan__an_idle_instance_leaves_before_it_ends),
        CASE(plan__an_order_keeps_what_was_about_to_leave),
        CASE(plan__what_is_billed_and_never_became_a_node_ends),
        CASE(plan__a_restarted_agent_ends_nothing_before_it_knows_the_nodes),
        CASE(plan__nothing_that_has_just_been_listed_ends_before_its_jobs_are_known),
        CASE(plan__a_node_that_joins_is_not_created_twice),
        CASE(plan__nothing_ends_while_the_engine_is_silent),
        CASE(plan__a_broker_that_is_silent_wants_nothing),
        CASE(plan__keeps_the_minimum_and_gives_up_what_is_above_the_maximum),
        CASE(plan__backs_off_after_failures),
        CASE(plan__an_instance_that_is_taken_away_counts_as_no_help),
        CASE(plan__grows_for_what_waits_at_the_engine),
        CASE(plan__an_instance_that_is_taken_away_is_told_once),
        CASE(plan__an_answer_that_is_no_list_counts_as_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
