/*  test_blocked.c -- a class that waits for nothing but capacity stands in a line, and rounds skip it: whatever else
 *  lets it start, or makes it wait for something else, is still noticed. After each step the harness asserts that no
 *  line with room was passed over. */
#include "tests/unit/broker/core/preempt_testing.h"

/*  A class of its own for each time limit. */
static helio_job_key_t waiting(const char *tenant, const char *queue, uint32_t gpus, int64_t limit_ms)
{
    helio_job_spec_t spec = spec_of(queue, 1, gpus);
    spec.time_limit_ms = (uint64_t)limit_ms;
    const helio_fx_reply_t *reply = harness_submit(h, tenant, &spec);
    assert_int_equal(reply->rc, HELIO_OK);
    return (helio_job_key_t){reply->jobs.items[0].job, HELIO_NO_TASK};
}

/*  One node of `gpus`, each taken by a running job of that tenant and queue. */
static void fill(const char *tenant, const char *queue, uint32_t gpus, helio_job_key_t *ret_keys)
{
    harness_pool(h, north, "a", "H100", 1, gpus, 1);
    harness_join(h, NORTH, north);
    for (uint32_t i = 0; i < gpus; i++)
        ret_keys[i] = run(of(tenant, queue, 1, 1));
}

static void ends(helio_job_key_t key)
{
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_ENDED);
    harness_tick(h);
}

/*  The reason of the last class row, and its facts. */
static const char *last_reason(void)
{
    const helio_row_class_t *row, *last = NULL;
    while ((row = harness_take(h, HELIO_BROKER_FX_ROW_CLASS)))
        last = row;
    return last ? helio_arena_printf(harness_arena(h), "%.*s: %s", HELIO_TEXT_ARGS(last->reason),
                                     harness_facts(h, last->details))
                      .data
                : "";
}

/*  Something changed elsewhere, which makes a round ask classes again. */
static void ask(void)
{
    static int64_t gpus = 1000;
    assert_int_equal(harness_quota(h, "other", "", HARNESS_AS_IS, ++gpus, HARNESS_AS_IS)->rc, HELIO_OK);
    harness_tick(h);
}

/*  Values for each step from midnight on, at the site. */
static void tell(uint64_t peer, helio_signal_t signal, const char *pool, uint32_t step_s, const double *values,
                 uint32_t count)
{
    helio_series_t series = {.signal = signal,
                             .pool = helio_text_of(pool),
                             .kind = signal == HELIO_SIGNAL_CARBON ? HELIO_TEXT("average") : (helio_text_t){0},
                             .source = HELIO_TEXT("test"),
                             .issued_wall_ms = harness_wall_ms(h),
                             .start_wall_ms = harness_wall_ms(h) - harness_wall_ms(h) % (24 * HOUR),
                             .step_s = step_s,
                             .values = {(double *)(uintptr_t)values, count}};
    harness_series(h, peer, &series, 1);
}

static void blocked__the_oldest_starts_when_there_is_room(void **state)
{
    (void)state;
    helio_job_key_t runs[2], first, second, third;
    fill("other", "batch", 2, runs);
    first = waiting("acme", "batch", 1, HOUR);
    second = waiting("acme", "batch", 1, HOUR + 1);
    third = waiting("acme", "batch", 1, HOUR + 2);
    harness_tick(h);
    assert_string_equal(last_reason(), "WaitingForCapacity: PoolsFull pools=1");
    ends(runs[0]);
    assert_state(first, HELIO_JOB_OFFERED);
    assert_state(second, HELIO_JOB_QUEUED);
    ends(runs[1]);
    assert_state(second, HELIO_JOB_OFFERED);
    assert_state(third, HELIO_JOB_QUEUED);
}

/*  Its class is older, but its own job is not. */
static void blocked__a_class_whose_first_job_goes_stands_behind_older_ones(void **state)
{
    (void)state;
    helio_job_key_t runs[2], gone, older, younger;
    fill("other", "batch", 2, runs);
    gone = waiting("acme", "batch", 1, HOUR);
    older = waiting("acme", "batch", 1, HOUR + 1);
    younger = waiting("acme", "batch", 1, HOUR);
    harness_tick(h);
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, gone)->rc, HELIO_OK);
    ends(runs[0]);
    assert_state(older, HELIO_JOB_OFFERED);
    assert_state(younger, HELIO_JOB_QUEUED);
}

static void blocked__an_empty_class_is_passed_over_and_comes_back_with_its_next_job(void **state)
{
    (void)state;
    helio_job_key_t runs[1], gone, back;
    fill("other", "batch", 1, runs);
    gone = waiting("acme", "batch", 1, HOUR);
    harness_tick(h);
    helio_job_key_t other = waiting("acme", "batch", 1, HOUR + 1);
    harness_tick(h);
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, gone)->rc, HELIO_OK);
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, other)->rc, HELIO_OK);
    harness_tick(h);
    back = waiting("acme", "batch", 1, HOUR);
    harness_tick(h);
    assert_state(back, HELIO_JOB_QUEUED);
    ends(runs[0]);
    assert_state(back, HELIO_JOB_OFFERED);
}

static void blocked__the_edited_priority_counts_in_a_line(void **state)
{
    (void)state;
    helio_job_key_t runs[1], first, urgent;
    fill("other", "batch", 1, runs);
    first = waiting("acme", "batch", 1, HOUR);
    urgent = waiting("acme", "batch", 1, HOUR + 1);
    harness_tick(h);
    helio_ev_edit_t edit = {.priority_given = true, .priority = 5};
    assert_int_equal(harness_edit(h, "acme", HELIO_ROLE_USER, urgent, edit)->rc, HELIO_OK);
    harness_tick(h);
    ends(runs[0]);
    assert_state(urgent, HELIO_JOB_OFFERED);
    assert_state(first, HELIO_JOB_QUEUED);
}

/*  A large job does not keep the others of its account from what is too little for it. */
static void blocked__small_jobs_pass_a_larger_one_that_has_no_room(void **state)
{
    (void)state;
    helio_job_key_t runs[4], large, small;
    fill("other", "batch", 4, runs);
    large = waiting("acme", "batch", 2, HOUR);
    small = waiting("acme", "batch", 1, HOUR);
    harness_tick(h);
    ends(runs[0]);
    assert_state(small, HELIO_JOB_OFFERED);
    ends(runs[1]);
    assert_state(large, HELIO_JOB_QUEUED);
    ends(runs[2]);
    assert_state(large, HELIO_JOB_OFFERED);
}

/*  Room that a pool refuses to give is not room passed over: when the pool takes offers again, the job starts. */
static void blocked__a_pool_that_refuses_gives_its_room_later(void **state)
{
    (void)state;
    helio_job_key_t runs[2], key;
    fill("other", "batch", 2, runs);
    key = waiting("acme", "batch", 1, HOUR);
    helio_job_key_t next = waiting("acme", "batch", 1, HOUR + 1);
    harness_tick(h);
    ends(runs[0]);
    assert_state(key, HELIO_JOB_OFFERED);
    helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_REFUSED);
    harness_report(h, NORTH, &report);
    harness_tick(h);
    assert_state(key, HELIO_JOB_QUEUED);
    assert_state(next, HELIO_JOB_QUEUED);
    harness_wait(h, 10 * MINUTE);
    harness_summary(h, NORTH, north, 1000, 0);
    harness_tick(h);
    assert_state(key, HELIO_JOB_OFFERED);
}

/*  What a gang has reserved is no room for the class. Once the gang has run, it is. */
static void blocked__room_that_is_reserved_is_not_passed_over(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 2, 8, 1);
    harness_join(h, NORTH, north);
    helio_job_key_t runs = run(of("other", "standard", 1, 8)), gang = of("other", "standard", 2, 8);
    harness_tick(h);
    helio_job_key_t key = waiting("acme", "batch", 1, 9 * HOUR);
    harness_tick(h);
    assert_state(gang, HELIO_JOB_QUEUED);
    assert_state(key, HELIO_JOB_QUEUED);
    ends(runs);
    assert_state(gang, HELIO_JOB_OFFERED);
    assert_state(key, HELIO_JOB_QUEUED);
    harness_run_up_to(h, NORTH, gang, 1, HELIO_JOB_RUNNING);
    ends(gang);
    assert_state(key, HELIO_JOB_OFFERED);
}

/*  The second gang gets the reservation when the first one has started. */
static void blocked__a_gang_reserves_when_it_is_its_turn(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 2, 8, 1);
    harness_join(h, NORTH, north);
    helio_job_key_t runs = run(of("other", "standard", 1, 8)), first = of("other", "standard", 2, 8);
    harness_tick(h);
    (void)of("acme", "standard", 2, 8);
    harness_tick(h);
    assert_string_equal(last_reason(), "WaitingForCapacity: PoolsFull pools=1");
    ends(runs);
    assert_state(first, HELIO_JOB_OFFERED);
    assert_non_null(strstr(last_reason(), "ReservedForIt"));
}

/* ---- its account ------------------------------------------------------------------------------------------- */

static void blocked__a_lowered_quota_becomes_the_reason(void **state)
{
    (void)state;
    helio_job_key_t runs[1];
    fill("acme", "batch", 1, runs);
    helio_job_key_t key = waiting("acme", "batch", 1, HOUR);
    harness_tick(h);
    assert_string_equal(last_reason(), "WaitingForCapacity: PoolsFull pools=1");
    assert_int_equal(harness_quota(h, "acme", "", HARNESS_AS_IS, 1, HARNESS_AS_IS)->rc, HELIO_OK);
    harness_tick(h);
    assert_memory_equal(last_reason(), "PolicyCap", 9);
    ends(runs[0]);
    assert_state(key, HELIO_JOB_OFFERED);
}

/*  In the round in which another class takes what was left of the quota. */
static void blocked__a_quota_that_is_used_up_becomes_the_reason_at_once(void **state)
{
    (void)state;
    helio_job_key_t runs[2];
    fill("other", "batch", 2, runs);
    assert_int_equal(harness_quota(h, "acme", "", HARNESS_AS_IS, 1, HARNESS_AS_IS)->rc, HELIO_OK);
    helio_job_key_t first = waiting("acme", "batch", 1, HOUR), second = waiting("acme", "batch", 1, HOUR + 1);
    harness_tick(h);
    assert_string_equal(last_reason(), "WaitingForCapacity: PoolsFull pools=1");
    ends(runs[0]);
    assert_state(first, HELIO_JOB_OFFERED);
    assert_state(second, HELIO_JOB_QUEUED);
    assert_memory_equal(last_reason(), "PolicyCap", 9);
}

static void blocked__a_budget_becomes_the_reason(void **state)
{
    (void)state;
    helio_job_key_t runs[1];
    fill("other", "batch", 1, runs);
    (void)waiting("acme", "batch", 1, HOUR);
    harness_tick(h);
    (void)last_reason();
    assert_int_equal(harness_budget(h, "acme", "", "0.01 USD/month")->rc, HELIO_OK);
    harness_tick(h);
    assert_memory_equal(last_reason(), "PolicyCap", 9);
}

static void blocked__a_guarantee_reclaims_capacity(void **state)
{
    (void)state;
    helio_job_key_t runs[2];
    fill("other", "standard", 2, runs);
    helio_job_key_t key = waiting("acme", "standard", 1, HOUR);
    harness_tick(h);
    harness_wait(h, 30 * MINUTE); /* past the protection of the running jobs */
    assert_int_equal(harness_quota(h, "other", "", HARNESS_AS_IS, 9, HARNESS_AS_IS)->rc, HELIO_OK);
    harness_tick(h); /* judged with the scores of now */
    assert_int_equal(preemptions(HELIO_PREEMPT_CAUSE_GUARANTEE), 0);
    assert_int_equal(harness_quota(h, "acme", "", 1, HARNESS_AS_IS, HARNESS_AS_IS)->rc, HELIO_OK);
    harness_tick(h);
    assert_int_equal(preemptions(HELIO_PREEMPT_CAUSE_GUARANTEE), 1);
    assert_state(key, HELIO_JOB_QUEUED);
}

/*  At the lower of two priority levels, where the pool is. */
static void blocked__a_class_of_a_queue_with_regional_priority_starts(void **state)
{
    (void)state;
    helio_job_key_t runs[1];
    fill("other", "batch", 1, runs);
    assert_int_equal(harness_rule(h, "batch", "US-XX", "", 100 * HOUR, 900)->rc, HELIO_OK);
    helio_job_key_t key = waiting("acme", "batch", 1, HOUR);
    harness_tick(h);
    ask();
    ends(runs[0]);
    assert_state(key, HELIO_JOB_OFFERED);
}

/*  The rule comes while the class waits. */
static void blocked__a_queue_that_gets_a_regional_priority_starts(void **state)
{
    (void)state;
    helio_job_key_t runs[1];
    fill("other", "batch", 1, runs);
    helio_job_key_t key = waiting("acme", "batch", 1, HOUR);
    harness_tick(h);
    assert_int_equal(harness_rule(h, "batch", "US-XX", "", 100 * HOUR, 900)->rc, HELIO_OK);
    ends(runs[0]);
    assert_state(key, HELIO_JOB_OFFERED);
}

/* ---- time -------------------------------------------------------------------------------------------------- */

/*  All are asked again between two scoring steps, so that only the time of the class itself can have woken it. */
static void blocked__a_deadline_that_cannot_be_met_becomes_the_reason(void **state)
{
    (void)state;
    helio_job_key_t runs[1];
    fill("other", "batch", 1, runs);
    helio_job_spec_t spec = spec_of("batch", 1, 1);
    spec.time_limit_ms = HOUR;
    spec.deadline_wall_ms = harness_wall_ms(h) + HOUR + 13 * MINUTE;
    (void)harness_job(h, &spec);
    harness_tick(h);
    harness_wait(h, 11 * MINUTE);
    ask();
    assert_string_equal(last_reason(), "WaitingForCapacity: PoolsFull pools=1");
    harness_advance(h, 3 * MINUTE);
    ask();
    assert_memory_equal(last_reason(), "PolicyCap", 9);
}

static void blocked__a_cap_that_is_exceeded_later_becomes_the_reason(void **state)
{
    (void)state;
    helio_job_key_t runs[1];
    fill("other", "batch", 1, runs);
    static const double carbon[] = {100, 500, 500, 500};
    tell(NORTH, HELIO_SIGNAL_CARBON, "", 3600, carbon, 4);
    helio_job_spec_t spec = spec_of("batch", 1, 1);
    spec.time_limit_ms = HOUR;
    spec.max_carbon_mg_per_kwh = 200000;
    (void)harness_job(h, &spec);
    harness_tick(h);
    harness_wait(h, 12 * MINUTE);
    ask();
    assert_string_equal(last_reason(), "WaitingForCapacity: PoolsFull pools=1");
    harness_advance(h, 9 * MINUTE);
    ask();
    assert_memory_equal(last_reason(), "PolicyCap", 9);
}

static void blocked__a_class_starts_elsewhere_when_a_cap_is_met_there(void **state)
{
    (void)state;
    helio_job_key_t runs[1];
    fill("other", "batch", 1, runs);
    helio_site_profile_t *south = harness_site(h, "south");
    harness_pool(h, south, "b", "H100", 1, 2, 1);
    harness_join(h, SOUTH, south);
    static const double carbon[] = {500, 500, 100, 100, 100, 100};
    tell(SOUTH, HELIO_SIGNAL_CARBON, "", 3600, carbon, 6);
    helio_job_spec_t spec = spec_of("batch", 1, 1);
    spec.time_limit_ms = HOUR;
    spec.max_carbon_mg_per_kwh = 200000;
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    assert_state(key, HELIO_JOB_QUEUED);
    harness_wait(h, 2 * HOUR + MINUTE);
    assert_state(key, HELIO_JOB_OFFERED);
}

/*  The pool is full of work from outside the federation. */
static void blocked__a_site_window_that_begins_is_the_reason(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 1, 1, 1);
    harness_join(h, NORTH, north);
    harness_summary(h, NORTH, north, 0, 1);
    static const double reserved[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1};
    tell(NORTH, HELIO_SIGNAL_RESERVED, "a", 60, reserved, 20);
    helio_job_spec_t spec = spec_of("batch", 1, 1);
    spec.time_limit_ms = MINUTE;
    (void)harness_job(h, &spec);
    harness_tick(h);
    harness_wait(h, 11 * MINUTE);
    ask();
    assert_string_equal(last_reason(), "WaitingForCapacity: PoolsFull pools=1");
    harness_advance(h, 2 * MINUTE + 1000);
    ask();
    assert_string_equal(last_reason(), "WaitingForCapacity: ReservedBySite gpus=1 site=north pool=a");
}

/* ---- other tiers ------------------------------------------------------------------------------------------- */

static void blocked__a_class_preempts_when_a_queue_falls_to_a_lower_tier(void **state)
{
    (void)state;
    helio_job_key_t runs[2];
    assert_int_equal(harness_queue(h, "late", 50, HELIO_TIER_STANDARD)->rc, HELIO_OK);
    fill("other", "late", 2, runs);
    (void)waiting("acme", "standard", 1, HOUR);
    harness_tick(h);
    harness_wait(h, 30 * MINUTE);
    assert_int_equal(harness_figures(h).preemptions_total[HELIO_PREEMPT_CAUSE_TIER], 0);
    assert_int_equal(harness_queue(h, "late", 50, HELIO_TIER_BEST_EFFORT)->rc, HELIO_OK);
    harness_tick(h);
    assert_int_equal(preemptions(HELIO_PREEMPT_CAUSE_TIER), 1);
}

/*  Two jobs of a lower tier start one after another on what is too little for the class. Together they are enough. */
static void blocked__a_class_preempts_jobs_of_a_lower_tier_that_start_while_it_waits(void **state)
{
    (void)state;
    helio_job_key_t runs[4], low[2];
    fill("other", "standard", 4, runs);
    helio_job_key_t key = waiting("acme", "standard", 2, 2 * HOUR);
    harness_tick(h);
    for (uint32_t i = 0; i < 2; i++) {
        low[i] = of("other", "batch", 1, 1);
        harness_tick(h);
        ends(runs[i]);
        harness_run_up_to(h, NORTH, low[i], 1, HELIO_JOB_RUNNING);
    }
    harness_wait(h, 3000);
    assert_state(low[0], HELIO_JOB_STOPPING);
    assert_state(low[1], HELIO_JOB_STOPPING);
    stopped(low[0], 1);
    stopped(low[1], 1);
    harness_tick(h);
    assert_state(key, HELIO_JOB_OFFERED);
}

/* ---- sites ------------------------------------------------------------------------------------------------- */

static void blocked__a_site_that_drains_is_the_reason(void **state)
{
    (void)state;
    helio_job_key_t runs[1];
    fill("other", "batch", 1, runs);
    (void)waiting("acme", "batch", 1, HOUR);
    harness_tick(h);
    (void)last_reason();
    assert_int_equal(harness_site_command(h, HELIO_BROKER_EV_DRAIN, HELIO_ROLE_OPERATOR, "north")->rc, HELIO_OK);
    harness_tick(h);
    assert_non_null(strstr(last_reason(), "RejectedFirstAt"));
    assert_int_equal(harness_site_command(h, HELIO_BROKER_EV_UNDRAIN, HELIO_ROLE_OPERATOR, "north")->rc, HELIO_OK);
    harness_tick(h);
    assert_string_equal(last_reason(), "WaitingForCapacity: PoolsFull pools=1");
}

static void blocked__an_overflow_group_becomes_the_reason(void **state)
{
    (void)state;
    helio_job_key_t runs[1];
    fill("other", "batch", 1, runs);
    (void)waiting("acme", "batch", 1, HOUR);
    harness_tick(h);
    (void)last_reason();
    assert_int_equal(harness_overflow(h, "far", "batch", "", "south*")->rc, HELIO_OK);
    harness_tick(h);
    assert_non_null(strstr(last_reason(), "RejectedFirstAt"));
}

static void blocked__a_site_that_joins_has_room(void **state)
{
    (void)state;
    helio_job_key_t runs[1];
    fill("other", "batch", 1, runs);
    helio_job_key_t key = waiting("acme", "batch", 1, HOUR);
    harness_tick(h);
    helio_site_profile_t *south = harness_site(h, "south");
    harness_pool(h, south, "b", "H100", 1, 2, 1);
    harness_join(h, SOUTH, south);
    harness_tick(h);
    assert_state(key, HELIO_JOB_OFFERED);
}

/*  The pools that the class was judged at are gone with the profile. */
static void blocked__another_profile_has_other_pools(void **state)
{
    (void)state;
    helio_job_key_t runs[1];
    fill("other", "batch", 1, runs);
    helio_job_key_t key = waiting("acme", "batch", 1, HOUR);
    harness_tick(h);
    harness_gone(h, NORTH);
    helio_site_profile_t *other = harness_site(h, "north");
    harness_pool(h, other, "a", "H100", 2, 4, 1);
    harness_pool(h, other, "b", "H100", 1, 4, 1);
    harness_hello(h, NORTH, other);
    helio_holding_t holding = {runs[0], 1, HELIO_JOB_RUNNING, 1};
    harness_inventory(h, NORTH, &holding, 1);
    harness_summary(h, NORTH, other, 1000, 0);
    harness_tick(h);
    assert_state(key, HELIO_JOB_OFFERED);
}

static void blocked__a_new_leader_starts_them_in_the_same_order(void **state)
{
    (void)state;
    helio_job_key_t runs[2], first, second;
    fill("other", "batch", 2, runs);
    first = waiting("acme", "batch", 1, HOUR);
    second = waiting("acme", "batch", 1, HOUR + 1);
    harness_tick(h);
    harness_t *next = harness_rebuild(h);
    harness_end(&h);
    h = next;
    harness_hello(h, NORTH, north);
    helio_holding_t holdings[] = {{runs[0], 1, HELIO_JOB_RUNNING, 1}, {runs[1], 1, HELIO_JOB_RUNNING, 2}};
    harness_inventory(h, NORTH, holdings, 2);
    harness_summary(h, NORTH, north, 1000, 1);
    harness_wait(h, MINUTE);
    assert_state(first, HELIO_JOB_QUEUED);
    ends(runs[0]);
    assert_state(first, HELIO_JOB_OFFERED);
    assert_state(second, HELIO_JOB_QUEUED);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        CASE(blocked__the_oldest_starts_when_there_is_room),
        CASE(blocked__a_class_whose_first_job_goes_stands_behind_older_ones),
        CASE(blocked__an_empty_class_is_passed_over_and_comes_back_with_its_next_job),
        CASE(blocked__the_edited_priority_counts_in_a_line),
        CASE(blocked__small_jobs_pass_a_larger_one_that_has_no_room),
        CASE(blocked__a_pool_that_refuses_gives_its_room_later),
        CASE(blocked__room_that_is_reserved_is_not_passed_over),
        CASE(blocked__a_lowered_quota_becomes_the_reason),
        CASE(blocked__a_quota_that_is_used_up_becomes_the_reason_at_once),
        CASE(blocked__a_budget_becomes_the_reason),
        CASE(blocked__a_guarantee_reclaims_capacity),
        CASE(blocked__a_class_preempts_when_a_queue_falls_to_a_lower_tier),
        CASE(blocked__a_class_preempts_jobs_of_a_lower_tier_that_start_while_it_waits),
        CASE(blocked__a_gang_reserves_when_it_is_its_turn),
        CASE(blocked__a_class_of_a_queue_with_regional_priority_starts),
        CASE(blocked__a_queue_that_gets_a_regional_priority_starts),
        CASE(blocked__a_deadline_that_cannot_be_met_becomes_the_reason),
        CASE(blocked__a_cap_that_is_exceeded_later_becomes_the_reason),
        CASE(blocked__a_class_starts_elsewhere_when_a_cap_is_met_there),
        CASE(blocked__a_site_window_that_begins_is_the_reason),
        CASE(blocked__a_site_that_drains_is_the_reason),
        CASE(blocked__an_overflow_group_becomes_the_reason),
        CASE(blocked__a_site_that_joins_has_room),
        CASE(blocked__another_profile_has_other_pools),
        CASE(blocked__a_new_leader_starts_them_in_the_same_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
