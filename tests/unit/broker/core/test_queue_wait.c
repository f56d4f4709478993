/*  test_queue_wait.c -- what a site's own scheduler expects counts as waiting: bounded, by the clock, and only where the
 *  job does not fit at once. */
#include "tests/unit/broker/core/two_sites_testing.h"

enum { MINUTE = 60000, HOUR = 3600000 };

/*  `whole` nodes of the pool's four are free, one has `part` free GPUs, and one, two and four nodes can start after so
 *  many seconds. */
static void say(uint64_t peer, uint32_t whole, uint32_t part, uint32_t one_s, uint32_t two_s, uint32_t four_s)
{
    static uint64_t seq = 900;
    uint32_t free_nodes[9] = {4 - whole - (part > 0)}, waits[] = {one_s, two_s, four_s};
    free_nodes[8] = whole;
    free_nodes[part] += part > 0;
    helio_pool_capacity_t figures = {.pool = HELIO_TEXT("a"),
                                     .nodes_up = 4,
                                     .gpus_total = 32,
                                     .gpus_allocated = 32 - 8 * whole - part,
                                     .free_nodes = {free_nodes, 9},
                                     .cpus_free = 64,
                                     .memory_free_bytes = UINT64_C(512) << 30,
                                     .expected_wait_s = {waits, 3}};
    helio_ev_site_summary_t event = {
        .peer = peer, .summary = {.seq = ++seq, .dispatch_seen = UINT64_MAX, .pools = {&figures, 1}, .power_w = -1}};
    harness_step(h, HELIO_BROKER_EV_SITE_SUMMARY, &event);
}

static helio_job_spec_t spec_of(uint32_t nodes, uint32_t gpus)
{
    helio_job_spec_t spec = harness_spec(h, "H100", gpus);
    spec.nodes = nodes;
    spec.time_limit_ms = HOUR;
    spec.goal = HELIO_GOAL_FAST; /* 5 USD per GPU-hour of waiting */
    return spec;
}

static const helio_row_candidate_t *candidate(uint32_t nodes, uint32_t gpus, const char *site)
{
    helio_job_spec_t spec = spec_of(nodes, gpus);
    helio_submission_t job = harness_submission(h, &spec, "", "");
    helio_ev_submit_t event = {.call = 77, .tenant = HELIO_TEXT("acme"), .user = HELIO_TEXT("ada"), .jobs = {&job, 1}};
    harness_step(h, HELIO_BROKER_EV_PLAN, &event);
    const helio_fx_reply_t *reply = harness_take(h, HELIO_BROKER_FX_REPLY);
    assert_int_equal(reply->rc, HELIO_OK);
    for (uint32_t i = 0; i < reply->plan.candidates.count; i++)
        if (helio_text_is(reply->plan.candidates.items[i].row.site, site))
            return &reply->plan.candidates.items[i].row;
    fail();
    return NULL;
}

static int64_t wait_of(uint32_t nodes, uint32_t gpus, const char *site)
{
    return candidate(nodes, gpus, site)->wait_micro_usd;
}

static const char *site_of(uint32_t nodes, uint32_t gpus)
{
    helio_job_spec_t spec = spec_of(nodes, gpus);
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    const helio_row_state_t *row = harness_row(h, key);
    return !row || row->state != HELIO_JOB_OFFERED ? "" : helio_text_is(row->site, "north") ? "north" : "south";
}

static void queue_wait__a_full_site_costs_what_its_scheduler_expects(void **state)
{
    (void)state;
    say(NORTH, 0, 0, 7200, UINT32_MAX, UINT32_MAX);
    const helio_row_candidate_t *full = candidate(1, 8, "north");
    assert_true(helio_text_is(full->rejected_reason, "NoCapacity"));
    assert_int_equal(full->wait_micro_usd, 80000000); /* 8 GPUs x 2 h x 5 USD */
    assert_int_equal(full->start_ms - harness_wall_ms(h), 2 * HOUR);
    assert_int_equal(full->score_micro_usd - full->wait_micro_usd, candidate(1, 8, "north")->cost_micro_usd);
    assert_int_equal(wait_of(1, 8, "south"), 0); /* it gives no figure */
    assert_int_equal(wait_of(2, 8, "north"), 0); /* nor for this size */
}

static void queue_wait__comes_nearer_with_the_clock_and_passes(void **state)
{
    (void)state;
    say(NORTH, 0, 0, 7200, 7200, 7200);
    harness_advance(h, HOUR);
    assert_int_equal(wait_of(1, 8, "north"), 40000000);
    harness_advance(h, HOUR + MINUTE);
    assert_int_equal(wait_of(1, 8, "north"), 0);
}

static void queue_wait__is_at_most_a_day(void **state)
{
    (void)state;
    say(NORTH, 0, 0, UINT32_MAX - 1, UINT32_MAX - 1, UINT32_MAX - 1);
    assert_int_equal(wait_of(1, 8, "north"), 960000000); /* 8 GPUs x 24 h x 5 USD */
}

static void queue_wait__decides_between_sites_that_have_room(void **state)
{
    (void)state;
    say(NORTH, 4, 0, 0, 1800, 7200); /* its scheduler puts larger jobs behind others, although nodes are idle */
    const helio_row_candidate_t *queued = candidate(2, 8, "north");
    assert_int_equal(queued->wait_micro_usd, 40000000); /* 16 GPUs x 30 min x 5 USD: south costs 16 USD more */
    assert_non_null(harness_detail(queued->details, HELIO_DETAIL_SITE_QUEUE));
    harness_assert_value(harness_detail(queued->details, HELIO_DETAIL_SITE_QUEUE), "wait_s", "30m");
    assert_string_equal(site_of(2, 8), "south");
    assert_string_equal(site_of(1, 8), "north");
}

static void queue_wait__an_absurd_figure_does_not_starve_a_site_with_room(void **state)
{
    (void)state;
    say(NORTH, 4, 0, 900000, 900000, 900000);
    assert_int_equal(wait_of(1, 8, "north"), 40000000); /* an hour at most */
    say(SOUTH, 0, 0, 0, 0, 0);
    assert_string_equal(site_of(1, 8), "north");
}

static void queue_wait__a_part_of_a_node_that_is_free_does_not_wait_for_a_node(void **state)
{
    (void)state;
    say(NORTH, 0, 4, 7200, 7200, 7200);
    assert_int_equal(wait_of(1, 4, "north"), 0);
    assert_int_equal(wait_of(1, 8, "north"), 80000000);
}

static void queue_wait__what_came_free_since_does_not_wait(void **state)
{
    (void)state;
    helio_job_spec_t spec = spec_of(4, 8);
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_RUNNING);
    say(NORTH, 0, 0, 3600, 3600, 3600);
    assert_int_equal(wait_of(1, 8, "north"), 40000000);
    helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_ENDED);
    harness_report(h, NORTH, &report);
    assert_int_equal(wait_of(1, 8, "north"), 0);
    assert_string_equal(site_of(1, 8), "north");
}

static void queue_wait__a_waiting_class_sees_it_pass(void **state)
{
    (void)state;
    say(NORTH, 0, 0, 3600, 3600, 3600);
    say(SOUTH, 0, 0, 3600, 3600, 3600);
    helio_job_spec_t spec = spec_of(1, 8);
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    assert_null(harness_row(h, key));
    say(SOUTH, 1, 0, 3600, 3600, 3600);
    say(NORTH, 1, 0, 0, 0, 0);
    harness_tick(h);
    assert_true(helio_text_is(harness_row(h, key)->site, "north")); /* not by figures of a moment ago */
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin_joined, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(queue_wait__a_full_site_costs_what_its_scheduler_expects),
        CASE(queue_wait__comes_nearer_with_the_clock_and_passes),
        CASE(queue_wait__is_at_most_a_day),
        CASE(queue_wait__decides_between_sites_that_have_room),
        CASE(queue_wait__an_absurd_figure_does_not_starve_a_site_with_room),
        CASE(queue_wait__a_part_of_a_node_that_is_free_does_not_wait_for_a_node),
        CASE(queue_wait__what_came_free_since_does_not_wait),
        CASE(queue_wait__a_waiting_class_sees_it_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
