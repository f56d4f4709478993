/*  test_lease_model.c -- leases beside a model of five lines: answers that come late, twice and out of order,
 * agents that sleep or are started again. No attempt outlives what was granted, and none ends before it must.
 */
#include "harness.h"

#include "federation/base/rng.h"
#include "site-agent/core/attempts.h"

enum { SEEDS = 150, STEPS = 80, ASKED_MAX = 8, STRICT = 1, LEASED = 2, EAGER = 3 };

typedef struct world {
    site_t site;
    helio_rng_t rng;
    uint64_t seed;
    int64_t asked_ms[ASKED_MAX]; /* renewals that are on their way; 0 = none */
    int64_t until_ms;            /* the model: by the last grant that lengthened it */
    int64_t until_wall_ms;       /* the same instant by the wall clock of that time */
    uint64_t lease_ms;
} world_t;

static uint32_t pick(world_t *world, uint32_t bound)
{
    return (uint32_t)helio_rng_below(&world->rng, bound);
}

static int64_t margin_ms(const world_t *world)
{
    int64_t quarter = (int64_t)(world->lease_ms / 4);
    return quarter < 60000 ? quarter : 60000;
}

static void model_grant(world_t *world, int64_t sent_ms, uint64_t lease_ms)
{
    if (sent_ms + (int64_t)lease_ms <= world->until_ms)
        return;
    world->until_ms = sent_ms + (int64_t)lease_ms;
    world->until_wall_ms = world->site.wall_ms + (world->until_ms - world->site.now_ms);
    world->lease_ms = lease_ms;
}

/*  What the core said in the last step: deadlines for the shims, renewals for the broker. */
static void listen(world_t *world)
{
    site_t *site = &world->site;
    for (uint32_t i = 0; i < site->log_count; i++) {
        if (site->log[i].kind == HELIO_AGENT_FX_LEASE) {
            const helio_afx_lease_t *lease = site->log[i].record;
            if (lease->deadline_boot_ms > world->until_ms - margin_ms(world))
                fail_msg("seed %llu: shims may run to %lld, the lease to %lld", (unsigned long long)world->seed,
                         (long long)lease->deadline_boot_ms, (long long)world->until_ms);
        } else if (site->log[i].kind == HELIO_AGENT_FX_SEND_RENEW) {
            world->asked_ms[pick(world, ASKED_MAX)] = ((helio_afx_renew_t *)site->log[i].record)->sent_boot_ms;
        } else if (site->log[i].kind == HELIO_AGENT_FX_STOP) {
            const helio_stop_t *stop = site->log[i].record;
            assert_int_equal(stop->cause, HELIO_CAUSE_LEASE_EXPIRED);
            assert_false(helio_job_key_equal(stop->key, key_of(STRICT)));
        }
    }
    clear_log(site);
}

static void open_anew(world_t *world)
{
    step(&world->site, HELIO_AGENT_EV_DISCONNECTED, NULL);
    int64_t hello_ms = world->site.now_ms;
    open_session(&world->site);
    model_grant(world, hello_ms, 900000);
    listen(world);
}

/*  An answer to any of the renewals, perhaps not for the last time. */
static void answer(world_t *world)
{
    static const uint64_t lengths_ms[] = {900000, 900000, 300000, 120000, 40000};
    uint32_t i = pick(world, ASKED_MAX);
    if (!world->asked_ms[i])
        return;
    helio_aev_renewed_t renewed = {world->asked_ms[i], lengths_ms[pick(world, 5)]};
    if (pick(world, 3))
        world->asked_ms[i] = 0;
    if (figures(&world->site).in_session)
        model_grant(world, renewed.sent_boot_ms, renewed.lease_ms);
    step(&world->site, HELIO_AGENT_EV_RENEWED, &renewed);
    listen(world);
}

/*  The state of an attempt: running, or the way in which it was stopped. */
static uint32_t mode_of(const world_t *world, uint8_t number)
{
    const helio_attempt_t *attempt = helio_attempt_find(world->site.core, key_of(number), 1);
    assert_true(attempt && !attempt->over);
    return attempt->state == HELIO_JOB_STOPPING ? attempt->stop_mode : HELIO_STOP_MODE_COUNT;
}

/*  False: the leased ones were stopped, as they should. */
static bool holds(const world_t *world)
{
    int64_t now_ms = world->site.now_ms, stop_ms = world->until_ms - margin_ms(world),
            kill_ms = world->until_ms - margin_ms(world) / 4;
    uint32_t expected = now_ms >= kill_ms   ? HELIO_STOP_MODE_KILL
                        : now_ms >= stop_ms ? HELIO_STOP_MODE_GRACE
                                            : HELIO_STOP_MODE_COUNT;
    assert_int_equal(mode_of(world, STRICT), HELIO_STOP_MODE_COUNT);
    for (uint8_t number = LEASED; number <= EAGER; number++)
        if (mode_of(world, number) != expected)
            fail_msg("seed %llu: %lld ms before the lease ends attempt %u is in mode %u, not %u",
                     (unsigned long long)world->seed, (long long)(world->until_ms - now_ms), number,
                     mode_of(world, number), expected);
    return expected == HELIO_STOP_MODE_COUNT;
}

static void start(world_t *world, uint64_t seed)
{
    memset(world, 0, sizeof *world);
    world->seed = seed;
    world->rng.state = seed;
    site_begin(&world->site);
    open_anew(world);
    static const uint32_t losses[] = {
        [STRICT] = HELIO_SITE_LOSS_STRICT, [LEASED] = HELIO_SITE_LOSS_LEASE, [EAGER] = HELIO_SITE_LOSS_EAGER};
    for (uint8_t number = STRICT; number <= EAGER; number++) {
        helio_order_t order = order_of(number, 1, 1, 2);
        order.on_site_loss = losses[number];
        give(&world->site, &order);
        backend_says(&world->site, number, 1, HELIO_BACKEND_REPORT_STARTED);
    }
    commit(&world->site);
    listen(world);
}

/*  Perhaps somebody has set the wall clock meanwhile, in some worlds forth and in some back: the earlier of
 * the two ends counts. */
static void be_started_again(world_t *world)
{
    commit(&world->site);
    if (pick(world, 3) == 0)
        world->site.wall_ms += world->seed % 2 ? 100000 : -100000;
    int64_t by_wall_ms = world->site.now_ms + (world->until_wall_ms - world->site.wall_ms);
    world->until_ms = by_wall_ms < world->until_ms ? by_wall_ms : world->until_ms;
    restart(&world->site);
    memset(world->asked_ms, 0, sizeof world->asked_ms);
    for (uint8_t number = STRICT; number <= EAGER; number++)
        backend_says(&world->site, number, 1, HELIO_BACKEND_REPORT_STARTED);
    listen(world);
}

/*  Returns how the leased ones ended. */
static uint32_t live(world_t *world)
{
    static const int64_t waits_ms[] = {1000, 10000, 30000, 89000, 90000, 200000};
    for (uint32_t i = 0; i < STEPS; i++) {
        uint32_t what = pick(world, 40);
        if (what < 18)
            later(&world->site, what == 0 && pick(world, 10) == 0 ? 7200000 : waits_ms[pick(world, 6)]);
        else if (what < 36)
            answer(world);
        else if (what < 37)
            step(&world->site, HELIO_AGENT_EV_DISCONNECTED, NULL);
        else if (what < 39)
            open_anew(world);
        else
            be_started_again(world);
        listen(world);
        step(&world->site, HELIO_AGENT_EV_TICK, NULL);
        listen(world);
        if (!holds(world))
            return mode_of(world, LEASED);
        commit(&world->site);
    }
    return HELIO_STOP_MODE_COUNT;
}

static void lease__holds_exactly_as_long_as_what_was_granted(void **state)
{
    (void)state;
    static world_t world;
    uint32_t ends[HELIO_STOP_MODE_COUNT + 1] = {0};
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        start(&world, seed);
        ends[live(&world)]++;
        site_end(&world.site);
    }
    for (uint32_t mode = 0; mode <= HELIO_STOP_MODE_COUNT; mode++)
        if (!ends[mode])
            fail_msg("no world ended in mode %u", mode);
}

/*  From polite to kill, with nobody heard from any more; the agent wakes by itself for both. */
static void lease__that_nobody_renews_ends_in_two_steps_at_their_times(void **state)
{
    (void)state;
    static world_t world;
    start(&world, 1);
    step(&world.site, HELIO_AGENT_EV_DISCONNECTED, NULL);
    int64_t stop_ms = world.until_ms - 60000, kill_ms = world.until_ms - 15000;
    later(&world.site, stop_ms - world.site.now_ms - 1);
    assert_int_equal(mode_of(&world, LEASED), HELIO_STOP_MODE_COUNT);
    later(&world.site, 1);
    assert_int_equal(mode_of(&world, LEASED), HELIO_STOP_MODE_GRACE);
    assert_int_equal(mode_of(&world, EAGER), HELIO_STOP_MODE_GRACE);
    later(&world.site, kill_ms - stop_ms - 1);
    assert_int_equal(mode_of(&world, LEASED), HELIO_STOP_MODE_GRACE);
    later(&world.site, 1);
    assert_int_equal(mode_of(&world, LEASED), HELIO_STOP_MODE_KILL);
    assert_int_equal(mode_of(&world, EAGER), HELIO_STOP_MODE_KILL);
    assert_int_equal(mode_of(&world, STRICT), HELIO_STOP_MODE_COUNT);
    site_end(&world.site);
}

/*  What was stopped stays so; what starts under the new lease ends with that. */
static void lease__that_is_granted_after_one_has_ended_holds_for_what_starts_then(void **state)
{
    (void)state;
    static world_t world;
    start(&world, 1);
    later(&world.site, 900000 - 60000);
    assert_int_equal(mode_of(&world, LEASED), HELIO_STOP_MODE_GRACE);
    clear_log(&world.site);
    helio_aev_renewed_t renewed = {world.site.now_ms, 900000};
    step(&world.site, HELIO_AGENT_EV_RENEWED, &renewed);
    helio_order_t order = order_of(4, 1, 1, 2);
    order.on_site_loss = HELIO_SITE_LOSS_LEASE;
    give(&world.site, &order);
    backend_says(&world.site, 4, 1, HELIO_BACKEND_REPORT_STARTED);
    later(&world.site, 900000 - 60001);
    assert_int_equal(mode_of(&world, 4), HELIO_STOP_MODE_COUNT);
    assert_int_equal(count_of(&world.site, HELIO_AGENT_FX_STOP), 0);
    later(&world.site, 1);
    assert_int_equal(mode_of(&world, 4), HELIO_STOP_MODE_GRACE);
    assert_int_equal(count_of(&world.site, HELIO_AGENT_FX_STOP), 1);
    later(&world.site, 45000);
    assert_int_equal(mode_of(&world, 4), HELIO_STOP_MODE_KILL);
    assert_int_equal(mode_of(&world, LEASED), HELIO_STOP_MODE_KILL);
    site_end(&world.site);
}

/*  Numbers that no honest broker sends grant nothing. */
static void lease__is_granted_by_no_senseless_answer(void **state)
{
    (void)state;
    static world_t world;
    start(&world, 1);
    const int64_t now_ms = world.site.now_ms;
    const helio_aev_renewed_t rows[] = {
        {now_ms, 0},
        {now_ms, UINT64_MAX},
        {now_ms, (uint64_t)INT32_MAX * 1000 + 1},
        {now_ms + 1, 900000}, /* an answer to what we have not asked yet */
        {INT64_MAX, 900000},
        {INT64_MAX - 1, UINT64_C(1) << 40},
        {INT64_MIN, 900000},
        {0, 900000},
        {now_ms - 900000, 900000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        step(&world.site, HELIO_AGENT_EV_RENEWED, &rows[i]);
        if (last_of(&world.site, HELIO_AGENT_FX_LEASE))
            fail_msg("row %zu was a grant", i);
    }
    later(&world.site, world.until_ms - 60000 - now_ms);
    assert_int_equal(mode_of(&world, LEASED), HELIO_STOP_MODE_GRACE);
    site_end(&world.site);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lease__holds_exactly_as_long_as_what_was_granted),
        cmocka_unit_test(lease__that_nobody_renews_ends_in_two_steps_at_their_times),
        cmocka_unit_test(lease__that_is_granted_after_one_has_ended_holds_for_what_starts_then),
        cmocka_unit_test(lease__is_granted_by_no_senseless_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
