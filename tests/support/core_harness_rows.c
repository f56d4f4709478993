/*  core_harness_rows.c -- the rows that the core writes, kept as the tables keep them; each row is checked against the
 *  promises. */
#include "tests/support/core_harness_rows.h"

helio_text_t harness_queue_of(const harness_t *self, const helio_row_job_t *job)
{
    for (const edit_t *edit = self->edits; edit; edit = edit->next)
        if (helio_uuid_equal(edit->row.job, job->job))
            return edit->row.queue;
    return job->queue;
}

task_t *harness_task_get(harness_t *self, helio_job_key_t key)
{
    task_t *task;
    HASH_FIND(hh, self->tasks, &key, sizeof key, task);
    if (!task) {
        task = helio_new(1, sizeof *task);
        task->key = key;
        task->state = HELIO_JOB_QUEUED;
        HASH_ADD(hh, self->tasks, key, sizeof task->key, task);
    }
    return task;
}

task_t *harness_task_find(const harness_t *self, helio_job_key_t key)
{
    task_t *task;
    HASH_FIND(hh, self->tasks, &key, sizeof key, task);
    return task;
}

place_t *harness_place_get(harness_t *self, helio_text_t name)
{
    for (place_t *place = self->places; place; place = place->next)
        if (helio_text_equal(place->site.site, name))
            return place;
    place_t *place = helio_arena_alloc(self->arena, 1, sizeof *place);
    place->site.site = helio_arena_text(self->arena, name);
    place->next = self->places;
    self->places = place;
    return place;
}

static void keep_transition(harness_t *self, const helio_row_transition_t *row)
{
    task_t *task = harness_task_get(self, row->key);
    assert_true(row->seq == self->federation.last_transition_seq + 1);
    self->federation.last_transition_seq = row->seq;
    bool edited = row->from == row->to && (row->from == HELIO_JOB_QUEUED || row->from == HELIO_JOB_HELD);
    assert_int_equal(row->from, task->state);
    assert_true(edited || helio_job_state_edge(row->from, row->to));
    assert_true(row->actor.size > 0 && row->actor.size <= 96);
    task->state = row->to;
}

static void keep_state(harness_t *self, const helio_row_state_t *row)
{
    task_t *task = harness_task_get(self, row->key);
    assert_int_equal(row->state, task->state);
    assert_int_equal(row->epoch, task->epoch);
    assert_true((row->finished_ms != 0) == helio_job_state_is_terminal(row->state));
    assert_true((row->site.size != 0) || !helio_job_state_is_live(row->state));
    task->row = *row;
    task->written = true;
}

void harness_keep_run(harness_t *self, helio_job_key_t key, uint64_t run_ms, const char *gpu_model)
{
    run_t *run = helio_arena_alloc(self->arena, 1, sizeof *run);
    run->key = key;
    run->run_ms = run_ms;
    (void)helio_text_copy(helio_text_of(gpu_model), run->gpu_model, sizeof run->gpu_model);
    *self->runs_end = run;
    self->runs_end = &run->next;
}

static void keep_attempt(harness_t *self, const helio_row_attempt_t *row)
{
    assert_false(row->completes && row->fenced);
    task_t *task = harness_task_get(self, row->key);
    if (!row->completes)
        return;
    assert_false(task->completed);
    assert_int_equal(row->epoch, task->epoch);
    task->completed = true;
    if (row->epoch == 1 && row->run_ms)
        harness_keep_run(self, row->key, row->run_ms, task->gpu_model);
}

const helio_row_job_t *harness_document_of(const harness_t *self, helio_uuid_t job)
{
    document_t *document;
    HASH_FIND(hh, self->documents_by_job, &job, sizeof job, document);
    return document ? &document->load.row : NULL;
}

void harness_put_document(harness_t *self, document_t *document)
{
    document->job = document->load.row.job;
    HASH_ADD(hh, self->documents_by_job, job, sizeof document->job, document);
    *self->documents_end = document;
    self->documents_end = &document->next;
}

uint64_t harness_gpus(const harness_t *self, const char *tenant, const char *queue)
{
    uint64_t gpus = 0;
    for (const task_t *task = self->tasks; task; task = task->hh.next) {
        if (!helio_job_state_is_live(task->state))
            continue;
        const helio_row_job_t *row = harness_document_of(self, task->key.job);
        if (row && helio_text_is(row->tenant, tenant) &&
            (!queue[0] || helio_text_is(harness_queue_of(self, row), queue)))
            gpus += task->gpus;
    }
    return gpus;
}

/*  A limit that was lowered below what is held admits nothing more. */
static void check_quotas(const harness_t *self, const helio_row_placement_t *placement)
{
    const helio_row_job_t *job = harness_document_of(self, placement->key.job);
    assert_non_null(job);
    for (const quota_t *quota = self->quotas; quota; quota = quota->next) {
        const helio_row_quota_t *row = &quota->row;
        char queue[40], tenant[40];
        (void)helio_text_copy(row->tenant, tenant, sizeof tenant);
        (void)helio_text_copy(row->queue, queue, sizeof queue);
        bool counts = helio_text_equal(job->tenant, row->tenant) &&
                      (!queue[0] || helio_text_is(harness_queue_of(self, job), queue));
        if (counts && placement->gpus && row->burst_gpus != HELIO_QUOTA_UNLIMITED)
            assert_true(harness_gpus(self, tenant, queue) <= row->burst_gpus);
    }
}

static void keep_quota(harness_t *self, const helio_row_quota_t *row)
{
    assert_true(row->burst_gpus >= row->guaranteed_gpus && row->weight_milli > 0);
    quota_t *quota = self->quotas;
    while (quota &&
           !(helio_text_equal(quota->row.tenant, row->tenant) && helio_text_equal(quota->row.queue, row->queue)))
        quota = quota->next;
    if (!quota) {
        quota = helio_arena_alloc(self->arena, 1, sizeof *quota);
        quota->next = self->quotas;
        self->quotas = quota;
    }
    helio_record_copy(&helio_row_quota_type, self->arena, row, &quota->row);
}

static void keep_queue(harness_t *self, const helio_row_queue_t *row)
{
    kept_queue_t *queue = self->queues;
    while (queue && !helio_text_equal(queue->row.queue, row->queue))
        queue = queue->next;
    if (!queue) {
        queue = helio_arena_alloc(self->arena, 1, sizeof *queue);
        queue->next = self->queues;
        self->queues = queue;
    }
    helio_record_copy(&helio_row_queue_type, self->arena, row, &queue->row);
}

static void keep_rule(harness_t *self, const helio_row_queue_rule_t *row)
{
    assert_true(row->schedule.size ? row->until_ms == 0 : row->until_ms > 0);
    rule_t *rule = self->rules;
    while (rule &&
           !(helio_text_equal(rule->row.queue, row->queue) && helio_text_equal(rule->row.region, row->region) &&
             helio_text_equal(rule->row.schedule, row->schedule) && helio_text_equal(rule->row.zone, row->zone)))
        rule = rule->next;
    if (!rule) {
        rule = helio_arena_alloc(self->arena, 1, sizeof *rule);
        rule->next = self->rules;
        self->rules = rule;
    }
    helio_record_copy(&helio_row_queue_rule_type, self->arena, row, &rule->row);
}

static void keep_tenant(harness_t *self, const helio_row_tenant_t *row)
{
    kept_tenant_t *tenant = helio_arena_alloc(self->arena, 1, sizeof *tenant);
    helio_record_copy(&helio_row_tenant_type, self->arena, row, &tenant->row);
    tenant->next = self->tenants;
    self->tenants = tenant;
}

static void keep_edit(harness_t *self, const helio_row_edit_t *row)
{
    edit_t *edit = self->edits;
    while (edit && !helio_uuid_equal(edit->row.job, row->job))
        edit = edit->next;
    if (!edit) {
        edit = helio_arena_alloc(self->arena, 1, sizeof *edit);
        edit->next = self->edits;
        self->edits = edit;
    }
    helio_record_copy(&helio_row_edit_type, self->arena, row, &edit->row);
}

static void keep_group(harness_t *self, const helio_row_overflow_t *row)
{
    group_t *group = self->groups;
    while (group && !helio_text_equal(group->row.name, row->name))
        group = group->next;
    if (!group) {
        group = helio_arena_alloc(self->arena, 1, sizeof *group);
        group->next = self->groups;
        self->groups = group;
    }
    helio_record_copy(&helio_row_overflow_type, self->arena, row, &group->row);
}

/*  As the database adds it up. */
static void keep_usage(harness_t *self, const helio_row_ledger_t *row)
{
    if (harness_refuses(self, row))
        return;
    for (usage_t *old = self->usage; old && row->part == HELIO_LEDGER_REVERSAL; old = old->next)
        if (old->row.hour_ms == row->hour_ms && old->row.gpu_ms == row->gpu_ms &&
            helio_text_equal(old->row.tenant, row->tenant) && helio_text_equal(old->row.gpu_model, row->gpu_model)) {
            old->row.gpu_ms = 0;
            harness_keep_charged(self, row);
            return;
        }
    usage_t *usage = helio_arena_alloc(self->arena, 1, sizeof *usage);
    helio_row_usage_t use = {row->tenant, row->gpu_model, row->hour_ms, row->gpu_ms};
    helio_record_copy(&helio_row_usage_type, self->arena, &use, &usage->row);
    if (row->epoch)
        harness_keep_charged(self, row);
    usage->next = self->usage;
    self->usage = usage;
}

void harness_keep_earliest_start(harness_t *self, const helio_row_earliest_start_t *row)
{
    earliest_start_t *least = helio_arena_alloc(self->arena, 1, sizeof *least);
    helio_record_copy(&helio_row_earliest_start_type, self->arena, row, &least->row);
    least->next = self->earliest_starts;
    self->earliest_starts = least;
}

void harness_keep_transfer(harness_t *self, const helio_row_transfer_t *row)
{
    earliest_start_t *entry = helio_arena_alloc(self->arena, 1, sizeof *entry);
    entry->transfer = *row;
    entry->next = self->transfers;
    self->transfers = entry;
}

static void keep_data(harness_t *self, const helio_row_data_t *row)
{
    dataset_t *entry = helio_arena_alloc(self->arena, 1, sizeof *entry);
    helio_record_copy(&helio_row_data_type, self->arena, row, &entry->row);
    for (dataset_t **at = &self->datasets; *at; at = &(*at)->next)
        if (helio_text_equal((*at)->row.prefix, row->prefix)) {
            *at = (*at)->next;
            break;
        }
    if (!row->sites.size)
        return;
    entry->next = self->datasets;
    self->datasets = entry;
}

static void keep_link(harness_t *self, const helio_row_link_t *row)
{
    link_t *entry = helio_arena_alloc(self->arena, 1, sizeof *entry);
    helio_record_copy(&helio_row_link_type, self->arena, row, &entry->row);
    for (link_t **at = &self->links; *at; at = &(*at)->next)
        if (helio_text_equal((*at)->row.from, row->from) && helio_text_equal((*at)->row.to, row->to)) {
            *at = (*at)->next;
            break;
        }
    if (row->removed)
        return;
    entry->next = self->links;
    self->links = entry;
}

static void keep_curtailment(harness_t *self, const helio_row_curtailment_t *row)
{
    kept_curtailment_t **at = &self->curtailments;
    while (*at && !((*at)->row.set_ms == row->set_ms && helio_text_equal((*at)->row.site, row->site)))
        at = &(*at)->next;
    if (!*at)
        *at = helio_arena_alloc(self->arena, 1, sizeof **at);
    helio_record_copy(&helio_row_curtailment_type, self->arena, row, &(*at)->row);
}

static void keep_placement(harness_t *self, const helio_row_placement_t *row)
{
    task_t *task = harness_task_get(self, row->key);
    assert_int_equal(row->epoch, task->epoch + 1);
    assert_true(row->decision_id > 0 && row->decision_id <= self->federation.last_decision_id);
    task->epoch = row->epoch;
    task->gpus = row->gpus;
    (void)helio_text_copy(row->gpu_model, task->gpu_model, sizeof task->gpu_model);
    assert_true(row->expected_ms > 0 && row->expected_ms <= row->expected_high_ms);
    if (self->quotas)
        check_quotas(self, row);
    assert_true((row->earliest_site.size > 0) == (row->epoch == 1) && (row->earliest_ms > 0) == (row->epoch == 1));
    if (row->epoch == 1)
        harness_keep_earliest_start(
            self, &(helio_row_earliest_start_t){row->key, row->earliest_site, row->earliest_pool, row->earliest_ms});
    harness_keep_expected_use(self, row);
    harness_keep_transfer(self, &(helio_row_transfer_t){row->key, row->epoch, row->transfer_ms, row->transfer_micro_usd,
                                                        row->transfer_j, row->transfer_carbon_mg});
}

static void keep_pool(harness_t *self, const helio_row_pool_t *row)
{
    place_t *place = harness_place_get(self, row->site);
    for (uint32_t i = 0; i < place->pool_count; i++)
        if (helio_text_equal(place->pools[i].pool, row->pool)) {
            place->pools[i] = *row;
            return;
        }
    assert_true(place->pool_count < POOLS_MAX);
    place->pools[place->pool_count++] = *row;
}

static void keep_job(harness_t *self, const helio_row_job_t *row)
{
    const helio_ev_submit_t *submit = self->submitting;
    assert_non_null(submit);
    assert_true(helio_uuid_compare(self->federation.newest_job, row->job) < 0);
    self->federation.newest_job = row->job;
    for (uint32_t i = 0; i < submit->jobs.count; i++) {
        if (submit->jobs.items[i].source.data != row->source.data &&
            !helio_text_equal(submit->jobs.items[i].source, row->source))
            continue;
        document_t *document = helio_arena_alloc(self->arena, 1, sizeof *document);
        document->load.row = *row;
        helio_record_copy(&helio_job_spec_type, self->arena, &submit->jobs.items[i].spec, &document->load.spec);
        harness_put_document(self, document);
        return;
    }
    fail_msg("a job row of a document that nobody submitted");
}

static void keep_dependency(harness_t *self, const helio_row_dependency_t *row)
{
    dependency_t *dependency = helio_arena_alloc(self->arena, 1, sizeof *dependency);
    dependency->row = *row;
    *self->dependencies_end = dependency;
    self->dependencies_end = &dependency->next;
}

/*  Once open, a dependency hold stays open. */
static void keep_dependency_hold(harness_t *self, const helio_row_dependency_hold_t *row)
{
    dependency_hold_t *hold;
    HASH_FIND(hh, self->dependency_holds, &row->job, sizeof row->job, hold);
    if (!hold) {
        hold = helio_arena_alloc(self->arena, 1, sizeof *hold);
        hold->job = row->job;
        HASH_ADD(hh, self->dependency_holds, job, sizeof hold->job, hold);
    }
    assert_true((row->opened_ms == 0) == (row->details.items.count > 0));
    if (!hold->row.opened_ms)
        hold->row = *row;
}

static void keep_actual(harness_t *self, const helio_row_actual_t *row)
{
    actual_t *actual = self->actuals;
    while (actual && !(actual->row.signal == row->signal && actual->row.hour_ms == row->hour_ms &&
                       helio_text_equal(actual->row.site, row->site) && helio_text_equal(actual->row.pool, row->pool)))
        actual = actual->next;
    if (!actual) {
        actual = helio_arena_alloc(self->arena, 1, sizeof *actual);
        actual->next = self->actuals;
        self->actuals = actual;
    }
    assert_true(row->hour_ms <= self->wall_ms && row->hour_ms % 3600000 == 0);
    helio_record_copy(&helio_row_actual_type, self->arena, row, &actual->row);
}

static void keep_class(harness_t *self, const helio_row_class_t *row)
{
    kept_class_t *class = self->classes;
    while (class && class->row.class_id != row->class_id)
        class = class->next;
    if (!class) {
        class = helio_arena_alloc(self->arena, 1, sizeof *class);
        class->next = self->classes;
        self->classes = class;
    }
    helio_record_copy(&helio_row_class_type, self->arena, row, &class->row);
}

static void keep_issue(harness_t *self, const helio_row_series_t *row)
{
    issue_t *issue = self->issues;
    while (issue && !(issue->row.signal == row->signal && helio_text_equal(issue->row.site, row->site) &&
                      helio_text_equal(issue->row.pool, row->pool) && helio_text_equal(issue->row.kind, row->kind)))
        issue = issue->next;
    if (!issue) {
        issue = helio_arena_alloc(self->arena, 1, sizeof *issue);
        issue->next = self->issues;
        self->issues = issue;
    } else if (issue->row.issued_ms > row->issued_ms) {
        return;
    }
    helio_record_copy(&helio_row_series_type, self->arena, row, &issue->row);
}

static void keep_order(harness_t *self, const helio_fx_order_t *fx)
{
    const task_t *task = harness_task_find(self, fx->order.key);
    assert_non_null(task);
    assert_int_equal(fx->order.epoch, task->epoch);
    for (place_t *place = self->places; place; place = place->next)
        if (place->peer == fx->peer) {
            assert_true(fx->order.dispatch_seq > place->dispatch_seq);
            place->dispatch_seq = fx->order.dispatch_seq;
            return;
        }
    fail_msg("an order to a peer that is no site");
}

void harness_keep(harness_t *self, uint32_t kind, const void *record)
{
    if (kind == HELIO_BROKER_FX_ROW_TRANSITION)
        keep_transition(self, record);
    else if (kind == HELIO_BROKER_FX_ROW_STATE)
        keep_state(self, record);
    else if (kind == HELIO_BROKER_FX_ROW_ATTEMPT)
        keep_attempt(self, record);
    else if (kind == HELIO_BROKER_FX_ROW_PLACEMENT)
        keep_placement(self, record);
    else if (kind == HELIO_BROKER_FX_ROW_SITE)
        harness_place_get(self, ((const helio_row_site_t *)record)->site)->site = *(const helio_row_site_t *)record;
    else if (kind == HELIO_BROKER_FX_ROW_POOL)
        keep_pool(self, record);
    else if (kind == HELIO_BROKER_FX_ROW_JOB)
        keep_job(self, record);
    else if (kind == HELIO_BROKER_FX_ORDER)
        keep_order(self, record);
    else if (kind == HELIO_BROKER_FX_ROW_DEPENDENCY)
        keep_dependency(self, record);
    else if (kind == HELIO_BROKER_FX_ROW_DEPENDENCY_HOLD)
        keep_dependency_hold(self, record);
    else if (kind == HELIO_BROKER_FX_ROW_QUEUE)
        keep_queue(self, record);
    else if (kind == HELIO_BROKER_FX_ROW_QUEUE_RULE)
        keep_rule(self, record);
    else if (kind == HELIO_BROKER_FX_ROW_OVERFLOW)
        keep_group(self, record);
    else if (kind == HELIO_BROKER_FX_ROW_TENANT)
        keep_tenant(self, record);
    else if (kind == HELIO_BROKER_FX_ROW_EDIT)
        keep_edit(self, record);
    else if (kind == HELIO_BROKER_FX_ROW_QUOTA)
        keep_quota(self, record);
    else if (kind == HELIO_BROKER_FX_ROW_DATA)
        keep_data(self, record);
    else if (kind == HELIO_BROKER_FX_ROW_LINK)
        keep_link(self, record);
    else if (kind == HELIO_BROKER_FX_ROW_CURTAILMENT)
        keep_curtailment(self, record);
    else if (kind == HELIO_BROKER_FX_ROW_LEDGER)
        keep_usage(self, record);
    else if (kind == HELIO_BROKER_FX_ROW_BUDGET)
        harness_keep_budget(self, record);
    else if (kind == HELIO_BROKER_FX_ROW_ACTUAL)
        keep_actual(self, record);
    else if (kind == HELIO_BROKER_FX_ROW_SERIES)
        keep_issue(self, record);
    else if (kind == HELIO_BROKER_FX_ROW_CLASS)
        keep_class(self, record);
    else if (kind == HELIO_BROKER_FX_ROW_DECISION) {
        const helio_row_decision_t *row = record;
        assert_true(row->decision_id == self->federation.last_decision_id + 1);
        self->federation.last_decision_id = row->decision_id;
    }
}

/*  As the database would report it. */
uint32_t harness_found(const harness_t *self, helio_job_key_t on)
{
    for (const document_t *document = self->documents; document; document = document->next) {
        const helio_row_job_t *row = &document->load.row;
        if (!helio_uuid_equal(row->job, on.job))
            continue;
        bool whole = on.task == HELIO_NO_TASK && row->tasks.count, ok = true;
        for (uint32_t i = 0; i < (whole ? row->tasks.count : 1); i++) {
            const task_t *task =
                harness_task_find(self, whole ? (helio_job_key_t){on.job, (int32_t)row->tasks.items[i]} : on);
            if (!task || !helio_job_state_is_terminal(task->state))
                return HELIO_FOUND_OPEN;
            ok = ok && task->state == HELIO_JOB_SUCCEEDED;
        }
        return ok ? HELIO_FOUND_OK : HELIO_FOUND_NOT_OK;
    }
    return HELIO_FOUND_UNKNOWN;
}
