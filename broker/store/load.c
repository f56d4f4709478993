/*  load.c -- what a new leader reads before its first step. Blocking, row by row. */
#include "broker/store/load.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "broker/store/access.h"
#include "broker/store/decode.h"
#include "broker/store/internal.h"
#include "federation/spec/spec.h"

typedef struct emitter {
    uint32_t kind;
    helio_store_emit_fn *emit;
    void *arg;
    helio_arena_t *arena; /* for one job's spec */
} emitter_t;

static helio_rc emit_row(void *arg, const void *record, helio_error_t *err)
{
    (void)err;
    const emitter_t *self = arg;
    self->emit(self->arg, self->kind, record);
    return HELIO_OK;
}

static helio_rc emit_job(void *arg, const void *record, helio_error_t *err)
{
    const emitter_t *self = arg;
    helio_ev_load_job_t event = {.row = *(const helio_row_job_t *)record};
    helio_diagnostic_t diagnostic;
    helio_arena_reset(self->arena);
    helio_spec_source_t source = {.text = event.row.source, .name = "stored job"};
    if (helio_spec_parse_job(source, self->arena, &event.spec, &diagnostic) != HELIO_OK) {
        char id[HELIO_ID_SIZE];
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t brief = {0};
        helio_uuid_text(event.row.job, id);
        helio_diagnostic_brief(&diagnostic, &brief);
        return helio_fail(err, HELIO_INVALID, "job %s was accepted by an older release and no longer parses: %.*s", id,
                          HELIO_TEXT_ARGS(helio_buffer_view(&brief)));
    }
    self->emit(self->arg, self->kind, &event);
    return HELIO_OK;
}

/*  Streaming needs the plain mode. The next batch enters pipeline mode again. */
static helio_rc plain_mode(helio_store_t *self, helio_error_t *err)
{
    assert(!self->in_flight);
    if (self->phase != HELIO_STORE_READY)
        return helio_session_lost(NULL, "not connected", err);
    if (PQpipelineStatus(self->connection) != PQ_PIPELINE_OFF && PQexitPipelineMode(self->connection) != 1)
        return helio_session_lost(self->connection, "", err);
    (void)PQsetnonblocking(self->connection, 0);
    return HELIO_OK;
}

/*  A leader that begins waits for a locked table as long as it must: it cannot begin with less. */
static helio_rc begin_reading(helio_store_t *self, helio_error_t *err)
{
    helio_rc rc = plain_mode(self, err);
    return rc == HELIO_OK
               ? helio_session_query(self->connection, "session_limits", 1, (const char *const[]){"0"}, NULL, err)
               : rc;
}

static helio_rc end_reading(helio_store_t *self, helio_error_t *err)
{
    char lock[24];
    helio_store_lock_text(self, lock);
    return helio_session_query(self->connection, "session_limits", 1, (const char *const[]){lock}, NULL, err);
}

/*  What does not depend on the moment at which it is read. */
static bool is_of_any_time(uint32_t kind)
{
    static const uint32_t kinds[] = {
        HELIO_BROKER_EV_LOAD_FEDERATION, HELIO_BROKER_EV_LOAD_TENANT, HELIO_BROKER_EV_LOAD_QUEUE,
        HELIO_BROKER_EV_LOAD_QUEUE_RULE, HELIO_BROKER_EV_LOAD_QUOTA,  HELIO_BROKER_EV_LOAD_BUDGET,
        HELIO_BROKER_EV_LOAD_OVERFLOW,   HELIO_BROKER_EV_LOAD_DATA,   HELIO_BROKER_EV_LOAD_LINK,
        HELIO_BROKER_EV_LOAD_SITE,       HELIO_BROKER_EV_LOAD_POOL};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (kinds[i] == kind)
            return true;
    return false;
}

helio_rc helio_load_each(PGconn *connection, int64_t usage_ms, bool with_jobs, helio_store_emit_fn *emit, void *arg,
                         helio_error_t *err)
{
    static const struct {
        uint32_t kind;
        const char *query;
        const helio_record_type_t *type;
    } parts[] = {
        {HELIO_BROKER_EV_LOAD_FEDERATION, "load_federation", &helio_row_federation_type},
        {HELIO_BROKER_EV_LOAD_TENANT, "load_tenant", &helio_row_tenant_type},
        {HELIO_BROKER_EV_LOAD_QUEUE, "load_queue", &helio_row_queue_type},
        {HELIO_BROKER_EV_LOAD_QUEUE_RULE, "load_queue_rule", &helio_row_queue_rule_type},
        {HELIO_BROKER_EV_LOAD_OVERFLOW, "load_overflow", &helio_row_overflow_type},
        {HELIO_BROKER_EV_LOAD_QUOTA, "load_quota", &helio_row_quota_type},
        {HELIO_BROKER_EV_LOAD_BUDGET, "load_budget", &helio_row_budget_type},
        {HELIO_BROKER_EV_LOAD_SPENT, "load_spent", &helio_row_spent_type},
        {HELIO_BROKER_EV_LOAD_USAGE, "load_usage", &helio_row_usage_type},
        {HELIO_BROKER_EV_LOAD_DATA, "load_data", &helio_row_data_type},
        {HELIO_BROKER_EV_LOAD_LINK, "load_link", &helio_row_link_type},
        {HELIO_BROKER_EV_LOAD_SITE, "load_site", &helio_row_site_type},
        {HELIO_BROKER_EV_LOAD_POOL, "load_pool", &helio_row_pool_type},
        {HELIO_BROKER_EV_LOAD_KEY, "load_key", &helio_row_key_type},
        {HELIO_BROKER_EV_LOAD_JOB, "load_job", &helio_row_job_type},
        {HELIO_BROKER_EV_LOAD_EDIT, "load_edit", &helio_row_edit_type},
        {HELIO_BROKER_EV_LOAD_STATE, "load_state", &helio_row_state_type},
        {HELIO_BROKER_EV_LOAD_WAITING, "load_waiting", &helio_row_waiting_type},
        {HELIO_BROKER_EV_LOAD_ENDED_HOLD, "load_ended_hold", &helio_row_ended_hold_type},
        {HELIO_BROKER_EV_LOAD_EARLIEST_START, "load_earliest_start", &helio_row_earliest_start_type},
        {HELIO_BROKER_EV_LOAD_TRANSFER, "load_transfer", &helio_row_transfer_type},
        {HELIO_BROKER_EV_LOAD_EXPECTED_USE, "load_expected_use", &helio_row_expected_use_type},
        {HELIO_BROKER_EV_LOAD_ACTUAL, "load_actual", &helio_row_actual_type},
        {HELIO_BROKER_EV_LOAD_SERIES, "load_series", &helio_row_series_type},
        {HELIO_BROKER_EV_LOAD_RUN, "load_run", &helio_row_run_type},
        {HELIO_BROKER_EV_LOAD_CLASS, "load_class", &helio_row_class_type},
        {HELIO_BROKER_EV_LOAD_GIVEN_UP, "load_given_up", &helio_row_given_up_type},
        {HELIO_BROKER_EV_LOAD_ESTIMATE, "load_estimate", &helio_row_ledger_type},
    };
    char usage[24];
    (void)snprintf(usage, sizeof usage, "%" PRId64, usage_ms);
    helio_rc rc = HELIO_OK;
    emitter_t emitter = {.emit = emit, .arg = arg, .arena = helio_arena_new()};
    for (size_t i = 0; rc == HELIO_OK && i < sizeof parts / sizeof parts[0]; i++) {
        emitter.kind = parts[i].kind;
        if (!with_jobs && !is_of_any_time(parts[i].kind))
            continue;
        rc = helio_decode_each(connection, parts[i].query, emitter.kind == HELIO_BROKER_EV_LOAD_USAGE ? usage : NULL,
                               parts[i].type, emitter.kind == HELIO_BROKER_EV_LOAD_JOB ? emit_job : emit_row, &emitter,
                               err);
    }
    helio_arena_destroy(&emitter.arena);
    return rc;
}

helio_rc helio_store_load(helio_store_t *self, helio_store_emit_fn *emit, void *arg, helio_error_t *err)
{
    helio_rc rc = begin_reading(self, err);
    if (rc == HELIO_OK)
        rc = helio_load_each(self->connection, self->usage_ms, true, emit, arg, err);
    return rc == HELIO_OK ? end_reading(self, err) : rc;
}

typedef struct site_key_visitor {
    helio_store_site_key_fn *visit;
    void *arg;
} site_key_visitor_t;

static helio_rc visit_site_key(void *arg, const void *record, helio_error_t *err)
{
    (void)err;
    const site_key_visitor_t *visitor = arg;
    visitor->visit(visitor->arg, record);
    return HELIO_OK;
}

helio_rc helio_store_each_token(helio_store_t *self, helio_store_token_fn *visit, void *arg, helio_error_t *err)
{
    helio_rc rc = begin_reading(self, err);
    if (rc == HELIO_OK)
        rc = helio_access_each_token(self->connection, visit, arg, err);
    return rc == HELIO_OK ? end_reading(self, err) : rc;
}

helio_rc helio_store_each_user(helio_store_t *self, helio_store_principal_fn *visit, void *arg, helio_error_t *err)
{
    helio_rc rc = begin_reading(self, err);
    if (rc == HELIO_OK)
        rc = helio_access_each_user(self->connection, visit, arg, err);
    return rc == HELIO_OK ? end_reading(self, err) : rc;
}

helio_rc helio_store_each_site_key(helio_store_t *self, helio_store_site_key_fn *visit, void *arg, helio_error_t *err)
{
    site_key_visitor_t visitor = {visit, arg};
    helio_rc rc = begin_reading(self, err);
    if (rc == HELIO_OK)
        rc = helio_decode_each(self->connection, "each_site_key", NULL, &helio_row_site_key_type, visit_site_key,
                               &visitor, err);
    return rc == HELIO_OK ? end_reading(self, err) : rc;
}
