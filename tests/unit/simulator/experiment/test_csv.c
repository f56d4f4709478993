/*  test_csv.c -- tables of comma-separated values, and what is said of wrong ones. */
#include "tests/unit/simulator/experiment/experiment_testing.h"

#include <zlib.h>

#include "federation/base/rng.h"
#include "simulator/experiment/csv.h"

enum { NAME, COUNT, TIME, COLUMNS };
static const exp_csv_column_t columns[COLUMNS] = {{"name", true}, {"count", false}, {"time", false}};

static exp_csv_t *table(const char *text)
{
    exp_csv_t *csv = exp_csv_open(put("t.csv", text), columns, COLUMNS, &err);
    if (!csv)
        fail_msg("%s", err.text);
    return csv;
}

static void expect_row(exp_csv_t *csv, const char *name, double count)
{
    double value = -1;
    assert_int_equal(exp_csv_next(csv, &err), HELIO_OK);
    assert_true(helio_text_is(exp_csv_text(csv, NAME), name));
    assert_int_equal(exp_csv_number(csv, COUNT, 0, 100, &value, &err), HELIO_OK);
    assert_true(value == count);
}

static void rows__are_found_by_the_names_of_their_columns(void **state)
{
    (void)state;
    HELIO_AUTO(exp_csv_close) exp_csv_t *csv = table("count,other,name\r\n3,x,a\r\n\r\n,y,b\n4.5,,\"c, \"\"d\"\"\"\n");
    assert_true(exp_csv_has(csv, COUNT) && !exp_csv_has(csv, TIME));
    expect_row(csv, "a", 3);
    expect_row(csv, "b", -1); /* an empty cell leaves the value */
    expect_row(csv, "c, \"d\"", 4.5);
    assert_int_equal(exp_csv_text(csv, TIME).size, 0);
    assert_int_equal(exp_csv_next(csv, &err), HELIO_NOT_FOUND);
}

static void rows__of_a_compressed_file_are_the_same(void **state)
{
    (void)state;
    gzFile file = gzopen(path_of("t.csv.gz"), "wb");
    assert_true(gzputs(file, "name,count\na,1\nb,2") > 0);
    assert_int_equal(gzclose(file), Z_OK);
    HELIO_AUTO(exp_csv_close) exp_csv_t *csv = exp_csv_open(path_of("t.csv.gz"), columns, COLUMNS, &err);
    assert_non_null(csv);
    expect_row(csv, "a", 1);
    expect_row(csv, "b", 2);
    assert_int_equal(exp_csv_next(csv, &err), HELIO_NOT_FOUND);
}

/*  Half of a compressed file must not pass for a short one. */
static void rows__of_a_cut_off_compressed_file_are_an_error(void **state)
{
    (void)state;
    helio_rng_t rng = {5};
    gzFile file = gzopen(path_of("whole"), "wb");
    assert_true(gzputs(file, "name,count\n") > 0);
    for (int i = 0; i < 5000; i++)
        assert_true(gzprintf(file, "%llx,1\n", (unsigned long long)helio_rng_next(&rng)) > 0);
    assert_int_equal(gzclose(file), Z_OK);
    static char bytes[200000];
    FILE *whole = fopen(path_of("whole"), "re"), *half = fopen(path_of("half"), "we");
    size_t size = fread(bytes, 1, sizeof bytes, whole);
    assert_true(size > 40000 && fwrite(bytes, 1, size / 2, half) == size / 2);
    (void)fclose(whole);
    (void)fclose(half);
    HELIO_AUTO(exp_csv_close) exp_csv_t *csv = exp_csv_open(path_of("half"), columns, COLUMNS, &err);
    assert_non_null(csv);
    helio_rc rc;
    while ((rc = exp_csv_next(csv, &err)) == HELIO_OK) {
    }
    assert_int_equal(rc, HELIO_IO);
}

static void times__are_whole_seconds_in_milliseconds(void **state)
{
    (void)state;
    HELIO_AUTO(exp_csv_close) exp_csv_t *csv = table("name,time\na,1.2\nb,\nc,-1\n");
    int64_t ms = 7;
    assert_int_equal(exp_csv_next(csv, &err), HELIO_OK);
    assert_int_equal(exp_csv_seconds(csv, TIME, 10, &ms, &err), HELIO_OK);
    assert_int_equal(ms, 2000);
    assert_int_equal(exp_csv_next(csv, &err), HELIO_OK);
    assert_int_equal(exp_csv_seconds(csv, TIME, 10, &ms, &err), HELIO_OK);
    assert_int_equal(ms, 2000);
    assert_int_equal(exp_csv_next(csv, &err), HELIO_OK);
    assert_int_equal(exp_csv_seconds(csv, TIME, 10, &ms, &err), HELIO_INVALID);
    assert_error("t.csv", ":4: column 'time': -1 is not within 0..10");
}

static void errors__name_file_line_and_column(void **state)
{
    (void)state;
    static const struct {
        const char *text, *error;
    } rows[] = {
        {"name,count\na,x\n", ":2: column 'count': 'x' is not a number"},
        {"name,count\na,101\n", ":2: column 'count': 101 is not within 0..100"},
        {"name,count\na,nan\n", ":2: column 'count': 'nan' is not a number"},
        {"name,count\n\na\n", ":3: 1 cells, but the first line names 2 columns"},
        {"name,count\na,1,2\n", ":2: 3 cells, but the first line names 2 columns"},
        {"name,count\n\"a,1\n", ":2: a quoted cell does not end with its quote"},
        {"name,count\n\"a\"b,1\n", ":2: a quoted cell does not end with its quote"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        HELIO_AUTO(exp_csv_close) exp_csv_t *csv = table(rows[i].text);
        double value;
        helio_rc rc = exp_csv_next(csv, &err);
        rc = rc == HELIO_OK ? exp_csv_number(csv, COUNT, 0, 100, &value, &err) : rc;
        assert_int_equal(rc, HELIO_INVALID);
        assert_error("t.csv", rows[i].error);
    }
}

static void errors__of_the_whole_file(void **state)
{
    (void)state;
    assert_null(exp_csv_open(path_of("none"), columns, COLUMNS, &err));
    assert_error("none", ": No such file or directory");
    assert_null(exp_csv_open(put("t.csv", ""), columns, COLUMNS, &err));
    assert_error("t.csv", ": the file is empty: its first line must name the columns");
    assert_null(exp_csv_open(put("t.csv", "count\n1\n"), columns, COLUMNS, &err));
    assert_error("t.csv", ":1: the column 'name' is missing");
}

static void errors__a_line_and_a_row_are_bounded(void **state)
{
    (void)state;
    static char text[70000] = "name,count\n";
    memset(text + 11, 'a', sizeof text - 12);
    HELIO_AUTO(exp_csv_close) exp_csv_t *csv = table(text);
    assert_int_equal(exp_csv_next(csv, &err), HELIO_TOO_BIG);
    memset(text + 11, ',', 300);
    text[311] = '\0';
    exp_csv_close(&csv);
    csv = table(text);
    assert_int_equal(exp_csv_next(csv, &err), HELIO_TOO_BIG);
    assert_error("t.csv", ":2: more than 256 columns");
}

/*  A few kilobytes can hold empty lines without end. */
static void errors__empty_lines_are_bounded(void **state)
{
    (void)state;
    gzFile file = gzopen(path_of("t.csv.gz"), "wb");
    assert_true(gzputs(file, "name,count\na,1\n") > 0);
    for (int i = 0; i < 1000000; i++)
        assert_int_equal(gzputc(file, '\n'), '\n');
    assert_int_equal(gzclose(file), Z_OK);
    HELIO_AUTO(exp_csv_close) exp_csv_t *csv = exp_csv_open(path_of("t.csv.gz"), columns, COLUMNS, &err);
    assert_non_null(csv);
    expect_row(csv, "a", 1);
    assert_int_equal(exp_csv_next(csv, &err), HELIO_TOO_BIG);
    assert_error("t.csv.gz", ":10003: more than 10000 empty lines, one after another");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(rows__are_found_by_the_names_of_their_columns),
        CASE(rows__of_a_compressed_file_are_the_same),
        CASE(rows__of_a_cut_off_compressed_file_are_an_error),
        CASE(times__are_whole_seconds_in_milliseconds),
        CASE(errors__name_file_line_and_column),
        CASE(errors__of_the_whole_file),
        CASE(errors__empty_lines_are_bounded),
        CASE(errors__a_line_and_a_row_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
