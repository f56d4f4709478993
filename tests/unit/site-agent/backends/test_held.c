/*  The attempts that a backend holds, and what it reports of them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "site-agent/backends/events.h"

typedef struct attempt {
    helio_held_t held;
    uint32_t mark;
} attempt_t;

static const helio_job_key_t key = {{{1, 2, 3}}, 7}, other = {{{1, 2, 3}}, 8};

static void held__are_found_by_job_task_and_epoch(void **state)
{
    (void)state;
    helio_held_table_t table = {0};
    assert_null(helio_held_find(&table, key, 1));
    attempt_t *one = helio_held_add(&table, key, 1, sizeof *one), *two = helio_held_add(&table, key, 2, sizeof *two),
              *three = helio_held_add(&table, other, 1, sizeof *three);
    assert_int_equal(one->mark, 0);
    assert_int_equal(table.count, 3);
    assert_ptr_equal(helio_held_find(&table, key, 1), one);
    assert_ptr_equal(helio_held_find(&table, key, 2), two);
    assert_ptr_equal(helio_held_find(&table, other, 1), three);
    char name[HELIO_ATTEMPT_NAME_SIZE];
    helio_attempt_name(key, 2, name);
    assert_string_equal(two->held.name, name);
    /* the newest first */
    assert_ptr_equal(table.first, &three->held);
    assert_ptr_equal(table.first->after, &two->held);
    helio_held_remove(&table, &two->held);
    assert_null(helio_held_find(&table, key, 2));
    assert_ptr_equal(table.first->after, &one->held);
    helio_held_remove(&table, &three->held);
    helio_held_remove(&table, &one->held);
    assert_null(table.first);
    assert_int_equal(table.count, 0);
    free(one);
    free(two);
    free(three);
}

static void explanations__are_one_line_of_whole_characters(void **state)
{
    (void)state;
    const struct {
        const char *from, *to;
    } rows[] = {{"", ""},
                {"plain", "plain"},
                {"two\nlines\tand\x7f", "two lines and "},
                {"Lule\xc3\xa5", "Lule\xc3\xa5"},
                {"Lule\xc3", "Lule"},
                {"\xe2\x82\xac", "\xe2\x82\xac"},
                {"a\xe2\x82", "a"},
                {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
                {"a\xf0\x9f\x98", "a"},
                {"\x80\x80", "\x80\x80"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[32];
        memcpy(text, rows[i].from, strlen(rows[i].from) + 1);
        helio_explanation_flatten(text);
        assert_string_equal(text, rows[i].to);
    }
}

typedef struct heard {
    uint32_t count;
    bool silent;
    uint64_t for_ms;
} heard_t;

static void on_silence(void *arg, bool silent, uint64_t for_ms)
{
    heard_t *heard = arg;
    *heard = (heard_t){heard->count + 1, silent, for_ms};
}

static void silence__is_reported_at_each_change_with_its_length(void **state)
{
    (void)state;
    heard_t heard = {0};
    const helio_backend_sink_t sink = {.arg = &heard, .on_silence = on_silence}, deaf = {0};
    helio_silence_t silence = {0};
    helio_silence_report(&silence, &sink, false, 0, 1000);
    assert_int_equal(heard.count, 0); /* it answers from the first: no change */
    helio_silence_report(&silence, &sink, true, 4000, 16000);
    assert_int_equal(heard.count, 1);
    assert_true(heard.silent && heard.for_ms == 12000);
    helio_silence_report(&silence, &sink, true, 4000, 17000);
    assert_int_equal(heard.count, 1);
    helio_silence_report(&silence, &sink, false, 0, 24000);
    assert_int_equal(heard.count, 2);
    assert_true(!heard.silent && heard.for_ms == 20000);
    helio_silence_report(&silence, &sink, true, 0, 30000); /* no request waits: from now on */
    assert_true(heard.silent && heard.for_ms == 0);
    helio_silence_report(&silence, &deaf, false, 0, 31000);
    assert_false(silence.silent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(held__are_found_by_job_task_and_epoch),
        cmocka_unit_test(explanations__are_one_line_of_whole_characters),
        cmocka_unit_test(silence__is_reported_at_each_change_with_its_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
