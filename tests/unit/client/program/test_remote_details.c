/*  test_remote_details.c -- what the client decides by codes and parameters, and prints of replies without them. */
#include "tests/unit/client/program/remote_testing.h"

static outcome_t explain_of(const char *body)
{
    outcome_t outcome =
        play(RULES({"GET /v1/jobs/abcdefgh/explain ", 0, 200, NULL, body, WHOLE, 0}), WORDS("explain", "abcdefgh"));
    assert_int_equal(outcome.code, 0);
    return outcome;
}

#define CAPACITY_HEAD                                                                             \
    "{\"id\":\"abcdefgh\",\"name\":\"a\",\"state\":\"queued\",\"reason\":\"WaitingForCapacity\"," \
    "\"expected\":{\"at\":\"2026-03-01T12:00:00.000Z\",\"basis\":\"b\"},"

static void explain__shows_no_past_time_for_a_waiting_job(void **state)
{
    (void)state;
    static const char *const states[] = {"queued", "held", "offered"};
    static const char *const why[] = {"had room; other jobs have taken it", "not tried: the job was held first",
                                      "could run it"};
    for (size_t i = 0; i < 3; i++) {
        char body[1024];
        (void)snprintf(
            body, sizeof body,
            "{\"id\":\"abcdefgh\",\"name\":\"a\",\"state\":\"%s\",\"reason\":\"WaitingForCapacity\","
            "\"expected\":{\"at\":\"2026-03-01T12:00:00.000Z\",\"basis\":\"b\"},\"candidates\":["
            "{\"site\":\"frankfurt\",\"start\":\"2026-03-01T11:59:38.000Z\",\"score_usd\":1},"
            "{\"site\":\"california\",\"reason\":\"NoCapacity\","
            "\"detail\":\"only 4 of 8 GPUs are free; enough from 2026-03-01T11:54Z\",\"details\":[{\"code\":\"GPUsFree\","
            "\"params\":{\"free_gpus\":4,\"needed_gpus\":8,\"until\":\"2026-03-01T11:54:00.000Z\"}}]}]}",
            states[i]);
        outcome_t outcome =
            play(RULES({"GET /v1/jobs/abcdefgh/explain ", 0, 200, NULL, body, WHOLE, 0}), WORDS("explain", "abcdefgh"));
        assert_int_equal(outcome.code, 0);
        assert_int_equal(strstr(outcome.out, "ago)") != NULL, i == 2);
        assert_non_null(strstr(outcome.out, why[i]));
        assert_non_null(strstr(outcome.out, "NoCapacity: only 4 of 8 GPUs are free"));
        end(&outcome);
    }
}

static void explain__prints_the_brokers_sentence_unless_it_knows_all_details(void **state)
{
    (void)state;
    static const char *const details[] = {
        "", /* a broker of release 0.1 */
        ",\"details\":null",
        (",\"details\":[{\"code\":\"GPUsFree\",\"params\":{\"free_gpus\":0,\"until\":\"2026-03-01T11:54:00.000Z\"}},"
         "{\"code\":\"OfANewerRelease\",\"params\":{}}]"),
    };
    for (size_t i = 0; i < sizeof details / sizeof details[0]; i++) {
        char body[1024];
        (void)snprintf(body, sizeof body,
                       CAPACITY_HEAD "\"candidates\":[{\"site\":\"a\",\"reason\":\"NoCapacity\",\"detail\":"
                                     "\"none free until 2026-03-01T11:54Z\"%s}]}",
                       details[i]);
        outcome_t outcome = explain_of(body);
        assert_non_null(strstr(outcome.out, "NoCapacity: none free until 2026-03-01T11:54Z (6m ago)"));
        end(&outcome);
    }
}

static void explain__repeats_no_details_of_its_headline_in_a_row(void **state)
{
    (void)state;
    static const char *const pools[] = {"2", "3"};
    for (size_t i = 0; i < 2; i++) {
        char body[1024];
        (void)snprintf(body, sizeof body,
                       CAPACITY_HEAD "\"detail\":\"2 pools\",\"details\":[{\"code\":\"PoolsFull\",\"params\":"
                                     "{\"pools\":2}}],\"candidates\":[{\"site\":\"a\",\"reason\":\"NoCapacity\","
                                     "\"detail\":\"pools\",\"details\":[{\"code\":\"PoolsFull\",\"params\":"
                                     "{\"pools\":%s}}]}]}",
                       pools[i]);
        outcome_t outcome = explain_of(body);
        assert_int_equal(strstr(outcome.out, "NoCapacity: pools") != NULL, i == 1);
        end(&outcome);
    }
}

static void explain__makes_a_command_of_each_hint_that_an_edit_carries_out(void **state)
{
    (void)state;
    static const struct {
        const char *kind, *details, *command;
    } cases[] = {
        {"flexible", "[]", "(`helio edit abcdefgh --flexible none`)"},
        {"deadline", "null", "(`helio edit abcdefgh --deadline none`)"},
        {"max_cost", "[{\"code\":\"C\",\"params\":{\"max_cost_usd\":12.5}}]", "--max-cost '12.50 USD'`)"},
        {"max_carbon", "[{\"code\":\"C\",\"params\":{\"max_carbon_g_per_kwh\":250}}]", "--max-carbon '250 g/kWh'`)"},
        {"queue", "[{\"code\":\"C\",\"params\":{\"queue\":\"express\"}}]", "--queue express`)"},
        {"priority", "[{\"code\":\"C\",\"params\":{\"tenant\":\"acme\",\"priority\":1}}]", "--priority 1`)"},
        {"priority", "[]", NULL}, /* the value is not told */
        {"max_cost", "null", NULL},
        {"gpu", "[{\"code\":\"C\",\"params\":{\"gpu\":\"A100:8\"}}]", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char body[1024];
        (void)snprintf(body, sizeof body,
                       CAPACITY_HEAD "\"candidates\":[],\"hints\":[{\"kind\":\"%s\",\"change\":\"change it\","
                                     "\"effect\":\"starts at once\",\"%s\":%s,"
                                     "\"effect_details\":[{\"code\":\"E\",\"params\":{\"queue\":\"other\"}}]}]}",
                       cases[i].kind, i % 2 ? "details" : "change_details" /* under either name */, cases[i].details);
        outcome_t outcome = explain_of(body);
        assert_non_null(strstr(outcome.out, "change it: starts at once"));
        if (cases[i].command)
            assert_non_null(strstr(outcome.out, cases[i].command));
        else
            assert_null(strstr(outcome.out, "helio edit"));
        end(&outcome);
    }
}

static void explain__says_why_a_lower_score_was_not_chosen(void **state)
{
    (void)state;
    static const struct {
        const char *other, *text;
    } cases[] = {
        {"\"details\":[{\"code\":\"PassedOver\",\"params\":{}}],\"detail\":\"passed over\"", "best of the others"},
        {"\"details\":[{\"code\":\"GPUNamedLater\",\"params\":{}}],\"detail\":\"named later\"",
         "its GPU model comes first in `gpu`"},
        {"\"details\":[{\"code\":\"LongerWait\",\"params\":{\"hours\":3}}],\"detail\":\"later\"",
         "best for how long it waits"},
        {"\"details\":[],\"detail\":null", "ranked first"}, /* nothing is known of GPU models */
        {"\"detail\":null", "ranked first"},
        {"\"detail\":\"passed over: it is late\"", "ranked first"}, /* a broker of release 0.1 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char body[1024];
        (void)snprintf(body, sizeof body,
                       "{\"id\":\"abcdefgh\",\"name\":\"a\",\"state\":\"running\",\"chosen\":\"a\",\"candidates\":["
                       "{\"site\":\"a\",\"score_usd\":2,\"cost_usd\":2,\"carbon_g\":1},"
                       "{\"site\":\"b\",\"score_usd\":1,\"cost_usd\":1,\"carbon_g\":1,%s}]}",
                       cases[i].other);
        outcome_t outcome = explain_of(body);
        assert_non_null(strstr(outcome.out, cases[i].text));
        end(&outcome);
    }
}

static void explain__cuts_no_sentence_short(void **state)
{
    (void)state;
    char body[2048], detail[1001];
    memset(detail, 'x', sizeof detail - 1);
    detail[sizeof detail - 1] = '\0';
    (void)snprintf(
        body, sizeof body,
        "{\"id\":\"abcdefgh\",\"name\":\"a\",\"state\":\"queued\",\"reason\":\"NeverFits\",\"detail\":\"%s.\"}",
        detail);
    outcome_t outcome = explain_of(body);
    assert_non_null(strstr(outcome.out, "xxx.\n"));
    end(&outcome);
}

static void explain__says_that_a_job_waits_in_its_cluster(void **state)
{
    (void)state;
    static const char *const causes[] = {"WaitsInCluster", "NodeFailed"};
    for (size_t i = 0; i < 2; i++) {
        char body[512];
        (void)snprintf(
            body, sizeof body,
            "{\"id\":\"abcdefgh\",\"name\":\"a\",\"state\":\"accepted\",\"site\":\"s\",\"detail\":\"as told\","
            "\"details\":[{\"code\":\"SiteSays\",\"params\":{\"site\":\"s\",\"cause\":\"%s\"}}]}",
            causes[i]);
        outcome_t outcome = explain_of(body);
        assert_int_equal(strstr(outcome.out, "Why it waits      as told") != NULL, i == 0);
        assert_int_equal(strstr(outcome.out, "Reason            as told") != NULL, i == 1);
        end(&outcome);
    }
}

static void explain__of_a_job_over_its_quota_says_who_can_raise_it(void **state)
{
    (void)state;
    static const char body[] =
        "{\"id\":\"abcdefgh\",\"name\":\"a\",\"state\":\"queued\",\"reason\":\"PolicyCap\","
        "\"detail\":\"as told\",\"details\":[{\"code\":\"QuotaInUse\",\"params\":{\"tenant\":\"nlp\","
        "\"used_gpus\":8,\"limit_gpus\":8,\"needed_gpus\":4}}],\"candidates\":[{\"site\":\"a\",\"score_usd\":1}]}";
    outcome_t outcome =
        play(RULES({"GET /v1/jobs/abcdefgh/explain ", 0, 200, NULL, body, WHOLE, 0}), WORDS("explain", "abcdefgh"));
    assert_non_null(strstr(outcome.out, "an operator can raise the quota: `helio quota set`"));
    assert_null(strstr(outcome.out, "max_cost"));
    assert_non_null(strstr(outcome.out, "  Quota\n")); /* of the site that could run it */
    end(&outcome);
}

static void show__says_what_a_job_asks_for(void **state)
{
    (void)state;
    static const struct {
        const char *asked, *lines;
    } cases[] = {
        {",\"goal\":\"green\",\"flexible_s\":43200,\"deadline\":\"2020-12-01T07:00:00.000Z\"",
         "Goal              green\nMay wait          12h00m\nDeadline          2020-12-01T07:00:00Z ("},
        {",\"max_cost_usd\":40,\"max_carbon_g_per_kwh\":250", "Max cost          $40.00\nMax g/kWh         250\n"},
        {",\"goal\":\"cheap\",\"flexible_s\":0,\"deadline\":null,\"max_cost_usd\":null,\"max_carbon_g_per_kwh\":null",
         "State             queued\nGoal              cheap\n"},
        {"", "State             queued\n"}, /* of an older broker */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char body[512];
        (void)snprintf(body, sizeof body, "{\"id\":\"abcdefgh\",\"state\":\"queued\"%s}", cases[i].asked);
        outcome_t outcome =
            play(RULES({"GET /v1/jobs/abcdefgh ", 0, 200, NULL, body, WHOLE, 0}), WORDS("show", "abcdefgh"));
        expect(&outcome, 0, NULL, NULL);
        if (!strstr(outcome.out, cases[i].lines))
            fail_msg("case %zu:\n%s", i, outcome.out);
        assert_int_equal(strstr(outcome.out, "May wait") != NULL, i == 0);
        end(&outcome);
    }
}

static void show__says_which_job_of_slurm_a_running_job_is(void **state)
{
    (void)state;
    static const char *const more[] = {"", ",{\"code\":\"SchedulerJob\",\"params\":{\"local_id\":\"4711\"}}"};
    for (size_t i = 0; i < 2; i++) {
        char body[400];
        (void)snprintf(body, sizeof body,
                       JOB(ID_A, "running",
                           ",\"reason\":\"its processes run; job 4711 of the scheduler there\",\"details\":"
                           "[{\"code\":\"ProcessesRun\",\"params\":{}}%s]"),
                       more[i]);
        outcome_t outcome = play(RULES({"GET ", 0, 200, NULL, body, WHOLE, 0}), WORDS("show", ID_A));
        assert_int_equal(outcome.code, 0);
        assert_int_equal(strstr(outcome.out, "job 4711 of the scheduler there\n") != NULL, i == 1);
        end(&outcome);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(explain__shows_no_past_time_for_a_waiting_job),
        cmocka_unit_test(explain__prints_the_brokers_sentence_unless_it_knows_all_details),
        cmocka_unit_test(explain__repeats_no_details_of_its_headline_in_a_row),
        cmocka_unit_test(explain__makes_a_command_of_each_hint_that_an_edit_carries_out),
        cmocka_unit_test(explain__says_why_a_lower_score_was_not_chosen),
        cmocka_unit_test(explain__cuts_no_sentence_short),
        cmocka_unit_test(explain__says_that_a_job_waits_in_its_cluster),
        cmocka_unit_test(explain__of_a_job_over_its_quota_says_who_can_raise_it),
        cmocka_unit_test(show__says_what_a_job_asks_for),
        cmocka_unit_test(show__says_which_job_of_slurm_a_running_job_is),
    };
    /* The double is on this machine, whatever proxy the environment names. */
    (void)setenv("no_proxy", "*", 1);
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
