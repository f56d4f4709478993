/*  reader.c -- threads that answer reads, each with a connection and a queue of its own. */
#include "broker/store/reader.h"

#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "broker/store/session.h"
#include "federation/base/clock.h"
#include "federation/base/ring.h"

enum {
    QUEUE_MAX = 1024, /* of one thread */
    THREADS_MAX = 64,
    PREPARED_MAX = 64,
    ANSWER_DEADLINE_MS = 15000 /* statement_timeout is shorter: this one is for a dead connection */
};

/*  One round trip at connection: never writes, never waits long, resolves nothing by a search path. */
static const char session_settings[] =
    "set default_transaction_read_only = on; set statement_timeout = '10s'; set lock_timeout = '5s'; set jit "
    "= off; "
    "set search_path = pg_catalog; set idle_in_transaction_session_timeout = '30s'; set work_mem = '32MB'";

typedef struct worker {
    helio_reader_t *reader;
    pthread_t thread;
    helio_ring_t *queue;
    atomic_uint waiting; /* posted and not answered: for choosing the shortest queue */
    PGconn *connection;
    const char *prepared[PREPARED_MAX];
    uint32_t prepared_count;
} worker_t;

struct helio_reader {
    char *conninfo;
    int stop_fd; /* readable once the reader is being destroyed; never drained */
    uint32_t count;
    worker_t *workers;
};

static void answer(worker_t *self, helio_read_t *read, helio_rc rc, helio_text_t json,
                   const helio_error_t *err)
{
    read->done(read, rc, json, err); /* may free it */
    atomic_fetch_sub_explicit(&self->waiting, 1, memory_order_relaxed);
}

static void forget_connection(worker_t *self)
{
    helio_session_finish(&self->connection);
    self->prepared_count = 0;
}

static helio_rc ensure_connection(worker_t *self, helio_error_t *err)
{
    if (self->connection && PQstatus(self->connection) == CONNECTION_OK)
        return HELIO_OK;
    forget_connection(self);
    self->connection = helio_session_connect(self->reader->conninfo, "helio-broker reads", err);
    if (!self->connection)
        return HELIO_UNAVAILABLE;
    helio_rc rc = helio_session_run(self->connection, "session settings", session_settings, err);
    if (rc != HELIO_OK)
        forget_connection(self);
    return rc;
}

/*  Waits for the answer, but not beyond the deadline or the reader's end. */
static helio_rc await(worker_t *self, helio_error_t *err)
{
    int64_t deadline_ms = helio_clock_boot_ms() + ANSWER_DEADLINE_MS;
    while (PQisBusy(self->connection)) {
        struct pollfd fds[2] = {{.fd = PQsocket(self->connection), .events = POLLIN},
                                {.fd = self->reader->stop_fd, .events = POLLIN}};
        int64_t left_ms = deadline_ms - helio_clock_boot_ms();
        if (left_ms <= 0)
            return helio_fail(err, HELIO_TIMEOUT, "database: no answer within %d s",
                              ANSWER_DEADLINE_MS / 1000);
        (void)poll(fds, 2, (int)left_ms);
        if (fds[1].revents)
            return helio_fail(err, HELIO_UNAVAILABLE, "the broker is stopping");
        if (fds[0].revents && !PQconsumeInput(self->connection))
            return helio_fail(err, HELIO_UNAVAILABLE, "database: %s", PQerrorMessage(self->connection));
    }
    return HELIO_OK;
}

/*  The one result of what was sent; on failure the connection is in doubt and is given up. */
static helio_rc take_result(worker_t *self, PGresult **ret_result, helio_error_t *err)
{
    helio_rc rc = await(self, err);
    if (rc != HELIO_OK) {
        forget_connection(self);
        return rc;
    }
    *ret_result = PQgetResult(self->connection);
    for (PGresult *more; (more = PQgetResult(self->connection)); PQclear(more))
        ;
    return HELIO_OK;
}

static helio_rc ensure_prepared(worker_t *self, const char *query, helio_error_t *err)
{
    for (uint32_t i = 0; i < self->prepared_count; i++)
        if (strcmp(self->prepared[i], query) == 0)
            return HELIO_OK;
    assert(self->prepared_count < PREPARED_MAX);
    if (!PQsendPrepare(self->connection, query, helio_sql_query(query), 0, NULL))
        return helio_fail(err, HELIO_UNAVAILABLE, "database: %s", PQerrorMessage(self->connection));
    HELIO_AUTO(helio_session_clear_result) PGresult *result = NULL;
    helio_rc rc = take_result(self, &result, err);
    if (rc != HELIO_OK)
        return rc;
    rc = helio_session_check(self->connection, result, query, err);
    if (rc == HELIO_OK)
        self->prepared[self->prepared_count++] = query;
    /* A query that cannot be prepared meets a schema of another release: nothing that the caller said. */
    return rc == HELIO_INVALID ? HELIO_UNAVAILABLE : rc;
}

static helio_rc run(worker_t *self, const helio_read_t *read, PGresult **ret_result, helio_error_t *err)
{
    helio_rc rc = ensure_connection(self, err);
    if (rc == HELIO_OK)
        rc = ensure_prepared(self, read->query, err);
    if (rc != HELIO_OK)
        return rc;
    if (!PQsendQueryPrepared(self->connection, read->query, (int)read->param_count, read->params, NULL, NULL,
                             0)) {
        rc = helio_fail(err, HELIO_UNAVAILABLE, "database: %s", PQerrorMessage(self->connection));
        forget_connection(self);
        return rc;
    }
    rc = take_result(self, ret_result, err);
    return rc == HELIO_OK ? helio_session_check(self->connection, *ret_result, read->query, err) : rc;
}

static bool stopping(const worker_t *self)
{
    struct pollfd fd = {.fd = self->reader->stop_fd, .events = POLLIN};
    return poll(&fd, 1, 0) > 0;
}

static void serve(worker_t *self, helio_read_t *read)
{
    helio_error_t err = {.code = HELIO_OK};
    HELIO_AUTO(helio_session_clear_result) PGresult *result = NULL;
    if (stopping(self)) {
        helio_rc rc = helio_fail(&err, HELIO_UNAVAILABLE, "the broker is stopping");
        answer(self, read, rc, (helio_text_t){NULL, 0}, &err);
        return;
    }
    bool had_connection = self->connection != NULL;
    helio_rc rc = run(self, read, &result, &err);
    /* A read changes nothing: once more over a new connection when the old one turned out to be dead. */
    if (rc == HELIO_UNAVAILABLE && had_connection && !stopping(self)) {
        helio_session_clear_result(&result);
        forget_connection(self);
        rc = run(self, read, &result, &err);
    }
    helio_text_t json = {NULL, 0};
    if (rc == HELIO_OK && (PQntuples(result) == 0 || PQgetisnull(result, 0, 0)))
        rc = helio_fail(&err, HELIO_NOT_FOUND, "not found");
    else if (rc == HELIO_OK)
        json = (helio_text_t){PQgetvalue(result, 0, 0), (uint32_t)PQgetlength(result, 0, 0)};
    answer(self, read, rc, json, &err);
}

static void *work(void *arg)
{
    worker_t *self = arg;
    for (bool stopped = false; !stopped;) {
        struct pollfd fds[2] = {{.fd = helio_ring_fd(self->queue), .events = POLLIN},
                                {.fd = self->reader->stop_fd, .events = POLLIN}};
        (void)poll(fds, 2, -1);
        stopped = fds[1].revents != 0; /* what is queued is answered below, with UNAVAILABLE */
        helio_ring_drain_wakeups(self->queue);
        for (helio_read_t *read; (read = helio_ring_pop(self->queue));)
            serve(self, read);
    }
    forget_connection(self);
    return NULL;
}

helio_reader_t *helio_reader_new(const char *conninfo, uint32_t threads)
{
    assert(threads >= 1 && threads <= THREADS_MAX);
    helio_reader_t *self = helio_new(1, sizeof *self);
    self->conninfo = helio_strdup(conninfo);
    self->stop_fd = eventfd(0, EFD_CLOEXEC);
    self->count = threads;
    self->workers = helio_new(threads, sizeof *self->workers);
    if (self->stop_fd < 0)
        abort();
    for (uint32_t i = 0; i < threads; i++) {
        worker_t *worker = &self->workers[i];
        worker->reader = self;
        worker->queue = helio_ring_new(QUEUE_MAX);
        if (pthread_create(&worker->thread, NULL, work, worker) != 0)
            abort();
    }
    return self;
}

void helio_reader_destroy(helio_reader_t **self_p)
{
    helio_reader_t *self = *self_p;
    if (!self)
        return;
    if (eventfd_write(self->stop_fd, 1) != 0)
        abort();
    for (uint32_t i = 0; i < self->count; i++) {
        (void)pthread_join(self->workers[i].thread, NULL);
        helio_ring_destroy(&self->workers[i].queue);
    }
    (void)close(self->stop_fd);
    free(self->workers);
    free(self->conninfo);
    free(self);
    *self_p = NULL;
}

helio_rc helio_reader_post(helio_reader_t *self, helio_read_t *read)
{
    assert(read->param_count <= HELIO_READ_PARAMS_MAX);
    worker_t *least = &self->workers[0];
    for (uint32_t i = 1; i < self->count; i++)
        if (atomic_load_explicit(&self->workers[i].waiting, memory_order_relaxed) <
            atomic_load_explicit(&least->waiting, memory_order_relaxed))
            least = &self->workers[i];
    atomic_fetch_add_explicit(&least->waiting, 1, memory_order_relaxed);
    helio_rc rc = helio_ring_push(least->queue, read);
    if (rc != HELIO_OK)
        atomic_fetch_sub_explicit(&least->waiting, 1, memory_order_relaxed);
    return rc;
}
