/*  test_quota.c -- quotas: what a tenant can hold at once. The harness checks in every test that no placement exceeds
 *  one. */
#include <string.h>

#include "tests/support/core_harness.h"

#include "federation/base/rng.h"

enum { NORTH = 1 };

static harness_t *begin(uint32_t nodes)
{
    harness_t *h = harness_begin(NULL);
    helio_site_profile_t *site = harness_site(h, "north");
    (void)harness_pool(h, site, "h100", "H100", nodes, 8, 2);
    harness_join(h, NORTH, site);
    harness_tick(h);
    harness_clear(h);
    return h;
}

static void submit(harness_t *h, const char *tenant, const char *queue, uint32_t gpus, uint32_t count)
{
    helio_job_spec_t spec = harness_spec(h, "H100", gpus);
    spec.queue = helio_text_of(queue);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(harness_submit(h, tenant, &spec)->rc, HELIO_OK);
    harness_tick(h);
}

static helio_row_class_t last_class(harness_t *h)
{
    const helio_row_class_t *row, *last = NULL;
    while ((row = harness_take(h, HELIO_BROKER_FX_ROW_CLASS)))
        last = row;
    assert_non_null(last);
    return *last;
}

static void quota__is_stored_audited_and_answered(void **state)
{
    (void)state;
    harness_t *h = begin(1);
    const helio_fx_reply_t *reply = harness_quota(h, "acme", "", 16, 64, HARNESS_AS_IS);
    assert_int_equal(reply->rc, HELIO_OK);
    assert_true(harness_says(h, &reply->details,
                             "\"QuotaSet\",\"params\":{\"guaranteed_gpus\":16,\"burst_gpus\":64,\"weight\":1.0,"));
    const helio_row_quota_t *row = harness_take(h, HELIO_BROKER_FX_ROW_QUOTA);
    assert_non_null(row);
    assert_int_equal(row->burst_gpus, 64);
    assert_int_equal(row->guaranteed_gpus, 16);
    const helio_row_audit_t *audit = harness_take(h, HELIO_BROKER_FX_ROW_AUDIT);
    assert_true(helio_text_is(audit->action, "quota-set") && helio_text_is(audit->object, "acme"));
    assert_true(helio_text_is(audit->detail, "guaranteed 16, burst 64, weight 1.000"));
    /* what is not given stays */
    reply = harness_quota(h, "acme", "", HARNESS_AS_IS, HELIO_QUOTA_UNLIMITED, 2500);
    assert_true(
        harness_says(h, &reply->details, "\"QuotaSetUnlimited\",\"params\":{\"guaranteed_gpus\":16,\"weight\":2.5,"));
    reply = harness_quota(h, "acme", "batch", HARNESS_AS_IS, 4, HARNESS_AS_IS);
    assert_true(harness_says(h, &reply->details, "{\"guaranteed_gpus\":0,\"burst_gpus\":4,\"weight\":1.0,"));
    harness_end(&h);
}

static void quota__invalid_values_are_refused_and_change_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *tenant, *queue;
        int64_t guaranteed, burst, weight;
        helio_rc rc;
        helio_detail_code_t code;
    } cases[] = {
        {"nobody", "", 1, 2, HARNESS_AS_IS, HELIO_NOT_FOUND, HELIO_DETAIL_UNKNOWN_TENANT},
        {"acme", "nowhere", 1, 2, HARNESS_AS_IS, HELIO_NOT_FOUND, HELIO_DETAIL_UNKNOWN_QUEUE},
        {"acme", "", 3, 2, HARNESS_AS_IS, HELIO_INVALID, HELIO_DETAIL_QUOTA_GUARANTEE_ABOVE_BURST},
        {"acme", "", HARNESS_AS_IS, HELIO_QUOTA_GPUS_MAX + 1, HARNESS_AS_IS, HELIO_INVALID, HELIO_DETAIL_OUT_OF_RANGE},
        {"acme", "", HARNESS_AS_IS, HARNESS_AS_IS, 0, HELIO_INVALID, HELIO_DETAIL_OUT_OF_RANGE},
        {"acme", "", HARNESS_AS_IS, HARNESS_AS_IS, HELIO_QUOTA_WEIGHT_MAX + 1, HELIO_INVALID,
         HELIO_DETAIL_OUT_OF_RANGE},
        {"acme", "batch", HARNESS_AS_IS, HARNESS_AS_IS, 2000, HELIO_INVALID, HELIO_DETAIL_QUOTA_WEIGHT_OF_QUEUE},
    };
    harness_t *h = begin(1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const helio_fx_reply_t *reply =
            harness_quota(h, cases[i].tenant, cases[i].queue, cases[i].guaranteed, cases[i].burst, cases[i].weight);
        assert_int_equal(reply->rc, cases[i].rc);
        assert_non_null(helio_details_find(&reply->details, cases[i].code));
    }
    helio_ev_quota_t user = {.call = 4711,
                             .actor = HELIO_TEXT("user:ops/ada"),
                             .role = HELIO_ROLE_USER,
                             .tenant = HELIO_TEXT("acme"),
                             .burst_given = true,
                             .burst_gpus = 1};
    harness_step(h, HELIO_BROKER_EV_QUOTA, &user);
    const helio_fx_reply_t *reply = NULL, *next;
    while ((next = harness_take(h, HELIO_BROKER_FX_REPLY)))
        reply = next;
    assert_int_equal(reply->rc, HELIO_FORBIDDEN);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_QUOTA), 0);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_AUDIT), 0);
    harness_end(&h);
}

static void quota__a_class_over_its_burst_waits_with_policy_cap(void **state)
{
    (void)state;
    harness_t *h = begin(4);
    (void)harness_quota(h, "acme", "", HARNESS_AS_IS, 12, HARNESS_AS_IS);
    harness_clear(h);
    submit(h, "acme", "standard", 4, 3);
    submit(h, "acme", "standard", 4, 2);
    assert_int_equal(harness_gpus(h, "acme", ""), 12);
    helio_row_class_t row = last_class(h);
    assert_true(helio_text_is(row.reason, "PolicyCap"));
    assert_string_equal(harness_facts(h, row.details),
                        "QuotaInUse tenant=acme used_gpus=12 limit_gpus=12 needed_gpus=4");
    const helio_row_candidate_t *candidate, *last = NULL;
    while ((candidate = harness_take(h, HELIO_BROKER_FX_ROW_CANDIDATE)))
        last = candidate;
    assert_true(helio_text_is(last->rejected_reason, "Quota"));
    helio_job_spec_t spec = harness_spec(h, "H100", 4);
    const helio_start_estimate_t *p =
        &harness_command(h, HELIO_BROKER_EV_EXPLAIN, "acme", HELIO_ROLE_USER, harness_job(h, &spec))->start_estimate;
    assert_int_equal(p->hints.items[0].kind, HELIO_HINT_KIND_QUOTA);
    assert_string_equal(harness_facts(h, p->hints.items[0].change), "TryQuota tenant=acme burst_gpus=16");
    /* the other tenant is not held up */
    submit(h, "other", "standard", 4, 5);
    assert_int_equal(harness_gpus(h, "other", ""), 20);
    harness_end(&h);
}

static void quota__is_named_besides_a_drained_site(void **state)
{
    (void)state;
    harness_t *h = begin(4);
    (void)harness_quota(h, "acme", "", HARNESS_AS_IS, 12, HARNESS_AS_IS);
    submit(h, "acme", "standard", 4, 3);
    (void)harness_site_command(h, HELIO_BROKER_EV_DRAIN, HELIO_ROLE_OPERATOR, "north");
    harness_clear(h);
    submit(h, "acme", "standard", 4, 1);
    helio_row_class_t row = last_class(h);
    assert_true(helio_text_is(row.reason, "WaitingForCapacity"));
    assert_string_equal(harness_facts(h, row.details),
                        "RejectedFirstAt site=north rejection=Draining; "
                        "QuotaInUse tenant=acme used_gpus=12 limit_gpus=12 needed_gpus=4");
    harness_end(&h);
}

static void quota__a_job_beyond_the_whole_limit_waits_with_that_reason(void **state)
{
    (void)state;
    harness_t *h = begin(4);
    (void)harness_quota(h, "acme", "", HARNESS_AS_IS, 6, HARNESS_AS_IS);
    harness_clear(h);
    submit(h, "acme", "standard", 8, 1);
    assert_int_equal(harness_gpus(h, "acme", ""), 0);
    helio_row_class_t row = last_class(h);
    assert_string_equal(harness_facts(h, row.details), "QuotaTooSmall tenant=acme limit_gpus=6 needed_gpus=8");
    /* raised, it starts */
    (void)harness_quota(h, "acme", "", HARNESS_AS_IS, 8, HARNESS_AS_IS);
    harness_tick(h);
    assert_int_equal(harness_gpus(h, "acme", ""), 8);
    harness_end(&h);
}

static void quota__a_capped_gang_reserves_nothing(void **state)
{
    (void)state;
    harness_t *h = begin(2);
    (void)harness_quota(h, "acme", "", HARNESS_AS_IS, 8, HARNESS_AS_IS);
    submit(h, "acme", "standard", 1, 1);
    submit(h, "acme", "standard", 8, 1); /* a whole node, which is free: the quota is why it waits */
    submit(h, "other", "batch", 8, 1);
    assert_int_equal(harness_gpus(h, "acme", ""), 1);
    assert_int_equal(harness_gpus(h, "other", ""), 8);
    harness_end(&h);
}

static void quota__an_alternative_that_still_fits_is_taken(void **state)
{
    (void)state;
    harness_t *h = begin(2);
    (void)harness_quota(h, "acme", "", HARNESS_AS_IS, 4, HARNESS_AS_IS);
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    harness_or(h, &spec, "A100", 2);
    helio_site_profile_t *site = harness_site(h, "south");
    (void)harness_pool(h, site, "a100", "A100", 1, 8, 1);
    harness_join(h, 2, site);
    assert_int_equal(harness_submit(h, "acme", &spec)->rc, HELIO_OK);
    harness_tick(h);
    assert_int_equal(harness_gpus(h, "acme", ""), 2);
    harness_end(&h);
}

static void quota__of_a_queue_limits_that_queue_only(void **state)
{
    (void)state;
    harness_t *h = begin(4);
    (void)harness_quota(h, "acme", "batch", HARNESS_AS_IS, 2, HARNESS_AS_IS);
    harness_clear(h);
    submit(h, "acme", "batch", 1, 5);
    assert_int_equal(harness_gpus(h, "acme", "batch"), 2);
    assert_string_equal(harness_facts(h, last_class(h).details),
                        "QuotaInUse tenant=acme queue=batch used_gpus=2 limit_gpus=2 needed_gpus=1");
    submit(h, "acme", "standard", 1, 5);
    assert_int_equal(harness_gpus(h, "acme", ""), 7);
    harness_end(&h);
}

static void quota__is_returned_at_the_end_and_by_a_refusal(void **state)
{
    (void)state;
    harness_t *h = harness_begin(NULL);
    helio_site_profile_t *site = harness_site(h, "north");
    (void)harness_pool(h, site, "h100", "H100", 4, 8, 2);
    harness_join(h, NORTH, site);
    (void)harness_quota(h, "acme", "", HARNESS_AS_IS, 4, HARNESS_AS_IS);
    helio_job_spec_t spec = harness_spec(h, "H100", 4);
    helio_job_key_t first = harness_job(h, &spec), second = harness_job(h, &spec);
    harness_tick(h);
    assert_int_equal(harness_state(h, first), HELIO_JOB_OFFERED);
    assert_int_equal(harness_state(h, second), HELIO_JOB_QUEUED);
    harness_run_up_to(h, NORTH, first, 1, HELIO_JOB_RUNNING);
    harness_say(h, NORTH, first, 1, HELIO_REPORT_KIND_ENDED);
    harness_tick(h);
    assert_int_equal(harness_state(h, second), HELIO_JOB_OFFERED);
    helio_job_key_t third = harness_job(h, &spec);
    harness_say(h, NORTH, second, 1, HELIO_REPORT_KIND_REFUSED);
    assert_int_equal(harness_gpus(h, "acme", ""), 0);
    harness_wait(h, 2000);
    harness_summary(h, NORTH, site, 2, 0);
    harness_tick(h);
    assert_int_equal(harness_gpus(h, "acme", ""), 4);
    assert_true((harness_state(h, second) == HELIO_JOB_OFFERED) != (harness_state(h, third) == HELIO_JOB_OFFERED));
    harness_end(&h);
}

static void quota__lowered_below_what_is_held_stops_starts_only(void **state)
{
    (void)state;
    harness_t *h = begin(4);
    submit(h, "acme", "standard", 4, 4);
    assert_int_equal(harness_gpus(h, "acme", ""), 16);
    assert_int_equal(harness_quota(h, "acme", "", HARNESS_AS_IS, 6, HARNESS_AS_IS)->rc, HELIO_OK);
    submit(h, "acme", "standard", 4, 4);
    assert_int_equal(harness_gpus(h, "acme", ""), 16);
    harness_end(&h);
}

static void quota__does_not_limit_cpu_jobs(void **state)
{
    (void)state;
    harness_t *h = begin(1);
    (void)harness_quota(h, "acme", "", HARNESS_AS_IS, 0, HARNESS_AS_IS);
    helio_job_spec_t spec = harness_spec(h, "", 0);
    helio_job_key_t job = harness_job(h, &spec);
    harness_tick(h);
    assert_int_equal(harness_state(h, job), HELIO_JOB_OFFERED);
    harness_end(&h);
}

static void quota__a_new_leader_keeps_it_and_what_is_held(void **state)
{
    (void)state;
    harness_t *h = begin(4);
    (void)harness_quota(h, "acme", "", 2, 12, 2000);
    (void)harness_quota(h, "acme", "batch", HARNESS_AS_IS, 8, HARNESS_AS_IS);
    submit(h, "acme", "batch", 4, 3);
    assert_int_equal(harness_gpus(h, "acme", ""), 8);
    harness_t *next = harness_rebuild(h);
    helio_site_profile_t *site = harness_site(next, "north");
    (void)harness_pool(next, site, "h100", "H100", 4, 8, 2);
    harness_join(next, NORTH, site);
    harness_tick(next);
    assert_int_equal(harness_gpus(next, "acme", "batch"), 8);
    submit(next, "acme", "standard", 4, 3);
    assert_int_equal(harness_gpus(next, "acme", ""), 12);
    const helio_fx_reply_t *reply = harness_quota(next, "acme", "", HARNESS_AS_IS, HARNESS_AS_IS, HARNESS_AS_IS);
    assert_true(harness_says(next, &reply->details, "{\"guaranteed_gpus\":2,\"burst_gpus\":12,\"weight\":2.0,"));
    harness_end(&next);
    harness_end(&h);
}

/*  Jobs of many sizes come, start, end, are refused and cancelled at random; limits move. */
static void quota__is_never_exceeded_whatever_happens(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        harness_t *h = begin(6);
        helio_rng_t rng = {seed};
        helio_job_key_t keys[200];
        uint32_t count = 0;
        for (uint32_t turn = 0; turn < 400; turn++) {
            uint64_t dice = helio_rng_next(&rng) % 10;
            const char *tenant = helio_rng_next(&rng) % 2 ? "acme" : "other";
            if (dice == 0) {
                (void)harness_quota(h, tenant, helio_rng_next(&rng) % 2 ? "" : "batch", HARNESS_AS_IS,
                                    (int64_t)(helio_rng_next(&rng) % 24), HARNESS_AS_IS);
            } else if (dice < 5 && count < 200) {
                helio_job_spec_t spec = harness_spec(h, "H100", 1 + (uint32_t)(helio_rng_next(&rng) % 8));
                spec.nodes = 1 + (uint32_t)(helio_rng_next(&rng) % 2);
                spec.queue = helio_rng_next(&rng) % 2 ? HELIO_TEXT("batch") : HELIO_TEXT("standard");
                keys[count++] = (helio_job_key_t){harness_submit(h, tenant, &spec)->jobs.items[0].job, HELIO_NO_TASK};
            } else if (count) {
                helio_job_key_t key = keys[helio_rng_next(&rng) % count];
                const helio_row_state_t *row = harness_row(h, key);
                if (row && row->state == HELIO_JOB_OFFERED)
                    harness_say(h, NORTH, key, row->epoch,
                                dice < 7 ? HELIO_REPORT_KIND_REFUSED : HELIO_REPORT_KIND_ENDED);
                else if (dice == 9)
                    (void)harness_command(h, HELIO_BROKER_EV_CANCEL, "", HELIO_ROLE_OPERATOR, key);
            }
            harness_wait(h, (int64_t)(helio_rng_next(&rng) % 700));
        }
        harness_end(&h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quota__is_stored_audited_and_answered),
        cmocka_unit_test(quota__invalid_values_are_refused_and_change_nothing),
        cmocka_unit_test(quota__a_class_over_its_burst_waits_with_policy_cap),
        cmocka_unit_test(quota__is_named_besides_a_drained_site),
        cmocka_unit_test(quota__a_job_beyond_the_whole_limit_waits_with_that_reason),
        cmocka_unit_test(quota__a_capped_gang_reserves_nothing),
        cmocka_unit_test(quota__an_alternative_that_still_fits_is_taken),
        cmocka_unit_test(quota__of_a_queue_limits_that_queue_only),
        cmocka_unit_test(quota__is_returned_at_the_end_and_by_a_refusal),
        cmocka_unit_test(quota__lowered_below_what_is_held_stops_starts_only),
        cmocka_unit_test(quota__does_not_limit_cpu_jobs),
        cmocka_unit_test(quota__a_new_leader_keeps_it_and_what_is_held),
        cmocka_unit_test(quota__is_never_exceeded_whatever_happens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
