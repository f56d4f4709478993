/*  test_writer.c -- two brokers and one database: who leads, what the other can still write, and what becomes of a
 *  batch whose answer was lost. */
#include "simulator/database/writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { LEASE_MS = 60000 };
static const helio_uuid_t no_mark;

typedef struct world {
    sim_database_t *database;
    sim_writer_t *first, *second;
    uint64_t leases_left_ms;
} world_t;

static int set_up(void **state)
{
    world_t *self = helio_new(1, sizeof *self);
    self->database = sim_database_new(&(sim_database_preset_t){0});
    self->first = sim_writer_new(self->database);
    self->second = sim_writer_new(self->database);
    *state = self;
    return 0;
}

static int tear_down(void **state)
{
    world_t *self = *state;
    sim_writer_destroy(&self->first);
    sim_writer_destroy(&self->second);
    sim_database_destroy(&self->database);
    free(self);
    return 0;
}

static helio_uuid_t job_of(uint8_t number)
{
    return (helio_uuid_t){.bytes = {[15] = number}};
}

static void seal_job(sim_writer_t *writer, uint8_t number)
{
    helio_row_job_t row = {.job = job_of(number), .source = HELIO_TEXT("run: x")};
    const helio_effect_t effect = {.kind = HELIO_BROKER_FX_ROW_JOB, .payload = &row};
    sim_writer_append(writer, &effect);
    sim_writer_seal(writer, no_mark);
}

static void one_leads_until_its_session_ends(void **state)
{
    world_t *self = *state;
    assert_true(sim_writer_lead(self->first, 0, LEASE_MS));
    assert_false(sim_writer_lead(self->second, 0, LEASE_MS));
    assert_true(sim_writer_is_newest(self->first));
    sim_writer_end_session(self->first);
    assert_true(sim_writer_is_newest(self->first)); /* nobody came after it */
    assert_true(sim_writer_lead(self->second, 0, LEASE_MS));
    assert_false(sim_writer_is_newest(self->first));
    assert_true(sim_writer_epoch(self->second) > sim_writer_epoch(self->first));
}

static void what_an_ended_session_sends_is_not_read(void **state)
{
    world_t *self = *state;
    assert_true(sim_writer_lead(self->first, 0, LEASE_MS));
    seal_job(self->first, 1);
    sim_writer_end_session(self->first);
    assert_int_equal(sim_writer_commit(self->first), SIM_WRITTEN_NOT);
    assert_false(sim_database_has_job(self->database, job_of(1)));
    assert_int_equal(sim_writer_resume(self->first), SIM_RESUMED_LOST);
    assert_int_equal(sim_writer_commit(self->first), SIM_WRITTEN);
    assert_true(sim_database_has_job(self->database, job_of(1)));
}

static void a_batch_whose_answer_was_lost_is_found_and_not_written_twice(void **state)
{
    world_t *self = *state;
    assert_true(sim_writer_lead(self->first, 0, LEASE_MS));
    seal_job(self->first, 1);
    assert_int_equal(sim_writer_commit(self->first), SIM_WRITTEN);
    sim_writer_end_session(self->first);
    assert_true(sim_writer_in_flight(self->first));
    assert_int_equal(sim_writer_resume(self->first), SIM_RESUMED_WRITTEN);
    assert_false(sim_writer_in_flight(self->first));
    seal_job(self->first, 2);
    assert_int_equal(sim_writer_commit(self->first), SIM_WRITTEN);
    assert_string_equal(sim_database_violation(self->database), "");
}

static void a_leader_that_was_replaced_writes_nothing_and_does_not_resume(void **state)
{
    world_t *self = *state;
    assert_true(sim_writer_lead(self->first, 0, LEASE_MS));
    seal_job(self->first, 1);
    assert_true(sim_writer_lose_lock(self->first)); /* its session lives on */
    assert_true(sim_writer_lead(self->second, 0, LEASE_MS));
    assert_int_equal(sim_writer_commit(self->first), SIM_WRITTEN_FENCED);
    assert_false(sim_database_has_job(self->database, job_of(1)));
    sim_writer_end_session(self->first);
    assert_int_equal(sim_writer_resume(self->first), SIM_RESUMED_FENCED);
    sim_writer_end_session(self->second);
    assert_int_equal(sim_writer_resume(self->first), SIM_RESUMED_FENCED); /* for ever */
}

static void a_leader_waits_for_its_own_lock(void **state)
{
    world_t *self = *state;
    assert_true(sim_writer_lead(self->first, 0, LEASE_MS));
    seal_job(self->first, 1);
    assert_int_equal(sim_writer_commit(self->first), SIM_WRITTEN);
    assert_true(sim_writer_lose_lock(self->first));
    assert_int_equal(sim_writer_resume(self->first), SIM_RESUMED_WRITTEN);
    assert_false(sim_writer_lead(self->second, 0, LEASE_MS));
}

static void on_load(void *arg, uint32_t kind, const void *payload)
{
    if (kind == HELIO_BROKER_EV_LOAD_FEDERATION)
        *(uint64_t *)arg = ((const helio_row_federation_t *)payload)->leases_left_ms;
}

static uint64_t leases_left(const world_t *self)
{
    uint64_t left_ms = 0;
    sim_database_load(self->database, 1, NULL, on_load, &left_ms);
    return left_ms;
}

static void a_new_leader_knows_how_long_the_leases_of_all_former_ones_last(void **state)
{
    world_t *self = *state;
    assert_true(sim_writer_lead(self->first, 1000, LEASE_MS));
    assert_int_equal(leases_left(self), 0);
    sim_writer_end_session(self->first);
    assert_true(sim_writer_lead(self->second, 5000, 1));
    assert_int_equal(leases_left(self), LEASE_MS); /* granted at the last moment */
    sim_writer_end_session(self->second);
    assert_true(sim_writer_lead(self->first, 15000, 1));
    assert_int_equal(leases_left(self), LEASE_MS - 10000);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(one_leads_until_its_session_ends),
        CASE(what_an_ended_session_sends_is_not_read),
        CASE(a_batch_whose_answer_was_lost_is_found_and_not_written_twice),
        CASE(a_leader_that_was_replaced_writes_nothing_and_does_not_resume),
        CASE(a_leader_waits_for_its_own_lock),
        CASE(a_new_leader_knows_how_long_the_leases_of_all_former_ones_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
