/*  reader.h -- answers reads from PostgreSQL: named queries that build JSON text in SQL, on threads of their own.
 *
 *  A read is posted by any thread and answered by a reader's thread through `done` (exactly once, also on failure).
 *  Queries are the blocks of schema/queries/read.sql: text parameters ($n::type inside), one row, one text column of
 *  JSON (NULL = not found). Connections are read-only, with a statement timeout, and reconnect by themselves.
 */
#ifndef HELIO_BROKER_STORE_READER_H
#define HELIO_BROKER_STORE_READER_H

#include "federation/base/error.h"
#include "federation/base/memory.h"

enum { HELIO_READ_PARAMS_MAX = 8 };

typedef struct helio_read helio_read_t;
struct helio_read {
    const char *query;                         /* name of the block, static */
    const char *params[HELIO_READ_PARAMS_MAX]; /* NULL = SQL null; live until done */
    uint32_t param_count;
    /*  rc: OK with json, NOT_FOUND, UNAVAILABLE (no database), TIMEOUT, INVALID (a bad parameter; err says). json is
     *  borrowed for the call. */
    void (*done)(helio_read_t *read, helio_rc rc, helio_text_t json, const helio_error_t *err);
    void *arg;
};

typedef struct helio_reader helio_reader_t;

helio_reader_t *helio_reader_new(const char *conninfo, uint32_t threads);
void helio_reader_destroy(helio_reader_t **self_p); /* answers what is queued with UNAVAILABLE, joins the threads */
/*  HELIO_BUSY: the bounded queue (1,024) is full; done is not called. */
HELIO_MUST_CHECK helio_rc helio_reader_post(helio_reader_t *self, helio_read_t *read);

#endif
