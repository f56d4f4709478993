/*  doubt.c -- what the cluster says that cannot be: lists without end, and nodes that have more than a node can. */
#include <stdio.h>

#include "site-agent/backends/kubernetes/shell.h"

enum { DOUBT_MS = 60000, TEXT_SIZE = 600 }; /* the shortest interval, however a node's status changes */

static void say(const helio_kube_t *self, const char *text)
{
    if (self->sink.on_doubt)
        self->sink.on_doubt(self->sink.arg, text);
}

static bool serve_list(helio_kube_t *self, const helio_kube_mirror_t *mirror, const char *what, const char **said)
{
    char text[TEXT_SIZE];
    if (mirror->excess && mirror->excess != *said) {
        (void)snprintf(
            text, sizeof text,
            "the API's list of %s has more %s than the agent reads (%d objects, %d pages, %d bytes), so nothing "
            "is offered until a complete list has arrived: check what answers at %.*s",
            what, mirror->excess, HELIO_KUBE_OBJECTS_MAX, HELIO_KUBE_PAGES_MAX, HELIO_KUBE_TOKEN_MAX,
            HELIO_TEXT_ARGS(self->access.server));
        (void)snprintf(self->trouble, sizeof self->trouble, "%.*s", HELIO_KUBE_WHY_SIZE - 1, text);
        say(self, text);
    }
    *said = mirror->excess;
    return mirror->excess != NULL;
}

static void serve_nodes(helio_kube_t *self)
{
    char text[TEXT_SIZE];
    if (self->fleet->absurd < self->absurd_said)
        self->absurd_said = self->fleet->absurd;
    if (self->fleet->absurd == self->absurd_said || self->now_ms < self->doubt_ms)
        return;
    self->absurd_said = self->fleet->absurd;
    self->doubt_ms = self->now_ms + DOUBT_MS;
    (void)snprintf(text, sizeof text, "%u nodes report impossible figures; the last of them: %s", self->fleet->absurd,
                   self->fleet->remark);
    say(self, text);
}

void helio_kube_serve_doubt(helio_kube_t *self)
{
    bool nodes = serve_list(self, &self->nodes, "nodes", &self->excess_said[0]);
    bool jobs = serve_list(self, &self->jobs, "Jobs", &self->excess_said[1]);
    bool pods = serve_list(self, &self->pods, "pods", &self->excess_said[2]);
    bool excess = nodes || jobs || pods;
    if (excess && !self->excess_ms)
        self->excess_ms = self->now_ms;
    if (!excess)
        self->excess_ms = 0;
    serve_nodes(self);
}
