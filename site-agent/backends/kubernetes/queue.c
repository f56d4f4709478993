/*  queue.c -- the LocalQueue of the site file, and what its ClusterQueue has left: asked for, since who may read one queue
 *  need not see all of them. */
#include <stdio.h>

#include "site-agent/backends/kubernetes/document.h"
#include "site-agent/backends/kubernetes/shell.h"

enum {
    AGAIN_MS = 10000,   /* others' jobs come and go */
    DENIED_MS = 600000, /* before a right that is missing is tried again */
    NAME_SIZE = 254
};

#define KUEUE "/apis/kueue.x-k8s.io/v1beta1"

static void take(helio_kube_t *self, const json_t *cluster)
{
    helio_kube_quota_read(self->local_queue, cluster, self->site, &self->quota);
    self->quota_ms = self->quota_asked_ms;
    self->quota_tried = self->offer = true;
    if (cluster)
        helio_kube_read_line(self, self->local_queue, cluster);
    else
        helio_kube_forget_line(self);
    json_decref(self->local_queue);
    self->local_queue = NULL;
}

/*  True: an object came. Without the right to read it, and without Kueue, nothing is limited; what has no answer now is
 *  asked again, and the former figures stand. */
static bool heard(helio_kube_t *self, const helio_kube_reply_t *reply)
{
    self->quota_out = false;
    self->quota_due_ms = self->now_ms + AGAIN_MS;
    helio_kube_hear(self, reply);
    if (reply->answer == HELIO_KUBE_DONE)
        return true;
    if (reply->answer == HELIO_KUBE_ABSENT) {
        take(self, NULL);
        return false;
    }
    json_decref(self->local_queue);
    self->local_queue = NULL;
    if (reply->answer == HELIO_KUBE_DENIED || reply->answer == HELIO_KUBE_REFUSED ||
        (reply->status == 404 && !self->quota.known)) {
        bool again = !self->quota_denied; /* a server that just started denies a valid token once */
        self->quota_denied = true;
        self->quota_due_ms = self->now_ms + (again ? AGAIN_MS : DENIED_MS);
        self->offer = self->offer || self->quota.known || !self->quota_tried;
        self->quota.known = false;
        self->quota_tried = true;
        helio_kube_forget_line(self);
    }
    return false;
}

static void on_cluster_queue(void *arg, const helio_kube_reply_t *reply)
{
    helio_kube_t *self = arg;
    if (!heard(self, reply))
        return;
    self->quota_denied = false;
    take(self, reply->document);
}

/*  What goes into a path must be a name, even from a LocalQueue. */
static bool is_name(helio_text_t text)
{
    for (uint32_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && !(i && (c == '-' || c == '.')))
            return false;
    }
    return text.size > 0 && text.size < NAME_SIZE;
}

static void ask(helio_kube_t *self, const char *path, helio_kube_reply_fn *reply)
{
    helio_error_t err = {0};
    self->quota_out = !helio_kube_api_ask(self->api, "GET", path, (helio_text_t){0}, reply, self, &err);
    self->quota_due_ms = self->now_ms + AGAIN_MS;
}

static void on_local_queue(void *arg, const helio_kube_reply_t *reply)
{
    helio_kube_t *self = arg;
    char path[HELIO_KUBE_PATH_SIZE];
    helio_text_t name = helio_kube_text(HELIO_KUBE_AT(reply->document, "spec", "clusterQueue"));
    if (!heard(self, reply))
        return;
    self->local_queue = json_incref(reply->document);
    if (!is_name(name)) {
        take(self, NULL);
        return;
    }
    (void)snprintf(path, sizeof path, KUEUE "/clusterqueues/%.*s", HELIO_TEXT_ARGS(name));
    ask(self, path, on_cluster_queue);
}

void helio_kube_serve_queue(helio_kube_t *self)
{
    char path[HELIO_KUBE_PATH_SIZE];
    helio_text_t name = self->settings->queue;
    if (!name.size || self->quota_out || self->now_ms < self->quota_due_ms)
        return;
    self->quota_asked_ms = self->now_ms;
    (void)snprintf(path, sizeof path, KUEUE "/namespaces/%s/localqueues/%.*s", self->space, HELIO_TEXT_ARGS(name));
    ask(self, path, on_local_queue);
}

int64_t helio_kube_queue_next_ms(const helio_kube_t *self)
{
    return self->settings->queue.size && !self->quota_out ? self->quota_due_ms : INT64_MAX;
}

/*  An attempt reserves its quota when Kueue admits it: figures that are older do not contain it. */
uint64_t helio_kube_queue_waiting(const helio_kube_t *self, helio_text_t pool)
{
    uint64_t gpus = 0;
    for (const helio_kube_attempt_t *attempt = self->attempts; attempt; attempt = attempt->hh.next)
        if (!attempt->over && !attempt->deleted && helio_text_is(pool, attempt->pool) &&
            (!attempt->admitted_ms || attempt->admitted_ms >= self->quota_ms))
            gpus += (uint64_t)attempt->nodes * attempt->gpus_per_node;
    return gpus;
}
