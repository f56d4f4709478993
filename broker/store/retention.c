/*  retention.c -- deletes rows in small steps, one kind after the other, with pauses, so that the writer is not
 *  delayed; and samples what waits. */
#include "broker/store/retention.h"

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "broker/store/session.h"
#include "federation/base/clock.h"

enum {
    NUMBER_SIZE = 24,
    COMPACTED_PER_STEP = 5000,
    HOURS_PER_STEP = 24, /* of a federation with ten million jobs a year: about a second */
    BUSY_PAUSE_MS = 1000,
    IDLE_PAUSE_MS = 60000,
    AWAY_PAUSE_MS = 5000,
    SAMPLE_MS = 300000, /* between samples of what waits: a board of a month then has some 9,000 points a line */
    GAP_MS = 86400000,
    DOUBT_MS = 3600000
};

/*  No reply waits for these commits, and steps that a crash undoes are done again. A large table must never be scanned
 *  whole for a few rows, whatever the planner's statistics say while the table changes. */
static const char session_settings[] =
    "set synchronous_commit = off; set statement_timeout = '60s'; set lock_timeout = '5s'; set jit = off; "
    "set enable_seqscan = off; set search_path = pg_catalog; set idle_in_transaction_session_timeout = '30s'";

struct helio_retention_worker {
    char *conninfo;
    helio_retention_t retention;
    helio_say_fn *say;
    void *arg;
    int stop_fd; /* readable once the worker is being destroyed; never drained */
    pthread_t thread;
    PGconn *connection;
    int64_t doubt_since_ms; /* boot clock; 0 = the time is plausible */
    int64_t sampled_ms;     /* boot clock; 0 = never */
    helio_error_t trouble;  /* as reported last; code OK = none */
    char holder[HELIO_SESSION_HOLDER_SIZE];
};

static const struct kind {
    const char *what, *step, *preview;
    size_t offset;
} kinds[] = {
    {"samples", "retention_samples", "retention_preview_samples", offsetof(helio_retention_t, samples_ms)},
    {"waiting", "retention_waiting", "retention_preview_waiting", offsetof(helio_retention_t, samples_ms)},
    {"forecasts", "retention_forecasts", "retention_preview_forecasts", offsetof(helio_retention_t, forecasts_ms)},
    {"actuals", "retention_actuals", "retention_preview_actuals", offsetof(helio_retention_t, actuals_ms)},
    {"decisions", "retention_decisions", "retention_preview_decisions", offsetof(helio_retention_t, decisions_ms)},
    {"keys", "retention_keys", "retention_preview_keys", offsetof(helio_retention_t, keys_ms)},
};
enum { KIND_COUNT = sizeof kinds / sizeof kinds[0] };

static uint64_t kept_ms(const helio_retention_t *retention, const struct kind *kind)
{
    uint64_t kept;
    memcpy(&kept, (const char *)retention + kind->offset, sizeof kept);
    return kept;
}

/*  A connection, and the descriptor that interrupts its statements. */
typedef struct session {
    PGconn *connection;
    int stop_fd; /* -1 = cannot be interrupted */
} session_t;

/*  Figures of one step: rows processed, rows deleted, and a third figure of the query. */
typedef struct work_done {
    int64_t rows, gone, third;
} work_done_t;

static int64_t number(const PGresult *result, int column, int64_t otherwise)
{
    return column < PQnfields(result) ? strtoll(PQgetvalue(result, 0, column), NULL, 10) : otherwise;
}

/*  After a failure the state of the connection is unknown. */
static helio_rc ask(const session_t *self, const char *query, int count, const char *const *values,
                    work_done_t *ret_done, helio_error_t *err)
{
    if (!PQsendQueryParams(self->connection, helio_sql_query(query), count, NULL, values, NULL, NULL, 0))
        return helio_session_lost(self->connection, "", err);
    HELIO_AUTO(helio_session_clear_result) PGresult *result = NULL;
    helio_rc rc = helio_session_take(self->connection, self->stop_fd, 0, &result, err);
    if (rc != HELIO_OK)
        return rc;
    rc = helio_session_check(self->connection, result, query, err);
    if (rc == HELIO_OK) {
        ret_done->rows = PQntuples(result) ? strtoll(PQgetvalue(result, 0, 0), NULL, 10) : 0;
        ret_done->gone = PQntuples(result) ? number(result, 1, ret_done->rows) : 0;
        ret_done->third = PQntuples(result) ? number(result, 2, 0) : 0;
    }
    return rc;
}

typedef struct view {
    bool leads;
    int64_t now_ms;  /* the earlier of this machine's clock and the database's */
    int64_t last_ms; /* when retention ran last; 0 = never */
} view_t;

/*  The earlier of the two clocks counts: a clock that is years ahead must not delete recent rows. */
static helio_rc look(const session_t *session, const char *holder, view_t *ret_view, helio_error_t *err)
{
    work_done_t answer = {0};
    helio_rc rc = ask(session, "retention_leads", 1, (const char *const[]){holder}, &answer, err);
    if (rc != HELIO_OK)
        return rc;
    int64_t here_ms = helio_clock_wall_ms(), there_ms = answer.gone;
    *ret_view = (view_t){answer.rows != 0, here_ms < there_ms ? here_ms : there_ms, answer.third};
    return HELIO_OK;
}

bool helio_retention_doubts(int64_t now_ms, int64_t last_ms, int64_t boot_ms, int64_t *doubt_since_ms)
{
    if (last_ms && now_ms - last_ms <= GAP_MS) {
        *doubt_since_ms = 0;
        return false;
    }
    if (!*doubt_since_ms)
        *doubt_since_ms = boot_ms;
    return boot_ms - *doubt_since_ms < DOUBT_MS;
}

static helio_rc ask_kind(const session_t *session, const char *query, const helio_retention_t *retention,
                         const struct kind *kind, int64_t now_ms, work_done_t *ret_done, helio_error_t *err)
{
    char before[NUMBER_SIZE], rows[NUMBER_SIZE];
    (void)snprintf(before, sizeof before, "%" PRId64, now_ms - (int64_t)kept_ms(retention, kind));
    (void)snprintf(rows, sizeof rows, "%" PRIu32, retention->rows_per_second);
    return ask(session, query, 2, (const char *const[]){before, rows}, ret_done, err);
}

static helio_rc sum_up(const session_t *session, const char *query, int count, work_done_t *ret_done,
                       helio_error_t *err)
{
    char most[NUMBER_SIZE];
    (void)snprintf(most, sizeof most, "%d", count);
    return ask(session, query, 1, (const char *const[]){most}, ret_done, err);
}

static helio_rc compact(const session_t *session, work_done_t *ret_done, helio_error_t *err)
{
    return sum_up(session, "retention_compact", COMPACTED_PER_STEP, ret_done, err);
}

static helio_rc roll_up(const session_t *session, work_done_t *ret_done, helio_error_t *err)
{
    return sum_up(session, "retention_roll_up", HOURS_PER_STEP, ret_done, err);
}

/*  Runs one step of each kind; while the time is in doubt, only compaction and sums by the hour, before what they are of
 *  is deleted. *ret_done: the rows of the largest step; 0 = nothing was left to do. */
static helio_rc round_of(const session_t *session, const helio_retention_t *retention, int64_t now_ms, bool doubts,
                         int64_t *ret_done, helio_error_t *err)
{
    work_done_t done = {0};
    helio_rc rc = compact(session, &done, err);
    int64_t most = done.rows;
    if (rc == HELIO_OK)
        rc = roll_up(session, &done, err);
    if (rc == HELIO_OK && done.rows > most)
        most = done.rows;
    for (size_t i = 0; rc == HELIO_OK && !doubts && i < KIND_COUNT; i++) {
        if (!kept_ms(retention, &kinds[i]))
            continue;
        rc = ask_kind(session, kinds[i].step, retention, &kinds[i], now_ms, &done, err);
        if (rc == HELIO_OK && done.rows > most)
            most = done.rows;
    }
    *ret_done = most;
    return rc;
}

static PGconn *connect(const char *conninfo, helio_rc *ret_rc, helio_error_t *err)
{
    PGconn *connection = helio_session_connect(conninfo, "helio-broker retention", NULL, err);
    *ret_rc = connection ? helio_session_verify(connection, err) : HELIO_UNAVAILABLE;
    if (*ret_rc == HELIO_OK)
        *ret_rc = helio_session_run(connection, "session settings", session_settings, err);
    return connection;
}

/* ---- the thread ---------------------------------------------------------------------------------------- */

/*  Reports a doubt when it begins. A database in which retention never ran causes no report. */
static bool doubts(helio_retention_worker_t *self, const view_t *view)
{
    int64_t before_ms = self->doubt_since_ms;
    bool doubted = helio_retention_doubts(view->now_ms, view->last_ms, helio_clock_boot_ms(), &self->doubt_since_ms);
    if (doubted && !before_ms && view->last_ms && self->say)
        self->say(self->arg, "the clock is more than a day beyond the last round: nothing is deleted for an hour");
    return doubted;
}

/*  A sample that fails is not repeated before the next one is due, so that it does not keep retention from its work. */
static helio_rc sample(helio_retention_worker_t *self, const session_t *session, helio_error_t *err)
{
    int64_t now_ms = helio_clock_boot_ms();
    if (self->sampled_ms && now_ms - self->sampled_ms < SAMPLE_MS)
        return HELIO_OK;
    self->sampled_ms = now_ms;
    work_done_t done = {0};
    return ask(session, "retention_sample_waiting", 0, NULL, &done, err);
}

static helio_rc turn(helio_retention_worker_t *self, int *ret_pause_ms, helio_error_t *err)
{
    helio_rc rc = HELIO_OK;
    view_t view = {0};
    int64_t done = 0;
    if (!self->connection)
        self->connection = connect(self->conninfo, &rc, err);
    const session_t session = {self->connection, self->stop_fd};
    if (rc == HELIO_OK)
        rc = look(&session, self->holder, &view, err);
    if (rc == HELIO_OK && view.leads)
        rc = round_of(&session, &self->retention, view.now_ms, doubts(self, &view), &done, err);
    if (rc == HELIO_OK && view.leads)
        rc = sample(self, &session, err);
    *ret_pause_ms = rc != HELIO_OK || !view.leads ? AWAY_PAUSE_MS : done ? BUSY_PAUSE_MS : IDLE_PAUSE_MS;
    return rc;
}

static void report_trouble(helio_retention_worker_t *self, const helio_error_t *why)
{
    if (self->say && !helio_error_equal(&self->trouble, why))
        self->say(self->arg, why->text);
    self->trouble = *why;
}

static void *work(void *arg)
{
    helio_retention_worker_t *self = arg;
    int pause_ms = BUSY_PAUSE_MS;
    struct pollfd stop = {.fd = self->stop_fd, .events = POLLIN};
    while (poll(&stop, 1, pause_ms) <= 0) {
        helio_error_t err = {.text = ""};
        helio_rc rc = turn(self, &pause_ms, &err);
        if (rc != HELIO_OK) {
            report_trouble(self, &err);
            helio_session_finish(&self->connection);
        } else {
            self->trouble = (helio_error_t){.text = ""};
        }
    }
    helio_session_finish(&self->connection);
    return NULL;
}

helio_retention_worker_t *helio_retention_new(const char *conninfo, const helio_retention_t *retention,
                                              helio_say_fn *say, void *arg)
{
    helio_retention_worker_t *self = helio_new(1, sizeof *self);
    self->conninfo = helio_strdup(conninfo);
    self->retention = *retention;
    self->say = say;
    self->arg = arg;
    helio_session_holder(self->holder);
    self->stop_fd = eventfd(0, EFD_CLOEXEC);
    if (self->stop_fd < 0 || pthread_create(&self->thread, NULL, work, self) != 0)
        abort();
    return self;
}

void helio_retention_destroy(helio_retention_worker_t **self_p)
{
    helio_retention_worker_t *self = *self_p;
    if (!self)
        return;
    if (eventfd_write(self->stop_fd, 1) != 0)
        abort();
    (void)pthread_join(self->thread, NULL);
    (void)close(self->stop_fd);
    free(self->conninfo);
    free(self);
    *self_p = NULL;
}

/* ---- at once ------------------------------------------------------------------------------------------- */

static void say_count(helio_say_fn *say, void *arg, const char *what, const char *how, int64_t count)
{
    char line[128];
    (void)snprintf(line, sizeof line, "%-10s %s %" PRId64 " rows", what, how, count);
    say(arg, line);
}

helio_rc helio_retention_prune(const char *conninfo, const helio_retention_t *retention, helio_say_fn *say, void *arg,
                               helio_error_t *err)
{
    helio_rc rc;
    HELIO_AUTO(helio_session_finish) PGconn *connection = connect(conninfo, &rc, err);
    const session_t whole = {connection, -1}, *session = &whole;
    view_t view = {0};
    if (rc == HELIO_OK)
        rc = look(session, "", &view, err);
    for (work_done_t done = {.rows = 1}; rc == HELIO_OK && done.rows;)
        rc = compact(session, &done, err);
    for (work_done_t done = {.rows = 1}; rc == HELIO_OK && done.rows;)
        rc = roll_up(session, &done, err);
    for (size_t i = 0; rc == HELIO_OK && i < KIND_COUNT; i++) {
        int64_t total = 0;
        if (!kept_ms(retention, &kinds[i]))
            continue;
        for (work_done_t done = {.rows = 1}; rc == HELIO_OK && done.rows; total += done.gone)
            rc = ask_kind(session, kinds[i].step, retention, &kinds[i], view.now_ms, &done, err);
        if (rc == HELIO_OK)
            say_count(say, arg, kinds[i].what, "deleted", total);
    }
    return rc;
}

helio_rc helio_retention_preview(const char *conninfo, const helio_retention_t *retention, helio_say_fn *say, void *arg,
                                 helio_error_t *err)
{
    helio_rc rc;
    HELIO_AUTO(helio_session_finish) PGconn *connection = connect(conninfo, &rc, err);
    const session_t whole = {connection, -1}, *session = &whole;
    view_t view = {0};
    if (rc == HELIO_OK)
        rc = look(session, "", &view, err);
    for (size_t i = 0; rc == HELIO_OK && i < KIND_COUNT; i++) {
        work_done_t count = {0};
        if (!kept_ms(retention, &kinds[i]))
            continue;
        rc = ask_kind(session, kinds[i].preview, retention, &kinds[i], view.now_ms, &count, err);
        if (rc == HELIO_OK)
            say_count(say, arg, kinds[i].what, "would delete", count.rows);
    }
    return rc;
}
