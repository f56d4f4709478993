/*  test_not_before.c -- begin times, and dependencies that are refused. */
#include "broker/core/holds/recent_ends.h"
#include "tests/unit/broker/core/dependencies_testing.h"

/* ---- times --------------------------------------------------------------------------------------------- */

static void not_before__a_job_starts_at_its_time_to_the_millisecond(void **state)
{
    (void)state;
    helio_job_spec_t later[3];
    helio_job_key_t keys[3];
    static const int64_t after_ms[] = {7300, 1700, 4100};
    for (int i = 0; i < 3; i++) {
        later[i] = spec;
        later[i].not_before_wall_ms = harness_wall_ms(h) + after_ms[i];
        keys[i] = harness_job(h, &later[i]);
    }
    char text[64], time[HELIO_RFC3339_SIZE];
    helio_rfc3339(later[0].not_before_wall_ms + 999, time);
    (void)snprintf(text, sizeof text, "BeginTime at=%.19sZ", time);
    assert_string_equal(harness_facts(h, harness_dependency_hold(h, keys[0])->details), text);
    static const int order[] = {1, 2, 0};
    for (int i = 0; i < 3; i++) {
        int at = order[i];
        wait_ms(later[at].not_before_wall_ms - harness_wall_ms(h) - 1);
        assert_int_equal(harness_state(h, keys[at]), HELIO_JOB_QUEUED);
        wait_ms(1);
        assert_int_equal(harness_state(h, keys[at]), HELIO_JOB_OFFERED);
        assert_true(harness_dependency_hold(h, keys[at])->opened_ms == later[at].not_before_wall_ms);
    }
}

static void not_before__a_past_time_holds_nothing(void **state)
{
    (void)state;
    spec.not_before_wall_ms = harness_wall_ms(h);
    helio_job_key_t key = harness_job(h, &spec);
    assert_placed(key);
    assert_true(harness_dependency_hold(h, key)->opened_ms == harness_wall_ms(h));
}

/*  It was never placed, so only its row says so. */
static void not_before__a_time_that_has_come_stays_come_when_the_next_clock_is_behind(void **state)
{
    (void)state;
    (void)harness_site_command(h, HELIO_BROKER_EV_DRAIN, HELIO_ROLE_OPERATOR, "north");
    spec.not_before_wall_ms = harness_wall_ms(h);
    helio_job_key_t past = harness_job(h, &spec);
    spec.not_before_wall_ms += 60000;
    helio_job_key_t come = harness_job(h, &spec);
    spec.not_before_wall_ms += 60000;
    helio_job_key_t later = harness_job(h, &spec);
    wait_ms(60000);
    harness_set_wall(h, -90000);
    rebuild();
    (void)harness_site_command(h, HELIO_BROKER_EV_UNDRAIN, HELIO_ROLE_OPERATOR, "north");
    assert_placed(past);
    assert_placed(come);
    assert_waits(later);
}

static void not_before__a_cancelled_job_leaves_the_times_of_others(void **state)
{
    (void)state;
    helio_job_key_t keys[100];
    int64_t first_ms = harness_wall_ms(h);
    for (int i = 0; i < 100; i++) {
        spec.not_before_wall_ms = first_ms + 100 + (i * 37) % 100 * 100;
        keys[i] = harness_job(h, &spec);
    }
    for (int i = 0; i < 100; i += 3)
        cancel(keys[i]);
    for (int step = 0; step < 100; step++) {
        wait_ms(first_ms + 100 + step * 100 - harness_wall_ms(h));
        for (int i = 0; i < 100; i++)
            if (i % 3)
                assert_int_equal(harness_state(h, keys[i]),
                                 (i * 37) % 100 <= step ? HELIO_JOB_OFFERED : HELIO_JOB_QUEUED);
    }
}

static void not_before__both_the_time_and_the_dependency_must_be_satisfied(void **state)
{
    (void)state;
    helio_job_key_t on = harness_job(h, &spec);
    helio_job_spec_t later = spec;
    later.not_before_wall_ms = harness_wall_ms(h) + 60000;
    helio_job_key_t first = harness_job_after(h, &later, HELIO_AFTER_ANY, on), other = harness_job(h, &spec),
                    second = harness_job_after(h, &later, HELIO_AFTER_ANY, other);
    assert_non_null(
        strstr(harness_facts(h, harness_dependency_hold(h, first)->details), " event=end; BeginTime at=2026-"));
    cancel(on);
    assert_waits(first);
    assert_null(helio_details_find(&harness_dependency_hold(h, first)->details, HELIO_DETAIL_DEPENDENCY));
    wait_ms(60000);
    assert_int_equal(harness_state(h, first), HELIO_JOB_OFFERED);
    assert_waits(second);
    assert_detail(second, other, "end");
    cancel(other);
    assert_placed(second);
}

static void not_before__a_new_leader_keeps_holds_and_ends_those_that_are_due(void **state)
{
    (void)state;
    spec.not_before_wall_ms = harness_wall_ms(h) + 60000;
    helio_job_key_t early = harness_job(h, &spec);
    spec.not_before_wall_ms += 60000;
    helio_job_key_t late = harness_job(h, &spec);
    rebuild();
    assert_waits(early);
    harness_advance(h, 60000); /* no broker leads */
    rebuild();
    assert_true(harness_dependency_hold(h, early)->opened_ms != 0);
    assert_placed(early);
    assert_waits(late);
    harness_set_wall(h, -90000); /* this one's clock shows less; what was placed has begun */
    rebuild();
    assert_int_equal(harness_state(h, early), HELIO_JOB_OFFERED);
    wait_ms(130000);
    assert_waits(late);
    wait_ms(10000);
    assert_int_equal(harness_state(h, late), HELIO_JOB_OFFERED);
}

/* ---- what cannot be waited for ------------------------------------------------------------------------- */

static void refused__each_mistake_names_its_entry(void **state)
{
    (void)state;
    helio_job_key_t mine = harness_job(h, &spec);
    const helio_fx_reply_t *reply = harness_submit(h, "other", &spec);
    helio_job_key_t foreign = {reply->jobs.items[0].job, HELIO_NO_TASK};
    static const struct {
        uint32_t found;
        helio_detail_code_t code;
    } table[] = {{HELIO_FOUND_UNKNOWN, HELIO_DETAIL_DEPENDS_UNKNOWN},
                 {HELIO_FOUND_AMBIGUOUS, HELIO_DETAIL_DEPENDS_AMBIGUOUS},
                 {HELIO_FOUND_OPEN, HELIO_DETAIL_DEPENDS_UNKNOWN}}; /* of another tenant: the same */
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        harness_after_t after[] = {{HELIO_AFTER_OK, mine}, {HELIO_AFTER_ANY, mine}, {HELIO_AFTER_ANY, foreign}};
        helio_submission_t job = harness_dependent(h, &spec, after, 3);
        job.depends.items[2].found = table[i].found;
        if (table[i].found != HELIO_FOUND_OPEN)
            job.depends.items[2].on = (helio_job_key_t){0};
        harness_clear(h);
        reply = harness_submit_all(h, "acme", &job, 1);
        assert_int_equal(reply->rc, HELIO_INVALID);
        assert_non_null(helio_details_find(&reply->details, table[i].code));
        assert_true(harness_says(h, &reply->details, "\"path\":\"depends.after_any[1]\""));
        assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_JOB), 0);
        assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_DEPENDENCY), 0);
    }
}

/* ---- what ended since it was looked up ----------------------------------------------------------------- */

static helio_job_key_t submitted(helio_submission_t *job)
{
    const helio_fx_reply_t *reply = harness_submit_all(h, "acme", job, 1);
    assert_int_equal(reply->rc, HELIO_OK);
    return (helio_job_key_t){reply->jobs.items[0].job, HELIO_NO_TASK};
}

static void assert_looked_up_again(helio_submission_t *job)
{
    harness_clear(h);
    const helio_fx_reply_t *reply = harness_submit_all(h, "acme", job, 1);
    assert_int_equal(reply->rc, HELIO_BUSY);
    assert_true(helio_text_is(reply->reason, "Gated"));
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_JOB), 0);
}

static void ended_since__a_job_is_judged_by_its_end(void **state)
{
    (void)state;
    static const struct {
        uint32_t after;
        outcome_t outcome;
        const char *unsatisfiable; /* NULL = it starts */
    } table[] = {
        {HELIO_AFTER_OK, SUCCEEDS, NULL},
        {HELIO_AFTER_OK, FAILS, "did not succeed"},
        {HELIO_AFTER_OK, IS_CANCELLED, "did not succeed"},
        {HELIO_AFTER_ANY, SUCCEEDS, NULL},
        {HELIO_AFTER_ANY, FAILS, NULL},
        {HELIO_AFTER_NOT_OK, FAILS, NULL},
        {HELIO_AFTER_NOT_OK, SUCCEEDS, "succeeded"},
        {HELIO_AFTER_START, IS_CANCELLED, NULL},
        {HELIO_AFTER_START, SUCCEEDS, NULL},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        for (int whole = 0; whole < 2; whole++) {
            helio_job_key_t on = whole ? array_of(2) : harness_job(h, &spec);
            helio_submission_t job =
                harness_dependent(h, &spec, &(harness_after_t){(helio_after_t)table[i].after, on}, 1);
            if (whole)
                finish(harness_task(on, 1), SUCCEEDS);
            finish(whole ? harness_task(on, 0) : on, table[i].outcome);
            helio_job_key_t key = submitted(&job);
            if (table[i].unsatisfiable) {
                assert_unsatisfiable(key, on, table[i].unsatisfiable);
            } else {
                assert_placed(key);
                cancel(key);
            }
        }
}

static void ended_since__under_another_leader_it_must_be_looked_up_again(void **state)
{
    (void)state;
    helio_job_key_t on = harness_job(h, &spec);
    cancel(on);
    rebuild();
    helio_submission_t job = harness_dependent(h, &spec, &(harness_after_t){HELIO_AFTER_OK, on}, 1);
    job.depends.items[0].found = HELIO_FOUND_OPEN;
    assert_looked_up_again(&job);
    assert_unsatisfiable(harness_job_after(h, &spec, HELIO_AFTER_OK, on), on, "did not succeed");
}

/*  A command on a large array acts batch by batch. */
static void cancel_array(helio_job_key_t array)
{
    const helio_ev_command_t event = {.call = 1,
                                      .tenant = HELIO_TEXT("acme"),
                                      .actor = HELIO_TEXT("user:acme/ada"),
                                      .role = HELIO_ROLE_USER,
                                      .key = array};
    harness_step(h, HELIO_BROKER_EV_CANCEL, &event);
    for (int i = 0; i < MANY && !harness_count(h, HELIO_BROKER_FX_REPLY); i++) {
        const helio_ev_sealed_t sealed = {harness_figures(h).open_batch};
        harness_step(h, HELIO_BROKER_EV_SEALED, &sealed);
    }
    assert_int_equal(((const helio_fx_reply_t *)harness_take(h, HELIO_BROKER_FX_REPLY))->rc, HELIO_OK);
}

/*  Only the newest ends are remembered. */
static void ended_since__before_very_many_others_it_must_be_looked_up_again(void **state)
{
    (void)state;
    static uint32_t tasks[MANY];
    helio_job_spec_t array = spec;
    for (uint32_t i = 0; i < MANY; i++)
        tasks[i] = i;
    array.tasks = (helio_u32s_t){tasks, MANY};
    helio_job_key_t on = harness_job(h, &spec);
    helio_submission_t job = harness_dependent(h, &spec, &(harness_after_t){HELIO_AFTER_ANY, on}, 1);
    cancel(on);
    for (int ends = 1; ends <= CORE_RECENT_ENDS_MAX; ends += MANY + 1) { /* each array ends too */
        (void)submitted(&job);
        cancel_array(harness_job(h, &array));
    }
    assert_looked_up_again(&job);
}

static void refused__a_known_key_needs_no_dependencies(void **state)
{
    (void)state;
    helio_job_key_t on = harness_job(h, &spec);
    helio_submission_t job = harness_dependent(h, &spec, &(harness_after_t){HELIO_AFTER_OK, on}, 1);
    job.idempotency_key = HELIO_TEXT("k1");
    helio_uuid_t first = harness_submit_all(h, "acme", &job, 1)->jobs.items[0].job;
    job.depends.items[0].found = HELIO_FOUND_UNKNOWN;
    const helio_fx_reply_t *again = harness_submit_all(h, "acme", &job, 1);
    assert_int_equal(again->rc, HELIO_OK);
    assert_true(helio_uuid_equal(again->jobs.items[0].job, first));
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(not_before__a_job_starts_at_its_time_to_the_millisecond),
        CASE(not_before__a_past_time_holds_nothing),
        CASE(not_before__a_time_that_has_come_stays_come_when_the_next_clock_is_behind),
        CASE(not_before__a_cancelled_job_leaves_the_times_of_others),
        CASE(not_before__both_the_time_and_the_dependency_must_be_satisfied),
        CASE(not_before__a_new_leader_keeps_holds_and_ends_those_that_are_due),
        CASE(refused__each_mistake_names_its_entry),
        CASE(ended_since__a_job_is_judged_by_its_end),
        CASE(ended_since__under_another_leader_it_must_be_looked_up_again),
        CASE(ended_since__before_very_many_others_it_must_be_looked_up_again),
        CASE(refused__a_known_key_needs_no_dependencies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
