/*  slurm_testing.h -- what the tests of the backend `slurm` share. */
#ifndef HELIO_TESTS_SITE_AGENT_BACKENDS_SLURM_SLURM_TESTING_H
#define HELIO_TESTS_SITE_AGENT_BACKENDS_SLURM_SLURM_TESTING_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/slurm_double.h"

#define WORD(name) HELIO_BACKEND_REPORT_##name

/*  One attempt in a new lab, handed in as job 101. */
static inline void open_started(lab_t *lab, lab_job_t *job)
{
    lab_open(lab);
    lab_start(lab, job);
    lab_settle(lab);
}

/*  One that runs as job 101; STARTED was said. */
static inline void open_running(lab_t *lab, lab_job_t *job)
{
    open_started(lab, job);
    lab_run(lab, job, "101");
    lab_pass(lab, 10000);
    lab_expect_word(lab, 0, WORD(STARTED));
}

/*  One that waits as job 101. */
static inline void open_pending(lab_t *lab, lab_job_t *job)
{
    lab_open(lab);
    lab_start(lab, job);
    lab_pass(lab, 10000);
    assert_int_equal(lab->heard_count, 0);
}

static inline void still_runs(lab_t *lab, const lab_job_t *job)
{
    assert_int_equal(lab->heard_count, 1);
    lab_done(lab, job, (helio_done_t){.exit_code = 9, .started_wall_ms = 5, .run_ms = 1});
    lab_set(lab, "101", "state", "FAILED");
    lab_pass(lab, 70000);
    assert_int_equal(lab->heard_count, 2);
    lab_expect_word(lab, 1, WORD(ENDED));
    assert_int_equal(lab->heard[1].event.exit_code, 9);
}

#endif
