/*  core_harness_load.c -- what a new leader loads, from the rows of the leader before it. */
#include "tests/support/core_harness_rows.h"

static void load_queues(harness_t *self, const harness_t *from)
{
    for (const group_t *group = from->groups; group; group = group->next) {
        harness_keep(self, HELIO_BROKER_FX_ROW_OVERFLOW, &group->row);
        if (!group->row.removed)
            harness_step(self, HELIO_BROKER_EV_LOAD_OVERFLOW, &group->row);
    }
    for (const kept_queue_t *queue = from->queues; queue; queue = queue->next) {
        harness_keep(self, HELIO_BROKER_FX_ROW_QUEUE, &queue->row);
        if (!queue->row.removed)
            harness_step(self, HELIO_BROKER_EV_LOAD_QUEUE, &queue->row);
    }
    for (const rule_t *rule = from->rules; rule; rule = rule->next) {
        harness_keep(self, HELIO_BROKER_FX_ROW_QUEUE_RULE, &rule->row);
        if (!rule->row.removed)
            harness_step(self, HELIO_BROKER_EV_LOAD_QUEUE_RULE, &rule->row);
    }
}

/*  The oldest row of a tenant comes first: the newest counts. */
static void load_tenants(harness_t *self, const kept_tenant_t *tenant)
{
    if (!tenant)
        return;
    load_tenants(self, tenant->next);
    harness_keep(self, HELIO_BROKER_FX_ROW_TENANT, &tenant->row);
    harness_step(self, HELIO_BROKER_EV_LOAD_TENANT, &tenant->row);
}

void harness_load_static(harness_t *self, const harness_t *from)
{
    harness_step(self, HELIO_BROKER_EV_LOAD_FEDERATION, &self->federation);
    const helio_row_tenant_t tenants[] = {{.tenant = HELIO_TEXT("acme"), .home_site = HELIO_TEXT("north")},
                                          {.tenant = HELIO_TEXT("other")}};
    for (size_t i = 0; i < sizeof tenants / sizeof tenants[0]; i++)
        harness_step(self, HELIO_BROKER_EV_LOAD_TENANT, &tenants[i]);
    load_tenants(self, from ? from->tenants : NULL);
    const helio_row_queue_t queues[] = {{HELIO_TEXT("express"), 1000, HELIO_TIER_CRITICAL, 3600000, false},
                                        {HELIO_TEXT("standard"), 500, HELIO_TIER_STANDARD, 3600000, false},
                                        {HELIO_TEXT("batch"), 100, HELIO_TIER_BEST_EFFORT, 3600000, false}};
    for (size_t i = 0; !from && i < sizeof queues / sizeof queues[0]; i++) {
        harness_keep(self, HELIO_BROKER_FX_ROW_QUEUE, &queues[i]);
        harness_step(self, HELIO_BROKER_EV_LOAD_QUEUE, &queues[i]);
    }
    if (from)
        load_queues(self, from);
}

static bool is_over(const harness_t *self, const helio_row_job_t *row)
{
    const task_t *task = harness_task_find(self, (helio_job_key_t){row->job, HELIO_NO_TASK});
    if (!row->tasks.count)
        return task && helio_job_state_is_terminal(task->state);
    for (uint32_t i = 0; i < row->tasks.count; i++) {
        task = harness_task_find(self, (helio_job_key_t){row->job, (int32_t)row->tasks.items[i]});
        if (!task || !helio_job_state_is_terminal(task->state))
            return false;
    }
    return true;
}

static void load_jobs(harness_t *self, const harness_t *from)
{
    for (const document_t *document = from->documents; document; document = document->next) {
        document_t *copy = helio_arena_alloc(self->arena, 1, sizeof *copy);
        helio_record_copy(&helio_ev_load_job_type, self->arena, &document->load, &copy->load);
        harness_put_document(self, copy);
        const helio_row_job_t *row = &copy->load.row;
        if (!is_over(from, row)) {
            harness_step(self, HELIO_BROKER_EV_LOAD_JOB, &copy->load);
        } else if (row->idempotency_key.size) {
            helio_row_key_t key = {row->tenant, row->idempotency_key, row->spec_hash, row->job};
            harness_step(self, HELIO_BROKER_EV_LOAD_KEY, &key);
        }
    }
    for (const edit_t *edit = from->edits; edit; edit = edit->next) {
        harness_keep(self, HELIO_BROKER_FX_ROW_EDIT, &edit->row);
        const helio_row_job_t *job = harness_document_of(from, edit->row.job);
        assert_non_null(job);
        if (!is_over(from, job))
            harness_step(self, HELIO_BROKER_EV_LOAD_EDIT, &edit->row);
    }
    for (const task_t *task = from->tasks; task; task = task->hh.next) {
        if (!task->written)
            continue;
        task_t *copy = harness_task_get(self, task->key);
        copy->state = task->state;
        copy->epoch = task->epoch;
        copy->completed = task->completed;
        copy->gpus = task->gpus;
        copy->written = true;
        helio_record_copy(&helio_row_state_type, self->arena, &task->row, &copy->row);
        bool open = false;
        for (const document_t *d = from->documents; d && !open; d = d->next)
            open = helio_uuid_equal(d->load.row.job, task->key.job) && !is_over(from, &d->load.row);
        if (open)
            harness_step(self, HELIO_BROKER_EV_LOAD_STATE, &copy->row);
    }
}

static void load_waiting(harness_t *self, const harness_t *from)
{
    for (const dependency_hold_t *hold = from->dependency_holds; hold; hold = hold->hh.next)
        harness_keep(self, HELIO_BROKER_FX_ROW_DEPENDENCY_HOLD, &hold->row);
    for (const dependency_t *dependency = from->dependencies; dependency; dependency = dependency->next) {
        const helio_row_dependency_t *row = &dependency->row;
        harness_keep(self, HELIO_BROKER_FX_ROW_DEPENDENCY, row);
        helio_row_waiting_t waiting = {row->job, row->after, row->on, harness_found(from, row->on)};
        for (const document_t *d = from->documents; d; d = d->next)
            if (helio_uuid_equal(d->load.row.job, row->job) && !is_over(from, &d->load.row))
                harness_step(self, HELIO_BROKER_EV_LOAD_WAITING, &waiting);
    }
    for (const dependency_hold_t *hold = from->dependency_holds; hold; hold = hold->hh.next) {
        const helio_row_job_t *job = harness_document_of(from, hold->job);
        helio_row_ended_hold_t ended = {hold->job};
        if (hold->row.opened_ms && !is_over(from, job))
            harness_step(self, HELIO_BROKER_EV_LOAD_ENDED_HOLD, &ended);
    }
}

static void load_prices(harness_t *self, const harness_t *from)
{
    for (const actual_t *actual = from->actuals; actual; actual = actual->next) {
        harness_keep(self, HELIO_BROKER_FX_ROW_ACTUAL, &actual->row);
        harness_step(self, HELIO_BROKER_EV_LOAD_ACTUAL, &actual->row);
    }
    for (const issue_t *issue = from->issues; issue; issue = issue->next) {
        harness_keep(self, HELIO_BROKER_FX_ROW_SERIES, &issue->row);
        harness_step(self, HELIO_BROKER_EV_LOAD_SERIES, &issue->row);
    }
    for (const earliest_start_t *least = from->earliest_starts; least; least = least->next) {
        harness_keep_earliest_start(self, &least->row);
        const task_t *task = harness_task_find(self, least->row.key);
        if (task && !helio_job_state_is_terminal(task->state))
            harness_step(self, HELIO_BROKER_EV_LOAD_EARLIEST_START, &least->row);
    }
    for (const earliest_start_t *entry = from->transfers; entry; entry = entry->next) {
        const task_t *task = harness_task_find(self, entry->transfer.key);
        harness_keep_transfer(self, &entry->transfer);
        if (task && task->epoch == entry->transfer.epoch && !helio_job_state_is_terminal(task->state))
            harness_step(self, HELIO_BROKER_EV_LOAD_TRANSFER, &entry->transfer);
    }
}

static void load_runs(harness_t *self, const harness_t *from)
{
    for (const run_t *run = from->runs; run; run = run->next) {
        harness_keep_run(self, run->key, run->run_ms, run->gpu_model);
        const helio_row_job_t *job = harness_document_of(from, run->key.job);
        const task_t *task = harness_task_find(from, run->key);
        assert_true(job && task);
        helio_row_run_t row = {.tenant = job->tenant,
                               .user = job->user,
                               .name = job->name,
                               .kind = job->kind,
                               .gpu_model = helio_text_of(run->gpu_model),
                               .run_ms = run->run_ms,
                               .gpus = job->gpus,
                               .time_limit_ms = job->time_limit_ms,
                               .whole = task->state == HELIO_JOB_SUCCEEDED || task->state == HELIO_JOB_TIMEOUT};
        harness_step(self, HELIO_BROKER_EV_LOAD_RUN, &row);
    }
}

harness_t *harness_rebuild(const harness_t *from)
{
    return harness_rebuild_with(from, &from->options);
}

/*  What the store remembers of leases: the longest that can still be in force. */
static uint64_t leases_left_ms(const harness_t *from)
{
    uint64_t passed_ms = (uint64_t)(from->now_ms - from->began_ms), former = from->federation.leases_left_ms;
    former = former > passed_ms ? former - passed_ms : 0;
    return former > from->options.lease_ms ? former : from->options.lease_ms;
}

harness_t *harness_rebuild_with(const harness_t *from, const helio_broker_options_t *options)
{
    harness_t *self = harness_new(options);
    self->texts->former = from->texts;
    from->texts->users++;
    self->now_ms = from->now_ms;
    self->wall_ms = from->wall_ms;
    self->report_seq = from->report_seq;
    self->federation = from->federation;
    self->federation.broker_epoch++;
    self->federation.leases_left_ms = leases_left_ms(from);
    self->began_ms = self->now_ms;
    harness_load_static(self, from);
    for (const quota_t *quota = from->quotas; quota; quota = quota->next) {
        harness_keep(self, HELIO_BROKER_FX_ROW_QUOTA, &quota->row);
        harness_step(self, HELIO_BROKER_EV_LOAD_QUOTA, &quota->row);
    }
    harness_load_budgets(self, from);
    for (const dataset_t *data = from->datasets; data; data = data->next) {
        harness_keep(self, HELIO_BROKER_FX_ROW_DATA, &data->row);
        harness_step(self, HELIO_BROKER_EV_LOAD_DATA, &data->row);
    }
    for (const link_t *link = from->links; link; link = link->next) {
        harness_keep(self, HELIO_BROKER_FX_ROW_LINK, &link->row);
        harness_step(self, HELIO_BROKER_EV_LOAD_LINK, &link->row);
    }
    for (const usage_t *usage = from->usage; usage; usage = usage->next) {
        helio_row_ledger_t row = {.tenant = usage->row.tenant,
                                  .gpu_model = usage->row.gpu_model,
                                  .hour_ms = usage->row.hour_ms,
                                  .gpu_ms = usage->row.gpu_ms};
        harness_keep(self, HELIO_BROKER_FX_ROW_LEDGER, &row);
        if (usage->row.tenant.size)
            harness_step(self, HELIO_BROKER_EV_LOAD_USAGE, &usage->row);
    }
    for (const place_t *place = from->places; place; place = place->next) {
        place_t *copy = harness_place_get(self, place->site.site);
        helio_record_copy(&helio_row_site_type, self->arena, &place->site, &copy->site);
        harness_step(self, HELIO_BROKER_EV_LOAD_SITE, &copy->site);
        for (uint32_t i = 0; i < place->pool_count; i++) {
            helio_record_copy(&helio_row_pool_type, self->arena, &place->pools[i], &copy->pools[i]);
            harness_step(self, HELIO_BROKER_EV_LOAD_POOL, &copy->pools[copy->pool_count++]);
        }
    }
    for (const kept_curtailment_t *kept = from->curtailments; kept; kept = kept->next) {
        harness_keep(self, HELIO_BROKER_FX_ROW_CURTAILMENT, &kept->row);
        harness_step(self, HELIO_BROKER_EV_LOAD_CURTAILMENT, &kept->row);
    }
    load_jobs(self, from);
    load_waiting(self, from);
    load_prices(self, from);
    harness_load_expected_use(self, from);
    load_runs(self, from);
    for (const kept_class_t *class = from->classes; class; class = class->next) {
        harness_keep(self, HELIO_BROKER_FX_ROW_CLASS, &class->row);
        if (helio_text_is(class->row.reason, "WaitingForWindow"))
            harness_step(self, HELIO_BROKER_EV_LOAD_CLASS, &class->row);
    }
    harness_load_estimates(self, from);
    harness_step(self, HELIO_BROKER_EV_LOADED, NULL);
    harness_clear(self);
    return self;
}
