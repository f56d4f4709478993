/*  rehearsal_testing.h -- snapshots made by hand: sites with one pool, and jobs that run or wait. */
#ifndef HELIO_TESTS_SIMULATOR_REHEARSAL_TESTING_H
#define HELIO_TESTS_SIMULATOR_REHEARSAL_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "simulator/rehearsal/difference.h"

static const int64_t NOON = INT64_C(1767614400000); /* 2026-01-05T12:00:00Z */
enum { HOUR = 3600000, MINUTE = 60000, DAY = 24 * HOUR, GPUS = 8 /* of a site */ };

/*  Parts come in the order that the core wants: what is added later goes behind what belongs before it. */
typedef struct snapshot_parts {
    helio_buffer_t sites, capacities, jobs, states, expected;
} snapshot_parts_t;

static snapshot_parts_t parts;
static helio_buffer_t bytes;
static helio_error_t err;
static uint8_t job_count;

static inline void put_part(helio_buffer_t *into, uint32_t kind, const void *record)
{
    assert_int_equal(helio_snapshot_add(kind, record, into, &err), HELIO_OK);
}

static inline int begin(void **state)
{
    (void)state;
    err = (helio_error_t){0};
    job_count = 0;
    helio_snapshot_begin(&bytes);
    const helio_snapshot_taken_t taken = {NOON};
    const helio_row_federation_t federation = {.incarnation = 1, .broker_epoch = 1, .seed = 7};
    const helio_row_tenant_t acme = {.tenant = HELIO_TEXT("acme")}, globex = {.tenant = HELIO_TEXT("globex")};
    const helio_row_queue_t batch = {HELIO_TEXT("batch"), 10, HELIO_TIER_BEST_EFFORT, DAY, false};
    const helio_row_queue_t standard = {HELIO_TEXT("standard"), 10, HELIO_TIER_STANDARD, DAY, false};
    const helio_row_queue_t express = {HELIO_TEXT("express"), 10, HELIO_TIER_CRITICAL, DAY, false};
    put_part(&bytes, HELIO_SNAPSHOT_TAKEN, &taken);
    put_part(&bytes, HELIO_BROKER_EV_LOAD_FEDERATION, &federation);
    put_part(&bytes, HELIO_BROKER_EV_LOAD_TENANT, &acme);
    put_part(&bytes, HELIO_BROKER_EV_LOAD_TENANT, &globex);
    put_part(&bytes, HELIO_BROKER_EV_LOAD_QUEUE, &batch);
    put_part(&bytes, HELIO_BROKER_EV_LOAD_QUEUE, &standard);
    put_part(&bytes, HELIO_BROKER_EV_LOAD_QUEUE, &express);
    return 0;
}

static inline int end(void **state)
{
    (void)state;
    helio_buffer_t *all[] = {&parts.sites, &parts.capacities, &parts.jobs, &parts.states, &parts.expected, &bytes};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        helio_buffer_clear(all[i]);
    return 0;
}

/*  A ready site with the pool h100 of one node; `others` of its GPUs are used by jobs of others. */
static inline void add_site(const char *name, double usd_per_gpu_h, uint32_t others)
{
    const helio_row_site_t site = {.site = helio_text_of(name),
                                   .state = HELIO_SITE_STATE_READY,
                                   .backend = HELIO_TEXT("local"),
                                   .region = HELIO_TEXT("SE"),
                                   .pue = 1,
                                   .carbon_g_per_kwh = 100,
                                   .leases = true,
                                   .seen_ms = NOON,
                                   .memory_since_ms = NOON - DAY,
                                   .memory_mark = 41};
    const helio_row_pool_t pool = {.site = helio_text_of(name),
                                   .pool = HELIO_TEXT("h100"),
                                   .gpu = HELIO_TEXT("H100"),
                                   .gpu_memory_bytes = UINT64_C(80000000000),
                                   .nodes = 1,
                                   .max_nodes = 1,
                                   .gpus_per_node = GPUS,
                                   .price_usd_per_gpu_h = usd_per_gpu_h,
                                   .base_w = 100,
                                   .slope_w = 400};
    const helio_row_capacity_t capacity = {.site = helio_text_of(name),
                                           .pool = HELIO_TEXT("h100"),
                                           .at_ms = NOON,
                                           .nodes_up = 1,
                                           .gpus_total = GPUS,
                                           .gpus_allocated = others,
                                           .gpus_free = GPUS - others,
                                           .site_power_w = -1};
    put_part(&parts.sites, HELIO_BROKER_EV_LOAD_SITE, &site);
    put_part(&parts.sites, HELIO_BROKER_EV_LOAD_POOL, &pool);
    put_part(&parts.capacities, HELIO_SNAPSHOT_CAPACITY, &capacity);
}

typedef struct job_ask {
    const char *queue;     /* NULL: standard */
    const char *only_site; /* NULL: any */
    const char *runs_at;   /* NULL: it waits */
    uint32_t gpus, on_site_loss, goal;
    int64_t hours;   /* its limit, which it needs whole */
    int64_t ran_min; /* how long it has run */
    int64_t checkpoint_min;
    int64_t deadline_ms;
} job_ask_t;

/*  Returns its key. */
static inline helio_job_key_t add_job(const char *tenant, job_ask_t ask)
{
    helio_job_key_t key = {.task = HELIO_NO_TASK};
    memset(key.job.bytes, 1, sizeof key.job.bytes);
    key.job.bytes[15] = ++job_count;
    helio_gpu_ask_t gpu = {.model = HELIO_TEXT("H100"), .count = ask.gpus};
    helio_string_t site = {helio_text_of(ask.only_site ? ask.only_site : "")};
    const char *queue = ask.queue ? ask.queue : "standard";
    uint32_t tier = strcmp(queue, "batch") == 0     ? HELIO_TIER_BEST_EFFORT
                    : strcmp(queue, "express") == 0 ? HELIO_TIER_CRITICAL
                                                    : HELIO_TIER_STANDARD;
    const helio_ev_load_job_t job = {.row = {.job = key.job,
                                             .tenant = helio_text_of(tenant),
                                             .user = HELIO_TEXT("ada"),
                                             .source = HELIO_TEXT("run: secret"),
                                             .name = HELIO_TEXT("job"),
                                             .queue = helio_text_of(queue),
                                             .tier = tier,
                                             .gpu_model = HELIO_TEXT("H100"),
                                             .gpus = ask.gpus,
                                             .nodes = 1,
                                             .time_limit_ms = (uint64_t)(ask.hours * HOUR),
                                             .class_id = 100 + job_count,
                                             .submitted_ms = NOON - HOUR + job_count,
                                             .on_site_loss = ask.on_site_loss,
                                             .goal = ask.goal,
                                             .deadline_wall_ms = ask.deadline_ms},
                                     .spec = {.name = HELIO_TEXT("job"),
                                              .queue = helio_text_of(queue),
                                              .gpus = {&gpu, 1},
                                              .nodes = 1,
                                              .run = HELIO_TEXT("secret"),
                                              .time_limit_ms = (uint64_t)(ask.hours * HOUR),
                                              .checkpoint_every_ms = (uint64_t)(ask.checkpoint_min * MINUTE),
                                              .on_site_loss = ask.on_site_loss,
                                              .goal = ask.goal,
                                              .deadline_wall_ms = ask.deadline_ms,
                                              .sites = {&site, ask.only_site ? 1 : 0}}};
    put_part(&parts.jobs, HELIO_BROKER_EV_LOAD_JOB, &job);
    if (!ask.runs_at)
        return key;
    const helio_row_state_t state = {.key = key,
                                     .state = HELIO_JOB_RUNNING,
                                     .epoch = 1,
                                     .attempts = 1,
                                     .site = helio_text_of(ask.runs_at),
                                     .pool = HELIO_TEXT("h100"),
                                     .started_ms = NOON - ask.ran_min * MINUTE,
                                     .exit_code = -1,
                                     .at_ms = NOON - ask.ran_min * MINUTE};
    const helio_row_expected_use_t use = {.key = key,
                                          .epoch = 1,
                                          .start_ms = NOON - ask.ran_min * MINUTE,
                                          .cost_micro_usd = ask.gpus * ask.hours * 1000000, /* at 1 USD */
                                          .expected_ms = (uint64_t)(ask.hours * HOUR),
                                          .expected_high_ms = (uint64_t)(ask.hours * HOUR)};
    put_part(&parts.states, HELIO_BROKER_EV_LOAD_STATE, &state);
    put_part(&parts.expected, HELIO_BROKER_EV_LOAD_EXPECTED_USE, &use);
    return key;
}

/*  A job of a time that is over, with a limit of an hour and checkpoints never. run_ms 0: not known. Returns its key then. */
static inline helio_job_key_t add_past_job(const char *tenant, uint32_t gpus, int64_t submitted_ms, int64_t run_ms)
{
    helio_job_key_t key = {.task = HELIO_NO_TASK};
    memset(key.job.bytes, 2, sizeof key.job.bytes);
    key.job.bytes[15] = ++job_count;
    helio_gpu_ask_t gpu = {.model = HELIO_TEXT("H100"), .count = gpus};
    const helio_ev_load_job_t job = {.row = {.job = key.job,
                                             .tenant = helio_text_of(tenant),
                                             .user = HELIO_TEXT("ada"),
                                             .name = HELIO_TEXT("job"),
                                             .queue = HELIO_TEXT("standard"),
                                             .gpus = gpus,
                                             .nodes = 1,
                                             .time_limit_ms = HOUR,
                                             .submitted_ms = submitted_ms},
                                     .spec = {.name = HELIO_TEXT("job"),
                                              .queue = HELIO_TEXT("standard"),
                                              .gpus = {&gpu, 1},
                                              .nodes = 1,
                                              .time_limit_ms = HOUR}};
    const helio_snapshot_run_t run = {key, (uint64_t)run_ms};
    put_part(&parts.jobs, HELIO_SNAPSHOT_PAST_JOB, &job);
    if (run_ms)
        put_part(&parts.states, HELIO_SNAPSHOT_PAST_RUN, &run);
    return key;
}

/*  The whole snapshot. */
static inline helio_text_t snapshot(void)
{
    const helio_buffer_t *all[] = {&parts.sites, &parts.jobs, &parts.states, &parts.expected, &parts.capacities};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        helio_buffer_append(&bytes, all[i]->data, all[i]->size);
    return helio_buffer_view(&bytes);
}

/*  ---- what becomes of them ---- */

typedef struct rehearsed {
    reh_result_t before, after;
    reh_difference_t difference;
} rehearsed_t;

static inline rehearsed_t *rehearse(helio_text_t taken, const char *const *changes, uint32_t count)
{
    reh_change_t read[8];
    rehearsed_t *self = helio_new(1, sizeof *self);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(reh_change_parse(changes[i], &read[i], &err), HELIO_OK);
    if (reh_run(taken, NULL, 0, DAY, &self->before, &err) != HELIO_OK ||
        reh_run(taken, read, count, DAY, &self->after, &err) != HELIO_OK)
        fail_msg("%s", err.text);
    reh_difference_init(&self->difference, &self->before, &self->after);
    return self;
}
#define REHEARSE(taken, ...) \
    rehearse(taken, (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static inline void forget(rehearsed_t *self)
{
    reh_difference_clear(&self->difference);
    reh_result_clear(&self->before);
    reh_result_clear(&self->after);
    free(self);
}

/*  0: nothing. */
static inline uint32_t effects_on(const rehearsed_t *self, helio_job_key_t key)
{
    for (uint32_t i = 0; i < self->difference.job_count; i++)
        if (helio_job_key_equal(self->difference.jobs[i].after->key, key))
            return self->difference.jobs[i].effects;
    return 0;
}
#define EFFECT(name) (UINT32_C(1) << REH_EFFECT_##name)

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

#endif
