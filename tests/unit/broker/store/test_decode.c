/*  test_decode.c -- rows of binary results as records: each kind of field is read, and a result that does not fit its
 *  record is refused, never read beyond its end. No database: the results are made here. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <endian.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "broker/store/decode.h"
#include "federation/base/rng.h"
#include "federation/reason/detail.h"
#include "tests/support/one_arena.h"

#define SAMPLE_FIELDS(F, R)   \
    F(R, BOOL, flag, 0, _)    \
    F(R, I32, small, 0, _)    \
    F(R, U64, large, 0, _)    \
    F(R, F64, real, 0, _)     \
    F(R, KEY, key, 0, _)      \
    F(R, TEXT, text, 64, _)   \
    F(R, U32S, numbers, 8, _) \
    F(R, F64S, reals, 8, _)   \
    F(R, RECORD, details, 0, helio_details)
HELIO_RECORD_DECLARE(sample, SAMPLE_FIELDS)
HELIO_RECORD_DEFINE(sample, SAMPLE_FIELDS)

enum { FLAG, SMALL, LARGE, REAL, KEY_JOB, KEY_TASK, TEXT, NUMBERS, REALS, DETAILS, COLUMNS };

typedef struct cell {
    char bytes[256];
    int size; /* -1 = null */
} cell_t;

/* ---- how PostgreSQL sends values ----------------------------------------------------------------------- */

static void add_32(cell_t *cell, uint32_t value)
{
    value = htobe32(value);
    memcpy(cell->bytes + cell->size, &value, sizeof value);
    cell->size += (int)sizeof value;
}

static void add_64(cell_t *cell, uint64_t value)
{
    value = htobe64(value);
    memcpy(cell->bytes + cell->size, &value, sizeof value);
    cell->size += (int)sizeof value;
}

static void add_bytes(cell_t *cell, const void *bytes, size_t size)
{
    memcpy(cell->bytes + cell->size, bytes, size);
    cell->size += (int)size;
}

/*  Dimensions, whether nulls follow, type of the items; their number and first index. */
static void add_array(cell_t *cell, uint32_t dimensions, uint32_t nulls, uint32_t count)
{
    add_32(cell, dimensions);
    add_32(cell, nulls);
    add_32(cell, 23);
    if (dimensions == 0)
        return;
    add_32(cell, count);
    add_32(cell, 1);
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void fill(cell_t cells[COLUMNS])
{
    static const char json[] = "[]";
    helio_uuid_t job = {.bytes = {1, 2, 3, [15] = 9}};
    memset(cells, 0, COLUMNS * sizeof *cells);
    add_bytes(&cells[FLAG], "\1", 1);
    add_32(&cells[SMALL], (uint32_t)-7);
    add_64(&cells[LARGE], UINT64_C(0xfedcba9876543210));
    add_64(&cells[REAL], bits_of(-0.125));
    add_bytes(&cells[KEY_JOB], job.bytes, sizeof job.bytes);
    add_32(&cells[KEY_TASK], 41);
    add_bytes(&cells[TEXT], "lulea", 5);
    add_array(&cells[NUMBERS], 1, 0, 2);
    for (uint32_t i = 0; i < 2; i++) {
        add_32(&cells[NUMBERS], 4);
        add_32(&cells[NUMBERS], 100 + i);
    }
    add_array(&cells[REALS], 1, 0, 3);
    for (uint32_t i = 0; i < 3; i++) {
        add_32(&cells[REALS], 8);
        add_64(&cells[REALS], bits_of(0.5 * i));
    }
    add_bytes(&cells[DETAILS], json, sizeof json - 1);
}

static helio_rc decode(const cell_t *cells, int columns, sample_t *ret_sample)
{
    PGresult *result = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
    PGresAttDesc names[COLUMNS + 1];
    memset(names, 0, sizeof names);
    for (int i = 0; i <= COLUMNS; i++)
        names[i] = (PGresAttDesc){.name = (char *)(uintptr_t) "column", .format = 1};
    assert_int_equal(PQsetResultAttrs(result, columns, names), 1);
    for (int i = 0; i < columns; i++) { /* bytes of their own: a sanitizer sees what is read beyond them */
        char *copy = cells[i].size > 0 ? helio_new((size_t)cells[i].size, 1) : NULL;
        if (copy)
            memcpy(copy, cells[i].bytes, (size_t)cells[i].size);
        assert_int_equal(PQsetvalue(result, 0, i, copy ? copy : (char *)(uintptr_t) "", cells[i].size), 1);
        free(copy);
    }
    helio_error_t err = {0};
    memset(ret_sample, 0, sizeof *ret_sample);
    helio_rc rc = helio_decode_row(result, 0, &sample_type, "sample", arena, ret_sample, &err);
    if (rc == HELIO_OK) /* views into the result */
        ret_sample->text = helio_arena_text(arena, ret_sample->text);
    else
        assert_true(err.text[0]);
    PQclear(result);
    return rc;
}

/* ---- tests --------------------------------------------------------------------------------------------- */

static void row__comes_back_field_by_field(void **state)
{
    (void)state;
    cell_t cells[COLUMNS + 1];
    sample_t sample;
    fill(cells);
    assert_int_equal(decode(cells, COLUMNS, &sample), HELIO_OK);
    assert_true(sample.flag && sample.small == -7 && sample.large == UINT64_C(0xfedcba9876543210));
    assert_true(fabs(sample.real + 0.125) < 1e-12);
    assert_true(sample.key.task == 41 && sample.key.job.bytes[2] == 3 && sample.key.job.bytes[15] == 9);
    assert_true(helio_text_is(sample.text, "lulea"));
    assert_true(sample.numbers.count == 2 && sample.numbers.items[1] == 101);
    assert_true(sample.reals.count == 3 && fabs(sample.reals.items[2] - 1) < 1e-12);
    assert_int_equal(sample.details.items.count, 0);
}

static void row__of_other_columns_than_its_record_is_refused(void **state)
{
    (void)state;
    cell_t cells[COLUMNS + 1];
    sample_t sample;
    fill(cells);
    cells[COLUMNS] = cells[SMALL];
    assert_int_equal(decode(cells, COLUMNS + 1, &sample), HELIO_INVALID);
    for (int columns = 1; columns < COLUMNS; columns++)
        assert_int_equal(decode(cells, columns, &sample), HELIO_INVALID);
    for (int i = 0; i < COLUMNS; i++) {
        fill(cells);
        cells[i].size = -1;
        if (decode(cells, COLUMNS, &sample) != HELIO_INVALID)
            fail_msg("a null in column %d", i);
    }
}

static void row__with_a_value_of_another_width_is_refused(void **state)
{
    (void)state;
    static const int exact[] = {FLAG, SMALL, LARGE, REAL, KEY_JOB, KEY_TASK, NUMBERS, REALS};
    cell_t cells[COLUMNS + 1];
    sample_t sample;
    for (size_t n = 0; n < sizeof exact / sizeof exact[0]; n++) {
        fill(cells);
        for (int whole = cells[exact[n]].size, size = 0; size <= whole + 1; size++) {
            cells[exact[n]].size = size;
            helio_rc rc = decode(cells, COLUMNS, &sample);
            if (rc != (size == whole ? HELIO_OK : HELIO_INVALID))
                fail_msg("column %d of %d bytes: %s", exact[n], size, helio_rc_name(rc));
        }
    }
}

static const struct {
    uint32_t dimensions, nulls, count, width; /* of two items */
    helio_rc rc;
} arrays[] = {
    {1, 0, 2, 4, HELIO_OK},
    {1, 1, 2, 4, HELIO_INVALID},
    {2, 0, 2, 4, HELIO_INVALID},
    {UINT32_MAX, 0, 2, 4, HELIO_INVALID},
    {1, 0, 1, 4, HELIO_INVALID},
    {1, 0, 3, 4, HELIO_INVALID},
    {1, 0, UINT32_MAX, 4, HELIO_INVALID},
    {1, 0, 0x20000002, 4, HELIO_INVALID}, /* 2 items, had the product gone around */
    {1, 0, 2, 8, HELIO_INVALID},
    {1, 0, 2, UINT32_MAX, HELIO_INVALID}, /* a null item */
};

static void array__that_contradicts_its_header_is_refused(void **state)
{
    (void)state;
    cell_t cells[COLUMNS + 1];
    sample_t sample;
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        fill(cells);
        cells[NUMBERS].size = 0;
        add_array(&cells[NUMBERS], arrays[i].dimensions, arrays[i].nulls, arrays[i].count);
        for (uint32_t n = 0; n < 2; n++) {
            add_32(&cells[NUMBERS], arrays[i].width);
            add_32(&cells[NUMBERS], n);
        }
        if (decode(cells, COLUMNS, &sample) != arrays[i].rc)
            fail_msg("case %zu", i);
    }
    fill(cells);
    cells[NUMBERS].size = 0;
    add_array(&cells[NUMBERS], 0, 0, 0);
    assert_int_equal(decode(cells, COLUMNS, &sample), HELIO_OK);
    assert_int_equal(sample.numbers.count, 0);
}

static void details__without_items_are_empty_and_other_json_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        helio_rc rc;
    } cases[] = {
        {"", HELIO_OK},       {"[]", HELIO_OK},        {"{}", HELIO_INVALID},
        {"[", HELIO_INVALID}, {"null", HELIO_INVALID}, {"x", HELIO_INVALID},
    };
    cell_t cells[COLUMNS + 1];
    sample_t sample;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fill(cells);
        cells[DETAILS].size = 0;
        add_bytes(&cells[DETAILS], cases[i].json, strlen(cases[i].json));
        if (decode(cells, COLUMNS, &sample) != cases[i].rc)
            fail_msg("'%s'", cases[i].json);
        assert_int_equal(sample.details.items.count, 0);
    }
}

static void row__of_any_bytes_is_read_or_refused(void **state)
{
    (void)state;
    helio_rng_t rng = {5};
    cell_t cells[COLUMNS + 1];
    sample_t sample;
    uint32_t good = 0;
    for (int n = 0; n < 4000; n++) {
        fill(cells);
        cell_t *cell = &cells[helio_rng_below(&rng, COLUMNS)];
        uint64_t how = helio_rng_below(&rng, 3);
        if (how == 0)
            cell->size = (int)helio_rng_below(&rng, 64);
        else if (cell->size > 0)
            cell->bytes[helio_rng_below(&rng, (uint64_t)cell->size)] ^= (char)(1 << helio_rng_below(&rng, 8));
        good += decode(cells, COLUMNS, &sample) == HELIO_OK;
        helio_arena_reset(arena);
    }
    assert_true(good > 1000 && good < 4000); /* both ways were taken */
}

#define TEST_CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_CASE(row__comes_back_field_by_field),
        TEST_CASE(row__of_other_columns_than_its_record_is_refused),
        TEST_CASE(row__with_a_value_of_another_width_is_refused),
        TEST_CASE(array__that_contradicts_its_header_is_refused),
        TEST_CASE(details__without_items_are_empty_and_other_json_is_refused),
        TEST_CASE(row__of_any_bytes_is_read_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
