/*  Every word has a meaning and a remedy, and docs/reference/reasons.md shows them all. HELIO_GOLDEN_WRITE=1
 * writes the page. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "federation/reason/page.h"
#include "tests/support/golden.h"

static void assert_whole(const char *word, helio_reason_doc_t doc)
{
    if (!doc.meaning || !doc.remedy)
        fail_msg("%s has no meaning and remedy in federation/reason/page.c", word);
    for (const char *const *text = (const char *const[]){doc.meaning, doc.remedy, NULL}; *text; text++) {
        assert_true(strlen(*text) > 5);
        assert_int_equal((*text)[strlen(*text) - 1], '.');
        assert_null(strchr(*text, '|')); /* would break the table */
    }
}

static void reasons__all_have_a_meaning_and_a_remedy(void **state)
{
    (void)state;
    for (uint32_t i = HELIO_REASON_NONE + 1; i < HELIO_REASON_COUNT; i++)
        assert_whole(helio_reason_name(i), helio_reason_doc(i));
    for (uint32_t i = HELIO_REJECTION_NONE + 1; i < HELIO_REJECTION_COUNT; i++)
        assert_whole(helio_rejection_name(i), helio_rejection_doc(i));
    for (uint32_t i = HELIO_CAUSE_NONE + 1; i < HELIO_CAUSE_COUNT; i++)
        assert_whole(helio_cause_name(i), helio_cause_doc(i));
}

static void a_cause_is_read_from_the_texts_of_older_peers(void **state)
{
    (void)state;
    helio_text_t rest;
    assert_int_equal(helio_cause_of_text(HELIO_TEXT("StartFailed: cannot make a folder"), &rest),
                     HELIO_CAUSE_START_FAILED);
    assert_true(helio_text_is(rest, "cannot make a folder"));
    assert_int_equal(helio_cause_of_text(HELIO_TEXT("NotHere"), &rest), HELIO_CAUSE_NOT_HERE);
    assert_int_equal(rest.size, 0);
    assert_int_equal(helio_cause_of_text(HELIO_TEXT("StartFailedly"), &rest), HELIO_CAUSE_NONE);
    assert_true(helio_text_is(rest, "StartFailedly"));
    assert_int_equal(helio_cause_of_text((helio_text_t){0}, &rest), HELIO_CAUSE_NONE);
    for (uint32_t i = HELIO_CAUSE_NONE + 1; i < HELIO_CAUSE_COUNT; i++)
        assert_int_equal(helio_cause_of_text(helio_text_of(helio_cause_name(i)), &rest), i);
    static const struct {
        uint32_t cause;
        const char *explanation, *text;
    } texts[] = {
        {HELIO_CAUSE_START_FAILED, "no disk", "StartFailed: no disk"},
        {HELIO_CAUSE_START_FAILED, "", "StartFailed"},
        {HELIO_CAUSE_NONE, "no disk", "no disk"},
        {HELIO_CAUSE_NONE, "", ""},
        {HELIO_CAUSE_STOPPED, "cancelled", "cancelled"},
        {HELIO_CAUSE_STOPPED, "", "Stopped"},
        {HELIO_CAUSE_COUNT, "no disk", "no disk"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char text[32];
        assert_true(helio_text_is(
            helio_cause_text(texts[i].cause, helio_text_of(texts[i].explanation), text, sizeof text), texts[i].text));
    }
    char small[12];
    assert_true(helio_text_is(helio_cause_text(HELIO_CAUSE_VANISHED, HELIO_TEXT("long ago"), small, sizeof small),
                              "Vanished: l"));
    assert_string_equal(helio_cause_name(HELIO_CAUSE_COUNT), "unknown");
    assert_int_equal(helio_cause_blame(HELIO_CAUSE_COUNT), HELIO_BLAME_POOL);
}

static void assert_rejection(const char *name, const char *expected)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_rejection_sentence(helio_text_of(name), &text);
    assert_string_equal(text.data ? text.data : "", expected);
}

/*  As the sentences of details: "Draining: an operator drains …". */
static void rejections__have_a_sentence_in_the_form_of_details(void **state)
{
    (void)state;
    assert_rejection("Draining", "an operator drains the site: it gets no new jobs");
    assert_rejection("SitePattern", "`placement.sites` excludes the site");
    assert_rejection("Deadline", "more than one run in ten is expected to end after `deadline`; if no similar runs are "
                                 "known, a run that takes its whole time limit would");
    assert_rejection("OfANewerRelease", "OfANewerRelease");
    assert_rejection("", "");
    for (uint32_t i = HELIO_REJECTION_NONE + 1; i < HELIO_REJECTION_COUNT; i++) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
        helio_rejection_sentence(helio_text_of(helio_rejection_name(i)), &text);
        assert_true(text.size > 5 && text.data[text.size - 1] != '.');
        assert_true(text.data[0] == '`' || (text.data[0] >= 'a' && text.data[0] <= 'z'));
    }
}

static void reasons__the_page_is_that_of_the_tables(void **state)
{
    (void)state;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t page = {0};
    helio_reasons_page(&page);
    golden_check("docs/reference/reasons.md", helio_buffer_view(&page));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reasons__all_have_a_meaning_and_a_remedy),
                                       cmocka_unit_test(rejections__have_a_sentence_in_the_form_of_details),
                                       cmocka_unit_test(a_cause_is_read_from_the_texts_of_older_peers),
                                       cmocka_unit_test(reasons__the_page_is_that_of_the_tables)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
