/*  test_queue_order.c -- the scheduling order as people see it: job by job, what decides, and that a round keeps it. */
#include <stdio.h>
#include <string.h>

#include "federation/base/rng.h"
#include "tests/support/core_harness.h"

enum { NORTH = 1, MINUTE = 60000 };

static harness_t *h;
static helio_site_profile_t *north;
static helio_job_key_t first_job; /* it has the whole site */

/*  North has 16 H100 on 2 nodes, all taken by a job of nobody. */
static int begin(void **state)
{
    (void)state;
    h = harness_begin(NULL);
    static const char *const more[] = {"nobody", "third"};
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(
            harness_tenant(h, HELIO_ROLE_OPERATOR, (helio_ev_tenant_t){.tenant = helio_text_of(more[i])})->rc,
            HELIO_OK);
    north = harness_site(h, "north");
    (void)harness_pool(h, north, "a", "H100", 2, 8, 1);
    harness_join(h, NORTH, north);
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    spec.nodes = 2;
    spec.time_limit_ms = 60 * MINUTE;
    const helio_fx_reply_t *reply = harness_submit(h, "nobody", &spec);
    assert_int_equal(reply->rc, HELIO_OK);
    first_job = (helio_job_key_t){reply->jobs.items[0].job, HELIO_NO_TASK};
    harness_tick(h);
    harness_run_up_to(h, NORTH, first_job, 1, HELIO_JOB_RUNNING);
    return 0;
}

static int end(void **state)
{
    (void)state;
    harness_end(&h);
    return 0;
}

static helio_job_key_t submit(const char *tenant, const char *queue, uint32_t gpus)
{
    helio_job_spec_t spec = harness_spec(h, "H100", gpus);
    spec.queue = helio_text_of(queue);
    spec.time_limit_ms = 10 * MINUTE;
    const helio_fx_reply_t *reply = harness_submit(h, tenant, &spec);
    assert_int_equal(reply->rc, HELIO_OK);
    helio_job_key_t key = {reply->jobs.items[0].job, HELIO_NO_TASK};
    harness_tick(h);
    return key;
}

static const helio_queue_order_t *order_for(const char *tenant, helio_role_t role)
{
    while (harness_take(h, HELIO_BROKER_FX_ANSWER))
        continue;
    harness_wait(h, 1000); /* until then it is that of the last one */
    const helio_ev_queue_order_t event = {.call = 9, .tenant = helio_text_of(tenant), .role = role};
    harness_step(h, HELIO_BROKER_EV_QUEUE_ORDER, &event);
    const helio_fx_reply_t *answer = harness_take(h, HELIO_BROKER_FX_ANSWER);
    assert_true(answer && answer->call == 9 && answer->rc == HELIO_OK);
    return &answer->queue_order;
}

/*  "acme/standard 2 share, - /batch 1 last": each turn, its jobs, and why. */
static const char *turns(const char *tenant, helio_role_t role)
{
    static char text[2000];
    const helio_queue_order_t *order = order_for(tenant, role);
    int at = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < order->turns.count && at < (int)sizeof text - 100; i++) {
        const helio_queue_turn_t *turn = &order->turns.items[i];
        assert_int_equal(turn->jobs.count, turn->tenant.size ? turn->count : 0);
        at += snprintf(text + at, sizeof text - (size_t)at, "%s%.*s/%.*s %u %s", i ? ", " : "",
                       turn->tenant.size ? (int)turn->tenant.size : 1, turn->tenant.size ? turn->tenant.data : "-",
                       HELIO_TEXT_ARGS(turn->queue), (unsigned)turn->count, helio_turn_reason_name(turn->why));
    }
    return text;
}

static const char *all_turns(void)
{
    return turns("acme", HELIO_ROLE_OPERATOR);
}

static bool is_same(helio_job_key_t a, helio_job_key_t b)
{
    return helio_uuid_compare(a.job, b.job) == 0 && a.task == b.task;
}

static void order__is_empty_if_nobody_waits(void **state)
{
    (void)state;
    const helio_queue_order_t *order = order_for("acme", HELIO_ROLE_OPERATOR);
    assert_true(order->jobs == 0 && order->at_ms == harness_wall_ms(h));
    assert_int_equal(order->turns.count, 0);
    assert_int_equal(order->shares.count, 0);
}

static void order__alternates_between_tenants_with_equal_shares(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        (void)submit("acme", "standard", 4);
    (void)submit("other", "standard", 4);
    (void)submit("other", "standard", 4);
    assert_string_equal(all_turns(), "acme/standard 1 age, other/standard 2 share, acme/standard 2 last");
}

static void order__follows_weights_and_what_tenants_hold(void **state)
{
    (void)state;
    (void)harness_quota(h, "acme", "", HARNESS_AS_IS, HARNESS_AS_IS, 3000);
    for (int i = 0; i < 4; i++)
        (void)submit("acme", "standard", 1);
    (void)submit("other", "standard", 1);
    (void)submit("nobody", "standard", 1); /* it holds 16 GPUs */
    assert_string_equal(all_turns(), "acme/standard 1 age, other/standard 1 share, acme/standard 3 share, "
                                     "nobody/standard 1 last");
    const helio_queue_order_t *order = order_for("acme", HELIO_ROLE_OPERATOR);
    assert_int_equal(order->shares.count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        const helio_queue_share_t *share = &order->shares.items[i];
        bool acme = helio_text_is(share->tenant, "acme"), nobody = helio_text_is(share->tenant, "nobody");
        assert_int_equal(share->weight_milli, acme ? 3000 : 1000);
        assert_int_equal(share->jobs, acme ? 4 : 1);
        assert_int_equal(share->gpus, nobody ? 16 : 0);
        assert_true(nobody ? share->used_micro >= UINT64_C(16) * 3170000 : share->used_micro == 0);
    }
}

static void order__puts_tiers_priorities_and_guarantees_first(void **state)
{
    (void)state;
    (void)harness_quota(h, "other", "", 8, HARNESS_AS_IS, HARNESS_AS_IS);
    (void)submit("acme", "batch", 1);
    (void)submit("acme", "standard", 1);
    (void)submit("other", "standard", 8);
    (void)submit("other", "standard", 1);
    (void)submit("acme", "express", 1);
    assert_string_equal(all_turns(), "acme/express 1 tier, other/standard 1 guarantee, acme/standard 1 share, "
                                     "other/standard 1 tier, acme/batch 1 last");
}

/*  Its own jobs go by the priority that it gave them, then by age; equal jobs go together. */
static void order__of_one_account_is_by_priority_and_age(void **state)
{
    (void)state;
    helio_job_key_t a = submit("acme", "standard", 1), b = submit("acme", "standard", 2),
                    c = submit("acme", "standard", 1), d = submit("acme", "standard", 4);
    helio_ev_edit_t edit = {.priority_given = true, .priority = 5};
    assert_int_equal(harness_edit(h, "acme", HELIO_ROLE_USER, d, edit)->rc, HELIO_OK);
    harness_tick(h);
    const helio_queue_order_t *order = order_for("acme", HELIO_ROLE_USER);
    assert_int_equal(order->turns.count, 1);
    const helio_queue_turn_t *turn = order->turns.items;
    assert_int_equal(turn->count, 4);
    assert_true(is_same(turn->jobs.items[0].key, d) && is_same(turn->jobs.items[1].key, a));
    assert_true(is_same(turn->jobs.items[2].key, c) && is_same(turn->jobs.items[3].key, b));
}

/*  A tenant learns its own places, and how many of others are before and between them. */
static void order__names_no_other_tenant_but_to_operators(void **state)
{
    (void)state;
    (void)submit("other", "express", 1);
    (void)submit("third", "express", 1);
    (void)submit("acme", "standard", 1);
    (void)submit("other", "standard", 1);
    assert_string_equal(turns("acme", HELIO_ROLE_USER), "-/express 2 age, acme/standard 1 share, -/standard 1 last");
    assert_string_equal(turns("nobody", HELIO_ROLE_USER), "-/express 2 age, -/standard 2 share");
    const helio_queue_order_t *order = order_for("acme", HELIO_ROLE_USER);
    assert_int_equal(order->jobs, 4);
    assert_int_equal(order->shares.count, 1);
    assert_true(helio_text_is(order->shares.items[0].tenant, "acme"));
}

static void order__has_only_jobs_that_wait_for_room(void **state)
{
    (void)state;
    helio_job_spec_t capped = harness_spec(h, "H100", 4);
    capped.max_cost_micro_usd = 1;
    assert_int_equal(harness_submit(h, "acme", &capped)->rc, HELIO_OK);
    harness_tick(h);
    helio_job_key_t key = submit("acme", "standard", 1);
    const helio_queue_order_t *order = order_for("acme", HELIO_ROLE_USER);
    assert_int_equal(order->jobs, 1);
    assert_true(is_same(order->turns.items[0].jobs.items[0].key, key));
}

static void order__lists_the_first_ten_thousand(void **state)
{
    (void)state;
    uint32_t listed = 0;
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    for (uint32_t i = 0; i < 12000; i++) {
        spec.name = HELIO_TEXT("many");
        assert_int_equal(harness_submit(h, i % 2 ? "acme" : "other", &spec)->rc, HELIO_OK);
        while (harness_take(h, HELIO_BROKER_FX_REPLY))
            continue;
    }
    harness_tick(h);
    const helio_queue_order_t *order = order_for("acme", HELIO_ROLE_USER);
    assert_int_equal(order->jobs, 12000);
    for (uint32_t i = 0; i < order->turns.count; i++)
        listed += order->turns.items[i].count;
    assert_int_equal(listed, HELIO_QUEUE_ORDER_JOBS);
}

/*  Once there is room, the jobs that are placed are the first ones of the order, one by one. */
static void check_round(uint64_t seed)
{
    static const char *const tenants[] = {"acme", "other", "third"}, *const queues[] = {"standard", "batch"};
    helio_rng_t rng = {seed};
    const bool guarantees = seed % 2; /* for jobs of more GPUs, they reserve */
    for (uint32_t t = 0; t < 3; t++)
        (void)harness_quota(h, tenants[t], "", guarantees ? (int64_t)(helio_rng_next(&rng) % 3) : HARNESS_AS_IS,
                            HARNESS_AS_IS, 1000 + 500 * (int64_t)(helio_rng_next(&rng) % 4));
    for (uint32_t i = 0; i < 40; i++)
        (void)submit(tenants[helio_rng_next(&rng) % 3], queues[helio_rng_next(&rng) % 2],
                     guarantees ? 1 : 1 + (uint32_t)(helio_rng_next(&rng) % 2));
    const helio_queue_order_t *order = order_for("acme", HELIO_ROLE_OPERATOR);
    helio_job_key_t expected[16];
    uint32_t count = 0;
    for (uint32_t i = 0; i < order->turns.count; i++)
        for (uint32_t j = 0; j < order->turns.items[i].jobs.count && count < 16; j++)
            expected[count++] = order->turns.items[i].jobs.items[j].key;
    assert_int_equal(count, 16);
    while (harness_take(h, HELIO_BROKER_FX_ORDER))
        continue;
    harness_say(h, NORTH, first_job, 1, HELIO_REPORT_KIND_ENDED);
    harness_summary(h, NORTH, north, 0, 0);
    harness_tick(h);
    for (uint32_t i = 0; i < 8; i++) {
        const helio_fx_order_t *fx = harness_take(h, HELIO_BROKER_FX_ORDER);
        assert_non_null(fx);
        if (!is_same(fx->order.key, expected[i]))
            fail_msg("seed %u: place %u has another job", (unsigned)seed, i + 1);
    }
}

static void order__is_that_of_the_next_round(void **state)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        if (seed > 1)
            (void)begin(state);
        check_round(seed);
        if (seed < 20)
            (void)end(state);
    }
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(order__is_empty_if_nobody_waits),
        CASE(order__alternates_between_tenants_with_equal_shares),
        CASE(order__follows_weights_and_what_tenants_hold),
        CASE(order__puts_tiers_priorities_and_guarantees_first),
        CASE(order__of_one_account_is_by_priority_and_age),
        CASE(order__names_no_other_tenant_but_to_operators),
        CASE(order__has_only_jobs_that_wait_for_room),
        CASE(order__lists_the_first_ten_thousand),
        CASE(order__is_that_of_the_next_round),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
