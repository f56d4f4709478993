/*  test_remote_set.c -- what operators set and issue. */
#include "tests/unit/client/program/remote_testing.h"

static void quota__is_sent_as_given_and_repeated_without_a_reply(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES({"PUT /v1/quotas/acme", 1, 503, NULL, "", WHOLE, 0},
                   {"PUT /v1/quotas/acme", 0, 200, NULL, "{\"tenant\":\"acme\",\"status\":\"as said\"}", WHOLE, 0}),
             WORDS("quota", "set", "acme", "--burst", "none", "--guaranteed", "16", "--queue", "batch"));
    expect(&outcome, 0, "", "acme in batch: as said");
    assert_int_equal(broker_double_count(outcome.broker, "PUT "), 2);
    assert_int_equal(broker_double_count(outcome.broker, "\"burst_gpus\":null"), 2);
    assert_int_equal(broker_double_count(outcome.broker, "\"guaranteed_gpus\":16"), 2);
    assert_int_equal(broker_double_count(outcome.broker, "\"queue\":\"batch\""), 2);
    end(&outcome);
}

static void audit__a_broken_chain_is_a_failure_that_names_the_entry(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES({"GET /v1/audit/verify", 0, 200, NULL, "{\"broken_at\":null,\"entries\":12}", WHOLE, 0}),
             WORDS("audit", "verify"));
    expect(&outcome, 0, "Entries           12\n", "the hash chain is intact");
    end(&outcome);
    outcome = play(RULES({"GET /v1/audit/verify", 0, 200, NULL, "{\"broken_at\":7,\"entries\":12}", WHOLE, 0}),
                   WORDS("audit", "verify"));
    expect(&outcome, 1, NULL, "entry 7 does not match the entry before it");
    end(&outcome);
    outcome =
        play(RULES({"GET /v1/audit/verify", 0, 200, NULL, "{\"entries\":12}", WHOLE, 0}), WORDS("audit", "verify"));
    assert_int_not_equal(outcome.code, 0); /* an answer that does not say so does not say that it is whole */
    end(&outcome);
}

/*  Cron mails what is printed: nothing while all is well. What a program asked for is no progress. */
static void audit_verify__quietly_prints_only_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *reply, *format, *out, *err;
        int code;
    } cases[] = {
        {"{\"broken_at\":null,\"entries\":12}", "table", "", "", 0},
        {"{\"broken_at\":null,\"entries\":12}", "json", "12", "", 0},
        {"{\"broken_at\":7,\"entries\":12}", "table", "12", "entry 7 does not match", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        outcome_t outcome = play(RULES({"GET /v1/audit/verify", 0, 200, NULL, cases[i].reply, WHOLE, 0}),
                                 WORDS("audit", "verify", "--quiet", "-o", cases[i].format));
        expect(&outcome, cases[i].code, NULL, NULL);
        assert_non_null(strstr(outcome.out, cases[i].out));
        assert_non_null(strstr(outcome.err, cases[i].err));
        assert_int_equal(outcome.out[0] == '\0', cases[i].out[0] == '\0');
        assert_int_equal(outcome.err[0] == '\0', cases[i].err[0] == '\0');
        end(&outcome);
    }
}

static void quota__budgets_are_sent_as_given(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES({"PUT /v1/quotas/acme", 0, 200, NULL, "{\"tenant\":\"acme\",\"status\":\"as said\"}", WHOLE, 0}),
             WORDS("quota", "set", "acme", "--budget", "20000 USD/month", "--budget", "none t"));
    expect(&outcome, 0, "", "acme: as said");
    assert_int_equal(broker_double_count(outcome.broker, "{\"budgets\":[\"20000 USD/month\",\"none t\"]}"), 1);
    end(&outcome);
    outcome = play(RULES({"PUT /v1/quotas/acme", 0, 400, NULL,
                          "{\"title\":\"Invalid\",\"detail\":\"budget '5 USD': in what time?\"}", WHOLE, 0}),
                   WORDS("quota", "set", "acme", "--budget", "5 USD"));
    assert_int_not_equal(outcome.code, 0);
    assert_non_null(strstr(outcome.err, "in what time?"));
    end(&outcome);
}

#define BUDGETS                                                                                                  \
    "[{\"tenant\":\"acme\",\"queue\":null,\"guaranteed_gpus\":0,\"burst_gpus\":64,\"gpus_in_use\":8,"            \
    "\"jobs_running\":1,\"gpu_hours_day\":1,\"weight\":1,\"budgets\":[{\"kind\":\"money\",\"period\":\"month\"," \
    "\"unit\":\"USD\",\"budget\":20000,\"used\":18999.75,\"committed\":12.25,\"left\":988,"                      \
    "\"begins_again\":\"2026-12-01T00:00:00.000Z\",\"of_each\":false},{\"kind\":\"carbon\",\"period\":\"day\","  \
    "\"unit\":\"kg CO2e\",\"budget\":10.5,\"used\":0,\"committed\":0.125,\"left\":10.375,"                       \
    "\"begins_again\":\"2026-11-22T00:00:00.000Z\",\"of_each\":true}]}]"

static void quota__budgets_are_a_table_of_their_own(void **state)
{
    (void)state;
    outcome_t outcome = play(RULES({"GET /v1/quotas", 0, 200, NULL, BUDGETS, WHOLE, 0}), WORDS("quota"));
    const char *table = strstr(outcome.out, "\n\nTENANT");
    assert_non_null(table);
    const char *const words[] = {"BUDGET", "USED", "COMMITTED", "LEFT",      "NEXT-PERIOD", "20000",
                                 "19000",  "12.2", "988",       "USD",       "2026-12-01",  "10.5",
                                 "0.125",  "10.4", "kg CO2e",   "2026-11-22"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (!strstr(table, words[i]))
            fail_msg("'%s' is not in the table:\n%s", words[i], table);
    end(&outcome);
    outcome = play(RULES({"GET /v1/quotas", 0, 200, NULL, BUDGETS, WHOLE, 0}), WORDS("quota", "-o", "json"));
    assert_non_null(strstr(outcome.out, "\"committed\": 12.25"));
    end(&outcome);
    outcome = play(RULES({"GET /v1/quotas", 0, 200, NULL, BUDGETS, WHOLE, 0}), WORDS("quota", "-o", "csv"));
    assert_non_null(strstr(outcome.out, "gpu_hours_day,budgets\n"));
    assert_non_null(strstr(outcome.out, "18999.75")); /* one field, as JSON */
    end(&outcome);
}

/*  A figure that is unknown, or small, is not shown as the figure 0. */
static void quota__budgets_show_0_only_for_0(void **state)
{
    (void)state;
    static const struct {
        const char *used, *shown;
    } cases[] = {{"0", " 0 "},           {"0.000316", " 0.000316 "}, {"-0.0004", " -0.0004 "},
                 {"0.0071", " 0.0071 "}, {"0.0125", " 0.013 "},      {"1e-7", " 0 "},
                 {"null", " - "}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char reply[512];
        (void)snprintf(reply, sizeof reply,
                       "[{\"tenant\":\"acme\",\"queue\":null,\"budgets\":[{\"period\":\"day\",\"unit\":\"USD\","
                       "\"budget\":777,\"used\":%s,\"committed\":888,\"left\":999,\"begins_again\":null}]}]",
                       cases[i].used);
        outcome_t outcome = play(RULES({"GET /v1/quotas", 0, 200, NULL, reply, WHOLE, 0}), WORDS("quota"));
        const char *row = strstr(outcome.out, "777"), *after = row ? strstr(row, "888") : NULL;
        char between[64] = "";
        if (after)
            (void)snprintf(between, sizeof between, "%.*s", (int)(after - row - 3), row + 3);
        if (!strstr(between, cases[i].shown))
            fail_msg("%s: '%s'\n%s", cases[i].used, between, outcome.out);
        end(&outcome);
    }
}

static void quota__of_an_unknown_tenant_says_which_was_meant(void **state)
{
    (void)state;
    outcome_t outcome = play(RULES({"GET /v1/quotas", 0, 200, NULL, BUDGETS, WHOLE, 0}), WORDS("quota", "amce"));
    expect(&outcome, HELIO_EXIT_NOT_FOUND, "",
           "tenant 'amce' does not exist, or is not visible to you; did you mean 'acme'?");
    end(&outcome);
}

static void data__is_set_listed_and_removed_as_given(void **state)
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
    outcome =
        play(RULES({"DELETE /v1/data?prefix=s3%3A%2F%2Facme%20x", 0, 200, NULL, "{\"status\":\"removed\"}", WHOLE, 0}),
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

static void links__are_set_listed_and_removed_as_given(void **state)
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
    expect(&outcome, 2, "", "--gbps: 'fast' is not a number");
    end(&outcome);
}

#define SAID "{\"queue\":\"batch\",\"status\":\"as said\"}"

static void queues__are_set_scheduled_and_removed_as_given(void **state)
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

static void queues__an_incomplete_change_is_refused_with_what_is_missing(void **state)
{
    (void)state;
    static const struct {
        const char *words[10], *says;
    } cases[] = {
        {{"queues", "set", "batch"}, "--priority, --tier or --time"},
        {{"queues", "set", "batch", "--region", "EU", "--priority", "5"},
         "give either --priority with --for, or --clear"},
        {{"queues", "set", "batch", "--for", "6h"}, "give either --priority with --for, or --clear"},
        {{"queues", "set", "batch", "--for", "6h", "--priority", "5", "--clear"},
         "give either --priority with --for, or --clear"},
        {{"queues", "set", "batch", "--for", "6h", "--priority", "5", "--tier", "standard"}, "only the priority"},
        {{"queues", "schedule", "batch", "--priority", "5"}, "HOURS is required"},
        {{"queues", "schedule", "batch", "20:00-08:00"}, "--priority or --remove is required"},
        {{"queues", "schedule", "batch", "20:00-08:00", "--remove", "--priority", "5"},
         "--priority or --remove is required"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        outcome_t outcome = play(RULES({"PUT ", 0, 200, NULL, SAID, WHOLE, 0}), cases[i].words);
        expect(&outcome, 2, "", cases[i].says);
        assert_int_equal(broker_double_count(outcome.broker, "PUT "), 0);
        end(&outcome);
    }
}

static void queues__rules_are_listed_with_their_state(void **state)
{
    (void)state;
    outcome_t outcome = play(
        RULES({"GET /v1/queues", 0, 200, NULL,
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

static void tenants__are_set_and_listed(void **state)
{
    (void)state;
    outcome_t outcome = play(RULES({"POST /v1/tenants ", 0, 200, NULL,
                                    "{\"tenant\":\"acme\",\"status\":\"made: home lulea, weight 2.000\"}", WHOLE, 0}),
                             WORDS("tenants", "set", "acme", "--home", "lulea", "--weight", "2"));
    expect(&outcome, 0, "", "acme made: home lulea, weight 2.000");
    assert_int_equal(broker_double_count(outcome.broker, "{\"tenant\":\"acme\",\"home\":\"lulea\",\"weight\":2.0}"), 1);
    end(&outcome);
    outcome = play(RULES({"POST /v1/tenants ", 0, 200, NULL, "{\"tenant\":\"acme\",\"status\":\"set\"}", WHOLE, 0}),
                   WORDS("tenants", "set", "acme", "--home", "none"));
    assert_int_equal(broker_double_count(outcome.broker, "{\"tenant\":\"acme\",\"home\":null}"), 1);
    end(&outcome);
    outcome = play(
        RULES({"GET /v1/tenants ", 0, 200, NULL,
               "[{\"tenant\":\"acme\",\"home_site\":\"lulea\",\"weight\":2.0,\"users\":3,\"jobs_open\":4}]", WHOLE, 0}),
        WORDS("tenants"));
    expect(&outcome, 0, "TENANT  HOME   WEIGHT  USERS  JOBS\nacme    lulea       2      3     4\n", NULL);
    end(&outcome);
}

static void undrain__says_what_was_done(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES({"POST /v1/sites/lulea/undrain ", 0, 200, NULL,
                    "{\"site\":\"lulea\",\"status\":\"x\",\"details\":[{\"code\":\"SiteUndrained\"}]}", WHOLE, 0}),
             WORDS("undrain", "lulea"));
    expect(&outcome, 0, "", "lulea gets new jobs again");
    end(&outcome);
    outcome = play(
        RULES(
            {"POST /v1/sites/lulea/undrain ", 0, 200, NULL,
             "{\"site\":\"lulea\",\"status\":\"x\",\"details\":[{\"code\":\"SiteNotDrained\",\"params\":{\"site\":\"lulea\"}}]}",
             WHOLE, 0}),
        WORDS("undrain", "lulea"));
    expect(&outcome, 0, "", "lulea is not drained; nothing was changed");
    end(&outcome);
}

static void curtail__share_and_time_are_sent(void **state)
{
    (void)state;
    outcome_t outcome = play(
        RULES({"POST /v1/sites/lulea/curtail ", 0, 200, NULL, "{\"site\":\"lulea\",\"status\":\"curtailed to 60 %\"}",
               WHOLE, 0}),
        WORDS("curtail", "lulea", "--to", "60%", "--for", "2h", "--at", "2026-11-22T17:00:00Z", "--reason", "grid"));
    expect(&outcome, 0, "", "lulea: curtailed to 60 %");
    assert_int_equal(
        broker_double_count(outcome.broker, "{\"to_percent\":60,\"for_s\":7200,\"at\":\"2026-11-22T17:00:00Z\","
                                            "\"reason\":\"grid\"}"),
        1);
    end(&outcome);
    outcome = play(RULES({"POST /v1/sites/lulea/uncurtail ", 0, 200, NULL,
                          "{\"site\":\"lulea\",\"status\":\"1 curtailment ended\"}", WHOLE, 0}),
                   WORDS("uncurtail", "lulea"));
    expect(&outcome, 0, "", "lulea: 1 curtailment ended");
    end(&outcome);
    static const char *const shares[] = {"101%", "60.5%", "-1", "60kW", ""};
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        outcome = play(RULES({"POST /v1/ ", 0, 200, NULL, "{}", WHOLE, 0}),
                       WORDS("curtail", "lulea", "--to", shares[i], "--for", "2h", "--reason", "grid"));
        expect(&outcome, 2, "", "");
        end(&outcome);
    }
    outcome = play(RULES({"POST /v1/ ", 0, 200, NULL, "{}", WHOLE, 0}), WORDS("curtail", "lulea", "--to", "60%"));
    expect(&outcome, 2, "", "--to, --for and --reason are required");
    end(&outcome);
    outcome =
        play(RULES({"GET /v1/curtailments?days=3&site=lulea ", 0, 200, NULL,
                    "[{\"site\":\"lulea\",\"to_percent\":60,\"state\":\"in_force\",\"from\":\"2026-11-22T17:00:00Z\","
                    "\"until\":\"2026-11-22T19:00:00Z\",\"limit_watts\":6000,\"used_watts\":5000,\"kept_watts\":0,"
                    "\"jobs_stopped\":2,\"lost_gpu_s\":90,\"reason\":\"grid\"}]",
                    WHOLE, 0}),
             WORDS("curtailments", "lulea", "--days", "3"));
    expect(&outcome, 0, NULL, NULL);
    end(&outcome);
}

static void desired__has_columns_that_cover_all_hours(void **state)
{
    (void)state;
    static const char answer[] =
        "[{\"site\":\"lulea\",\"pool\":\"a\",\"nodes\":1,\"nodes_most\":4,\"gpus_per_node\":8,\"running_gpus\":4,\"waiting_gpus\":16,"
        "\"planned_gpus\":0,\"desired_gpus\":24,\"hours\":[{\"desired_gpus\":24},{\"desired_gpus\":8,"
        "\"time\":\"2026-03-01T13:00:00.000Z\"},{},{\"desired_gpus\":16},{\"desired_gpus\":0}]}]";
    outcome_t outcome =
        play(RULES({"GET /v1/desired ", 0, 200, NULL, answer, WHOLE, 0}), WORDS("desired", "-o", "csv"));
    expect(&outcome, 0,
           "site,pool,nodes,nodes_most,gpus_per_node,running_gpus,waiting_gpus,planned_gpus,desired_gpus,"
           "desired_gpus_in_1h,desired_gpus_in_2h_to_4h,desired_gpus_in_5h_to_12h,desired_gpus_in_13h_to_24h\n"
           "lulea,a,1,4,8,4,16,0,24,8,16,,\n", /* of hours 2 to 4 the most */
           NULL);
    end(&outcome);
    outcome = play(RULES({"GET /v1/desired ", 0, 200, NULL, answer, WHOLE, 0}), WORDS("desired"));
    expect(&outcome, 0, NULL, NULL);
    assert_non_null(strstr(outcome.out, "  +1H  +2-4H  +5-12H  +13-24H\n"));
    assert_non_null(strstr(outcome.out, "\n+1H is the next full hour, 2026-03-01T13:00:00Z; "));
    end(&outcome);
    outcome = play(RULES({"GET /v1/desired?site=lulea ", 0, 200, NULL, answer, WHOLE, 0}),
                   WORDS("desired", "lulea", "-o", "jsonl"));
    expect(&outcome, 0, NULL, NULL);
    assert_null(strstr(outcome.out, "desired_gpus_in"));
    end(&outcome);
}

static void overflow__steps_are_sent_in_their_order(void **state)
{
    (void)state;
    outcome_t outcome = play(
        RULES({"PUT /v1/overflows/out ", 0, 200, NULL, "{\"name\":\"out\",\"status\":\"set; step 1: odd\"}", WHOLE, 0}),
        WORDS("overflow", "set", "out", "--queue", "batch", "--step", "home-*", "--step=eu-*,after=10m", "--step",
              "cloud,after=30m,max-price=3"));
    expect(&outcome, 0, "", "out: home-*; eu-*,after=10m; cloud,after=30m,max-price=3: set; step 1: odd");
    assert_int_equal(broker_double_count(outcome.broker, "{\"queue\":\"batch\",\"steps\":\"home-*; eu-*,after=10m; "
                                                         "cloud,after=30m,max-price=3\"}"),
                     1);
    end(&outcome);
    outcome = play(RULES({"PUT ", 0, 200, NULL, "{}", WHOLE, 0}), WORDS("overflow", "set", "out", "--step", "a"));
    expect(&outcome, 2, "", "--queue, --tenant or both are required");
    end(&outcome);
    outcome = play(RULES({"PUT ", 0, 200, NULL, "{}", WHOLE, 0}), WORDS("overflow", "set", "out", "--queue", "a"));
    expect(&outcome, 2, "", "at least one --step is required");
    end(&outcome);
}

static void token_add__prints_only_the_new_token(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES({"POST /v1/tokens", 0, 201, NULL, "{\"token\":\"hel_new_one\",\"token_id\":\"new\"}", WHOLE, 0}),
             WORDS("token", "add", "--tenant", "nlp", "--user", "ana", "--ttl", "2d"));
    expect(&outcome, 0, "hel_new_one\n", "only this once");
    assert_int_equal(
        broker_double_count(outcome.broker, "{\"tenant\":\"nlp\",\"user\":\"ana\",\"role\":\"user\",\"ttl_s\":172800}"),
        1);
    end(&outcome);
}

static void token_add__says_that_the_tenant_has_no_home(void **state)
{
    (void)state;
    outcome_t outcome = play(
        RULES({"POST /v1/tokens", 0, 201, NULL,
               "{\"token\":\"hel_new_one\",\"token_id\":\"new\",\"note\":\"tenant nlp has no home site\"}", WHOLE, 0}),
        WORDS("token", "add", "--tenant", "nlp", "--user", "ana"));
    expect(&outcome, 0, "hel_new_one\n", "tenant nlp has no home site");
    end(&outcome);
}

static void user__is_disabled_and_enabled_by_tenant_and_name(void **state)
{
    (void)state;
    static const struct {
        const char *verb, *body, *says;
    } cases[] = {
        {"disable", "{\"tenant\":\"nlp\",\"user\":\"ana\",\"disabled\":true}", "disabled ana"},
        {"enable", "{\"tenant\":\"nlp\",\"user\":\"ana\",\"disabled\":false}", "enabled ana"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        outcome_t outcome = play(RULES({"POST /v1/principals", 0, 200, NULL, "{}", WHOLE, 0}),
                                 WORDS("user", cases[i].verb, "ana", "--tenant", "nlp"));
        expect(&outcome, 0, "", cases[i].says);
        assert_int_equal(broker_double_count(outcome.broker, cases[i].body), 1);
        end(&outcome);
        outcome =
            play(RULES({"POST /v1/principals", 0, 200, NULL, "{}", WHOLE, 0}), WORDS("user", cases[i].verb, "ana"));
        expect(&outcome, 2, "", "--tenant");
        assert_int_equal(broker_double_count(outcome.broker, "/v1/principals"), 0);
        end(&outcome);
    }
}

static void attest__needs_dead_a_reason_and_a_confirmation(void **state)
{
    (void)state;
    static const struct {
        const char *words[8], *says;
    } cases[] = {
        {{"attest", "lulea"}, "--dead"},
        {{"attest", "lulea", "--dead"}, "how you know that nothing runs there"},
        {{"attest", "lulea", "--dead", "-y"}, "--reason"},
        {{"attest", "lulea", "--dead", "--reason", "no power"},
         "no terminal for the confirmation"}, /* as in a script */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        outcome_t outcome = play(RULES({"POST /v1/sites/lulea/attest ", 0, 200, NULL, "{}", WHOLE, 0}), cases[i].words);
        expect(&outcome, 2, "", cases[i].says);
        assert_int_equal(broker_double_count(outcome.broker, "POST"), 0);
        end(&outcome);
    }
    outcome_t outcome = play(RULES({"POST /v1/sites/lulea/attest ", 0, 200, NULL, "{}", WHOLE, 0}),
                             WORDS("attest", "lulea", "--dead", "--reason", "no power", "-y"));
    expect(&outcome, 0, "", "attested dead");
    assert_int_equal(broker_double_count(outcome.broker, "\"reason\":\"no power\""), 1);
    end(&outcome);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quota__is_sent_as_given_and_repeated_without_a_reply),
        cmocka_unit_test(audit__a_broken_chain_is_a_failure_that_names_the_entry),
        cmocka_unit_test(audit_verify__quietly_prints_only_what_is_wrong),
        cmocka_unit_test(quota__budgets_are_sent_as_given),
        cmocka_unit_test(quota__budgets_are_a_table_of_their_own),
        cmocka_unit_test(quota__budgets_show_0_only_for_0),
        cmocka_unit_test(quota__of_an_unknown_tenant_says_which_was_meant),
        cmocka_unit_test(data__is_set_listed_and_removed_as_given),
        cmocka_unit_test(links__are_set_listed_and_removed_as_given),
        cmocka_unit_test(queues__are_set_scheduled_and_removed_as_given),
        cmocka_unit_test(queues__an_incomplete_change_is_refused_with_what_is_missing),
        cmocka_unit_test(queues__rules_are_listed_with_their_state),
        cmocka_unit_test(tenants__are_set_and_listed),
        cmocka_unit_test(undrain__says_what_was_done),
        cmocka_unit_test(curtail__share_and_time_are_sent),
        cmocka_unit_test(desired__has_columns_that_cover_all_hours),
        cmocka_unit_test(overflow__steps_are_sent_in_their_order),
        cmocka_unit_test(token_add__prints_only_the_new_token),
        cmocka_unit_test(token_add__says_that_the_tenant_has_no_home),
        cmocka_unit_test(user__is_disabled_and_enabled_by_tenant_and_name),
        cmocka_unit_test(attest__needs_dead_a_reason_and_a_confirmation),
    };
    /* The double is on this machine, whatever proxy the environment names. */
    (void)setenv("no_proxy", "*", 1);
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
