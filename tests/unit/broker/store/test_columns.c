/*  test_columns.c -- rows as PostgreSQL's binary arrays, read back by a naive reader: every value is there as it was
 *  given, and hostile texts cost their own letters alone. Batches hold what a model says, within their bounds. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <endian.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "broker/store/batch.h"
#include "broker/store/columns.h"
#include "federation/base/rng.h"
#include "federation/base/utf8.h"
#include "federation/reason/sentence.h"

#define SAMPLE_FIELDS(F, R)   \
    F(R, BOOL, flag, 0, _)    \
    F(R, I32, small, 0, _)    \
    F(R, U32, count, 0, _)    \
    F(R, U64, large, 0, _)    \
    F(R, F64, real, 0, _)     \
    F(R, UUID, id, 0, _)      \
    F(R, KEY, key, 0, _)      \
    F(R, BYTES, hash, 64, _)  \
    F(R, TEXT, text, 64, _)   \
    F(R, U32S, numbers, 8, _) \
    F(R, F64S, reals, 8, _)   \
    F(R, RECORD, why, 0, helio_details)
HELIO_RECORD_DECLARE(sample, SAMPLE_FIELDS)
HELIO_RECORD_DEFINE(sample, SAMPLE_FIELDS)

enum {
    FLAG,
    SMALL,
    COUNT,
    LARGE,
    REAL,
    ID,
    KEY_JOB,
    KEY_TASK,
    HASH,
    TEXT,
    NUMBERS,
    REALS,
    SENTENCES,
    DETAILS,
    COLUMNS
};
static const uint32_t oids[COLUMNS] = {16, 23, 23, 20, 701, 2950, 2950, 23, 17, 25, 25, 25, 25, 25};

/* ---- a naive reader ------------------------------------------------------------------------------------ */

typedef struct item {
    const char *data;
    int32_t size; /* -1 = null */
} item_t;

static uint32_t get_32(const char *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return be32toh(value);
}

static uint64_t get_64(const char *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return be64toh(value);
}

/*  The items of column `column`, as the protocol defines an array of one dimension. */
static void read_column(helio_columns_t *columns, uint32_t column, item_t *ret_items, uint32_t rows)
{
    const char *values[HELIO_COLUMNS_MAX];
    int lengths[HELIO_COLUMNS_MAX];
    assert_int_equal(helio_columns_params(columns, values, lengths), COLUMNS);
    const char *at = values[column], *end = at + lengths[column];
    bool nulls = false;
    assert_int_equal(get_32(at), 1);
    assert_int_equal(get_32(at + 8), oids[column]);
    assert_int_equal(get_32(at + 12), rows);
    assert_int_equal(get_32(at + 16), 1);
    bool has_nulls = get_32(at + 4);
    at += 20;
    for (uint32_t i = 0; i < rows; i++) {
        assert_true(end - at >= 4);
        ret_items[i] = (item_t){at + 4, (int32_t)get_32(at)};
        nulls |= ret_items[i].size < 0;
        at += 4 + (ret_items[i].size > 0 ? ret_items[i].size : 0);
    }
    assert_ptr_equal(at, end);
    assert_int_equal(nulls, has_nulls);
}

static item_t only_item(helio_columns_t *columns, uint32_t column)
{
    item_t item;
    read_column(columns, column, &item, 1);
    return item;
}

static void assert_item(item_t item, const char *text)
{
    if (item.size != (int32_t)strlen(text) || memcmp(item.data, text, strlen(text)) != 0)
        fail_msg("'%.*s', not '%s'", item.size < 0 ? 4 : (int)item.size, item.size < 0 ? "null" : item.data, text);
}

/* ---- values -------------------------------------------------------------------------------------------- */

typedef struct world {
    helio_columns_t *columns;
    helio_rng_t rng;
} world_t;

static int set_up(void **state)
{
    world_t *world = helio_new(1, sizeof *world);
    world->columns = helio_columns_new(&sample_type, HELIO_COLUMNS_EMPTY_IS_TEXT);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    world_t *world = *state;
    helio_columns_destroy(&world->columns);
    free(world);
    return 0;
}

static void columns__hold_every_value_of_any_rows(void **state)
{
    world_t *world = *state;
    enum { ROWS = 40 };
    static item_t items[COLUMNS][ROWS];
    for (uint64_t seed = 1; seed <= 50; seed++) {
        helio_rng_t rng = {seed};
        sample_t rows[ROWS] = {0};
        uint32_t count = 1 + (uint32_t)helio_rng_below(&rng, ROWS);
        uint32_t numbers[2] = {7, UINT32_MAX};
        char letters[ROWS][8];
        helio_columns_reset(world->columns);
        for (uint32_t i = 0; i < count; i++) {
            sample_t *row = &rows[i];
            row->flag = helio_rng_below(&rng, 2);
            row->small = (int32_t)helio_rng_next(&rng);
            row->count = (uint32_t)helio_rng_next(&rng);
            row->large = helio_rng_next(&rng);
            row->real = (double)(int64_t)helio_rng_next(&rng) / 1e6;
            for (int k = 0; k < 16; k++)
                row->id.bytes[k] = row->key.job.bytes[k] = (uint8_t)helio_rng_next(&rng);
            row->key.task = (int32_t)helio_rng_below(&rng, 3) - 1;
            for (int k = 0; k < 8; k++)
                letters[i][k] = (char)('a' + helio_rng_below(&rng, 26));
            row->text = (helio_text_t){letters[i], (uint32_t)helio_rng_below(&rng, 9)};
            row->hash = (helio_text_t){(const char *)row->id.bytes, (uint32_t)helio_rng_below(&rng, 17)};
            row->numbers.items = numbers;
            row->numbers.count = (uint32_t)helio_rng_below(&rng, 3);
            helio_columns_append(world->columns, row);
        }
        for (uint32_t column = 0; column < COLUMNS; column++)
            read_column(world->columns, column, items[column], count);
        for (uint32_t i = 0; i < count; i++) {
            static const char *const lists[] = {"{}", "{7}", "{7,4294967295}"};
            const sample_t *row = &rows[i];
            uint64_t bits = get_64(items[REAL][i].data);
            assert_int_equal(items[FLAG][i].data[0], row->flag);
            assert_int_equal((int32_t)get_32(items[SMALL][i].data), row->small);
            /* A count beyond int4 saturates; it does not turn negative. */
            assert_int_equal(get_32(items[COUNT][i].data), row->count > INT32_MAX ? INT32_MAX : row->count);
            assert_true(get_64(items[LARGE][i].data) == row->large);
            assert_memory_equal(&bits, &row->real, sizeof bits);
            assert_memory_equal(items[ID][i].data, row->id.bytes, 16);
            assert_memory_equal(items[KEY_JOB][i].data, row->key.job.bytes, 16);
            assert_int_equal((int32_t)get_32(items[KEY_TASK][i].data), row->key.task);
            assert_int_equal(items[HASH][i].size, row->hash.size);
            assert_int_equal(items[TEXT][i].size, row->text.size);
            assert_memory_equal(items[TEXT][i].data, row->text.data, row->text.size);
            assert_item(items[NUMBERS][i], lists[row->numbers.count]);
            assert_item(items[SENTENCES][i], "");
            assert_int_equal(items[DETAILS][i].size, -1);
        }
    }
}

/*  Reals travel as text: each comes back as the same double. */
static void columns__hold_reals_without_loss(void **state)
{
    world_t *world = *state;
    double reals[] = {0.1, -1.0 / 3, 5e-324, 1.7976931348623157e308, 123456789.123456789};
    sample_t row = {.reals = {reals, 5}};
    helio_columns_append(world->columns, &row);
    item_t item = only_item(world->columns, REALS);
    char text[256];
    assert_true(item.size > 2 && item.size < 255);
    memcpy(text, item.data, (size_t)item.size);
    text[item.size] = '\0';
    char *at = text + 1;
    for (int i = 0; i < 5; i++) {
        double back = strtod(at, &at);
        assert_memory_equal(&back, &reals[i], sizeof back);
        assert_int_equal(*at++, i < 4 ? ',' : '}');
    }
}

/* ---- texts --------------------------------------------------------------------------------------------- */

/*  Sequences of UTF-8 stay, and each byte that belongs to none, or is NUL, becomes the stand-in. */
static void mend(helio_text_t text, const char *stand_in, helio_buffer_t *out)
{
    for (uint32_t i = 0; i < text.size;) {
        size_t size = text.data[i] ? helio_utf8_sequence(text.data + i, text.size - i) : 0;
        helio_buffer_append(out, size ? text.data + i : stand_in, size ? size : strlen(stand_in));
        i += size ? (uint32_t)size : 1;
    }
}

static const char *const shreds[] = {"a",
                                     "Z ",
                                     "\n",
                                     "\x7f",
                                     "\xc3\xa9",
                                     "\xe2\x82\xac",
                                     "\xf0\x9f\x94\xa5",
                                     "\xff",
                                     "\xed\xa0\x80" /* half a pair */,
                                     "\xc0\x80",
                                     "\xe2\x82",
                                     "\\u0000",
                                     "\"\\",
                                     "{,}"};
enum { SHREDS = sizeof shreds / sizeof shreds[0] };

/*  Any run of good and bad pieces, with NULs between. */
static helio_text_t hostile(helio_rng_t *rng, char *buffer, size_t capacity)
{
    size_t size = 0;
    for (uint32_t pieces = (uint32_t)helio_rng_below(rng, 7); pieces; pieces--) {
        const char *piece = shreds[helio_rng_below(rng, SHREDS)];
        size_t more = strlen(piece);
        if (size + more + 1 >= capacity)
            break;
        memcpy(buffer + size, piece, more);
        size += more;
        if (helio_rng_below(rng, 6) == 0)
            buffer[size++] = '\0';
    }
    return (helio_text_t){buffer, (uint32_t)size};
}

static void columns__a_hostile_text_costs_its_own_letters_alone(void **state)
{
    world_t *world = *state;
    char buffers[3][64];
    item_t items[3];
    for (uint64_t seed = 1; seed <= 500; seed++) {
        helio_rng_t rng = {seed};
        sample_t rows[3] = {0};
        helio_columns_reset(world->columns);
        for (int i = 0; i < 3; i++) {
            rows[i].text = hostile(&rng, buffers[i], sizeof buffers[i]);
            helio_columns_append(world->columns, &rows[i]);
        }
        read_column(world->columns, TEXT, items, 3);
        for (int i = 0; i < 3; i++) {
            HELIO_AUTO(helio_buffer_clear) helio_buffer_t expected = {0};
            mend(rows[i].text, "?", &expected);
            assert_int_equal(items[i].size, expected.size);
            assert_memory_equal(items[i].data, expected.data, expected.size);
            assert_int_equal(items[i].size, rows[i].text.size); /* letter by letter */
        }
    }
}

/*  The sentences are a text that PostgreSQL takes; the JSON is one that jsonb takes, and says the same. */
static void columns__details_are_sentences_and_their_json_whatever_they_hold(void **state)
{
    world_t *world = *state;
    char buffer[64];
    for (uint64_t seed = 1; seed <= 500; seed++) {
        helio_rng_t rng = {seed};
        helio_value_t value = {.text = hostile(&rng, buffer, sizeof buffer)};
        helio_detail_t detail = {.code = HELIO_DETAIL_STATE_REPORTED, .values = {&value, 1}};
        sample_t row = {.why = {{&detail, 1}}};
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t sentences = {0}, expected = {0};
        helio_columns_reset(world->columns);
        helio_columns_append(world->columns, &row);
        helio_sentences(&row.why, &sentences);
        mend(helio_buffer_view(&sentences), "?", &expected);
        item_t text = only_item(world->columns, SENTENCES), json = only_item(world->columns, DETAILS);
        assert_int_equal(text.size, expected.size);
        assert_memory_equal(text.data, expected.size ? expected.data : "", expected.size);
        json_t *tree = json_loadb(json.data, (size_t)json.size, 0, NULL); /* which takes no NUL, as jsonb */
        if (!tree)
            fail_msg("no JSON: %.*s", (int)json.size, json.data);
        assert_string_equal(json_string_value(json_object_get(json_array_get(tree, 0), "code")), "StateReported");
        const json_t *said = json_object_get(json_object_get(json_array_get(tree, 0), "params"), "why");
        helio_buffer_reset(&expected);
        mend(value.text, "\xef\xbf\xbd", &expected); /* the replacement character */
        assert_int_equal(json_string_length(said), expected.size);
        assert_memory_equal(json_string_value(said) ? json_string_value(said) : "", expected.size ? expected.data : "",
                            expected.size);
        json_decref(tree);
    }
}

/*  For statements that make nulls of empty texts themselves, and for those that want them as nulls. */
static void columns__nothing_is_a_text_or_a_null_as_the_statement_wants_it(void **state)
{
    (void)state;
    sample_t row = {0};
    static const uint32_t empty[] = {TEXT, NUMBERS, REALS, SENTENCES};
    static const char *const texts[] = {"", "{}", "{}", ""};
    for (int wants = 0; wants < 2; wants++) {
        helio_columns_t *columns = helio_columns_new(&sample_type, (helio_columns_empty_t)wants);
        helio_columns_append(columns, &row);
        for (size_t i = 0; i < 4; i++) {
            item_t item = only_item(columns, empty[i]);
            if (wants == HELIO_COLUMNS_EMPTY_IS_NULL)
                assert_int_equal(item.size, -1);
            else
                assert_item(item, texts[i]);
        }
        assert_int_equal(only_item(columns, DETAILS).size, -1);
        assert_int_equal(only_item(columns, HASH).size, 0); /* bytes are never null */
        helio_columns_destroy(&columns);
    }
}

static void columns__are_full_by_rows_and_by_bytes(void **state)
{
    world_t *world = *state;
    sample_t row = {0};
    for (uint32_t i = 0; i < HELIO_COLUMNS_ROWS_MAX; i++) {
        assert_false(helio_columns_full(world->columns));
        helio_columns_append(world->columns, &row);
    }
    assert_true(helio_columns_full(world->columns));
    assert_int_equal(helio_columns_rows(world->columns), HELIO_COLUMNS_ROWS_MAX);
    helio_columns_reset(world->columns);
    assert_false(helio_columns_full(world->columns));
    char *large = helio_new(HELIO_COLUMNS_BYTES_MAX, 1);
    row.hash = (helio_text_t){large, HELIO_COLUMNS_BYTES_MAX};
    helio_columns_append(world->columns, &row);
    assert_true(helio_columns_full(world->columns));
    free(large);
}

/* ---- batches ------------------------------------------------------------------------------------------- */

enum { JOBS = 12 };

static helio_uuid_t job_of(uint32_t number)
{
    helio_uuid_t id = {{0}};
    id.bytes[15] = (uint8_t)number;
    return id;
}

static void append(helio_batch_t *batch, uint32_t kind, void *row)
{
    helio_effect_t effect = {kind, HELIO_RELEASE_ROW, 1, row};
    helio_batch_append(batch, &effect);
}

/*  States collapse to the last of each key, all else is kept, and what is handed out comes by kind in a fixed order. */
static void batch__of_any_rows_holds_what_the_model_says(void **state)
{
    (void)state;
    helio_batch_t *batch = helio_batch_new();
    for (uint64_t seed = 1; seed <= 200; seed++) {
        helio_rng_t rng = {seed};
        uint32_t transitions = 0, states = 0;
        bool has[2 * JOBS] = {false}; /* a job, and its first task, are two keys */
        for (uint32_t step = (uint32_t)helio_rng_below(&rng, 60); step; step--) {
            uint32_t number = (uint32_t)helio_rng_below(&rng, 2 * JOBS);
            helio_job_key_t key = {job_of(number / 2), number % 2 ? 0 : HELIO_NO_TASK};
            helio_row_state_t row = {.key = key, .state = HELIO_JOB_RUNNING, .epoch = step};
            helio_row_transition_t transition = {.seq = step, .key = key, .to = HELIO_JOB_RUNNING};
            if (helio_rng_below(&rng, 3)) {
                append(batch, HELIO_BROKER_FX_ROW_STATE, &row);
                states += !has[number];
                has[number] = true;
            } else {
                append(batch, HELIO_BROKER_FX_ROW_TRANSITION, &transition);
                transitions++;
            }
            assert_int_equal(helio_batch_rows(batch), transitions + states);
        }
        helio_batch_finish(batch);
        uint32_t kind = 0, last = 0, rows[HELIO_BATCH_KINDS] = {0};
        const helio_columns_t *statement;
        for (uint32_t i = 0; (statement = helio_batch_statement(batch, i, &kind)); i++) {
            assert_true(kind >= last && helio_columns_rows(statement) > 0);
            rows[kind] += helio_columns_rows(statement);
            last = kind;
        }
        assert_int_equal(rows[HELIO_BROKER_FX_ROW_STATE], states);
        assert_int_equal(rows[HELIO_BROKER_FX_ROW_TRANSITION], transitions);
        helio_batch_reset(batch);
        assert_int_equal(helio_batch_rows(batch), 0);
    }
    helio_batch_destroy(&batch);
}

static void batch__more_rows_than_a_statement_takes_go_into_the_next_one(void **state)
{
    (void)state;
    helio_batch_t *batch = helio_batch_new();
    helio_row_transition_t row = {.seq = 1, .to = HELIO_JOB_RUNNING};
    for (uint32_t i = 0; i <= HELIO_COLUMNS_ROWS_MAX; i++)
        append(batch, HELIO_BROKER_FX_ROW_TRANSITION, &row);
    helio_batch_finish(batch);
    uint32_t kind;
    assert_int_equal(helio_columns_rows(helio_batch_statement(batch, 0, &kind)), HELIO_COLUMNS_ROWS_MAX);
    assert_int_equal(helio_columns_rows(helio_batch_statement(batch, 1, &kind)), 1);
    assert_int_equal(kind, HELIO_BROKER_FX_ROW_TRANSITION);
    assert_null(helio_batch_statement(batch, 2, &kind));
    helio_batch_destroy(&batch);
    assert_null(batch);
}

/*  What bounds the memory of a batch that waits: its bytes, also those of versions of a STATE row that were
 *  replaced. */
static void batch__counts_the_bytes_that_it_keeps(void **state)
{
    (void)state;
    enum { SIZE = 5000, TIMES = 100 };
    static char text[SIZE];
    memset(text, 'x', sizeof text);
    helio_batch_t *batch = helio_batch_new();
    size_t before = helio_batch_bytes(batch);
    helio_row_audit_t audit = {.detail = {text, SIZE}};
    for (int i = 0; i < TIMES; i++)
        append(batch, HELIO_BROKER_FX_ROW_AUDIT, &audit);
    size_t audits = helio_batch_bytes(batch) - before;
    assert_in_range(audits, TIMES * SIZE, TIMES * (SIZE + 200));
    helio_row_state_t row = {.key = {{{7}}, HELIO_NO_TASK}, .site = {text, SIZE}};
    for (int i = 0; i < TIMES; i++)
        append(batch, HELIO_BROKER_FX_ROW_STATE, &row);
    assert_int_equal(helio_batch_rows(batch), TIMES + 1);
    assert_in_range(helio_batch_bytes(batch) - before - audits, TIMES * SIZE, TIMES * (SIZE + 400));
    helio_batch_reset(batch);
    assert_in_range(helio_batch_bytes(batch), 0, 2000); /* headers of columns that are kept */
    helio_batch_destroy(&batch);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(columns__hold_every_value_of_any_rows),
        CASE(columns__hold_reals_without_loss),
        CASE(columns__a_hostile_text_costs_its_own_letters_alone),
        CASE(columns__details_are_sentences_and_their_json_whatever_they_hold),
        CASE(columns__nothing_is_a_text_or_a_null_as_the_statement_wants_it),
        CASE(columns__are_full_by_rows_and_by_bytes),
        cmocka_unit_test(batch__of_any_rows_holds_what_the_model_says),
        cmocka_unit_test(batch__more_rows_than_a_statement_takes_go_into_the_next_one),
        cmocka_unit_test(batch__counts_the_bytes_that_it_keeps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
