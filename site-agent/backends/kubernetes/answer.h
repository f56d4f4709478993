/*  answer.h -- what an answer of the API means for what the agent asked. Pure.
 *
 *  Only an answer in the API's own words counts: a proxy's 404 is not a Job that does not exist, and a 504 says nothing
 *  about what became of a request.
 */
#ifndef HELIO_BACKENDS_KUBERNETES_ANSWER_H
#define HELIO_BACKENDS_KUBERNETES_ANSWER_H

#include <jansson.h>

#include "federation/base/memory.h"

typedef enum helio_kube_answer {
    HELIO_KUBE_DONE,
    HELIO_KUBE_EXISTS,   /* a create found the name taken: ours or another's, GET says */
    HELIO_KUBE_CONFLICT, /* the object is not what the request assumed */
    HELIO_KUBE_ABSENT,   /* the object itself does not exist */
    HELIO_KUBE_REFUSED,  /* the object is refused, and would be again */
    HELIO_KUBE_DENIED,   /* no right to do that; right after a connection to a server that just started: ask again */
    HELIO_KUBE_STRANGER, /* no valid credentials: read them again */
    HELIO_KUBE_BUSY,     /* not carried out: ask again after the pause */
    HELIO_KUBE_EXPIRED,  /* the version or the page is compacted: list again */
    HELIO_KUBE_UNKNOWN   /* whether it was carried out is not known */
} helio_kube_answer_t;

/*  status 0: no answer came. `document` is the body as JSON, regardless of its type; NULL if it is not JSON. `message`:
 *  the server's own words, a view into the document, "" if there are none. */
helio_kube_answer_t helio_kube_answer(long status, const json_t *document, helio_text_t *ret_message);

/*  The pause that a header Retry-After asks for, in ms, at most a minute; 1 s without one. */
uint64_t helio_kube_pause_ms(helio_text_t retry_after);

#endif
