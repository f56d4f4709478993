/*  test_store_details.c -- reasons as details: what one leader writes the next one reads, and what is left of them when
 *  a leader of the release before, which writes sentences only, has led in between.
 */
#include "federation/reason/sentence.h"
#include "federation/base/clock.h"
#include "tests/unit/broker/store/store_testing.h"

static helio_arena_t *arena;

static helio_row_state_t state_with(int32_t task, helio_details_t why)
{
    helio_row_state_t row = state_row(1, task, HELIO_JOB_RUNNING);
    row.why = why;
    return row;
}

static void append_job(helio_store_t *store)
{
    helio_row_job_t job = job_row(1);
    append(store, HELIO_BROKER_FX_ROW_JOB, &job);
}

/*  A value that its kind can hold: no whole multiple of JSON's unit, a text that JSON has to escape. */
static helio_value_t value_of(helio_value_kind_t kind)
{
    switch (kind) {
    case HELIO_VALUE_TEXT:
        return helio_value_string("söder \"quoted\" \\ \n\x01 end");
    case HELIO_VALUE_NAMES:
        return (helio_value_t){.text = HELIO_TEXT("north,söder,eu-\"1\""), .number = 7};
    case HELIO_VALUE_FLAG:
        return helio_value_number(1);
    case HELIO_VALUE_MINUTE:
    case HELIO_VALUE_SECOND:
        return helio_value_number(INT64_C(1795000000123));
    case HELIO_VALUE_COUNT:
    case HELIO_VALUE_BYTES:
    case HELIO_VALUE_PERCENT:
        return helio_value_number(INT64_MAX);
    case HELIO_VALUE_USD:
    case HELIO_VALUE_SPAN:
    case HELIO_VALUE_CARBON:
    case HELIO_VALUE_MASS:
    case HELIO_VALUE_ENERGY:
    case HELIO_VALUE_MILLI:
        return helio_value_number(INT64_C(-123456789017));
    case HELIO_VALUE_KIND_COUNT:
        break;
    }
    fail();
    return (helio_value_t){0};
}

static helio_details_t one_of(helio_detail_code_t code, bool empty)
{
    const helio_detail_entry_t *entry = helio_detail_entry(code);
    helio_value_t values[HELIO_DETAIL_VALUES_MAX] = {{0}};
    helio_details_t details = {0};
    for (uint32_t i = 0; i < entry->param_count && !empty; i++)
        values[i] = value_of(entry->params[i].kind);
    helio_details_add(&details, arena, helio_detail_make(arena, code, values, entry->param_count));
    return details;
}

/*  Those of the n-th state that the store loads. */
static const helio_details_t *loaded_details(const loaded_t *all, uint32_t n)
{
    const helio_row_state_t *row = the(all, HELIO_BROKER_EV_LOAD_STATE, n);
    return &row->why;
}

static void details__of_every_code_are_read_back_equal_by_the_next_leader(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    append_job(store);
    for (int32_t code = 1; code < HELIO_DETAIL_CODE_COUNT; code++) {
        helio_row_state_t full = state_with(2 * code, one_of((helio_detail_code_t)code, false)),
                          empty = state_with(2 * code + 1, one_of((helio_detail_code_t)code, true));
        append(store, HELIO_BROKER_FX_ROW_STATE, &full);
        append(store, HELIO_BROKER_FX_ROW_STATE, &empty);
    }
    commit(store);
    helio_store_destroy(&store);
    store = opened(conninfo);
    loaded_t all = load(store);
    for (uint32_t code = 1; code < HELIO_DETAIL_CODE_COUNT; code++)
        for (uint32_t empty = 0; empty < 2; empty++) {
            const helio_details_t written = one_of((helio_detail_code_t)code, empty);
            if (!helio_record_equal(&helio_details_type, loaded_details(&all, 2 * (code - 1) + empty), &written))
                fail_msg("%s, %s", helio_detail_entry(code)->word, empty ? "empty" : "full");
        }
    helio_arena_destroy(&all.arena);
    helio_store_destroy(&store);
}

static void details__none_and_as_many_as_there_can_be_are_read_back_equal(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    char text[HELIO_DETAIL_TEXT_MAX];
    for (size_t i = 0; i + 2 <= sizeof text; i += 2)
        memcpy(text + i, "é", 2);
    helio_details_t many = {0};
    for (int i = 0; i < HELIO_DETAILS_MAX; i++)
        helio_details_add(
            &many, arena,
            HELIO_DETAIL(arena, HELIO_DETAIL_STATE_REPORTED, helio_value_text((helio_text_t){text, sizeof text})));
    assert_int_equal(helio_details_text_size(&many), HELIO_DETAILS_TEXT_MAX);
    helio_row_state_t none = state_with(0, (helio_details_t){0}), full = state_with(1, many);
    append_job(store);
    append(store, HELIO_BROKER_FX_ROW_STATE, &none);
    append(store, HELIO_BROKER_FX_ROW_STATE, &full);
    commit(store);
    loaded_t all = load(store);
    assert_int_equal(loaded_details(&all, 0)->items.count, 0);
    assert_true(helio_record_equal(&helio_details_type, loaded_details(&all, 1), &many));
    assert_value(conninfo, "select count(*) from helio.job_state where details is null", "1");
    helio_arena_destroy(&all.arena);
    helio_store_destroy(&store);
}

static void assert_says(const helio_details_t *details, helio_detail_code_t code, const char *sentence)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_sentences(details, &text);
    assert_int_equal(details->items.items[0].code, code);
    assert_string_equal(text.data, sentence);
}

/*  What a leader of the release before does to a row: it knows no details. */
static void details__are_gone_once_a_leader_of_the_release_before_says_something_else(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    helio_row_state_t one = state_with(0, one_of(HELIO_DETAIL_TIME_LIMIT, false)),
                      same = state_with(1, one_of(HELIO_DETAIL_TIME_LIMIT, false));
    append_job(store);
    append(store, HELIO_BROKER_FX_ROW_STATE, &one);
    append(store, HELIO_BROKER_FX_ROW_STATE, &same);
    commit(store);
    helio_pg_exec(conninfo, "update helio.job_state set state = 7, "
                            "reason = case task when 0 then 'its site is silent' else reason end");
    loaded_t all = load(store);
    assert_says(loaded_details(&all, 0), HELIO_DETAIL_STATE_REPORTED, "its site is silent");
    assert_says(loaded_details(&all, 1), HELIO_DETAIL_TIME_LIMIT, "time limit reached");
    helio_arena_destroy(&all.arena);
    one.why = one_of(HELIO_DETAIL_CANCELLED, false); /* this release leads again */
    append(store, HELIO_BROKER_FX_ROW_STATE, &one);
    commit(store);
    all = load(store);
    assert_says(loaded_details(&all, 0), HELIO_DETAIL_CANCELLED, "cancelled");
    helio_arena_destroy(&all.arena);
    helio_store_destroy(&store);
}

/*  Each kind of row that is written again: over what the same release wrote. */
static void details__that_are_written_over_others_of_this_release_stay(void **state)
{
    static const char written[] = "[{\"code\": \"Cancelled\", \"params\": {}}]";
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    append_job(store);
    for (int i = 0; i < 2; i++) {
        helio_details_t why = one_of(i ? HELIO_DETAIL_CANCELLED : HELIO_DETAIL_TIME_LIMIT, false);
        helio_row_state_t state_row = state_with(0, why);
        helio_row_dependency_hold_t hold = {job_id(1), why, 0};
        helio_row_class_t class = {.class_id = 7, .details = why};
        append(store, HELIO_BROKER_FX_ROW_STATE, &state_row);
        append(store, HELIO_BROKER_FX_ROW_DEPENDENCY_HOLD, &hold);
        append(store, HELIO_BROKER_FX_ROW_CLASS, &class);
        commit(store);
    }
    assert_value(conninfo, "select details from helio.job_state", written);
    assert_value(conninfo, "select details from helio.gates", written);
    assert_value(conninfo, "select details from helio.classes where class_id = 7", written);
    helio_store_destroy(&store);
}

static void details__of_a_migration_that_the_release_before_began_say_that_it_is_one(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    append_job(store);
    for (int32_t task = 0; task < 3; task++) {
        helio_row_state_t row = state_with(task, (helio_details_t){0});
        append(store, HELIO_BROKER_FX_ROW_STATE, &row);
    }
    commit(store);
    helio_pg_exec(conninfo, "update helio.job_state set reason = (array["
                            "'moved from north/a to north/b: saves $3.10 and 1.2 kg CO2e of what is left', "
                            "'moved from one queue to another', 'preempted'])[task + 1]");
    loaded_t all = load(store);
    const helio_details_t *moved = loaded_details(&all, 0);
    assert_says(moved, HELIO_DETAIL_MIGRATED,
                "migrated from north/a to north/b; saves $3.10 and 1.2 kg CO2e of what is left");
    assert_true(helio_text_is(helio_detail_value(&moved->items.items[0], 1).text, "north/b"));
    assert_says(loaded_details(&all, 1), HELIO_DETAIL_STATE_REPORTED, "moved from one queue to another");
    assert_says(loaded_details(&all, 2), HELIO_DETAIL_STATE_REPORTED, "preempted");
    helio_arena_destroy(&all.arena);
    helio_store_destroy(&store);
}

/*  The start that a class waits for, and only of classes that wait for one. */
static void details__of_a_class_that_waits_for_a_later_start_are_loaded(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    const int64_t at_ms = helio_clock_wall_ms() / 3600000 * 3600000 + 7200000;
    helio_detail_t window = HELIO_DETAIL(arena, HELIO_DETAIL_WINDOW_AT, helio_value_string("north"),
                                         helio_value_string("a100"), helio_value_number(at_ms));
    static const char *const reasons[] = {"WaitingForWindow", "WaitingForCapacity", ""};
    for (uint32_t i = 0; i < 3; i++) {
        helio_details_t why = {0};
        helio_details_add(&why, arena, window);
        helio_row_class_t class = {
            .class_id = 7 + i, .reason = helio_text_of(reasons[i]), .details = why, .at_ms = 1, .expected_ms = at_ms};
        append(store, HELIO_BROKER_FX_ROW_CLASS, &class);
    }
    commit(store);
    loaded_t all = load(store);
    const helio_row_class_t *row = the(&all, HELIO_BROKER_EV_LOAD_CLASS, 0);
    assert_true(row->class_id == 7 && row->expected_ms == at_ms && row->details.items.count == 1);
    assert_true(helio_text_is(helio_detail_value(&row->details.items.items[0], 0).text, "north"));
    assert_true(helio_text_is(helio_detail_value(&row->details.items.items[0], 1).text, "a100"));
    assert_null(nth(&all, HELIO_BROKER_EV_LOAD_CLASS, 1));
    helio_arena_destroy(&all.arena);
    helio_store_destroy(&store);
}

static int begin(void **state)
{
    arena = helio_arena_new();
    return up(state);
}

static int end(void **state)
{
    helio_arena_destroy(&arena);
    return down(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(details__of_every_code_are_read_back_equal_by_the_next_leader),
        cmocka_unit_test(details__none_and_as_many_as_there_can_be_are_read_back_equal),
        cmocka_unit_test(details__are_gone_once_a_leader_of_the_release_before_says_something_else),
        cmocka_unit_test(details__that_are_written_over_others_of_this_release_stay),
        cmocka_unit_test(details__of_a_migration_that_the_release_before_began_say_that_it_is_one),
        cmocka_unit_test(details__of_a_class_that_waits_for_a_later_start_are_loaded),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
