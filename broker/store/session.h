/*  session.h -- what the files of this room share: connecting, finding a named query, and reading
 * PostgreSQL's errors.
 *
 *  Only this room includes libpq. A PGconn belongs to one thread.
 */
#ifndef HELIO_BROKER_STORE_SESSION_H
#define HELIO_BROKER_STORE_SESSION_H

#include <libpq-fe.h>

#include "broker/store/schema.h"
#include "federation/base/error.h"
#include "federation/base/memory.h"

/*  The text of a block of schema/queries. A name that is not there is a programmer's error. */
const char *helio_sql_query(const char *name);

/*  Blocking. NULL: HELIO_UNAVAILABLE, err says where and why (a password never is in it). */
PGconn *helio_session_connect(const char *conninfo, const char *application, helio_error_t *err);
/*  The same, not blocking: continue with PQconnectPoll. */
PGconn *helio_session_connect_start(const char *conninfo, const char *application);

/*  By what name this process leads, for people who look into table federation: host and process. */
enum { HELIO_SESSION_HOLDER_SIZE = 96 };
void helio_session_holder(char ret_name[HELIO_SESSION_HOLDER_SIZE]);

void helio_session_clear_result(PGresult **result_p); /* for HELIO_AUTO */
void helio_session_finish(PGconn **connection_p);     /* for HELIO_AUTO */

/*  What became of a statement: HELIO_OK; HELIO_FENCED (a newer leader); HELIO_UNAVAILABLE (the server or the
 * connection, not the statement: may heal); HELIO_TIMEOUT (statement_timeout); HELIO_INVALID (the statement
 * or its values). */
helio_rc helio_session_outcome(PGconn *connection, const PGresult *result);
/*  The same with a text: "put_job: duplicate key value … (23505, jobs_idempotency)". */
helio_rc helio_session_check(PGconn *connection, const PGresult *result, const char *what,
                             helio_error_t *err);

/*  One named query, blocking, all parameters as text, at most `count` of them. */
helio_rc helio_session_query(PGconn *connection, const char *name, int count, const char *const *values,
                             PGresult **ret_result, helio_error_t *err);
/*  Statements from a file, blocking, without parameters. */
helio_rc helio_session_run(PGconn *connection, const char *what, const char *text, helio_error_t *err);

/*  HELIO_VERSION with a text when the database's migrations are not exactly those of this program. */
helio_rc helio_session_verify(PGconn *connection, helio_error_t *err);

#endif
