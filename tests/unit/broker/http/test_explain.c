/*  test_explain.c -- explanations from the core through the database to the response: tests/golden/explain/NAME.json.
 *  NAME.txt beside it is what `helio explain` prints of each (tests/unit/client/program/test_explain.c).
 *  HELIO_GOLDEN_WRITE=1 writes instead of comparing; the texts come from the JSON files, so write those first. */
#include "tests/unit/broker/http/federation_testing.h"

#include <jansson.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/http/routes/start_estimate.h"
#include "broker/store/reader.h"
#include "federation/base/clock.h"
#include "tests/support/golden.h"
#include "tests/support/pg_fixture.h"

static helio_pg_t *pg;

typedef struct asked {
    sem_t answered;
    json_t *json;
} asked_t;

static void on_read(helio_read_t *read, helio_rc rc, helio_text_t json, const helio_error_t *err)
{
    asked_t *asked = read->arg;
    (void)err;
    asked->json = rc == HELIO_OK ? json_loadb(json.data, json.size, 0, NULL) : NULL;
    (void)sem_post(&asked->answered);
}

static json_t *read_explain(const char *conninfo, helio_job_key_t key)
{
    char id[HELIO_KEY_SIZE];
    helio_job_key_text(key, id);
    asked_t asked = {.json = NULL};
    helio_read_t read = {
        .query = "read_explain", .params = {id, "acme"}, .param_count = 2, .done = on_read, .arg = &asked};
    helio_reader_t *reader = helio_reader_new(conninfo, 1);
    (void)sem_init(&asked.answered, 0, 0);
    assert_int_equal(helio_reader_post(reader, &read), HELIO_OK);
    while (sem_wait(&asked.answered) != 0)
        ;
    helio_reader_destroy(&reader);
    (void)sem_destroy(&asked.answered);
    assert_non_null(asked.json);
    return asked.json;
}

static const helio_fx_reply_t *estimate(const char *tenant, helio_job_key_t key)
{
    while (harness_take(h, HELIO_BROKER_FX_REPLY))
        ;
    helio_ev_command_t event = {.call = 9,
                                .tenant = helio_text_of(tenant),
                                .actor = HELIO_TEXT("user:acme/ada"),
                                .role = HELIO_ROLE_USER,
                                .key = key};
    harness_step(h, HELIO_BROKER_EV_EXPLAIN, &event);
    const helio_fx_reply_t *answer = harness_take(h, HELIO_BROKER_FX_REPLY);
    assert_non_null(answer);
    return answer;
}

static void golden(const char *name, helio_job_key_t key)
{
    const char *conninfo = helio_pg_database(pg);
    commit(conninfo);
    helio_pg_exec(conninfo, "update helio.sites set seen_at = now()"); /* the core's clock is not the database's */
    json_t *json = read_explain(conninfo, key);
    const char *id = json_string_value(json_object_get(json, "id")); /* of an array: of the task that stands for it */
    assert_int_equal(helio_job_key_parse(helio_text_of(id), &key), HELIO_OK);
    const helio_fx_reply_t *answer = estimate("acme", key);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t written = {0};
    helio_json_writer_t writer = helio_json_into(&written);
    helio_json_begin_object(&writer, NULL);
    helio_start_estimate_put(&writer, answer->rc == HELIO_OK ? &answer->start_estimate : NULL);
    helio_json_end(&writer);
    json_t *start_estimate = json_loadb(written.data, written.size, 0, NULL);
    assert_int_equal(json_object_update_new(json, start_estimate), 0);
    char *text = json_dumps(json, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    char path[256];
    (void)snprintf(path, sizeof path, "tests/golden/explain/%s.json", name);
    golden_check(path, helio_text_of(text));
    free(text);
    json_decref(json);
}

/* ---- the jobs ------------------------------------------------------------------------------------------ */

static void explain__of_a_job_that_waits_for_capacity(void **state)
{
    (void)state;
    fill();
    helio_job_spec_t spec = spec_of("before", 1);
    spec.queue = HELIO_TEXT("express");
    (void)job_of("other", &spec);
    spec = spec_of("before-too", 1);
    (void)job_of("acme", &spec);
    spec = spec_of("waits", 2);
    golden("queued", job_of("acme", &spec));
}

/*  Two of its five tasks run, one has ended; the first that waits stands for them all. */
static void explain__of_an_array_names_its_task_and_the_states_of_the_others(void **state)
{
    (void)state;
    helio_job_spec_t spec = spec_of("sweep", 2);
    uint32_t tasks[] = {0, 1, 2, 3, 4};
    spec.tasks = (helio_u32s_t){tasks, 5};
    helio_job_key_t array = job_of("acme", &spec);
    harness_run_up_to(h, NORTH, harness_task(array, 0), 1, HELIO_JOB_RUNNING);
    harness_run_up_to(h, SOUTH, harness_task(array, 1), 1, HELIO_JOB_RUNNING);
    harness_say(h, NORTH, harness_task(array, 0), 1, HELIO_REPORT_KIND_ENDED);
    harness_tick(h);
    golden("array", array);
}

/*  Only two tasks run at once: the third waits for one of them, and not for capacity, of which there is enough. */
static void explain__of_a_task_that_the_limit_of_its_array_keeps_out(void **state)
{
    (void)state;
    helio_job_spec_t spec = spec_of("throttled", 1);
    uint32_t tasks[] = {0, 1, 2, 3};
    spec.tasks = (helio_u32s_t){tasks, 4};
    spec.tasks_at_once = 2;
    helio_job_key_t array = job_of("acme", &spec);
    for (uint32_t i = 0; i < 2; i++) {
        uint64_t peer = helio_text_is(harness_row(h, harness_task(array, i))->site, "north") ? NORTH : SOUTH;
        harness_run_up_to(h, peer, harness_task(array, i), 1, HELIO_JOB_RUNNING);
    }
    golden("throttled", array);
}

static void explain__of_a_gang_that_has_a_reservation(void **state)
{
    (void)state;
    fill();
    helio_job_spec_t spec = spec_of("gang", 2);
    (void)harness_quota(h, "acme", "express", HARNESS_AS_IS, 16, HARNESS_AS_IS); /* or that queue would not help */
    golden("reserved", job_of("acme", &spec));
}

static void explain__of_a_job_that_waits_for_a_better_hour(void **state)
{
    (void)state;
    tell_carbon(NORTH, (double[]){500, 500, 500, 20, 20, 500}, 6);
    helio_job_spec_t spec = spec_of("patient", 1);
    spec.goal = HELIO_GOAL_GREEN;
    spec.flexible_ms = 6 * HOUR;
    golden("window", job_of("acme", &spec));
}

static void explain__of_a_job_that_was_edited(void **state)
{
    (void)state;
    fill();
    helio_job_spec_t spec = spec_of("before", 1);
    (void)job_of("acme", &spec);
    spec = spec_of("edited", 1);
    helio_job_key_t key = job_of("acme", &spec);
    helio_ev_edit_t edit = {.goal_given = true, .goal = HELIO_GOAL_GREEN, .priority_given = true, .priority = 5};
    assert_int_equal(harness_edit(h, "acme", HELIO_ROLE_USER, key, edit)->rc, HELIO_OK);
    harness_tick(h);
    golden("edited", key);
}

static void explain__of_a_job_that_depends_on_another(void **state)
{
    (void)state;
    helio_job_spec_t spec = spec_of("first", 1);
    helio_job_key_t first = job_of("acme", &spec);
    harness_run_up_to(h, NORTH, first, 1, HELIO_JOB_RUNNING);
    harness_wait(h, 60000);
    spec = spec_of("second", 1);
    spec.not_before_wall_ms = harness_wall_ms(h) + HOUR / 2;
    helio_job_key_t second = harness_job_after(h, &spec, HELIO_AFTER_OK, first);
    harness_tick(h);
    golden("gated", second);
}

static void explain__of_a_job_that_was_placed(void **state)
{
    (void)state;
    helio_job_spec_t spec = spec_of("placed", 1);
    helio_job_key_t key = job_of("acme", &spec);
    harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_RUNNING);
    golden("placed", key);
}

/*  The cheapest site is full: that is why, and not that it was as good as any. */
static void explain__of_a_job_that_was_placed_past_a_cheaper_site(void **state)
{
    (void)state;
    helio_job_spec_t spec = spec_of("filler", 2);
    helio_job_key_t filler = job_of("other", &spec);
    harness_run_up_to(h, NORTH, filler, 1, HELIO_JOB_RUNNING);
    spec = spec_of("past-it", 1);
    golden("placed-past-a-full-site", job_of("acme", &spec));
}

/*  Of equal jobs that were placed in one round, and share its decision: the one at `index`; 0 is at the first
 *  choice. */
static helio_job_key_t one_of_three(uint32_t index)
{
    helio_job_key_t keys[3];
    for (int i = 0; i < 3; i++) {
        helio_job_spec_t spec = spec_of("flood", 2);
        const helio_fx_reply_t *answer = harness_submit(h, "acme", &spec);
        assert_int_equal(answer->rc, HELIO_OK);
        keys[i] = (helio_job_key_t){answer->jobs.items[0].job, HELIO_NO_TASK};
    }
    harness_tick(h);
    return keys[index];
}

static void explain__of_a_job_that_skipped_a_site_which_equal_jobs_filled(void **state)
{
    (void)state;
    helio_job_key_t key = one_of_three(1);
    assert_true(helio_text_is(harness_row(h, key)->site, "south"));
    golden("second-of-a-flood", key);
}

static void explain__of_a_job_for_which_equal_jobs_left_no_capacity(void **state)
{
    (void)state;
    golden("left-by-a-flood", one_of_three(2));
}

static void explain__of_a_job_whose_site_was_lost(void **state)
{
    (void)state;
    helio_job_spec_t spec = spec_of("moved", 1);
    helio_job_key_t key = job_of("acme", &spec);
    harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_RUNNING);
    harness_gone(h, NORTH);
    for (int i = 0; i < 3; i++) {
        harness_advance(h, 30000);
        harness_summary(h, SOUTH, sites[1], 0, 0);
        harness_summary(h, WEST, sites[2], 0, 0);
        harness_tick(h);
    }
    assert_int_equal(harness_state(h, key), HELIO_JOB_SUSPECT);
    assert_int_equal(harness_site_command(h, HELIO_BROKER_EV_ATTEST, HELIO_ROLE_OPERATOR, "north")->rc, HELIO_OK);
    harness_tick(h);
    harness_run_up_to(h, SOUTH, key, 2, HELIO_JOB_RUNNING);
    golden("moved", key);
}

static void explain__of_a_job_that_no_site_can_run_any_more(void **state)
{
    (void)state;
    fill();
    helio_job_spec_t spec = spec_of("too-large-now", 2);
    helio_job_key_t key = job_of("acme", &spec);
    for (int i = 0; i < 2; i++) {
        helio_site_profile_t *smaller = harness_site(h, i ? "south" : "north");
        harness_pool(h, smaller, "a", "H100", 1, 8, 1.5)->base_w = 700;
        harness_hello(h, (uint64_t)(NORTH + i), smaller);
    }
    harness_tick(h);
    golden("infeasible", key);
}

static void explain__of_a_job_whose_limits_no_hour_meets(void **state)
{
    (void)state;
    helio_job_spec_t spec = spec_of("thrifty", 1);
    spec.max_cost_micro_usd = 10000000;
    golden("capped", job_of("acme", &spec));
}

static void explain__of_a_job_that_is_held(void **state)
{
    (void)state;
    helio_job_spec_t spec = spec_of("held", 1);
    helio_job_key_t key = job_of("acme", &spec);
    for (uint32_t epoch = 1; epoch < 9 && harness_state(h, key) != HELIO_JOB_HELD; epoch++) {
        uint64_t peer = helio_text_is(harness_row(h, key)->site, "north") ? NORTH : SOUTH;
        helio_report_t report = harness_report_of(h, key, epoch, HELIO_REPORT_KIND_LOST);
        report.run_ms = report.gpu_ms = 0;
        report.started_wall_ms = 0; /* it never started */
        report.reason = HELIO_TEXT("NodeFailure: it did not start");
        harness_report(h, peer, &report);
        harness_tick(h);
    }
    assert_int_equal(harness_state(h, key), HELIO_JOB_HELD);
    golden("held", key);
}

/*  At north, which is the cheapest; it has run for a while. */
static helio_job_key_t movable(const char *name)
{
    helio_job_spec_t spec = spec_of(name, 1);
    spec.goal = HELIO_GOAL_GREEN;
    spec.time_limit_ms = 10 * (uint64_t)HOUR;
    spec.checkpoint_signal = HELIO_TEXT("USR1");
    spec.on_better_site = HELIO_BETTER_SITE_CHECKPOINT;
    helio_job_key_t key = job_of("acme", &spec);
    harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_RUNNING);
    for (int i = 0; i < 4; i++) {
        harness_advance(h, 8000);
        for (uint64_t k = 0; k < 3; k++)
            harness_renew(h, NORTH + k);
    }
    return key;
}

static void explain__of_a_running_job_that_would_hardly_do_better_elsewhere(void **state)
{
    (void)state;
    helio_job_key_t key = movable("stays");
    tell_carbon(NORTH, (double[]){900}, 1);
    tell_carbon(SOUTH, (double[]){100}, 1);
    harness_tick(h);
    golden("stays", key);
}

static void explain__of_a_running_job_that_migrated_to_a_better_site(void **state)
{
    (void)state;
    helio_job_key_t key = movable("sunny");
    tell_carbon(NORTH, (double[]){3000}, 1);
    tell_carbon(SOUTH, (double[]){40}, 1);
    harness_tick(h);
    assert_int_equal(harness_state(h, key), HELIO_JOB_STOPPING);
    harness_wait(h, 5000);
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_STOPPED);
    harness_tick(h);
    harness_run_up_to(h, SOUTH, key, 2, HELIO_JOB_RUNNING);
    golden("better-site", key);
}

static void explain__shows_nothing_of_other_tenants_jobs(void **state)
{
    (void)state;
    fill();
    helio_job_spec_t spec = spec_of("of-other", 1);
    spec.queue = HELIO_TEXT("express");
    helio_job_key_t key = job_of("other", &spec);
    assert_int_equal(estimate("acme", key)->rc, HELIO_NOT_FOUND);
    assert_int_equal(estimate("other", key)->rc, HELIO_OK);
    spec = spec_of("mine", 1);
    const helio_start_estimate_t *p = &estimate("acme", job_of("acme", &spec))->start_estimate;
    assert_int_equal(p->ahead_jobs, 1);
    assert_int_equal(p->ahead.count, 1);
    assert_int_equal(p->ahead.items[0].tenant.size, 0);
    assert_int_equal(p->ahead.items[0].gpus, 8);
}

/*  Asking is free: the next round does what it would have done. */
static void explain__changes_nothing(void **state)
{
    (void)state;
    fill();
    helio_job_spec_t spec = spec_of("gang", 2);
    helio_job_key_t key = job_of("acme", &spec);
    helio_broker_figures_t before = harness_figures(h);
    uint32_t decisions = harness_count(h, HELIO_BROKER_FX_ROW_DECISION),
             classes = harness_count(h, HELIO_BROKER_FX_ROW_CLASS);
    for (int i = 0; i < 5; i++)
        assert_int_equal(estimate("acme", key)->rc, HELIO_OK);
    harness_wait(h, 1000);
    helio_broker_figures_t after = harness_figures(h);
    assert_memory_equal(&before, &after, sizeof before);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_DECISION), decisions);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_CLASS), classes);
}

static int up(void **state)
{
    (void)state;
    pg = helio_pg_up();
    return 0;
}

static int down(void **state)
{
    (void)state;
    helio_pg_down(&pg);
    return 0;
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        T(explain__of_a_job_that_waits_for_capacity),
        T(explain__of_an_array_names_its_task_and_the_states_of_the_others),
        T(explain__of_a_task_that_the_limit_of_its_array_keeps_out),
        T(explain__of_a_gang_that_has_a_reservation),
        T(explain__of_a_job_that_waits_for_a_better_hour),
        T(explain__of_a_job_that_was_edited),
        T(explain__of_a_job_that_depends_on_another),
        T(explain__of_a_job_that_was_placed),
        T(explain__of_a_job_that_was_placed_past_a_cheaper_site),
        T(explain__of_a_job_that_skipped_a_site_which_equal_jobs_filled),
        T(explain__of_a_job_for_which_equal_jobs_left_no_capacity),
        T(explain__of_a_job_whose_site_was_lost),
        T(explain__of_a_job_that_no_site_can_run_any_more),
        T(explain__of_a_job_whose_limits_no_hour_meets),
        T(explain__of_a_job_that_is_held),
        T(explain__of_a_running_job_that_would_hardly_do_better_elsewhere),
        T(explain__of_a_running_job_that_migrated_to_a_better_site),
        T(explain__shows_nothing_of_other_tenants_jobs),
        T(explain__changes_nothing),
    };
    return cmocka_run_group_tests(tests, up, down);
}
