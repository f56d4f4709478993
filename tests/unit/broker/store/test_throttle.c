/*  test_throttle.c -- tasks that the limit of their array, or a restore, keeps out of the queue, as reads and reports
 *  show them; and that sentences of SQL are those of the catalogue. */
#include "tests/unit/broker/store/reader_testing.h"

#include "federation/model/job.h"
#include "federation/reason/detail.h"
#include "federation/reason/detail_json.h"
#include "federation/reason/page.h"
#include "federation/reason/sentence.h"

/*  Job 4 of reader_testing.h is an array. Here it has six tasks, whose numbers are not those of their places. */
#define ARRAY "'0199aaaa-0000-7000-8000-000000000004'"
#define SHOWN                                                                                                  \
    "(select string_agg(case when reason = 'Gated' then 'G' when state = 0 then 'q' when state = 13 then 'h' " \
    "when state < 8 then 'r' else '.' end, '' order by array_position(array[0, 1, 2, 5, 7, 9], task)) "        \
    "from helio.tasks_now where job_id = " ARRAY ")"

static void set_array(const char *at_once, const char *rows)
{
    char sql[1024];
    (void)snprintf(sql, sizeof sql,
                   "delete from helio.job_state where job_id = " ARRAY ";"
                   "update helio.jobs set tasks = '{0, 1, 2, 5, 7, 9}', tasks_at_once = %s where job_id = " ARRAY ";"
                   "insert into helio.job_state select " ARRAY
                   ", t, 1, s, 0, 0, 1, 0, 0, null, now(), null, now(), 0, 0, 0, "
                   "0, 0, 'lulea', 'h100', null from (values %s) v (t, s)",
                   at_once, rows);
    helio_pg_exec(conninfo, sql);
}

static void assert_value(const char *sql, const char *expected)
{
    char query[1024];
    (void)snprintf(query, sizeof query, "select %s", sql);
    char *value = helio_pg_value(conninfo, query);
    assert_string_equal(value, expected);
    free(value);
}

/*  Those that have been placed take the places of the limit; then the first others, in the order of the document. */
static void tasks__beyond_the_limit_of_their_array_are_gated(void **state)
{
    (void)state;
    static const struct {
        const char *at_once, *rows,
            *shown; /* the six tasks in their order: r at a site, q queued, h held, . over, G gated */
    } cases[] = {
        {"2", "(99, 8)", "qqGGGG"},                                  /* nothing was placed yet */
        {"2", "(0, 4), (1, 1)", "rrGGGG"},                           /* as many run as may */
        {"2", "(0, 8), (1, 4)", ".rqGGG"},                           /* one ended: the next is let in */
        {"2", "(0, 8), (1, 9), (2, 10), (5, 11), (7, 4)", "....rq"}, /* the last is let in */
        {"2", "(0, 0), (1, 4)", "qrGGGG"},  /* one came back from its site: it keeps its place */
        {"2", "(0, 13), (1, 4)", "hrqGGG"}, /* a held one leaves its place to the next */
        {"2", "(0, 7), (1, 6)", "rrGGGG"},  /* doubted and stopping tasks are at a site */
        {"2", "(2, 11), (0, 4)", "rq.GGG"}, /* one was cancelled before it was let in */
        {"1", "(0, 4), (1, 4)", "rrGGGG"},  /* more than the limit: none is let in */
        {"6", "(0, 4)", "rqqqqq"},          /* a limit that keeps none out */
        {"null", "(0, 4)", "rqqqqq"},       /* no limit */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        set_array(cases[i].at_once, cases[i].rows);
        char *shown = helio_pg_value(conninfo, "select " SHOWN);
        if (strcmp(shown, cases[i].shown) != 0)
            fail_msg("case %zu: %s, not %s", i, shown, cases[i].shown);
        free(shown);
    }
}

/*  The sentence that SQL says is the catalogue's, whatever the number. */
static void throttle__has_the_code_and_the_sentence_of_the_catalogue(void **state)
{
    (void)state;
    static const uint32_t limits[] = {1, 2, 999, 1000, HELIO_JOB_ARRAY_MAX};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
        char sql[128], limit[16];
        helio_value_t value = helio_value_number(limits[i]);
        const helio_detail_t detail = {.code = HELIO_DETAIL_ARRAY_THROTTLE, .values = {&value, 1}};
        helio_sentence(&detail, &text);
        (void)snprintf(sql, sizeof sql, "helio.throttle_sentence(%u)", limits[i]);
        assert_value(sql, text.data);
        (void)snprintf(sql, sizeof sql, "helio.throttle_details(%u)->0->>'code'", limits[i]);
        assert_value(sql, helio_detail_entry(HELIO_DETAIL_ARRAY_THROTTLE)->word);
        (void)snprintf(sql, sizeof sql, "helio.throttle_details(%u)->0->'params'->>'%s'", limits[i],
                       helio_detail_entry(HELIO_DETAIL_ARRAY_THROTTLE)->params[0].name);
        (void)snprintf(limit, sizeof limit, "%u", limits[i]);
        assert_value(sql, limit);
    }
}

static void awaited_tasks__have_the_code_and_the_sentence_of_the_catalogue(void **state)
{
    (void)state;
    helio_value_t values[] = {helio_value_string("a.1"), helio_value_string("succeed"), helio_value_string("b.1"),
                              helio_value_string("succeed")};
    helio_detail_t entries[] = {{.code = HELIO_DETAIL_DEPENDENCY, .values = {values, 2}},
                                {.code = HELIO_DETAIL_DEPENDENCY, .values = {values + 2, 2}}};
    const helio_details_t details = {.items = {entries, 2}};
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_sentences(&details, &text);
    assert_value("helio.awaited_tasks_sentence('{a.1, b.1}')", text.data);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t json = {0};
    helio_json_writer_t writer = helio_json_into(&json);
    helio_details_write(&writer, NULL, &details);
    char sql[512];
    (void)snprintf(sql, sizeof sql, "helio.awaited_tasks_details('{a.1, b.1}') = '%s'::jsonb", json.data);
    assert_value(sql, "t");
}

static void goes_on_in_turn__has_the_code_and_the_sentence_of_the_catalogue(void **state)
{
    (void)state;
    helio_detail_t entries[] = {HELIO_DETAIL0(HELIO_DETAIL_GOES_ON_IN_TURN)};
    const helio_details_t details = {.items = {entries, 1}};
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_sentences(&details, &text);
    assert_value("helio.in_turn_sentence()", text.data);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t json = {0};
    helio_json_writer_t writer = helio_json_into(&json);
    helio_details_write(&writer, NULL, &details);
    char sql[512];
    (void)snprintf(sql, sizeof sql, "helio.in_turn_details() = '%s'::jsonb", json.data);
    assert_value(sql, "t");
}

static void reserved_ahead__has_the_code_and_the_sentence_of_the_catalogue(void **state)
{
    (void)state;
    static const char row[] = "'[{\"code\": \"ReservedForIt\", \"params\": {\"site\": \"north\", \"pool\": \"a\", "
                              "\"from\": \"2026-03-01T03:00:00.000Z\", \"job_id\": \"j\"}}]'";
    helio_value_t values[] = {helio_value_string("north"), helio_value_string("a"),
                              helio_value_number(INT64_C(1772334000000)), helio_value_string("j")};
    const helio_detail_t detail = {.code = HELIO_DETAIL_RESERVED_AHEAD, .values = {values, 4}};
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    char sql[512];
    helio_sentence(&detail, &text);
    (void)snprintf(sql, sizeof sql, "helio.reserved_ahead_sentence(%s)", row);
    assert_value(sql, text.data);
    (void)snprintf(sql, sizeof sql, "select helio.reserved_ahead_details(%s)", row);
    helio_arena_t *arena = helio_arena_new();
    helio_details_t read = {0};
    char *json = helio_pg_value(conninfo, sql);
    assert_int_equal(helio_details_read(helio_text_of(json), arena, &read), HELIO_OK);
    free(json);
    assert_int_equal(read.items.count, 1);
    assert_int_equal(read.items.items[0].code, HELIO_DETAIL_RESERVED_AHEAD);
    assert_true(helio_detail_value(&read.items.items[0], 2).number == values[2].number);
    assert_true(helio_text_is(helio_detail_value(&read.items.items[0], 3).text, "j"));
    helio_arena_destroy(&arena);
}

static void rejections__have_the_words_and_the_sentences_of_the_catalogue(void **state)
{
    (void)state;
    char sql[512];
    for (uint32_t i = HELIO_REJECTION_NONE + 1; i < HELIO_REJECTION_COUNT; i++) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
        helio_rejection_sentence(helio_text_of(helio_rejection_name(i)), &text);
        (void)snprintf(sql, sizeof sql, "detail from helio_report.rejections where rejected_reason = '%s'",
                       helio_rejection_name(i));
        assert_value(sql, text.data);
    }
    (void)snprintf(sql, sizeof sql, "count(*) = %u from helio_report.rejections", HELIO_REJECTION_COUNT - 1);
    assert_value(sql, "t");
    assert_value("helio.rejection_sentence('OfANewerRelease')", "OfANewerRelease");
    assert_value("helio.rejection_sentence('') is null and helio.rejection_sentence(null) is null", "t");
}

static void awaited_sites__have_the_code_and_the_sentence_of_the_catalogue(void **state)
{
    (void)state;
    static const struct {
        const char *sql, *names;
        int64_t count;
    } cases[] = {{"a", "a", 1}, {"a,b", "a,b", 2}, {"a,b,c,d,e", "a,b,c,d,e", 5}, {"a,b,c,d,e,f,g", "a,b,c,d,e", 7}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
        char sql[256];
        helio_value_t value = {cases[i].count, helio_text_of(cases[i].names)};
        const helio_detail_t detail = {.code = HELIO_DETAIL_SITES_UNRECONCILED, .values = {&value, 1}};
        helio_sentence(&detail, &text);
        (void)snprintf(sql, sizeof sql, "helio.awaited_sentence('{%s}')", cases[i].sql);
        assert_value(sql, text.data);
        helio_arena_t *arena = helio_arena_new();
        helio_details_t read = {0};
        (void)snprintf(sql, sizeof sql, "select helio.awaited_details('{%s}')", cases[i].sql);
        char *json = helio_pg_value(conninfo, sql);
        assert_int_equal(helio_details_read(helio_text_of(json), arena, &read), HELIO_OK);
        free(json);
        assert_int_equal(read.items.count, 1);
        helio_value_t sites = helio_detail_value(&read.items.items[0], 0);
        assert_int_equal(read.items.items[0].code, HELIO_DETAIL_SITES_UNRECONCILED);
        assert_true(sites.number == cases[i].count && helio_text_is(sites.text, cases[i].names));
        helio_arena_destroy(&arena);
    }
}

/*  Job 3 and younger ones came after the copy that was restored; lulea has not spoken since. */
static void reads__of_a_restored_job_name_the_sites_that_it_waits_for(void **state)
{
    (void)state;
    static const char said[] =
        "concat_ws(' ', j->>'reason', j->'details'->0->>'code', j->>'expected_start', j->>'decided_at')";
    set_array("2", "(0, 4), (1, 4)");
    helio_pg_exec(conninfo, "update helio.federation set restored_job = " ARRAY ";"
                            "update helio.sites set awaited_by = 1 where site = 'lulea'");
    assert_json(ASK("read_explain", id_of(4), "acme"), said, "Gated SitesUnreconciled");
    assert_json(ASK("read_job", id_of(4), NULL), "j->>'detail'",
                "the database was restored, and it may run at lulea, which has not reported since; it starts when that "
                "site has reported or an operator has attested it");
    assert_value("string_agg(distinct details->0->>'code', ' ') from helio_report.jobs where state = 'queued' "
                 "and name = 'job4'",
                 "SitesUnreconciled");
    helio_pg_exec(conninfo, "update helio.sites set awaited_by = 0");
    assert_json(ASK("read_explain", id_of(4), "acme"), said, "Gated ArrayThrottle");
    /* A task that a copy of it keeps back leaves its place to the next. */
    helio_pg_exec(conninfo,
                  "insert into helio.job_state (job_id, task, state, before, intent, epoch, attempts, failures, "
                  "site_failures, details, at, gpu_ms, cost_micro_usd, energy_j, carbon_mg, units_done) values "
                  "(" ARRAY ", 2, 0, 0, 0, 0, 0, 0, 0, '[{\"code\": \"CopiesEnd\", \"params\": {}}]', now(), 0, "
                  "0, 0, 0, 0); update helio.job_state set state = 8 where job_id = " ARRAY " and task = 0");
    assert_value(SHOWN, ".rGqGG");
    helio_pg_exec(conninfo, "update helio.federation set restored_job = null");
}

static void reads__of_a_gated_task_say_why_and_show_no_decision_of_its_class(void **state)
{
    (void)state;
    char task[HELIO_ID_SIZE + 8];
    set_array("2", "(0, 4), (1, 4)");
    helio_pg_exec(
        conninfo,
        "insert into helio.classes values (4, 'acme', 'standard', '16 x H100', 'WaitingForCapacity', 'no 16 free', 7, "
        "now(), now() + interval '1 h')");
    (void)snprintf(task, sizeof task, "%s.7", id_of(4));
    assert_json(ASK("read_job", task, NULL), "(j->>'reason') || ': ' || (j->>'detail')",
                "Gated: at most 2 tasks of this array run at once");
    assert_json(ASK("read_explain", task, "acme"),
                "concat_ws(' ', j->>'reason', j->'details'->0->>'code', j->>'expected_start', j->>'candidates', "
                "j->>'decided_at')",
                "Gated ArrayThrottle []");
    assert_json(ASK("read_jobs", NULL, "queued", NULL, "job4", NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, "9"),
                "(select string_agg((e->>'reason') || ' ' || (e->>'detail'), '; ' order by e->>'id') from "
                "jsonb_array_elements(j->'jobs') e where e->>'id' ~ '[.][27]$')",
                "Gated at most 2 tasks of this array run at once; Gated at most 2 tasks of this array run at once");
    assert_value(
        "string_agg(distinct reason || (details->0->>'code'), ' ') from helio_report.jobs where state = 'queued' "
        "and name = 'job4'",
        "GatedArrayThrottle");
    set_array("2", "(0, 8), (1, 4)"); /* one task is let in: it waits for what its class waits for */
    (void)snprintf(task, sizeof task, "%s.2", id_of(4));
    assert_json(ASK("read_job", task, NULL), "(j->>'reason') || ': ' || (j->>'detail')",
                "WaitingForCapacity: no 16 free");
    assert_json(ASK("read_explain", id_of(4), NULL), "(j->>'id') ~ '[.]2$'", "t");
    helio_pg_exec(conninfo, "delete from helio.classes where class_id = 4");
}

/*  The whole of an array has one reason, and never the detail of another. */
static void read_job__of_an_array_gives_the_limit_only_when_it_is_the_reason(void **state)
{
    (void)state;
    static const char both[] = "concat_ws(' ', j->>'reason', j->>'detail', j->'details'->0->>'code')";
    set_array("2", "(0, 4), (1, 4)");
    assert_json(ASK("read_job", id_of(4), NULL), both, "Gated at most 2 tasks of this array run at once ArrayThrottle");
    set_array("2", "(0, 4)");
    assert_json(ASK("read_job", id_of(4), NULL), both, "Queued");
}

static void gates__of_other_jobs_come_before_the_limit_of_the_array(void **state)
{
    (void)state;
    set_array("2", "(99, 8)");
    helio_pg_exec(conninfo, "insert into helio.gates values (" ARRAY ", 'waits for something')");
    assert_value("string_agg(distinct detail, '; ') from helio.tasks_now where job_id = " ARRAY, "waits for something");
    helio_pg_exec(conninfo, "update helio.gates set detail = null, opened_at = now() where job_id = " ARRAY);
    assert_value(SHOWN, "qqGGGG");
    helio_pg_exec(conninfo, "delete from helio.gates");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks__beyond_the_limit_of_their_array_are_gated),
        cmocka_unit_test(throttle__has_the_code_and_the_sentence_of_the_catalogue),
        cmocka_unit_test(awaited_tasks__have_the_code_and_the_sentence_of_the_catalogue),
        cmocka_unit_test(goes_on_in_turn__has_the_code_and_the_sentence_of_the_catalogue),
        cmocka_unit_test(reserved_ahead__has_the_code_and_the_sentence_of_the_catalogue),
        cmocka_unit_test(rejections__have_the_words_and_the_sentences_of_the_catalogue),
        cmocka_unit_test(awaited_sites__have_the_code_and_the_sentence_of_the_catalogue),
        cmocka_unit_test(reads__of_a_restored_job_name_the_sites_that_it_waits_for),
        cmocka_unit_test(reads__of_a_gated_task_say_why_and_show_no_decision_of_its_class),
        cmocka_unit_test(read_job__of_an_array_gives_the_limit_only_when_it_is_the_reason),
        cmocka_unit_test(gates__of_other_jobs_come_before_the_limit_of_the_array),
    };
    return cmocka_run_group_tests(tests, up, down);
}
