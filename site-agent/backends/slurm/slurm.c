/*  slurm.c -- the functions of the backend `slurm` that the agent calls, and its creation and end. */
#include "site-agent/backends/slurm/slurm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "federation/base/clock.h"
#include "site-agent/backends/slurm/slurm_internal.h"
#include "site-agent/core/capacity.h"

enum { SHARED_MAX = 2048 };

/* ---- orders -------------------------------------------------------------------------------------------- */

/*  An attempt whose end was reported is only tidied up here: for the caller it does not exist. */
static helio_slurm_attempt_t *open_attempt(helio_slurm_t *self, helio_job_key_t key, uint32_t epoch)
{
    helio_slurm_attempt_t *attempt = helio_slurm_find(self, key, epoch);
    if (attempt && attempt->phase == HELIO_SLURM_AT_GONE) {
        helio_slurm_remove(attempt);
        attempt = NULL;
    }
    if (!attempt)
        attempt = helio_slurm_add(self, key, epoch);
    attempt->known = true;
    return attempt;
}

/*  A GPU job that names no CPUs or memory gets its GPUs' share of the node; Slurm would give it one CPU. */
static helio_order_t with_share(const helio_slurm_t *self, const helio_order_t *asked)
{
    helio_order_t order = *asked;
    uint32_t index = helio_site_pool_index(&self->site, order.pool);
    const helio_pool_t *pool = index == UINT32_MAX ? NULL : &self->site.pools.items[index];
    if (!pool || !pool->gpus_per_node || order.gpus_per_node > pool->gpus_per_node)
        return order;
    const helio_slurm_pool_t *mapping = NULL;
    for (uint32_t i = 0; i < self->settings.pools.count; i++)
        if (helio_text_equal(self->settings.pools.items[i].pool, order.pool))
            mapping = &self->settings.pools.items[i];
    uint64_t memory = pool->memory_bytes_per_node / pool->gpus_per_node;
    if (mapping && mapping->memory_bytes_per_gpu)
        memory = mapping->memory_bytes_per_gpu;
    if (!order.cpus_per_node && mapping && mapping->cpus_per_gpu)
        order.cpus_per_node = mapping->cpus_per_gpu * order.gpus_per_node;
    if (!order.cpus_per_node)
        order.cpus_per_node = (uint32_t)((uint64_t)pool->cpus_per_node * order.gpus_per_node / pool->gpus_per_node);
    if (!order.memory_bytes_per_node) /* whole MiB, so that the shares of a node fit into it together */
        order.memory_bytes_per_node = (memory >> 20 << 20) * order.gpus_per_node;
    return order;
}

static void take_task(helio_slurm_attempt_t *attempt, const helio_backend_task_t *task, bool to_start)
{
    helio_order_t shared = with_share(attempt->backend, task->order);
    const helio_order_t *order = &shared;
    (void)helio_text_copy(order->pool, attempt->pool, sizeof attempt->pool);
    attempt->nodes = order->pool.size ? (order->nodes ? order->nodes : 1) : 0;
    attempt->gpus_per_node = order->gpus_per_node;
    attempt->cpus_per_node = order->cpus_per_node;
    attempt->memory_bytes_per_node = order->memory_bytes_per_node;
    attempt->limit_ms = order->time_limit_ms;
    helio_witness_recall(&attempt->witness, task->evidence);
    attempt->kin = order->pool.size ? helio_slurm_kin(order) : 0;
    attempt->grace_ms = helio_job_grace_ms(task->spec, attempt->grace_ms);
    if (!to_start || attempt->phase != HELIO_SLURM_AT_LOOKING || attempt->to_start)
        return;
    attempt->to_start = true;
    attempt->arena = helio_arena_new_sized(4096);
    helio_record_copy(&helio_order_type, attempt->arena, order, &attempt->order);
    helio_record_copy(&helio_job_spec_type, attempt->arena, task->spec, &attempt->spec);
    uint32_t index = helio_site_pool_index(&attempt->backend->site, order->pool);
    attempt->ahead = index < 64 && attempt->backend->poll.ahead_pools >> index & 1;
    attempt->backend->poll.capacity_due = true; /* its capacity must not be offered any more */
}

static void slurm_start(helio_backend_t *base, const helio_backend_task_t *task)
{
    helio_slurm_attempt_t *attempt = open_attempt(helio_slurm_of(base), task->order->key, task->order->epoch);
    if (!attempt->to_start && attempt->phase == HELIO_SLURM_AT_LOOKING)
        take_task(attempt, task, true); /* else its events come, or have come, anyway */
}

static void slurm_adopt(helio_backend_t *base, const helio_backend_task_t *task)
{
    helio_slurm_attempt_t *attempt = open_attempt(helio_slurm_of(base), task->order->key, task->order->epoch);
    take_task(attempt, task, false); /* a survey can have added it, without its size */
}

/*  Its shim looks for the file every few seconds. */
static void slurm_signal(helio_backend_t *base, const helio_attempt_signal_t *signal)
{
    const helio_slurm_t *self = (const helio_slurm_t *)(const void *)base;
    const helio_slurm_attempt_t *attempt = helio_slurm_find(self, signal->key, signal->epoch);
    if (attempt)
        (void)!helio_folders_signal(self->folders, attempt->held.name, signal, NULL);
}

static void slurm_stop(helio_backend_t *base, const helio_stop_t *stop)
{
    helio_slurm_t *self = helio_slurm_of(base);
    helio_slurm_attempt_t *attempt = open_attempt(self, stop->key, stop->epoch);
    bool first = attempt->stop_mode == HELIO_SLURM_NO_STOP,
         harder = attempt->stop_mode == HELIO_STOP_MODE_GRACE && stop->mode == HELIO_STOP_MODE_KILL;
    if (!first && !harder)
        return;
    attempt->stop_mode = stop->mode;
    attempt->stop_ms = self->now_boot_ms;
    attempt->stop_due_ms = 0;
    attempt->stop_sent = false;
    attempt->stop_again = attempt->stop_out;
    self->next_ms = 0;
}

static void slurm_forget(helio_backend_t *base, helio_job_key_t key, uint32_t epoch)
{
    char name[HELIO_ATTEMPT_NAME_SIZE];
    helio_attempt_name(key, epoch, name);
    helio_folders_forget(helio_slurm_of(base)->folders, name, helio_clock_wall_ms());
}

static void slurm_survey(helio_backend_t *base)
{
    helio_slurm_survey(helio_slurm_of(base));
}

static helio_rc slurm_lease(helio_backend_t *base, const helio_afx_lease_t *granted, helio_error_t *err)
{
    helio_slurm_t *self = helio_slurm_of(base);
    return helio_folders_lease_left(self->folders, self->lease_margin_ms, granted, err);
}

static helio_rc slurm_log_read(helio_backend_t *base, helio_job_key_t key, uint32_t epoch, uint64_t offset, size_t max,
                               helio_buffer_t *out, uint64_t *ret_next, bool *ret_end, helio_error_t *err)
{
    const helio_slurm_t *self = helio_slurm_of(base);
    char name[HELIO_ATTEMPT_NAME_SIZE];
    helio_attempt_name(key, epoch, name);
    /* Every attempt that may still run is held here: it was adopted at the start. */
    const helio_slurm_attempt_t *attempt = helio_slurm_find(self, key, epoch);
    bool over = !attempt || attempt->phase == HELIO_SLURM_AT_GONE;
    return helio_folders_log_of(self->folders, name, over, offset, max, out, ret_next, ret_end, err);
}

/* ---- the loop's side ----------------------------------------------------------------------------------- */

static int slurm_fd(const helio_backend_t *base)
{
    return helio_commands_fd(((const helio_slurm_t *)(const void *)base)->commands);
}

static int64_t slurm_next_ms(const helio_backend_t *base)
{
    const helio_slurm_t *self = (const helio_slurm_t *)(const void *)base;
    int64_t commands = helio_commands_next_ms(self->commands);
    return commands < self->next_ms ? commands : self->next_ms;
}

static int64_t attempt_next_ms(const helio_slurm_attempt_t *attempt)
{
    bool stop =
        attempt->stop_mode != HELIO_SLURM_NO_STOP && !attempt->stop_out && attempt->phase < HELIO_SLURM_AT_LEAVING;
    return stop && attempt->stop_due_ms < attempt->due_ms ? attempt->stop_due_ms : attempt->due_ms;
}

static void slurm_process(helio_backend_t *base, int64_t now_boot_ms, int64_t now_wall_ms)
{
    helio_slurm_t *self = helio_slurm_of(base);
    self->now_boot_ms = now_boot_ms;
    self->now_wall_ms = now_wall_ms;
    self->next_ms = INT64_MAX;
    helio_commands_process(self->commands, now_boot_ms); /* their results move attempts, and end none */
    /* A callback can add attempts (at the front) but removes none: only serving an attempt does. */
    for (helio_slurm_attempt_t *attempt = helio_slurm_first(self), *after; attempt; attempt = after) {
        after = helio_slurm_after(attempt);
        if (attempt_next_ms(attempt) <= now_boot_ms)
            helio_slurm_serve(attempt);
    }
    helio_slurm_poll_serve(self);
    helio_slurm_survey_serve(self);
    if (now_boot_ms >= self->sweep_ms)
        self->sweep_ms = now_boot_ms + helio_folders_sweep(self->folders, now_wall_ms);
    int64_t next = self->next_ms < self->sweep_ms ? self->next_ms : self->sweep_ms;
    int64_t poll = helio_slurm_poll_next_ms(self);
    next = poll < next ? poll : next;
    if (self->survey.open && !self->survey.out)
        next = self->survey.due_ms < next ? self->survey.due_ms : next;
    for (const helio_slurm_attempt_t *attempt = helio_slurm_first(self); attempt; attempt = helio_slurm_after(attempt))
        next = attempt_next_ms(attempt) < next ? attempt_next_ms(attempt) : next;
    self->next_ms = next > now_boot_ms ? next : 0;
}

/* ---- creation and end --------------------------------------------------------------------------------------- */

static void slurm_destroy(helio_backend_t *base)
{
    helio_slurm_t *self = helio_slurm_of(base);
    while (self->attempts.first)
        helio_slurm_remove(helio_slurm_first(self));
    helio_commands_destroy(&self->commands);
    helio_folders_destroy(&self->folders);
    helio_slurm_poll_clear(self);
    helio_arena_destroy(&self->arena);
    free(self);
}

static const helio_backend_class_t slurm_class = {
    .name = "slurm",
    .allocates = false,
    .start = slurm_start,
    .adopt = slurm_adopt,
    .stop = slurm_stop,
    .signal = slurm_signal,
    .forget = slurm_forget,
    .survey = slurm_survey,
    .lease = slurm_lease,
    .log_read = slurm_log_read,
    .enter = helio_slurm_enter,
    .fd = slurm_fd,
    .next_ms = slurm_next_ms,
    .process = slurm_process,
    .destroy = slurm_destroy,
};

static helio_rc check_options(const helio_slurm_options_t *options, helio_error_t *err)
{
    helio_text_t shared = options->settings->shared;
    if (!shared.size)
        return helio_fail(
            err, HELIO_INVALID,
            "agent.slurm.shared is missing: a folder that this host and all nodes see under the same path");
    if (shared.data[0] != '/' || shared.size > SHARED_MAX || memchr(shared.data, '\n', shared.size))
        return helio_fail(err, HELIO_INVALID, "agent.slurm.shared must be an absolute path");
    if (!options->settings->shim.size && (!options->shim || options->shim[0] != '/'))
        return helio_fail(err, HELIO_INVALID, "helio-shim needs an absolute path");
    return HELIO_OK;
}

static helio_rc open_all(helio_slurm_t *self, const helio_slurm_options_t *options, helio_error_t *err)
{
    helio_commands_options_t commands;
    helio_slurm_environment(&self->settings, self->arena, &commands);
    helio_rc rc = helio_commands_new(&commands, &self->commands, err);
    helio_folders_options_t folders = {
        .root = self->shared, .site = self->site.name, .rules = &self->rules, .users_own = true};
    if (!rc)
        rc = helio_folders_new(&folders, &self->folders, err);
    if (!rc)
        rc = helio_slurm_place(self, options->shim, err);
    return rc;
}

helio_rc helio_slurm_new(const helio_slurm_options_t *options, helio_backend_t **ret_backend, helio_error_t *err)
{
    helio_rc rc = check_options(options, err);
    if (rc)
        return rc;
    helio_slurm_t *self = helio_new(1, sizeof *self);
    self->base.class = &slurm_class;
    self->arena = helio_arena_new();
    helio_record_copy(&helio_site_profile_type, self->arena, options->site, &self->site);
    helio_job_rules_copy(options->rules, self->arena, &self->rules);
    helio_slurm_settings_copy(options->settings, self->arena, &self->settings);
    self->lease_margin_ms = options->lease_margin_ms;
    self->sink = options->sink;
    helio_slurm_poll_open(self);
    self->shared = self->settings.shared.data;
    self->lease_path = helio_arena_printf(self->arena, "%s/leases", self->shared).data;
    rc = open_all(self, options, err);
    helio_backend_t *backend = &self->base;
    if (rc)
        helio_backend_destroy(&backend);
    else
        *ret_backend = backend;
    return rc;
}
