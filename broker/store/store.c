/*  store.c -- the writer's life and its batches; link.c moves the connection. */
#include <assert.h>
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/store/internal.h"
#include "federation/base/clock.h"

enum {
    COMMIT_DEADLINE_DEFAULT_MS = 10000,
    ROWS_PER_MS_LEAST = 10,
    DOUBLINGS_MAX = 6,
    NUMBER_SIZE = 24,
    HEAD_START_ROWS = 200 /* of a batch whose first statements are sent before the rest is ready */
};

helio_store_t *helio_store_new(helio_store_options_t options)
{
    helio_store_t *self = helio_new(1, sizeof *self);
    self->conninfo = helio_strdup(options.conninfo);
    self->lease_ms = options.lease_ms;
    self->commit_deadline_ms =
        options.commit_deadline_ms ? options.commit_deadline_ms : COMMIT_DEADLINE_DEFAULT_MS;
    self->open = helio_batch_new();
    self->flight = helio_batch_new();
    self->open_number = 1;
    self->deadline_ms = INT64_MAX;
    return self;
}

void helio_store_destroy(helio_store_t **self_p)
{
    helio_store_t *self = *self_p;
    if (!self)
        return;
    helio_session_finish(&self->connection);
    helio_batch_destroy(&self->open);
    helio_batch_destroy(&self->flight);
    free(self->expected);
    free(self->conninfo);
    free(self);
    *self_p = NULL;
}

static helio_rc take_lead(helio_store_t *self, helio_error_t *err)
{
    char holder[HELIO_SESSION_HOLDER_SIZE], grants_ms[24];
    helio_session_holder(holder);
    (void)snprintf(grants_ms, sizeof grants_ms, "%llu", (unsigned long long)self->lease_ms);
    HELIO_AUTO(helio_session_clear_result) PGresult *answer = NULL;
    helio_rc rc = helio_session_query(self->connection, "session_lead", 2,
                                      (const char *const[]){holder, grants_ms}, &answer, err);
    if (rc != HELIO_OK)
        return rc == HELIO_INVALID ? HELIO_UNAVAILABLE
                                   : rc; /* rights, a standby: may be mended, and tried again */
    if (strcmp(PQgetvalue(answer, 0, 0), "t") != 0)
        return helio_fail(err, HELIO_BUSY, "another broker leads (it holds the database's leader lock)");
    self->epoch = strtoull(PQgetvalue(answer, 0, 1), NULL, 10);
    return HELIO_OK;
}

helio_rc helio_store_open(helio_store_t *self, helio_error_t *err)
{
    assert(!self->in_flight && helio_batch_rows(self->open) == 0);
    helio_session_finish(&self->connection);
    self->phase = HELIO_STORE_CLOSED;
    self->connection = helio_session_connect(self->conninfo, "helio-broker", err);
    if (!self->connection)
        return HELIO_UNAVAILABLE;
    helio_rc rc = helio_session_verify(self->connection, err);
    if (rc == HELIO_OK)
        rc = take_lead(self, err);
    if (rc == HELIO_OK)
        rc = helio_store_prepare(self->connection, err);
    if (rc != HELIO_OK) {
        helio_session_finish(&self->connection);
        return rc;
    }
    helio_store_listen(self);
    self->open_number = 1;
    self->committed = 0;
    self->backoff_ms = 0;
    self->deadline_ms = INT64_MAX;
    self->phase = HELIO_STORE_READY;
    return HELIO_OK;
}

void helio_store_append(helio_store_t *self, const helio_effect_t *effect)
{
    assert(effect->release == HELIO_RELEASE_ROW);
    helio_batch_append(self->open, effect);
}

uint64_t helio_store_open_batch(const helio_store_t *self)
{
    return self->open_number;
}

uint32_t helio_store_open_rows(const helio_store_t *self)
{
    return helio_batch_rows(self->open);
}

bool helio_store_can_seal(const helio_store_t *self)
{
    return self->phase == HELIO_STORE_READY && !self->in_flight && helio_batch_rows(self->open) > 0;
}

/*  The first batch is where pipeline mode begins: what is read at the start needs the other one. */
static bool enter_pipeline(PGconn *connection)
{
    return PQpipelineStatus(connection) == PQ_PIPELINE_ON ||
           (PQsetnonblocking(connection, 1) == 0 && PQenterPipelineMode(connection) == 1);
}

static bool send_plain(helio_store_t *self, const char *statement)
{
    helio_store_expect(self, statement);
    return PQsendQueryParams(self->connection, statement, 0, NULL, NULL, NULL, NULL, 0) == 1;
}

static bool send_take_batch(helio_store_t *self)
{
    char epoch[NUMBER_SIZE], number[NUMBER_SIZE];
    (void)snprintf(epoch, sizeof epoch, "%" PRIu64, self->epoch);
    (void)snprintf(number, sizeof number, "%" PRIu64, self->open_number - 1);
    helio_store_expect(self, "session_take_batch");
    const char *const values[] = {epoch, number, (const char *)self->flight_open_from.bytes};
    return PQsendQueryPrepared(self->connection, "session_take_batch", 3, values,
                               (const int[]){0, 0, sizeof self->flight_open_from.bytes},
                               (const int[]){0, 0, 1}, 0) == 1;
}

static bool send_put(helio_store_t *self, uint32_t kind, helio_columns_t *columns)
{
    const char *values[HELIO_COLUMNS_MAX];
    int lengths[HELIO_COLUMNS_MAX];
    int formats[HELIO_COLUMNS_MAX];
    for (int i = 0; i < HELIO_COLUMNS_MAX; i++)
        formats[i] = 1;
    int count = helio_columns_params(columns, values, lengths);
    const char *name = helio_batch_put_name(kind);
    helio_store_expect(self, name);
    return PQsendQueryPrepared(self->connection, name, count, values, lengths, formats, 0) == 1;
}

/*  A batch that grew while the database was away takes longer than an ordinary one, and it is the same at every try: a
 * deadline that it cannot meet would keep the federation from ever committing again. */
static int64_t flight_deadline_ms(const helio_store_t *self)
{
    uint32_t doublings = self->sent_times < DOUBLINGS_MAX ? self->sent_times : DOUBLINGS_MAX;
    return (int64_t)((self->commit_deadline_ms << doublings) + helio_batch_rows(self->flight) / ROWS_PER_MS_LEAST);
}

bool helio_store_send_flight(helio_store_t *self, int64_t now_ms)
{
    self->expected_count = self->answered = 0;
    self->doubtful = false;
    self->deadline_ms = now_ms + flight_deadline_ms(self);
    self->sent_times++;
    if (!enter_pipeline(self->connection) || !send_plain(self, "begin") || !send_take_batch(self))
        return false;
    /* The database begins while the rows of a large batch are still being copied. */
    if (helio_batch_rows(self->flight) >= HEAD_START_ROWS && PQflush(self->connection) < 0)
        return false;
    uint32_t kind = 0;
    helio_columns_t *columns;
    for (uint32_t i = 0; (columns = helio_batch_statement(self->flight, i, &kind)); i++)
        if (!send_put(self, kind, columns))
            return false;
    if (!send_plain(self, "commit") || PQpipelineSync(self->connection) != 1)
        return false;
    int flushed = PQflush(self->connection);
    self->unflushed = flushed == 1;
    return flushed >= 0;
}

void helio_store_seal(helio_store_t *self, helio_uuid_t open_from)
{
    assert(helio_store_can_seal(self));
    helio_batch_t *sealed = self->open;
    self->open = self->flight;
    self->flight = sealed;
    self->flight_open_from = open_from;
    self->in_flight = true;
    self->open_number++;
    self->sealed_us = helio_clock_boot_us();
    helio_batch_finish(sealed);
    int64_t now_ms = helio_clock_boot_ms();
    if (!helio_store_send_flight(self, now_ms)) {
        helio_error_t why;
        (void)helio_fail(&why, HELIO_UNAVAILABLE, "database: %s", PQerrorMessage(self->connection));
        helio_store_lose(self, now_ms, &why);
    }
}

void helio_store_flight_committed(helio_store_t *self)
{
    self->in_flight = false;
    self->sent_times = 0;
    self->committed = self->open_number - 1;
    self->deadline_ms = INT64_MAX;
    self->backoff_ms = 0;
    self->figures.batches_total++;
    self->figures.rows_total += helio_batch_rows(self->flight);
    self->figures.commit_us_last = (uint64_t)(helio_clock_boot_us() - self->sealed_us);
    self->figures.commit_us_sum += self->figures.commit_us_last;
    helio_batch_reset(self->flight);
}

uint64_t helio_store_committed(const helio_store_t *self)
{
    return self->committed;
}

bool helio_store_connected(const helio_store_t *self)
{
    return self->phase == HELIO_STORE_READY;
}

const char *helio_store_trouble(const helio_store_t *self)
{
    return self->phase == HELIO_STORE_READY ? "" : self->trouble.text;
}

int helio_store_fd(const helio_store_t *self)
{
    return self->connection ? PQsocket(self->connection) : -1;
}

bool helio_store_wants_write(const helio_store_t *self)
{
    if (self->phase == HELIO_STORE_CONNECTING)
        return self->polling == PGRES_POLLING_WRITING;
    return self->unflushed;
}

int64_t helio_store_next_tick_ms(const helio_store_t *self)
{
    return self->phase == HELIO_STORE_DOWN ? self->retry_ms : self->deadline_ms;
}

helio_rc helio_store_process(helio_store_t *self, int64_t now_ms, helio_error_t *err)
{
    return helio_store_move(self, now_ms, err);
}

void helio_store_figures(const helio_store_t *self, helio_store_figures_t *ret_figures)
{
    *ret_figures = self->figures;
}
