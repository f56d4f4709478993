/*  local.c -- the functions of the backend `local`: start, adopt, stop and the others, its check, its creation. */
#include "site-agent/backends/local/local.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "federation/base/clock.h"
#include "federation/reason/codes.h"
#include "site-agent/backends/folder/entry.h"
#include "site-agent/backends/local/internal.h"
#include "site-agent/shim/inside.h"

enum { PATH_SIZE = 4096, EVENTS_MAX = 256 };

static helio_local_t *local_of(helio_backend_t *base)
{
    return (helio_local_t *)(void *)base;
}

/* ---- orders -------------------------------------------------------------------------------------------- */

/*  Before anything runs on its GPUs. */
static void take_energy(const helio_local_t *self, const helio_local_attempt_t *attempt,
                        const helio_backend_task_t *task)
{
    for (uint32_t i = 0; self->options.energy_take && i < task->slot_count; i++)
        self->options.energy_take(self->options.energy_arg, attempt->held.name, task->slots[i].gpus.items,
                                  task->slots[i].gpus.count);
}

/*  The group that the attempt's processes get. *ret_path: NULL without one. A parent that has vanished (its unit was
 *  stopped) is no reason to refuse jobs, unless the site file names it. */
static helio_rc make_cgroup(helio_local_t *self, const helio_backend_task_t *task, const char *name,
                            char path[PATH_SIZE], const char **ret_path, helio_error_t *err)
{
    const helio_order_t *order = task->order;
    helio_cgroup_limits_t limits = {.processes = self->options.processes_max,
                                    .memory_bytes = order->memory_bytes_per_node * (order->nodes ? order->nodes : 1)};
    *ret_path = NULL;
    if (!self->cgroup)
        return HELIO_OK;
    (void)snprintf(path, PATH_SIZE, "%.3900s/%s", self->cgroup, name);
    helio_rc rc = helio_cgroup_make(path, &limits, self->powers, err);
    if (rc == HELIO_NOT_FOUND && !self->options.cgroup)
        return HELIO_OK;
    if (!rc)
        *ret_path = path;
    return rc;
}

static void local_start(helio_backend_t *base, const helio_backend_task_t *task)
{
    helio_local_t *self = local_of(base);
    const helio_order_t *order = task->order;
    helio_local_found_t found;
    helio_local_attempt_t *attempt = helio_local_find(self, order->key, order->epoch);
    if (attempt) { /* its events come, or have come, anyway */
        attempt->known = true;
        return;
    }
    attempt = helio_local_look_up(self, order->key, order->epoch, &found);
    attempt->known = true;
    if (found != HELIO_LOCAL_ABSENT)
        return;
    helio_error_t why = {0};
    helio_folder_how_t how = {.launcher = HELIO_LAUNCHER_LOCAL,
                              .lease = self->lease,
                              .slots = task->slots,
                              .slot_count = task->slot_count,
                              .devices = helio_devices_of(self->options.devices, order->pool),
                              .batch_script = helio_job_is_batch_script(task->spec)};
    char cgroup[PATH_SIZE];
    uint32_t cause = HELIO_CAUSE_START_FAILED;
    helio_rc rc = make_cgroup(self, task, attempt->held.name, cgroup, &how.cgroup, &why);
    if (!rc)
        rc = helio_folders_prepare(self->folders, task, attempt->held.name, &how, &cause, &why);
    if (!rc) {
        take_energy(self, attempt, task);
        cause = HELIO_CAUSE_START_FAILED;
        rc = helio_local_spawn(self, attempt, &why);
        if (rc)
            helio_folders_remove(self->folders, attempt->held.name);
    }
    if (rc && how.cgroup)
        helio_cgroup_remove(how.cgroup);
    if (rc)
        helio_local_say_end(attempt, HELIO_BACKEND_REPORT_FAILED_TO_START, cause, why.text);
}

static void local_adopt(helio_backend_t *base, const helio_backend_task_t *task)
{
    helio_local_t *self = local_of(base);
    helio_local_found_t found;
    helio_local_attempt_t *attempt = helio_local_find(self, task->order->key, task->order->epoch);
    if (!attempt)
        attempt = helio_local_look_up(self, task->order->key, task->order->epoch, &found);
    attempt->known = true;
}

static void local_stop(helio_backend_t *base, const helio_stop_t *stop)
{
    helio_local_t *self = local_of(base);
    helio_local_found_t found;
    helio_local_attempt_t *attempt = helio_local_find(self, stop->key, stop->epoch);
    if (!attempt)
        attempt = helio_local_look_up(self, stop->key, stop->epoch, &found);
    attempt->known = true;
    helio_local_signal(self, attempt, stop->mode);
}

static void local_pass_on(helio_backend_t *base, const helio_attempt_signal_t *signal)
{
    const helio_local_t *self = local_of(base);
    const helio_local_attempt_t *attempt = helio_local_find(self, signal->key, signal->epoch);
    if (attempt && helio_folders_signal(self->folders, attempt->held.name, signal, NULL) == HELIO_OK)
        helio_local_poke(attempt);
}

static void local_forget(helio_backend_t *base, helio_job_key_t key, uint32_t epoch)
{
    char name[HELIO_ATTEMPT_NAME_SIZE];
    helio_attempt_name(key, epoch, name);
    helio_folders_forget(local_of(base)->folders, name, helio_clock_wall_ms());
}

static void local_survey(helio_backend_t *base)
{
    helio_local_survey(local_of(base));
}

static helio_rc local_lease(helio_backend_t *base, const helio_afx_lease_t *granted, helio_error_t *err)
{
    helio_local_t *self = local_of(base);
    int64_t left_ms = granted->deadline_boot_ms - helio_clock_boot_ms();
    helio_lease_t lease = {
        .stop_boot_ms = granted->deadline_boot_ms,
        .kill_boot_ms = granted->deadline_boot_ms + helio_lease_kill_after_ms(left_ms, self->options.lease_margin_ms)};
    memcpy(lease.boot_id, self->boot_id, sizeof lease.boot_id);
    return helio_folders_lease(self->folders, &lease, granted, err);
}

/* ---- output -------------------------------------------------------------------------------------------- */

/*  Nothing of it runs any more and it is not watched, though it left no `done`. */
static bool is_dead(helio_local_t *self, helio_job_key_t key, uint32_t epoch, const char *name)
{
    int folder = -1;
    helio_claim_t claim;
    if (helio_local_find(self, key, epoch) || helio_folders_open(self->folders, name, &folder, NULL) || folder < 0)
        return false;
    bool dead = helio_folder_claim(folder, &claim, NULL) == HELIO_OK &&
                (strcmp(claim.boot_id, self->boot_id) != 0 || !helio_process_alive(claim.shim));
    (void)close(folder);
    return dead;
}

static helio_rc local_log_read(helio_backend_t *base, helio_job_key_t key, uint32_t epoch, uint64_t offset, size_t max,
                               helio_buffer_t *out, uint64_t *ret_next, bool *ret_end, helio_error_t *err)
{
    helio_local_t *self = local_of(base);
    char name[HELIO_ATTEMPT_NAME_SIZE];
    helio_attempt_name(key, epoch, name);
    bool dead = is_dead(self, key, epoch, name);
    return helio_folders_log_of(self->folders, name, dead, offset, max, out, ret_next, ret_end, err);
}

/* ---- channels ------------------------------------------------------------------------------------------ */

static helio_rc local_enter(helio_backend_t *base, const helio_entry_t *entry, helio_arena_t *arena,
                            helio_entry_command_t *ret_command, helio_error_t *err)
{
    static const char *const nothing[] = {NULL};
    const helio_local_t *self = local_of(base);
    char name[HELIO_ATTEMPT_NAME_SIZE];
    helio_inside_t inside;
    helio_attempt_name(entry->key, entry->epoch, name);
    const char *folder = helio_arena_printf(arena, "%s/attempts/%s", self->options.state_dir, name).data;
    helio_rc rc = helio_inside_find(folder, entry->node, &inside, err);
    if (!rc && inside.plan.image.size && entry->kind == HELIO_CHANNEL_KIND_COMMAND)
        rc = helio_fail(err, HELIO_INVALID, "%s", HELIO_INSIDE_CONTAINED);
    if (rc)
        return rc;
    *ret_command = (helio_entry_command_t){.argv = helio_entry_argv(entry, NULL, 0, self->options.shim, folder, arena),
                                           .env = nothing,
                                           .user = helio_arena_string(arena, helio_text_of(inside.user))};
    helio_inside_clear(&inside);
    return HELIO_OK;
}

/* ---- called by the loop ------------------------------------------------------------------------------------- */

static int local_fd(const helio_backend_t *base)
{
    return ((const helio_local_t *)(const void *)base)->epoll;
}

static int64_t local_next_ms(const helio_backend_t *base)
{
    return ((const helio_local_t *)(const void *)base)->next_ms;
}

static void local_process(helio_backend_t *base, int64_t now_boot_ms, int64_t now_wall_ms)
{
    helio_local_t *self = local_of(base);
    struct epoll_event events[EVENTS_MAX];
    int count = epoll_wait(self->epoll, events, EVENTS_MAX, 0);
    for (int i = 0; i < count; i++)
        ((helio_local_attempt_t *)events[i].data.ptr)->due_ms = 0;
    self->next_ms = INT64_MAX;
    /* A callback can add attempts (at the front) but never removes one: only serving an attempt does. */
    for (helio_local_attempt_t *attempt = helio_local_first(self), *after; attempt; attempt = after) {
        after = helio_local_after(attempt);
        if (attempt->due_ms <= now_boot_ms)
            helio_local_serve(self, attempt, now_boot_ms, now_wall_ms);
    }
    helio_local_survey_serve(self, now_boot_ms);
    if (now_boot_ms >= self->sweep_ms) {
        self->sweep_ms = now_boot_ms + helio_folders_sweep(self->folders, now_wall_ms);
    }
    int64_t next = self->next_ms < self->sweep_ms ? self->next_ms : self->sweep_ms;
    next = self->survey_ms < next ? self->survey_ms : next;
    for (const helio_local_attempt_t *attempt = helio_local_first(self); attempt; attempt = helio_local_after(attempt))
        next = attempt->due_ms < next ? attempt->due_ms : next;
    self->next_ms = next;
}

/* ---- life ---------------------------------------------------------------------------------------------- */

static void local_destroy(helio_backend_t *base)
{
    helio_local_t *self = local_of(base);
    while (self->attempts.first) {
        helio_local_attempt_t *attempt = helio_local_first(self);
        helio_local_unlink(self, attempt);
        helio_local_free(attempt);
    }
    helio_folders_destroy(&self->folders);
    if (self->epoll >= 0)
        (void)close(self->epoll);
    helio_arena_destroy(&self->arena);
    free(self);
}

static const helio_backend_class_t local_class = {
    .name = "local",
    .allocates = true,
    .start = local_start,
    .adopt = local_adopt,
    .stop = local_stop,
    .signal = local_pass_on,
    .forget = local_forget,
    .survey = local_survey,
    .lease = local_lease,
    .log_read = local_log_read,
    .enter = local_enter,
    .fd = local_fd,
    .next_ms = local_next_ms,
    .process = local_process,
    .destroy = local_destroy,
};

/*  Where attempts get control groups: the site file's parent, or the unit that the package brings. */
static helio_rc find_parent(const char *given, char path[PATH_SIZE], helio_error_t *err)
{
    if (!given)
        return helio_cgroup_path(HELIO_LOCAL_UNIT, path, PATH_SIZE, err);
    (void)snprintf(path, PATH_SIZE, "%.3900s", given);
    return HELIO_OK;
}

static helio_rc open_cgroups(helio_local_t *self, helio_error_t *err)
{
    char path[PATH_SIZE];
    helio_rc rc = find_parent(self->options.cgroup, path, err);
    if (!rc)
        rc = helio_cgroup_delegate(path, &self->powers, err);
    if (!rc)
        self->cgroup = helio_arena_string(self->arena, helio_text_of(path));
    return rc && self->options.cgroup ? rc : HELIO_OK;
}

static helio_rc open_all(helio_local_t *self, helio_error_t *err)
{
    helio_folders_options_t options = {
        .root = self->options.state_dir, .site = self->options.site, .rules = &self->rules};
    helio_rc rc = helio_folders_new(&options, &self->folders, err);
    if (!rc)
        rc = open_cgroups(self, err);
    if (rc)
        return rc;
    self->epoll = epoll_create1(EPOLL_CLOEXEC);
    return self->epoll < 0 ? helio_fail(err, HELIO_IO, "epoll: %s", strerror(errno)) : HELIO_OK;
}

helio_rc helio_local_new(const helio_local_options_t *options, helio_backend_t **ret_backend, helio_error_t *err)
{
    if (!options->state_dir || options->state_dir[0] != '/' || !options->shim || options->shim[0] != '/')
        return helio_fail(err, HELIO_INVALID, "the state folder and helio-shim need absolute paths");
    helio_local_t *self = helio_new(1, sizeof *self);
    self->base.class = &local_class;
    self->survey_ms = INT64_MAX;
    self->arena = helio_arena_new();
    self->epoll = -1;
    self->options = *options;
    self->options.state_dir = helio_arena_string(self->arena, helio_text_of(options->state_dir));
    self->options.shim = helio_arena_string(self->arena, helio_text_of(options->shim));
    if (options->cgroup)
        self->options.cgroup = helio_arena_string(self->arena, helio_text_of(options->cgroup));
    self->options.site = helio_arena_text(self->arena, options->site);
    helio_job_rules_copy(options->rules, self->arena, &self->rules);
    self->options.rules = &self->rules;
    self->lease = helio_arena_printf(self->arena, "%s/leases", options->state_dir).data;
    helio_process_boot_id(self->boot_id);
    helio_rc rc = open_all(self, err);
    helio_backend_t *backend = &self->base;
    if (rc)
        helio_backend_destroy(&backend);
    else
        *ret_backend = backend;
    return rc;
}

/* ---- check --------------------------------------------------------------------------------------------- */

/*  Nothing is made here, so that a check by another user leaves nothing that the agent could not use. */
static helio_rc check_state_dir(const char *path, helio_error_t *err)
{
    struct stat status;
    if (stat(path, &status))
        return errno == ENOENT ? HELIO_OK : helio_fail(err, HELIO_IO, "'%s': %s", path, strerror(errno));
    if (access(path, W_OK | X_OK))
        return helio_fail(err, HELIO_FORBIDDEN, "cannot make folders in '%s': %s; give it to the agent's user", path,
                          strerror(errno));
    if (geteuid() == 0 && !(status.st_mode & 001))
        return helio_fail(err, HELIO_FORBIDDEN, "'%s' cannot be entered by the users of jobs: run chmod o+x on it",
                          path);
    return HELIO_OK;
}

helio_rc helio_local_check(const helio_local_options_t *options, helio_error_t *err)
{
    struct stat status;
    char secrets[PATH_SIZE];
    if (access(options->shim, X_OK))
        return helio_fail(err, HELIO_NOT_FOUND, "helio-shim cannot be executed at '%s': %s", options->shim,
                          strerror(errno));
    if (!options->rules->users.count)
        return helio_fail(err, HELIO_INVALID, "`users` is empty: every job would be refused (NoUserMapping)");
    helio_rc rc = check_state_dir(options->state_dir, err);
    if (rc == HELIO_OK && options->rules->secrets.size &&
        (!helio_text_copy(options->rules->secrets, secrets, sizeof secrets) || stat(secrets, &status) ||
         status.st_mode & 077))
        return helio_fail(err, HELIO_FORBIDDEN, "the folder of secrets must exist with mode 0700");
    return rc;
}

helio_rc helio_local_check_cgroups(const helio_local_options_t *options, char ret_text[HELIO_LOCAL_CHECK_SIZE],
                                   helio_error_t *err)
{
    char path[PATH_SIZE];
    helio_error_t why = {0};
    helio_cgroup_powers_t powers;
    helio_rc rc = find_parent(options->cgroup, path, &why);
    if (!rc)
        rc = helio_cgroup_look(path, &powers, &why);
    if (rc)
        return helio_fail(err, rc,
                          "%.200s: jobs are ended by their sessions and environment, and have no bound of "
                          "processes and memory; start helio-jobs.service, or name a delegated group in `cgroup`",
                          why.text);
    (void)snprintf(ret_text, HELIO_LOCAL_CHECK_SIZE, "%.400s; processes %s, memory %s", path,
                   powers.pids ? "bounded" : "not bounded", powers.memory ? "bounded" : "not bounded");
    return HELIO_OK;
}
