/*  reader.h -- answers reads from PostgreSQL, on threads of its own: named queries that build JSON text in SQL.
 *
 *  Any thread can post a read. A thread of the reader answers it through `done`, exactly once, also on failure. Queries
 *  are the blocks of schema/queries/read.sql: text parameters ($n::type inside), one row, one text column of JSON (NULL
 *  = not found). Connections are read-only, have a statement timeout, and reconnect by themselves. */
#ifndef HELIO_BROKER_STORE_READER_H
#define HELIO_BROKER_STORE_READER_H

#include "federation/base/error.h"
#include "federation/base/memory.h"

enum { HELIO_READ_PARAMS_MAX = 16 };

typedef struct helio_read helio_read_t;
struct helio_read {
    const char *query;                         /* name of the block, static */
    const char *params[HELIO_READ_PARAMS_MAX]; /* NULL = SQL null; they must live until `done` */
    uint32_t param_count;
    const char *owner; /* the tenant that asks; NULL: the broker itself. It must live until `done` */
    /*  rc: OK with json; NOT_FOUND; UNAVAILABLE (no database); TIMEOUT; INVALID (a bad parameter; err names it). json
     *  is borrowed for the call. */
    void (*done)(helio_read_t *read, helio_rc rc, helio_text_t json, const helio_error_t *err);
    void *arg;
    /* private to the reader */
    int64_t posted_ms;
    helio_read_t *prev, *next;
};

typedef struct helio_reader helio_reader_t;

/*  This query is answered with bytes: the snapshot of broker/snapshot without its options. $1: NULL, or the hours of a time that
 *  is over. */
#define HELIO_READ_SNAPSHOT "snapshot"

/*  Starts the threads (1 to 64), and one for snapshots. conninfo is copied. Connections are made with the first read of each
 *  thread, and for each snapshot. */
helio_reader_t *helio_reader_new(const char *conninfo, uint32_t threads);
void helio_reader_destroy(helio_reader_t **self_p); /* answers the queued reads with UNAVAILABLE, joins the threads */
/*  HELIO_BUSY: too many reads wait, of this owner or of all, or another snapshot does or runs (read_queue.h), and done is
 *  not called. */
HELIO_MUST_CHECK helio_rc helio_reader_post(helio_reader_t *self, helio_read_t *read);

#endif
