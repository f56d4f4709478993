/*  fetch.h -- HTTP requests that never block: libcurl's multi interface behind one descriptor.
 *
 *  http and https only, certificates checked, no redirects (a header with a secret is sent nowhere else), bounded
 *  responses and times. Each request ends with exactly one call of its `done`, from helio_fetcher_process alone.
 *  Thread: one owner.
 */
#ifndef HELIO_FETCH_FETCH_H
#define HELIO_FETCH_FETCH_H

#include "federation/base/memory.h"

typedef struct helio_fetcher helio_fetcher_t;

typedef struct helio_fetch_result {
    bool ok;                 /* status 200, complete */
    bool complete;           /* the whole response arrived, with any status */
    long status;             /* 0: no response */
    helio_text_t body;       /* lives for the call; of a stream with status 200: empty */
    const char *retry_after; /* that header; "" = none */
    uint64_t retry_after_ms; /* what it says; 0 = nothing */
    int64_t server_wall_ms;  /* the server's time by its header Date, in whole seconds; 0 = none */
    const char *complaint;   /* if not ok; without url or headers, which can hold secrets */
} helio_fetch_result_t;
typedef void helio_fetch_done_fn(void *arg, const helio_fetch_result_t *result);
/*  A piece of a stream; false ends the request. It makes no requests. */
typedef bool helio_fetch_piece_fn(void *arg, helio_text_t piece);

/*  The authorities that a request trusts, and its own identity. Each is a file or its content (PEM), content first;
 *  none: not given. Copied. */
typedef struct helio_fetch_tls {
    const char *ca_path, *certificate_path, *key_path;
    helio_text_t ca, certificate, key;
    const char *proxy; /* NULL = none, even if the environment has one */
} helio_fetch_tls_t;

typedef struct helio_fetch {
    const char *url;
    const char *const *headers;   /* "Name: value", NULL-terminated; NULL = none. Copied */
    const char *user, *password;  /* basic authentication; NULL = none. Copied */
    const char *user_agent;       /* NULL = the agent of a site. Copied */
    const char *method;           /* NULL = GET */
    helio_text_t body;            /* sent with it. Copied */
    const helio_fetch_tls_t *tls; /* https alone; NULL = the system's authorities */
    uint64_t timeout_ms;          /* of all of it; 0 = none, for streams */
    uint64_t silence_ms;          /* a stream that sends nothing for this time is over; 0 = never */
    size_t max_bytes;             /* of a body that is kept */
    helio_fetch_piece_fn *piece;  /* takes a body with status 200 as it comes; NULL = it is kept */
    helio_fetch_done_fn *done;
    void *arg;
} helio_fetch_t;

HELIO_MUST_CHECK helio_rc helio_fetcher_new(helio_fetcher_t **ret_fetcher, helio_error_t *err);
void helio_fetcher_destroy(helio_fetcher_t **self_p); /* ends running requests; no `done` is called */
HELIO_MUST_CHECK helio_rc helio_fetcher_get(helio_fetcher_t *self, const helio_fetch_t *fetch, helio_error_t *err);
int helio_fetcher_fd(const helio_fetcher_t *self);          /* readable when process has work to do */
int64_t helio_fetcher_next_ms(const helio_fetcher_t *self); /* CLOCK_BOOTTIME; INT64_MAX: never */
void helio_fetcher_process(helio_fetcher_t *self, int64_t now_boot_ms);

#endif
