/*  test_tenants.c -- tenants that operators create and change while the broker runs. */
#include <string.h>

#include "tests/support/core_harness.h"

static harness_t *h;

static int begin(void **state)
{
    (void)state;
    h = harness_begin(NULL);
    helio_site_profile_t *site = harness_site(h, "north");
    harness_pool(h, site, "a", "H100", 4, 8, 2.0);
    harness_join(h, 1, site);
    harness_clear(h);
    return 0;
}

static int end(void **state)
{
    (void)state;
    harness_end(&h);
    return 0;
}

static bool says(const helio_fx_reply_t *reply, const char *part)
{
    return harness_says(h, &reply->details, part);
}

static void tenant__that_was_created_can_submit_at_once(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    assert_int_equal(harness_submit(h, "fresh", &spec)->rc, HELIO_FORBIDDEN);
    const helio_fx_reply_t *reply = harness_tenant(h, HELIO_ROLE_OPERATOR,
                                                   (helio_ev_tenant_t){.tenant = HELIO_TEXT("fresh"),
                                                                       .home_given = true,
                                                                       .home_site = HELIO_TEXT("north"),
                                                                       .weight_given = true,
                                                                       .weight_milli = 2500});
    assert_int_equal(reply->rc, HELIO_OK);
    assert_true(says(reply, "\"TenantAdded\",\"params\":{\"weight\":2.5,\"home\":\"north\"}"));
    const helio_row_tenant_t *row = harness_take(h, HELIO_BROKER_FX_ROW_TENANT);
    assert_true(helio_text_is(row->tenant, "fresh") && helio_text_is(row->home_site, "north") && !row->keeps_home);
    const helio_row_quota_t *quota = harness_take(h, HELIO_BROKER_FX_ROW_QUOTA);
    assert_true(helio_text_is(quota->tenant, "fresh") && quota->weight_milli == 2500 && quota->queue.size == 0);
    const helio_row_audit_t *audit = harness_take(h, HELIO_BROKER_FX_ROW_AUDIT);
    assert_true(helio_text_is(audit->action, "tenant-add") && helio_text_is(audit->object, "fresh"));
    assert_int_equal(harness_submit(h, "fresh", &spec)->rc, HELIO_OK);
    assert_true(helio_text_is(((const helio_row_job_t *)harness_take(h, HELIO_BROKER_FX_ROW_JOB))->home_site, "north"));
}

/*  `helio-broker tenant add` may have stored it beside this leader, with a home site. */
static void tenant__that_is_new_to_the_leader_keeps_the_home_that_is_stored(void **state)
{
    (void)state;
    (void)harness_tenant(
        h, HELIO_ROLE_OPERATOR,
        (helio_ev_tenant_t){.tenant = HELIO_TEXT("fresh"), .weight_given = true, .weight_milli = 2000});
    const helio_row_tenant_t *row = harness_take(h, HELIO_BROKER_FX_ROW_TENANT);
    assert_true(helio_text_is(row->tenant, "fresh") && row->keeps_home);
}

static void tenant__survives_a_new_leader(void **state)
{
    (void)state;
    helio_ev_tenant_t event = {.tenant = HELIO_TEXT("fresh"), .home_given = true, .home_site = HELIO_TEXT("south")};
    (void)harness_tenant(h, HELIO_ROLE_ADMIN, event);
    event = (helio_ev_tenant_t){.tenant = HELIO_TEXT("acme"), .home_given = true};
    (void)harness_tenant(h, HELIO_ROLE_ADMIN, event);
    harness_t *next = harness_rebuild(h);
    helio_job_spec_t spec = harness_spec(next, "H100", 1);
    assert_int_equal(harness_submit(next, "fresh", &spec)->rc, HELIO_OK);
    assert_true(
        helio_text_is(((const helio_row_job_t *)harness_take(next, HELIO_BROKER_FX_ROW_JOB))->home_site, "south"));
    assert_int_equal(harness_submit(next, "acme", &spec)->rc, HELIO_OK);
    assert_int_equal(((const helio_row_job_t *)harness_take(next, HELIO_BROKER_FX_ROW_JOB))->home_site.size, 0);
    harness_end(&next);
}

static void tenant__set_to_the_same_values_writes_nothing(void **state)
{
    (void)state;
    helio_ev_tenant_t event = {.tenant = HELIO_TEXT("acme"),
                               .home_given = true,
                               .home_site = HELIO_TEXT("north"),
                               .weight_given = true,
                               .weight_milli = 1000};
    assert_true(says(harness_tenant(h, HELIO_ROLE_OPERATOR, event),
                     "\"TenantUnchanged\",\"params\":{\"weight\":1.0,\"home\":\"north\"}"));
    event.home_given = event.weight_given = false;
    assert_true(says(harness_tenant(h, HELIO_ROLE_OPERATOR, event), "\"TenantUnchanged\""));
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_TENANT), 0);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_QUOTA), 0);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_AUDIT), 0);
}

static void tenant__needs_an_operator_and_valid_values(void **state)
{
    (void)state;
    helio_ev_tenant_t event = {.tenant = HELIO_TEXT("fresh")};
    assert_int_equal(harness_tenant(h, HELIO_ROLE_USER, event)->rc, HELIO_FORBIDDEN);
    static const uint32_t weights[] = {0, HELIO_QUOTA_WEIGHT_MAX + 1, UINT32_MAX};
    for (size_t i = 0; i < sizeof weights / sizeof weights[0]; i++) {
        event.weight_given = true;
        event.weight_milli = weights[i];
        assert_int_equal(harness_tenant(h, HELIO_ROLE_ADMIN, event)->rc, HELIO_INVALID);
    }
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_TENANT), 0);
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    assert_int_equal(harness_submit(h, "fresh", &spec)->rc, HELIO_FORBIDDEN);
}

static void tenant__with_a_misspelt_home_is_refused_and_with_one_to_come_gets_a_note(void **state)
{
    (void)state;
    helio_ev_tenant_t event = {.tenant = HELIO_TEXT("fresh"), .home_given = true, .home_site = HELIO_TEXT("nort")};
    const helio_fx_reply_t *reply = harness_tenant(h, HELIO_ROLE_ADMIN, event);
    assert_int_equal(reply->rc, HELIO_NOT_FOUND);
    assert_true(says(reply, "\"UnknownSite\",\"params\":{\"site\":\"nort\",\"suggestion\":\"north\"}"));
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_TENANT), 0);
    event.home_site = HELIO_TEXT("brisbane");
    reply = harness_tenant(h, HELIO_ROLE_ADMIN, event);
    assert_int_equal(reply->rc, HELIO_OK);
    assert_true(says(reply, "\"WarnSite\",\"params\":{\"site\":\"brisbane\"}") ||
                says(reply, "\"WarnSite\",\"params\":{\"site\":\"brisbane\",\"suggestion\":\"\"}"));
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_TENANT), 1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(tenant__that_was_created_can_submit_at_once),
        CASE(tenant__that_is_new_to_the_leader_keeps_the_home_that_is_stored),
        CASE(tenant__that_was_created_can_submit_at_once),
        CASE(tenant__survives_a_new_leader),
        CASE(tenant__set_to_the_same_values_writes_nothing),
        CASE(tenant__needs_an_operator_and_valid_values),
        CASE(tenant__with_a_misspelt_home_is_refused_and_with_one_to_come_gets_a_note),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
