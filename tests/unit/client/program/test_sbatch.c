/*  `helio sbatch` and `helio convert` as commands: words, files, what is printed, exit codes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/client/program/broker_double.h"
#include "tests/unit/client/program/run_client.h"

#define ID "01k9x2m4q8r7aaaabbbbccccdd"
#define ACCEPTED                                                                                      \
    {                                                                                                 \
        "POST /v1/jobs", 0, 201, NULL, "{\"jobs\":[{\"id\":\"" ID "\",\"existed\":false}]}", WHOLE, 0 \
    }
#define RULES(...) ((const rule_t[]){__VA_ARGS__, {0}})
#define SCRIPT "#!/bin/sh\n#SBATCH -J tiny -t 5\necho \"$1\"\n"

typedef struct outcome {
    int code;
    char *out;
    char *err;
    broker_double_t *broker; /* stopped */
} outcome_t;

static outcome_t play(const rule_t *rules, const char *const *words, const char *input, const char *variable)
{
    outcome_t outcome = {.broker = broker_double_new(rules)};
    char url[80];
    (void)snprintf(url, sizeof url, "HELIO_BROKER=http://127.0.0.1:%d", outcome.broker->port);
    char *environment[] = {url, (char *)(uintptr_t) "HELIO_TOKEN=hel_abcdef_x", (char *)(uintptr_t)variable, NULL};
    presses_t presses = {&outcome.broker->presses, outcome.broker->press_pipe[0]};
    outcome.code = run_client(words, input, environment, presses, &outcome.out, &outcome.err);
    broker_double_stop(outcome.broker);
    return outcome;
}

static void expect(outcome_t outcome, int code, const char *out, const char *err_part, const char *sent)
{
    bool good =
        outcome.code == code && (!out || strcmp(outcome.out, out) == 0) && (!err_part || strstr(outcome.err, err_part));
    if (sent)
        good = good && broker_double_count(outcome.broker, sent) == 1;
    else
        good = good && broker_double_count(outcome.broker, "POST") == 0;
    if (!good)
        fail_msg("exit %d instead of %d\n--out--\n%s\n--err--\n%s\n--requests--\n%s", outcome.code, code, outcome.out,
                 outcome.err, outcome.broker->requests.data);
    free(outcome.out);
    free(outcome.err);
    broker_double_destroy(&outcome.broker);
}

static void sbatch__prints_what_sbatch_prints(void **state)
{
    (void)state;
    const rule_t *rules = RULES(ACCEPTED);
    expect(play(rules, WORDS("sbatch"), SCRIPT, NULL), 0, "Submitted batch job " ID "\n", NULL, "name: tiny\n");
    expect(play(rules, WORDS("sbatch", "--parsable", "-n2"), SCRIPT, NULL), 0, ID "\n", NULL, "cpus: 2\n");
    expect(play(rules, WORDS("sbatch", "--wrap", "echo hi"), "", NULL), 0, "Submitted batch job " ID "\n", NULL,
           "  #!/bin/sh\n\n  echo hi\n");
    expect(play(rules, WORDS("sbatch", "-", "it's"), SCRIPT, NULL), 0, NULL, NULL, "set -- 'it'\\''s'; echo");
    expect(play(rules, WORDS("sbatch", "-J", "line"), SCRIPT, "SBATCH_JOB_NAME=variable"), 0, NULL, NULL,
           "name: line\n");
    expect(play(rules, WORDS("sbatch"), SCRIPT, "SBATCH_JOB_NAME=variable"), 0, NULL, NULL, "name: variable\n");
    expect(play(rules, WORDS("-o", "name", "sbatch", "-o", "x.out"), SCRIPT, NULL), 0, ID "\n", NULL,
           "  output: x.out\n");
    expect(play(rules, WORDS("sbatch", "--idempotency-key", "k7"), SCRIPT, NULL), 0, NULL, NULL,
           "Idempotency-Key: k7\r\n");
}

static void sbatch__reads_the_file_that_it_is_given(void **state)
{
    (void)state;
    char folder[] = "/tmp/helio-sbatch-XXXXXX", path[64], variable[64];
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/job.sh", folder);
    (void)snprintf(variable, sizeof variable, "PATH=/nowhere:%s", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs("#!/bin/sh\necho\n", file) >= 0);
    assert_int_equal(fclose(file), 0);
    const rule_t *rules = RULES(ACCEPTED);
    expect(play(rules, WORDS("sbatch", path, "--mem", "-x"), "", NULL), 0, NULL, NULL, "set -- '--mem' '-x'; echo");
    expect(play(rules, WORDS("sbatch", "job.sh"), "", variable), 0, NULL, NULL, "name: job.sh\n");
    expect(play(rules, WORDS("sbatch", "job.sh"), "", NULL), 2, "", "job.sh: No such file", NULL);
    assert_int_equal(remove(path), 0);
    assert_int_equal(remove(folder), 0);
}

static void sbatch__sends_no_invalid_script(void **state)
{
    (void)state;
    const rule_t *rules = RULES(ACCEPTED);
    expect(play(rules, WORDS("sbatch"), "#!/bin/sh\n#SBATCH --mem=x\n", NULL), 2, "", "stdin:2:15: error: --mem", NULL);
    expect(play(rules, WORDS("sbatch"), "#!/bin/sh\n#SBATCH --mem=x\n", NULL), 2, "", "^", NULL);
    expect(play(rules, WORDS("sbatch", "--nodez=1"), SCRIPT, NULL), 2, "", "did you mean --nodes", NULL);
    expect(play(rules, WORDS("sbatch", "--color=never", "-H"), SCRIPT, NULL), 2, "", "--hold is not supported", NULL);
    expect(play(rules, WORDS("sbatch", "--color=pink"), SCRIPT, NULL), 2, "", "--color takes one of", NULL);
    expect(play(rules, WORDS("sbatch", "--wrap=x", "job.sh"), "", NULL), 2, "",
           "--wrap takes no script, found 'job.sh'", NULL);
    expect(play(rules, WORDS("sbatch"), "", NULL), 2, "", "the script is empty", NULL);
    expect(play(rules, WORDS("sbatch", "--test-only"), SCRIPT, NULL), 0, "", "nothing was submitted", NULL);
    expect(play(rules, WORDS("sbatch", "--help"), "", NULL), 0, NULL, NULL, NULL);
    /* a script does not choose whom to trust */
    expect(play(rules, WORDS("sbatch"), "#!/bin/sh\n#SBATCH --broker=http://127.0.0.1:1\n", NULL), 2, "",
           "not an option of sbatch", NULL);
}

#define NO_SITE(path, suggestion)                                                                                    \
    "{\"status\":422,\"detail\":\"no site matches\",\"reason\":\"NeverFits\",\"details\":[{\"code\":\"NeverFits\"}," \
    "{\"code\":\"NoSiteMatches\",\"params\":{\"path\":\"" path "\",\"suggestion\":\"" suggestion "\"}}]}"

static void sbatch__has_the_exit_codes_of_submit(void **state)
{
    (void)state;
    expect(play(RULES({"POST", 0, 422, NULL, "{\"title\":\"no\",\"status\":422,\"reason\":\"NeverFits\"}", WHOLE, 0}),
                WORDS("sbatch"), SCRIPT, NULL),
           5, "", NULL, "POST /v1/jobs");
    expect(
        play(RULES({"POST", 0, 422, NULL, NO_SITE("placement.backends", ""), WHOLE, 0}), WORDS("sbatch"), SCRIPT, NULL),
        5, "", "(NeverFits)\nhelp: `#HELIO placement: {backends: [local, slurm]}` in the script", "POST /v1/jobs");
    expect(
        play(RULES({"POST", 0, 422, NULL, NO_SITE("placement.regions", ""), WHOLE, 0}), WORDS("sbatch"), SCRIPT, NULL),
        5, "", "(NeverFits)\nhelp: `helio sites -o wide` lists", "POST /v1/jobs");
    expect(play(RULES({"POST", 0, 401, NULL, "{}", WHOLE, 0}), WORDS("sbatch"), SCRIPT, NULL), 4, "", NULL,
           "POST /v1/jobs");
    expect(play(RULES(ACCEPTED), WORDS("sbatch", "--broker=http://127.0.0.1:1"), SCRIPT, NULL), 7, "", NULL, NULL);
}

static void sbatch__notes_go_to_standard_error(void **state)
{
    (void)state;
    const rule_t *rules = RULES(ACCEPTED);
    expect(play(rules, WORDS("sbatch", "-p", "gpu"), SCRIPT, NULL), 0, NULL,
           "note: --partition: applied by Slurm sites only", "  partition: gpu\n");
    outcome_t quiet = play(rules, WORDS("sbatch", "-Q", "-p", "gpu"), SCRIPT, NULL);
    assert_string_equal(quiet.err, "");
    expect(quiet, 0, NULL, NULL, "  partition: gpu\n");
}

static void sbatch__waits_when_told_to(void **state)
{
    (void)state;
    const rule_t *rules =
        RULES(ACCEPTED, {"GET /v1/events", 0, 200, NULL, "", HOLD, 0},
              {"GET /v1/jobs/", 0, 200, NULL,
               "{\"id\":\"" ID "\",\"name\":\"tiny\",\"state\":\"failed\",\"epoch\":1,\"exit_code\":3}", WHOLE, 0});
    expect(play(rules, WORDS("sbatch", "-W"), SCRIPT, NULL), 3, "Submitted batch job " ID "\n", NULL, "POST /v1/jobs");
}

static void convert__prints_the_job_file_and_needs_no_broker(void **state)
{
    (void)state;
    static const char job[] = "name: tiny\ntime: 5m\nslurm:\n  launch: batch\nrun: |2\n  #!/bin/sh\n"
                              "  #SBATCH -J tiny -t 5\n  echo \"$1\"\n";
    expect(play(RULES(ACCEPTED), WORDS("convert"), SCRIPT, NULL), 0, job, NULL, NULL);
    expect(play(RULES(ACCEPTED), WORDS("convert", "-N2", "-"), SCRIPT, NULL), 0, NULL, "pinned to Slurm sites", NULL);
    expect(play(RULES(ACCEPTED), WORDS("convert"), "#!/bin/sh\n#HELIO tyme: 5m\n", NULL), 2, "", "did you mean 'time'?",
           NULL);
}

static void sbatch__a_singleton_waits_for_the_users_open_jobs_of_its_name(void **state)
{
    (void)state;
#define OPEN_JOB(id, name, user) "{\"id\":\"" id "\",\"name\":\"" name "\",\"user\":\"" user "\",\"state\":\"queued\"}"
#define OPEN_JOBS                                                                                      \
    {"GET /v1/whoami ", 0, 200, NULL, "{\"user\":\"ana\"}", WHOLE, 0},                                 \
    {                                                                                                  \
        "GET /v1/jobs?limit=1000&state=queued", 0, 200, NULL,                                          \
            "{\"jobs\":[" OPEN_JOB("01aaaaaaaa.0", "tiny", "ana") "," OPEN_JOB(                        \
                "01aaaaaaaa.1", "tiny",                                                                \
                "ana") "," OPEN_JOB("01bbbbbbbb", "tiny",                                              \
                                    "bob") "," OPEN_JOB("01cccccccc", "other",                         \
                                                        "ana") "," OPEN_JOB("01dddddddd", "tiny",      \
                                                                            "ana") "],\"next\":null}", \
            WHOLE, 0                                                                                   \
    }
    const rule_t *rules = RULES(OPEN_JOBS, ACCEPTED);
    expect(play(rules, WORDS("sbatch", "-d", "singleton"), SCRIPT, NULL), 0, "Submitted batch job " ID "\n", "",
           "depends:\n  after_any: [01aaaaaaaa, 01dddddddd]\n");
    expect(play(rules, WORDS("sbatch", "-d", "afterok:01eeeeeeee,singleton"), SCRIPT, NULL), 0, NULL, "",
           "  after_ok: [01eeeeeeee]\n  after_any: [01aaaaaaaa, 01dddddddd]\n");
    expect(play(rules, WORDS("sbatch", "-d", "singleton", "-J", "first"), SCRIPT, NULL), 0, NULL, "", "name: first\n");
    expect(play(rules, WORDS("convert", "-d", "singleton"), SCRIPT, NULL), 0, NULL, "adds your jobs of that name",
           NULL);
    expect(
        play(RULES({"GET ", 0, 403, NULL, "{}", WHOLE, 0}, ACCEPTED), WORDS("sbatch", "-d", "singleton"), SCRIPT, NULL),
        4, "", "403", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sbatch__a_singleton_waits_for_the_users_open_jobs_of_its_name),
        cmocka_unit_test(sbatch__prints_what_sbatch_prints),
        cmocka_unit_test(sbatch__reads_the_file_that_it_is_given),
        cmocka_unit_test(sbatch__sends_no_invalid_script),
        cmocka_unit_test(sbatch__has_the_exit_codes_of_submit),
        cmocka_unit_test(sbatch__notes_go_to_standard_error),
        cmocka_unit_test(sbatch__waits_when_told_to),
        cmocka_unit_test(convert__prints_the_job_file_and_needs_no_broker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
