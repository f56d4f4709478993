/*  exec.c -- the functions of the backend `exec` that the agent calls, and its creation and end. */
#include "site-agent/backends/exec/exec.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "federation/base/clock.h"
#include "site-agent/backends/exec/internal.h"
#include "site-agent/backends/folder/place.h"
#include "site-agent/core/capacity.h"

enum { FOLDER_MOST = 2048 };

/* ---- orders -------------------------------------------------------------------------------------------- */

/*  An attempt whose end was reported is only tidied up here: for the caller it does not exist. */
static helio_exec_attempt_t *open_attempt(helio_exec_t *self, helio_job_key_t key, uint32_t epoch)
{
    helio_exec_attempt_t *attempt = helio_exec_find(self, key, epoch);
    if (attempt && attempt->phase == HELIO_EXEC_AT_GONE) {
        helio_exec_remove(attempt);
        attempt = NULL;
    }
    if (!attempt)
        attempt = helio_exec_add(self, key, epoch);
    attempt->known = true;
    return attempt;
}

static void take_task(helio_exec_attempt_t *attempt, const helio_backend_task_t *task)
{
    const helio_order_t *order = task->order;
    (void)helio_text_copy(order->pool, attempt->pool, sizeof attempt->pool);
    attempt->nodes = order->pool.size ? (order->nodes ? order->nodes : 1) : 0;
    attempt->gpus = order->gpus_per_node;
    attempt->cpus = order->cpus_per_node;
    attempt->memory_bytes = order->memory_bytes_per_node;
    attempt->limit_ms = order->time_limit_ms;
    helio_witness_recall(&attempt->witness, task->evidence);
    attempt->grace_ms = helio_job_grace_ms(task->spec, attempt->grace_ms);
}

/*  Why the site cannot run it on several nodes; NULL: it can. */
static const char *gang_fault(const helio_exec_t *self, const helio_exec_attempt_t *attempt,
                              const helio_job_spec_t *spec)
{
    uint32_t p = helio_site_pool_index(&self->site, helio_text_of(attempt->pool));
    if (p == UINT32_MAX || !helio_site_runs_gangs(&self->site, &self->site.pools.items[p]))
        return "the adapter of this site starts no jobs on several nodes";
    return helio_job_is_batch_script(spec) ? "a script of several nodes starts its tasks by srun, which a site of the "
                                             "kind `exec` does not have"
                                           : NULL;
}

static void exec_start(helio_backend_t *base, const helio_backend_task_t *task)
{
    helio_exec_attempt_t *attempt = open_attempt(helio_exec_of(base), task->order->key, task->order->epoch);
    if (attempt->to_start || attempt->phase != HELIO_EXEC_AT_LOOKING)
        return; /* its events come, or have come, anyway */
    take_task(attempt, task);
    const char *fault = attempt->nodes > 1 ? gang_fault(attempt->backend, attempt, task->spec) : NULL;
    if (fault) {
        helio_exec_end(attempt, HELIO_BACKEND_REPORT_FAILED_TO_START, HELIO_CAUSE_BAD_OPTION, "%s", fault);
        return;
    }
    attempt->to_start = true;
    attempt->due_ms = 0;
    attempt->arena = helio_arena_new_sized(4096);
    helio_record_copy(&helio_order_type, attempt->arena, task->order, &attempt->order);
    helio_record_copy(&helio_job_spec_type, attempt->arena, task->spec, &attempt->spec);
    attempt->backend->poll.capacity_due = true; /* its capacity must not be offered any more */
    attempt->backend->next_ms = 0;
}

static void exec_adopt(helio_backend_t *base, const helio_backend_task_t *task)
{
    helio_exec_attempt_t *attempt = open_attempt(helio_exec_of(base), task->order->key, task->order->epoch);
    take_task(attempt, task); /* a survey can have added it, without its size */
}

static void exec_stop(helio_backend_t *base, const helio_stop_t *stop)
{
    helio_exec_attempt_t *attempt = open_attempt(helio_exec_of(base), stop->key, stop->epoch);
    bool first = attempt->stop_mode == HELIO_EXEC_NO_STOP,
         harder = attempt->stop_mode == HELIO_STOP_MODE_GRACE && stop->mode == HELIO_STOP_MODE_KILL;
    if (!first && !harder)
        return;
    attempt->stop_mode = stop->mode;
    attempt->stop_ms = 0;
    attempt->stop_due_ms = 0;
    attempt->cancel_ms = 0;
    attempt->backend->next_ms = 0;
}

static void exec_forget(helio_backend_t *base, helio_job_key_t key, uint32_t epoch)
{
    helio_exec_t *self = helio_exec_of(base);
    char name[HELIO_ATTEMPT_NAME_SIZE];
    helio_attempt_name(key, epoch, name);
    helio_folders_forget(self->folders, name, helio_clock_wall_ms());
    if (self->settings.carries)
        helio_exec_ask_forget(self, name);
}

static void exec_survey(helio_backend_t *base)
{
    helio_exec_survey(helio_exec_of(base));
}

static helio_rc exec_lease(helio_backend_t *base, const helio_afx_lease_t *granted, helio_error_t *err)
{
    helio_exec_t *self = helio_exec_of(base);
    helio_rc rc = helio_folders_lease_left(self->folders, self->lease_margin_ms, granted, err);
    self->poll.lease_due = self->poll.lease_due || (!rc && self->settings.carries);
    self->next_ms = self->poll.lease_due ? 0 : self->next_ms;
    return rc;
}

static helio_rc exec_log_read(helio_backend_t *base, helio_job_key_t key, uint32_t epoch, uint64_t offset, size_t max,
                              helio_buffer_t *out, uint64_t *ret_next, bool *ret_end, helio_error_t *err)
{
    const helio_exec_t *self = helio_exec_of(base);
    char name[HELIO_ATTEMPT_NAME_SIZE];
    helio_attempt_name(key, epoch, name);
    /* Every attempt that may still run is held here: it was adopted at the start. */
    const helio_exec_attempt_t *attempt = helio_exec_find(self, key, epoch);
    bool over = !attempt || attempt->phase == HELIO_EXEC_AT_GONE;
    return helio_folders_log_of(self->folders, name, over, offset, max, out, ret_next, ret_end, err);
}

/* ---- the loop's side ----------------------------------------------------------------------------------- */

static int exec_fd(const helio_backend_t *base)
{
    return helio_commands_fd(((const helio_exec_t *)(const void *)base)->commands);
}

static int64_t exec_next_ms(const helio_backend_t *base)
{
    const helio_exec_t *self = (const helio_exec_t *)(const void *)base;
    int64_t commands = helio_commands_next_ms(self->commands);
    return commands < self->next_ms ? commands : self->next_ms;
}

static int64_t attempt_next_ms(const helio_exec_attempt_t *attempt)
{
    bool stop = attempt->stop_mode != HELIO_EXEC_NO_STOP && attempt->phase < HELIO_EXEC_AT_OVER;
    return stop && attempt->stop_due_ms < attempt->due_ms ? attempt->stop_due_ms : attempt->due_ms;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void exec_process(helio_backend_t *base, int64_t now_boot_ms, int64_t now_wall_ms)
{
    helio_exec_t *self = helio_exec_of(base);
    self->now_boot_ms = now_boot_ms;
    self->now_wall_ms = now_wall_ms;
    self->next_ms = INT64_MAX;
    helio_commands_process(self->commands, now_boot_ms); /* their results move attempts, and report no end */
    /* A callback can add attempts (at the front) but removes none: only serving an attempt does. */
    for (helio_exec_attempt_t *attempt = helio_exec_first(self), *after; attempt; attempt = after) {
        after = helio_exec_after(attempt);
        if (attempt_next_ms(attempt) <= now_boot_ms)
            helio_exec_serve(attempt);
    }
    helio_exec_poll_serve(self);
    helio_exec_survey_serve(self);
    if (now_boot_ms >= self->sweep_ms)
        self->sweep_ms = now_boot_ms + helio_folders_sweep(self->folders, now_wall_ms);
    int64_t next = earlier(earlier(self->next_ms, self->sweep_ms), helio_exec_poll_next_ms(self));
    if (self->survey.open)
        next = earlier(next, self->survey.due_ms);
    for (const helio_exec_attempt_t *attempt = helio_exec_first(self); attempt; attempt = helio_exec_after(attempt))
        next = earlier(next, attempt_next_ms(attempt));
    self->next_ms = next > now_boot_ms ? next : 0;
}

/* ---- creation and end --------------------------------------------------------------------------------------- */

static void exec_destroy(helio_backend_t *base)
{
    helio_exec_t *self = helio_exec_of(base);
    while (self->attempts.first)
        helio_exec_remove(helio_exec_first(self));
    helio_commands_destroy(&self->commands);
    helio_folders_destroy(&self->folders);
    helio_arena_destroy(&self->poll.arena);
    helio_arena_destroy(&self->arena);
    free(self);
}

static const helio_backend_class_t exec_class = {
    .name = "exec",
    .allocates = false,
    .start = exec_start,
    .adopt = exec_adopt,
    .stop = exec_stop,
    .forget = exec_forget,
    .survey = exec_survey,
    .lease = exec_lease,
    .log_read = exec_log_read,
    .fd = exec_fd,
    .next_ms = exec_next_ms,
    .process = exec_process,
    .destroy = exec_destroy,
};

static helio_rc check_options(const helio_exec_options_t *options, helio_error_t *err)
{
    const helio_exec_settings_t *settings = options->settings;
    if (!settings->command.count)
        return helio_fail(err, HELIO_INVALID, "agent.exec.command is missing: the adapter and its arguments");
    if (!settings->folder.size)
        return helio_fail(
            err, HELIO_INVALID,
            "agent.exec.folder is missing: the attempts' folder, which the nodes see under the same path");
    if (settings->folder.data[0] != '/' || settings->folder.size > FOLDER_MOST ||
        memchr(settings->folder.data, '\n', settings->folder.size))
        return helio_fail(err, HELIO_INVALID, "agent.exec.folder must be an absolute path");
    if (!settings->shim.size && (!options->shim || options->shim[0] != '/'))
        return helio_fail(err, HELIO_INVALID, "helio-shim needs an absolute path");
    return HELIO_OK;
}

static helio_rc open_all(helio_exec_t *self, const char *shim, helio_error_t *err)
{
    helio_commands_options_t commands;
    helio_exec_environment(self->arena, &commands);
    helio_rc rc = helio_commands_new(&commands, &self->commands, err);
    helio_folders_options_t folders = {
        .root = self->folder, .site = self->site.name, .rules = &self->rules, .users_own = true};
    if (!rc)
        rc = helio_folders_new(&folders, &self->folders, err);
    helio_folder_programs_t programs = {.shim = self->settings.shim.size ? NULL : shim};
    const char *script;
    if (!rc)
        rc = helio_folder_place(self->folder, self->site.name, &programs, self->arena, &self->shim, &script, err);
    return rc;
}

helio_rc helio_exec_new(const helio_exec_options_t *options, helio_backend_t **ret_backend, helio_error_t *err)
{
    helio_rc rc = check_options(options, err);
    if (rc)
        return rc;
    helio_exec_t *self = helio_new(1, sizeof *self);
    self->base.class = &exec_class;
    self->arena = helio_arena_new();
    helio_record_copy(&helio_site_profile_type, self->arena, options->site, &self->site);
    helio_job_rules_copy(options->rules, self->arena, &self->rules);
    helio_exec_settings_copy(options->settings, self->arena, &self->settings);
    self->lease_margin_ms = options->lease_margin_ms;
    self->sink = options->sink;
    self->folder = self->settings.folder.data;
    self->shim = self->settings.shim.data;
    self->argv = helio_exec_argv(&self->settings, self->arena);
    self->lease_path = helio_arena_printf(self->arena, "%s/leases", self->folder).data;
    rc = open_all(self, options->shim, err);
    helio_backend_t *backend = &self->base;
    if (rc)
        helio_backend_destroy(&backend);
    else
        *ret_backend = backend;
    return rc;
}
