#include "tests/support/core_harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "federation/base/clock.h"

enum { POOLS_MAX = 8 };

typedef struct said {
    uint32_t kind;
    bool taken;
    void *record;
} said_t;

/*  What the rows say of one job or task. */
typedef struct task {
    helio_job_key_t key;
    uint32_t state;
    uint32_t epoch; /* of the last placement */
    bool completed;
    bool written;
    helio_row_state_t row;
    uint32_t gpus; /* of the last placement */
    char gpu_model[65];
    UT_hash_handle hh;
} task_t;

typedef struct dataset {
    helio_row_data_t row;
    struct dataset *next;
} dataset_t;

typedef struct link {
    helio_row_link_t row;
    struct link *next;
} link_t;

typedef struct line {
    helio_row_queue_t row;
    struct line *next;
} line_t;

typedef struct group {
    helio_row_overflow_t row;
    struct group *next;
} group_t;

typedef struct rule {
    helio_row_queue_rule_t row;
    struct rule *next;
} rule_t;

typedef struct quota {
    helio_row_quota_t row;
    struct quota *next;
} quota_t;

typedef struct usage {
    helio_row_usage_t row;
    struct usage *next;
} usage_t;

typedef struct document {
    helio_ev_load_job_t load;
    helio_uuid_t job;
    UT_hash_handle hh;
    struct document *next;
} document_t;

typedef struct place {
    helio_row_site_t site;
    helio_row_pool_t pools[POOLS_MAX];
    uint32_t pool_count;
    uint64_t peer;
    uint64_t dispatch_seq;
    struct place *next;
} place_t;

typedef struct dependency {
    helio_row_dependency_t row;
    struct dependency *next;
} dependency_t;

/*  What hours came to, the newest series, and where jobs could have started first: as the tables keep them. */
typedef struct actual {
    helio_row_actual_t row;
    struct actual *next;
} actual_t;

typedef struct issue {
    helio_row_series_t row;
    struct issue *next;
} issue_t;

typedef struct least {
    helio_row_least_t row;
    helio_row_transfer_t transfer;
    struct least *next;
} least_t;

/*  A job that was over with its first attempt, in order of the ends. */
typedef struct run {
    helio_job_key_t key;
    uint64_t run_ms;
    char gpu_model[65];
    struct run *next;
} run_t;

typedef struct gate {
    helio_uuid_t job;
    helio_row_gate_t row;
    UT_hash_handle hh;
} gate_t;

struct harness {
    helio_broker_options_t options;
    helio_broker_core_t *core;
    helio_effects_t *effects;
    helio_arena_t *arena;
    int64_t now_ms, wall_ms;
    int64_t began_ms; /* when this leader did */
    uint64_t calls;
    uint64_t report_seq;
    uint64_t summary_seq;
    helio_row_federation_t federation;
    said_t *said;
    uint32_t said_count, said_capacity;
    task_t *tasks;
    document_t *documents, **documents_end, *documents_by_job;
    dependency_t *dependencies, **dependencies_end;
    gate_t *gates;
    line_t *queues;
    rule_t *rules;
    group_t *groups;
    quota_t *quotas;
    dataset_t *datasets; /* the newest word on each first */
    link_t *links;
    usage_t *usage;
    actual_t *actuals;
    issue_t *issues;
    least_t *leasts;
    least_t *transfers; /* the newest first */
    run_t *runs, **runs_end;
    place_t *places;
    const helio_ev_submit_t *submitting;
};

static const char origin[] = "2026-03-01T00:00:00Z";

/* ---- the promises
 * ------------------------------------------------------------------------------------------ */

static task_t *task_get(harness_t *self, helio_job_key_t key)
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

static task_t *task_find(const harness_t *self, helio_job_key_t key)
{
    task_t *task;
    HASH_FIND(hh, self->tasks, &key, sizeof key, task);
    return task;
}

static place_t *place_get(harness_t *self, helio_text_t name)
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
    task_t *task = task_get(self, row->key);
    assert_true(row->seq == self->federation.last_transition_seq + 1);
    self->federation.last_transition_seq = row->seq;
    assert_int_equal(row->from, task->state);
    assert_true(helio_job_state_edge(row->from, row->to));
    assert_true(row->reason.size <= 256);
    assert_true(row->actor.size > 0 && row->actor.size <= 96);
    task->state = row->to;
}

static void keep_state(harness_t *self, const helio_row_state_t *row)
{
    task_t *task = task_get(self, row->key);
    assert_int_equal(row->state, task->state);
    assert_int_equal(row->epoch, task->epoch);
    assert_true(row->reason.size <= 256);
    assert_true((row->finished_ms != 0) == helio_job_state_is_terminal(row->state));
    assert_true((row->site.size != 0) || !helio_job_state_is_live(row->state));
    task->row = *row;
    task->written = true;
}

static void keep_run(harness_t *self, helio_job_key_t key, uint64_t run_ms, const char *gpu_model)
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
    task_t *task = task_get(self, row->key);
    if (!row->completes)
        return;
    assert_false(task->completed);
    assert_int_equal(row->epoch, task->epoch);
    task->completed = true;
    if (row->epoch == 1 && row->run_ms)
        keep_run(self, row->key, row->run_ms, task->gpu_model);
}

static const helio_row_job_t *document_of(const harness_t *self, helio_uuid_t job)
{
    document_t *document;
    HASH_FIND(hh, self->documents_by_job, &job, sizeof job, document);
    return document ? &document->load.row : NULL;
}

static void put_document(harness_t *self, document_t *document)
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
        const helio_row_job_t *row = document_of(self, task->key.job);
        if (row && helio_text_is(row->tenant, tenant) && (!queue[0] || helio_text_is(row->queue, queue)))
            gpus += task->gpus;
    }
    return gpus;
}

/*  A limit that was lowered below what is held lets nothing more in. */
static void check_quotas(const harness_t *self, const helio_row_placement_t *placement)
{
    const helio_row_job_t *job = document_of(self, placement->key.job);
    assert_non_null(job);
    for (const quota_t *quota = self->quotas; quota; quota = quota->next) {
        const helio_row_quota_t *row = &quota->row;
        char queue[40], tenant[40];
        (void)helio_text_copy(row->tenant, tenant, sizeof tenant);
        (void)helio_text_copy(row->queue, queue, sizeof queue);
        bool counts = helio_text_equal(job->tenant, row->tenant) && (!queue[0] || helio_text_is(job->queue, queue));
        if (counts && placement->gpus && row->burst_gpus != HELIO_QUOTA_UNLIMITED)
            assert_true(harness_gpus(self, tenant, queue) <= row->burst_gpus);
    }
}

static void keep_quota(harness_t *self, const helio_row_quota_t *row)
{
    assert_true(row->burst_gpus >= row->guaranteed_gpus && row->weight_milli > 0);
    quota_t *quota = self->quotas;
    while (quota && !(helio_text_equal(quota->row.tenant, row->tenant) && helio_text_equal(quota->row.queue, row->queue)))
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
    line_t *queue = self->queues;
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
    while (rule && !(helio_text_equal(rule->row.queue, row->queue) && helio_text_equal(rule->row.region, row->region) &&
                     helio_text_equal(rule->row.schedule, row->schedule) && helio_text_equal(rule->row.zone, row->zone)))
        rule = rule->next;
    if (!rule) {
        rule = helio_arena_alloc(self->arena, 1, sizeof *rule);
        rule->next = self->rules;
        self->rules = rule;
    }
    helio_record_copy(&helio_row_queue_rule_type, self->arena, row, &rule->row);
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

static void load_queues(harness_t *self, const harness_t *from)
{
    for (const group_t *group = from->groups; group; group = group->next) {
        keep_group(self, &group->row);
        if (!group->row.removed)
            harness_step(self, HELIO_BROKER_EV_LOAD_OVERFLOW, &group->row);
    }
    for (const line_t *queue = from->queues; queue; queue = queue->next) {
        keep_queue(self, &queue->row);
        if (!queue->row.removed)
            harness_step(self, HELIO_BROKER_EV_LOAD_QUEUE, &queue->row);
    }
    for (const rule_t *rule = from->rules; rule; rule = rule->next) {
        keep_rule(self, &rule->row);
        if (!rule->row.removed)
            harness_step(self, HELIO_BROKER_EV_LOAD_QUEUE_RULE, &rule->row);
    }
}

/*  As the database adds it up. */
static void keep_usage(harness_t *self, const helio_row_ledger_t *row)
{
    usage_t *usage = helio_arena_alloc(self->arena, 1, sizeof *usage);
    helio_row_usage_t use = {row->tenant, row->gpu_model, row->hour_ms, row->gpu_ms};
    helio_record_copy(&helio_row_usage_type, self->arena, &use, &usage->row);
    usage->next = self->usage;
    self->usage = usage;
}

static void keep_least(harness_t *self, const helio_row_least_t *row)
{
    least_t *least = helio_arena_alloc(self->arena, 1, sizeof *least);
    helio_record_copy(&helio_row_least_type, self->arena, row, &least->row);
    least->next = self->leasts;
    self->leasts = least;
}

static void keep_transfer(harness_t *self, const helio_row_transfer_t *row)
{
    least_t *entry = helio_arena_alloc(self->arena, 1, sizeof *entry);
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

static void keep_placement(harness_t *self, const helio_row_placement_t *row)
{
    task_t *task = task_get(self, row->key);
    assert_int_equal(row->epoch, task->epoch + 1);
    assert_true(row->decision_id > 0 && row->decision_id <= self->federation.last_decision_id);
    task->epoch = row->epoch;
    task->gpus = row->gpus;
    (void)helio_text_copy(row->gpu_model, task->gpu_model, sizeof task->gpu_model);
    assert_true(row->expected_ms > 0 && row->expected_ms <= row->expected_high_ms);
    if (self->quotas)
        check_quotas(self, row);
    assert_true((row->least_site.size > 0) == (row->epoch == 1) && (row->least_ms > 0) == (row->epoch == 1));
    if (row->epoch == 1)
        keep_least(self, &(helio_row_least_t){row->key, row->least_site, row->least_pool, row->least_ms});
    keep_transfer(self, &(helio_row_transfer_t){row->key, row->epoch, row->transfer_ms, row->transfer_micro_usd,
                                                row->transfer_j, row->transfer_carbon_mg});
}

static void keep_pool(harness_t *self, const helio_row_pool_t *row)
{
    place_t *place = place_get(self, row->site);
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
        helio_record_copy(&helio_job_spec_type, self->arena, &submit->jobs.items[i].spec,
                          &document->load.spec);
        put_document(self, document);
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

/*  Once open, always open. */
static void keep_gate(harness_t *self, const helio_row_gate_t *row)
{
    gate_t *gate;
    HASH_FIND(hh, self->gates, &row->job, sizeof row->job, gate);
    if (!gate) {
        gate = helio_arena_alloc(self->arena, 1, sizeof *gate);
        gate->job = row->job;
        HASH_ADD(hh, self->gates, job, sizeof gate->job, gate);
    }
    assert_true(row->detail.size <= 256);
    assert_true((row->opened_ms == 0) == (row->detail.size > 0));
    if (!gate->row.opened_ms)
        gate->row = *row;
}

static void keep_actual(harness_t *self, const helio_row_actual_t *row)
{
    actual_t *actual = self->actuals;
    while (actual && !(actual->row.signal == row->signal && actual->row.hour_ms == row->hour_ms &&
                       helio_text_equal(actual->row.site, row->site) &&
                       helio_text_equal(actual->row.pool, row->pool)))
        actual = actual->next;
    if (!actual) {
        actual = helio_arena_alloc(self->arena, 1, sizeof *actual);
        actual->next = self->actuals;
        self->actuals = actual;
    }
    assert_true(row->hour_ms <= self->wall_ms && row->hour_ms % 3600000 == 0);
    helio_record_copy(&helio_row_actual_type, self->arena, row, &actual->row);
}

static void keep_issue(harness_t *self, const helio_row_series_t *row)
{
    issue_t *issue = self->issues;
    while (issue && !(issue->row.signal == row->signal && helio_text_equal(issue->row.site, row->site) &&
                      helio_text_equal(issue->row.pool, row->pool) &&
                      helio_text_equal(issue->row.kind, row->kind)))
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
    const task_t *task = task_find(self, fx->order.key);
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

static void keep(harness_t *self, uint32_t kind, const void *record)
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
        place_get(self, ((const helio_row_site_t *)record)->site)->site = *(const helio_row_site_t *)record;
    else if (kind == HELIO_BROKER_FX_ROW_POOL)
        keep_pool(self, record);
    else if (kind == HELIO_BROKER_FX_ROW_JOB)
        keep_job(self, record);
    else if (kind == HELIO_BROKER_FX_ORDER)
        keep_order(self, record);
    else if (kind == HELIO_BROKER_FX_ROW_DEPENDENCY)
        keep_dependency(self, record);
    else if (kind == HELIO_BROKER_FX_ROW_GATE)
        keep_gate(self, record);
    else if (kind == HELIO_BROKER_FX_ROW_QUEUE)
        keep_queue(self, record);
    else if (kind == HELIO_BROKER_FX_ROW_QUEUE_RULE)
        keep_rule(self, record);
    else if (kind == HELIO_BROKER_FX_ROW_OVERFLOW)
        keep_group(self, record);
    else if (kind == HELIO_BROKER_FX_ROW_QUOTA)
        keep_quota(self, record);
    else if (kind == HELIO_BROKER_FX_ROW_DATA)
        keep_data(self, record);
    else if (kind == HELIO_BROKER_FX_ROW_LINK)
        keep_link(self, record);
    else if (kind == HELIO_BROKER_FX_ROW_LEDGER)
        keep_usage(self, record);
    else if (kind == HELIO_BROKER_FX_ROW_ACTUAL)
        keep_actual(self, record);
    else if (kind == HELIO_BROKER_FX_ROW_SERIES)
        keep_issue(self, record);
    else if (kind == HELIO_BROKER_FX_ROW_DECISION) {
        const helio_row_decision_t *row = record;
        assert_true(row->decision_id == self->federation.last_decision_id + 1);
        self->federation.last_decision_id = row->decision_id;
    }
}

/* ---- steps
 * --------------------------------------------------------------------------------------------------- */

static void assert_above(void *arg, const helio_broker_job_view_t *job)
{
    assert_true(helio_uuid_compare(*(const helio_uuid_t *)arg, job->key.job) <= 0);
}

/*  A batch may be sealed after any step. */
static void check_mark(const harness_t *self)
{
    helio_uuid_t mark = helio_broker_core_open_from(self->core);
    helio_broker_core_each(self->core, assert_above, &mark);
}

void harness_step(harness_t *self, uint32_t kind, const void *payload)
{
    static const helio_ev_nothing_t nothing = {0};
    helio_event_t event = {kind, self->now_ms, self->wall_ms, payload ? payload : &nothing};
    helio_broker_core_step(self->core, &event, self->effects);
    for (uint32_t i = 0; i < self->effects->count; i++) {
        const helio_effect_t *effect = &self->effects->items[i];
        assert_true(effect->kind < HELIO_BROKER_EFFECT_COUNT);
        assert_int_equal(effect->release, helio_broker_effects[effect->kind].release);
        const helio_record_type_t *type = helio_broker_effects[effect->kind].type;
        said_t said = {effect->kind, false, helio_arena_alloc(self->arena, 1, type->size)};
        helio_record_copy(type, self->arena, effect->payload, said.record);
        if (self->said_count == self->said_capacity) {
            self->said_capacity = self->said_capacity ? self->said_capacity * 2 : 256;
            self->said = helio_grow(self->said, self->said_capacity, sizeof *self->said);
        }
        self->said[self->said_count++] = said;
        keep(self, said.kind, said.record);
    }
    if (kind >= HELIO_BROKER_EV_LOADED)
        check_mark(self);
}

static harness_t *harness_new(const helio_broker_options_t *options)
{
    harness_t *self = helio_new(1, sizeof *self);
    self->options = options ? *options : helio_broker_options_default();
    self->core = helio_broker_core_new(self->options);
    self->effects = helio_effects_new();
    self->arena = helio_arena_new();
    self->documents_end = &self->documents;
    self->runs_end = &self->runs;
    self->dependencies_end = &self->dependencies;
    self->now_ms = self->began_ms = 1000000;
    assert_int_equal(helio_rfc3339_parse(helio_text_of(origin), &self->wall_ms), HELIO_OK);
    self->federation = (helio_row_federation_t){.incarnation = 3, .broker_epoch = 7, .seed = 42};
    return self;
}

static void load_static(harness_t *self, const harness_t *from)
{
    harness_step(self, HELIO_BROKER_EV_LOAD_FEDERATION, &self->federation);
    const helio_row_tenant_t tenants[] = {{HELIO_TEXT("acme"), HELIO_TEXT("north")},
                                          {.tenant = HELIO_TEXT("other")}};
    for (size_t i = 0; i < sizeof tenants / sizeof tenants[0]; i++)
        harness_step(self, HELIO_BROKER_EV_LOAD_TENANT, &tenants[i]);
    const helio_row_queue_t queues[] = {{HELIO_TEXT("express"), 1000, HELIO_TIER_CRITICAL, 3600000, false},
                                        {HELIO_TEXT("standard"), 500, HELIO_TIER_STANDARD, 3600000, false},
                                        {HELIO_TEXT("batch"), 100, HELIO_TIER_BEST_EFFORT, 3600000, false}};
    for (size_t i = 0; !from && i < sizeof queues / sizeof queues[0]; i++) {
        keep_queue(self, &queues[i]);
        harness_step(self, HELIO_BROKER_EV_LOAD_QUEUE, &queues[i]);
    }
    if (from)
        load_queues(self, from);
}

harness_t *harness_begin(const helio_broker_options_t *options)
{
    harness_t *self = harness_new(options);
    load_static(self, NULL);
    harness_step(self, HELIO_BROKER_EV_LOADED, NULL);
    harness_clear(self);
    return self;
}

static bool is_over(const harness_t *self, const helio_row_job_t *row)
{
    const task_t *task = task_find(self, (helio_job_key_t){row->job, HELIO_NO_TASK});
    if (!row->tasks.count)
        return task && helio_job_state_is_terminal(task->state);
    for (uint32_t i = 0; i < row->tasks.count; i++) {
        task = task_find(self, (helio_job_key_t){row->job, (int32_t)row->tasks.items[i]});
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
        put_document(self, copy);
        const helio_row_job_t *row = &copy->load.row;
        if (!is_over(from, row)) {
            harness_step(self, HELIO_BROKER_EV_LOAD_JOB, &copy->load);
        } else if (row->idempotency_key.size) {
            helio_row_key_t key = {row->tenant, row->idempotency_key, row->spec_hash, row->job};
            harness_step(self, HELIO_BROKER_EV_LOAD_KEY, &key);
        }
    }
    for (const task_t *task = from->tasks; task; task = task->hh.next) {
        if (!task->written)
            continue;
        task_t *copy = task_get(self, task->key);
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

/*  As the database would say. */
static uint32_t found(const harness_t *self, helio_job_key_t on)
{
    for (const document_t *document = self->documents; document; document = document->next) {
        const helio_row_job_t *row = &document->load.row;
        if (!helio_uuid_equal(row->job, on.job))
            continue;
        bool whole = on.task == HELIO_NO_TASK && row->tasks.count, ok = true;
        for (uint32_t i = 0; i < (whole ? row->tasks.count : 1); i++) {
            const task_t *task =
                task_find(self, whole ? (helio_job_key_t){on.job, (int32_t)row->tasks.items[i]} : on);
            if (!task || !helio_job_state_is_terminal(task->state))
                return HELIO_FOUND_OPEN;
            ok = ok && task->state == HELIO_JOB_SUCCEEDED;
        }
        return ok ? HELIO_FOUND_OK : HELIO_FOUND_NOT_OK;
    }
    return HELIO_FOUND_UNKNOWN;
}

static void load_waiting(harness_t *self, const harness_t *from)
{
    for (const gate_t *gate = from->gates; gate; gate = gate->hh.next)
        keep_gate(self, &gate->row);
    for (const dependency_t *dependency = from->dependencies; dependency; dependency = dependency->next) {
        const helio_row_dependency_t *row = &dependency->row;
        keep_dependency(self, row);
        helio_row_waiting_t waiting = {row->job, row->after, row->on, found(from, row->on)};
        for (const document_t *d = from->documents; d; d = d->next)
            if (helio_uuid_equal(d->load.row.job, row->job) && !is_over(from, &d->load.row))
                harness_step(self, HELIO_BROKER_EV_LOAD_WAITING, &waiting);
    }
}

static void load_prices(harness_t *self, const harness_t *from)
{
    for (const actual_t *actual = from->actuals; actual; actual = actual->next) {
        keep_actual(self, &actual->row);
        harness_step(self, HELIO_BROKER_EV_LOAD_ACTUAL, &actual->row);
    }
    for (const issue_t *issue = from->issues; issue; issue = issue->next) {
        keep_issue(self, &issue->row);
        harness_step(self, HELIO_BROKER_EV_LOAD_SERIES, &issue->row);
    }
    for (const least_t *least = from->leasts; least; least = least->next) {
        keep_least(self, &least->row);
        if (task_find(self, least->row.key) && !helio_job_state_is_terminal(task_find(self, least->row.key)->state))
            harness_step(self, HELIO_BROKER_EV_LOAD_LEAST, &least->row);
    }
    for (const least_t *entry = from->transfers; entry; entry = entry->next) {
        const task_t *task = task_find(self, entry->transfer.key);
        keep_transfer(self, &entry->transfer);
        if (task && task->epoch == entry->transfer.epoch && !helio_job_state_is_terminal(task->state))
            harness_step(self, HELIO_BROKER_EV_LOAD_TRANSFER, &entry->transfer);
    }
}

static void load_runs(harness_t *self, const harness_t *from)
{
    for (const run_t *run = from->runs; run; run = run->next) {
        keep_run(self, run->key, run->run_ms, run->gpu_model);
        const helio_row_job_t *job = document_of(from, run->key.job);
        const task_t *task = task_find(from, run->key);
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

/*  What the store remembers of leases: the longest that may still run. */
static uint64_t leases_left_ms(const harness_t *from)
{
    uint64_t passed_ms = (uint64_t)(from->now_ms - from->began_ms), former = from->federation.leases_left_ms;
    former = former > passed_ms ? former - passed_ms : 0;
    return former > from->options.lease_ms ? former : from->options.lease_ms;
}

harness_t *harness_rebuild_with(const harness_t *from, const helio_broker_options_t *options)
{
    harness_t *self = harness_new(options);
    self->now_ms = from->now_ms;
    self->wall_ms = from->wall_ms;
    self->report_seq = from->report_seq;
    self->federation = from->federation;
    self->federation.broker_epoch++;
    self->federation.seed = 43;
    self->federation.leases_left_ms = leases_left_ms(from);
    self->began_ms = self->now_ms;
    load_static(self, from);
    for (const quota_t *quota = from->quotas; quota; quota = quota->next) {
        keep_quota(self, &quota->row);
        harness_step(self, HELIO_BROKER_EV_LOAD_QUOTA, &quota->row);
    }
    for (const dataset_t *data = from->datasets; data; data = data->next) {
        keep_data(self, &data->row);
        harness_step(self, HELIO_BROKER_EV_LOAD_DATA, &data->row);
    }
    for (const link_t *link = from->links; link; link = link->next) {
        keep_link(self, &link->row);
        harness_step(self, HELIO_BROKER_EV_LOAD_LINK, &link->row);
    }
    for (const usage_t *usage = from->usage; usage; usage = usage->next) {
        helio_row_ledger_t row = {.tenant = usage->row.tenant,
                                  .gpu_model = usage->row.gpu_model,
                                  .hour_ms = usage->row.hour_ms,
                                  .gpu_ms = usage->row.gpu_ms};
        keep_usage(self, &row);
        if (usage->row.tenant.size)
            harness_step(self, HELIO_BROKER_EV_LOAD_USAGE, &usage->row);
    }
    for (const place_t *place = from->places; place; place = place->next) {
        place_t *copy = place_get(self, place->site.site);
        helio_record_copy(&helio_row_site_type, self->arena, &place->site, &copy->site);
        harness_step(self, HELIO_BROKER_EV_LOAD_SITE, &copy->site);
        for (uint32_t i = 0; i < place->pool_count; i++) {
            helio_record_copy(&helio_row_pool_type, self->arena, &place->pools[i], &copy->pools[i]);
            harness_step(self, HELIO_BROKER_EV_LOAD_POOL, &copy->pools[copy->pool_count++]);
        }
    }
    load_jobs(self, from);
    load_waiting(self, from);
    load_prices(self, from);
    load_runs(self, from);
    harness_step(self, HELIO_BROKER_EV_LOADED, NULL);
    harness_clear(self);
    return self;
}

void harness_end(harness_t **self_p)
{
    harness_t *self = *self_p;
    task_t *task, *next;
    HASH_ITER(hh, self->tasks, task, next)
    {
        HASH_DEL(self->tasks, task);
        free(task);
    }
    HASH_CLEAR(hh, self->gates);
    HASH_CLEAR(hh, self->documents_by_job);
    helio_broker_core_destroy(&self->core);
    helio_effects_destroy(&self->effects);
    helio_arena_destroy(&self->arena);
    free(self->said);
    free(self);
    *self_p = NULL;
}

helio_arena_t *harness_arena(harness_t *self)
{
    return self->arena;
}

int64_t harness_wall_ms(const harness_t *self)
{
    return self->wall_ms;
}

void harness_advance(harness_t *self, int64_t ms)
{
    self->now_ms += ms;
    self->wall_ms += ms;
}

void harness_set_wall(harness_t *self, int64_t ms)
{
    self->wall_ms += ms;
}

void harness_newest(harness_t *self, helio_uuid_t id)
{
    self->federation.newest_job = id;
}

helio_uuid_t harness_mark(const harness_t *self)
{
    return helio_broker_core_open_from(self->core);
}

void harness_tick(harness_t *self)
{
    harness_step(self, HELIO_BROKER_EV_TICK, NULL);
}

void harness_wait(harness_t *self, int64_t ms)
{
    int64_t until = self->now_ms + ms;
    harness_tick(self);
    while (self->effects->wake_ms < until) {
        harness_advance(self, self->effects->wake_ms - self->now_ms);
        harness_tick(self);
    }
    harness_advance(self, until - self->now_ms);
    harness_tick(self);
}

/* ---- what the core said -----------------------------------------------------------------------------------
 */

const void *harness_take(harness_t *self, uint32_t effect)
{
    for (uint32_t i = 0; i < self->said_count; i++)
        if (self->said[i].kind == effect && !self->said[i].taken) {
            self->said[i].taken = true;
            return self->said[i].record;
        }
    return NULL;
}

uint32_t harness_count(const harness_t *self, uint32_t effect)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < self->said_count; i++)
        count += self->said[i].kind == effect && !self->said[i].taken;
    return count;
}

void harness_clear(harness_t *self)
{
    self->said_count = 0;
}

helio_broker_figures_t harness_figures(const harness_t *self)
{
    helio_broker_figures_t figures;
    helio_broker_core_figures(self->core, &figures);
    return figures;
}

uint32_t harness_state(const harness_t *self, helio_job_key_t key)
{
    const task_t *task = task_find(self, key);
    return task ? task->state : HELIO_JOB_QUEUED;
}

const helio_row_state_t *harness_row(const harness_t *self, helio_job_key_t key)
{
    const task_t *task = task_find(self, key);
    return task && task->written ? &task->row : NULL;
}

typedef struct search {
    helio_job_key_t key;
    bool found;
} search_t;

static void look(void *arg, const helio_broker_job_view_t *job)
{
    search_t *search = arg;
    search->found = search->found || helio_job_key_equal(search->key, job->key);
}

bool harness_is_open(const harness_t *self, helio_job_key_t key)
{
    search_t search = {key, false};
    helio_broker_core_each(self->core, look, &search);
    return search.found;
}

/* ---- callers
 * ------------------------------------------------------------------------------------------------ */

helio_job_spec_t harness_spec(harness_t *self, const char *model, uint32_t gpus)
{
    helio_job_spec_t spec = {.queue = HELIO_TEXT("standard"), .nodes = 1, .sharing = HELIO_SHARING_NONE};
    spec.gpus.items = helio_arena_alloc(self->arena, 8, sizeof *spec.gpus.items);
    if (gpus)
        harness_or(self, &spec, model, gpus);
    return spec;
}

void harness_or(harness_t *self, helio_job_spec_t *spec, const char *model, uint32_t gpus)
{
    assert_true(spec->gpus.count < 8);
    spec->gpus.items[spec->gpus.count++] =
        (helio_gpu_ask_t){.model = helio_arena_text(self->arena, helio_text_of(model)), .count = gpus};
}

void harness_words(harness_t *self, void *ret_list, const char *const *words)
{
    helio_list_t *list = ret_list;
    uint32_t count = 0;
    while (words[count])
        count++;
    helio_word_t *items = helio_arena_alloc(self->arena, count, sizeof *items);
    for (uint32_t i = 0; i < count; i++)
        items[i].text = helio_arena_text(self->arena, helio_text_of(words[i]));
    list->items = items;
    list->count = count;
}

helio_submission_t harness_submission(harness_t *self, const helio_job_spec_t *spec, const char *key,
                                      const char *document)
{
    helio_submission_t job = {.spec = *spec};
    job.idempotency_key = helio_arena_text(self->arena, helio_text_of(key));
    job.source = document[0]
                     ? helio_arena_text(self->arena, helio_text_of(document))
                     : helio_arena_printf(self->arena, "document %llu", (unsigned long long)++self->calls);
    uint64_t hash[4];
    hash[0] = helio_hash(HELIO_HASH_SEED, job.source.data, job.source.size);
    for (int i = 1; i < 4; i++)
        hash[i] = helio_hash(hash[i - 1], &i, sizeof i);
    job.spec_hash = helio_arena_text(self->arena, (helio_text_t){(const char *)hash, sizeof hash});
    return job;
}

static helio_list_t words_of(harness_t *self, const harness_after_t *after, uint32_t count, helio_after_t wanted,
                             helio_dependency_t *depends, uint32_t *at)
{
    helio_list_t list = {helio_arena_alloc(self->arena, count, sizeof(helio_word_t)), 0};
    for (uint32_t i = 0; i < count; i++) {
        if (after[i].after != wanted)
            continue;
        char id[HELIO_KEY_SIZE];
        helio_job_key_text(after[i].on, id);
        helio_text_t word = helio_arena_text(self->arena, helio_text_of(id));
        ((helio_word_t *)list.items)[list.count++].text = word;
        depends[(*at)++] = (helio_dependency_t){word, wanted, found(self, after[i].on), after[i].on};
    }
    return list;
}

helio_submission_t harness_dependent(harness_t *self, const helio_job_spec_t *spec, const harness_after_t *after,
                                     uint32_t count)
{
    helio_submission_t job = harness_submission(self, spec, "", "");
    job.depends.items = helio_arena_alloc(self->arena, count, sizeof *job.depends.items);
    helio_list_t lists[HELIO_AFTER_COUNT];
    for (helio_after_t wanted = HELIO_AFTER_OK; wanted < HELIO_AFTER_COUNT; wanted++)
        lists[wanted] = words_of(self, after, count, wanted, job.depends.items, &job.depends.count);
    memcpy(&job.spec.after_ok, &lists[HELIO_AFTER_OK], sizeof lists[0]);
    memcpy(&job.spec.after_any, &lists[HELIO_AFTER_ANY], sizeof lists[0]);
    memcpy(&job.spec.after_not_ok, &lists[HELIO_AFTER_NOT_OK], sizeof lists[0]);
    return job;
}

const helio_row_gate_t *harness_gate(const harness_t *self, helio_job_key_t key)
{
    gate_t *gate;
    HASH_FIND(hh, self->gates, &key.job, sizeof key.job, gate);
    return gate ? &gate->row : NULL;
}

static const helio_fx_answer_t *answer_of(harness_t *self, uint64_t call)
{
    const helio_fx_answer_t *answer = harness_take(self, HELIO_BROKER_FX_ANSWER);
    assert_non_null(answer);
    assert_true(answer->call == call);
    assert_true((answer->rc == HELIO_OK) || answer->text.size > 0);
    return answer;
}

const helio_fx_answer_t *harness_submit_all(harness_t *self, const char *tenant, helio_submission_t *jobs,
                                            uint32_t count)
{
    helio_ev_submit_t event = {.call = ++self->calls,
                               .tenant = helio_text_of(tenant),
                               .user = HELIO_TEXT("ada"),
                               .jobs = {jobs, count}};
    self->submitting = &event;
    harness_step(self, HELIO_BROKER_EV_SUBMIT, &event);
    self->submitting = NULL;
    return answer_of(self, event.call);
}

const helio_fx_answer_t *harness_submit(harness_t *self, const char *tenant, const helio_job_spec_t *spec)
{
    helio_submission_t job = harness_submission(self, spec, "", "");
    return harness_submit_all(self, tenant, &job, 1);
}

helio_job_key_t harness_job(harness_t *self, const helio_job_spec_t *spec)
{
    const helio_fx_answer_t *answer = harness_submit(self, "acme", spec);
    assert_int_equal(answer->rc, HELIO_OK);
    assert_int_equal(answer->jobs.count, 1);
    return (helio_job_key_t){answer->jobs.items[0].job, HELIO_NO_TASK};
}

helio_job_key_t harness_job_after(harness_t *self, const helio_job_spec_t *spec, helio_after_t after, helio_job_key_t on)
{
    helio_submission_t job = harness_dependent(self, spec, &(harness_after_t){after, on}, 1);
    const helio_fx_answer_t *answer = harness_submit_all(self, "acme", &job, 1);
    assert_int_equal(answer->rc, HELIO_OK);
    return (helio_job_key_t){answer->jobs.items[0].job, HELIO_NO_TASK};
}

helio_job_key_t harness_task(helio_job_key_t array, uint32_t task)
{
    return (helio_job_key_t){array.job, (int32_t)task};
}

const helio_fx_answer_t *harness_command(harness_t *self, uint32_t kind, const char *tenant,
                                         helio_role_t role, helio_job_key_t key)
{
    helio_ev_command_t event = {++self->calls, helio_text_of(tenant), HELIO_TEXT("ada"), role, key};
    harness_step(self, kind, &event);
    return answer_of(self, event.call);
}

const helio_fx_answer_t *harness_site_command(harness_t *self, uint32_t kind, helio_role_t role,
                                              const char *site)
{
    helio_ev_site_command_t event = {++self->calls, HELIO_TEXT("ada"), role, helio_text_of(site),
                                     HELIO_TEXT("test")};
    harness_step(self, kind, &event);
    return answer_of(self, event.call);
}

const helio_fx_answer_t *harness_data(harness_t *self, const char *prefix, const char *const *sites)
{
    helio_ev_data_t event = {.call = ++self->calls,
                             .user = HELIO_TEXT("ada"),
                             .role = HELIO_ROLE_OPERATOR,
                             .prefix = helio_text_of(prefix)};
    harness_words(self, &event.sites, sites);
    harness_step(self, HELIO_BROKER_EV_DATA, &event);
    return answer_of(self, event.call);
}

const helio_fx_answer_t *harness_link(harness_t *self, const char *from, const char *to, uint64_t mbps,
                                      int64_t egress_micro_usd_per_gb)
{
    helio_ev_link_t event = {.call = ++self->calls,
                             .user = HELIO_TEXT("ada"),
                             .role = HELIO_ROLE_OPERATOR,
                             .from = helio_text_of(from),
                             .to = helio_text_of(to),
                             .removed = !mbps,
                             .mbps = mbps,
                             .egress_micro_usd_per_gb = egress_micro_usd_per_gb};
    harness_step(self, HELIO_BROKER_EV_LINK, &event);
    return answer_of(self, event.call);
}

void harness_reads(harness_t *self, helio_job_spec_t *spec, const char *uri, uint64_t bytes)
{
    helio_data_ask_t *items = helio_arena_alloc(self->arena, spec->data.count + 1, sizeof *items);
    for (uint32_t i = 0; i < spec->data.count; i++)
        items[i] = spec->data.items[i];
    items[spec->data.count] =
        (helio_data_ask_t){.uri = helio_arena_text(self->arena, helio_text_of(uri)), .size_bytes = bytes};
    spec->data.items = items;
    spec->data.count++;
}

const helio_fx_answer_t *harness_quota(harness_t *self, const char *tenant, const char *queue, int64_t guaranteed,
                                       int64_t burst, int64_t weight_milli)
{
    helio_ev_quota_t event = {
        .call = ++self->calls,
        .user = HELIO_TEXT("ada"),
        .role = HELIO_ROLE_OPERATOR,
        .tenant = helio_text_of(tenant),
        .queue = helio_text_of(queue),
        .guaranteed_given = guaranteed >= 0,
        .guaranteed_gpus = guaranteed >= 0 ? (uint32_t)guaranteed : 0,
        .burst_given = burst >= 0,
        .burst_gpus = burst >= 0 ? (uint32_t)burst : 0,
        .weight_given = weight_milli >= 0,
        .weight_milli = weight_milli >= 0 ? (uint32_t)weight_milli : 0,
    };
    harness_step(self, HELIO_BROKER_EV_QUOTA, &event);
    return answer_of(self, event.call);
}

const helio_fx_answer_t *harness_queue(harness_t *self, const char *queue, int64_t priority, int64_t tier)
{
    helio_ev_queue_t event = {
        .call = ++self->calls,
        .user = HELIO_TEXT("ada"),
        .role = HELIO_ROLE_OPERATOR,
        .queue = helio_text_of(queue),
        .priority_given = priority >= 0,
        .priority = priority >= 0 ? (uint32_t)priority : 0,
        .tier_given = tier >= 0,
        .tier = tier >= 0 ? (uint32_t)tier : 0,
        .remove = priority < 0 && tier < 0,
    };
    harness_step(self, HELIO_BROKER_EV_QUEUE, &event);
    return answer_of(self, event.call);
}

const helio_fx_answer_t *harness_rule(harness_t *self, const char *queue, const char *region, const char *schedule,
                                      uint64_t for_ms, int64_t priority)
{
    helio_ev_queue_rule_t event = {
        .call = ++self->calls,
        .user = HELIO_TEXT("ada"),
        .role = HELIO_ROLE_OPERATOR,
        .queue = helio_text_of(queue),
        .region = helio_text_of(region),
        .schedule = helio_text_of(schedule),
        .for_ms = for_ms,
        .priority = priority >= 0 ? (uint32_t)priority : 0,
        .remove = priority < 0,
    };
    harness_step(self, HELIO_BROKER_EV_QUEUE_RULE, &event);
    return answer_of(self, event.call);
}

const helio_fx_answer_t *harness_overflow(harness_t *self, const char *name, const char *queue, const char *tenant,
                                          const char *steps)
{
    helio_ev_overflow_t event = {
        .call = ++self->calls,
        .user = HELIO_TEXT("ada"),
        .role = HELIO_ROLE_OPERATOR,
        .name = helio_text_of(name),
        .queue = helio_text_of(queue),
        .tenant = helio_text_of(tenant),
        .steps = helio_text_of(steps),
        .remove = !steps,
    };
    harness_step(self, HELIO_BROKER_EV_OVERFLOW, &event);
    return answer_of(self, event.call);
}

/* ---- sites
 * --------------------------------------------------------------------------------------------------- */

helio_site_profile_t *harness_site(harness_t *self, const char *name)
{
    helio_site_profile_t *site = helio_arena_alloc(self->arena, 1, sizeof *site);
    *site = (helio_site_profile_t){.name = helio_arena_text(self->arena, helio_text_of(name)),
                                   .backend = HELIO_TEXT("local"),
                                   .region = HELIO_TEXT("EU-XX"),
                                   .pue = 1,
                                   .carbon_g_per_kwh = 100,
                                   .containers = true,
                                   .leases = true};
    site->pools.items = helio_arena_alloc(self->arena, POOLS_MAX, sizeof *site->pools.items);
    return site;
}

helio_pool_t *harness_pool(harness_t *self, helio_site_profile_t *site, const char *name, const char *gpu,
                           uint32_t nodes, uint32_t gpus, double price_usd_per_gpu_h)
{
    assert_true(site->pools.count < POOLS_MAX);
    helio_pool_t *pool = &site->pools.items[site->pools.count++];
    *pool = (helio_pool_t){.name = helio_arena_text(self->arena, helio_text_of(name)),
                           .gpu = helio_arena_text(self->arena, helio_text_of(gpu)),
                           .gpu_memory_bytes = UINT64_C(80) << 30,
                           .nodes = nodes,
                           .max_nodes = nodes,
                           .gpus_per_node = gpus,
                           .cpus_per_node = 64,
                           .memory_bytes_per_node = UINT64_C(512) << 30,
                           .price_usd_per_gpu_h = price_usd_per_gpu_h,
                           .base_w = 400};
    return pool;
}

void harness_hello(harness_t *self, uint64_t peer, const helio_site_profile_t *site)
{
    place_t *place = place_get(self, site->name);
    place->peer = peer;
    place->dispatch_seq = 0;
    helio_ev_site_hello_t event = {
        .site = site->name, .peer = peer, .agent_version = HELIO_TEXT("0.1.0"), .profile = *site};
    harness_step(self, HELIO_BROKER_EV_SITE_HELLO, &event);
}

void harness_inventory(harness_t *self, uint64_t peer, helio_holding_t *holdings, uint32_t count)
{
    helio_ev_site_inventory_t event = {.peer = peer, .holdings = {holdings, count}, .last = true};
    harness_step(self, HELIO_BROKER_EV_SITE_INVENTORY, &event);
}

void harness_summary(harness_t *self, uint64_t peer, const helio_site_profile_t *site, uint64_t dispatch_seen,
                     uint32_t taken)
{
    helio_pool_capacity_t *pools = helio_arena_alloc(self->arena, site->pools.count, sizeof *pools);
    for (uint32_t i = 0; i < site->pools.count; i++) {
        const helio_pool_t *pool = &site->pools.items[i];
        uint32_t full = i == 0 ? taken : 0, top = pool->gpus_per_node;
        assert_true(full <= pool->nodes);
        pools[i] =
            (helio_pool_capacity_t){.pool = pool->name,
                                    .nodes_up = pool->nodes,
                                    .gpus_total = pool->nodes * top,
                                    .gpus_allocated = full * top,
                                    .cpus_free = pool->cpus_per_node * (pool->nodes - full),
                                    .memory_free_bytes = pool->memory_bytes_per_node * (pool->nodes - full)};
        pools[i].free_nodes.items = helio_arena_alloc(self->arena, top + 1, sizeof(uint32_t));
        pools[i].free_nodes.count = top + 1;
        pools[i].free_nodes.items[0] = full;
        pools[i].free_nodes.items[top] += pool->nodes - full;
    }
    helio_ev_site_summary_t event = {.peer = peer,
                                     .summary = {.seq = ++self->summary_seq,
                                                 .wall_ms = self->wall_ms,
                                                 .dispatch_seen = dispatch_seen,
                                                 .pools = {pools, site->pools.count},
                                                 .power_w = -1}};
    harness_step(self, HELIO_BROKER_EV_SITE_SUMMARY, &event);
}

void harness_series(harness_t *self, uint64_t peer, helio_series_t *series, uint32_t count)
{
    helio_ev_site_summary_t event = {.peer = peer,
                                     .summary = {.seq = ++self->summary_seq,
                                                 .wall_ms = self->wall_ms,
                                                 .series = {series, count},
                                                 .power_w = -1}};
    harness_step(self, HELIO_BROKER_EV_SITE_SUMMARY, &event);
}

void harness_join(harness_t *self, uint64_t peer, const helio_site_profile_t *site)
{
    harness_hello(self, peer, site);
    harness_inventory(self, peer, NULL, 0);
    harness_summary(self, peer, site, 0, 0);
}

void harness_renew(harness_t *self, uint64_t peer)
{
    helio_ev_site_renew_t event = {peer, 17};
    harness_step(self, HELIO_BROKER_EV_SITE_RENEW, &event);
}

void harness_gone(harness_t *self, uint64_t peer)
{
    helio_ev_site_gone_t event = {peer, HELIO_TEXT("the connection ended")};
    harness_step(self, HELIO_BROKER_EV_SITE_GONE, &event);
}

helio_report_t harness_report_of(const harness_t *self, helio_job_key_t key, uint32_t epoch, uint32_t kind)
{
    helio_report_t report = {.key = key, .epoch = epoch, .kind = kind, .wall_ms = self->wall_ms};
    bool ends = kind == HELIO_REPORT_KIND_ENDED || kind == HELIO_REPORT_KIND_STOPPED ||
                kind == HELIO_REPORT_KIND_LOST;
    if (kind == HELIO_REPORT_KIND_RUNNING)
        report.started_wall_ms = self->wall_ms;
    if (ends) {
        report.started_wall_ms = self->wall_ms - 60000;
        report.ended_wall_ms = self->wall_ms;
        report.run_ms = report.gpu_ms = 60000;
    }
    if (kind == HELIO_REPORT_KIND_LOST || kind == HELIO_REPORT_KIND_REFUSED)
        report.reason = HELIO_TEXT("NodeFailure");
    return report;
}

void harness_report(harness_t *self, uint64_t peer, const helio_report_t *report)
{
    helio_report_t numbered = *report;
    if (!numbered.seq)
        numbered.seq = ++self->report_seq;
    helio_ev_site_reports_t event = {.peer = peer, .reports = {&numbered, 1}};
    harness_step(self, HELIO_BROKER_EV_SITE_REPORTS, &event);
}

void harness_say(harness_t *self, uint64_t peer, helio_job_key_t key, uint32_t epoch, uint32_t kind)
{
    helio_report_t report = harness_report_of(self, key, epoch, kind);
    harness_report(self, peer, &report);
}

void harness_run_up_to(harness_t *self, uint64_t peer, helio_job_key_t key, uint32_t epoch, uint32_t state)
{
    static const struct {
        uint32_t state, kind;
    } ladder[] = {{HELIO_JOB_ACCEPTED, HELIO_REPORT_KIND_ACCEPTED},
                  {HELIO_JOB_STARTING, HELIO_REPORT_KIND_STARTING},
                  {HELIO_JOB_RUNNING, HELIO_REPORT_KIND_RUNNING},
                  {HELIO_JOB_SUSPENDED, HELIO_REPORT_KIND_SUSPENDED}};
    for (size_t i = 0; i < sizeof ladder / sizeof ladder[0] && ladder[i].state <= state; i++)
        harness_say(self, peer, key, epoch, ladder[i].kind);
    assert_int_equal(harness_state(self, key), state);
}
