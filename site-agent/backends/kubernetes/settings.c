/*  settings.c -- the keys that the backend `kubernetes` adds to a site file. */
#include <string.h>

#include "site-agent/backends/kubernetes/kubernetes.h"

#define AT(member) .offset = offsetof(helio_kubernetes_settings_t, member)
#define SECRET(member) .offset = offsetof(helio_kube_tenant_secret_t, member)
#define CLASS(member) .offset = offsetof(helio_kube_queue_class_t, member)

enum { PATH_MOST = 2048, NAME_MOST = 253, LABEL_MOST = 63, TOLERATIONS_MOST = 32, MAPPED_MOST = 256 };

static bool is_name(helio_text_t text)
{
    for (uint32_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        bool inner = (c == '-' || c == '.') && i > 0 && i + 1 < text.size;
        if (!inner && !(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9'))
            return false;
    }
    return text.size > 0;
}
static const helio_spec_rule_t name_rule = {is_name, "a name of an object: lower-case letters, digits, '-' and '.'",
                                            "^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$"};

static const helio_spec_field_t secret_fields[] = {
    {.key = "tenant",
     .kind = HELIO_SPEC_TEXT,
     SECRET(tenant),
     .required = true,
     .most = 32,
     .example = "nlp",
     .doc = "The tenant; `*` is any."},
    {.key = "secret",
     .kind = HELIO_SPEC_TEXT,
     SECRET(secret),
     .required = true,
     .most = NAME_MOST,
     .rule = &name_rule,
     .example = "nlp-secrets",
     .doc = "The Secret of the namespace whose keys its jobs can name under `secrets`."},
};
static const helio_spec_table_t secret_table =
    HELIO_SPEC_TABLE("secrets", helio_kube_tenant_secret_t, secret_fields, NULL);

static const helio_spec_field_t class_fields[] = {
    {.key = "queue",
     .kind = HELIO_SPEC_TEXT,
     CLASS(queue),
     .required = true,
     .most = 32,
     .example = "express",
     .doc = "A queue of the federation; `*` is any."},
    {.key = "class",
     .kind = HELIO_SPEC_TEXT,
     CLASS(priority_class),
     .required = true,
     .most = NAME_MOST,
     .rule = &name_rule,
     .example = "federation-express",
     .doc = "The PriorityClass of its jobs."},
};
static const helio_spec_table_t class_table =
    HELIO_SPEC_TABLE("priority_classes", helio_kube_queue_class_t, class_fields, NULL);

static const helio_spec_field_t fields[] = {
    {.key = "kubeconfig",
     .kind = HELIO_SPEC_PATH,
     AT(kubeconfig),
     .most = PATH_MOST,
     .example = "/etc/heliostat/kubeconfig",
     .doc =
         "File with the address of the cluster and the agent's credentials. Default: the service account of the agent's pod."},
    {.key = "context",
     .kind = HELIO_SPEC_TEXT,
     AT(context),
     .most = NAME_MOST,
     .example = "prod",
     .doc = "Context of the kubeconfig. Default: its current context."},
    {.key = "namespace",
     .kind = HELIO_SPEC_TEXT,
     AT(space),
     .most = LABEL_MOST,
     .rule = &name_rule,
     .example = "heliostat",
     .doc = "Namespace of the federation's Jobs. Default: that of the context, or of the agent's pod."},
    {.key = "queue",
     .kind = HELIO_SPEC_TEXT,
     AT(queue),
     .most = LABEL_MOST,
     .rule = &name_rule,
     .example = "team",
     .doc =
         "LocalQueue of Kueue for jobs that name none. The site offers no more than its ClusterQueue has left, and only "
         "`on_site_loss: strict`, because the deadline of a Job begins only when Kueue admits it."},
    {.key = "job_queues",
     .kind = HELIO_SPEC_STRINGS,
     AT(job_queues),
     .most = MAPPED_MOST,
     .example = "[team, team-low]",
     .doc =
         "LocalQueues that jobs can name as `queue` under `kubernetes`. Default: only that of `queue`. Jobs that name "
         "another one are refused with `OptionNotAllowed`."},
    {.key = "image",
     .kind = HELIO_SPEC_TEXT,
     AT(image),
     .most = 512,
     .example = "registry.example/base:1",
     .doc = "Image for jobs that name none. Without it, such jobs are refused."},
    {.key = "service_account",
     .kind = HELIO_SPEC_TEXT,
     AT(service_account),
     .most = NAME_MOST,
     .rule = &name_rule,
     .example = "federation-jobs",
     .doc = "Service account of the pods; its token is not mounted. Default: the namespace's."},
    {.key = "tolerations",
     .kind = HELIO_SPEC_STRINGS,
     AT(tolerations),
     .most = TOLERATIONS_MOST,
     .example = "[nvidia.com/gpu, team]",
     .doc = "Keys of taints that the federation's pods tolerate. Nodes with other taints are not offered. Default: "
            "`nvidia.com/gpu`."},
    {.key = "tenants",
     .kind = HELIO_SPEC_STRINGS,
     AT(tenants),
     .most = HELIO_SITE_TENANTS_MAX,
     .example = "[nlp, vision]",
     .doc =
         "Tenants whose jobs can run here. Default: all. `users` has no effect with this backend: the image determines "
         "the user of a pod."},
    {.key = "secrets",
     .kind = HELIO_SPEC_LIST,
     AT(secrets),
     .most = MAPPED_MOST,
     .table = &secret_table,
     .example = "[{tenant: nlp, secret: nlp-secrets}]",
     .doc = "Whose secrets are where; the first line that fits counts."},
    {.key = "priority_classes",
     .kind = HELIO_SPEC_LIST,
     AT(priority_classes),
     .most = MAPPED_MOST,
     .table = &class_table,
     .example = "[{queue: express, class: federation-express}]",
     .doc = "The PriorityClass of the pods by the job's queue; the first line that fits counts. Default: the "
            "cluster's."},
    {.key = "job_priority_classes",
     .kind = HELIO_SPEC_STRINGS,
     AT(job_priority_classes),
     .most = MAPPED_MOST,
     .example = "[federation-low]",
     .doc = "The PriorityClasses that a job may name as `priority-class` under `kubernetes`. Default: none. Jobs that "
            "name another are refused with `OptionNotAllowed`."},
    {.key = "clock_tolerance",
     .kind = HELIO_SPEC_DURATION,
     AT(clock_tolerance_ms),
     .most = 3600000,
     .fallback = "5s",
     .example = "5s",
     .doc = "By how much the clocks of the cluster's machines may differ; leases are shortened by that much."},
};
const helio_spec_table_t helio_kubernetes_settings_table =
    HELIO_SPEC_TABLE("kubernetes", helio_kubernetes_settings_t, fields, NULL);

void helio_kubernetes_profile(const helio_kubernetes_settings_t *settings, helio_arena_t *arena,
                              helio_site_profile_t *profile)
{
    uint32_t count = settings->tenants.count;
    profile->leases = settings->queue.size == 0;
    profile->containers = true;
    profile->tenants_reported = true;
    profile->tenants.items = helio_arena_alloc(arena, count + 1, sizeof *profile->tenants.items);
    profile->tenants.count = count ? count : 1;
    profile->tenants.items[0].text = HELIO_TEXT("*");
    for (uint32_t i = 0; i < count; i++)
        profile->tenants.items[i] = settings->tenants.items[i];
    helio_site_tenants_sort(profile);
}
