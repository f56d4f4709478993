/*  observed_run_testing.h -- a job that runs at north, and what is charged for it. */
#ifndef HELIO_TESTS_BROKER_CORE_OBSERVED_RUN_TESTING_H
#define HELIO_TESTS_BROKER_CORE_OBSERVED_RUN_TESTING_H

#include "tests/unit/broker/core/two_sites_testing.h"

enum { HOUR_MS = 3600000, NEXT_SESSION = 10 };

/*  A job of two GPUs that runs at north since now, as that epoch. */
static inline helio_job_key_t start(void)
{
    helio_job_spec_t spec = harness_spec(h, "H100", 2);
    spec.time_limit_ms = 48 * (uint64_t)HOUR_MS;
    helio_job_key_t key = harness_job(h, &spec);
    harness_strings(h, &spec.sites, (const char *[]){"north", NULL});
    harness_tick(h);
    harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_RUNNING);
    harness_clear(h);
    return key;
}

/*  Time passes, and north is heard all the time. */
static inline void pass(int64_t ms)
{
    for (int64_t left_ms = ms; left_ms > 0; left_ms -= 30000) {
        harness_advance(h, left_ms < 30000 ? left_ms : 30000);
        harness_renew(h, NORTH);
        harness_renew(h, SOUTH);
    }
}

typedef struct charged {
    uint64_t gpu_ms;
    bool any_estimated, any_plain;
} charged_t;

static inline charged_t charged(void)
{
    charged_t sum = {0};
    for (const helio_row_ledger_t *row; (row = harness_take(h, HELIO_BROKER_FX_ROW_LEDGER));) {
        if (row->part == HELIO_LEDGER_REVERSAL) /* of what was taken before */
            continue;
        sum.gpu_ms += row->gpu_ms;
        sum.any_estimated = sum.any_estimated || row->estimated;
        sum.any_plain = sum.any_plain || !row->estimated;
    }
    return sum;
}

static inline void expect_estimate(uint64_t least_ms, uint64_t most_ms)
{
    charged_t sum = charged();
    assert_in_range(sum.gpu_ms, 2 * least_ms, 2 * most_ms);
    assert_true(sum.any_estimated && !sum.any_plain);
}

static inline helio_report_t end_of(helio_job_key_t key, uint32_t epoch, uint32_t kind)
{
    return (helio_report_t){.key = key, .epoch = epoch, .kind = kind, .wall_ms = harness_wall_ms(h)};
}

#endif
