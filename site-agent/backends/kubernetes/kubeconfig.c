/*  kubeconfig.c -- one context of a kubeconfig. */
#include <string.h>

#include "federation/spec/reader.h"
#include "site-agent/backends/kubernetes/base64.h"
#include "site-agent/backends/kubernetes/document.h"
#include "site-agent/backends/kubernetes/kubeconfig.h"

enum { PLUGIN_LIST_MAX = 256 };

/*  What is being read. */
typedef struct helio_kubeconfig {
    const char *folder;
    helio_arena_t *arena;
    helio_error_t *err;
} helio_kubeconfig_t;

static helio_text_t text_of(const helio_kubeconfig_t *self, const helio_spec_node_t *mapping, const char *key)
{
    const helio_spec_node_t *node = mapping ? helio_spec_find(mapping, key) : NULL;
    return node && node->type == HELIO_SPEC_SCALAR ? helio_arena_text(self->arena, node->text) : (helio_text_t){0};
}

/*  The entry of a list {name, KIND: {…}} with that name. */
static const helio_spec_node_t *entry(const helio_spec_node_t *root, const char *list, helio_text_t name,
                                      const char *kind)
{
    const helio_spec_node_t *entries = helio_spec_find(root, list);
    const helio_spec_node_t *one = entries && entries->type == HELIO_SPEC_SEQUENCE ? entries->first : NULL;
    for (; one; one = one->next) {
        if (one->type != HELIO_SPEC_MAPPING)
            continue;
        const helio_spec_node_t *found = helio_spec_find(one, "name"), *value = helio_spec_find(one, kind);
        if (found && found->type == HELIO_SPEC_SCALAR && helio_text_equal(found->text, name))
            return value && value->type == HELIO_SPEC_MAPPING ? value : NULL;
    }
    return NULL;
}

static bool is_set(const helio_spec_node_t *mapping, const char *key)
{
    const helio_spec_node_t *node = helio_spec_find(mapping, key);
    return node && node->type != HELIO_SPEC_NULL &&
           !(node->type == HELIO_SPEC_SCALAR && (!node->text.size || helio_text_is(node->text, "false")));
}

static helio_text_t absolute(const helio_kubeconfig_t *self, helio_text_t path)
{
    if (!path.size || path.data[0] == '/')
        return path;
    return helio_arena_printf(self->arena, "%s/%.*s", self->folder, HELIO_TEXT_ARGS(path));
}

/*  NAME-data counts before NAME, as kubectl has it. */
static helio_rc read_secret(const helio_kubeconfig_t *self, const helio_spec_node_t *mapping, const char *data_key,
                            const char *path_key, helio_kube_secret_t *ret_secret)
{
    helio_text_t data = text_of(self, mapping, data_key);
    *ret_secret = (helio_kube_secret_t){0};
    if (!data.size) {
        ret_secret->path = absolute(self, text_of(self, mapping, path_key));
        return HELIO_OK;
    }
    if (helio_base64_decode(data, self->arena, &ret_secret->text))
        return helio_fail(self->err, HELIO_INVALID, "kubeconfig: %s is not base64", data_key);
    return HELIO_OK;
}

/* ---- the cluster --------------------------------------------------------------------------------------- */

static helio_rc read_cluster(const helio_kubeconfig_t *self, const helio_spec_node_t *cluster,
                             helio_kube_access_t *access)
{
    access->server = text_of(self, cluster, "server");
    access->proxy = text_of(self, cluster, "proxy-url");
    if (access->server.size < 9 || memcmp(access->server.data, "https://", 8) != 0)
        return helio_fail(self->err, HELIO_INVALID, "kubeconfig: the server '%.*s' is not https",
                          HELIO_TEXT_ARGS(access->server));
    if (is_set(cluster, "tls-server-name"))
        return helio_fail(self->err, HELIO_INVALID,
                          "kubeconfig: tls-server-name is not supported; give the server that name");
    if (is_set(cluster, "insecure-skip-tls-verify"))
        return helio_fail(
            self->err, HELIO_INVALID,
            "kubeconfig: insecure-skip-tls-verify would send the agent's credentials to any server; name the "
            "certificate-authority");
    while (access->server.size && access->server.data[access->server.size - 1] == '/')
        access->server.size--;
    return read_secret(self, cluster, "certificate-authority-data", "certificate-authority", &access->authority);
}

/* ---- the user ------------------------------------------------------------------------------------------ */

static helio_rc read_arguments(const helio_kubeconfig_t *self, const helio_spec_node_t *list,
                               helio_kube_plugin_t *plugin)
{
    if (!list || list->type != HELIO_SPEC_SEQUENCE)
        return HELIO_OK;
    if (list->count > PLUGIN_LIST_MAX)
        return helio_fail(self->err, HELIO_INVALID, "kubeconfig: more than %d args of a plug-in", PLUGIN_LIST_MAX);
    plugin->args = helio_arena_alloc(self->arena, list->count + 1, sizeof *plugin->args);
    for (const helio_spec_node_t *one = list->first; one; one = one->next)
        plugin->args[plugin->arg_count++].text = helio_arena_text(self->arena, one->text);
    return HELIO_OK;
}

static helio_rc read_variables(const helio_kubeconfig_t *self, const helio_spec_node_t *list,
                               helio_kube_plugin_t *plugin)
{
    if (!list || list->type != HELIO_SPEC_SEQUENCE)
        return HELIO_OK;
    if (list->count > PLUGIN_LIST_MAX)
        return helio_fail(self->err, HELIO_INVALID, "kubeconfig: more than %d env of a plug-in", PLUGIN_LIST_MAX);
    plugin->env = helio_arena_alloc(self->arena, list->count + 1, sizeof *plugin->env);
    for (const helio_spec_node_t *one = list->first; one; one = one->next)
        if (one->type == HELIO_SPEC_MAPPING)
            plugin->env[plugin->env_count++] = (helio_pair_t){text_of(self, one, "name"), text_of(self, one, "value")};
    return HELIO_OK;
}

static helio_rc read_plugin(const helio_kubeconfig_t *self, const helio_spec_node_t *exec, helio_kube_plugin_t *plugin)
{
    plugin->command = text_of(self, exec, "command");
    plugin->api_version = text_of(self, exec, "apiVersion");
    if (!plugin->command.size)
        return helio_fail(self->err, HELIO_INVALID, "kubeconfig: exec names no command");
    if (!helio_text_is(plugin->api_version, "client.authentication.k8s.io/v1") &&
        !helio_text_is(plugin->api_version, "client.authentication.k8s.io/v1beta1"))
        return helio_fail(self->err, HELIO_INVALID, "kubeconfig: exec has the apiVersion '%.*s'",
                          HELIO_TEXT_ARGS(plugin->api_version));
    if (helio_text_is(text_of(self, exec, "interactiveMode"), "Always"))
        return helio_fail(self->err, HELIO_INVALID, "kubeconfig: exec is interactive, but an agent has no terminal");
    if (memchr(plugin->command.data, '/', plugin->command.size))
        plugin->command = absolute(self, plugin->command);
    helio_rc rc = read_arguments(self, helio_spec_find(exec, "args"), plugin);
    return rc ? rc : read_variables(self, helio_spec_find(exec, "env"), plugin);
}

static helio_rc read_user(const helio_kubeconfig_t *self, const helio_spec_node_t *user, helio_kube_access_t *access)
{
    static const char *const gone[] = {"username", "password", "auth-provider", "as", "as-groups"};
    for (size_t i = 0; i < sizeof gone / sizeof gone[0]; i++)
        if (is_set(user, gone[i]))
            return helio_fail(self->err, HELIO_INVALID, "kubeconfig: '%s' of a user is not supported", gone[i]);
    helio_rc rc = read_secret(self, user, "client-certificate-data", "client-certificate", &access->certificate);
    if (!rc)
        rc = read_secret(self, user, "client-key-data", "client-key", &access->key);
    if (rc)
        return rc;
    bool certificate = access->certificate.path.size || access->certificate.text.size;
    if (certificate != (access->key.path.size || access->key.text.size))
        return helio_fail(self->err, HELIO_INVALID, "kubeconfig: a client certificate and its key belong together");
    access->token.path = absolute(self, text_of(self, user, "tokenFile")); /* counts before token, as kubectl has it */
    access->token.text = access->token.path.size ? (helio_text_t){0} : text_of(self, user, "token");
    const helio_spec_node_t *exec = helio_spec_find(user, "exec");
    if (exec && exec->type == HELIO_SPEC_MAPPING)
        return read_plugin(self, exec, &access->plugin);
    if (!certificate && !access->token.path.size && !access->token.text.size)
        return helio_fail(self->err, HELIO_INVALID, "kubeconfig: the user has neither a token, a certificate nor exec");
    return HELIO_OK;
}

/* ---- the file ------------------------------------------------------------------------------------------ */

static helio_rc read_context(const helio_kubeconfig_t *self, const helio_spec_node_t *root, helio_text_t name,
                             helio_kube_access_t *access)
{
    const helio_spec_node_t *context = entry(root, "contexts", name, "context");
    if (!context)
        return helio_fail(self->err, HELIO_INVALID, "kubeconfig: context '%.*s' does not exist", HELIO_TEXT_ARGS(name));
    helio_text_t cluster = text_of(self, context, "cluster"), user = text_of(self, context, "user");
    const helio_spec_node_t *cluster_node = entry(root, "clusters", cluster, "cluster");
    const helio_spec_node_t *user_node = entry(root, "users", user, "user");
    access->space = text_of(self, context, "namespace");
    if (!cluster_node)
        return helio_fail(self->err, HELIO_INVALID, "kubeconfig: cluster '%.*s' does not exist",
                          HELIO_TEXT_ARGS(cluster));
    if (!user_node)
        return helio_fail(self->err, HELIO_INVALID, "kubeconfig: user '%.*s' does not exist", HELIO_TEXT_ARGS(user));
    helio_rc rc = read_cluster(self, cluster_node, access);
    return rc ? rc : read_user(self, user_node, access);
}

helio_rc helio_kubeconfig_read(helio_spec_source_t source, const char *folder, helio_text_t context,
                               helio_arena_t *arena, helio_kube_access_t *ret_access, helio_error_t *err)
{
    helio_diagnostic_t diagnostic = {0};
    helio_spec_reader_t reader = {.source = source, .arena = arena, .diagnostic = &diagnostic};
    helio_kubeconfig_t self = {folder, arena, err};
    helio_kube_access_t access = {0};
    helio_spec_node_t *root;
    if (helio_spec_tree(&reader, HELIO_SPEC_SOURCE_MAX, &root))
        return helio_fail(err, HELIO_INVALID, "kubeconfig: line %u: %s", diagnostic.line, diagnostic.message);
    if (!context.size)
        context = text_of(&self, root, "current-context");
    helio_rc rc = read_context(&self, root, context, &access);
    if (rc == HELIO_OK)
        *ret_access = access;
    return rc;
}

helio_rc helio_kube_access_in_pod(const char *host, const char *port, helio_arena_t *arena,
                                  helio_kube_access_t *ret_access, helio_error_t *err)
{
    if (!host || !host[0] || !port || !port[0])
        return helio_fail(err, HELIO_INVALID,
                          "the agent does not run in a pod: KUBERNETES_SERVICE_HOST or _PORT is not set");
    bool literal = strchr(host, ':') != NULL; /* IPv6 */
    *ret_access = (helio_kube_access_t){
        .server = helio_arena_printf(arena, literal ? "https://[%s]:%s" : "https://%s:%s", host, port),
        .authority.path = HELIO_TEXT(HELIO_KUBE_POD_FOLDER "/ca.crt"),
        .token.path = HELIO_TEXT(HELIO_KUBE_POD_FOLDER "/token"),
    };
    return HELIO_OK;
}

/* ---- plug-ins ------------------------------------------------------------------------------------------ */

helio_rc helio_kube_plugin_read(helio_text_t printed, helio_arena_t *arena, helio_kube_access_t *access,
                                int64_t *ret_until_ms, helio_error_t *err)
{
    json_t *document = json_loadb(printed.data ? printed.data : "", printed.size, JSON_REJECT_DUPLICATES, NULL);
    const json_t *status = json_object_get(document, "status"), *until = json_object_get(status, "expirationTimestamp");
    helio_text_t token = helio_arena_text(arena, helio_kube_text(json_object_get(status, "token")));
    helio_text_t certificate =
        helio_arena_text(arena, helio_kube_text(json_object_get(status, "clientCertificateData")));
    helio_text_t key = helio_arena_text(arena, helio_kube_text(json_object_get(status, "clientKeyData")));
    bool kind = helio_text_is(helio_kube_text(json_object_get(document, "kind")), "ExecCredential");
    bool timeless = !json_is_string(until);
    int64_t until_ms = helio_kube_time(until);
    json_decref(document);
    if (!kind || (!token.size && !certificate.size) || !certificate.size != !key.size || (!timeless && !until_ms))
        return helio_fail(err, HELIO_INVALID,
                          "a credential plug-in printed no ExecCredential with a token, or with a "
                          "certificate and its key");
    access->token = (helio_kube_secret_t){.text = token};
    access->certificate = (helio_kube_secret_t){.text = certificate};
    access->key = (helio_kube_secret_t){.text = key};
    *ret_until_ms = until_ms;
    return HELIO_OK;
}
