/*  choice_testing.h -- one pool of one site, and a class that it is judged for.
 *
 *  Where a class may run, and what it would cost there.
 */
#ifndef HELIO_TESTS_FEDERATION_POLICY_CHOICE_TESTING_H
#define HELIO_TESTS_FEDERATION_POLICY_CHOICE_TESTING_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "federation/base/rng.h"
#include "federation/policy/choice.h"

enum { HOUR_MS = 3600000 };

static helio_gpu_ask_t asks[8];
static helio_string_t words[8];
static helio_requirement_t want;
static helio_site_profile_t site;
static helio_pool_t pool;
static helio_site_now_t now;

/*  8 H100 for an hour, at a site that has them, for 16 USD. */
static inline int begin(void **state)
{
    (void)state;
    memset(asks, 0, sizeof asks);
    memset(words, 0, sizeof words);
    asks[0] = (helio_gpu_ask_t){.model = HELIO_TEXT("H100"), .count = 8};
    want = (helio_requirement_t){.gpus = {asks, 1}, .nodes = 1, .time_limit_ms = HOUR_MS};
    site = (helio_site_profile_t){.name = HELIO_TEXT("eu-north"),
                                  .backend = HELIO_TEXT("slurm"),
                                  .region = HELIO_TEXT("EU-SE"),
                                  .pue = 1,
                                  .carbon_g_per_kwh = 30,
                                  .containers = true,
                                  .leases = true};
    pool = (helio_pool_t){.name = HELIO_TEXT("a"),
                          .gpu = HELIO_TEXT("H100"),
                          .gpu_memory_bytes = UINT64_C(80) << 30,
                          .nodes = 2,
                          .gpus_per_node = 8,
                          .cpus_per_node = 64,
                          .memory_bytes_per_node = UINT64_C(512) << 30,
                          .interconnect = HELIO_INTERCONNECT_NVLINK,
                          .price_usd_per_gpu_h = 2};
    now = (helio_site_now_t){.ready = true, .wall_ms = INT64_C(1772323200000)};
    return 0;
}

static helio_pool_forecast_t pool_forecast;

/*  Of a site that sends no series. */
static inline helio_candidate_t judge(void)
{
    helio_pool_forecast_make(&pool_forecast, &site, &pool, NULL, 0, now.wall_ms);
    now.pool_forecast = &pool_forecast;
    return helio_choice_judge(&want, &site, &pool, &now);
}

static inline void set_words(void *ret_list, const char *list)
{
    uint32_t count = 0;
    helio_list_t *out = ret_list;
    while (*list) {
        const char *comma = strchr(list, ',');
        size_t size = comma ? (size_t)(comma - list) : strlen(list);
        words[count++].text = (helio_text_t){list, (uint32_t)size};
        list += size + (comma ? 1 : 0);
    }
    out->items = words;
    out->count = count;
}

#define CASE(name) cmocka_unit_test_setup(name, begin)

#endif
