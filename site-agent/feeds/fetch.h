/*  fetch.h -- HTTP GET requests that nobody waits for: libcurl's multi interface behind one descriptor.
 *
 *  http and https only, certificates checked, no redirects (a header with a secret goes nowhere else),
 * bounded answers and times. Each request ends with exactly one call of its `done`, from
 * helio_fetcher_process alone. Thread: one owner.
 */
#ifndef HELIO_FEEDS_FETCH_H
#define HELIO_FEEDS_FETCH_H

#include "federation/base/memory.h"

typedef struct helio_fetcher helio_fetcher_t;

typedef struct helio_fetch_result {
    bool ok;               /* status 200, whole */
    long status;           /* 0: no answer */
    helio_text_t body;     /* lives for the call */
    const char *complaint; /* when not ok; without url or headers, which may hold secrets */
} helio_fetch_result_t;
typedef void helio_fetch_done_fn(void *arg, const helio_fetch_result_t *result);

typedef struct helio_fetch {
    const char *url;
    const char *const *headers;  /* "Name: value", NULL-terminated; NULL = none. Copied */
    const char *user, *password; /* basic authentication; NULL = none. Copied */
    uint64_t timeout_ms;
    size_t max_bytes;
    helio_fetch_done_fn *done;
    void *arg;
} helio_fetch_t;

HELIO_MUST_CHECK helio_rc helio_fetcher_new(helio_fetcher_t **ret_fetcher, helio_error_t *err);
void helio_fetcher_destroy(helio_fetcher_t **self_p); /* what runs ends unheard */
HELIO_MUST_CHECK helio_rc helio_fetcher_get(helio_fetcher_t *self, const helio_fetch_t *fetch,
                                            helio_error_t *err);
int helio_fetcher_fd(const helio_fetcher_t *self);          /* readable when process has something to do */
int64_t helio_fetcher_next_ms(const helio_fetcher_t *self); /* CLOCK_BOOTTIME; INT64_MAX: no wish */
void helio_fetcher_process(helio_fetcher_t *self, int64_t now_boot_ms);

/*  Replaces {region}, {now}, {hour}, {day_ago}, {in_48h} (times as 2026-11-22T07:30Z, the half hour before;
 * region escaped for a URL). INVALID: another word in braces, or a region that a URL cannot hold. */
HELIO_MUST_CHECK helio_rc helio_fetch_url(helio_text_t pattern, helio_text_t region, int64_t wall_ms,
                                          helio_buffer_t *out, helio_error_t *err);

#endif
