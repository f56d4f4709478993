/*  kubeconfig.h -- where the API is and who the agent is: from a kubeconfig, or from what a pod is given. Pure: it names
 *  files and programs, and reads and runs none.
 *
 *  Only what is safe is taken: https, a server whose certificate is checked, and credentials that the API still accepts.
 */
#ifndef HELIO_BACKENDS_KUBERNETES_KUBECONFIG_H
#define HELIO_BACKENDS_KUBERNETES_KUBECONFIG_H

#include "federation/spec/spec.h"

#define HELIO_KUBE_POD_FOLDER "/var/run/secrets/kubernetes.io/serviceaccount"

/*  A file, or its content; both empty = not given. A path is absolute. */
typedef struct helio_kube_secret {
    helio_text_t path, text;
} helio_kube_secret_t;

/*  A program that prints an ExecCredential. */
typedef struct helio_kube_plugin {
    helio_text_t command; /* "" = none; with a '/': a path, absolute */
    helio_text_t api_version;
    helio_string_t *args;
    uint32_t arg_count;
    helio_pair_t *env; /* added to the agent's own */
    uint32_t env_count;
} helio_kube_plugin_t;

typedef struct helio_kube_access {
    helio_text_t server; /* "https://10.0.0.1:6443" */
    helio_text_t proxy;  /* proxy-url; "" = none */
    helio_text_t space;  /* the namespace; "" = "default" */
    helio_kube_secret_t authority;
    helio_kube_secret_t certificate, key;
    helio_kube_secret_t token; /* a file is read again as it is replaced */
    helio_kube_plugin_t plugin;
} helio_kube_access_t;

/*  `folder`: of the file, absolute, for relative paths. `context`: "" = the file's current one. Everything in the
 *  arena. INVALID with the place or the name that is wrong. */
HELIO_MUST_CHECK helio_rc helio_kubeconfig_read(helio_spec_source_t source, const char *folder, helio_text_t context,
                                                helio_arena_t *arena, helio_kube_access_t *ret_access,
                                                helio_error_t *err);

/*  Of a pod: KUBERNETES_SERVICE_HOST and _PORT. INVALID if one is missing. */
HELIO_MUST_CHECK helio_rc helio_kube_access_in_pod(const char *host, const char *port, helio_arena_t *arena,
                                                   helio_kube_access_t *ret_access, helio_error_t *err);

/*  What a plug-in printed: a token, or a certificate and its key; *ret_until_ms: Unix ms, 0 = it does not end. Of
 *  `access` only these are replaced. */
HELIO_MUST_CHECK helio_rc helio_kube_plugin_read(helio_text_t printed, helio_arena_t *arena,
                                                 helio_kube_access_t *access, int64_t *ret_until_ms,
                                                 helio_error_t *err);

#endif
