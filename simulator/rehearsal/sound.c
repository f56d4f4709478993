/*  sound.c -- ranges of values, and what parts have to refer to. */
#include "simulator/rehearsal/sound.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*  ---- values ---- */

/*  The first row that fits counts. record: NULL = any; field: "*_ms" = any that ends so. What the broker accepts is in
 *  range: of sites and pools, what broker/core/sites/sanitize.c lets through; of documents and edits, what
 *  federation/spec reads; and sums of what sites reported. Other amounts are at most 2^53. No other time of day is later
 *  than the year 2100, and no duration longer. */
#define SUM_MAX ((double)HELIO_ROW_SUM_MAX)
#define BIGINT_MAX 0x1p63            /* the most that a size, a price or a mark can be */
#define TIME_LEAST -62168000000000.0 /* a time that somebody wrote: of the year 0000, in any zone */
#define TIME_MOST 253403000000000.0  /* of the year 9999 */
static const struct range {
    const char *record, *field;
    double least, most;
} ranges[] = {
    {"helio_row_site", "latitude", -90, 90},
    {"helio_row_site", "longitude", -180, 180},
    {"helio_row_site", "pue", 0, 10},
    {"helio_row_site", "carbon_g_per_kwh", -1, 1e5},
    {"helio_row_site", "electricity_usd_per_kwh", -100, 100},
    {"helio_row_site", "memory_mark", 0, BIGINT_MAX},
    {"helio_row_pool", "gpu_memory_bytes", 0, BIGINT_MAX},
    {"helio_row_pool", "memory_bytes_per_node", 0, BIGINT_MAX},
    {"helio_row_pool", "price_usd_per_gpu_h", 0, 10000},
    {"helio_row_pool", "*_w", 0, 100000},
    {"helio_row_pool", "*nodes", 0, 100000},
    {"helio_row_pool", "cpus_per_node", 0, 4096},
    {"helio_row_pool", "interconnect", 0, HELIO_INTERCONNECT_COUNT - 1},
    {"helio_row_pool", "sharing", 0, HELIO_SHARING_COUNT - 1},
    {"helio_row_job", "nodes", 1, HELIO_JOB_NODES_MAX},
    {"helio_row_job", "gpus", 0, HELIO_JOB_NODES_MAX *HELIO_JOB_GPUS_PER_NODE_MAX},
    {"helio_row_job", "tier", 0, HELIO_TIER_COUNT - 1},
    {"helio_row_job", "time_limit_ms", 1, HELIO_JOB_TIME_MAX_MS},
    {"helio_job_spec", "nodes", 1, HELIO_JOB_NODES_MAX},
    {"helio_job_spec", "carbon_price_micro_usd_per_t", 0, BIGINT_MAX},
    {"helio_job_spec", "wait_price_micro_usd_per_gpu_h", 0, BIGINT_MAX},
    {"helio_row_state", "intent", 0, HELIO_INTENT_PREEMPT},
    {"helio_row_state", "gpu_ms", 0, SUM_MAX},
    {"helio_row_state", "cost_micro_usd", 0, SUM_MAX}, /* below zero it is stored as zero */
    {"helio_row_state", "energy_j", 0, SUM_MAX},
    {"helio_row_state", "carbon_mg", 0, SUM_MAX},
    {"helio_row_state", "units_done", 0, SUM_MAX},
    {"helio_row_spent", "gpu_ms", 0, SUM_MAX},
    {"helio_row_spent", "cost_micro_usd", -SUM_MAX, SUM_MAX},
    {"helio_row_spent", "carbon_mg", 0, SUM_MAX},
    {"helio_row_usage", "gpu_ms", 0, SUM_MAX},
    {"helio_row_expected_use", "transfer_ms", 0, 0x1p53},
    {"helio_row_expected_use", "cost_micro_usd", -SUM_MAX, SUM_MAX},
    {"helio_row_expected_use", "carbon_mg", 0, SUM_MAX},
    {"helio_row_quota", "weight_milli", 1, HELIO_QUOTA_WEIGHT_MAX},
    {"helio_row_edit", "priority", -HELIO_EDIT_PRIORITY_MAX, HELIO_EDIT_PRIORITY_MAX},
    {"helio_row_edit", "time_limit_ms", 0, HELIO_JOB_TIME_MAX_MS},
    {"helio_row_series", "step_s", 1, INT32_MAX},
    {"helio_row_run", "kind", 0, UINT32_MAX},
    {"helio_row_run", "run_ms", 0, 31622400000.0},
    {"helio_snapshot_taken", "wall_ms", 1e12, 4102444800000.0}, /* from 2001 on */
    {"helio_snapshot_past", "*_ms", 1e12, 4102444800000.0},
    {"helio_snapshot_options", "lease_ms", 0, 86400000},
    {"helio_snapshot_options", "renew_ms", 0, 86400000},
    {"helio_snapshot_options", "silent_after_ms", 0, 86400000},
    {NULL, "signal", 0, HELIO_SIGNAL_COUNT - 1},
    {NULL, "gpus_per_node", 0, HELIO_JOB_GPUS_PER_NODE_MAX},
    {NULL, "task", HELIO_NO_TASK, INT32_MAX},
    {NULL, "exit_code", INT32_MIN, INT32_MAX},
    {NULL, "deadline_wall_ms", TIME_LEAST, TIME_MOST},
    {NULL, "not_before_wall_ms", TIME_LEAST, TIME_MOST},
    {NULL, "until_ms", TIME_LEAST, TIME_MOST},
    {NULL, "memory_bytes", 0, BIGINT_MAX},
    {NULL, "size_bytes", 0, BIGINT_MAX},
    {NULL, "max_cost_micro_usd", 0, BIGINT_MAX},
    {NULL, "max_carbon_mg_per_kwh", 0, BIGINT_MAX},
    {NULL, "*_ms", 0, 4102444800000.0},
    {NULL, "*_w", -1, 2e9},
};

/*  Any value of these is one: they are drawn, or hashed, or have a meaning of their own. */
static const char *const free_fields[] = {"seed", "class_id", "hourly_price_id", "number", "memory_since_ms"};

typedef struct place {
    uint32_t kind;
    const void *part; /* its record */
    const helio_record_type_t *part_type;
} place_t;

static bool is_like(const char *name, const char *pattern)
{
    size_t size = strlen(name), fixed = strlen(pattern) - 1;
    if (pattern[0] == '*')
        return size >= fixed && strcmp(name + size - fixed, pattern + 1) == 0;
    return strcmp(name, pattern) == 0;
}

static bool is_free(const char *field)
{
    for (size_t i = 0; i < sizeof free_fields / sizeof free_fields[0]; i++)
        if (strcmp(field, free_fields[i]) == 0)
            return true;
    return false;
}

static struct range range_of(const char *record, const helio_field_t *field)
{
    static const struct range others[] = {[HELIO_KIND_I32] = {NULL, NULL, INT32_MIN, INT32_MAX},
                                          [HELIO_KIND_U32] = {NULL, NULL, 0, INT32_MAX},
                                          [HELIO_KIND_I64] = {NULL, NULL, -0x1p53, 0x1p53},
                                          [HELIO_KIND_U64] = {NULL, NULL, 0, 0x1p53},
                                          [HELIO_KIND_F64] = {NULL, NULL, -2e9, 2e9}};
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        if ((!ranges[i].record || strcmp(record, ranges[i].record) == 0) && is_like(field->name, ranges[i].field))
            return ranges[i];
    return others[field->kind];
}

/*  Which one: what a person would call it by. */
static void name_place(const place_t *self, helio_buffer_t *out)
{
    static const char *const names[] = {"site", "pool", "tenant", "queue", "from", "to", "name"};
    helio_buffer_printf(out, "the snapshot is damaged: %s", helio_snapshot_part(self->kind).name);
    for (size_t i = 0; i < self->part_type->field_count; i++) {
        const helio_field_t *field = &self->part_type->fields[i];
        const void *at = (const char *)self->part + field->offset;
        char id[HELIO_KEY_SIZE];
        for (size_t k = 0; field->kind == HELIO_KIND_TEXT && k < sizeof names / sizeof names[0]; k++)
            if (strcmp(field->name, names[k]) == 0 && ((const helio_text_t *)at)->size)
                helio_buffer_printf(out, ", %s %.*s", names[k], HELIO_TEXT_ARGS(*(const helio_text_t *)at));
        if (field->kind == HELIO_KIND_KEY)
            helio_job_key_text(*(const helio_job_key_t *)at, id);
        else if (field->kind == HELIO_KIND_UUID)
            helio_job_key_text((helio_job_key_t){*(const helio_uuid_t *)at, HELIO_NO_TASK}, id);
        else
            continue;
        helio_buffer_printf(out, ", %s %s", field->name, id);
    }
}

static helio_rc fail(const place_t *place, const char *what, helio_error_t *err)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t where = {0};
    name_place(place, &where);
    return helio_fail(err, HELIO_INVALID, "%.*s: %s", HELIO_TEXT_ARGS(helio_buffer_view(&where)), what);
}

static helio_rc check_number(const place_t *place, const char *record, const helio_field_t *field, double value,
                             helio_error_t *err)
{
    struct range range = range_of(record, field);
    char what[160];
    if (is_free(field->name) || (value >= range.least && value <= range.most))
        return HELIO_OK;
    (void)snprintf(what, sizeof what, "%s is %.16g, and can be %.16g to %.16g", field->name, value, range.least,
                   range.most);
    return fail(place, what, err);
}

static helio_rc check_record(const place_t *place, const helio_record_type_t *type, const void *record,
                             helio_error_t *err);

static helio_rc check_list(const place_t *place, const char *record, const helio_field_t *field, const void *at,
                           helio_error_t *err)
{
    helio_rc rc = HELIO_OK;
    const helio_list_t *list = at;
    const helio_f64s_t *numbers = at;
    for (uint32_t i = 0; rc == HELIO_OK && field->kind == HELIO_KIND_F64S && i < numbers->count; i++)
        rc = check_number(place, record, &(helio_field_t){.name = field->name, .kind = HELIO_KIND_F64},
                          numbers->items[i], err);
    for (uint32_t i = 0; rc == HELIO_OK && field->kind == HELIO_KIND_LIST && i < list->count; i++)
        rc = check_record(place, field->nested, (const char *)list->items + i * field->nested->size, err);
    return rc;
}

static helio_rc check_field(const place_t *place, const char *record, const helio_field_t *field, const void *at,
                            helio_error_t *err)
{
    static const helio_field_t task = {.name = "task", .kind = HELIO_KIND_I32};
    switch (field->kind) {
    case HELIO_KIND_I32:
        return check_number(place, record, field, *(const int32_t *)at, err);
    case HELIO_KIND_U32:
        return check_number(place, record, field, *(const uint32_t *)at, err);
    case HELIO_KIND_I64:
        return check_number(place, record, field, (double)*(const int64_t *)at, err);
    case HELIO_KIND_U64:
        return check_number(place, record, field, (double)*(const uint64_t *)at, err);
    case HELIO_KIND_F64:
        return check_number(place, record, field, *(const double *)at, err);
    case HELIO_KIND_KEY:
        return check_number(place, record, &task, ((const helio_job_key_t *)at)->task, err);
    case HELIO_KIND_RECORD:
        return check_record(place, field->nested, at, err);
    case HELIO_KIND_F64S:
    case HELIO_KIND_LIST:
        return check_list(place, record, field, at, err);
    case HELIO_KIND_BOOL:
    case HELIO_KIND_UUID:
    case HELIO_KIND_TEXT:
    case HELIO_KIND_BYTES:
    case HELIO_KIND_U32S:
    default:
        return HELIO_OK;
    }
}

static helio_rc check_record(const place_t *place, const helio_record_type_t *type, const void *record,
                             helio_error_t *err)
{
    helio_rc rc = HELIO_OK;
    for (size_t i = 0; rc == HELIO_OK && i < type->field_count; i++)
        rc = check_field(place, type->name, &type->fields[i], (const char *)record + type->fields[i].offset, err);
    return rc;
}

/*  ---- what parts refer to ---- */

enum { NODES_MAX = 1000000 };

static const char *check_site(const reh_copy_t *copy, const helio_row_site_t *row)
{
    return !row->site.size ? "it has no name" : reh_copy_site(copy, row->site) ? "it is there twice" : NULL;
}

static const char *check_pool(const reh_copy_t *copy, const helio_row_pool_t *row)
{
    const reh_site_copy_t *site = reh_copy_site(copy, row->site);
    if (!site)
        return "no part before it is that site";
    for (uint32_t i = 0; i < site->profile.pools.count; i++)
        if (helio_text_equal(site->profile.pools.items[i].name, row->pool))
            return "it is there twice";
    if (site->profile.pools.count == HELIO_SITE_POOLS_MAX)
        return "it is the 65th pool of its site, and a site can have 64";
    return copy->node_count + row->nodes > NODES_MAX ? "with it, all pools have more than 1000000 nodes" : NULL;
}

static bool has_part(const reh_copy_t *copy, uint32_t kind, helio_text_t name)
{
    for (uint32_t i = 0; i < copy->part_count; i++)
        if (copy->parts[i].kind == kind && helio_text_equal(*(const helio_text_t *)copy->parts[i].record, name))
            return true; /* the name is the first field of these records */
    return false;
}
_Static_assert(offsetof(helio_row_tenant_t, tenant) == 0 && offsetof(helio_row_queue_t, queue) == 0, "has_part");

static const char *check_queue(const reh_copy_t *copy, const helio_row_queue_t *row)
{
    if (!row->queue.size)
        return "it has no name";
    if (row->removed)
        return "it was removed, and a snapshot has those that there are";
    return has_part(copy, HELIO_BROKER_EV_LOAD_QUEUE, row->queue) ? "it is there twice" : NULL;
}

static const char *check_job(const reh_copy_t *copy, const helio_ev_load_job_t *job, bool is_past)
{
    const helio_row_job_t *row = &job->row;
    if (reh_copy_job(copy, row->job))
        return "it is there twice";
    if (!is_past && !has_part(copy, HELIO_BROKER_EV_LOAD_TENANT, row->tenant))
        return "no part before it is that tenant";
    if (!is_past && !has_part(copy, HELIO_BROKER_EV_LOAD_QUEUE, row->queue))
        return "no part before it is that queue";
    if (row->idempotency_key.size || row->spec_hash.size)
        return "it has an idempotency key, which a snapshot leaves out";
    for (uint32_t i = 0; i < row->tasks.count; i++)
        if (row->tasks.items[i] > INT32_MAX || (i && row->tasks.items[i] <= row->tasks.items[i - 1]))
            return "its tasks do not ascend";
    return NULL;
}

/*  A job that is no array has the task HELIO_NO_TASK. */
static bool has_task(const reh_copy_t *copy, helio_job_key_t key)
{
    const reh_job_copy_t *job = reh_copy_job(copy, key.job);
    const helio_u32s_t *tasks = job ? &job->load->row.tasks : NULL;
    if (!tasks || !tasks->count || key.task == HELIO_NO_TASK)
        return tasks && !tasks->count && key.task == HELIO_NO_TASK;
    for (uint32_t i = 0; i < tasks->count; i++)
        if (tasks->items[i] == (uint32_t)key.task)
            return true;
    return false;
}

/*  What is over and has no open tasks is in no snapshot. */
static const char *check_over(const reh_copy_t *copy, const helio_row_state_t *row)
{
    const reh_job_copy_t *job = reh_copy_job(copy, row->key.job);
    if (!helio_job_state_is_terminal(row->state))
        return NULL;
    return job->over_count + 1 >= job->load->row.tasks.count ? "it is over, and a snapshot has open jobs" : NULL;
}

static const char *check_state(const reh_copy_t *copy, const helio_row_state_t *row)
{
    bool live = helio_job_state_is_live(row->state);
    if (!has_task(copy, row->key))
        return "no part before it is that job, or the job has no such task";
    if (copy->last_state &&
        (helio_uuid_compare(copy->last_state->job, row->key.job) > 0 ||
         (helio_uuid_equal(copy->last_state->job, row->key.job) && copy->last_state->task >= row->key.task)))
        return "it is there twice, or states do not ascend";
    if (live && !reh_copy_site(copy, row->site))
        return "it runs, and no part before it is its site";
    if (live && !row->epoch)
        return "it runs, and its epoch is 0";
    if (row->state == HELIO_JOB_SUSPECT && (row->before == HELIO_JOB_SUSPECT || !helio_job_state_is_live(row->before)))
        return "it is suspect, and was in no state to return to";
    return check_over(copy, row);
}

static int by_key(const void *a_, const void *b_)
{
    const helio_job_key_t *a = a_, *b = b_;
    int order = helio_uuid_compare(a->job, b->job);
    return order ? order : (a->task > b->task) - (a->task < b->task);
}

static bool is_open(const reh_copy_t *copy, helio_job_key_t on)
{
    if (on.task == HELIO_NO_TASK)
        return reh_copy_job(copy, on.job) != NULL;
    return has_task(copy, on) &&
           !(copy->over_count && bsearch(&on, copy->over, copy->over_count, sizeof *copy->over, by_key));
}

static const char *check_waiting(const reh_copy_t *copy, const helio_row_waiting_t *row)
{
    if (!reh_copy_job(copy, row->job))
        return "no part before it is that job";
    return row->found == HELIO_FOUND_OPEN && !is_open(copy, row->on)
               ? "it waits for an open job, and no part before it is that job"
               : NULL;
}

static const char *check_federation(const reh_copy_t *copy, const helio_row_federation_t *row)
{
    return copy->incarnation ? "it is there twice" : !row->incarnation ? "its incarnation is 0" : NULL;
}

static const char *check_past(const helio_snapshot_past_t *past)
{
    bool fits = past->to_ms >= past->from_ms && past->to_ms - past->from_ms <= INT64_C(366) * 86400000;
    return fits ? NULL : "it ends before it begins, or more than 366 days later";
}

static const char *check_reference(const reh_copy_t *copy, uint32_t kind, const void *record)
{
    if (kind < HELIO_BROKER_EV_LOADED && kind != HELIO_BROKER_EV_LOAD_FEDERATION && !copy->incarnation)
        return "it is before LOAD_FEDERATION";
    switch (kind) {
    case HELIO_BROKER_EV_LOAD_FEDERATION:
        return check_federation(copy, record);
    case HELIO_BROKER_EV_LOAD_TENANT:
        return ((const helio_row_tenant_t *)record)->tenant.size ? NULL : "it has no name";
    case HELIO_BROKER_EV_LOAD_QUEUE:
        return check_queue(copy, record);
    case HELIO_BROKER_EV_LOAD_SITE:
        return check_site(copy, record);
    case HELIO_BROKER_EV_LOAD_POOL:
        return check_pool(copy, record);
    case HELIO_BROKER_EV_LOAD_CURTAILMENT:
        return reh_copy_site(copy, ((const helio_row_curtailment_t *)record)->site) ? NULL
                                                                                    : "no part before it is its site";
    case HELIO_BROKER_EV_LOAD_JOB:
    case HELIO_SNAPSHOT_PAST_JOB:
        return check_job(copy, record, kind == HELIO_SNAPSHOT_PAST_JOB);
    case HELIO_BROKER_EV_LOAD_STATE:
        return check_state(copy, record);
    case HELIO_BROKER_EV_LOAD_WAITING:
        return check_waiting(copy, record);
    case HELIO_BROKER_EV_LOAD_ENDED_HOLD:
        return reh_copy_job(copy, ((const helio_row_ended_hold_t *)record)->job) ? NULL
                                                                                 : "no part before it is that job";
    case HELIO_SNAPSHOT_PAST:
        return check_past(record);
    case HELIO_BROKER_EV_LOAD_KEY:
    case HELIO_BROKER_EV_LOAD_GIVEN_UP:
    case HELIO_BROKER_EV_LOAD_ESTIMATE:
        return "no snapshot has such a part";
    default:
        return NULL;
    }
}

helio_rc reh_sound_part(const reh_copy_t *copy, uint32_t kind, const void *record, helio_error_t *err)
{
    place_t place = {kind, record, helio_snapshot_part(kind).type};
    helio_rc rc = check_record(&place, place.part_type, record, err);
    const char *wrong = rc == HELIO_OK ? check_reference(copy, kind, record) : NULL;
    return wrong ? fail(&place, wrong, err) : rc;
}
