/*  engine.c -- how fast the broker's core decides, alone: no database, no network, no clock of its own. One thread feeds
 *  helio_broker_core_step with what users and sites say, and counts the CPU time that the steps take (README.md).
 *      bench_engine               all rows
 *      bench_engine ROW [CHANGES] one row */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "broker/core/broker_core.h"
#include "federation/base/rng.h"

enum { TENANTS = 20, CALL_JOBS = 1000, REPORTS_MAX = 3, SITES_MAX = 128, TICK_MS = 1, WINDOW_CALLS = 20 };
static const int64_t BEGIN_WALL_MS = INT64_C(1772323200000); /* 2026-03-01 */

/*  What a row asks for. */
typedef struct shape {
    const char *name;
    uint32_t sites, nodes; /* nodes of each of the two pools of a site; 8 GPUs a node */
    uint32_t classes;      /* that wait; 0 = the queue is empty before each batch */
    uint32_t jobs;         /* queued at the beginning, over all classes */
    uint32_t changes;      /* runs that end, one before each round; batches of CALL_JOBS if the queue is empty */
    bool gangs;            /* one class in eight asks for whole nodes */
    uint32_t preempting;   /* one class in so many is in a queue that can preempt jobs of the other; 0 = none */
    bool moves;            /* jobs can migrate to a better site */
    uint64_t flexible_ms;  /* jobs may wait so long for a better hour */
} shape_t;

typedef struct run {
    helio_job_key_t key;
    uint32_t epoch;
    uint64_t peer;
} run_t;

typedef struct world {
    const shape_t *shape;
    helio_broker_core_t *core;
    helio_effects_t *effects;
    helio_rng_t rng;
    int64_t now_ms;
    uint64_t calls, report_seq, peer_seq[SITES_MAX + 1];
    run_t *runs; /* that a site was told to begin, and that have not ended */
    uint32_t run_count, run_capacity, accepted;
    uint64_t placed, effects_count,
        orders_hash; /* equal hashes: the same jobs went to the same pools in the same order */
    int64_t cpu_ns[HELIO_BROKER_EVENT_COUNT];
    helio_submission_t jobs[CALL_JOBS];
    helio_gpu_ask_t asks[CALL_JOBS];
    char tenants[TENANTS][16];
} world_t;

static int64_t cpu_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void take_orders(world_t *self)
{
    self->effects_count += self->effects->count;
    for (uint32_t i = 0; i < self->effects->count; i++) {
        const helio_effect_t *effect = &self->effects->items[i];
        if (effect->kind != HELIO_BROKER_FX_ORDER)
            continue;
        const helio_fx_order_t *order = effect->payload;
        if (self->run_count == self->run_capacity) {
            self->run_capacity = self->run_capacity ? self->run_capacity * 2 : 1024;
            self->runs = helio_grow(self->runs, self->run_capacity, sizeof *self->runs);
        }
        self->runs[self->run_count++] = (run_t){order->order.key, order->order.epoch, order->peer};
        self->placed++;
        self->orders_hash = helio_hash(self->orders_hash, &order->order.key, sizeof order->order.key);
        self->orders_hash = helio_hash(self->orders_hash, order->order.pool.data, order->order.pool.size);
        self->orders_hash = helio_hash(self->orders_hash, &order->peer, sizeof order->peer);
    }
}

static void step(world_t *self, uint32_t kind, const void *payload)
{
    static const helio_ev_nothing_t nothing = {0};
    helio_event_t event = {kind, self->now_ms, BEGIN_WALL_MS + self->now_ms, payload ? payload : &nothing};
    int64_t begin = cpu_ns();
    helio_broker_core_step(self->core, &event, self->effects);
    self->cpu_ns[kind] += cpu_ns() - begin;
    take_orders(self);
}

static void tick(world_t *self)
{
    self->now_ms += TICK_MS;
    step(self, HELIO_BROKER_EV_TICK, NULL);
}

/* ---- sites ------------------------------------------------------------------------------------------------- */

static void summarize(world_t *self, uint64_t peer)
{
    helio_pool_capacity_t pools[2];
    uint32_t nodes_by_gpus[2][9] = {{0}}, nodes = self->shape->nodes;
    for (uint32_t i = 0; i < 2; i++) {
        nodes_by_gpus[i][8] = nodes;
        pools[i] = (helio_pool_capacity_t){.pool = i ? HELIO_TEXT("a100") : HELIO_TEXT("h100"),
                                           .nodes_up = nodes,
                                           .gpus_total = nodes * 8,
                                           .cpus_free = nodes * 64,
                                           .memory_free_bytes = nodes * (UINT64_C(512) << 30),
                                           .free_nodes = {nodes_by_gpus[i], 9}};
    }
    helio_ev_site_summary_t event = {.peer = peer,
                                     .summary = {.seq = ++self->peer_seq[peer],
                                                 .wall_ms = BEGIN_WALL_MS + self->now_ms,
                                                 .pools = {pools, 2},
                                                 .power_w = -1}};
    step(self, HELIO_BROKER_EV_SITE_SUMMARY, &event);
}

static void join(world_t *self, uint64_t peer)
{
    char name[16];
    (void)snprintf(name, sizeof name, "site-%03u", (unsigned)peer);
    helio_pool_t pools[2];
    for (uint32_t i = 0; i < 2; i++)
        pools[i] = (helio_pool_t){.name = i ? HELIO_TEXT("a100") : HELIO_TEXT("h100"),
                                  .gpu = i ? HELIO_TEXT("A100") : HELIO_TEXT("H100"),
                                  .gpu_memory_bytes = UINT64_C(80) << 30,
                                  .nodes = self->shape->nodes,
                                  .max_nodes = self->shape->nodes,
                                  .gpus_per_node = 8,
                                  .cpus_per_node = 64,
                                  .memory_bytes_per_node = UINT64_C(512) << 30,
                                  .price_usd_per_gpu_h = (i ? 1.5 : 2.5) + 0.01 * (double)peer,
                                  .base_w = i ? 400 : 700};
    helio_ev_site_hello_t hello = {.site = helio_text_of(name),
                                   .peer = peer,
                                   .agent_version = HELIO_TEXT("0.1.0"),
                                   .profile = {.name = helio_text_of(name),
                                               .backend = HELIO_TEXT("local"),
                                               .region = HELIO_TEXT("EU-XX"),
                                               .pue = 1.2,
                                               .carbon_g_per_kwh = 20 + 5 * (double)peer,
                                               .containers = true,
                                               .leases = true,
                                               .pools = {pools, 2}}};
    step(self, HELIO_BROKER_EV_SITE_HELLO, &hello);
    helio_ev_site_inventory_t inventory = {.peer = peer, .last = true};
    step(self, HELIO_BROKER_EV_SITE_INVENTORY, &inventory);
    summarize(self, peer);
}

static void report(world_t *self, const run_t *run, const uint32_t *kinds, uint32_t count)
{
    helio_report_t reports[REPORTS_MAX];
    int64_t wall_ms = BEGIN_WALL_MS + self->now_ms;
    for (uint32_t i = 0; i < count; i++) {
        reports[i] = (helio_report_t){.seq = ++self->report_seq,
                                      .key = run->key,
                                      .epoch = run->epoch,
                                      .kind = kinds[i],
                                      .wall_ms = wall_ms,
                                      .started_wall_ms = wall_ms};
        if (kinds[i] == HELIO_REPORT_KIND_ENDED) {
            reports[i].started_wall_ms = wall_ms - 60000;
            reports[i].ended_wall_ms = wall_ms;
            reports[i].run_ms = reports[i].gpu_ms = 60000;
        }
    }
    helio_ev_site_reports_t event = {.peer = run->peer, .reports = {reports, count}};
    step(self, HELIO_BROKER_EV_SITE_REPORTS, &event);
}

/*  The sites begin all runs that they were told to. */
static void accept(world_t *self)
{
    static const uint32_t kinds[] = {HELIO_REPORT_KIND_ACCEPTED, HELIO_REPORT_KIND_STARTING, HELIO_REPORT_KIND_RUNNING};
    for (; self->accepted < self->run_count; self->accepted++)
        report(self, &self->runs[self->accepted], kinds, 3);
}

/*  Any run. */
static void end_one(world_t *self)
{
    static const uint32_t kinds[] = {HELIO_REPORT_KIND_ENDED};
    uint32_t at = (uint32_t)helio_rng_below(&self->rng, self->run_count);
    run_t run = self->runs[at];
    self->runs[at] = self->runs[--self->run_count];
    self->accepted = self->run_count;
    report(self, &run, kinds, 1);
}

/* ---- jobs -------------------------------------------------------------------------------------------------- */

/*  Classes differ by tenant, queue, GPUs and time limit. A call is of one tenant. */
static void submit(world_t *self, uint32_t tenant, uint32_t count)
{
    static const uint32_t gpus[] = {1, 1, 1, 2, 1, 2, 4, 4};
    static const char source[] =
        "{\"gpus\": 1, \"run\": \"python train.py --config base.yaml --seed 1\", \"name\": "
        "\"train\", \"queue\": \"batch\", \"time\": \"4h\", \"retries\": 2, \"goal\": \"cheap\"}";
    const shape_t *shape = self->shape;
    uint32_t of_tenant = shape->classes / TENANTS ? shape->classes / TENANTS : 1;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t class = (uint32_t)helio_rng_below(&self->rng, of_tenant);
        bool whole = shape->gangs && class % 8 == 7;
        self->asks[i] = (helio_gpu_ask_t){.model = class % 16 < 8 ? HELIO_TEXT("H100") : HELIO_TEXT("A100"),
                                          .count = whole ? 8 : gpus[class % 8]};
        self->jobs[i] = (helio_submission_t){
            .source = {source, sizeof source - 1},
            .spec = {.queue = shape->preempting && class % shape->preempting == 0 ? HELIO_TEXT("standard")
                                                                                  : HELIO_TEXT("batch"),
                     .name = HELIO_TEXT("train"),
                     .nodes = 1,
                     .gpus = {&self->asks[i], 1},
                     .retries = 2,
                     .goal = HELIO_GOAL_CHEAP,
                     .on_better_site = shape->moves ? HELIO_BETTER_SITE_CHECKPOINT : 0,
                     .checkpoint_every_ms = shape->moves ? 60000 : 0,
                     .flexible_ms = shape->flexible_ms,
                     .time_limit_ms = 3600000 + UINT64_C(1000) * class}};
    }
    helio_ev_submit_t event = {.call = ++self->calls,
                               .tenant = helio_text_of(self->tenants[tenant]),
                               .user = HELIO_TEXT("ada"),
                               .jobs = {self->jobs, count}};
    step(self, HELIO_BROKER_EV_SUBMIT, &event);
}

static world_t *begin(const shape_t *shape)
{
    world_t *self = helio_new(1, sizeof *self);
    helio_broker_options_t options = helio_broker_options_default();
    self->shape = shape;
    self->core = helio_broker_core_new(options);
    self->effects = helio_effects_new();
    self->now_ms = 1000000;
    self->rng.state = 1;
    const helio_row_federation_t federation = {.incarnation = 1, .broker_epoch = 1, .seed = 42};
    step(self, HELIO_BROKER_EV_LOAD_FEDERATION, &federation);
    for (uint32_t i = 0; i < TENANTS; i++) {
        (void)snprintf(self->tenants[i], sizeof self->tenants[i], "tenant-%02u", i);
        const helio_row_tenant_t tenant = {.tenant = helio_text_of(self->tenants[i])};
        step(self, HELIO_BROKER_EV_LOAD_TENANT, &tenant);
    }
    const helio_row_queue_t queues[] = {{HELIO_TEXT("standard"), 500, HELIO_TIER_STANDARD, 3600000, false},
                                        {HELIO_TEXT("batch"), 100, HELIO_TIER_BEST_EFFORT, 3600000, false}};
    for (uint32_t i = 0; i < 2; i++)
        step(self, HELIO_BROKER_EV_LOAD_QUEUE, &queues[i]);
    step(self, HELIO_BROKER_EV_LOADED, NULL);
    for (uint64_t peer = 1; peer <= shape->sites; peer++)
        join(self, peer);
    return self;
}

static void end(world_t *self)
{
    helio_broker_core_destroy(&self->core);
    helio_effects_destroy(&self->effects);
    free(self->runs);
    free(self);
}

/* ---- rows -------------------------------------------------------------------------------------------------- */

static uint64_t queued(const world_t *self)
{
    helio_broker_figures_t figures;
    helio_broker_core_figures(self->core, &figures);
    return figures.jobs[HELIO_JOB_QUEUED];
}

/*  Fills all sites and the queue; nothing of that is counted. */
static void fill(world_t *self)
{
    for (uint32_t sent = 0; sent < self->shape->jobs; sent += CALL_JOBS)
        submit(self, sent / CALL_JOBS % TENANTS, CALL_JOBS);
    for (uint64_t before = 1; before != self->placed;) {
        before = self->placed;
        tick(self);
        accept(self);
    }
}

static void reset(world_t *self)
{
    memset(self->cpu_ns, 0, sizeof self->cpu_ns);
    self->placed = self->effects_count = 0;
    self->orders_hash = HELIO_HASH_SEED;
}

static void print_rates(const world_t *self)
{
    helio_broker_figures_t figures;
    helio_broker_core_figures(self->core, &figures);
    double tick_s = (double)self->cpu_ns[HELIO_BROKER_EV_TICK] / 1e9,
           reports_s = (double)self->cpu_ns[HELIO_BROKER_EV_SITE_REPORTS] / 1e9,
           submit_s = (double)self->cpu_ns[HELIO_BROKER_EV_SUBMIT] / 1e9, placed = (double)self->placed;
    printf("%-8s %4u sites %6llu classes %8llu queued %8llu placed: %8.0f /core-s in rounds, %8.0f with reports and "
           "submissions (us each: round %.1f, reports %.1f, submit %.1f; %.1f effects; orders %016llx)\n",
           self->shape->name, self->shape->sites, (unsigned long long)figures.classes, (unsigned long long)queued(self),
           (unsigned long long)self->placed, placed / tick_s, placed / (tick_s + reports_s + submit_s),
           1e6 * tick_s / placed, 1e6 * reports_s / placed, 1e6 * submit_s / placed,
           (double)self->effects_count / placed, (unsigned long long)self->orders_hash);
}

/*  Batches arrive, find all capacity free, run and end. */
static void measure_empty(const shape_t *shape)
{
    world_t *self = begin(shape);
    for (uint32_t i = 0; i < shape->changes; i++) {
        submit(self, i % TENANTS, CALL_JOBS);
        tick(self);
        accept(self);
        while (self->run_count)
            end_one(self);
        if (i == 1)
            reset(self);
    }
    print_rates(self);
    end(self);
}

/*  One run after another ends, and a round follows each. */
static void measure_waiting(const shape_t *shape)
{
    world_t *self = begin(shape);
    fill(self);
    reset(self);
    for (uint32_t i = 0; i < shape->changes; i++) {
        end_one(self);
        tick(self);
        accept(self);
    }
    print_rates(self);
    end(self);
}

/*  An hour later all scores are others: the next round judges every class anew. */
static void measure_rank(const shape_t *shape)
{
    world_t *self = begin(shape);
    fill(self);
    for (uint32_t i = 0; i < 3; i++) {
        for (uint64_t peer = 1; peer <= shape->sites; peer++) {
            helio_ev_site_renew_t renew = {peer, 1};
            step(self, HELIO_BROKER_EV_SITE_RENEW, &renew);
        }
        end_one(self);
        self->now_ms += 30000;
        tick(self);
        self->now_ms += 3600000 - 30000;
        for (uint64_t peer = 1; peer <= shape->sites; peer++) {
            helio_ev_site_renew_t renew = {peer, 1};
            step(self, HELIO_BROKER_EV_SITE_RENEW, &renew);
        }
        end_one(self);
        reset(self);
        tick(self);
        printf("%-8s %4u sites %6u classes %8llu queued: %.3f core-s for a round that judges all anew\n", shape->name,
               shape->sites, shape->classes, (unsigned long long)queued(self),
               (double)self->cpu_ns[HELIO_BROKER_EV_TICK] / 1e9);
    }
    end(self);
}

static void measure_memory(const shape_t *shape)
{
    world_t *self = begin(shape);
    fill(self); /* the same number again is counted */
    uint64_t before = queued(self);
    struct mallinfo2 then = mallinfo2();
    fill(self);
    struct mallinfo2 now = mallinfo2();
    printf("%-8s %8llu more queued in %u classes: %.0f bytes each\n", shape->name,
           (unsigned long long)(queued(self) - before), shape->classes,
           (double)(now.uordblks + now.hblkhd - then.uordblks - then.hblkhd) / (double)(queued(self) - before));
    end(self);
}

int main(int argc, char **argv)
{
    static const struct {
        shape_t shape;
        void (*measure)(const shape_t *shape);
    } rows[] = {
        {{"empty", 9, 64, 1500, 0, 60, false, 0, false, 0}, measure_empty},
        {{"waiting", 9, 64, 1500, 100000, 4000, false, 0, false, 0}, measure_waiting},
        {{"wide", 100, 12, 10000, 200000, 1000, false, 0, false, 0}, measure_waiting},
        {{"standard", 9, 64, 1500, 100000, 4000, false, 1, false, 0}, measure_waiting},
        {{"mixed", 9, 64, 1500, 100000, 1000, true, 4, false, 0}, measure_waiting},
        {{"moves", 9, 64, 1500, 100000, 1000, false, 0, true, 0}, measure_waiting},
        {{"flexible", 9, 64, 1500, 100000, 1000, false, 0, false, 7200000}, measure_waiting},
        {{"rank", 9, 64, 10000, 1000000, 0, false, 0, false, 0}, measure_rank},
        {{"memory", 9, 64, 1500, 300000, 0, false, 0, false, 0}, measure_memory},
    };
    int known = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        shape_t shape = rows[i].shape;
        if (argc > 1 && strcmp(argv[1], shape.name) != 0)
            continue;
        if (argc > 2)
            shape.changes = (uint32_t)strtoul(argv[2], NULL, 10);
        rows[i].measure(&shape);
        known++;
    }
    if (!known)
        fprintf(stderr,
                "usage: bench_engine [empty|waiting|wide|standard|mixed|moves|flexible|rank|memory [CHANGES]]\n");
    return known ? 0 : 2;
}
