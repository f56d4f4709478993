/*  test_mps.c -- the daemons of pools that are shared by MPS, with a script in place of NVIDIA's program. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "site-agent/agent/gpus.h"
#include "site-agent/shim/process.h"

/*  As NVIDIA's does: it leaves a daemon, whose number is in a file beside its sockets. */
static const char script[] = "#!/bin/sh\n"
                             "[ \"$1\" = -d ] || { echo \"no such option\"; exit 3; }\n"
                             "setsid sleep 300 </dev/null >/dev/null 2>&1 &\n"
                             "echo \"$CUDA_VISIBLE_DEVICES\" >\"$CUDA_MPS_LOG_DIRECTORY/devices\"\n"
                             "echo $! >\"$CUDA_MPS_PIPE_DIRECTORY/nvidia-cuda-mps-control.pid\"\n";

typedef struct fixture {
    helio_arena_t *arena;
    helio_agent_settings_t settings;
    helio_pool_t pool;
    helio_string_t command[2];
    helio_share_rule_t share;
    helio_error_t err;
    char folder[64], program[128];
} fixture_t;

static int make(void **state)
{
    fixture_t *self = helio_new(1, sizeof *self);
    self->arena = helio_arena_new();
    (void)snprintf(self->folder, sizeof self->folder, "/tmp/helio-mps-XXXXXX");
    assert_non_null(mkdtemp(self->folder));
    (void)snprintf(self->program, sizeof self->program, "%s/control", self->folder);
    FILE *file = fopen(self->program, "we");
    assert_non_null(file);
    assert_true(fputs(script, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(self->program, 0755), 0);
    self->command[0].text = helio_text_of(self->program);
    self->command[1].text = HELIO_TEXT("-d");
    self->share = (helio_share_rule_t){
        .pool = HELIO_TEXT("l4"), .jobs_per_gpu = 4, .mps_command = {.items = self->command, .count = 2}};
    self->pool = (helio_pool_t){.name = HELIO_TEXT("l4"), .nodes = 1, .sharing = HELIO_SHARING_MPS};
    self->settings.state_dir = helio_text_of(self->folder);
    self->settings.site.backend = HELIO_TEXT("local");
    self->settings.site.pools.items = &self->pool;
    self->settings.site.pools.count = 1;
    self->settings.shares.items = &self->share;
    self->settings.shares.count = 1;
    (void)setenv("NVML_DOUBLE_NAMES", "NVIDIA L4;NVIDIA L4", 1);
    assert_int_equal(helio_site_gpus_open(&self->settings, HELIO_NVML_DOUBLE, self->arena, &self->err), HELIO_OK);
    assert_int_equal(self->settings.gpus->mps_count, 1);
    *state = self;
    return 0;
}

static helio_mps_t *mps_of(const fixture_t *self)
{
    return &self->settings.gpus->mps[0];
}

static pid_t daemon_of(const fixture_t *self)
{
    char path[256];
    int pid = 0;
    (void)snprintf(path, sizeof path, "%s/nvidia-cuda-mps-control.pid", mps_of(self)->pipe);
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%d", &pid) != 1)
        pid = 0;
    if (file)
        (void)fclose(file);
    return pid;
}

static void end_daemon(const fixture_t *self)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    if (daemon_of(self) > 1)
        (void)kill(daemon_of(self), SIGKILL);
    while (helio_mps_lives(mps_of(self)))
        (void)nanosleep(&pause, NULL);
}

static int unmake(void **state)
{
    fixture_t *self = *state;
    end_daemon(self);
    static const char *const left[] = {"mps/l4/log/start.log",
                                       "mps/l4/log/devices",
                                       "mps/l4/pipe/nvidia-cuda-mps-control.pid",
                                       "mps/l4/log",
                                       "mps/l4/pipe",
                                       "mps/l4",
                                       "mps",
                                       "devices",
                                       "control"};
    char path[256];
    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", self->folder, left[i]);
        (void)remove(path);
    }
    (void)rmdir(self->folder);
    helio_site_gpus_close(&self->settings);
    helio_arena_destroy(&self->arena);
    free(self);
    (void)unsetenv("NVML_DOUBLE_NAMES");
    return 0;
}

static uint32_t away(const fixture_t *self)
{
    helio_slots_away_t slots;
    assert_true(helio_site_gpus_look(&self->settings, 0, &slots));
    return slots.count;
}

static void mps__daemon_is_started_once_for_the_pools_gpus(void **state)
{
    fixture_t *self = *state;
    assert_int_equal(helio_mps_check(mps_of(self), &self->err), HELIO_OK);
    assert_int_equal(helio_site_gpus_begin(&self->settings, &self->err), HELIO_OK);
    pid_t daemon = daemon_of(self);
    assert_true(daemon > 1 && helio_mps_lives(mps_of(self)));
    assert_int_equal(away(self), 0);
    assert_int_equal(helio_site_gpus_begin(&self->settings, &self->err), HELIO_OK); /* the next agent finds it */
    assert_int_equal(daemon_of(self), daemon);
    char path[256], text[64] = "";
    (void)snprintf(path, sizeof path, "%s/devices", mps_of(self)->log);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    (void)fclose(file);
    assert_string_equal(text, "GPU-double-0,GPU-double-1\n");
    assert_true(helio_text_is(self->settings.gpus->devices.pools[0].mps_pipe, mps_of(self)->pipe));
}

static void mps__pool_is_not_offered_without_its_daemon_which_is_started_again(void **state)
{
    fixture_t *self = *state;
    assert_int_equal(helio_site_gpus_begin(&self->settings, &self->err), HELIO_OK);
    end_daemon(self);
    assert_int_equal(away(self), 8);
    const struct timespec pause = {.tv_nsec = 5000000};
    for (int i = 0; i < 2000 && away(self); i++)
        (void)nanosleep(&pause, NULL);
    assert_int_equal(away(self), 0);
}

static void mps__process_that_began_after_the_file_is_not_the_daemon(void **state)
{
    fixture_t *self = *state;
    assert_int_equal(helio_site_gpus_begin(&self->settings, &self->err), HELIO_OK);
    char path[256];
    (void)snprintf(path, sizeof path, "%s/nvidia-cuda-mps-control.pid", mps_of(self)->pipe);
    const struct timespec old[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}}; /* of an earlier boot */
    assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
    assert_false(helio_mps_lives(mps_of(self)));
    assert_int_equal(utimensat(AT_FDCWD, path, NULL, 0), 0);
    assert_true(helio_mps_lives(mps_of(self)));
}

static void mps__command_that_fails_keeps_the_agent_from_starting_with_the_reason(void **state)
{
    fixture_t *self = *state;
    self->command[1].text = HELIO_TEXT("-x");
    helio_site_gpus_close(&self->settings);
    assert_int_equal(helio_site_gpus_open(&self->settings, HELIO_NVML_DOUBLE, self->arena, &self->err), HELIO_OK);
    assert_int_equal(helio_site_gpus_begin(&self->settings, &self->err), HELIO_UNAVAILABLE);
    assert_non_null(strstr(self->err.text, "pool 'l4': no MPS daemon runs (its command ended with 3, and no daemon)"));
    self->command[0].text = HELIO_TEXT("helio-no-such-program");
    helio_site_gpus_close(&self->settings);
    assert_int_equal(helio_site_gpus_open(&self->settings, HELIO_NVML_DOUBLE, self->arena, &self->err), HELIO_OK);
    assert_int_equal(helio_mps_check(mps_of(self), &self->err), HELIO_NOT_FOUND);
    assert_non_null(strstr(self->err.text, "no program 'helio-no-such-program' in PATH"));
    assert_int_equal(helio_site_gpus_begin(&self->settings, &self->err), HELIO_UNAVAILABLE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, unmake)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(mps__daemon_is_started_once_for_the_pools_gpus),
        TEST(mps__pool_is_not_offered_without_its_daemon_which_is_started_again),
        TEST(mps__process_that_began_after_the_file_is_not_the_daemon),
        TEST(mps__command_that_fails_keeps_the_agent_from_starting_with_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
