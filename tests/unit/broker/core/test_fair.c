/*  test_fair.c -- the scheduling order between tenants: guarantees, then fair shares. */
#include "broker/core/holds/awaited_sites.h"
#include "federation/base/rng.h"
#include "tests/support/core_harness.h"

#include <stdlib.h>

enum { NORTH = 1, RUNS_MAX = 20000, SECOND = 1000, MINUTE = 60000 };

static const char *const TENANTS[] = {"acme", "other"};

/*  Jobs that are at the site, and when they will be over. */
typedef struct run {
    helio_job_key_t key;
    uint32_t tenant, gpus;
    int64_t began_ms, ends_ms;
} run_t;

typedef struct field {
    harness_t *h;
    const helio_site_profile_t *site;
    helio_rng_t rng;
    run_t *runs;
    uint32_t count;
    uint64_t gpus[2];
    double gpu_ms[2];
    int64_t low_ms, high_ms; /* how long jobs run */
} field_t;

static field_t begin(uint32_t nodes, int64_t low_ms, int64_t high_ms)
{
    field_t f = {.h = harness_begin(NULL), .rng = {7}, .low_ms = low_ms, .high_ms = high_ms};
    f.runs = helio_new(RUNS_MAX, sizeof *f.runs);
    helio_site_profile_t *site = harness_site(f.h, "north");
    (void)harness_pool(f.h, site, "h100", "H100", nodes, 8, 2);
    harness_join(f.h, NORTH, site);
    harness_clear(f.h);
    f.site = site;
    return f;
}

static void end(field_t *f)
{
    free(f->runs);
    harness_end(&f->h);
}

static void submit(field_t *f, uint32_t tenant, const char *queue, uint32_t gpus, uint32_t count)
{
    helio_job_spec_t spec = harness_spec(f->h, "H100", gpus);
    spec.queue = helio_text_of(queue);
    spec.time_limit_ms = 10 * MINUTE;
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(harness_submit(f->h, TENANTS[tenant], &spec)->rc, HELIO_OK);
    harness_clear(f->h);
}

static void look(field_t *f)
{
    const helio_fx_order_t *fx;
    uint32_t first = f->count;
    harness_tick(f->h);
    while ((fx = harness_take(f->h, HELIO_BROKER_FX_ORDER))) {
        uint32_t tenant = helio_text_is(fx->order.tenant, TENANTS[1]);
        uint32_t gpus = fx->order.gpus_per_node * fx->order.nodes;
        int64_t now = harness_wall_ms(f->h),
                ran = f->low_ms + (int64_t)(helio_rng_next(&f->rng) % (uint64_t)(f->high_ms - f->low_ms + 1));
        assert_true(f->count < RUNS_MAX);
        f->runs[f->count++] = (run_t){fx->order.key, tenant, gpus, now, now + ran};
        f->gpus[tenant] += gpus;
    }
    for (uint32_t i = first; i < f->count; i++)
        harness_run_up_to(f->h, NORTH, f->runs[i].key, 1, HELIO_JOB_RUNNING);
    harness_clear(f->h);
}

/*  One second passes: runs end, the broker decides, and the GPU time is added. */
static void second(field_t *f)
{
    harness_advance(f->h, SECOND);
    for (uint32_t i = 0; i < f->count;) {
        run_t *run = &f->runs[i];
        if (run->ends_ms > harness_wall_ms(f->h)) {
            i++;
            continue;
        }
        helio_report_t report = harness_report_of(f->h, run->key, 1, HELIO_REPORT_KIND_ENDED);
        report.started_wall_ms = run->began_ms;
        report.run_ms = (uint64_t)(report.ended_wall_ms - run->began_ms);
        report.gpu_ms = report.run_ms * run->gpus;
        harness_report(f->h, NORTH, &report);
        f->gpus[run->tenant] -= run->gpus;
        *run = f->runs[--f->count];
    }
    harness_summary(f->h, NORTH, f->site, 0, 0); /* nothing but what was ordered is there */
    look(f);
    for (uint32_t t = 0; t < 2; t++)
        f->gpu_ms[t] += (double)f->gpus[t] * SECOND;
}

static void fair__tenants_with_equal_demand_get_the_same(void **state)
{
    (void)state;
    field_t f = begin(8, MINUTE, MINUTE);
    submit(&f, 0, "standard", 1, 100);
    submit(&f, 1, "standard", 1, 100);
    look(&f);
    assert_int_equal(f.gpus[0], 32);
    assert_int_equal(f.gpus[1], 32);
    end(&f);
}

static void fair__shares_are_divided_by_weight(void **state)
{
    (void)state;
    field_t f = begin(8, MINUTE, MINUTE);
    (void)harness_quota(f.h, "acme", "", HARNESS_AS_IS, HARNESS_AS_IS, 3000);
    submit(&f, 0, "standard", 1, 100);
    submit(&f, 1, "standard", 1, 100);
    look(&f);
    assert_int_equal(f.gpus[0], 48);
    assert_int_equal(f.gpus[1], 16);
    end(&f);
}

static void fair__priority_counts_before_shares(void **state)
{
    (void)state;
    field_t f = begin(8, MINUTE, MINUTE);
    submit(&f, 1, "batch", 1, 100);
    submit(&f, 0, "standard", 1, 100);
    look(&f);
    assert_int_equal(f.gpus[0], 64);
    end(&f);
}

static void fair__guarantees_come_first(void **state)
{
    (void)state;
    field_t f = begin(8, MINUTE, MINUTE);
    (void)harness_quota(f.h, "other", "", 40, HARNESS_AS_IS, HARNESS_AS_IS);
    submit(&f, 0, "standard", 1, 100);
    submit(&f, 1, "standard", 1, 100);
    look(&f);
    assert_int_equal(f.gpus[1], 40);
    assert_int_equal(f.gpus[0], 24);
    end(&f);
}

/*  Five thousand jobs of half a minute wait when the other tenant comes. */
static void fair__a_flood_of_jobs_does_not_take_others_guarantees(void **state)
{
    (void)state;
    field_t f = begin(8, 20 * SECOND, 40 * SECOND);
    (void)harness_quota(f.h, "other", "", 24, HARNESS_AS_IS, HARNESS_AS_IS);
    submit(&f, 0, "standard", 1, 5000);
    look(&f);
    for (uint32_t i = 0; i < 100; i++)
        second(&f);
    assert_int_equal(f.gpus[0], 64);
    submit(&f, 1, "standard", 2, 300);
    uint32_t until = 0;
    for (; until < 60 && f.gpus[1] < 24; until++)
        second(&f);
    assert_true(f.gpus[1] >= 24);
    for (uint32_t i = 0; i < 300; i++) { /* and it stays so, while it asks */
        second(&f);
        assert_true(f.gpus[1] >= 24 - 4); /* what has just ended comes back job by job */
        assert_true(f.gpus[0] + f.gpus[1] >= 63);
    }
    end(&f);
}

/*  Both always ask for more than the capacity. */
static void keep_asking(field_t *f, int64_t seconds)
{
    for (int64_t i = 0; i < seconds; i++) {
        if (i % 60 == 0) {
            submit(f, 0, "standard", 1, i ? 60 : 120);
            submit(f, 1, "standard", 2, i ? 60 : 120);
        }
        second(f);
    }
}

static void fair__equal_demand_gets_equal_time_however_it_is_cut(void **state)
{
    (void)state;
    field_t f = begin(4, 30 * SECOND, 5 * MINUTE);
    keep_asking(&f, 3600);
    double ratio = f.gpu_ms[0] / f.gpu_ms[1];
    if (ratio < 0.95 || ratio > 1.05)
        fail_msg("%.3f", ratio);
    end(&f);
}

/*  Alone for six hours, then together: the new tenant gets more at first, never everything. */
static void fair__a_new_tenant_gets_more_than_half_but_not_all(void **state)
{
    (void)state;
    field_t f = begin(4, 4 * MINUTE, 8 * MINUTE);
    submit(&f, 0, "standard", 1, 4000);
    look(&f);
    for (uint32_t i = 0; i < 6 * 3600; i++)
        second(&f);
    assert_int_equal(f.gpus[0], 32);
    submit(&f, 1, "standard", 1, 400);
    for (uint32_t i = 0; i < 600; i++)
        second(&f);
    assert_in_range(f.gpus[1], 18, 20); /* the other one had 5 GPUs in the mean of its memory: half of that */
    end(&f);
}

/*  A gang of four whole nodes beside a flood of single GPUs: at the latest when all that runs is over. */
static void fair__a_gang_starts_within_the_time_limit_of_running_jobs(void **state)
{
    (void)state;
    field_t f = begin(4, MINUTE, 9 * MINUTE);
    submit(&f, 0, "standard", 1, 2000);
    look(&f);
    for (uint32_t i = 0; i < 60; i++)
        second(&f);
    helio_job_spec_t spec = harness_spec(f.h, "H100", 8);
    spec.nodes = 4;
    spec.time_limit_ms = 10 * MINUTE;
    assert_int_equal(harness_submit(f.h, "other", &spec)->rc, HELIO_OK);
    uint32_t until = 0;
    for (; until < 600 && !f.gpus[1]; until++)
        second(&f);
    assert_int_equal(f.gpus[1], 32);
    end(&f);
}

static void fair__a_new_leader_knows_the_shares(void **state)
{
    (void)state;
    field_t f = begin(4, MINUTE, MINUTE);
    submit(&f, 0, "standard", 1, 1000);
    look(&f);
    for (uint32_t i = 0; i < 600; i++)
        second(&f);
    assert_int_equal(f.gpus[0], 32);
    helio_job_spec_t spec = harness_spec(f.h, "H100", 8);
    harness_t *next = harness_rebuild(f.h);
    helio_site_profile_t *site = harness_site(next, "south");
    (void)harness_pool(next, site, "h100", "H100", 4, 8, 2);
    assert_int_equal(harness_submit(next, "other", &spec)->rc, HELIO_OK); /* the youngest of all */
    harness_join(next, 2, site);
    harness_clear(next);
    harness_wait(next, TAKEOVER_AWAIT_MS + 1000); /* the other site was ready a moment ago */
    const helio_fx_order_t *fx = harness_take(next, HELIO_BROKER_FX_ORDER);
    assert_non_null(fx);
    assert_true(helio_text_is(fx->order.tenant, "other"));
    harness_end(&next);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fair__tenants_with_equal_demand_get_the_same),
        cmocka_unit_test(fair__shares_are_divided_by_weight),
        cmocka_unit_test(fair__priority_counts_before_shares),
        cmocka_unit_test(fair__guarantees_come_first),
        cmocka_unit_test(fair__a_flood_of_jobs_does_not_take_others_guarantees),
        cmocka_unit_test(fair__equal_demand_gets_equal_time_however_it_is_cut),
        cmocka_unit_test(fair__a_new_tenant_gets_more_than_half_but_not_all),
        cmocka_unit_test(fair__a_gang_starts_within_the_time_limit_of_running_jobs),
        cmocka_unit_test(fair__a_new_leader_knows_the_shares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
