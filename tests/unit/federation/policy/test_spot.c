/*  test_spot.c -- who may use spot capacity, and what its interruptions are expected to cost. */
#include "federation/policy/spot.h"
#include "tests/unit/federation/policy/choice_testing.h"

static const int64_t USD = 1000000;

/*  Of 8 GPU-hours for 16 USD on demand, for 8 on spot; a node is taken away once in ten hours. */
static int begin_spot(void **state)
{
    (void)begin(state);
    pool.spot = true;
    pool.spot_usd_per_gpu_h = 1;
    pool.interruptions_per_h = 0.1;
    want.spot = true;
    return 0;
}

static void spot__a_job_consents_by_a_checkpoint_or_by_a_word(void **state)
{
    (void)state;
    static const struct {
        const char *signal;
        uint64_t every_ms, grace_ms;
        uint32_t spot;
        bool consents;
        uint64_t lost_ms;
    } rows[] = {
        {"", 0, 0, HELIO_SPOT_AUTO, false, 0},
        {"USR1", 0, 0, HELIO_SPOT_AUTO, true, 30000},
        {"USR1", 600000, 90000, HELIO_SPOT_AUTO, true, 90000},
        {"", 600000, 90000, HELIO_SPOT_AUTO, true, 300000},
        {"USR1", 600000, 0, HELIO_SPOT_NEVER, false, 30000},
        {"", 0, 0, HELIO_SPOT_ALLOW, true, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        helio_job_spec_t spec = {.checkpoint_signal = helio_text_of(rows[i].signal),
                                 .checkpoint_every_ms = rows[i].every_ms,
                                 .checkpoint_grace_ms = rows[i].grace_ms,
                                 .spot = rows[i].spot};
        helio_requirement_t made = helio_requirement_of(&spec, (helio_text_t){0}, (helio_text_t){0}, HOUR_MS, 0);
        assert_int_equal(made.spot, rows[i].consents);
        assert_int_equal(made.spot_lost_ms, rows[i].lost_ms);
    }
}

static void spot__others_are_rejected_there_and_nowhere_else(void **state)
{
    (void)state;
    want.spot = false;
    assert_int_equal(judge().rejection, HELIO_REJECTION_NO_SPOT);
    pool.spot = false;
    assert_int_equal(judge().rejection, HELIO_REJECTION_NONE);
    assert_int_equal(judge().redo_ppm, 0);
}

static void spot__its_rent_is_the_spot_price(void **state)
{
    (void)state;
    assert_int_equal(judge().now.cost_micro_usd, 8 * USD);
    pool.spot_usd_per_gpu_h = 0; /* not given */
    assert_int_equal(judge().now.cost_micro_usd, 16 * USD);
    pool.spot = false;
    pool.spot_usd_per_gpu_h = 1; /* counts for spot pools alone */
    assert_int_equal(judge().now.cost_micro_usd, 16 * USD);
}

static void spot__the_share_that_is_done_again_follows_from_hazard_and_checkpoint(void **state)
{
    (void)state;
    want.spot_lost_ms = 300000;
    assert_int_equal(helio_spot_redo_ppm(&want, &pool, HOUR_MS), 10000); /* 0.1/h x (5 + 1) min */
    want.nodes = 2;
    assert_int_equal(helio_spot_redo_ppm(&want, &pool, HOUR_MS), 20000); /* either node ends it */
    want.nodes = 1;
    assert_int_equal(helio_spot_redo_ppm(&want, &pool, 480000), 8333); /* 0.1/h x (4 + 1) min: half of the run */
    want.spot_lost_ms = 0;                                             /* it saves nothing */
    assert_int_equal(helio_spot_redo_ppm(&want, &pool, HOUR_MS), 51667);
    pool.interruptions_per_h = HELIO_POOL_INTERRUPTIONS_MAX;
    assert_int_equal(helio_spot_redo_ppm(&want, &pool, UINT64_MAX), 1000000000); /* bounded */
}

static void spot__the_expected_loss_is_part_of_the_score(void **state)
{
    (void)state;
    want.spot_lost_ms = 300000;
    want.wait_price_micro_usd_per_gpu_h = USD / 2;
    helio_candidate_t c = judge();
    /* a hundredth of 8 USD of rent, and of 8 GPU-hours later at 0.50 USD */
    assert_int_equal(c.spot_micro_usd, 120000);
    assert_int_equal(c.now.terms[HELIO_TERM_RISK], 120000);
    assert_int_equal(c.now.score_micro_usd, 8 * USD + 120000);
    assert_int_equal(c.now.cost_micro_usd, 8 * USD); /* the plan's cost is what a run without interruption costs */
}

static void spot__a_job_that_saves_nothing_is_dearer_there_than_on_demand(void **state)
{
    (void)state;
    pool.interruptions_per_h = 0.5;
    want.time_limit_ms = 48 * (uint64_t)HOUR_MS;
    int64_t lost = judge().now.score_micro_usd;
    want.spot_lost_ms = 30000;
    int64_t saved = judge().now.score_micro_usd;
    pool.spot = false;
    int64_t on_demand = judge().now.score_micro_usd;
    assert_true(saved < on_demand && on_demand < lost);
}

static void spot__no_figures_of_a_site_overflow_the_score(void **state)
{
    (void)state;
    pool.interruptions_per_h = HELIO_POOL_INTERRUPTIONS_MAX;
    pool.spot_usd_per_gpu_h = 10000;
    want.time_limit_ms = UINT64_MAX;
    want.nodes = 2;
    want.wait_price_micro_usd_per_gpu_h = HELIO_PRICE_MAX_MICRO_USD;
    assert_int_equal(judge().now.terms[HELIO_TERM_RISK], INT64_C(1) << 53);
}

#undef CASE
#define CASE(name) cmocka_unit_test_setup(name, begin_spot)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(spot__a_job_consents_by_a_checkpoint_or_by_a_word),
        CASE(spot__others_are_rejected_there_and_nowhere_else),
        CASE(spot__its_rent_is_the_spot_price),
        CASE(spot__the_share_that_is_done_again_follows_from_hazard_and_checkpoint),
        CASE(spot__the_expected_loss_is_part_of_the_score),
        CASE(spot__a_job_that_saves_nothing_is_dearer_there_than_on_demand),
        CASE(spot__no_figures_of_a_site_overflow_the_score),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
