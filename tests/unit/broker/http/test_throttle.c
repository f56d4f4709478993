/*  test_throttle.c -- tasks that the limit of their array keeps out: what the database shows of them is what the core
 *  does with them, in random lives of arrays, and after a takeover. */
#include "tests/unit/broker/http/federation_testing.h"

#include <stdio.h>
#include <stdlib.h>

#include "federation/base/rng.h"
#include "tests/support/pg_fixture.h"

enum { TASKS = 9, LIVES = 12, STEPS = 40 };

static helio_pg_t *pg;
static helio_rng_t rng;
static helio_job_key_t array;
static uint32_t tasks[TASKS];

static helio_job_key_t submit(uint32_t at_once)
{
    helio_job_spec_t spec = spec_of("sweep", 1);
    for (uint32_t i = 0; i < TASKS; i++)
        tasks[i] = 3 * i + 1; /* no task has the number of its place */
    spec.gpus.items[0].count = 1;
    spec.tasks = (helio_u32s_t){tasks, TASKS};
    spec.tasks_at_once = at_once;
    return job_of("acme", &spec);
}

static uint64_t peer_of(const helio_row_state_t *row)
{
    return helio_text_is(row->site, "north") ? NORTH : helio_text_is(row->site, "south") ? SOUTH : WEST;
}

/*  One task goes on by a step of its life, or comes back, or is cancelled. */
static void happen(uint32_t task)
{
    helio_job_key_t key = harness_task(array, task);
    const helio_row_state_t *row = harness_row(h, key);
    uint32_t state = harness_state(h, key), what = (uint32_t)helio_rng_below(&rng, 10);
    if (!harness_is_open(h, key) || (state != HELIO_JOB_OFFERED && state != HELIO_JOB_RUNNING && what > 0))
        return;
    if (what == 0)
        (void)harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, key);
    else if (state == HELIO_JOB_OFFERED)
        harness_run_up_to(h, peer_of(row), key, row->epoch, HELIO_JOB_RUNNING);
    else
        harness_say(h, peer_of(row), key, row->epoch, what < 4 ? HELIO_REPORT_KIND_LOST : HELIO_REPORT_KIND_ENDED);
    harness_tick(h);
}

/*  By the core: it says what would let the task start. */
static bool is_kept_out(helio_job_key_t key)
{
    while (harness_take(h, HELIO_BROKER_FX_REPLY))
        ;
    helio_ev_command_t event = {.call = 9,
                                .tenant = HELIO_TEXT("acme"),
                                .actor = HELIO_TEXT("user:acme/ada"),
                                .role = HELIO_ROLE_USER,
                                .key = key};
    harness_step(h, HELIO_BROKER_EV_EXPLAIN, &event);
    const helio_fx_reply_t *reply = harness_take(h, HELIO_BROKER_FX_REPLY);
    assert_non_null(reply);
    assert_int_equal(reply->rc, HELIO_OK);
    return helio_details_find(&reply->start_estimate.basis, HELIO_DETAIL_START_THROTTLE) != NULL;
}

/*  By the database, in the order of the document: G gated, q queued otherwise, - anything else. */
static void shown(const char *conninfo, char ret_line[TASKS + 1])
{
    char *line = helio_pg_value(
        conninfo,
        "select string_agg(case when t.reason = 'Gated' then 'G' when t.state = 0 then 'q' else '-' end, '' order by "
        "array_position(j.tasks, t.task)) from helio.tasks_now t join helio.jobs j using (job_id) where t.of_array");
    (void)snprintf(ret_line, TASKS + 1, "%s", line);
    free(line);
}

static uint32_t assert_shown_as_decided(const char *conninfo, uint32_t life)
{
    char line[TASKS + 1], expected[TASKS + 1] = {0};
    uint32_t gated = 0;
    for (uint32_t i = 0; i < TASKS; i++) {
        helio_job_key_t key = harness_task(array, tasks[i]);
        bool queued = harness_is_open(h, key) && harness_state(h, key) == HELIO_JOB_QUEUED;
        expected[i] = !queued ? '-' : is_kept_out(key) ? 'G' : 'q';
        gated += expected[i] == 'G';
    }
    shown(conninfo, line);
    if (strcmp(line, expected) != 0)
        fail_msg("life %u: the database shows %s, and the core has %s", life, line, expected);
    return gated;
}

static void property__the_database_shows_the_tasks_that_the_core_keeps_out(void **state)
{
    (void)state;
    uint32_t gated = 0, none = 0;
    rng = (helio_rng_t){17};
    for (uint32_t life = 0; life < LIVES; life++) {
        (void)begin(NULL);
        array = submit((uint32_t)helio_rng_below(&rng, 5)); /* 0: without a limit */
        uint32_t steps = (uint32_t)helio_rng_below(&rng, STEPS);
        for (uint32_t i = 0; i < steps; i++)
            happen(tasks[helio_rng_below(&rng, TASKS)]);
        const char *conninfo = helio_pg_database(pg);
        commit(conninfo);
        uint32_t kept_out = assert_shown_as_decided(conninfo, life);
        gated += kept_out;
        none += kept_out == 0;
        (void)end(NULL);
    }
    assert_true(gated > LIVES); /* or the lives are too short, or too long, to show anything */
    assert_true(none > 0);
}

/*  The next leader lets as many in as the last one, and the rows say the same. */
static void takeover__keeps_the_limit_of_an_array(void **state)
{
    (void)state;
    (void)begin(NULL);
    array = submit(2);
    helio_job_key_t first = harness_task(array, tasks[0]);
    harness_run_up_to(h, peer_of(harness_row(h, first)), first, 1, HELIO_JOB_RUNNING);
    harness_say(h, peer_of(harness_row(h, first)), first, 1, HELIO_REPORT_KIND_ENDED);
    harness_tick(h);
    const char *conninfo = helio_pg_database(pg);
    commit(conninfo);
    assert_int_equal(assert_shown_as_decided(conninfo, 0), TASKS - 3);
    harness_t *before = h;
    h = harness_rebuild(before);
    assert_int_equal(assert_shown_as_decided(conninfo, 1), TASKS - 3);
    harness_end(&h);
    h = before;
    (void)end(NULL);
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(property__the_database_shows_the_tasks_that_the_core_keeps_out),
        cmocka_unit_test(takeover__keeps_the_limit_of_an_array),
    };
    return cmocka_run_group_tests(tests, up, down);
}
