/*  test_submit.c -- several files, and several documents in one, in one submission: a refusal names file and line. */
#include "tests/support/folder.h"
#include "tests/unit/client/program/remote_testing.h"

#define ID(n) "{\"id\":\"01k9x2m4q8r7aaaabbbbcccc" n "\"}"
#define PROBLEM(params)                                                                                                        \
    "{\"status\":422,\"detail\":\"refused\",\"reason\":\"NeverFits\",\"details\":[{\"code\":\"NeverRuns\",\"params\":{" params \
    "}},{\"code\":\"NothingStored\",\"params\":{}}]}"

static char folder[256], one[300], two[300];

/*  one: a single job. two: three jobs, each behind what does not count: a comment, a separator, a blank line. */
static int up(void **state)
{
    (void)state;
    if (!folder_make(folder, sizeof folder, "helio-submit"))
        return -1;
    (void)snprintf(one, sizeof one, "%s/one.yaml", folder);
    (void)snprintf(two, sizeof two, "%s/two.yaml", folder);
    static const char first[] = "name: alone\nrun: echo\n";
    static const char rest[] = "# of last week\nname: warm\nrun: echo\n---\nname: hot\nrun: echo\n---\n\nrun: echo\n";
    FILE *file = fopen(one, "we");
    bool written = file && fputs(first, file) >= 0 && fclose(file) == 0;
    file = fopen(two, "we");
    return written && file && fputs(rest, file) >= 0 && fclose(file) == 0 ? 0 : -1;
}

static int down(void **state)
{
    (void)state;
    return folder_remove(folder);
}

/*  Whatever the format of the output: the sentence is for people, and stands on standard error. */
static void refusal__names_the_file_and_the_line_of_the_job(void **state)
{
    (void)state;
    static const struct {
        const char *problem, *expected; /* behind the folder; NULL: no place is named */
    } cases[] = {
        {PROBLEM("\"job\":1"), "/one.yaml:1 (alone); none of the 4 jobs of this request was submitted"},
        {PROBLEM("\"job\":2"), "/two.yaml:2 (warm)"},
        {PROBLEM("\"job\":3"), "/two.yaml:5 (hot)"},
        {PROBLEM("\"job\":4"), "/two.yaml:9; none"},
        {"{\"status\":400,\"detail\":\"refused\",\"document\":0}", "/one.yaml:1 (alone)"},
        {"{\"status\":400,\"detail\":\"refused\",\"document\":3}", "/two.yaml:9; none"},
        /* a broker that names no job, or one that was not sent */
        {PROBLEM(""), NULL},
        {PROBLEM("\"job\":0"), NULL},
        {PROBLEM("\"job\":5"), NULL},
        {PROBLEM("\"job\":-1"), NULL},
        {PROBLEM("\"job\":\"1\""), NULL},
        {PROBLEM("\"job\":1e300"), NULL},
        {"{\"status\":400,\"detail\":\"refused\",\"document\":4}", NULL},
        {"{\"status\":400,\"detail\":\"refused\",\"document\":9223372036854775807}", NULL},
        {"{\"status\":400,\"detail\":\"refused\",\"details\":7,\"document\":null}", NULL},
        {"<html>refused</html>", NULL},
        {"", NULL},
    };
    static const char *const formats[] = {"table", "json", "jsonl", "name"};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++) {
            outcome_t outcome = play(RULES({"POST /v1/jobs", 0, 422, NULL, cases[i].problem, WHOLE, 0}),
                                     WORDS("submit", one, two, "-o", formats[f]));
            char place[400];
            (void)snprintf(place, sizeof place, "%s%s", folder, cases[i].expected ? cases[i].expected : "/");
            expect(&outcome, 5, strcmp(formats[f], "json") == 0 ? "[]\n" : "", cases[i].expected ? place : NULL);
            if (!cases[i].expected && strstr(outcome.err, place))
                fail_msg("case %zu: %s", i, outcome.err);
            assert_null(strstr(outcome.err, "--idempotency-key")); /* nothing is unknown: it was refused */
            assert_int_equal(broker_double_count(outcome.broker, "POST "), 1);
            end(&outcome);
        }
}

static void refusal__of_standard_input_names_it(void **state)
{
    (void)state;
    outcome_t outcome = play_with(RULES({"POST /v1/jobs", 0, 422, NULL, PROBLEM("\"job\":2"), WHOLE, 0}),
                                  WORDS("submit", "-"), "run: a\n---\nname: \"b\\e[2J\"\nrun: b\n");
    expect(&outcome, 2, "", "stdin:3"); /* a control character in a name is refused here already */
    end(&outcome);
    outcome = play_with(RULES({"POST /v1/jobs", 0, 422, NULL, PROBLEM("\"job\":2"), WHOLE, 0}), WORDS("submit", "-"),
                        "run: a\n---\nname: b\nrun: b\n");
    expect(&outcome, 5, "", "job 2 is the one at stdin:3 (b); none of the 2 jobs");
    end(&outcome);
}

/*  The only job needs no number. */
static void refusal__of_a_single_job_says_nothing_of_others(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES({"POST /v1/jobs", 0, 422, NULL, PROBLEM("\"job\":0"), WHOLE, 0}), WORDS("submit", one));
    expect(&outcome, 5, "", "refused (NeverFits)");
    assert_null(strstr(outcome.err, "of this request"));
    end(&outcome);
}

/*  A file that cannot be read, or has an error, keeps all others back. */
static void files__are_submitted_together_or_not_at_all(void **state)
{
    (void)state;
    char missing[320], *const wrong[] = {missing, folder};
    (void)snprintf(missing, sizeof missing, "%s/missing.yaml", folder);
    for (size_t i = 0; i < 2; i++) {
        outcome_t outcome =
            play(RULES({"POST /v1/jobs", 0, 201, NULL, SUBMITTED_A, WHOLE, 0}), WORDS("submit", one, wrong[i], two));
        expect(&outcome, 2, "", "nothing was submitted");
        assert_non_null(strstr(outcome.err, wrong[i]));
        assert_int_equal(broker_double_count(outcome.broker, "POST "), 0);
        end(&outcome);
    }
    outcome_t outcome = play(RULES({"POST /v1/jobs", 0, 201, NULL,
                                    "{\"jobs\":[" ID("d1") "," ID("d2") "," ID("d3") "," ID("d4") "]}", WHOLE, 0}),
                             WORDS("submit", one, two, "-o", "name"));
    expect(&outcome, 0,
           "01k9x2m4q8r7aaaabbbbccccd1\n01k9x2m4q8r7aaaabbbbccccd2\n01k9x2m4q8r7aaaabbbbccccd3\n"
           "01k9x2m4q8r7aaaabbbbccccd4\n",
           NULL);
    assert_int_equal(broker_double_count(outcome.broker, "POST "), 1);
    end(&outcome);
}

/*  A second request that is refused does not undo the first one, and says so. */
static void refusal__of_a_later_request_tells_what_was_submitted_before(void **state)
{
    (void)state;
    enum { JOBS = 1001 };
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t input = {0}, ids = {0};
    for (int i = 0; i < JOBS; i++)
        helio_buffer_printf(&input, "{\"run\":\"echo %d\"}\n", i);
    helio_buffer_text(&ids, "{\"jobs\":[");
    for (int i = 0; i < 1000; i++)
        helio_buffer_printf(&ids, "%s{\"id\":\"01k9x2m4q8r7aaaabbbbcc%04d\"}", i ? "," : "", i);
    helio_buffer_text(&ids, "]}");
    outcome_t outcome = play_with(RULES({"POST /v1/jobs", 1, 201, NULL, ids.data, WHOLE, 0},
                                        {"POST /v1/jobs", 0, 422, NULL, PROBLEM("\"job\":0"), WHOLE, 0}),
                                  WORDS("submit", "-", "-o", "name"), input.data);
    expect(&outcome, 5, NULL, "before that, 1000 of 1001 jobs were submitted");
    assert_null(strstr(outcome.err, "none of"));
    assert_non_null(strstr(outcome.out, "01k9x2m4q8r7aaaabbbbcc0999\n")); /* their ids are printed all the same */
    end(&outcome);
}

int main(void)
{
    (void)setlocale(LC_ALL, "C.UTF-8");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusal__names_the_file_and_the_line_of_the_job),
        cmocka_unit_test(refusal__of_standard_input_names_it),
        cmocka_unit_test(refusal__of_a_single_job_says_nothing_of_others),
        cmocka_unit_test(files__are_submitted_together_or_not_at_all),
        cmocka_unit_test(refusal__of_a_later_request_tells_what_was_submitted_before),
    };
    return cmocka_run_group_tests(tests, up, down);
}
