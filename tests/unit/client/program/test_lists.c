/*  test_lists.c -- lists of jobs: filters, arrays in one row, names that nothing has; and commands on the jobs that filters choose. */
#include "tests/unit/client/program/remote_testing.h"

static const char nothing[] = "{\"jobs\":[],\"next\":null}";
static const char of_label[] =
    "GET /v1/jobs?limit=1000&label=sweep%3D3&mine=true&state=queued,offered,accepted,starting,"
    "running,suspended,stopping,suspect,held&arrays=whole ";
static const char chosen[] = "{\"jobs\":[" JOB(
    ID_A, "running", ",\"tasks_total\":10,\"tasks\":{\"running\":10}") "," JOB(ID_B, "queued", "") "],"
                                                                                                   "\"next\":null}";

static void ls__passes_its_filters_on(void **state)
{
    (void)state;
    static const char request[] = "GET /v1/jobs?limit=100&site=lulea&mine=true&since=2026-11-22T07%3A00%3A00.000Z"
                                  "&label=team%3Dnlp%2Csweep&sort=cost ";
    static const char answer[] =
        "{\"jobs\":[" JOB(ID_A, "running", "") "],\"next\":null,\"looked_to\":\"2026-11-01T00:00:00.000Z\"}";
    outcome_t outcome = play(RULES({request, 0, 200, NULL, answer, WHOLE, 0}),
                             WORDS("ls", "--mine", "--site", "lulea", "--since", "2026-11-22T07:00:00Z", "--label",
                                   "team=nlp", "--label", "sweep", "--sort", "cost", "-o", "name"));
    expect(&outcome, 0, ID_A "\n", "Sorted among the newest jobs, back to 2026-11-01T00:00:00.000Z");
    end(&outcome);
    outcome = play(RULES({"GET /v1/jobs?", 0, 200, NULL, nothing, WHOLE, 0}), WORDS("ls", "--since", "24h", "--tasks"));
    expect(&outcome, 0, NULL, NULL);
    assert_non_null(strstr(outcome.broker->requests.data, "&since=20"));
    assert_null(strstr(outcome.broker->requests.data, "arrays="));
    end(&outcome);
}

static void ls__wrong_filters_are_refused_before_anything_is_sent(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"--since", "yesterdayish", "--since: 'yesterdayish' is no time"},
        {"--label", "x-", "--label: 'x-' is not a label"},
        {"--mine", "--user=ana", "--mine and --user contradict one another"},
        {"--sort", "price", "--sort"},
        {"--watch", "-ojson", "--watch shows tables"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        outcome_t outcome = play(RULES({0}), WORDS("ls", cases[i][0], cases[i][1]));
        expect(&outcome, 2, "", cases[i][2]);
        end(&outcome);
    }
}

static void ls__an_array_is_one_row(void **state)
{
    (void)state;
    static const char answer[] = "{\"jobs\":[" JOB(
        ID_A, "running", ",\"gpus\":8,\"tasks_total\":100,\"tasks\":{\"queued\":88,\"running\":12}") "],\"next\":null}";
    static const char *const words[][3] = {{"ls", NULL}, {"ls", "--watch", NULL}};
    for (size_t i = 0; i < 2; i++) { /* without a terminal, what is watched is shown once */
        outcome_t outcome =
            play(RULES({"GET /v1/jobs?limit=100&arrays=whole ", 0, 200, NULL, answer, WHOLE, 0}), words[i]);
        expect(&outcome, 0,
               "ID        NAME   QUEUE  STATE                  SITE   GPUS  AGE  RUN  REASON\n"
               "bbccccdd  train  -      queued 88, running 12  lulea     8    -    -  -\n",
               NULL);
        end(&outcome);
    }
}

/*  A filter that fits few jobs: the broker looks through a bounded number of tasks for each page. */
static void ls__goes_on_behind_an_empty_page(void **state)
{
    (void)state;
    static const char second[] = "{\"jobs\":[" JOB(ID_A, "running", "") "],\"next\":null}";
    outcome_t outcome =
        play(RULES({"GET /v1/jobs?limit=100&site=lulea&arrays=whole&cursor=" ID_B " ", 0, 200, NULL, second, WHOLE, 0},
                   {"GET /v1/jobs?", 0, 200, NULL, "{\"jobs\":[],\"next\":\"" ID_B "\"}", WHOLE, 0}),
             WORDS("ls", "--site", "lulea", "-o", "name"));
    expect(&outcome, 0, ID_A "\n", NULL);
    end(&outcome);
}

static void ls__names_that_nothing_has_get_a_suggestion(void **state)
{
    (void)state;
    outcome_t outcome = play(RULES({"GET /v1/sites", 0, 200, NULL, "{\"sites\":[{\"site\":\"lulea\"}]}", WHOLE, 0},
                                   {"GET /v1/jobs?", 0, 200, NULL, nothing, WHOLE, 0}),
                             WORDS("ls", "--site", "luleo"));
    expect(&outcome, 0, NULL, "note: unknown site 'luleo' (did you mean 'lulea'?); `helio sites` lists the sites");
    end(&outcome);
    static const char users[] = "{\"jobs\":[],\"next\":null,\"users\":[\"ana\",\"bo\"]}";
    outcome = play(RULES({"GET /v1/jobs?", 0, 200, NULL, users, WHOLE, 0}), WORDS("ls", "--user", "anna"));
    expect(&outcome, 0, NULL, "note: unknown user 'anna' (did you mean 'ana'?)\n");
    end(&outcome);
}

/* ---- commands on the jobs that filters choose --------------------------------------------------------------- */

static void cancel__asks_before_it_cancels_what_filters_choose(void **state)
{
    (void)state;
    static const struct {
        const char *yes;
        int code;
        int deleted;
        const char *err;
    } cases[] = {{"--yes", 0, 2, "cancelling " ID_B}, {"--color=never", 2, 0, "--yes"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        outcome_t outcome = play(RULES({of_label, 0, 200, NULL, chosen, WHOLE, 0},
                                       {"DELETE /v1/jobs/" ID_A, 0, 202, NULL, "{\"id\":\"" ID_A "\"}", WHOLE, 0},
                                       {"DELETE /v1/jobs/" ID_B, 0, 202, NULL, "{\"id\":\"" ID_B "\"}", WHOLE, 0}),
                                 WORDS("cancel", "--label", "sweep=3", cases[i].yes));
        expect(&outcome, cases[i].code, "", cases[i].err);
        assert_int_equal(broker_double_count(outcome.broker, "DELETE"), cases[i].deleted);
        end(&outcome);
    }
}

static void hold_and_release__choose_by_their_own_states(void **state)
{
    (void)state;
    static const char *const cases[][3] = {{"hold", "&user=ana&state=queued&arrays=whole ", "/hold "},
                                           {"release", "&user=ana&state=held&arrays=whole ", "/release "}};
    for (size_t i = 0; i < 2; i++) {
        outcome_t outcome = play(RULES({"GET /v1/jobs?", 0, 200, NULL, chosen, WHOLE, 0},
                                       {"POST", 0, 202, NULL, "{\"id\":\"x\"}", WHOLE, 0}),
                                 WORDS(cases[i][0], "--user", "ana", "-y"));
        expect(&outcome, 0, "", NULL);
        assert_non_null(strstr(outcome.broker->requests.data, cases[i][1]));
        assert_int_equal(broker_double_count(outcome.broker, cases[i][2]), 2);
        end(&outcome);
    }
}

/*  Of an array only some tasks may run: the others are not cancelled. */
static void cancel__by_state_takes_tasks_one_by_one(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES({"GET /v1/jobs?limit=1000&state=running&mine=true ", 0, 200, NULL, nothing, WHOLE, 0}),
             WORDS("cancel", "--state", "running", "-y"));
    expect(&outcome, 0, "", "no job fits: nothing to cancel");
    end(&outcome);
}

static void cancel__takes_ids_or_filters(void **state)
{
    (void)state;
    outcome_t outcome = play(RULES({0}), WORDS("cancel", ID_A, "--mine"));
    expect(&outcome, 2, "", "takes ids, or options that choose jobs, not both");
    end(&outcome);
    outcome = play(RULES({0}), WORDS("cancel"));
    expect(&outcome, 2, "", "`helio cancel` needs ID… | FILTER…");
    end(&outcome);
}

/* ---- labels ------------------------------------------------------------------------------------------------- */

static void submit__passes_labels_on_and_sends_documents_as_they_are(void **state)
{
    (void)state;
    outcome_t outcome =
        play_with(RULES({"POST /v1/jobs?label=team%3Dnlp%2Csweep%3D3 ", 0, 201, NULL, SUBMITTED_A, WHOLE, 0}),
                  WORDS("submit", "-", "--label", "team=nlp", "--label", "sweep=3"), "run: echo\n");
    expect(&outcome, 0, NULL, NULL);
    end(&outcome);
    outcome = play_with(RULES({0}), WORDS("submit", "-", "--label", "team"), "run: echo\n");
    expect(&outcome, 2, "", "--label: 'team' is not a label\nhelp: write KEY=VALUE");
    end(&outcome);
}

static void show__has_the_labels(void **state)
{
    (void)state;
    static const char job[] = JOB(ID_A, "running", ",\"labels\":{\"phase\":\"\",\"team\":\"nlp\"}");
    outcome_t outcome = play(RULES({"GET /v1/jobs/" ID_A " ", 0, 200, NULL, job, WHOLE, 0}), WORDS("show", ID_A));
    expect(&outcome, 0, NULL, NULL);
    assert_non_null(strstr(outcome.out, "phase=,team=nlp\n"));
    end(&outcome);
}

/* ---- times in one zone, and rows for other programs ---------------------------------------------------------- */

static outcome_t show_in(const char *tz, const char *option)
{
    outcome_t outcome = {
        .broker = broker_double_new(RULES(
            {"GET", 0, 200, NULL, JOB(ID_A, "succeeded", ",\"finished_at\":\"2026-11-22T14:20:00.000Z\""), WHOLE, 0}))};
    char broker[160];
    (void)snprintf(broker, sizeof broker, "HELIO_BROKER=http://127.0.0.1:%d", outcome.broker->port);
    char *environment[] = {broker, (char *)(uintptr_t) "HELIO_TOKEN=" SECRET, (char *)(uintptr_t)tz, NULL};
    outcome.code = run_client(WORDS("show", ID_A, option), "", environment, NO_PRESSES, &outcome.out, &outcome.err);
    broker_double_stop(outcome.broker);
    return outcome;
}

static void times__are_in_the_zone_of_the_reader_or_in_utc(void **state)
{
    (void)state;
    outcome_t outcome = show_in("TZ=Europe/Berlin", "-owide");
    assert_non_null(strstr(outcome.out, "2026-11-22T15:20:00+01:00\n"));
    end(&outcome);
    outcome = show_in("TZ=Europe/Berlin", "--utc");
    assert_non_null(strstr(outcome.out, "2026-11-22T14:20:00Z\n"));
    end(&outcome);
}

static void csv__has_a_row_for_each_candidate_and_day(void **state)
{
    (void)state;
    static const char explained[] =
        "{\"id\":\"" ID_A
        "\",\"state\":\"queued\",\"candidates\":[{\"site\":\"lulea\",\"pool\":\"a\"},{\"site\":\"oregon\",\"pool\":\"b\"}]}";
    static const char report[] =
        "{\"days\":7,\"baselines\":[{\"day\":\"2026-11-21\",\"tenant\":\"acme\"},{\"day\":\"2026-11-22\",\"tenant\":\"acme\"}]}";
    static const struct {
        const char *words[5], *answer, *row;
    } cases[] = {{{"explain", ID_A, "-ocsv"}, explained, "oregon"},
                 {{"plan", "-", "-ocsv"}, explained, "oregon"},
                 {{"report", "-ocsv"}, report, "2026-11-22"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        outcome_t outcome =
            play_with(RULES({"", 0, 200, NULL, cases[i].answer, WHOLE, 0}), cases[i].words, "run: echo\n");
        expect(&outcome, 0, NULL, NULL);
        int lines = 0;
        for (const char *at = outcome.out; *at; at++)
            lines += *at == '\n';
        assert_int_equal(lines, 3);
        assert_non_null(strstr(outcome.out, cases[i].row));
        end(&outcome);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ls__passes_its_filters_on),
        cmocka_unit_test(ls__wrong_filters_are_refused_before_anything_is_sent),
        cmocka_unit_test(ls__an_array_is_one_row),
        cmocka_unit_test(ls__goes_on_behind_an_empty_page),
        cmocka_unit_test(ls__names_that_nothing_has_get_a_suggestion),
        cmocka_unit_test(cancel__asks_before_it_cancels_what_filters_choose),
        cmocka_unit_test(hold_and_release__choose_by_their_own_states),
        cmocka_unit_test(cancel__by_state_takes_tasks_one_by_one),
        cmocka_unit_test(cancel__takes_ids_or_filters),
        cmocka_unit_test(submit__passes_labels_on_and_sends_documents_as_they_are),
        cmocka_unit_test(show__has_the_labels),
        cmocka_unit_test(times__are_in_the_zone_of_the_reader_or_in_utc),
        cmocka_unit_test(csv__has_a_row_for_each_candidate_and_day),
    };
    (void)setenv("no_proxy", "*", 1); /* the double is on this machine, whatever proxy the environment names */
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
