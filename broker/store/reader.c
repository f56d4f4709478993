/*  reader.c -- threads that answer reads, each with a connection of its own, from one queue. */
#include "broker/store/reader.h"

#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "broker/store/read_queue.h"
#include "broker/store/session.h"
#include "broker/store/snapshot_read.h"
#include "federation/base/clock.h"

enum {
    THREADS_MAX = 64,
    PREPARED_MAX = 64,
    ANSWER_DEADLINE_MS = 15000 /* longer than statement_timeout: it detects a dead connection */
};

/*  Sent once for each connection: it never writes, never waits long, and resolves no name by a search path. The views of
 *  jobs join more tables than the planner reorders by itself: it would read the states of all jobs to join one. */
static const char session_settings[] =
    "set default_transaction_read_only = on; set statement_timeout = '10s'; set lock_timeout = '5s'; set jit "
    "= off; "
    "set search_path = pg_catalog; set idle_in_transaction_session_timeout = '30s'; set work_mem = '32MB'; "
    "set join_collapse_limit = 20; set from_collapse_limit = 20; set geqo = off";

typedef struct worker {
    helio_reader_t *reader;
    pthread_t thread;
    PGconn *connection;
    uint32_t host; /* the last one that let it in */
    const char *prepared[PREPARED_MAX];
    uint32_t prepared_count;
    bool snapshots; /* it reads nothing else */
} worker_t;

struct helio_reader {
    char *conninfo;
    int stop_fd;    /* readable once the reader is being destroyed; never drained */
    uint32_t count; /* of workers, with the one for snapshots */
    worker_t *workers;
    pthread_mutex_t mutex; /* guards the queue and `stopped` */
    pthread_cond_t changed;
    helio_read_queue_t *queue;
    bool stopped;
};

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
    self->connection = helio_session_connect(self->reader->conninfo, "helio-broker reads", &self->host, err);
    if (!self->connection)
        return HELIO_UNAVAILABLE;
    helio_rc rc = helio_session_run(self->connection, "session settings", session_settings, err);
    if (rc != HELIO_OK)
        forget_connection(self);
    return rc;
}

/*  The single result of what was sent. On failure the state of the connection is unknown, and it is closed. */
static helio_rc take_result(worker_t *self, PGresult **ret_result, helio_error_t *err)
{
    helio_rc rc = helio_session_take(self->connection, self->reader->stop_fd, ANSWER_DEADLINE_MS, ret_result, err);
    if (rc != HELIO_OK)
        forget_connection(self);
    return rc;
}

/*  A read keeps its statement, and PostgreSQL a plan for any parameters. The history is planned each time, for its
 *  parameters: the plan for any, by which no row is expected, takes a hundred times as long. */
static const char *statement_of(const helio_read_t *read)
{
    return strcmp(read->query, "read_history") == 0 ? "" : read->query;
}

static helio_rc ensure_prepared(worker_t *self, const helio_read_t *read, helio_error_t *err)
{
    const char *query = read->query, *statement = statement_of(read);
    for (uint32_t i = 0; i < self->prepared_count; i++)
        if (strcmp(self->prepared[i], query) == 0)
            return HELIO_OK;
    assert(self->prepared_count < PREPARED_MAX);
    if (!PQsendPrepare(self->connection, statement, helio_sql_query(query), 0, NULL))
        return helio_session_lost(self->connection, "", err);
    HELIO_AUTO(helio_session_clear_result) PGresult *result = NULL;
    helio_rc rc = take_result(self, &result, err);
    if (rc != HELIO_OK)
        return rc;
    rc = helio_session_check(self->connection, result, query, err);
    if (rc == HELIO_OK && *statement)
        self->prepared[self->prepared_count++] = query;
    /* A query that cannot be prepared meets a schema of another release: the caller is not at fault. */
    return rc == HELIO_INVALID ? HELIO_UNAVAILABLE : rc;
}

/*  What a read gives: the one value of a result, or a snapshot. */
typedef struct answer {
    PGresult *result;
    helio_buffer_t snapshot;
} answer_t;

static void clear_answer(answer_t *self)
{
    helio_session_clear_result(&self->result);
    helio_buffer_clear(&self->snapshot);
}

static helio_rc run_snapshot(worker_t *self, const helio_read_t *read, helio_buffer_t *ret_snapshot, helio_error_t *err)
{
    helio_rc rc = helio_snapshot_read(self->connection, read->param_count ? read->params[0] : NULL, ret_snapshot, err);
    if (rc == HELIO_OK)
        return HELIO_OK;
    forget_connection(self); /* it may be amid the transaction */
    /* The caller said nothing that could be wrong. */
    return rc == HELIO_INVALID ? HELIO_UNAVAILABLE : rc;
}

static helio_rc run(worker_t *self, const helio_read_t *read, answer_t *ret_answer, helio_error_t *err)
{
    helio_rc rc = ensure_connection(self, err);
    if (rc == HELIO_OK && self->snapshots)
        return run_snapshot(self, read, &ret_answer->snapshot, err);
    if (rc == HELIO_OK)
        rc = ensure_prepared(self, read, err);
    if (rc != HELIO_OK)
        return rc;
    if (!PQsendQueryPrepared(self->connection, statement_of(read), (int)read->param_count, read->params, NULL, NULL,
                             0)) {
        rc = helio_session_lost(self->connection, "", err);
        forget_connection(self);
        return rc;
    }
    rc = take_result(self, &ret_answer->result, err);
    return rc == HELIO_OK ? helio_session_check(self->connection, ret_answer->result, read->query, err) : rc;
}

/*  NOT_FOUND: the query has no row, or a null. */
static helio_rc view(const answer_t *self, helio_text_t *ret_text, helio_error_t *err)
{
    if (!self->result)
        *ret_text = helio_buffer_view(&self->snapshot);
    else if (PQntuples(self->result) == 0 || PQgetisnull(self->result, 0, 0))
        return helio_fail(err, HELIO_NOT_FOUND, "not found");
    else
        *ret_text = (helio_text_t){PQgetvalue(self->result, 0, 0), (uint32_t)PQgetlength(self->result, 0, 0)};
    return HELIO_OK;
}

static bool stopping(const worker_t *self)
{
    struct pollfd fd = {.fd = self->reader->stop_fd, .events = POLLIN};
    return poll(&fd, 1, 0) > 0;
}

static void refuse(helio_read_t *read, helio_rc rc, const char *why)
{
    helio_error_t err = {.code = HELIO_OK};
    rc = helio_fail(&err, rc, "%s", why);
    read->done(read, rc, (helio_text_t){NULL, 0}, &err);
}

static void ran(worker_t *self, const helio_read_t *read)
{
    helio_reader_t *reader = self->reader;
    (void)pthread_mutex_lock(&reader->mutex);
    helio_read_queue_ran(reader->queue, read);
    (void)pthread_cond_broadcast(&reader->changed); /* what had to wait for this one can run */
    (void)pthread_mutex_unlock(&reader->mutex);
}

static void serve(worker_t *self, helio_read_t *read)
{
    helio_error_t err = {.code = HELIO_OK};
    HELIO_AUTO(clear_answer) answer_t answer = {0};
    if (helio_clock_boot_ms() - read->posted_ms > HELIO_READ_WAIT_MS) {
        ran(self, read);
        refuse(read, HELIO_TIMEOUT, "no connection to the database was free in time");
        return;
    }
    bool had_connection = self->connection != NULL;
    helio_rc rc = run(self, read, &answer, &err);
    /* A read changes nothing, so it is tried once more over a new connection if the old one was dead. */
    if (rc == HELIO_UNAVAILABLE && had_connection && !stopping(self)) {
        clear_answer(&answer);
        forget_connection(self);
        rc = run(self, read, &answer, &err);
    }
    helio_text_t json = {NULL, 0};
    if (rc == HELIO_OK)
        rc = view(&answer, &json, &err);
    ran(self, read);
    read->done(read, rc, json, &err); /* can free the read */
}

/*  NULL: the reader is being destroyed. */
static helio_read_t *await_read(const worker_t *self)
{
    helio_reader_t *reader = self->reader;
    helio_read_t *read = NULL;
    (void)pthread_mutex_lock(&reader->mutex);
    while (!reader->stopped && !(read = self->snapshots ? helio_read_queue_pop_snapshot(reader->queue)
                                                        : helio_read_queue_pop(reader->queue)))
        (void)pthread_cond_wait(&reader->changed, &reader->mutex);
    (void)pthread_mutex_unlock(&reader->mutex);
    return read;
}

static void *work(void *arg)
{
    worker_t *self = arg;
    for (helio_read_t *read; (read = await_read(self));) {
        serve(self, read);
        if (self->snapshots) /* they are seldom */
            forget_connection(self);
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
    self->count = threads + 1;
    self->queue = helio_read_queue_new(threads);
    if (pthread_mutex_init(&self->mutex, NULL) != 0 || pthread_cond_init(&self->changed, NULL) != 0)
        abort();
    self->workers = helio_new(self->count, sizeof *self->workers);
    if (self->stop_fd < 0)
        abort();
    for (uint32_t i = 0; i < self->count; i++) {
        worker_t *worker = &self->workers[i];
        worker->reader = self;
        worker->snapshots = i == threads;
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
    (void)pthread_mutex_lock(&self->mutex);
    self->stopped = true;
    (void)pthread_cond_broadcast(&self->changed);
    (void)pthread_mutex_unlock(&self->mutex);
    for (uint32_t i = 0; i < self->count; i++)
        (void)pthread_join(self->workers[i].thread, NULL);
    for (helio_read_t *read; (read = helio_read_queue_drain(self->queue));)
        refuse(read, HELIO_UNAVAILABLE, "the broker is stopping");
    helio_read_queue_destroy(&self->queue);
    (void)pthread_cond_destroy(&self->changed);
    (void)pthread_mutex_destroy(&self->mutex);
    (void)close(self->stop_fd);
    free(self->workers);
    free(self->conninfo);
    free(self);
    *self_p = NULL;
}

helio_rc helio_reader_post(helio_reader_t *self, helio_read_t *read)
{
    assert(read->param_count <= HELIO_READ_PARAMS_MAX);
    (void)pthread_mutex_lock(&self->mutex);
    helio_rc rc = helio_read_queue_push(self->queue, read, helio_clock_boot_ms());
    (void)pthread_cond_broadcast(&self->changed); /* one signal could wake the worker that reads others */
    (void)pthread_mutex_unlock(&self->mutex);
    return rc;
}
