/*  check.c -- what an operator sees before the agent runs: the cluster, the agent's rights there, and each pool. */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "federation/base/clock.h"
#include "site-agent/backends/kubernetes/capacity.h"
#include "site-agent/backends/kubernetes/document.h"
#include "site-agent/backends/kubernetes/shell.h"

enum { TEXT_SIZE = 600, TURN_MS = 200 };

typedef void line_fn(void *arg, const char *what, helio_rc rc, const char *detail);

typedef struct helio_kube_inquiry {
    helio_kube_t *self;
    line_fn *line;
    void *arg;
    bool over;
    helio_kube_answer_t answer;
    json_t *document;
    char message[TEXT_SIZE];
} helio_kube_inquiry_t;

static void on_reply(void *arg, const helio_kube_reply_t *reply)
{
    helio_kube_inquiry_t *inquiry = arg;
    inquiry->over = true;
    inquiry->answer = reply->answer;
    inquiry->document = json_incref(reply->document);
    (void)helio_text_copy(reply->message, inquiry->message, sizeof inquiry->message);
}

/*  Sends a request and waits for its answer, which has a deadline. */
static bool ask(helio_kube_inquiry_t *inquiry, const char *method, const char *path, helio_text_t body)
{
    helio_error_t err = {0};
    json_decref(inquiry->document);
    inquiry->document = NULL;
    inquiry->over = false;
    inquiry->answer = HELIO_KUBE_UNKNOWN;
    if (helio_kube_api_ask(inquiry->self->api, method, path, body, on_reply, inquiry, &err)) {
        (void)snprintf(inquiry->message, sizeof inquiry->message, "%s", err.text);
        return false;
    }
    while (!inquiry->over) {
        struct pollfd fd = {.fd = helio_kube_api_fd(inquiry->self->api), .events = POLLIN};
        int64_t wait_ms = helio_kube_api_next_ms(inquiry->self->api) - helio_clock_boot_ms();
        (void)poll(&fd, 1, wait_ms < 0 ? 0 : wait_ms > TURN_MS ? TURN_MS : (int)wait_ms);
        helio_kube_api_process(inquiry->self->api, helio_clock_boot_ms());
    }
    return inquiry->answer == HELIO_KUBE_DONE;
}

/* ---- rights -------------------------------------------------------------------------------------------- */

typedef struct helio_kube_right {
    const char *group, *resource, *verbs[7];
    bool cluster, needed;
    const char *without; /* what happens without this right */
} helio_kube_right_t;

static const helio_kube_right_t rights[] = {
    {"batch", "jobs", {"create", "get", "list", "watch", "patch", "delete"}, false, true, "no job can run"},
    {"", "pods", {"list", "watch"}, false, true, "no job can be watched"},
    {"", "pods", {"delete"}, false, true, "no job can be killed"},
    {"", "pods/log", {"get"}, false, true, "no job has a log"},
    {"", "events", {"list"}, false, true, "the reason why a Job has no pods is not reported"},
    {"", "services", {"create"}, false, true, "no gang can run"},
    {"", "nodes", {"list", "watch"}, true, true, "nothing is offered"},
    {"", "pods", {"list", "watch"}, true, false, "capacity that other pods use is not seen, and is offered too"},
    {"kueue.x-k8s.io", "workloads", {"list"}, false, false, "the reason why Kueue keeps a job waiting is unknown"},
    {"kueue.x-k8s.io",
     "localqueues",
     {"get"},
     false,
     false,
     "capacity is offered that the site's queue would not admit"},
    {"kueue.x-k8s.io",
     "clusterqueues",
     {"get"},
     true,
     false,
     "capacity is offered that the site's queue would not admit"},
    {"kueue.x-k8s.io",
     "localqueues",
     {"list"},
     true,
     false,
     "those who wait in the queue from other namespaces are counted, but not seen"},
    {"kueue.x-k8s.io",
     "workloads",
     {"list"},
     true,
     false,
     "those who wait in the queue from other namespaces are counted, but not seen"},
};

static bool is_allowed(helio_kube_inquiry_t *inquiry, const helio_kube_right_t *right, const char *verb)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t body = {0};
    const char *slash = strchr(right->resource, '/');
    helio_buffer_printf(&body,
                        "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SelfSubjectAccessReview\",\"spec\":{"
                        "\"resourceAttributes\":{\"verb\":\"%s\",\"group\":\"%s\",\"resource\":\"%.*s\"",
                        verb, right->group, slash ? (int)(slash - right->resource) : (int)strlen(right->resource),
                        right->resource);
    if (slash)
        helio_buffer_printf(&body, ",\"subresource\":\"%s\"", slash + 1);
    if (!right->cluster)
        helio_buffer_printf(&body, ",\"namespace\":\"%s\"", inquiry->self->space);
    helio_buffer_text(&body, "}}}");
    return ask(inquiry, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", helio_buffer_view(&body)) &&
           json_is_true(HELIO_KUBE_AT(inquiry->document, "status", "allowed"));
}

static void check_rights(helio_kube_inquiry_t *inquiry)
{
    char text[TEXT_SIZE];
    for (size_t r = 0; r < sizeof rights / sizeof rights[0]; r++) {
        const helio_kube_right_t *right = &rights[r];
        int size =
            snprintf(text, sizeof text, "%s in %s:", right->resource, right->cluster ? "the cluster" : "the namespace");
        bool all = true;
        for (const char *const *verb = right->verbs; *verb; verb++) {
            bool allowed = is_allowed(inquiry, right, *verb);
            size += snprintf(text + size, sizeof text - (size_t)size, " %s%s", *verb, allowed ? "" : " (denied)");
            all = all && allowed;
        }
        if (!all)
            (void)snprintf(text + size, sizeof text - (size_t)size, "; otherwise %s", right->without);
        inquiry->line(inquiry->arg, "right", all || !right->needed ? HELIO_OK : HELIO_FORBIDDEN, text);
    }
}

/* ---- pools --------------------------------------------------------------------------------------------- */

static void check_pool(helio_kube_inquiry_t *inquiry, const helio_pool_t *pool, const helio_pool_capacity_t *found)
{
    char what[64], text[TEXT_SIZE], resource[HELIO_KUBE_RESOURCE_SIZE];
    uint64_t declared = (uint64_t)pool->nodes * pool->gpus_per_node;
    bool same = found->nodes_up == pool->nodes && found->gpus_total == declared;
    helio_kube_resource(pool, resource);
    (void)snprintf(what, sizeof what, "pool %.*s", HELIO_TEXT_ARGS(pool->name));
    const char *counted = resource[0] ? resource : "GPUs";
    if (pool->elastic && found->nodes_up < pool->max_nodes)
        (void)snprintf(text, sizeof text,
                       "the cluster has %u of at most %u nodes of this elastic pool, with %u %s in all",
                       found->nodes_up, pool->max_nodes, found->gpus_total, counted);
    else if (!found->nodes_up)
        (void)snprintf(text, sizeof text,
                       "no node is Ready, has the resource %s and bears the label nvidia.com/gpu.product of %.*s",
                       counted, HELIO_TEXT_ARGS(pool->gpu));
    else if (same)
        (void)snprintf(text, sizeof text, "the cluster has %u nodes with %u %s in all", found->nodes_up,
                       found->gpus_total, counted);
    else
        (void)snprintf(text, sizeof text,
                       "the cluster has %u nodes with %u %s in all; the site file declares %u nodes with %u each",
                       found->nodes_up, found->gpus_total, counted, pool->nodes, pool->gpus_per_node);
    inquiry->line(inquiry->arg, what, found->nodes_up || pool->elastic ? HELIO_OK : HELIO_NOT_FOUND, text);
}

/*  Reads all nodes, page by page, within the bounds of mirror.h. False: `message` says why it failed. */
static bool take_nodes(helio_kube_inquiry_t *inquiry)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t path = {0};
    helio_text_t more = {0};
    for (uint32_t page = 0; page < HELIO_KUBE_PAGES_MAX && more.size <= HELIO_KUBE_TOKEN_MAX; page++) {
        helio_buffer_reset(&path);
        helio_buffer_printf(&path, "/api/v1/nodes?limit=%d", HELIO_KUBE_PAGE);
        if (more.size)
            helio_buffer_printf(&path, "&continue=%.*s", HELIO_TEXT_ARGS(more));
        if (!ask(inquiry, "GET", path.data, (helio_text_t){0}))
            return false;
        const json_t *items = json_object_get(inquiry->document, "items");
        for (size_t i = 0; i < json_array_size(items); i++)
            (void)helio_kube_fleet_node(inquiry->self->fleet, json_array_get(items, i), false);
        more = helio_kube_text(HELIO_KUBE_AT(inquiry->document, "metadata", "continue"));
        if (!more.size)
            return true;
    }
    (void)snprintf(inquiry->message, sizeof inquiry->message, "the list of nodes has more than %d pages",
                   HELIO_KUBE_PAGES_MAX);
    return false;
}

static void check_pools(helio_kube_inquiry_t *inquiry)
{
    helio_kube_t *self = inquiry->self;
    helio_aev_capacity_t capacity;
    if (!take_nodes(inquiry)) {
        inquiry->line(inquiry->arg, "nodes", HELIO_UNAVAILABLE, inquiry->message);
        return;
    }
    if (self->fleet->absurd)
        inquiry->line(inquiry->arg, "nodes", HELIO_INVALID, self->fleet->remark);
    helio_kube_capacity(self->fleet, NULL, 0, self->arena, &capacity);
    for (uint32_t i = 0; i < capacity.pools.count; i++)
        check_pool(inquiry, &self->site->pools.items[i], &capacity.pools.items[i]);
}

/*  Waits until the credential plug-in has ended or failed. */
static void await_access(helio_kube_t *self)
{
    while (!self->access_ready && !self->trouble[0]) {
        struct pollfd fd = {.fd = helio_commands_fd(self->commands), .events = POLLIN};
        (void)poll(&fd, 1, TURN_MS);
        self->now_ms = helio_clock_boot_ms();
        helio_kube_serve_access(self);
    }
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

void helio_kube_inquire(helio_kube_t *self, line_fn *line, void *arg)
{
    char text[TEXT_SIZE];
    helio_kube_inquiry_t inquiry = {.self = self, .line = line, .arg = arg};
    await_access(self);
    if (!self->access_ready) {
        line(arg, "cluster", HELIO_UNAVAILABLE, self->trouble);
        return;
    }
    bool good = ask(&inquiry, "GET", "/version", (helio_text_t){0});
    helio_text_t version = helio_kube_text(json_object_get(inquiry.document, "gitVersion"));
    (void)snprintf(text, sizeof text, "%.*s, Kubernetes %.*s, namespace %s", HELIO_TEXT_ARGS(self->access.server),
                   HELIO_TEXT_ARGS(version), self->space);
    line(arg, "cluster", good ? HELIO_OK : HELIO_UNAVAILABLE, good ? text : inquiry.message);
    if (good) {
        check_rights(&inquiry);
        check_pools(&inquiry);
    }
    json_decref(inquiry.document);
}
