/*  test_ahead.c -- the jobs ahead of a job, as users see them: how many, whose, in which order, and what is not
 *  shown. */
#include <stdio.h>
#include <string.h>

#include "tests/support/core_harness.h"

enum { NORTH = 1, SOUTH = 2 };

static harness_t *h;

/*  North has H100, south has A100: 16 GPUs each, all taken by a job of acme. */
static int begin(void **state)
{
    (void)state;
    h = harness_begin(NULL);
    static const char *const gpus[] = {"H100", "A100"}, *const names[] = {"north", "south"};
    for (uint32_t i = 0; i < 2; i++) {
        helio_site_profile_t *site = harness_site(h, names[i]);
        (void)harness_pool(h, site, "a", gpus[i], 2, 8, 1);
        harness_join(h, NORTH + i, site);
    }
    for (uint32_t i = 0; i < 2; i++) {
        helio_job_spec_t spec = harness_spec(h, gpus[i], 8);
        spec.nodes = 2;
        (void)harness_job(h, &spec);
        harness_tick(h);
    }
    return 0;
}

static int end(void **state)
{
    (void)state;
    harness_end(&h);
    return 0;
}

static helio_job_key_t submit(const char *tenant, const char *queue, const char *gpu, uint32_t gpus)
{
    helio_job_spec_t spec = harness_spec(h, gpu, gpus);
    spec.queue = helio_text_of(queue);
    const helio_fx_reply_t *reply = harness_submit(h, tenant, &spec);
    assert_int_equal(reply->rc, HELIO_OK);
    helio_job_key_t key = {reply->jobs.items[0].job, HELIO_NO_TASK};
    harness_tick(h);
    return key;
}

/*  "3 jobs 12 GPUs: 2/8 acme standard, 1/4 - express": all, then each entry with its tenant as the reader sees it. */
static const char *ahead_of(const char *reader, helio_role_t role, helio_job_key_t key)
{
    static char text[512];
    const helio_fx_reply_t *reply = harness_command(h, HELIO_BROKER_EV_EXPLAIN, reader, role, key);
    assert_int_equal(reply->rc, HELIO_OK);
    const helio_start_estimate_t *p = &reply->start_estimate;
    int at = snprintf(text, sizeof text, "%u jobs %u GPUs:", (unsigned)p->ahead_jobs, (unsigned)p->ahead_gpus);
    for (uint32_t i = 0; i < p->ahead.count; i++) {
        const helio_ahead_t *a = &p->ahead.items[i];
        at += snprintf(text + at, sizeof text - (size_t)at, " %u/%u %.*s %.*s", (unsigned)a->jobs, (unsigned)a->gpus,
                       a->tenant.size ? (int)a->tenant.size : 1, a->tenant.size ? a->tenant.data : "-",
                       HELIO_TEXT_ARGS(a->queue));
    }
    return text;
}

static void ahead__counts_equal_jobs_that_came_before(void **state)
{
    (void)state;
    helio_job_key_t keys[4];
    for (int i = 0; i < 4; i++)
        keys[i] = submit("acme", "standard", "H100", 4);
    assert_string_equal(ahead_of("acme", HELIO_ROLE_USER, keys[0]), "0 jobs 0 GPUs:");
    assert_string_equal(ahead_of("acme", HELIO_ROLE_USER, keys[1]), "1 jobs 4 GPUs: 1/4 acme standard");
    assert_string_equal(ahead_of("acme", HELIO_ROLE_USER, keys[3]), "3 jobs 12 GPUs: 3/12 acme standard");
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, keys[1])->rc, HELIO_OK);
    assert_string_equal(ahead_of("acme", HELIO_ROLE_USER, keys[3]), "2 jobs 8 GPUs: 2/8 acme standard");
}

static void ahead__are_jobs_that_could_take_the_same_pool(void **state)
{
    (void)state;
    (void)submit("acme", "standard", "A100", 2);
    helio_job_key_t key = submit("acme", "standard", "H100", 4);
    assert_string_equal(ahead_of("acme", HELIO_ROLE_USER, key), "0 jobs 0 GPUs:");
    (void)submit("acme", "express", "", 1); /* of any model */
    assert_string_equal(ahead_of("acme", HELIO_ROLE_USER, key), "1 jobs 1 GPUs: 1/1 acme express");
}

/*  Neighbours of one tenant and queue are one entry, whatever they ask for; others stand between. */
static void ahead__neighbours_of_one_tenant_and_queue_are_one_entry(void **state)
{
    (void)state;
    helio_job_key_t key = submit("acme", "batch", "H100", 1);
    (void)submit("acme", "standard", "H100", 2);
    (void)submit("acme", "standard", "H100", 4);
    (void)submit("acme", "express", "H100", 1);
    assert_string_equal(ahead_of("acme", HELIO_ROLE_USER, key), "3 jobs 7 GPUs: 1/1 acme express 2/6 acme standard");
}

/*  A tenant learns how many are ahead, and not whose they are; an operator learns that too. */
static void ahead__names_no_other_tenant_but_to_operators(void **state)
{
    (void)state;
    (void)submit("other", "express", "H100", 2);
    helio_job_key_t key = submit("acme", "standard", "H100", 4);
    assert_string_equal(ahead_of("acme", HELIO_ROLE_USER, key), "1 jobs 2 GPUs: 1/2 - express");
    assert_string_equal(ahead_of("acme", HELIO_ROLE_OPERATOR, key), "1 jobs 2 GPUs: 1/2 other express");
    assert_string_equal(ahead_of("other", HELIO_ROLE_OPERATOR, key), "1 jobs 2 GPUs: 1/2 other express");
}

/*  A job that its own bound keeps back takes no capacity from those behind it. */
static void ahead__are_jobs_that_compete_for_capacity(void **state)
{
    (void)state;
    helio_job_spec_t capped = harness_spec(h, "H100", 4);
    capped.max_cost_micro_usd = 1;
    capped.queue = HELIO_TEXT("express");
    assert_int_equal(harness_submit(h, "acme", &capped)->rc, HELIO_OK);
    harness_tick(h);
    helio_job_key_t key = submit("acme", "standard", "H100", 4);
    assert_string_equal(ahead_of("acme", HELIO_ROLE_USER, key), "0 jobs 0 GPUs:");
    (void)submit("acme", "express", "H100", 1);
    assert_string_equal(ahead_of("acme", HELIO_ROLE_USER, key), "1 jobs 1 GPUs: 1/1 acme express");
}

static void ahead__shows_the_first_and_counts_the_rest(void **state)
{
    (void)state;
    helio_job_key_t key = submit("acme", "batch", "H100", 1);
    for (int i = 0; i < 3; i++) {
        (void)submit("acme", "standard", "H100", 1);
        (void)submit("other", "standard", "H100", 2);
    }
    (void)submit("acme", "express", "H100", 1);
    (void)submit("other", "express", "H100", 1);
    const char *text = ahead_of("acme", HELIO_ROLE_OPERATOR, key);
    assert_ptr_equal(strstr(text, "8 jobs 11 GPUs:"), text);
    uint32_t entries = 0, shown = 0, gpus = 0;
    const helio_fx_reply_t *reply = harness_command(h, HELIO_BROKER_EV_EXPLAIN, "acme", HELIO_ROLE_OPERATOR, key);
    for (; entries < reply->start_estimate.ahead.count; entries++) {
        shown += (uint32_t)reply->start_estimate.ahead.items[entries].jobs;
        gpus += (uint32_t)reply->start_estimate.ahead.items[entries].gpus;
    }
    assert_int_equal(entries, 3);
    assert_true(shown < 8 && shown >= 3 && gpus < 11);
    assert_true(helio_text_is(reply->start_estimate.ahead.items[0].queue, "express"));
    assert_true(helio_text_is(reply->start_estimate.ahead.items[1].queue, "express"));
}

static uint32_t hints_of(helio_job_key_t key)
{
    return harness_command(h, HELIO_BROKER_EV_EXPLAIN, "acme", HELIO_ROLE_USER, key)->start_estimate.hints.count;
}

/*  A place further ahead helps where other jobs take the capacity, and not where the site takes none. */
static void ahead__is_no_advice_while_the_sites_of_a_job_are_silent(void **state)
{
    (void)state;
    (void)submit("acme", "standard", "H100", 4);
    helio_job_key_t key = submit("acme", "standard", "H100", 8);
    assert_true(hints_of(key) > 0);
    harness_gone(h, NORTH);
    harness_gone(h, SOUTH);
    harness_wait(h, 120000);
    assert_int_equal(hints_of(key), 0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(ahead__counts_equal_jobs_that_came_before),
        CASE(ahead__are_jobs_that_could_take_the_same_pool),
        CASE(ahead__neighbours_of_one_tenant_and_queue_are_one_entry),
        CASE(ahead__names_no_other_tenant_but_to_operators),
        CASE(ahead__are_jobs_that_compete_for_capacity),
        CASE(ahead__shows_the_first_and_counts_the_rest),
        CASE(ahead__is_no_advice_while_the_sites_of_a_job_are_silent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
