/*  error.h -- result codes and the optional human text that goes with them.
 *
 *  Every fallible function returns helio_rc (0 = ok) and must be checked. Functions with more detail take a
 *  helio_error_t * as their last parameter; NULL is allowed. Libraries never log: they return errors.
 *
 *  The classes of errors are three: a programming error is an assert (also in release builds); out of memory aborts
 *  (sizes from outside are bounded first); an operating error is returned.
 */
#ifndef HELIO_BASE_ERROR_H
#define HELIO_BASE_ERROR_H

#include <stdbool.h>

/*        name          text                                    retryable */
#define HELIO_RC_TABLE(X)                       \
    X(OK, "ok", false)                          \
    X(INVALID, "invalid input", false)          \
    X(NOT_FOUND, "not found", false)            \
    X(FORBIDDEN, "not allowed", false)          \
    X(CONFLICT, "conflict", false)              \
    X(TOO_BIG, "larger than the bound", false)  \
    X(PROTOCOL, "malformed message", false)     \
    X(VERSION, "version mismatch", false)       \
    X(INFEASIBLE, "nothing feasible", false)    \
    X(FENCED, "fenced by a newer epoch", false) \
    X(IO, "input/output error", true)           \
    X(BUSY, "queue full", true)                 \
    X(UNAVAILABLE, "unavailable", true)         \
    X(TIMEOUT, "timed out", true)

typedef enum helio_rc {
#define X(name, text, retryable) HELIO_##name,
    HELIO_RC_TABLE(X)
#undef X
} helio_rc;

#define HELIO_MUST_CHECK __attribute__((warn_unused_result))
#define HELIO_PRINTF(f, a) __attribute__((format(printf, f, a)))

enum { HELIO_SQLSTATE_SIZE = 6 };

/*  sqlstate: the class and cause by which PostgreSQL names an error ("42501"); those of class 08 concern the
 *  connection. "" = the error did not come from the database. Decisions rest on it and on the code; the text is for
 *  people. */
typedef struct helio_error {
    helio_rc code;
    char sqlstate[HELIO_SQLSTATE_SIZE];
    char text[512];
} helio_error_t;

/*  Short name ("INVALID") and text ("invalid input") of a code. Never NULL. */
const char *helio_rc_name(helio_rc rc);
const char *helio_rc_text(helio_rc rc);

/*  Fills *err (may be NULL) and returns rc, so that callers write: return helio_fail(err, HELIO_IO, "…"). */
helio_rc helio_fail(helio_error_t *err, helio_rc rc, const char *format, ...) HELIO_PRINTF(3, 4);

/*  The same for an error of the database. */
helio_rc helio_fail_sql(helio_error_t *err, helio_rc rc, const char *sqlstate, const char *format, ...)
    HELIO_PRINTF(4, 5);

/*  Whether the two report the same: only then does a report of both say nothing new. */
bool helio_error_equal(const helio_error_t *a, const helio_error_t *b);

/*  Scope cleanup: HELIO_AUTO(helio_buffer_clear) helio_buffer_t b = {0}; the function gets the variable's address. */
#define HELIO_AUTO(function) __attribute__((cleanup(function)))

#endif
