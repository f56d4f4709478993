/*  Plans, claims, file name patterns and environments: what is written is read, and nothing else is. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "federation/reason/codes.h"
#include "site-agent/shim/environment.h"
#include "site-agent/shim/pattern.h"
#include "site-agent/shim/plan.h"
#include "site-agent/shim/slurm.h"

static void plan__of_slurm_round_trips_and_is_refused_when_truncated(void **state)
{
    (void)state;
    helio_plan_t plan = {.uid = 1000,
                         .gid = 100,
                         .user = HELIO_TEXT("ada"),
                         .workdir = HELIO_TEXT("/w"),
                         .launcher = HELIO_LAUNCHER_SLURM,
                         .nodes = 3,
                         .batch_script = true,
                         .stdout_path = HELIO_TEXT("out=%j"),
                         .stderr_path = HELIO_TEXT("err"),
                         .truncate = true,
                         .srun = HELIO_TEXT("/opt/slurm/bin/srun"),
                         .clock_tolerance_ms = 2000,
                         .image = HELIO_TEXT("train:1"),
                         .container = {HELIO_TEXT("podman"), HELIO_TEXT("--env=A={gpus}")},
                         .container_count = 2,
                         .mounts = {HELIO_TEXT("/data")},
                         .mount_count = 1,
                         .runtime_path = HELIO_TEXT("/opt/bin:/bin"),
                         .runtime_home = HELIO_TEXT("/home/ada"),
                         .runtime_prefix = HELIO_TEXT("APPTAINERENV_")};
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_plan_text(&plan, &text);
    helio_plan_t back;
    assert_int_equal(helio_plan_parse(helio_buffer_view(&text), &back, NULL), HELIO_OK);
    assert_int_equal(back.launcher, HELIO_LAUNCHER_SLURM);
    assert_true(back.nodes == 3 && back.batch_script && back.truncate && back.clock_tolerance_ms == 2000);
    assert_true(helio_text_is(back.stdout_path, "out=%j") && helio_text_is(back.stderr_path, "err"));
    assert_true(helio_text_is(back.srun, "/opt/slurm/bin/srun"));
    assert_true(helio_text_is(back.image, "train:1") && back.container_count == 2 && back.mount_count == 1);
    assert_true(helio_text_is(back.container[1], "--env=A={gpus}") && helio_text_is(back.mounts[0], "/data"));
    assert_true(helio_text_is(back.runtime_path, "/opt/bin:/bin") && helio_text_is(back.runtime_home, "/home/ada"));
    assert_true(helio_text_is(back.runtime_prefix, "APPTAINERENV_"));
    for (uint32_t cut = 0; cut + 6 < text.size; cut++)
        assert_int_not_equal(helio_plan_parse((helio_text_t){text.data, cut}, &back, NULL), HELIO_OK);
    const char *faults[] = {"launcher=cloud\n", "nodes=0\n", "nodes=-1\n", "batch_script=2\n", "rank=\n", "other=1\n"};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t bad = {0};
        helio_buffer_append(&bad, text.data, text.size);
        helio_buffer_text(&bad, faults[i]);
        assert_int_not_equal(helio_plan_parse(helio_buffer_view(&bad), &back, NULL), HELIO_OK);
    }
}

/*  Agents of older releases wrote what the job's document said. */
/*  Whoever can write the folder chooses what is quoted; it goes to a terminal. */
static void plan__quotes_what_it_does_not_know_as_printable_text(void **state)
{
    (void)state;
    helio_plan_t read;
    helio_error_t err = {0};
    assert_int_equal(helio_plan_parse(HELIO_TEXT("a\033[2J\377=1\n"), &read, &err), HELIO_INVALID);
    assert_string_equal(err.text, "plan: unexpected 'a?[2J?'");
}

static void plan__has_a_grace_of_one_hour_at_most(void **state)
{
    (void)state;
    const uint64_t graces[] = {0, 30000, HELIO_PLAN_GRACE_MAX_MS, HELIO_PLAN_GRACE_MAX_MS + 1, UINT64_C(25920000000)};
    for (size_t i = 0; i < sizeof graces / sizeof graces[0]; i++) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
        helio_plan_t back, plan = {.uid = 1000,
                                   .gid = 100,
                                   .user = HELIO_TEXT("ada"),
                                   .workdir = HELIO_TEXT("/w"),
                                   .grace_ms = graces[i],
                                   .launcher = HELIO_LAUNCHER_SLURM,
                                   .nodes = 3,
                                   .srun = HELIO_TEXT("/opt/slurm/bin/srun")};
        helio_plan_text(&plan, &text);
        assert_int_equal(helio_plan_parse(helio_buffer_view(&text), &back, NULL), HELIO_OK);
        assert_int_equal(back.grace_ms, i < 3 ? graces[i] : HELIO_PLAN_GRACE_MAX_MS);
    }
}

static void claim__has_the_host_and_the_slurm_job(void **state)
{
    (void)state;
    helio_claim_t claim = {.shim = {7, 8}, .boot_id = "b", .host = "eu-n1", .scheduler_id = "4711"}, back;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_claim_text(&claim, &text);
    assert_int_equal(helio_claim_parse(helio_buffer_view(&text), &back), HELIO_OK);
    assert_string_equal(back.host, "eu-n1");
    assert_string_equal(back.scheduler_id, "4711");
    assert_int_equal(helio_claim_parse(HELIO_TEXT("pid=1\nstart_ticks=2\nboot_id=x\n"), &back), HELIO_OK);
    assert_string_equal(back.scheduler_id, "");
}

static void done__of_a_user_carries_no_control_characters(void **state)
{
    (void)state;
    helio_done_t done;
    assert_int_equal(helio_done_parse(HELIO_TEXT("exit_code=0\nreason=a\x1b[31m\x7f.\xff!\nend=1\n"), &done), HELIO_OK);
    assert_int_equal(done.cause, HELIO_CAUSE_NONE);
    assert_string_equal(done.explanation, "a?[31m?.?!");
    assert_int_equal(helio_done_parse(HELIO_TEXT("exit_code=0\nreason=LeaseExpired\nend=1\n"), &done), HELIO_OK);
    assert_int_equal(done.cause, HELIO_CAUSE_LEASE_EXPIRED);
    assert_string_equal(done.explanation, "");
}

/*  As Slurm 22.05 names them; looked up with a real one. */
static void pattern__names_files_as_sbatch_does(void **state)
{
    (void)state;
    const helio_pattern_t single = {"2", NULL, "n m", "root", "vm", NULL},
                          array = {"4", "13", "train", "ada", "n1", "9"};
    const struct {
        const helio_pattern_t *of;
        const char *pattern, *name;
    } rows[] = {
        {&single, "p-%j-%A-%a-%x-%N-%u-%J-%t-%n-%s-%b-%%-%4j", "p-2-2-4294967294-n m-vm-root-2-0-0-batch-%b-%-0002"},
        {&single, "q\\%j", "q%j"},
        {&array, "logs/%x-%A_%a.out", "logs/train-9_13.out"},
        {&array, "%5a|%99999999999999999999j|%0j", "00013|0000000004|4"},
        {&array, "%4x%3%", "train%"},
        {&array, "100%", "100%"},
        {&array, "%", "%"},
        {&array, "%12", "%12"},
        {&array, "", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
        helio_pattern_fill(rows[i].of, helio_text_of(rows[i].pattern), &out);
        assert_string_equal(out.data ? out.data : "", rows[i].name);
    }
}

/*  By any name, also one that is in no table. */
static const char *value_of(const helio_environment_t *env, const char *name)
{
    size_t size = strlen(name);
    for (uint32_t i = 0; i < env->count; i++)
        if (strncmp(env->items[i], name, size) == 0 && env->items[i][size] == '=')
            return env->items[i] + size + 1;
    return NULL;
}

static void environment__of_a_rank_under_slurm(void **state)
{
    (void)state;
    char given[][64] = {"SLURM_JOB_NODELIST=n[1-2]",
                        "SLURM_JOB_ID=77",
                        "CUDA_VISIBLE_DEVICES=3,5",
                        "SLURM_EXPORT_ENV=NONE",
                        "SLURM_GET_USER_ENV=1",
                        "LD_PRELOAD=evil.so",
                        "PATH=/bin:/usr/bin",
                        "SLURM_JOB_NAME=helio-x",
                        "SLURM_CONF=/etc/slurm.conf",
                        "TMPDIR=/scratch/77",
                        "HOME=/root"};
    char *list[sizeof given / sizeof given[0] + 1] = {0};
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++)
        list[i] = given[i];
    const char *rows[][2] = {{"HELIO_HOSTS", "n1,n2"},
                             {"HELIO_NODES", "2"},
                             {"HELIO_NODE_RANK", "1"},
                             {"HELIO_GPUS", "2"},
                             {"CUDA_VISIBLE_DEVICES", "3,5"},
                             {"SLURM_JOB_ID", "77"},
                             {"SLURM_ARRAY_JOB_ID", "77"},
                             {"SLURM_CONF", "/etc/slurm.conf"},
                             {"SLURM_JOB_NAME", "train"},
                             {"TMPDIR", "/scratch/77"},
                             {"SLURM_EXPORT_ENV", NULL},
                             {"SLURM_GET_USER_ENV", NULL},
                             {"LD_PRELOAD", NULL},
                             {"HOME", "/home/ada"}};
    helio_arena_t *arena = helio_arena_new();
    helio_environment_t env = {.arena = arena};
    static const char entries[] = "HOME=/home/ada\0SLURM_JOB_NAME=train\0SLURM_ARRAY_TASK_ID=4";
    helio_environment_read(&env, (helio_text_t){entries, sizeof entries});
    helio_plan_t plan = {.launcher = HELIO_LAUNCHER_SLURM, .nodes = 2, .batch_script = true};
    assert_int_equal(helio_slurm_rank_environment(&plan, list, 1, &env, NULL), HELIO_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *value = value_of(&env, rows[i][0]);
        if (!value != !rows[i][1] || (value && strcmp(value, rows[i][1]) != 0))
            fail_msg("%s is '%s'", rows[i][0], value ? value : "(not there)");
    }
    for (uint32_t i = 0; i < env.count; i++) {
        helio_text_t name = {env.items[i], (uint32_t)strcspn(env.items[i], "=")};
        const helio_variable_doc_t *row = helio_variable_find(name);
        if (!row || row->kind == HELIO_VARIABLE_DROPPED)
            fail_msg("docs/reference/environment.md does not tell of %s", env.items[i]);
    }
    list[0] = list[1]; /* no list of nodes */
    assert_int_equal(helio_slurm_rank_environment(&plan, list, 1, &env, NULL), HELIO_INVALID);
    helio_arena_destroy(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plan__of_slurm_round_trips_and_is_refused_when_truncated),
        cmocka_unit_test(plan__quotes_what_it_does_not_know_as_printable_text),
        cmocka_unit_test(plan__has_a_grace_of_one_hour_at_most),
        cmocka_unit_test(claim__has_the_host_and_the_slurm_job),
        cmocka_unit_test(done__of_a_user_carries_no_control_characters),
        cmocka_unit_test(pattern__names_files_as_sbatch_does),
        cmocka_unit_test(environment__of_a_rank_under_slurm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
