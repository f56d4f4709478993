/*  test_store.c -- two brokers and the ways to their database: who leads when, and what becomes of a batch. */
#include "simulator/daemons/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { SEEDS = 20 };

typedef struct side {
    sim_host_t host;
    sim_store_t *store;
    uint32_t leads, committed, answered, losses, returns, fenced;
    int64_t led_ms; /* the last time */
} side_t;

typedef struct world {
    sim_engine_t *engine;
    sim_database_t *database;
    sim_faults_t faults;
    side_t first, second;
} world_t;

static void on_leads(void *arg)
{
    ((side_t *)arg)->leads++;
}

static void on_committed(void *arg)
{
    ((side_t *)arg)->committed++;
}

static void on_answered(void *arg, uint64_t batch)
{
    (void)batch;
    ((side_t *)arg)->answered++;
}

static void on_connected(void *arg, bool is_connected)
{
    side_t *self = arg;
    self->losses += !is_connected;
    self->returns += is_connected;
}

static void on_fenced(void *arg)
{
    side_t *self = arg;
    self->fenced++;
    sim_store_crash(self->store, false, false);
    self->host.up = false;
}

static const sim_store_ends_t ends = {on_leads, on_committed, on_answered, on_connected, on_fenced};

static void begin_side(world_t *world, side_t *self)
{
    self->host = (sim_host_t){.clock = {.rate = 1}, .up = true, .life = 1};
    self->store = sim_store_new(&(sim_store_setup_t){.engine = world->engine,
                                                     .database = world->database,
                                                     .host = &self->host,
                                                     .faults = &world->faults,
                                                     .breaks = true,
                                                     .lease_ms = 60000,
                                                     .ends = &ends,
                                                     .arg = self});
    sim_store_seek(self->store);
}

/*  The first broker leads, and the second one stands by. */
static world_t *world_of(uint64_t seed)
{
    world_t *self = helio_new(1, sizeof *self);
    self->engine = sim_engine_new((sim_engine_options_t){.seed = seed});
    self->database = sim_database_new(&(sim_database_preset_t){0});
    begin_side(self, &self->first);
    begin_side(self, &self->second);
    assert_int_equal(self->first.leads, 1);
    assert_int_equal(self->second.leads, 0);
    return self;
}

static void world_end(world_t **self_p)
{
    world_t *self = *self_p;
    assert_string_equal(sim_database_violation(self->database), "");
    sim_store_destroy(&self->first.store);
    sim_store_destroy(&self->second.store);
    sim_database_destroy(&self->database);
    sim_engine_destroy(&self->engine);
    free(self);
    *self_p = NULL;
}

static void on_until(void *arg, sim_happening_t *item)
{
    (void)arg;
    (void)item;
}

static void run_until(world_t *self, int64_t until_ms)
{
    (void)sim_later(self->engine, until_ms - sim_now_ms(self->engine), on_until, NULL);
    while (sim_now_ms(self->engine) < until_ms) {
        uint32_t before = self->second.leads;
        assert_true(sim_engine_step(self->engine));
        if (self->second.leads > before)
            self->second.led_ms = sim_now_ms(self->engine);
    }
}

static void run_for(world_t *self, int64_t ms)
{
    run_until(self, sim_now_ms(self->engine) + ms);
}

static helio_uuid_t job_of(uint8_t number)
{
    return (helio_uuid_t){.bytes = {[15] = number}};
}

static void send_job(side_t *side, uint8_t number)
{
    sim_writer_t *writer = sim_store_writer(side->store);
    helio_row_job_t row = {.job = job_of(number), .source = HELIO_TEXT("run: x")};
    const helio_effect_t effect = {.kind = HELIO_BROKER_FX_ROW_JOB, .payload = &row};
    sim_writer_append(writer, &effect);
    sim_writer_seal(writer, (helio_uuid_t){{0}});
    sim_store_send(side->store, sim_writer_batch(writer));
}

static void a_batch_is_written_and_answered(void **state)
{
    (void)state;
    world_t *self = world_of(1);
    send_job(&self->first, 1);
    run_for(self, 100);
    assert_true(sim_database_has_job(self->database, job_of(1)));
    assert_int_equal(self->first.answered, 1);
    assert_int_equal(self->first.losses, 0);
    world_end(&self);
}

static void a_leader_that_dies_is_replaced_at_once_and_one_that_vanishes_after_its_session(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        for (int silently = 0; silently < 2; silently++) {
            world_t *self = world_of(seed);
            run_for(self, 5000);
            int64_t died_ms = sim_now_ms(self->engine);
            self->first.host.up = false;
            sim_store_crash(self->first.store, false, silently);
            run_for(self, 30000);
            assert_int_equal(self->second.leads, 1);
            assert_true(self->second.led_ms - died_ms >= (silently ? 12000 : 0));
            assert_true(self->second.led_ms - died_ms <= (silently ? 16000 : 1000));
            world_end(&self);
        }
}

static void pause_first(world_t *self, int64_t ms)
{
    self->first.host.paused_until_ms = sim_now_ms(self->engine) + ms;
    sim_store_paused(self->first.store);
}

static void a_leader_that_is_paused_shortly_leads_on(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        world_t *self = world_of(seed);
        send_job(&self->first, 1);
        pause_first(self, 10000);
        run_for(self, 9999);
        assert_true(sim_database_has_job(self->database, job_of(1)));
        assert_int_equal(self->first.answered, 0); /* it has not read the answer yet */
        run_for(self, 30000);
        assert_int_equal(self->first.answered, 1);
        assert_int_equal(self->first.losses, 0);
        assert_int_equal(self->second.leads, 0);
        world_end(&self);
    }
}

static void a_leader_that_is_paused_for_long_is_replaced_and_finds_out_when_it_wakes(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        world_t *self = world_of(seed);
        pause_first(self, 40000);
        run_for(self, 39999);
        assert_int_equal(self->second.leads, 1);
        assert_int_equal(self->first.fenced, 0);
        assert_true(sim_store_is_ready(self->first.store)); /* as it believes */
        send_job(&self->first, 1);
        run_for(self, 5000);
        assert_int_equal(self->first.losses, 1);
        assert_int_equal(self->first.fenced, 1);
        assert_false(sim_database_has_job(self->database, job_of(1)));
        assert_int_equal(self->faults.counts[SIM_FAULT_FENCED], 1);
        world_end(&self);
    }
}

static void a_leader_that_is_cut_off_shortly_loses_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        for (uint32_t directions = 1; directions <= 3; directions++) {
            world_t *self = world_of(seed);
            sim_store_cut(self->first.store, directions, sim_now_ms(self->engine) + 8000);
            send_job(&self->first, 1);
            run_for(self, 7999);
            assert_int_equal(sim_database_has_job(self->database, job_of(1)), directions == SIM_FROM_SERVER);
            assert_int_equal(self->first.answered, 0);
            run_for(self, 30000);
            assert_int_equal(self->first.answered, 1);
            assert_int_equal(self->first.losses, 0);
            world_end(&self);
        }
}

/*  Whenever a cut or a pause ends, the leader either leads on or learns that it does not. */
static void no_leader_waits_for_ever(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        for (uint32_t directions = 0; directions <= 3; directions++)
            for (int64_t ms = 9000; ms <= 17000; ms += 500) {
                world_t *self = world_of(seed);
                if (directions)
                    sim_store_cut(self->first.store, directions, sim_now_ms(self->engine) + ms);
                else
                    pause_first(self, ms);
                run_for(self, 20000);
                if (!self->first.fenced)
                    send_job(&self->first, 1);
                run_for(self, 40000);
                assert_int_equal(self->first.answered + self->first.fenced, 1);
                assert_int_equal(self->second.leads, self->first.fenced);
                world_end(&self);
            }
}

/*  If the server does not hear it, its session lives until it is idle. If it only does not hear the server, it closes
 *  the session itself, after 10 s. */
static void a_leader_that_is_cut_off_for_long_is_replaced_and_fenced(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        for (uint32_t directions = 1; directions <= 3; directions++) {
            world_t *self = world_of(seed);
            sim_store_cut(self->first.store, directions, sim_now_ms(self->engine) + 60000);
            send_job(&self->first, 1);
            run_for(self, 59999);
            assert_int_equal(self->first.losses, 1);
            assert_int_equal(self->second.leads, 1);
            assert_true(self->second.led_ms >= 10000 && self->second.led_ms <= 17000);
            assert_int_equal(self->first.fenced, 0);
            run_for(self, 20000);
            assert_int_equal(self->first.fenced, 1);
            assert_int_equal(self->first.answered, 0);
            assert_int_equal(sim_database_has_job(self->database, job_of(1)), directions == SIM_FROM_SERVER);
            world_end(&self);
        }
}

static void a_restart_of_the_server_leaves_a_commit_unknown_until_one_leads_again(void **state)
{
    (void)state;
    uint32_t resumed = 0, replaced = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        for (int arrived = 0; arrived < 2; arrived++) {
            world_t *self = world_of(seed);
            send_job(&self->first, 1);
            int64_t until_ms = sim_now_ms(self->engine) + 4000 + (int64_t)seed * 49; /* who comes first? */
            sim_store_restart(self->first.store, arrived, until_ms);
            sim_store_restart(self->second.store, arrived, until_ms);
            run_until(self, until_ms - 1);
            assert_int_equal(self->first.losses, 1);
            assert_int_equal(sim_database_has_job(self->database, job_of(1)), arrived);
            assert_int_equal(self->first.answered, 0);
            run_for(self, 20000);
            resumed += self->first.returns;
            replaced += self->second.leads;
            assert_int_equal(self->first.returns + self->second.leads, 1);
            assert_int_equal(self->first.answered, self->first.returns); /* never by one that does not lead */
            if (self->first.returns)
                assert_true(sim_database_has_job(self->database, job_of(1)));
            world_end(&self);
        }
    assert_true(resumed && replaced);
}

static void a_session_without_its_lock_is_fenced_by_its_next_batch(void **state)
{
    (void)state;
    world_t *self = world_of(1);
    assert_true(sim_store_lose_lock(self->first.store));
    run_for(self, 2000);
    assert_int_equal(self->second.leads, 1);
    assert_int_equal(self->first.fenced, 0);
    send_job(&self->first, 1);
    run_for(self, 100);
    assert_int_equal(self->first.fenced, 1);
    assert_false(sim_database_has_job(self->database, job_of(1)));
    world_end(&self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_is_written_and_answered),
        cmocka_unit_test(a_leader_that_dies_is_replaced_at_once_and_one_that_vanishes_after_its_session),
        cmocka_unit_test(a_leader_that_is_paused_shortly_leads_on),
        cmocka_unit_test(a_leader_that_is_paused_for_long_is_replaced_and_finds_out_when_it_wakes),
        cmocka_unit_test(a_leader_that_is_cut_off_shortly_loses_nothing),
        cmocka_unit_test(no_leader_waits_for_ever),
        cmocka_unit_test(a_leader_that_is_cut_off_for_long_is_replaced_and_fenced),
        cmocka_unit_test(a_restart_of_the_server_leaves_a_commit_unknown_until_one_leads_again),
        cmocka_unit_test(a_session_without_its_lock_is_fenced_by_its_next_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
