/*  The data catalogue and the links: what bringing a job's data to a pool does to a decision and to the account. */
#include <string.h>

#include "federation/base/rng.h"
#include "federation/energy/account.h"
#include "tests/support/core_harness.h"

enum { NORTH = 1, SOUTH = 2, HOUR_MS = 3600000, SITES = 2 };
#define SITES_OF(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NOWHERE ((const char *const[]){NULL})

static const uint64_t GB = 1000000000;

/*  Two sites of one price and one intensity; north would win the tie. */
static harness_t *begin(void)
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

static helio_job_spec_t reader(harness_t *h, uint64_t bytes)
{
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    spec.prices_set = true; /* money alone */
    harness_reads(h, &spec, "s3://acme/corpus/en", bytes);
    return spec;
}

static helio_planned_t plan(harness_t *h, const helio_job_spec_t *spec)
{
    helio_submission_t one = harness_submission(h, spec, "", "");
    helio_ev_submit_t event = {
        .call = 4711, .tenant = HELIO_TEXT("acme"), .user = HELIO_TEXT("ada"), .jobs = {&one, 1}};
    harness_clear(h);
    harness_step(h, HELIO_BROKER_EV_PLAN, &event);
    const helio_fx_answer_t *answer = harness_take(h, HELIO_BROKER_FX_ANSWER);
    assert_int_equal(answer->rc, HELIO_OK);
    return answer->plan;
}

static const helio_row_candidate_t *candidate(const helio_planned_t *plan, const char *site)
{
    for (uint32_t i = 0; i < plan->candidates.count; i++)
        if (helio_text_is(plan->candidates.items[i].row.site, site))
            return &plan->candidates.items[i].row;
    fail_msg("no candidate at %s", site);
    return NULL;
}

static void assert_text(helio_text_t text, const char *expected)
{
    if (!helio_text_is(text, expected))
        fail_msg("'%.*s' is not '%s'", HELIO_TEXT_ARGS(text), expected);
}

/* ---- setting them ---------------------------------------------------------------------------------------- */

static void data__is_stored_audited_and_answered(void **state)
{
    (void)state;
    harness_t *h = begin();
    const helio_fx_answer_t *answer = harness_data(h, "s3://acme/corpus/", SITES_OF("south", "north", "south", "aws"));
    assert_int_equal(answer->rc, HELIO_OK);
    assert_text(answer->text, "at south, north, aws; aws is not a site that has joined");
    const helio_row_data_t *row = harness_take(h, HELIO_BROKER_FX_ROW_DATA);
    assert_text(row->prefix, "s3://acme/corpus"); /* a slash at the end says nothing */
    assert_text(row->sites, "south north aws");
    const helio_row_audit_t *audit = harness_take(h, HELIO_BROKER_FX_ROW_AUDIT);
    assert_text(audit->action, "data-set");
    assert_text(audit->object, "s3://acme/corpus");
    assert_text(audit->detail, "south, north, aws");
    answer = harness_data(h, "s3://acme/corpus", NOWHERE);
    assert_text(answer->text, "removed");
    row = harness_take(h, HELIO_BROKER_FX_ROW_DATA);
    assert_int_equal(row->sites.size, 0);
    assert_text(((const helio_row_audit_t *)harness_take(h, HELIO_BROKER_FX_ROW_AUDIT))->action, "data-rm");
    answer = harness_link(h, "north", "*", 5000, 20000);
    assert_text(answer->text, "5 Gbit/s, 0.02 USD/GB, 0 ms");
    const helio_row_link_t *link = harness_take(h, HELIO_BROKER_FX_ROW_LINK);
    assert_true(helio_text_is(link->from, "north") && helio_text_is(link->to, "*") && link->mbps == 5000 &&
                !link->removed);
    assert_text(((const helio_row_audit_t *)harness_take(h, HELIO_BROKER_FX_ROW_AUDIT))->object, "north -> *");
    assert_int_equal(harness_link(h, "north", "*", 0, 0)->rc, HELIO_OK);
    assert_true(((const helio_row_link_t *)harness_take(h, HELIO_BROKER_FX_ROW_LINK))->removed);
    harness_end(&h);
}

static void data__nonsense_is_refused_and_changes_nothing(void **state)
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
    helio_ev_data_t data = {.call = 1, .user = HELIO_TEXT("eve"), .prefix = HELIO_TEXT("s3://a")};
    helio_ev_link_t link = {
        .call = 2, .user = HELIO_TEXT("eve"), .from = HELIO_TEXT("*"), .to = HELIO_TEXT("*"), .mbps = 1};
    harness_clear(h);
    harness_step(h, HELIO_BROKER_EV_DATA, &data);
    assert_int_equal(((const helio_fx_answer_t *)harness_take(h, HELIO_BROKER_FX_ANSWER))->rc, HELIO_FORBIDDEN);
    harness_step(h, HELIO_BROKER_EV_LINK, &link);
    assert_int_equal(((const helio_fx_answer_t *)harness_take(h, HELIO_BROKER_FX_ANSWER))->rc, HELIO_FORBIDDEN);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_DATA) + harness_count(h, HELIO_BROKER_FX_ROW_LINK), 0);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_AUDIT), 0);
    harness_end(&h);
}

/* ---- decisions ------------------------------------------------------------------------------------------- */

static void data__a_job_goes_to_where_its_data_lies(void **state)
{
    (void)state;
    harness_t *h = begin();
    (void)harness_data(h, "s3://acme", SITES_OF("south"));
    (void)harness_link(h, "*", "*", 5000, 20000);
    helio_job_spec_t spec = reader(h, 2000 * GB);
    helio_planned_t p = plan(h, &spec);
    assert_text(p.decision.chosen_site, "south");
    const helio_row_candidate_t *there = candidate(&p, "south"), *away = candidate(&p, "north");
    assert_true(!there->transfer_ms && !there->transfer_micro_usd && !there->detail.size);
    assert_int_equal(away->transfer_ms, 3200000);
    assert_int_equal(away->egress_micro_usd, 40000000);
    assert_int_equal(away->transfer_micro_usd, 40000000); /* carbon costs this job nothing */
    assert_int_equal(away->transfer_j, 14400000);
    assert_int_equal(away->transfer_carbon_mg, 800000); /* 4 kWh at the mean of 100 and 300 g */
    assert_text(away->detail, "brings 2 TB from south in 53 min");
    assert_true(away->start_ms == there->start_ms); /* the order's time; its run begins 53 minutes later */
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
    assert_text(((const helio_row_placement_t *)harness_take(h, HELIO_BROKER_FX_ROW_PLACEMENT))->site, "south");
    harness_end(&h);
}

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
    helio_word_t sites[] = {{helio_text_of(site)}};
    helio_ev_data_t event = {.call = 1,
                             .user = HELIO_TEXT("ada"),
                             .role = HELIO_ROLE_OPERATOR,
                             .prefix = helio_text_of(prefix),
                             .sites = {sites, 1},
                             .tenant_given = tenant,
                             .tenant = helio_text_of(tenant ? tenant : "")};
    const helio_fx_answer_t *answer, *last = NULL;
    harness_clear(h);
    harness_step(h, HELIO_BROKER_EV_DATA, &event);
    while ((answer = harness_take(h, HELIO_BROKER_FX_ANSWER)))
        last = answer;
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
    assert_non_null(strstr(north->detail.data, "not in the catalogue"));
    assert_null(strstr(north->detail.data, "south"));
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
    assert_text(candidate(&p, "north")->detail, "brings 200 GB from gcp in 26 min");
    assert_int_equal(candidate(&p, "north")->transfer_ms, 1600000); /* one after the other */
    assert_int_equal(candidate(&p, "north")->egress_micro_usd, 6000000);
    assert_int_equal(candidate(&p, "north")->transfer_carbon_mg, 2 * 20000); /* gcp tells no intensity: north's 100 g */
    (void)harness_link(h, "aws", "north", 100000, 30000); /* as cheap, and faster */
    spec.wait_price_micro_usd_per_gpu_h = 1000;
    p = plan(h, &spec);
    assert_text(candidate(&p, "north")->detail, "brings 200 GB from aws in 16 s");
    harness_end(&h);
}

/*  South's 300 g are known; a bucket that tells nothing is weighed as if it burnt coal, and booked by the end that
 *  tells. */
static void data__a_replica_that_tells_no_intensity_does_not_look_clean(void **state)
{
    (void)state;
    harness_t *h = begin();
    (void)harness_data(h, "s3://acme", SITES_OF("aws", "south"));
    (void)harness_link(h, "*", "*", 1000, 0);
    helio_job_spec_t spec = reader(h, 100 * GB);
    spec.carbon_price_micro_usd_per_t = 200000000;
    helio_planned_t p = plan(h, &spec);
    assert_text(candidate(&p, "north")->detail, "brings 100 GB from south in 13 min");
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

static void links__without_any_nothing_is_charged_and_with_some_a_missing_one_keeps_out(void **state)
{
    (void)state;
    harness_t *h = begin();
    (void)harness_data(h, "s3://acme", SITES_OF("south"));
    helio_job_spec_t spec = reader(h, 5 * GB);
    helio_planned_t p = plan(h, &spec);
    assert_int_equal(candidate(&p, "north")->rejected_reason.size, 0);
    assert_int_equal(candidate(&p, "north")->transfer_ms, 0);
    assert_text(candidate(&p, "north")->detail, "5 GB come from south, not charged: no links are set");
    (void)harness_link(h, "north", "south", 1000, 0);
    p = plan(h, &spec);
    assert_text(candidate(&p, "north")->rejected_reason, "NoLink");
    assert_text(candidate(&p, "north")->detail, "no link from south");
    assert_text(p.decision.chosen_site, "south");
    (void)harness_data(h, "s3://acme", SITES_OF("aws"));
    p = plan(h, &spec);
    assert_text(p.decision.reason, "NeverFits");
    (void)harness_link(h, "*", "*", 1000, 0);
    p = plan(h, &spec);
    assert_int_equal(p.decision.reason.size, 0);
    harness_end(&h);
}

static void data__what_is_not_in_the_catalogue_is_said_and_costs_nothing(void **state)
{
    (void)state;
    harness_t *h = begin();
    (void)harness_link(h, "*", "*", 1, 1000000);
    helio_job_spec_t spec = reader(h, 5000 * GB);
    helio_planned_t p = plan(h, &spec);
    assert_text(candidate(&p, "north")->detail, "s3://acme/corpus/en: not in the catalogue");
    assert_int_equal(candidate(&p, "north")->transfer_micro_usd, 0);
    harness_reads(h, &spec, "s3://x/y", GB);
    p = plan(h, &spec);
    assert_text(candidate(&p, "south")->detail, "s3://acme/corpus/en and 1 more: not in the catalogue");
    harness_end(&h);
}

static void data__the_time_that_it_takes_counts_against_the_deadline_and_as_waiting(void **state)
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
static void data__a_class_that_waits_is_judged_anew_when_the_catalogue_changes(void **state)
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
static void data__a_site_that_is_cheaper_in_transfer_never_loses_by_it(void **state)
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

/* ---- the account ----------------------------------------------------------------------------------------- */

static helio_job_key_t run_at_north(harness_t *h, uint64_t bytes)
{
    helio_job_spec_t spec = reader(h, bytes);
    spec.home = HELIO_TEXT("south");
    harness_words(h, &spec.sites, SITES_OF("north"));
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
    assert_text(row->least_site, "north");
    int64_t run = row->cost_micro_usd - 20000000;
    assert_true(run > 0);
    assert_int_equal(row->least_cost_micro_usd, run + 20000000);
    harness_end(&h);
}

static void ledger__an_attempt_that_never_ran_is_charged_nothing(void **state)
{
    (void)state;
    harness_t *h = begin();
    (void)harness_data(h, "s3://acme", SITES_OF("south"));
    (void)harness_link(h, "*", "*", 5000, 20000);
    helio_job_spec_t spec = reader(h, 2000 * GB);
    harness_words(h, &spec.sites, SITES_OF("north"));
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
        cmocka_unit_test(data__nonsense_is_refused_and_changes_nothing),
        cmocka_unit_test(data__a_job_goes_to_where_its_data_lies),
        cmocka_unit_test(data__the_longest_prefix_wins_and_ends_at_a_slash),
        cmocka_unit_test(data__a_prefix_is_found_after_another_of_its_size_is_gone),
        cmocka_unit_test(data__of_one_tenant_is_unknown_to_all_others),
        cmocka_unit_test(data__each_item_comes_from_its_cheapest_replica),
        cmocka_unit_test(data__a_replica_that_tells_no_intensity_does_not_look_clean),
        cmocka_unit_test(links__the_most_specific_one_counts),
        cmocka_unit_test(links__without_any_nothing_is_charged_and_with_some_a_missing_one_keeps_out),
        cmocka_unit_test(data__what_is_not_in_the_catalogue_is_said_and_costs_nothing),
        cmocka_unit_test(data__the_time_that_it_takes_counts_against_the_deadline_and_as_waiting),
        cmocka_unit_test(data__egress_counts_against_max_cost),
        cmocka_unit_test(data__equal_lists_share_a_class_and_others_do_not),
        cmocka_unit_test(data__a_class_that_waits_is_judged_anew_when_the_catalogue_changes),
        cmocka_unit_test(data__a_site_that_is_cheaper_in_transfer_never_loses_by_it),
        cmocka_unit_test(ledger__an_attempt_is_charged_its_transfer_once_as_it_was_placed),
        cmocka_unit_test(ledger__baselines_are_charged_their_own_transfer),
        cmocka_unit_test(ledger__an_attempt_that_never_ran_is_charged_nothing),
        cmocka_unit_test(data__a_new_leader_knows_the_catalogue_and_the_links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
