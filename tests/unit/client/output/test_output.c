/*  What is printed, byte for byte, in every format; and quantities as people read them. */
#include "tests/unit/client/output/output_testing.h"

#include <locale.h>
#include <math.h>

#include "client/output/humanise.h"

static const helio_column_t columns[] = {
    {"ID", "id", HELIO_CELL_ID, false},          {"NAME", "name", HELIO_CELL_TEXT, false},
    {"STATE", "state", HELIO_CELL_STATE, false}, {"GPUS", "gpus", HELIO_CELL_COUNT, false},
    {"AGE", "at", HELIO_CELL_AGE, false},        {"COST", "cost_usd|cost", HELIO_CELL_MONEY, true},
    {"SITES", "sites", HELIO_CELL_LIST, true},
};

static const char rows_text[] =
    "[{\"id\":\"01k9x2m4q8r7aaaabbbbccccdd\",\"name\":\"naïve ✔\",\"state\":\"running\",\"gpus\":16,"
    "\"at\":\"2026-11-22T07:00:00.000Z\",\"cost\":12.3,\"sites\":[\"lulea\",\"oregon\"]},"
    "{\"id\":\"01k9x2m4q8r7aaaabbbbccccee.12\",\"name\":\"say \\\"hi\\\", "
    "all\",\"state\":\"queued\",\"gpus\":8,"
    "\"at\":\"2026-11-22T06:00:00Z\",\"cost_usd\":null,\"sites\":null}]";

static void check(const char *json, helio_format_t format, const char *expected)
{
    char *text = print_text(json, format, false, false, HELIO_COLUMNS(columns, "id"));
    assert_string_equal(text, expected);
    free(text);
}

static void output__table_is_aligned_by_the_width_of_characters(void **state)
{
    (void)state;
    check(rows_text, HELIO_FORMAT_TABLE,
          "ID           NAME           STATE    GPUS    AGE\n"
          "bbccccdd     naïve ✔        running    16     2m\n"
          "bbccccee.12  say \"hi\", all  queued      8  1h02m\n");
}

static void output__wide_has_every_column_and_whole_ids(void **state)
{
    (void)state;
    check(rows_text, HELIO_FORMAT_WIDE,
          "ID                             NAME           STATE    GPUS    AGE    COST  SITES\n"
          "01k9x2m4q8r7aaaabbbbccccdd     naïve ✔        running    16     2m  $12.30  lulea,oregon\n"
          "01k9x2m4q8r7aaaabbbbccccee.12  say \"hi\", all  queued      8  1h02m       -  -\n");
}

static void output__csv_quotes_and_carries_plain_values(void **state)
{
    (void)state;
    check(rows_text, HELIO_FORMAT_CSV,
          "id,name,state,gpus,at,cost_usd,sites\n"
          "01k9x2m4q8r7aaaabbbbccccdd,naïve "
          "✔,running,16,2026-11-22T07:00:00.000Z,12.3,\"[\"\"lulea\"\",\"\"oregon\"\"]\"\n"
          "01k9x2m4q8r7aaaabbbbccccee.12,\"say \"\"hi\"\", all\",queued,8,2026-11-22T06:00:00Z,,\n");
}

static void output__json_and_jsonl_keep_values_and_order(void **state)
{
    (void)state;
    check("[{\"b\":0.1,\"a\":[1,\"é\"]},{\"c\":null}]", HELIO_FORMAT_JSON,
          "[\n  {\n    \"b\": 0.1,\n    \"a\": [\n      1,\n      \"é\"\n    ]\n  },\n  {\n    \"c\": null\n "
          " }\n]\n");
    check("[{\"b\":0.1,\"a\":[1]},{\"c\":null}]", HELIO_FORMAT_JSONL, "{\"b\":0.1,\"a\":[1]}\n{\"c\":null}\n");
    check("[]", HELIO_FORMAT_JSON, "[]\n");
    check("[]", HELIO_FORMAT_JSONL, "");
}

static void output__name_is_one_full_id_per_line(void **state)
{
    (void)state;
    check(rows_text, HELIO_FORMAT_NAME, "01k9x2m4q8r7aaaabbbbccccdd\n01k9x2m4q8r7aaaabbbbccccee.12\n");
}

static void output__an_empty_table_has_its_header(void **state)
{
    (void)state;
    check("[]", HELIO_FORMAT_TABLE, "ID  NAME  STATE  GPUS  AGE\n");
}

static void output__hostile_text_does_not_reach_the_terminal(void **state)
{
    (void)state;
    const char *hostile = "[{\"id\":\"x\",\"name\":\"a\\u001b[2Jb\\nc\\u009bd\",\"state\":\"\\u0007\"}]";
    const helio_format_t formats[] = {HELIO_FORMAT_TABLE, HELIO_FORMAT_WIDE};
    for (size_t i = 0; i < 2; i++) {
        char *text = print_text(hostile, formats[i], false, false, HELIO_COLUMNS(columns, "id"));
        assert_null(strchr(text, '\033'));
        assert_null(strchr(text, '\a'));
        assert_null(strstr(text, "\xC2\x9B"));
        assert_non_null(strstr(text, "a?[2Jb?c?d"));
        free(text);
    }
}

static void output__csv_on_a_terminal_does_not_control_it_and_in_a_pipe_is_whole(void **state)
{
    (void)state;
    json_t *rows = json_loads("[{\"id\":\"x\",\"name\":\"a\\u001b[2Jb\\u202ec\"}]", 0, NULL);
    for (int terminal = 0; terminal < 2; terminal++) {
        char *text = NULL;
        size_t size = 0;
        FILE *stream = open_memstream(&text, &size);
        helio_output_t output = {.stream = stream, .format = HELIO_FORMAT_CSV, .terminal = terminal};
        assert_int_equal(helio_output_rows(&output, rows, HELIO_COLUMNS(columns, "id")), HELIO_OK);
        assert_int_equal(fclose(stream), 0);
        assert_non_null(strstr(text, terminal ? "x,a?[2Jb?c,"
                                              : "x,a\033[2Jb\xE2\x80\xAE"
                                                "c,"));
        free(text);
    }
    json_decref(rows);
}

/*  What a program reads is the same value; what a terminal gets has no character that controls it. */
static void output__json_on_a_terminal_escapes_what_could_control_it(void **state)
{
    (void)state;
    static const char *const names[] = {"\x7f",         "\xC2\x80",     "\xC2\x9B[2J",         "\xC2\x9F",
                                        "\xD8\x9C",     "\xE2\x80\x8E", "\xE2\x80\x8F",        "\xE2\x80\xAC",
                                        "\xE2\x80\xAA", "\xE2\x80\xAE", "\xE2\x81\xA6",        "\xE2\x81\xA9",
                                        "\033]0;x\a\n", "\\\"",         "\xC3\xA9\xE2\x9C\x94"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        json_t *rows = json_pack("[{s:s, s:s}]", "id", "x", "name", names[i]);
        char *text[2] = {NULL, NULL};
        for (int terminal = 0; terminal < 2; terminal++) {
            size_t size = 0;
            FILE *stream = open_memstream(&text[terminal], &size);
            helio_output_t output = {
                .stream = stream, .format = i % 2 ? HELIO_FORMAT_JSON : HELIO_FORMAT_JSONL, .terminal = terminal};
            assert_int_equal(helio_output_rows(&output, rows, HELIO_COLUMNS(columns, "id")), HELIO_OK);
            assert_int_equal(fclose(stream), 0);
            json_t *read = json_loads(text[terminal], 0, NULL);
            const json_t *row = json_is_array(read) ? json_array_get(read, 0) : read;
            assert_string_equal(json_string_value(json_object_get(row, "name")), names[i]);
            json_decref(read);
        }
        bool harmless = i >= 12; /* jansson has escaped it, or it is a letter */
        assert_int_equal(strcmp(text[0], text[1]) == 0, harmless);
        for (const char *at = text[1]; *at; at++)
            assert_true((unsigned char)*at >= 0x20 ? *at != 0x7f : *at == '\n');
        assert_true(harmless || !strstr(text[1], names[i]));
        free(text[0]);
        free(text[1]);
        json_decref(rows);
    }
}

static void output__colour_only_when_asked_for(void **state)
{
    (void)state;
    char *plain = print_text(rows_text, HELIO_FORMAT_TABLE, false, false, HELIO_COLUMNS(columns, "id"));
    char *coloured = print_text(rows_text, HELIO_FORMAT_TABLE, true, false, HELIO_COLUMNS(columns, "id"));
    assert_null(strchr(plain, '\033'));
    assert_non_null(strstr(coloured, "\033[32mrunning"));
    free(plain);
    free(coloured);
}

static void output__an_object_is_titles_and_values(void **state)
{
    (void)state;
    const char *object = "{\"id\":\"01k9x2m4q8r7aaaabbbbccccdd\",\"state\":\"held\",\"extra\":3,\"nested\":{}}";
    char *text = print_text(object, HELIO_FORMAT_TABLE, false, true, HELIO_COLUMNS(columns, "id"));
    assert_string_equal(text, "ID                01k9x2m4q8r7aaaabbbbccccdd\nSTATE             held\n");
    free(text);
    text = print_text(object, HELIO_FORMAT_WIDE, false, true, HELIO_COLUMNS(columns, "id"));
    assert_non_null(strstr(text, "extra             3\n"));
    assert_null(strstr(text, "nested"));
    free(text);
    text = print_text(object, HELIO_FORMAT_NAME, false, true, HELIO_COLUMNS(columns, "id"));
    assert_string_equal(text, "01k9x2m4q8r7aaaabbbbccccdd\n");
    free(text);
}

static void output__a_full_disk_is_an_error(void **state)
{
    (void)state;
    FILE *full = fopen("/dev/full", "w");
    assert_non_null(full);
    json_t *rows = json_loads(rows_text, 0, NULL);
    helio_output_t output = {.stream = full, .format = HELIO_FORMAT_CSV};
    assert_int_equal(helio_output_rows(&output, rows, HELIO_COLUMNS(columns, "id")), HELIO_IO);
    json_decref(rows);
    (void)fclose(full);
}

static const struct {
    void (*human)(double, char[HELIO_HUMAN_SIZE]);
    double value;
    const char *text;
} quantities[] = {
    {helio_human_number, 0, "0"},
    {helio_human_number, 0.0312, "0.0312"},
    {helio_human_number, 398, "398"},
    {helio_human_number, 99.96, "100"},
    {helio_human_number, 1.07, "1.07"},
    {helio_human_number, 12000, "12000"},
    {helio_human_number, NAN, "?"},
    {helio_human_number, INFINITY, "?"},
    {helio_human_number, -4.5, "-4.5"},
    {helio_human_duration, 4, "4s"},
    {helio_human_duration, 59.6, "1m"},
    {helio_human_duration, 700, "11m"},
    {helio_human_duration, 7500, "2h05m"},
    {helio_human_duration, 273600, "3d04h"},
    {helio_human_run, 116.9, "1m57s"},
    {helio_human_run, 2520, "42m"},
    {helio_human_run, 59.6, "1m"},
    {helio_human_run, 3599.6, "1h00m"},
    {helio_human_run, 4, "4s"},
    {helio_human_run, 7500, "2h05m"},
    {helio_human_run, -90, "-1m"},
    {helio_human_run, 1e300, "?"},
    {helio_human_duration, -90, "-1m"},
    {helio_human_duration, 1e300, "?"},
    {helio_human_money, 0.0042, "$0.0042"},
    {helio_human_money, 12.3, "$12.30"},
    {helio_human_money, 312.4, "$312"},
    {helio_human_money, -3, "-$3.00"},
    {helio_human_money, 0, "$0.00"},
    {helio_human_energy, 0.35, "350 Wh"},
    {helio_human_energy, 71, "71 kWh"},
    {helio_human_energy, 1234, "1.23 MWh"},
    {helio_human_mass, 850, "850 g"},
    {helio_human_mass, 1900, "1.9 kg"},
    {helio_human_mass, 2.3e6, "2.3 t"},
    {helio_human_mass, 999.7, "1 kg"},
    {helio_human_bytes, 512, "512 B"},
    {helio_human_bytes, 1.5e9, "1.5 GB"},
};

static void humanise__gives_three_figures_and_a_unit(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof quantities / sizeof quantities[0]; i++) {
        char text[HELIO_HUMAN_SIZE];
        quantities[i].human(quantities[i].value, text);
        assert_string_equal(text, quantities[i].text);
    }
}

static void humanise__short_ids_are_the_last_characters(void **state)
{
    (void)state;
    static const char *const ids[][2] = {
        {"01k9x2m4q8r7aaaabbbbccccdd", "bbccccdd"},
        {"01k9x2m4q8r7aaaabbbbccccdd.7", "bbccccdd.7"},
        {"short", "short"},
        {"", ""},
        {".5", ".5"},
    };
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        char text[HELIO_HUMAN_SIZE];
        helio_short_id(ids[i][0], text);
        assert_string_equal(text, ids[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output__table_is_aligned_by_the_width_of_characters),
        cmocka_unit_test(output__wide_has_every_column_and_whole_ids),
        cmocka_unit_test(output__csv_quotes_and_carries_plain_values),
        cmocka_unit_test(output__json_and_jsonl_keep_values_and_order),
        cmocka_unit_test(output__name_is_one_full_id_per_line),
        cmocka_unit_test(output__an_empty_table_has_its_header),
        cmocka_unit_test(output__hostile_text_does_not_reach_the_terminal),
        cmocka_unit_test(output__csv_on_a_terminal_does_not_control_it_and_in_a_pipe_is_whole),
        cmocka_unit_test(output__json_on_a_terminal_escapes_what_could_control_it),
        cmocka_unit_test(output__colour_only_when_asked_for),
        cmocka_unit_test(output__an_object_is_titles_and_values),
        cmocka_unit_test(output__a_full_disk_is_an_error),
        cmocka_unit_test(humanise__gives_three_figures_and_a_unit),
        cmocka_unit_test(humanise__short_ids_are_the_last_characters),
    };
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
