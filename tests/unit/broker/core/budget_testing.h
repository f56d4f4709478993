/*  budget_testing.h -- one site, and tenants with budgets.
 *
 *  Runs are expected to last as long as their limit of an hour, at 2 USD for a GPU hour, unless a test has made the
 *  broker learn otherwise. */
#ifndef HELIO_TESTS_BROKER_CORE_BUDGET_TESTING_H
#define HELIO_TESTS_BROKER_CORE_BUDGET_TESTING_H

#include "tests/support/core_harness.h"

#include <stdio.h>
#include <string.h>

#include "federation/base/rng.h"
#include "federation/policy/budget.h"

enum { NORTH = 1, SECOND = 1000, MINUTE = 60000, HOUR = 3600000, DAY = 86400000, USD = 1000000 };

static inline helio_site_profile_t *site_of(harness_t *h, uint32_t nodes)
{
    helio_site_profile_t *site = harness_site(h, "north");
    (void)harness_pool(h, site, "h100", "H100", nodes, 8, 2);
    return site;
}

static inline harness_t *begin(uint32_t nodes)
{
    harness_t *h = harness_begin(NULL);
    harness_join(h, NORTH, site_of(h, nodes));
    harness_tick(h);
    harness_advance(h, 6 * HOUR); /* the month begins with the harness */
    harness_summary(h, NORTH, site_of(h, nodes), 0, 0);
    harness_tick(h);
    harness_clear(h);
    return h;
}

/*  In one step; the site stays heard of. */
static inline void let_pass(harness_t *h, int64_t ms)
{
    harness_advance(h, ms);
    harness_summary(h, NORTH, site_of(h, 8), 0, 0);
    harness_tick(h);
}

/*  To before_ms before the end of the month. */
static inline void skip_to_end_of_month(harness_t *h, int64_t before_ms)
{
    int64_t end_ms = helio_period_next(HELIO_PERIOD_MONTH, harness_wall_ms(h));
    let_pass(h, end_ms - before_ms - harness_wall_ms(h));
}

static inline helio_job_key_t submit_in(harness_t *h, const char *tenant, const char *queue, uint32_t gpus)
{
    helio_job_spec_t spec = harness_spec(h, "H100", gpus);
    spec.queue = helio_text_of(queue);
    const helio_fx_reply_t *reply = harness_submit(h, tenant, &spec);
    assert_int_equal(reply->rc, HELIO_OK);
    helio_job_key_t key = {reply->jobs.items[0].job, HELIO_NO_TASK};
    harness_tick(h);
    return key;
}

static inline helio_job_key_t submit(harness_t *h, uint32_t gpus)
{
    return submit_in(h, "acme", "standard", gpus);
}

static inline void set(harness_t *h, const char *tenant, const char *queue, const char *budget)
{
    const helio_fx_reply_t *reply = harness_budget(h, tenant, queue, budget);
    if (reply->rc != HELIO_OK)
        fail_msg("%s: %s", budget, harness_details(h, &reply->details));
    harness_tick(h);
}

static inline helio_row_class_t last_class(harness_t *h)
{
    const helio_row_class_t *row, *last = NULL;
    while ((row = harness_take(h, HELIO_BROKER_FX_ROW_CLASS)))
        last = row;
    assert_non_null(last);
    return *last;
}

static inline void assert_detail(harness_t *h, const char *facts)
{
    helio_row_class_t row = last_class(h);
    assert_true(helio_text_is(row.reason, "PolicyCap"));
    assert_string_equal(harness_facts(h, row.details), facts);
}

static inline bool waits(const harness_t *h, helio_job_key_t key)
{
    return harness_state(h, key) == HELIO_JOB_QUEUED;
}

static inline void run(harness_t *h, helio_job_key_t key)
{
    harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_RUNNING);
}

/*  The job succeeds after run_ms on that many GPUs. */
static inline void end(harness_t *h, helio_job_key_t key, uint32_t epoch, uint32_t gpus, int64_t run_ms)
{
    helio_report_t report = harness_report_of(h, key, epoch, HELIO_REPORT_KIND_ENDED);
    report.run_ms = (uint64_t)run_ms;
    report.gpu_ms = (uint64_t)run_ms * gpus;
    report.started_wall_ms = harness_wall_ms(h) - run_ms;
    harness_report(h, NORTH, &report);
    harness_tick(h);
}

#endif
