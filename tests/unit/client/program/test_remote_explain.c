/*  test_remote_explain.c -- what is said of plans, decisions and jobs. */
#include "tests/unit/client/program/remote_testing.h"

/* ---- events, explain, doctor, others ------------------------------------------------------------------- */

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
                       "{\"id\":\"" ID_A "\",\"name\":\"t\",\"state\":\"running\",\"gpus\":%s,\"gpu_model\":\"H100\"}",
                       cases[i].gpus);
        outcome_t outcome =
            play(RULES({"GET /v1/jobs/bbccccdd ", 0, 200, NULL, body, WHOLE, 0}), WORDS("show", "bbccccdd"));
        expect(&outcome, 0, NULL, NULL);
        assert_int_equal(strstr(outcome.out, "H100") != NULL, cases[i].named);
        end(&outcome);
    }
}

static void show__gives_only_the_known_use_of_an_open_job(void **state)
{
    (void)state;
    static const struct {
        const char *state, *gpu_seconds;
        bool shown, so_far;
    } cases[] = {{"running", "0", false, false}, {"running", "160", true, true},  {"queued", "160", true, true},
                 {"queued", "0", false, false},  {"cancelled", "0", true, false}, {"succeeded", "160", true, false}};
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
        assert_int_equal(strstr(outcome.out, "cover the attempts that have ended") != NULL, cases[i].so_far);
        end(&outcome);
    }
}

static void report__counts_the_jobs_that_are_not_compared_with_home(void **state)
{
    (void)state;
    static const struct {
        const char *jobs, *said;
    } cases[] = {{"0", NULL}, {"1", "1 job without a run at home"}, {"7", "7 jobs without a run at home"}};
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
        assert_int_equal(strstr(outcome.out, "without a run at home") != NULL, cases[i].said != NULL);
        if (cases[i].said)
            assert_non_null(strstr(outcome.out, cases[i].said));
        end(&outcome);
    }
}

static void report__shows_the_use_of_fenced_attempts_beside_its_sums(void **state)
{
    (void)state;
    static const char *const fenced_s[] = {"0", "362"};
    for (size_t i = 0; i < 2; i++) {
        char body[256];
        (void)snprintf(body, sizeof body,
                       "{\"jobs_total\":9,\"days\":30,\"usage\":[{\"day\":\"2026-11-21\",\"fenced_gpu_seconds\":%s}]}",
                       fenced_s[i]);
        outcome_t outcome = play(RULES({"GET /v1/report ", 0, 200, NULL, body, WHOLE, 0}), WORDS("report"));
        expect(&outcome, 0, NULL, NULL);
        const char *said = strstr(outcome.out, "Fenced attempts used 6m02s of GPU time in 30 days");
        assert_int_equal(said != NULL, i == 1);
        end(&outcome);
    }
}

static void plan__names_the_term_that_decided_for_a_site_neither_cheapest_nor_cleanest(void **state)
{
    (void)state;
    outcome_t outcome = play_with(RULES({"POST /v1/plans ", 0, 200, NULL,
                                         "{\"job\":{\"name\":\"a\"},\"chosen\":\"frankfurt\",\"candidates\":["
                                         "{\"site\":\"frankfurt\",\"score_usd\":9,\"cost_usd\":7,\"carbon_g\":3000,"
                                         "\"terms\":{\"money\":7,\"carbon\":0.7,\"shadow\":1.3}},"
                                         "{\"site\":\"lulea\",\"score_usd\":10,\"cost_usd\":5.8,\"carbon_g\":900,"
                                         "\"terms\":{\"money\":5.8,\"carbon\":0.2,\"shadow\":4}}]}",
                                         WHOLE, 0}),
                                  WORDS("plan", "-"), "name: a\nrun: b\n");
    assert_int_equal(outcome.code, 0);
    assert_non_null(strstr(outcome.out, "best overall: scarce GPUs count $2.70 less"));
    end(&outcome);
}

static void explain__prints_sentences(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES({"GET /v1/jobs/bbccccdd/explain ", 0, 200, NULL,
                    "{\"id\":\"" ID_A "\",\"name\":\"train\",\"state\":\"queued\",\"reason\":\"WaitingForCapacity\","
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
           "Why it waits      WaitingForCapacity: 2 nodes of 8\n"
           "Chosen            lulea, compared with oregon: $43.00 less, 9.9 kg CO2e less\n"
           "Next best         oregon, $50.00 behind in score: money +$43.00, carbon +$2.00\n"
           "To start sooner   allow more sites, another GPU model or fewer nodes; with a shorter `time` it can start "
           "before jobs ahead of it\n"
           "\n"
           "   SITE    POOL  START                 COST  ENERGY     CO2E  SCORE  WHY\n"
           "✔  lulea   h100  2026-11-22T14:20:00Z  $312  71 kWh   1.9 kg   $300  cheapest and cleanest\n"
           "   oregon  h100  -                     $355  70 kWh  11.8 kg   $350  +$43.00, +9.9 kg\n"
           "   paris   h100  -                     $361  70 kWh     4 kg   $360  NoCapacity\n"
           "   tokyo   a     -                        -       -        -      -  NeverFits: no H100\n",
           NULL);
    end(&outcome);
}

/*  Only what would change the result is advised: by the limits that reject it, never a shorter `time` for silent sites,
 *  and nothing where the broker has tried and found nothing. */
static void explain__advises_only_what_would_help(void **state)
{
    (void)state;
    static const struct {
        const char *reason, *candidates, *hints, *advice; /* NULL: none */
    } cases[] = {
        {"WaitingForCapacity", "SiteSilent", "[]",
         "To start sooner   no change of the job: it waits for sites that are silent or drained (`helio sites`): a, b\n"},
        {"WaitingForCapacity", "SiteSilent", "null",
         "To start sooner   no change of the job: it waits for sites that are silent or drained (`helio sites`): a, b\n"},
        {"WaitingForCapacity", "NoCapacity", "[]", NULL},
        {"WaitingForCapacity", "NoCapacity", "null", "To start sooner   allow more sites"},
        {"PolicyCap", "CostCap", "[]", NULL},
        {"PolicyCap", "CostCap", "null", "To start sooner   raise `max_cost`\n"},
        {"PolicyCap", "CarbonCap", "null", "To start sooner   raise `max_carbon`\n"},
        {"PolicyCap", "Deadline", "null", "To start sooner   give a later `deadline`\n"},
        {"PolicyCap", "Budget", "null", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char body[1024];
        (void)snprintf(body, sizeof body,
                       "{\"id\":\"" ID_A "\",\"state\":\"queued\",\"reason\":\"%s\",\"detail\":\"x\",\"hints\":%s,"
                       "\"candidates\":[{\"site\":\"a\",\"reason\":\"%s\"},{\"site\":\"b\",\"reason\":\"%s\"}]}",
                       cases[i].reason, cases[i].hints, cases[i].candidates, cases[i].candidates);
        outcome_t outcome =
            play(RULES({"GET /v1/jobs/bbccccdd/explain ", 0, 200, NULL, body, WHOLE, 0}), WORDS("explain", "bbccccdd"));
        assert_int_equal(outcome.code, 0);
        bool advised = strstr(outcome.out, "To start sooner") != NULL;
        if (advised != (cases[i].advice != NULL) || (advised && !strstr(outcome.out, cases[i].advice)))
            fail_msg("case %zu:\n%s", i, outcome.out);
        end(&outcome);
    }
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
               PLAN_HEAD "\"chosen\":\"lulea\",\"chosen_pool\":\"h100\",\"reason\":\"WaitingForWindow\","
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
        "   oregon     h100  now                               $355  70 kWh  11.8 kg   $357  +$43.00, +9.9 kg\n"
        "   tokyo      h100  2026-03-02T03:00:00Z (in 15h00m)  $312  71 kWh   1.9 kg   $360  same cost, same CO2e\n"
        "   frankfurt  a     -                                 $298  73 kWh    27 kg   $298  CarbonCap: 412 g/kWh > "
        "max_carbon until 2026-03-01T21:00Z (in 9h00m)\n"
        "Would wait        WaitingForWindow: lulea/h100 from 2026-03-01T14:00Z (in 2h00m): worth $52.00 more than oregon/h100 now\n",
        NULL);
    end(&outcome);
}

#define UNPRICED                                                                \
    "\"details\":[{\"code\":\"PriceUnknown\",\"params\":{\"pool\":\"h100\"}}]," \
    "\"detail\":\"the price is unknown: the site reports none for pool h100\""

/*  A cost of 0 that means nothing is not shown, and compared with nothing. */
static void plan__of_a_pool_without_a_price_says_so_and_calls_nothing_cheapest(void **state)
{
    (void)state;
    outcome_t outcome = play_with(
        RULES({"POST /v1/plans ", 0, 200, NULL,
               PLAN_HEAD
               "\"chosen\":\"lulea\",\"chosen_pool\":\"h100\",\"reason\":null,\"candidates\":["
               "{\"site\":\"lulea\",\"pool\":\"h100\",\"backend\":\"slurm\",\"score_usd\":0.2,\"cost_usd\":0,"
               "\"energy_kwh\":71,\"carbon_g\":19000,\"reason\":null,"
               "\"terms\":{\"money\":0,\"carbon\":0.2}," UNPRICED "},"
               "{\"site\":\"oregon\",\"pool\":\"h100\",\"backend\":\"slurm\",\"score_usd\":357.4,\"cost_usd\":355,"
               "\"energy_kwh\":70,\"carbon_g\":11800,\"reason\":null,\"terms\":{\"money\":355,\"carbon\":2.4}},"
               "{\"site\":\"paris\",\"pool\":\"h100\",\"backend\":\"slurm\",\"score_usd\":400,\"cost_usd\":0,"
               "\"energy_kwh\":70,\"carbon_g\":19000,\"reason\":null," UNPRICED "}]}",
               WHOLE, 0}),
        WORDS("plan", "-"), "name: finetune-70b\nrun: ./train\n");
    expect(&outcome, 0, NULL, NULL);
    assert_non_null(strstr(outcome.out, ", at an unknown price"));
    assert_non_null(strstr(outcome.out, "the price is unknown: the site reports none for pool h100"));
    assert_null(strstr(outcome.out, "cheapest"));
    assert_null(strstr(outcome.out, "money"));
    assert_null(strstr(outcome.out, "$0.00"));
    assert_null(strstr(outcome.out, "+$355"));
    assert_null(strstr(outcome.out, "same cost"));
    end(&outcome);
}

/*  "from 17 runs of ...": what it rests on, by name, user or kind. */
static void plan__and_explain_show_the_expected_run_time(void **state)
{
    (void)state;
    static const struct {
        const char *run, *text;
    } cases[] = {
        {"{\"duration_s\":2520,\"duration_p90_s\":4200,\"runs\":17,\"failed\":0,\"basis\":\"name\",\"of\":"
         "\"finetune\"}",
         "42m (90% of runs within 1h10m), from 17 runs of finetune; time limit 6h00m\n"},
        {"{\"duration_s\":2520,\"duration_p90_s\":4200,\"runs\":3,\"failed\":2,\"basis\":\"user\",\"of\":\"ada\"}",
         "42m (90% of runs within 1h10m), from 3 runs of user ada; 2 similar runs failed or were cancelled recently; "
         "time limit 6h00m\n"},
        {"{\"duration_s\":2520,\"duration_p90_s\":4200,\"runs\":1,\"failed\":1,\"basis\":\"kind\",\"of\":\"train\"}",
         "42m (90% of runs within 1h10m), from 1 run of kind train; 1 similar run failed or was cancelled recently; "
         "time limit 6h00m\n"},
        {"null", ""},
        {"{\"duration_s\":null}", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char body[1024], expected[512];
        (void)snprintf(body, sizeof body, PLAN_HEAD "\"time_limit_s\":21600,\"run\":%s,\"candidates\":[]}",
                       cases[i].run);
        outcome_t outcome = play_with(RULES({"POST /v1/plans ", 0, 200, NULL, body, WHOLE, 0}), WORDS("plan", "-"),
                                      "name: a\nrun: b\n");
        (void)snprintf(expected, sizeof expected, "%s%s", cases[i].text[0] ? "Expected run      " : "", cases[i].text);
        assert_int_equal(outcome.code, 0);
        if (cases[i].text[0])
            assert_non_null(strstr(outcome.out, expected));
        else
            assert_null(strstr(outcome.out, "Expected"));
        end(&outcome);
    }
}

static void not_found__names_the_command_that_lists_known_names(void **state)
{
    (void)state;
    outcome_t outcome = play(RULES({"DELETE /v1/links", 0, 404, NULL, "{\"detail\":\"no such link\"}", WHOLE, 0}),
                             WORDS("links", "rm", "a", "b"));
    expect(&outcome, 3, "", "`helio links list` lists the links");
    end(&outcome);
    outcome = play(RULES({"DELETE /v1/data", 0, 404, NULL, "{\"detail\":\"no such data\"}", WHOLE, 0}),
                   WORDS("data", "rm", "s3://a/"));
    expect(&outcome, 3, "", "`helio data list` lists the prefixes");
    end(&outcome);
    outcome = play(RULES({"POST /v1/jobs/abcdefgh/release", 0, 404, NULL, "{\"detail\":\"no such job\"}", WHOLE, 0}),
                   WORDS("release", "abcdefgh"));
    expect(&outcome, 3, "", "`helio ls` lists jobs, `helio sites` lists sites");
    end(&outcome);
    outcome =
        play(RULES({"DELETE /v1/links", 0, 404, NULL,
                    "{\"detail\":\"no such link\",\"details\":[{\"code\":\"LinkUnknown\",\"params\":{}}]}", WHOLE, 0}),
             WORDS("links", "rm", "a", "b"));
    expect(&outcome, 3, "", "no such link");
    assert_null(strstr(outcome.err, "help:")); /* sentences of the catalogue say where to look */
    end(&outcome);
}

static void explain__of_an_infeasible_job_shows_no_expected_run(void **state)
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
        assert_int_equal(strstr(outcome.out, "Expected run") != NULL, i == 1);
        end(&outcome);
    }
}

static void plan__of_an_infeasible_job_exits_with_five(void **state)
{
    (void)state;
    outcome_t outcome = play_with(
        RULES({"POST /v1/plans ", 0, 200, NULL,
               PLAN_HEAD "\"chosen\":null,\"reason\":\"NeverFits\",\"detail\":\"lulea: NoSuchGPU\",\"candidates\":["
                         "{\"site\":\"lulea\",\"pool\":\"h100\",\"backend\":\"slurm\",\"start\":"
                         "\"2026-03-01T12:00:00.000Z\",\"score_usd\":0,\"cost_usd\":0,\"energy_kwh\":0,\"carbon_g\":0,"
                         "\"reason\":\"NoSuchGPU\",\"detail\":null}]}",
               WHOLE, 0}),
        WORDS("plan", "-", "-o", "json"), "run: x\n");
    expect(&outcome, 5, NULL, NULL);
    end(&outcome);
    outcome = play_with(RULES({"POST /v1/plans ", 0, 200, NULL,
                               PLAN_HEAD "\"chosen\":null,\"reason\":\"Deadline\",\"detail\":\"deadline: it ends at "
                                         "2026-03-01T13:00:00.000Z, and the job is over not before "
                                         "2026-03-01T16:00:00.000Z\",\"candidates\":[]}",
                               WHOLE, 0}),
                        WORDS("plan", "-"), "run: x\n");
    expect(&outcome, 5, NULL, NULL);
    assert_non_null(strstr(outcome.out, "not before 2026-03-01T16:00:00Z (in 4h00m)"));
    end(&outcome);
}

static void plan__needs_exactly_one_valid_job(void **state)
{
    (void)state;
    outcome_t outcome =
        play_with(RULES({"POST", 0, 200, NULL, "{}", WHOLE, 0}), WORDS("plan", "-"), "run: a\n---\nrun: b\n");
    expect(&outcome, 2, "", "a plan covers one job");
    end(&outcome);
    outcome = play_with(RULES({"POST", 0, 200, NULL, "{}", WHOLE, 0}), WORDS("plan", "-"), "runn: a\n");
    expect(&outcome, 2, "", "did you mean");
    end(&outcome);
    outcome = play_with(RULES({"POST", 0, 200, NULL, "{}", WHOLE, 0}), WORDS("plan", "-"), "run: a\n");
    expect(&outcome, 125, "", "do the versions of helio and the broker differ?");
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
         "What to do        once the cause is fixed, an operator runs `helio release bbccccdd`, and the job is placed again; "
         "`helio cancel bbccccdd` ends it\n"},
        {"held\",\"details\":[{\"code\":\"HeldByUser\",\"params\":{}}],\"x\":\"", "",
         "t (" ID_A ") is held\n"
         "What to do        run `helio release bbccccdd`, and the job is placed; `helio cancel bbccccdd` ends it\n"},
        {"offered", "lulea", "t (" ID_A ") is offered to lulea\n"},
        {"running", "lulea", "t (" ID_A ") is running at lulea\n"},
        {"stopping", "lulea", "t (" ID_A ") is stopping at lulea\n"},
        {"suspect", "lulea",
         "t (" ID_A ") is suspect, last known at lulea\n"
         "What to do        look at lulea for its processes (`HELIO_JOB_ID` in their environment is " ID_A "); once it "
         "is certain that no job of the federation runs there, an operator runs `helio attest lulea --dead --reason "
         "WHY`\n"},
        {"succeeded", "lulea", "t (" ID_A ") succeeded at lulea\n"},
        {"failed", "lulea", "t (" ID_A ") failed at lulea\n"},
        {"timeout", "lulea", "t (" ID_A ") reached its time limit at lulea\n"},
        {"cancelled", "", "t (" ID_A ") was cancelled\n"},
        {"lost", "lulea", "t (" ID_A ") was lost at lulea\n"},
        {"novel", "lulea", "t (" ID_A ") is novel at lulea\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char body[256];
        (void)snprintf(body, sizeof body, "{\"id\":\"" ID_A "\",\"name\":\"t\",\"state\":\"%s\",\"site\":\"%s\"}",
                       cases[i].state, cases[i].site);
        outcome_t outcome =
            play(RULES({"GET /v1/jobs/bbccccdd/explain ", 0, 200, NULL, body, WHOLE, 0}), WORDS("explain", "bbccccdd"));
        expect(&outcome, 0, cases[i].sentence, NULL);
        end(&outcome);
    }
}

/*  A site that is ready is not called silent, and only a job that has a lease is told of its end. */
static void explain__of_a_job_in_doubt_says_what_to_look_for_at_its_site(void **state)
{
    (void)state;
    static const struct {
        const char *cause, *basis, *expected, *advice, *not_said;
    } cases[] = {
        {"SiteMemoryLost", "{\"code\":\"StartMemoryLost\",\"params\":{\"site\":\"lulea\",\"until\":null}}",
         "Expected start    unknown: the agent forgot", "none of a job that the site does not show is left", "lease"},
        {"SiteMemoryLost",
         "{\"code\":\"StartMemoryLost\",\"params\":{\"site\":\"lulea\",\"until\":\"2026-03-01T12:15:00Z\"}}",
         "Expected start", "`; without that it is placed again when its lease is over\n", "silent"},
        {"SiteSilent", "{\"code\":\"StartLeaseEnds\",\"params\":{\"until\":\"2026-03-01T12:15:00Z\"}}",
         "Expected start", "that no job of the federation runs there", "SITE"},
        {"SiteSilent", "{\"code\":\"StartSiteSilent\",\"params\":{}}", "Expected start",
         "that no job of the federation runs there", "lease"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char body[1024];
        (void)snprintf(body, sizeof body,
                       "{\"id\":\"" ID_A "\",\"name\":\"t\",\"state\":\"suspect\",\"site\":\"lulea\","
                       "\"details\":[{\"code\":\"%s\",\"params\":{}}],\"expected\":{\"earliest\":null,\"latest\":null,"
                       "\"basis\":\"the agent forgot\",\"details\":[%s],\"at\":\"2026-03-01T12:00:00Z\"}}",
                       cases[i].cause, cases[i].basis);
        outcome_t outcome =
            play(RULES({"GET /v1/jobs/bbccccdd/explain ", 0, 200, NULL, body, WHOLE, 0}), WORDS("explain", "bbccccdd"));
        expect(&outcome, 0, NULL, NULL);
        assert_non_null(strstr(outcome.out, cases[i].expected));
        assert_non_null(strstr(outcome.out, "What to do        look at lulea for its processes (`HELIO_JOB_ID`"));
        assert_non_null(strstr(outcome.out, "`helio attest lulea --dead --reason WHY`"));
        assert_non_null(strstr(outcome.out, cases[i].advice));
        if (strstr(outcome.out, cases[i].not_said))
            fail_msg("%zu: %s", i, outcome.out);
        end(&outcome);
    }
}

static void show__lists_edits_with_their_time_and_author(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES({"GET /v1/jobs/first1 ", 0, 200, NULL,
                    "{\"id\":\"" ID_A
                    "\",\"state\":\"queued\",\"edits\":[{\"time\":\"2026-03-01T12:03:00.000Z\",\"actor\":\"user:ada\","
                    "\"field\":\"goal\",\"from\":\"balanced\",\"to\":\"green\"}]}",
                    WHOLE, 0}),
             WORDS("show", "first1"));
    assert_int_equal(outcome.code, 0);
    assert_non_null(strstr(outcome.out, "\nEdited\nTIME                  FIELD  FROM      TO     ACTOR\n"
                                        "2026-03-01T12:03:00Z  goal   balanced  green  user:ada\n"));
    end(&outcome);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(show__names_no_gpu_model_for_a_job_without_gpus),
        cmocka_unit_test(show__gives_only_the_known_use_of_an_open_job),
        cmocka_unit_test(report__counts_the_jobs_that_are_not_compared_with_home),
        cmocka_unit_test(report__shows_the_use_of_fenced_attempts_beside_its_sums),
        cmocka_unit_test(plan__names_the_term_that_decided_for_a_site_neither_cheapest_nor_cleanest),
        cmocka_unit_test(explain__prints_sentences),
        cmocka_unit_test(explain__advises_only_what_would_help),
        cmocka_unit_test(plan__is_a_table_of_sites_with_starts_and_figures),
        cmocka_unit_test(plan__of_a_pool_without_a_price_says_so_and_calls_nothing_cheapest),
        cmocka_unit_test(plan__and_explain_show_the_expected_run_time),
        cmocka_unit_test(not_found__names_the_command_that_lists_known_names),
        cmocka_unit_test(explain__of_an_infeasible_job_shows_no_expected_run),
        cmocka_unit_test(plan__of_an_infeasible_job_exits_with_five),
        cmocka_unit_test(plan__needs_exactly_one_valid_job),
        cmocka_unit_test(explain__has_a_sentence_for_every_state),
        cmocka_unit_test(explain__of_a_job_in_doubt_says_what_to_look_for_at_its_site),
        cmocka_unit_test(show__lists_edits_with_their_time_and_author),
    };
    /* The double is on this machine, whatever proxy the environment names. */
    (void)setenv("no_proxy", "*", 1);
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
