/*  dependencies_testing.h -- one site, and jobs that wait for other jobs. */
#ifndef HELIO_TESTS_BROKER_CORE_DEPENDENCIES_TESTING_H
#define HELIO_TESTS_BROKER_CORE_DEPENDENCIES_TESTING_H

#include <stdio.h>
#include <string.h>

#include "federation/base/clock.h"
#include "tests/support/core_harness.h"

/*  BATCH: as many jobs as one batch cancels, or BATCH_MS without a batch. */
enum { NORTH = 1, MANY = 10000, BATCH = 1000, BATCH_MS = 1000 };

static harness_t *h;
static helio_site_profile_t *north;
static helio_job_spec_t spec;

static inline int begin(void **state)
{
    (void)state;
    h = harness_begin(NULL);
    north = harness_site(h, "north");
    harness_pool(h, north, "a", "H100", 1000, 8, 2.0);
    harness_join(h, NORTH, north);
    spec = harness_spec(h, "H100", 1);
    return 0;
}

static inline int end(void **state)
{
    (void)state;
    harness_end(&h);
    return 0;
}

/*  The site keeps sending messages. */
static inline void wait_ms(int64_t ms)
{
    for (; ms > 10000; ms -= 10000) {
        harness_wait(h, 10000);
        harness_renew(h, NORTH);
    }
    harness_wait(h, ms);
    harness_renew(h, NORTH);
}

static inline void cancel(helio_job_key_t key)
{
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, key)->rc, HELIO_OK);
    if (harness_state(h, key) == HELIO_JOB_STOPPING)
        harness_say(h, NORTH, key, harness_row(h, key)->epoch, HELIO_REPORT_KIND_STOPPED);
}

static inline void assert_waits(helio_job_key_t key)
{
    wait_ms(5000);
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
    assert_true(harness_is_open(h, key));
    const helio_row_dependency_hold_t *hold = harness_dependency_hold(h, key);
    assert_non_null(hold);
    assert_true(hold->opened_ms == 0);
}

static inline void assert_placed(helio_job_key_t key)
{
    harness_tick(h);
    assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
    const helio_row_dependency_hold_t *hold = harness_dependency_hold(h, key);
    assert_true(!hold || hold->opened_ms != 0);
}

static inline void assert_unsatisfiable(helio_job_key_t key, helio_job_key_t on, const char *how)
{
    char text[HELIO_KEY_SIZE + 64], id[HELIO_KEY_SIZE];
    helio_job_key_text(on, id);
    (void)snprintf(text, sizeof text, "DependencyFailed job_id=%s outcome=%s", id, how);
    assert_int_equal(harness_state(h, key), HELIO_JOB_CANCELLED);
    assert_false(harness_is_open(h, key));
    const helio_row_state_t *row = harness_row(h, key);
    assert_string_equal(harness_facts(h, row->why), text);
    assert_int_equal(row->epoch, 0);
    assert_int_equal(row->exit_code, 130);
}

static inline void assert_detail(helio_job_key_t key, helio_job_key_t on, const char *event)
{
    char text[300], id[HELIO_KEY_SIZE];
    helio_job_key_text(on, id);
    (void)snprintf(text, sizeof text, "Dependency job_id=%s event=%s", id, event);
    assert_string_equal(harness_facts(h, harness_dependency_hold(h, key)->details), text);
}

typedef enum outcome { SUCCEEDS, FAILS, IS_CANCELLED, IS_OPEN } outcome_t;

/*  A job that is queued runs and ends so. */
static inline void finish(helio_job_key_t key, outcome_t outcome)
{
    if (outcome == IS_CANCELLED)
        cancel(key);
    if (outcome == IS_CANCELLED || outcome == IS_OPEN)
        return;
    harness_tick(h);
    assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
    uint32_t epoch = harness_row(h, key)->epoch;
    harness_run_up_to(h, NORTH, key, epoch, HELIO_JOB_RUNNING);
    helio_report_t report = harness_report_of(h, key, epoch, HELIO_REPORT_KIND_ENDED);
    report.exit_code = outcome == FAILS;
    harness_report(h, NORTH, &report);
}

static inline helio_job_key_t array_of(uint32_t tasks)
{
    static uint32_t indices[] = {0, 1, 2, 3};
    helio_job_spec_t array = spec;
    array.tasks = (helio_u32s_t){indices, tasks};
    return harness_job(h, &array);
}

static inline void rebuild(void)
{
    harness_t *next = harness_rebuild(h);
    harness_end(&h);
    h = next;
    north = harness_site(h, "north");
    harness_pool(h, north, "a", "H100", 1000, 8, 2.0);
    harness_join(h, NORTH, north);
    spec = harness_spec(h, "H100", 1);
}

/*  Without the harness's look-up of the dependency, which would be most of the work. */
static inline helio_job_key_t open_after(helio_after_t after, helio_job_key_t on)
{
    helio_string_t word = {HELIO_TEXT("something")};
    helio_dependency_t depends = {word.text, after, HELIO_FOUND_OPEN, on};
    helio_submission_t job = harness_submission(h, &spec, "", "");
    job.spec.after_any.items = &word;
    job.spec.after_any.count = 1;
    job.depends.items = &depends;
    job.depends.count = 1;
    helio_job_key_t key = {harness_submit_all(h, "acme", &job, 1)->jobs.items[0].job, HELIO_NO_TASK};
    harness_clear(h);
    return key;
}

static inline void seal(void)
{
    helio_ev_sealed_t sealed = {harness_figures(h).open_batch};
    harness_step(h, HELIO_BROKER_EV_SEALED, &sealed);
}

#endif
