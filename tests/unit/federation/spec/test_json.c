/*  The two ways to a tree, json.c and libyaml, give the same one: node by node, with places. */
#include "spec_testing.h"

#include "federation/base/rng.h"
#include "federation/spec/encoding.h"
#include "federation/spec/reader.h"

static bool same_tree(const helio_spec_node_t *a, const helio_spec_node_t *b)
{
    if (a->type != b->type || a->plain != b->plain || a->offset != b->offset || a->end != b->end ||
        a->count != b->count || !helio_text_equal(a->text, b->text))
        return false;
    const helio_spec_node_t *x = a->first, *y = b->first;
    for (; x && y; x = x->next, y = y->next)
        if (!same_tree(x, y))
            return false;
    return !x && !y;
}

/*  Whether json.c took it. What it takes libyaml must take too, and make the same of it. */
static bool compare(const void *bytes, size_t size)
{
    helio_arena_t *arena = helio_arena_new();
    exact_t exact = exact_of("job.json", bytes, size);
    helio_spec_reader_t reader = {.source = exact.source, .arena = arena};
    helio_spec_node_t *json = NULL, *yaml = NULL;
    bool taken = helio_spec_json_tree(&reader, HELIO_JOB_SOURCE_MAX, &json);
    if (taken) {
        helio_diagnostic_t diagnostic = {0};
        reader.diagnostic = &diagnostic;
        if (helio_spec_yaml_tree(&reader, HELIO_JOB_SOURCE_MAX, &yaml) != HELIO_OK)
            fail_msg("libyaml refuses what was taken as JSON: %s\n%.*s", diagnostic.message, (int)size,
                     (const char *)bytes);
        if (!same_tree(json, yaml))
            fail_msg("two trees of:\n%.*s", (int)size, (const char *)bytes);
    }
    free(exact.bytes);
    helio_arena_destroy(&arena);
    return taken;
}

static bool compare_string(const char *text)
{
    return compare(text, strlen(text));
}

static void json__plain_documents_are_accepted(void **state)
{
    static const char *const taken[] = {
        "{}",
        "{\"run\": \"x\"}",
        " \n{ \"run\" : \"x\" }\n\n ",
        "{\"a\":1,\"b\":-2.5e-3,\"c\":0,\"d\":true,\"e\":false,\"f\":null}",
        "{\"a\":[],\"b\":{},\"c\":[1,[2,[3]],{\"d\":[{}]}]}",
        "{\n  \"a\": {\n    \"b\": [\n      1,\n      2\n    ]\n  }\n}\n",
        "{\"a\":\"\",\"\":\"b\"}",
        "{\"a\":\"\\\"\\\\\\/"
        "\\b\\f\\n\\r\\t\\u0041\\u00e9\\u20ac\\u0085\\u2028\\ufeff\\uffff\\u007f\\u0001\"}",
        "{\"a\":\"x\\ny\\tz\", \"b\": \"# - : , ] } ' & * ! | > % @ ` --- ...\"}",
        "{\"a\": \"  blanks at both ends  \"}",
        "{\"a\":\"\xc3\xa9\", \"\xc3\xb6rt\": \"s\xc3\xb6"
        "der \\n \xe2\x82\xac \xf0\x9f\x8c\x9e\"}",
        "{\"a\":\"\xc2\xa0\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbd\xf4\x8f\xbf\xbf\xe2\x80\xa7\xe2\x80\xaa\"}",
        "{\"---\": \"---\"}",
        "{\"true\": \"null\", \"null\": \"~\", \"1\": \"1\"}",
        "{\"a\": [1 , 2\n,3]\n}",
        "{\"a\":\n\n   1\n  }",
    };
    (void)state;
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
        if (!compare_string(taken[i]))
            fail_msg("not taken: %s", taken[i]);
}

static const char *const left[] = {
    "",
    " ",
    "run: x",
    "[1]",
    "\"a\"",
    "1",
    "{",
    "}",
    "{\"a\"}",
    "{\"a\":}",
    "{\"a\":1",
    "{\"a\":1,}",
    "{,}",
    "{\"a\":[1,]}",
    "{\"a\":[1}",
    "{\"a\":1]",
    "{\"a\":1}}",
    "{\"a\":1} x",
    "{\"a\":1}{\"b\":2}",
    "{\"a\":1}\n---\n{\"b\":2}",
    "{\"a\":1}\n...\n",
    "{\"a\":01}",
    "{\"a\":1.}",
    "{\"a\":.5}",
    "{\"a\":+1}",
    "{\"a\":1e}",
    "{\"a\":-}",
    "{\"a\":tru}",
    "{\"a\":truex}",
    "{\"a\":nul}",
    "{\"a\":~}",
    "{\"a\":b}",
    "{a:1}",
    "{1:2}",
    "{'a':1}",
    "{\"a\":'b'}",
    "{\"a\":1 # c\n}",
    "{\"a\":1,\"a\":2}",
    "{\"a\" \"b\"}",
    "{\"a\"\n:1}",
    "{\"a\":1 2}",
    "{\"a\":1\"b\":2}",
    "{\"a\":\"b\nc\"}",
    "{\"a\":\"b\tc\"}",
    "{\t\"a\":1}",
    "{\"a\":1}\r\n",
    "{\"a\":\"\\x41\"}",
    "{\"a\":\"\\u004\"}",
    "{\"a\":\"\\u0000\"}",
    "{\"a\":\"\\ud83d\\ude00\"}",
    "{\"a\":\"\\",
    "{\"a\":\"\\u00",
    "{\"a\":\"b",
    "{\"a\":\"\xc3\"}",
    "{\"a\":\"\xc2\x85\"}", /* a line break to YAML, as the next two */
    "{\"a\":\"x\xe2\x80\xa8y\"}",
    "{\"a\":\"\xe2\x80\xa9\"}",
    "{\"a\":\"\xef\xbb\xbf\"}",     /* a byte order mark */
    "{\"a\":\"\xef\xbf\xbf\"}",     /* no character */
    "{\"a\":\"\xed\xa0\x80\"}",     /* a surrogate */
    "{\"a\":\"\xc0\xaf\"}",         /* longer than it needs to be */
    "{\"a\":\"\xf4\x90\x80\x80\"}", /* beyond the last */
    "{\"a\":\"\xe2\x82\"}",
    "{\"a\":\"\x7f\"}",
    "\xef\xbb\xbf{\"a\":1}",
    "{\"a\":&b 1}",
    "{\"a\":*b}",
    "{\"a\":!b 1}",
    "{? \"a\":1}",
};

static void json__other_documents_are_left_to_the_yaml_parser(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++)
        if (compare_string(left[i]))
            fail_msg("taken: %s", left[i]);
    assert_false(compare("{\"a\":\"b\0c\"}", 11));
    assert_false(compare("{\"a\":1}\0", 8));
}

/*  A key `reach` blanks away from its colon; libyaml's own bound is 1,024. */
static bool far_colon(int reach)
{
    char text[4096];
    (void)snprintf(text, sizeof text, "{\"a\"%*s:1}", reach, "");
    return compare_string(text);
}

static void json__bounds_are_those_of_the_yaml_parser(void **state)
{
    (void)state;
    assert_true(far_colon(900));
    assert_false(far_colon(1100));
    for (int depth = 1; depth <= HELIO_SPEC_DEPTH_MAX + 1; depth++) {
        char text[256] = "{\"a\":";
        for (int i = 1; i < depth; i++)
            text[4 + i] = '[';
        (void)snprintf(text + 4 + depth, 64, "1%.*s}", depth - 1, "]]]]]]]]]]]]]]]]]]]]]]]");
        assert_int_equal(compare_string(text), depth <= HELIO_SPEC_DEPTH_MAX);
    }
    for (int keys = HELIO_SPEC_KEYS_MAX - 1; keys <= HELIO_SPEC_KEYS_MAX + 1; keys++) {
        helio_buffer_t text = {0};
        for (int i = 0; i < keys; i++)
            helio_buffer_printf(&text, "%s\"k%d\":%d", i ? "," : "{", i, i);
        helio_buffer_text(&text, "}");
        assert_int_equal(compare(text.data, text.size), keys <= HELIO_SPEC_KEYS_MAX);
        helio_buffer_clear(&text);
    }
    static char big[HELIO_JOB_SOURCE_MAX + 1];
    memset(big, ' ', sizeof big);
    memcpy(big, "{}", 2);
    assert_true(compare(big, sizeof big - 1));
    assert_false(compare(big, sizeof big));
}

/*  ---- random documents ---- */

static void blanks(helio_rng_t *rng, helio_buffer_t *out)
{
    while (helio_rng_below(rng, 4) == 0)
        helio_buffer_text(out, helio_rng_below(rng, 3) ? " " : "\n");
}

static void string(helio_rng_t *rng, helio_buffer_t *out)
{
    static const char *const pieces[] = {"a",   "run", " ",    ":",    ": ",      "#",      " #",      "-", "---",
                                         "...", "\\n", "\\\"", "\\\\", "\\/",     "{",      "}",       "[", "]",
                                         ",",   "'",   "&x",   "*x",   "!",       "%",      "\\u00e4", "~", "null",
                                         "1",   "?",   "|",    "\\t",  "\\u20ac", "\\b\\f", "\\u0007"};
    helio_buffer_text(out, "\"");
    for (uint64_t i = helio_rng_below(rng, 6); i > 0; i--)
        helio_buffer_text(out, pieces[helio_rng_below(rng, sizeof pieces / sizeof pieces[0])]);
    helio_buffer_text(out, "\"");
}

static void value(helio_rng_t *rng, int depth, helio_buffer_t *out)
{
    static const char *const plain[] = {"0", "-1", "12.5", "1e9", "-0.5E+3", "true", "false", "null", "7"};
    uint64_t what = helio_rng_below(rng, depth > 0 ? 8 : 5);
    if (what >= 5) {
        bool mapping = what > 5;
        helio_buffer_text(out, mapping ? "{" : "[");
        uint64_t count = helio_rng_below(rng, 4);
        for (uint64_t i = 0; i < count; i++) {
            helio_buffer_text(out, i ? "," : "");
            blanks(rng, out);
            if (mapping) {
                string(rng, out);
                helio_buffer_text(out, helio_rng_below(rng, 2) ? ":" : " : ");
            }
            blanks(rng, out);
            value(rng, depth - 1, out);
            blanks(rng, out);
        }
        helio_buffer_text(out, mapping ? "}" : "]");
    } else if (what >= 2) {
        string(rng, out);
    } else {
        helio_buffer_text(out, plain[helio_rng_below(rng, sizeof plain / sizeof plain[0])]);
    }
}

static void document(helio_rng_t *rng, helio_buffer_t *out)
{
    do {
        helio_buffer_reset(out);
        value(rng, 5, out);
    } while (out->data[0] != '{');
}

static void json__random_documents_give_the_same_tree(void **state)
{
    helio_rng_t rng = {20261121};
    helio_buffer_t text = {0};
    uint32_t taken = 0;
    (void)state;
    for (int i = 0; i < 5000; i++) {
        document(&rng, &text);
        taken += compare(text.data, text.size);
    }
    assert_true(taken > 3500); /* the rest has a key twice */
    helio_buffer_clear(&text);
}

/*  One or two bytes of a good document replaced, removed or put in. */
static void mutate(helio_rng_t *rng, helio_buffer_t *text)
{
    static const char odd[] = " \n\t\r\"\\'{}[]:,#-?&*!|>%@`~ab01.eE+u\x7f\x80\xc3\xe2\xff";
    for (uint64_t i = 1 + helio_rng_below(rng, 2); i > 0 && text->size > 1; i--) {
        size_t at = helio_rng_below(rng, text->size);
        char c = odd[helio_rng_below(rng, sizeof odd)]; /* its NUL too */
        switch (helio_rng_below(rng, 3)) {
        case 0:
            text->data[at] = c;
            break;
        case 1:
            memmove(text->data + at, text->data + at + 1, text->size - at - 1);
            text->size--;
            break;
        default:
            helio_buffer_append(text, " ", 1);
            memmove(text->data + at + 1, text->data + at, text->size - at - 1);
            text->data[at] = c;
        }
    }
}

static void json__damaged_documents_give_the_same_tree_or_none(void **state)
{
    helio_rng_t rng = {7};
    helio_buffer_t text = {0};
    uint32_t taken = 0, count = 30000;
    (void)state;
    for (uint32_t i = 0; i < count; i++) {
        document(&rng, &text);
        mutate(&rng, &text);
        taken += compare(text.data, text.size);
    }
    assert_true(taken > count / 10 && taken < count * 9 / 10);
    helio_buffer_clear(&text);
}

static void json__every_truncated_document_is_left_to_the_yaml_parser(void **state)
{
    static const char text[] = "{\"run\": \"a\\u00e9\\n\", \"nodes\": 12, \"env\": {\"A\": null}, \"gpu\": [true]}";
    (void)state;
    for (size_t size = 0; size < sizeof text - 1; size++)
        assert_false(compare(text, size));
    assert_true(compare(text, sizeof text - 1));
}

/*  ---- what users see ---- */

static void json__a_job_is_the_same_as_json_and_as_yaml(void **state)
{
    helio_job_spec_t a = good_job("{\"name\":\"n\",\"gpu\":{\"H100\":8,\"A100\":8},\"time\":\"1h\",\"env\":{\"A\":1,"
                                  "\"B\":\"\"},\"placement\":{\"sites\":[\"eu-*\"]},\"run\":\"a\\nb\"}",
                                  *state);
    helio_job_spec_t b = good_job("name: n\ngpu: {H100: 8, A100: 8}\ntime: 1h\nenv: {A: 1, B: ''}\n"
                                  "placement: {sites: [eu-*]}\nrun: \"a\\nb\"\n",
                                  *state);
    assert_true(helio_text_equal(a.name, b.name) && helio_text_equal(a.run, b.run));
    assert_text(a.run, "a\nb");
    assert_int_equal(a.time_limit_ms, b.time_limit_ms);
    assert_true(a.gpus_any && b.gpus_any && a.gpus.count == 2 && b.gpus.count == 2);
    assert_true(helio_text_equal(a.gpus.items[1].model, b.gpus.items[1].model));
    assert_true(a.env.count == 2 && b.env.count == 2 && a.sites.count == 1 && b.sites.count == 1);
    for (int i = 0; i < 2; i++) {
        assert_true(helio_text_equal(a.env.items[i].name, b.env.items[i].name));
        assert_true(helio_text_equal(a.env.items[i].value, b.env.items[i].value));
    }
}

static void json__errors_have_their_place(void **state)
{
    helio_diagnostic_t diagnostic = bad_job("{\"run\": \"x\",\n \"nodse\": 2}", *state);
    assert_int_equal(diagnostic.problem, HELIO_SPEC_UNKNOWN_KEY_PROBLEM);
    assert_int_equal(diagnostic.line, 2);
    assert_int_equal(diagnostic.column, 2);
    assert_string_equal(diagnostic.hint, "did you mean 'nodes'?");
    diagnostic = bad_job("{\"run\": \"x\", \"nodes\": 0}", *state);
    assert_int_equal(diagnostic.problem, HELIO_SPEC_OUT_OF_RANGE_PROBLEM);
    assert_int_equal(diagnostic.column, 23);
    assert_int_equal(diagnostic.span, 1);
    diagnostic = bad_job("{\"run\": \"x\", \"run\": \"y\"}", *state);
    assert_int_equal(diagnostic.problem, HELIO_SPEC_DUPLICATE_KEY_PROBLEM);
    assert_int_equal(diagnostic.column, 14);
}

/*  Each byte at each place among others that are good: the scan goes by words, what it finds goes by bytes. */
static void json__plain_characters_end_at_the_first_special_one(void **state)
{
    (void)state;
    static const char good[] = {' ', '!', '#', '[', ']', '~', 'x'};
    for (unsigned c = 0; c < 256; c++)
        for (size_t size = 1; size <= 24; size++)
            for (size_t place = 0; place < size; place++) {
                bool ordinary = c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
                char *bytes = malloc(size);
                assert_non_null(bytes);
                for (size_t i = 0; i < size; i++)
                    bytes[i] = good[(i + c) % sizeof good];
                bytes[place] = (char)c;
                assert_ptr_equal(helio_spec_skip_ordinary(bytes, bytes + size), bytes + (ordinary ? size : place));
                free(bytes);
            }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, arena_setup, arena_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(json__plain_documents_are_accepted),
        TEST(json__other_documents_are_left_to_the_yaml_parser),
        TEST(json__bounds_are_those_of_the_yaml_parser),
        TEST(json__random_documents_give_the_same_tree),
        TEST(json__damaged_documents_give_the_same_tree_or_none),
        TEST(json__every_truncated_document_is_left_to_the_yaml_parser),
        TEST(json__a_job_is_the_same_as_json_and_as_yaml),
        TEST(json__errors_have_their_place),
        TEST(json__plain_characters_end_at_the_first_special_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
