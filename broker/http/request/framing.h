/*  framing.h -- whether the head of a request leaves no doubt where the request ends and what it says (RFC 9112).
 *
 *  A proxy in front of the broker must read a request as the broker does. Where two readers could differ, the request
 *  is refused and its connection closed: a repeated Content-Length, one beside a Transfer-Encoding, any encoding but
 *  chunked, a repeated header of which the broker reads one value, a control character, a NUL that ends a text early.
 *  Pure. */
#ifndef HELIO_BROKER_HTTP_REQUEST_FRAMING_H
#define HELIO_BROKER_HTTP_REQUEST_FRAMING_H

#include "federation/base/memory.h"

/*  The headers that may come once: a bit each in `seen`. */
#define HELIO_SINGLE_HEADER_TABLE(X)  \
    X(HOST, "Host")                   \
    X(LENGTH, "Content-Length")       \
    X(ENCODING, "Transfer-Encoding")  \
    X(AUTHORIZATION, "Authorization") \
    X(TYPE, "Content-Type")           \
    X(KEY, "Idempotency-Key")         \
    X(EVENT_ID, "Last-Event-ID")

/*  Zero-initialised, except for version. */
typedef struct helio_framing {
    const char *version; /* "HTTP/1.1" */
    uint32_t seen;       /* of the headers above */
    const char *wrong;   /* NULL: nothing so far; else a header's name, or "target" */
    const char *end;     /* of the last header; NULL = none yet */
} helio_framing_t;

/*  end: where the parser saw the target end, in the same buffer as version. With a NUL within the target that is too
 *  early, and version does not follow it. */
void helio_framing_target(helio_framing_t *self, const char *end);
/*  The headers in the order of their arrival, each in the parser's buffer: a text that a NUL ended early leaves bytes
 *  between itself and the next header. */
void helio_framing_header(helio_framing_t *self, helio_text_t name, helio_text_t value);
/*  After the last header. The result: NULL, or what is wrong. */
const char *helio_framing_verdict(helio_framing_t *self);

#endif
