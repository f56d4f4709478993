/*  test_json_random.c -- whatever a writer is given, a reader that knows only the grammar of JSON gets back. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "federation/base/json.h"
#include "federation/base/rng.h"
#include "federation/base/utf8.h"

enum { ROUNDS = 400, DEPTH_MAX = 6 };

/*  What is written is told a second time in a form of its own, which the reader below tells as well: "{" and "}", "["
 *  and "]", "n" for null, "b" with 0 or 1, "i" with digits, "r" with the bits of a double, "s" with size and bytes. */
typedef struct pair {
    helio_rng_t rng;
    helio_json_writer_t json;
    helio_buffer_t *told;
} pair_t;

static void tell_text(helio_buffer_t *told, const char *bytes, size_t size)
{
    helio_buffer_printf(told, "s%zu:", size);
    helio_buffer_append(told, bytes, size);
}

static void tell_real(helio_buffer_t *told, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    helio_buffer_printf(told, "r%llx;", (unsigned long long)bits);
}

/*  Bytes of any kind; told as they must come out: what is no UTF-8 is U+FFFD. */
static helio_text_t random_text(pair_t *self, char bytes[16], helio_buffer_t *ret_out)
{
    static const char *const pieces[] = {"\"",   "\\",   "/",   "\n", "\x01", "a", "é", "\xf0\x9f\x98\x80",
                                         "\xff", "\xc3", "\x7f"};
    size_t size = 0;
    for (uint64_t left = helio_rng_below(&self->rng, 5); left; left--) {
        const char *piece = pieces[helio_rng_below(&self->rng, sizeof pieces / sizeof pieces[0])];
        if (size + strlen(piece) <= 16) {
            memcpy(bytes + size, piece, strlen(piece));
            size += strlen(piece);
        }
    }
    for (size_t at = 0; at < size;) {
        size_t one = helio_utf8_sequence(bytes + at, size - at);
        helio_buffer_append(ret_out, one ? bytes + at : "\xef\xbf\xbd", one ? one : 3);
        at += one ? one : 1;
    }
    return (helio_text_t){bytes, (uint32_t)size};
}

static void write_value(pair_t *self, const char *name, uint32_t depth);

static void write_members(pair_t *self, bool array, uint32_t depth)
{
    helio_buffer_text(self->told, array ? "[" : "{");
    for (uint64_t left = helio_rng_below(&self->rng, 4); left; left--) {
        char bytes[17];
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t shown = {0};
        helio_text_t name = random_text(self, bytes, &shown);
        bytes[name.size] = '\0';
        if (!array)
            tell_text(self->told, shown.size ? shown.data : "", shown.size);
        write_value(self, array ? NULL : bytes, depth + 1);
    }
    helio_json_end(&self->json);
    helio_buffer_text(self->told, array ? "]" : "}");
}

static void write_number(pair_t *self, const char *name, uint64_t kind)
{
    uint64_t number = helio_rng_next(&self->rng) >> helio_rng_below(&self->rng, 64);
    double real;
    if (kind == 0) {
        helio_json_put_u64(&self->json, name, number);
        helio_buffer_printf(self->told, "i%llu;", (unsigned long long)number);
    } else if (kind == 1) {
        helio_json_put_i64(&self->json, name, (int64_t)number);
        helio_buffer_printf(self->told, "i%lld;", (long long)number);
    } else {
        memcpy(&real, &number, sizeof real);
        helio_json_put_real(&self->json, name, real);
        if (real - real == 0) /* finite */
            tell_real(self->told, real);
        else
            helio_buffer_text(self->told, "n");
    }
}

static void write_value(pair_t *self, const char *name, uint32_t depth)
{
    uint64_t kind = helio_rng_below(&self->rng, depth < DEPTH_MAX ? 9 : 6);
    char bytes[16];
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t shown = {0};
    if (kind <= 2) {
        write_number(self, name, kind);
    } else if (kind == 3) {
        bool value = helio_rng_below(&self->rng, 2);
        helio_json_put_bool(&self->json, name, value);
        helio_buffer_text(self->told, value ? "b1" : "b0");
    } else if (kind == 4) {
        helio_json_put_null(&self->json, name);
        helio_buffer_text(self->told, "n");
    } else if (kind == 5) {
        helio_json_put_text(&self->json, name, random_text(self, bytes, &shown));
        tell_text(self->told, shown.size ? shown.data : "", shown.size);
    } else {
        bool array = kind == 6;
        if (array)
            helio_json_begin_array(&self->json, name);
        else
            helio_json_begin_object(&self->json, name);
        write_members(self, array, depth);
    }
}

/* ---- a reader ---------------------------------------------------------------------------------------------- */

static const char *after_blanks(const char *at)
{
    return at + strspn(at, " \n");
}

static const char *read_text(const char *at, helio_buffer_t *told)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    assert_int_equal(*at, '"');
    for (at++; *at != '"'; at++) {
        assert_true((unsigned char)*at >= 0x20); /* everything else is escaped */
        if (*at != '\\') {
            helio_buffer_append(&text, at, 1);
            continue;
        }
        at++;
        if (*at == 'u') {
            char digits[5] = {at[1], at[2], at[3], at[4], '\0'};
            unsigned code = (unsigned)strtoul(digits, NULL, 16);
            assert_true(code == 0xfffd || code < 0x80);
            helio_buffer_append(&text, code < 0x80 ? (const char[]){(char)code} : "\xef\xbf\xbd", code < 0x80 ? 1 : 3);
            at += 4;
        } else {
            assert_non_null(strchr("\"\\n", *at));
            helio_buffer_append(&text, *at == 'n' ? "\n" : at, 1);
        }
    }
    tell_text(told, text.size ? text.data : "", text.size);
    return at + 1;
}

static const char *read_value(const char *at, helio_buffer_t *told)
{
    static const char *const words[][2] = {{"null", "n"}, {"true", "b1"}, {"false", "b0"}};
    if (*at == '"')
        return read_text(at, told);
    if (*at == '{' || *at == '[') {
        char end = *at == '{' ? '}' : ']';
        helio_buffer_append(told, at, 1);
        for (at = after_blanks(at + 1); *at != end; at = after_blanks(at + (*at == ','))) {
            if (end == '}') {
                at = after_blanks(read_text(at, told));
                assert_int_equal(*at, ':');
                at = after_blanks(at + 1);
            }
            at = after_blanks(read_value(at, told));
            assert_true(*at == end || (*at == ',' && *after_blanks(at + 1) != end));
        }
        helio_buffer_append(told, at, 1);
        return at + 1;
    }
    for (size_t i = 0; i < 3; i++)
        if (strncmp(at, words[i][0], strlen(words[i][0])) == 0) {
            helio_buffer_text(told, words[i][1]);
            return at + strlen(words[i][0]);
        }
    size_t size = strspn(at, "-+.eE0123456789");
    assert_true(size);
    if (memchr(at, '.', size) || memchr(at, 'e', size))
        tell_real(told, strtod(at, NULL));
    else
        helio_buffer_printf(told, "i%.*s;", (int)size, at);
    return at + size;
}

static void what_is_written__is_read_back(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0}, told = {0}, read = {0};
        pair_t pair = {.rng = {.state = seed}, .told = &told};
        pair.json = seed % 2 ? helio_json_into(&out) : helio_json_indented_into(&out);
        write_value(&pair, NULL, 0);
        const char *end = read_value(out.data, &read);
        if (*end || read.size != told.size || memcmp(read.data, told.data, told.size) != 0)
            fail_msg("seed %llu:\n%s\ntold %s\nread %s", (unsigned long long)seed, out.data, told.data, read.data);
    }
}

static void what_does_not_fit__is_seen_at_the_buffer(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= ROUNDS / 4; seed++) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t whole = {0}, told = {0};
        pair_t pair = {.rng = {.state = seed}, .json = helio_json_into(&whole), .told = &told};
        write_value(&pair, NULL, 0);
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t cut = {.max = (uint32_t)(whole.size - 1)};
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t enough = {.max = (uint32_t)whole.size};
        pair = (pair_t){.rng = {.state = seed}, .json = helio_json_into(&enough), .told = &told};
        write_value(&pair, NULL, 0);
        assert_false(enough.overflow);
        if (whole.size == 1)
            continue; /* a maximum of 0 is none */
        pair = (pair_t){.rng = {.state = seed}, .json = helio_json_into(&cut), .told = &told};
        write_value(&pair, NULL, 0);
        assert_true(cut.overflow);
        assert_true(cut.size < whole.size);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written__is_read_back),
        cmocka_unit_test(what_does_not_fit__is_seen_at_the_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
