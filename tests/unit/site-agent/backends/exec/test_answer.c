/*  test_answer.c -- the output of an adapter: what is read, what is refused as a whole, and which capacity is free by
 *  it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "federation/reason/codes.h"
#include "site-agent/backends/exec/capacity.h"

#define NAME "helio-00000000000000000000000007-1"

static helio_rc read_text(const char *text, helio_arena_t *arena, helio_exec_answer_t *ret, helio_error_t *err)
{
    return helio_exec_answer_read(helio_text_of(text), arena, ret, err);
}

static void answer__lines_are_read_and_unknown_members_are_passed_over(void **state)
{
    (void)state;
    helio_arena_t *arena = helio_arena_new();
    helio_exec_answer_t answer;
    const char *text =
        "{\"node\":{\"name\":\"n1\",\"pool\":\"h100\",\"gpus\":8,\"gpus_used\":3,\"cpus\":64,\"colour\":\"red\"}}\n"
        "\n"
        "{\"attempt\":{\"name\":\"" NAME
        "\",\"id\":\"4711\",\"state\":\"running\",\"begun_ms\":5,\"reason\":\"a\\tb\"}}\r\n"
        "{\"attempt\":{\"name\":\"" NAME "\",\"state\":\"ended\",\"cause\":\"node\"}}\n"
        "{\"end\":{\"nodes\":1,\"attempts\":2,\"later\":null}}";
    assert_int_equal(read_text(text, arena, &answer, NULL), HELIO_OK);
    assert_int_equal(answer.node_count, 1);
    assert_int_equal(answer.nodes[0].gpus_used, 3);
    assert_true(answer.nodes[0].up);
    assert_int_equal(answer.attempt_count, 2);
    assert_true(helio_text_is(answer.attempts[0].reason, "a b"));
    assert_int_equal(answer.attempts[0].state, HELIO_EXEC_RUNNING);
    assert_int_equal(answer.attempts[1].cause, HELIO_CAUSE_NODE_FAILED);
    assert_true(answer.end.counted);
    helio_arena_destroy(&arena);
}

static void answer__the_engines_queue_becomes_the_wait_for_a_node(void **state)
{
    (void)state;
    helio_arena_t *arena = helio_arena_new();
    helio_exec_answer_t answer;
    helio_pool_t pools[] = {{.name = HELIO_TEXT("a"), .gpus_per_node = 8},
                            {.name = HELIO_TEXT("h100"), .gpus_per_node = 8}};
    const helio_site_profile_t site = {.pools = {pools, 2}};
    helio_aev_capacity_t capacity;
    const char *text = "{\"end\":{\"nodes\":0,\"attempts\":0,\"queue\":{\"h100\":1200,\"gone\":7}}}";
    assert_int_equal(read_text(text, arena, &answer, NULL), HELIO_OK);
    helio_exec_capacity(&site, &answer, NULL, 0, arena, &capacity);
    assert_int_equal(capacity.pools.items[0].expected_wait_s.count, 0);
    assert_int_equal(capacity.pools.items[1].expected_wait_s.count, 1);
    assert_int_equal(capacity.pools.items[1].expected_wait_s.items[0], 1200);
    helio_arena_destroy(&arena);
}

static void answer__says_on_which_node_an_attempt_runs(void **state)
{
    (void)state;
    helio_arena_t *arena = helio_arena_new();
    helio_exec_answer_t answer;
    const char *text = "{\"attempt\":{\"name\":\"" NAME "\",\"state\":\"running\",\"node\":\"gpu-7\"}}\n{\"end\":{}}";
    assert_int_equal(read_text(text, arena, &answer, NULL), HELIO_OK);
    assert_true(helio_text_is(answer.attempts[0].node, "gpu-7"));
    helio_arena_destroy(&arena);
}

static void answer__what_is_cut_or_contradicts_itself_counts_as_nothing(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "\n\n",
        "{}",
        "[]",
        "7",
        "{\"end\":7}",
        "{\"end\":{}",
        "{\"end\":{}}x",
        "Traceback (most recent call last):",
        "{\"node\":{\"name\":\"n1\"}}\n",
        "{\"end\":{\"queue\":[]}}",
        "{\"end\":{\"queue\":{\"h100\":-1}}}",
        "{\"end\":{\"queue\":{\"h100\":1.5}}}",
        "{\"end\":{\"queue\":{\"h100\":4294967295}}}",
        "{\"node\":{}}\n{\"end\":{}}",
        "{\"node\":{\"name\":\"n1\",\"gpus\":-1}}\n{\"end\":{}}",
        "{\"node\":{\"name\":\"n1\",\"gpus\":65}}\n{\"end\":{}}",
        "{\"node\":{\"name\":\"n1\",\"gpus\":1.5}}\n{\"end\":{}}",
        "{\"node\":{\"name\":\"n1\",\"up\":1}}\n{\"end\":{}}",
        "{\"end\":{}}\n{\"end\":{}}",
        "{\"end\":{},\"node\":{\"name\":\"n1\"}}",
        "{\"attempt\":{\"name\":\"helio-x\",\"state\":\"running\"}}\n{\"end\":{}}",
        "{\"attempt\":{\"name\":\"" NAME "\"}}\n{\"end\":{}}",
        "{\"attempt\":{\"name\":\"" NAME "\",\"state\":\"over\"}}\n{\"end\":{}}",
        "{\"end\":{\"nodes\":1}}",
        "{\"end\":{\"attempts\":1}}",
        "{\"end\":{\"submitted\":\"1\",\"refused\":\"no\"}}",
        "{\"end\":{\"submitted\":7}}",
        "{\"end\":{\"submitted\":\"1\",\"submitted\":\"2\"}}",
        "{\"end\":{\"submitted\":\"0123456789012345678901234567890123456789012345678901234567890123\"}}"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        helio_arena_t *arena = helio_arena_new();
        helio_exec_answer_t answer;
        helio_error_t err = {0};
        if (read_text(bad[i], arena, &answer, &err) == HELIO_OK)
            fail_msg("read: %s", bad[i]);
        assert_true(err.text[0] != '\0');
        helio_arena_destroy(&arena);
    }
}

static void capacity__what_waits_is_taken_from_the_fullest_node_that_has_room(void **state)
{
    (void)state;
    helio_arena_t *arena = helio_arena_new();
    helio_exec_answer_t answer;
    assert_int_equal(
        read_text("{\"node\":{\"name\":\"a\",\"gpus\":8,\"gpus_used\":5}}\n{\"node\":{\"name\":\"b\",\"gpus\":8}}\n"
                  "{\"node\":{\"name\":\"c\",\"gpus\":8,\"up\":false}}\n{\"end\":{\"nodes\":3,\"attempts\":0}}",
                  arena, &answer, NULL),
        HELIO_OK);
    helio_pool_t pool = {.name = HELIO_TEXT("p"), .cpus_per_node = 16};
    helio_site_profile_t site = {.pools = {&pool, 1}};
    helio_exec_waiting_t waiting[] = {
        {HELIO_TEXT("p"), 1, 2, 1, 1}, {HELIO_TEXT("q"), 1, 8, 1, 1}, {HELIO_TEXT("p"), 1, 4, 1, 1}};
    helio_aev_capacity_t capacity;
    helio_exec_capacity(&site, &answer, waiting, 3, arena, &capacity);
    const helio_pool_capacity_t *now = &capacity.pools.items[0];
    assert_int_equal(now->nodes_up, 2);
    assert_int_equal(now->gpus_total, 16);
    assert_int_equal(now->gpus_allocated, 11);
    assert_int_equal(now->free_nodes.items[1], 1); /* a: 3 - 2 */
    assert_int_equal(now->free_nodes.items[4], 1); /* b: 8 - 4 */
    assert_int_equal(now->cpus_free, 32);          /* the engine does not tell */
    helio_arena_destroy(&arena);
}

static void capacity__nodes_belong_to_the_pool_that_they_name(void **state)
{
    (void)state;
    helio_arena_t *arena = helio_arena_new();
    helio_exec_answer_t answer;
    assert_int_equal(
        read_text("{\"node\":{\"name\":\"a\",\"gpus\":2,\"pool\":\"p\"}}\n{\"node\":{\"name\":\"b\",\"gpus\":4}}\n"
                  "{\"node\":{\"name\":\"c\",\"gpus\":8,\"gpus_used\":9,\"pool\":\"q\"}}\n{\"end\":{}}",
                  arena, &answer, NULL),
        HELIO_OK);
    helio_pool_t pools[] = {{.name = HELIO_TEXT("p")}, {.name = HELIO_TEXT("q")}};
    helio_site_profile_t site = {.pools = {pools, 2}};
    helio_aev_capacity_t capacity;
    helio_exec_capacity(&site, &answer, NULL, 0, arena, &capacity);
    assert_int_equal(capacity.pools.items[0].gpus_total, 2);
    assert_int_equal(capacity.pools.items[1].gpus_total, 8);
    assert_int_equal(capacity.pools.items[1].gpus_allocated, 8);
    helio_arena_destroy(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answer__lines_are_read_and_unknown_members_are_passed_over),
        cmocka_unit_test(answer__the_engines_queue_becomes_the_wait_for_a_node),
        cmocka_unit_test(answer__says_on_which_node_an_attempt_runs),
        cmocka_unit_test(answer__what_is_cut_or_contradicts_itself_counts_as_nothing),
        cmocka_unit_test(capacity__what_waits_is_taken_from_the_fullest_node_that_has_room),
        cmocka_unit_test(capacity__nodes_belong_to_the_pool_that_they_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
