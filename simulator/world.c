/*  world.c -- true time, the queue of what will happen, and the run. */
#include "simulator/world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/internal.h"

enum { FIRST_HOUR_MS = 110000, FORECAST_HOURS = 4, FORECAST_MS = 20000, RESERVED_MINUTES = 8 };
enum { STEPS_MAX = 400000, REST_MS = 3 * 3600 * 1000 };

static happening_t *happening_of(helio_heap_item_t *item)
{
    return HELIO_HEAP_OWNER(item, happening_t, item);
}

static bool before(helio_heap_item_t *left, helio_heap_item_t *right)
{
    const happening_t *a = happening_of(left), *b = happening_of(right);
    return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : a->seq < b->seq;
}

static happening_t *pop(world_t *self)
{
    helio_heap_item_t *item = helio_heap_take(&self->queue);
    return item ? happening_of(item) : NULL;
}

happening_t *world_later(world_t *self, int64_t delay_ms, void (*fn)(world_t *, happening_t *))
{
    happening_t *item = helio_new(1, sizeof *item);
    item->at_ms = self->now_ms + (delay_ms > 0 ? delay_ms : 0);
    item->seq = ++self->seq;
    item->fn = fn;
    helio_heap_put(&self->queue, &item->item);
    return item;
}

int64_t world_boot_ms(const world_t *self, const drift_t *clock)
{
    return clock->offset_ms + (int64_t)((double)self->now_ms * clock->rate);
}

bool world_has_windows(const world_t *self)
{
    return self->options.seed % 2 == 1;
}

bool world_has_tiers(const world_t *self)
{
    return self->options.seed % 3 != 0;
}

uint64_t world_draw(const world_t *self, uint64_t what, uint64_t which)
{
    uint64_t numbers[] = {self->options.seed, what, which};
    return helio_hash(HELIO_HASH_SEED, numbers, sizeof numbers);
}

uint64_t world_truth(const world_t *self, uint32_t site, int64_t hour_ms)
{
    return world_draw(self, 1000 + site, (uint64_t)(hour_ms / 3600000)) % 900;
}

/*  Intensity by the hour, with noise that differs from issue to issue. */
helio_series_t *world_forecast(world_t *self, uint32_t site, int64_t wall_ms)
{
    int64_t issued_ms = wall_ms - wall_ms % FORECAST_MS, start_ms = wall_ms - wall_ms % 3600000;
    helio_series_t *series = helio_arena_alloc(self->arena, 1, sizeof *series);
    double *values = helio_arena_alloc(self->arena, FORECAST_HOURS, sizeof *values);
    for (int64_t h = 0; h < FORECAST_HOURS; h++) {
        uint64_t truth = world_truth(self, site, start_ms + h * 3600000);
        uint64_t noise = world_draw(self, 2000 + site, (uint64_t)(issued_ms / FORECAST_MS + h)) % WORLD_NOISE_G;
        values[h] = (double)(truth + noise);
    }
    *series = (helio_series_t){.signal = HELIO_SIGNAL_CARBON,
                               .kind = HELIO_TEXT("average"),
                               .issued_wall_ms = issued_ms,
                               .start_wall_ms = start_ms,
                               .step_s = 3600,
                               .values = {values, FORECAST_HOURS}};
    return series;
}

helio_series_t *world_reserved(world_t *self, uint32_t site, int64_t wall_ms)
{
    int64_t start_ms = wall_ms - wall_ms % 3600000;
    helio_series_t *series = helio_arena_alloc(self->arena, 1, sizeof *series);
    double *values = helio_arena_alloc(self->arena, HELIO_SERIES_POINTS_MAX, sizeof *values);
    for (int64_t m = 0; m < HELIO_SERIES_POINTS_MAX; m++) {
        int64_t minute = start_ms / 60000 + m;
        bool inside = minute < WORLD_HOUR_WALL_MS / 60000 + RESERVED_MINUTES &&
                      world_draw(self, 3000 + site, (uint64_t)(minute / 2)) % 2 == 0;
        values[m] = inside ? (double)(4 + world_draw(self, 4000 + site, (uint64_t)(minute / 2)) % 9) : 0;
    }
    *series = (helio_series_t){.signal = HELIO_SIGNAL_RESERVED,
                               .pool = HELIO_TEXT("gpus"),
                               .issued_wall_ms = start_ms,
                               .start_wall_ms = start_ms,
                               .step_s = 60,
                               .values = {values, HELIO_SERIES_POINTS_MAX}};
    return series;
}

int64_t world_wall_ms(const world_t *self, const drift_t *clock)
{
    int64_t hour_ms = WORLD_HOUR_WALL_MS, before_ms = world_has_windows(self) ? FIRST_HOUR_MS : 0;
    return hour_ms - before_ms + self->now_ms + clock->wall_skew_ms;
}

int64_t world_true_ms(const world_t *self, const drift_t *clock, int64_t boot_ms)
{
    if (boot_ms > INT64_MAX / 4)
        return INT64_MAX / 4;
    int64_t at = (int64_t)((double)(boot_ms - clock->offset_ms) / clock->rate) + 1;
    return at > self->now_ms ? at : self->now_ms;
}

bool world_chance(world_t *self, double probability)
{
    return helio_rng_unit(&self->rng) < probability;
}

int64_t world_between(world_t *self, int64_t low, int64_t high)
{
    return low + (int64_t)helio_rng_below(&self->rng, (uint64_t)(high - low + 1));
}

void world_fault(world_t *self, world_fault_t fault)
{
    static const char *const names[] = {
#define X(name, text) text,
        WORLD_FAULT_TABLE(X)
#undef X
    };
    self->faults[fault]++;
    if (self->options.trace)
        printf("%9lld  fault: %s\n", (long long)self->now_ms, names[fault]);
}

void world_violate(world_t *self, const char *format, ...)
{
    if (self->violation[0])
        return;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(self->violation, sizeof self->violation, format, args);
    va_end(args);
}

void world_trace(world_t *self, const char *node, const char *event, const helio_record_type_t *type,
                 const void *payload)
{
    self->steps++;
    self->hash = helio_hash(self->hash, &self->now_ms, sizeof self->now_ms);
    self->hash = helio_hash(self->hash, node, strlen(node));
    self->hash = helio_record_hash(type, payload, helio_hash(self->hash, event, strlen(event)));
    if (self->options.trace) {
        printf("%9lld  %-7s %-14s", (long long)self->now_ms, node, event);
        for (size_t i = 0; i < type->field_count; i++) {
            const helio_field_t *field = &type->fields[i];
            const char *at = (const char *)payload + field->offset;
            char text[HELIO_KEY_SIZE];
            if (field->kind == HELIO_KIND_KEY) {
                helio_job_key_text(*(const helio_job_key_t *)at, text);
                printf(" %s=%s", field->name, text + 18);
            } else if (field->kind == HELIO_KIND_U32) {
                printf(" %s=%u", field->name, *(const uint32_t *)at);
            } else if (field->kind == HELIO_KIND_U64) {
                printf(" %s=%llu", field->name, (unsigned long long)*(const uint64_t *)at);
            }
        }
        printf("\n");
    }
}

void *world_copy(world_t *self, const helio_record_type_t *type, const void *record)
{
    void *copy = helio_arena_alloc(self->arena, 1, type->size);
    helio_record_copy(type, self->arena, record, copy);
    return copy;
}

static void make_clock(world_t *self, drift_t *clock)
{
    clock->offset_ms = world_between(self, 1000, 100000000);
    clock->rate = 1 + (helio_rng_unit(&self->rng) - 0.5) * 0.01;
    clock->wall_skew_ms = world_between(self, -2000, 2000);
}

static void make_profile(world_t *self, uint32_t site)
{
    static const char *const names[] = {"site0", "site1", "site2", "site3"};
    helio_site_profile_t *profile = &self->profiles[site];
    profile->name = helio_text_of(names[site]);
    profile->backend = HELIO_TEXT("local");
    profile->region = site % 2 ? HELIO_TEXT("US-CAL") : HELIO_TEXT("EU-SE");
    profile->pue = 1.2;
    profile->carbon_g_per_kwh = 50;
    profile->leases = true;
    profile->pools.items = helio_arena_alloc(self->arena, 1, sizeof(helio_pool_t));
    profile->pools.count = 1;
    profile->pools.items[0] = (helio_pool_t){
        .name = HELIO_TEXT("gpus"),
        .gpu = HELIO_TEXT("H100"),
        .gpu_memory_bytes = UINT64_C(80000000000),
        .nodes = WORLD_NODES_PER_SITE,
        .gpus_per_node = WORLD_GPUS_PER_NODE,
        .owned = true,
        .price_usd_per_gpu_h = 1 + site * 0.5,
        .base_w = 100,
        .slope_w = 300,
    };
}

world_t *world_new(world_options_t options)
{
    world_t *self = helio_new(1, sizeof *self);
    self->options = options;
    self->queue.before = before;
    self->rng.state = options.seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    self->hash = HELIO_HASH_SEED;
    self->arena = helio_arena_new();
    self->vdb = helio_vdb_new();
    self->site_count = (uint32_t)world_between(self, 2, WORLD_SITES_MAX);
    make_clock(self, &self->broker.clock);
    self->broker.database_up = true;
    for (uint32_t i = 0; i < self->site_count; i++) {
        make_clock(self, &self->agents[i].clock);
        make_profile(self, i);
    }
    return self;
}

void world_destroy(world_t **self_p)
{
    world_t *self = *self_p;
    if (!self)
        return;
    happening_t *item;
    while ((item = pop(self)))
        free(item);
    helio_heap_clear(&self->queue);
    helio_broker_core_destroy(&self->broker.core);
    helio_effects_destroy(&self->broker.effects);
    helio_release_queue_destroy(&self->broker.release);
    for (uint32_t i = 0; i < self->site_count; i++) {
        agent_node_t *agent = &self->agents[i];
        helio_agent_core_destroy(&agent->core);
        helio_effects_destroy(&agent->effects);
        helio_release_queue_destroy(&agent->release);
        struct jseen *seen, *next;
        HASH_ITER(hh, agent->seen, seen, next)
        {
            HASH_DEL(agent->seen, seen);
            free(seen);
        }
        free(agent->open);
        free(agent->flight);
        free(agent->attempts);
        free(agent->reports);
    }
    run_t *run, *next_run;
    HASH_ITER(hh, self->runs, run, next_run)
    {
        HASH_DEL(self->runs, run);
        free(run);
    }
    evictions_free(self);
    moves_free(self);
    helio_vdb_destroy(&self->vdb);
    helio_arena_destroy(&self->arena);
    free(self);
    *self_p = NULL;
}

world_result_t world_run(world_t *self)
{
    workload_make(self);
    broker_start(self);
    for (uint32_t i = 0; i < self->site_count; i++)
        agent_start(self, i);
    faults_begin(self);
    happening_t *item;
    bool rested = false;
    while (!self->violation[0] && (item = pop(self))) {
        self->now_ms = item->at_ms;
        item->fn(self, item);
        free(item);
        invariants_check(self);
        if (self->now_ms > self->options.faults_ms && workload_done(self)) {
            rested = true;
            break;
        }
        if (self->steps > STEPS_MAX || self->now_ms > self->options.faults_ms + REST_MS) {
            world_violate(self, "not every job is over %lld ms after the last fault",
                          (long long)(self->now_ms - self->options.faults_ms));
            break;
        }
    }
    if (rested && !self->violation[0])
        invariants_at_rest(self);
    world_result_t result = {
        .violation = self->violation,
        .hash = self->hash,
        .steps = self->steps,
        .evictions = self->evictions,
        .moves = self->moves,
        .arrivals = self->arrivals,
        .virtual_ms = self->now_ms};
    result.foreseen = self->foreseen;
    result.admitted = self->admitted;
    memcpy(result.faults, self->faults, sizeof result.faults);
    for (uint32_t s = 0; s < HELIO_JOB_STATE_COUNT; s++)
        result.edges[s] = helio_vdb_edges_seen(self->vdb, s);
    for (uint32_t i = 0; i < self->job_count; i++)
        result.jobs_over += self->jobs[i].tasks;
    return result;
}
