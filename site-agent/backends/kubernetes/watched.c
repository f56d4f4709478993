/*  watched.c -- what lists and watches show: whose it is, and what of it is kept. */
#include <stdio.h>

#include "site-agent/backends/kubernetes/document.h"
#include "site-agent/backends/kubernetes/shell.h"

/*  Pods are listed in all namespaces, and other users choose the labels of theirs. */
static bool is_ours(const helio_kube_t *self, const json_t *object)
{
    if (!helio_text_is(helio_kube_text(HELIO_KUBE_AT(object, "metadata", "namespace")), self->space))
        return false;
    const json_t *labels = HELIO_KUBE_AT(object, "metadata", "labels");
    return helio_text_is(helio_kube_text(json_object_get(labels, "app.kubernetes.io/managed-by")), "heliostat") &&
           helio_text_equal(helio_kube_text(json_object_get(labels, "heliostat/site")), self->site->name);
}

/*  The attempt of an object, found now if it is not held yet. NULL: of no attempt. */
static helio_kube_attempt_t *holder(helio_kube_t *self, const json_t *object, bool hold)
{
    helio_job_key_t key;
    uint32_t epoch;
    helio_text_t name = helio_kube_text(HELIO_KUBE_AT(object, "metadata", "labels", "heliostat/attempt"));
    if (!is_ours(self, object) || helio_attempt_name_parse(name, &key, &epoch))
        return NULL;
    helio_kube_attempt_t *attempt = helio_kube_find(self, key, epoch);
    if (!attempt && hold) {
        attempt = helio_kube_add(self, key, epoch);
        attempt->found = true;
    }
    return attempt;
}

static void on_job_changed(void *arg, const json_t *job, bool gone)
{
    helio_kube_t *self = arg;
    helio_kube_attempt_t *attempt = holder(self, job, !gone);
    self->next_ms = 0;
    if (!attempt)
        return;
    if (!gone)
        helio_kube_set_job(attempt, job);
    else if (attempt->over && !attempt->claimed)
        attempt->forgotten = true;
    attempt->changes++;
    attempt->dirty = true;
    attempt->confirm = attempt->confirm || gone;
}

/*  A pod can outlive its Job. */
static void on_pod_changed(void *arg, const json_t *pod, bool gone)
{
    helio_kube_t *self = arg;
    helio_text_t phase = helio_kube_text(HELIO_KUBE_AT(pod, "status", "phase"));
    bool ended = helio_text_is(phase, "Succeeded") || helio_text_is(phase, "Failed");
    helio_kube_attempt_t *attempt = holder(self, pod, !gone && !ended);
    helio_text_t owner = helio_kube_text(HELIO_KUBE_AT(pod, "metadata", "labels", "heliostat/attempt"));
    self->offer |= helio_kube_fleet_pod(self->fleet, pod, is_ours(self, pod) ? owner : (helio_text_t){0}, gone);
    self->next_ms = 0;
    if (!attempt)
        return;
    if (attempt->found && !attempt->job)
        attempt->known = true;
    attempt->changes++;
    helio_kube_set_pod(attempt, pod, gone);
}

static void on_node_changed(void *arg, const json_t *node, bool gone)
{
    helio_kube_t *self = arg;
    self->offer |= helio_kube_fleet_node(self->fleet, node, gone);
    self->next_ms = 0;
}

/*  After a gap: what an attempt has been, and is not in the list, may have gone; or the list is older than it. */
static void on_jobs_listed(void *arg)
{
    helio_kube_t *self = arg;
    for (helio_kube_attempt_t *attempt = self->attempts; attempt; attempt = attempt->hh.next)
        attempt->confirm = attempt->confirm || (attempt->known && !attempt->over);
    self->offer = true;
    self->next_ms = 0;
}

static json_t *only(const json_t *object, const char *const *keys)
{
    json_t *kept = json_object();
    for (; *keys; keys++)
        if (json_object_get(object, *keys))
            (void)json_object_set(kept, *keys, json_object_get(object, *keys));
    return kept;
}

/*  Others' pods count by what they request and where. */
static json_t *prune_pod(const json_t *pod)
{
    static const char *const of_metadata[] = {"name", "namespace", NULL};
    static const char *const of_spec[] = {"nodeName", "containers", "initContainers", NULL};
    static const char *const of_status[] = {"phase", NULL};
    if (helio_kube_text(HELIO_KUBE_AT(pod, "metadata", "labels", "heliostat/attempt")).size)
        return json_incref((json_t *)(uintptr_t)pod);
    json_t *kept = json_object(), *spec = only(json_object_get(pod, "spec"), of_spec);
    static const char *const lists[] = {"containers", "initContainers"};
    static const char *const of_container[] = {"resources", NULL};
    for (size_t l = 0; l < 2; l++) {
        const json_t *all = json_object_get(spec, lists[l]);
        json_t *small = json_array();
        for (size_t i = 0; i < json_array_size(all); i++)
            (void)json_array_append_new(small, only(json_array_get(all, i), of_container));
        (void)json_object_set_new(spec, lists[l], small);
    }
    (void)json_object_set_new(kept, "metadata", only(json_object_get(pod, "metadata"), of_metadata));
    (void)json_object_set_new(kept, "spec", spec);
    (void)json_object_set_new(kept, "status", only(json_object_get(pod, "status"), of_status));
    return kept;
}

/*  Most of a node's document are the images that it has, and its heartbeats. */
static json_t *prune_node(const json_t *node)
{
    static const char *const of_metadata[] = {"name", NULL};
    static const char *const of_labels[] = {HELIO_KUBE_PRODUCT, NULL};
    static const char *const of_spec[] = {"unschedulable", "taints", NULL};
    static const char *const of_status[] = {"allocatable", NULL};
    json_t *kept = json_object(), *metadata = only(json_object_get(node, "metadata"), of_metadata);
    json_t *status = only(json_object_get(node, "status"), of_status), *conditions = json_array();
    json_t *ready = helio_kube_named(HELIO_KUBE_AT(node, "status", "conditions"), "type", "Ready");
    if (ready)
        (void)json_array_append(conditions, ready);
    (void)json_object_set_new(status, "conditions", conditions);
    (void)json_object_set_new(metadata, "labels", only(HELIO_KUBE_AT(node, "metadata", "labels"), of_labels));
    (void)json_object_set_new(kept, "metadata", metadata);
    (void)json_object_set_new(kept, "spec", only(json_object_get(node, "spec"), of_spec));
    (void)json_object_set_new(kept, "status", status);
    return kept;
}

/* ---- the mirrors --------------------------------------------------------------------------------------- */

static void set_paths(helio_kube_t *self)
{
    char ours[256];
    (void)snprintf(ours, sizeof ours,
                   "labelSelector=app.kubernetes.io%%2Fmanaged-by%%3Dheliostat%%2Cheliostat%%2Fsite%%3D%.*s",
                   HELIO_TEXT_ARGS(self->site->name));
    (void)snprintf(self->jobs_path, sizeof self->jobs_path,
                   "/apis/batch/v1/namespaces/%s/jobs?%s%%2C%%21heliostat%%2Facknowledged", self->space, ours);
    (void)snprintf(self->own_pods_path, sizeof self->own_pods_path, "/api/v1/namespaces/%s/pods?%s", self->space, ours);
    self->nodes.path = "/api/v1/nodes";
    self->jobs.path = self->jobs_path;
    self->pods.path = "/api/v1/pods";
}

void helio_kube_watch_all(helio_kube_t *self)
{
    helio_kube_mirror_t *all[] = {&self->nodes, &self->jobs, &self->pods};
    static helio_kube_changed_fn *const changed[] = {on_node_changed, on_job_changed, on_pod_changed};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        helio_kube_mirror_init(all[i]);
        all[i]->api = self->api;
        all[i]->arg = self;
        all[i]->changed = changed[i];
        all[i]->heard = helio_kube_hear;
    }
    set_paths(self);
    self->jobs.listed = on_jobs_listed;
    self->pods.prune = prune_pod;
    self->nodes.prune = prune_node;
}
