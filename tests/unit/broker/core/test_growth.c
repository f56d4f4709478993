/*  test_growth.c -- which elastic pool grows for waiting jobs, and what its site hears of it. */
#include "tests/unit/broker/core/two_sites_testing.h"

enum { MINUTE = 60000, HOUR = 3600000 };

static helio_pool_t *cloud;

/*  South has an elastic pool of at most four nodes, and none runs. North has none, or two nodes that others use. */
static int begin(void **state)
{
    (void)begin_apart(state);
    cloud = harness_pool(h, south, "cloud", "H100", 0, 8, 3.0);
    cloud->elastic = true;
    cloud->max_nodes = 4;
    cloud->provision_ms = 5 * MINUTE;
    harness_join(h, SOUTH, south);
    return 0;
}

static helio_job_key_t job(uint32_t nodes, uint32_t gpus, uint32_t goal)
{
    helio_job_spec_t spec = harness_spec(h, "H100", gpus);
    spec.nodes = nodes;
    spec.time_limit_ms = HOUR;
    spec.goal = goal;
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    return key;
}

/*  Nodes that the site is told to be wanted, at its next summary; -1 = it is told nothing. */
static int told(void)
{
    harness_summary(h, SOUTH, south, UINT64_MAX, 0);
    const helio_fx_demand_t *demand, *last = NULL;
    while ((demand = harness_take(h, HELIO_BROKER_FX_DEMAND)))
        last = demand;
    if (!last)
        return -1;
    assert_true(last->peer == SOUTH);
    assert_int_equal(last->pools.count, 1);
    assert_true(helio_text_is(last->pools.items[0].pool, "cloud"));
    return (int)last->pools.items[0].nodes;
}

static void nodes_run(uint32_t nodes)
{
    cloud->nodes = nodes; /* of the harness's figures; the profile that the core holds is another copy */
}

static void growth__a_job_without_another_place_gets_a_node(void **state)
{
    (void)state;
    (void)told();
    helio_job_key_t key = job(1, 8, HELIO_GOAL_BALANCED);
    assert_null(harness_row(h, key));
    assert_int_equal(told(), 1);
    assert_int_equal(told(), -1); /* it has heard that */
    harness_advance(h, 31000);
    assert_int_equal(told(), 1); /* again, so that it knows that it still stands */
    nodes_run(1);
    (void)told();
    harness_tick(h);
    assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
    assert_int_equal(told(), 0);
}

static void growth__jobs_that_share_a_node_want_one(void **state)
{
    (void)state;
    (void)told();
    for (int i = 0; i < 9; i++)
        (void)job(1, 2, HELIO_GOAL_BALANCED);
    assert_int_equal(told(), 3);
    (void)job(2, 8, HELIO_GOAL_BALANCED);
    assert_int_equal(told(), 4); /* five, and four are the most */
}

static void growth__no_more_than_a_quota_allows(void **state)
{
    (void)state;
    (void)told();
    (void)harness_quota(h, "acme", "", HARNESS_AS_IS, 8, HARNESS_AS_IS);
    (void)job(1, 8, HELIO_GOAL_BALANCED);
    (void)job(1, 8, HELIO_GOAL_BALANCED);
    assert_int_equal(told(), 1);
}

/*  So many jobs, each of its own class. */
static void apart(uint32_t jobs, uint32_t gpus, const char *queue)
{
    static uint64_t longer_ms;
    for (uint32_t i = 0; i < jobs; i++) {
        helio_job_spec_t spec = harness_spec(h, "H100", gpus);
        spec.queue = helio_text_of(queue);
        spec.time_limit_ms = HOUR - ++longer_ms;
        (void)harness_job(h, &spec);
    }
    harness_tick(h);
}

static void growth__classes_share_the_quotas(void **state)
{
    (void)state;
    (void)told();
    (void)harness_quota(h, "acme", "standard", HARNESS_AS_IS, 8, HARNESS_AS_IS);
    apart(12, 8, "standard");
    assert_int_equal(told(), 1);
    (void)harness_quota(h, "acme", "", HARNESS_AS_IS, 24, HARNESS_AS_IS);
    apart(12, 8, "batch");
    assert_int_equal(told(), 3); /* the tenant's 24 GPUs, of which 8 in `standard` */
}

/*  Each takes 24 USD: 8 GPUs for an hour at 3. */
static void growth__jobs_share_the_budgets(void **state)
{
    (void)state;
    (void)told();
    (void)harness_budget(h, "acme", "", "30 USD/day");
    for (int i = 0; i < 3; i++)
        (void)job(1, 8, HELIO_GOAL_BALANCED);
    assert_int_equal(told(), 1);
    apart(3, 8, "standard");
    assert_int_equal(told(), -1);
    (void)harness_budget(h, "acme", "", "60 USD/day");
    (void)job(1, 8, HELIO_GOAL_BALANCED);
    assert_int_equal(told(), 2);
}

static void growth__classes_share_the_budgets(void **state)
{
    (void)state;
    (void)told();
    (void)harness_budget(h, "acme", "standard", "30 USD/day");
    (void)harness_budget(h, "acme", "", "80 USD/day");
    apart(3, 8, "standard");
    assert_int_equal(told(), 1);
    apart(4, 8, "batch");
    assert_int_equal(told(), 3); /* 72 USD, of which 24 in `standard` */
}

static void growth__jobs_of_several_classes_share_nodes(void **state)
{
    (void)state;
    (void)told();
    apart(8, 1, "standard");
    assert_int_equal(told(), 1);
    apart(1, 4, "standard");
    apart(1, 6, "standard");
    apart(2, 1, "standard");
    assert_int_equal(told(), 3); /* eight times one; four; six and two */
}

static void growth__the_class_that_is_asked_first_gets_what_a_quota_leaves(void **state)
{
    (void)state;
    helio_pool_t *dear = harness_pool(h, north, "cloud", "A100", 0, 8, 3.0);
    dear->elastic = true;
    dear->max_nodes = 4;
    harness_join(h, NORTH, north);
    while (harness_take(h, HELIO_BROKER_FX_DEMAND))
        continue;
    (void)told();
    (void)harness_quota(h, "acme", "", HARNESS_AS_IS, 8, HARNESS_AS_IS);
    helio_job_spec_t spec = harness_spec(h, "A100", 8);
    helio_job_key_t there = harness_job(h, &spec);
    harness_tick(h);
    helio_job_key_t here = job(1, 8, HELIO_GOAL_BALANCED);
    assert_int_equal(told(), -1); /* the one at north is older */
    const helio_fx_reply_t *reply =
        harness_edit(h, "acme", HELIO_ROLE_OPERATOR, here, (helio_ev_edit_t){.priority_given = true, .priority = 7});
    assert_int_equal(reply->rc, HELIO_OK);
    harness_tick(h);
    assert_int_equal(told(), 1);
    (void)harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, here);
    assert_int_equal(told(), 0);
    assert_null(harness_row(h, there));
}

static void growth__ends_with_the_job_that_wanted_it(void **state)
{
    (void)state;
    (void)told();
    helio_job_key_t key = job(1, 8, HELIO_GOAL_BALANCED);
    assert_int_equal(told(), 1);
    (void)harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, key);
    assert_int_equal(told(), 0);
}

/*  North's only node is free in half an hour, by the limit of its job. */
static void north_is_full(void)
{
    harness_pool(h, north, "own", "H100", 1, 8, 1.0);
    harness_join(h, NORTH, north);
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    spec.time_limit_ms = HOUR / 2;
    helio_job_key_t first = harness_job(h, &spec);
    harness_tick(h);
    harness_run_up_to(h, NORTH, first, 1, HELIO_JOB_RUNNING);
    (void)told();
}

static void growth__waiting_and_rent_are_weighed(void **state)
{
    (void)state;
    north_is_full();
    (void)job(1, 8, HELIO_GOAL_CHEAP); /* 16 USD less at north, and half an hour costs 0.2 */
    assert_int_equal(told(), -1);
    (void)job(1, 8, HELIO_GOAL_FAST); /* the 25 minutes more at north cost 16.7 */
    assert_int_equal(told(), 1);
}

static void growth__nobody_waits_for_what_has_no_time(void **state)
{
    (void)state;
    harness_pool(h, north, "own", "H100", 1, 8, 1.0);
    harness_join(h, NORTH, north);
    harness_summary(h, NORTH, north, 0, 1); /* others use it */
    (void)told();
    (void)job(1, 8, HELIO_GOAL_CHEAP);
    assert_int_equal(told(), 1);
}

static void growth__a_plan_says_that_the_pool_grows(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    helio_submission_t document = harness_submission(h, &spec, "", "");
    helio_ev_submit_t event = {
        .call = 77, .tenant = HELIO_TEXT("acme"), .user = HELIO_TEXT("ada"), .jobs = {&document, 1}};
    harness_step(h, HELIO_BROKER_EV_PLAN, &event);
    const helio_fx_reply_t *reply = harness_take(h, HELIO_BROKER_FX_REPLY);
    const helio_planned_t *plan = &reply->plan;
    assert_int_equal(plan->candidates.count, 1);
    const helio_row_candidate_t *row = &plan->candidates.items[0].row;
    assert_true(helio_text_is(row->rejected_reason, "NoCapacity"));
    assert_int_equal(row->start_ms - harness_wall_ms(h), 5 * MINUTE);
    harness_assert_value(harness_detail(row->details, HELIO_DETAIL_POOL_GROWS), "most", "4");
    harness_assert_value(harness_detail(plan->decision.details, HELIO_DETAIL_GROWS_FOR_IT), "pool", "cloud");
    assert_int_equal(told(), 0); /* a plan wants nothing */
}

static void growth__a_pool_that_is_replaced_takes_its_demand_with_it(void **state)
{
    (void)state;
    (void)told();
    (void)job(1, 8, HELIO_GOAL_BALANCED);
    assert_int_equal(told(), 1);
    harness_gone(h, SOUTH);
    cloud->gpus_per_node = 16;
    harness_join(h, SOUTH, south);
    harness_tick(h);
    assert_int_equal(told(), 1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(growth__a_job_without_another_place_gets_a_node),
        CASE(growth__jobs_that_share_a_node_want_one),
        CASE(growth__no_more_than_a_quota_allows),
        CASE(growth__classes_share_the_quotas),
        CASE(growth__jobs_share_the_budgets),
        CASE(growth__classes_share_the_budgets),
        CASE(growth__jobs_of_several_classes_share_nodes),
        CASE(growth__the_class_that_is_asked_first_gets_what_a_quota_leaves),
        CASE(growth__ends_with_the_job_that_wanted_it),
        CASE(growth__waiting_and_rent_are_weighed),
        CASE(growth__nobody_waits_for_what_has_no_time),
        CASE(growth__a_plan_says_that_the_pool_grows),
        CASE(growth__a_pool_that_is_replaced_takes_its_demand_with_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
