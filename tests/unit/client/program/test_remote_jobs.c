/*  test_remote_jobs.c -- `submit` and `ls` against a broker: what is sent, once or again, and what is printed of the answers. */
#include "tests/unit/client/program/remote_testing.h"

/* ---- submit -------------------------------------------------------------------------------------------- */

static void submit__prints_one_id_per_line(void **state)
{
    (void)state;
    outcome_t outcome =
        play_with(RULES({"POST /v1/jobs", 0, 201, NULL,
                         "{\"jobs\":[{\"id\":\"" ID_A "\",\"existed\":false},{\"id\":\"" ID_B "\",\"existed\":true}]}",
                         WHOLE, 0}),
                  WORDS("submit", "-", "-o", "name", "--idempotency-key", "k1"),
                  "name: a\nrun: echo a\n---\nname: b\nrun: echo b\n");
    expect(&outcome, 0, ID_A "\n" ID_B "\n", NULL);
    assert_int_equal(broker_double_count(outcome.broker, "Content-Type: application/yaml\r\n"), 1);
    assert_int_equal(broker_double_count(outcome.broker, "Idempotency-Key: k1\r\n"), 1);
    assert_int_equal(broker_double_count(outcome.broker, "run: echo a\n---\nname: b\nrun: echo b\n"), 1);
    end(&outcome);
}

static void submit__json_lines_are_sent_byte_for_byte(void **state)
{
    (void)state;
    outcome_t outcome = play_with(
        RULES({"POST /v1/jobs", 0, 201, NULL, "{\"jobs\":[{\"id\":\"" ID_A "\"},{\"id\":\"" ID_B "\"}]}", WHOLE, 0}),
        WORDS("submit", "-"), "{ \"run\":\"echo  1\" }\n{\"run\": \"echo 2\"}\n");
    expect(&outcome, 0, "Submitted " ID_A "\nSubmitted " ID_B "\n", NULL);
    assert_int_equal(
        broker_double_count(outcome.broker, "{\"jobs\":[{ \"run\":\"echo  1\" },{\"run\": \"echo 2\"}]}\n===="), 1);
    end(&outcome);
}

static void submit__after_a_lost_reply_is_repeated_with_the_same_key(void **state)
{
    (void)state;
    outcome_t outcome = play_with(
        RULES({"POST /v1/jobs", 2, 0, NULL, NULL, DROP, 0}, {"POST /v1/jobs", 0, 201, NULL, SUBMITTED_A, WHOLE, 0}),
        WORDS("submit", "-", "-o", "name"), "run: echo\n");
    expect(&outcome, 0, ID_A "\n", NULL);
    const char *key = strstr(outcome.broker->requests.data, "Idempotency-Key: ");
    assert_non_null(key);
    char line[80];
    (void)helio_text_copy((helio_text_t){key, (uint32_t)strcspn(key, "\r")}, line, sizeof line);
    assert_true(strlen(line) > strlen("Idempotency-Key: ") + 16);
    assert_int_equal(broker_double_count(outcome.broker, line), 3);
    end(&outcome);
}

/*  After some seconds of waiting the client says once what it waits for, with or without a terminal. */
static void submit__that_is_retried_for_long_says_so_once(void **state)
{
    (void)state;
    static const char refusal[] = "{\"detail\":\"the database is away\"}";
    outcome_t outcome = play_with(RULES({"POST /v1/jobs", 1, 503, "Retry-After: 1\r\n", refusal, WHOLE, 0},
                                        {"POST /v1/jobs", 1, 503, NULL, refusal, WHOLE, 0},
                                        {"POST /v1/jobs", 0, 201, NULL, SUBMITTED_A, WHOLE, 0}),
                                  WORDS("submit", "-", "-o", "name"), "run: echo\n");
    assert_int_equal(outcome.code, 0);
    const char *told = strstr(outcome.err, "the database is away; still trying\n");
    assert_non_null(told);
    assert_null(strstr(told + strlen("the database is away; still trying"), "still trying"));
    end(&outcome);
}

static void submit__with_an_unknown_outcome_prints_its_key(void **state)
{
    (void)state;
    outcome_t outcome = play_with(RULES({"POST /v1/jobs", 0, 504, NULL, "{\"detail\":\"no answer\"}", WHOLE, 0}),
                                  WORDS("submit", "-", "-q"), "run: echo\n");
    expect(&outcome, 8, "", "--idempotency-key ");
    const char *key = strstr(outcome.broker->requests.data, "Idempotency-Key: "), *told;
    assert_non_null(key);
    told = strstr(outcome.err, "--idempotency-key ") + strlen("--idempotency-key ");
    assert_memory_equal(told, key + strlen("Idempotency-Key: "), strcspn(told, "`"));
    end(&outcome);
    outcome = play_with(RULES({"POST /v1/jobs", 0, 422, NULL, "{\"detail\":\"no\"}", WHOLE, 0}), WORDS("submit", "-"),
                        "run: echo\n");
    assert_null(strstr(outcome.err, "--idempotency-key")); /* it was refused, and is not there */
    end(&outcome);
}

static void submit__and_plan_note_an_unknown_home_site(void **state)
{
    (void)state;
    static const rule_t rules[] = {{"POST /v1/jobs", 0, 201, NULL, SUBMITTED_A, WHOLE, 0},
                                   {"POST /v1/plans", 0, 200, NULL, "{\"job\":{},\"candidates\":[]}", WHOLE, 0},
                                   {"GET /v1/sites", 0, 200, NULL, "[{\"site\":\"lulea\"}]", WHOLE, 0},
                                   {0}};
    static const struct {
        const char *command, *document, *note;
    } cases[] = {
        {"submit", "run: echo\nhome: atlantis\n", "no known site is named 'atlantis'; `helio sites`"},
        {"submit", "run: echo\nhome: lulae\n", "did you mean 'lulea'?"},
        {"plan", "run: echo\nhome: atlantis\n", "no known site is named 'atlantis'"},
        {"submit", "run: echo\nhome: lulea\n", NULL},
        {"submit", "run: echo\n", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        outcome_t outcome = play_with(rules, WORDS(cases[i].command, "-"), cases[i].document);
        expect(&outcome, 0, NULL, cases[i].note);
        if (!cases[i].note)
            assert_null(strstr(outcome.err, "note"));
        end(&outcome);
    }
}

static void ls__of_an_unknown_queue_is_an_error(void **state)
{
    (void)state;
    static const struct {
        const char *queue, *note;
    } cases[] = {{"bacth", "unknown queue 'bacth' (did you mean 'batch'?);"},
                 {"nosuch", "unknown queue 'nosuch'; `helio"},
                 {"batch", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        outcome_t outcome =
            play(RULES({"GET /v1/jobs?", 0, 200, NULL, "{\"jobs\":[]}", WHOLE, 0},
                       {"GET /v1/queues", 0, 200, NULL, "{\"queues\":[{\"queue\":\"batch\"}]}", WHOLE, 0}),
                 WORDS("ls", "--queue", cases[i].queue));
        expect(&outcome, 0, NULL, cases[i].note);
        if (!cases[i].note)
            assert_null(strstr(outcome.err, "note"));
        end(&outcome);
    }
}

static void submit__errors_in_documents_are_shown_and_nothing_is_sent(void **state)
{
    (void)state;
    outcome_t outcome = play_with(RULES({"POST", 0, 201, NULL, SUBMITTED_A, WHOLE, 0}), WORDS("submit", "-"),
                                  "run: echo\n---\nrun: echo\nquue: batch\n---\ntime: 5\nrun: x\n");
    expect(&outcome, 2, "", "stdin:4:1: error");
    assert_non_null(strstr(outcome.err, "did you mean 'queue'?"));
    assert_non_null(strstr(outcome.err, "stdin:6:")); /* all of them, not only the first */
    assert_non_null(strstr(outcome.err, "^"));
    assert_int_equal(broker_double_count(outcome.broker, "POST"), 0);
    end(&outcome);
}

static void submit__a_reply_for_other_jobs_is_not_a_success(void **state)
{
    (void)state;
    static const char *const answers[] = {"{}", "{\"jobs\":[]}", "{\"id\":\"x\"}",
                                          "{\"jobs\":[{\"id\":\"" ID_A "\"},{\"id\":\"" ID_B "\"}]}"};
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        outcome_t outcome = play_with(RULES({"POST /v1/jobs", 0, 201, NULL, answers[i], WHOLE, 0}),
                                      WORDS("submit", "-"), "run: echo\n");
        expect(&outcome, 125, "", "does not name 1 jobs");
        end(&outcome);
    }
}

/* ---- ls ------------------------------------------------------------------------------------------------ */

static void ls__goes_through_pages_and_filters(void **state)
{
    (void)state;
    outcome_t outcome = play(RULES({"GET /v1/jobs?limit=1000&state=running&name=a%26b&arrays=whole&cursor=" ID_A " ", 0,
                                    200, NULL, "{\"jobs\":[" JOB(ID_B, "running", "") "],\"next\":null}", WHOLE, 0},
                                   {"GET /v1/jobs?limit=1000&state=running&name=a%26b&arrays=whole ", 0, 200, NULL,
                                    "{\"jobs\":[" JOB(ID_A, "running", "") "],\"next\":\"" ID_A "\"}", WHOLE, 0}),
                             WORDS("ls", "--state", "running", "--name", "a&b", "--all", "-o", "name"));
    expect(&outcome, 0, ID_A "\n" ID_B "\n", NULL);
    end(&outcome);
}

static void ls__with_a_limit_says_nothing_of_further_jobs(void **state)
{
    (void)state;
    outcome_t outcome = play(
        RULES({"GET /v1/jobs?limit=1&arrays=whole ", 0, 200, NULL,
               "{\"jobs\":[" JOB(ID_A, "running",
                                 ",\"gpus\":8,\"reason\":\"its processes are running\"") "],\"next\":\"" ID_A "\"}",
               WHOLE, 0}),
        WORDS("ls", "-l1"));
    expect(&outcome, 0,
           "ID        NAME   QUEUE  STATE    SITE   GPUS  AGE  RUN  REASON\n"
           "bbccccdd  train  -      running  lulea     8    -    -  -\n",
           "");
    assert_null(strstr(outcome.err, "--all")); /* who gives a limit knows it */
    end(&outcome);
}

static void ls__with_a_limit_and_all_is_refused(void **state)
{
    (void)state;
    static const char *const words[][3] = {{"ls", "--limit=1", "--all"}, {"audit", "-a", "-l1"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        outcome_t outcome = play(RULES({0}), WORDS(words[i][0], words[i][1], words[i][2]));
        expect(&outcome, 2, "", "--limit and --all contradict one another: use one of them");
        end(&outcome);
    }
}

/*  As many jobs as a listing has without --limit, and more behind them. */
static void ls__says_that_there_are_more_jobs_than_it_lists(void **state)
{
    (void)state;
    enum { ROWS = 100 };
    static const char row[] = JOB(ID_A, "running", ",\"gpus\":8");
    static char body[ROWS * sizeof row + 100];
    size_t size = (size_t)snprintf(body, sizeof body, "{\"jobs\":[");
    for (int i = 0; i < ROWS; i++)
        size += (size_t)snprintf(body + size, sizeof body - size, "%s%s", i ? "," : "", row);
    (void)snprintf(body + size, sizeof body - size, "],\"next\":\"%s\"}", ID_A);
    outcome_t outcome =
        play(RULES({"GET /v1/jobs?limit=100&arrays=whole ", 0, 200, NULL, body, WHOLE, 0}), WORDS("ls"));
    assert_int_equal(outcome.code, 0);
    assert_non_null(strstr(outcome.err, "There are more jobs: use --limit N or --all."));
    end(&outcome);
}

static void ls__a_job_without_gpus_has_no_model_for_people(void **state)
{
    (void)state;
    static const char body[] =
        "{\"jobs\":[" JOB(ID_A, "queued", ",\"gpus\":0,\"gpu_model\":\"H100\"") "],\"next\":null}";
    static const char *const formats[] = {"wide", "json"};
    for (size_t i = 0; i < 2; i++) {
        outcome_t outcome = play(RULES({"GET /v1/jobs?limit=100&arrays=whole ", 0, 200, NULL, body, WHOLE, 0}),
                                 WORDS("ls", "-o", formats[i]));
        assert_int_equal(outcome.code, 0);
        assert_int_equal(strstr(outcome.out, "H100") != NULL, i == 1);
        end(&outcome);
    }
}

static void ls__ends_at_a_repeated_cursor(void **state)
{
    (void)state;
    outcome_t outcome = play(RULES({"GET /v1/jobs", 0, 200, NULL,
                                    "{\"jobs\":[" JOB(ID_A, "running", "") "],\"next\":\"" ID_A "\"}", WHOLE, 0}),
                             WORDS("ls", "--all", "-o", "name"));
    expect(&outcome, 0, ID_A "\n" ID_A "\n", NULL);
    end(&outcome);
}

static void ls__names_the_tenant_if_jobs_belong_to_several(void **state)
{
    (void)state;
    static const struct {
        const char *tenant;
        bool named;
    } cases[] = {{"acme", false}, {"other", true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char body[512];
        (void)snprintf(
            body, sizeof body,
            "{\"jobs\":[" JOB(ID_A, "running",
                              ",\"tenant\":\"acme\"") ",{\"id\":\"" ID_B
                                                      "\",\"state\":\"queued\",\"tenant\":\"%s\"}],\"next\":null}",
            cases[i].tenant);
        outcome_t outcome =
            play(RULES({"GET /v1/jobs?limit=100&arrays=whole ", 0, 200, NULL, body, WHOLE, 0}), WORDS("ls"));
        expect(&outcome, 0, NULL, NULL);
        assert_int_equal(strstr(outcome.out, "TENANT") != NULL, cases[i].named);
        assert_int_equal(strstr(outcome.out, "acme") != NULL, cases[i].named);
        end(&outcome);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(submit__prints_one_id_per_line),
        cmocka_unit_test(submit__json_lines_are_sent_byte_for_byte),
        cmocka_unit_test(submit__after_a_lost_reply_is_repeated_with_the_same_key),
        cmocka_unit_test(submit__that_is_retried_for_long_says_so_once),
        cmocka_unit_test(submit__with_an_unknown_outcome_prints_its_key),
        cmocka_unit_test(submit__and_plan_note_an_unknown_home_site),
        cmocka_unit_test(ls__of_an_unknown_queue_is_an_error),
        cmocka_unit_test(submit__errors_in_documents_are_shown_and_nothing_is_sent),
        cmocka_unit_test(submit__a_reply_for_other_jobs_is_not_a_success),
        cmocka_unit_test(ls__goes_through_pages_and_filters),
        cmocka_unit_test(ls__with_a_limit_and_all_is_refused),
        cmocka_unit_test(ls__with_a_limit_says_nothing_of_further_jobs),
        cmocka_unit_test(ls__says_that_there_are_more_jobs_than_it_lists),
        cmocka_unit_test(ls__a_job_without_gpus_has_no_model_for_people),
        cmocka_unit_test(ls__ends_at_a_repeated_cursor),
        cmocka_unit_test(ls__names_the_tenant_if_jobs_belong_to_several),
    };
    /* The double is on this machine, whatever proxy the environment names. */
    (void)setenv("no_proxy", "*", 1);
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
