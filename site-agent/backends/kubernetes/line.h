/*  line.h -- who stands in line at a ClusterQueue of Kueue, and after how long whole nodes would be admitted behind them.
 *  Pure.
 *
 *  Made of the queue's own figures, of Workloads, and, where the LocalQueues of other namespaces are known, of the
 *  Workloads that wait in those. What holds quota returns it when its pods reach their deadline (`activeDeadlineSeconds`,
 *  or the Workload's `maximumExecutionTimeSeconds`); without one, never. Who waits is admitted by priority and age, as
 *  quota comes back: in BestEffortFIFO past those that do not fit yet, in StrictFIFO not. Workloads that the queue counts
 *  as waiting, and that are not seen, stand in line with the mean size of what holds quota, but not so small that they
 *  would fit now, and with the mean deadline of all that are seen.
 */
#ifndef HELIO_BACKENDS_KUBERNETES_LINE_H
#define HELIO_BACKENDS_KUBERNETES_LINE_H

#include <jansson.h>

#include "site-agent/backends/kubernetes/resource.h"

enum {
    HELIO_KUBE_LINE_HOLDERS_MAX = 4096, /* Workloads with quota; what more there are return nothing */
    HELIO_KUBE_LINE_WAITING_MAX = 1024, /* in line; further ones are not seen */
    HELIO_KUBE_LINE_SIZES_MAX = 16
};

typedef struct helio_kube_line helio_kube_line_t;

/*  A line without Workloads. `space`: the namespace of the LocalQueue. The site outlives it. */
helio_kube_line_t *helio_kube_line_new(const helio_site_profile_t *site, helio_text_t space, const json_t *local,
                                       const json_t *cluster);
void helio_kube_line_destroy(helio_kube_line_t **self_p);

/*  Whether anything holds quota of the queue or waits for it: else nobody has to wait, and nothing more need be read. */
bool helio_kube_line_is_busy(const helio_kube_line_t *self);
/*  A list of LocalQueues, of any namespaces; before the Workloads. */
void helio_kube_line_take_queues(helio_kube_line_t *self, const json_t *items);
/*  A list of Workloads, of any namespaces and queues. */
void helio_kube_line_take(helio_kube_line_t *self, const json_t *items);

/*  Workloads that wait in the queue, by its own figure. */
uint32_t helio_kube_line_waiting(const helio_kube_line_t *self);
/*  After how many seconds 1, 2, 4, … whole nodes of a pool would be admitted; UINT32_MAX = not known. `left_gpus` of the
 *  quota are left now. */
void helio_kube_line_expect(const helio_kube_line_t *self, uint32_t pool, uint64_t left_gpus, int64_t now_ms,
                            uint32_t sizes, uint32_t *ret_wait_s);

#endif
