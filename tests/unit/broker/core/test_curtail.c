/*  test_curtail.c -- curtailed sites: what may start there, which jobs leave, and that it ends by itself. */
#include "tests/unit/broker/core/preempt_testing.h"

enum { SECOND = 1000 };

static const helio_fx_reply_t *curtail_as(helio_role_t role, helio_ev_curtail_t event)
{
    static uint64_t calls = 1 << 20;
    event.call = ++calls;
    event.actor = HELIO_TEXT("user:ops/ada");
    event.role = role;
    event.site = event.site.size ? event.site : HELIO_TEXT("north");
    event.reason = HELIO_TEXT("the grid asks");
    harness_step(h, HELIO_BROKER_EV_CURTAIL, &event);
    const helio_fx_reply_t *reply;
    while ((reply = harness_take(h, HELIO_BROKER_FX_REPLY)))
        if (reply->call == event.call)
            return reply;
    fail();
    return NULL;
}

static const char *curtail(uint32_t percent, uint64_t for_ms)
{
    const helio_fx_reply_t *reply =
        curtail_as(HELIO_ROLE_OPERATOR, (helio_ev_curtail_t){.percent = percent, .for_ms = for_ms});
    assert_int_equal(reply->rc, HELIO_OK);
    return harness_facts(h, reply->details);
}

/*  Two nodes of eight GPUs; each GPU in use takes 1 kW. */
static void join(void)
{
    helio_pool_t *pool = harness_pool(h, north, "a", "H100", 2, 8, 0);
    pool->base_w = 300;
    pool->slope_w = 500;
    pool->host_w = 200;
    pool->idle_w = 50;
    harness_join(h, NORTH, north);
}

static helio_job_key_t saving(const char *queue, uint32_t gpus)
{
    helio_job_spec_t spec = spec_of(queue, 1, gpus);
    spec.checkpoint_signal = HELIO_TEXT("USR1");
    spec.checkpoint_grace_ms = 20 * SECOND;
    return run(harness_job(h, &spec));
}

static helio_job_key_t plain(const char *queue, uint32_t gpus)
{
    return run(of("acme", queue, 1, gpus));
}

static const helio_row_curtailment_t *last_row(void)
{
    const helio_row_curtailment_t *row, *last = NULL;
    while ((row = harness_take(h, HELIO_BROKER_FX_ROW_CURTAILMENT)))
        last = row;
    return last;
}

static const helio_row_class_t *last_class(void)
{
    const helio_row_class_t *row, *last = NULL;
    while ((row = harness_take(h, HELIO_BROKER_FX_ROW_CLASS)))
        last = row;
    return last;
}

static void curtail__limits_what_starts(void **state)
{
    (void)state;
    join();
    assert_string_equal(curtail(50, HOUR),
                        "SiteCurtailed percent=50 % limit_kw=8 full_kw=16 until=2026-03-01T01:00:00Z "
                        "used_kw=0 jobs=0 kept_kw=0");
    helio_job_key_t first = plain("standard", 6), second = of("acme", "standard", 1, 4);
    harness_tick(h);
    assert_state(first, HELIO_JOB_RUNNING);
    assert_state(second, HELIO_JOB_QUEUED);
    const helio_row_class_t *row = last_class();
    assert_non_null(row);
    assert_true(helio_text_is(row->reason, "WaitingForCapacity"));
    assert_string_equal(harness_facts(h, row->details),
                        "CurtailedTo site=north percent=50 % until=2026-03-01T01:00Z used_kw=6 limit_kw=8 needed_kw=4");
    assert_true(row->expected_ms == harness_wall_ms(h) + HOUR);
    const helio_row_candidate_t *candidate, *last = NULL;
    while ((candidate = harness_take(h, HELIO_BROKER_FX_ROW_CANDIDATE)))
        last = candidate;
    assert_non_null(last);
    assert_string_equal(last->rejected_reason.data, "Curtailed");
    helio_job_key_t exact = plain("standard", 2); /* the limit itself may be used */
    assert_state(exact, HELIO_JOB_RUNNING);
    harness_wait(h, HOUR - 1);
    assert_state(second, HELIO_JOB_QUEUED);
    harness_wait(h, 1); /* it ends by itself */
    assert_state(second, HELIO_JOB_OFFERED);
}

static void curtail__jobs_leave_by_tier_and_those_that_save_before_others(void **state)
{
    (void)state;
    join();
    helio_job_key_t critical = plain("express", 4), standard = plain("standard", 4), saves = saving("standard", 4),
                    low = plain("batch", 4);
    harness_wait(h, MINUTE);
    harness_clear(h);
    assert_string_equal(curtail(50, 2 * HOUR), "SiteCurtailed percent=50 % limit_kw=8 full_kw=16 "
                                               "until=2026-03-01T02:01:00Z used_kw=16 jobs=2 kept_kw=0");
    harness_tick(h); /* the first one */
    assert_state(low, HELIO_JOB_STOPPING);
    assert_state(saves, HELIO_JOB_STOPPING);
    assert_state(standard, HELIO_JOB_RUNNING);
    assert_state(critical, HELIO_JOB_RUNNING);
    assert_string_equal(harness_facts(h, harness_row(h, low)->why),
                        "StoppedForCurtailment site=north percent=50 % until=2026-03-01T02:01Z reason=the grid asks");
    const helio_fx_stop_t *stop;
    uint32_t stops = 0;
    while ((stop = harness_take(h, HELIO_BROKER_FX_STOP))) {
        assert_int_equal(stop->stop.mode, HELIO_STOP_MODE_GRACE); /* best-effort work, too */
        stops++;
    }
    assert_int_equal(stops, 2);
    assert_int_equal(preemptions(HELIO_PREEMPT_CAUSE_CURTAILMENT), 2);
    const helio_row_curtailment_t *row = last_row();
    assert_non_null(row);
    assert_int_equal(row->jobs_stopped, 2);
    assert_int_equal(row->lost_gpu_ms, 4 * MINUTE + 4 * 20 * SECOND); /* all that ran; of the other, its grace */
    stopped(low, 1);
    stopped(saves, 1);
    harness_wait(h, MINUTE);
    assert_state(low, HELIO_JOB_QUEUED); /* no room under the limit */
    assert_state(saves, HELIO_JOB_QUEUED);
    assert_int_equal(preemptions(HELIO_PREEMPT_CAUSE_CURTAILMENT), 2);
    assert_int_equal(harness_row(h, low)->preemptions, 0);
}

static void curtail__stops_no_more_than_needed(void **state)
{
    (void)state;
    join();
    helio_job_key_t one = plain("batch", 1), eight = plain("batch", 8);
    harness_wait(h, MINUTE);
    (void)curtail(25, HOUR); /* 4 of 9 kW: without the eight, the one can stay */
    harness_tick(h);
    assert_state(eight, HELIO_JOB_STOPPING);
    assert_state(one, HELIO_JOB_RUNNING);
}

static void curtail__protected_work_is_not_touched(void **state)
{
    (void)state;
    join();
    helio_job_key_t critical = plain("express", 8), young = plain("standard", 4);
    harness_clear(h);
    assert_string_equal(curtail(0, HOUR), "SiteCurtailed percent=0 % limit_kw=0 full_kw=16 until=2026-03-01T01:00:00Z "
                                          "used_kw=12 jobs=0 kept_kw=8; CurtailFollows later_kw=4");
    harness_tick(h);
    assert_state(critical, HELIO_JOB_RUNNING);
    assert_state(young, HELIO_JOB_RUNNING); /* it has only just begun */
    harness_wait(h, HELIO_PREEMPT_PROTECTION_STANDARD_MS + SECOND);
    assert_state(young, HELIO_JOB_STOPPING);
    stopped(young, 1);
    harness_wait(h, MINUTE);
    assert_state(critical, HELIO_JOB_RUNNING);
    const helio_row_curtailment_t *row = last_row();
    assert_non_null(row);
    assert_int_equal(row->kept_w, 8000);
    assert_int_equal(row->used_w, 8000);
}

static void curtail__a_job_that_leaves_starts_at_another_site(void **state)
{
    (void)state;
    join();
    helio_job_key_t low = plain("batch", 8);
    harness_wait(h, MINUTE);
    helio_site_profile_t *south = harness_site(h, "south");
    harness_pool(h, south, "a", "H100", 1, 8, 0);
    harness_join(h, SOUTH, south);
    (void)curtail(0, HOUR);
    harness_tick(h);
    stopped(low, 1);
    harness_tick(h);
    assert_state(low, HELIO_JOB_OFFERED);
    assert_true(helio_text_is(harness_row(h, low)->site, "south"));
}

static void curtail__others_count(void **state)
{
    (void)state;
    join();
    harness_summary(h, NORTH, north, 0, 1); /* a node is full of work from outside */
    (void)curtail(50, HOUR);
    helio_job_key_t job = of("acme", "standard", 1, 1);
    harness_tick(h);
    assert_state(job, HELIO_JOB_QUEUED);
    harness_summary(h, NORTH, north, 0, 0);
    harness_tick(h);
    assert_state(job, HELIO_JOB_OFFERED);
}

static void curtail__begins_later_and_can_be_ended(void **state)
{
    (void)state;
    join();
    int64_t begin_ms = harness_wall_ms(h);
    const helio_fx_reply_t *reply = curtail_as(
        HELIO_ROLE_OPERATOR, (helio_ev_curtail_t){.percent = 0, .from_wall_ms = begin_ms + HOUR, .for_ms = HOUR});
    assert_int_equal(reply->rc, HELIO_OK);
    helio_job_key_t low = plain("batch", 8);
    harness_wait(h, HOUR - (harness_wall_ms(h) - begin_ms) - 1);
    assert_state(low, HELIO_JOB_RUNNING);
    harness_wait(h, 1);
    assert_state(low, HELIO_JOB_STOPPING);
    stopped(low, 1);
    harness_wait(h, MINUTE);
    assert_state(low, HELIO_JOB_QUEUED);
    harness_clear(h);
    reply = curtail_as(HELIO_ROLE_OPERATOR, (helio_ev_curtail_t){.end = true});
    assert_string_equal(harness_facts(h, reply->details), "SiteUncurtailed count=1");
    assert_true(last_row()->ended_ms == harness_wall_ms(h));
    const helio_row_audit_t *audit = harness_take(h, HELIO_BROKER_FX_ROW_AUDIT);
    assert_true(audit && helio_text_is(audit->action, "uncurtail") && helio_text_is(audit->object, "north"));
    harness_tick(h);
    assert_state(low, HELIO_JOB_OFFERED);
    reply = curtail_as(HELIO_ROLE_OPERATOR, (helio_ev_curtail_t){.end = true});
    assert_string_equal(harness_facts(h, reply->details), "SiteNotCurtailed site=north");
}

static void until(int64_t wall_ms)
{
    harness_wait(h, wall_ms - harness_wall_ms(h));
}

static void curtail__jobs_that_save_leave_their_grace_before_it_begins(void **state)
{
    (void)state;
    join();
    int64_t from_ms = harness_wall_ms(h) + 2 * HOUR;
    const helio_fx_reply_t *reply =
        curtail_as(HELIO_ROLE_OPERATOR, (helio_ev_curtail_t){.percent = 25, .from_wall_ms = from_ms, .for_ms = HOUR});
    assert_int_equal(reply->rc, HELIO_OK);
    helio_job_key_t saves = saving("standard", 8), keeps = plain("express", 4), low = plain("batch", 4);
    helio_job_key_t waits = of("acme", "batch", 1, 4); /* another would preempt */
    harness_wait(h, MINUTE);
    until(from_ms - 21 * SECOND);
    assert_state(saves, HELIO_JOB_RUNNING);
    harness_clear(h);
    until(from_ms - 20 * SECOND);
    assert_state(saves, HELIO_JOB_STOPPING); /* so that it has ended by then */
    assert_state(low, HELIO_JOB_RUNNING);    /* it saves nothing: it works on */
    const helio_row_curtailment_t *row = last_row();
    assert_non_null(row);
    assert_int_equal(row->jobs_stopped, 1);
    stopped(saves, 1);
    until(from_ms - 2 * SECOND);
    assert_state(saves,
                 HELIO_JOB_QUEUED); /* neither it nor another takes its place: 8 kW are in use, and 4 will be allowed */
    assert_state(waits, HELIO_JOB_QUEUED);
    until(from_ms);
    assert_state(low, HELIO_JOB_STOPPING);
    assert_state(keeps, HELIO_JOB_RUNNING);
    stopped(low, 1);
    until(from_ms + HOUR);
    assert_state(saves, HELIO_JOB_OFFERED);
}

static void curtail__that_is_taken_back_lets_jobs_start_again(void **state)
{
    (void)state;
    join();
    int64_t from_ms = harness_wall_ms(h) + HOUR;
    (void)curtail_as(HELIO_ROLE_OPERATOR, (helio_ev_curtail_t){.percent = 0, .from_wall_ms = from_ms, .for_ms = HOUR});
    helio_job_key_t saves = saving("standard", 8);
    until(from_ms - 10 * SECOND);
    assert_state(saves, HELIO_JOB_STOPPING);
    stopped(saves, 1);
    harness_wait(h, SECOND);
    assert_state(saves, HELIO_JOB_QUEUED);
    (void)curtail_as(HELIO_ROLE_OPERATOR, (helio_ev_curtail_t){.end = true});
    harness_wait(h, SECOND);
    assert_state(saves, HELIO_JOB_OFFERED);
}

static void curtail__the_strictest_counts(void **state)
{
    (void)state;
    join();
    (void)curtail(25, HOUR);
    (void)curtail(75, 2 * HOUR);
    helio_job_key_t eight = of("acme", "standard", 1, 8);
    harness_tick(h);
    assert_state(eight, HELIO_JOB_QUEUED);
    harness_wait(h, HOUR);
    assert_state(eight, HELIO_JOB_OFFERED);
}

static void curtail__a_new_leader_keeps_to_it(void **state)
{
    (void)state;
    join();
    helio_job_key_t low = plain("batch", 8);
    harness_wait(h, MINUTE);
    (void)curtail(50, HOUR);
    (void)curtail(0, HOUR);
    harness_tick(h);
    assert_state(low, HELIO_JOB_STOPPING);
    harness_t *before = h;
    h = harness_rebuild(before);
    harness_hello(h, NORTH, north);
    helio_holding_t holding = {.key = low, .epoch = 1, .state = HELIO_JOB_STOPPING, .dispatch_seq = 1};
    harness_inventory(h, NORTH, &holding, 1);
    harness_summary(h, NORTH, north, 0, 1);
    harness_wait(h, 6 * SECOND);
    stopped(low, 1);
    harness_summary(h, NORTH, north, 0, 0);
    harness_wait(h, MINUTE);
    assert_state(low, HELIO_JOB_QUEUED);
    assert_int_equal(preemptions(HELIO_PREEMPT_CAUSE_CURTAILMENT), 0); /* it was told to stop already */
    const helio_row_curtailment_t *row = last_row();
    assert_non_null(row);
    assert_int_equal(row->jobs_stopped, 1); /* by the leader before */
    harness_wait(h, HOUR);
    assert_state(low, HELIO_JOB_OFFERED);
    harness_end(&before);
}

/*  Its row is found by its time: in one millisecond several are set, ended and set anew, also by a new leader. */
static void curtail__each_has_a_time_of_its_own(void **state)
{
    (void)state;
    int64_t set_ms[8];
    uint32_t count = 0;
    join();
    for (int i = 0; i < 3; i++) {
        (void)curtail(100, HOUR);
        set_ms[count++] = last_row()->set_ms;
        (void)curtail(90, HOUR);
        set_ms[count++] = last_row()->set_ms;
        (void)curtail_as(HELIO_ROLE_OPERATOR, (helio_ev_curtail_t){.end = true});
        harness_clear(h);
    }
    harness_t *before = h;
    h = harness_rebuild(before);
    harness_set_wall(h, harness_wall_ms(before) - harness_wall_ms(h) - 1000); /* and its clock is behind */
    harness_clear(h);
    (void)curtail(10, HOUR);
    set_ms[count++] = last_row()->set_ms;
    for (uint32_t i = 1; i < count; i++)
        assert_true(set_ms[i] > set_ms[i - 1]);
    harness_end(&before);
}

/*  Whoever promised a grid so many kilowatts keeps to them, whatever the site reports afterwards. */
static void curtail__the_limit_is_that_of_the_order(void **state)
{
    (void)state;
    join();
    (void)curtail(50, HOUR);
    harness_pool(h, north, "more", "H100", 1000, 8, 0);
    harness_join(h, NORTH, north);
    helio_job_key_t first = of("acme", "standard", 1, 8), second = of("acme", "standard", 1, 1);
    harness_wait(h, MINUTE);
    assert_state(first, HELIO_JOB_OFFERED);
    assert_state(second, HELIO_JOB_QUEUED);
    harness_wait(h, HOUR);
    assert_state(second, HELIO_JOB_OFFERED);
}

static void curtail__a_preemptor_takes_only_power_that_it_may_use(void **state)
{
    (void)state;
    join();
    helio_job_key_t low = plain("batch", 4);
    harness_wait(h, MINUTE);
    (void)curtail(25, HOUR);
    helio_job_key_t large = of("other", "express", 1, 8), urgent = of("other", "express", 1, 4);
    harness_tick(h);
    assert_state(large, HELIO_JOB_QUEUED);
    assert_state(low, HELIO_JOB_STOPPING); /* for the one that fits */
    stopped(low, 1);
    harness_tick(h);
    assert_state(urgent, HELIO_JOB_OFFERED);
    assert_state(large, HELIO_JOB_QUEUED);
}

static void curtail__is_refused(void **state)
{
    (void)state;
    join();
    const helio_ev_curtail_t good = {.percent = 50, .for_ms = HOUR};
    helio_ev_curtail_t bad = good;
    assert_int_equal(curtail_as(HELIO_ROLE_USER, good)->rc, HELIO_FORBIDDEN);
    bad.site = HELIO_TEXT("nowhere");
    assert_int_equal(curtail_as(HELIO_ROLE_OPERATOR, bad)->rc, HELIO_NOT_FOUND);
    bad = good;
    bad.percent = 101;
    assert_int_equal(curtail_as(HELIO_ROLE_OPERATOR, bad)->rc, HELIO_INVALID);
    bad = good;
    bad.for_ms = HELIO_CURTAIL_MOST_MS + 1;
    assert_int_equal(curtail_as(HELIO_ROLE_OPERATOR, bad)->rc, HELIO_INVALID);
    bad.for_ms = HELIO_CURTAIL_LEAST_MS - 1;
    assert_int_equal(curtail_as(HELIO_ROLE_OPERATOR, bad)->rc, HELIO_INVALID);
    bad = good;
    bad.from_wall_ms = harness_wall_ms(h) + INT64_C(24) * HOUR * (HELIO_CURTAIL_AHEAD_D + 1);
    assert_int_equal(curtail_as(HELIO_ROLE_OPERATOR, bad)->rc, HELIO_INVALID);
    bad.from_wall_ms = harness_wall_ms(h) - 2 * HOUR;
    const helio_fx_reply_t *reply = curtail_as(HELIO_ROLE_OPERATOR, bad);
    assert_int_equal(reply->rc, HELIO_INVALID);
    assert_non_null(helio_details_find(&reply->details, HELIO_DETAIL_CURTAIL_OVER));
    assert_null(last_row());
    for (uint32_t i = 0; i < HELIO_CURTAILMENTS_MAX; i++)
        (void)curtail(50, HOUR);
    assert_int_equal(curtail_as(HELIO_ROLE_OPERATOR, good)->rc, HELIO_CONFLICT);
    harness_wait(h, HOUR);
    (void)curtail(50, HOUR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(curtail__limits_what_starts, begin, end),
        cmocka_unit_test_setup_teardown(curtail__jobs_leave_by_tier_and_those_that_save_before_others, begin, end),
        cmocka_unit_test_setup_teardown(curtail__stops_no_more_than_needed, begin, end),
        cmocka_unit_test_setup_teardown(curtail__protected_work_is_not_touched, begin, end),
        cmocka_unit_test_setup_teardown(curtail__a_job_that_leaves_starts_at_another_site, begin, end),
        cmocka_unit_test_setup_teardown(curtail__others_count, begin, end),
        cmocka_unit_test_setup_teardown(curtail__begins_later_and_can_be_ended, begin, end),
        cmocka_unit_test_setup_teardown(curtail__jobs_that_save_leave_their_grace_before_it_begins, begin, end),
        cmocka_unit_test_setup_teardown(curtail__that_is_taken_back_lets_jobs_start_again, begin, end),
        cmocka_unit_test_setup_teardown(curtail__the_strictest_counts, begin, end),
        cmocka_unit_test_setup_teardown(curtail__a_new_leader_keeps_to_it, begin, end),
        cmocka_unit_test_setup_teardown(curtail__each_has_a_time_of_its_own, begin, end),
        cmocka_unit_test_setup_teardown(curtail__the_limit_is_that_of_the_order, begin, end),
        cmocka_unit_test_setup_teardown(curtail__a_preemptor_takes_only_power_that_it_may_use, begin, end),
        cmocka_unit_test_setup_teardown(curtail__is_refused, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
