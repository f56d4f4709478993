/*  submission.h -- the body of POST /v1/jobs as the core's SUBMIT: split into documents, each parsed, hashed and kept
 *  byte for byte. Pure. Runs on the library's threads, because 16 MiB of YAML take a while to read. */
#ifndef HELIO_BROKER_HTTP_ROUTES_SUBMISSION_H
#define HELIO_BROKER_HTTP_ROUTES_SUBMISSION_H

#include "broker/model/events.h"
#include "federation/spec/spec.h"

enum {
    HELIO_SUBMISSION_JOBS_MAX = 10000,
    /* Jobs and tasks: as many as a tenant may have open at once by default. A few bytes name ten thousand tasks, so without this
     * bound a small body could be a hundred million. */
    HELIO_SUBMISSION_TASKS_MAX = 1000000
};

/*  Fills in ret_event->jobs; views point into body and arena. idempotency_key "" = none; several documents get "key#0",
 *  "key#1", … labels: "KEY=VALUE", separated by commas, "" = none; they replace labels of a document that have the same key. On failure *ret_wrong has the errors of the first wrong document, and *ret_document its index (-1: the
 *  body as a whole, or the only document). */
HELIO_MUST_CHECK helio_rc helio_submission_read(helio_text_t body, const char *idempotency_key, const char *labels,
                                                helio_arena_t *arena, helio_ev_submit_t *ret_event,
                                                helio_diagnostics_t *ret_wrong, int *ret_document);

#endif
