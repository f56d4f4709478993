/*  test_desired.c -- how many GPUs each pool should have, now and in the hours ahead. */
#include <stdio.h>

#include "tests/unit/broker/core/two_sites_testing.h"

enum { MINUTE = 60000, HOUR = 3600000 };

static helio_pool_t *cloud;
static bool asked;

/*  South has an elastic pool of at most four nodes of 8 GPUs, and none runs. The clock shows a full hour. */
static int begin(void **state)
{
    (void)begin_apart(state);
    asked = false;
    cloud = harness_pool(h, south, "cloud", "H100", 0, 8, 3.0);
    cloud->elastic = true;
    cloud->max_nodes = 4;
    cloud->provision_ms = 5 * MINUTE;
    harness_join(h, SOUTH, south);
    assert_true(harness_wall_ms(h) % HOUR == 0);
    return 0;
}

static void jobs(uint32_t count, uint32_t gpus, int64_t limit_ms)
{
    for (uint32_t i = 0; i < count; i++) {
        helio_job_spec_t spec = harness_spec(h, "H100", gpus);
        spec.time_limit_ms = (uint64_t)limit_ms;
        (void)harness_job(h, &spec);
    }
    harness_tick(h);
}

static const helio_desired_pool_t *desired_of(const char *site, const char *pool)
{
    const helio_ev_desired_t event = {.call = 9, .site = helio_text_of(site), .pool = helio_text_of(pool)};
    while (harness_take(h, HELIO_BROKER_FX_ANSWER))
        continue;
    harness_wait(h, asked ? 1000 : 0); /* until then it is that of the last one */
    asked = true;
    harness_step(h, HELIO_BROKER_EV_DESIRED, &event);
    const helio_fx_reply_t *answer = harness_take(h, HELIO_BROKER_FX_ANSWER);
    assert_true(answer->call == 9 && answer->rc == HELIO_OK);
    assert_int_equal(answer->desired.count, 1);
    const helio_desired_pool_t *row = answer->desired.items;
    assert_true(helio_text_is(row->site, site) && helio_text_is(row->pool, pool));
    assert_int_equal(row->hours.count, HELIO_DESIRED_HOURS + 1);
    return row;
}

/*  The first hours, each as running+waiting+planned=desired. */
static void expect(const helio_desired_pool_t *row, const char *figures)
{
    char text[400] = "";
    uint32_t used = 0, count = 1;
    for (const char *at = figures; *at; at++)
        count += *at == ' ';
    for (uint32_t i = 0; i < count; i++) {
        const helio_desired_hour_t *hour = &row->hours.items[i];
        assert_true(hour->at_ms == (i ? (harness_wall_ms(h) / HOUR + i) * HOUR : harness_wall_ms(h)));
        used += (uint32_t)snprintf(text + used, sizeof text - used, "%s%u+%u+%u=%u", i ? " " : "",
                                   (unsigned)hour->running_gpus, (unsigned)hour->waiting_gpus,
                                   (unsigned)hour->planned_gpus, (unsigned)hour->desired_gpus);
    }
    assert_string_equal(text, figures);
}

static void desired__nothing_waits_and_nothing_is_wanted(void **state)
{
    (void)state;
    const helio_desired_pool_t *row = desired_of("south", "cloud");
    assert_true(row->elastic);
    assert_int_equal(row->nodes, 0);
    assert_int_equal(row->nodes_most, 4);
    assert_int_equal(row->gpus_per_node, 8);
    expect(row, "0+0+0=0 0+0+0=0 0+0+0=0");
}

/*  Nine jobs of 2 GPUs need three nodes; they start in 5 minutes, and are over an hour and a half later. */
static void desired__waiting_jobs_want_nodes_until_their_limits(void **state)
{
    (void)state;
    jobs(9, 2, HOUR + HOUR / 2);
    expect(desired_of("south", "cloud"), "0+24+0=24 0+24+0=24 0+0+0=0");
}

/*  Ten jobs of a node for an hour, four at a time: four start in 5 minutes, and are there until 01:05; of the others, four
 *  start at 02:00, and two at 03:00. */
static void desired__what_has_no_room_follows(void **state)
{
    (void)state;
    jobs(10, 8, HOUR);
    expect(desired_of("south", "cloud"), "0+32+0=32 0+32+0=32 0+32+0=32 0+16+0=16 0+0+0=0");
}

/*  All four nodes are there, and run jobs of two hours: those that wait follow them. */
static void desired__a_pool_that_is_full_is_wanted_by_those_that_wait_for_it(void **state)
{
    (void)state;
    cloud->nodes = 4; /* of the harness's figures; the profile that the core holds is another copy */
    harness_summary(h, SOUTH, south, UINT64_MAX, 0);
    helio_job_key_t keys[4];
    for (uint32_t i = 0; i < 4; i++) {
        helio_job_spec_t spec = harness_spec(h, "H100", 8);
        spec.time_limit_ms = 2 * HOUR;
        keys[i] = harness_job(h, &spec);
    }
    harness_tick(h);
    for (uint32_t i = 0; i < 4; i++)
        harness_run_up_to(h, SOUTH, keys[i], 1, HELIO_JOB_RUNNING);
    const helio_desired_pool_t *row = desired_of("south", "cloud");
    assert_int_equal(row->nodes, 4);
    expect(row, "32+0+0=32 32+0+0=32 0+0+0=0");
    jobs(2, 4, HOUR);
    expect(desired_of("south", "cloud"), "32+0+0=32 32+0+0=32 0+8+0=8 0+0+0=0");
}

static void desired__no_more_than_a_quota_allows_at_once(void **state)
{
    (void)state;
    (void)harness_quota(h, "acme", "", HARNESS_AS_IS, 8, HARNESS_AS_IS);
    jobs(3, 8, HOUR);
    expect(desired_of("south", "cloud"), "0+8+0=8 0+8+0=8 0+0+0=0");
}

/*  At half past twelve at night: the job starts at 00:35, and is over by 01:35. */
static void desired__hours_begin_on_the_hour(void **state)
{
    (void)state;
    harness_gone(h, SOUTH);
    harness_wait(h, HOUR / 2);
    harness_join(h, SOUTH, south);
    jobs(1, 8, HOUR);
    expect(desired_of("south", "cloud"), "0+8+0=8 0+8+0=8 0+0+0=0");
}

/*  A gang of both nodes of a pool that does not grow gets them when the job there is over: in the third hour. */
static void desired__a_reservation_is_planned(void **state)
{
    (void)state;
    harness_pool(h, north, "own", "A100", 2, 8, 1.0);
    harness_join(h, NORTH, north);
    helio_job_spec_t spec = harness_spec(h, "A100", 4);
    spec.time_limit_ms = 2 * HOUR;
    helio_job_key_t first = harness_job(h, &spec);
    harness_tick(h);
    harness_run_up_to(h, NORTH, first, 1, HELIO_JOB_RUNNING);
    spec = harness_spec(h, "A100", 8);
    spec.nodes = 2;
    spec.time_limit_ms = HOUR;
    (void)harness_job(h, &spec);
    harness_tick(h);
    expect(desired_of("north", "own"), "4+0+0=8 4+0+0=8 0+0+16=16 0+0+0=0");
}

static void desired__all_pools_are_listed_and_nothing_changes(void **state)
{
    (void)state;
    harness_pool(h, north, "own", "A100", 2, 8, 1.0);
    harness_join(h, NORTH, north);
    jobs(1, 8, HOUR);
    while (harness_take(h, HELIO_BROKER_FX_ROW_CLASS))
        continue;
    const helio_ev_desired_t event = {.call = 9};
    harness_step(h, HELIO_BROKER_EV_DESIRED, &event);
    const helio_fx_reply_t *answer = harness_take(h, HELIO_BROKER_FX_ANSWER);
    assert_int_equal(answer->desired.count, 2);
    const helio_ev_desired_t other = {.call = 9, .site = HELIO_TEXT("nowhere")};
    harness_step(h, HELIO_BROKER_EV_DESIRED, &other);
    answer = harness_take(h, HELIO_BROKER_FX_ANSWER);
    assert_int_equal(answer->desired.count, 0);
    assert_null(harness_take(h, HELIO_BROKER_FX_ROW_CLASS));
}

static uint64_t asked_at_once(void)
{
    const helio_ev_desired_t event = {.call = 9, .site = HELIO_TEXT("south"), .pool = HELIO_TEXT("cloud")};
    harness_step(h, HELIO_BROKER_EV_DESIRED, &event);
    const helio_fx_reply_t *answer = harness_take(h, HELIO_BROKER_FX_ANSWER);
    assert_int_equal(answer->desired.count, 1);
    return answer->desired.items[0].hours.items[0].desired_gpus;
}

/*  Whoever asks in a loop does not have all classes counted each time. */
static void desired__is_counted_once_a_second(void **state)
{
    (void)state;
    assert_int_equal(asked_at_once(), 0);
    jobs(1, 8, HOUR);
    assert_int_equal(asked_at_once(), 0);
    harness_wait(h, 999);
    assert_int_equal(asked_at_once(), 0);
    harness_wait(h, 1);
    assert_int_equal(asked_at_once(), 8);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

static const helio_fx_reply_t *answer_to(const char *site, const char *pool)
{
    const helio_ev_desired_t event = {.call = 9, .site = helio_text_of(site), .pool = helio_text_of(pool)};
    while (harness_take(h, HELIO_BROKER_FX_ANSWER))
        continue;
    harness_step(h, HELIO_BROKER_EV_DESIRED, &event);
    const helio_fx_reply_t *answer = harness_take(h, HELIO_BROKER_FX_ANSWER);
    assert_non_null(answer);
    return answer;
}

static void desired__of_a_site_or_pool_that_there_is_not_is_not_found(void **state)
{
    (void)state;
    const helio_fx_reply_t *answer = answer_to("sout", "");
    assert_int_equal(answer->rc, HELIO_NOT_FOUND);
    assert_string_equal(harness_facts(h, answer->details), "UnknownSite site=sout suggestion=south");
    answer = answer_to("", "nothing");
    assert_int_equal(answer->rc, HELIO_NOT_FOUND);
    assert_string_equal(harness_facts(h, answer->details), "NoSuchThing kind=pool name=nothing");
}

static void desired__is_in_order_of_site_and_pool(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 1, 8, 2.0);
    harness_join(h, NORTH, north);
    harness_wait(h, 1000); /* the table of a second ago */
    const helio_fx_reply_t *answer = answer_to("", "");
    char text[200] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < answer->desired.count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%.*s/%.*s", i ? " " : "",
                                 HELIO_TEXT_ARGS(answer->desired.items[i].site),
                                 HELIO_TEXT_ARGS(answer->desired.items[i].pool));
    assert_string_equal(text, "north/a south/cloud");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(desired__nothing_waits_and_nothing_is_wanted),
        CASE(desired__of_a_site_or_pool_that_there_is_not_is_not_found),
        CASE(desired__is_in_order_of_site_and_pool),
        CASE(desired__waiting_jobs_want_nodes_until_their_limits),
        CASE(desired__what_has_no_room_follows),
        CASE(desired__a_pool_that_is_full_is_wanted_by_those_that_wait_for_it),
        CASE(desired__no_more_than_a_quota_allows_at_once),
        CASE(desired__hours_begin_on_the_hour),
        CASE(desired__a_reservation_is_planned),
        CASE(desired__all_pools_are_listed_and_nothing_changes),
        CASE(desired__is_counted_once_a_second),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
