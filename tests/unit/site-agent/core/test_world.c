/*  A random world around one agent: orders, repeats, stops, crashes at any point, lost connections, a backend
 * that keeps what it was told. After every step: no GPU is given twice, no attempt runs twice, nothing acts
 * before it is durable. */
#include "harness.h"

#include "federation/base/rng.h"
#include "site-agent/core/attempts.h"

enum { KEYS = 12, EPOCHS = 24, STEPS = 5000, SEEDS = 8 };

typedef struct run {
    bool started; /* the backend holds it */
    bool ended;
    uint32_t starts; /* processes that ever began */
    bool stop_asked;
} run_t;

typedef struct world {
    site_t *site;
    helio_rng_t rng;
    run_t runs[KEYS][EPOCHS];
    uint32_t epoch[KEYS]; /* highest ordered */
    bool connected;
    uint64_t acked, seq_sent;
    entry_t held[LOG_MAX]; /* effects that wait for their batch */
    uint32_t held_count;
} world_t;

static uint32_t pick(world_t *world, uint32_t bound)
{
    return (uint32_t)helio_rng_below(&world->rng, bound);
}

static run_t *run_of(world_t *world, const helio_order_t *order)
{
    assert_true(order->key.job.bytes[15] < KEYS && order->epoch < EPOCHS);
    return &world->runs[order->key.job.bytes[15]][order->epoch];
}

/*  The core spoke: hold what waits for a commit. */
static void listen(world_t *world)
{
    for (uint32_t i = 0; i < world->site->log_count; i++)
        if (helio_agent_effects[world->site->log[i].kind].release == HELIO_RELEASE_HELD)
            world->held[world->held_count++] = world->site->log[i];
    clear_log(world->site);
}

static void carry_out(world_t *world, const entry_t *effect)
{
    site_t *site = world->site;
    if (effect->kind == HELIO_AGENT_FX_START) {
        run_t *run = run_of(world, &((helio_afx_start_t *)effect->record)->order);
        if (!run->started) { /* by its name it starts once, whatever is asked */
            run->started = true;
            run->starts++;
        }
    } else if (effect->kind == HELIO_AGENT_FX_ADOPT) {
        const helio_order_t *order = &((helio_afx_start_t *)effect->record)->order;
        run_t *run = run_of(world, order);
        uint32_t word = !run->started ? HELIO_BACKEND_REPORT_ABSENT
                        : run->ended  ? HELIO_BACKEND_REPORT_ENDED
                                      : HELIO_BACKEND_REPORT_STARTED;
        backend_says(site, order->key.job.bytes[15], order->epoch, word);
        listen(world);
    } else if (effect->kind == HELIO_AGENT_FX_STOP) {
        const helio_stop_t *stop = effect->record;
        world->runs[stop->key.job.bytes[15]][stop->epoch].stop_asked = true;
    } else if (effect->kind == HELIO_AGENT_FX_SEND_REPORT && world->connected) {
        const helio_report_t *report = effect->record;
        if (report->seq > world->seq_sent)
            world->seq_sent = report->seq;
    }
}

static void commit_and_release(world_t *world)
{
    uint64_t batch = world->site->batch;
    commit(world->site);
    uint32_t count = world->held_count;
    for (uint32_t i = 0; i < count; i++) {
        assert_true(world->held[i].batch <= batch);
        entry_t effect = world->held[i];
        carry_out(world, &effect);
    }
    memmove(world->held, world->held + count, (world->held_count - count) * sizeof world->held[0]);
    world->held_count -= count;
}

static void order_something(world_t *world)
{
    if (!world->connected && pick(world, 20))
        return;
    uint8_t key = (uint8_t)pick(world, KEYS);
    uint32_t kind = pick(world, 8);
    if (kind == 0 && world->epoch[key] + 1 < EPOCHS)
        world->epoch[key]++;
    uint32_t epoch = kind == 1 && world->epoch[key] ? 1 + pick(world, world->epoch[key]) : world->epoch[key];
    if (!epoch)
        return;
    helio_order_t order = order_of(key, epoch, 1 + pick(world, 2), 1 + pick(world, 6));
    order.on_site_loss = pick(world, 3);
    give(world->site, &order);
}

static void backend_moves(world_t *world)
{
    uint8_t key = (uint8_t)pick(world, KEYS);
    uint32_t epoch = pick(world, EPOCHS);
    run_t *run = &world->runs[key][epoch];
    if (!run->started || run->ended)
        return;
    if (pick(world, 2)) {
        backend_says(world->site, key, epoch, HELIO_BACKEND_REPORT_STARTED);
        return;
    }
    run->ended = true;
    helio_aev_backend_t event = backend_of(key, epoch, HELIO_BACKEND_REPORT_ENDED);
    event.stopped = run->stop_asked;
    event.run_ms = 10;
    step(world->site, HELIO_AGENT_EV_BACKEND, &event);
}

static void crash(world_t *world)
{
    world->held_count = 0;
    world->connected = false;
    restart(world->site);
}

static void reconnect(world_t *world)
{
    step(world->site, HELIO_AGENT_EV_DISCONNECTED, NULL);
    open_until_inventory(world->site);
    uint8_t key = (uint8_t)pick(world, KEYS);
    rule_on(world->site, key, world->epoch[key], pick(world, HELIO_VERDICT_COUNT), true);
    world->connected = true;
}

static void stop_something(world_t *world)
{
    uint8_t key = (uint8_t)pick(world, KEYS);
    if (world->epoch[key])
        stop_it(world->site, key, 1 + pick(world, world->epoch[key]), pick(world, 2));
}

static void move(world_t *world)
{
    uint32_t what = pick(world, 100);
    if (what < 30)
        order_something(world);
    else if (what < 60)
        backend_moves(world);
    else if (what < 66)
        stop_something(world);
    else if (what < 72)
        later(world->site, pick(world, 100000));
    else if (what < 78)
        reconnect(world);
    else if (what < 79)
        crash(world);
    else if (what < 84 && world->connected)
        acknowledge(world->site, world->seq_sent);
    else
        commit_and_release(world);
    listen(world);
}

static void check_gpus(const world_t *world)
{
    uint64_t taken[4] = {0};
    for (const helio_attempt_t *attempt = world->site->core->attempts.first; attempt; attempt = attempt->next) {
        if (attempt->over)
            continue;
        assert_int_equal(attempt->slot_count, attempt->order.nodes);
        for (uint32_t i = 0; i < attempt->slot_count; i++)
            for (uint32_t g = 0; g < attempt->slots[i].gpus.count; g++) {
                uint64_t bit = UINT64_C(1) << attempt->slots[i].gpus.items[g];
                assert_false(taken[attempt->slots[i].node] & bit);
                taken[attempt->slots[i].node] |= bit;
            }
    }
}

static void check(const world_t *world)
{
    check_gpus(world);
    for (uint32_t k = 0; k < KEYS; k++)
        for (uint32_t e = 0; e < EPOCHS; e++) {
            const run_t *run = &world->runs[k][e];
            assert_true(run->starts <= 1);
            if (!run->started || run->ended)
                continue;
            /* What runs is held: the intent was durable before the backend was called. */
            assert_non_null(helio_attempt_find(world->site->core, key_of((uint8_t)k), e));
        }
}

static void world__holds_its_promises_under_crashes_at_any_point(void **state)
{
    (void)state;
    static site_t site;
    static world_t world;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        site_begin(&site);
        memset(&world, 0, sizeof world);
        world.site = &site;
        world.rng.state = seed;
        uint32_t ran = 0, most = KEYS * EPOCHS;
        for (uint32_t i = 0; i < STEPS; i++) {
            move(&world);
            check(&world);
        }
        for (uint32_t k = 0; k < KEYS; k++)
            for (uint32_t e = 0; e < EPOCHS; e++)
                ran += world.runs[k][e].starts;
        if (ran < 20 || ran > most)
            fail_msg("%u of %u ran", ran, most); /* the world did live */
        site_end(&site);
    }
}

static void world__loses_no_report_whatever_crashes(void **state)
{
    (void)state;
    static site_t site;
    static world_t world;
    for (uint64_t seed = 100; seed < 100 + SEEDS; seed++) {
        site_begin(&site);
        memset(&world, 0, sizeof world);
        world.site = &site;
        world.rng.state = seed;
        for (uint32_t i = 0; i < STEPS; i++)
            move(&world);
        /* All ends, all is told, all is acknowledged: then nothing may be held. */
        crash(&world);
        listen(&world);
        reconnect(&world);
        listen(&world);
        for (uint32_t round = 0; round < 3; round++) {
            commit_and_release(&world);
            for (uint8_t k = 0; k < KEYS; k++)
                for (uint32_t e = 1; e < EPOCHS; e++)
                    if (world.runs[k][e].started) {
                        backend_says(&site, k, e, HELIO_BACKEND_REPORT_ENDED);
                        world.runs[k][e].ended = true;
                        listen(&world);
                    }
        }
        commit_and_release(&world);
        acknowledge(&site, world.seq_sent);
        assert_int_equal(figures(&site).attempts, 0);
        assert_int_equal(figures(&site).reports_pending, 0);
        site_end(&site);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(world__holds_its_promises_under_crashes_at_any_point),
        cmocka_unit_test(world__loses_no_report_whatever_crashes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
