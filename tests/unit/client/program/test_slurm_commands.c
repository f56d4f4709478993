/*  test_slurm_commands.c -- squeue, sacct, scancel and scontrol: what they ask the broker for, and what they print. */
#include "client/slurm/options.h"
#include "tests/unit/client/program/remote_testing.h"

#define ROW(id, name, state, more)                                                                                     \
    "{\"id\":\"" id "\",\"name\":\"" name "\",\"state\":\"" state "\",\"tenant\":\"acme\",\"user\":\"ana\",\"queue\":" \
    "\"batch\",\"nodes\":2,\"gpus\":16,\"gpu_model\":\"H100\",\"time_limit_s\":93784,\"attempts\":2,\"priority\":5,"   \
    "\"submitted_at\":\"2026-03-01T12:00:00.000Z\"" more "}"
#define RUNS                                                                                             \
    ",\"site\":\"lulea\",\"pool\":\"h100\",\"started_at\":\"2026-03-01T12:00:05.000Z\",\"finished_at\":" \
    "\"2026-03-01T13:01:08.000Z\",\"exit_code\":"
#define WAITS ",\"reason\":\"WaitingForCapacity\",\"detail\":\"a reason that is long enough to be cut by squeue\""
#define LIST(rows) "{\"jobs\":[" rows "],\"next\":null}"
#define OPEN "GET /v1/jobs?limit=1000&state=queued%2Coffered%2Caccepted%2Cstarting%2Crunning%2Csuspended%2Cstopping"

static void squeue__prints_open_jobs_with_whole_ids_and_reasons(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES({OPEN, 0, 200, NULL,
                    LIST(ROW(ID_A ".3", "train", "queued", WAITS) "," ROW(ID_B, "eval", "stopping", RUNS "null")),
                    WHOLE, 0}),
             WORDS("squeue"));
    expect(&outcome, 0,
           "JOBID                        PARTITION NAME  USER ST    TIME NODES NODELIST(REASON)\n" ID_A
           "_3           train ana  PD    0:00     2 (WaitingForCapacity: a reason that is long enough to be cut by "
           "squeue)\n" ID_B "   h100      eval  ana  CG 1:01:03     2 lulea/h100\n",
           NULL);
    end(&outcome);
}

static void squeue__takes_formats_and_choices_of_slurm(void **state)
{
    (void)state;
    static const struct {
        const char *words[10];
        const char *out;
    } cases[] = {
        {{"squeue", "-h", "-o", "%.3i|%.6j|%-3u;"}, NULL},
        {{"squeue", "-ho", "%.3i|%.6j|%3u;"}, ID_A "_3| train|ana;\n" ID_B "|  eval|ana;\n"},
        {{"squeue", "-h", "-O", "ArrayJobID:30,ArrayTaskID:4,State,tres-per-node", "-n", "train"},
         ID_A "     3    PENDING gres/gpu:H100:8\n"},
        {{"squeue", "--noheader", "--format=%T %r %l %L %V %Q %q %a", "-t", "CG", "--user=bob,ana"},
         "COMPLETING None 1-02:03:04 1-01:02:01 2026-03-01T12:00:00 5 batch acme\n"},
        {{"squeue", "-h", "-u", "bob"}, ""},
        {{"squeue", "-h", "--me", "-M", "lulea", "-o", "%j"}, "eval\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        outcome_t outcome =
            play(RULES({"GET /v1/whoami ", 0, 200, NULL, "{\"user\":\"ana\",\"tenant\":\"acme\"}", WHOLE, 0},
                       {"GET /v1/jobs?limit=1000&state=", 0, 200, NULL,
                        LIST(ROW(ID_A ".3", "train", "queued", WAITS) "," ROW(ID_B, "eval", "stopping", RUNS "null")),
                        WHOLE, 0}),
                 cases[i].words);
        if (cases[i].out)
            expect(&outcome, 0, cases[i].out, NULL);
        else
            expect(&outcome, 2, "", "'%-' is not known here");
        end(&outcome);
    }
}

static void squeue__names_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *words[6], *err;
    } cases[] = {
        {{"squeue", ID_A}, "ids follow -j"},
        {{"squeue", "-t", "WAITING"}, "'WAITING' is not a state of jobs"},
        {{"squeue", "-O", "Wckey"}, "the field 'Wckey' is not known here"},
        {{"squeue", "-Z"}, "unknown option '-Z'"},
        {{"squeue", "-j", "x_[3"}, "is not the id of a job"},
        {{"sacct", "-S", "yesterday"}, "a time must be such as"},
        {{"scancel"}, "scancel needs an id"},
        {{"scancel", "-s", "STOP", ID_A}, "the federation passes on no signal STOP"},
        {{"scancel", "x_3-1"}, "is not the id of a job"},
        {{"scontrol", "update", "JobId=x", "NumNodes=5"}, "`helio edit ID` changes the queue"},
        {{"scontrol", "update", "JobId=x"}, "needs a job and its new limit"},
        {{"scontrol", "update", "TimeLimit=5"}, "needs a job and its new limit"},
        {{"scontrol", "update", "JobId=x", "TimeLimit=soon"}, "not 'soon'"},
        {{"srun", "-N1"}, "srun: no command"},
        {{"scontrol", "top", "x"},
         "only `show job [ID]`, `hold ID`, `release ID`, `requeue ID` and `update JobId=ID TimeLimit=TIME` exist here"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        outcome_t outcome = play(RULES({"", 0, 200, NULL, LIST(""), WHOLE, 0}), cases[i].words);
        expect(&outcome, 2, "", cases[i].err);
        assert_int_equal(broker_double_count(outcome.broker, "\n====\n"), 0);
        end(&outcome);
    }
    outcome_t outcome = play(RULES({"", 0, 500, NULL, "", WHOLE, 0}), WORDS("sacct", "--help"));
    assert_int_equal(outcome.code, 0);
    assert_non_null(strstr(outcome.out, "usage: helio sacct"));
    end(&outcome);
}

static void sacct__prints_the_tokens_user_since_midnight(void **state)
{
    (void)state;
    outcome_t outcome = play(
        RULES(
            {"GET /v1/whoami ", 0, 200, NULL, "{\"user\":\"ana\"}", WHOLE, 0},
            {"GET /v1/jobs?limit=1000 ", 0, 200, NULL,
             "{\"jobs\":[" ROW(ID_B, "eval", "failed", RUNS "3") "],\"next\":\"" ID_B "\"}", WHOLE, 0},
            {"GET /v1/jobs?limit=1000&cursor=", 0, 200, NULL, LIST(ROW(ID_A, "old", "failed", RUNS "139")), WHOLE, 0}),
        WORDS("sacct", "-S", "2026-03-01T12:00", "-P", "-o", "JobID,State,ExitCode,Elapsed,ElapsedRaw"));
    expect(&outcome, 0,
           "JobID|State|ExitCode|Elapsed|ElapsedRaw\n" ID_B "|FAILED|3:0|1:01:03|3663\n" ID_A
           "|FAILED|0:11|1:01:03|3663\n",
           NULL);
    end(&outcome);
    outcome =
        play(RULES({"GET /v1/jobs?limit=1000 ", 0, 200, NULL, LIST(ROW(ID_B, "eval", "lost", RUNS "null")), WHOLE, 0}),
             WORDS("sacct", "-a", "-S", "2026-03-01T12:00:01", "-n"));
    expect(&outcome, 0, "", NULL); /* submitted before */
    end(&outcome);
    outcome = play(RULES({"GET /v1/jobs/" ID_B " ", 0, 200, NULL, ROW(ID_B, "eval", "lost", RUNS "null"), WHOLE, 0}),
                   WORDS("sacct", "-j", ID_B, "--format=JobName%6,State%-9"));
    expect(&outcome, 0, "JobNam State\n------ ---------\neval   NODE_FAIL\n", NULL);
    end(&outcome);
}

static void ids__of_arrays_are_their_tasks(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES({"GET /v1/jobs/" ID_B " ", 0, 200, NULL,
                    ROW(ID_B, "sweep", "running", ",\"tasks_total\":2,\"tasks\":{\"queued\":2}"), WHOLE, 0},
                   {"GET /v1/jobs?limit=1000&cursor=" ID_B " ", 0, 200, NULL,
                    LIST(ROW(ID_B ".0", "sweep", "queued", "") "," ROW(ID_B ".1", "sweep", "queued", "") "," ROW(
                        ID_A, "other", "queued", "")),
                    WHOLE, 0}),
             WORDS("squeue", "-h", "-j", ID_B, "-o", "%i"));
    expect(&outcome, 0, ID_B "_0\n" ID_B "_1\n", NULL);
    end(&outcome);
    outcome =
        play(RULES({"DELETE /v1/jobs/", 0, 202, NULL, "{}", WHOLE, 0}), WORDS("scancel", "-v", ID_B "_[1-2,7]", ID_A));
    expect(&outcome, 0, "", "Terminating job " ID_B ".7");
    assert_int_equal(broker_double_count(outcome.broker, "DELETE /v1/jobs/" ID_B ".2 "), 1);
    assert_int_equal(broker_double_count(outcome.broker, "DELETE /v1/jobs/" ID_A " "), 1);
    assert_int_equal(broker_double_count(outcome.broker, "\n====\n"), 4);
    end(&outcome);
}

static void scancel__sends_signals(void **state)
{
    (void)state;
    static const struct {
        const char *words[3], *body;
    } rows[] = {{{"-s", "SIGUSR1", NULL}, "{\"signal\":\"USR1\",\"to\":\"job\"}"},
                {{"-b", "-s10", NULL}, "{\"signal\":\"USR1\",\"to\":\"script\"}"},
                {{"--full", "--signal=kill", NULL}, "{\"signal\":\"KILL\",\"to\":\"all\"}"},
                {{"-s", "TERM", NULL}, "{\"signal\":\"TERM\",\"to\":\"job\"}"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        outcome_t outcome = play(RULES({"POST /v1/jobs/" ID_A "/signal ", 0, 202, NULL, "{}", WHOLE, 0}),
                                 WORDS("scancel", rows[i].words[0], rows[i].words[1], ID_A));
        expect(&outcome, 0, "", NULL);
        assert_int_equal(broker_double_count(outcome.broker, rows[i].body), 1);
        end(&outcome);
    }
    outcome_t outcome = play(RULES({"DELETE /v1/jobs/" ID_A "?now=true ", 0, 202, NULL, "{}", WHOLE, 0}),
                             WORDS("scancel", "-s", "9", ID_A));
    expect(&outcome, 0, "", NULL);
    end(&outcome);
}

static void scancel__chooses_among_open_jobs(void **state)
{
    (void)state;
    outcome_t outcome = play(
        RULES(
            {OPEN, 0, 200, NULL, LIST(ROW(ID_A, "train", "queued", "") "," ROW(ID_B, "eval", "queued", "")), WHOLE, 0},
            {"DELETE /v1/jobs/" ID_B " ", 0, 202, NULL, "{}", WHOLE, 0}),
        WORDS("scancel", "-u", "ana", "--name=eval"));
    expect(&outcome, 0, "", NULL);
    assert_int_equal(broker_double_count(outcome.broker, "DELETE "), 1);
    end(&outcome);
    outcome =
        play(RULES({"DELETE ", 0, 404, NULL, "{\"detail\":\"no such job\"}", WHOLE, 0}), WORDS("scancel", "-Q", ID_A));
    expect(&outcome, 0, "", "no such job");
    end(&outcome);
}

static void scontrol__shows_and_releases(void **state)
{
    (void)state;
    outcome_t outcome = play(RULES({"GET /v1/jobs/" ID_A " ", 0, 200, NULL, ROW(ID_A, "a b", "held", WAITS), WHOLE, 0}),
                             WORDS("scontrol", "-o", "show", "job", ID_A));
    assert_int_equal(outcome.code, 0);
    assert_non_null(strstr(outcome.out, "JobId=" ID_A " JobName=a b UserId=ana Account=acme QOS=batch JobState=PENDING "
                                        "Reason=Held: a reason that is long enough to be cut by squeue "));
    assert_non_null(strstr(outcome.out,
                           " Restarts=1 ExitCode=0:0 RunTime=00:00:00 TimeLimit=1-02:03:04 SubmitTime=2026-03-01T"
                           "12:00:00 StartTime=Unknown "));
    end(&outcome);
    outcome = play(RULES({"POST /v1/jobs/" ID_A ".2/release ", 0, 200, NULL, "{}", WHOLE, 0}),
                   WORDS("scontrol", "release", ID_A "_2"));
    expect(&outcome, 0, "", NULL);
    end(&outcome);
    outcome = play(RULES({"POST /v1/jobs/" ID_A ".2/hold ", 0, 202, NULL, "{}", WHOLE, 0},
                         {"POST /v1/jobs/" ID_B "/hold ", 0, 202, NULL, "{}", WHOLE, 0}),
                   WORDS("scontrol", "hold", ID_A "_2," ID_B));
    expect(&outcome, 0, "", NULL);
    assert_int_equal(broker_double_count(outcome.broker, "/hold "), 2);
    end(&outcome);
    outcome = play(RULES({"POST /v1/jobs/" ID_A "/requeue ", 0, 202, NULL, "{}", WHOLE, 0}),
                   WORDS("scontrol", "requeue", ID_A));
    expect(&outcome, 0, "", NULL);
    end(&outcome);
}

static void scontrol__updates_time_limits(void **state)
{
    (void)state;
    static const struct {
        const char *word, *body;
    } rows[] = {{"TimeLimit=90", "{\"time\":\"5400s\"}"},   {"timelimit=1-12:00:01", "{\"time\":\"129660s\"}"},
                {"TimeLimit=+30", "{\"time\":\"+1800s\"}"}, {"TimeLimit=-1:00:00", "{\"time\":\"-3600s\"}"},
                {"TimeLimit+=10", "{\"time\":\"+600s\"}"},  {"TimeLimit-=10", "{\"time\":\"-600s\"}"},
                {"TimeLimit=UNLIMITED", "{\"time\":null}"}, {"TimeLimit=-1", "{\"time\":null}"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        outcome_t outcome = play(RULES({"PATCH /v1/jobs/" ID_A " ", 0, 200, NULL, "{}", WHOLE, 0}),
                                 WORDS("scontrol", "update", "JobId=" ID_A, rows[i].word));
        expect(&outcome, 0, "", NULL);
        assert_int_equal(broker_double_count(outcome.broker, rows[i].body), 1);
        end(&outcome);
    }
    outcome_t outcome = play(RULES({"PATCH /v1/jobs/" ID_A " ", 0, 409, NULL, "{\"detail\":\"it runs\"}", WHOLE, 0},
                                   {"PATCH /v1/jobs/" ID_B " ", 0, 200, NULL, "{}", WHOLE, 0}),
                             WORDS("scontrol", "update", "TimeLimit=5", "job=" ID_A "," ID_B));
    expect(&outcome, 6, "", "it runs");
    assert_int_equal(broker_double_count(outcome.broker, "PATCH "), 2);
    end(&outcome);
}

static void squeue__names_holds_as_slurm_does(void **state)
{
    (void)state;
#define HELD_BY(code) ",\"reason\":\"held\",\"details\":[{\"code\":\"" code "\",\"params\":{}}]"
    outcome_t outcome = play(RULES({OPEN, 0, 200, NULL,
                                    LIST(ROW(ID_A, "a", "held", HELD_BY("HeldByUser")) "," ROW(
                                        ID_B, "b", "held", HELD_BY("HeldByOperator"))),
                                    WHOLE, 0}),
                             WORDS("squeue", "-h", "-o", "%j %t %R"));
    expect(&outcome, 0, "a PD (JobHeldUser)\nb PD (JobHeldAdmin)\n", NULL);
    end(&outcome);
}

/*  A value that the option accepts. */
static const char *value_of(const char *option)
{
    static const char *const values[][2] = {{"--states", "PENDING"}, {"--state", "PENDING"}, {"--format", "%i"},
                                            {"--Format", "JobID"},   {"--endtime", "today"}, {"--starttime", "today"},
                                            {"--signal", "KILL"},    {"--delimiter", ";"},   {"--jobs", ID_A},
                                            {"--user", "ana"}};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        if (strcmp(values[i][0], option) == 0)
            return values[i][1];
    return "x";
}

/*  The command takes the option as its help spells it: `word`, with a value or without one. */
static void try_option(const char *command, const char *word, const char *value)
{
    const bool acts = strcmp(command, "scancel") == 0;
    const char *words[8] = {command, word, value};
    size_t count = value ? 3 : 2;
    if (strcmp(command, "scontrol") == 0) {
        words[count++] = "show";
        words[count++] = "job";
    }
    if (acts || strcmp(command, "scontrol") == 0)
        words[count++] = ID_A;
    outcome_t outcome = play(RULES({"GET /v1/whoami ", 0, 200, NULL, "{\"user\":\"ana\"}", WHOLE, 0},
                                   {"GET /v1/jobs/" ID_A " ", 0, 200, NULL, ROW(ID_A, "x", "queued", ""), WHOLE, 0},
                                   {"GET /v1/jobs?", 0, 200, NULL, LIST(ROW(ID_A, "x", "queued", "")), WHOLE, 0},
                                   {"DELETE /v1/jobs/" ID_A, 0, 202, NULL, "{}", WHOLE, 0}),
                             words);
    if (outcome.code != 0)
        fail_msg("helio %s %s %s: exit %d\n%s", command, word, value ? value : "", outcome.code, outcome.err);
    end(&outcome);
}

/*  "  -A, --account LIST    Only …": the option by its letter and by its name. */
static void try_line(const char *command, const char *line)
{
    char name[32] = "", letter[3] = "", value[16] = "";
    const char *at = strstr(line, "--");
    int size = at ? (int)strcspn(at, " \n") : 0;
    assert_true(size > 2 && size < (int)sizeof name);
    (void)snprintf(name, sizeof name, "%.*s", size, at);
    if (line[2] == '-' && line[3] != '-')
        (void)snprintf(letter, sizeof letter, "%.2s", line + 2);
    if (at[size] == ' ' && at[size + 1] != ' ')
        (void)snprintf(value, sizeof value, "%.*s", (int)strcspn(at + size + 1, " "), at + size + 1);
    const char *given = !value[0]                                                        ? NULL
                        : strcmp(command, "sacct") == 0 && strcmp(name, "--format") == 0 ? "JobID"
                                                                                         : value_of(name);
    try_option(command, name, given);
    if (letter[0])
        try_option(command, letter, given);
}

static void help__lists_exactly_the_options_that_are_taken(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const helio_option_table_t *own;
    } commands[] = {{"squeue", &helio_squeue_options},
                    {"sacct", &helio_sacct_options},
                    {"scancel", &helio_scancel_options},
                    {"scontrol", &helio_scontrol_options}};
    char *no_broker[] = {NULL};
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        char *out, *err;
        uint32_t lines = 0;
        const char *words[] = {commands[i].name, "--help", NULL};
        assert_int_equal(run_client(words, "", no_broker, NO_PRESSES, &out, &err), 0); /* help needs no broker */
        const char *at = strstr(out, "\nOptions:\n");
        assert_non_null(at);
        assert_null(strstr(out, "Options of every command"));
        for (at += strlen("\nOptions:\n"); strncmp(at, "  ", 2) == 0; at = strchr(at, '\n') + 1, lines++)
            try_line(commands[i].name, at);
        assert_int_equal(lines, commands[i].own->count);
        free(out);
        free(err);
    }
    try_option("scancel", "--name", "x");
    outcome_t outcome = play(RULES({"", 0, 200, NULL, LIST(""), WHOLE, 0}), WORDS("squeue", "--broker", "http://x"));
    expect(&outcome, 2, "", "unknown option '--broker'"); /* listed under those that go before */
    end(&outcome);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(squeue__prints_open_jobs_with_whole_ids_and_reasons),
        cmocka_unit_test(squeue__takes_formats_and_choices_of_slurm),
        cmocka_unit_test(squeue__names_what_is_wrong),
        cmocka_unit_test(sacct__prints_the_tokens_user_since_midnight),
        cmocka_unit_test(ids__of_arrays_are_their_tasks),
        cmocka_unit_test(scancel__chooses_among_open_jobs),
        cmocka_unit_test(scontrol__shows_and_releases),
        cmocka_unit_test(scontrol__updates_time_limits),
        cmocka_unit_test(scancel__sends_signals),
        cmocka_unit_test(squeue__names_holds_as_slurm_does),
        cmocka_unit_test(help__lists_exactly_the_options_that_are_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
