/*  link.c -- the writer's connection: driven without blocking, and restored after a loss.
 *
 *  After a loss, the outcome of the batch in flight is unknown. The store connects and calls helio.resume. That needs
 *  the leader lock, which the old session held: once it is granted, nothing of that session can still commit. The
 *  answer says whether the batch was committed. Only then is the batch reported committed, or sent again.
 *
 *  A session that does not lead has asked no more than that, so it ends as soon as the store hangs up: statements are
 *  prepared afterwards, because that waits for whoever has locked a table. A statement that waits too long for a lock
 *  is refused by the server, and sent again in the same session: a new one would let a follower take the lead, which
 *  could not commit either. */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "broker/store/internal.h"

enum {
    BACKOFF_FIRST_MS = 50,
    BACKOFF_MAX_MS = 2000,
    LOCKED_RETRY_MS = 500,
    LOCK_MAX_MS = 8000,
    RESUME_MS = 10000 /* more than a statement waits for a lock */
};

static const char take_batch[] = "session_take_batch";

helio_rc helio_store_prepare(PGconn *connection, helio_error_t *err)
{
    for (uint32_t kind = 0; kind <= HELIO_BATCH_KINDS; kind++) {
        const char *name = kind < HELIO_BATCH_KINDS ? helio_batch_put_name(kind) : take_batch;
        HELIO_AUTO(helio_session_clear_result)
        PGresult *result = PQprepare(connection, name, helio_sql_query(name), 0, NULL);
        helio_rc rc = helio_session_check(connection, result, name, err);
        if (rc != HELIO_OK)
            return rc;
    }
    return HELIO_OK;
}

/*  A commit whose wait for the synchronous standby was cut short succeeds with a warning: it is durable here, and the
 *  standby may lack it. Some servers translate the text, so every warning during a commit counts. */
static void on_notice(void *arg, const PGresult *notice)
{
    helio_store_t *self = arg;
    const char *severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
    if (severity && strcmp(severity, "WARNING") == 0)
        self->doubtful = true;
}

/*  The rows of a thousand jobs exceed the default buffer of a local socket. The rest would wait for the engine's next
 *  turn, and the database with it. TCP adapts its buffer by itself. The kernel can grant less. */
static void widen(int fd)
{
    enum { BATCH_SIZE = 4 << 20 };
    struct sockaddr_storage address = {0};
    socklen_t address_size = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &address_size) == 0 && address.ss_family == AF_UNIX)
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &(const int){BATCH_SIZE}, sizeof(int));
}

void helio_store_listen(helio_store_t *self)
{
    (void)PQsetNoticeReceiver(self->connection, on_notice, self);
    if (PQstatus(self->connection) == CONNECTION_OK)
        widen(PQsocket(self->connection));
}

void helio_store_lose(helio_store_t *self, int64_t now_ms, const helio_error_t *why)
{
    uint32_t hosts = helio_session_hosts(self->conninfo);
    bool next = self->phase != HELIO_STORE_READY; /* this host did not let it lead: the next one may */
    self->host = next ? (self->host + 1) % hosts : self->host;
    self->trouble = *why;
    helio_session_finish(&self->connection);
    self->phase = HELIO_STORE_DOWN;
    self->unflushed = false;
    self->beating = self->refused = self->waits = false;
    self->deadline_ms = INT64_MAX;
    if (next && self->host != self->first_host) {
        self->retry_ms = now_ms; /* all are tried before any is tried again */
        return;
    }
    self->first_host = self->host;
    self->retry_ms = now_ms + self->backoff_ms;
    self->backoff_ms = self->backoff_ms ? self->backoff_ms * 2 : BACKOFF_FIRST_MS;
    if (self->backoff_ms > BACKOFF_MAX_MS)
        self->backoff_ms = BACKOFF_MAX_MS;
}

static helio_rc lose_saying(helio_store_t *self, int64_t now_ms, const char *what)
{
    helio_error_t why;
    (void)helio_session_lost(self->connection, what, &why);
    helio_store_lose(self, now_ms, &why);
    return HELIO_OK;
}

/* ---- connecting ---------------------------------------------------------------------------------------- */

static helio_rc start_connecting(helio_store_t *self, int64_t now_ms)
{
    self->connection = helio_session_connect_start(self->conninfo, "helio-broker", self->host);
    if (PQstatus(self->connection) == CONNECTION_BAD)
        return lose_saying(self, now_ms, "cannot connect");
    helio_store_listen(self);
    self->phase = HELIO_STORE_CONNECTING;
    self->polling = PGRES_POLLING_WRITING;
    self->deadline_ms = now_ms + helio_session_connect_ms(self->conninfo);
    return HELIO_OK;
}

/*  PQconnectPoll must only be called when what it waits for has arrived, and the loop calls for other reasons, too. */
static bool poll_has_come(const helio_store_t *self)
{
    struct pollfd socket = {.fd = PQsocket(self->connection),
                            .events = self->polling == PGRES_POLLING_READING ? POLLIN : POLLOUT};
    return socket.fd >= 0 && poll(&socket, 1, 0) > 0;
}

void helio_store_idle_text(const helio_store_t *self, char *ret_text)
{
    (void)snprintf(ret_text, 24, "%" PRIu64, self->idle_ms);
}

void helio_store_lock_text(const helio_store_t *self, char *ret_text)
{
    uint64_t ms = self->commit_deadline_ms / 5 * 4;
    (void)snprintf(ret_text, 24, "%" PRIu64, ms > LOCK_MAX_MS ? LOCK_MAX_MS : ms ? ms : 1);
}

helio_store_number_t helio_store_number(uint64_t number)
{
    helio_store_number_t self;
    (void)snprintf(self.text, sizeof self.text, "%" PRIu64, number);
    return self;
}

/*  What follows is one exchange, from here to its Sync. */
static void begin_exchange(helio_store_t *self, int64_t now_ms)
{
    int64_t connect_ms = helio_session_connect_ms(self->conninfo);
    self->expected_count = self->answered = 0;
    self->doubtful = self->refused = false;
    self->deadline_ms = now_ms + (connect_ms > RESUME_MS ? connect_ms : RESUME_MS);
}

static bool send_query(helio_store_t *self, const char *name, int count, const char *const *values)
{
    helio_store_expect(self, name);
    return PQsendQueryParams(self->connection, helio_sql_query(name), count, NULL, values, NULL, NULL, 0) == 1;
}

static bool end_exchange(helio_store_t *self)
{
    if (PQpipelineSync(self->connection) != 1)
        return false;
    int flushed = PQflush(self->connection);
    self->unflushed = flushed == 1;
    return flushed >= 0;
}

static bool send_resume(helio_store_t *self, int64_t now_ms)
{
    enum { PARAMETERS = 4 };
    char lock[24];
    helio_store_lock_text(self, lock);
    const helio_store_number_t epoch = helio_store_number(self->epoch),
                               incarnation = helio_store_number(self->seen.incarnation),
                               batch = helio_store_number(self->seen.batch);
    const char *const values[PARAMETERS] = {epoch.text, self->standby_keeps ? "t" : "f", incarnation.text, batch.text};
    begin_exchange(self, now_ms);
    return send_query(self, "session_limits", 1, (const char *const[]){lock}) &&
           send_query(self, "session_resume", PARAMETERS, values) && end_exchange(self);
}

/*  Also again, after some of them were prepared. */
static bool send_prepares(helio_store_t *self, int64_t now_ms)
{
    char idle[24];
    begin_exchange(self, now_ms);
    helio_store_expect(self, "deallocate all");
    if (PQsendQueryParams(self->connection, "deallocate all", 0, NULL, NULL, NULL, NULL, 0) != 1)
        return false;
    for (uint32_t kind = 0; kind <= HELIO_BATCH_KINDS; kind++) {
        const char *name = kind < HELIO_BATCH_KINDS ? helio_batch_put_name(kind) : take_batch;
        helio_store_expect(self, name);
        if (PQsendPrepare(self->connection, name, helio_sql_query(name), 0, NULL) != 1)
            return false;
    }
    helio_store_idle_text(self, idle);
    return send_query(self, "session_idle", 1, (const char *const[]){idle}) && end_exchange(self);
}

static bool begin_resuming(helio_store_t *self, int64_t now_ms)
{
    self->phase = HELIO_STORE_RESUMING;
    widen(PQsocket(self->connection));
    return PQsetnonblocking(self->connection, 1) == 0 && PQenterPipelineMode(self->connection) == 1 &&
           send_resume(self, now_ms);
}

static helio_rc go_on_connecting(helio_store_t *self, int64_t now_ms)
{
    while (poll_has_come(self)) {
        self->polling = PQconnectPoll(self->connection);
        if (self->polling == PGRES_POLLING_FAILED)
            return lose_saying(self, now_ms, "cannot connect");
        if (self->polling == PGRES_POLLING_OK)
            return begin_resuming(self, now_ms) ? HELIO_OK : lose_saying(self, now_ms, "cannot resume");
    }
    return HELIO_OK;
}

/* ---- answers ------------------------------------------------------------------------------------------- */

/*  Compares the last batch of the database with the one that was sent. */
static helio_rc weigh_last_batch(helio_store_t *self, helio_error_t *err)
{
    uint64_t last_batch = self->resumed_batch;
    uint64_t sent = self->open_number - 1;
    if (last_batch == sent) {
        if (self->in_flight)
            helio_store_flight_committed(self);
        return HELIO_OK;
    }
    if (self->in_flight && last_batch == sent - 1)
        return HELIO_OK; /* it never arrived: sent again once the statements are prepared */
    return helio_fail(err, HELIO_FENCED,
                      "the database is at batch %" PRIu64 " of this epoch where %" PRIu64
                      " was expected: it lost or gained commits",
                      last_batch, sent);
}

/*  *ret_wait: another session still has the lock, either our old one or a follower that is about to lead. */
static helio_rc take_resume_answer(helio_store_t *self, const PGresult *answer, bool *ret_wait, helio_error_t *err)
{
    enum { LEADS, SAME_EPOCH, SAME_DATABASE, LAST_BATCH };
    *ret_wait = false;
    if (strcmp(PQgetvalue(answer, 0, SAME_DATABASE), "t") != 0)
        return helio_fail(
            err, HELIO_FENCED,
            "the database failed over or was restored: a new start gives the federation a new incarnation");
    if (strcmp(PQgetvalue(answer, 0, SAME_EPOCH), "t") != 0)
        return helio_fail(err, HELIO_FENCED, "a newer broker leads (epoch %" PRIu64 " is over)", self->epoch);
    if (strcmp(PQgetvalue(answer, 0, LEADS), "t") != 0) {
        *ret_wait = true;
        return HELIO_OK;
    }
    self->resumed_batch = strtoull(PQgetvalue(answer, 0, LAST_BATCH), NULL, 10);
    return HELIO_OK;
}

static helio_rc finish_resuming(helio_store_t *self, int64_t now_ms)
{
    self->phase = HELIO_STORE_READY;
    self->beat_ms = now_ms + helio_store_beat_every_ms(self);
    self->deadline_ms = INT64_MAX;
    if (!self->in_flight) /* a server that accepts connections can still refuse the batch: a full disk */
        self->backoff_ms = 0;
    self->figures.reconnects_total++;
    if (self->in_flight && !helio_store_send_flight(self, now_ms))
        return lose_saying(self, now_ms, "cannot send");
    return HELIO_OK;
}

/*  What was refused for a lock is undone, so its outcome is known. The deadline is for a server that does not answer, and
 *  this one did. */
static bool send_again(helio_store_t *self, int64_t now_ms)
{
    if (self->phase == HELIO_STORE_RESUMING)
        return send_resume(self, now_ms);
    if (self->phase == HELIO_STORE_PREPARING)
        return send_prepares(self, now_ms);
    self->sent_times = 0;
    return helio_store_send_flight(self, now_ms);
}

static helio_rc take_sync(helio_store_t *self, int64_t now_ms, helio_error_t *err)
{
    if (self->beating) { /* it was sent before any batch in flight */
        self->beating = false;
        if (!self->in_flight)
            self->deadline_ms = INT64_MAX;
        return HELIO_OK;
    }
    if (self->doubtful)
        return lose_saying(self, now_ms, "a commit was not confirmed by the standby");
    if (self->refused)
        return send_again(self, now_ms) ? HELIO_OK : lose_saying(self, now_ms, "cannot send");
    if (self->phase == HELIO_STORE_READY) {
        helio_store_flight_committed(self);
        return HELIO_OK;
    }
    if (self->phase == HELIO_STORE_PREPARING)
        return finish_resuming(self, now_ms);
    helio_rc rc = weigh_last_batch(self, err);
    if (rc != HELIO_OK)
        return rc;
    self->phase = HELIO_STORE_PREPARING;
    return send_prepares(self, now_ms) ? HELIO_OK : lose_saying(self, now_ms, "cannot prepare");
}

/*  Waiting for a lock ended a statement, and with it the rest up to the Sync. A commit is another matter: what it did is
 *  looked up. */
static bool is_refused(helio_store_t *self, const char *statement, const PGresult *answer, const helio_error_t *why)
{
    if (!helio_session_lacks_lock(answer) || strcmp(statement, "commit") == 0)
        return false;
    self->refused = true;
    self->waits = self->phase == HELIO_STORE_READY;
    self->trouble = *why;
    return true;
}

static helio_rc take_answer(helio_store_t *self, const PGresult *answer, int64_t now_ms, helio_error_t *err)
{
    if (PQresultStatus(answer) == PGRES_PIPELINE_SYNC)
        return take_sync(self, now_ms, err);
    if (self->answered == self->expected_count) /* all but the Sync was answered: libpq says that the rest is lost */
        return lose_saying(self, now_ms, "lost");
    const char *statement = self->expected[self->answered++];
    if (self->refused && PQresultStatus(answer) == PGRES_PIPELINE_ABORTED)
        return HELIO_OK;
    helio_error_t why;
    helio_rc rc = helio_session_check(self->connection, answer, statement, &why);
    if (rc == HELIO_UNAVAILABLE && is_refused(self, statement, answer, &why))
        return HELIO_OK;
    if (rc == HELIO_FENCED || rc == HELIO_INVALID) {
        if (err)
            *err = why;
        return rc;
    }
    if (rc != HELIO_OK) {
        self->lacks_room = self->lacks_room || (self->in_flight && helio_session_lacks_room(answer));
        helio_store_lose(self, now_ms, &why);
        return HELIO_OK;
    }
    if (strcmp(statement, "commit") == 0 && strcmp(PQcmdStatus((PGresult *)(uintptr_t)answer), "COMMIT") != 0)
        return lose_saying(self, now_ms, "the transaction was rolled back");
    if (strcmp(statement, "session_resume") != 0)
        return HELIO_OK;
    bool wait = false;
    rc = take_resume_answer(self, answer, &wait, err);
    if (rc == HELIO_OK && wait) {
        const uint32_t host = self->host; /* the right one */
        (void)lose_saying(self, now_ms, "the leader lock is still held by an older session");
        self->host = self->first_host = host;
        self->retry_ms = now_ms + LOCKED_RETRY_MS;
    }
    return rc;
}

/*  Takes answers until none is available, or the connection is gone. */
static helio_rc take_answers(helio_store_t *self, int64_t now_ms, helio_error_t *err)
{
    int ends = 0; /* NULL ends the results of a statement; two in a row: no more statements */
    while (self->connection && ends < 2 && !PQisBusy(self->connection)) {
        PGresult *answer = PQgetResult(self->connection);
        if (!answer) {
            ends++;
            continue;
        }
        ends = 0;
        helio_rc rc = take_answer(self, answer, now_ms, err);
        PQclear(answer);
        if (rc != HELIO_OK)
            return rc;
    }
    return HELIO_OK;
}

static helio_rc exchange(helio_store_t *self, int64_t now_ms, helio_error_t *err)
{
    if (self->unflushed) {
        int flushed = PQflush(self->connection);
        if (flushed < 0)
            return lose_saying(self, now_ms, "lost");
        self->unflushed = flushed == 1;
    }
    /* Answers that arrived before the loss count: a refusal among them must not be mistaken for a mere loss. */
    bool alive = PQconsumeInput(self->connection) == 1;
    bool awaiting = self->phase != HELIO_STORE_READY || self->in_flight || self->beating;
    if (awaiting) {
        helio_rc rc = take_answers(self, now_ms, err);
        if (rc != HELIO_OK)
            return rc;
    } else {
        (void)PQisBusy(self->connection); /* parses messages that the server sends by itself */
    }
    if (self->connection && (!alive || PQstatus(self->connection) != CONNECTION_OK))
        return lose_saying(self, now_ms, "lost");
    bool due = self->phase == HELIO_STORE_READY && !self->in_flight && !self->beating && now_ms >= self->beat_ms;
    return !due || helio_store_send_beat(self, now_ms) ? HELIO_OK : lose_saying(self, now_ms, "lost");
}

helio_rc helio_store_move(helio_store_t *self, int64_t now_ms, helio_error_t *err)
{
    if (self->deadline_ms <= now_ms)
        return lose_saying(self, now_ms, self->in_flight ? "no answer to a commit" : "no answer");
    switch (self->phase) {
    case HELIO_STORE_CLOSED:
        return HELIO_OK;
    case HELIO_STORE_DOWN:
        return now_ms >= self->retry_ms ? start_connecting(self, now_ms) : HELIO_OK;
    case HELIO_STORE_CONNECTING:
        return go_on_connecting(self, now_ms);
    case HELIO_STORE_RESUMING:
    case HELIO_STORE_PREPARING:
    case HELIO_STORE_READY:
        return exchange(self, now_ms, err);
    }
    return HELIO_OK;
}
