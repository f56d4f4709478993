/*  energy_account_testing.h -- an energy account in a folder of its own, and two GPUs whose counters a file
 * holds. */
#ifndef HELIO_TESTS_SITE_AGENT_TELEMETRY_ENERGY_ACCOUNT_TESTING_H
#define HELIO_TESTS_SITE_AGENT_TELEMETRY_ENERGY_ACCOUNT_TESTING_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <math.h>

#include "site-agent/telemetry/energy_account.h"
#include "tests/support/folder.h"

static const int64_t H = 3600000, BEGIN = INT64_C(1795003200000); /* an hour begins */

typedef struct fixture {
    helio_arena_t *arena;
    helio_site_profile_t site;
    helio_pool_t pools[2];
    helio_nvml_t *nvml;
    helio_energy_account_t *energy_account;
    char folder[64], counters[128], path[128];
} fixture_t;

static inline void counters(const fixture_t *self, unsigned long long first_j, int first_busy,
                            unsigned long long second_j)
{
    FILE *file = fopen(self->counters, "we");
    assert_non_null(file);
    (void)fprintf(file, "%llu %d\n%llu 0\n", first_j * 1000, first_busy, second_j * 1000);
    (void)fclose(file);
}

static inline int make(void **state)
{
    fixture_t *self = helio_new(1, sizeof *self);
    self->arena = helio_arena_new();
    self->site = (helio_site_profile_t){.name = HELIO_TEXT("lulea"), .pue = 1.5, .pools = {self->pools, 1}};
    self->pools[0] = (helio_pool_t){.name = HELIO_TEXT("a"),
                                    .nodes = 1,
                                    .gpus_per_node = 2,
                                    .idle_w = 50,
                                    .base_w = 100,
                                    .slope_w = 200,
                                    .host_w = 80};
    self->pools[1] = (helio_pool_t){.name = HELIO_TEXT("b"),
                                    .nodes = 4,
                                    .gpus_per_node = 8,
                                    .idle_w = 10,
                                    .base_w = 20,
                                    .slope_w = 30,
                                    .host_w = 40};
    assert_true(folder_make(self->folder, sizeof self->folder, "helio-book"));
    (void)snprintf(self->counters, sizeof self->counters, "%s/counters", self->folder);
    (void)snprintf(self->path, sizeof self->path, "%s/energy.book", self->folder);
    (void)setenv("NVML_DOUBLE_NAMES", "NVIDIA L4;NVIDIA L4", 1);
    (void)setenv("NVML_DOUBLE_FILE", self->counters, 1);
    counters(self, 1000, 0, 5000);
    self->nvml = helio_nvml_new(HELIO_NVML_DOUBLE);
    *state = self;
    return 0;
}

static inline int unmake(void **state)
{
    fixture_t *self = *state;
    helio_energy_account_destroy(&self->energy_account);
    helio_nvml_destroy(&self->nvml);
    int left = folder_remove(self->folder);
    helio_arena_destroy(&self->arena);
    free(self);
    (void)unsetenv("NVML_DOUBLE_FILE");
    return left;
}

static inline void open_energy_account(fixture_t *self, bool measured, int64_t wall_ms)
{
    helio_energy_account_destroy(&self->energy_account);
    helio_energy_account_options_t options = {&self->site, measured ? self->nvml : NULL, self->folder, wall_ms};
    self->energy_account = helio_energy_account_new(&options);
}

/*  Joules of an hour; -1 = not known. */
static inline double joules(fixture_t *self, const char *pool, const char *kind, int64_t hour_ms, int64_t wall_ms)
{
    helio_series_t series[8];
    uint32_t count = helio_energy_account_series(self->energy_account, wall_ms, self->arena, series);
    for (uint32_t i = 0; i < count; i++) {
        int64_t at = (hour_ms - series[i].start_wall_ms) / H;
        assert_int_equal(series[i].signal, HELIO_SIGNAL_POWER);
        if (helio_text_is(series[i].pool, pool) && helio_text_is(series[i].kind, kind) && at >= 0 &&
            at < series[i].values.count)
            return series[i].values.items[at] < 0 ? -1 : series[i].values.items[at] * 3600;
    }
    return -1;
}

static inline bool near(double a, double b)
{
    return fabs(a - b) < 1e-6 * (1 + fabs(b));
}

#endif
