/*  api.h -- requests to a cluster's API: by which identity, for how long at most, and what the answer means. Never
 *  blocks but for the file of a token.
 *
 *  A token that is in a file is read for each request, since the kubelet replaces it. Thread: one owner.
 */
#ifndef HELIO_BACKENDS_KUBERNETES_API_H
#define HELIO_BACKENDS_KUBERNETES_API_H

#include "site-agent/backends/kubernetes/answer.h"
#include "site-agent/backends/kubernetes/kubeconfig.h"
#include "site-agent/backends/kubernetes/watch.h"
#include "federation/fetch/fetch.h"

enum {
    HELIO_KUBE_REQUEST_MS = 30000,
    HELIO_KUBE_WATCH_S = 300, /* a watch ends by itself, and begins again where it was */
    HELIO_KUBE_BODY_MAX = 64 << 20
};

typedef struct helio_kube_api helio_kube_api_t;

typedef struct helio_kube_reply {
    helio_kube_answer_t answer;
    long status;          /* 0: no answer came */
    json_t *document;     /* NULL: none, or no JSON; lives for the call */
    helio_text_t message; /* the server's words, or the HTTP library's */
    uint64_t pause_ms;    /* before it is asked again */
    int64_t
        server_wall_ms; /* the API's time when it answered, in whole seconds; 0 = unknown, as at the end of a stream */
} helio_kube_reply_t;
typedef void helio_kube_reply_fn(void *arg, const helio_kube_reply_t *reply);

/*  `access` is borrowed, and may change between requests. */
HELIO_MUST_CHECK helio_rc helio_kube_api_new(const helio_kube_access_t *access, helio_kube_api_t **ret_api,
                                             helio_error_t *err);
void helio_kube_api_destroy(helio_kube_api_t **self_p); /* no reply is called any more */

/*  `path` with its query. A body is JSON; that of a PATCH is a merge patch. Exactly one reply follows, from process. */
HELIO_MUST_CHECK helio_rc helio_kube_api_ask(helio_kube_api_t *self, const char *method, const char *path,
                                             helio_text_t body, helio_kube_reply_fn *reply, void *arg,
                                             helio_error_t *err);

/*  Watches from a version; `path` without these parts of the query. Events, and then one reply: DONE after its time,
 *  UNKNOWN if it was cut off, EXPIRED (410) if the version is too old, in or out of the stream. */
HELIO_MUST_CHECK helio_rc helio_kube_api_watch(helio_kube_api_t *self, const char *path, const char *version,
                                               helio_kube_event_fn *each, helio_kube_reply_fn *reply, void *arg,
                                               helio_error_t *err);

/*  A body as it comes, such as a pod's log, for at most that long (0 = until it ends). Pieces, and then one reply:
 *  UNKNOWN if it was cut off. */
HELIO_MUST_CHECK helio_rc helio_kube_api_stream(helio_kube_api_t *self, const char *path, uint64_t timeout_ms,
                                                helio_fetch_piece_fn *piece, helio_kube_reply_fn *reply, void *arg,
                                                helio_error_t *err);

int helio_kube_api_fd(const helio_kube_api_t *self);
int64_t helio_kube_api_next_ms(const helio_kube_api_t *self);
void helio_kube_api_process(helio_kube_api_t *self, int64_t now_boot_ms);

#endif
