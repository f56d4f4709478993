/*  session.h -- what the files of this room share: connecting, finding a named query, and reading PostgreSQL's errors.
 *
 *  Only this room includes libpq. A PGconn belongs to one thread. */
#ifndef HELIO_BROKER_STORE_SESSION_H
#define HELIO_BROKER_STORE_SESSION_H

#include <libpq-fe.h>

#include "broker/store/schema.h"
#include "federation/base/error.h"
#include "federation/base/memory.h"

/*  The text of a block of schema/queries. An unknown name is a programmer's error (assertion). */
const char *helio_sql_query(const char *name);

/*  Connects, blocking, to the first host of those that conninfo lists that lets it in. *host_p: the one that is tried
 *  first, counted around, and on success the one that it is; NULL = from the first on. NULL: HELIO_UNAVAILABLE, err
 *  says where and why, never with a password. */
PGconn *helio_session_connect(const char *conninfo, const char *application, uint32_t *host_p, helio_error_t *err);
/*  Begins to connect to the nth host, without blocking. Continue with PQconnectPoll, for helio_session_connect_ms. */
PGconn *helio_session_connect_start(const char *conninfo, const char *application, uint32_t nth);
uint32_t helio_session_hosts(const char *conninfo); /* at least 1 */
/*  How long one host may take: connect_timeout, or less if there are others than if there is none. */
int64_t helio_session_connect_ms(const char *conninfo);

/*  The name under which this process leads: host and process. It is shown in table helio.federation. */
enum { HELIO_SESSION_HOLDER_SIZE = 96 };
void helio_session_holder(char ret_name[HELIO_SESSION_HOLDER_SIZE]);

void helio_session_clear_result(PGresult **result_p); /* for HELIO_AUTO */
void helio_session_finish(PGconn **connection_p);     /* for HELIO_AUTO */

/*  The outcome of a statement: HELIO_OK; HELIO_FENCED (a newer leader); HELIO_UNAVAILABLE (the server or the connection
 *  failed, not the statement: can heal); HELIO_TIMEOUT (statement_timeout); HELIO_INVALID (the statement or its
 *  values). */
helio_rc helio_session_outcome(PGconn *connection, const PGresult *result);
/*  Whether the server failed for lack of disk, memory or connections (SQLSTATE class 53). */
bool helio_session_lacks_room(const PGresult *result);
/*  Whether the statement waited for a lock for longer than its session may (lock_timeout). */
bool helio_session_lacks_lock(const PGresult *result);
/*  The outcome, with an error: its SQLSTATE, and a text: "database: put_job: duplicate key value … (23505,
 *  jobs_idempotency)". */
helio_rc helio_session_check(PGconn *connection, const PGresult *result, const char *what, helio_error_t *err);

/*  Fills *err with a failure of the connection (SQLSTATE 08006) and libpq's text about it. what: what was tried, before
 *  that text; "" = nothing. connection: NULL = there is none any more. Returns HELIO_UNAVAILABLE. */
helio_rc helio_session_lost(const PGconn *connection, const char *what, helio_error_t *err);

/*  Runs one named query, blocking, with `count` text parameters. *ret_result: on success the result, owned by the
 *  caller; ret_result NULL discards it. */
helio_rc helio_session_query(PGconn *connection, const char *name, int count, const char *const *values,
                             PGresult **ret_result, helio_error_t *err);
/*  Runs statements without parameters, blocking. what: their name in an error text. */
helio_rc helio_session_run(PGconn *connection, const char *what, const char *text, helio_error_t *err);

/*  The one result of what was sent, once the connection is ready for the next statement; its end can be late as well.
 *  HELIO_TIMEOUT after wait_ms (0 = no limit), HELIO_UNAVAILABLE when the connection is lost or stop_fd (-1 = none)
 *  becomes readable: then the connection is in doubt. */
helio_rc helio_session_take(PGconn *connection, int stop_fd, uint32_t wait_ms, PGresult **ret_result,
                            helio_error_t *err);

/*  HELIO_VERSION with a text if the database's migrations are not exactly those of this program. */
helio_rc helio_session_verify(PGconn *connection, helio_error_t *err);

#endif
