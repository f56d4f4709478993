/*  error.c -- names and texts of the result codes. */
#include "federation/base/error.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    const char *text;
} codes[] = {
#define X(name, text, retryable) {#name, text},
    HELIO_RC_TABLE(X)
#undef X
};

const char *helio_rc_name(helio_rc rc)
{
    return (size_t)rc < sizeof codes / sizeof codes[0] ? codes[rc].name : "UNKNOWN";
}

const char *helio_rc_text(helio_rc rc)
{
    return (size_t)rc < sizeof codes / sizeof codes[0] ? codes[rc].text : "unknown error";
}

HELIO_PRINTF(4, 0)
static void fill(helio_error_t *err, helio_rc rc, const char *sqlstate, const char *format, va_list args)
{
    err->code = rc;
    (void)snprintf(err->sqlstate, sizeof err->sqlstate, "%.*s", HELIO_SQLSTATE_SIZE - 1, sqlstate);
    (void)vsnprintf(err->text, sizeof err->text, format, args);
}

helio_rc helio_fail(helio_error_t *err, helio_rc rc, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (err)
        fill(err, rc, "", format, args);
    va_end(args);
    return rc;
}

helio_rc helio_fail_sql(helio_error_t *err, helio_rc rc, const char *sqlstate, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (err)
        fill(err, rc, sqlstate, format, args);
    va_end(args);
    return rc;
}

bool helio_error_equal(const helio_error_t *a, const helio_error_t *b)
{
    return a->code == b->code && strcmp(a->sqlstate, b->sqlstate) == 0 && strcmp(a->text, b->text) == 0;
}
