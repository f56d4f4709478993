/*  test_waiting.c -- what `ls`, `explain` and `plan` say of jobs that wait: the shortened reason of a held job, a
 *  silent site, the jobs ahead, and hints with the command that carries them out. */
#include "tests/unit/client/program/remote_testing.h"

/* ---- ls ---------------------------------------------------------------------------------------------------- */

#define HELD(details)                                                                             \
    "{\"jobs\":[{\"id\":\"" ID_A                                                                  \
    "\",\"name\":\"t\",\"state\":\"held\",\"reason\":\"held after 3 attempts: long\",\"gpus\":1," \
    "\"details\":" details "}]}"
#define CAUSE "{\"code\":\"StateReported\",\"params\":{\"why\":\"lulea: Invalid account\"}}"
#define MORE "{\"code\":\"StateReported\",\"params\":{\"why\":\"and three sentences more\"}}"

/*  The first sentence names the cause; programs get all that the broker said. */
static void ls__shortens_the_reason_of_a_held_job_to_its_first_sentence(void **state)
{
    (void)state;
    static const struct {
        const char *body, *shown, *hidden;
    } cases[] = {
        {HELD("[" CAUSE "," MORE "]"), "lulea: Invalid account", "three sentences more"},
        {HELD("[" CAUSE "]"), "lulea: Invalid account", "held after 3"},
        {HELD("[]"), "held after 3 attempts", NULL},
        {HELD("null"), "held after 3 attempts", NULL},
        {HELD("[{\"code\":\"OfANewerBroker\",\"params\":{}}]"), "held after 3 attempts", NULL},
        {HELD("[7," MORE "]"), "held after 3 attempts", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const rule_t rules[] = {{"GET /v1/jobs?", 0, 200, NULL, cases[i].body, WHOLE, 0}, {0}};
        outcome_t outcome = play(rules, WORDS("ls"));
        expect(&outcome, 0, NULL, NULL);
        if (!strstr(outcome.out, cases[i].shown) || (cases[i].hidden && strstr(outcome.out, cases[i].hidden)))
            fail_msg("case %zu: %s", i, outcome.out);
        end(&outcome);
        outcome = play(rules, WORDS("ls", "-o", "json"));
        assert_non_null(strstr(outcome.out, "held after 3 attempts: long"));
        end(&outcome);
    }
}

static void ls__keeps_the_reason_of_other_states_and_drops_that_of_running_jobs(void **state)
{
    (void)state;
    static const struct {
        const char *state;
        bool shown;
    } cases[] = {{"queued", true}, {"failed", true}, {"suspect", true}, {"running", false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char body[400];
        (void)snprintf(body, sizeof body,
                       "{\"jobs\":[{\"id\":\"" ID_A "\",\"state\":\"%s\",\"reason\":\"TheReason\",\"details\":[" CAUSE
                       "]}]}",
                       cases[i].state);
        const rule_t rules[] = {{"GET /v1/jobs?", 0, 200, NULL, body, WHOLE, 0}, {0}};
        outcome_t outcome = play(rules, WORDS("ls"));
        expect(&outcome, 0, NULL, NULL);
        assert_int_equal(strstr(outcome.out, "TheReason") != NULL, cases[i].shown);
        assert_null(strstr(outcome.out, "Invalid account"));
        end(&outcome);
    }
}

/* ---- explain ----------------------------------------------------------------------------------------------- */

static outcome_t explain(const char *members)
{
    char body[4096];
    (void)snprintf(body, sizeof body, "{\"id\":\"" ID_A "\",\"name\":\"t\",\"candidates\":[],\"history\":[],%s}",
                   members);
    const rule_t rules[] = {{"GET /v1/jobs/abcdef/explain ", 0, 200, NULL, body, WHOLE, 0}, {0}};
    return play(rules, WORDS("explain", "abcdef"));
}

static void assert_explained(const char *members, const char *shown, const char *hidden)
{
    outcome_t outcome = explain(members);
    expect(&outcome, 0, NULL, NULL);
    if ((shown && !strstr(outcome.out, shown)) || (hidden && strstr(outcome.out, hidden)))
        fail_msg("%s\n%s", members, outcome.out);
    end(&outcome);
}

static void explain__says_that_the_site_of_the_job_is_silent(void **state)
{
    (void)state;
    static const char silent[] =
        "\"state\":\"running\",\"site\":\"lulea\",\"silence_details\":[{\"code\":\"SiteSilentFor\",\"params\":"
        "{\"site\":\"lulea\",\"silent_s\":%s}}]";
    static const struct {
        const char *silent_s, *shown;
    } cases[] = {{"17", "lulea has been silent for 17s, so this may be out of date"},
                 {"4000", "lulea has been silent for 1h06m40s, so this may be out of date"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char members[400];
        (void)snprintf(members, sizeof members, silent, cases[i].silent_s);
        outcome_t outcome = explain(members);
        expect(&outcome, 0, NULL, NULL);
        if (!strstr(outcome.out, "Note  ") || !strstr(outcome.out, "lulea has been silent for"))
            fail_msg("%s", outcome.out);
        end(&outcome);
    }
    static const char *const none[] = {"\"state\":\"running\",\"site\":\"lulea\",\"silence_details\":null",
                                       "\"state\":\"running\",\"site\":\"lulea\",\"silence_details\":[]",
                                       "\"state\":\"running\",\"site\":\"lulea\",\"silence_details\":[7]",
                                       "\"state\":\"running\",\"site\":\"lulea\""};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        assert_explained(none[i], NULL, "silent");
}

static void explain__counts_the_jobs_ahead_and_names_the_first(void **state)
{
    (void)state;
    static const struct {
        const char *ahead, *shown;
    } cases[] = {
        {"{\"jobs\":1,\"gpus\":8,\"first\":[{\"tenant\":\"acme\",\"queue\":\"batch\",\"jobs\":1,\"gpus\":8}]}",
         "Jobs ahead        1 job (8 GPUs): acme, queue batch\n"},
        {"{\"jobs\":3,\"gpus\":1,\"first\":[{\"tenant\":\"acme\",\"queue\":\"batch\",\"jobs\":2,\"gpus\":0},"
         "{\"tenant\":null,\"queue\":\"batch\",\"jobs\":1,\"gpus\":1}]}",
         "Jobs ahead        3 jobs (1 GPU): first 2 jobs of acme in queue batch, then 1 job (1 GPU) of another tenant in "
         "queue batch\n"},
        {"{\"jobs\":9,\"gpus\":0,\"first\":[{\"tenant\":\"acme\",\"queue\":\"batch\",\"jobs\":2,\"gpus\":0}]}",
         "Jobs ahead        9 jobs: first 2 jobs of acme in queue batch, and 7 more\n"},
        {"{\"jobs\":2,\"gpus\":0,\"first\":[]}", "Jobs ahead        2 jobs\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char members[800];
        (void)snprintf(members, sizeof members, "\"state\":\"queued\",\"reason\":\"WaitingForCapacity\",\"ahead\":%s",
                       cases[i].ahead);
        assert_explained(members, cases[i].shown, NULL);
    }
    static const char *const none[] = {"{\"jobs\":0,\"gpus\":0,\"first\":[]}", "null", "7", "{}", "{\"jobs\":\"3\"}"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        char members[200];
        (void)snprintf(members, sizeof members, "\"state\":\"queued\",\"reason\":\"PolicyCap\",\"ahead\":%s", none[i]);
        assert_explained(members, NULL, "Jobs ahead");
    }
}

#define HINT(kind, details) \
    "[{\"kind\":\"" kind    \
    "\",\"change\":\"CHANGE\",\"effect\":\"EFFECT\",\"change_details\":[{\"code\":\"X\",\"params\":{" details "}}]}]"

/*  A hint that `helio edit` can carry out is printed with that command; values that a shell would split are quoted. */
static void hints__come_with_the_command_that_carries_them_out(void **state)
{
    (void)state;
    static const struct {
        const char *state, *hints, *shown, *hidden;
    } cases[] = {
        {"queued", HINT("max_cost", "\"max_cost_usd\":12.5"),
         "CHANGE: EFFECT (`helio edit bbccccdd --max-cost '12.50 USD'`)", NULL},
        {"queued", HINT("max_carbon", "\"max_carbon_g_per_kwh\":400"), "--max-carbon '400 g/kWh'`)", NULL},
        {"queued", HINT("flexible", ""), "(`helio edit bbccccdd --flexible none`)", NULL},
        {"queued", HINT("deadline", ""), "(`helio edit bbccccdd --deadline none`)", NULL},
        {"queued", HINT("queue", "\"queue\":\"express\""), "(`helio edit bbccccdd --queue express`)", NULL},
        {"queued", HINT("priority", "\"priority\":3"), "(`helio edit bbccccdd --priority 3`)", NULL},
        {"queued", HINT("gpu", "\"model\":\"A100\""), "CHANGE: EFFECT\n", "helio edit"},
        {"queued", HINT("quota", "\"tenant\":\"acme\""), "CHANGE: EFFECT\n", "helio edit"},
        {"queued", HINT("max_cost", ""), "CHANGE: EFFECT\n", "helio edit"},
        {"queued", HINT("max_cost", "\"max_cost_usd\":null"), "CHANGE: EFFECT\n", "helio edit"},
        {"queued", HINT("max_cost", "\"max_cost_usd\":[1]"), "CHANGE: EFFECT\n", "helio edit"},
        {"running", HINT("max_cost", "\"max_cost_usd\":12.5"), "CHANGE: EFFECT\n", "helio edit"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char members[800];
        (void)snprintf(members, sizeof members, "\"state\":\"%s\",\"reason\":\"PolicyCap\",\"hints\":%s",
                       cases[i].state, cases[i].hints);
        assert_explained(members, cases[i].shown, cases[i].hidden);
    }
}

/*  Where no wait helps, no line promises an earlier start. */
static void hints__of_a_job_that_can_never_start_say_what_makes_it_run(void **state)
{
    (void)state;
    static const struct {
        const char *members, *shown, *hidden;
    } cases[] = {
        {"\"reason\":\"NeverFits\",\"hints\":[]", "To make it run", "To start sooner"},
        {"\"reason\":\"Deadline\",\"hints\":[{\"kind\":\"deadline\",\"change\":\"a later `deadline`, or none\"}]",
         "To make it run", "To start sooner"},
        {"\"reason\":\"NeverFits\"", "To make it run", "To start sooner"},
        {"\"reason\":\"PolicyCap\",\"details\":[{\"code\":\"QuotaTooSmall\",\"params\":{}}]", "To make it run",
         "To start sooner"},
        {"\"reason\":\"PolicyCap\",\"details\":[{\"code\":\"BudgetTooSmall\",\"params\":{}}]", "To make it run",
         "To start sooner"},
        {"\"reason\":\"PolicyCap\",\"details\":[{\"code\":\"QuotaInUse\",\"params\":{}}]", "To start sooner",
         "To make it run"},
        {"\"reason\":\"WaitingForCapacity\"", "To start sooner", "To make it run"},
        {"\"reason\":\"WaitingForCapacity\",\"hints\":[]", NULL, "To "}, /* the broker knows no change that helps */
        {"\"reason\":\"Gated\"", NULL, "To "},                           /* its turn comes by itself */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char members[300];
        (void)snprintf(members, sizeof members, "\"state\":\"queued\",%s", cases[i].members);
        assert_explained(members, cases[i].shown, cases[i].hidden);
    }
}

static void explain__tells_when_a_start_is_expected_as_far_as_that_is_known(void **state)
{
    (void)state;
    static const struct {
        const char *expected, *shown;
    } cases[] = {
        {"{\"earliest\":null,\"latest\":null,\"basis\":\"B\"}", "Expected start    unknown: B\n"},
        {"{\"earliest\":null,\"latest\":null,\"basis\":\"\"}", "Expected start    unknown\n"},
        {"{\"earliest\":\"2026-03-01T01:00:00Z\",\"latest\":null,\"basis\":\"\",\"at\":\"2026-03-01T00:00:00Z\"}",
         "Expected start    2026-03-01T01:00:00Z (in 1h00m) at the earliest\n"},
        {"{\"earliest\":\"2026-03-01T00:00:00Z\",\"latest\":null,\"basis\":\"B\",\"at\":\"2026-03-01T00:00:00Z\"}",
         "Expected start    B\n"},
        {"{\"earliest\":\"2026-03-01T01:00:00Z\",\"latest\":\"2026-03-01T01:00:00Z\",\"basis\":\"B\",\"at\":"
         "\"2026-03-01T00:00:00Z\"}",
         "Expected start    2026-03-01T01:00:00Z (in 1h00m): B\n"},
        {"{\"earliest\":\"2026-03-01T01:00:00Z\",\"latest\":\"2026-03-01T03:00:00Z\",\"basis\":\"B\",\"at\":"
         "\"2026-03-01T00:00:00Z\"}",
         "Expected start    2026-03-01T01:00:00Z (in 1h00m) to 2026-03-01T03:00:00Z (in 3h00m): B\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char members[500];
        (void)snprintf(members, sizeof members, "\"state\":\"queued\",\"reason\":\"Queued\",\"expected\":%s",
                       cases[i].expected);
        assert_explained(members, cases[i].shown, NULL);
    }
}

/* ---- plan -------------------------------------------------------------------------------------------------- */

/*  Notes of the broker about words of the document, in a plan and after a submission. */
static void notes__of_the_broker_are_shown_and_change_no_exit_code(void **state)
{
    (void)state;
    static const char note[] = "placement.sites: no known site matches oregn; did you mean 'oregon'?";
    char plan[512], submitted[512];
    (void)snprintf(plan, sizeof plan, "{\"job\":{},\"candidates\":[],\"note\":\"%s\"}", note);
    (void)snprintf(submitted, sizeof submitted, "{\"jobs\":[{\"id\":\"" ID_A "\"}],\"note\":\"%s\"}", note);
    const rule_t rules[] = {
        {"POST /v1/plans", 0, 200, NULL, plan, WHOLE, 0}, {"POST /v1/jobs", 0, 201, NULL, submitted, WHOLE, 0}, {0}};
    outcome_t outcome = play_with(rules, WORDS("plan", "-"), "run: echo\n");
    expect(&outcome, 0, NULL, NULL);
    assert_non_null(strstr(outcome.out, note));
    end(&outcome);
    outcome = play_with(rules, WORDS("submit", "-", "-o", "name"), "run: echo\n");
    expect(&outcome, 0, ID_A "\n", note); /* not among the ids that a script reads */
    end(&outcome);
}

int main(void)
{
    (void)setlocale(LC_ALL, "C.UTF-8");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ls__shortens_the_reason_of_a_held_job_to_its_first_sentence),
        cmocka_unit_test(ls__keeps_the_reason_of_other_states_and_drops_that_of_running_jobs),
        cmocka_unit_test(explain__says_that_the_site_of_the_job_is_silent),
        cmocka_unit_test(explain__counts_the_jobs_ahead_and_names_the_first),
        cmocka_unit_test(hints__come_with_the_command_that_carries_them_out),
        cmocka_unit_test(hints__of_a_job_that_can_never_start_say_what_makes_it_run),
        cmocka_unit_test(explain__tells_when_a_start_is_expected_as_far_as_that_is_known),
        cmocka_unit_test(notes__of_the_broker_are_shown_and_change_no_exit_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
