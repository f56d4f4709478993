/*  test_infeasible.c -- jobs that no site could run: what each site has, the largest of all, what would fit; and sites
 *  without a user rule for a tenant. */
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
    helio_ev_submit_t event = {.call = 7, .tenant = HELIO_TEXT("acme"), .user = HELIO_TEXT("ada"), .jobs = {&job, 1}};
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
            (void)snprintf(text, sizeof text, "%.*s: %s", HELIO_TEXT_ARGS(row->rejected_reason),
                           harness_facts(h, row->details));
    }
    assert_string_equal(text, expected);
}

static void infeasible__names_what_each_site_has_and_what_would_fit(void **state)
{
    (void)state;
    join();
    helio_job_spec_t spec = harness_spec(h, "H100", 16);
    helio_fx_reply_t reply = plan(&spec);
    assert_text(reply.plan.decision.reason, "NeverFits");
    assert_string_equal(harness_facts(h, reply.plan.decision.details),
                        "RejectedAt rejection=TooSmall sites=north, south; RejectedAt rejection=NoSuchGPU sites=west; "
                        "LargestNodeGPUs gpus=8; "
                        "WouldFit gpu=H100 gpus_per_node=8 nodes=2 cpus=0 memory_gb=0 site=north");
    assert_candidate(&reply, "north",
                     "TooSmall: PoolSizeIs nodes=4 gpus_per_node=8 cpus_per_node=0 memory_per_node_bytes=0 B");
    assert_candidate(&reply, "south",
                     "TooSmall: PoolSizeIs nodes=2 gpus_per_node=8 cpus_per_node=0 memory_per_node_bytes=0 B");
    assert_candidate(&reply, "west", "NoSuchGPU: PoolGPUIs gpu=L40 memory_bytes=0 B");
    /* what is said to fit is tried, and starts */
    const helio_hint_t *hint = &reply.start_estimate.hints.items[0];
    assert_string_equal(harness_facts(h, hint->change),
                        "TryRequest gpu=H100 gpus_per_node=8 nodes=2 cpus=0 memory_gb=0");
    assert_non_null(helio_details_find(&hint->effect, HELIO_DETAIL_STARTS_NOW));
    spec.gpus.items[0].count = 8;
    spec.nodes = 2;
    assert_text(plan(&spec).plan.decision.reason, "");
}

static void infeasible__says_of_an_adapter_that_it_runs_no_gangs(void **state)
{
    (void)state;
    north->backend = HELIO_TEXT("exec");
    join();
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    spec.nodes = 2;
    helio_fx_reply_t reply = plan(&spec);
    assert_candidate(&reply, "north", "TooSmall: PoolRunsNoGangs");
    assert_text(reply.plan.decision.reason, ""); /* south runs it */
    spec.nodes = 1;
    reply = plan(&spec);
    assert_candidate(&reply, "north", ": ");
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
         "RejectedAt rejection=TooSmall sites=north, south; RejectedAt rejection=NoSuchGPU sites=west; "
         "LargestPoolNodes nodes=4; WouldFit gpu=H100 gpus_per_node=8 nodes=4 cpus=0 memory_gb=0 site=north; "
         "WouldFitFewer gpus=32 asked=40"},
        {"H100", 64, 1, 0, 0,
         "RejectedAt rejection=TooSmall sites=north, south; RejectedAt rejection=NoSuchGPU sites=west; "
         "LargestNodeGPUs gpus=8; WouldFit gpu=H100 gpus_per_node=8 nodes=4 cpus=0 memory_gb=0 site=north; "
         "WouldFitFewer gpus=32 asked=64"},
        {"H100", 8, 1, 65, 0,
         "RejectedAt rejection=TooSmall sites=north, south; RejectedAt rejection=NoSuchGPU sites=west; "
         "LargestNodeCPUs cpus=64; WouldFit gpu=H100 gpus_per_node=8 nodes=0 cpus=64 memory_gb=0 site=north"},
        {"B300", 2, 1, 0, 0,
         "RejectedAt rejection=NoSuchGPU sites=north, south, west; GPUModelsAre models=H100, L40; "
         "WouldFit gpu=H100 gpus_per_node=2 nodes=0 cpus=0 memory_gb=0 site=north"},
        {"", 0, 9, 0, 0,
         "RejectedAt rejection=TooSmall sites=north, south, west; LargestPoolNodes nodes=4; "
         "WouldFit gpus_per_node=0 nodes=4 cpus=0 memory_gb=0 site=north"},
        {"", 0, 1, 0, 1000,
         "RejectedAt rejection=TooSmall sites=north, south, west; LargestNodeMemory memory_bytes=549.8 GB; "
         "WouldFit gpus_per_node=0 nodes=0 cpus=0 memory_gb=549 site=north"},
    };
    join();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_job_spec_t spec = harness_spec(h, cases[i].model, cases[i].gpus);
        spec.nodes = cases[i].nodes;
        spec.cpus = cases[i].cpus;
        spec.memory_bytes = cases[i].memory_gb * 1000000000;
        assert_string_equal(harness_facts(h, plan(&spec).plan.decision.details), cases[i].expected);
        const helio_fx_reply_t *refused = harness_submit(h, "acme", &spec);
        char text[600];
        (void)snprintf(text, sizeof text, "NeverRuns job=0; %s", cases[i].expected);
        assert_int_equal(refused->rc, HELIO_INFEASIBLE);
        assert_string_equal(harness_facts(h, refused->details), text);
    }
}

/*  The names that a site has; values NULL: none are reported. */
static void has(helio_site_profile_t *site, const char *option, const char *values)
{
    static helio_pool_option_t kept[8];
    static uint32_t next;
    helio_pool_t *pool = &site->pools.items[0];
    pool->options.items = &kept[next++ % 8];
    pool->options.items[0] = (helio_pool_option_t){helio_text_of(option), helio_text_of(values ? values : "")};
    pool->options.count = values ? 1 : 0;
}

static void name__a_site_that_lacks_it_gets_no_offer_until_it_has_it(void **state)
{
    (void)state;
    has(north, "partition", "main,gpu");
    has(south, "partition", "main");
    join();
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    helio_pair_t pair = {HELIO_TEXT("partition"), HELIO_TEXT("gpu")};
    spec.slurm.items = &pair;
    spec.slurm.count = 1;
    helio_fx_reply_t reply = plan(&spec);
    assert_text(reply.plan.decision.chosen_site, "north"); /* the more expensive one */
    assert_candidate(&reply, "south", "NoSuchName: NamesAre option=partition value=gpu names=main");
    has(south, "partition", "main,gpu"); /* an administrator adds it: the next summary tells */
    harness_summary(h, SOUTH, south, 0, 0);
    assert_text(plan(&spec).plan.decision.chosen_site, "south");
    has(south, "partition", NULL);
    harness_summary(h, SOUTH, south, 0, 0);
    assert_text(plan(&spec).plan.decision.chosen_site, "south"); /* unknown names exclude nothing */
}

static void name__that_no_site_has_is_refused_with_those_that_exist(void **state)
{
    (void)state;
    has(north, "constraint", "ib,rack1");
    has(south, "constraint", "rack1,rack2");
    has(west, "constraint", "");
    join();
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    helio_pair_t pair = {HELIO_TEXT("constraint"), HELIO_TEXT("a100")};
    spec.slurm.items = &pair;
    spec.slurm.count = 1;
    assert_string_equal(harness_facts(h, harness_submit(h, "acme", &spec)->details),
                        "NeverRuns job=0; RejectedAt rejection=NoSuchName sites=north, south; "
                        "RejectedAt rejection=NoSuchGPU sites=west; "
                        "NoClusterHas option=constraint value=a100 names=ib, rack1, rack2");
}

static void user_rule__a_site_without_a_rule_for_the_tenant_gets_no_offer(void **state)
{
    (void)state;
    tell(south, (const char *const[]){"zeta", "other", "beta", NULL}); /* in no order */
    tell(west, (const char *const[]){NULL});
    join();
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    helio_fx_reply_t reply = plan(&spec);
    assert_text(reply.plan.decision.chosen_site, "north"); /* the more expensive one, without user rules */
    assert_candidate(&reply, "south", "NoUserMapping: NoUnixUser tenant=acme");
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    assert_text(harness_row(h, key)->site, "north");
    const helio_fx_reply_t *other = harness_submit(h, "other", &spec); /* a tenant with a user rule there */
    harness_tick(h);
    key = (helio_job_key_t){other->jobs.items[0].job, HELIO_NO_TASK};
    assert_text(harness_row(h, key)->site, "south");
    spec = harness_spec(h, "L40", 1);
    assert_string_equal(harness_facts(h, harness_submit(h, "other", &spec)->details),
                        "NeverRuns job=0; RejectedAt rejection=NoUserMapping sites=west; "
                        "RejectedAt rejection=NoSuchGPU sites=north, south; NoUnixUser tenant=other; "
                        "WouldFit gpu=H100 gpus_per_node=1 nodes=0 cpus=0 memory_gb=0 site=north");
}

static void user_rule__a_star_admits_all_tenants_and_a_new_rule_counts_at_once(void **state)
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
        CASE(infeasible__names_what_each_site_has_and_what_would_fit),
        CASE(infeasible__says_of_an_adapter_that_it_runs_no_gangs),
        CASE(infeasible__names_what_is_too_much),
        CASE(name__a_site_that_lacks_it_gets_no_offer_until_it_has_it),
        CASE(name__that_no_site_has_is_refused_with_those_that_exist),
        CASE(user_rule__a_site_without_a_rule_for_the_tenant_gets_no_offer),
        CASE(user_rule__a_star_admits_all_tenants_and_a_new_rule_counts_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
