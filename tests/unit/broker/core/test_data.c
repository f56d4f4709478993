/*  test_data.c -- data and links: how they decide where jobs go. */
#include "tests/unit/broker/core/data_testing.h"

/* ---- decisions ----------------------------------------------------------------------------------------- */

static void data__a_job_goes_to_the_site_of_its_data(void **state)
{
    (void)state;
    harness_t *h = begin();
    (void)harness_data(h, "s3://acme", SITES_OF("south"));
    (void)harness_link(h, "*", "*", 5000, 20000);
    helio_job_spec_t spec = reader(h, 2000 * GB);
    helio_planned_t p = plan(h, &spec);
    assert_text(p.decision.chosen_site, "south");
    const helio_row_candidate_t *there = candidate(&p, "south"), *away = candidate(&p, "north");
    assert_true(!there->transfer_ms && !there->transfer_micro_usd && !there->details.items.count);
    assert_int_equal(away->transfer_ms, 3200000);
    assert_int_equal(away->egress_micro_usd, 40000000);
    assert_int_equal(away->transfer_micro_usd, 40000000); /* carbon costs this job nothing */
    assert_int_equal(away->transfer_j, 14400000);
    assert_int_equal(away->transfer_carbon_mg, 800000); /* 4 kWh at the mean of 100 and 300 g */
    assert_string_equal(harness_facts(h, away->details), "DataBrought size_bytes=2 TB sites=south time_s=54m");
    assert_true(away->start_ms == there->start_ms); /* the order's time; its run begins 53 minutes later */
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
    assert_text(((const helio_row_placement_t *)harness_take(h, HELIO_BROKER_FX_ROW_PLACEMENT))->site, "south");
    harness_end(&h);
}

static void data__each_item_comes_from_its_cheapest_replica(void **state)
{
    (void)state;
    harness_t *h = begin();
    (void)harness_data(h, "s3://acme", SITES_OF("aws", "gcp", "south"));
    (void)harness_link(h, "aws", "north", 1000, 50000);
    (void)harness_link(h, "gcp", "*", 1000, 30000);
    (void)harness_link(h, "south", "north", 1000, 40000);
    helio_job_spec_t spec = reader(h, 100 * GB);
    harness_reads(h, &spec, "s3://acme/more", 100 * GB);
    helio_planned_t p = plan(h, &spec);
    assert_string_equal(harness_facts(h, candidate(&p, "north")->details),
                        "DataBrought size_bytes=200 GB sites=gcp time_s=27m");
    assert_int_equal(candidate(&p, "north")->transfer_ms, 1600000); /* one after the other */
    assert_int_equal(candidate(&p, "north")->egress_micro_usd, 6000000);
    assert_int_equal(candidate(&p, "north")->transfer_carbon_mg, 2 * 20000); /* gcp tells no intensity: north's 100 g */
    (void)harness_link(h, "aws", "north", 100000, 30000);                    /* as cheap, and faster */
    spec.wait_price_micro_usd_per_gpu_h = 1000;
    p = plan(h, &spec);
    assert_string_equal(harness_facts(h, candidate(&p, "north")->details),
                        "DataBrought size_bytes=200 GB sites=aws time_s=16s");
    harness_end(&h);
}

/*  South's 300 g are known. A bucket of unknown intensity is scored as if it burnt coal, and charged by the end whose
 *  intensity is known. */
static void data__a_replica_without_an_intensity_does_not_look_clean(void **state)
{
    (void)state;
    harness_t *h = begin();
    (void)harness_data(h, "s3://acme", SITES_OF("aws", "south"));
    (void)harness_link(h, "*", "*", 1000, 0);
    helio_job_spec_t spec = reader(h, 100 * GB);
    spec.carbon_price_micro_usd_per_t = 200000000;
    helio_planned_t p = plan(h, &spec);
    assert_string_equal(harness_facts(h, candidate(&p, "north")->details),
                        "DataBrought size_bytes=100 GB sites=south time_s=14m");
    assert_int_equal(candidate(&p, "north")->transfer_carbon_mg, 40000); /* 0.2 kWh at the mean of 100 and 300 g */
    harness_end(&h);
}

static void links__the_most_specific_one_counts(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to;
        int64_t egress;
    } links[] = {{"*", "*", 1000}, {"*", "north", 2000}, {"south", "*", 3000}, {"south", "north", 4000}};
    harness_t *h = begin();
    (void)harness_data(h, "s3://acme", SITES_OF("south"));
    helio_job_spec_t spec = reader(h, 1000 * GB);
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
        (void)harness_link(h, links[i].from, links[i].to, 1000, links[i].egress);
        helio_planned_t p = plan(h, &spec);
        assert_int_equal(candidate(&p, "north")->egress_micro_usd, links[i].egress * 1000);
    }
    (void)harness_link(h, "south", "north", 0, 0);
    helio_planned_t p = plan(h, &spec);
    assert_int_equal(candidate(&p, "north")->egress_micro_usd, 3000000);
    harness_end(&h);
}

static void links__without_any_nothing_is_charged_else_a_missing_link_excludes_the_site(void **state)
{
    (void)state;
    harness_t *h = begin();
    (void)harness_data(h, "s3://acme", SITES_OF("south"));
    helio_job_spec_t spec = reader(h, 5 * GB);
    helio_planned_t p = plan(h, &spec);
    assert_int_equal(candidate(&p, "north")->rejected_reason.size, 0);
    assert_int_equal(candidate(&p, "north")->transfer_ms, 0);
    assert_string_equal(harness_facts(h, candidate(&p, "north")->details), "DataFree size_bytes=5 GB sites=south");
    (void)harness_link(h, "north", "south", 1000, 0);
    p = plan(h, &spec);
    assert_text(candidate(&p, "north")->rejected_reason, "NoLink");
    assert_string_equal(harness_facts(h, candidate(&p, "north")->details), "DataNoLink sites=south");
    assert_text(p.decision.chosen_site, "south");
    (void)harness_data(h, "s3://acme", SITES_OF("aws"));
    p = plan(h, &spec);
    assert_text(p.decision.reason, "NeverFits");
    (void)harness_link(h, "*", "*", 1000, 0);
    p = plan(h, &spec);
    assert_int_equal(p.decision.reason.size, 0);
    harness_end(&h);
}

static void data__outside_the_catalogue_is_reported_and_costs_nothing(void **state)
{
    (void)state;
    harness_t *h = begin();
    (void)harness_link(h, "*", "*", 1, 1000000);
    helio_job_spec_t spec = reader(h, 5000 * GB);
    helio_planned_t p = plan(h, &spec);
    assert_string_equal(harness_facts(h, candidate(&p, "north")->details), "DataUnknown uris=s3://acme/corpus/en");
    assert_int_equal(candidate(&p, "north")->transfer_micro_usd, 0);
    harness_reads(h, &spec, "s3://x/y", GB);
    p = plan(h, &spec);
    assert_string_equal(harness_facts(h, candidate(&p, "south")->details),
                        "DataUnknown uris=s3://acme/corpus/en and 1 more");
    harness_end(&h);
}

static void data__transfer_time_counts_against_the_deadline_and_as_waiting(void **state)
{
    (void)state;
    harness_t *h = begin();
    (void)harness_data(h, "s3://acme", SITES_OF("aws"));
    (void)harness_link(h, "aws", "north", 1000, 0);
    (void)harness_link(h, "aws", "south", 100000, 0);
    helio_job_spec_t spec = reader(h, 450 * GB); /* an hour, or 36 s */
    spec.time_limit_ms = HOUR_MS;
    spec.wait_price_micro_usd_per_gpu_h = 1000000;
    helio_planned_t p = plan(h, &spec);
    assert_int_equal(candidate(&p, "north")->wait_micro_usd, 8000000); /* 8 GPUs for an hour at a dollar */
    assert_text(p.decision.chosen_site, "south");
    spec.deadline_wall_ms = harness_wall_ms(h) + 2 * HOUR_MS - 1;
    p = plan(h, &spec);
    assert_text(candidate(&p, "north")->rejected_reason, "Deadline");
    assert_int_equal(candidate(&p, "south")->rejected_reason.size, 0);
    spec.deadline_wall_ms += 1;
    p = plan(h, &spec);
    assert_int_equal(candidate(&p, "north")->rejected_reason.size, 0);
    harness_end(&h);
}

static void data__egress_counts_against_max_cost(void **state)
{
    (void)state;
    harness_t *h = begin();
    (void)harness_data(h, "s3://acme", SITES_OF("south"));
    (void)harness_link(h, "*", "*", 1000, 10000);
    helio_job_spec_t spec = reader(h, 100 * GB); /* a dollar; the run costs 16 */
    spec.time_limit_ms = HOUR_MS;
    spec.max_cost_micro_usd = 16999999;
    helio_planned_t p = plan(h, &spec);
    assert_text(candidate(&p, "north")->rejected_reason, "CostCap");
    spec.max_cost_micro_usd++;
    p = plan(h, &spec);
    assert_int_equal(candidate(&p, "north")->rejected_reason.size, 0);
    harness_end(&h);
}

static void data__equal_lists_share_a_class_and_others_do_not(void **state)
{
    (void)state;
    harness_t *h = begin();
    helio_job_spec_t a = reader(h, GB), b = reader(h, GB), c = reader(h, 2 * GB), none = harness_spec(h, "H100", 8);
    none.prices_set = true;
    (void)harness_job(h, &a);
    (void)harness_job(h, &b);
    assert_int_equal(harness_figures(h).classes, 1);
    (void)harness_job(h, &c);
    (void)harness_job(h, &none);
    assert_int_equal(harness_figures(h).classes, 3);
    harness_end(&h);
}

/*  Of a class that waits the verdicts are kept; a change of the catalogue or of the other end's intensity must not pass
 *  them by. */
static void data__a_waiting_class_is_judged_again_when_the_catalogue_changes(void **state)
{
    (void)state;
    harness_t *h = begin();
    (void)harness_link(h, "north", "south", 1000, 0);
    (void)harness_data(h, "s3://acme", SITES_OF("aws"));
    helio_job_spec_t spec = reader(h, GB);
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
    (void)harness_data(h, "s3://acme", SITES_OF("north"));
    harness_tick(h);
    assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
    harness_end(&h);
}

/*  Whatever the catalogue: where nothing but the transfer differs, the site that it costs less is chosen. */
static void data__a_cheaper_transfer_never_makes_a_site_worse(void **state)
{
    (void)state;
    static const char *const places[] = {"north", "south", "aws", "*"};
    harness_t *h = harness_begin(NULL);
    for (uint32_t i = 0; i < SITES; i++) {
        helio_site_profile_t *site = harness_site(h, places[i]);
        (void)harness_pool(h, site, "h100", "H100", 4, 8, 2);
        harness_join(h, i + 1, site);
    }

    helio_rng_t rng = {11};
    uint32_t compared = 0;
    for (int i = 0; i < 1500; i++) {
        for (uint32_t j = 0; j < 2; j++) {
            const char *from = places[helio_rng_next(&rng) % 4],
                       *to = places[(helio_rng_next(&rng) % 2) ? 3 : helio_rng_next(&rng) % 2];
            uint64_t mbps = helio_rng_next(&rng) % 4 ? 1 + helio_rng_next(&rng) % 100000 : 0;
            (void)harness_link(h, from, to, mbps, (int64_t)(helio_rng_next(&rng) % 50000));
            uint32_t which = (uint32_t)(helio_rng_next(&rng) % 7) + 1;
            const char *sites[4];
            uint32_t count = 0;
            for (uint32_t k = 0; k < 3; k++)
                if (which & (1u << k))
                    sites[count++] = places[k];
            sites[count] = NULL;
            (void)harness_data(h, j ? "s3://acme/corpus" : "s3://acme", sites);
        }
        helio_job_spec_t spec = reader(h, 1 + helio_rng_next(&rng) % (1000 * GB));
        harness_reads(h, &spec, "s3://acme/x", helio_rng_next(&rng) % (1000 * GB));
        spec.carbon_price_micro_usd_per_t = (int64_t)(helio_rng_next(&rng) % 2000000000);
        spec.wait_price_micro_usd_per_gpu_h = (int64_t)(helio_rng_next(&rng) % 1000000);
        helio_planned_t p = plan(h, &spec);
        const helio_row_candidate_t *a = candidate(&p, "north"), *b = candidate(&p, "south");
        if (a->rejected_reason.size || b->rejected_reason.size)
            continue;
        int64_t of_a = a->transfer_micro_usd + a->wait_micro_usd, of_b = b->transfer_micro_usd + b->wait_micro_usd;
        if (of_a != of_b) {
            assert_text(p.decision.chosen_site, of_a < of_b ? "north" : "south");
            compared++;
        }
    }
    assert_true(compared > 300);
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data__a_job_goes_to_the_site_of_its_data),
        cmocka_unit_test(data__each_item_comes_from_its_cheapest_replica),
        cmocka_unit_test(data__a_replica_without_an_intensity_does_not_look_clean),
        cmocka_unit_test(links__the_most_specific_one_counts),
        cmocka_unit_test(links__without_any_nothing_is_charged_else_a_missing_link_excludes_the_site),
        cmocka_unit_test(data__outside_the_catalogue_is_reported_and_costs_nothing),
        cmocka_unit_test(data__transfer_time_counts_against_the_deadline_and_as_waiting),
        cmocka_unit_test(data__egress_counts_against_max_cost),
        cmocka_unit_test(data__equal_lists_share_a_class_and_others_do_not),
        cmocka_unit_test(data__a_waiting_class_is_judged_again_when_the_catalogue_changes),
        cmocka_unit_test(data__a_cheaper_transfer_never_makes_a_site_worse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
