#include "simulator/vdb.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

typedef struct attempt_key {
    helio_job_key_t key;
    uint32_t epoch;
} attempt_key_t;

typedef struct vjob {
    helio_uuid_t job;
    helio_row_job_t row;
    uint32_t open_tasks;
    UT_hash_handle hh;
} vjob_t;

typedef struct vstate {
    helio_job_key_t key;
    helio_row_state_t row;
    UT_hash_handle hh;
} vstate_t;

/*  One entry an attempt: placed, ended, booked. */
typedef struct vattempt {
    attempt_key_t id;
    bool placed;
    uint32_t gpus; /* placed with */
    helio_text_t gpu_model;
    bool ended;
    bool completes;
    bool has_least;
    helio_row_least_t least;
    helio_row_transfer_t transfer;
    bool transferred; /* booked */
    uint64_t gpu_ms;
    int64_t booked_hours[64];
    uint32_t booked;
    UT_hash_handle hh;
} vattempt_t;

/*  What the ledger says of a task's attempts that were not fenced, and whether it was held against its baselines. */
typedef struct vuse {
    helio_job_key_t key;
    helio_vdb_use_t use;
    bool compared;
    UT_hash_handle hh;
} vuse_t;

typedef struct vrates {
    uint64_t rates_id;
    helio_row_rates_t row;
    UT_hash_handle hh;
} vrates_t;

/*  Of an hour (actual) or of a signal, its newest issue. */
typedef struct vseries {
    char name[120];
    helio_row_actual_t actual;
    helio_row_series_t issue;
    UT_hash_handle hh;
} vseries_t;

typedef struct vsite {
    char name[40];
    helio_row_site_t row;
    UT_hash_handle hh;
} vsite_t;

typedef struct vquota {
    char name[80];
    helio_row_quota_t row;
    uint32_t peak; /* of its burst limit, since it was asked for */
    UT_hash_handle hh;
} vquota_t;

typedef struct vdata {
    char prefix[80];
    helio_row_data_t row;
    UT_hash_handle hh;
} vdata_t;

typedef struct vlink {
    char name[80];
    helio_row_link_t row;
    UT_hash_handle hh;
} vlink_t;

typedef struct vqueue {
    char name[40];
    helio_row_queue_t row;
    UT_hash_handle hh;
} vqueue_t;

typedef struct vrule {
    char name[512];
    helio_row_queue_rule_t row;
    UT_hash_handle hh;
} vrule_t;

typedef struct vgroup {
    char name[40];
    helio_row_overflow_t row;
    UT_hash_handle hh;
} vgroup_t;

typedef struct vpool {
    char name[80];
    helio_row_pool_t row;
    UT_hash_handle hh;
} vpool_t;

/*  A job that was over with its first attempt. */
typedef struct vrun {
    helio_job_key_t key;
    helio_text_t gpu_model;
    uint64_t run_ms;
} vrun_t;

typedef struct rows {
    helio_effect_t *items;
    uint32_t count, capacity;
} rows_t;

struct helio_vdb {
    helio_arena_t *arena; /* rows live as long as the world */
    vjob_t *jobs;
    vstate_t *states;
    vattempt_t *attempts;
    vuse_t *uses;
    vrates_t *rates;
    vseries_t *actuals, *issues;
    vsite_t *sites;
    vpool_t *pools;
    vquota_t *quotas;
    vqueue_t *queues;
    vrule_t *rules;
    vgroup_t *groups;
    helio_row_usage_t *usage; /* one a ledger row */
    uint32_t usage_count, usage_capacity;
    vrun_t *runs; /* in order of their ends */
    uint32_t run_count, run_capacity;
    helio_row_dependency_t *dependencies; /* in order of their commit */
    uint32_t dependency_count, dependency_capacity;
    vdata_t *data;
    vlink_t *links;
    rows_t open, flight;
    bool in_flight;
    helio_uuid_t open_from, flight_open_from; /* committed; of the batch in flight */
    helio_uuid_t newest_job;
    uint64_t epoch;
    uint64_t transition_seq;
    uint64_t decision_id;
    uint64_t edges[HELIO_JOB_STATE_COUNT];
    char violation[256];
};

helio_vdb_t *helio_vdb_new(void)
{
    helio_vdb_t *self = helio_new(1, sizeof *self);
    self->arena = helio_arena_new();
    return self;
}

#define FREE_TABLE(type, head)                                                                               \
    do {                                                                                                     \
        type *entry_, *next_;                                                                                \
        HASH_ITER(hh, head, entry_, next_)                                                                   \
        {                                                                                                    \
            HASH_DEL(head, entry_);                                                                          \
            free(entry_);                                                                                    \
        }                                                                                                    \
    } while (0)

void helio_vdb_destroy(helio_vdb_t **self_p)
{
    helio_vdb_t *self = *self_p;
    if (!self)
        return;
    FREE_TABLE(vjob_t, self->jobs);
    FREE_TABLE(vstate_t, self->states);
    FREE_TABLE(vattempt_t, self->attempts);
    FREE_TABLE(vuse_t, self->uses);
    FREE_TABLE(vrates_t, self->rates);
    FREE_TABLE(vdata_t, self->data);
    FREE_TABLE(vlink_t, self->links);
    FREE_TABLE(vseries_t, self->actuals);
    FREE_TABLE(vseries_t, self->issues);
    FREE_TABLE(vsite_t, self->sites);
    FREE_TABLE(vpool_t, self->pools);
    FREE_TABLE(vquota_t, self->quotas);
    FREE_TABLE(vqueue_t, self->queues);
    FREE_TABLE(vrule_t, self->rules);
    FREE_TABLE(vgroup_t, self->groups);
    free(self->usage);
    free(self->runs);
    free(self->dependencies);
    free(self->open.items);
    free(self->flight.items);
    helio_arena_destroy(&self->arena);
    free(self);
    *self_p = NULL;
}

const char *helio_vdb_violation(const helio_vdb_t *self)
{
    return self->violation;
}

static void violate(helio_vdb_t *self, const char *sentence, helio_job_key_t key, uint32_t epoch)
{
    char text[HELIO_KEY_SIZE];
    helio_job_key_text(key, text);
    if (!self->violation[0])
        (void)snprintf(self->violation, sizeof self->violation, "%s: %s epoch %u", sentence, text, epoch);
}

void helio_vdb_append(helio_vdb_t *self, const helio_effect_t *effect)
{
    const helio_record_type_t *type = helio_broker_effects[effect->kind].type;
    if (self->open.count == self->open.capacity) {
        self->open.capacity = self->open.capacity ? self->open.capacity * 2 : 64;
        self->open.items = helio_grow(self->open.items, self->open.capacity, sizeof *self->open.items);
    }
    helio_effect_t *copy = &self->open.items[self->open.count++];
    *copy = *effect;
    copy->payload = helio_arena_alloc(self->arena, 1, type->size);
    helio_record_copy(type, self->arena, effect->payload, copy->payload);
}

uint32_t helio_vdb_open_rows(const helio_vdb_t *self)
{
    return self->open.count;
}

bool helio_vdb_in_flight(const helio_vdb_t *self)
{
    return self->in_flight;
}

void helio_vdb_seal(helio_vdb_t *self, helio_uuid_t open_from)
{
    rows_t empty = self->flight;
    empty.count = 0;
    self->flight = self->open;
    self->flight_open_from = open_from;
    self->open = empty;
    self->in_flight = true;
}

static vattempt_t *attempt_of(helio_vdb_t *self, helio_job_key_t key, uint32_t epoch, bool make)
{
    attempt_key_t id;
    memset(&id, 0, sizeof id);
    id.key = key;
    id.epoch = epoch;
    vattempt_t *attempt;
    HASH_FIND(hh, self->attempts, &id, sizeof id, attempt);
    if (!attempt && make) {
        attempt = helio_new(1, sizeof *attempt);
        attempt->id = id;
        HASH_ADD(hh, self->attempts, id, sizeof id, attempt);
    }
    return attempt;
}

static void put_job(helio_vdb_t *self, const helio_row_job_t *row)
{
    vjob_t *job;
    HASH_FIND(hh, self->jobs, &row->job, sizeof row->job, job);
    if (job) {
        violate(self, "a job id was stored twice", (helio_job_key_t){row->job, HELIO_NO_TASK}, 0);
        return;
    }
    job = helio_new(1, sizeof *job);
    job->job = row->job;
    job->row = *row;
    job->open_tasks = row->tasks.count ? row->tasks.count : 1;
    HASH_ADD(hh, self->jobs, job, sizeof job->job, job);
    if (helio_uuid_compare(self->newest_job, row->job) < 0)
        self->newest_job = row->job;
}

static void put_state(helio_vdb_t *self, const helio_row_state_t *row)
{
    vstate_t *state;
    HASH_FIND(hh, self->states, &row->key, sizeof row->key, state);
    if (!state) {
        state = helio_new(1, sizeof *state);
        state->key = row->key;
        HASH_ADD(hh, self->states, key, sizeof state->key, state);
    }
    if (helio_job_state_is_terminal(state->row.state))
        violate(self, "a job that was over changed its state", row->key, row->epoch);
    if (row->epoch < state->row.epoch)
        violate(self, "an epoch went back", row->key, row->epoch);
    if (row->saved_ms < state->row.saved_ms)
        violate(self, "what a job had saved was forgotten", row->key, row->epoch);
    state->row = *row;
    vjob_t *job;
    HASH_FIND(hh, self->jobs, &row->key.job, sizeof row->key.job, job);
    if (!job)
        violate(self, "a state without its job", row->key, row->epoch);
    else if (helio_job_state_is_terminal(row->state))
        job->open_tasks--;
}

static void put_dependency(helio_vdb_t *self, const helio_row_dependency_t *row)
{
    if (self->dependency_count == self->dependency_capacity) {
        self->dependency_capacity = self->dependency_capacity ? self->dependency_capacity * 2 : 64;
        self->dependencies =
            helio_grow(self->dependencies, self->dependency_capacity, sizeof *self->dependencies);
    }
    self->dependencies[self->dependency_count++] = *row;
    if (helio_vdb_found(self, row->on) == HELIO_FOUND_UNKNOWN)
        violate(self, "a job waits for one that was never stored", (helio_job_key_t){row->job, HELIO_NO_TASK}, 0);
}

static void put_placement(helio_vdb_t *self, const helio_row_placement_t *row)
{
    vattempt_t *attempt = attempt_of(self, row->key, row->epoch, true);
    if (attempt->placed)
        violate(self, "an epoch was issued twice", row->key, row->epoch);
    attempt->placed = true;
    attempt->gpus = row->gpus;
    attempt->gpu_model = row->gpu_model;
    attempt->has_least = row->least_site.size > 0;
    attempt->transfer = (helio_row_transfer_t){.key = row->key,
                                               .epoch = row->epoch,
                                               .ms = row->transfer_ms,
                                               .egress_micro_usd = row->transfer_micro_usd,
                                               .energy_j = row->transfer_j,
                                               .carbon_mg = row->transfer_carbon_mg};
    attempt->least = (helio_row_least_t){row->key, row->least_site, row->least_pool, row->least_ms};
}

static void put_attempt(helio_vdb_t *self, const helio_row_attempt_t *row)
{
    vattempt_t *attempt = attempt_of(self, row->key, row->epoch, true);
    if (!attempt->placed)
        violate(self, "an attempt ended that was never placed", row->key, row->epoch);
    if (attempt->ended) {
        if (row->completes && !attempt->completes)
            violate(self, "an attempt that had ended became a completion", row->key, row->epoch);
        return;
    }
    attempt->ended = true;
    attempt->completes = row->completes;
    if (row->completes && row->epoch == 1 && row->run_ms) {
        if (self->run_count == self->run_capacity) {
            self->run_capacity = self->run_capacity ? self->run_capacity * 2 : 64;
            self->runs = helio_grow(self->runs, self->run_capacity, sizeof *self->runs);
        }
        self->runs[self->run_count++] = (vrun_t){row->key, attempt->gpu_model, row->run_ms};
    }
    if (row->completes && helio_vdb_completions(self, row->key) > 1)
        violate(self, "a second completion", row->key, row->epoch);
    if (row->completes && row->fenced)
        violate(self, "a fenced attempt completed its job", row->key, row->epoch);
}

static vuse_t *use_of(helio_vdb_t *self, helio_job_key_t key)
{
    vuse_t *use;
    HASH_FIND(hh, self->uses, &key, sizeof key, use);
    if (!use) {
        use = helio_new(1, sizeof *use);
        use->key = key;
        HASH_ADD(hh, self->uses, key, sizeof use->key, use);
    }
    return use;
}

static bool differ(double a, double b)
{
    return a - b > 2 || b - a > 2; /* fractions are carried from hour to hour */
}

/*  Every row follows from its own rates. */
static void check_rates(helio_vdb_t *self, const helio_row_ledger_t *row)
{
    vrates_t *rates;
    HASH_FIND(hh, self->rates, &row->rates_id, sizeof row->rates_id, rates);
    if (!rates || rates->row.hour_ms != row->hour_ms || !helio_text_equal(rates->row.site, row->site)) {
        violate(self, "an hour of the ledger without its rates", row->key, row->epoch);
        return;
    }
    const helio_row_rates_t *r = &rates->row;
    double joules = (double)row->gpu_ms / 1000 * r->watts_per_gpu * r->pue, kwh = joules / 3.6e6;
    double cost = (double)row->gpu_ms / 3.6e6 * r->price_usd_per_gpu_h + kwh * r->electricity_usd_per_kwh;
    if (differ((double)row->energy_j, joules) || differ((double)row->carbon_mg, kwh * r->carbon_g_per_kwh * 1000) ||
        differ((double)row->cost_micro_usd, cost * 1e6))
        violate(self, "an hour of the ledger is not what its rates say", row->key, row->epoch);
}

static void put_rates(helio_vdb_t *self, const helio_row_rates_t *row)
{
    vrates_t *rates;
    HASH_FIND(hh, self->rates, &row->rates_id, sizeof row->rates_id, rates);
    if (rates) {
        if (!helio_record_equal(&helio_row_rates_type, &rates->row, row))
            violate(self, "rates of one number differ", (helio_job_key_t){.task = HELIO_NO_TASK}, 0);
        return;
    }
    rates = helio_new(1, sizeof *rates);
    rates->rates_id = row->rates_id;
    rates->row = *row;
    HASH_ADD(hh, self->rates, rates_id, sizeof rates->rates_id, rates);
}

static vseries_t *series_at(vseries_t **table, const char *name)
{
    vseries_t *series;
    HASH_FIND_STR(*table, name, series);
    if (!series) {
        series = helio_new(1, sizeof *series);
        (void)snprintf(series->name, sizeof series->name, "%s", name);
        HASH_ADD_STR(*table, name, series);
    }
    return series;
}

static void put_actual(helio_vdb_t *self, const helio_row_actual_t *row)
{
    char name[120];
    (void)snprintf(name, sizeof name, "%.*s/%.*s/%u/%lld", HELIO_TEXT_ARGS(row->site), HELIO_TEXT_ARGS(row->pool),
                   row->signal, (long long)row->hour_ms);
    series_at(&self->actuals, name)->actual = *row;
}

static void put_series(helio_vdb_t *self, const helio_row_series_t *row)
{
    char name[120];
    (void)snprintf(name, sizeof name, "%.*s/%.*s/%u/%.*s", HELIO_TEXT_ARGS(row->site), HELIO_TEXT_ARGS(row->pool),
                   row->signal, HELIO_TEXT_ARGS(row->kind));
    vseries_t *series = series_at(&self->issues, name);
    if (series->issue.issued_ms <= row->issued_ms)
        series->issue = *row;
}

static void put_baseline(helio_vdb_t *self, const helio_row_baseline_t *row)
{
    vuse_t *use = use_of(self, row->key);
    if (use->compared)
        violate(self, "a job was held against its baselines twice", row->key, 0);
    use->compared = true;
    if (use->use.energy_j != row->energy_j || use->use.carbon_mg != row->carbon_mg ||
        use->use.cost_micro_usd != row->cost_micro_usd)
        violate(self, "what is held against the baselines is not what the ledger has", row->key, 0);
}

static void add_use(helio_vdb_t *self, const helio_row_ledger_t *row)
{
    helio_vdb_use_t *use = &use_of(self, row->key)->use;
    use->gpu_ms += row->gpu_ms;
    use->energy_j += row->energy_j;
    use->carbon_mg += row->carbon_mg;
    use->cost_micro_usd += row->cost_micro_usd;
}

/*  Once an attempt, as it was placed. */
static void put_transfer(helio_vdb_t *self, vattempt_t *attempt, const helio_row_ledger_t *row)
{
    const helio_row_transfer_t *placed = &attempt->transfer;
    if (attempt->transferred)
        return;
    attempt->transferred = true;
    if (!attempt->ended || row->gpu_ms)
        violate(self, "a transfer without the end of its attempt", row->key, row->epoch);
    if (row->fenced)
        return; /* of an older placement the broker may not know any more what it cost */
    if (row->energy_j != placed->energy_j || row->carbon_mg != placed->carbon_mg ||
        row->cost_micro_usd != placed->egress_micro_usd)
        violate(self, "a transfer is not charged as it was placed", row->key, row->epoch);
    add_use(self, row);
}

static void put_ledger(helio_vdb_t *self, const helio_row_ledger_t *row)
{
    vattempt_t *attempt = attempt_of(self, row->key, row->epoch, true);
    if (helio_text_is(row->provenance, "transfer")) {
        put_transfer(self, attempt, row);
        return;
    }
    for (uint32_t i = 0; i < attempt->booked; i++)
        if (attempt->booked_hours[i] == row->hour_ms)
            return;
    if (attempt->booked < sizeof attempt->booked_hours / sizeof attempt->booked_hours[0])
        attempt->booked_hours[attempt->booked++] = row->hour_ms;
    attempt->gpu_ms += row->gpu_ms;
    if (self->usage_count == self->usage_capacity) {
        self->usage_capacity = self->usage_capacity ? self->usage_capacity * 2 : 64;
        self->usage = helio_grow(self->usage, self->usage_capacity, sizeof *self->usage);
    }
    self->usage[self->usage_count++] = (helio_row_usage_t){row->tenant, row->gpu_model, row->hour_ms, row->gpu_ms};
    check_rates(self, row);
    if (row->fenced)
        return;
    add_use(self, row);
}

static void put_queue(helio_vdb_t *self, const helio_row_queue_t *row)
{
    char name[40];
    (void)helio_text_copy(row->queue, name, sizeof name);
    vqueue_t *queue;
    HASH_FIND_STR(self->queues, name, queue);
    if (!queue) {
        queue = helio_new(1, sizeof *queue);
        memcpy(queue->name, name, sizeof name);
        HASH_ADD_STR(self->queues, name, queue);
    }
    queue->row = *row;
}

static void put_rule(helio_vdb_t *self, const helio_row_queue_rule_t *row)
{
    char name[512];
    (void)snprintf(name, sizeof name, "%.*s/%.*s/%.*s/%.*s", HELIO_TEXT_ARGS(row->queue), HELIO_TEXT_ARGS(row->region),
                   HELIO_TEXT_ARGS(row->schedule), HELIO_TEXT_ARGS(row->zone));
    vrule_t *rule;
    HASH_FIND_STR(self->rules, name, rule);
    if (!rule) {
        rule = helio_new(1, sizeof *rule);
        memcpy(rule->name, name, sizeof name);
        HASH_ADD_STR(self->rules, name, rule);
    }
    rule->row = *row;
}

static void put_group(helio_vdb_t *self, const helio_row_overflow_t *row)
{
    char name[40];
    (void)helio_text_copy(row->name, name, sizeof name);
    vgroup_t *group;
    HASH_FIND_STR(self->groups, name, group);
    if (!group) {
        group = helio_new(1, sizeof *group);
        memcpy(group->name, name, sizeof name);
        HASH_ADD_STR(self->groups, name, group);
    }
    group->row = *row;
}

static void put_quota(helio_vdb_t *self, const helio_row_quota_t *row)
{
    char name[80];
    (void)snprintf(name, sizeof name, "%.*s/%.*s", HELIO_TEXT_ARGS(row->tenant), HELIO_TEXT_ARGS(row->queue));
    vquota_t *quota;
    HASH_FIND_STR(self->quotas, name, quota);
    if (!quota) {
        quota = helio_new(1, sizeof *quota);
        memcpy(quota->name, name, sizeof name);
        quota->peak = HELIO_QUOTA_UNLIMITED;
        HASH_ADD_STR(self->quotas, name, quota);
    }
    quota->row = *row;
    quota->peak = row->burst_gpus > quota->peak ? row->burst_gpus : quota->peak;
}

static void put_data(helio_vdb_t *self, const helio_row_data_t *row)
{
    char prefix[80];
    (void)helio_text_copy(row->prefix, prefix, sizeof prefix);
    vdata_t *data;
    HASH_FIND_STR(self->data, prefix, data);
    if (!data && row->sites.size) {
        data = helio_new(1, sizeof *data);
        memcpy(data->prefix, prefix, sizeof prefix);
        HASH_ADD_STR(self->data, prefix, data);
    }
    if (row->sites.size) {
        data->row = *row;
    } else if (data) {
        HASH_DEL(self->data, data);
        free(data);
    }
}

static void put_link(helio_vdb_t *self, const helio_row_link_t *row)
{
    char name[80];
    (void)snprintf(name, sizeof name, "%.*s/%.*s", HELIO_TEXT_ARGS(row->from), HELIO_TEXT_ARGS(row->to));
    vlink_t *link;
    HASH_FIND_STR(self->links, name, link);
    if (!link && !row->removed) {
        link = helio_new(1, sizeof *link);
        memcpy(link->name, name, sizeof name);
        HASH_ADD_STR(self->links, name, link);
    }
    if (!row->removed) {
        link->row = *row;
    } else if (link) {
        HASH_DEL(self->links, link);
        free(link);
    }
}

static void put_transition(helio_vdb_t *self, const helio_row_transition_t *row)
{
    if (!helio_job_state_edge(row->from, row->to))
        violate(self, "a transition that is not listed", row->key, row->epoch);
    if (row->seq <= self->transition_seq)
        violate(self, "a transition's number was used before", row->key, row->epoch);
    self->transition_seq = row->seq;
    self->edges[row->from] |= UINT64_C(1) << row->to;
}

static void put_site(helio_vdb_t *self, const helio_row_site_t *row)
{
    char name[40];
    (void)helio_text_copy(row->site, name, sizeof name);
    vsite_t *site;
    HASH_FIND_STR(self->sites, name, site);
    if (!site) {
        site = helio_new(1, sizeof *site);
        memcpy(site->name, name, sizeof name);
        HASH_ADD_STR(self->sites, name, site);
    }
    site->row = *row;
}

static void put_pool(helio_vdb_t *self, const helio_row_pool_t *row)
{
    char name[80];
    (void)snprintf(name, sizeof name, "%.*s/%.*s", HELIO_TEXT_ARGS(row->site), HELIO_TEXT_ARGS(row->pool));
    vpool_t *pool;
    HASH_FIND_STR(self->pools, name, pool);
    if (!pool) {
        pool = helio_new(1, sizeof *pool);
        memcpy(pool->name, name, sizeof name);
        HASH_ADD_STR(self->pools, name, pool);
    }
    pool->row = *row;
}

static void apply(helio_vdb_t *self, const helio_effect_t *row)
{
    if (row->kind == HELIO_BROKER_FX_ROW_JOB)
        put_job(self, row->payload);
    else if (row->kind == HELIO_BROKER_FX_ROW_STATE)
        put_state(self, row->payload);
    else if (row->kind == HELIO_BROKER_FX_ROW_PLACEMENT)
        put_placement(self, row->payload);
    else if (row->kind == HELIO_BROKER_FX_ROW_ATTEMPT)
        put_attempt(self, row->payload);
    else if (row->kind == HELIO_BROKER_FX_ROW_LEDGER)
        put_ledger(self, row->payload);
    else if (row->kind == HELIO_BROKER_FX_ROW_TRANSITION)
        put_transition(self, row->payload);
    else if (row->kind == HELIO_BROKER_FX_ROW_SITE)
        put_site(self, row->payload);
    else if (row->kind == HELIO_BROKER_FX_ROW_POOL)
        put_pool(self, row->payload);
    else if (row->kind == HELIO_BROKER_FX_ROW_DEPENDENCY)
        put_dependency(self, row->payload);
    else if (row->kind == HELIO_BROKER_FX_ROW_QUOTA)
        put_quota(self, row->payload);
    else if (row->kind == HELIO_BROKER_FX_ROW_DATA)
        put_data(self, row->payload);
    else if (row->kind == HELIO_BROKER_FX_ROW_LINK)
        put_link(self, row->payload);
    else if (row->kind == HELIO_BROKER_FX_ROW_QUEUE)
        put_queue(self, row->payload);
    else if (row->kind == HELIO_BROKER_FX_ROW_QUEUE_RULE)
        put_rule(self, row->payload);
    else if (row->kind == HELIO_BROKER_FX_ROW_OVERFLOW)
        put_group(self, row->payload);
    else if (row->kind == HELIO_BROKER_FX_ROW_RATES)
        put_rates(self, row->payload);
    else if (row->kind == HELIO_BROKER_FX_ROW_ACTUAL)
        put_actual(self, row->payload);
    else if (row->kind == HELIO_BROKER_FX_ROW_SERIES)
        put_series(self, row->payload);
    else if (row->kind == HELIO_BROKER_FX_ROW_BASELINE)
        put_baseline(self, row->payload);
    else if (row->kind == HELIO_BROKER_FX_ROW_DECISION)
        self->decision_id = ((const helio_row_decision_t *)row->payload)->decision_id;
}

/*  As the store: jobs first, then the last state of each key, then everything else in order. */
void helio_vdb_commit(helio_vdb_t *self)
{
    static const uint32_t order[] = {HELIO_BROKER_FX_ROW_JOB, HELIO_BROKER_FX_ROW_PLACEMENT, HELIO_BROKER_FX_ROW_RATES};
    for (size_t pass = 0; pass < sizeof order / sizeof order[0]; pass++)
        for (uint32_t i = 0; i < self->flight.count; i++)
            if (self->flight.items[i].kind == order[pass])
                apply(self, &self->flight.items[i]);
    for (uint32_t i = 0; i < self->flight.count; i++) {
        const helio_effect_t *row = &self->flight.items[i];
        if (row->kind == HELIO_BROKER_FX_ROW_JOB || row->kind == HELIO_BROKER_FX_ROW_PLACEMENT ||
            row->kind == HELIO_BROKER_FX_ROW_RATES)
            continue;
        bool last = true;
        for (uint32_t k = i + 1; row->kind == HELIO_BROKER_FX_ROW_STATE && k < self->flight.count && last; k++)
            last = self->flight.items[k].kind != HELIO_BROKER_FX_ROW_STATE ||
                   !helio_job_key_equal(((const helio_row_state_t *)self->flight.items[k].payload)->key,
                                        ((const helio_row_state_t *)row->payload)->key);
        if (last)
            apply(self, row);
    }
    self->open_from = self->flight_open_from;
    self->flight.count = 0;
    self->in_flight = false;
}

void helio_vdb_crash(helio_vdb_t *self, bool arrived)
{
    if (self->in_flight && arrived)
        helio_vdb_commit(self);
    self->flight.count = 0;
    self->in_flight = false;
    self->open.count = 0;
}

static void load_jobs(helio_vdb_t *self, helio_vdb_parse_fn *parse, helio_vdb_emit_fn *emit, void *arg)
{
    for (vjob_t *job = self->jobs; job; job = job->hh.next) {
        bool above = helio_uuid_compare(job->job, self->open_from) >= 0;
        if (job->open_tasks && !above)
            violate(self, "an open job lies below the mark", (helio_job_key_t){job->job, HELIO_NO_TASK}, 0);
        if (job->open_tasks && above) {
            helio_ev_load_job_t load = {.row = job->row};
            parse(arg, job->row.source, &load.spec);
            emit(arg, HELIO_BROKER_EV_LOAD_JOB, &load);
        } else if (job->row.idempotency_key.size) {
            helio_row_key_t key = {job->row.tenant, job->row.idempotency_key, job->row.spec_hash, job->row.job};
            emit(arg, HELIO_BROKER_EV_LOAD_KEY, &key);
        }
    }
    for (vstate_t *state = self->states; state; state = state->hh.next) {
        vjob_t *job;
        HASH_FIND(hh, self->jobs, &state->key.job, sizeof state->key.job, job);
        if (job && job->open_tasks && helio_uuid_compare(job->job, self->open_from) >= 0)
            emit(arg, HELIO_BROKER_EV_LOAD_STATE, &state->row);
    }
    for (uint32_t i = 0; i < self->dependency_count; i++) {
        const helio_row_dependency_t *row = &self->dependencies[i];
        vjob_t *job;
        HASH_FIND(hh, self->jobs, &row->job, sizeof row->job, job);
        helio_row_waiting_t waiting = {row->job, row->after, row->on, helio_vdb_found(self, row->on)};
        if (job && job->open_tasks && helio_uuid_compare(job->job, self->open_from) >= 0)
            emit(arg, HELIO_BROKER_EV_LOAD_WAITING, &waiting);
    }
}

static void load_prices(helio_vdb_t *self, helio_vdb_emit_fn *emit, void *arg)
{
    for (const vattempt_t *attempt = self->attempts; attempt; attempt = attempt->hh.next)
        if (attempt->has_least && !helio_job_state_is_terminal(helio_vdb_state(self, attempt->id.key).row.state))
            emit(arg, HELIO_BROKER_EV_LOAD_LEAST, &attempt->least);
    for (const vattempt_t *attempt = self->attempts; attempt; attempt = attempt->hh.next) {
        helio_row_state_t state = helio_vdb_state(self, attempt->id.key).row;
        if (attempt->placed && attempt->id.epoch == state.epoch && !helio_job_state_is_terminal(state.state))
            emit(arg, HELIO_BROKER_EV_LOAD_TRANSFER, &attempt->transfer);
    }
    for (const vseries_t *series = self->actuals; series; series = series->hh.next)
        emit(arg, HELIO_BROKER_EV_LOAD_ACTUAL, &series->actual);
    for (const vseries_t *series = self->issues; series; series = series->hh.next)
        emit(arg, HELIO_BROKER_EV_LOAD_SERIES, &series->issue);
}

static void load_runs(helio_vdb_t *self, helio_vdb_emit_fn *emit, void *arg)
{
    for (uint32_t i = 0; i < self->run_count; i++) {
        const vrun_t *run = &self->runs[i];
        vjob_t *job;
        HASH_FIND(hh, self->jobs, &run->key.job, sizeof run->key.job, job);
        if (!job)
            continue;
        uint32_t state = helio_vdb_state(self, run->key).row.state;
        helio_row_run_t row = {.tenant = job->row.tenant,
                               .user = job->row.user,
                               .name = job->row.name,
                               .kind = job->row.kind,
                               .gpu_model = run->gpu_model,
                               .run_ms = run->run_ms,
                               .gpus = job->row.gpus,
                               .time_limit_ms = job->row.time_limit_ms,
                               .whole = state == HELIO_JOB_SUCCEEDED || state == HELIO_JOB_TIMEOUT};
        emit(arg, HELIO_BROKER_EV_LOAD_RUN, &row);
    }
}

void helio_vdb_load(helio_vdb_t *self, uint64_t seed, helio_vdb_parse_fn *parse, helio_vdb_emit_fn *emit, void *arg)
{
    helio_row_federation_t federation = {.incarnation = 1,
                                         .broker_epoch = ++self->epoch,
                                         .last_transition_seq = self->transition_seq,
                                         .last_decision_id = self->decision_id,
                                         .seed = seed,
                                         .newest_job = self->newest_job};
    emit(arg, HELIO_BROKER_EV_LOAD_FEDERATION, &federation);
    helio_row_tenant_t tenants[] = {{HELIO_TEXT("red"), HELIO_TEXT("site0")}, {HELIO_TEXT("blue"), HELIO_TEXT("site1")}};
    for (size_t i = 0; i < 2; i++)
        emit(arg, HELIO_BROKER_EV_LOAD_TENANT, &tenants[i]);
    helio_row_queue_t queues[] = {{HELIO_TEXT("standard"), 500, HELIO_TIER_STANDARD, 86400000, false},
                                  {HELIO_TEXT("batch"), 100, HELIO_TIER_STANDARD, 86400000, false},
                                  {HELIO_TEXT("urgent"), 1000, HELIO_TIER_CRITICAL, 86400000, false},
                                  {HELIO_TEXT("spare"), 10, HELIO_TIER_BEST_EFFORT, 86400000, false}};
    bool first = !self->queues;
    for (size_t i = 0; first && i < 4; i++)
        put_queue(self, &queues[i]);
    for (vqueue_t *queue = self->queues; queue; queue = queue->hh.next)
        if (!queue->row.removed)
            emit(arg, HELIO_BROKER_EV_LOAD_QUEUE, &queue->row);
    for (vrule_t *rule = self->rules; rule; rule = rule->hh.next)
        if (!rule->row.removed)
            emit(arg, HELIO_BROKER_EV_LOAD_QUEUE_RULE, &rule->row);
    for (vgroup_t *group = self->groups; group; group = group->hh.next)
        if (!group->row.removed)
            emit(arg, HELIO_BROKER_EV_LOAD_OVERFLOW, &group->row);
    for (vquota_t *quota = self->quotas; quota; quota = quota->hh.next)
        emit(arg, HELIO_BROKER_EV_LOAD_QUOTA, &quota->row);
    for (uint32_t i = 0; i < self->usage_count; i++)
        if (self->usage[i].tenant.size)
            emit(arg, HELIO_BROKER_EV_LOAD_USAGE, &self->usage[i]);
    for (const vdata_t *data = self->data; data; data = data->hh.next)
        emit(arg, HELIO_BROKER_EV_LOAD_DATA, &data->row);
    for (const vlink_t *link = self->links; link; link = link->hh.next)
        emit(arg, HELIO_BROKER_EV_LOAD_LINK, &link->row);
    for (vsite_t *site = self->sites; site; site = site->hh.next)
        emit(arg, HELIO_BROKER_EV_LOAD_SITE, &site->row);
    for (vpool_t *pool = self->pools; pool; pool = pool->hh.next)
        emit(arg, HELIO_BROKER_EV_LOAD_POOL, &pool->row);
    load_jobs(self, parse, emit, arg);
    load_prices(self, emit, arg);
    load_runs(self, emit, arg);
}

bool helio_vdb_has_job(const helio_vdb_t *self, helio_uuid_t id)
{
    vjob_t *job;
    HASH_FIND(hh, self->jobs, &id, sizeof id, job);
    return job != NULL;
}

static const vattempt_t *attempt_at(const helio_vdb_t *self, helio_job_key_t key, uint32_t epoch)
{
    attempt_key_t id;
    memset(&id, 0, sizeof id);
    id.key = key;
    id.epoch = epoch;
    vattempt_t *attempt;
    HASH_FIND(hh, self->attempts, &id, sizeof id, attempt);
    return attempt;
}

bool helio_vdb_has_placement(const helio_vdb_t *self, helio_job_key_t key, uint32_t epoch)
{
    const vattempt_t *attempt = attempt_at(self, key, epoch);
    return attempt && attempt->placed;
}

helio_vdb_state_t helio_vdb_state(const helio_vdb_t *self, helio_job_key_t key)
{
    vstate_t *state;
    HASH_FIND(hh, self->states, &key, sizeof key, state);
    return state ? (helio_vdb_state_t){state->row, true} : (helio_vdb_state_t){.row = {.key = key, .exit_code = -1}};
}

helio_found_t helio_vdb_found(const helio_vdb_t *self, helio_job_key_t on)
{
    vjob_t *job;
    HASH_FIND(hh, self->jobs, &on.job, sizeof on.job, job);
    if (!job)
        return HELIO_FOUND_UNKNOWN;
    bool whole = on.task == HELIO_NO_TASK && job->row.tasks.count, ok = true;
    for (uint32_t i = 0; i < (whole ? job->row.tasks.count : 1); i++) {
        helio_job_key_t key = whole ? (helio_job_key_t){on.job, (int32_t)job->row.tasks.items[i]} : on;
        uint32_t state = helio_vdb_state(self, key).row.state;
        if (!helio_job_state_is_terminal(state))
            return HELIO_FOUND_OPEN;
        ok = ok && state == HELIO_JOB_SUCCEEDED;
    }
    return ok ? HELIO_FOUND_OK : HELIO_FOUND_NOT_OK;
}

uint64_t helio_vdb_ledger_gpu_ms(const helio_vdb_t *self, helio_job_key_t key, uint32_t epoch)
{
    const vattempt_t *attempt = attempt_at(self, key, epoch);
    return attempt ? attempt->gpu_ms : 0;
}

helio_vdb_use_t helio_vdb_use(const helio_vdb_t *self, helio_job_key_t key)
{
    vuse_t *use;
    HASH_FIND(hh, self->uses, &key, sizeof key, use);
    return use ? use->use : (helio_vdb_use_t){0};
}

bool helio_vdb_is_compared(const helio_vdb_t *self, helio_job_key_t key)
{
    vuse_t *use;
    HASH_FIND(hh, self->uses, &key, sizeof key, use);
    return use && use->compared;
}

void helio_vdb_each_rates(const helio_vdb_t *self, helio_vdb_rates_fn *visit, void *arg)
{
    for (const vrates_t *rates = self->rates; rates; rates = rates->hh.next)
        visit(arg, &rates->row);
}

uint32_t helio_vdb_completions(const helio_vdb_t *self, helio_job_key_t key)
{
    uint32_t count = 0, epochs = helio_vdb_state(self, key).row.epoch + 2;
    for (uint32_t epoch = 0; epoch <= epochs; epoch++) {
        const vattempt_t *attempt = attempt_at(self, key, epoch);
        count += attempt && attempt->completes;
    }
    return count;
}

void helio_vdb_each_task(const helio_vdb_t *self, helio_vdb_job_fn *visit, void *arg)
{
    for (const vjob_t *job = self->jobs; job; job = job->hh.next) {
        if (!job->row.tasks.count)
            visit(arg, (helio_job_key_t){job->job, HELIO_NO_TASK}, &job->row);
        for (uint32_t i = 0; i < job->row.tasks.count; i++)
            visit(arg, (helio_job_key_t){job->job, (int32_t)job->row.tasks.items[i]}, &job->row);
    }
}

uint64_t helio_vdb_edges_seen(const helio_vdb_t *self, uint32_t from)
{
    return self->edges[from];
}

uint64_t helio_vdb_gpus(const helio_vdb_t *self, const char *tenant, const char *queue)
{
    uint64_t gpus = 0;
    for (const vstate_t *state = self->states; state; state = state->hh.next) {
        vjob_t *job;
        if (!helio_job_state_is_live(state->row.state))
            continue;
        HASH_FIND(hh, self->jobs, &state->key.job, sizeof state->key.job, job);
        const vattempt_t *attempt = attempt_at(self, state->key, state->row.epoch);
        bool counts = job && attempt && helio_text_is(job->row.tenant, tenant) &&
                      (!queue[0] || helio_text_is(job->row.queue, queue));
        gpus += counts ? attempt->gpus : 0;
    }
    return gpus;
}

uint32_t helio_vdb_burst(helio_vdb_t *self, const char *tenant, const char *queue)
{
    char name[80];
    (void)snprintf(name, sizeof name, "%s/%s", tenant, queue);
    vquota_t *quota;
    HASH_FIND_STR(self->quotas, name, quota);
    if (!quota)
        return HELIO_QUOTA_UNLIMITED;
    uint32_t peak = quota->peak;
    quota->peak = quota->row.burst_gpus;
    return peak;
}
