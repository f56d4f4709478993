/*  The page of notify.yaml is that of the table, its example can be read, wrong files are refused with a remedy, and targets get
 *  what they name. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "client/notify/core/targets.h"
#include "tests/support/golden.h"

static void page__is_that_of_the_table(void **state)
{
    (void)state;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t page = {0};
    helio_notify_page(&page);
    golden_check("docs/reference/notify.md", helio_buffer_view(&page));
}

static helio_rc read_file(const char *text, helio_arena_t *arena, helio_notify_settings_t *ret_settings,
                          helio_diagnostic_t *ret_diagnostic)
{
    helio_rc rc =
        helio_spec_read(&helio_notify_table, (helio_spec_source_t){.text = helio_text_of(text), .name = "notify.yaml"},
                        HELIO_SPEC_SOURCE_MAX, arena, ret_settings, ret_diagnostic);
    if (rc == HELIO_OK)
        helio_notify_settle(ret_settings);
    return rc;
}

static void example__can_be_read(void **state)
{
    (void)state;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t page = {0};
    HELIO_AUTO(helio_arena_destroy) helio_arena_t *arena = helio_arena_new();
    helio_notify_settings_t settings;
    helio_diagnostic_t diagnostic;
    helio_notify_page(&page);
    char *from = strstr(page.data, "```yaml\n") + 8, *to = strstr(from, "```");
    *to = '\0';
    if (read_file(from, arena, &settings, &diagnostic) != HELIO_OK)
        fail_msg("%s", diagnostic.message);
    assert_int_equal(settings.targets.count, 3);
    assert_int_equal(settings.targets.items[0].retry_for_ms, 86400000);
    assert_int_equal(settings.targets.items[0].timeout_ms, 10000);
    assert_int_equal(settings.targets.items[0].keep, 10000);
    assert_int_equal(settings.targets.items[1].format, HELIO_NOTIFY_SLACK);
    assert_int_equal(settings.targets.items[2].command.count, 2);
    assert_int_equal(settings.targets.items[2].retry_for_ms, 6 * 3600000);
}

static void wrong_files__are_refused_with_position_and_remedy(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message, *hint;
        uint32_t line, column;
    } cases[] = {
        {"state: s\ntargets:\n  - {name: a, on: [job_ended]}\n", "says not where", "`url`", 3, 5},
        {"state: s\ntargets:\n  - {name: a, url: https://x, command: [b], on: [job_ended]}\n", "one of `url`",
         "two targets", 3, 5},
        {"state: s\ntargets:\n  - {name: a, url: https://x, on: [job_ended]}\n", "`secret_file` is missing",
         "openssl rand", 3, 5},
        {"state: s\ntargets:\n  - {name: a, command: [b], on: [job_end]}\n", "job_ended, job_failed", "", 3, 34},
        {"state: s\ntargets:\n  - {name: a, url: ftp://x, on: [job_ended]}\n", "a URL with https://", "", 3, 20},
        {"state: s\ntargets:\n  - {name: a, command: [b], secret_file: c, on: [job_ended]}\n", "over HTTP", "remove it",
         3, 42},
        {"state: s\ntargets:\n  - {nam: a, command: [b], on: [job_ended]}\n", "unknown key 'nam'",
         "did you mean 'name'", 3, 6},
        {"state: s\ntargets:\n  - {name: a b, command: [b], on: [job_ended]}\n", "letters, digits", "", 3, 12},
        {"targets: []\n", "state", "", 0, 0},
        {"state: s\ntargets:\n  - {name: a, command: [b], on: [job_held]}\n  - {name: a, command: [c], on: [job_held]}\n",
         "two targets have the name 'a'", "rename one", 3, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        HELIO_AUTO(helio_arena_destroy) helio_arena_t *arena = helio_arena_new();
        helio_notify_settings_t settings;
        helio_diagnostic_t found = {.line = 0};
        assert_int_not_equal(read_file(cases[i].text, arena, &settings, &found), HELIO_OK);
        if (!strstr(found.message, cases[i].message) || !strstr(found.hint, cases[i].hint) ||
            (cases[i].line && (found.line != cases[i].line || found.column != cases[i].column)))
            fail_msg("%s%u:%u: %s (%s)", cases[i].text, found.line, found.column, found.message, found.hint);
    }
}

static void targets__get_what_they_name(void **state)
{
    (void)state;
    static const char file[] =
        "state: s\ntargets:\n"
        "  - {name: all, command: [x], on: [job_ended]}\n"
        "  - {name: both, command: [x], on: [job_ended, job_failed], tenants: [nlp, 'vision*', '!vision-test']}\n"
        "  - {name: ana, command: [x], on: [job_failed], users: [ana@example.org], names: ['train*']}\n";
    HELIO_AUTO(helio_arena_destroy) helio_arena_t *arena = helio_arena_new();
    helio_notify_settings_t settings;
    helio_diagnostic_t diagnostic;
    if (read_file(file, arena, &settings, &diagnostic) != HELIO_OK)
        fail_msg("%s", diagnostic.message);
    const helio_notify_target_t *all = &settings.targets.items[0], *both = all + 1, *ana = all + 2;
    helio_notify_subject_t subject = {
        .tenant = HELIO_TEXT("nlp"), .queue = HELIO_TEXT("batch"), .name = HELIO_TEXT("train-7")};
    helio_notify_event_t as;
    assert_true(helio_notify_wants(all, HELIO_NOTIFY_JOB_FAILED, &subject, &as));
    assert_int_equal(as, HELIO_NOTIFY_JOB_ENDED);
    assert_true(helio_notify_wants(both, HELIO_NOTIFY_JOB_FAILED, &subject, &as));
    assert_int_equal(as, HELIO_NOTIFY_JOB_FAILED);
    assert_false(helio_notify_wants(all, HELIO_NOTIFY_JOB_HELD, &subject, &as));
    assert_true(helio_notify_might_want(ana, HELIO_NOTIFY_JOB_FAILED, &subject)); /* whose it is is not known yet */
    assert_false(helio_notify_wants(ana, HELIO_NOTIFY_JOB_FAILED, &subject, &as));
    subject.user = HELIO_TEXT("ana@example.org");
    assert_true(helio_notify_wants(ana, HELIO_NOTIFY_JOB_FAILED, &subject, &as));
    assert_false(helio_notify_might_want(ana, HELIO_NOTIFY_JOB_ENDED, &subject));
    subject.name = HELIO_TEXT("eval");
    assert_false(helio_notify_might_want(ana, HELIO_NOTIFY_JOB_FAILED, &subject));
    subject.tenant = HELIO_TEXT("vision-test");
    assert_false(helio_notify_might_want(both, HELIO_NOTIFY_JOB_ENDED, &subject));
    subject.tenant = HELIO_TEXT("vision-prod");
    assert_true(helio_notify_might_want(both, HELIO_NOTIFY_JOB_ENDED, &subject));
    assert_true(helio_notify_any_wants(&settings, HELIO_NOTIFY_JOB_FAILED));
    assert_false(helio_notify_any_wants(&settings, HELIO_NOTIFY_BUDGET_NEAR));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(page__is_that_of_the_table),
        cmocka_unit_test(example__can_be_read),
        cmocka_unit_test(wrong_files__are_refused_with_position_and_remedy),
        cmocka_unit_test(targets__get_what_they_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
