/*  test_transfer.c -- what a transfer of data is charged, and which tenants can use the catalogue. */
#include "tests/unit/broker/core/data_testing.h"

#define NOWHERE ((const char *const[]){NULL})

/* ---- setting them -------------------------------------------------------------------------------------- */

static void data__is_stored_audited_and_answered(void **state)
{
    (void)state;
    harness_t *h = begin();
    const helio_fx_reply_t *reply = harness_data(h, "s3://acme/corpus/", SITES_OF("south", "north", "south", "aws"));
    assert_int_equal(reply->rc, HELIO_OK);
    assert_string_equal(
        harness_details(h, &reply->details),
        "[{\"code\":\"DataSet\",\"params\":{\"sites\":[\"south\",\"north\",\"aws\"],\"sites_total\":3}},"
        "{\"code\":\"WarnDataSite\",\"params\":{\"site\":\"aws\"}}]");
    const helio_row_data_t *row = harness_take(h, HELIO_BROKER_FX_ROW_DATA);
    assert_text(row->prefix, "s3://acme/corpus"); /* a slash at the end says nothing */
    assert_text(row->sites, "south north aws");
    const helio_row_audit_t *audit = harness_take(h, HELIO_BROKER_FX_ROW_AUDIT);
    assert_text(audit->action, "data-set");
    assert_text(audit->object, "s3://acme/corpus");
    assert_text(audit->detail, "south, north, aws");
    reply = harness_data(h, "s3://acme/corpus", NOWHERE);
    assert_non_null(helio_details_find(&reply->details, HELIO_DETAIL_REMOVED));
    row = harness_take(h, HELIO_BROKER_FX_ROW_DATA);
    assert_int_equal(row->sites.size, 0);
    assert_text(((const helio_row_audit_t *)harness_take(h, HELIO_BROKER_FX_ROW_AUDIT))->action, "data-rm");
    reply = harness_link(h, "north", "*", 5000, 20000);
    assert_string_equal(
        harness_details(h, &reply->details),
        "[{\"code\":\"LinkSet\",\"params\":{\"gbps\":5.0,\"egress_usd_per_gb\":\"0.02\",\"rtt_ms\":0}}]");
    const helio_row_link_t *link = harness_take(h, HELIO_BROKER_FX_ROW_LINK);
    assert_true(helio_text_is(link->from, "north") && helio_text_is(link->to, "*") && link->mbps == 5000 &&
                !link->removed);
    assert_text(((const helio_row_audit_t *)harness_take(h, HELIO_BROKER_FX_ROW_AUDIT))->object, "north -> *");
    assert_int_equal(harness_link(h, "north", "*", 0, 0)->rc, HELIO_OK);
    assert_true(((const helio_row_link_t *)harness_take(h, HELIO_BROKER_FX_ROW_LINK))->removed);
    harness_end(&h);
}

static void data__invalid_values_are_refused_and_change_nothing(void **state)
{
    (void)state;
    harness_t *h = begin();
    const char *many[HELIO_DATA_SITES_MAX + 2] = {NULL};
    for (uint32_t i = 0; i <= HELIO_DATA_SITES_MAX; i++)
        many[i] = "north";
    static char longest[HELIO_DATA_PREFIX_MAX + 2];
    memset(longest, 'x', sizeof longest - 1);
    const struct {
        const char *prefix;
        const char *const *sites;
        helio_rc rc;
    } cases[] = {
        {"", SITES_OF("north"), HELIO_INVALID},
        {longest, SITES_OF("north"), HELIO_INVALID},
        {"s3://a b", SITES_OF("north"), HELIO_INVALID},
        {"s3://a\nb", SITES_OF("north"), HELIO_INVALID},
        {"s3://a", SITES_OF("north", "so uth"), HELIO_INVALID},
        {"s3://a", SITES_OF("*"), HELIO_INVALID},
        {"s3://a", many, HELIO_INVALID},
        {"s3://a", NOWHERE, HELIO_NOT_FOUND},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(harness_data(h, cases[i].prefix, cases[i].sites)->rc, cases[i].rc);
    assert_int_equal(harness_link(h, "", "north", 1, 0)->rc, HELIO_INVALID);
    assert_int_equal(harness_link(h, "north", "n*", 1, 0)->rc, HELIO_INVALID);
    assert_int_equal(harness_link(h, "north", "south", (uint64_t)HELIO_LINK_MBPS_MAX + 1, 0)->rc, HELIO_INVALID);
    assert_int_equal(harness_link(h, "north", "south", 1, -1)->rc, HELIO_INVALID);
    assert_int_equal(harness_link(h, "north", "south", 1, HELIO_LINK_EGRESS_MAX_MICRO_USD + 1)->rc, HELIO_INVALID);
    assert_int_equal(harness_link(h, "north", "south", 0, 0)->rc, HELIO_NOT_FOUND);
    helio_ev_data_t data = {.call = 1, .actor = HELIO_TEXT("user:ops/eve"), .prefix = HELIO_TEXT("s3://a")};
    helio_ev_link_t link = {
        .call = 2, .actor = HELIO_TEXT("user:ops/eve"), .from = HELIO_TEXT("*"), .to = HELIO_TEXT("*"), .mbps = 1};
    harness_clear(h);
    harness_step(h, HELIO_BROKER_EV_DATA, &data);
    assert_int_equal(((const helio_fx_reply_t *)harness_take(h, HELIO_BROKER_FX_REPLY))->rc, HELIO_FORBIDDEN);
    harness_step(h, HELIO_BROKER_EV_LINK, &link);
    assert_int_equal(((const helio_fx_reply_t *)harness_take(h, HELIO_BROKER_FX_REPLY))->rc, HELIO_FORBIDDEN);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_DATA) + harness_count(h, HELIO_BROKER_FX_ROW_LINK), 0);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_AUDIT), 0);
    harness_end(&h);
}

/* ---- decisions ----------------------------------------------------------------------------------------- */

static void data__the_longest_prefix_wins_and_ends_at_a_slash(void **state)
{
    (void)state;
    harness_t *h = begin();
    (void)harness_link(h, "*", "*", 1000, 10000);
    (void)harness_data(h, "s3://", SITES_OF("north"));
    (void)harness_data(h, "s3://acme/corp", SITES_OF("north")); /* no folder of this URI */
    (void)harness_data(h, "s3://acme/corpus", SITES_OF("south"));
    helio_job_spec_t spec = reader(h, GB);
    assert_text(plan(h, &spec).decision.chosen_site, "south");
    (void)harness_data(h, "s3://acme/corpus/en", SITES_OF("north"));
    assert_text(plan(h, &spec).decision.chosen_site, "north");
    (void)harness_data(h, "s3://acme/corpus/en", NOWHERE);
    (void)harness_data(h, "s3://acme/corpus", NOWHERE);
    assert_text(plan(h, &spec).decision.chosen_site, "north"); /* by s3:// */
    harness_end(&h);
}

static helio_rc set_for(harness_t *h, const char *prefix, const char *site, const char *tenant)
{
    helio_string_t sites[] = {{helio_text_of(site)}};
    helio_ev_data_t event = {.call = 1,
                             .actor = HELIO_TEXT("user:ops/ada"),
                             .role = HELIO_ROLE_OPERATOR,
                             .prefix = helio_text_of(prefix),
                             .sites = {sites, 1},
                             .tenant_given = tenant,
                             .tenant = helio_text_of(tenant ? tenant : "")};
    const helio_fx_reply_t *reply, *last = NULL;
    harness_clear(h);
    harness_step(h, HELIO_BROKER_EV_DATA, &event);
    while ((reply = harness_take(h, HELIO_BROKER_FX_REPLY)))
        last = reply;
    assert_non_null(last);
    return last->rc;
}

/*  Of acme; what is other's is as if it were not there, for a new leader too. */
static void data__of_one_tenant_is_unknown_to_all_others(void **state)
{
    (void)state;
    harness_t *h = begin();
    helio_job_spec_t spec = reader(h, GB);
    (void)harness_link(h, "*", "*", 1000, 1000000);
    assert_int_equal(set_for(h, "s3://acme/corpus", "south", "nobody"), HELIO_NOT_FOUND);
    assert_int_equal(set_for(h, "s3://acme/corpus", "south", "other"), HELIO_OK);
    helio_planned_t planned = plan(h, &spec);
    const helio_row_candidate_t *north = candidate(&planned, "north");
    assert_int_equal(north->transfer_ms, 0);
    assert_non_null(helio_details_find(&north->details, HELIO_DETAIL_DATA_UNKNOWN));
    assert_null(strstr(harness_facts(h, north->details), "south"));
    assert_int_equal(set_for(h, "s3://acme", "south", "*"), HELIO_OK); /* a shorter one that is everybody's counts */
    planned = plan(h, &spec);
    assert_true(candidate(&planned, "north")->transfer_ms > 0);
    assert_int_equal(set_for(h, "s3://acme", "south", "other"), HELIO_OK);
    assert_int_equal(set_for(h, "s3://acme/corpus", "north", NULL), HELIO_OK); /* its sites change, not whose it is */
    harness_t *next = harness_rebuild(h);
    harness_end(&h);
    assert_int_equal(set_for(next, "s3://acme/corpus", "north", NULL), HELIO_OK);
    const helio_row_data_t *row = harness_take(next, HELIO_BROKER_FX_ROW_DATA);
    assert_true(row && helio_text_is(row->tenant, "other"));
    harness_end(&next);
}

/*  They are asked for by their sizes. */
static void data__a_prefix_is_found_after_another_of_its_size_is_gone(void **state)
{
    (void)state;
    harness_t *h = begin();
    helio_job_spec_t spec = reader(h, GB);
    harness_link(h, "*", "*", 1000, 1000000);
    harness_data(h, "s3://acme/corpus/en", SITES_OF("south"));
    harness_data(h, "s3://acme/corpus/de", SITES_OF("north"));
    harness_data(h, "s3://acme/corpus/en", SITES_OF("south")); /* in place of itself */
    harness_data(h, "s3://acme/corpus/de", NOWHERE);
    helio_planned_t planned = plan(h, &spec);
    assert_true(candidate(&planned, "north")->transfer_ms > 0);
    assert_int_equal(candidate(&planned, "south")->transfer_ms, 0);
    harness_data(h, "s3://acme", SITES_OF("north"));
    harness_data(h, "s3://acme/corpus/en", NOWHERE); /* the longest: a shorter one stands for it */
    planned = plan(h, &spec);
    assert_int_equal(candidate(&planned, "north")->transfer_ms, 0);
    assert_true(candidate(&planned, "south")->transfer_ms > 0);
    harness_end(&h);
}

/* ---- the account --------------------------------------------------------------------------------------- */

static helio_job_key_t run_at_north(harness_t *h, uint64_t bytes)
{
    helio_job_spec_t spec = reader(h, bytes);
    spec.home = HELIO_TEXT("south");
    harness_strings(h, &spec.sites, SITES_OF("north"));
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_RUNNING);
    return key;
}

static helio_report_t end_of(harness_t *h, helio_job_key_t key, uint32_t epoch)
{
    harness_advance(h, 600000);
    helio_report_t report = harness_report_of(h, key, epoch, HELIO_REPORT_KIND_ENDED);
    report.run_ms = 600000;
    report.gpu_ms = 8 * report.run_ms;
    report.ended_wall_ms = harness_wall_ms(h);
    report.started_wall_ms = report.ended_wall_ms - 600000;
    return report;
}

/*  Of the transfer; counts how many there are. */
static helio_row_ledger_t transfer_row(harness_t *h, uint32_t *ret_count, uint64_t *ret_run_j)
{
    helio_row_ledger_t found = {0};
    *ret_count = 0;
    *ret_run_j = 0;
    for (const helio_row_ledger_t *row; (row = harness_take(h, HELIO_BROKER_FX_ROW_LEDGER));) {
        if (helio_text_is(row->provenance, "transfer")) {
            found = *row;
            (*ret_count)++;
        } else {
            *ret_run_j += row->energy_j;
        }
    }
    return found;
}

static void ledger__an_attempt_is_charged_its_transfer_once_as_it_was_placed(void **state)
{
    (void)state;
    harness_t *h = begin();
    (void)harness_data(h, "s3://acme", SITES_OF("south"));
    (void)harness_link(h, "*", "*", 5000, 20000);
    helio_job_key_t key = run_at_north(h, 2000 * GB);
    const helio_row_placement_t *placed = harness_take(h, HELIO_BROKER_FX_ROW_PLACEMENT);
    assert_int_equal(placed->transfer_micro_usd, 40000000);
    assert_true(placed->planned_cost_micro_usd == 40000000 + 16000000); /* an hour of 8 GPUs at 2 USD */
    (void)harness_link(h, "*", "*", 5000, 999999); /* what is set later does not change it, nor does a new leader */
    harness_t *next = harness_rebuild(h);
    harness_end(&h);
    helio_site_profile_t *north = harness_site(next, "north");
    (void)harness_pool(next, north, "h100", "H100", 4, 8, 2);
    harness_hello(next, NORTH, north);
    helio_holding_t holding = {.key = key, .epoch = 1, .state = HELIO_JOB_RUNNING};
    harness_inventory(next, NORTH, &holding, 1);
    helio_report_t report = end_of(next, key, 1);
    harness_clear(next);
    harness_report(next, NORTH, &report);
    uint32_t count;
    uint64_t run_j;
    helio_row_ledger_t row = transfer_row(next, &count, &run_j);
    assert_int_equal(count, 1);
    assert_int_equal(row.cost_micro_usd, 40000000);
    assert_int_equal(row.energy_j, 14400000);
    assert_int_equal(row.carbon_mg, 800000);
    assert_int_equal(row.gpu_ms, 0);
    assert_int_equal(row.hour_ms, report.started_wall_ms - report.started_wall_ms % HOUR_MS);
    assert_text(row.pool, "h100");
    assert_text(row.gpu_model, "H100");
    assert_int_equal(harness_row(next, key)->energy_j, run_j + 14400000); /* the job's own figures contain it */
    harness_end(&next);
}

static void ledger__baselines_are_charged_their_own_transfer(void **state)
{
    (void)state;
    harness_t *h = begin();
    (void)harness_data(h, "s3://acme", SITES_OF("aws"));
    (void)harness_link(h, "aws", "north", 5000, 20000);
    (void)harness_link(h, "aws", "south", 5000, 90000);
    helio_job_key_t key = run_at_north(h, 1000 * GB);
    helio_report_t report = end_of(h, key, 1);
    harness_clear(h);
    harness_report(h, NORTH, &report);
    const helio_row_baseline_t *row = harness_take(h, HELIO_BROKER_FX_ROW_BASELINE);
    assert_non_null(row);
    assert_text(row->home_site, "");
    assert_text(row->earliest_site, "north");
    int64_t run = row->cost_micro_usd - 20000000;
    assert_true(run > 0);
    assert_int_equal(row->earliest_cost_micro_usd, run + 20000000);
    harness_end(&h);
}

static void ledger__an_attempt_that_never_ran_is_charged_nothing(void **state)
{
    (void)state;
    harness_t *h = begin();
    (void)harness_data(h, "s3://acme", SITES_OF("south"));
    (void)harness_link(h, "*", "*", 5000, 20000);
    helio_job_spec_t spec = reader(h, 2000 * GB);
    harness_strings(h, &spec.sites, SITES_OF("north"));
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    harness_clear(h);
    helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_REFUSED);
    report.run_ms = report.gpu_ms = 0;
    harness_report(h, NORTH, &report);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_LEDGER), 0);
    harness_end(&h);
}

static void data__a_new_leader_knows_the_catalogue_and_the_links(void **state)
{
    (void)state;
    harness_t *h = begin();
    (void)harness_data(h, "s3://acme", SITES_OF("aws", "south"));
    (void)harness_link(h, "*", "*", 5000, 20000);
    harness_t *next = harness_rebuild(h);
    harness_end(&h);
    static const char *const names[SITES] = {"north", "south"};
    for (uint32_t i = 0; i < SITES; i++) {
        helio_site_profile_t *site = harness_site(next, names[i]);
        (void)harness_pool(next, site, "h100", "H100", 4, 8, 2);
        harness_join(next, i + 1, site);
    }
    helio_job_spec_t spec = reader(next, 1000 * GB);
    helio_planned_t p = plan(next, &spec);
    assert_text(p.decision.chosen_site, "south");
    assert_int_equal(candidate(&p, "north")->egress_micro_usd, 20000000);
    harness_end(&next);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data__is_stored_audited_and_answered),
        cmocka_unit_test(data__invalid_values_are_refused_and_change_nothing),
        cmocka_unit_test(data__the_longest_prefix_wins_and_ends_at_a_slash),
        cmocka_unit_test(data__a_prefix_is_found_after_another_of_its_size_is_gone),
        cmocka_unit_test(data__of_one_tenant_is_unknown_to_all_others),
        cmocka_unit_test(ledger__an_attempt_is_charged_its_transfer_once_as_it_was_placed),
        cmocka_unit_test(ledger__baselines_are_charged_their_own_transfer),
        cmocka_unit_test(ledger__an_attempt_that_never_ran_is_charged_nothing),
        cmocka_unit_test(data__a_new_leader_knows_the_catalogue_and_the_links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
