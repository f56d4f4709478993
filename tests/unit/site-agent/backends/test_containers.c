/*  test_containers.c -- the templates of containers' runtimes, and rules that contradict themselves. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "site-agent/backends/containers.h"

static helio_rc of(helio_container_rules_t rules, helio_arena_t *arena, helio_container_words_t *words)
{
    helio_error_t err = {0};
    helio_rc rc = helio_container_template(&rules, arena, words, &err);
    assert_true(rc == HELIO_OK || err.text[0] != '\0');
    return rc;
}

static bool has(const helio_container_words_t *words, const char *word)
{
    for (uint32_t i = 0; i < words->count; i++)
        if (helio_text_is(words->items[i].text, word))
            return true;
    return false;
}

static void template__each_runtime_gets_options_image_and_program(void **state)
{
    (void)state;
    static const char *const runtimes[] = {"podman", "apptainer", "enroot"};
    helio_string_t option = {HELIO_TEXT("--more")};
    for (size_t i = 0; i < 3; i++) {
        helio_arena_t *arena = helio_arena_new();
        helio_container_words_t words;
        assert_int_equal(of((helio_container_rules_t){.runtime = helio_text_of(runtimes[i]), .options = {&option, 1}},
                            arena, &words),
                         HELIO_OK);
        assert_true(helio_text_is(words.items[0].text, runtimes[i]));
        assert_true(has(&words, "--more") && has(&words, "{image}") && has(&words, "{program}"));
        assert_false(has(&words, "{options}"));
        helio_arena_destroy(&arena);
    }
}

static void template__a_command_of_the_site_needs_image_and_program(void **state)
{
    (void)state;
    helio_arena_t *arena = helio_arena_new();
    helio_container_words_t words;
    helio_string_t good[] = {{HELIO_TEXT("run")}, {HELIO_TEXT("{image}")}, {HELIO_TEXT("{program}")}};
    helio_text_t command = HELIO_TEXT("command");
    assert_int_equal(of((helio_container_rules_t){.runtime = command, .command = {good, 3}}, arena, &words), HELIO_OK);
    assert_int_equal(words.count, 3);
    assert_int_equal(of((helio_container_rules_t){.runtime = command, .command = {good, 2}}, arena, &words),
                     HELIO_INVALID);
    assert_int_equal(of((helio_container_rules_t){.runtime = command}, arena, &words), HELIO_INVALID);
    assert_int_equal(
        of((helio_container_rules_t){.runtime = HELIO_TEXT("podman"), .command = {good, 3}}, arena, &words),
        HELIO_INVALID);
    assert_int_equal(
        of((helio_container_rules_t){.runtime = command, .command = {good, 3}, .options = {good, 1}}, arena, &words),
        HELIO_INVALID);
    assert_int_equal(of((helio_container_rules_t){0}, arena, &words), HELIO_NOT_FOUND);
    helio_arena_destroy(&arena);
}

static void find__the_program_is_looked_for_in_the_jobs_path(void **state)
{
    (void)state;
    char program[4096];
    helio_string_t words[] = {{HELIO_TEXT("sh")}, {HELIO_TEXT("/bin/sh")}, {HELIO_TEXT("/no/such")}};
    helio_text_t command = HELIO_TEXT("command");
    helio_error_t err = {0};
    assert_int_equal(helio_container_find(&(helio_container_rules_t){.runtime = command, .command = {words, 1}},
                                          "/no:/bin", program, NULL),
                     HELIO_OK);
    assert_string_equal(program, "/bin/sh");
    assert_int_equal(helio_container_find(&(helio_container_rules_t){.runtime = command, .command = {words + 1, 1}},
                                          "/no", program, NULL),
                     HELIO_OK);
    assert_int_equal(helio_container_find(&(helio_container_rules_t){.runtime = command, .command = {words + 2, 1}},
                                          "/bin", program, &err),
                     HELIO_NOT_FOUND);
    assert_non_null(strstr(err.text, "/no/such"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(template__each_runtime_gets_options_image_and_program),
        cmocka_unit_test(template__a_command_of_the_site_needs_image_and_program),
        cmocka_unit_test(find__the_program_is_looked_for_in_the_jobs_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
