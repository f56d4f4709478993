/*  kubernetes.h -- the backend `kubernetes`: attempts as Jobs of a cluster, through its API.
 *
 *  Runs inside the cluster or beside it. The Job is the truth; the agent keeps nothing of an attempt but its output, so
 *  that an agent on another node finds all that runs by its labels.
 */
#ifndef HELIO_BACKENDS_KUBERNETES_KUBERNETES_H
#define HELIO_BACKENDS_KUBERNETES_KUBERNETES_H

#include "site-agent/backends/backend.h"
#include "site-agent/backends/rules.h"

/*  The Secret of the namespace whose keys are the secrets of a tenant's jobs. */
typedef struct helio_kube_tenant_secret {
    helio_text_t tenant, secret;
} helio_kube_tenant_secret_t;

/*  The PriorityClass of the jobs of a queue of the federation. */
typedef struct helio_kube_queue_class {
    helio_text_t queue, priority_class;
} helio_kube_queue_class_t;

/*  The keys under `agent.kubernetes` of a site file. */
typedef struct helio_kubernetes_settings {
    helio_text_t kubeconfig; /* "" = the agent is a pod of the cluster */
    helio_text_t context, space, queue, image, service_account;
    struct {
        helio_string_t *items;
        uint32_t count;
    } tolerations, tenants;
    struct {
        helio_string_t *items;
        uint32_t count;
    } job_queues, job_priority_classes; /* that a job may name itself */
    struct {
        helio_kube_tenant_secret_t *items;
        uint32_t count;
    } secrets;
    struct {
        helio_kube_queue_class_t *items;
        uint32_t count;
    } priority_classes;
    uint64_t clock_tolerance_ms;
} helio_kubernetes_settings_t;

extern const helio_spec_table_t helio_kubernetes_settings_table;

/*  Everything is borrowed, and must outlive the backend. */
typedef struct helio_kubernetes_options {
    const helio_site_profile_t *site;
    const helio_job_rules_t *rules;
    const helio_kubernetes_settings_t *settings;
    const char *state_dir; /* the output of attempts is kept there */
    helio_backend_sink_t sink;
} helio_kubernetes_options_t;

/*  INVALID, IO: the kubeconfig is unusable, or the folder cannot be created. Does not wait for the cluster. */
HELIO_MUST_CHECK helio_rc helio_kubernetes_new(const helio_kubernetes_options_t *options, helio_backend_t **ret_backend,
                                               helio_error_t *err);

/*  What the broker is told of such a site: its tenants, that its jobs have images, and whether it can offer `lease` and
 *  `eager`. A Job that Kueue starts later starts its deadline later, so a site with a queue offers neither. */
void helio_kubernetes_profile(const helio_kubernetes_settings_t *settings, helio_arena_t *arena,
                              helio_site_profile_t *profile);

/*  For `helio-agent --check`: a line for each thing that is checked. Waits for the cluster. */
void helio_kubernetes_check(const helio_kubernetes_options_t *options,
                            void (*line)(void *arg, const char *what, helio_rc rc, const char *detail), void *arg);

#endif
