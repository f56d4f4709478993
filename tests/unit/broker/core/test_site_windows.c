/*  test_site_windows.c -- site reservation windows: which jobs run until then, which leave in time, and which start
 *  afterwards. */
#include <stdio.h>
#include <string.h>

#include "federation/base/clock.h"
#include "federation/energy/schedule.h"
#include "tests/support/core_harness.h"

enum { NORTH = 1, SECOND = 1000, MINUTE = 60000, HOUR = 3600000, QUARTERS = 192 };

static harness_t *h;
static helio_site_profile_t *north;

static int begin(void **state)
{
    (void)state;
    helio_broker_options_t options = helio_broker_options_default();
    options.silent_after_ms = INT64_C(10000) * HOUR;
    h = harness_begin(&options);
    north = harness_site(h, "north");
    return 0;
}

static int end(void **state)
{
    (void)state;
    harness_end(&h);
    return 0;
}

static void tell(const double *values, uint32_t count, int64_t start_ms, uint32_t step_s)
{
    double *copy = helio_arena_alloc(harness_arena(h), count, sizeof *copy);
    memcpy(copy, values, count * sizeof *copy);
    helio_series_t series = {.signal = HELIO_SIGNAL_RESERVED,
                             .pool = HELIO_TEXT("a"),
                             .source = HELIO_TEXT("windows"),
                             .issued_wall_ms = harness_wall_ms(h),
                             .start_wall_ms = start_ms,
                             .step_s = step_s,
                             .values = {copy, count}};
    harness_series(h, NORTH, &series, 1);
}

static void join(uint32_t nodes, uint32_t gpus)
{
    harness_pool(h, north, "a", "H100", nodes, gpus, 0);
    harness_join(h, NORTH, north);
}

static helio_job_spec_t spec_of(const char *queue, uint32_t gpus, int64_t limit_ms)
{
    helio_job_spec_t spec = harness_spec(h, "H100", gpus);
    spec.queue = helio_text_of(queue);
    spec.time_limit_ms = (uint64_t)limit_ms;
    return spec;
}

static helio_job_key_t job_of(const char *queue, uint32_t gpus, int64_t limit_ms)
{
    helio_job_spec_t spec = spec_of(queue, gpus, limit_ms);
    return harness_job(h, &spec);
}

static helio_job_key_t saving(uint32_t gpus, int64_t limit_ms)
{
    helio_job_spec_t spec = spec_of("standard", gpus, limit_ms);
    spec.checkpoint_signal = HELIO_TEXT("USR1");
    spec.checkpoint_grace_ms = 90 * SECOND;
    return harness_job(h, &spec);
}

static void assert_state(helio_job_key_t key, uint32_t state)
{
    assert_string_equal(helio_job_state_name(harness_state(h, key)), helio_job_state_name(state));
}

static helio_job_key_t run(helio_job_key_t key)
{
    harness_tick(h);
    assert_state(key, HELIO_JOB_OFFERED);
    harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_RUNNING);
    return key;
}

static const helio_stop_t *stop_of(helio_job_key_t key)
{
    const helio_fx_stop_t *fx;
    while ((fx = harness_take(h, HELIO_BROKER_FX_STOP)))
        if (helio_job_key_equal(fx->stop.key, key))
            return &fx->stop;
    return NULL;
}

static const helio_row_class_t *last_class(void)
{
    const helio_row_class_t *row, *last = NULL;
    while ((row = harness_take(h, HELIO_BROKER_FX_ROW_CLASS)))
        last = row;
    return last;
}

static uint64_t short_ms(void)
{
    harness_tick(h);
    return harness_figures(h).reserve_shortfall_gpu_ms;
}

static void site_window__is_for_critical_jobs_and_others_wait_for_its_end(void **state)
{
    (void)state;
    join(1, 8);
    int64_t from_ms = harness_wall_ms(h);
    tell((double[]){6, 6, 0}, 3, from_ms, 3600);
    helio_job_key_t big = job_of("batch", 4, HOUR);
    harness_tick(h);
    assert_state(big, HELIO_JOB_QUEUED);
    const helio_row_class_t *row = last_class();
    assert_non_null(row);
    assert_true(helio_text_is(row->reason, "WaitingForCapacity"));
    assert_string_equal(harness_facts(h, row->details),
                        "ReservedBySite gpus=6 site=north pool=a until=2026-03-01T02:00Z");
    assert_true(row->expected_ms == from_ms + 2 * HOUR);
    const helio_row_candidate_t *candidate = harness_take(h, HELIO_BROKER_FX_ROW_CANDIDATE);
    assert_non_null(candidate);
    assert_string_equal(candidate->rejected_reason.data, "NoCapacity");
    assert_string_equal(harness_facts(h, candidate->details),
                        "ReservedBySite gpus=6 site=north pool=a until=2026-03-01T02:00Z");
    const helio_start_estimate_t *p =
        &harness_command(h, HELIO_BROKER_EV_EXPLAIN, "acme", HELIO_ROLE_USER, big)->start_estimate;
    assert_true(p->earliest_ms == from_ms + 2 * HOUR && !p->latest_ms);
    helio_job_key_t small = run(job_of("batch", 2, HOUR)), urgent = run(job_of("express", 6, HOUR));
    harness_say(h, NORTH, small, 1, HELIO_REPORT_KIND_ENDED);
    harness_say(h, NORTH, urgent, 1, HELIO_REPORT_KIND_ENDED);
    harness_wait(h, 2 * HOUR - 1);
    assert_state(big, HELIO_JOB_QUEUED);
    harness_wait(h, 1);
    assert_state(big, HELIO_JOB_OFFERED);
    assert_int_equal(short_ms(), 0);
}

static void site_window__jobs_in_the_way_leave_their_grace_and_a_margin_before(void **state)
{
    (void)state;
    join(1, 8);
    tell((double[]){0, 0, 6, 0}, 4, harness_wall_ms(h), 3600);
    helio_job_key_t train = run(saving(4, 24 * HOUR)), low = run(job_of("batch", 2, 24 * HOUR)),
                    other = run(job_of("batch", 2, 24 * HOUR));
    harness_wait(h, 2 * HOUR - 120 * SECOND - 1);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_STOP), 0);
    harness_wait(h, 1);
    assert_state(train, HELIO_JOB_STOPPING);
    assert_int_equal(stop_of(train)->mode, HELIO_STOP_MODE_GRACE);
    assert_string_equal(harness_facts(h, harness_row(h, train)->why),
                        "PreemptedForReservation site=north pool=a from=2026-03-01T02:00Z");
    harness_say(h, NORTH, train, 1, HELIO_REPORT_KIND_STOPPED);
    harness_wait(h, 90 * SECOND - 1);
    assert_state(low, HELIO_JOB_RUNNING);
    assert_state(other, HELIO_JOB_RUNNING);
    harness_wait(h, 1);
    bool first = harness_state(h, low) == HELIO_JOB_STOPPING; /* either, and no more than one */
    helio_job_key_t left = first ? low : other;
    assert_state(first ? other : low, HELIO_JOB_RUNNING);
    assert_int_equal(stop_of(left)->mode, HELIO_STOP_MODE_KILL);
    harness_say(h, NORTH, left, 1, HELIO_REPORT_KIND_STOPPED);
    harness_wait(h, HOUR);
    assert_int_equal(short_ms(), 0);
    assert_int_equal(harness_figures(h).preemptions_total[HELIO_PREEMPT_CAUSE_WINDOW], 2);
    assert_int_equal(harness_row(h, train)->preemptions, 0); /* not counted as a preemption */
    assert_state(train, HELIO_JOB_QUEUED);
    harness_clear(h);
    harness_wait(h, HOUR);
    assert_state(train, HELIO_JOB_OFFERED);
    const helio_fx_order_t *order;
    bool resumes = false;
    while ((order = harness_take(h, HELIO_BROKER_FX_ORDER)))
        resumes = resumes || (helio_job_key_equal(order->order.key, train) && order->order.resume);
    assert_true(resumes);
}

static void site_window__is_no_reason_while_other_work_fills_the_pool(void **state)
{
    (void)state;
    join(1, 8);
    tell((double[]){0, 0, 0, 8}, 4, harness_wall_ms(h), 3600);
    (void)run(job_of("standard", 8, 2 * HOUR));
    harness_clear(h);
    (void)job_of("standard", 4, HOUR);
    harness_tick(h);
    const helio_row_class_t *row = last_class();
    assert_non_null(row);
    assert_null(helio_details_find(&row->details, HELIO_DETAIL_RESERVED_BY_SITE));
    assert_non_null(helio_details_find(&row->details, HELIO_DETAIL_NO_ROOM_AT));
}

static const helio_row_capacity_t *shown(void)
{
    const helio_row_capacity_t *row, *last = NULL;
    harness_summary(h, NORTH, north, UINT64_MAX, 0);
    while ((row = harness_take(h, HELIO_BROKER_FX_ROW_CAPACITY)))
        last = row;
    assert_non_null(last);
    return last;
}

static void site_window__is_in_the_capacity_rows(void **state)
{
    (void)state;
    join(1, 8);
    static const uint32_t expected[] = {0, 6, 8, 0};
    tell((double[]){0, 6, 100, 0}, 4, harness_wall_ms(h) + 10 * SECOND, 60);
    harness_wait(h, 10 * SECOND);
    harness_clear(h);
    for (size_t i = 0; i < 4; i++) {
        const helio_row_capacity_t *row = shown();
        assert_int_equal(row->gpus_reserved, expected[i]);
        bool withheld = helio_details_find(&row->withheld, HELIO_DETAIL_WITHHELD_RESERVED) != NULL;
        assert_int_equal(withheld, expected[i] == 8); /* of 8: nothing is offered */
        harness_wait(h, MINUTE);
    }
}

static void site_window__a_job_that_just_started_leaves_in_time(void **state)
{
    (void)state;
    join(1, 8);
    tell((double[]){0, 6, 0}, 3, harness_wall_ms(h), 3600);
    helio_job_key_t train = saving(8, 24 * HOUR);
    harness_tick(h);
    harness_run_up_to(h, NORTH, train, 1, HELIO_JOB_RUNNING); /* no round follows from that */
    harness_wait(h, HOUR - 120 * SECOND - 1);
    assert_state(train, HELIO_JOB_RUNNING);
    harness_wait(h, 1);
    assert_state(train, HELIO_JOB_STOPPING);
}

static void site_window__no_job_starts_that_cannot_leave_in_time_or_would_lose_its_run(void **state)
{
    (void)state;
    join(1, 8);
    int64_t from_ms = harness_wall_ms(h);
    tell((double[]){0, 0, 8, 0}, 4, from_ms, 3600);
    helio_job_key_t long_one = job_of("standard", 4, 3 * HOUR);
    harness_tick(h);
    assert_state(long_one, HELIO_JOB_QUEUED);
    assert_string_equal(harness_facts(h, last_class()->details),
                        "ReservedBySite gpus=8 site=north pool=a from=2026-03-01T02:00Z until=2026-03-01T03:00Z");
    helio_job_key_t brief = run(job_of("standard", 4, 2 * HOUR));
    harness_say(h, NORTH, brief, 1, HELIO_REPORT_KIND_ENDED);
    helio_job_key_t saves = run(saving(4, 24 * HOUR));
    harness_wait(h, 2 * HOUR - 140 * SECOND);
    harness_say(h, NORTH, saves, 1, HELIO_REPORT_KIND_ENDED);
    helio_job_key_t late = saving(4, 24 * HOUR);
    harness_tick(h);
    assert_state(late, HELIO_JOB_QUEUED);
    harness_wait(h, HOUR + 140 * SECOND);
    assert_state(late, HELIO_JOB_OFFERED);
    assert_state(long_one, HELIO_JOB_OFFERED);
}

static void site_window__a_job_that_has_not_started_is_waited_for_and_counted(void **state)
{
    (void)state;
    join(1, 8);
    helio_job_key_t slow = saving(8, 24 * HOUR);
    harness_tick(h);
    harness_run_up_to(h, NORTH, slow, 1, HELIO_JOB_STARTING);
    tell((double[]){6, 0}, 2, harness_wall_ms(h), 3600); /* the file was changed */
    harness_tick(h);
    harness_wait(h, MINUTE);
    assert_true(short_ms() == UINT64_C(6) * MINUTE);
    harness_say(h, NORTH, slow, 1, HELIO_REPORT_KIND_RUNNING);
    harness_wait(h, 5 * SECOND);
    assert_state(slow, HELIO_JOB_STOPPING);
    harness_say(h, NORTH, slow, 1, HELIO_REPORT_KIND_STOPPED);
    uint64_t counted = short_ms();
    assert_true(counted == UINT64_C(6) * 65 * SECOND);
    harness_wait(h, 10 * MINUTE);
    assert_true(short_ms() == counted);
}

/*  Or it would preempt for room that is there, and best-effort work would be placed on it again. */
static void site_window__best_effort_jobs_leave_first_and_do_not_count_against_other_tiers(void **state)
{
    (void)state;
    join(1, 8);
    tell((double[]){0, 0, 4, 4, 4}, 5, harness_wall_ms(h), 3600);
    helio_job_key_t low = run(job_of("batch", 4, 24 * HOUR));
    helio_job_key_t firm = run(job_of("standard", 4, 4 * HOUR));
    helio_job_key_t second = job_of("standard", 4, 4 * HOUR);
    harness_wait(h, HOUR);
    assert_state(low, HELIO_JOB_RUNNING);
    assert_state(second, HELIO_JOB_QUEUED); /* for that there will be no room */
    assert_int_equal(harness_figures(h).preemptions_total[HELIO_PREEMPT_CAUSE_TIER], 0);
    harness_wait(h, HOUR - 20 * SECOND);
    assert_state(low, HELIO_JOB_STOPPING);
    assert_state(firm, HELIO_JOB_RUNNING);
    harness_say(h, NORTH, low, 1, HELIO_REPORT_KIND_STOPPED);
    harness_wait(h, MINUTE);
    assert_state(firm, HELIO_JOB_RUNNING);
    assert_int_equal(short_ms(), 0);
}

/*  Whether it saves is asked of a job that is only planned, too. */
static void site_window__a_plan_with_victims_checks_that_the_job_can_leave_in_time(void **state)
{
    (void)state;
    join(1, 8);
    tell((double[]){0, 0, 8, 8}, 4, harness_wall_ms(h), 3600);
    (void)run(job_of("batch", 8, 24 * HOUR));
    helio_job_spec_t spec = spec_of("standard", 8, 4 * HOUR);
    for (int saves = 0; saves < 2; saves++) {
        spec.checkpoint_signal = saves ? HELIO_TEXT("USR1") : (helio_text_t){0};
        helio_submission_t job = harness_submission(h, &spec, "", "");
        helio_ev_submit_t event = {
            .call = 77, .tenant = HELIO_TEXT("acme"), .user = HELIO_TEXT("ada"), .jobs = {&job, 1}};
        harness_step(h, HELIO_BROKER_EV_PLAN, &event);
        const helio_fx_reply_t *reply = harness_take(h, HELIO_BROKER_FX_REPLY);
        assert_non_null(reply);
        assert_int_equal(reply->rc, HELIO_OK);
        assert_true(helio_text_is(reply->plan.decision.reason, "WaitingForCapacity"));
        assert_int_equal(reply->plan.decision.chosen_site.size > 0, saves); /* with the capacity of the victims */
        harness_clear(h);
    }
}

/*  Capacity that is free now, but not once the job has started that a victim leaves for. */
static void site_window__capacity_that_victims_leave_is_not_taken_meanwhile(void **state)
{
    (void)state;
    join(2, 8);
    tell((double[]){6}, 1, harness_wall_ms(h), 3600);
    helio_job_key_t low = run(job_of("batch", 4, HOUR));
    harness_wait(h, 10 * MINUTE);
    helio_job_key_t train = job_of("standard", 8, HOUR);
    harness_tick(h);
    assert_state(low, HELIO_JOB_STOPPING);
    helio_job_key_t four = job_of("batch", 4, HOUR), two = job_of("batch", 2, HOUR);
    harness_tick(h);
    assert_state(four, HELIO_JOB_QUEUED);
    assert_state(two, HELIO_JOB_OFFERED);
    harness_say(h, NORTH, low, 1, HELIO_REPORT_KIND_STOPPED);
    harness_tick(h);
    assert_state(train, HELIO_JOB_OFFERED);
    assert_int_equal(harness_figures(h).preemptions_total[HELIO_PREEMPT_CAUSE_TIER], 1);
    assert_int_equal(short_ms(), 0);
}

static void site_window__the_last_point_stands_until_a_new_series(void **state)
{
    (void)state;
    join(1, 8);
    tell((double[]){8}, 1, harness_wall_ms(h), 3600);
    helio_job_key_t key = job_of("standard", 8, HOUR);
    harness_wait(h, HOUR);
    assert_state(key, HELIO_JOB_QUEUED); /* after its last point that one stands */
    tell((double[]){0}, 1, harness_wall_ms(h), 3600);
    harness_tick(h);
    assert_state(key, HELIO_JOB_OFFERED);
}

/* ---- three days ---------------------------------------------------------------------------------------- */

enum { TRAININGS = 8, DAYS = 3, INFERENCES = DAYS * 24 * 2 };

typedef struct worker {
    helio_job_key_t key;
    uint32_t epoch;
    int64_t since_ms; /* it runs; 0 = it does not */
    int64_t ends_ms;  /* inference */
    int64_t done_ms;
} worker_t;

static worker_t workers[TRAININGS + INFERENCES];
static uint32_t worker_count;

static worker_t *worker_of(helio_job_key_t key)
{
    for (uint32_t i = 0; i < worker_count; i++)
        if (helio_job_key_equal(workers[i].key, key))
            return &workers[i];
    fail();
    return NULL;
}

/*  The site: starts what is ordered, ends inference on time, and lets training save and stop. */
static void site_lives(void)
{
    const helio_fx_order_t *order;
    while ((order = harness_take(h, HELIO_BROKER_FX_ORDER))) {
        worker_t *worker = worker_of(order->order.key);
        assert_true(order->order.resume == (worker->epoch > 0));
        worker->epoch = order->order.epoch;
        worker->since_ms = harness_wall_ms(h);
        harness_run_up_to(h, NORTH, worker->key, worker->epoch, HELIO_JOB_RUNNING);
    }
    const helio_fx_stop_t *stop;
    while ((stop = harness_take(h, HELIO_BROKER_FX_STOP))) {
        worker_t *worker = worker_of(stop->stop.key);
        assert_int_equal(stop->stop.mode, HELIO_STOP_MODE_GRACE);
        worker->done_ms += harness_wall_ms(h) - worker->since_ms;
        worker->since_ms = 0;
        harness_say(h, NORTH, worker->key, worker->epoch, HELIO_REPORT_KIND_STOPPED);
    }
    for (uint32_t i = TRAININGS; i < worker_count; i++)
        if (workers[i].since_ms && harness_wall_ms(h) >= workers[i].ends_ms) {
            harness_say(h, NORTH, workers[i].key, workers[i].epoch, HELIO_REPORT_KIND_ENDED);
            workers[i].since_ms = 0;
        }
}

static helio_zone_t *berlin(void)
{
    static char bytes[HELIO_ZONE_BYTES_MAX];
    FILE *file = fopen("/usr/share/zoneinfo/Europe/Berlin", "r");
    if (!file) {
        print_message("SKIPPED: /usr/share/zoneinfo is missing (Debian: tzdata)\n");
        skip();
    }
    size_t size = fread(bytes, 1, sizeof bytes, file);
    assert_int_equal(fclose(file), 0);
    helio_zone_t *zone = NULL;
    assert_int_equal(helio_zone_parse((helio_text_t){bytes, (uint32_t)size}, &zone, NULL), HELIO_OK);
    return zone;
}

/*  As a site tells it every hour: 48 hours in quarters. */
static void tell_days(const helio_zone_t *zone)
{
    helio_schedule_t schedule;
    helio_interval_t *intervals;
    double values[QUARTERS] = {0};
    int64_t from_ms = harness_wall_ms(h), quarter_ms = 15 * MINUTE;
    assert_int_equal(helio_schedule_parse(HELIO_TEXT("08:00-20:00"), &schedule, NULL), HELIO_OK);
    uint32_t count = helio_schedule_intervals(&schedule, zone, from_ms, from_ms + QUARTERS * quarter_ms,
                                              harness_arena(h), &intervals);
    for (uint32_t i = 0; i < QUARTERS; i++)
        for (uint32_t n = 0; n < count; n++) {
            int64_t at_ms = from_ms + (int64_t)i * quarter_ms;
            if (at_ms >= intervals[n].begin_ms && at_ms < intervals[n].end_ms)
                values[i] = 48;
        }
    tell(values, QUARTERS, from_ms, 900);
}

static uint64_t trained_gpus(void)
{
    return harness_gpus(h, "acme", "standard");
}

/*  Inference that arrives is offered in the same tick. */
static void infer(void)
{
    worker_t *worker = &workers[worker_count++];
    *worker = (worker_t){.key = job_of("express", 8, HOUR), .ends_ms = harness_wall_ms(h) + 100 * MINUTE};
    harness_tick(h);
    assert_state(worker->key, HELIO_JOB_OFFERED);
}

static void site_window__three_days_of_inference_by_day_and_training_by_night(void **state)
{
    (void)state;
    helio_zone_t *zone = berlin();
    harness_advance(h, INT64_C(27) * 24 * HOUR); /* 28 March 2026; on the 29th clocks are put forward */
    (void)harness_quota(h, "acme", "express", HARNESS_AS_IS, 64, HARNESS_AS_IS);
    join(8, 8);
    worker_count = 0;
    memset(workers, 0, sizeof workers);
    tell_days(zone);
    for (; worker_count < TRAININGS; worker_count++)
        workers[worker_count].key = saving(8, INT64_C(30) * 24 * HOUR);
    int64_t begin_ms = harness_wall_ms(h), trained_ms = 0;
    uint32_t mornings = 0, evenings = 0;
    harness_tick(h);
    site_lives();
    for (int64_t minute = 1; minute <= DAYS * 24 * 60; minute++) {
        trained_ms += (int64_t)trained_gpus() / 8 * MINUTE;
        harness_wait(h, MINUTE);
        int64_t local_s = helio_zone_local_s(zone, harness_wall_ms(h) / 1000), of_day = local_s % 86400 / 60;
        bool day = of_day >= 8 * 60 && of_day < 20 * 60;
        if (day) {
            assert_true(trained_gpus() <= 16);
            mornings += of_day == 8 * 60;
        }
        site_lives();
        harness_tick(h);
        site_lives();
        if (day && of_day % 30 == 0 && of_day < 18 * 60 + 30) {
            infer();
            site_lives();
        }
        if (of_day == 20 * 60) {
            evenings++;
            assert_int_equal(trained_gpus(), 64); /* at once */
        }
        if (harness_wall_ms(h) % HOUR == 0)
            tell_days(zone);
    }
    assert_int_equal(mornings, DAYS);
    assert_int_equal(evenings, DAYS);
    assert_int_equal(short_ms(), 0);
    int64_t done_ms = 0, lost_ms = 0;
    for (uint32_t i = 0; i < TRAININGS; i++)
        done_ms += workers[i].done_ms + (workers[i].since_ms ? harness_wall_ms(h) - workers[i].since_ms : 0);
    lost_ms = (int64_t)TRAININGS * (harness_wall_ms(h) - begin_ms) - done_ms;
    /* six of eight nodes for 12 hours a day, and at most two minutes more each morning */
    assert_true(lost_ms >= (int64_t)DAYS * 6 * 12 * HOUR && lost_ms <= (int64_t)DAYS * 6 * (12 * HOUR + 2 * MINUTE));
    assert_true(trained_ms >= done_ms);
    assert_int_equal(harness_figures(h).preemptions_total[HELIO_PREEMPT_CAUSE_WINDOW], DAYS * 6);
    assert_int_equal(harness_figures(h).preemptions_total[HELIO_PREEMPT_CAUSE_TIER], 0);
    helio_zone_destroy(&zone);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(site_window__is_for_critical_jobs_and_others_wait_for_its_end),
        TEST(site_window__jobs_in_the_way_leave_their_grace_and_a_margin_before),
        TEST(site_window__is_no_reason_while_other_work_fills_the_pool),
        TEST(site_window__is_in_the_capacity_rows),
        TEST(site_window__a_job_that_just_started_leaves_in_time),
        TEST(site_window__no_job_starts_that_cannot_leave_in_time_or_would_lose_its_run),
        TEST(site_window__a_job_that_has_not_started_is_waited_for_and_counted),
        TEST(site_window__best_effort_jobs_leave_first_and_do_not_count_against_other_tiers),
        TEST(site_window__a_plan_with_victims_checks_that_the_job_can_leave_in_time),
        TEST(site_window__capacity_that_victims_leave_is_not_taken_meanwhile),
        TEST(site_window__the_last_point_stands_until_a_new_series),
        TEST(site_window__three_days_of_inference_by_day_and_training_by_night),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
