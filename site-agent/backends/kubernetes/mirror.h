/*  mirror.h -- the objects of one kind as a cluster has them: a list, page by page, and then a watch.
 *
 *  What it holds can be late, but is never invented. After a cut, or 410, everything is listed again. The owner decides
 *  nothing that cannot be undone by a mirror alone: it asks for the object itself first.
 *
 *  A server or a proxy can answer with pages or objects without end. Beyond the bounds below nothing more is read:
 *  what the mirror holds is then not all there is, and `excess` says so until a whole list has come.
 */
#ifndef HELIO_BACKENDS_KUBERNETES_MIRROR_H
#define HELIO_BACKENDS_KUBERNETES_MIRROR_H

#include "site-agent/backends/kubernetes/api.h"

enum {
    HELIO_KUBE_DENIALS = 2,           /* a server that just started denies a valid token once */
    HELIO_KUBE_PAGE = 500,            /* objects of a page */
    HELIO_KUBE_OBJECTS_MAX = 1 << 18, /* of one kind; Kubernetes is made for clusters of 150,000 pods */
    HELIO_KUBE_PAGES_MAX = 1 << 10,   /* of one list: nearly twice what so many objects fill */
    HELIO_KUBE_TOKEN_MAX =
        8 << 10,                 /* bytes of a `continue`, which becomes a part of a URL; the API's have some hundred */
    HELIO_KUBE_EXCESS_MS = 60000 /* before a list that went beyond these is tried again */
};

/*  An object came, changed or went. It makes no requests. */
typedef void helio_kube_changed_fn(void *arg, const json_t *object, bool gone);

typedef struct helio_kube_mirror {
    helio_kube_api_t *api;
    const char *path; /* with its label selector, without the other parts of a query */
    helio_kube_changed_fn *changed;
    void (*listed)(void *arg);              /* a list is complete: `items` is all there is; NULL = not told */
    json_t *(*prune)(const json_t *object); /* what is kept of an object, a new reference; NULL = all of it */
    void (*heard)(void *arg, const helio_kube_reply_t *reply); /* each answer */
    void *arg;
    json_t *items;  /* "namespace/name" -> object */
    json_t *coming; /* of the list that is being read */
    helio_buffer_t page;
    uint32_t pages;     /* of the list that is being read */
    const char *excess; /* what there was too much of; NULL = nothing */
    char version[64];
    bool synced; /* listed at least once */
    bool out, watches, moved;
    uint32_t denials, failures;
    int64_t due_ms, began_ms, now_ms;
} helio_kube_mirror_t;

void helio_kube_mirror_init(helio_kube_mirror_t *self);
void helio_kube_mirror_clear(helio_kube_mirror_t *self);
/*  Lists at the next turn; for another path. */
void helio_kube_mirror_again(helio_kube_mirror_t *self);
/*  Asks for what is due. */
void helio_kube_mirror_serve(helio_kube_mirror_t *self, int64_t now_ms);
int64_t helio_kube_mirror_next_ms(const helio_kube_mirror_t *self);

#endif
