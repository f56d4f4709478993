/*  test_depends.c -- the jobs that documents depend on: what the database is asked, and what becomes of its answer,
 *  whatever it is. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "broker/http/routes/depends.h"

#define ID_A "01k9x2m4q8r7aaaabbbbccccdd"
#define ID_B "01k9x2m4q8r7aaaabbbbccccee"

enum { JOBS = 3, EACH = 6 };

static helio_arena_t *arena;
static helio_submission_t jobs[JOBS];
static helio_ev_submit_t event;

static int begin(void **state)
{
    (void)state;
    arena = helio_arena_new();
    memset(jobs, 0, sizeof jobs);
    event = (helio_ev_submit_t){.jobs = {jobs, JOBS}};
    return 0;
}

static int end(void **state)
{
    (void)state;
    helio_arena_destroy(&arena);
    return 0;
}

/*  "a b c" as a list of names. */
static void name(const char *words, helio_string_t **ret_items, uint32_t *ret_count)
{
    helio_string_t *items = helio_arena_alloc(arena, EACH, sizeof *items);
    uint32_t count = 0;
    for (const char *at = words; *at;) {
        uint32_t size = (uint32_t)strcspn(at, " ");
        items[count++].text = (helio_text_t){at, size};
        at += size + (at[size] == ' ');
    }
    *ret_items = items;
    *ret_count = count;
}

static void depend(uint32_t job, const char *ok, const char *any, const char *not_ok)
{
    helio_job_spec_t *spec = &jobs[job].spec;
    name(ok, &spec->after_ok.items, &spec->after_ok.count);
    name(any, &spec->after_any.items, &spec->after_any.count);
    name(not_ok, &spec->after_not_ok.items, &spec->after_not_ok.count);
}

static void question__names_each_word_once_and_counts_the_parts(void **state)
{
    static const struct {
        const char *first[3], *second[3];
        const char *question;
        uint32_t count, words, parts;
    } cases[] = {
        {{"", "", ""}, {"", "", ""}, "[]", 0, 0, 0},
        {{ID_A, "", ""}, {"", "", ""}, "[\"" ID_A "\"]", 1, 1, 0},
        {{ID_A, ID_A, ID_A}, {ID_A, "", ID_B}, "[\"" ID_A "\",\"" ID_B "\"]", 5, 2, 0},
        {{"abcdef", "", ""}, {"abcdef ABCDEF", "", ""}, "[\"ABCDEF\",\"abcdef\"]", 3, 2, 2},
        {{ID_A ".7", "", ""}, {"abcdef.7", "", ""}, "[\"" ID_A ".7\",\"abcdef.7\"]", 2, 2, 1},
        {{"ab", "a", "abc"}, {"", "", ""}, "[\"a\",\"ab\",\"abc\"]", 3, 3, 3}, /* one is the beginning of the next */
        {{"\"], \\\n", "", ""}, {"", "", ""}, "[\"\\\"],\",\"\\\\\\n\"]", 2, 2, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (i) {
            (void)end(state);
            (void)begin(state);
        }
        depend(0, cases[i].first[0], cases[i].first[1], cases[i].first[2]);
        depend(2, cases[i].second[0], cases[i].second[1], cases[i].second[2]);
        helio_depends_t depends = helio_depends_of(&event, arena);
        assert_int_equal(depends.count, cases[i].count);
        assert_int_equal(depends.words, cases[i].words);
        assert_int_equal(depends.parts, cases[i].parts);
        if (cases[i].count)
            assert_string_equal(helio_depends_question(&depends, arena), cases[i].question);
        assert_int_equal(jobs[1].depends.count, 0);
    }
}

/*  Parts of ids are counted without tasks. */
static void question__asks_for_each_task_of_an_array_after_another(void **state)
{
    static uint32_t indices[] = {3, 10};
    (void)state;
    depend(1, "abcdef", "", "");
    name(ID_A " abcdef", &jobs[1].spec.after_task.items, &jobs[1].spec.after_task.count);
    jobs[1].spec.tasks = (helio_u32s_t){indices, 2};
    helio_depends_t depends = helio_depends_of(&event, arena);
    assert_int_equal(depends.count, 5);
    assert_int_equal(depends.words, 5);
    assert_int_equal(depends.parts, 1);
    assert_string_equal(helio_depends_question(&depends, arena),
                        "[\"" ID_A ".10\",\"" ID_A ".3\",\"abcdef\",\"abcdef.10\",\"abcdef.3\"]");
    static const uint32_t after[] = {HELIO_AFTER_OK, HELIO_AFTER_TASK, HELIO_AFTER_TASK, HELIO_AFTER_TASK,
                                     HELIO_AFTER_TASK};
    static const char *const words[] = {"abcdef", ID_A ".3", ID_A ".10", "abcdef.3", "abcdef.10"};
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(jobs[1].depends.items[i].after, after[i]);
        assert_true(helio_text_is(jobs[1].depends.items[i].word, words[i]));
    }
}

/*  Each entry of a document gets the answer to its word, wherever the word stood in the question. */
static void answer__reaches_every_entry_with_that_word(void **state)
{
    (void)state;
    depend(0, "zzzzzz abcdef", "", ID_B);
    depend(1, "", "abcdef", "");
    depend(2, "mmmmmm.3", "", "");
    helio_depends_t depends = helio_depends_of(&event, arena);
    assert_string_equal(helio_depends_question(&depends, arena), "[\"" ID_B "\",\"abcdef\",\"mmmmmm.3\",\"zzzzzz\"]");
    static const char answer[] = "[{\"found\":3,\"id\":\"" ID_B "\"},{\"found\":2,\"id\":\"" ID_A "\"},"
                                 "{\"found\":4,\"id\":\"" ID_A ".3\"},{\"found\":0,\"id\":null}]";
    assert_int_equal(helio_depends_resolve(&depends, helio_text_of(answer), NULL), HELIO_OK);
    const helio_dependency_t *first = jobs[0].depends.items, *second = jobs[1].depends.items,
                             *third = jobs[2].depends.items;
    char id[HELIO_KEY_SIZE];
    assert_int_equal(jobs[0].depends.count, 3);
    assert_int_equal(first[0].found, HELIO_FOUND_UNKNOWN);
    assert_int_equal(first[0].after, HELIO_AFTER_OK);
    assert_int_equal(first[1].found, HELIO_FOUND_OPEN);
    assert_int_equal(first[2].found, HELIO_FOUND_OK);
    assert_int_equal(first[2].after, HELIO_AFTER_NOT_OK);
    assert_int_equal(second[0].found, HELIO_FOUND_OPEN);
    assert_int_equal(second[0].after, HELIO_AFTER_ANY);
    helio_job_key_text(second[0].on, id);
    assert_string_equal(id, ID_A);
    assert_int_equal(second[0].on.task, HELIO_NO_TASK);
    assert_int_equal(third[0].found, HELIO_FOUND_NOT_OK);
    assert_int_equal(third[0].on.task, 3);
    assert_true(helio_text_is(third[0].word, "mmmmmm.3")); /* as it was written: messages quote it */
}

/*  An answer that does not fit the question is no answer: no job is submitted on half of one. */
static void answer__that_does_not_fit_the_question_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "null",
        "{}",
        "7",
        "[",
        "[]",
        "[{\"found\":2,\"id\":\"" ID_A "\"}]",
        "[{\"found\":2,\"id\":\"" ID_A "\"},{\"found\":2,\"id\":\"" ID_B "\"},{\"found\":2,\"id\":\"" ID_B "\"}]",
        "[{\"found\":2,\"id\":\"" ID_A "\"},{}]",
        "[{\"found\":2,\"id\":\"" ID_A "\"},null]",
        "[{\"found\":2,\"id\":\"" ID_A "\"},{\"found\":2}]",
        "[{\"found\":2,\"id\":\"" ID_A "\"},{\"found\":2,\"id\":null}]",
        "[{\"found\":2,\"id\":\"" ID_A "\"},{\"found\":2,\"id\":7}]",
        "[{\"found\":2,\"id\":\"" ID_A "\"},{\"found\":2,\"id\":\"\"}]",
        "[{\"found\":2,\"id\":\"" ID_A "\"},{\"found\":2,\"id\":\"" ID_B "0\"}]",
        "[{\"found\":2,\"id\":\"" ID_A "\"},{\"found\":2,\"id\":\"" ID_B ".-1\"}]",
        "[{\"found\":2,\"id\":\"" ID_A "\"},{\"found\":5,\"id\":\"" ID_B "\"}]",
        "[{\"found\":2,\"id\":\"" ID_A "\"},{\"found\":-1,\"id\":\"" ID_B "\"}]",
        "[{\"found\":2,\"id\":\"" ID_A "\"},{\"found\":4294967298,\"id\":\"" ID_B "\"}]",
        "[{\"found\":2,\"id\":\"" ID_A "\"},{\"found\":\"2\",\"id\":\"" ID_B "\"}]",
        "[{\"found\":2,\"id\":\"" ID_A "\"},{\"found\":2.0,\"id\":\"" ID_B "\"}]",
        "[{\"found\":2,\"id\":\"" ID_A "\"},{\"found\":true,\"id\":\"" ID_B "\"}]",
    };
    depend(0, "abcdef", "uvwxyz", "");
    helio_depends_t depends = helio_depends_of(&event, arena);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        helio_error_t err = {0};
        if (helio_depends_resolve(&depends, helio_text_of(bad[i]), &err) != HELIO_PROTOCOL)
            fail_msg("%s is taken", bad[i]);
        assert_non_null(strstr(err.text, "cannot be read"));
    }
    static const char good[] = "[{\"found\":1,\"id\":null},{\"found\":0}]"; /* neither of these needs an id */
    assert_int_equal(helio_depends_resolve(&depends, helio_text_of(good), NULL), HELIO_OK);
    assert_int_equal(jobs[0].depends.items[0].found, HELIO_FOUND_AMBIGUOUS);
    assert_int_equal(jobs[0].depends.items[1].found, HELIO_FOUND_UNKNOWN);
}

/*  A second look: nothing of the first answer stays. */
static void answer__replaces_the_one_before(void **state)
{
    (void)state;
    depend(0, "abcdef", "", "");
    helio_depends_t depends = helio_depends_of(&event, arena);
    helio_dependency_t *entry = &jobs[0].depends.items[0];
    assert_int_equal(helio_depends_resolve(&depends, HELIO_TEXT("[{\"found\":2,\"id\":\"" ID_A ".9\"}]"), NULL),
                     HELIO_OK);
    assert_int_equal(entry->on.task, 9);
    assert_int_equal(helio_depends_resolve(&depends, HELIO_TEXT("[{\"found\":3,\"id\":\"" ID_A "\"}]"), NULL),
                     HELIO_OK);
    assert_int_equal(entry->found, HELIO_FOUND_OK);
    assert_int_equal(entry->on.task, HELIO_NO_TASK);
    assert_int_equal(helio_depends_resolve(&depends, HELIO_TEXT("[{\"found\":0}]"), NULL), HELIO_OK);
    assert_int_equal(entry->found, HELIO_FOUND_UNKNOWN);
    assert_int_equal(entry->on.job.bytes[0], 0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(question__names_each_word_once_and_counts_the_parts),
        CASE(question__asks_for_each_task_of_an_array_after_another),
        CASE(answer__reaches_every_entry_with_that_word),
        CASE(answer__that_does_not_fit_the_question_is_refused),
        CASE(answer__replaces_the_one_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
