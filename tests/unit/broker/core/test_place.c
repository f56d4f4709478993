/*  test_place.c -- where jobs are placed, and how much of a pool is free. */
#include "tests/unit/broker/core/place_testing.h"

static void again(helio_broker_options_t options)
{
    harness_end(&h);
    h = harness_begin(&options);
    north = harness_site(h, "north");
    south = harness_site(h, "south");
}

static helio_job_key_t job_of(const char *tenant, const helio_job_spec_t *spec)
{
    const helio_fx_reply_t *reply = harness_submit(h, tenant, spec);
    assert_int_equal(reply->rc, HELIO_OK);
    return (helio_job_key_t){reply->jobs.items[0].job, HELIO_NO_TASK};
}

static void place__the_order_is_complete_and_waits_for_the_placement_row(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 4, 8, 2.0);
    harness_join(h, NORTH, north);
    helio_job_spec_t spec = harness_spec(h, "H100", 4);
    spec.nodes = 2;
    spec.cpus = 16;
    spec.memory_bytes = 1 << 20;
    spec.time_limit_ms = 7200000;
    spec.on_site_loss = HELIO_SITE_LOSS_LEASE;
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    const helio_fx_order_t *fx = harness_take(h, HELIO_BROKER_FX_ORDER);
    assert_non_null(fx);
    assert_int_equal(fx->peer, NORTH);
    assert_int_equal(fx->incarnation, 3);
    assert_true(helio_job_key_equal(fx->order.key, key));
    assert_int_equal(fx->order.dispatch_seq, 1);
    assert_int_equal(fx->order.epoch, 1);
    assert_true(helio_text_is(fx->order.tenant, "acme"));
    assert_true(helio_text_is(fx->order.user, "ada"));
    assert_true(helio_text_is(fx->order.pool, "a"));
    assert_int_equal(fx->order.nodes, 2);
    assert_int_equal(fx->order.gpus_per_node, 4);
    assert_int_equal(fx->order.cpus_per_node, 16);
    assert_int_equal(fx->order.memory_bytes_per_node, 1 << 20);
    assert_int_equal(fx->order.time_limit_ms, 7200000);
    assert_int_equal(fx->order.on_site_loss, HELIO_SITE_LOSS_LEASE);
    assert_false(fx->order.resume);
    assert_true(fx->order.source.size > 0);
    assert_int_equal(helio_broker_effects[HELIO_BROKER_FX_ORDER].release, HELIO_RELEASE_HELD);
    const helio_row_placement_t *row = harness_take(h, HELIO_BROKER_FX_ROW_PLACEMENT);
    assert_non_null(row);
    assert_int_equal(row->gpus, 8);
    assert_int_equal(row->planned_cost_micro_usd, 8 * 2 * 2 * 1000000);
    assert_placed(key, "north", "a");
}

static void place__the_lowest_price_wins_over_home(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 4, 8, 2.0);
    harness_pool(h, south, "a", "H100", 4, 8, 1.9);
    harness_join(h, NORTH, north);
    harness_join(h, SOUTH, south);
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    helio_job_key_t key = harness_job(h, &spec); /* acme's home is north */
    harness_tick(h);
    assert_placed(key, "south", "a");
}

/*  North is home, dear and clean; south is cheap; west is the emptiest and otherwise the worst. */
static void place__goes_by_the_objective(void **state)
{
    (void)state;
    static const char *const wins[HELIO_OBJECTIVE_COUNT] = {
        [HELIO_OBJECTIVE_ALL] = "south",
        [HELIO_OBJECTIVE_EARLIEST] = "home, then west",
        [HELIO_OBJECTIVE_CHEAPEST] = "south",
        [HELIO_OBJECTIVE_GREENEST] = "north",
        [HELIO_OBJECTIVE_NEAREST] = "home, then west", /* these jobs have no data: nothing counts */
    };
    for (uint32_t objective = 0; objective < HELIO_OBJECTIVE_COUNT; objective++) {
        helio_broker_options_t options = helio_broker_options_default();
        options.objective = objective;
        again(options);
        helio_site_profile_t *west = harness_site(h, "west");
        north->carbon_g_per_kwh = 10;
        west->carbon_g_per_kwh = 900;
        harness_pool(h, north, "a", "H100", 1, 1, 3.0);
        harness_pool(h, south, "a", "H100", 4, 8, 1.9);
        harness_pool(h, west, "a", "H100", 8, 8, 4.0);
        harness_join(h, NORTH, north);
        harness_join(h, SOUTH, south);
        harness_summary(h, SOUTH, south, 0, 1);
        harness_join(h, WEST, west);
        helio_job_spec_t spec = harness_spec(h, "H100", 1);
        helio_job_key_t first = harness_job(h, &spec), second = harness_job(h, &spec);
        harness_tick(h);
        bool earliest = objective == HELIO_OBJECTIVE_EARLIEST || objective == HELIO_OBJECTIVE_NEAREST;
        assert_placed(first, earliest ? "north" : wins[objective], "a");
        if (earliest)
            assert_placed(second, "west", "a");
    }
}

/*  North is home and clean, and nobody gives its price. */
static void place__an_unknown_price_matters_only_where_money_counts(void **state)
{
    (void)state;
    static const char *const wins[HELIO_OBJECTIVE_COUNT] = {[HELIO_OBJECTIVE_ALL] = "south",
                                                            [HELIO_OBJECTIVE_EARLIEST] = "north",
                                                            [HELIO_OBJECTIVE_CHEAPEST] = "south",
                                                            [HELIO_OBJECTIVE_GREENEST] = "north",
                                                            [HELIO_OBJECTIVE_NEAREST] = "north"};
    for (uint32_t objective = 0; objective < HELIO_OBJECTIVE_COUNT; objective++) {
        helio_broker_options_t options = helio_broker_options_default();
        options.objective = objective;
        again(options);
        north->carbon_g_per_kwh = 90;
        harness_pool(h, north, "a", "H100", 4, 8, 0);
        harness_pool(h, south, "a", "H100", 4, 8, 1.9);
        harness_join(h, NORTH, north);
        harness_join(h, SOUTH, south);
        helio_job_spec_t spec = harness_spec(h, "H100", 1);
        helio_job_key_t key = harness_job(h, &spec);
        harness_tick(h);
        assert_placed(key, wins[objective], "a");
    }
}

static void place__home_breaks_a_tie(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 4, 8, 2.0);
    harness_pool(h, south, "a", "H100", 4, 8, 2.0);
    harness_join(h, NORTH, north);
    harness_join(h, SOUTH, south);
    harness_summary(h, NORTH, north, 0, 3); /* fuller than south, and home all the same */
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    helio_job_key_t of_acme = harness_job(h, &spec);
    spec.home = HELIO_TEXT("south");
    helio_job_key_t of_south = harness_job(h, &spec);
    harness_tick(h);
    assert_placed(of_acme, "north", "a");
    assert_placed(of_south, "south", "a");
}

static void place__without_a_home_the_largest_free_share_breaks_a_tie(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 8, 8, 2.0);
    harness_pool(h, south, "a", "H100", 2, 8, 2.0);
    harness_join(h, NORTH, north);
    harness_join(h, SOUTH, south);
    harness_summary(h, NORTH, north, 0, 3); /* 5 of 8 nodes: more nodes than south, a smaller share */
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    helio_job_key_t first = job_of("other", &spec);
    harness_tick(h);
    assert_placed(first, "south", "a");
    /* now south has 1 of 2 */
    helio_job_key_t second = job_of("other", &spec);
    harness_tick(h);
    assert_placed(second, "north", "a");
}

static void gpu__the_first_alternative_is_taken_even_if_it_costs_more(void **state)
{
    (void)state;
    harness_pool(h, north, "big", "B200", 1, 8, 9.0);
    harness_pool(h, south, "small", "H100", 4, 8, 1.0);
    harness_join(h, NORTH, north);
    harness_join(h, SOUTH, south);
    helio_job_spec_t spec = harness_spec(h, "B200", 4);
    harness_or(h, &spec, "H100", 8);
    helio_job_key_t first = harness_job(h, &spec), second = harness_job(h, &spec), third = harness_job(h, &spec);
    harness_tick(h);
    assert_placed(first, "north", "big");
    assert_placed(second, "north", "big");
    assert_placed(third, "south", "small"); /* the first choice has no room left */
    assert_int_equal(((const helio_fx_order_t *)harness_take(h, HELIO_BROKER_FX_ORDER))->order.gpus_per_node, 4);
    (void)harness_take(h, HELIO_BROKER_FX_ORDER);
    assert_int_equal(((const helio_fx_order_t *)harness_take(h, HELIO_BROKER_FX_ORDER))->order.gpus_per_node, 8);
}

static void gpu__any_takes_the_cheapest_of_equal_alternatives(void **state)
{
    (void)state;
    harness_pool(h, north, "big", "B200", 1, 8, 9.0);
    harness_pool(h, south, "small", "H100", 4, 8, 1.0);
    harness_join(h, NORTH, north);
    harness_join(h, SOUTH, south);
    helio_job_spec_t spec = harness_spec(h, "B200", 4);
    harness_or(h, &spec, "H100", 8);
    spec.gpus_any = true;
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    assert_placed(key, "south", "small"); /* 8 x 1 USD against 4 x 9 USD */
}

static void gpu__a_cheaper_model_that_is_named_later_says_so(void **state)
{
    (void)state;
    harness_pool(h, north, "big", "B200", 1, 8, 9.0)->base_w = 1000;
    harness_pool(h, south, "small", "H100", 4, 8, 1.0)->base_w = 700;
    harness_join(h, NORTH, north);
    harness_join(h, SOUTH, south);
    helio_job_spec_t spec = harness_spec(h, "B200", 4);
    harness_or(h, &spec, "H100", 4);
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    assert_placed(key, "north", "big");
    (void)harness_take(h, HELIO_BROKER_FX_ROW_CANDIDATE);
    const helio_row_candidate_t *other = harness_take(h, HELIO_BROKER_FX_ROW_CANDIDATE);
    assert_true(helio_text_is(other->site, "south"));
    assert_string_equal(harness_facts(h, other->details), "GPUNamedLater");
}

static void gpu__a_cpu_job_runs_on_a_cpu_pool_and_is_bounded_by_its_cpus(void **state)
{
    (void)state;
    harness_pool(h, north, "cpu", "", 1, 0, 0);
    harness_join(h, NORTH, north);
    helio_job_spec_t spec = harness_spec(h, "", 0);
    spec.cpus = 40;
    helio_job_key_t first = harness_job(h, &spec), second = harness_job(h, &spec);
    harness_tick(h);
    assert_placed(first, "north", "cpu");
    assert_int_equal(harness_state(h, second), HELIO_JOB_QUEUED); /* 64 CPUs a node */
}

static void gang__all_nodes_of_one_pool_or_none(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 4, 8, 2.0);
    harness_pool(h, north, "b", "H100", 2, 8, 2.0);
    harness_join(h, NORTH, north);
    harness_summary(h, NORTH, north, 0, 2); /* a: 2 nodes free, b: 2 nodes free */
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    spec.nodes = 3;
    helio_job_key_t gang = harness_job(h, &spec);
    harness_tick(h);
    assert_int_equal(harness_state(h, gang), HELIO_JOB_QUEUED);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ORDER), 0);
    harness_summary(h, NORTH, north, 0, 1);
    harness_tick(h);
    assert_placed(gang, "north", "a");
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ORDER), 1);
}

static uint32_t place_many(uint32_t gpus, uint32_t jobs)
{
    helio_job_spec_t spec = harness_spec(h, "H100", gpus);
    for (uint32_t i = 0; i < jobs; i++)
        harness_job(h, &spec);
    harness_tick(h);
    return harness_count(h, HELIO_BROKER_FX_ORDER);
}

static void capacity__a_placement_is_deducted_at_once(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 4, 8, 2.0);
    harness_join(h, NORTH, north);
    assert_int_equal(place_many(8, 7), 4);
    harness_wait(h, 5000);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ORDER), 4);
}

static void capacity__a_stale_summary_does_not_return_capacity(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 4, 8, 2.0);
    harness_join(h, NORTH, north);
    assert_int_equal(place_many(8, 7), 4);
    harness_summary(h, NORTH, north, 0, 0); /* made before the orders arrived */
    harness_tick(h);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ORDER), 4);
    harness_summary(h, NORTH, north, 2, 2); /* it has seen two of four */
    harness_tick(h);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ORDER), 4);
    harness_summary(h, NORTH, north, 4, 4);
    harness_tick(h);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ORDER), 4);
    harness_summary(h, NORTH, north, 4, 3); /* one is over */
    harness_tick(h);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ORDER), 5);
}

static void capacity__nodes_are_filled_best_fit(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 2, 8, 2.0);
    harness_join(h, NORTH, north);
    assert_int_equal(place_many(3, 2), 2); /* both on one node: 2 left there, 8 on the other */
    assert_int_equal(place_many(8, 1), 3);
    assert_int_equal(place_many(2, 2), 4); /* what is left is one pair */
}

static void capacity__an_end_frees_its_capacity_before_the_next_summary(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 1, 8, 2.0);
    harness_join(h, NORTH, north);
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    helio_job_key_t first = harness_job(h, &spec), second = harness_job(h, &spec);
    harness_tick(h);
    assert_int_equal(harness_state(h, second), HELIO_JOB_QUEUED);
    harness_run_up_to(h, NORTH, first, 1, HELIO_JOB_RUNNING);
    harness_say(h, NORTH, first, 1, HELIO_REPORT_KIND_ENDED);
    harness_tick(h);
    assert_placed(second, "north", "a");
}

static void capacity__cpus_and_memory_bound_a_pool_that_declares_them(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 1, 8, 2.0);
    harness_pool(h, south, "a", "H100", 1, 8, 3.0)->cpus_per_node = 0; /* does not say: is not bounded */
    harness_join(h, NORTH, north);
    harness_join(h, SOUTH, south);
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    spec.cpus = 40;
    helio_job_key_t first = harness_job(h, &spec), second = harness_job(h, &spec), third = harness_job(h, &spec);
    harness_tick(h);
    assert_placed(first, "north", "a");
    assert_placed(second, "south", "a");
    assert_placed(third, "south", "a");
}

static void capacity__a_change_without_its_base_leads_to_a_resync(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 4, 8, 2.0);
    harness_join(h, NORTH, north);
    helio_ev_site_summary_t event = {.peer = NORTH, .summary = {.seq = 99, .base_seq = 98, .power_w = -1}};
    harness_step(h, HELIO_BROKER_EV_SITE_SUMMARY, &event);
    const helio_fx_peer_t *resync = harness_take(h, HELIO_BROKER_FX_RESYNC);
    assert_non_null(resync);
    assert_int_equal(resync->peer, NORTH);
    event.summary.base_seq = 1;
    event.summary.seq = 2; /* harness_join's summary was number 1 */
    harness_step(h, HELIO_BROKER_EV_SITE_SUMMARY, &event);
    assert_null(harness_take(h, HELIO_BROKER_FX_RESYNC));
}

static void capacity__impossible_figures_do_no_harm(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 4, 8, 2.0);
    harness_join(h, NORTH, north);
    uint32_t nodes[65];
    for (int i = 0; i < 65; i++)
        nodes[i] = UINT32_MAX;
    helio_pool_capacity_t pools[] = {{.pool = HELIO_TEXT("a"),
                                      .gpus_total = UINT32_MAX,
                                      .cpus_free = UINT32_MAX,
                                      .memory_free_bytes = UINT64_MAX,
                                      .free_nodes = {nodes, 65}},
                                     {.pool = HELIO_TEXT("unknown"), .free_nodes = {nodes, 65}}};
    helio_ev_site_summary_t event = {
        .peer = NORTH, .summary = {.seq = 9, .wall_ms = INT64_MAX, .dispatch_seen = UINT64_MAX, .pools = {pools, 2}}};
    harness_step(h, HELIO_BROKER_EV_SITE_SUMMARY, &event);
    assert_int_equal(place_many(8, 9), 9);
}

static void refusal__a_pool_gets_no_offer_until_its_next_summary(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 4, 8, 2.0);
    harness_join(h, NORTH, north);
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_REFUSED);
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
    harness_tick(h);
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
    harness_summary(h, NORTH, north, 1, 0);
    harness_tick(h);
    assert_placed(key, "north", "a");
    assert_int_equal(harness_row(h, key)->epoch, 2);
    assert_int_equal(harness_figures(h).refusals_total, 1);
}

static void refusal__another_pool_takes_it_meanwhile(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 4, 8, 2.0);
    harness_pool(h, south, "a", "H100", 4, 8, 3.0);
    harness_join(h, NORTH, north);
    harness_join(h, SOUTH, south);
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    assert_placed(key, "north", "a");
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_REFUSED);
    harness_tick(h);
    assert_placed(key, "south", "a");
}

static void overload__no_more_offers_than_the_bound_wait_for_an_answer(void **state)
{
    (void)state;
    helio_broker_options_t options = helio_broker_options_default();
    options.offers_unanswered_max = 2;
    again(options);
    harness_pool(h, north, "a", "H100", 4, 8, 2.0);
    harness_join(h, NORTH, north);
    assert_int_equal(place_many(1, 5), 2);
    const helio_fx_order_t *order = harness_take(h, HELIO_BROKER_FX_ORDER);
    harness_say(h, NORTH, order->order.key, 1, HELIO_REPORT_KIND_ACCEPTED);
    harness_tick(h);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ORDER), 2);
    order = harness_take(h, HELIO_BROKER_FX_ORDER);
    harness_say(h, NORTH, order->order.key, 1, HELIO_REPORT_KIND_REFUSED);
    harness_summary(h, NORTH, north, 9, 0);
    harness_tick(h);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ORDER), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(place__the_order_is_complete_and_waits_for_the_placement_row),
        CASE(place__the_lowest_price_wins_over_home),
        CASE(place__goes_by_the_objective),
        CASE(place__an_unknown_price_matters_only_where_money_counts),
        CASE(place__home_breaks_a_tie),
        CASE(place__without_a_home_the_largest_free_share_breaks_a_tie),
        CASE(gpu__the_first_alternative_is_taken_even_if_it_costs_more),
        CASE(gpu__any_takes_the_cheapest_of_equal_alternatives),
        CASE(gpu__a_cheaper_model_that_is_named_later_says_so),
        CASE(gpu__a_cpu_job_runs_on_a_cpu_pool_and_is_bounded_by_its_cpus),
        CASE(gang__all_nodes_of_one_pool_or_none),
        CASE(capacity__a_placement_is_deducted_at_once),
        CASE(capacity__a_stale_summary_does_not_return_capacity),
        CASE(capacity__nodes_are_filled_best_fit),
        CASE(capacity__an_end_frees_its_capacity_before_the_next_summary),
        CASE(capacity__cpus_and_memory_bound_a_pool_that_declares_them),
        CASE(capacity__a_change_without_its_base_leads_to_a_resync),
        CASE(capacity__impossible_figures_do_no_harm),
        CASE(refusal__a_pool_gets_no_offer_until_its_next_summary),
        CASE(refusal__another_pool_takes_it_meanwhile),
        CASE(overload__no_more_offers_than_the_bound_wait_for_an_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
