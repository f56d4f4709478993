/*  test_targets.c -- targets of requests beside a naive writer: whatever is written as segments and parameters comes
 *  back as it was, however much of it is escaped. Any bytes at all are refused, or hold nothing dangerous. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "broker/http/request/target.h"
#include "federation/base/rng.h"
#include "federation/base/utf8.h"
#include "tests/support/arena_fixture.h"

enum { WORD = 12 };

/*  Anything but controls; of a segment, no slash, which is refused even where it is escaped. */
static void any_word(helio_rng_t *rng, bool segment, char ret_word[WORD])
{
    static const char letters[] = "abzAZ09-._~!$'()*,;:@ %?#&=+\"<>[]\\^`{|}";
    size_t size = 1 + helio_rng_below(rng, WORD - 2);
    for (size_t i = 0; i < size; i++)
        ret_word[i] = letters[helio_rng_below(rng, sizeof letters - 1)];
    ret_word[size] = '\0';
    if (size > 2 && helio_rng_below(rng, 4) == 0)
        memcpy(ret_word + size - 2, "\xc3\xa9", 2);
    if (!segment && helio_rng_below(rng, 3) == 0)
        ret_word[0] = '/';
    if (segment && (strcmp(ret_word, ".") == 0 || strcmp(ret_word, "..") == 0))
        ret_word[0] = 'x';
}

/*  Escapes what must be, and of the rest whatever the generator says. plus: a space may be written as '+'. */
static void write_word(helio_buffer_t *out, helio_rng_t *rng, const char *word, bool plus)
{
    for (; *word; word++) {
        bool must = (unsigned char)*word <= ' ' || strchr("%?#&=+/", *word) != NULL;
        if (plus && *word == ' ' && helio_rng_below(rng, 2))
            helio_buffer_text(out, "+");
        else if (must || helio_rng_below(rng, 4) == 0)
            helio_buffer_printf(out, helio_rng_below(rng, 2) ? "%%%02x" : "%%%02X", (unsigned)(unsigned char)*word);
        else
            helio_buffer_append(out, word, 1);
    }
}

static void target__comes_back_as_it_was_written_however_it_is_escaped(void **state)
{
    helio_arena_t *arena = *state;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        helio_rng_t rng = {seed};
        char segments[HELIO_TARGET_SEGMENTS_MAX][WORD], names[HELIO_TARGET_QUERY_MAX][WORD + 12],
            values[HELIO_TARGET_QUERY_MAX][WORD];
        uint32_t segment_count = (uint32_t)helio_rng_below(&rng, HELIO_TARGET_SEGMENTS_MAX + 1);
        uint32_t query_count = (uint32_t)helio_rng_below(&rng, HELIO_TARGET_QUERY_MAX + 1);
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
        helio_arena_reset(arena);
        helio_buffer_text(&text, segment_count ? "" : "/");
        for (uint32_t i = 0; i < segment_count; i++) {
            any_word(&rng, true, segments[i]);
            helio_buffer_text(&text, "/");
            write_word(&text, &rng, segments[i], false);
        }
        for (uint32_t i = 0; i < query_count; i++) {
            char word[WORD];
            any_word(&rng, false, word);
            any_word(&rng, false, values[i]);
            (void)snprintf(names[i], sizeof names[i], "%u%s", i, word); /* no two are equal */
            helio_buffer_text(&text, i ? "&" : "?");
            write_word(&text, &rng, names[i], true);
            helio_buffer_text(&text, "=");
            write_word(&text, &rng, values[i], true);
        }
        helio_target_t target;
        helio_error_t err = {.text = ""};
        if (helio_target_parse(helio_buffer_view(&text), arena, &target, &err) != HELIO_OK)
            fail_msg("seed %u: %s: %s", (uint32_t)seed, text.data, err.text);
        assert_int_equal(target.segment_count, segment_count);
        for (uint32_t i = 0; i < segment_count; i++)
            assert_string_equal(target.segments[i], segments[i]);
        assert_int_equal(target.query_count, query_count);
        for (uint32_t i = 0; i < query_count; i++)
            assert_string_equal(helio_target_query(&target, names[i]), values[i]);
        assert_null(helio_target_query(&target, "limit"));
    }
}

static bool is_plain(const char *text)
{
    if (!helio_utf8_is_text(helio_text_of(text)))
        return false;
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return false;
    return true;
}

/*  Nothing that is taken can leave its place: no slash, no dot-dot, no control, no byte that is not UTF-8, no parameter
 *  twice. */
static void target__of_any_bytes_is_refused_or_holds_nothing_dangerous(void **state)
{
    helio_arena_t *arena = *state;
    static const char *const pieces[] = {"/",    "//",   ".",    "..", "%2e", "%2F",    "%00",    "%0a",      "%7f",
                                         "%",    "%g1",  "?",    "&",  "=",   "a",      "a=1",    "v1",       "+",
                                         "\x01", "\x7f", "\xff", "#",  "%ff", "%c0%80", "%c3%a9", "%ed%a0%80"};
    uint32_t taken = 0;
    for (uint64_t seed = 1; seed <= 20000; seed++) {
        helio_rng_t rng = {seed};
        char text[64] = "/";
        for (uint32_t i = (uint32_t)helio_rng_below(&rng, 9); i; i--)
            (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s",
                           pieces[helio_rng_below(&rng, sizeof pieces / sizeof pieces[0])]);
        helio_target_t target = {.segment_count = 99};
        helio_error_t err = {.text = ""};
        helio_arena_reset(arena);
        helio_rc rc = helio_target_parse(helio_text_of(text), arena, &target, &err);
        if (rc != HELIO_OK) {
            assert_true(err.text[0] && target.segment_count == 99);
            continue;
        }
        taken++;
        for (uint32_t i = 0; i < target.segment_count; i++) {
            const char *segment = target.segments[i];
            assert_true(segment[0] && !strchr(segment, '/') && strcmp(segment, ".") != 0 && strcmp(segment, "..") != 0);
            assert_true(is_plain(segment));
        }
        for (uint32_t i = 0; i < target.query_count; i++) {
            assert_true(target.query[i].name[0] && is_plain(target.query[i].name) && is_plain(target.query[i].value));
            for (uint32_t k = 0; k < i; k++)
                assert_string_not_equal(target.query[i].name, target.query[k].name);
        }
    }
    assert_true(taken > 1000 && taken < 19000);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, arena_setup, arena_teardown)
    const struct CMUnitTest tests[] = {
        CASE(target__comes_back_as_it_was_written_however_it_is_escaped),
        CASE(target__of_any_bytes_is_refused_or_holds_nothing_dangerous),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
