/*  Whole commands against a scripted broker that refuses, stumbles, lies and dies. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <locale.h>

#include "client/lib/client.h"
#include "client/lib/remote.h"
#include "client/lib/settings.h"
#include "federation/base/clock.h"
#include "tests/unit/client/lib/broker_double.h"

#define ID_A "01k9x2m4q8r7aaaabbbbccccdd"
#define ID_B "01k9x2m4q8r7aaaabbbbccccee"
#define JOB(id, state, more) \
    "{\"id\":\"" id "\",\"name\":\"train\",\"state\":\"" state "\",\"site\":\"lulea\",\"epoch\":1" more "}"
#define SUBMITTED_A "{\"jobs\":[{\"id\":\"" ID_A "\",\"existed\":false}]}"
#define SECRET "hel_abcdef_verysecretvalue"
#define RULES(...) ((const rule_t[]){__VA_ARGS__, {0}})
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

typedef struct outcome {
    int code;
    char *out;
    char *err;
    broker_double_t *broker; /* stopped */
} outcome_t;

static int run_at(const char *url, const char *const *words, const char *input, broker_double_t *broker,
                  char **ret_out, char **ret_err)
{
    char *argv[24] = {(char *)(uintptr_t) "helio"};
    char broker_variable[80], token_variable[] = "HELIO_TOKEN=" SECRET;
    (void)snprintf(broker_variable, sizeof broker_variable, "HELIO_BROKER=%s", url);
    char *environment[] = {broker_variable, token_variable, (char *)(uintptr_t) "TZ=UTC", NULL};
    int argc = 1;
    for (; words[argc - 1]; argc++)
        argv[argc] = (char *)(uintptr_t)words[argc - 1];
    size_t out_size, err_size;
    FILE *in = input[0] ? fmemopen((char *)(uintptr_t)input, strlen(input), "r") : fopen("/dev/null", "r");
    FILE *out = open_memstream(ret_out, &out_size), *err = open_memstream(ret_err, &err_size);
    helio_client_io_t io = {.in = in,
                            .out = out,
                            .err = err,
                            .environment = environment,
                            .interrupts = broker ? &broker->presses : NULL,
                            .interrupt_fd = broker ? broker->press_pipe[0] : -1,
                            .patience_ms = 2};
    int code = helio_client_main(argc, argv, &io);
    fclose(in);
    fclose(out);
    fclose(err);
    return code;
}

static outcome_t play_with(const rule_t *rules, const char *const *words, const char *input)
{
    outcome_t outcome = {.broker = broker_double_new(rules)};
    char url[64];
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%d", outcome.broker->port);
    outcome.code = run_at(url, words, input, outcome.broker, &outcome.out, &outcome.err);
    broker_double_stop(outcome.broker);
    if (strstr(outcome.out, SECRET) || strstr(outcome.err, SECRET))
        fail_msg("the token was printed");
    return outcome;
}

static outcome_t play(const rule_t *rules, const char *const *words)
{
    return play_with(rules, words, "");
}

static void end(outcome_t *outcome)
{
    free(outcome->out);
    free(outcome->err);
    broker_double_destroy(&outcome->broker);
}

static void expect(const outcome_t *outcome, int code, const char *out, const char *err_part)
{
    bool good = outcome->code == code && (!out || strcmp(outcome->out, out) == 0) &&
                (!err_part || strstr(outcome->err, err_part) != NULL);
    if (!good)
        fail_msg("exit %d instead of %d\n--out--\n%s\n--err--\n%s\n--requests--\n%s", outcome->code, code,
                 outcome->out, outcome->err, outcome->broker->requests.data);
}

/*  ---- waiting ---- */

/*  What is over as soon as it begins (here: a path that no URL may have) ends the waiting like everything
 * else; an answer that is there before anybody waits for it takes the same way. */
static void pump__does_not_wait_for_what_is_over_already(void **state)
{
    (void)state;
    helio_client_io_t io = {.interrupt_fd = -1, .patience_ms = 2};
    helio_settings_t settings = {
        .broker = "http://127.0.0.1:1", .token = SECRET, .ca_file = "", .timeout_ms = 1000};
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

/*  ---- answers ---- */

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
        {403, NULL, "{\"detail\":\"needs operator\"}", 4, 1, "needs another role"},
        {404, NULL, "{\"detail\":\"no such job\",\"reason\":\"NotFound\"}", 3, 1, "no such job (NotFound)"},
        {409, NULL, "{\"detail\":\"two jobs end so\"}", 6, 1, "two jobs end so"},
        {409, NULL, "{\"detail\":\"x\",\"ambiguous\":[\"" ID_A "\",\"" ID_B "\"]}", 6, 1,
         "\n  " ID_A "\n  " ID_B "\n"},
        {422, NULL, "{\"detail\":\"no site has 99 GPUs\",\"reason\":\"NeverFits\"}", 5, 1, "(NeverFits)"},
        {400, NULL, "{\"detail\":\"x\",\"diagnostic\":\"job.yaml:1:1: error: x\\n  ^\\n\"}", 2, 1,
         "job.yaml:1:1: error"},
        {429, "Retry-After: 3600\r\n", "{\"detail\":\"busy\"}", 1, 1, "try again in 1h00m"},
        {429, "Retry-After: 0\r\n", "{\"detail\":\"busy\"}", 1, 3, "busy"},
        {503, NULL, "{\"detail\":\"no leader\"}", 7, 3, "no leader"},
        {503, NULL, "<html>", 7, 3, "the broker answers 503"},
        {504, NULL, "", 8, 3, "504"},
        {500, NULL, "", 1, 1, "500"},
        {302, "Location: http://127.0.0.1:1/\r\n", "", 1, 1, "302"},
        {200, NULL, "no json", 125, 1, "no JSON"},
        {200, NULL, "[1]", 125, 1, "no job"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const rule_t rules[] = {
            {"GET /v1/jobs/abcdef", 0, cases[i].status, cases[i].headers, cases[i].body, WHOLE, 0}, {0}};
        outcome_t outcome = play(rules, WORDS("show", "abcdef"));
        expect(&outcome, cases[i].code, "", cases[i].err);
        assert_int_equal(broker_double_count(outcome.broker, "GET /v1/jobs/abcdef "), cases[i].requests);
        end(&outcome);
    }
}

static void requests__carry_the_token_and_are_repeated_when_it_is_harmless(void **state)
{
    (void)state;
    outcome_t outcome = play(RULES({"GET /v1/sites", 1, 0, NULL, NULL, DROP, 0},
                                   {"GET /v1/sites", 1, 503, NULL, "", WHOLE, 0},
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

static void quota__is_put_as_it_was_said_and_again_when_no_answer_came(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES({"PUT /v1/quotas/acme", 1, 503, NULL, "", WHOLE, 0},
                   {"PUT /v1/quotas/acme", 0, 200, NULL, "{\"tenant\":\"acme\",\"status\":\"as said\"}",
                    WHOLE, 0}),
             WORDS("quota", "set", "acme", "--burst", "none", "--guaranteed", "16", "--queue", "batch"));
    expect(&outcome, 0, "", "acme in batch: as said");
    assert_int_equal(broker_double_count(outcome.broker, "PUT "), 2);
    assert_int_equal(broker_double_count(outcome.broker, "\"burst_gpus\":null"), 2);
    assert_int_equal(broker_double_count(outcome.broker, "\"guaranteed_gpus\":16"), 2);
    assert_int_equal(broker_double_count(outcome.broker, "\"queue\":\"batch\""), 2);
    end(&outcome);
}

#define POINT(hour, value, more) "{\"time\":\"2026-03-01T" hour ":00:00.000Z\",\"value\":" value more "}"
static const char
    forecast_of_lulea[] =
        "[{\"signal\":\"carbon_g_per_kwh\",\"pool\":null,\"issued_at\":\"2026-03-01T00:00:00.000Z\",\"step_"
        "s\":3600,"
        "\"kind\":\"average\",\"factor\":\"lifecycle\",\"source\":\"test\",\"estimated\":true,\"points\":"
        "[" POINT("01", "10", ",\"p10\":8,\"p90\":11") "," POINT(
            "02", "30",
            ",\"p10\":20,\"p90\":44") "," POINT("03", "\"NaN\"",
                                                "") "," POINT("04", "50",
                                                              "") "],\"errors\":[{\"horizon_h_from\":0,"
                                                                  "\"horizon_h_to\":1,\"hours\":9,\"mean_"
                                                                  "absolute_error\":1.5,"
                                                                  "\"mean_ape_ratio\":0.031,\"bias\":0.5},{"
                                                                  "\"horizon_h_from\":2,\"horizon_h_to\":6,"
                                                                  "\"hours\":9,\"mean_absolute_error\":4,"
                                                                  "\"mean_ape_ratio\":null,\"bias\":0}]},{"
                                                                  "\"signal\":\"free_gpus\",\"pool\":\"a\","
                                                                  "\"issued_at\":null,\"step_s\":7200,"
                                                                  "\"kind\":null,\"factor\":null,\"source\":"
                                                                  "null,\"estimated\":false,\"points\":"
                                                                  "[" POINT("01", "4", "") "," POINT(
                                                                      "03", "4", "") "],\"errors\":[]}]";

static void forecast__draws_a_line_a_series_and_keeps_the_figures(void **state)
{
    (void)state;
    static const struct {
        const char *words[8];
        const char *expected[6];
    } cases[] = {
        {{"forecast", "lulea"}, {"SIGNAL", "10    30   50  8..44", "g/kWh", " 04.9", "0000"}},
        {{"forecast", "lulea", "--color", "always"}, {"▁▄ █", "▁▁▁▁"}},
        {{"forecast", "lulea", "--hours", "2", "--signal", "carbon"}, {"10    20   30", "09\n"}},
        {{"forecast", "lulea", "-o", "wide"},
         {"average lifecycle", "3.1% to 1h, 4 g/kWh to 6h", "not measured"}},
        {{"forecast", "lulea", "-o", "csv", "--signal", "carbon"},
         {"site,signal,pool,time,value,p10,p90,issued_at,source,kind,factor,estimated",
          "lulea,carbon_g_per_kwh,,2026-03-01T02:00:00.000Z,30,20,44,2026-03-01T00:00:00.000Z,test,average,"
          "lifecycle,true"}},
        {{"forecast", "-o", "json", "--hours", "1"}, {"\"site\": \"lulea\"", "\"mean_ape_ratio\": 0.031"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        outcome_t outcome =
            play(RULES({"GET /v1/sites/lulea/forecast", 0, 200, NULL, forecast_of_lulea, WHOLE, 0},
                       {"GET /v1/sites", 0, 200, NULL, "[{\"site\":\"lulea\"}]", WHOLE, 0}),
                 cases[i].words);
        assert_int_equal(outcome.code, 0);
        for (size_t k = 0; cases[i].expected[k]; k++)
            if (!strstr(outcome.out, cases[i].expected[k]))
                fail_msg("case %zu: no '%s' in\n%s", i, cases[i].expected[k], outcome.out);
        end(&outcome);
    }
}

static void forecast__of_a_site_that_tells_nothing_says_so(void **state)
{
    (void)state;
    outcome_t outcome = play(RULES({"GET /v1/sites/lulea/forecast", 0, 200, NULL, "[]", WHOLE, 0}),
                             WORDS("forecast", "lulea", "--signal", "price"));
    expect(&outcome, 0, NULL, "lulea sends no forecast of price");
    end(&outcome);
    outcome = play(RULES({"GET /", 0, 200, NULL, "[]", WHOLE, 0}), WORDS("forecast", "--hours", "0"));
    expect(&outcome, 2, "", "from 1 to 48");
    end(&outcome);
    outcome = play(RULES({"GET /", 0, 200, NULL, "[]", WHOLE, 0}), WORDS("forecast", "--hours", "100"));
    expect(&outcome, 2, "", "from 1 to 48: sites tell that many ahead"); /* and not, silently, 48 */
    end(&outcome);
    /* a broker that lies: no times, no figures, times that go back */
    outcome = play(RULES({"GET /v1/sites/lulea/forecast", 0, 200, NULL,
                          "[{\"points\":[{\"time\":7},{\"value\":\"x\"}],\"signal\":\"odd\",\"step_s\":-4},{"
                          "\"points\":[" POINT("05", "1e300", "") "," POINT("01", "2", "") "," POINT(
                              "05", "3", "") "],\"step_s\":1e300}]",
                          WHOLE, 0}),
                   WORDS("forecast", "lulea"));
    assert_int_equal(outcome.code, 0);
    assert_non_null(strstr(outcome.out, "odd"));
    end(&outcome);
}

static void data__is_put_listed_and_removed_as_it_was_said(void **state)
{
    (void)state;
    outcome_t outcome = play(RULES({"PUT /v1/data", 0, 200, NULL, "{\"status\":\"at lulea, oregon\"}", WHOLE, 0}),
                             WORDS("data", "set", "s3://acme/corpus", "lulea", "oregon", "--tenant", "acme"));
    expect(&outcome, 0, "", "s3://acme/corpus: at lulea, oregon");
    assert_int_equal(
        broker_double_count(outcome.broker,
                            "{\"prefix\":\"s3://acme/corpus\",\"sites\":[\"lulea\",\"oregon\"],\"tenant\":\"acme\"}"),
        1);
    end(&outcome);
    outcome = play(
        RULES({"DELETE /v1/data?prefix=s3%3A%2F%2Facme%20x", 0, 200, NULL, "{\"status\":\"removed\"}", WHOLE, 0}),
        WORDS("data", "rm", "s3://acme x"));
    expect(&outcome, 0, "", "removed");
    end(&outcome);
    outcome = play(
        RULES({"GET /v1/data", 0, 200, NULL,
               "[{\"prefix\":\"s3://a\",\"tenant\":\"acme\",\"sites\":[\"lulea\",\"aws\"],\"strangers\":[\"aws\"]}]",
               WHOLE, 0}),
        WORDS("data", "list"));
    expect(&outcome, 0, "PREFIX  SITES        TENANT\ns3://a  lulea, aws?  acme\n", "");
    end(&outcome);
}

static void links__are_put_listed_and_removed_as_it_was_said(void **state)
{
    (void)state;
    outcome_t outcome = play(RULES({"PUT /v1/links", 0, 200, NULL, "{\"status\":\"as said\"}", WHOLE, 0}),
                             WORDS("links", "set", "oregon", "*", "--gbps", "2.5", "--egress", "0.02", "--rtt", "90"));
    expect(&outcome, 0, "", "oregon -> *: as said");
    assert_int_equal(broker_double_count(outcome.broker, "\"gbps\":2.5,\"egress_usd_per_gb\":0.02"), 1);
    assert_int_equal(broker_double_count(outcome.broker, "\"from\":\"oregon\",\"to\":\"*\",\"rtt_ms\":90"), 1);
    end(&outcome);
    outcome = play(RULES({"DELETE /v1/links?from=oregon&to=%2A", 0, 200, NULL, "{\"status\":\"removed\"}", WHOLE, 0}),
                   WORDS("links", "rm", "oregon", "*"));
    expect(&outcome, 0, "", "removed");
    end(&outcome);
    outcome = play(RULES({"GET /v1/links", 0, 200, NULL,
                          "[{\"from\":\"oregon\",\"to\":\"*\",\"gbps\":5,\"rtt_ms\":90}]", WHOLE, 0}),
                   WORDS("links", "list"));
    expect(&outcome, 0, "FROM    TO  GBIT/S  USD/GB  RTT-MS\noregon  *        5       -      90\n", "");
    end(&outcome);
    outcome = play(RULES({"GET /", 0, 200, NULL, "", WHOLE, 0}), WORDS("links", "set", "oregon", "*"));
    expect(&outcome, 2, "", "--gbps");
    end(&outcome);
    outcome = play(RULES({"GET /", 0, 200, NULL, "", WHOLE, 0}), WORDS("links", "set", "a", "b", "--gbps", "fast"));
    expect(&outcome, 2, "", "--gbps takes a number");
    end(&outcome);
}

#define SAID "{\"queue\":\"batch\",\"status\":\"as said\"}"

static void queues__are_set_scheduled_and_removed_as_it_was_said(void **state)
{
    (void)state;
    static const struct {
        const char *words[10], *request, *body;
    } cases[] = {
        {{"queues", "set", "batch", "--priority", "900", "--tier", "critical", "--time", "2h"},
         "PUT /v1/queues/batch ",
         "{\"priority\":900,\"tier\":\"critical\",\"time_limit_s\":7200}"},
        {{"queues", "set", "batch", "--priority", "900", "--region", "EU", "--for", "6h"},
         "PUT /v1/queues/batch/rules ",
         "{\"priority\":900,\"for_s\":21600,\"region\":\"EU\"}"},
        {{"queues", "set", "batch", "--clear"}, "PUT /v1/queues/batch/rules ", "{\"priority\":null}"},
        {{"queues", "schedule", "batch", "Sat,Sun 00:00-24:00 Asia/Tokyo", "--priority", "9"},
         "PUT /v1/queues/batch/rules ",
         "{\"priority\":9,\"schedule\":\"Sat,Sun 00:00-24:00 Asia/Tokyo\"}"},
        {{"queues", "schedule", "batch", "20:00-08:00", "--remove", "--region", "EU"},
         "PUT /v1/queues/batch/rules ",
         "{\"priority\":null,\"schedule\":\"20:00-08:00\",\"region\":\"EU\"}"},
        {{"queues", "rm", "batch"}, "DELETE /v1/queues/batch ", "DELETE "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        outcome_t outcome = play(RULES({cases[i].request, 0, 200, NULL, SAID, WHOLE, 0}), cases[i].words);
        expect(&outcome, 0, "", i + 1 < sizeof cases / sizeof cases[0] ? "batch: as said" : "removed batch");
        assert_int_equal(broker_double_count(outcome.broker, cases[i].request), 1);
        assert_int_equal(broker_double_count(outcome.broker, cases[i].body), 1);
        end(&outcome);
    }
}

static void queues__half_a_wish_is_refused_with_the_rest_of_it(void **state)
{
    (void)state;
    static const struct {
        const char *words[10], *says;
    } cases[] = {
        {{"queues", "set", "batch"}, "--priority, --tier or --time"},
        {{"queues", "set", "batch", "--region", "EU", "--priority", "5"}, "for how long"},
        {{"queues", "set", "batch", "--for", "6h"}, "for how long"},
        {{"queues", "set", "batch", "--for", "6h", "--priority", "5", "--clear"}, "for how long"},
        {{"queues", "set", "batch", "--for", "6h", "--priority", "5", "--tier", "standard"}, "only the priority"},
        {{"queues", "schedule", "batch", "--priority", "5"}, "at which hours"},
        {{"queues", "schedule", "batch", "20:00-08:00"}, "which priority"},
        {{"queues", "schedule", "batch", "20:00-08:00", "--remove", "--priority", "5"}, "which priority"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        outcome_t outcome = play(RULES({"PUT ", 0, 200, NULL, SAID, WHOLE, 0}), cases[i].words);
        expect(&outcome, 2, "", cases[i].says);
        assert_int_equal(broker_double_count(outcome.broker, "PUT "), 0);
        end(&outcome);
    }
}

static void queues__rules_are_listed_as_they_stand(void **state)
{
    (void)state;
    outcome_t outcome = play(
        RULES(
            {"GET /v1/queues", 0, 200, NULL,
             "{\"queues\":[{\"queue\":\"batch\",\"rules\":[{\"region\":\"EU\",\"schedule\":null,\"zone\":null,"
             "\"priority\":900,\"until\":\"2026-03-01T12:00:00.000Z\",\"holds\":true},{\"region\":null,\"schedule\":"
             "\"20:00-08:00\",\"zone\":\"UTC\",\"priority\":5,\"until\":null,\"holds\":false}]}]}",
             WHOLE, 0}),
        WORDS("queues", "schedule", "batch"));
    expect(&outcome, 0,
           "HOURS        ZONE  UNTIL                 REGION  PRIORITY  NOW\n"
           "-            -     2026-03-01T12:00:00Z  EU           900  yes\n"
           "20:00-08:00  UTC   -                     -              5  no\n",
           NULL);
    end(&outcome);
}

static void overflow__steps_are_sent_in_their_order(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES({"PUT /v1/overflows/out ", 0, 200, NULL, "{\"name\":\"out\",\"status\":\"set\"}", WHOLE, 0}),
             WORDS("overflow", "set", "out", "--queue", "batch", "--step", "home-*", "--step=eu-*,after=10m",
                   "--step", "cloud,after=30m,max-price=3"));
    expect(&outcome, 0, "", "out: home-*; eu-*,after=10m; cloud,after=30m,max-price=3");
    assert_int_equal(broker_double_count(outcome.broker, "{\"queue\":\"batch\",\"steps\":\"home-*; eu-*,after=10m; "
                                                         "cloud,after=30m,max-price=3\"}"),
                     1);
    end(&outcome);
    outcome = play(RULES({"PUT ", 0, 200, NULL, "{}", WHOLE, 0}), WORDS("overflow", "set", "out", "--step", "a"));
    expect(&outcome, 2, "", "whose jobs");
    end(&outcome);
    outcome = play(RULES({"PUT ", 0, 200, NULL, "{}", WHOLE, 0}), WORDS("overflow", "set", "out", "--queue", "a"));
    expect(&outcome, 2, "", "where to");
    end(&outcome);
}

static void broker__that_is_not_there_is_named_with_a_remedy(void **state)
{
    (void)state;
    broker_double_t *broker = broker_double_new(RULES({"GET /", 0, 200, NULL, "", WHOLE, 0}));
    char url[64], *out, *err;
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%d", broker->port);
    broker_double_destroy(&broker); /* now nobody listens on that port */
    static const char *const commands[] = {"ls", "wait", "logs", "events"};
    for (size_t i = 0; i < 4; i++) {
        bool takes_id = commands[i][0] == 'w' || commands[i][1] == 'o';
        assert_int_equal(run_at(url, WORDS(commands[i], takes_id ? "abcdef" : NULL), "", NULL, &out, &err),
                         7);
        assert_string_equal(out, "");
        assert_non_null(strstr(err, i == 2 ? "went away" : url));
        free(out);
        free(err);
    }
}

static void answers__that_break_off_are_no_answers(void **state)
{
    (void)state;
    outcome_t outcome = play(RULES({"GET /v1/sites", 0, 200, NULL, "[]", CUT, 0}), WORDS("sites"));
    expect(&outcome, 7, "", "cannot reach the broker");
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

/*  ---- submit ---- */

static void submit__prints_one_id_a_line(void **state)
{
    (void)state;
    outcome_t outcome = play_with(
        RULES({"POST /v1/jobs", 0, 201, NULL,
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

static void submit__json_lines_travel_byte_for_byte(void **state)
{
    (void)state;
    outcome_t outcome =
        play_with(RULES({"POST /v1/jobs", 0, 201, NULL,
                         "{\"jobs\":[{\"id\":\"" ID_A "\"},{\"id\":\"" ID_B "\"}]}", WHOLE, 0}),
                  WORDS("submit", "-"), "{ \"run\":\"echo  1\" }\n{\"run\": \"echo 2\"}\n");
    expect(&outcome, 0, "Submitted " ID_A "\nSubmitted " ID_B "\n", NULL);
    assert_int_equal(broker_double_count(outcome.broker,
                                         "{\"jobs\":[{ \"run\":\"echo  1\" },{\"run\": \"echo 2\"}]}\n===="),
                     1);
    end(&outcome);
}

static void submit__an_answer_lost_on_the_way_is_asked_for_with_the_same_key(void **state)
{
    (void)state;
    outcome_t outcome = play_with(RULES({"POST /v1/jobs", 2, 0, NULL, NULL, DROP, 0},
                                        {"POST /v1/jobs", 0, 201, NULL, SUBMITTED_A, WHOLE, 0}),
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

static void submit__wrong_documents_are_shown_here_and_nothing_is_sent(void **state)
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

static void submit__an_answer_for_other_jobs_is_no_success(void **state)
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

/*  ---- ls ---- */

static void ls__goes_through_pages_and_filters(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES({"GET /v1/jobs?limit=1000&state=running&name=a%26b&cursor=" ID_A " ", 0, 200, NULL,
                    "{\"jobs\":[" JOB(ID_B, "running", "") "],\"next\":null}", WHOLE, 0},
                   {"GET /v1/jobs?limit=1000&state=running&name=a%26b ", 0, 200, NULL,
                    "{\"jobs\":[" JOB(ID_A, "running", "") "],\"next\":\"" ID_A "\"}", WHOLE, 0}),
             WORDS("ls", "--state", "running", "--name", "a&b", "--all", "-o", "name"));
    expect(&outcome, 0, ID_A "\n" ID_B "\n", NULL);
    end(&outcome);
}

static void ls__says_when_there_are_more(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES({"GET /v1/jobs?limit=1 ", 0, 200, NULL,
                    "{\"jobs\":[" JOB(ID_A, "running", ",\"gpus\":8") "],\"next\":\"" ID_A "\"}", WHOLE, 0}),
             WORDS("ls", "-l1"));
    expect(&outcome, 0,
           "ID        NAME   QUEUE  STATE    SITE   GPUS  AGE  RUN  REASON\n"
           "bbccccdd  train  -      running  lulea     8    -    -  -\n",
           "--all");
    end(&outcome);
}

static void ls__a_cursor_that_stands_still_ends(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES({"GET /v1/jobs", 0, 200, NULL,
                    "{\"jobs\":[" JOB(ID_A, "running", "") "],\"next\":\"" ID_A "\"}", WHOLE, 0}),
             WORDS("ls", "--all", "-o", "name"));
    expect(&outcome, 0, ID_A "\n" ID_A "\n", NULL);
    end(&outcome);
}

static void ls__names_the_tenant_where_there_are_several(void **state)
{
    (void)state;
    static const struct {
        const char *tenant;
        bool named;
    } cases[] = {{"acme", false}, {"other", true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char body[512];
        (void)snprintf(body, sizeof body,
                       "{\"jobs\":[" JOB(ID_A, "running", ",\"tenant\":\"acme\"") ",{\"id\":\"" ID_B
                       "\",\"state\":\"queued\",\"tenant\":\"%s\"}],\"next\":null}",
                       cases[i].tenant);
        outcome_t outcome = play(RULES({"GET /v1/jobs?limit=100 ", 0, 200, NULL, body, WHOLE, 0}), WORDS("ls"));
        expect(&outcome, 0, NULL, NULL);
        assert_int_equal(strstr(outcome.out, "TENANT") != NULL, cases[i].named);
        assert_int_equal(strstr(outcome.out, "acme") != NULL, cases[i].named);
        end(&outcome);
    }
}

/*  ---- wait ---- */

#define STREAM_OPEN                                            \
    {                                                          \
        "GET /v1/events", 0, 200, NULL, ": hello\n\n", HOLD, 0 \
    }

static void wait__exits_with_the_jobs_own_code(void **state)
{
    (void)state;
    static const struct {
        const char *job;
        int code;
    } cases[] = {
        {JOB(ID_A, "succeeded", ",\"exit_code\":0"), 0},   {JOB(ID_A, "failed", ",\"exit_code\":3"), 3},
        {JOB(ID_A, "failed", ",\"exit_code\":null"), 1},   {JOB(ID_A, "timeout", ",\"exit_code\":124"), 124},
        {JOB(ID_A, "cancelled", ",\"exit_code\":0"), 130}, {JOB(ID_A, "lost", ",\"exit_code\":0"), 125},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        outcome_t outcome =
            play(RULES(STREAM_OPEN, {"GET /v1/jobs/bbccccdd ", 0, 200, NULL, cases[i].job, WHOLE, 0}),
                 WORDS("wait", "bbccccdd"));
        expect(&outcome, cases[i].code, "", NULL);
        end(&outcome);
    }
}

static void wait__of_several_gives_the_first_bad_code_in_the_order_given(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES(STREAM_OPEN, {"GET /v1/jobs/good", 0, 200, NULL, JOB(ID_A, "succeeded", ""), WHOLE, 0},
                   {"GET /v1/jobs/bad5", 0, 200, NULL, JOB(ID_A, "failed", ",\"exit_code\":5"), WHOLE, 0},
                   {"GET /v1/jobs/bad6", 0, 200, NULL, JOB(ID_A, "failed", ",\"exit_code\":6"), WHOLE, 0}),
             WORDS("wait", "good", "bad6", "bad5"));
    expect(&outcome, 6, "", NULL);
    end(&outcome);
}

#define HELD_JOB JOB(ID_A, "held", ",\"reason\":\"lulea: SubmitRefused: Invalid account\"")

static void wait__a_held_job_is_said_to_be_with_the_way_out_and_ends_it(void **state)
{
    (void)state;
    static const char *const ways[][4] = {{"wait", ID_A}, {"run", "-"}};
    for (size_t i = 0; i < 2; i++) {
        outcome_t outcome =
            play_with(RULES({"POST /v1/jobs", 0, 201, NULL, SUBMITTED_A, WHOLE, 0}, STREAM_OPEN,
                            {"GET /v1/jobs/" ID_A " ", 1, 200, NULL, JOB(ID_A, "running", ""), WHOLE, 0},
                            {"GET /v1/jobs/" ID_A " ", 0, 200, NULL, HELD_JOB, WHOLE, 0},
                            {"GET /v1/jobs/" ID_A "/logs", 0, 404, NULL, "", WHOLE, 0}),
                      WORDS(ways[i][0], ways[i][1]), "run: echo\n");
        expect(&outcome, 8, "", "is held: lulea: SubmitRefused: Invalid account");
        assert_non_null(strstr(outcome.err, "helio release"));
        assert_non_null(strstr(outcome.err, "--keep-waiting"));
        end(&outcome);
    }
}

static void wait__a_held_job_is_waited_for_when_told_to_or_while_others_go_on(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES({"GET /v1/events", 0, 404, NULL, "", WHOLE, 0},
                   {"GET /v1/jobs/", 2, 200, NULL, HELD_JOB, WHOLE, 0},
                   {"GET /v1/jobs/", 0, 200, NULL, JOB(ID_A, "failed", ",\"exit_code\":9"), WHOLE, 0}),
             WORDS("wait", "--keep-waiting", ID_A));
    expect(&outcome, 9, "", NULL);
    end(&outcome);
    outcome = play(RULES({"GET /v1/events", 0, 404, NULL, "", WHOLE, 0},
                         {"GET /v1/jobs/good", 2, 200, NULL, JOB(ID_B, "running", ""), WHOLE, 0},
                         {"GET /v1/jobs/good", 0, 200, NULL, JOB(ID_B, "succeeded", ""), WHOLE, 0},
                         {"GET /v1/jobs/", 0, 200, NULL, HELD_JOB, WHOLE, 0}),
                   WORDS("wait", ID_A, "good"));
    expect(&outcome, 8, "", "is held");
    end(&outcome);
}

static void wait__is_woken_by_the_event_stream(void **state)
{
    (void)state;
    /* The bell rings for another job, then for an unreadable one, then for this one. */
    outcome_t outcome =
        play(RULES({"GET /v1/events", 0, 200, NULL,
                    "id: 1\ndata: {\"id\":\"" ID_B "\",\"to\":\"failed\"}\n\nid: 2\ndata: [\n\n"
                    "id: 3\nevent: transition\ndata: {\"id\":\"" ID_A "\",\"to\":\"succeeded\"}\n\n",
                    HOLD, 0},
                   {"GET /v1/jobs/", 1, 200, NULL, JOB(ID_A, "running", ""), WHOLE, 0},
                   {"GET /v1/jobs/", 0, 200, NULL, JOB(ID_A, "succeeded", ""), WHOLE, 0}),
             WORDS("wait", ID_A));
    expect(&outcome, 0, "", "succeeded at lulea");
    end(&outcome);
}

static void wait__polls_where_there_is_no_stream(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES({"GET /v1/events", 0, 404, NULL, "", WHOLE, 0},
                   {"GET /v1/jobs/", 5, 200, NULL, JOB(ID_A, "running", ""), WHOLE, 0},
                   {"GET /v1/jobs/", 0, 200, NULL, JOB(ID_A, "failed", ",\"exit_code\":9"), WHOLE, 0}),
             WORDS("wait", ID_A));
    expect(&outcome, 9, "", NULL);
    end(&outcome);
}

static void wait__outlives_a_broker_that_goes_away(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES({"GET /v1/events", 3, 200, NULL, "data: {}\n\n", CUT, 0},
                   {"GET /v1/events", 0, 503, NULL, "", WHOLE, 0},
                   {"GET /v1/jobs/", 1, 200, NULL, JOB(ID_A, "running", ""), WHOLE, 0},
                   {"GET /v1/jobs/", 6, 0, NULL, NULL, DROP, 0},
                   {"GET /v1/jobs/", 6, 503, "Retry-After: 1\r\n", "", WHOLE, 0},
                   {"GET /v1/jobs/", 2, 500, NULL, "", WHOLE, 0},
                   {"GET /v1/jobs/", 0, 200, NULL, JOB(ID_A, "failed", ",\"exit_code\":4"), WHOLE, 0}),
             WORDS("wait", ID_A));
    expect(&outcome, 4, "", "answers again");
    const char *first = strstr(outcome.err, "trying again until it answers");
    assert_non_null(first);
    assert_null(strstr(first + 1, "trying again until it answers")); /* once, not for every attempt */
    end(&outcome);
}

static void wait__a_lost_connection_is_never_success(void **state)
{
    (void)state;
    /* The stream says that it succeeded, but nobody confirms it. */
    outcome_t outcome = play(RULES({"GET /v1/events", 0, 200, NULL,
                                    "data: {\"id\":\"" ID_A "\",\"to\":\"succeeded\"}\n\n", CUT, 0},
                                   {"GET /v1/jobs/", 1, 200, NULL, JOB(ID_A, "running", ""), WHOLE, 0},
                                   {"GET /v1/jobs/", 0, 0, NULL, NULL, DROP, 0}),
                             WORDS("wait", "--timeout", "200ms", ID_A));
    expect(&outcome, 8, "", "not over in time");
    end(&outcome);
}

static void wait__a_job_or_a_token_that_is_gone_ends_it(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES(STREAM_OPEN, {"GET /v1/jobs/", 0, 404, NULL, "{\"detail\":\"no such job\"}", WHOLE, 0}),
             WORDS("wait", ID_A));
    expect(&outcome, 3, "", "no such job");
    end(&outcome);
    outcome = play(RULES({"GET /v1/events", 0, 401, NULL, "", WHOLE, 0},
                         {"GET /v1/jobs/", 2, 200, NULL, JOB(ID_A, "running", ""), WHOLE, 0},
                         {"GET /v1/jobs/", 0, 401, NULL, "", WHOLE, 0}),
                   WORDS("wait", ID_A));
    expect(&outcome, 4, "", "401");
    end(&outcome);
}

static void wait__a_state_it_does_not_know_is_an_error(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES(STREAM_OPEN, {"GET /v1/jobs/", 0, 200, NULL, JOB(ID_A, "done", ""), WHOLE, 0}),
             WORDS("wait", ID_A));
    expect(&outcome, 125, "", "versions differ");
    end(&outcome);
}

static void wait__ctrl_c_leaves_without_touching_the_job(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES(STREAM_OPEN, {"GET /v1/jobs/", 0, 200, NULL, JOB(ID_A, "running", ""), WHOLE, 1}),
             WORDS("wait", ID_A));
    expect(&outcome, 130, "", NULL);
    assert_int_equal(broker_double_count(outcome.broker, "DELETE"), 0);
    end(&outcome);
}

/*  ---- run, logs ---- */

static void run__prints_each_byte_of_the_log_once_and_exits_with_the_code(void **state)
{
    (void)state;
    outcome_t outcome = play_with(
        RULES({"POST /v1/jobs", 0, 201, NULL, SUBMITTED_A, WHOLE, 0},
              {"GET /v1/events", 0, 200, NULL, "", CUT, 0},
              {"GET /v1/jobs/" ID_A " ", 1, 200, NULL,
               "{\"id\":\"" ID_A "\",\"state\":\"queued\",\"epoch\":0}", WHOLE, 0},
              {"GET /v1/jobs/" ID_A " ", 3, 200, NULL, JOB(ID_A, "running", ""), WHOLE, 0},
              {"GET /v1/jobs/" ID_A " ", 0, 200, NULL,
               JOB(ID_A, "failed", ",\"exit_code\":7,\"run_seconds\":60,\"cost_usd\":3.5"), WHOLE, 0},
              {"GET /v1/jobs/" ID_A "/logs?follow=1&epoch=1&offset=0 ", 1, 404, NULL, "", WHOLE, 0},
              {"GET /v1/jobs/" ID_A "/logs?follow=1&epoch=1&offset=0 ", 0, 200, NULL, "hello ", CUT, 0},
              {"GET /v1/jobs/" ID_A "/logs?follow=1&epoch=1&offset=6 ", 1, 503, NULL, "", WHOLE, 0},
              {"GET /v1/jobs/" ID_A "/logs?follow=1&epoch=1&offset=6 ", 0, 200, NULL, "world\n", WHOLE, 0},
              {"GET /v1/jobs/" ID_A "/logs?follow=1&epoch=1&offset=12 ", 0, 200, NULL, "", WHOLE, 0}),
        WORDS("run", "-"), "run: echo hello world\n");
    expect(&outcome, 7, "hello world\n", "running at lulea");
    assert_non_null(strstr(outcome.err, "submitted " ID_A));
    assert_non_null(strstr(outcome.err, "cost $3.50"));
    end(&outcome);
}

static void run__a_job_that_moves_has_the_log_of_each_attempt(void **state)
{
    (void)state;
    outcome_t outcome = play_with(
        RULES({"POST /v1/jobs", 0, 201, NULL, SUBMITTED_A, WHOLE, 0},
              {"GET /v1/events", 0, 404, NULL, "", WHOLE, 0},
              {"GET /v1/jobs/" ID_A " ", 5, 200, NULL, JOB(ID_A, "running", ""), WHOLE, 0},
              {"GET /v1/jobs/" ID_A " ", 0, 200, NULL,
               "{\"id\":\"" ID_A
               "\",\"state\":\"succeeded\",\"site\":\"oregon\",\"epoch\":2,\"exit_code\":0}",
               WHOLE, 0},
              {"GET /v1/jobs/" ID_A "/logs?follow=1&epoch=1&offset=0 ", 0, 200, NULL, "one\n", WHOLE, 0},
              {"GET /v1/jobs/" ID_A "/logs?follow=1&epoch=1&offset=4 ", 0, 200, NULL, "", WHOLE, 0},
              {"GET /v1/jobs/" ID_A "/logs?follow=1&epoch=2&offset=0 ", 0, 200, NULL, "two\n", WHOLE, 0},
              {"GET /v1/jobs/" ID_A "/logs?follow=1&epoch=2&offset=4 ", 0, 200, NULL, "", WHOLE, 0}),
        WORDS("run", "-"), "run: echo\n");
    expect(&outcome, 0, "one\ntwo\n", "-- attempt 2 --");
    end(&outcome);
}

static void run__a_silent_log_of_an_attempt_that_is_over_does_not_hold_up_the_next(void **state)
{
    (void)state;
    outcome_t outcome = play_with(
        RULES({"POST /v1/jobs", 0, 201, NULL, SUBMITTED_A, WHOLE, 0},
              {"GET /v1/events", 0, 404, NULL, "", WHOLE, 0},
              {"GET /v1/jobs/" ID_A " ", 2, 200, NULL, JOB(ID_A, "running", ""), WHOLE, 0},
              {"GET /v1/jobs/" ID_A " ", 0, 200, NULL,
               "{\"id\":\"" ID_A "\",\"state\":\"succeeded\",\"site\":\"oregon\",\"epoch\":2}", WHOLE, 0},
              {"GET /v1/jobs/" ID_A "/logs?follow=1&epoch=1&offset=0 ", 0, 200, NULL, "one\n", HOLD, 0},
              {"GET /v1/jobs/" ID_A "/logs?follow=1&epoch=2&offset=0 ", 0, 200, NULL, "two\n", HOLD, 0}),
        WORDS("run", "-"), "run: echo\n");
    expect(&outcome, 0, "one\ntwo\n", "helio logs --epoch 1 " ID_A);
    end(&outcome);
}

static void run__a_job_that_never_started_has_no_log(void **state)
{
    (void)state;
    outcome_t outcome =
        play_with(RULES({"POST /v1/jobs", 0, 201, NULL, SUBMITTED_A, WHOLE, 0}, STREAM_OPEN,
                        {"GET /v1/jobs/" ID_A " ", 0, 200, NULL,
                         "{\"id\":\"" ID_A "\",\"state\":\"cancelled\",\"epoch\":0}", WHOLE, 0}),
                  WORDS("run", "-"), "run: echo\n");
    expect(&outcome, 130, "", "cancelled");
    assert_int_equal(broker_double_count(outcome.broker, "/logs"), 0);
    end(&outcome);
}

static void run__a_log_whose_end_cannot_be_read_does_not_hide_the_code(void **state)
{
    (void)state;
    outcome_t outcome = play_with(
        RULES({"POST /v1/jobs", 0, 201, NULL, SUBMITTED_A, WHOLE, 0}, STREAM_OPEN,
              {"GET /v1/jobs/" ID_A " ", 0, 200, NULL, JOB(ID_A, "failed", ",\"exit_code\":2"), WHOLE, 0},
              {"GET /v1/jobs/" ID_A "/logs", 0, 503, NULL, "", WHOLE, 0}),
        WORDS("run", "-"), "run: echo\n");
    expect(&outcome, 2, "", "end of the output could not be read");
    end(&outcome);
}

static void run__ctrl_c_asks_first_and_cancels_then(void **state)
{
    (void)state;
    outcome_t outcome =
        play_with(RULES({"POST /v1/jobs", 0, 201, NULL, SUBMITTED_A, WHOLE, 0},
                        {"GET /v1/events", 0, 404, NULL, "", WHOLE, 0},
                        {"GET /v1/jobs/" ID_A "/logs", 0, 404, NULL, "", WHOLE, 0},
                        {"DELETE /v1/jobs/" ID_A " ", 0, 202, NULL, "{}", WHOLE, 0},
                        {"GET /v1/jobs/" ID_A " ", 2, 200, NULL, JOB(ID_A, "running", ""), WHOLE, 0},
                        {"GET /v1/jobs/" ID_A " ", 1, 200, NULL, JOB(ID_A, "running", ""), WHOLE, 1},
                        {"GET /v1/jobs/" ID_A " ", 2, 200, NULL, JOB(ID_A, "running", ""), WHOLE, 0},
                        {"GET /v1/jobs/" ID_A " ", 1, 200, NULL, JOB(ID_A, "running", ""), WHOLE, 1},
                        {"GET /v1/jobs/" ID_A " ", 0, 200, NULL, JOB(ID_A, "cancelled", ""), WHOLE, 0}),
                  WORDS("run", "-"), "run: echo\n");
    expect(&outcome, 130, "", "press Ctrl-C again to cancel " ID_A);
    assert_int_equal(broker_double_count(outcome.broker, "DELETE /v1/jobs/" ID_A " "), 1);
    end(&outcome);
}

static void run__a_rejected_submission_is_not_followed(void **state)
{
    (void)state;
    outcome_t outcome = play_with(
        RULES({"POST /v1/jobs", 0, 422, NULL, "{\"detail\":\"never\",\"reason\":\"NeverFits\"}", WHOLE, 0}),
        WORDS("run", "-"), "run: echo\n");
    expect(&outcome, 5, "", "never (NeverFits)");
    assert_int_equal(broker_double_count(outcome.broker, "GET"), 0);
    end(&outcome);
}

static void logs__reads_on_from_where_it_broke_until_there_is_no_more(void **state)
{
    (void)state;
    outcome_t outcome = play(RULES({"GET /v1/jobs/x12345/logs?offset=0 ", 1, 0, NULL, NULL, DROP, 0},
                                   {"GET /v1/jobs/x12345/logs?offset=0 ", 0, 200, NULL, "abc", CUT, 0},
                                   {"GET /v1/jobs/x12345/logs?offset=3 ", 0, 200, NULL, "def", WHOLE, 0},
                                   {"GET /v1/jobs/x12345/logs?offset=6 ", 0, 200, NULL, "", WHOLE, 0}),
                             WORDS("logs", "x12345"));
    expect(&outcome, 0, "abcdef", NULL);
    end(&outcome);
    outcome = play(RULES({"GET /v1/jobs/", 0, 404, NULL, "{\"detail\":\"no log yet\"}", WHOLE, 0}),
                   WORDS("logs", "x12345"));
    expect(&outcome, 3, "", "no log yet");
    end(&outcome);
    outcome = play(RULES({"GET /v1/jobs/", 0, 503, NULL, "{\"detail\":\"the site is silent\"}", WHOLE, 0}),
                   WORDS("logs", "x12345"));
    expect(&outcome, 7, "", "the site is silent");
    end(&outcome);
}

/*  ---- events, explain, doctor, others ---- */

static void events__go_on_after_the_last_one_that_was_seen(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES({"GET /v1/events", 1, 200, NULL,
                    "id: 5\ndata: {\"seq\":5,\"id\":\"" ID_A "\"}\n\nid: 6\ndata: {\"half", CUT, 0},
                   {"GET /v1/events", 1, 503, NULL, "", WHOLE, 0},
                   {"GET /v1/events", 1, 200, NULL, "id: 6\ndata: {\"seq\":6}\n\n", CUT, 0},
                   {"GET /v1/events", 0, 403, NULL, "{\"detail\":\"enough\"}", WHOLE, 0}),
             WORDS("events", "-f", "-o", "jsonl", "--after", "4"));
    expect(&outcome, 4, "{\"seq\":5,\"id\":\"" ID_A "\"}\n{\"seq\":6}\n", "lost the broker");
    assert_int_equal(broker_double_count(outcome.broker, "Last-Event-ID: 4\r\n"), 1);
    assert_int_equal(broker_double_count(outcome.broker, "Last-Event-ID: 5\r\n"), 2);
    assert_int_equal(broker_double_count(outcome.broker, "Last-Event-ID: 6\r\n"), 1);
    end(&outcome);
}

static void events__without_follow_end_when_it_is_quiet(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES({"GET /v1/events", 0, 200, NULL,
                    "id: 1\ndata: {\"seq\":1,\"time\":\"2026-11-22T07:00:00.123Z\",\"id\":\"" ID_A
                    "\",\"name\":\"t\",\"from\":\"queued\",\"to\":\"offered\",\"site\":\"lulea\"}\n\n",
                    HOLD, 0}),
             WORDS("events"));
    expect(&outcome, 0,
           "TIME                  ID        NAME  FROM    TO       SITE   REASON\n"
           "2026-11-22T07:00:00Z  bbccccdd  t     queued  offered  lulea  -\n",
           NULL);
    assert_int_equal(broker_double_count(outcome.broker, "Last-Event-ID: 0\r\n"), 1);
    end(&outcome);
}

static void show__names_no_gpu_model_for_a_job_without_gpus(void **state)
{
    (void)state;
    static const struct {
        const char *gpus;
        bool named;
    } cases[] = {{"0", false}, {"2", true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char body[256];
        (void)snprintf(body, sizeof body,
                       "{\"id\":\"" ID_A
                       "\",\"name\":\"t\",\"state\":\"running\",\"gpus\":%s,\"gpu_model\":\"H100\"}",
                       cases[i].gpus);
        outcome_t outcome =
            play(RULES({"GET /v1/jobs/bbccccdd ", 0, 200, NULL, body, WHOLE, 0}), WORDS("show", "bbccccdd"));
        expect(&outcome, 0, NULL, NULL);
        assert_int_equal(strstr(outcome.out, "H100") != NULL, cases[i].named);
        end(&outcome);
    }
}

static void show__says_of_a_job_that_is_not_over_only_what_is_known_of_its_use(void **state)
{
    (void)state;
    static const struct {
        const char *state, *gpu_seconds;
        bool shown, so_far;
    } cases[] = {{"running", "0", false, false},
                 {"running", "160", true, true},
                 {"queued", "160", true, true},
                 {"queued", "0", false, false},
                 {"cancelled", "0", true, false},
                 {"succeeded", "160", true, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char body[512];
        (void)snprintf(
            body, sizeof body,
            "{\"id\":\"" ID_A
            "\",\"name\":\"t\",\"state\":\"%s\",\"gpus\":8,\"gpu_seconds\":%s,\"cost_usd\":0,\"energy_kwh\":0,"
            "\"carbon_g\":0}",
            cases[i].state, cases[i].gpu_seconds);
        outcome_t outcome =
            play(RULES({"GET /v1/jobs/bbccccdd ", 0, 200, NULL, body, WHOLE, 0}), WORDS("show", "bbccccdd"));
        expect(&outcome, 0, NULL, NULL);
        assert_int_equal(strstr(outcome.out, "GPU time  ") != NULL, cases[i].shown);
        assert_int_equal(strstr(outcome.out, "$0.00") != NULL, cases[i].shown);
        assert_int_equal(strstr(outcome.out, "so far: of the attempts that ended") != NULL, cases[i].so_far);
        end(&outcome);
    }
}

static void report__says_how_many_jobs_are_not_held_against_home(void **state)
{
    (void)state;
    static const struct {
        const char *jobs, *said;
    } cases[] = {{"0", NULL}, {"1", "1 job cannot run at home"}, {"7", "7 jobs cannot run at home"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char body[512];
        (void)snprintf(
            body, sizeof body,
            "{\"jobs_total\":9,\"baselines\":[{\"day\":\"2026-11-21\",\"tenant\":\"acme\",\"baseline\":\"home\","
            "\"jobs\":2}],\"jobs_not_at_home\":%s}",
            cases[i].jobs);
        outcome_t outcome = play(RULES({"GET /v1/report ", 0, 200, NULL, body, WHOLE, 0}), WORDS("report"));
        expect(&outcome, 0, NULL, NULL);
        assert_non_null(strstr(outcome.out, "SAVED-COST"));
        assert_non_null(strstr(outcome.out, "SAVED-WAIT"));
        assert_int_equal(strstr(outcome.out, "cannot run at home") != NULL, cases[i].said != NULL);
        if (cases[i].said)
            assert_non_null(strstr(outcome.out, cases[i].said));
        end(&outcome);
    }
}

static void explain__says_it_in_sentences(void **state)
{
    (void)state;
    outcome_t outcome = play(
        RULES({"GET /v1/jobs/bbccccdd/explain ", 0, 200, NULL,
               "{\"id\":\"" ID_A
               "\",\"name\":\"train\",\"state\":\"queued\",\"reason\":\"WaitingForCapacity\","
               "\"detail\":\"2 nodes of 8\",\"expected_start\":\"2026-11-22T14:20:00Z\",\"chosen\":\"lulea\","
               "\"chosen_pool\":\"h100\",\"candidates\":["
               "{\"site\":\"lulea\",\"pool\":\"h100\",\"start\":\"2026-11-22T14:20:00Z\",\"score_usd\":300,"
               "\"cost_usd\":312,\"energy_kwh\":71,\"carbon_g\":1900,\"reason\":null,"
               "\"terms\":{\"money\":312,\"carbon\":0.4,\"wait\":0}},"
               "{\"site\":\"oregon\",\"pool\":\"h100\",\"score_usd\":350,\"cost_usd\":355,\"energy_kwh\":70,"
               "\"carbon_g\":11800,\"reason\":null,\"terms\":{\"money\":355,\"carbon\":2.4,\"wait\":0}},"
               "{\"site\":\"paris\",\"pool\":\"h100\",\"start\":\"2026-11-22T14:20:00Z\",\"score_usd\":360,"
               "\"cost_usd\":361,\"energy_kwh\":70,\"carbon_g\":4000,\"reason\":\"NoCapacity\"},"
               "{\"site\":\"tokyo\",\"pool\":\"a\",\"start\":\"2026-11-22T14:20:00Z\",\"score_usd\":0,"
               "\"cost_usd\":0,\"energy_kwh\":0,\"carbon_g\":0,\"reason\":\"NeverFits\",\"detail\":\"no "
               "H100\"}],"
               "\"history\":[]}",
               WHOLE, 0}),
        WORDS("explain", "bbccccdd"));
    expect(&outcome, 0,
           "train (" ID_A ") is queued, expected to start 2026-11-22T14:20:00Z\n"
           "Now waiting for   WaitingForCapacity: 2 nodes of 8\n"
           "Chosen            lulea rather than oregon, the next best: $43.00 less, 9.9 kg CO2e less\n"
           "Weighed           money -$43.00, carbon -$2.00\n"
           "Would change it   oregon, were it $50.00 better in money, carbon and waiting together\n"
           "To start sooner   allow more sites, another GPU model or fewer nodes; a shorter `time` may pass "
           "who waits\n"
           "\n"
           "   SITE    POOL  START                 COST  ENERGY     CO2E  SCORE  WHY\n"
           "✔  lulea   h100  2026-11-22T14:20:00Z  $312  71 kWh   1.9 kg   $300  cheapest and cleanest\n"
           "   oregon  h100  -                     $355  70 kWh  11.8 kg   $350  +$43.00, +9.9 kg\n"
           "   paris   h100  -                     $361  70 kWh     4 kg   $360  NoCapacity\n"
           "   tokyo   a     -                        -       -        -      -  NeverFits: no H100\n",
           NULL);
    end(&outcome);
}

#define PLAN_HEAD                                                                                \
    "{\"job\":{\"name\":\"finetune-70b\",\"gpus\":16,\"nodes\":2,\"duration_s\":21600,\"goal\":" \
    "\"balanced\","                                                                              \
    "\"flexible_s\":43200},\"planned_at\":\"2026-03-01T12:00:00.000Z\","

static void plan__is_a_table_of_sites_with_starts_and_figures(void **state)
{
    (void)state;
    static const char document[] = "name: finetune-70b\nrun: ./train\n";
    outcome_t outcome = play_with(
        RULES({"POST /v1/plans ", 0, 200, NULL,
               PLAN_HEAD
               "\"chosen\":\"lulea\",\"chosen_pool\":\"h100\",\"reason\":\"WaitingForWindow\","
               "\"detail\":\"lulea/h100 from 2026-03-01T14:00Z: worth $52.00 more than oregon/h100 now\","
               "\"expected_start\":\"2026-03-01T14:00:00.000Z\",\"candidates\":["
               "{\"site\":\"lulea\",\"pool\":\"h100\",\"backend\":\"slurm\",\"start\":\"2026-03-01T14:00:00."
               "000Z\","
               "\"score_usd\":312.4,\"cost_usd\":312,\"energy_kwh\":71,\"carbon_g\":1900,\"reason\":null,"
               "\"detail\":null},"
               "{\"site\":\"oregon\",\"pool\":\"h100\",\"backend\":\"kubernetes\",\"start\":\"2026-03-01T12:"
               "00:00.000Z\","
               "\"score_usd\":357.4,\"cost_usd\":355,\"energy_kwh\":70,\"carbon_g\":11800,\"reason\":null},"
               "{\"site\":\"tokyo\",\"pool\":\"h100\",\"backend\":\"slurm\",\"start\":\"2026-03-02T03:00:00."
               "000Z\","
               "\"score_usd\":360,\"cost_usd\":312,\"energy_kwh\":71,\"carbon_g\":1900,\"reason\":null},"
               "{\"site\":\"frankfurt\",\"pool\":\"a\",\"backend\":\"slurm\",\"start\":\"2026-03-01T21:00:00."
               "000Z\","
               "\"score_usd\":298,\"cost_usd\":298,\"energy_kwh\":73,\"carbon_g\":27000,\"reason\":"
               "\"CarbonCap\","
               "\"detail\":\"412 g/kWh > max_carbon until 2026-03-01T21:00Z\"}]}",
               WHOLE, 0}),
        WORDS("plan", "-"), document);
    expect(
        &outcome, 0,
        "Plan for finetune-70b   16 GPUs, 2 nodes, 6h00m   goal balanced, may wait 12h00m\n"
        "   SITE       POOL  START                             COST  ENERGY     CO2E  SCORE  WHY\n"
        "✔  lulea      h100  2026-03-01T14:00:00Z (in 2h00m)   $312  71 kWh   1.9 kg   $312  cheapest and cleanest "
        "within the 12h00m that it may wait\n"
        "   oregon     h100  2026-03-01T12:00:00Z (now)        $355  70 kWh  11.8 kg   $357  +$43.00, +9.9 kg\n"
        "   tokyo      h100  2026-03-02T03:00:00Z (in 15h00m)  $312  71 kWh   1.9 kg   $360  as good\n"
        "   frankfurt  a     -                                 $298  73 kWh    27 kg   $298  CarbonCap: 412 g/kWh > "
        "max_carbon until 2026-03-01T21:00Z (in 9h00m)\n"
        "WaitingForWindow: lulea/h100 from 2026-03-01T14:00Z (in 2h00m): worth $52.00 more than oregon/h100 now\n",
        NULL);
    end(&outcome);
}

/*  "from 17 runs of ...": what it rests on, by name, user or kind. */
static void plan__and_explain_say_how_long_it_is_expected_to_run(void **state)
{
    (void)state;
    static const struct {
        const char *run, *text;
    } cases[] = {
        {"{\"duration_s\":2520,\"duration_p90_s\":4200,\"runs\":17,\"failed\":0,\"basis\":\"name\",\"of\":"
         "\"finetune\"}",
         "42m (p90 1h10m) from 17 runs of finetune; limit 6h00m\n"},
        {"{\"duration_s\":2520,\"duration_p90_s\":4200,\"runs\":3,\"failed\":2,\"basis\":\"user\",\"of\":\"ada\"}",
         "42m (p90 1h10m) from 3 runs of user ada; 2 like it failed or were cancelled lately; limit 6h00m\n"},
        {"{\"duration_s\":2520,\"duration_p90_s\":4200,\"runs\":4,\"failed\":0,\"basis\":\"kind\",\"of\":\"train\"}",
         "42m (p90 1h10m) from 4 runs of kind train; limit 6h00m\n"},
        {"null", ""},
        {"{\"duration_s\":null}", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char body[1024], expected[512];
        (void)snprintf(body, sizeof body, PLAN_HEAD "\"time_limit_s\":21600,\"run\":%s,\"candidates\":[]}",
                       cases[i].run);
        outcome_t outcome = play_with(RULES({"POST /v1/plans ", 0, 200, NULL, body, WHOLE, 0}), WORDS("plan", "-"),
                                      "name: a\nrun: b\n");
        (void)snprintf(expected, sizeof expected, "%s%s", cases[i].text[0] ? "Expected to run " : "", cases[i].text);
        assert_int_equal(outcome.code, 0);
        if (cases[i].text[0])
            assert_non_null(strstr(outcome.out, expected));
        else
            assert_null(strstr(outcome.out, "Expected"));
        end(&outcome);
    }
}

static void explain__of_a_job_that_its_quota_holds_says_who_raises_that(void **state)
{
    (void)state;
    static const char body[] =
        "{\"id\":\"abcdefgh\",\"name\":\"a\",\"state\":\"queued\",\"reason\":\"PolicyCap\","
        "\"detail\":\"quota of nlp: 8 of 8 GPUs in use, it needs 4\",\"candidates\":[]}";
    outcome_t outcome = play(RULES({"GET /v1/jobs/abcdefgh/explain ", 0, 200, NULL, body, WHOLE, 0}),
                             WORDS("explain", "abcdefgh"));
    assert_non_null(strstr(outcome.out, "an operator raises the quota with `helio quota set`"));
    assert_null(strstr(outcome.out, "max_cost"));
    end(&outcome);
}

static void not_found__says_where_the_known_ones_are_listed(void **state)
{
    (void)state;
    outcome_t outcome = play(RULES({"DELETE /v1/links", 0, 404, NULL, "{\"detail\":\"no such link\"}", WHOLE, 0}),
                             WORDS("links", "rm", "a", "b"));
    expect(&outcome, 3, "", "`helio links list` shows what there is");
    end(&outcome);
    outcome = play(RULES({"DELETE /v1/data", 0, 404, NULL, "{\"detail\":\"no such data\"}", WHOLE, 0}),
                   WORDS("data", "rm", "s3://a/"));
    expect(&outcome, 3, "", "`helio data list` shows what there is");
    end(&outcome);
    outcome = play(RULES({"POST /v1/jobs/abcdefgh/release", 0, 404, NULL, "{\"detail\":\"no such job\"}", WHOLE, 0}),
                   WORDS("release", "abcdefgh"));
    expect(&outcome, 3, "", "`helio ls` and `helio sites` show what there is");
    end(&outcome);
}

static void explain__of_what_fits_nowhere_expects_no_run(void **state)
{
    (void)state;
    static const char *const reasons[] = {"NeverFits", "WaitingForCapacity"};
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        char body[512];
        (void)snprintf(body, sizeof body,
                       "{\"id\":\"abcdefgh\",\"name\":\"a\",\"state\":\"queued\",\"reason\":\"%s\","
                       "\"time_limit_s\":21600,\"candidates\":[],\"run\":{\"duration_s\":2520,\"duration_p90_s\":4200,"
                       "\"runs\":17,\"failed\":0,\"basis\":\"name\",\"of\":\"finetune\"}}",
                       reasons[i]);
        outcome_t outcome = play_with(RULES({"GET /v1/jobs/abcdefgh/explain ", 0, 200, NULL, body, WHOLE, 0}),
                                      WORDS("explain", "abcdefgh"), "");
        assert_int_equal(outcome.code, 0);
        assert_int_equal(strstr(outcome.out, "Expected to run") != NULL, i == 1);
        end(&outcome);
    }
}

static void plan__that_no_site_could_ever_run_exits_with_five(void **state)
{
    (void)state;
    outcome_t outcome = play_with(
        RULES({"POST /v1/plans ", 0, 200, NULL,
               PLAN_HEAD
               "\"chosen\":null,\"reason\":\"NeverFits\",\"detail\":\"lulea: NoSuchGPU\",\"candidates\":["
               "{\"site\":\"lulea\",\"pool\":\"h100\",\"backend\":\"slurm\",\"start\":"
               "\"2026-03-01T12:00:00.000Z\",\"score_usd\":0,\"cost_usd\":0,\"energy_kwh\":0,\"carbon_g\":0,"
               "\"reason\":\"NoSuchGPU\",\"detail\":null}]}",
               WHOLE, 0}),
        WORDS("plan", "-", "-o", "json"), "run: x\n");
    expect(&outcome, 5, NULL, NULL);
    end(&outcome);
}

static void plan__is_made_of_one_good_job(void **state)
{
    (void)state;
    outcome_t outcome =
        play_with(RULES({"POST", 0, 200, NULL, "{}", WHOLE, 0}), WORDS("plan", "-"), "run: a\n---\nrun: b\n");
    expect(&outcome, 2, "", "a plan is made of one");
    end(&outcome);
    outcome = play_with(RULES({"POST", 0, 200, NULL, "{}", WHOLE, 0}), WORDS("plan", "-"), "runn: a\n");
    expect(&outcome, 2, "", "did you mean");
    end(&outcome);
    outcome = play_with(RULES({"POST", 0, 200, NULL, "{}", WHOLE, 0}), WORDS("plan", "-"), "run: a\n");
    expect(&outcome, 125, "", "versions differ");
    end(&outcome);
}

static void explain__has_a_sentence_for_every_state(void **state)
{
    (void)state;
    static const struct {
        const char *state, *site, *sentence;
    } cases[] = {
        {"queued", "", "t (" ID_A ") is queued\n"},
        {"held", "",
         "t (" ID_A ") is held\n"
         "Way out           an operator lets it be placed again with `helio release ID` once its cause is mended; "
         "`helio cancel ID` ends it\n"},
        {"offered", "lulea", "t (" ID_A ") is offered to lulea\n"},
        {"running", "lulea", "t (" ID_A ") is running at lulea\n"},
        {"stopping", "lulea", "t (" ID_A ") is stopping at lulea\n"},
        {"suspect", "lulea",
         "t (" ID_A ") is suspect, last known at lulea\n"
         "Way out           its site is silent: if it is known to run nothing any more, an operator says so "
         "with "
         "`helio attest SITE --dead`; jobs that may be started again say `on_site_loss: lease`\n"},
        {"succeeded", "lulea", "t (" ID_A ") succeeded at lulea\n"},
        {"failed", "lulea", "t (" ID_A ") failed at lulea\n"},
        {"timeout", "lulea", "t (" ID_A ") ran into its time limit at lulea\n"},
        {"cancelled", "", "t (" ID_A ") was cancelled\n"},
        {"lost", "lulea", "t (" ID_A ") was lost at lulea\n"},
        {"novel", "lulea", "t (" ID_A ") is novel at lulea\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char body[256];
        (void)snprintf(body, sizeof body,
                       "{\"id\":\"" ID_A "\",\"name\":\"t\",\"state\":\"%s\",\"site\":\"%s\"}",
                       cases[i].state, cases[i].site);
        outcome_t outcome = play(RULES({"GET /v1/jobs/bbccccdd/explain ", 0, 200, NULL, body, WHOLE, 0}),
                                 WORDS("explain", "bbccccdd"));
        expect(&outcome, 0, cases[i].sentence, NULL);
        end(&outcome);
    }
}

static void doctor__finds_everything_well(void **state)
{
    (void)state;
    outcome_t outcome = play(
        RULES({"GET /healthz", 0, 200, NULL, "ok\n", WHOLE, 0},
              {"GET /readyz", 0, 200, NULL, "ok\n", WHOLE, 0},
              {"GET /v1/whoami", 0, 200, NULL,
               "{\"tenant\":\"nlp\",\"user\":\"ana\",\"role\":\"user\",\"version\":\"0.0.1\"}", WHOLE, 0},
              {"GET /v1/sites", 0, 200, NULL,
               "[{\"site\":\"a\",\"state\":\"ready\"},{\"site\":\"b\",\"state\":\"lost\"}]", WHOLE, 0}),
        WORDS("doctor"));
    expect(&outcome, 0, NULL, NULL);
    assert_null(strstr(outcome.out, "✗"));
    assert_non_null(strstr(outcome.out, "ana of nlp, role user"));
    assert_non_null(strstr(outcome.out, "1 of 2 ready"));
    assert_non_null(strstr(outcome.out, "! version   helio is " HELIO_RELEASE ", the broker 0.0.1"));
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
}

static void token_add__prints_the_new_token_alone(void **state)
{
    (void)state;
    outcome_t outcome = play(RULES({"POST /v1/tokens", 0, 201, NULL,
                                    "{\"token\":\"hel_new_one\",\"token_id\":\"new\"}", WHOLE, 0}),
                             WORDS("token", "add", "--tenant", "nlp", "--user", "ana", "--ttl", "2d"));
    expect(&outcome, 0, "hel_new_one\n", "only time");
    assert_int_equal(
        broker_double_count(outcome.broker,
                            "{\"tenant\":\"nlp\",\"user\":\"ana\",\"role\":\"user\",\"ttl_s\":172800}"),
        1);
    end(&outcome);
}

static void token_add__says_that_the_tenant_has_no_home(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES({"POST /v1/tokens", 0, 201, NULL,
                    "{\"token\":\"hel_new_one\",\"token_id\":\"new\",\"note\":\"tenant nlp has no home site\"}",
                    WHOLE, 0}),
             WORDS("token", "add", "--tenant", "nlp", "--user", "ana"));
    expect(&outcome, 0, "hel_new_one\n", "tenant nlp has no home site");
    end(&outcome);
}

static void edit__sends_what_was_given_in_the_words_of_a_job_file(void **state)
{
    (void)state;
    outcome_t outcome = play(
        RULES({"PATCH /v1/jobs/first1 ", 0, 200, NULL, "{\"id\":\"" ID_A "\",\"status\":\"edited: goal cheap → green\"}", WHOLE, 0},
              {"PATCH /v1/jobs/second ", 0, 409, "Content-Type: application/problem+json\r\n",
               "{\"title\":\"Conflict\",\"reason\":\"Conflict\",\"detail\":\"job second has a place\"}", WHOLE, 0}),
        WORDS("edit", "first1", "second", "--priority", "-5", "--goal", "green", "--deadline", "none", "--flexible", "12h",
              "--max-cost", "400 USD", "--max-carbon", "none", "--queue", "batch"));
    expect(&outcome, 6, "", ID_A " edited: goal cheap → green");
    assert_non_null(strstr(outcome.err, "has a place"));
    assert_int_equal(broker_double_count(outcome.broker,
                                         "{\"priority\":-5,\"goal\":\"green\",\"deadline\":null,\"flexible\":\"12h\",\"max_cost\":"
                                         "\"400 USD\",\"max_carbon\":null,\"queue\":\"batch\"}"),
                     2);
    end(&outcome);
    outcome = play(RULES({"PATCH ", 0, 200, NULL, "{}", WHOLE, 0}), WORDS("edit", "first1"));
    expect(&outcome, 2, "", "nothing to edit");
    end(&outcome);
    outcome = play(RULES({"PATCH ", 0, 200, NULL, "{}", WHOLE, 0}), WORDS("edit", "first1", "--priority", "high"));
    expect(&outcome, 2, "", "--priority is a whole number, -100 to 100, not 'high'");
    end(&outcome);
    outcome = play(RULES({"PATCH ", 0, 200, NULL, "{}", WHOLE, 0}), WORDS("edit", "first1", "--goal", "gren"));
    expect(&outcome, 2, "", "fast cheap balanced green");
    end(&outcome);
}

static void show__says_what_was_edited_when_and_by_whom(void **state)
{
    (void)state;
    outcome_t outcome = play(
        RULES({"GET /v1/jobs/first1 ", 0, 200, NULL,
               "{\"id\":\"" ID_A "\",\"state\":\"queued\",\"edits\":[{\"time\":\"2026-03-01T12:03:00.000Z\",\"actor\":\"user:ada\","
               "\"field\":\"goal\",\"from\":\"balanced\",\"to\":\"green\"}]}",
               WHOLE, 0}),
        WORDS("show", "first1"));
    assert_int_equal(outcome.code, 0);
    assert_non_null(strstr(outcome.out, "\nEdited\nTIME                  FIELD  FROM      TO     ACTOR\n"
                                        "2026-03-01T12:03:00Z  goal   balanced  green  user:ada\n"));
    end(&outcome);
}

static void cancel__goes_on_after_one_that_is_not_there(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES({"DELETE /v1/jobs/first1 ", 0, 404, NULL, "{\"detail\":\"no such job\"}", WHOLE, 0},
                   {"DELETE /v1/jobs/second ", 0, 202, NULL, "{\"id\":\"" ID_B "\"}", WHOLE, 0}),
             WORDS("cancel", "first1", "second"));
    expect(&outcome, 3, "", "cancelling " ID_B);
    end(&outcome);
}

static void attest__needs_the_word_dead(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES({"POST /v1/sites/lulea/attest ", 0, 200, NULL, "{}", WHOLE, 0}), WORDS("attest", "lulea"));
    expect(&outcome, 2, "", "--dead");
    assert_int_equal(broker_double_count(outcome.broker, "POST"), 0);
    end(&outcome);
    outcome = play(RULES({"POST /v1/sites/lulea/attest ", 0, 200, NULL, "{}", WHOLE, 0}),
                   WORDS("attest", "lulea", "--dead"));
    expect(&outcome, 0, "", "attested dead");
    end(&outcome);
}

static void keys_add__sends_no_secret(void **state)
{
    (void)state;
    char path[] = "/tmp/helio-key-XXXXXX";
    int fd = mkstemp(path);
    static const char file[] = "curve\n    public-key = \"Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID\"\n"
                               "    secret-key = \"D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs\"\n";
    assert_true(write(fd, file, sizeof file - 1) == (ssize_t)(sizeof file - 1));
    close(fd);
    outcome_t outcome =
        play(RULES({"POST /v1/sites", 0, 201, NULL, "{}", WHOLE, 0}), WORDS("keys", "add", "lulea", path));
    expect(&outcome, 2, "", "holds a secret key");
    assert_int_equal(broker_double_count(outcome.broker, "POST"), 0);
    end(&outcome);
    outcome = play(RULES({"POST /v1/sites", 0, 201, NULL, "{}", WHOLE, 0}),
                   WORDS("keys", "add", "lulea", "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"));
    expect(&outcome, 0, "", "lulea may connect");
    assert_int_equal(
        broker_double_count(outcome.broker, "\"public_key\":\"Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID\""),
        1);
    end(&outcome);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pump__does_not_wait_for_what_is_over_already),
        cmocka_unit_test(statuses__become_exit_codes_with_a_remedy),
        cmocka_unit_test(quota__is_put_as_it_was_said_and_again_when_no_answer_came),
        cmocka_unit_test(data__is_put_listed_and_removed_as_it_was_said),
        cmocka_unit_test(links__are_put_listed_and_removed_as_it_was_said),
        cmocka_unit_test(queues__are_set_scheduled_and_removed_as_it_was_said),
        cmocka_unit_test(queues__half_a_wish_is_refused_with_the_rest_of_it),
        cmocka_unit_test(queues__rules_are_listed_as_they_stand),
        cmocka_unit_test(overflow__steps_are_sent_in_their_order),
        cmocka_unit_test(requests__carry_the_token_and_are_repeated_when_it_is_harmless),
        cmocka_unit_test(requests__that_change_something_are_sent_once),
        cmocka_unit_test(forecast__draws_a_line_a_series_and_keeps_the_figures),
        cmocka_unit_test(forecast__of_a_site_that_tells_nothing_says_so),
        cmocka_unit_test(broker__that_is_not_there_is_named_with_a_remedy),
        cmocka_unit_test(answers__that_break_off_are_no_answers),
        cmocka_unit_test(sites__that_are_refused_are_named_below_the_table),
        cmocka_unit_test(submit__prints_one_id_a_line),
        cmocka_unit_test(submit__json_lines_travel_byte_for_byte),
        cmocka_unit_test(submit__an_answer_lost_on_the_way_is_asked_for_with_the_same_key),
        cmocka_unit_test(submit__wrong_documents_are_shown_here_and_nothing_is_sent),
        cmocka_unit_test(submit__an_answer_for_other_jobs_is_no_success),
        cmocka_unit_test(ls__goes_through_pages_and_filters),
        cmocka_unit_test(ls__says_when_there_are_more),
        cmocka_unit_test(ls__a_cursor_that_stands_still_ends),
        cmocka_unit_test(wait__exits_with_the_jobs_own_code),
        cmocka_unit_test(wait__of_several_gives_the_first_bad_code_in_the_order_given),
        cmocka_unit_test(wait__a_held_job_is_said_to_be_with_the_way_out_and_ends_it),
        cmocka_unit_test(wait__a_held_job_is_waited_for_when_told_to_or_while_others_go_on),
        cmocka_unit_test(wait__is_woken_by_the_event_stream),
        cmocka_unit_test(wait__polls_where_there_is_no_stream),
        cmocka_unit_test(wait__outlives_a_broker_that_goes_away),
        cmocka_unit_test(wait__a_lost_connection_is_never_success),
        cmocka_unit_test(wait__a_job_or_a_token_that_is_gone_ends_it),
        cmocka_unit_test(wait__a_state_it_does_not_know_is_an_error),
        cmocka_unit_test(wait__ctrl_c_leaves_without_touching_the_job),
        cmocka_unit_test(run__prints_each_byte_of_the_log_once_and_exits_with_the_code),
        cmocka_unit_test(run__a_job_that_moves_has_the_log_of_each_attempt),
        cmocka_unit_test(run__a_silent_log_of_an_attempt_that_is_over_does_not_hold_up_the_next),
        cmocka_unit_test(run__a_job_that_never_started_has_no_log),
        cmocka_unit_test(run__a_log_whose_end_cannot_be_read_does_not_hide_the_code),
        cmocka_unit_test(run__ctrl_c_asks_first_and_cancels_then),
        cmocka_unit_test(run__a_rejected_submission_is_not_followed),
        cmocka_unit_test(logs__reads_on_from_where_it_broke_until_there_is_no_more),
        cmocka_unit_test(events__go_on_after_the_last_one_that_was_seen),
        cmocka_unit_test(events__without_follow_end_when_it_is_quiet),
        cmocka_unit_test(show__names_no_gpu_model_for_a_job_without_gpus),
        cmocka_unit_test(show__says_of_a_job_that_is_not_over_only_what_is_known_of_its_use),
        cmocka_unit_test(report__says_how_many_jobs_are_not_held_against_home),
        cmocka_unit_test(ls__names_the_tenant_where_there_are_several),
        cmocka_unit_test(explain__says_it_in_sentences),
        cmocka_unit_test(plan__is_a_table_of_sites_with_starts_and_figures),
        cmocka_unit_test(plan__and_explain_say_how_long_it_is_expected_to_run),
        cmocka_unit_test(explain__of_a_job_that_its_quota_holds_says_who_raises_that),
        cmocka_unit_test(not_found__says_where_the_known_ones_are_listed),
        cmocka_unit_test(explain__of_what_fits_nowhere_expects_no_run),
        cmocka_unit_test(plan__that_no_site_could_ever_run_exits_with_five),
        cmocka_unit_test(plan__is_made_of_one_good_job),
        cmocka_unit_test(explain__has_a_sentence_for_every_state),
        cmocka_unit_test(doctor__finds_everything_well),
        cmocka_unit_test(doctor__names_what_is_wrong_with_a_remedy),
        cmocka_unit_test(token_add__prints_the_new_token_alone),
        cmocka_unit_test(token_add__says_that_the_tenant_has_no_home),
        cmocka_unit_test(edit__sends_what_was_given_in_the_words_of_a_job_file),
        cmocka_unit_test(show__says_what_was_edited_when_and_by_whom),
        cmocka_unit_test(cancel__goes_on_after_one_that_is_not_there),
        cmocka_unit_test(attest__needs_the_word_dead),
        cmocka_unit_test(keys_add__sends_no_secret),
    };
    /* The double is on this machine, whatever proxy the environment names. */
    (void)setenv("no_proxy", "*", 1);
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
