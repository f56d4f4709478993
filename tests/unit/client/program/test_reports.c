/*  test_reports.c -- lists in pages, figures and streams of events: nothing is left out, and nothing is made up. */
#include <jansson.h>
#include <unistd.h>

#include "tests/unit/client/program/remote_testing.h"

/* ---- audit --------------------------------------------------------------------------------------------- */

#define ENTRY(number)                                                                                           \
    "{\"audit_id\":" #number ",\"time\":\"2026-03-01T12:00:00.000Z\",\"actor\":\"admin\",\"action\":\"drain\"," \
    "\"object\":\"lulea\",\"detail\":\"new switches\",\"hash\":\"ab\"}"

static void audit__goes_through_the_pages_and_stops_at_its_limit(void **state)
{
    (void)state;
    static const rule_t pages[] = {
        {"GET /v1/audit?limit=998&cursor=8 ", 0, 200, NULL, "{\"entries\":[" ENTRY(7) "],\"next\":7}", WHOLE, 0},
        {"GET /v1/audit?limit=1000&cursor=8 ", 0, 200, NULL, "{\"entries\":[" ENTRY(7) "],\"next\":null}", WHOLE, 0},
        {"GET /v1/audit?limit=1000 ", 0, 200, NULL, "{\"entries\":[" ENTRY(9) "," ENTRY(8) "],\"next\":8}", WHOLE, 0},
        {"GET /v1/audit?limit=2 ", 0, 200, NULL, "{\"entries\":[" ENTRY(9) "," ENTRY(8) "],\"next\":8}", WHOLE, 0},
        {0}};
    static const struct {
        const char *words[6], *out;
        int requests;
    } cases[] = {
        {{"audit", "--all", "-o", "name"}, "9\n8\n7\n", 2},
        {{"audit", "--limit", "2", "-o", "name"}, "9\n8\n", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        outcome_t outcome = play(pages, cases[i].words);
        expect(&outcome, 0, cases[i].out, "");
        assert_int_equal(broker_double_count(outcome.broker, "GET "), cases[i].requests);
        end(&outcome);
    }
}

static void audit__ends_when_a_page_leads_nowhere(void **state)
{
    (void)state;
    static const char *const nowhere[] = {
        "{\"entries\":[],\"next\":8}",             /* nothing, and more of it */
        "{\"entries\":[" ENTRY(8) "],\"next\":8}", /* the page that was asked for */
    };
    for (size_t i = 0; i < 2; i++) {
        outcome_t outcome = play(
            RULES({"GET /v1/audit?limit=1000&cursor=8 ", 0, 200, NULL, nowhere[i], WHOLE, 0},
                  {"GET /v1/audit?limit=1000 ", 0, 200, NULL, "{\"entries\":[" ENTRY(9) "],\"next\":8}", WHOLE, 0}),
            WORDS("audit", "-a", "-o", "name"));
        expect(&outcome, 0, i ? "9\n8\n" : "9\n", "");
        end(&outcome);
    }
}

static void audit__a_page_that_fails_is_no_shorter_list(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES({"GET /v1/audit?limit=1000&cursor=8 ", 0, 500, NULL, "", WHOLE, 0},
                   {"GET /v1/audit?limit=1000 ", 0, 200, NULL, "{\"entries\":[" ENTRY(9) "],\"next\":8}", WHOLE, 0}),
             WORDS("audit", "-a"));
    expect(&outcome, 1, "", "500");
    end(&outcome);
}

#define H_9 "99aa000000000000000000000000000000000000000000000000000000000099"
#define H_4 "44aa000000000000000000000000000000000000000000000000000000000044"
#define HASHED(number, hash) \
    "{\"audit_id\":" #number ",\"time\":\"2026-03-01T12:00:00.000Z\",\"actor\":\"a\",\"hash\":\"" hash "\"}"

static void audit_anchor__is_the_last_entry_in_one_line(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES({"GET /v1/audit?limit=1 ", 0, 200, NULL, "{\"entries\":[" HASHED(9, H_9) "],\"next\":9}", WHOLE, 0}),
             WORDS("audit", "anchor"));
    expect(&outcome, 0, "9 " H_9 " 2026-03-01T12:00:00.000Z\n", "");
    end(&outcome);
    outcome = play(RULES({"GET /v1/audit?limit=1 ", 0, 200, NULL, "{\"entries\":[],\"next\":null}", WHOLE, 0}),
                   WORDS("audit", "anchor"));
    expect(&outcome, 1, "", "no entry");
    end(&outcome);
    static const char *const others[] = {"{\"audit_id\":9}",
                                         HASHED(0, H_9),
                                         HASHED(-9, H_9),
                                         HASHED(9, "ab"),
                                         HASHED(9, H_9 "\\nforged"),
                                         "{\"audit_id\":9,\"hash\":\"" H_9 "\",\"time\":\"x\\n8 forged\"}"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        char reply[512];
        (void)snprintf(reply, sizeof reply, "{\"entries\":[%s],\"next\":9}", others[i]);
        outcome = play(RULES({"GET /v1/audit?limit=1 ", 0, 200, NULL, reply, WHOLE, 0}), WORDS("audit", "anchor"));
        expect(&outcome, 125, "", "not an audit entry with its hash and time");
        end(&outcome);
    }
}

/*  An anchor was taken when entry 9 was the last. What a check against it says, by what the broker has now. */
static void audit_verify__against_an_anchor_finds_a_removed_tail_and_a_chain_made_again(void **state)
{
    (void)state;
    static const struct {
        const char *anchor, *entries, *says;
        int code;
    } cases[] = {
        {"9 " H_9 " 2026-03-01T12:00:00.000Z", "[" HASHED(9, H_9) "]", "matches its anchor", 0},
        {"9 " H_9, "[" HASHED(9, H_9) "]", "matches its anchor", 0},
        {"9 " H_9, "[" HASHED(7, H_9) "]", "entry 9 is missing", 1}, /* 8 and 9 are gone */
        {"9 " H_9, "[]", "entry 9 is missing", 1},
        {"9 " H_9, "[" HASHED(9, H_4) "]", "entry 9 differs from the one that was anchored", 1},
        {"9 99aa", "[" HASHED(9, H_9) "]", "not an anchor", 2},
        {"9 " H_9 "00", "[" HASHED(9, H_9) "]", "not an anchor", 2},
        {"-9 " H_9, "[" HASHED(9, H_9) "]", "not an anchor", 2},
        {"0 " H_9, "[" HASHED(9, H_9) "]", "not an anchor", 2},
        {"99999999999999999999999 " H_9, "[" HASHED(9, H_9) "]", "not an anchor", 2},
        {"/nowhere/anchors", "[]", "/nowhere/anchors", 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char reply[512];
        (void)snprintf(reply, sizeof reply, "{\"entries\":%s,\"next\":null}", cases[i].entries);
        outcome_t outcome =
            play(RULES({"GET /v1/audit/verify", 0, 200, NULL, "{\"broken_at\":null,\"entries\":12}", WHOLE, 0},
                       {"GET /v1/audit?limit=1&cursor=10 ", 0, 200, NULL, reply, WHOLE, 0}),
                 WORDS("audit", "verify", "--anchor", cases[i].anchor));
        expect(&outcome, cases[i].code, NULL, cases[i].says);
        end(&outcome);
    }
}

static void audit_verify__checks_every_line_of_a_file_of_anchors(void **state)
{
    (void)state;
    char path[] = "/tmp/helio-anchors-XXXXXX";
    int fd = mkstemp(path);
    const char lines[] = "# monthly\n\n4 " H_4 " 2026-02-01T00:00:00.000Z\n9 " H_9 " 2026-03-01T00:00:00.000Z\n";
    assert_int_equal(write(fd, lines, sizeof lines - 1), sizeof lines - 1);
    const rule_t rules[] = {
        {"GET /v1/audit/verify", 0, 200, NULL, "{\"broken_at\":null,\"entries\":12}", WHOLE, 0},
        {"GET /v1/audit?limit=1&cursor=5 ", 0, 200, NULL, "{\"entries\":[" HASHED(4, H_9) "],\"next\":4}", WHOLE, 0},
        {"GET /v1/audit?limit=1&cursor=10 ", 0, 200, NULL, "{\"entries\":[" HASHED(9, H_9) "],\"next\":9}", WHOLE, 0},
        {0}};
    outcome_t outcome = play(rules, WORDS("audit", "verify", "--anchor", path));
    expect(&outcome, 1, NULL, "entry 4 differs from the one that was anchored");
    end(&outcome);
    assert_int_equal(ftruncate(fd, 0), 0);
    outcome = play(rules, WORDS("audit", "verify", "--anchor", path));
    expect(&outcome, 2, NULL, "holds no anchor"); /* an empty file is not a check that passed */
    end(&outcome);
    assert_int_equal(pwrite(fd, "nine\n", 5, 0), 5);
    outcome = play(rules, WORDS("audit", "verify", "--anchor", path));
    expect(&outcome, 2, NULL, "not an anchor");
    end(&outcome);
    (void)close(fd);
    (void)unlink(path);
}

static void limits__that_are_no_number_of_rows_are_refused_before_anything_is_sent(void **state)
{
    (void)state;
    static const struct {
        const char *words[8], *says;
    } cases[] = {
        {{"audit", "--limit", "0"}, "--limit: must be at least 1"},
        {{"audit", "--limit", "-1"}, "--limit: '-1' is not a whole number"},
        {{"audit", "--limit", "1e3"}, "--limit: '1e3' is not a whole number"},
        {{"audit", "--limit", "99999999999999999999"}, "is not a whole number"},
        {{"ls", "--limit", "0"}, "--limit: must be at least 1"},
        {{"ls", "--limit", "ten"}, "--limit: 'ten' is not a whole number"},
        {{"report", "--days", "0x7"}, "--days: '0x7' is not a whole number"},
        {{"report", "--days", "1000"}, "--days: must be a whole number from 1 to 400"},
        {{"report", "--days", "0"}, "--days: must be a whole number from 1 to 400"},
        {{"report", "--days", "401"}, "--days: must be a whole number from 1 to 400"},
        {{"report", "--days", ""}, "--days: '' is not a whole number"},
        {{"report", "--balance", "--days", "00"}, "--days: must be a whole number from 1 to 400"},
        {{"drain", "lulea", "--reason", ""}, "--reason is empty"},
        {{"attest", "lulea", "--dead", "--yes", "--reason", " "}, "--reason is empty"},
        {{"logs", ID_A, "--epoch", "0"}, "--epoch: attempts are counted from 1"},
        {{"forecast", "--hours", "0"}, "--hours: must be from 1 to 192"},
        {{"forecast", "--hours", "193"}, "--hours: must be from 1 to 192"},
        {{"logs", ID_A, "--epoch", "first"}, "--epoch: 'first' is not a whole number"},
        {{"logs", ID_A, "-f", "--epoch", "1"}, "--epoch and -f exclude each other"},
        {{"events", "--after", "x"}, "--after: 'x' is not a whole number"},
        {{"events", "-f", "-o", "csv"}, "not csv"},
        {{"wait", ID_A, "--timeout", "soon"}, "--timeout: 'soon' is not a duration such as 90s"},
        {{"token", "add", "--tenant", "t", "--user", "u", "--ttl=ever"}, "--ttl: 'ever' is not a duration"},
        {{"top", "-o", "csv"}, "prints a screen, or json"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        outcome_t outcome = play(RULES({"", 0, 200, NULL, "[]", WHOLE, 0}), cases[i].words);
        expect(&outcome, 2, "", cases[i].says);
        assert_string_equal(outcome.broker->requests.data, "");
        end(&outcome);
    }
}

/* ---- tokens -------------------------------------------------------------------------------------------- */

static void token_revoke__goes_on_after_one_that_is_unknown_and_exits_with_its_code(void **state)
{
    (void)state;
    outcome_t outcome = play(RULES({"DELETE /v1/tokens/bad ", 0, 404, NULL, "{\"detail\":\"no such token\"}", WHOLE, 0},
                                   {"DELETE /v1/tokens/", 0, 200, NULL, "{}", WHOLE, 0}),
                             WORDS("token", "revoke", "one", "bad", "two%2f"));
    expect(&outcome, 3, "", "no such token");
    assert_non_null(strstr(outcome.err, "revoked one\n"));
    assert_non_null(strstr(outcome.err, "revoked two%2f\n"));
    assert_null(strstr(outcome.err, "revoked bad"));
    assert_int_equal(broker_double_count(outcome.broker, "DELETE /v1/tokens/two%252f "), 1);
    end(&outcome);
}

static void several_names__end_with_the_first_that_meets_no_broker(void **state)
{
    (void)state;
    static const char *const commands[][6] = {
        {"token", "revoke", "a", "b", "c"}, {"cancel", "a", "b", "c"},          {"show", "a", "b", "c"},
        {"release", "a", "b", "c"},         {"edit", "a", "b", "--queue", "q"},
    };
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        outcome_t outcome = play(RULES({"", 0, 0, NULL, NULL, DROP, 0}), commands[i]);
        expect(&outcome, 7, "", "cannot reach the broker");
        assert_null(strstr(outcome.broker->requests.data, "/b")); /* it would wait for every further name */
        end(&outcome);
    }
}

static void token_add__prints_the_secret_in_the_form_that_was_asked_for(void **state)
{
    (void)state;
    static const char body[] = "{\"token\":\"hel_new_one\",\"token_id\":\"new\",\"tenant\":\"nlp\"}";
    outcome_t outcome = play(RULES({"POST /v1/tokens", 0, 201, NULL, body, WHOLE, 0}),
                             WORDS("token", "add", "--tenant", "nlp", "--user", "ana", "-o", "json"));
    assert_int_equal(outcome.code, 0);
    json_t *object = json_loads(outcome.out, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(object, "token")), "hel_new_one");
    json_decref(object);
    end(&outcome);
    outcome = play(RULES({"POST /v1/tokens", 0, 201, NULL, body, WHOLE, 0}),
                   WORDS("token", "add", "--tenant", "nlp", "--user", "ana", "-o", "name"));
    expect(&outcome, 0, "hel_new_one\n", NULL);
    end(&outcome);
    outcome = play(RULES({"POST /v1/tokens", 0, 201, NULL, "{\"token_id\":\"new\"}", WHOLE, 0}),
                   WORDS("token", "add", "--tenant", "nlp", "--user", "ana"));
    expect(&outcome, 125, "", "holds no token");
    end(&outcome);
}

/* ---- figures ------------------------------------------------------------------------------------------- */

static void report__balance_compares_with_the_meter_and_leaves_unknown_figures_out(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES({"GET /v1/balance?days=3 ", 0, 200, NULL,
                    "[{\"day\":\"2026-03-01\",\"site\":\"lulea\",\"jobs_kwh\":1.5,\"idle_kwh\":0.25,\"foreign_kwh\":0,"
                    "\"overhead_kwh\":0.5,\"meter_kwh\":null,\"difference_ratio\":null,\"hours_compared\":0}]",
                    WHOLE, 0}),
             WORDS("report", "--balance", "--days", "3"));
    expect(&outcome, 0,
           "DAY         SITE      JOBS    IDLE  FOREIGN  OVERHEAD  METER  DIFFERENCE  HOURS\n"
           "2026-03-01  lulea  1.5 kWh  250 Wh     0 Wh    500 Wh      -           -      0\n",
           "");
    end(&outcome);
}

static void report__says_what_its_sums_leave_out(void **state)
{
    (void)state;
    static const char body[] =
        "{\"jobs_total\":3,\"days\":7,\"jobs\":{\"failed\":1,\"succeeded\":2},\"usage\":[{\"fenced_gpu_seconds\":90},"
        "{\"fenced_gpu_seconds\":30}],\"jobs_not_at_home\":1,\"baselines\":[{\"day\":\"2026-03-01\",\"jobs\":2}]}";
    outcome_t outcome = play(RULES({"GET /v1/report ", 0, 200, NULL, body, WHOLE, 0}), WORDS("report"));
    assert_int_equal(outcome.code, 0);
    assert_non_null(strstr(outcome.out, "  failed          1\n  succeeded       2\n"));
    assert_non_null(strstr(outcome.out, "Fenced attempts used 2m of GPU time in 7 days"));
    assert_null(strstr(outcome.out, "Estimated"));
    assert_non_null(strstr(outcome.out, "leave out 1 job without a run at home"));
    end(&outcome);
    outcome = play(RULES({"GET /v1/report ", 0, 200, NULL, "{\"jobs_total\":0}", WHOLE, 0}), WORDS("report"));
    expect(&outcome, 0, "Jobs              0\n", "");
    end(&outcome);
    outcome = play(RULES({"GET /v1/report ", 0, 200, NULL,
                          "{\"jobs_total\":1,\"days\":2,\"usage\":[{\"estimated_gpu_seconds\":7200}]}", WHOLE, 0}),
                   WORDS("report"));
    assert_non_null(strstr(outcome.out, "Estimated: 2h00m of GPU time in 2 days"));
    end(&outcome);
}

static void quota__figures_of_budgets_have_useful_decimals(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"1234567.8", "1234568"}, {"12.34", "12.3"}, {"0.125", "0.125"}, {"10", "10"},        {"0", "0"},
        {"-0.0004", "-0.0004"},   {"-3.5", "-3.5"},  {"100.4", "100"},   {"9.9994", "9.999"}, {"0.0001", "0.0001"},
        {"-1e-7", "0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char body[300], cell[40];
        (void)snprintf(body, sizeof body, "[{\"tenant\":\"acme\",\"budgets\":[{\"left\":%s}]}]", cases[i][0]);
        (void)snprintf(cell, sizeof cell, " %s", cases[i][1]);
        outcome_t outcome = play(RULES({"GET /v1/quotas ", 0, 200, NULL, body, WHOLE, 0}), WORDS("quota"));
        const char *table = strstr(outcome.out, "\n\n");
        if (outcome.code || !table || !strstr(table, cell) || (cases[i][1][0] != '-' && strstr(table, " -0")))
            fail_msg("%s:\n%s", cases[i][0], outcome.out);
        end(&outcome);
    }
}

static void quota__of_a_tenant_that_is_not_listed_is_no_empty_table(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES({"GET /v1/quotas ", 0, 200, NULL, "[{\"tenant\":\"acme\"}]", WHOLE, 0}), WORDS("quota", "acm"));
    expect(&outcome, HELIO_EXIT_NOT_FOUND, "", "tenant 'acm' does not exist, or is not visible to you");
    end(&outcome);
}

/*  A source may know nothing of the hour at hand. */
static void forecast__an_unknown_first_hour_does_not_hide_the_others(void **state)
{
    (void)state;
    outcome_t outcome = play(RULES({"GET /v1/sites/lulea/forecast ", 0, 200, NULL,
                                    "[{\"signal\":\"carbon_g_per_kwh\",\"step_s\":3600,\"points\":["
                                    "{\"time\":\"2026-03-01T12:00:00.000Z\",\"value\":null},"
                                    "{\"time\":\"2026-03-01T13:00:00.000Z\",\"value\":10},"
                                    "{\"time\":\"2026-03-01T14:00:00.000Z\",\"value\":20}]}]",
                                    WHOLE, 0}),
                             WORDS("forecast", "lulea"));
    expect(&outcome, 0,
           "SITE   SIGNAL  NOW  MIN  MEAN  MAX  UNIT   AGE  SOURCE  AHEAD\n"
           "lulea  carbon    -   10    15   20  g/kWh    -  -       .09\n",
           "");
    end(&outcome);
}

static void forecast__values_of_any_size_are_drawn(void **state)
{
    (void)state;
    outcome_t outcome = play(RULES({"GET /v1/sites/lulea/forecast ", 0, 200, NULL,
                                    "[{\"signal\":\"carbon_g_per_kwh\",\"step_s\":3600,\"points\":["
                                    "{\"time\":\"2026-03-01T12:00:00.000Z\",\"value\":-1e308},"
                                    "{\"time\":\"2026-03-01T13:00:00.000Z\",\"value\":1e308}]}]",
                                    WHOLE, 0}),
                             WORDS("forecast", "lulea", "--color", "always"));
    assert_int_equal(outcome.code, 0);
    assert_non_null(strstr(outcome.out, "carbon"));
    end(&outcome);
}

/* ---- events -------------------------------------------------------------------------------------------- */

#define EVENT(seq, to)                                                                                              \
    "id: " #seq "\nevent: transition\ndata: {\"seq\":" #seq ",\"time\":\"2026-03-01T12:00:00.000Z\",\"id\":\"" ID_A \
    "\",\"name\":\"train\",\"from\":\"queued\",\"to\":\"" to "\",\"site\":\"lulea\",\"reason\":\"placed\"}\n\n"

static void events__that_are_no_objects_are_passed_over_and_lost_ones_are_told(void **state)
{
    (void)state;
    outcome_t outcome = play(RULES({"GET /v1/events", 0, 200, NULL,
                                    EVENT(1, "offered") "data: [1]\n\ndata: {\n\n: comment\n\n"
                                                        "event: resync\ndata: {}\n\n" EVENT(4, "running"),
                                    WHOLE, 0}),
                             WORDS("events", "-o", "jsonl"));
    expect(&outcome, 0, NULL, "some events are missing: the broker keeps no older ones");
    assert_non_null(strstr(outcome.out, "\"seq\":1"));
    assert_non_null(strstr(outcome.out, "\"seq\":4"));
    assert_int_equal(broker_double_count(outcome.broker, "Last-Event-ID: 0\r\n"), 1);
    end(&outcome);
}

static void events__that_are_followed_are_one_line_each_of_fixed_widths(void **state)
{
    (void)state;
    outcome_t outcome = play(RULES({"GET /v1/events", 1, 200, NULL, EVENT(1, "offered") EVENT(2, "run"), WHOLE, 0},
                                   {"GET /v1/events", 0, 403, NULL, "{\"detail\":\"enough\"}", WHOLE, 0}),
                             WORDS("events", "-f", "--after", "0"));
    expect(&outcome, 4,
           "2026-03-01T12:00:00Z  bbccccdd  train  queued     offered    lulea  placed\n"
           "2026-03-01T12:00:00Z  bbccccdd  train  queued     run        lulea  placed\n",
           "enough");
    assert_int_equal(broker_double_count(outcome.broker, "Last-Event-ID: 2\r\n"), 1); /* it goes on after the last */
    end(&outcome);
}

static void events__of_a_broker_that_has_none_are_an_empty_table(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES({"GET /v1/events", 0, 200, NULL, ": hello\n\n", HOLD, 0}), WORDS("events", "-o", "json"));
    expect(&outcome, 0, "[]\n", "");
    end(&outcome);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(audit__goes_through_the_pages_and_stops_at_its_limit),
        cmocka_unit_test(audit__ends_when_a_page_leads_nowhere),
        cmocka_unit_test(audit__a_page_that_fails_is_no_shorter_list),
        cmocka_unit_test(audit_anchor__is_the_last_entry_in_one_line),
        cmocka_unit_test(audit_verify__against_an_anchor_finds_a_removed_tail_and_a_chain_made_again),
        cmocka_unit_test(audit_verify__checks_every_line_of_a_file_of_anchors),
        cmocka_unit_test(limits__that_are_no_number_of_rows_are_refused_before_anything_is_sent),
        cmocka_unit_test(token_revoke__goes_on_after_one_that_is_unknown_and_exits_with_its_code),
        cmocka_unit_test(several_names__end_with_the_first_that_meets_no_broker),
        cmocka_unit_test(token_add__prints_the_secret_in_the_form_that_was_asked_for),
        cmocka_unit_test(report__balance_compares_with_the_meter_and_leaves_unknown_figures_out),
        cmocka_unit_test(report__says_what_its_sums_leave_out),
        cmocka_unit_test(quota__figures_of_budgets_have_useful_decimals),
        cmocka_unit_test(quota__of_a_tenant_that_is_not_listed_is_no_empty_table),
        cmocka_unit_test(forecast__an_unknown_first_hour_does_not_hide_the_others),
        cmocka_unit_test(forecast__values_of_any_size_are_drawn),
        cmocka_unit_test(events__that_are_no_objects_are_passed_over_and_lost_ones_are_told),
        cmocka_unit_test(events__that_are_followed_are_one_line_each_of_fixed_widths),
        cmocka_unit_test(events__of_a_broker_that_has_none_are_an_empty_table),
    };
    /* The double is on this machine, whatever proxy the environment names. */
    (void)setenv("no_proxy", "*", 1);
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
