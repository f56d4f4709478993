/*  test_container.c -- the command of a container, from a site's template. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "site-agent/shim/container.h"

typedef struct bench {
    helio_arena_t *arena;
    helio_plan_t plan;
    helio_environment_t env;
    helio_container_job_t job;
} bench_t;

static void open_bench(bench_t *bench, const char *gpus, const char *const *words)
{
    *bench = (bench_t){.arena = helio_arena_new()};
    bench->env.arena = bench->arena;
    helio_environment_set(&bench->env, HELIO_VARIABLE_PATH, HELIO_TEXT("/usr/bin:/bin"));
    helio_environment_set(&bench->env, HELIO_VARIABLE_HOME, HELIO_TEXT("/home/ada"));
    helio_environment_set(&bench->env, HELIO_VARIABLE_OUTPUT_DIR, HELIO_TEXT("/s/output/a"));
    helio_environment_set(&bench->env, HELIO_VARIABLE_REPORT, HELIO_TEXT("/s/attempts/a/report"));
    helio_environment_set(&bench->env, HELIO_VARIABLE_CUDA_DEVICES, helio_text_of(gpus));
    bench->plan.image = HELIO_TEXT("registry/train:1");
    bench->plan.workdir = HELIO_TEXT("/s/output/a");
    bench->plan.mounts[bench->plan.mount_count++] = HELIO_TEXT("/data");
    for (; words[bench->plan.container_count]; bench->plan.container_count++)
        bench->plan.container[bench->plan.container_count] = helio_text_of(words[bench->plan.container_count]);
    bench->job = (helio_container_job_t){.plan = &bench->plan, .folder = "/s/attempts/a", .env = &bench->env};
}

static void expect(bench_t *bench, const char *line)
{
    char **argv = NULL, got[2000] = "";
    assert_int_equal(helio_container_argv(&bench->job, "/usr/bin:/bin", bench->arena, &argv, NULL), HELIO_OK);
    for (char **word = argv; *word; word++) {
        (void)strncat(got, word == argv ? "" : " ", sizeof got - strlen(got) - 1);
        (void)strncat(got, *word, sizeof got - strlen(got) - 1);
    }
    assert_string_equal(got, line);
    helio_arena_destroy(&bench->arena);
}

static void container__words_are_replaced_and_repeated(void **state)
{
    (void)state;
    static const char *const words[] = {"/bin/sh",       "-v{mount}:{mount}",   "-e{env}", "-g{gpu}",   "--w={workdir}",
                                        "{any_gpu}--nv", "{gpus}={renumbered}", "{image}", "{program}", NULL};
    bench_t bench;
    open_bench(&bench, "2,5", words);
    expect(&bench,
           ("/bin/sh -v/s/attempts/a/run:/s/attempts/a/run -v/s/output/a:/s/output/a "
            "-v/s/attempts/a/report:/s/attempts/a/report -v/data:/data -eHELIO_OUTPUT_DIR -eHELIO_REPORT -g2 -g5 "
            "--w=/s/output/a --nv 2,5=0,1 registry/train:1 /bin/sh /s/attempts/a/run"));
}

static void container__without_gpus_their_words_are_left_out(void **state)
{
    (void)state;
    static const char *const words[] = {"/bin/sh", "-g{gpu}", "{any_gpu}--nv", "-e{env}", "{program}", NULL};
    bench_t bench;
    open_bench(&bench, "", words);
    bench.job.own = true;
    expect(&bench, "/bin/sh -eHELIO_OUTPUT_DIR -eHELIO_REPORT -eCUDA_VISIBLE_DEVICES /s/attempts/a/run");
}

static void container__devices_that_are_no_numbers_keep_their_names(void **state)
{
    (void)state;
    static const char *const words[] = {"/bin/sh", "{renumbered}", "-g{gpu}", "{program}", NULL};
    bench_t bench;
    open_bench(&bench, "GPU-a,MIG-b", words);
    expect(&bench, "/bin/sh GPU-a,MIG-b -gGPU-a -gMIG-b /bin/sh /s/attempts/a/run");
}

static bool has(const helio_environment_t *env, const char *entry)
{
    for (uint32_t i = 0; i < env->count; i++)
        if (strcmp(env->items[i], entry) == 0)
            return true;
    return false;
}

/*  The runtime runs outside of the container, and may gain rights. */
static void container__a_runtime_gets_no_variable_that_the_job_chose(void **state)
{
    (void)state;
    static const char *const words[] = {"podman", "{program}", NULL};
    bench_t bench;
    open_bench(&bench, "2", words);
    helio_environment_set(&bench.env, HELIO_VARIABLE_PATH, HELIO_TEXT("/evil:/bin"));
    helio_environment_add(&bench.env, "LD_PRELOAD", HELIO_TEXT("/evil.so"));
    bench.plan.runtime_path = HELIO_TEXT("/usr/bin:/bin");
    bench.plan.runtime_home = HELIO_TEXT("/root/ada");
    bench.plan.user = HELIO_TEXT("ada");
    helio_environment_t env = helio_container_environment(&bench.job);
    assert_true(has(&env, "PATH=/usr/bin:/bin") && has(&env, "HOME=/root/ada") && has(&env, "USER=ada"));
    assert_true(has(&env, "LC_ALL=C.UTF-8") && has(&env, "HELIO_OUTPUT_DIR=/s/output/a"));
    assert_true(has(&env, "HELIO_REPORT=/s/attempts/a/report") && has(&env, "CUDA_VISIBLE_DEVICES=2"));
    assert_int_equal(env.count, 7);
    bench.plan.runtime_prefix = HELIO_TEXT("APPTAINERENV_");
    env = helio_container_environment(&bench.job);
    assert_true(has(&env, "APPTAINERENV_LD_PRELOAD=/evil.so") && !has(&env, "APPTAINERENV_PATH=/evil:/bin"));
    assert_false(has(&env, "LD_PRELOAD=/evil.so"));
    helio_arena_destroy(&bench.arena);
}

static void container__variables_go_by_a_file_and_those_of_several_lines_by_arguments(void **state)
{
    (void)state;
    static const char *const words[] = {"/bin/sh", "--file={env_file}", "-e{env}={value}", "{program}", NULL};
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t file = {0};
    bench_t bench;
    open_bench(&bench, "", words);
    helio_environment_add(&bench.env, "LR", HELIO_TEXT("1e-4 {gpus}"));
    helio_environment_add(&bench.env, "TWO", HELIO_TEXT("a\nb={image}"));
    helio_container_variables(&bench.job, &file);
    assert_string_equal(file.data, ("HELIO_OUTPUT_DIR=/s/output/a\nHELIO_REPORT=/s/attempts/a/report\n"
                                    "CUDA_VISIBLE_DEVICES=\nLR=1e-4 {gpus}\n"));
    bench.job.env_file = "/file";
    expect(&bench, "/bin/sh --file=/file -eTWO=a\nb={image} /bin/sh /s/attempts/a/run");
}

static void container__without_variables_there_is_no_file(void **state)
{
    (void)state;
    static const char *const words[] = {"/bin/sh", "--file={env_file}", "{program}", NULL};
    bench_t bench;
    open_bench(&bench, "", words);
    expect(&bench, "/bin/sh /bin/sh /s/attempts/a/run");
}

/*  Nothing of a job is read as a word of the template. */
static void container__what_a_job_says_is_not_expanded_again(void **state)
{
    (void)state;
    static const char *const words[] = {"/bin/sh", "{image}", "{program}", NULL};
    bench_t bench;
    open_bench(&bench, "", words);
    bench.plan.image = HELIO_TEXT("x{any_gpu}y");
    char **argv = NULL;
    assert_int_equal(helio_container_argv(&bench.job, "/bin", bench.arena, &argv, NULL), HELIO_OK);
    assert_string_equal(argv[1], "x{any_gpu}y");
    helio_arena_destroy(&bench.arena);
}

static void container__a_runtime_that_is_not_there_is_named(void **state)
{
    (void)state;
    static const char *const words[] = {"no-such-runtime", "{program}", NULL};
    bench_t bench;
    helio_error_t err = {0};
    char **argv = NULL;
    open_bench(&bench, "", words);
    assert_int_equal(helio_container_argv(&bench.job, "/usr/bin:/bin", bench.arena, &argv, &err), HELIO_NOT_FOUND);
    assert_non_null(strstr(err.text, "no-such-runtime"));
    helio_arena_destroy(&bench.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(container__words_are_replaced_and_repeated),
        cmocka_unit_test(container__without_gpus_their_words_are_left_out),
        cmocka_unit_test(container__devices_that_are_no_numbers_keep_their_names),
        cmocka_unit_test(container__a_runtime_gets_no_variable_that_the_job_chose),
        cmocka_unit_test(container__variables_go_by_a_file_and_those_of_several_lines_by_arguments),
        cmocka_unit_test(container__without_variables_there_is_no_file),
        cmocka_unit_test(container__what_a_job_says_is_not_expanded_again),
        cmocka_unit_test(container__a_runtime_that_is_not_there_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
