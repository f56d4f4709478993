/*  life_testing.h -- two sites, and jobs in any state: what reports and commands lead to. */
#ifndef HELIO_TESTS_BROKER_CORE_LIFE_TESTING_H
#define HELIO_TESTS_BROKER_CORE_LIFE_TESTING_H

#include "tests/unit/broker/core/two_sites_testing.h"

/*  A job at north (the cheaper one), in the state. */
static inline helio_job_key_t job_in_state(const helio_job_spec_t *spec, uint32_t state)
{
    helio_job_key_t key = harness_job(h, spec);
    harness_tick(h);
    assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
    if (state == HELIO_JOB_STOPPING) {
        harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_RUNNING);
        harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, key);
    } else if (state != HELIO_JOB_OFFERED) {
        harness_run_up_to(h, NORTH, key, 1, state);
    }
    harness_clear(h);
    return key;
}

static inline helio_job_key_t any_in_state(uint32_t state)
{
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    return job_in_state(&spec, state);
}

/*  Of a job that may run at north alone, whatever has failed there. */
static inline helio_job_key_t north_in_state(uint32_t state)
{
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    helio_string_t only = {HELIO_TEXT("north")};
    spec.sites.items = &only;
    spec.sites.count = 1;
    return job_in_state(&spec, state);
}

/*  One STOP of this mode, or none: -1. */
static inline void assert_stop(int mode)
{
    const helio_fx_stop_t *stop = harness_take(h, HELIO_BROKER_FX_STOP);
    assert_int_equal(stop ? (int)stop->stop.mode : -1, mode);
    assert_null(harness_take(h, HELIO_BROKER_FX_STOP));
}

/*  The agent comes back, as one of this backend and version. */
static inline void rejoin(helio_job_key_t key, const char *backend, uint32_t protocol)
{
    helio_site_profile_t profile = *north;
    helio_holding_t holding = {.key = key, .epoch = 1, .state = HELIO_JOB_RUNNING};
    profile.backend = helio_text_of(backend);
    helio_ev_site_hello_t hello = {.site = profile.name,
                                   .peer = NORTH,
                                   .agent_version = HELIO_TEXT("0.1.0"),
                                   .profile = profile,
                                   .protocol = protocol};
    harness_step(h, HELIO_BROKER_EV_SITE_HELLO, &hello);
    harness_inventory(h, NORTH, &holding, 1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin_joined, end)

#endif
