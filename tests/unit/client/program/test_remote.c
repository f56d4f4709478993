/*  test_remote.c -- what the client asks a broker, and what it makes of the answers. */
#include "tests/unit/client/program/remote_testing.h"

/* ---- waiting ------------------------------------------------------------------------------------------- */

/*  A request that fails at once (here: a path that no URL can have) ends the wait like any other, and so does an answer
 *  that arrives before the wait begins. */
static void pump__does_not_wait_for_a_finished_transfer(void **state)
{
    (void)state;
    helio_client_io_t io = {.interrupt_fd = -1, .patience_ms = 2};
    helio_settings_t settings = {.broker = "http://127.0.0.1:1", .token = SECRET, .ca_file = "", .timeout_ms = 1000};
    helio_remote_t *remote;
    assert_int_equal(helio_remote_new(&io, &settings, &remote, NULL), HELIO_OK);
    helio_stream_t *stream = helio_stream_new(remote, &(helio_stream_options_t){.path = "/\001"});
    int64_t began_ms = helio_clock_boot_ms();
    helio_remote_pump(remote, 20000);
    assert_true(helio_clock_boot_ms() - began_ms < 10000);
    assert_true(helio_stream_is_over(stream));
    assert_false(helio_stream_is_whole(stream));
    helio_stream_destroy(&stream);
    helio_remote_destroy(&remote);
}

/* ---- answers ------------------------------------------------------------------------------------------- */

static void statuses__become_exit_codes_with_a_remedy(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *headers, *body;
        int code, requests;
        const char *err;
    } cases[] = {
        {401, NULL, "{\"detail\":\"unknown token\"}", 4, 1, "wrong, expired or revoked"},
        {403, NULL, "{\"detail\":\"needs operator\"}", 4, 1, "requires another role"},
        {404, NULL, "{\"detail\":\"no such job\",\"reason\":\"NotFound\"}", 3, 1, "no such job (NotFound)"},
        {409, NULL, "{\"detail\":\"two jobs end so\"}", 6, 1, "two jobs end so"},
        {409, NULL, "{\"detail\":\"x\",\"ambiguous\":[\"" ID_A "\",\"" ID_B "\"]}", 6, 1, "\n  " ID_A "\n  " ID_B "\n"},
        {422, NULL, "{\"detail\":\"no site has 99 GPUs\",\"reason\":\"NeverFits\"}", 5, 1, "(NeverFits)"},
        {400, NULL, "{\"detail\":\"x\",\"diagnostic\":\"job.yaml:1:1: error: x\\n  ^\\n\"}", 2, 1,
         "job.yaml:1:1: error"},
        {429, "Retry-After: 3600\r\n", "{\"detail\":\"busy\"}", 1, 1, "try again in 1h00m"},
        {429, "Retry-After: 0\r\n", "{\"detail\":\"busy\"}", 1, 3, "busy"},
        {503, NULL, "{\"detail\":\"no leader\"}", 7, 3, "no leader"},
        {503, NULL, "<html>", 7, 3, "the broker answers with status 503"},
        {504, NULL, "", 8, 3, "504"},
        {500, NULL, "", 1, 1, "500"},
        {302, "Location: http://127.0.0.1:1/\r\n", "", 1, 1, "302"},
        {200, NULL, "no json", 125, 1, "is not JSON"},
        {200, NULL, "[1]", 125, 1, "is not a job"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const rule_t rules[] = {{"GET /v1/jobs/abcdef", 0, cases[i].status, cases[i].headers, cases[i].body, WHOLE, 0},
                                {0}};
        outcome_t outcome = play(rules, WORDS("show", "abcdef"));
        expect(&outcome, cases[i].code, "", cases[i].err);
        assert_int_equal(broker_double_count(outcome.broker, "GET /v1/jobs/abcdef "), cases[i].requests);
        end(&outcome);
    }
}

static void remedies__follow_the_codes_of_a_problem(void **state)
{
    (void)state;
    static const char role[] = "requires another role", lists[] = "`helio ls` lists jobs",
                      starting[] = "the broker is starting, or cannot reach its database",
                      which[] = "the token is wrong, expired or revoked";
    static const struct {
        int status;
        const char *code, *help;
        bool given;
    } cases[] = {
        {401, "TokenInvalid", which, true},
        {401, "TokenExpired", which, false}, /* it says so itself */
        {401, "TokenExpired", "`helio doctor` shows where the token comes from", true},
        {403, "RoleNeeded", role, true},
        {403, "NeedsOperator", role, true},
        {403, "TenantNotVisible", role, false},
        {404, "NoSuchThing", lists, true},
        {404, "NoSuchJobId", lists, true},
        {404, "LogMissing", lists, false},
        {503, "BrokerUnavailable", starting, true},
        {503, "StreamsFull", starting, false},
        {503, "OfANewerBroker", starting, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char body[128];
        (void)snprintf(body, sizeof body, "{\"detail\":\"x\",\"details\":[{\"code\":\"%s\",\"params\":{}}]}",
                       cases[i].code);
        const rule_t rules[] = {{"GET /v1/jobs/abcdef", 0, cases[i].status, NULL, body, WHOLE, 0}, {0}};
        outcome_t outcome = play(rules, WORDS("show", "abcdef"));
        if ((strstr(outcome.err, cases[i].help) != NULL) != cases[i].given)
            fail_msg("%s: %s", cases[i].code, outcome.err);
        end(&outcome);
    }
}

/*  The refusal names several causes; the broker's readiness names the one. */
static void refusals__of_an_unavailable_broker_name_the_cause_that_it_knows(void **state)
{
    (void)state;
    static const char refusal[] =
        "{\"detail\":\"a or b\",\"details\":[{\"code\":\"BrokerUnavailable\",\"params\":{}}]}",
                      ready[] = "{\"detail\":\"not ready: the database cannot be reached\"}";
    outcome_t outcome =
        play(RULES({"GET /v1/sites", 0, 503, NULL, refusal, WHOLE, 0}, {"GET /readyz", 0, 503, NULL, ready, WHOLE, 0}),
             WORDS("sites"));
    assert_non_null(strstr(outcome.err, "cannot do this at the moment (not ready: the database cannot be reached)\n"));
    assert_null(strstr(outcome.err, "a or b"));
    end(&outcome);
}

static void requests__carry_the_token_and_safe_ones_are_repeated(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES({"GET /v1/sites", 1, 0, NULL, NULL, DROP, 0}, {"GET /v1/sites", 1, 503, NULL, "", WHOLE, 0},
                   {"GET /v1/sites", 0, 200, NULL, "[]", WHOLE, 0}),
             WORDS("sites", "-o", "json"));
    expect(&outcome, 0, "[]\n", NULL);
    assert_int_equal(broker_double_count(outcome.broker, "Authorization: Bearer " SECRET "\r\n"), 3);
    end(&outcome);
}

static void requests__that_change_something_are_sent_once(void **state)
{
    (void)state;
    outcome_t outcome = play(RULES({"POST /v1/sites/a%20b/drain", 0, 0, NULL, NULL, DROP, 0}),
                             WORDS("drain", "a b", "--reason", "\"x\""));
    expect(&outcome, 7, "", "cannot reach the broker at http://127.0.0.1");
    assert_int_equal(broker_double_count(outcome.broker, "POST "), 1);
    assert_int_equal(broker_double_count(outcome.broker, "{\"reason\":\"\\\"x\\\"\"}"), 1);
    end(&outcome);
}

static void broker__that_cannot_be_reached_is_named_with_a_remedy(void **state)
{
    (void)state;
    broker_double_t *broker = broker_double_new(RULES({"GET /", 0, 200, NULL, "", WHOLE, 0}));
    char url[64], *out, *err;
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%d", broker->port);
    broker_double_destroy(&broker); /* now nobody listens on that port */
    static const char *const commands[] = {"ls", "wait", "logs", "events"};
    for (size_t i = 0; i < 4; i++) {
        bool takes_id = commands[i][0] == 'w' || commands[i][1] == 'o';
        assert_int_equal(run_at(url, WORDS(commands[i], takes_id ? "abcdef" : NULL), "", NULL, &out, &err), 7);
        assert_string_equal(out, "");
        assert_non_null(strstr(err, i == 2 ? "lost the connection" : url));
        free(out);
        free(err);
    }
}

/*  A key is of use only where a job may be there already. */
static void submit__that_reached_nobody_says_that_nothing_was_sent(void **state)
{
    (void)state;
    char *out, *err;
    assert_int_equal(run_at("http://127.0.0.1:1", WORDS("submit", "-", "-q"), "run: echo\n", NULL, &out, &err), 7);
    assert_non_null(strstr(err, "help: nothing was sent; repeat the command"));
    assert_null(strstr(err, "--idempotency-key"));
    free(out);
    free(err);
    outcome_t outcome = play_with(RULES({"POST /v1/jobs", 0, 201, NULL, SUBMITTED_A, DROP, 0}),
                                  WORDS("submit", "-", "-q"), "run: echo\n");
    expect(&outcome, 7, "", "the broker may have accepted the jobs");
    end(&outcome);
}

static void replies__that_break_off_do_not_count(void **state)
{
    (void)state;
    outcome_t outcome = play(RULES({"GET /v1/sites", 0, 200, NULL, "[]", CUT, 0}), WORDS("sites"));
    expect(&outcome, 7, "", "cannot reach the broker");
    end(&outcome);
}

/*  What was free before the silence is not offered as if it were free. */
static void sites__that_are_silent_show_nothing_free(void **state)
{
    (void)state;
    static const char sites[] = "[{\"site\":\"lulea\",\"state\":\"silent\",\"gpus_free\":77,\"gpus_total\":88},"
                                "{\"site\":\"oslo\",\"state\":\"ready\",\"gpus_free\":66,\"gpus_total\":88}]";
    outcome_t outcome = play(RULES({"GET /v1/sites", 0, 200, NULL, sites, WHOLE, 0}), WORDS("sites"));
    assert_int_equal(outcome.code, 0);
    assert_null(strstr(outcome.out, "77"));
    assert_non_null(strstr(outcome.out, "66"));
    end(&outcome);
    outcome = play(RULES({"GET /v1/sites", 0, 200, NULL, sites, WHOLE, 0}), WORDS("sites", "-o", "json"));
    assert_non_null(strstr(outcome.out, "77"));
    end(&outcome);
}

static void sites__that_are_refused_are_named_below_the_table(void **state)
{
    (void)state;
    static const char sites[] =
        "[{\"site\":\"lulea\",\"state\":\"ready\",\"refused\":null,\"refused_at\":null},"
        "{\"site\":\"kiruna\",\"state\":\"new\",\"refused\":\"no version\\u001b[31m in common\","
        "\"refused_at\":\"2026-03-01T00:00:00.000Z\"}]";
    outcome_t outcome = play(RULES({"GET /v1/sites", 0, 200, NULL, sites, WHOLE, 0}), WORDS("sites"));
    assert_int_equal(outcome.code, 0);
    assert_non_null(strstr(outcome.out, "\nkiruna is refused since 2026-03-01T00:00:00Z: no version?[31m in common\n"));
    assert_null(strstr(outcome.out, "lulea is refused"));
    end(&outcome);
    outcome = play(RULES({"GET /v1/sites", 0, 200, NULL, sites, WHOLE, 0}), WORDS("sites", "-o", "name"));
    expect(&outcome, 0, "lulea\nkiruna\n", NULL);
    end(&outcome);
    outcome = play(RULES({"GET /v1/sites", 0, 200, NULL, sites, WHOLE, 0}), WORDS("sites", "-o", "csv"));
    assert_null(strstr(outcome.out, "is refused since"));
    end(&outcome);
}

/*  Why work leaves a site, and none starts there, is seen where people look at sites. */
static void sites_gpus_and_doctor__say_that_a_site_is_curtailed(void **state)
{
    (void)state;
#define CURTAILED "\"curtailed_to_percent\":60,\"curtailed_until\":\"2020-03-01T13:00:00.000Z\""
#define SAID "lulea is curtailed to 60 % of its GPU power until 2020-03-01T13:00:00Z ("
    static const char sites[] =
        "[{\"site\":\"lulea\",\"state\":\"ready\"," CURTAILED "},"
        "{\"site\":\"oslo\",\"state\":\"ready\",\"curtailed_to_percent\":null,\"curtailed_until\":null}]";
    static const char gpus[] = "[{\"gpu_model\":\"H100\",\"site\":\"lulea\",\"pool\":\"a\"," CURTAILED "},"
                               "{\"gpu_model\":\"H100\",\"site\":\"lulea\",\"pool\":\"b\"," CURTAILED "}]";
    outcome_t outcome = play(RULES({"GET /v1/sites", 0, 200, NULL, sites, WHOLE, 0}), WORDS("sites"));
    assert_non_null(strstr(outcome.out, "\n\n" SAID));
    assert_null(strstr(outcome.out, "oslo is"));
    end(&outcome);
    outcome = play(RULES({"GET /v1/sites", 0, 200, NULL, sites, WHOLE, 0}), WORDS("sites", "-o", "csv"));
    assert_null(strstr(outcome.out, SAID));
    end(&outcome);
    outcome = play(RULES({"GET /v1/gpus", 0, 200, NULL, gpus, WHOLE, 0}), WORDS("gpus"));
    const char *said = strstr(outcome.out, SAID);
    assert_non_null(said);
    assert_null(strstr(said + 1, SAID)); /* once, whatever pools it has */
    end(&outcome);
    outcome = play(
        RULES({"GET /healthz", 0, 200, NULL, "ok\n", WHOLE, 0}, {"GET /readyz", 0, 200, NULL, "ok\n", WHOLE, 0},
              {"GET /v1/whoami", 0, 200, NULL, "{\"tenant\":\"nlp\",\"user\":\"ana\",\"role\":\"user\"}", WHOLE, 0},
              {"GET /v1/sites", 0, 200, NULL, sites, WHOLE, 0}),
        WORDS("doctor"));
    expect(&outcome, 0, NULL, NULL);
    assert_non_null(strstr(outcome.out, "2 of 2 ready; " SAID));
    end(&outcome);
}

/* ---- events, explain, doctor, others ------------------------------------------------------------------- */

static void keys_add__notes_a_new_site_whose_name_is_almost_another(void **state)
{
    (void)state;
    static const char key[] = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7";
    static const struct {
        const char *sites, *note;
    } cases[] = {
        {"[{\"site\":\"lulea\",\"state\":\"ready\"},{\"site\":\"luela\",\"state\":\"new\"}]", "did you mean 'lulea'?"},
        {"[{\"site\":\"lulea\",\"state\":\"ready\"},{\"site\":\"luela\",\"state\":\"ready\"}]", NULL}, /* a key more */
        {"[{\"site\":\"oregon\",\"state\":\"ready\"},{\"site\":\"luela\",\"state\":\"new\"}]", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        outcome_t outcome = play(RULES({"POST /v1/sites", 0, 201, NULL, "{\"site\":\"luela\"}", WHOLE, 0},
                                       {"GET /v1/sites", 0, 200, NULL, cases[i].sites, WHOLE, 0}),
                                 WORDS("keys", "add", "luela", key));
        expect(&outcome, 0, NULL, cases[i].note);
        if (!cases[i].note)
            assert_null(strstr(outcome.err, "did you mean"));
        end(&outcome);
    }
}

static void doctor__finds_no_fault_in_a_complete_setup(void **state)
{
    (void)state;
    outcome_t outcome = play(
        RULES(
            {"GET /healthz", 0, 200, NULL, "ok\n", WHOLE, 0}, {"GET /readyz", 0, 200, NULL, "ok\n", WHOLE, 0},
            {"GET /v1/whoami", 0, 200, NULL,
             "{\"tenant\":\"nlp\",\"user\":\"ana\",\"role\":\"user\",\"version\":\"0.0.1\"}", WHOLE, 0},
            {"GET /v1/sites", 0, 200, NULL,
             "[{\"site\":\"a\",\"state\":\"ready\"},{\"site\":\"b\",\"state\":\"draining\"},{\"site\":\"c\",\"state\":\"new\"}]",
             WHOLE, 0}),
        WORDS("doctor"));
    expect(&outcome, 0, NULL, NULL);
    assert_null(strstr(outcome.out, "✗"));
    assert_non_null(strstr(outcome.out, "user ana of tenant nlp, role user"));
    assert_non_null(strstr(outcome.out, "1 of 3 ready; b is draining; c has not joined yet"));
    assert_non_null(strstr(outcome.out, "! version   helio has version " HELIO_PROGRAM_VERSION ", the broker 0.0.1"));
    end(&outcome);
}

static void doctor__names_a_silent_site_and_fails(void **state)
{
    (void)state;
    static const char *const formats[] = {"table", "json"};
    for (size_t i = 0; i < 2; i++) {
        outcome_t outcome = play(
            RULES({"GET /healthz", 0, 200, NULL, "ok\n", WHOLE, 0}, {"GET /readyz", 0, 200, NULL, "ok\n", WHOLE, 0},
                  {"GET /v1/whoami", 0, 200, NULL, "{\"tenant\":\"nlp\",\"user\":\"ana\",\"role\":\"user\"}", WHOLE, 0},
                  {"GET /v1/sites", 0, 200, NULL,
                   "[{\"site\":\"a\",\"state\":\"ready\"},"
                   "{\"site\":\"lulea\",\"state\":\"silent\",\"last_seen\":\"2020-11-22T20:49:12.870Z\"}]",
                   WHOLE, 0}),
            WORDS("doctor", "-o", formats[i]));
        expect(&outcome, 1, NULL, NULL);
        assert_non_null(strstr(outcome.out, "1 of 2 ready; lulea is silent since 2020-11-22T20:49:12Z"));
        assert_non_null(strstr(outcome.out, i ? "\"result\": \"bad\"" : "✗ sites"));
        assert_non_null(strstr(outcome.out, "look there whether its agent still runs, and start it if not"));
        assert_non_null(strstr(outcome.out, "agents reconnect by themselves within some seconds of a new leader"));
        assert_true((outcome.out[0] == '[') == (i == 1));
        end(&outcome);
    }
}

static void doctor_and_sites__name_a_site_that_jobs_wait_for_after_a_restore(void **state)
{
    (void)state;
    static const char sites[] = "[{\"site\":\"a\",\"state\":\"ready\",\"unreconciled_at\":null},"
                                "{\"site\":\"lulea\",\"state\":\"new\",\"unreconciled_at\":\"2020-11-22T20:49:12Z\"}]";
    outcome_t outcome = play(
        RULES({"GET /healthz", 0, 200, NULL, "ok\n", WHOLE, 0}, {"GET /readyz", 0, 200, NULL, "ok\n", WHOLE, 0},
              {"GET /v1/whoami", 0, 200, NULL, "{\"tenant\":\"nlp\",\"user\":\"ana\",\"role\":\"user\"}", WHOLE, 0},
              {"GET /v1/sites", 0, 200, NULL, sites, WHOLE, 0}),
        WORDS("doctor"));
    expect(&outcome, 0, NULL, NULL);
    assert_non_null(strstr(outcome.out, "1 of 2 ready; the broker waits for lulea since the database was restored"));
    assert_null(strstr(outcome.out, "; a is awaited"));
    end(&outcome);
    outcome = play(RULES({"GET /v1/sites", 0, 200, NULL, sites, WHOLE, 0}), WORDS("sites"));
    expect(&outcome, 0, NULL, NULL);
    assert_non_null(strstr(outcome.out, "lulea: the database was restored at "));
    assert_non_null(strstr(outcome.out, "`helio attest lulea --dead --reason WHY`"));
    assert_null(strstr(outcome.out, "helio attest a "));
    end(&outcome);
}

static void sites__names_a_pool_that_offers_nothing_and_why(void **state)
{
    (void)state;
    static const char sites[] =
        "[{\"site\":\"a\",\"state\":\"ready\",\"pools\":[{\"pool\":\"h100\",\"withheld\":null},"
        "{\"pool\":\"l40s\",\"withheld\":\"all of it is used by others\\u001b[2J\"}]},"
        "{\"site\":\"b\",\"state\":\"silent\",\"pools\":[{\"pool\":\"a100\",\"withheld\":\"long ago\"}]},"
        "{\"site\":\"c\",\"state\":\"ready\",\"pools\":[{\"pool\":\"v100\"}]}]"; /* of an older broker */
    outcome_t outcome = play(RULES({"GET /v1/sites", 0, 200, NULL, sites, WHOLE, 0}), WORDS("sites"));
    expect(&outcome, 0, NULL, NULL);
    assert_non_null(strstr(outcome.out, "\na: pool l40s offers nothing: all of it is used by others"));
    assert_null(strchr(outcome.out, '\x1b'));
    const char *first = strstr(outcome.out, "offers nothing");
    assert_true(first && !strstr(first + 1, "offers nothing")); /* what is silent says so itself */
    end(&outcome);
    outcome = play(RULES({"GET /v1/sites", 0, 200, NULL, sites, WHOLE, 0}), WORDS("sites", "-o", "csv"));
    expect(&outcome, 0, NULL, NULL);
    assert_null(strstr(outcome.out, "offers nothing"));
    end(&outcome);
}

static void doctor__names_what_is_wrong_with_a_remedy(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES({"GET /healthz", 0, 200, "Date: Sun, 22 Nov 2020 07:00:00 GMT\r\n", "ok", WHOLE, 0},
                   {"GET /readyz", 0, 503, NULL, "", WHOLE, 0}, {"GET /v1/", 0, 401, NULL, "{}", WHOLE, 0}),
             WORDS("doctor"));
    expect(&outcome, 1, NULL, NULL); /* the clock, the first of them */
    assert_non_null(strstr(outcome.out, "✗ clock"));
    assert_non_null(strstr(outcome.out, "✗ ready"));
    assert_non_null(strstr(outcome.out, "✗ identity"));
    assert_non_null(strstr(outcome.out, "help: the token is wrong"));
    end(&outcome);
    outcome = play(
        RULES({"GET /healthz", 0, 200, NULL, "ok", WHOLE, 0},
              {"GET /readyz", 0, 503, NULL, "{\"detail\":\"not ready: the database cannot be reached\"}", WHOLE, 0}),
        WORDS("doctor"));
    assert_non_null(strstr(outcome.out, "not ready: the database cannot be reached"));
    assert_non_null(strstr(outcome.out, "`database:` of the broker's settings"));
    end(&outcome);
}

static void edit__sends_the_given_values_under_the_keys_of_a_job_file(void **state)
{
    (void)state;
    outcome_t outcome = play(
        RULES({"PATCH /v1/jobs/first1 ", 0, 200, NULL,
               "{\"id\":\"" ID_A "\",\"status\":\"edited: goal cheap → green\"}", WHOLE, 0},
              {"PATCH /v1/jobs/second ", 0, 409, "Content-Type: application/problem+json\r\n",
               "{\"title\":\"Conflict\",\"reason\":\"Conflict\",\"detail\":\"job second has a place\"}", WHOLE, 0}),
        WORDS("edit", "first1", "second", "--priority", "-5", "--goal", "green", "--deadline", "none", "--flexible",
              "12h", "--max-cost", "400 USD", "--max-carbon", "none", "--queue", "batch", "--time", "-30m"));
    expect(&outcome, 6, "", ID_A " edited: goal cheap → green");
    assert_non_null(strstr(outcome.err, "has a place"));
    assert_int_equal(
        broker_double_count(outcome.broker,
                            "{\"priority\":-5,\"goal\":\"green\",\"deadline\":null,\"flexible\":\"12h\",\"max_cost\":"
                            "\"400 USD\",\"max_carbon\":null,\"queue\":\"batch\",\"time\":\"-30m\"}"),
        2);
    end(&outcome);
    outcome = play(RULES({"PATCH ", 0, 200, NULL, "{}", WHOLE, 0}), WORDS("edit", "first1"));
    expect(&outcome, 2, "", "nothing to edit");
    end(&outcome);
    outcome = play(RULES({"PATCH ", 0, 200, NULL, "{}", WHOLE, 0}), WORDS("edit", "first1", "--priority", "high"));
    expect(&outcome, 2, "",
           "--priority: must be a whole number from -100 to 100, not 'high'\nhelp: for example --priority 10\n");
    end(&outcome);
    outcome = play(RULES({"PATCH ", 0, 200, NULL, "{}", WHOLE, 0}), WORDS("edit", "first1", "--goal", "gren"));
    expect(&outcome, 2, "", "fast cheap balanced green");
    end(&outcome);
}

static void cancel__continues_after_an_unknown_job(void **state)
{
    (void)state;
    outcome_t outcome = play(RULES({"DELETE /v1/jobs/first1 ", 0, 404, NULL, "{\"detail\":\"no such job\"}", WHOLE, 0},
                                   {"DELETE /v1/jobs/second ", 0, 202, NULL, "{\"id\":\"" ID_B "\"}", WHOLE, 0}),
                             WORDS("cancel", "first1", "second"));
    expect(&outcome, 3, "", "cancelling " ID_B);
    end(&outcome);
}

static void cancel__now_asks_for_no_grace(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES({"DELETE /v1/jobs/" ID_A "?now=true ", 0, 202, NULL, "{\"id\":\"" ID_A "\"}", WHOLE, 0}),
             WORDS("cancel", "--now", ID_A));
    expect(&outcome, 0, "", "cancelling " ID_A);
    end(&outcome);
}

#define REFUSED(code)                                                                                     \
    {                                                                                                     \
        "DELETE ", 0, 409, NULL,                                                                          \
            "{\"detail\":\"too late\",\"details\":[{\"code\":\"" code "\",\"params\":{\"job_id\":\"" ID_A \
            "\",\"done\":\"cancelled\"}}]}",                                                              \
            WHOLE, 0                                                                                      \
    }

/*  The first request did it, and its answer was lost; a job that had been cancelled before is an error. */
static void cancel__that_had_to_be_repeated_finds_its_own_work(void **state)
{
    (void)state;
    const struct {
        rule_t first, second;
        int code;
        const char *err;
    } cases[] = {
        {{"DELETE ", 1, 0, NULL, NULL, DROP, 0}, REFUSED("JobWasCancelled"), 0, "cancelling " ID_A "\n"},
        {{"DELETE ", 1, 202, NULL, "{", CUT, 0}, REFUSED("JobWasCancelled"), 0, "cancelling " ID_A "\n"},
        {{"DELETE ", 1, 504, NULL, "{}", WHOLE, 0}, REFUSED("JobWasCancelled"), 0, "cancelling " ID_A "\n"},
        {{"GET ", 1, 0, NULL, NULL, DROP, 0}, REFUSED("JobWasCancelled"), HELIO_EXIT_CONFLICT, "too late"},
        {{"DELETE ", 1, 0, NULL, NULL, DROP, 0}, REFUSED("JobHasEnded"), HELIO_EXIT_CONFLICT, "too late"},
        {{"DELETE ", 1, 0, NULL, NULL, DROP, 0},
         {"DELETE ", 0, 409, NULL, "{\"detail\":\"too late\"}", WHOLE, 0},
         HELIO_EXIT_CONFLICT,
         "too late"},
    };
    static const char *const commands[] = {"cancel", "scancel"};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (size_t k = 0; k < 2; k++) {
            outcome_t outcome = play(RULES(cases[i].first, cases[i].second), WORDS(commands[k], ID_A));
            expect(&outcome, cases[i].code, "", k && !cases[i].code ? "" : cases[i].err);
            end(&outcome);
        }
}

/*  Each of several jobs is a request of its own: that one was repeated says nothing of the next. */
static void cancel__after_a_repeated_one_is_still_refused(void **state)
{
    (void)state;
    outcome_t outcome = play(RULES({"DELETE ", 1, 0, NULL, NULL, DROP, 0}, REFUSED("JobWasCancelled")),
                             WORDS("cancel", "first1", ID_A));
    expect(&outcome, HELIO_EXIT_CONFLICT, "", "cancelling " ID_A "\nhelio: too late");
    end(&outcome);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pump__does_not_wait_for_a_finished_transfer),
        cmocka_unit_test(statuses__become_exit_codes_with_a_remedy),
        cmocka_unit_test(remedies__follow_the_codes_of_a_problem),
        cmocka_unit_test(refusals__of_an_unavailable_broker_name_the_cause_that_it_knows),
        cmocka_unit_test(requests__carry_the_token_and_safe_ones_are_repeated),
        cmocka_unit_test(requests__that_change_something_are_sent_once),
        cmocka_unit_test(broker__that_cannot_be_reached_is_named_with_a_remedy),
        cmocka_unit_test(replies__that_break_off_do_not_count),
        cmocka_unit_test(submit__that_reached_nobody_says_that_nothing_was_sent),
        cmocka_unit_test(sites__that_are_silent_show_nothing_free),
        cmocka_unit_test(sites__that_are_refused_are_named_below_the_table),
        cmocka_unit_test(sites_gpus_and_doctor__say_that_a_site_is_curtailed),
        cmocka_unit_test(keys_add__notes_a_new_site_whose_name_is_almost_another),
        cmocka_unit_test(doctor__finds_no_fault_in_a_complete_setup),
        cmocka_unit_test(doctor__names_a_silent_site_and_fails),
        cmocka_unit_test(doctor_and_sites__name_a_site_that_jobs_wait_for_after_a_restore),
        cmocka_unit_test(sites__names_a_pool_that_offers_nothing_and_why),
        cmocka_unit_test(doctor__names_what_is_wrong_with_a_remedy),
        cmocka_unit_test(edit__sends_the_given_values_under_the_keys_of_a_job_file),
        cmocka_unit_test(cancel__continues_after_an_unknown_job),
        cmocka_unit_test(cancel__now_asks_for_no_grace),
        cmocka_unit_test(cancel__that_had_to_be_repeated_finds_its_own_work),
        cmocka_unit_test(cancel__after_a_repeated_one_is_still_refused),
    };
    /* The double is on this machine, whatever proxy the environment names. */
    (void)setenv("no_proxy", "*", 1);
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
