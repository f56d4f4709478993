/*  estimates_testing.h -- a run at north that is given up while north says nothing, and what its site tells of it
 *  later. */
#ifndef HELIO_TESTS_BROKER_CORE_ESTIMATES_TESTING_H
#define HELIO_TESTS_BROKER_CORE_ESTIMATES_TESTING_H

#include "tests/support/core_harness_rows.h"
#include "tests/unit/broker/core/observed_run_testing.h"

/*  SHORTER_MS: as late reports explain it. */
enum { RAN_MS = 1800000, MEASURED_MS = 2400000, SHORTER_MS = 1500000, BACK = NORTH + NEXT_SESSION };

/* ---- what happens --------------------------------------------------------------------------------------- */

static inline helio_job_spec_t spec_of_run(helio_site_loss_t policy)
{
    helio_job_spec_t spec = harness_spec(h, "H100", 2);
    spec.on_site_loss = policy;
    spec.time_limit_ms = HOUR_MS;
    return spec;
}

/*  It runs at north, as epoch 1. */
static inline helio_job_key_t begin_run_of(const helio_job_spec_t *spec)
{
    helio_job_key_t key = harness_job(h, spec);
    harness_tick(h);
    assert_true(helio_text_is(harness_row(h, key)->site, "north"));
    harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_RUNNING);
    pass(RAN_MS);
    harness_clear(h);
    return key;
}

/*  A job of two GPUs. */
static inline helio_job_key_t begin_run(helio_site_loss_t policy)
{
    const helio_job_spec_t spec = spec_of_run(policy);
    return begin_run_of(&spec);
}

/*  North says nothing more until the job has left it behind. */
static inline void give_up(helio_job_key_t key)
{
    harness_gone(h, NORTH);
    for (int64_t ms = 0; ms < 2 * HOUR_MS && harness_state(h, key) != HELIO_JOB_QUEUED; ms += 10000) {
        harness_renew(h, SOUTH);
        harness_wait(h, 10000);
    }
}

static inline helio_job_key_t given_up(void)
{
    helio_job_key_t key = begin_run(HELIO_SITE_LOSS_EAGER);
    give_up(key);
    return key;
}

static inline helio_report_t measured(helio_job_key_t key, uint64_t run_ms)
{
    helio_report_t report = end_of(key, 1, HELIO_REPORT_KIND_STOPPED);
    report.run_ms = run_ms;
    report.gpu_ms = 2 * run_ms;
    report.ended_wall_ms = harness_wall_ms(h);
    report.started_wall_ms = report.ended_wall_ms - (int64_t)run_ms;
    return report;
}

static inline void tell(uint64_t peer, helio_job_key_t key, uint64_t run_ms)
{
    helio_report_t report = measured(key, run_ms);
    harness_report(h, peer, &report);
}

static inline void next_leader(void)
{
    harness_t *former = h;
    h = harness_rebuild(former);
    harness_end(&former);
    north = harness_site(h, "north"); /* the former ones ended with their harness */
    south = harness_site(h, "south");
    harness_pool(h, north, "a", "H100", 4, 8, 2.0);
    harness_pool(h, south, "a", "H100", 4, 8, 3.0);
    harness_join(h, BACK, north);
    harness_join(h, BACK + 1, south);
    harness_clear(h);
}

/* ---- what is charged ------------------------------------------------------------------------------------ */

static inline uint64_t in_ledger(void)
{
    return (uint64_t)harness_charged(h, "acme", HELIO_BUDGET_GPU, 0, INT64_MAX);
}

static inline uint32_t basis_of_next(void)
{
    const helio_row_attempt_t *row = harness_take(h, HELIO_BROKER_FX_ROW_ATTEMPT);
    assert_non_null(row);
    assert_true(row->fenced && !row->completes && row->epoch == 1);
    return row->basis;
}

#endif
