/*  store_testing.h -- rows that tests store in a real PostgreSQL, and a store that is driven until they are durable. */
#ifndef HELIO_TESTS_BROKER_STORE_STORE_TESTING_H
#define HELIO_TESTS_BROKER_STORE_STORE_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/store/store.h"
#include "federation/base/clock.h"
#include "tests/support/pg_fixture.h"

enum { PATIENCE_MS = 30000, LOADED_MAX = 2048 };

static const char source_text[] = "name: hello\nrun: echo hello\n";
static const helio_uuid_t mark; /* from the first job on, unless a test says otherwise */

static const char hash_a[32] = {1, 2, 3}, hash_b[32] = {9};

static inline helio_uuid_t job_id(uint32_t number)
{
    uint8_t random[10] = {0};
    memcpy(random + 6, &number, sizeof number);
    return helio_uuid_v7(INT64_C(1795000000000) + number, random);
}

static inline helio_row_job_t job_row(uint32_t number)
{
    return (helio_row_job_t){.job = job_id(number),
                             .tenant = HELIO_TEXT("acme"),
                             .user = HELIO_TEXT("ada"),
                             .spec_hash = {hash_a, sizeof hash_a},
                             .source = HELIO_TEXT(source_text),
                             .name = HELIO_TEXT("hello"),
                             .queue = HELIO_TEXT("standard"),
                             .tier = 1,
                             .kind = 2,
                             .home_site = HELIO_TEXT("lulea"),
                             .gpu_model = HELIO_TEXT("H100"),
                             .gpus = 16,
                             .nodes = 2,
                             .time_limit_ms = 86400000,
                             .class_id = UINT64_C(0xfedcba9876543210),
                             .submitted_ms = INT64_C(1795000000123)};
}

/*  One detail that holds a text. The value must outlive it. */
static inline helio_details_t details_of(helio_value_t *value)
{
    static helio_detail_t details[16];
    static uint32_t used;
    helio_detail_t *detail = &details[used++ % 16];
    *detail = (helio_detail_t){.code = HELIO_DETAIL_STATE_REPORTED, .values = {value, 1}};
    return (helio_details_t){{detail, 1}};
}

static helio_value_t because[] = {{.text = {"because", 7}}};

static inline helio_row_state_t state_row(uint32_t number, int32_t task, uint32_t state)
{
    return (helio_row_state_t){.key = {job_id(number), task},
                               .state = state,
                               .before = HELIO_JOB_RUNNING,
                               .intent = 1,
                               .epoch = 3,
                               .attempts = 2,
                               .failures = 1,
                               .site_failures = 1,
                               .site = HELIO_TEXT("lulea"),
                               .pool = HELIO_TEXT("h100"),
                               .why = details_of(because),
                               .started_ms = INT64_C(1795000001001),
                               .finished_ms = 0,
                               .exit_code = -1,
                               .gpu_ms = UINT64_C(123456789012),
                               .cost_micro_usd = 42,
                               .energy_j = 43,
                               .carbon_mg = 44,
                               .units_done = 45,
                               .at_ms = INT64_C(1795000002999),
                               .preemptions = 4,
                               .saved_ms = 46,
                               .migrations = 3,
                               .haste = HELIO_HASTE_NOW};
}

static inline void append(helio_store_t *store, uint32_t kind, const void *record)
{
    const helio_effect_t effect = {.kind = kind,
                                   .release = HELIO_RELEASE_ROW,
                                   .batch = helio_store_open_batch(store),
                                   .payload = (void *)(uintptr_t)record};
    helio_store_append(store, &effect);
}

static inline helio_store_t *opened(const char *conninfo)
{
    helio_store_t *store = helio_store_new((helio_store_options_t){.conninfo = conninfo});
    helio_error_t err = {.text = ""};
    helio_rc rc = helio_store_open(store, &err);
    if (rc != HELIO_OK)
        fail_msg("open: %s", err.text);
    return store;
}

/*  As the engine's loop: waits for the socket, moves on. Until `batch` is committed, or process says
 * otherwise. */
static inline helio_rc drive(helio_store_t *store, uint64_t batch, helio_error_t *err)
{
    int64_t give_up_ms = helio_clock_boot_ms() + PATIENCE_MS;
    while (helio_store_committed(store) < batch) {
        if (helio_clock_boot_ms() > give_up_ms)
            fail_msg("batch %" PRIu64 " was not committed in time: %s", batch, helio_store_trouble(store));
        struct pollfd fd = {.fd = helio_store_fd(store),
                            .events = (short)(POLLIN | (helio_store_wants_write(store) ? POLLOUT : 0))};
        (void)poll(&fd, fd.fd >= 0, 20);
        helio_rc rc = helio_store_process(store, helio_clock_boot_ms(), err);
        if (rc != HELIO_OK)
            return rc;
    }
    return HELIO_OK;
}

static inline void commit(helio_store_t *store)
{
    helio_error_t err = {.text = ""};
    uint64_t batch = helio_store_open_batch(store);
    assert_true(helio_store_can_seal(store));
    helio_store_seal(store, mark);
    if (drive(store, batch, &err) != HELIO_OK)
        fail_msg("commit: %s", err.text);
}

static inline void assert_value(const char *conninfo, const char *sql, const char *expected)
{
    char *value = helio_pg_value(conninfo, sql);
    assert_string_equal(value, expected);
    free(value);
}

typedef struct loaded {
    helio_arena_t *arena;
    uint32_t kinds[LOADED_MAX];
    void *records[LOADED_MAX];
    uint32_t count;
} loaded_t;

static inline void collect(void *arg, uint32_t kind, const void *payload)
{
    loaded_t *self = arg;
    const helio_record_type_t *type = helio_broker_events[kind].type;
    assert_true(self->count < LOADED_MAX);
    self->kinds[self->count] = kind;
    self->records[self->count] = helio_arena_alloc(self->arena, 1, type->size);
    helio_record_copy(type, self->arena, payload, self->records[self->count++]);
}

static inline loaded_t load(helio_store_t *store)
{
    loaded_t all = {.arena = helio_arena_new()};
    helio_error_t err = {.text = ""};
    if (helio_store_load(store, collect, &all, &err) != HELIO_OK)
        fail_msg("load: %s", err.text);
    return all;
}

/*  The nth record of a kind; NULL when there are fewer. */
static inline const void *nth(const loaded_t *all, uint32_t kind, uint32_t n)
{
    for (uint32_t i = 0; i < all->count; i++)
        if (all->kinds[i] == kind && n-- == 0)
            return all->records[i];
    return NULL;
}

/*  The same, and it is there. */
static inline const void *the(const loaded_t *all, uint32_t kind, uint32_t n)
{
    const void *record = nth(all, kind, n);
    if (!record) {
        fail_msg("no %s %u was loaded", helio_broker_events[kind].name, n);
        abort();
    }
    return record;
}

static inline int up(void **state)
{
    *state = helio_pg_up();
    return 0;
}

static inline int down(void **state)
{
    helio_pg_down((helio_pg_t **)state);
    return 0;
}

#endif
