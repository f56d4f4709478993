/*  test_array_commands.c -- commands on large arrays act batch by batch, and are answered when all of it is written. */
#include "broker/core/requests/array_commands.h"
#include "tests/unit/broker/core/life_testing.h"

enum { TASKS = 2500, BATCH = 1000, BATCH_MS = 1000 };

static helio_job_key_t array_of(uint32_t count)
{
    static uint32_t tasks[TASKS];
    helio_job_spec_t spec = harness_spec(h, "H100", 4);
    for (uint32_t i = 0; i < count; i++)
        tasks[i] = i;
    spec.tasks = (helio_u32s_t){tasks, count};
    helio_job_key_t array = harness_job(h, &spec);
    harness_clear(h);
    return array;
}

static void give(uint32_t kind, helio_job_key_t key)
{
    const helio_ev_command_t event = {.call = 1,
                                      .tenant = HELIO_TEXT("acme"),
                                      .actor = HELIO_TEXT("user:acme/ada"),
                                      .role = HELIO_ROLE_USER,
                                      .key = key};
    harness_step(h, kind, &event);
}

static void seal(void)
{
    helio_ev_sealed_t sealed = {harness_figures(h).open_batch};
    harness_step(h, HELIO_BROKER_EV_SEALED, &sealed);
}

static uint64_t in_state(helio_job_state_t state)
{
    return harness_figures(h).jobs[state];
}

/*  What others ask for meanwhile is not behind it. */
static void command__on_a_large_array_is_answered_with_its_last_batch(void **state)
{
    (void)state;
    helio_job_key_t array = array_of(TASKS);
    give(HELIO_BROKER_EV_HOLD, array);
    assert_int_equal(in_state(HELIO_JOB_HELD), BATCH);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_STATE), BATCH);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_REPLY), 0);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_AUDIT), 1); /* from the first batch on */
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    helio_job_key_t other = harness_job(h, &spec);
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_HOLD, "acme", HELIO_ROLE_USER, other)->rc, HELIO_OK);
    assert_int_equal(in_state(HELIO_JOB_HELD), BATCH + 1);
    harness_clear(h);
    seal();
    assert_int_equal(in_state(HELIO_JOB_HELD), 2 * BATCH + 1);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_REPLY), 0);
    seal();
    assert_int_equal(in_state(HELIO_JOB_HELD), TASKS + 1);
    assert_int_equal(((const helio_fx_reply_t *)harness_take(h, HELIO_BROKER_FX_REPLY))->rc, HELIO_OK);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_AUDIT), 0);
}

/*  Several share what a batch takes, in their order; a small one does not wait for them. */
static void command__on_several_large_arrays_takes_no_more_of_a_batch(void **state)
{
    (void)state;
    helio_job_key_t first = array_of(TASKS), second = array_of(TASKS), small = array_of(50);
    give(HELIO_BROKER_EV_CANCEL, first);
    give(HELIO_BROKER_EV_CANCEL, second);
    assert_int_equal(in_state(HELIO_JOB_CANCELLED), BATCH);
    harness_clear(h);
    give(HELIO_BROKER_EV_CANCEL, small);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_REPLY), 1);
    for (int i = 2; i <= 5; i++) {
        seal();
        assert_int_equal(in_state(HELIO_JOB_CANCELLED), i * BATCH + 50);
    }
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_REPLY), 3);
}

/*  While no batch is sealed, because the database is away, it goes on all the same. */
static void command__on_a_large_array_does_not_depend_on_commits_alone(void **state)
{
    (void)state;
    helio_job_key_t array = array_of(TASKS);
    give(HELIO_BROKER_EV_CANCEL, array);
    harness_wait(h, BATCH_MS);
    assert_int_equal(in_state(HELIO_JOB_CANCELLED), 2 * BATCH);
    harness_wait(h, BATCH_MS);
    assert_int_equal(in_state(HELIO_JOB_CANCELLED) + in_state(HELIO_JOB_STOPPING), TASKS); /* some were placed */
    assert_int_equal(in_state(HELIO_JOB_QUEUED), 0);
}

static void give_as(const char *tenant, uint32_t kind, helio_job_key_t key, uint32_t wanted)
{
    const helio_ev_command_t event = {.call = 1,
                                      .tenant = helio_text_of(tenant),
                                      .actor = HELIO_TEXT("user:acme/ada"),
                                      .role = HELIO_ROLE_USER,
                                      .key = key};
    harness_clear(h);
    harness_step(h, kind, &event);
    const helio_fx_reply_t *reply = harness_take(h, HELIO_BROKER_FX_REPLY);
    assert_int_equal(reply ? reply->rc : HELIO_OK, wanted);
    assert_int_equal(reply != NULL, wanted != HELIO_OK);
}

/*  Their changes are counted when they are made, so many at once would pass the tenant's rate; and they would keep the
 *  commands of others waiting. A cancel is let in beside them. */
static void command__on_an_array_is_refused_while_one_is_under_way(void **state)
{
    (void)state;
    helio_job_key_t array = array_of(TASKS), other = array_of(TASKS);
    give_as("acme", HELIO_BROKER_EV_HOLD, array, HELIO_OK);
    for (int i = 0; i < 3; i++) {
        give_as("acme", HELIO_BROKER_EV_RELEASE, array, HELIO_BUSY);
        give_as("acme", HELIO_BROKER_EV_HOLD, other, HELIO_BUSY);
    }
    give_as("acme", HELIO_BROKER_EV_CANCEL, array, HELIO_OK);
    give_as("acme", HELIO_BROKER_EV_CANCEL, array, HELIO_BUSY);
    give_as("acme", HELIO_BROKER_EV_CANCEL, other, HELIO_OK);
    for (int i = 0; i < 10; i++)
        seal();
    assert_int_equal(in_state(HELIO_JOB_CANCELLED), 2 * TASKS);
}

/*  Whoever looks at much and changes nothing takes of the batch as well, and nobody looks at what is not theirs. */
static void command__that_changes_nothing_is_bounded_too(void **state)
{
    (void)state;
    enum { AT_ONCE = BATCH * CORE_ARRAY_LOOKS / TASKS };
    helio_job_key_t arrays[AT_ONCE + 1];
    for (uint32_t i = 0; i <= AT_ONCE; i++)
        arrays[i] = array_of(TASKS);
    for (uint32_t i = 0; i < AT_ONCE; i++)
        give_as("acme", HELIO_BROKER_EV_RELEASE, arrays[i], HELIO_NOT_FOUND);
    give_as("acme", HELIO_BROKER_EV_RELEASE, arrays[AT_ONCE], HELIO_OK); /* which is no answer yet */
    give_as("other", HELIO_BROKER_EV_RELEASE, arrays[0], HELIO_NOT_FOUND);
    harness_clear(h);
    seal();
    assert_int_equal(((const helio_fx_reply_t *)harness_take(h, HELIO_BROKER_FX_REPLY))->rc, HELIO_NOT_FOUND);
}

/*  Of all commands of a tenant together only so much is let in, so that what is let in is answered in time. What is refused is
 *  not carried out. */
static void commands__of_one_tenant_are_let_in_as_long_as_they_are_answered_in_time(void **state)
{
    (void)state;
    enum { FIT = CORE_ARRAYS_TASKS_MAX / TASKS };
    helio_job_key_t arrays[FIT + 1];
    for (uint32_t i = 0; i <= FIT; i++)
        arrays[i] = array_of(TASKS);
    for (uint32_t i = 0; i < FIT; i++)
        give_as("acme", HELIO_BROKER_EV_CANCEL, arrays[i], HELIO_OK);
    harness_clear(h);
    give(HELIO_BROKER_EV_CANCEL, arrays[FIT]);
    seal(); /* there is room again, after the answer */
    const helio_fx_reply_t *reply = harness_take(h, HELIO_BROKER_FX_REPLY);
    assert_int_equal(reply->rc, HELIO_BUSY);
    assert_string_equal(harness_facts(h, reply->details), "ArrayCommandsMany tasks=29000 limit=30000");
    while (in_state(HELIO_JOB_CANCELLED) < FIT * TASKS)
        seal();
    assert_int_equal(in_state(HELIO_JOB_QUEUED), TASKS);
    give_as("acme", HELIO_BROKER_EV_CANCEL, arrays[FIT], HELIO_OK);
}

/*  Its debt is that of one array, however many are asked for at once. */
static void commands__leave_a_tenant_behind_its_rate_by_one_array(void **state)
{
    (void)state;
    harness_end(&h);
    helio_broker_options_t options = helio_broker_options_default();
    options.commands_per_minute = 1000;
    h = harness_begin(&options);
    helio_job_key_t arrays[20];
    for (uint32_t i = 0; i < 20; i++)
        arrays[i] = array_of(TASKS);
    for (uint32_t i = 0; i < 20; i++)
        give_as("acme", HELIO_BROKER_EV_HOLD, arrays[i], i ? HELIO_BUSY : HELIO_OK);
    for (int i = 0; i < 10; i++)
        seal();
    assert_int_equal(in_state(HELIO_JOB_HELD), TASKS);
    give_as("acme", HELIO_BROKER_EV_HOLD, arrays[1], HELIO_BUSY);
    harness_wait(h, (int64_t)TASKS * 60000 / 1000);
    give_as("acme", HELIO_BROKER_EV_HOLD, arrays[1], HELIO_OK);
}

/*  A tenant with one command does not wait for all those of another. */
static void command__tenants_take_turns(void **state)
{
    (void)state;
    helio_job_key_t arrays[6];
    static uint32_t tasks[200];
    helio_job_spec_t spec = harness_spec(h, "H100", 4);
    for (uint32_t i = 0; i < 200; i++)
        tasks[i] = i;
    spec.tasks = (helio_u32s_t){tasks, 200};
    const helio_fx_reply_t *reply = harness_submit(h, "other", &spec);
    assert_int_equal(reply->rc, HELIO_OK);
    const helio_job_key_t theirs = {reply->jobs.items[0].job, HELIO_NO_TASK};
    for (uint32_t i = 0; i < 6; i++)
        arrays[i] = array_of(TASKS);
    for (uint32_t i = 0; i < 6; i++)
        give_as("acme", HELIO_BROKER_EV_CANCEL, arrays[i], HELIO_OK);
    give_as("other", HELIO_BROKER_EV_CANCEL, theirs, HELIO_OK);
    seal();
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_REPLY), 1);
    assert_false(harness_is_open(h, harness_task(theirs, 0)));
    for (int i = 0; i < 20; i++)
        seal();
    assert_int_equal(in_state(HELIO_JOB_CANCELLED), 6 * TASKS + 200);
}

/*  It was not answered: whoever gave it gives it again. What was answered is durable. */
static void command__that_was_not_answered_is_finished_by_repeating_it(void **state)
{
    (void)state;
    helio_job_key_t array = array_of(TASKS);
    give(HELIO_BROKER_EV_CANCEL, array);
    harness_t *next = harness_rebuild(h);
    harness_end(&h);
    h = next;
    assert_int_equal(in_state(HELIO_JOB_QUEUED), TASKS - BATCH);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_REPLY), 0);
    give(HELIO_BROKER_EV_CANCEL, array);
    seal();
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_REPLY), 1);
    assert_int_equal(in_state(HELIO_JOB_QUEUED), 0);
    assert_false(harness_is_open(h, harness_task(array, 0)));
}

/*  Those that wait are cancelled before those that run: their GPUs are not given to tasks that are cancelled next. */
static void cancel__of_a_large_array_starts_nothing_that_it_ends(void **state)
{
    (void)state;
    helio_job_key_t array = array_of(TASKS);
    harness_tick(h);
    uint64_t placed = in_state(HELIO_JOB_OFFERED);
    assert_true(placed > 0 && placed < BATCH);
    harness_clear(h);
    give(HELIO_BROKER_EV_CANCEL, array);
    harness_tick(h);
    for (int i = 0; i < 2; i++) {
        seal();
        harness_tick(h);
    }
    assert_int_equal(in_state(HELIO_JOB_STOPPING), placed);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ORDER), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(command__on_a_large_array_is_answered_with_its_last_batch),
        CASE(command__on_several_large_arrays_takes_no_more_of_a_batch),
        CASE(command__on_a_large_array_does_not_depend_on_commits_alone),
        CASE(command__on_an_array_is_refused_while_one_is_under_way),
        CASE(command__that_changes_nothing_is_bounded_too),
        CASE(commands__of_one_tenant_are_let_in_as_long_as_they_are_answered_in_time),
        CASE(commands__leave_a_tenant_behind_its_rate_by_one_array),
        CASE(command__tenants_take_turns),
        CASE(command__that_was_not_answered_is_finished_by_repeating_it),
        CASE(cancel__of_a_large_array_starts_nothing_that_it_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
