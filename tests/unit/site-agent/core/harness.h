/*  harness.h -- a site around the core: a clock that is moved by hand, a journal in memory that only keeps
 * what was committed, and everything that the core told the broker and the backend. Each test program
 * includes it once.
 */
#ifndef HELIO_TEST_AGENT_HARNESS_H
#define HELIO_TEST_AGENT_HARNESS_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "federation/reason/codes.h"
#include "site-agent/core/agent_core.h"

enum { ROWS_MAX = 4096, LOG_MAX = 20000 };

typedef struct entry {
    uint32_t kind;
    uint64_t batch;
    void *record;
} entry_t;

typedef struct site {
    helio_agent_options_t options;
    helio_site_profile_t profile;
    helio_pool_t pools[2];
    helio_agent_core_t *core;
    helio_effects_t *effects;
    helio_arena_t *arena;
    int64_t now_ms, wall_ms;
    uint64_t batch; /* open */
    entry_t rows[ROWS_MAX];
    uint32_t row_count;
    entry_t open_rows[ROWS_MAX];
    uint32_t open_count;
    entry_t log[LOG_MAX]; /* effects since clear_log */
    uint32_t log_count;
} site_t;

static inline helio_job_key_t key_of(uint8_t number)
{
    helio_job_key_t key = {.task = HELIO_NO_TASK};
    key.job.bytes[0] = 1;
    key.job.bytes[15] = number;
    return key;
}

static inline void step(site_t *site, uint32_t kind, const void *payload)
{
    static const helio_aev_nothing_t nothing = {0};
    helio_event_t event = {kind, site->now_ms, site->wall_ms, payload ? payload : &nothing};
    helio_effects_reset(site->effects);
    helio_agent_core_step(site->core, &event, site->effects);
    helio_agent_core_check(site->core);
    for (uint32_t i = 0; i < site->effects->count; i++) {
        const helio_effect_t *effect = &site->effects->items[i];
        assert_true(effect->release == helio_agent_effects[effect->kind].release);
        assert_int_equal(effect->batch, site->batch);
        const helio_record_type_t *type = helio_agent_effects[effect->kind].type;
        entry_t entry = {effect->kind, effect->batch, helio_arena_alloc(site->arena, 1, type->size)};
        helio_record_copy(type, site->arena, effect->payload, entry.record);
        assert_true(site->log_count < LOG_MAX);
        site->log[site->log_count++] = entry;
        if (effect->release == HELIO_RELEASE_ROW) {
            assert_true(site->open_count < ROWS_MAX);
            site->open_rows[site->open_count++] = entry;
        }
    }
}

static inline bool same_row(const entry_t *a, const entry_t *b)
{
    if (a->kind != b->kind)
        return false;
    if (a->kind == HELIO_AGENT_FX_ROW_META)
        return true;
    if (a->kind == HELIO_AGENT_FX_ROW_SEEN)
        return helio_job_key_equal(((helio_jrow_seen_t *)a->record)->key, ((helio_jrow_seen_t *)b->record)->key);
    if (a->kind == HELIO_AGENT_FX_ROW_REPORT)
        return ((helio_report_t *)a->record)->seq == ((helio_report_t *)b->record)->seq;
    const helio_order_t *x = &((helio_jrow_attempt_t *)a->record)->order;
    const helio_order_t *y = &((helio_jrow_attempt_t *)b->record)->order;
    return x->epoch == y->epoch && helio_job_key_equal(x->key, y->key);
}

static inline void commit_row(site_t *site, const entry_t *row)
{
    if (row->kind == HELIO_AGENT_FX_ROW_ACKED) {
        uint64_t seq = ((helio_jrow_acked_t *)row->record)->seq;
        uint32_t kept = 0;
        for (uint32_t i = 0; i < site->row_count; i++)
            if (site->rows[i].kind != HELIO_AGENT_FX_ROW_REPORT || ((helio_report_t *)site->rows[i].record)->seq > seq)
                site->rows[kept++] = site->rows[i];
        site->row_count = kept;
        return;
    }
    uint32_t at = 0;
    while (at < site->row_count && !same_row(&site->rows[at], row))
        at++;
    bool gone =
        row->kind == HELIO_AGENT_FX_ROW_ATTEMPT && ((helio_jrow_attempt_t *)row->record)->state == HELIO_JOB_QUEUED;
    if (gone && at < site->row_count) {
        memmove(&site->rows[at], &site->rows[at + 1], (site->row_count - at - 1) * sizeof site->rows[0]);
        site->row_count--;
    } else if (!gone) {
        assert_true(at < ROWS_MAX);
        site->rows[at] = *row;
        if (at == site->row_count)
            site->row_count++;
    }
}

/*  Seals and commits the open batch. */
static inline void commit(site_t *site)
{
    helio_aev_sealed_t sealed = {site->batch};
    helio_event_t event = {HELIO_AGENT_EV_SEALED, site->now_ms, site->wall_ms, &sealed};
    helio_effects_reset(site->effects);
    helio_agent_core_step(site->core, &event, site->effects);
    helio_agent_core_check(site->core);
    assert_int_equal(site->effects->count, 0);
    site->batch++;
    for (uint32_t i = 0; i < site->open_count; i++)
        commit_row(site, &site->open_rows[i]);
    site->open_count = 0;
}

static inline void clear_log(site_t *site)
{
    site->log_count = 0;
}

/*  The agent dies; what was not committed is lost; a new one reads the journal. Its backend has not reported yet. */
static inline void reload_as(site_t *site, bool damaged)
{
    helio_agent_core_destroy(&site->core);
    site->core = helio_agent_core_new(site->options, &site->profile);
    site->batch = 1;
    site->open_count = 0;
    clear_log(site);
    if (damaged)
        site->row_count = 0;
    static const struct {
        uint32_t row, event;
    } order[] = {{HELIO_AGENT_FX_ROW_META, HELIO_AGENT_EV_LOAD_META},
                 {HELIO_AGENT_FX_ROW_SEEN, HELIO_AGENT_EV_LOAD_SEEN},
                 {HELIO_AGENT_FX_ROW_ATTEMPT, HELIO_AGENT_EV_LOAD_ATTEMPT},
                 {HELIO_AGENT_FX_ROW_REPORT, HELIO_AGENT_EV_LOAD_REPORT}};
    for (size_t k = 0; k < sizeof order / sizeof order[0]; k++)
        for (uint32_t i = 0; i < site->row_count; i++)
            if (site->rows[i].kind == order[k].row)
                step(site, order[k].event, site->rows[i].record);
    helio_aev_loaded_t loaded = {damaged};
    step(site, HELIO_AGENT_EV_LOADED, &loaded);
}

static inline void restart_as(site_t *site, bool damaged)
{
    reload_as(site, damaged);
    step(site, HELIO_AGENT_EV_SURVEYED, NULL);
}

static inline void restart(site_t *site)
{
    restart_as(site, false);
}

/*  gpu: 4 nodes of 8 GPUs; cpu: 2 nodes without. */
static inline void site_begin_with(site_t *site, helio_agent_options_t options)
{
    memset(site, 0, sizeof *site);
    site->options = options;
    site->pools[0] = (helio_pool_t){.name = HELIO_TEXT("gpu"),
                                    .gpu = HELIO_TEXT("H100"),
                                    .nodes = 4,
                                    .gpus_per_node = 8,
                                    .cpus_per_node = 64,
                                    .memory_bytes_per_node = UINT64_C(512) << 30,
                                    .idle_w = 60,
                                    .base_w = 80,
                                    .slope_w = 240,
                                    .host_w = 100};
    site->pools[1] = (helio_pool_t){.name = HELIO_TEXT("cpu"), .nodes = 2, .cpus_per_node = 32};
    site->profile = (helio_site_profile_t){.name = HELIO_TEXT("lulea"), .backend = HELIO_TEXT("local"), .pue = 1.1};
    site->profile.pools.items = site->pools;
    site->profile.pools.count = 2;
    site->effects = helio_effects_new();
    site->arena = helio_arena_new();
    site->now_ms = 1000000;
    site->wall_ms = INT64_C(1795000000000);
    restart(site);
    commit(site);
    clear_log(site);
}

static inline void site_begin(site_t *site)
{
    site_begin_with(site, (helio_agent_options_t){.allocates = true, .attempts_max = 100, .kill_margin_ms = 60000});
}

static inline void site_end(site_t *site)
{
    helio_agent_core_destroy(&site->core);
    helio_effects_destroy(&site->effects);
    helio_arena_destroy(&site->arena);
}

/* ---- what the core said -------------------------------------------------------------------------------- */

static inline uint32_t count_of(const site_t *site, uint32_t kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < site->log_count; i++)
        count += site->log[i].kind == kind;
    return count;
}

static inline const void *last_of(const site_t *site, uint32_t kind)
{
    for (uint32_t i = site->log_count; i-- > 0;)
        if (site->log[i].kind == kind)
            return site->log[i].record;
    return NULL;
}

/*  The last report of a kind that became a row; NULL when there was none. */
static inline const helio_report_t *report_row(const site_t *site, uint32_t kind)
{
    for (uint32_t i = site->log_count; i-- > 0;)
        if (site->log[i].kind == HELIO_AGENT_FX_ROW_REPORT && ((helio_report_t *)site->log[i].record)->kind == kind)
            return site->log[i].record;
    return NULL;
}

static inline helio_agent_figures_t figures(const site_t *site)
{
    helio_agent_figures_t figures;
    helio_agent_core_figures(site->core, &figures);
    return figures;
}

/* ---- what the world does ------------------------------------------------------------------------------- */

static inline void later(site_t *site, int64_t ms)
{
    site->now_ms += ms;
    site->wall_ms += ms;
    step(site, HELIO_AGENT_EV_TICK, NULL);
}

static inline helio_aev_welcome_t welcome_of(uint64_t incarnation, uint64_t broker_epoch)
{
    return (helio_aev_welcome_t){.incarnation = incarnation,
                                 .broker_epoch = broker_epoch,
                                 .lease_ms = 900000,
                                 .renew_ms = 90000,
                                 .summary_ms = 1000};
}

static inline void rule_on(site_t *site, uint8_t number, uint32_t epoch, uint32_t verdict, bool last)
{
    helio_attempt_verdict_t attempt_verdict = {key_of(number), epoch, verdict};
    helio_aev_verdicts_t verdicts = {.verdicts = {&attempt_verdict, number ? 1 : 0}, .last = last};
    step(site, HELIO_AGENT_EV_VERDICTS, &verdicts);
}

static inline void open_until_inventory(site_t *site)
{
    step(site, HELIO_AGENT_EV_CONNECTED, NULL);
    helio_aev_welcome_t welcome = welcome_of(1, 1);
    step(site, HELIO_AGENT_EV_WELCOME, &welcome);
}

static inline void open_session(site_t *site)
{
    open_until_inventory(site);
    rule_on(site, 0, 0, 0, true);
}

static inline helio_order_t order_of(uint8_t number, uint32_t epoch, uint32_t nodes, uint32_t gpus)
{
    return (helio_order_t){.dispatch_seq = number,
                           .key = key_of(number),
                           .epoch = epoch,
                           .tenant = HELIO_TEXT("nlp"),
                           .user = HELIO_TEXT("ada"),
                           .pool = HELIO_TEXT("gpu"),
                           .nodes = nodes,
                           .gpus_per_node = gpus,
                           .source = HELIO_TEXT("run: train")};
}

static inline void give(site_t *site, const helio_order_t *order)
{
    helio_order_t copy = *order;
    helio_aev_orders_t orders = {.incarnation = 1, .orders = {&copy, 1}};
    step(site, HELIO_AGENT_EV_ORDERS, &orders);
}

static inline void stop_it(site_t *site, uint8_t number, uint32_t epoch, uint32_t mode)
{
    helio_stop_t stop = {key_of(number), epoch, mode, HELIO_TEXT("Cancelled"), HELIO_CAUSE_STOPPED};
    helio_aev_stops_t stops = {.stops = {&stop, 1}};
    step(site, HELIO_AGENT_EV_STOPS, &stops);
}

static inline helio_aev_backend_t backend_of(uint8_t number, uint32_t epoch, uint32_t word)
{
    return (helio_aev_backend_t){.key = key_of(number), .epoch = epoch, .word = word};
}

static inline void backend_says(site_t *site, uint8_t number, uint32_t epoch, uint32_t word)
{
    helio_aev_backend_t event = backend_of(number, epoch, word);
    event.started_wall_ms =
        word == HELIO_BACKEND_REPORT_STARTED || word == HELIO_BACKEND_REPORT_ENDED ? site->wall_ms : 0;
    step(site, HELIO_AGENT_EV_BACKEND, &event);
}

static inline void acknowledge(site_t *site, uint64_t seq)
{
    helio_aev_ack_t ack = {seq};
    step(site, HELIO_AGENT_EV_REPORTS_ACK, &ack);
}

static inline uint64_t last_seq(const site_t *site)
{
    uint64_t seq = 0;
    for (uint32_t i = 0; i < site->log_count; i++)
        if (site->log[i].kind == HELIO_AGENT_FX_ROW_REPORT)
            seq = ((helio_report_t *)site->log[i].record)->seq;
    return seq;
}

#endif
