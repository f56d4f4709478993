/*  snapshot_read.c -- the live state, or a time that is over, in one transaction. */
#include "broker/store/snapshot_read.h"

#include "broker/store/decode.h"
#include "broker/store/load.h"
#include "federation/policy/fair_share.h"
#include "federation/spec/spec.h"

typedef struct adder {
    helio_buffer_t *out;
    uint32_t kind;
    helio_rc rc; /* of the first part that could not be added */
    helio_error_t *err;
    helio_arena_t *arena; /* for one job's spec */
} adder_t;

/*  A rehearsal repeats no key, and corrects no attempt that was given up. */
static void add_loaded(void *arg, uint32_t kind, const void *payload)
{
    adder_t *self = arg;
    if (self->rc == HELIO_OK && kind != HELIO_BROKER_EV_LOAD_KEY && kind != HELIO_BROKER_EV_LOAD_GIVEN_UP &&
        kind != HELIO_BROKER_EV_LOAD_ESTIMATE)
        self->rc = helio_snapshot_add(kind, payload, self->out, self->err);
}

static helio_rc add_row(void *arg, const void *record, helio_error_t *err)
{
    const adder_t *self = arg;
    return helio_snapshot_add(self->kind, record, self->out, err);
}

/*  A document of an older release that no longer parses is left out. */
static helio_rc add_past_job(void *arg, const void *record, helio_error_t *err)
{
    const adder_t *self = arg;
    helio_ev_load_job_t job = {.row = *(const helio_row_job_t *)record};
    helio_diagnostic_t diagnostic;
    helio_arena_reset(self->arena);
    helio_spec_source_t source = {.text = job.row.source, .name = "stored job"};
    if (helio_spec_parse_stored_job(source, self->arena, &job.spec, &diagnostic) != HELIO_OK)
        return HELIO_OK;
    return helio_snapshot_add(HELIO_SNAPSHOT_PAST_JOB, &job, self->out, err);
}

static helio_rc add_query(PGconn *connection, adder_t *self, uint32_t kind, const char *query, const char *parameter,
                          const helio_record_type_t *type, helio_error_t *err)
{
    self->kind = kind;
    return helio_decode_each(connection, query, parameter, type,
                             kind == HELIO_SNAPSHOT_PAST_JOB ? add_past_job : add_row, self, err);
}

typedef struct part_query {
    uint32_t kind;
    const char *query;
    const helio_record_type_t *type;
} part_query_t;

static helio_rc add_queries(PGconn *connection, adder_t *self, const part_query_t *parts, size_t count,
                            const char *parameter, helio_error_t *err)
{
    helio_rc rc = HELIO_OK;
    for (size_t i = 0; rc == HELIO_OK && i < count; i++)
        rc = add_query(connection, self, parts[i].kind, parts[i].query, parameter, parts[i].type, err);
    return rc;
}

static helio_rc add_live(PGconn *connection, adder_t *self, helio_error_t *err)
{
    static const part_query_t parts[] = {
        {HELIO_SNAPSHOT_CAPACITY, "load_capacity", &helio_row_capacity_type},
        {HELIO_SNAPSHOT_SERIES, "load_ahead", &helio_row_series_type},
    };
    helio_rc rc = helio_load_each(connection, HELIO_SHARE_MEMORY_MS, true, add_loaded, self, err);
    rc = rc == HELIO_OK ? self->rc : rc;
    return rc == HELIO_OK ? add_queries(connection, self, parts, sizeof parts / sizeof parts[0], NULL, err) : rc;
}

static helio_rc add_past(PGconn *connection, adder_t *self, const char *hours, helio_error_t *err)
{
    static const part_query_t parts[] = {
        {HELIO_SNAPSHOT_PAST, "load_past", &helio_snapshot_past_type},
        {HELIO_BROKER_EV_LOAD_ACTUAL, "load_past_actual", &helio_row_actual_type},
        {HELIO_SNAPSHOT_SERIES, "load_past_series", &helio_row_series_type},
        {HELIO_SNAPSHOT_PAST_JOB, "load_past_job", &helio_row_job_type},
        {HELIO_SNAPSHOT_PAST_RUN, "load_past_run", &helio_snapshot_run_type},
    };
    helio_rc rc = helio_load_each(connection, 0, false, add_loaded, self, err);
    rc = rc == HELIO_OK ? self->rc : rc;
    return rc == HELIO_OK ? add_queries(connection, self, parts, sizeof parts / sizeof parts[0], hours, err) : rc;
}

static helio_rc add_all(PGconn *connection, const char *hours, helio_buffer_t *out, helio_error_t *err)
{
    adder_t self = {.out = out, .err = err, .arena = helio_arena_new()};
    helio_rc rc =
        add_query(connection, &self, HELIO_SNAPSHOT_TAKEN, "load_taken", NULL, &helio_snapshot_taken_type, err);
    if (rc == HELIO_OK)
        rc = hours ? add_past(connection, &self, hours, err) : add_live(connection, &self, err);
    helio_arena_destroy(&self.arena);
    return rc;
}

helio_rc helio_snapshot_read(PGconn *connection, const char *hours, helio_buffer_t *out, helio_error_t *err)
{
    helio_snapshot_begin(out);
    helio_rc rc = helio_session_run(connection, "snapshot", "begin isolation level repeatable read, read only", err);
    if (rc != HELIO_OK)
        return rc;
    rc = add_all(connection, hours, out, err);
    helio_error_t end = {0};
    helio_rc ended = helio_session_run(connection, "snapshot", rc == HELIO_OK ? "commit" : "rollback", &end);
    if (rc == HELIO_OK && ended != HELIO_OK)
        *err = end;
    return rc == HELIO_OK ? ended : rc;
}
