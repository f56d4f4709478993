/*  test_slurm_probe.c -- `helio-agent check` with a probe: a job of a minute by the way of every job, with
 * the real shim and an sbatch that runs what it is given at once. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/slurm_double.h"

/*  Runs the batch script beside itself, as a node would, and forgets the job when it is over. */
static const char running_sbatch[] =
    "#!/bin/sh\n"
    "base=${0%%/bin/*}\n"
    "[ \"$1\" = --version ] && { echo slurm 22.05.8; exit; }\n"
    "echo \"sbatch $*\" >>\"$base/calls\"\n"
    "for word in \"$@\"; do case $word in --job-name=*) name=${word#*=} ;; esac; done\n"
    "while [ \"${1#-}\" != \"$1\" ]; do shift; done\n"
    "now=$(date +%%s)\n"
    "printf "
    "\"name='%%s'\\nstate=RUNNING\\nreason=None\\nexit=0:0\\nstart=$now\\nend=N/"
    "A\\nlisted=yes\\nknown=yes\\n\" \"$name\" "
    ">\"$base/jobs/101\"\n"
    "(SLURM_JOB_ID=101 SLURM_JOB_NODELIST=n1 SLURM_JOB_NUM_NODES=1 SLURM_NODEID=0 SLURMD_NODENAME=n1 \"$@\"; "
    "\n"
    " sed -i 's/^state=.*/state=COMPLETED/; s/^listed=.*/listed=no/' \"$base/jobs/101\") >/dev/null 2>&1 "
    "</dev/null &\n"
    "echo 101\n";

typedef struct lines {
    char text[4096];
    uint32_t failed;
} lines_t;

static void on_line(void *arg, const char *what, helio_rc rc, const char *detail)
{
    lines_t *lines = arg;
    size_t used = strlen(lines->text);
    (void)snprintf(lines->text + used, sizeof lines->text - used, "%s %s: %s\n", rc ? "bad" : "good", what, detail);
    lines->failed += rc != HELIO_OK;
}

static lab_t lab;

static int begin(void **state)
{
    (void)state;
    lab_open(&lab);
    lab.settings.poll_ms = 1000;
    lab_put(&lab, "bin/srun", "#!/bin/sh\necho slurm 22.05.8\n");
    lab_answer(&lab, "scancel", "slurm 22.05.8\n", "", 0);
    char path[200];
    (void)snprintf(path, sizeof path, "%s/bin/sbatch", lab.dir);
    assert_int_equal(unlink(path), 0); /* a link to the double */
    lab_put(&lab, "bin/sbatch", running_sbatch);
    assert_int_equal(chmod(path, 0755), 0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    lab_close(&lab);
    return 0;
}

static lines_t check(void)
{
    lines_t lines = {0};
    helio_slurm_options_t options = {
        .site = &lab.site, .rules = &lab.rules, .settings = &lab.settings, .shim = HELIO_SHIM_PATH};
    helio_slurm_check(&options, true, on_line, &lines);
    return lines;
}

static void expect_line(const lines_t *lines, const char *line)
{
    if (!strstr(lines->text, line))
        fail_msg("no line '%s' in\n%s", line, lines->text);
}

/*  Entries of a folder below the shared one, but for "." and "..". */
static uint32_t left_in(const char *name)
{
    char path[200];
    uint32_t count = 0;
    (void)snprintf(path, sizeof path, "%s/%s", lab.shared, name);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        count += entry->d_name[0] != '.';
    if (folder)
        (void)closedir(folder);
    return count;
}

static void probe__runs_a_job_in_each_pool_and_leaves_nothing_but_its_word(void **state)
{
    (void)state;
    lines_t lines = check();
    char expected[200];
    (void)snprintf(expected, sizeof expected, " user=%s host=n1\n", lab.self_name);
    expect_line(&lines, "good probe h100: job 101 ran: clock=");
    expect_line(&lines, expected);
    assert_int_equal(lines.failed, 0);
    assert_int_equal(lab_calls(&lab, "--gpus-per-node=h100:1") + lab_calls(&lab, "--gres=gpu:h100:1"), 1);
    assert_int_equal(left_in("output"), 0);
    assert_int_equal(left_in("checkpoints"), 0);
}

/*  Leases are measured across hosts, so clocks that differ matter. */
static void probe__finds_a_node_whose_clock_is_apart(void **state)
{
    (void)state;
    char path[300];
    lab_put(&lab, "bin/date", "#!/bin/sh\necho 1500000000\n");
    (void)snprintf(path, sizeof path, "%s/bin/date", lab.dir);
    assert_int_equal(chmod(path, 0755), 0);
    (void)snprintf(path, sizeof path, "%s/bin:/usr/bin:/bin", lab.dir);
    lab.rules.path = helio_text_of(path);
    lines_t lines = check();
    expect_line(&lines, "bad probe h100: the node's clock differs from this host's by -");
    expect_line(&lines, "set them by NTP");
    assert_int_equal(lines.failed, 1);
}

static void probe__passes_on_what_the_cluster_refuses_in_its_words(void **state)
{
    (void)state;
    lab_put(&lab, "bin/sbatch",
            "#!/bin/sh\n[ \"$1\" = --version ] && { echo slurm 22.05.8; exit; }\n"
            "echo 'sbatch: error: Batch job submission failed: Invalid account or account/partition "
            "combination specified' "
            ">&2\nexit 1\n");
    lines_t lines = check();
    expect_line(&lines, "bad probe h100: failed-to-start");
    expect_line(&lines, "Invalid account or account/partition combination specified");
}

static void probe__names_a_site_without_users_and_tries_nothing_when_more_is_missing(void **state)
{
    (void)state;
    lab.rules.users.count = 0;
    lines_t lines = check();
    expect_line(&lines, "bad probe: `users` maps no user that a job could run as\n");
    assert_int_equal(lab_calls(&lab, "sbatch --parsable"), 0);
    lab.rules.users.count = 1;
    lab_answer(&lab, "scancel", "", "scancel: error while loading shared libraries\n", 127);
    lines = check();
    expect_line(&lines,
                "bad commands: scancel: scancel: error while loading shared libraries; install Slurm's commands "
                "here, or set agent.slurm.commands and agent.slurm.conf\n");
    expect_line(&lines, "bad probe: not tried, because of the failures above\n");
    assert_int_equal(lab_calls(&lab, "sbatch --parsable"), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(probe__runs_a_job_in_each_pool_and_leaves_nothing_but_its_word),
        TEST(probe__finds_a_node_whose_clock_is_apart),
        TEST(probe__passes_on_what_the_cluster_refuses_in_its_words),
        TEST(probe__names_a_site_without_users_and_tries_nothing_when_more_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
