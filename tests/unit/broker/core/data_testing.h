/*  data_testing.h -- two sites, one of which has the data: what transfers mean for decisions and accounts. */
#ifndef HELIO_TESTS_BROKER_CORE_DATA_TESTING_H
#define HELIO_TESTS_BROKER_CORE_DATA_TESTING_H

#include <string.h>

#include "federation/base/rng.h"
#include "federation/energy/account.h"
#include "tests/support/core_harness.h"

enum { NORTH = 1, SOUTH = 2, HOUR_MS = 3600000, SITES = 2 };

#define SITES_OF(...) ((const char *const[]){__VA_ARGS__, NULL})

static const uint64_t GB = 1000000000;

/*  Two sites of one price and one intensity; north would win the tie. */
static inline harness_t *begin(void)
{
    harness_t *h = harness_begin(NULL);
    static const char *const names[SITES] = {"north", "south"};
    for (uint32_t i = 0; i < SITES; i++) {
        helio_site_profile_t *site = harness_site(h, names[i]);
        (void)harness_pool(h, site, "h100", "H100", 4, 8, 2);
        site->carbon_g_per_kwh = i ? 300 : 100;
        harness_join(h, i + 1, site);
    }
    harness_tick(h);
    harness_clear(h);
    return h;
}

static inline helio_job_spec_t reader(harness_t *h, uint64_t bytes)
{
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    spec.prices_set = true; /* money alone */
    harness_reads(h, &spec, "s3://acme/corpus/en", bytes);
    return spec;
}

static inline helio_planned_t plan(harness_t *h, const helio_job_spec_t *spec)
{
    helio_submission_t one = harness_submission(h, spec, "", "");
    helio_ev_submit_t event = {
        .call = 4711, .tenant = HELIO_TEXT("acme"), .user = HELIO_TEXT("ada"), .jobs = {&one, 1}};
    harness_clear(h);
    harness_step(h, HELIO_BROKER_EV_PLAN, &event);
    const helio_fx_reply_t *reply = harness_take(h, HELIO_BROKER_FX_REPLY);
    assert_int_equal(reply->rc, HELIO_OK);
    return reply->plan;
}

static inline const helio_row_candidate_t *candidate(const helio_planned_t *plan, const char *site)
{
    for (uint32_t i = 0; i < plan->candidates.count; i++)
        if (helio_text_is(plan->candidates.items[i].row.site, site))
            return &plan->candidates.items[i].row;
    fail_msg("no candidate at %s", site);
    return NULL;
}

static inline void assert_text(helio_text_t text, const char *expected)
{
    if (!helio_text_is(text, expected))
        fail_msg("'%.*s' is not '%s'", HELIO_TEXT_ARGS(text), expected);
}

#endif
