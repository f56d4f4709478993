/*  test_database.c -- the virtual database: each promise that the broker could break is seen when it is broken,
 * and a batch is applied whole or not at all. Every run of the fault campaign rests on both. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "federation/model/job.h"
#include "simulator/database/writer.h"

enum { GPUS = 8, HOUR_MS = 3600000 };
static const helio_uuid_t no_mark;

typedef struct world {
    sim_database_t *database;
    sim_writer_t *writer;                     /* it leads */
    uint32_t loads[HELIO_BROKER_EVENT_COUNT]; /* of a takeover */
    helio_row_state_t loaded;                 /* the last state of those */
    helio_row_federation_t federation;
} world_t;

static int set_up(void **state)
{
    static const helio_row_tenant_t tenants[] = {{.tenant = {"acme", 4}}};
    static const helio_row_queue_t queues[] = {{.queue = {"standard", 8}}};
    world_t *self = helio_new(1, sizeof *self);
    self->database = sim_database_new(&(sim_database_preset_t){tenants, 1, queues, 1});
    self->writer = sim_writer_new(self->database);
    assert_true(sim_writer_lead(self->writer, 0, 0));
    *state = self;
    return 0;
}

static int tear_down(void **state)
{
    world_t *self = *state;
    sim_writer_destroy(&self->writer);
    sim_database_destroy(&self->database);
    free(self);
    return 0;
}

/* ---- rows of a sound history: job 1 has one task, is placed twice, and ends the second time ------------ */

static helio_uuid_t job_of(uint8_t number)
{
    return (helio_uuid_t){.bytes = {[15] = number}};
}

static helio_job_key_t key_of(uint8_t number)
{
    return (helio_job_key_t){job_of(number), HELIO_NO_TASK};
}

static void put(world_t *self, uint32_t kind, const void *row)
{
    const helio_effect_t effect = {.kind = kind, .payload = (void *)(uintptr_t)row};
    sim_writer_append(self->writer, &effect);
}

static void commit(world_t *self)
{
    sim_writer_seal(self->writer, no_mark);
    assert_int_equal(sim_writer_commit(self->writer), SIM_WRITTEN);
    sim_writer_answered(self->writer);
}

static void put_job(world_t *self, uint8_t number)
{
    put(self, HELIO_BROKER_FX_ROW_JOB,
        &(helio_row_job_t){.job = job_of(number),
                           .tenant = HELIO_TEXT("acme"),
                           .queue = HELIO_TEXT("standard"),
                           .idempotency_key = HELIO_TEXT("once"),
                           .source = HELIO_TEXT("run: x"),
                           .gpus = GPUS});
}

static helio_row_state_t state_row(uint8_t number, uint32_t epoch, uint32_t state)
{
    return (helio_row_state_t){
        .key = key_of(number), .epoch = epoch, .state = state, .saved_ms = epoch * 1000, .exit_code = -1};
}

static void put_state(world_t *self, uint8_t number, uint32_t epoch, uint32_t state)
{
    helio_row_state_t row = state_row(number, epoch, state);
    put(self, HELIO_BROKER_FX_ROW_STATE, &row);
}

static void put_placement(world_t *self, uint8_t number, uint32_t epoch)
{
    put(self, HELIO_BROKER_FX_ROW_PLACEMENT,
        &(helio_row_placement_t){.key = key_of(number),
                                 .epoch = epoch,
                                 .site = HELIO_TEXT("lulea"),
                                 .gpus = GPUS,
                                 .expected_ms = HOUR_MS / 2,
                                 .transfer_micro_usd = 70,
                                 .transfer_j = 80,
                                 .transfer_carbon_mg = 90});
}

static void put_attempt(world_t *self, uint8_t number, uint32_t epoch, bool completes, bool fenced)
{
    put(self, HELIO_BROKER_FX_ROW_ATTEMPT,
        &(helio_row_attempt_t){.key = key_of(number), .epoch = epoch, .completes = completes, .fenced = fenced});
}

static void put_transition(world_t *self, uint64_t seq, uint32_t from, uint32_t to)
{
    put(self, HELIO_BROKER_FX_ROW_TRANSITION,
        &(helio_row_transition_t){.seq = seq, .key = key_of(1), .epoch = 1, .from = from, .to = to});
}

/*  A GPU of 1000 W for an hour: 1 kWh at 0.5 USD and 400 g, and 2 USD of rent. */
static helio_row_hourly_price_t price_row(void)
{
    return (helio_row_hourly_price_t){.hourly_price_id = 5,
                                      .site = HELIO_TEXT("lulea"),
                                      .watts_per_gpu = 500,
                                      .pue = 2,
                                      .price_usd_per_gpu_h = 2,
                                      .electricity_usd_per_kwh = 0.5,
                                      .carbon_g_per_kwh = 400};
}

static helio_row_ledger_t ledger_row(uint32_t epoch)
{
    return (helio_row_ledger_t){.key = key_of(1),
                                .epoch = epoch,
                                .tenant = HELIO_TEXT("acme"),
                                .site = HELIO_TEXT("lulea"),
                                .gpu_ms = HOUR_MS,
                                .energy_j = 3600000,
                                .carbon_mg = 400000,
                                .cost_micro_usd = 2500000,
                                .provenance = HELIO_TEXT("model"),
                                .hourly_price_id = 5};
}

static helio_row_ledger_t transfer_row(uint32_t epoch)
{
    return (helio_row_ledger_t){.key = key_of(1),
                                .epoch = epoch,
                                .tenant = HELIO_TEXT("acme"),
                                .site = HELIO_TEXT("lulea"),
                                .energy_j = 80,
                                .carbon_mg = 90,
                                .cost_micro_usd = 70,
                                .provenance = HELIO_TEXT("transfer"),
                                .part = HELIO_LEDGER_TRANSFER};
}

/*  The job, its first attempt that failed, and its second that runs. */
static void begin_history(world_t *self)
{
    put_job(self, 1);
    put_placement(self, 1, 1);
    put_transition(self, 1, HELIO_JOB_QUEUED, HELIO_JOB_OFFERED);
    put_transition(self, 2, HELIO_JOB_OFFERED, HELIO_JOB_QUEUED);
    put_attempt(self, 1, 1, false, false);
    helio_row_hourly_price_t price = price_row();
    put(self, HELIO_BROKER_FX_ROW_HOURLY_PRICE, &price);
    helio_row_ledger_t hour = ledger_row(1);
    put(self, HELIO_BROKER_FX_ROW_LEDGER, &hour);
    commit(self);
    put_placement(self, 1, 2);
    put_transition(self, 3, HELIO_JOB_QUEUED, HELIO_JOB_OFFERED);
    put_state(self, 1, 2, HELIO_JOB_RUNNING);
    commit(self);
}

static void end_history(world_t *self)
{
    put_attempt(self, 1, 2, true, false);
    put_state(self, 1, 2, HELIO_JOB_SUCCEEDED);
    helio_row_ledger_t transfer = transfer_row(2);
    put(self, HELIO_BROKER_FX_ROW_LEDGER, &transfer);
    commit(self);
}

static void put_baseline(world_t *self, uint64_t energy_j)
{
    put(self, HELIO_BROKER_FX_ROW_BASELINE,
        &(helio_row_baseline_t){
            .key = key_of(1), .energy_j = energy_j, .carbon_mg = 400090, .cost_micro_usd = 2500070});
}

static void a_broker_that_keeps_its_promises_causes_no_violation(void **state)
{
    world_t *self = *state;
    begin_history(self);
    end_history(self);
    put_baseline(self, 3600080);
    helio_row_hourly_price_t price = price_row();
    put(self, HELIO_BROKER_FX_ROW_HOURLY_PRICE, &price);     /* the same again */
    put_transition(self, 9, HELIO_JOB_HELD, HELIO_JOB_HELD); /* an edit moves nothing */
    put(self, HELIO_BROKER_FX_ROW_EDIT, &(helio_row_edit_t){.job = job_of(1), .queue = HELIO_TEXT("express")});
    commit(self);
    assert_string_equal(sim_database_violation(self->database), "");
    assert_int_equal(sim_database_completions(self->database, key_of(1)), 1);
    assert_int_equal(sim_database_ledger_gpu_ms(self->database, key_of(1), 1), HOUR_MS);
    assert_int_equal(sim_database_use(self->database, key_of(1)).carbon_mg, 400090);
    assert_true(sim_database_is_compared(self->database, key_of(1)));
    assert_true(helio_text_is(sim_database_edit(self->database, job_of(1))->queue, "express"));
    assert_int_equal(sim_database_edges_seen(self->database, HELIO_JOB_HELD), 0);
    assert_int_equal(sim_database_edges_seen(self->database, HELIO_JOB_OFFERED), UINT64_C(1) << HELIO_JOB_QUEUED);
}

/* ---- each promise broken, by one row that follows the begin of that history ---------------------------- */

static void a_job_is_stored_twice(world_t *self)
{
    put_job(self, 1);
}
static void a_state_has_no_job(world_t *self)
{
    put_state(self, 2, 0, HELIO_JOB_QUEUED);
}
static void an_epoch_goes_back(world_t *self)
{
    helio_row_state_t row = state_row(1, 1, HELIO_JOB_RUNNING);
    row.saved_ms = 2000;
    put(self, HELIO_BROKER_FX_ROW_STATE, &row);
}
static void what_was_saved_is_forgotten(world_t *self)
{
    helio_row_state_t row = state_row(1, 2, HELIO_JOB_RUNNING);
    row.saved_ms = 1999;
    put(self, HELIO_BROKER_FX_ROW_STATE, &row);
}
static void a_job_that_is_over_runs(world_t *self)
{
    end_history(self);
    put_state(self, 1, 2, HELIO_JOB_RUNNING);
}
static void a_job_waits_for_none(world_t *self)
{
    put(self, HELIO_BROKER_FX_ROW_DEPENDENCY, &(helio_row_dependency_t){.job = job_of(1), .on = key_of(7)});
}
static void a_transition_is_not_listed(world_t *self)
{
    put_transition(self, 4, HELIO_JOB_QUEUED, HELIO_JOB_RUNNING);
}
static void a_running_job_is_edited(world_t *self)
{
    put_transition(self, 4, HELIO_JOB_RUNNING, HELIO_JOB_RUNNING);
}
static void a_transitions_number_comes_again(world_t *self)
{
    put_transition(self, 3, HELIO_JOB_OFFERED, HELIO_JOB_ACCEPTED);
}
static void an_edit_is_of_no_job(world_t *self)
{
    put(self, HELIO_BROKER_FX_ROW_EDIT, &(helio_row_edit_t){.job = job_of(7)});
}
static void an_epoch_is_issued_twice(world_t *self)
{
    put_placement(self, 1, 2);
}
static void an_attempt_was_never_placed(world_t *self)
{
    put_attempt(self, 1, 3, false, false);
}
static void a_job_completes_twice(world_t *self)
{
    put_placement(self, 1, 3);
    put_state(self, 1, 3, HELIO_JOB_RUNNING);
    put_attempt(self, 1, 2, true, false);
    put_attempt(self, 1, 3, true, false);
}
static void a_fenced_attempt_completes(world_t *self)
{
    put_attempt(self, 1, 2, true, true);
}
static void an_attempt_that_failed_completes(world_t *self)
{
    put_attempt(self, 1, 1, true, false);
}
static void put_ledger(world_t *self, helio_row_ledger_t row)
{
    put(self, HELIO_BROKER_FX_ROW_LEDGER, &row);
}
static void an_hour_has_no_price(world_t *self)
{
    helio_row_ledger_t row = ledger_row(2);
    row.hourly_price_id = 6;
    put_ledger(self, row);
}
static void an_hour_has_the_price_of_another_hour(world_t *self)
{
    helio_row_ledger_t row = ledger_row(2);
    row.hour_ms = HOUR_MS;
    put_ledger(self, row);
}
static void an_hour_has_the_price_of_another_site(world_t *self)
{
    helio_row_ledger_t row = ledger_row(2);
    row.site = HELIO_TEXT("oregon");
    put_ledger(self, row);
}
static void energy_is_not_what_the_price_says(world_t *self)
{
    helio_row_ledger_t row = ledger_row(2);
    row.energy_j -= 3;
    put_ledger(self, row);
}
static void carbon_is_not_what_the_price_says(world_t *self)
{
    helio_row_ledger_t row = ledger_row(2);
    row.carbon_mg += 3;
    put_ledger(self, row);
}
static void cost_is_not_what_the_price_says(world_t *self)
{
    helio_row_ledger_t row = ledger_row(2);
    row.cost_micro_usd += 3;
    put_ledger(self, row);
}
static void a_price_changes(world_t *self)
{
    helio_row_hourly_price_t row = price_row();
    row.pue = 1.5;
    put(self, HELIO_BROKER_FX_ROW_HOURLY_PRICE, &row);
}
static void a_job_is_compared_twice(world_t *self)
{
    end_history(self);
    put_baseline(self, 3600080);
    put_baseline(self, 3600080);
}
static void a_job_is_compared_by_other_figures(world_t *self)
{
    end_history(self);
    put_baseline(self, 3600081);
}
static void a_transfer_is_charged_before_the_end(world_t *self)
{
    put_ledger(self, transfer_row(2));
}
static void a_transfer_is_charged_otherwise_than_placed(world_t *self)
{
    helio_row_ledger_t row = transfer_row(1);
    row.cost_micro_usd++;
    put_ledger(self, row);
}

static void put_basis(world_t *self, uint32_t basis)
{
    put(self, HELIO_BROKER_FX_ROW_ATTEMPT,
        &(helio_row_attempt_t){.key = key_of(1), .epoch = 2, .fenced = true, .basis = basis});
}
static void put_part(world_t *self, uint32_t part)
{
    helio_row_ledger_t row = ledger_row(2);
    row.fenced = true;
    row.part = part;
    put_ledger(self, row);
}
static void what_was_reported_is_corrected(world_t *self)
{
    put_basis(self, HELIO_ATTEMPT_REPORTED);
    put_basis(self, HELIO_ATTEMPT_CORRECTED);
}
static void what_was_not_estimated_is_reversed(world_t *self)
{
    put_basis(self, HELIO_ATTEMPT_GIVEN_UP);
    put_basis(self, HELIO_ATTEMPT_CORRECTED);
    put_part(self, HELIO_LEDGER_REVERSAL);
}
static void what_nobody_reported_is_reversed(world_t *self)
{
    put_basis(self, HELIO_ATTEMPT_GIVEN_UP);
    put_part(self, HELIO_LEDGER_ESTIMATE);
    put_part(self, HELIO_LEDGER_REVERSAL);
}

/*  Estimate, correction, and what comes again: the sums are those of one run. */
static void an_estimate__is_replaced_in_every_sum(void **state)
{
    world_t *self = *state;
    begin_history(self);
    uint64_t hour = sim_database_ledger_gpu_ms(self->database, key_of(1), 1);
    put_basis(self, HELIO_ATTEMPT_GIVEN_UP);
    put_part(self, HELIO_LEDGER_ESTIMATE);
    commit(self);
    assert_true(sim_database_was_given_up(self->database, key_of(1), 2));
    assert_int_equal(sim_database_ledger_gpu_ms(self->database, key_of(1), 2), hour);
    put_part(self, HELIO_LEDGER_USE);
    commit(self);
    assert_int_equal(sim_database_ledger_gpu_ms(self->database, key_of(1), 2), hour);
    for (int i = 0; i < 2; i++) {
        if (!i)
            put_basis(self, HELIO_ATTEMPT_CORRECTED);
        put_part(self, HELIO_LEDGER_REVERSAL);
        put_part(self, HELIO_LEDGER_MEASURED);
        put_part(self, HELIO_LEDGER_USE);
        commit(self);
        assert_false(sim_database_was_given_up(self->database, key_of(1), 2));
        assert_int_equal(sim_database_ledger_gpu_ms(self->database, key_of(1), 2), hour);
    }
    assert_string_equal(sim_database_violation(self->database), "");
}

#define BREACH(function)    \
    {                       \
#function, function \
    }
static const struct {
    const char *name;
    void (*commit)(world_t *self);
} breaches[] = {
    BREACH(a_job_is_stored_twice),
    BREACH(a_state_has_no_job),
    BREACH(an_epoch_goes_back),
    BREACH(what_was_saved_is_forgotten),
    BREACH(a_job_that_is_over_runs),
    BREACH(a_job_waits_for_none),
    BREACH(a_transition_is_not_listed),
    BREACH(a_running_job_is_edited),
    BREACH(a_transitions_number_comes_again),
    BREACH(an_edit_is_of_no_job),
    BREACH(an_epoch_is_issued_twice),
    BREACH(an_attempt_was_never_placed),
    BREACH(a_job_completes_twice),
    BREACH(a_fenced_attempt_completes),
    BREACH(an_attempt_that_failed_completes),
    BREACH(an_hour_has_no_price),
    BREACH(an_hour_has_the_price_of_another_hour),
    BREACH(an_hour_has_the_price_of_another_site),
    BREACH(energy_is_not_what_the_price_says),
    BREACH(carbon_is_not_what_the_price_says),
    BREACH(cost_is_not_what_the_price_says),
    BREACH(a_price_changes),
    BREACH(a_job_is_compared_twice),
    BREACH(a_job_is_compared_by_other_figures),
    BREACH(a_transfer_is_charged_before_the_end),
    BREACH(a_transfer_is_charged_otherwise_than_placed),
    BREACH(what_was_reported_is_corrected),
    BREACH(what_was_not_estimated_is_reversed),
    BREACH(what_nobody_reported_is_reversed),
};

static void each_broken_promise_is_a_violation(void **state)
{
    for (size_t i = 0; i < sizeof breaches / sizeof breaches[0]; i++) {
        assert_int_equal(tear_down(state), 0);
        assert_int_equal(set_up(state), 0);
        world_t *self = *state;
        begin_history(self);
        assert_string_equal(sim_database_violation(self->database), "");
        breaches[i].commit(self);
        assert_string_equal(sim_database_violation(self->database), ""); /* nothing counts before its commit */
        commit(self);
        if (!sim_database_violation(self->database)[0])
            fail_msg("not seen: %s", breaches[i].name);
    }
}

/* ---- batches ------------------------------------------------------------------------------------------- */

static void batch__is_applied_completely_or_not_at_all(void **state)
{
    world_t *self = *state;
    for (int arrived = 0; arrived < 2; arrived++) {
        uint8_t in_flight = (uint8_t)(10 + arrived), open = (uint8_t)(20 + arrived);
        put_job(self, in_flight);
        put_placement(self, in_flight, 1);
        sim_writer_seal(self->writer, no_mark);
        put_job(self, open);
        assert_true(sim_writer_in_flight(self->writer));
        assert_int_equal(sim_writer_open_rows(self->writer), 1);
        assert_false(sim_database_has_job(self->database, job_of(in_flight)));
        if (arrived)
            assert_int_equal(sim_writer_commit(self->writer), SIM_WRITTEN);
        sim_writer_crash(self->writer, false);
        assert_false(sim_writer_in_flight(self->writer));
        assert_int_equal(sim_writer_open_rows(self->writer), 0);
        assert_int_equal(sim_database_has_job(self->database, job_of(in_flight)), arrived);
        assert_int_equal(sim_database_has_placement(self->database, key_of(in_flight), 1), arrived);
        assert_false(sim_database_has_job(self->database, job_of(open))); /* it was never sent */
        assert_true(sim_writer_lead(self->writer, 0, 0));
        commit(self);
        assert_false(sim_database_has_job(self->database, job_of(open)));
    }
    assert_string_equal(sim_database_violation(self->database), "");
}

static void batch__keeps_the_last_state_of_each_job_whatever_the_order_of_its_rows(void **state)
{
    world_t *self = *state;
    put_state(self, 1, 1, HELIO_JOB_RUNNING);
    put_attempt(self, 1, 1, true, false);
    put_state(self, 1, 1, HELIO_JOB_SUCCEEDED);
    put_placement(self, 1, 1);
    put_state(self, 2, 0, HELIO_JOB_CANCELLED);
    put_job(self, 1);
    put_job(self, 2);
    commit(self);
    assert_string_equal(sim_database_violation(self->database), "");
    assert_int_equal(sim_database_state(self->database, key_of(1)).row.state, HELIO_JOB_SUCCEEDED);
    assert_int_equal(sim_database_state(self->database, key_of(2)).row.state, HELIO_JOB_CANCELLED);
    assert_int_equal(sim_database_found(self->database, key_of(1)), HELIO_FOUND_OK);
    assert_int_equal(sim_database_found(self->database, key_of(2)), HELIO_FOUND_NOT_OK);
    assert_int_equal(sim_database_found(self->database, key_of(3)), HELIO_FOUND_UNKNOWN);
}

/* ---- takeovers ----------------------------------------------------------------------------------------- */

static void parse(void *arg, helio_text_t source, helio_job_spec_t *ret_spec)
{
    (void)arg;
    (void)source;
    (void)ret_spec;
}

static void count_load(void *arg, uint32_t kind, const void *payload)
{
    world_t *self = arg;
    self->loads[kind]++;
    if (kind == HELIO_BROKER_EV_LOAD_STATE)
        self->loaded = *(const helio_row_state_t *)payload;
    if (kind == HELIO_BROKER_EV_LOAD_FEDERATION)
        self->federation = *(const helio_row_federation_t *)payload;
}

static void take_over(world_t *self)
{
    memset(self->loads, 0, sizeof self->loads);
    sim_writer_crash(self->writer, false);
    assert_true(sim_writer_lead(self->writer, 0, 0));
    sim_database_load(self->database, 42, parse, count_load, self);
}

static void takeover__loads_open_jobs_and_the_keys_of_the_others(void **state)
{
    world_t *self = *state;
    begin_history(self);
    take_over(self);
    assert_int_equal(self->federation.broker_epoch, 2);
    assert_int_equal(self->federation.last_transition_seq, 3);
    assert_int_equal(self->federation.seed, 42);
    assert_memory_equal(&self->federation.newest_job, &(helio_uuid_t){.bytes = {[15] = 1}}, sizeof(helio_uuid_t));
    assert_int_equal(self->loads[HELIO_BROKER_EV_LOAD_TENANT], 1);
    assert_int_equal(self->loads[HELIO_BROKER_EV_LOAD_QUEUE], 1);
    assert_int_equal(self->loads[HELIO_BROKER_EV_LOAD_JOB], 1);
    assert_int_equal(self->loads[HELIO_BROKER_EV_LOAD_STATE], 1);
    assert_int_equal(self->loaded.state, HELIO_JOB_RUNNING);
    assert_int_equal(self->loads[HELIO_BROKER_EV_LOAD_TRANSFER], 1); /* of its current attempt alone */
    assert_int_equal(self->loads[HELIO_BROKER_EV_LOAD_EXPECTED_USE], 2);
    assert_int_equal(self->loads[HELIO_BROKER_EV_LOAD_KEY], 0);
    end_history(self);
    take_over(self);
    assert_int_equal(self->federation.broker_epoch, 3);
    assert_int_equal(self->loads[HELIO_BROKER_EV_LOAD_JOB], 0);
    assert_int_equal(self->loads[HELIO_BROKER_EV_LOAD_STATE], 0);
    assert_int_equal(self->loads[HELIO_BROKER_EV_LOAD_TRANSFER], 0);
    assert_int_equal(self->loads[HELIO_BROKER_EV_LOAD_KEY], 1); /* its submission still answers the same */
    assert_string_equal(sim_database_violation(self->database), "");
}

static void takeover__with_an_open_job_below_the_mark_is_a_violation(void **state)
{
    world_t *self = *state;
    put_job(self, 1);
    put_job(self, 9);
    sim_writer_seal(self->writer, job_of(9));
    assert_int_equal(sim_writer_commit(self->writer), SIM_WRITTEN);
    assert_string_equal(sim_database_violation(self->database), "");
    take_over(self);
    assert_int_equal(self->loads[HELIO_BROKER_EV_LOAD_JOB], 1);
    assert_true(sim_database_violation(self->database)[0]);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_broker_that_keeps_its_promises_causes_no_violation),
        CASE(each_broken_promise_is_a_violation),
        CASE(an_estimate__is_replaced_in_every_sum),
        CASE(batch__is_applied_completely_or_not_at_all),
        CASE(batch__keeps_the_last_state_of_each_job_whatever_the_order_of_its_rows),
        CASE(takeover__loads_open_jobs_and_the_keys_of_the_others),
        CASE(takeover__with_an_open_job_below_the_mark_is_a_violation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
