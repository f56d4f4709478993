/*  test_doctor.c -- `helio doctor` on sites that get no jobs although they look well, and on a missing token. */
#include "tests/unit/client/program/remote_testing.h"

#define FIT                                           \
    {"GET /healthz", 0, 200, NULL, "ok\n", WHOLE, 0}, \
    {                                                 \
        "GET /readyz", 0, 200, NULL, "ok\n", WHOLE, 0 \
    }
#define WHO(role)                                                                                               \
    {                                                                                                           \
        "GET /v1/whoami", 0, 200, NULL, "{\"tenant\":\"nlp\",\"user\":\"ana\",\"role\":\"" role "\"}", WHOLE, 0 \
    }
#define SITES(json)                                   \
    {                                                 \
        "GET /v1/sites", 0, 200, NULL, json, WHOLE, 0 \
    }

#define POOL(name, why, code) \
    "{\"pool\":\"" name "\",\"withheld\":\"" why "\",\"withheld_details\":[{\"code\":\"" code "\",\"params\":{}}]}"

static const struct {
    const char *code, *remedy;
} withheld[] = {
    {"WithheldSurvey", "`survey_incomplete` in the agent's log"},
    {"WithheldUnknownRun", "`HELIO_JOB_ID` in its environment"},
    {"WithheldScheduler", "`sinfo` and `squeue`"},
    {"WithheldNodes", "`sinfo -R`"},
    {"WithheldReserved", "`windows` in the site file"},
    {"WithheldOthers", "`gpus_in_use` in the agent's log"},
    {"WithheldStateGone", "start the agent again"},
    {"WithheldPartition", "`scontrol show partition`"},
    {"WithheldLimits", "`scontrol show assoc_mgr`"},
    {"WithheldByANewerAgent", "the log of the site's agent says more"},
};

static void doctor__says_why_a_ready_site_offers_nothing_and_what_to_do(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof withheld / sizeof withheld[0]; i++) {
        char sites[512];
        (void)snprintf(sites, sizeof sites,
                       "[{\"site\":\"a\",\"state\":\"ready\",\"pools\":[{\"pool\":\"h100\",\"withheld\":null},"
                       "{\"pool\":\"l40s\",\"withheld\":\"for a reason\\u001b[2J\",\"withheld_details\":"
                       "[{\"code\":\"%s\",\"params\":{}}]}]}]",
                       withheld[i].code);
        outcome_t outcome = play(RULES(FIT, WHO("user"), SITES(sites)), WORDS("doctor"));
        expect(&outcome, 0, NULL, NULL); /* jobs may find room elsewhere */
        assert_non_null(strstr(outcome.out, "! pool      pool l40s of a offers nothing: for a reason?[2J\n"));
        if (!strstr(outcome.out, withheld[i].remedy))
            fail_msg("%s has no remedy:\n%s", withheld[i].code, outcome.out);
        assert_null(strstr(outcome.out, "h100"));
        end(&outcome);
    }
}

/*  What a site offered before it went silent is no news. */
static void doctor__of_a_silent_site_does_not_say_what_it_withheld(void **state)
{
    (void)state;
    static const char sites[] =
        "[{\"site\":\"a\",\"state\":\"silent\",\"pools\":[" POOL("l40s", "long ago", "WithheldSurvey") "]}]";
    outcome_t outcome = play(RULES(FIT, WHO("user"), SITES(sites)), WORDS("doctor"));
    expect(&outcome, 1, NULL, NULL);
    assert_null(strstr(outcome.out, "long ago"));
    end(&outcome);
}

/*  But for the last word of its agent, which says why it is silent. */
static void doctor_and_sites__say_of_a_silent_site_that_its_agent_ended_without_its_state(void **state)
{
    (void)state;
    static const char sites[] = "[{\"site\":\"a\",\"state\":\"silent\",\"pools\":[" POOL(
        "l40s", "its folder is gone", "WithheldStateGone") "]},"
                                                           "{\"site\":\"b\",\"state\":\"draining\",\"pools\":[" POOL(
                                                               "h100", "so is this", "WithheldStateGone") "]}]";
    outcome_t outcome = play(RULES(FIT, WHO("user"), SITES(sites)), WORDS("doctor"));
    expect(&outcome, 1, NULL, NULL);
    assert_non_null(strstr(outcome.out, "! pool      pool l40s of a offers nothing: its folder is gone\n"));
    assert_non_null(strstr(outcome.out, "start the agent again, with `state_dir`"));
    assert_null(strstr(outcome.out, "so is this"));
    end(&outcome);
    outcome = play(RULES(SITES(sites)), WORDS("sites"));
    expect(&outcome, 0, NULL, NULL);
    assert_non_null(strstr(outcome.out, "\na: pool l40s offers nothing: its folder is gone\n"));
    assert_null(strstr(outcome.out, "so is this"));
    end(&outcome);
}

static const char two_sites[] = "[{\"site\":\"a\",\"state\":\"ready\"},"
                                "{\"site\":\"lulea\",\"state\":\"silent\",\"last_seen\":\"2020-11-22T20:49:12Z\"}]";

/*  Its agent logs only that the broker does not answer, and its operator may not see the broker's keys. */
static void doctor__names_a_site_without_a_key_in_force(void **state)
{
    (void)state;
    static const rule_t keys = {"GET /v1/keys",
                                0,
                                200,
                                NULL,
                                "[{\"site\":\"a\",\"public_key\":\"k1\",\"revoked_at\":null},"
                                "{\"site\":\"lulea\",\"public_key\":\"k2\",\"revoked_at\":\"2020-11-22T20:00:00Z\"}]",
                                WHOLE,
                                0};
    outcome_t outcome = play(RULES(FIT, WHO("admin"), SITES(two_sites), keys), WORDS("doctor"));
    expect(&outcome, 0, NULL, NULL); /* an administrator wanted it so */
    assert_non_null(strstr(outcome.out, "! key       lulea has no key in force, so its agent cannot connect\n"));
    assert_non_null(strstr(outcome.out, "`helio keys add lulea KEY`"));
    assert_null(strstr(outcome.out, " a has no key"));
    assert_null(strstr(outcome.out, "is silent"));
    end(&outcome);
}

static void doctor__says_how_to_start_a_broker_that_does_not_answer(void **state)
{
    (void)state;
    outcome_t outcome = play(RULES({"GET /healthz", 0, 0, NULL, NULL, DROP, 0}), WORDS("doctor"));
    expect(&outcome, 7, NULL, NULL);
    assert_non_null(strstr(outcome.out, "start it if not (`systemctl start helio-broker`; in a quickstart "
                                        "`deploy/quickstart.sh`)"));
    assert_non_null(strstr(outcome.out, "`helio-broker check`"));
    end(&outcome);
}

/*  Keys that cannot be read say nothing of sites: others may not list them, and a broker may fail to. */
static void doctor__without_sight_of_the_keys_takes_a_silent_site_for_silent(void **state)
{
    (void)state;
    outcome_t outcome = play(RULES(FIT, WHO("operator"), SITES(two_sites)), WORDS("doctor"));
    expect(&outcome, 1, NULL, NULL);
    assert_non_null(strstr(outcome.out, "lulea is silent since"));
    assert_non_null(strstr(outcome.out, "look there whether its agent still runs, and start it if not"));
    assert_non_null(strstr(outcome.out, "`helio-agent check` there"));
    assert_int_equal(broker_double_count(outcome.broker, "GET /v1/keys"), 0);
    end(&outcome);
    outcome = play(RULES(FIT, WHO("admin"), SITES(two_sites), {"GET /v1/keys", 0, 403, NULL, "{}", WHOLE, 0}),
                   WORDS("doctor"));
    expect(&outcome, 1, NULL, NULL);
    assert_null(strstr(outcome.out, "no key in force"));
    assert_non_null(strstr(outcome.out, "lulea is silent since"));
    end(&outcome);
}

static void doctor__names_the_site_whose_agent_lost_its_memory(void **state)
{
    (void)state;
    static const char sites[] = "[{\"site\":\"a\",\"state\":\"ready\",\"memory_lost_at\":\"2020-11-22T20:49:12Z\"}]";
    outcome_t outcome = play(RULES(FIT, WHO("user"), SITES(sites)), WORDS("doctor"));
    expect(&outcome, 0, NULL, NULL);
    assert_non_null(strstr(outcome.out, "✗ sites     1 of 1 ready, 1 without memory; a lost the memory of its agent at "
                                        "2020-11-22T20:49:12Z"));
    end(&outcome);
}

#define JOBS(json)                                                          \
    {                                                                       \
        "GET /v1/jobs?state=held&limit=1000 ", 0, 200, NULL, json, WHOLE, 0 \
    }
#define HELD_JOB(site, cause)                                                                                        \
    "{\"state\":\"held\",\"reason\":\"as it came\",\"details\":[{\"code\":\"SiteSays\",\"params\":{\"site\":\"" site \
    "\",\"cause\":\"" cause "\"}},{\"code\":\"HeldAfterFailures\",\"params\":{}}]}"

/*  All sites are well, and jobs wait for an operator: the cause of most comes first, whichever sites they were at. */
static void doctor__says_how_many_jobs_are_held_and_why(void **state)
{
    (void)state;
    static const char good_site[] = "[{\"site\":\"a\",\"state\":\"ready\"}]";
    static const struct {
        const char *jobs, *line;
    } cases[] = {
        {"{\"jobs\":[],\"next\":null}", "✔ jobs      no job is held\n"},
        {"{\"jobs\":[" HELD_JOB("a", "NodeFailure") "," HELD_JOB("a", "NoUserMapping") "," HELD_JOB(
             "b", "NoUserMapping") "]}",
         "! jobs      3 are held, of them 2: NoUserMapping; 1: NodeFailure\n"},
        {"{\"jobs\":[" HELD_JOB("a", "A") "," HELD_JOB("a", "B") "," HELD_JOB("a", "C") "," HELD_JOB(
             "a", "D") "," HELD_JOB("a", "E") "],\"next\":\"more\"}",
         "; and 2 other reasons\n"},
        {"{\"jobs\":[{\"state\":\"held\",\"reason\":\"of an\\u001b[2J older broker\"}],\"next\":\"more\"}",
         "! jobs      1 or more are held: of an?[2J older broker\n"},
        {"{\"jobs\":[{}]}", "! jobs      1 is held: no reason is known\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        outcome_t outcome = play(RULES(FIT, WHO("user"), SITES(good_site), JOBS(cases[i].jobs)), WORDS("doctor"));
        expect(&outcome, 0, NULL, NULL); /* the federation itself is well */
        if (!strstr(outcome.out, cases[i].line))
            fail_msg("case %zu:\n%s", i, outcome.out);
        assert_int_equal(strstr(outcome.out, "`helio ls --state held` lists them") != NULL, i > 0);
        end(&outcome);
    }
}

static int with_token_file(const char *const *words, const char *path, const rule_t *rules, char **ret_out,
                           char **ret_err)
{
    broker_double_t *broker = broker_double_new(rules);
    char url[64], file[160];
    (void)snprintf(url, sizeof url, "HELIO_BROKER=http://127.0.0.1:%d", broker->port);
    (void)snprintf(file, sizeof file, "HELIO_TOKEN_FILE=%s", path);
    char *environment[] = {url, file, NULL};
    int code = run_client(words, "", environment, NO_PRESSES, ret_out, ret_err);
    broker_double_stop(broker);
    assert_int_equal(broker_double_count(broker, "GET /v1/"), 0); /* nothing that needs a token is asked without one */
    broker_double_destroy(&broker);
    return code;
}

static void doctor__says_in_one_line_that_the_token_file_is_missing(void **state)
{
    (void)state;
    char *out, *err;
    int code = with_token_file(WORDS("doctor"), "/nonexistent/token", RULES(FIT), &out, &err);
    assert_int_equal(code, HELIO_EXIT_FORBIDDEN);
    assert_string_equal(err, "");
    assert_non_null(strstr(out,
                           "✗ token     the file /nonexistent/token, which HELIO_TOKEN_FILE names, does not exist\n"
                           "            help: correct the path"));
    assert_non_null(strstr(out, "✔ broker")); /* the rest is checked all the same */
    assert_null(strstr(out, "✗ identity"));   /* which would say the same again */
    free(out);
    free(err);
    code = with_token_file(WORDS("ls"), "/nonexistent/token", RULES(FIT), &out, &err);
    assert_int_equal(code, HELIO_EXIT_USAGE);
    assert_string_equal(out, "");
    assert_non_null(
        strstr(err, "/nonexistent/token: the token file, which HELIO_TOKEN_FILE names, does not exist\nhelp: "));
    free(out);
    free(err);
}

int main(void)
{
    (void)setlocale(LC_CTYPE, "C.UTF-8");
    (void)signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doctor__says_why_a_ready_site_offers_nothing_and_what_to_do),
        cmocka_unit_test(doctor__of_a_silent_site_does_not_say_what_it_withheld),
        cmocka_unit_test(doctor_and_sites__say_of_a_silent_site_that_its_agent_ended_without_its_state),
        cmocka_unit_test(doctor__names_a_site_without_a_key_in_force),
        cmocka_unit_test(doctor__says_how_to_start_a_broker_that_does_not_answer),
        cmocka_unit_test(doctor__without_sight_of_the_keys_takes_a_silent_site_for_silent),
        cmocka_unit_test(doctor__names_the_site_whose_agent_lost_its_memory),
        cmocka_unit_test(doctor__says_how_many_jobs_are_held_and_why),
        cmocka_unit_test(doctor__says_in_one_line_that_the_token_file_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
