/*  test_preempt.c -- which jobs preempt which, and the capacity that is held meanwhile. */
#include "tests/unit/broker/core/preempt_testing.h"

/*  The last order to stop it: NULL = none. */
static const helio_stop_t *stop_of(helio_job_key_t key)
{
    const helio_fx_stop_t *fx;
    while ((fx = harness_take(h, HELIO_BROKER_FX_STOP)))
        if (helio_job_key_equal(fx->stop.key, key))
            return &fx->stop;
    return NULL;
}

static bool is_for(helio_job_key_t victim, helio_job_key_t evictor)
{
    char key[HELIO_KEY_SIZE];
    helio_job_key_text(evictor, key);
    const helio_detail_t *by = harness_detail(harness_row(h, victim)->why, HELIO_DETAIL_PREEMPTED_BY);
    harness_assert_value(by, "tenant", "other");
    harness_assert_value(by, "queue", "express");
    return helio_text_is(helio_detail_value(by, 2).text, key);
}

static void preempt__critical_jobs_replace_best_effort_jobs_at_once(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 1, 8, 0);
    harness_join(h, NORTH, north);
    helio_job_key_t low = run(of("acme", "batch", 1, 8));
    harness_wait(h, 5000);
    helio_job_key_t urgent = of("other", "express", 1, 4);
    harness_tick(h);
    assert_state(low, HELIO_JOB_STOPPING);
    const helio_stop_t *stop = stop_of(low);
    assert_non_null(stop);
    assert_int_equal(stop->mode, HELIO_STOP_MODE_KILL);
    assert_true(is_for(low, urgent));
    const helio_row_class_t *row, *last = NULL;
    while ((row = harness_take(h, HELIO_BROKER_FX_ROW_CLASS)))
        last = row;
    assert_non_null(last);
    assert_string_equal(harness_facts(h, last->details),
                        "Preempts jobs=1 site=north pool=a at=2026-03-01T00:00:05Z elsewhere=0");
    stopped(low, 1);
    harness_tick(h);
    assert_state(urgent, HELIO_JOB_OFFERED);
    const helio_detail_t *placed = harness_detail(harness_row(h, urgent)->why, HELIO_DETAIL_PLACED_AT);
    harness_assert_value(placed, "site", "north");
    harness_assert_value(placed, "from_site", "");
    harness_assert_value(placed, "victims", "1");
    assert_state(low, HELIO_JOB_QUEUED);
    assert_true(is_for(low, urgent)); /* its reason */
    assert_int_equal(harness_row(h, low)->preemptions, 1);
    assert_int_equal(harness_row(h, low)->failures, 0);
    assert_int_equal(harness_row(h, low)->site_failures, 0);
    assert_int_equal(preemptions(HELIO_PREEMPT_CAUSE_TIER), 1);
}

static void preempt__standard_work_is_signalled_and_given_its_grace(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 1, 8, 0);
    harness_join(h, NORTH, north);
    helio_job_spec_t spec = spec_of("standard", 1, 8);
    spec.checkpoint_signal = HELIO_TEXT("USR1");
    spec.checkpoint_grace_ms = 90000;
    helio_job_key_t train = run(harness_job(h, &spec));
    harness_wait(h, MINUTE);
    helio_job_key_t urgent = of("other", "express", 1, 8);
    harness_tick(h);
    assert_state(train, HELIO_JOB_STOPPING);
    assert_int_equal(stop_of(train)->mode, HELIO_STOP_MODE_GRACE);
    const helio_row_class_t *row, *last = NULL;
    while ((row = harness_take(h, HELIO_BROKER_FX_ROW_CLASS)))
        last = row;
    assert_non_null(last);
    assert_string_equal(harness_facts(h, last->details),
                        "Preempts jobs=1 site=north pool=a at=2026-03-01T00:02:30Z elsewhere=0");
    assert_true(last->expected_ms == harness_wall_ms(h) + 90000);
    stopped(train, 1);
    harness_tick(h);
    assert_state(urgent, HELIO_JOB_OFFERED);
    harness_clear(h);
    harness_say(h, NORTH, urgent, 1, HELIO_REPORT_KIND_ENDED);
    harness_tick(h);
    const helio_fx_order_t *order = harness_take(h, HELIO_BROKER_FX_ORDER);
    assert_non_null(order);
    assert_true(helio_job_key_equal(order->order.key, train));
    assert_true(order->order.resume);
    assert_int_equal(harness_row(h, train)->attempts, 2);
}

static void preempt__the_same_tier_preempts_nothing_at_any_priority(void **state)
{
    (void)state;
    static const struct {
        const char *runs, *asks;
    } rows[] = {{"express", "express"},  {"standard", "standard"}, {"batch", "batch"},
                {"express", "standard"}, {"standard", "batch"},    {"express", "batch"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        harness_t *before = h;
        if (i) {
            harness_end(&before);
            begin(NULL);
        }
        harness_pool(h, north, "a", "H100", 1, 8, 0);
        harness_join(h, NORTH, north);
        helio_job_key_t holds = run(of("acme", rows[i].runs, 1, 8));
        harness_wait(h, 5 * MINUTE);
        helio_job_key_t asks = of("other", rows[i].asks, 1, 8);
        harness_wait(h, MINUTE);
        assert_state(holds, HELIO_JOB_RUNNING);
        assert_state(asks, HELIO_JOB_QUEUED);
    }
}

static void preempt__returned_capacity_is_held_for_the_preempting_job(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 1, 8, 0);
    harness_join(h, NORTH, north);
    helio_job_key_t first = run(of("acme", "batch", 1, 4)), second = run(of("acme", "batch", 1, 4));
    harness_wait(h, 5000);
    helio_job_key_t urgent = of("other", "express", 1, 8);
    harness_tick(h);
    assert_state(first, HELIO_JOB_STOPPING);
    assert_state(second, HELIO_JOB_STOPPING);
    stopped(first, 1); /* half of it is there, and another would fit */
    helio_job_key_t small = of("other", "express", 1, 2), other = of("acme", "standard", 1, 1);
    harness_wait(h, 2000);
    assert_state(small, HELIO_JOB_QUEUED);
    assert_state(other, HELIO_JOB_QUEUED);
    assert_state(first, HELIO_JOB_QUEUED);
    stopped(second, 1);
    harness_tick(h);
    assert_state(urgent, HELIO_JOB_OFFERED);
}

static void preempt__capacity_beyond_what_is_held_can_be_used(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 1, 8, 0);
    harness_join(h, NORTH, north);
    helio_job_spec_t spec = spec_of("standard", 1, 7);
    spec.checkpoint_grace_ms = MINUTE;
    helio_job_key_t big = run(harness_job(h, &spec));
    harness_wait(h, MINUTE);
    helio_job_key_t urgent = of("other", "express", 1, 4);
    harness_tick(h);
    assert_state(big, HELIO_JOB_STOPPING);
    helio_job_key_t small = of("acme", "batch", 1, 1);
    harness_tick(h);
    assert_state(small, HELIO_JOB_OFFERED);
    assert_state(urgent, HELIO_JOB_QUEUED);
}

static void preempt__a_hold_is_dropped_with_the_job_that_it_was_for(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 1, 8, 0);
    harness_join(h, NORTH, north);
    helio_job_key_t low = run(of("acme", "batch", 1, 8));
    harness_wait(h, 5000);
    helio_job_key_t urgent = of("other", "express", 1, 8);
    harness_tick(h);
    assert_state(low, HELIO_JOB_STOPPING);
    (void)harness_command(h, HELIO_BROKER_EV_CANCEL, "other", HELIO_ROLE_USER, urgent);
    stopped(low, 1);
    harness_tick(h);
    assert_state(low, HELIO_JOB_OFFERED); /* no other job wants it */
    assert_int_equal(harness_row(h, low)->epoch, 2);
}

static void preempt__a_job_that_leaves_anyway_is_waited_for(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 1, 8, 0);
    harness_join(h, NORTH, north);
    helio_job_key_t first = run(of("acme", "batch", 1, 4)), second = run(of("acme", "batch", 1, 4));
    harness_wait(h, 5000);
    (void)harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, first);
    helio_job_key_t urgent = of("other", "express", 1, 4);
    harness_tick(h);
    assert_state(second, HELIO_JOB_RUNNING);
    assert_int_equal(preemptions(HELIO_PREEMPT_CAUSE_TIER), 0);
    stopped(first, 1);
    harness_tick(h);
    assert_state(urgent, HELIO_JOB_OFFERED);
}

static void preempt__a_gang_leaves_as_a_whole_and_only_if_that_suffices(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 4, 8, 0);
    harness_join(h, NORTH, north);
    (void)harness_quota(h, "other", "express", HARNESS_AS_IS, 32, HARNESS_AS_IS);
    helio_job_key_t gang = run(of("acme", "batch", 3, 8)), critical = run(of("acme", "express", 1, 8));
    harness_wait(h, 5000);
    helio_job_key_t all = of("other", "express", 4, 8);
    harness_wait(h, 5000);
    assert_state(gang, HELIO_JOB_RUNNING); /* three nodes do not help one that needs four */
    (void)harness_command(h, HELIO_BROKER_EV_CANCEL, "other", HELIO_ROLE_USER, all);
    helio_job_key_t two = of("other", "express", 2, 8);
    harness_tick(h);
    assert_state(gang, HELIO_JOB_STOPPING);
    assert_state(critical, HELIO_JOB_RUNNING);
    stopped(gang, 1);
    harness_tick(h);
    assert_state(two, HELIO_JOB_OFFERED);
    assert_int_equal(preemptions(HELIO_PREEMPT_CAUSE_TIER), 1);
}

static void preempt__a_job_is_protected_at_first_and_after_the_fifth_time(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 1, 8, 0);
    harness_join(h, NORTH, north);
    helio_job_key_t low = of("acme", "standard", 1, 8);
    for (uint32_t time = 1; time <= HELIO_PREEMPT_TIMES_MAX + 1; time++) {
        harness_tick(h);
        harness_run_up_to(h, NORTH, low, time, HELIO_JOB_RUNNING);
        helio_job_key_t urgent = of("other", "express", 1, 8);
        harness_wait(h, HELIO_PREEMPT_PROTECTION_STANDARD_MS - 1000);
        assert_state(low, HELIO_JOB_RUNNING);
        harness_wait(h, 2000);
        if (time > HELIO_PREEMPT_TIMES_MAX) {
            assert_state(low, HELIO_JOB_RUNNING);
            break;
        }
        assert_state(low, HELIO_JOB_STOPPING);
        stopped(low, time);
        harness_tick(h);
        assert_state(urgent, HELIO_JOB_OFFERED);
        harness_say(h, NORTH, urgent, 1, HELIO_REPORT_KIND_ENDED);
    }
    assert_int_equal(preemptions(HELIO_PREEMPT_CAUSE_TIER), HELIO_PREEMPT_TIMES_MAX);
}

/*  Its place is taken `times` times, each time after a minute. */
static void preempt_by(const char *tenant, helio_job_key_t low, uint32_t *epoch, uint32_t times)
{
    for (uint32_t i = 0; i < times; i++) {
        harness_tick(h);
        harness_run_up_to(h, NORTH, low, ++*epoch, HELIO_JOB_RUNNING);
        harness_wait(h, MINUTE);
        helio_job_key_t urgent = of(tenant, "express", 1, 8);
        harness_tick(h);
        assert_state(low, HELIO_JOB_STOPPING);
        stopped(low, *epoch);
        harness_tick(h);
        assert_state(urgent, HELIO_JOB_OFFERED);
        harness_say(h, NORTH, urgent, 1, HELIO_REPORT_KIND_ENDED);
    }
}

static void preempt__a_tenant_cannot_make_its_own_jobs_immune(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 1, 8, 0);
    harness_join(h, NORTH, north);
    helio_job_key_t low = of("acme", "standard", 1, 8);
    uint32_t epoch = 0;
    preempt_by("acme", low, &epoch, HELIO_PREEMPT_TIMES_MAX + 2);
    assert_int_equal(harness_row(h, low)->preemptions, 0);
    preempt_by("other", low, &epoch, HELIO_PREEMPT_TIMES_MAX); /* all that it can be preempted for others */
    assert_int_equal(harness_row(h, low)->preemptions, HELIO_PREEMPT_TIMES_MAX);
    harness_tick(h);
    harness_run_up_to(h, NORTH, low, ++epoch, HELIO_JOB_RUNNING);
    harness_wait(h, MINUTE);
    helio_job_key_t own = of("acme", "express", 1, 8);
    harness_wait(h, MINUTE);
    assert_state(low, HELIO_JOB_RUNNING);
    assert_state(own, HELIO_JOB_QUEUED);
}

static void preempt__best_effort_work_is_never_immune(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 1, 8, 0);
    harness_join(h, NORTH, north);
    helio_job_key_t low = of("acme", "batch", 1, 8);
    uint32_t epoch = 0;
    preempt_by("other", low, &epoch, HELIO_PREEMPT_TIMES_MAX + 2);
    assert_int_equal(preemptions(HELIO_PREEMPT_CAUSE_TIER), HELIO_PREEMPT_TIMES_MAX + 2);
}

static void preempt__each_victim_has_the_job_that_it_left_for(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 1, 8, 0);
    harness_join(h, NORTH, north);
    helio_job_key_t low[2] = {run(of("acme", "batch", 1, 4)), run(of("acme", "batch", 1, 4))};
    harness_wait(h, 5000);
    helio_job_key_t urgent[2] = {of("other", "express", 1, 4), of("other", "express", 1, 4)};
    harness_tick(h);
    assert_state(low[0], HELIO_JOB_STOPPING);
    assert_state(low[1], HELIO_JOB_STOPPING);
    uint32_t first = is_for(low[0], urgent[0]) ? 0 : 1;
    assert_true(is_for(low[first], urgent[0]));
    assert_true(is_for(low[1 - first], urgent[1]));
}

/*  No limit bounds how many GPUs those jobs keep from others. */
static void preempt__cpus_and_memory_do_not_bypass_a_quota(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 2, 8, 0); /* 64 CPUs a node */
    harness_join(h, NORTH, north);
    (void)harness_quota(h, "other", "express", HARNESS_AS_IS, 4, HARNESS_AS_IS);
    helio_job_key_t low[4];
    for (uint32_t i = 0; i < 4; i++) {
        helio_job_spec_t spec = spec_of("batch", 1, 4);
        spec.cpus = 32;
        low[i] = run(harness_job(h, &spec));
    }
    harness_wait(h, 5000);
    helio_job_spec_t none = harness_spec(h, "", 0), much = spec_of("express", 1, 1), fair = much;
    none.queue = HELIO_TEXT("express");
    none.cpus = 32;
    much.cpus = 33; /* those of five GPUs */
    fair.cpus = 8;
    assert_int_equal(harness_submit(h, "other", &none)->rc, HELIO_OK);
    assert_int_equal(harness_submit(h, "other", &much)->rc, HELIO_OK);
    harness_wait(h, 5000);
    assert_int_equal(preemptions(HELIO_PREEMPT_CAUSE_TIER), 0);
    for (uint32_t i = 0; i < 4; i++)
        assert_state(low[i], HELIO_JOB_RUNNING);
    assert_int_equal(harness_submit(h, "other", &fair)->rc, HELIO_OK);
    harness_wait(h, 5000);
    assert_int_equal(preemptions(HELIO_PREEMPT_CAUSE_TIER), 1);
}

/* ---- room that comes by itself ------------------------------------------------------------------------- */

/*  A pool of one node that is full of a tenant's job, which has run for a minute and has so much left. */
static helio_job_key_t full(const char *pool, uint64_t left_ms)
{
    helio_job_spec_t spec = spec_of("standard", 1, 8);
    harness_strings(h, &spec.sites, (const char *const[]){pool, NULL});
    spec.time_limit_ms = MINUTE + left_ms;
    return harness_job(h, &spec);
}

static void two_sites(helio_job_key_t *ret_dear, helio_job_key_t *ret_ends, uint64_t left_ms)
{
    helio_site_profile_t *south = harness_site(h, "south");
    harness_pool(h, north, "a", "H100", 1, 8, 1);
    harness_pool(h, south, "b", "H100", 1, 8, 1);
    harness_join(h, NORTH, north);
    harness_join(h, SOUTH, south);
    (void)harness_quota(h, "other", "", 8, HARNESS_AS_IS, HARNESS_AS_IS);
    *ret_dear = full("north", HOUR);
    *ret_ends = full("south", left_ms);
    harness_tick(h);
    harness_run_up_to(h, NORTH, *ret_dear, 1, HELIO_JOB_RUNNING);
    harness_run_up_to(h, SOUTH, *ret_ends, 1, HELIO_JOB_RUNNING);
    harness_wait(h, MINUTE);
}

static void preempt__no_job_leaves_to_save_seconds_of_a_wait(void **state)
{
    (void)state;
    helio_job_key_t dear, ends;
    two_sites(&dear, &ends, HELIO_PREEMPT_GRACE_MS + 3000);
    helio_job_key_t asks = of("other", "standard", 1, 8);
    harness_wait(h, HELIO_PREEMPT_GRACE_MS);
    assert_int_equal(preemptions(HELIO_PREEMPT_CAUSE_GUARANTEE), 0);
    harness_say(h, SOUTH, ends, 1, HELIO_REPORT_KIND_ENDED);
    harness_tick(h);
    assert_state(asks, HELIO_JOB_OFFERED);
    assert_state(dear, HELIO_JOB_RUNNING);
}

static void preempt__a_class_waits_patiently_with_one_job_only(void **state)
{
    (void)state;
    helio_job_key_t dear, ends;
    two_sites(&dear, &ends, HELIO_PREEMPT_GRACE_MS + 3000);
    (void)harness_quota(h, "other", "", 16, HARNESS_AS_IS, HARNESS_AS_IS);
    of("other", "standard", 1, 8);
    of("other", "standard", 1, 8);
    harness_tick(h);
    assert_int_equal(preemptions(HELIO_PREEMPT_CAUSE_GUARANTEE), 1);
}

static void preempt__capacity_that_others_take_is_waited_for_once(void **state)
{
    (void)state;
    helio_job_key_t dear, ends;
    two_sites(&dear, &ends, HELIO_PREEMPT_GRACE_MS + 3000);
    helio_job_key_t asks = of("other", "standard", 1, 8);
    harness_wait(h, HELIO_PREEMPT_GRACE_MS);
    assert_state(asks, HELIO_JOB_QUEUED);
    harness_wait(h, 2 * MINUTE); /* it is over its limit, and its site does not end it */
    assert_int_equal(preemptions(HELIO_PREEMPT_CAUSE_GUARANTEE), 1);
}

/* ---- reclaim ------------------------------------------------------------------------------------------- */

static void preempt__a_tenant_reclaims_its_guarantee_and_no_more(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 1, 8, 0);
    harness_join(h, NORTH, north);
    (void)harness_quota(h, "other", "", 4, HARNESS_AS_IS, HARNESS_AS_IS);
    helio_job_key_t lent[8], own[4];
    for (uint32_t i = 0; i < 8; i++)
        lent[i] = run(of("acme", "standard", 1, 1));
    harness_wait(h, MINUTE);
    for (uint32_t i = 0; i < 4; i++)
        own[i] = of("other", "standard", 1, 2);
    harness_tick(h);
    uint32_t leaving = 0;
    for (uint32_t i = 0; i < 8; i++)
        leaving += harness_state(h, lent[i]) == HELIO_JOB_STOPPING;
    assert_int_equal(leaving, 4);
    for (uint32_t i = 0; i < 8; i++)
        if (harness_state(h, lent[i]) == HELIO_JOB_STOPPING)
            stopped(lent[i], 1);
    harness_wait(h, 5 * MINUTE);
    uint32_t started = 0;
    for (uint32_t i = 0; i < 4; i++)
        started += harness_state(h, own[i]) != HELIO_JOB_QUEUED;
    assert_int_equal(started, 2);
    assert_int_equal(preemptions(HELIO_PREEMPT_CAUSE_GUARANTEE), 4);
    assert_int_equal(preemptions(HELIO_PREEMPT_CAUSE_TIER), 0);
}

static void preempt__no_tenant_is_reclaimed_from_below_its_guarantee(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 1, 8, 0);
    harness_join(h, NORTH, north);
    (void)harness_quota(h, "other", "", 8, HARNESS_AS_IS, HARNESS_AS_IS);
    (void)harness_quota(h, "acme", "", 6, HARNESS_AS_IS, HARNESS_AS_IS);
    helio_job_key_t first = run(of("acme", "standard", 1, 4)), second = run(of("acme", "standard", 1, 4));
    harness_wait(h, MINUTE);
    helio_job_key_t asks = of("other", "standard", 1, 4);
    harness_wait(h, MINUTE);
    assert_state(first, HELIO_JOB_RUNNING);
    assert_state(second, HELIO_JOB_RUNNING);
    assert_state(asks, HELIO_JOB_QUEUED);
    (void)harness_quota(h, "acme", "", 4, HARNESS_AS_IS, HARNESS_AS_IS);
    harness_tick(h);
    assert_int_equal(preemptions(HELIO_PREEMPT_CAUSE_GUARANTEE), 1);
}

static void preempt__critical_work_is_never_reclaimed(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 1, 8, 0);
    harness_join(h, NORTH, north);
    (void)harness_quota(h, "other", "", 8, HARNESS_AS_IS, HARNESS_AS_IS);
    helio_job_key_t critical = run(of("acme", "express", 1, 8));
    harness_wait(h, MINUTE);
    of("other", "express", 1, 8);
    of("other", "standard", 1, 8);
    harness_wait(h, 5 * MINUTE);
    assert_state(critical, HELIO_JOB_RUNNING);
}

/*  The capacity is taken neither by the victims nor by others, although the job that it is held for still waits for
 *  another victim. */
static void preempt__capacity_of_the_first_victim_is_held_until_the_last_has_left(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 1, 4, 0);
    harness_join(h, NORTH, north);
    helio_job_key_t first = run(of("acme", "batch", 1, 2)), second = run(of("acme", "batch", 1, 2));
    harness_wait(h, 5000);
    helio_job_key_t urgent = of("other", "standard", 1, 3);
    harness_tick(h);
    assert_state(first, HELIO_JOB_STOPPING);
    assert_state(second, HELIO_JOB_STOPPING);
    helio_job_key_t small = of("acme", "batch", 1, 1);
    stopped(first, 1);
    harness_tick(h);
    assert_state(first, HELIO_JOB_QUEUED);
    assert_state(small, HELIO_JOB_OFFERED); /* beside it there is room for one */
    assert_state(urgent, HELIO_JOB_QUEUED);
    stopped(second, 1);
    harness_tick(h);
    assert_state(urgent, HELIO_JOB_OFFERED);
    assert_state(first, HELIO_JOB_QUEUED);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        T(preempt__capacity_of_the_first_victim_is_held_until_the_last_has_left),
        T(preempt__critical_jobs_replace_best_effort_jobs_at_once),
        T(preempt__standard_work_is_signalled_and_given_its_grace),
        T(preempt__the_same_tier_preempts_nothing_at_any_priority),
        T(preempt__returned_capacity_is_held_for_the_preempting_job),
        T(preempt__capacity_beyond_what_is_held_can_be_used),
        T(preempt__a_hold_is_dropped_with_the_job_that_it_was_for),
        T(preempt__a_job_that_leaves_anyway_is_waited_for),
        T(preempt__a_gang_leaves_as_a_whole_and_only_if_that_suffices),
        T(preempt__a_job_is_protected_at_first_and_after_the_fifth_time),
        T(preempt__a_tenant_cannot_make_its_own_jobs_immune),
        T(preempt__best_effort_work_is_never_immune),
        T(preempt__each_victim_has_the_job_that_it_left_for),
        T(preempt__cpus_and_memory_do_not_bypass_a_quota),
        T(preempt__no_job_leaves_to_save_seconds_of_a_wait),
        T(preempt__a_class_waits_patiently_with_one_job_only),
        T(preempt__capacity_that_others_take_is_waited_for_once),
        T(preempt__a_tenant_reclaims_its_guarantee_and_no_more),
        T(preempt__no_tenant_is_reclaimed_from_below_its_guarantee),
        T(preempt__critical_work_is_never_reclaimed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
