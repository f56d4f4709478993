/*  store.c -- the writer's life and its open batch; flight.c sends batches, link.c drives the connection. */
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
    IDLE_DEFAULT_MS = 15000 /* longer than any step of a leader takes; a follower takes over within 20 s */
};

helio_store_t *helio_store_new(helio_store_options_t options)
{
    helio_store_t *self = helio_new(1, sizeof *self);
    self->conninfo = helio_strdup(options.conninfo);
    self->http = helio_strdup(options.http ? options.http : "");
    self->lease_ms = options.lease_ms;
    self->idle_ms = options.idle_ms ? options.idle_ms : IDLE_DEFAULT_MS;
    self->usage_ms = options.usage_ms;
    self->standby_keeps = options.standby_keeps;
    self->commit_deadline_ms = options.commit_deadline_ms ? options.commit_deadline_ms : COMMIT_DEADLINE_DEFAULT_MS;
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
    free(self->http);
    free(self);
    *self_p = NULL;
}

void helio_store_close(helio_store_t *self)
{
    helio_session_finish(&self->connection);
    self->phase = HELIO_STORE_CLOSED;
}

/*  Another session leads. If its broker has not said the rest of a batch for as long as a session may be idle, it ends,
 *  and the next try may lead. */
static helio_rc stand_by(helio_store_t *self, const char *idle, helio_error_t *err)
{
    helio_rc rc = helio_session_query(self->connection, "session_end_still", 1, (const char *const[]){idle}, NULL, err);
    return rc == HELIO_OK ? helio_fail(err, HELIO_BUSY, "another broker leads (it holds the database's leader lock)")
                          : rc;
}

static helio_rc take_lead(helio_store_t *self, helio_error_t *err)
{
    enum { PARAMETERS = 7 };
    char holder[HELIO_SESSION_HOLDER_SIZE], idle[24];
    helio_session_holder(holder);
    helio_store_idle_text(self, idle);
    const helio_store_number_t grants_ms = helio_store_number(self->lease_ms),
                               incarnation = helio_store_number(self->seen.incarnation),
                               epoch = helio_store_number(self->seen.epoch),
                               batch = helio_store_number(self->seen.batch);
    const char *const values[PARAMETERS] = {
        holder, grants_ms.text, self->http, self->standby_keeps ? "t" : "f", incarnation.text, epoch.text, batch.text};
    HELIO_AUTO(helio_session_clear_result) PGresult *answer = NULL;
    helio_rc rc = helio_session_query(self->connection, "session_lead", PARAMETERS, values, &answer, err);
    if (rc == HELIO_OK && strcmp(PQgetvalue(answer, 0, 0), "t") != 0)
        rc = stand_by(self, idle, err);
    if (rc != HELIO_OK)
        return rc == HELIO_INVALID ? HELIO_UNAVAILABLE
                                   : rc; /* missing rights or a standby server: can be mended and tried again */
    self->epoch = strtoull(PQgetvalue(answer, 0, 1), NULL, 10);
    self->seen = (helio_batch_mark_t){strtoull(PQgetvalue(answer, 0, 2), NULL, 10), self->epoch, 0};
    return helio_session_query(self->connection, "session_idle", 1, (const char *const[]){idle}, NULL, err);
}

helio_rc helio_store_open(helio_store_t *self, helio_error_t *err)
{
    assert(!self->in_flight && helio_batch_rows(self->open) == 0);
    helio_session_finish(&self->connection);
    self->phase = HELIO_STORE_CLOSED;
    self->connection = helio_session_connect(self->conninfo, "helio-broker", &self->host, err);
    if (!self->connection)
        return HELIO_UNAVAILABLE;
    char lock[24];
    helio_store_lock_text(self, lock);
    helio_rc rc = helio_session_query(self->connection, "session_limits", 1, (const char *const[]){lock}, NULL, err);
    if (rc == HELIO_OK)
        rc = helio_session_verify(self->connection, err);
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
    self->first_host = self->host;
    self->beating = false;
    self->beat_ms = helio_clock_boot_ms() + helio_store_beat_every_ms(self);
    self->deadline_ms = INT64_MAX;
    self->phase = HELIO_STORE_READY;
    return HELIO_OK;
}

static bool is_later(helio_batch_mark_t a, helio_batch_mark_t b)
{
    return a.incarnation != b.incarnation ? a.incarnation > b.incarnation
           : a.epoch != b.epoch           ? a.epoch > b.epoch
                                          : a.batch > b.batch;
}

void helio_store_seen(helio_store_t *self, helio_batch_mark_t mark)
{
    if (is_later(mark, self->seen))
        self->seen = mark;
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

size_t helio_store_open_bytes(const helio_store_t *self)
{
    return helio_batch_bytes(self->open);
}

bool helio_store_can_seal(const helio_store_t *self)
{
    return self->phase == HELIO_STORE_READY && !self->in_flight && helio_batch_rows(self->open) > 0;
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
        (void)helio_session_lost(self->connection, "", &why);
        helio_store_lose(self, now_ms, &why);
    }
}

uint64_t helio_store_committed(const helio_store_t *self)
{
    return self->committed;
}

bool helio_store_connected(const helio_store_t *self)
{
    return self->phase == HELIO_STORE_READY;
}

bool helio_store_lacks_room(const helio_store_t *self)
{
    return self->lacks_room;
}

bool helio_store_waits(const helio_store_t *self)
{
    return self->waits;
}

const char *helio_store_trouble(const helio_store_t *self)
{
    return self->phase == HELIO_STORE_READY && !self->waits ? "" : self->trouble.text;
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
    bool beats = self->phase == HELIO_STORE_READY && !self->in_flight && !self->beating;
    return self->phase == HELIO_STORE_DOWN ? self->retry_ms : beats ? self->beat_ms : self->deadline_ms;
}

helio_rc helio_store_process(helio_store_t *self, int64_t now_ms, helio_error_t *err)
{
    return helio_store_move(self, now_ms, err);
}

void helio_store_figures(const helio_store_t *self, helio_store_figures_t *ret_figures)
{
    *ret_figures = self->figures;
}
