/*  test_migrate_budget.c -- a job migrates only as far as the budgets of its tenant pay for it, and its explanation
 *  says which one does not. */
#include "tests/unit/broker/core/migrate_testing.h"

/*  8 GPUs of 1 kW for ten hours: 80 kWh, at north 8 kg at first. The south's hours cost money, not carbon. */
static void make_priced_sites(double south_usd_per_gpu_h)
{
    harness_end(&h);
    helio_broker_options_t options = helio_broker_options_default();
    options.silent_after_ms = INT64_C(1000) * HOUR;
    h = harness_begin(&options);
    make_sites();
    south->pools.items[0].price_usd_per_gpu_h = south_usd_per_gpu_h;
    south->pools.items[0].owned = false;
}

static const char *better_site(helio_job_key_t key)
{
    const helio_fx_reply_t *reply = harness_command(h, HELIO_BROKER_EV_EXPLAIN, "acme", HELIO_ROLE_USER, key);
    return reply->rc == HELIO_OK ? harness_facts(h, reply->start_estimate.better_site) : "";
}

static void set_budget(const char *tenant, const char *queue, const char *budget)
{
    const helio_fx_reply_t *reply = harness_budget(h, tenant, queue, budget);
    if (reply->rc != HELIO_OK)
        fail_msg("%s: %s", budget, harness_details(h, &reply->details));
}

/*  North gets dirty, and the south would be better. */
static helio_job_key_t would_migrate(void)
{
    helio_job_spec_t spec = movable(1, 8);
    helio_job_key_t key = run(&spec);
    settle();
    tell(NORTH, 900);
    tell(SOUTH, 300);
    return key;
}

static void a_migration__needs_what_it_adds_in_every_budget(void **state)
{
    (void)state;
    static const struct {
        const char *queue, *budget;
        bool goes;
    } cases[] = {
        {"", "10 kg/month", false}, /* 8 kg are committed, and 24 would be */
        {"", "23 kg/month", false},         {"", "25 kg/month", true},
        {"", "100 kg/month", true},         {"standard", "10 kg/month", false},
        {"standard", "100 kg/month", true}, {"batch", "10 kg/month", true}, /* of another queue */
        {"", "80 gpu-h/month", false}, /* it is stopped for a minute of grace, on 8 GPUs */
        {"", "81 gpu-h/month", true},       {"", "1 USD/month", true}, /* and costs nothing */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (i) {
            harness_end(&h);
            begin(NULL);
        }
        join();
        set_budget("acme", cases[i].queue, cases[i].budget);
        helio_job_key_t key = would_migrate();
        const char *why = better_site(key);
        bool blocked = strstr(why, "rejection=Budget; BudgetUsed tenant=acme") != NULL;
        if (blocked == cases[i].goes)
            fail_msg("%s in '%s': %s", cases[i].budget, cases[i].queue, why);
        harness_wait(h, 20000);
        assert_state(key, cases[i].goes ? HELIO_JOB_STOPPING : HELIO_JOB_RUNNING);
    }
}

static void a_budget__of_another_tenant_holds_no_migration(void **state)
{
    (void)state;
    join();
    set_budget("other", "", "1 kg/month");
    helio_job_key_t key = would_migrate();
    harness_wait(h, 20000);
    assert_state(key, HELIO_JOB_STOPPING);
}

static void a_budget__of_money_holds_a_migration_to_where_hours_cost_more(void **state)
{
    (void)state;
    static const struct {
        const char *budget;
        bool goes;
    } cases[] = {{"5 USD/month", false}, {"100 USD/month", true}};
    for (size_t i = 0; i < 2; i++) {
        make_priced_sites(0.25); /* 80 GPU-hours: 20 USD, far less than the carbon that it saves */
        join();
        set_budget("acme", "", cases[i].budget);
        helio_job_key_t key = would_migrate();
        assert_int_equal(
            strstr(better_site(key), "rejection=Budget; BudgetUsed tenant=acme used=0 limit=5 unit=USD") != NULL,
            !cases[i].goes);
        harness_wait(h, 20000);
        assert_state(key, cases[i].goes ? HELIO_JOB_STOPPING : HELIO_JOB_RUNNING);
    }
}

static void a_budget_that_is_raised__lets_the_job_go(void **state)
{
    (void)state;
    join();
    set_budget("acme", "", "10 kg/month");
    helio_job_key_t key = would_migrate();
    harness_wait(h, 20000);
    assert_state(key, HELIO_JOB_RUNNING);
    set_budget("acme", "", "none");
    tell(NORTH, 900);
    tell(SOUTH, 300);
    harness_wait(h, 20000);
    assert_state(key, HELIO_JOB_STOPPING);
}

static void what_a_migrated_job_commits__is_counted_at_its_new_site(void **state)
{
    (void)state;
    join();
    set_budget("acme", "", "100 kg/month");
    helio_job_key_t key = would_migrate();
    harness_wait(h, 20000);
    assert_state(key, HELIO_JOB_STOPPING);
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_STOPPED);
    harness_tick(h);
    assert_state(key, HELIO_JOB_OFFERED);
    harness_run_up_to(h, SOUTH, key, 2, HELIO_JOB_RUNNING);
    /* About 24 of 100 kg are committed: a job of 80 kWh at 900 g/kWh, 72 kg, fits just so; another one does not. */
    helio_job_spec_t big = harness_spec(h, "H100", 8);
    static const char *const here[] = {"north", NULL};
    harness_strings(h, &big.sites, here);
    big.time_limit_ms = 10 * HOUR;
    helio_job_key_t fits = harness_job(h, &big), waits = harness_job(h, &big);
    harness_tick(h);
    assert_state(fits, HELIO_JOB_OFFERED);
    assert_state(waits, HELIO_JOB_QUEUED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_migration__needs_what_it_adds_in_every_budget),
        TEST(a_budget__of_another_tenant_holds_no_migration),
        TEST(a_budget__of_money_holds_a_migration_to_where_hours_cost_more),
        TEST(a_budget_that_is_raised__lets_the_job_go),
        TEST(what_a_migrated_job_commits__is_counted_at_its_new_site),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
