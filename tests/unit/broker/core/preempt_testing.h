/*  preempt_testing.h -- one or two full sites, and jobs that can preempt others there. */
#ifndef HELIO_TESTS_BROKER_CORE_PREEMPT_TESTING_H
#define HELIO_TESTS_BROKER_CORE_PREEMPT_TESTING_H

#include <stdio.h>
#include <string.h>

#include "tests/support/core_harness.h"

enum { NORTH = 1, SOUTH = 2, MINUTE = 60000, HOUR = 3600000 };

static harness_t *h;
static helio_site_profile_t *north;

static inline int begin(void **state)
{
    (void)state;
    helio_broker_options_t options = helio_broker_options_default();
    options.silent_after_ms = INT64_C(1000) * HOUR;
    h = harness_begin(&options);
    north = harness_site(h, "north");
    return 0;
}

static inline int end(void **state)
{
    (void)state;
    harness_end(&h);
    return 0;
}

static inline helio_job_spec_t spec_of(const char *queue, uint32_t nodes, uint32_t gpus)
{
    helio_job_spec_t spec = harness_spec(h, "H100", gpus);
    spec.queue = helio_text_of(queue);
    spec.nodes = nodes;
    return spec;
}

static inline helio_job_key_t of(const char *tenant, const char *queue, uint32_t nodes, uint32_t gpus)
{
    helio_job_spec_t spec = spec_of(queue, nodes, gpus);
    const helio_fx_reply_t *reply = harness_submit(h, tenant, &spec);
    assert_int_equal(reply->rc, HELIO_OK);
    return (helio_job_key_t){reply->jobs.items[0].job, HELIO_NO_TASK};
}

static inline helio_job_key_t run(helio_job_key_t key)
{
    harness_tick(h);
    harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_RUNNING);
    return key;
}

static inline void assert_state(helio_job_key_t key, uint32_t state)
{
    assert_string_equal(helio_job_state_name(harness_state(h, key)), helio_job_state_name(state));
}

static inline void stopped(helio_job_key_t key, uint32_t epoch)
{
    harness_say(h, NORTH, key, epoch, HELIO_REPORT_KIND_STOPPED);
}

static inline uint64_t preemptions(helio_preempt_cause_t why)
{
    return harness_figures(h).preemptions_total[why];
}

#endif
