/*  test_saves.c -- what waiting for a better hour saves, in money and in CO2e: each with its own sign. */
#include <stdio.h>
#include <string.h>

#include "federation/reason/sentence.h"
#include "tests/support/core_harness.h"

enum { NORTH = 1, HOUR = 3600000, HOURS = 6 };

static harness_t *h;
static helio_site_profile_t *north;
static int64_t midnight;

/*  One pool, of 1 kW a GPU. */
static int begin(void **state)
{
    (void)state;
    helio_broker_options_t options = helio_broker_options_default();
    options.silent_after_ms = INT64_C(1000) * HOUR;
    h = harness_begin(&options);
    midnight = harness_wall_ms(h);
    north = harness_site(h, "north");
    harness_pool(h, north, "a", "H100", 2, 8, 0)->base_w = 1000;
    harness_join(h, NORTH, north);
    return 0;
}

static int end(void **state)
{
    (void)state;
    harness_end(&h);
    return 0;
}

static void tell(uint32_t signal, const double values[HOURS])
{
    static uint64_t seq = 1000;
    double *copy = helio_arena_alloc(harness_arena(h), HOURS, sizeof *copy);
    memcpy(copy, values, HOURS * sizeof *copy);
    helio_series_t series = {.signal = signal,
                             .issued_wall_ms = harness_wall_ms(h),
                             .start_wall_ms = midnight,
                             .step_s = 3600,
                             .values = {copy, HOURS}};
    helio_ev_site_summary_t event = {
        .peer = NORTH, .summary = {.seq = ++seq, .dispatch_seen = 0, .series = {&series, 1}, .power_w = -1}};
    harness_step(h, HELIO_BROKER_EV_SITE_SUMMARY, &event);
}

static const helio_detail_t *saves_of(helio_goal_t goal)
{
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    spec.goal = goal;
    spec.flexible_ms = (uint64_t)12 * HOUR;
    helio_submission_t job = harness_submission(h, &spec, "", "");
    helio_ev_submit_t event = {.call = 7, .tenant = HELIO_TEXT("acme"), .user = HELIO_TEXT("ada"), .jobs = {&job, 1}};
    harness_clear(h);
    harness_step(h, HELIO_BROKER_EV_PLAN, &event);
    const helio_fx_reply_t *reply = harness_take(h, HELIO_BROKER_FX_REPLY);
    assert_non_null(reply);
    assert_true(helio_text_is(reply->plan.decision.reason, "WaitingForWindow"));
    const helio_detail_t *saves = helio_details_find(&reply->plan.decision.details, HELIO_DETAIL_WINDOW_SAVES);
    assert_non_null(saves);
    return saves;
}

/*  SAVES: the score; then dollars less, dollars more, grams less, grams more: of each pair one at most is not zero. */
static void saves__money_and_carbon_have_signs_of_their_own(void **state)
{
    (void)state;
    static const struct {
        double carbon[HOURS], price[HOURS]; /* g/kWh, USD per GPU-hour */
        helio_goal_t goal;
        int usd, carbon_sign; /* of what waiting changes: -1 = less, 1 = more */
        const char *sentence; /* parts of it */
        const char *absent;
    } cases[] = {
        {{500, 500, 500, 60, 500, 500},
         {0.1, 0.1, 0.1, 0.1, 0.1, 0.1},
         HELIO_GOAL_GREEN,
         0,
         -1,
         " CO2e less, score ",
         "$0.00 "},
        {{500, 500, 500, 60, 500, 500},
         {0.1, 0.1, 0.1, 0.3, 0.1, 0.1},
         HELIO_GOAL_GREEN,
         1,
         -1,
         " more, 3.52 kg CO2e less, score ",
         "CO2e more"},
        {{60, 60, 60, 90, 60, 60},
         {0.5, 0.5, 0.5, 0.05, 0.5, 0.5},
         HELIO_GOAL_CHEAP,
         -1,
         1,
         " less, 240 g CO2e more, score ",
         "CO2e less"},
        {{500, 500, 500, 60, 500, 500},
         {0.5, 0.5, 0.5, 0.05, 0.5, 0.5},
         HELIO_GOAL_BALANCED,
         -1,
         -1,
         " less, 3.52 kg CO2e less, score ",
         " more"},
        {{300, 300, 300, 300, 300, 300},
         {0.5, 0.5, 0.5, 0.05, 0.5, 0.5},
         HELIO_GOAL_CHEAP,
         -1,
         0,
         "less, score ",
         "CO2e"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tell(HELIO_SIGNAL_CARBON, cases[i].carbon);
        tell(HELIO_SIGNAL_PRICE, cases[i].price);
        const helio_detail_t *saves = saves_of(cases[i].goal);
        enum { SAVES, SITE, POOL, LESS_USD, MORE_USD, LESS_CARBON, MORE_CARBON };
        int64_t usd = helio_detail_value(saves, MORE_USD).number - helio_detail_value(saves, LESS_USD).number;
        int64_t carbon = helio_detail_value(saves, MORE_CARBON).number - helio_detail_value(saves, LESS_CARBON).number;
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
        helio_sentence(saves, &text);
        if ((usd > 0) - (usd < 0) != cases[i].usd || (carbon > 0) - (carbon < 0) != cases[i].carbon_sign ||
            !strstr(text.data, cases[i].sentence) || strstr(text.data, cases[i].absent))
            fail_msg("case %zu: %s", i, text.data);
        assert_true(helio_detail_value(saves, LESS_USD).number == 0 || helio_detail_value(saves, MORE_USD).number == 0);
        assert_true(helio_detail_value(saves, LESS_CARBON).number == 0 ||
                    helio_detail_value(saves, MORE_CARBON).number == 0);
        assert_true(helio_detail_value(saves, SAVES).number > 0); /* or it would not wait */
        assert_true(helio_text_is(helio_detail_value(saves, SITE).text, "north"));
        assert_true(helio_text_is(helio_detail_value(saves, POOL).text, "a"));
    }
}

/* ---- the hint about a quota -------------------------------------------------------------------------------- */

static const helio_hint_t *quota_hint(const char *queue, uint32_t gpus)
{
    helio_job_spec_t spec = harness_spec(h, "H100", gpus);
    spec.queue = helio_text_of(queue);
    helio_submission_t job = harness_submission(h, &spec, "", "");
    helio_ev_submit_t event = {.call = 7, .tenant = HELIO_TEXT("acme"), .user = HELIO_TEXT("ada"), .jobs = {&job, 1}};
    harness_clear(h);
    harness_step(h, HELIO_BROKER_EV_PLAN, &event);
    const helio_fx_reply_t *reply = harness_take(h, HELIO_BROKER_FX_REPLY);
    assert_non_null(reply);
    for (uint32_t i = 0; i < reply->start_estimate.hints.count; i++)
        if (reply->start_estimate.hints.items[i].kind == HELIO_HINT_KIND_QUOTA)
            return &reply->start_estimate.hints.items[i];
    return NULL;
}

/*  The least burst that has room: with what is in use where the quota could hold the job without that, and the job's
 *  own size where it could not even then. Once it is set, the job starts. */
static void quota__hint_names_the_least_quota_with_room(void **state)
{
    (void)state;
    static const struct {
        const char *limited;        /* the queue of the quota; "" = all queues */
        uint32_t used, burst, gpus; /* gpus: asked for */
        const char *change, *effect;
    } cases[] = {
        {"", 0, 2, 4, "TryQuota tenant=acme burst_gpus=4", "QuotaWouldLeave gpus=4 used_gpus=0"},
        {"", 4, 4, 2, "TryQuota tenant=acme burst_gpus=6", "QuotaWouldLeave gpus=2 used_gpus=4"},
        {"", 4, 4, 8, "TryQuota tenant=acme burst_gpus=8", "QuotaWouldLeave gpus=8 used_gpus=0"},
        {"", 3, 5, 4, "TryQuota tenant=acme burst_gpus=7", "QuotaWouldLeave gpus=4 used_gpus=3"},
        {"standard", 0, 2, 4, "TryQuota tenant=acme queue=standard burst_gpus=4", "QuotaWouldLeave gpus=4 used_gpus=0"},
        {"standard", 2, 3, 3, "TryQuota tenant=acme queue=standard burst_gpus=5", "QuotaWouldLeave gpus=3 used_gpus=2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (i) {
            (void)end(state);
            (void)begin(state);
        }
        if (cases[i].used) {
            helio_job_spec_t spec = harness_spec(h, "H100", cases[i].used);
            (void)harness_job(h, &spec);
            harness_tick(h);
        }
        (void)harness_quota(h, "acme", cases[i].limited, HARNESS_AS_IS, cases[i].burst, HARNESS_AS_IS);
        const helio_hint_t *hint = quota_hint("standard", cases[i].gpus);
        assert_non_null(hint);
        assert_string_equal(harness_facts(h, hint->change), cases[i].change);
        /* facts leave nothing out: also zero figures are listed where they stand in the middle */
        const char *effect = harness_facts(h, hint->effect);
        if (strncmp(effect, cases[i].effect, strlen("QuotaWouldLeave gpus=4")) != 0)
            fail_msg("case %zu: %s", i, effect);
        uint32_t least = cases[i].gpus + (cases[i].gpus > cases[i].burst ? 0 : cases[i].used);
        (void)harness_quota(h, "acme", cases[i].limited, HARNESS_AS_IS, least - 1, HARNESS_AS_IS);
        assert_non_null(quota_hint("standard", cases[i].gpus));
        if (cases[i].gpus <= cases[i].burst) {
            (void)harness_quota(h, "acme", cases[i].limited, HARNESS_AS_IS, least, HARNESS_AS_IS);
            assert_null(quota_hint("standard", cases[i].gpus)); /* as the hint said */
        }
    }
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(saves__money_and_carbon_have_signs_of_their_own),
        CASE(quota__hint_names_the_least_quota_with_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
