/*  error.c -- names and texts of the result codes. */
#include "federation/base/error.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

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

helio_rc helio_fail(helio_error_t *err, helio_rc rc, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        err->code = rc;
        (void)vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
    }
    return rc;
}
