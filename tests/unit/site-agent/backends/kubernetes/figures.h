/*  figures.h -- a cluster of these nodes and pods: for the tests and the fuzzer of the Kubernetes backend. */
#ifndef HELIO_TESTS_FIGURES_H
#define HELIO_TESTS_FIGURES_H

#include "site-agent/backends/kubernetes/fleet.h"

typedef struct figures_view {
    const json_t *nodes; /* items of a NodeList */
    const json_t *pods;  /* items of a PodList; NULL = none */
} figures_view_t;

/*  A copy with a name of its own, if it has none: documents that are written beside a test leave it out. */
static inline json_t *figures_named(const json_t *document, size_t number)
{
    json_t *copy = json_deep_copy(document);
    if (!json_is_object(json_object_get(copy, "metadata")))
        (void)json_object_set_new(copy, "metadata", json_object());
    json_t *metadata = json_object_get(copy, "metadata");
    if (!json_is_string(json_object_get(metadata, "name")))
        (void)json_object_set_new(metadata, "name", json_sprintf("number-%d", (int)number));
    return copy;
}

static inline void figures_put(helio_kube_fleet_t *fleet, const figures_view_t *view, bool gone)
{
    for (size_t i = 0; i < json_array_size(view->nodes) + json_array_size(view->pods); i++) {
        size_t nodes = json_array_size(view->nodes);
        bool is_pod = i >= nodes;
        json_t *one = figures_named(json_array_get(is_pod ? view->pods : view->nodes, is_pod ? i - nodes : i), i);
        if (is_pod)
            (void)helio_kube_fleet_pod(fleet, one, (helio_text_t){0}, gone);
        else
            (void)helio_kube_fleet_node(fleet, one, gone);
        json_decref(one);
    }
}

#endif
