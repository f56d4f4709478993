/*  manifest.h -- the objects that stand for an attempt: its Job and, for a gang, a headless Service. Pure.
 *
 *  The Job holds its own end: its activeDeadlineSeconds is the earlier of limit and lease and is patched when the lease is
 *  renewed; the pods' is the limit, by the clock of their own kubelet. No retry and no replacement runs an epoch twice.
 */
#ifndef HELIO_BACKENDS_KUBERNETES_MANIFEST_H
#define HELIO_BACKENDS_KUBERNETES_MANIFEST_H

#include "site-agent/backends/backend.h"

enum {
    HELIO_KUBE_MARGIN_MS = 60000, /* after limit and grace: the job's own end comes first */
    HELIO_KUBE_GRACE_LEAST_MS = 30000
};

/*  Names of objects of the cluster that a job may choose among. */
typedef struct helio_kube_choice {
    const helio_string_t *items;
    uint32_t count;
} helio_kube_choice_t;

typedef struct helio_kube_manifest {
    const helio_order_t *order;
    const helio_job_spec_t *spec;
    const helio_pool_t *pool;
    helio_text_t site;
    helio_text_t queue;                           /* Kueue's LocalQueue; "" = none */
    helio_text_t priority_class;                  /* "" = the namespace's default */
    helio_kube_choice_t queues, priority_classes; /* that the job may name in place of these */
    helio_text_t service_account;                 /* "" = the namespace's default; its token is never mounted */
    helio_text_t secret;                          /* the Secret of the tenant; "" = the site keeps none */
    const helio_text_t *products;                 /* HELIO_KUBE_PRODUCT of the pool's nodes; none = any node */
    uint32_t product_count;
    const char *const *tolerated; /* keys of taints */
    uint32_t tolerated_count;
    uint64_t lease_ms;     /* until the end of the lease; 0 = the attempt has none */
    uint64_t retention_ms; /* how long an ended Job stays */
} helio_kube_manifest_t;

/*  Takes what a job says under `kubernetes`: `queue` and `priority-class`, each of them what it is already or one of
 *  those that may be named. HELIO_FORBIDDEN and *ret_cause for anything else. */
HELIO_MUST_CHECK helio_rc helio_kube_options(const helio_job_spec_t *spec, helio_kube_manifest_t *manifest,
                                             uint32_t *ret_cause, helio_error_t *err);

/*  Why no pod can run it: *ret_cause of federation/reason/codes.h. */
HELIO_MUST_CHECK helio_rc helio_kube_manifest_check(const helio_kube_manifest_t *self, uint32_t *ret_cause,
                                                    helio_error_t *err);

/*  The Job, to be created with fieldValidation=Strict. */
void helio_kube_job(const helio_kube_manifest_t *self, helio_buffer_t *out);
/*  The Service of a gang, which goes with the Job of that uid. */
void helio_kube_service(const helio_kube_manifest_t *self, helio_text_t job_uid, helio_buffer_t *out);

/*  Between TERM and KILL of its pods. */
uint64_t helio_kube_grace_ms(const helio_job_spec_t *spec);

/*  The Job's deadline from its start, in seconds; 0 = none. A lease is rounded down: it may end early, never late. */
uint64_t helio_kube_deadline_s(const helio_kube_manifest_t *self);

#endif
