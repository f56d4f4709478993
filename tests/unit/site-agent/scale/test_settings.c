/*  test_settings.c -- which entries of `scale` a site can have, and what they make of its pools. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "site-agent/scale/settings.h"

static helio_pool_t pool;
static helio_error_t err;

/*  Of a site with one pool of two nodes. */
static helio_rc settle(const char *backend, helio_scale_rule_t rule, bool with_command)
{
    helio_string_t command = {helio_text_of("/etc/heliostat/provider")};
    helio_scale_rules_t rules = {&rule, 1};
    pool = (helio_pool_t){.name = HELIO_TEXT("gpus"), .nodes = 2, .max_nodes = 2};
    helio_site_profile_t site = {.backend = helio_text_of(backend), .pools = {&pool, 1}};
    if (with_command) {
        rule.command.items = &command;
        rule.command.count = 1;
    }
    err = (helio_error_t){0};
    return helio_scale_settle(&rules, &site, &err);
}

static helio_scale_rule_t up_to(uint32_t max)
{
    return (helio_scale_rule_t){.pool = HELIO_TEXT("gpus"), .max = max};
}

static void scale__an_entry_makes_its_pool_elastic_with_a_command_or_without(void **state)
{
    (void)state;
    static const struct {
        const char *backend;
        bool with_command;
    } rows[] = {{"exec", true}, {"exec", false}, {"kubernetes", false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(settle(rows[i].backend, up_to(3), rows[i].with_command), HELIO_OK);
        assert_true(pool.elastic);
        assert_int_equal(pool.max_nodes, 5);
    }
}

static void scale__what_nobody_would_carry_out_is_refused(void **state)
{
    (void)state;
    assert_int_equal(settle("slurm", up_to(3), false), HELIO_INVALID);
    assert_non_null(strstr(err.text, "only sites with the backends `exec` and `kubernetes`"));
    assert_int_equal(settle("kubernetes", up_to(3), true), HELIO_INVALID);
    assert_non_null(strstr(err.text, "only a site with the backend `exec` adds nodes by a command"));
    helio_scale_rule_t rule = up_to(3);
    rule.min = 1;
    assert_int_equal(settle("exec", rule, false), HELIO_INVALID);
    assert_non_null(strstr(err.text, "has no command, so min and notice do nothing"));
    assert_int_equal(settle("exec", rule, true), HELIO_OK);
    rule.min = 4;
    assert_int_equal(settle("exec", rule, true), HELIO_INVALID);
    rule = up_to(3);
    rule.notice = HELIO_TEXT("/shared/notices");
    assert_int_equal(settle("exec", rule, false), HELIO_INVALID);
    rule = up_to(3);
    rule.pool = HELIO_TEXT("other");
    assert_int_equal(settle("exec", rule, true), HELIO_INVALID);
}

static void scale__more_nodes_that_nothing_adds_are_refused(void **state)
{
    (void)state;
    const helio_scale_rules_t none = {NULL, 0};
    pool = (helio_pool_t){.name = HELIO_TEXT("gpus"), .nodes = 2, .max_nodes = 4};
    helio_site_profile_t site = {.backend = HELIO_TEXT("kubernetes"), .pools = {&pool, 1}};
    assert_int_equal(helio_scale_settle(&none, &site, &err), HELIO_INVALID);
    assert_non_null(strstr(err.text, "add `scale: [{pool: gpus, max: 2}]` under `agent`, or remove max_nodes"));
    site.backend = HELIO_TEXT("slurm");
    assert_int_equal(helio_scale_settle(&none, &site, &err), HELIO_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scale__an_entry_makes_its_pool_elastic_with_a_command_or_without),
        cmocka_unit_test(scale__what_nobody_would_carry_out_is_refused),
        cmocka_unit_test(scale__more_nodes_that_nothing_adds_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
