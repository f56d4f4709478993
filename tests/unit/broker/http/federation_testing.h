/*  federation_testing.h -- a federation of three sites in a core harness, and its rows in a real database. */
#ifndef HELIO_TESTS_HTTP_FEDERATION_TESTING_H
#define HELIO_TESTS_HTTP_FEDERATION_TESTING_H

#include "tests/support/core_harness.h"

#include <poll.h>
#include <string.h>

#include "broker/store/store.h"
#include "federation/base/clock.h"

enum { NORTH = 1, SOUTH = 2, WEST = 3, HOUR = 3600000, PATIENCE_MS = 60000 };

static harness_t *h;
static helio_site_profile_t *sites[3];

/* ---- a federation of three sites: H100 at north and south, A100 at west -------------------------------- */

static inline int begin(void **state)
{
    (void)state;
    static const struct {
        const char *name, *gpu;
        uint32_t nodes;
        double price;
    } table[] = {{"north", "H100", 2, 1.5}, {"south", "H100", 2, 2.5}, {"west", "A100", 2, 1}};
    h = harness_begin(NULL);
    for (int i = 0; i < 3; i++) {
        sites[i] = harness_site(h, table[i].name);
        harness_pool(h, sites[i], "a", table[i].gpu, table[i].nodes, 8, table[i].price)->base_w = 700;
        harness_join(h, NORTH + (uint64_t)i, sites[i]);
    }
    return 0;
}

static inline int end(void **state)
{
    (void)state;
    harness_end(&h);
    return 0;
}

static inline helio_job_key_t job_of(const char *tenant, const helio_job_spec_t *spec)
{
    const helio_fx_reply_t *answer = harness_submit(h, tenant, spec);
    assert_int_equal(answer->rc, HELIO_OK);
    helio_job_key_t key = {answer->jobs.items[0].job, HELIO_NO_TASK};
    harness_tick(h);
    return key;
}

static inline helio_job_spec_t spec_of(const char *name, uint32_t nodes)
{
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    spec.name = helio_text_of(name);
    spec.nodes = nodes;
    return spec;
}

/*  Another tenant's jobs take all H100. */
static inline void fill(void)
{
    for (int i = 0; i < 2; i++) {
        helio_job_spec_t spec = spec_of("filler", 2);
        spec.time_limit_ms = (uint64_t)(2 + i) * HOUR;
        helio_job_key_t key = job_of("other", &spec);
        harness_run_up_to(h, helio_text_is(harness_row(h, key)->site, "north") ? NORTH : SOUTH, key, 1,
                          HELIO_JOB_RUNNING);
    }
}

static inline void tell_carbon(uint64_t peer, const double *hours, uint32_t count)
{
    double *copy = helio_arena_alloc(harness_arena(h), count, sizeof *copy);
    memcpy(copy, hours, count * sizeof *copy);
    helio_series_t series = {.signal = HELIO_SIGNAL_CARBON,
                             .kind = HELIO_TEXT("average"),
                             .issued_wall_ms = harness_wall_ms(h),
                             .start_wall_ms = harness_wall_ms(h),
                             .step_s = 3600,
                             .values = {copy, count}};
    harness_series(h, peer, &series, 1);
}

/* ---- the way of an answer ------------------------------------------------------------------------------ */

static inline void commit(const char *conninfo)
{
    helio_error_t err = {.text = ""};
    assert_int_equal(helio_store_put_tenant(conninfo, "acme", "north", NULL, &err), HELIO_OK);
    assert_int_equal(helio_store_put_tenant(conninfo, "other", "", NULL, &err), HELIO_OK);
    helio_store_t *store = helio_store_new((helio_store_options_t){.conninfo = conninfo});
    if (helio_store_open(store, &err) != HELIO_OK)
        fail_msg("open: %s", err.text);
    for (uint32_t kind = 0; kind < HELIO_BROKER_EFFECT_COUNT; kind++) {
        void *record;
        while (helio_broker_effects[kind].release == HELIO_RELEASE_ROW &&
               (record = (void *)(uintptr_t)harness_take(h, kind))) {
            helio_effect_t effect = {kind, HELIO_RELEASE_ROW, helio_store_open_batch(store), record};
            helio_store_append(store, &effect);
        }
    }
    uint64_t batch = helio_store_open_batch(store);
    helio_store_seal(store, harness_mark(h));
    int64_t give_up_ms = helio_clock_boot_ms() + PATIENCE_MS;
    while (helio_store_committed(store) < batch) {
        struct pollfd fd = {.fd = helio_store_fd(store),
                            .events = (short)(POLLIN | (helio_store_wants_write(store) ? POLLOUT : 0))};
        (void)poll(&fd, fd.fd >= 0, 20);
        if (helio_store_process(store, helio_clock_boot_ms(), &err) != HELIO_OK || helio_clock_boot_ms() > give_up_ms)
            fail_msg("not committed: %s", err.text);
    }
    helio_store_destroy(&store);
}

#endif
