/*  What no site could run: each site's offer, the largest of all, what would fit; and sites that have no Unix
 * user for a tenant. */
#include <stdio.h>
#include <string.h>

#include "federation/reason/sentence.h"
#include "tests/support/core_harness.h"

enum { NORTH = 1, SOUTH = 2, WEST = 3 };

static harness_t *h;
static helio_site_profile_t *north, *south, *west;

static int begin(void **state)
{
    (void)state;
    helio_broker_options_t options = helio_broker_options_default();
    h = harness_begin(&options);
    north = harness_site(h, "north");
    (void)harness_pool(h, north, "a", "H100", 4, 8, 2);
    south = harness_site(h, "south");
    (void)harness_pool(h, south, "a", "H100", 2, 8, 1);
    west = harness_site(h, "west");
    (void)harness_pool(h, west, "a", "L40", 1, 4, 1);
    return 0;
}

static int end(void **state)
{
    (void)state;
    harness_end(&h);
    return 0;
}

static void join(void)
{
    harness_join(h, NORTH, north);
    harness_join(h, SOUTH, south);
    harness_join(h, WEST, west);
}

static void tell(helio_site_profile_t *site, const char *const *tenants)
{
    harness_strings(h, &site->tenants, tenants);
    site->tenants_reported = true;
}

static helio_fx_reply_t plan(const helio_job_spec_t *spec)
{
    helio_submission_t job = harness_submission(h, spec, "", "");
    helio_ev_submit_t event = {
        .call = 7, .tenant = HELIO_TEXT("acme"), .user = HELIO_TEXT("ada"), .jobs = {&job, 1}};
    harness_clear(h);
    harness_step(h, HELIO_BROKER_EV_PLAN, &event);
    const helio_fx_reply_t *reply = harness_take(h, HELIO_BROKER_FX_REPLY);
    assert_non_null(reply);
    assert_int_equal(reply->rc, HELIO_OK);
    return *reply;
}

static void assert_text(helio_text_t text, const char *expected)
{
    char copy[600];
    (void)snprintf(copy, sizeof copy, "%.*s", HELIO_TEXT_ARGS(text));
    assert_string_equal(copy, expected);
}

/*  Of the candidate at the site: "word: detail". */
static void assert_candidate(const helio_fx_reply_t *reply, const char *site, const char *expected)
{
    char text[300] = "";
    for (uint32_t i = 0; i < reply->plan.candidates.count; i++) {
        const helio_row_candidate_t *row = &reply->plan.candidates.items[i].row;
        if (helio_text_is(row->site, site))
            (void)snprintf(text, sizeof text, "%.*s: %.*s", HELIO_TEXT_ARGS(row->rejected_reason),
                           HELIO_TEXT_ARGS(harness_said(h, row->details)));
    }
    assert_string_equal(text, expected);
}

static void infeasible__says_what_each_site_has_the_largest_of_all_and_what_would_fit(void **state)
{
    (void)state;
    join();
    helio_job_spec_t spec = harness_spec(h, "H100", 16);
    helio_fx_reply_t reply = plan(&spec);
    assert_text(reply.plan.decision.reason, "NeverFits");
    assert_text(harness_said(h, reply.plan.decision.details),
                "TooSmall at north, south; NoSuchGPU at west; the largest node has 8 GPUs; "
                "`gpu: H100:8`, `nodes: 2` would fit (north)");
    assert_candidate(&reply, "north", "TooSmall: has 4 nodes with 8 GPUs each");
    assert_candidate(&reply, "south", "TooSmall: has 2 nodes with 8 GPUs each");
    assert_candidate(&reply, "west", "NoSuchGPU: has L40");
    /* what is said to fit is tried, and starts */
    const helio_hint_t *hint = &reply.start_estimate.hints.items[0];
    assert_text(harness_said(h, hint->change), "`gpu: H100:8`, `nodes: 2`");
    assert_non_null(helio_details_find(&hint->effect, HELIO_DETAIL_STARTS_NOW));
    spec.gpus.items[0].count = 8;
    spec.nodes = 2;
    assert_text(plan(&spec).plan.decision.reason, "");
}

static void infeasible__names_what_is_too_much(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        uint32_t gpus, nodes, cpus;
        uint64_t memory_gb;
        const char *expected;
    } cases[] = {
        {"H100", 8, 5, 0, 0,
         "TooSmall at north, south; NoSuchGPU at west; the largest pool has 4 nodes; `gpu: H100:8`, "
         "`nodes: 4` "
         "would fit (north)"},
        {"H100", 8, 1, 65, 0,
         "TooSmall at north, south; NoSuchGPU at west; the largest node has 64 CPUs; `gpu: H100:8`, "
         "`cpus: 64` "
         "would fit (north)"},
        {"B300", 2, 1, 0, 0,
         "NoSuchGPU at north, south, west; the federation has H100, L40; `gpu: H100:2` would fit (north)"},
        {"", 0, 9, 0, 0,
         "TooSmall at north, south, west; the largest pool has 4 nodes; `nodes: 4` would fit "
         "(north)"},
        {"", 0, 1, 0, 1000,
         "TooSmall at north, south, west; the largest node has 549.8 GB; `memory: 549GB` would fit "
         "(north)"},
    };
    join();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_job_spec_t spec = harness_spec(h, cases[i].model, cases[i].gpus);
        spec.nodes = cases[i].nodes;
        spec.cpus = cases[i].cpus;
        spec.memory_bytes = cases[i].memory_gb * 1000000000;
        assert_text(harness_said(h, plan(&spec).plan.decision.details), cases[i].expected);
        const helio_fx_reply_t *refused = harness_submit(h, "acme", &spec);
        char text[600];
        (void)snprintf(text, sizeof text, "no site can ever run this; %s", cases[i].expected);
        assert_int_equal(refused->rc, HELIO_INFEASIBLE);
        assert_text(helio_sentences_text(&refused->details, harness_arena(h)), text);
    }
}

static void mapping__a_site_that_has_no_user_for_the_tenant_is_offered_nothing(void **state)
{
    (void)state;
    tell(south, (const char *const[]){"zeta", "other", "beta", NULL}); /* in no order */
    tell(west, (const char *const[]){NULL});
    join();
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    helio_fx_reply_t reply = plan(&spec);
    assert_text(reply.plan.decision.chosen_site, "north"); /* the dearer one, which has told nothing */
    assert_candidate(
        &reply, "south",
        "NoUserMapping: has no Unix user for tenant acme; the site's operator adds one under `agent.users`");
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    assert_text(harness_row(h, key)->site, "north");
    const helio_fx_reply_t *other = harness_submit(h, "other", &spec); /* whom it maps */
    harness_tick(h);
    key = (helio_job_key_t){other->jobs.items[0].job, HELIO_NO_TASK};
    assert_text(harness_row(h, key)->site, "south");
    spec = harness_spec(h, "L40", 1);
    assert_text(helio_sentences_text(&harness_submit(h, "other", &spec)->details, harness_arena(h)),
                "no site can ever run this; NoUserMapping at west; NoSuchGPU at north, south; has no Unix user "
                "for tenant other; the site's operator adds one under `agent.users`; `gpu: H100:1` would fit (north)");
}

static void mapping__all_is_everybody_and_a_line_that_is_added_counts_at_once(void **state)
{
    (void)state;
    tell(north, (const char *const[]){"other", NULL});
    tell(south, (const char *const[]){"*", NULL});
    harness_join(h, NORTH, north);
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    assert_int_equal(harness_submit(h, "acme", &spec)->rc, HELIO_INFEASIBLE);
    harness_join(h, SOUTH, south);
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    assert_text(harness_row(h, key)->site, "south");
    spec.nodes = 2;
    spec.sites.count = 0;
    harness_strings(h, &spec.sites, (const char *const[]){"north", NULL});
    assert_int_equal(harness_submit(h, "acme", &spec)->rc, HELIO_INFEASIBLE);
    tell(north, (const char *const[]){"acme", "other", NULL});
    harness_join(h, NORTH + 10, north); /* its agent was started again */
    key = harness_job(h, &spec);
    harness_tick(h);
    assert_text(harness_row(h, key)->site, "north");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(infeasible__says_what_each_site_has_the_largest_of_all_and_what_would_fit),
        CASE(infeasible__names_what_is_too_much),
        CASE(mapping__a_site_that_has_no_user_for_the_tenant_is_offered_nothing),
        CASE(mapping__all_is_everybody_and_a_line_that_is_added_counts_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
