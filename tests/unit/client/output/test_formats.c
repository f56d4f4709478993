/*  test_formats.c -- rows of random texts come back unchanged from csv, json and jsonl, and take one line each in
 *  tables, whatever is in them. */
#include "tests/unit/client/output/output_testing.h"

#include <locale.h>

#include "client/output/humanise.h"
#include "federation/base/rng.h"
#include "federation/base/utf8.h"

static const helio_column_t columns[] = {
    {"ID", "id", HELIO_CELL_TEXT, false},          {"NAME", "name|title", HELIO_CELL_TEXT, false},
    {"GPUS", "gpus", HELIO_CELL_COUNT, false},     {"WHY", "why", HELIO_CELL_SAID, false},
    {"SITES", "sites", HELIO_CELL_LIST, true},     {"STATE", "state", HELIO_CELL_STATE, false},
    {"COST", "cost_usd", HELIO_CELL_MONEY, false}, {"TIME", "time", HELIO_CELL_TIME, true},
};
enum { COLUMN_COUNT = sizeof columns / sizeof columns[0], ROUNDS = 200, ROWS_MAX = 6 };

/*  Pieces that separators, quotes, line ends and terminals are made of. */
static const char *const pieces[] = {",", "\"", "\"\"", "\n",  "\r\n", "\r", "\t", " ",  "  ",    "a",
                                     "é", "✔",  "|",    "=1+", "\\n",  "-",  "'",  "\a", "\x1b[", "\xe2\x80\xae"};

static json_t *random_text(helio_rng_t *rng)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    for (uint64_t left = helio_rng_below(rng, 6); left; left--)
        helio_buffer_text(&text, pieces[helio_rng_below(rng, sizeof pieces / sizeof pieces[0])]);
    return json_string(text.size ? text.data : "");
}

static json_t *random_value(helio_rng_t *rng)
{
    switch (helio_rng_below(rng, 8)) {
    case 0:
        return json_null();
    case 1:
        return json_integer((json_int_t)helio_rng_next(rng));
    case 2:
        return json_real((double)helio_rng_below(rng, 1000000) / 64);
    case 3:
        return json_pack("[o, o]", random_text(rng), random_text(rng));
    default:
        return random_text(rng);
    }
}

static json_t *random_rows(helio_rng_t *rng)
{
    json_t *rows = json_array();
    for (uint64_t left = 1 + helio_rng_below(rng, ROWS_MAX - 1); left; left--) {
        json_t *row = json_object();
        for (size_t c = 0; c < COLUMN_COUNT; c++)
            if (helio_rng_below(rng, 8)) /* now and then a member is absent */
                json_object_setn_new(row, columns[c].key, strcspn(columns[c].key, "|"), random_value(rng));
        json_array_append_new(rows, row);
    }
    return rows;
}

/*  One field of RFC 4180 from *at on, which then stands at the character after it. */
static void read_field(const char **at, helio_buffer_t *ret_field)
{
    helio_buffer_reset(ret_field);
    if (**at != '"') {
        size_t size = strcspn(*at, ",\n");
        helio_buffer_append(ret_field, *at, size);
        *at += size;
        return;
    }
    for ((*at)++;; (*at)++) {
        assert_true(**at); /* the quote is closed */
        if (**at == '"' && (*at)[1] != '"')
            break;
        *at += **at == '"';
        helio_buffer_append(ret_field, *at, 1);
    }
    (*at)++;
    assert_non_null(strchr(",\n", **at)); /* nothing stands between the quote and the separator */
}

/*  What a field must hold: texts as they are, nothing for null, JSON for all else. */
static char *field_of(const json_t *value)
{
    if (!value || json_is_null(value))
        return strdup("");
    if (json_is_string(value))
        return strdup(json_string_value(value));
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_output_json(value, false, &text);
    return strdup(text.data);
}

static void csv__read_back_by_its_standard_gives_every_value(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        helio_rng_t rng = {.state = seed};
        json_t *rows = random_rows(&rng);
        char *text = print_json(rows, HELIO_FORMAT_CSV, false, false, HELIO_COLUMNS(columns, "id"));
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t field = {0};
        const char *at = strchr(text, '\n') + 1;
        for (size_t r = 0; r < json_array_size(rows); r++) {
            for (size_t c = 0; c < COLUMN_COUNT; c++) {
                char *expected = field_of(helio_output_find(json_array_get(rows, r), columns[c].key));
                read_field(&at, &field);
                if (strcmp(field.size ? field.data : "", expected) != 0 || *at != (c + 1 < COLUMN_COUNT ? ',' : '\n'))
                    fail_msg("seed %llu, row %zu, column %s: '%s' in\n%s", (unsigned long long)seed, r, columns[c].key,
                             expected, text);
                free(expected);
                at++;
            }
        }
        assert_int_equal(*at, '\0');
        free(text);
        json_decref(rows);
    }
}

static void json_and_jsonl__read_back_are_the_rows(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        helio_rng_t rng = {.state = seed};
        json_t *rows = random_rows(&rng), *lines = json_array();
        char *text = print_json(rows, HELIO_FORMAT_JSON, false, false, HELIO_COLUMNS(columns, "id"));
        json_t *back = json_loads(text, 0, NULL);
        if (!json_equal(rows, back))
            fail_msg("seed %llu: %s", (unsigned long long)seed, text);
        json_decref(back);
        free(text);
        text = print_json(rows, HELIO_FORMAT_JSONL, false, false, HELIO_COLUMNS(columns, "id"));
        for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
            json_array_append_new(lines, json_loads(line, 0, NULL));
        if (!json_equal(rows, lines))
            fail_msg("seed %llu: jsonl", (unsigned long long)seed);
        json_decref(lines);
        json_decref(rows);
        free(text);
    }
}

static size_t count_lines(const char *text)
{
    size_t lines = 0;
    for (; (text = strchr(text, '\n')) != NULL; text++)
        lines++;
    return lines;
}

static void tables__have_one_line_a_row_and_no_trailing_blanks(void **state)
{
    (void)state;
    static const helio_format_t formats[] = {HELIO_FORMAT_TABLE, HELIO_FORMAT_WIDE, HELIO_FORMAT_NAME};
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        helio_rng_t rng = {.state = seed};
        json_t *rows = random_rows(&rng);
        helio_format_t format = formats[seed % 3];
        char *text = print_json(rows, format, false, false, HELIO_COLUMNS(columns, "id"));
        if (count_lines(text) != json_array_size(rows) + (format != HELIO_FORMAT_NAME) || strchr(text, '\r') ||
            strchr(text, '\033') || strchr(text, '\a') || (format != HELIO_FORMAT_NAME && strstr(text, " \n")))
            fail_msg("seed %llu:\n%s", (unsigned long long)seed, text);
        free(text);
        json_decref(rows);
    }
}

static void tables__begin_every_cell_of_a_column_at_the_same_place(void **state)
{
    (void)state;
    static const helio_column_t two[] = {{"NAME", "name", HELIO_CELL_TEXT, false}, {"X", "x", HELIO_CELL_TEXT, false}};
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        helio_rng_t rng = {.state = seed};
        json_t *rows = json_array();
        for (int r = 0; r < 4; r++) { /* characters of one column each, in one, two and three bytes */
            static const char *const names[] = {"a", "é", "✔", "aé✔b", "ééé", "abcdef"};
            json_array_append_new(rows, json_pack("{s:s, s:s}", "name", names[helio_rng_below(&rng, 6)], "x", "@"));
        }
        char *text = print_json(rows, HELIO_FORMAT_TABLE, false, false, HELIO_COLUMNS(two, "name"));
        size_t place = 0;
        for (char *line = strtok(strchr(text, '\n'), "\n"); line; line = strtok(NULL, "\n")) {
            size_t width = 0;
            for (const char *at = line; *at != '@'; at++)
                width += ((unsigned char)*at & 0xc0) != 0x80;
            if (place && place != width)
                fail_msg("seed %llu: %s", (unsigned long long)seed, line);
            place = width;
        }
        free(text);
        json_decref(rows);
    }
}

static void keys__with_alternatives_take_the_first_that_has_a_value(void **state)
{
    (void)state;
    static const struct {
        const char *row, *csv;
    } cases[] = {
        {"[{\"name\":\"a\",\"title\":\"b\"}]", ",a,,,,,,\n"},
        {"[{\"name\":null,\"title\":\"b\"}]", ",b,,,,,,\n"},
        {"[{\"title\":\"b\"}]", ",b,,,,,,\n"},
        {"[{\"name\":\"\",\"title\":\"b\"}]", ",,,,,,,\n"}, /* empty is a value */
        {"[{\"name|title\":\"c\"}]", ",,,,,,,\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = print_text(cases[i].row, HELIO_FORMAT_CSV, false, false, HELIO_COLUMNS(columns, "id"));
        assert_string_equal(strchr(text, '\n') + 1, cases[i].csv);
        free(text);
    }
}

static void formats__are_known_by_exactly_their_words(void **state)
{
    (void)state;
    static const char *const words[] = {"table", "wide", "json", "jsonl", "csv", "name", "yaml"};
    static const char *const wrong[] = {"", "Table", "tabl", "tables", "yml", "json ", "c"};
    helio_format_t format = HELIO_FORMAT_NAME;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        assert_true(helio_format_of(words[i], &format));
        assert_int_equal(format, i);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(helio_format_of(wrong[i], &format));
}

static void counts__are_one_line_a_name_with_the_number_in_one_place(void **state)
{
    (void)state;
    json_t *counts = json_loads("{\"queued\":3,\"a\\u001b[2J\\nb\":12345678901,\"\":0,\"x\":\"no number\"}", 0, NULL);
    char *text = NULL;
    size_t size;
    helio_output_t output = {.stream = open_memstream(&text, &size)};
    helio_output_counts(&output, counts, 2);
    assert_int_equal(fclose(output.stream), 0);
    assert_string_equal(text, "  queued          3\n"
                              "  a?[2J?b         12345678901\n"
                              "                  0\n"
                              "  x               0\n");
    free(text);
    json_decref(counts);
}

static void safe_text__is_idempotent_and_keeps_everything_that_is_plain(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        helio_rng_t rng = {.state = seed};
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t once = {0}, twice = {0};
        json_t *text = random_text(&rng);
        helio_safe_text(json_string_value(text), seed % 2, &once);
        helio_safe_text(once.size ? once.data : "", seed % 2, &twice);
        assert_int_equal(once.size, twice.size);
        if (once.size)
            assert_memory_equal(once.data, twice.data, once.size);
        const char *plain = json_string_value(text);
        for (size_t i = 0; i < once.size; i++) { /* one '?' for one control character */
            bool turns = strncmp(plain, "\xe2\x80\xae", 3) == 0;
            assert_true((once.data[i] == *plain && !turns) || once.data[i] == '?');
            plain += turns ? 3 : 1;
        }
        assert_string_equal(plain, "");
        json_decref(text);
    }
}

static void safe_text__has_a_question_mark_for_each_byte_that_is_no_utf8(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"caf\xc3", "caf?"},
        {"\xff\xfe", "??"},
        {"a\xe2\x9c", "a??"},
        {"\xc2\x9b", "?"},
        {"\xc2\xa0", "\xc2\xa0"},
        {"\xc2", "?"},
        {"\xc2z", "?z"},
        {"\xed\xa0\x80", "???"},
        {"ok\xf0\x9f\x98\x80", "ok\xf0\x9f\x98\x80"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t safe = {0};
        helio_safe_text(cases[i][0], false, &safe);
        assert_string_equal(safe.size ? safe.data : "", cases[i][1]);
    }
}

/*  U+202E and its like would show "gpj.exe" as "exe.jpg". Letters of scripts that are written from the right stay. */
static void safe_text__does_not_turn_the_direction_of_writing(void **state)
{
    (void)state;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t safe = {0};
    helio_safe_text("a\xE2\x80\xAA"
                    "b\xE2\x80\xAE"
                    "c\xE2\x81\xA6"
                    "d\xE2\x81\xA9"
                    "e\xE2\x80\xA9\xD7\x90",
                    false, &safe);
    assert_string_equal(safe.data, "a?b?c?d?e\xE2\x80\xA9\xD7\x90");
}

/*  However a log is cut into pieces, what is shown is the same. */
static void safe_pieces__show_what_the_whole_would(void **state)
{
    (void)state;
    static const char text[] = "a\033[2J\xC2\x9B\t\xE2\x9C\x94\n\xF0\x9F\x98\x80\xE2\x80\xAE\x80z\xF0\x9F";
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t whole = {0};
    helio_safe_stream_t at_once = {0};
    helio_safe_piece(&at_once, text, sizeof text - 1, &whole);
    assert_string_equal(whole.data, "a?[2J?\t\xE2\x9C\x94\n\xF0\x9F\x98\x80??z");
    for (size_t size = 1; size < sizeof text - 1; size++) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t shown = {0};
        helio_safe_stream_t stream = {0};
        for (size_t at = 0; at < sizeof text - 1; at += size)
            helio_safe_piece(&stream, text + at, at + size < sizeof text - 1 ? size : sizeof text - 1 - at, &shown);
        assert_string_equal(shown.data, whole.data);
    }
}

static void short_names__are_beginnings_of_whole_characters(void **state)
{
    (void)state;
    static const char name[] = "aé✔😀z";
    for (uint32_t most = 0; most <= sizeof name; most++) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t cut = {0};
        helio_short_name(name, most, &cut);
        assert_true(cut.size <= most || most >= strlen(name));
        assert_true(!cut.size || strncmp(name, cut.data, cut.size) == 0);
        assert_true(helio_utf8_is_text(helio_buffer_view(&cut)));
        assert_true(cut.size == strlen(name) || cut.size + 4 > most); /* no more is lost than a character */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv__read_back_by_its_standard_gives_every_value),
        cmocka_unit_test(json_and_jsonl__read_back_are_the_rows),
        cmocka_unit_test(tables__have_one_line_a_row_and_no_trailing_blanks),
        cmocka_unit_test(tables__begin_every_cell_of_a_column_at_the_same_place),
        cmocka_unit_test(keys__with_alternatives_take_the_first_that_has_a_value),
        cmocka_unit_test(formats__are_known_by_exactly_their_words),
        cmocka_unit_test(counts__are_one_line_a_name_with_the_number_in_one_place),
        cmocka_unit_test(safe_text__is_idempotent_and_keeps_everything_that_is_plain),
        cmocka_unit_test(safe_text__has_a_question_mark_for_each_byte_that_is_no_utf8),
        cmocka_unit_test(safe_text__does_not_turn_the_direction_of_writing),
        cmocka_unit_test(safe_pieces__show_what_the_whole_would),
        cmocka_unit_test(short_names__are_beginnings_of_whole_characters),
    };
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
