/*  submission.h -- the body of POST /v1/jobs as the core's SUBMIT: cut into documents, each parsed, hashed
 * and kept byte for byte. Pure; runs on the library's threads, since reading 16 MiB of YAML takes its time.
 */
#ifndef HELIO_BROKER_HTTP_ROUTES_SUBMISSION_H
#define HELIO_BROKER_HTTP_ROUTES_SUBMISSION_H

#include "broker/model/events.h"
#include "federation/spec/spec.h"

enum { HELIO_SUBMISSION_JOBS_MAX = 10000 };

/*  Fills ret_event->jobs; views point into body and arena. idempotency_key "" = none; several documents get
 * "key#0", "key#1", … On failure: what is wrong with the first document that is not good, and in
 * *ret_document which document it is (-1: the body as a whole, or the only one). */
HELIO_MUST_CHECK helio_rc helio_submission_read(helio_text_t body, const char *idempotency_key,
                                                helio_arena_t *arena, helio_ev_submit_t *ret_event,
                                                helio_diagnostics_t *ret_wrong, int *ret_document);

#endif
