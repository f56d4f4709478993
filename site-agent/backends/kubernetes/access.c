/*  access.c -- who the agent is: by the kubeconfig and its credential plug-in, or by what its pod was given; read again
 *  when the API refuses it, and before a credential ends. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "federation/base/clock.h"
#include "site-agent/backends/kubernetes/shell.h"

enum {
    FILE_MAX = 1 << 20,
    AGAIN_MS = 10000,
    EARLY_MS = 60000, /* before a credential ends */
    PLUGIN_MS = 60000
};

static helio_rc read_file(const char *path, helio_buffer_t *out, helio_error_t *err)
{
    char bytes[8192];
    ssize_t size;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return helio_fail(err, errno == ENOENT ? HELIO_NOT_FOUND : HELIO_IO, "%s: %s", path, strerror(errno));
    out->max = FILE_MAX;
    while ((size = read(file, bytes, sizeof bytes)) > 0)
        helio_buffer_append(out, bytes, (size_t)size);
    (void)close(file);
    if (size < 0 || out->overflow)
        return helio_fail(err, HELIO_IO, "%s cannot be read, or is larger than %d bytes", path, FILE_MAX);
    return HELIO_OK;
}

static helio_rc from_file(const helio_kube_t *self, helio_arena_t *arena, helio_kube_access_t *access,
                          helio_error_t *err)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t bytes = {0};
    const char *path = helio_arena_string(arena, self->settings->kubeconfig);
    helio_rc rc = read_file(path, &bytes, err);
    if (rc)
        return rc;
    const char *slash = strrchr(path, '/');
    helio_text_t folder = {path, slash ? (uint32_t)(slash - path) : 0};
    helio_spec_source_t source = {.text = helio_arena_text(arena, helio_buffer_view(&bytes)), .name = path};
    return helio_kubeconfig_read(source, helio_arena_string(arena, folder), self->settings->context, arena, access,
                                 err);
}

static helio_rc from_pod(helio_arena_t *arena, helio_kube_access_t *access, helio_error_t *err)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t space = {0};
    helio_rc rc = helio_kube_access_in_pod(getenv("KUBERNETES_SERVICE_HOST"), getenv("KUBERNETES_SERVICE_PORT"), arena,
                                           access, err);
    if (rc)
        return helio_fail(err, rc, "the agent does not run in a pod, and agent.kubernetes.kubeconfig is not set");
    if (!read_file(HELIO_KUBE_POD_FOLDER "/namespace", &space, NULL))
        access->space = helio_arena_text(arena, helio_buffer_view(&space));
    return HELIO_OK;
}

static helio_rc read_access(const helio_kube_t *self, helio_arena_t *arena, helio_kube_access_t *ret_access,
                            helio_error_t *err)
{
    helio_kube_access_t access = {0};
    helio_rc rc =
        self->settings->kubeconfig.size ? from_file(self, arena, &access, err) : from_pod(arena, &access, err);
    if (rc)
        return rc;
    if (self->settings->space.size)
        access.space = self->settings->space;
    if (!access.space.size)
        access.space = HELIO_TEXT("default");
    *ret_access = access;
    return HELIO_OK;
}

/* ---- renewal ------------------------------------------------------------------------------------------- */

/*  Requests that are out have copies of the former. */
static void use(helio_kube_t *self, helio_arena_t *arena, const helio_kube_access_t *access, int64_t until_wall_ms)
{
    helio_arena_destroy(&self->access_arena);
    self->access_arena = arena;
    self->access = *access;
    self->access_ready = true;
    self->access_due_ms = until_wall_ms ? self->now_ms + (until_wall_ms - helio_clock_wall_ms()) - EARLY_MS : INT64_MAX;
    if (self->access_due_ms < self->now_ms + AGAIN_MS)
        self->access_due_ms = self->now_ms + AGAIN_MS;
    self->next_ms = 0;
}

static void fail(helio_kube_t *self, helio_arena_t *arena, const char *why)
{
    helio_arena_destroy(&arena);
    (void)helio_text_copy(helio_text_of(why), self->trouble, sizeof self->trouble);
    self->access_due_ms = self->now_ms + AGAIN_MS;
    if (!self->failing_ms)
        self->failing_ms = self->now_ms;
}

static void on_credential(void *arg, const helio_command_result_t *result)
{
    helio_kube_t *self = arg;
    helio_arena_t *arena = self->coming_arena;
    helio_error_t err = {0};
    int64_t until_ms = 0;
    char why[HELIO_KUBE_WHY_SIZE];
    self->coming_arena = NULL;
    if (!result->spawned || result->exit_code || result->truncated) {
        (void)snprintf(why, sizeof why, "the credential plug-in failed: %.*s", HELIO_TEXT_ARGS(result->complaint));
        fail(self, arena, why);
    } else if (helio_kube_plugin_read(result->out, arena, &self->coming, &until_ms, &err)) {
        fail(self, arena, err.text);
    } else {
        use(self, arena, &self->coming, until_ms);
    }
}

static helio_rc run_plugin(helio_kube_t *self, helio_arena_t *arena, helio_error_t *err)
{
    const helio_kube_plugin_t *plugin = &self->coming.plugin;
    const char **argv = helio_arena_alloc(arena, plugin->arg_count + 2, sizeof *argv);
    const char **env = helio_arena_alloc(arena, plugin->env_count + 2, sizeof *env);
    argv[0] = helio_arena_string(arena, plugin->command);
    for (uint32_t i = 0; i < plugin->arg_count; i++)
        argv[i + 1] = helio_arena_string(arena, plugin->args[i].text);
    for (uint32_t i = 0; i < plugin->env_count; i++)
        env[i] = helio_arena_printf(arena, "%.*s=%.*s", HELIO_TEXT_ARGS(plugin->env[i].name),
                                    HELIO_TEXT_ARGS(plugin->env[i].value))
                     .data;
    env[plugin->env_count] = helio_arena_printf(arena,
                                                "KUBERNETES_EXEC_INFO={\"apiVersion\":\"%.*s\",\"kind\":"
                                                "\"ExecCredential\",\"spec\":{\"interactive\":false}}",
                                                HELIO_TEXT_ARGS(plugin->api_version))
                                 .data;
    helio_command_t command = {
        .argv = argv, .env = env, .timeout_ms = PLUGIN_MS, .max_bytes = FILE_MAX, .done = on_credential, .arg = self};
    return helio_commands_run(self->commands, &command, false, err);
}

/*  The file is read anew, since it may have changed; its plug-in runs beside the agent's loop. */
static helio_rc renew(helio_kube_t *self, helio_error_t *err)
{
    helio_arena_t *arena = helio_arena_new();
    helio_rc rc = read_access(self, arena, &self->coming, err);
    self->access_read_ms = self->now_ms;
    if (!rc && !self->coming.plugin.command.size) {
        use(self, arena, &self->coming, 0);
        return HELIO_OK;
    }
    if (!rc)
        rc = run_plugin(self, arena, err);
    if (!rc)
        self->coming_arena = arena;
    else
        fail(self, arena, err->text);
    return rc;
}

helio_rc helio_kube_open_access(helio_kube_t *self, helio_error_t *err)
{
    helio_error_t why = {0};
    helio_commands_options_t options = {
        .path = getenv("PATH"), .env = (const char *const *)environ, .at_once = 1, .queue_max = 1};
    self->now_ms = helio_clock_boot_ms();
    helio_rc rc = helio_commands_new(&options, &self->commands, &why);
    if (!rc)
        rc = renew(self, &why);
    helio_text_t space = self->access_ready ? self->access.space : self->coming.space;
    self->space = helio_arena_string(self->arena, space);
    if (rc && err)
        *err = why;
    return rc;
}

void helio_kube_close_access(helio_kube_t *self)
{
    helio_commands_destroy(&self->commands);
    helio_arena_destroy(&self->coming_arena);
    helio_arena_destroy(&self->access_arena);
}

void helio_kube_serve_access(helio_kube_t *self)
{
    helio_error_t err = {0};
    helio_commands_process(self->commands, self->now_ms);
    bool refused = self->refused && self->now_ms - self->access_read_ms >= AGAIN_MS;
    if (self->coming_arena || (self->now_ms < self->access_due_ms && !refused))
        return;
    self->refused = false;
    (void)renew(self, &err); /* what is wrong is in `trouble` */
}

int64_t helio_kube_access_next_ms(const helio_kube_t *self)
{
    int64_t next = helio_commands_next_ms(self->commands);
    int64_t due = self->refused ? self->access_read_ms + AGAIN_MS : self->access_due_ms;
    return self->coming_arena || next < due ? next : due;
}
