/*  test_overflow.c -- overflow groups: where waiting jobs can go, and the way back. */
#include "tests/support/core_harness.h"

#include <stdio.h>
#include <string.h>

enum { HOME = 1, NEAR = 2, CLOUD = 3, MINUTE_MS = 60000 };

static harness_t *h;
static helio_site_profile_t *home, *near, *cloud;

static void make_sites(void)
{
    home = harness_site(h, "home-a");
    near = harness_site(h, "near");
    cloud = harness_site(h, "cloud");
    (void)harness_pool(h, home, "a", "H100", 1, 8, 5.0); /* the dearest: price does not choose a step */
    (void)harness_pool(h, near, "a", "H100", 1, 8, 1.0);
    (void)harness_pool(h, cloud, "a", "H100", 4, 8, 2.5);
}

static int begin(void **state)
{
    (void)state;
    h = harness_begin(NULL);
    make_sites();
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
    harness_join(h, HOME, home);
    harness_join(h, NEAR, near);
    harness_join(h, CLOUD, cloud);
}

static void set(const char *steps)
{
    assert_int_equal(harness_overflow(h, "out", "standard", "", steps)->rc, HELIO_OK);
}

/*  Sites are heard of all the time; nothing becomes free. */
static void wait_minutes(int minutes)
{
    for (int i = 0; i < minutes * 6; i++) {
        harness_renew(h, HOME);
        harness_renew(h, NEAR);
        harness_renew(h, CLOUD);
        harness_wait(h, 10000);
    }
}

static helio_job_key_t submit(uint32_t gpus)
{
    helio_job_spec_t spec = harness_spec(h, "H100", gpus);
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    return key;
}

/*  The sites of the placements since it was asked last. */
static const char *placed(void)
{
    static char text[256];
    const helio_row_placement_t *row;
    text[0] = '\0';
    while ((row = harness_take(h, HELIO_BROKER_FX_ROW_PLACEMENT))) {
        size_t size = strlen(text);
        (void)snprintf(text + size, sizeof text - size, "%s%.*s", size ? " " : "", HELIO_TEXT_ARGS(row->site));
    }
    return text;
}

static const char *detail(void)
{
    const helio_row_class_t *row, *last = NULL;
    while ((row = harness_take(h, HELIO_BROKER_FX_ROW_CLASS)))
        last = row;
    assert_non_null(last);
    assert_string_equal(last->reason.data, "WaitingForCapacity");
    return harness_facts(h, last->details);
}

static void step__opens_after_its_wait_and_announces_that(void **state)
{
    (void)state;
    set("home-*; near,after=10m; cloud,after=30m");
    join();
    submit(8);
    assert_string_equal(placed(), "home-a");
    submit(8);
    submit(8);
    assert_string_equal(placed(), "");
    const char *said = detail();
    assert_non_null(strstr(said, "ReservedForIt site=home-a pool=a from=2026-03-01T01:00Z job_id="));
    assert_non_null(strstr(said, "; OverflowOpens step=near wait_s=10m waited_s=0s"));
    wait_minutes(9);
    assert_string_equal(placed(), "");
    wait_minutes(1);
    assert_string_equal(placed(), "near");
    assert_non_null(strstr(detail(), "OverflowOpens step=cloud wait_s=30m waited_s=10m"));
    wait_minutes(19);
    assert_string_equal(placed(), "");
    wait_minutes(1);
    assert_string_equal(placed(), "cloud");
}

static void step__closed_ones_are_candidates_with_the_reason(void **state)
{
    (void)state;
    set("home-*; cloud,after=30m");
    join();
    harness_clear(h);
    submit(8);
    const char *words[3] = {"", "", ""};
    for (const helio_row_candidate_t *row; (row = harness_take(h, HELIO_BROKER_FX_ROW_CANDIDATE));) {
        int i = helio_text_is(row->site, "home-a") ? 0 : helio_text_is(row->site, "near") ? 1 : 2;
        words[i] = i ? harness_facts(h, row->details) : row->rejected_reason.size ? "rejected" : "";
        if (i)
            assert_string_equal(row->rejected_reason.data, "Overflow");
    }
    assert_string_equal(words[0], "");
    assert_string_equal(words[1], "OverflowNotNamed group=out");
    assert_string_equal(words[2], "OverflowOpens step=cloud wait_s=30m waited_s=0s");
    const helio_start_estimate_t *p =
        &harness_command(h, HELIO_BROKER_EV_EXPLAIN, "acme", HELIO_ROLE_USER, submit(8))->start_estimate;
    bool named = false;
    for (uint32_t i = 0; i < p->hints.count; i++)
        named = named || harness_says(h, &p->hints.items[i].change, "\"TryOverflow\",\"params\":{\"group\":\"out\"}");
    assert_true(named);
}

static void step__earlier_ones_come_first_again_when_they_have_capacity(void **state)
{
    (void)state;
    set("home-*; near,after=10m");
    join();
    helio_job_key_t first = submit(8);
    submit(8);
    wait_minutes(10);
    assert_string_equal(placed(), "home-a near");
    submit(8);
    wait_minutes(11); /* all are full */
    assert_string_equal(placed(), "");
    harness_run_up_to(h, HOME, first, 1, HELIO_JOB_RUNNING);
    harness_say(h, HOME, first, 1, HELIO_REPORT_KIND_ENDED);
    harness_tick(h);
    assert_string_equal(placed(), "home-a"); /* what runs elsewhere stays there */
}

static void step__opens_at_once_when_all_earlier_sites_are_gone(void **state)
{
    (void)state;
    set("home-*; near,after=10m; cloud,after=30m");
    join();
    harness_site_command(h, HELIO_BROKER_EV_DRAIN, HELIO_ROLE_OPERATOR, "home-a");
    harness_clear(h);
    submit(8);
    assert_string_equal(placed(), "near");
    submit(8);
    assert_string_equal(placed(), "");
    harness_gone(h, NEAR);
    for (int i = 0; i < 7; i++) {
        harness_renew(h, CLOUD);
        harness_wait(h, 10000);
    }
    assert_string_equal(placed(), "cloud");
    harness_tick(h);
    helio_job_spec_t never = harness_spec(h, "H100", 8);
    never.nodes = 2; /* fits the cloud alone */
    (void)harness_job(h, &never);
    harness_tick(h);
    assert_string_equal(placed(), "cloud");
}

static void step__is_closed_above_its_price(void **state)
{
    (void)state;
    set("home-*; cloud,max-price=2.40; near,after=10m,max-price=3");
    join();
    submit(8);
    submit(8);
    assert_string_equal(placed(), "home-a");
    const char *says = "";
    for (const helio_row_candidate_t *row; (row = harness_take(h, HELIO_BROKER_FX_ROW_CANDIDATE));)
        if (helio_text_is(row->site, "cloud"))
            says = harness_facts(h, row->details);
    assert_string_equal(says, "OverflowPrice price_usd=$2.50 max_price_usd=$2.40 group=out");
    wait_minutes(10);
    assert_string_equal(placed(), "near");
}

static void group__the_most_specific_one_counts(void **state)
{
    (void)state;
    set("home-*");
    assert_int_equal(harness_overflow(h, "of-acme", "", "acme", "near")->rc, HELIO_OK);
    assert_int_equal(harness_overflow(h, "both", "standard", "acme", "cloud")->rc, HELIO_OK);
    join();
    submit(1);
    assert_string_equal(placed(), "cloud");
    assert_int_equal(harness_overflow(h, "both", "", "", NULL)->rc, HELIO_OK);
    submit(1);
    assert_string_equal(placed(), "near");
    assert_int_equal(harness_overflow(h, "of-acme", "", "", NULL)->rc, HELIO_OK);
    submit(1);
    assert_string_equal(placed(), "home-a");
    assert_int_equal(harness_overflow(h, "out", "", "", NULL)->rc, HELIO_OK);
    submit(1);
    assert_string_equal(placed(), "near"); /* the cheapest */
}

static void group__invalid_values_are_refused_and_change_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *name, *queue, *tenant, *steps;
        helio_rc rc;
        const char *says;
    } cases[] = {
        {"a", "", "", "home-*", HELIO_INVALID, "OverflowUnbound"},
        {"a", "nowhere", "", "home-*", HELIO_NOT_FOUND, "UnknownQueue"},
        {"a", "", "nobody", "home-*", HELIO_NOT_FOUND, "UnknownTenant"},
        {"a", "batch", "", "home-*; cloud,after=soon", HELIO_INVALID, "step 2: after"},
        {"a", "standard", "", "home-*", HELIO_CONFLICT, "\"OverflowRival\",\"params\":{\"group\":\"out\"}"},
        {"a", "", "", NULL, HELIO_NOT_FOUND, "UnknownOverflow"},
    };
    set("home-*");
    harness_clear(h);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const helio_fx_reply_t *reply =
            harness_overflow(h, cases[i].name, cases[i].queue, cases[i].tenant, cases[i].steps);
        assert_int_equal(reply->rc, cases[i].rc);
        assert_true(harness_says(h, &reply->details, cases[i].says));
    }
    helio_ev_overflow_t user = {
        .call = 4711, .name = HELIO_TEXT("a"), .queue = HELIO_TEXT("batch"), .steps = HELIO_TEXT("x")};
    harness_step(h, HELIO_BROKER_EV_OVERFLOW, &user);
    uint32_t code = 0;
    for (const helio_fx_reply_t *reply; (reply = harness_take(h, HELIO_BROKER_FX_REPLY));)
        code = reply->rc;
    assert_int_equal(code, HELIO_FORBIDDEN);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_OVERFLOW), 0);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_AUDIT), 0);
}

static void group__and_its_waits_survive_a_new_leader(void **state)
{
    (void)state;
    set("home-*; cloud,after=30m");
    join();
    submit(8);
    submit(8);
    wait_minutes(20);
    harness_t *next = harness_rebuild(h);
    harness_end(&h);
    h = next;
    make_sites();
    harness_hello(h, HOME, home);
    harness_inventory(h, HOME, NULL, 0);
    harness_summary(h, HOME, home, 0, 1);
    harness_join(h, CLOUD, cloud);
    harness_clear(h);
    wait_minutes(9);
    assert_string_equal(placed(), "");
    wait_minutes(1);
    assert_string_equal(placed(), "cloud");
}

/*  A job that can preempt others does so only where it is allowed to run. */
static void step__no_job_is_preempted_where_it_is_closed(void **state)
{
    (void)state;
    assert_int_equal(harness_overflow(h, "out", "express", "", "home-*; cloud,after=30m")->rc, HELIO_OK);
    (void)harness_quota(h, "acme", "express", HARNESS_AS_IS, 16, HARNESS_AS_IS);
    join();
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    spec.queue = HELIO_TEXT("batch");
    spec.nodes = 4; /* all of the cloud */
    helio_job_key_t lowly = harness_job(h, &spec);
    harness_tick(h);
    harness_run_up_to(h, CLOUD, lowly, 1, HELIO_JOB_RUNNING);
    spec = harness_spec(h, "H100", 8);
    spec.queue = HELIO_TEXT("express");
    for (int i = 0; i < 2; i++) { /* the first one uses the home site, and cannot be preempted */
        (void)harness_job(h, &spec);
        harness_tick(h);
    }
    assert_string_equal(placed(), "cloud home-a");
    wait_minutes(29);
    assert_int_equal(harness_state(h, lowly), HELIO_JOB_RUNNING);
    wait_minutes(1);
    assert_int_equal(harness_state(h, lowly), HELIO_JOB_STOPPING);
}

static void input_warning__a_step_without_a_site_is_reported(void **state)
{
    (void)state;
    static const struct {
        const char *steps, *says;
    } cases[] = {
        {"home-*; cloud,after=30m", ""},
        {"home-*; clod,after=30m",
         "{\"code\":\"WarnStepSite\",\"params\":{\"step\":2,\"pattern\":\"clod\",\"suggestion\":\"cloud\"}}"},
        {"home-*; far-*,after=30m", "{\"code\":\"WarnStepSite\",\"params\":{\"step\":2,\"pattern\":\"far-*\"}}"},
        {"home-*, !hom-b; cloud,after=1m",
         "{\"code\":\"WarnStepSite\",\"params\":{\"step\":1,\"pattern\":\"hom-b\",\"suggestion\":\"home-a\"}}"},
        {"EU; cloud,after=1m", "{\"code\":\"WarnStepRegion\",\"params\":{\"step\":1,\"pattern\":\"EU\"}}"},
        {"*; cloud,after=1m", "{\"code\":\"WarnStepEmpty\",\"params\":{\"step\":2}}"},
    };
    const helio_fx_reply_t *reply = harness_overflow(h, "out", "standard", "", "nobody");
    assert_int_equal(reply->details.items.count, 1); /* no site has joined yet */
    join();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        reply = harness_overflow(h, "out", "standard", "", cases[i].steps);
        const char *warning = strchr(harness_details(h, &reply->details), ',');
        char expected[200];
        (void)snprintf(expected, sizeof expected, ",\"params\":{}}%s%s]", cases[i].says[0] ? "," : "", cases[i].says);
        assert_int_equal(reply->details.items.items[0].code, HELIO_DETAIL_OVERFLOW_SET);
        assert_string_equal(warning, expected);
    }
}

/*  Coming back from a site where it ran, a job stands in line anew. */
static void wait__starts_again_after_a_run(void **state)
{
    (void)state;
    set("home-*; cloud,after=10m");
    join();
    helio_job_key_t key = submit(8);
    wait_minutes(20);
    harness_run_up_to(h, HOME, key, 1, HELIO_JOB_RUNNING);
    assert_string_equal(placed(), "home-a");
    harness_say(h, HOME, key, 1, HELIO_REPORT_KIND_LOST);
    harness_summary(h, HOME, home, 1, 1);
    harness_tick(h);
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
    assert_string_equal(placed(), "");
    wait_minutes(10);
    assert_string_equal(placed(), "cloud");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
        TEST(step__opens_after_its_wait_and_announces_that),
        TEST(step__closed_ones_are_candidates_with_the_reason),
        TEST(step__earlier_ones_come_first_again_when_they_have_capacity),
        TEST(step__opens_at_once_when_all_earlier_sites_are_gone),
        TEST(step__is_closed_above_its_price),
        TEST(group__the_most_specific_one_counts),
        TEST(group__invalid_values_are_refused_and_change_nothing),
        TEST(group__and_its_waits_survive_a_new_leader),
        TEST(step__no_job_is_preempted_where_it_is_closed),
        TEST(input_warning__a_step_without_a_site_is_reported),
        TEST(wait__starts_again_after_a_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
