/*  test_restored.c -- what a restored database does not know may run: no second copy of a job starts beside it. */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/broker/core/silence_testing.h"

enum { LEASE_MS = 15 * 60000, SILENT_MS = 60000, CHECK_MS = 1100 };

static harness_t *next; /* the leader of the restored database */

static int begin(void **state)
{
    next = NULL;
    return begin_joined(state);
}

static int end_both(void **state)
{
    if (next)
        harness_end(&next);
    return end(state);
}

/*  A job of the copy, which shows it as queued: both sites were away then. */
static helio_job_key_t waiting_job(helio_site_loss_t policy)
{
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    spec.on_site_loss = policy;
    return harness_job(h, &spec);
}

static void both_gone(void)
{
    harness_gone(h, NORTH);
    harness_gone(h, SOUTH);
}

static void restore(void)
{
    harness_restore(h);
    next = harness_rebuild(h);
}

static void take_over(void)
{
    harness_t *former = next;
    next = harness_rebuild(former);
    harness_end(&former);
}

/*  One that was submitted after the restore. */
static helio_job_key_t later_job(void)
{
    helio_job_spec_t spec = harness_spec(next, "H100", 1);
    return harness_job(next, &spec);
}

/*  The site is in session for that time. */
static void stay(uint64_t peer, const helio_site_profile_t *site, int64_t ms)
{
    for (int64_t passed = 0; passed < ms; passed += 5000) {
        harness_wait(next, ms - passed < 5000 ? ms - passed : 5000);
        harness_summary(next, peer, site, 0, 0);
    }
    harness_tick(next);
}

static bool waits(helio_job_key_t key)
{
    return harness_state(next, key) == HELIO_JOB_QUEUED;
}

static bool starts(helio_job_key_t key)
{
    return harness_state(next, key) == HELIO_JOB_OFFERED;
}

/*  HELLO and an inventory with one attempt. */
static void come_with(uint64_t peer, const helio_site_profile_t *site, helio_job_key_t key, uint32_t epoch)
{
    helio_holding_t holding = {.key = key, .epoch = epoch, .state = HELIO_JOB_RUNNING};
    harness_hello(next, peer, site);
    harness_inventory(next, peer, &holding, 1);
    harness_summary(next, peer, site, 0, 0);
}

static const helio_row_site_t *row_of(const char *site)
{
    const helio_row_site_t *row, *last = NULL;
    while ((row = harness_take(next, HELIO_BROKER_FX_ROW_SITE)))
        last = helio_text_is(row->site, site) ? row : last;
    return last;
}

static helio_rc attest(const char *site)
{
    return (helio_rc)harness_site_command(next, HELIO_BROKER_EV_ATTEST, HELIO_ROLE_ADMIN, site)->rc;
}

static const char *explained(helio_job_key_t key)
{
    const helio_fx_reply_t *reply = harness_command(next, HELIO_BROKER_EV_EXPLAIN, "acme", HELIO_ROLE_USER, key);
    assert_int_equal(reply->rc, HELIO_OK);
    return harness_facts(next, reply->start_estimate.basis);
}

/* ---- sites that have not spoken -------------------------------------------------------------------------- */

static void awaited__a_strict_job_of_the_copy_waits_for_every_site(void **state)
{
    (void)state;
    both_gone();
    helio_job_key_t strict = waiting_job(HELIO_SITE_LOSS_STRICT), eager = waiting_job(HELIO_SITE_LOSS_EAGER);
    restore();
    harness_join(next, NORTH, north);
    helio_job_key_t later = later_job();
    stay(NORTH, north, SILENT_MS - 5000);
    assert_true(waits(strict) && waits(eager) && waits(later)); /* for a moment nothing is placed at all */
    stay(NORTH, north, 10000);
    assert_true(waits(strict) && starts(eager) && starts(later));
    stay(NORTH, north, 2 * LEASE_MS);
    assert_true(waits(strict));
    harness_join(next, SOUTH, south);
    stay(NORTH, north, CHECK_MS);
    assert_true(starts(strict));
}

static void awaited__a_lease_job_of_the_copy_waits_for_one_lease_at_most(void **state)
{
    (void)state;
    both_gone();
    helio_job_key_t lease = waiting_job(HELIO_SITE_LOSS_LEASE);
    restore();
    harness_join(next, NORTH, north);
    stay(NORTH, north, LEASE_MS + LEASE_MS / 50);
    assert_true(waits(lease));
    stay(NORTH, north, 15000);
    assert_true(starts(lease));
}

static void awaited__the_time_is_not_over_for_a_leader_that_follows(void **state)
{
    (void)state;
    both_gone();
    helio_job_key_t strict = waiting_job(HELIO_SITE_LOSS_STRICT);
    restore();
    harness_join(next, NORTH, north);
    harness_hello(next, SOUTH, south); /* a HELLO is no inventory */
    stay(NORTH, north, CHECK_MS);
    take_over();
    harness_join(next, NORTH, north);
    stay(NORTH, north, 2 * SILENT_MS);
    assert_true(waits(strict));
    harness_join(next, SOUTH, south);
    stay(NORTH, north, CHECK_MS);
    assert_true(starts(strict));
    assert_int_equal(row_of("south")->unreconciled_ms, 0);
    helio_job_key_t later = later_job();
    take_over(); /* all have spoken: south is awaited no more than after any takeover */
    harness_join(next, NORTH, north);
    stay(NORTH, north, 10000);
    assert_true(starts(later));
}

static void awaited__a_site_can_be_attested(void **state)
{
    (void)state;
    both_gone();
    helio_job_key_t strict = waiting_job(HELIO_SITE_LOSS_STRICT);
    restore();
    harness_join(next, NORTH, north);
    stay(NORTH, north, 2 * SILENT_MS);
    assert_true(waits(strict));
    assert_int_equal(attest("north"), HELIO_CONFLICT); /* it is in session */
    harness_clear(next);
    assert_int_equal(attest("south"), HELIO_OK);
    stay(NORTH, north, CHECK_MS);
    assert_true(starts(strict));
    assert_int_equal(row_of("south")->unreconciled_ms, 0);
    take_over();
    helio_job_key_t later = later_job();
    harness_join(next, NORTH, north);
    stay(NORTH, north, 10000);
    assert_true(starts(later));
}

/*  The copy shows it as new, and it can have joined since. */
static void awaited__a_site_that_the_copy_never_saw_is_awaited_and_can_be_attested(void **state)
{
    (void)state;
    helio_ev_site_key_t key = {.call = 77, .actor = HELIO_TEXT("ada"), .key = {.site = HELIO_TEXT("west")}};
    harness_step(h, HELIO_BROKER_EV_SITE_KEY, &key);
    harness_clear(h);
    both_gone();
    helio_job_key_t strict = waiting_job(HELIO_SITE_LOSS_STRICT);
    restore();
    harness_join(next, NORTH, north);
    harness_join(next, SOUTH, south);
    helio_job_key_t later = later_job();
    stay(SOUTH, south, CHECK_MS);
    assert_true(waits(strict) && starts(later)); /* nothing else waits for a site that is not expected */
    stay(SOUTH, south, 2 * SILENT_MS);
    assert_true(waits(strict));
    assert_int_equal(attest("west"), HELIO_OK);
    stay(SOUTH, south, CHECK_MS);
    assert_true(starts(strict));
    assert_int_equal(attest("west"), HELIO_CONFLICT); /* nothing more is awaited of it */
}

static void awaited__jobs_keep_the_order_of_their_ages(void **state)
{
    (void)state;
    both_gone();
    helio_job_key_t older = waiting_job(HELIO_SITE_LOSS_STRICT), old = waiting_job(HELIO_SITE_LOSS_STRICT);
    restore();
    harness_hello(next, NORTH, north);
    helio_job_key_t later = later_job();
    harness_inventory(next, NORTH, NULL, 0);
    harness_join(next, SOUTH, south);
    harness_wait(next, CHECK_MS);
    harness_summary(next, NORTH, north, 0, 0);
    harness_clear(next);
    harness_wait(next, CHECK_MS);
    assert_true(starts(older) && starts(old) && starts(later));
    const helio_row_placement_t *row = harness_take(next, HELIO_BROKER_FX_ROW_PLACEMENT);
    helio_job_key_t order[3] = {older, old, later};
    for (uint32_t i = 0; row && i < 3; i++, row = harness_take(next, HELIO_BROKER_FX_ROW_PLACEMENT))
        assert_true(helio_job_key_equal(row->key, order[i]));
}

static void awaited__a_job_that_returns_to_its_queue_waits_too(void **state)
{
    (void)state;
    helio_job_key_t running = job_of(HELIO_SITE_LOSS_STRICT, HELIO_JOB_RUNNING); /* at north, says the copy */
    helio_job_key_t offered = job_of(HELIO_SITE_LOSS_STRICT, HELIO_JOB_OFFERED);
    both_gone();
    restore();
    harness_hello(next, NORTH, north);
    harness_clear(next);
    harness_inventory(next, NORTH, NULL, 0);
    assert_null(harness_take(next, HELIO_BROKER_FX_ORDER)); /* not again: the offer may be over, and the job at south */
    harness_summary(next, NORTH, north, 0, 0);
    harness_say(next, NORTH, running, 1, HELIO_REPORT_KIND_STOPPED);
    harness_say(next, NORTH, offered, 1, HELIO_REPORT_KIND_STOPPED);
    stay(NORTH, north, 2 * SILENT_MS);
    assert_true(waits(running) && waits(offered));
    come_with(SOUTH, south, running, 2);
    stay(NORTH, north, CHECK_MS);
    assert_true(waits(running) && starts(offered));
    harness_say(next, SOUTH, running, 2, HELIO_REPORT_KIND_STOPPED);
    stay(NORTH, north, CHECK_MS);
    assert_true(starts(running));
}

static void awaited__tasks_of_an_array_wait_together(void **state)
{
    (void)state;
    both_gone();
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    uint32_t numbers[] = {0, 1, 2, 3};
    spec.tasks = (helio_u32s_t){numbers, 4};
    spec.tasks_at_once = 2;
    helio_job_key_t array = harness_job(h, &spec);
    restore();
    harness_join(next, NORTH, north);
    stay(NORTH, north, 2 * SILENT_MS);
    for (uint32_t i = 0; i < 4; i++)
        assert_true(waits(harness_task(array, i)));
    come_with(SOUTH, south, harness_task(array, 0), 1);
    stay(NORTH, north, CHECK_MS);
    assert_true(waits(harness_task(array, 0)) && starts(harness_task(array, 1)) && starts(harness_task(array, 2)));
    assert_true(waits(harness_task(array, 3))); /* two at once */
    harness_command(next, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, harness_task(array, 0));
    assert_int_equal(harness_state(next, harness_task(array, 0)), HELIO_JOB_CANCELLED);
}

/* ---- copies that sites have listed ----------------------------------------------------------------------- */

/*  Both sites are in session; south has listed an attempt of the job that the copy shows as queued. */
static helio_job_key_t fenced_at_south(helio_site_loss_t policy)
{
    both_gone();
    helio_job_key_t key = waiting_job(policy);
    restore();
    harness_join(next, NORTH, north);
    harness_clear(next);
    come_with(SOUTH, south, key, 1);
    const helio_fx_verdict_t *verdict = harness_take(next, HELIO_BROKER_FX_VERDICT);
    assert_int_equal(verdict->attempt_verdict.verdict, HELIO_VERDICT_FENCED);
    return key;
}

static void stay_both(int64_t ms)
{
    for (int64_t passed = 0; passed < ms; passed += 5000) {
        stay(NORTH, north, 5000);
        harness_summary(next, SOUTH, south, 0, 0);
        harness_renew(next, SOUTH);
    }
}

static void copy__its_job_waits_until_its_end_is_reported(void **state)
{
    (void)state;
    helio_site_loss_t policies[] = {HELIO_SITE_LOSS_STRICT, HELIO_SITE_LOSS_LEASE};
    for (uint32_t i = 0; i < 2; i++) {
        if (i) {
            (void)end_both(NULL);
            (void)begin(NULL);
        }
        helio_job_key_t key = fenced_at_south(policies[i]);
        stay_both(2 * LEASE_MS);
        assert_true(waits(key));
        harness_say(next, SOUTH, key, 2, HELIO_REPORT_KIND_STOPPED); /* another attempt */
        harness_say(next, NORTH, key, 1, HELIO_REPORT_KIND_STOPPED); /* another site */
        harness_say(next, SOUTH, key, 1, HELIO_REPORT_KIND_RUNNING);
        stay_both(CHECK_MS);
        assert_true(waits(key));
        harness_say(next, SOUTH, key, 1, HELIO_REPORT_KIND_STOPPED);
        stay_both(CHECK_MS);
        assert_true(starts(key));
    }
}

static void copy__an_eager_job_does_not_wait(void **state)
{
    (void)state;
    helio_job_key_t key = fenced_at_south(HELIO_SITE_LOSS_EAGER);
    stay_both(CHECK_MS);
    assert_true(starts(key));
}

static void copy__a_leader_that_follows_awaits_the_site_again(void **state)
{
    (void)state;
    helio_job_key_t key = fenced_at_south(HELIO_SITE_LOSS_STRICT);
    stay_both(5000);
    take_over();
    harness_join(next, NORTH, north);
    stay(NORTH, north, 2 * SILENT_MS);
    assert_true(waits(key)); /* south is away, and the attempt can still be ending there */
    come_with(SOUTH, south, key, 1);
    stay_both(5000);
    assert_true(waits(key));
    harness_gone(next, SOUTH);
    harness_hello(next, SOUTH + 10, south);
    harness_inventory(next, SOUTH + 10, NULL, 0); /* its end was acknowledged, or the machine began anew */
    stay(NORTH, north, CHECK_MS);
    assert_true(starts(key));
}

static void copy__at_a_silent_site_is_over_with_the_lease_or_by_an_attest(void **state)
{
    (void)state;
    helio_job_key_t key = fenced_at_south(HELIO_SITE_LOSS_LEASE);
    harness_gone(next, SOUTH);
    stay(NORTH, north, LEASE_MS);
    assert_true(waits(key));
    stay(NORTH, north, LEASE_MS / 50 + 15000);
    assert_true(starts(key));
    (void)end_both(NULL);
    (void)begin(NULL);
    key = fenced_at_south(HELIO_SITE_LOSS_STRICT);
    harness_gone(next, SOUTH);
    stay(NORTH, north, 30000);
    assert_int_equal(attest("south"), HELIO_CONFLICT); /* it is not silent yet */
    stay(NORTH, north, 2 * LEASE_MS);
    assert_true(waits(key));
    assert_int_equal(attest("south"), HELIO_OK);
    stay(NORTH, north, CHECK_MS);
    assert_true(starts(key));
}

/*  It comes back with another journal, and does not list the copy. */
static void copy__is_in_doubt_when_the_agent_has_lost_its_memory(void **state)
{
    (void)state;
    helio_job_key_t key = fenced_at_south(HELIO_SITE_LOSS_STRICT);
    helio_ev_site_hello_t hello = {.site = south->name, .peer = SOUTH + 10, .profile = *south, .reconcile_only = true};
    harness_gone(next, SOUTH);
    harness_step(next, HELIO_BROKER_EV_SITE_HELLO, &hello);
    harness_inventory(next, SOUTH + 10, NULL, 0);
    harness_summary(next, SOUTH + 10, south, 0, 0);
    helio_report_t report = harness_report_of(next, key, 1, HELIO_REPORT_KIND_STOPPED);
    report.cause = HELIO_CAUSE_NOT_HERE;
    harness_report(next, SOUTH + 10, &report);
    for (int64_t ms = 0; ms < 2 * LEASE_MS; ms += 5000) {
        stay(NORTH, north, 5000);
        harness_summary(next, SOUTH + 10, south, 0, 0);
    }
    assert_true(waits(key));
    assert_int_equal(attest("south"), HELIO_OK);
    stay(NORTH, north, CHECK_MS);
    assert_true(starts(key));
}

/*  No lease of south can be valid any more, so the job is in its queue; no site has capacity for it yet. */
static void copy__of_a_job_that_already_waits_takes_it_out_of_its_queue(void **state)
{
    (void)state;
    both_gone();
    helio_job_key_t key = waiting_job(HELIO_SITE_LOSS_LEASE);
    restore();
    harness_hello(next, NORTH, north);
    harness_inventory(next, NORTH, NULL, 0);
    for (int64_t ms = 0; ms < LEASE_MS + LEASE_MS / 50 + 15000; ms += 5000) {
        harness_wait(next, 5000);
        harness_renew(next, NORTH);
    }
    come_with(SOUTH, south, key, 1);
    stay_both(SILENT_MS / 2);
    assert_true(waits(key));
    harness_say(next, SOUTH, key, 1, HELIO_REPORT_KIND_LOST);
    stay_both(CHECK_MS);
    assert_true(starts(key));
}

/*  A site can name the jobs of others, for example the other tasks of an array. */
static void copy__that_a_site_cannot_have_keeps_nothing_back(void **state)
{
    (void)state;
    helio_job_key_t never_there = job_of(HELIO_SITE_LOSS_STRICT, HELIO_JOB_RUNNING); /* at north, epoch 1 */
    both_gone();
    helio_job_key_t never_placed = waiting_job(HELIO_SITE_LOSS_STRICT);
    next = harness_rebuild(h); /* no restore */
    harness_hello(next, NORTH, north);
    harness_inventory(next, NORTH, NULL, 0);
    harness_say(next, NORTH, never_there, 1, HELIO_REPORT_KIND_STOPPED);
    helio_holding_t holdings[] = {{.key = never_there, .epoch = 1, .state = HELIO_JOB_RUNNING},
                                  {.key = never_there, .epoch = 1000, .state = HELIO_JOB_RUNNING},
                                  {.key = never_placed, .epoch = 1, .state = HELIO_JOB_RUNNING}};
    harness_hello(next, SOUTH, south);
    harness_inventory(next, SOUTH, holdings, sizeof holdings / sizeof holdings[0]);
    harness_summary(next, NORTH, north, 0, 0);
    harness_summary(next, SOUTH, south, 0, 0);
    stay_both(CHECK_MS);
    assert_true(starts(never_there));
    assert_true(starts(never_placed));
}

static void copy__of_a_job_that_was_attested_is_awaited_where_it_was_placed_last(void **state)
{
    (void)state;
    helio_job_key_t key = job_of(HELIO_SITE_LOSS_STRICT, HELIO_JOB_RUNNING);
    both_gone();
    next = harness_rebuild(h);
    harness_wait(next, 2 * SILENT_MS);
    (void)harness_site_command(next, HELIO_BROKER_EV_ATTEST, HELIO_ROLE_ADMIN, "north");
    come_with(NORTH, north, key, 1);
    harness_join(next, SOUTH, south);
    stay_both(2 * SILENT_MS);
    assert_true(waits(key));
    harness_say(next, NORTH, key, 1, HELIO_REPORT_KIND_STOPPED);
    stay_both(CHECK_MS);
    assert_true(starts(key));
}

/*  A lie of a site costs no more than that. */
static void copy__of_one_job_are_noted_up_to_a_bound(void **state)
{
    enum { LISTED = 1000, NOTED = 16 };
    (void)state;
    both_gone();
    helio_job_key_t key = waiting_job(HELIO_SITE_LOSS_STRICT);
    restore();
    harness_join(next, NORTH, north);
    helio_holding_t *holdings = helio_new(LISTED, sizeof *holdings);
    for (uint32_t i = 0; i < LISTED; i++)
        holdings[i] = (helio_holding_t){.key = key, .epoch = i + 1, .state = HELIO_JOB_RUNNING};
    harness_hello(next, SOUTH, south);
    harness_inventory(next, SOUTH, holdings, LISTED);
    harness_summary(next, SOUTH, south, 0, 0);
    free(holdings);
    for (uint32_t epoch = 1; epoch <= NOTED; epoch++) {
        stay_both(CHECK_MS);
        assert_true(waits(key));
        harness_say(next, SOUTH, key, epoch, HELIO_REPORT_KIND_STOPPED);
    }
    stay_both(CHECK_MS);
    assert_true(starts(key));
}

/* ---- what people see -------------------------------------------------------------------------------------- */

static void shown__explain_names_the_sites(void **state)
{
    (void)state;
    both_gone();
    helio_job_key_t strict = waiting_job(HELIO_SITE_LOSS_STRICT), lease = waiting_job(HELIO_SITE_LOSS_LEASE);
    restore();
    assert_string_equal(explained(strict), "SitesUnreconciled sites=south, north");
    come_with(NORTH, north, strict, 1);
    assert_string_equal(explained(strict), "SitesUnreconciled sites=south; CopiesEnd sites=north");
    assert_non_null(strstr(explained(lease), "SitesUnreconciled sites=south until="));
    harness_join(next, SOUTH, south);
    assert_string_equal(explained(strict), "CopiesEnd sites=north");
    harness_say(next, NORTH, strict, 1, HELIO_REPORT_KIND_STOPPED);
    stay(SOUTH, south, CHECK_MS);
    assert_true(starts(strict) && starts(lease));
}

static void shown__the_rows_of_sites_tell_since_when(void **state)
{
    (void)state;
    helio_job_key_t key = fenced_at_south(HELIO_SITE_LOSS_STRICT);
    const helio_row_site_t *row = row_of("south");
    assert_true(row && row->unreconciled_ms > 0);
    stay_both(CHECK_MS);
    row = row_of("north");
    assert_true(row && row->unreconciled_ms == 0);
    harness_say(next, SOUTH, key, 1, HELIO_REPORT_KIND_STOPPED);
    harness_clear(next);
    stay_both(CHECK_MS);
    row = row_of("south");
    assert_true(row && row->unreconciled_ms == 0);
}

/*  The last row of the site says so; *ret_by keeps its value without one. */
static void note_awaited_by(const char *site, uint32_t *ret_by)
{
    const helio_row_site_t *row = row_of(site);
    *ret_by = row ? row->awaited_by : *ret_by;
}

/*  Readers of the database are told of each job what the core knows, however it came about. */
static void shown__the_rows_of_sites_tell_which_jobs_wait_for_them(void **state)
{
    (void)state;
    uint32_t south_by = 0;
    both_gone();
    helio_job_key_t lease = waiting_job(HELIO_SITE_LOSS_LEASE), strict = waiting_job(HELIO_SITE_LOSS_STRICT);
    restore();
    harness_join(next, NORTH, north);
    stay(NORTH, north, CHECK_MS);
    note_awaited_by("south", &south_by);
    assert_int_equal(south_by, HELIO_SITE_LOSS_EAGER); /* strict and lease jobs do */
    for (uint32_t i = 0; i < 2; i++) {
        for (int64_t ms = 0; ms < LEASE_MS && !starts(lease); ms += 5000)
            stay(NORTH, north, 5000);
        stay(NORTH, north, CHECK_MS);
    }
    note_awaited_by("south", &south_by);
    assert_true(starts(lease) && waits(strict));
    assert_int_equal(south_by, HELIO_SITE_LOSS_LEASE);
    take_over(); /* a lease of the former leader's may be valid, as far as this one knows */
    harness_join(next, NORTH, north);
    stay(NORTH, north, CHECK_MS);
    note_awaited_by("south", &south_by);
    assert_int_equal(south_by, HELIO_SITE_LOSS_EAGER);
    harness_join(next, SOUTH, south);
    stay(NORTH, north, CHECK_MS);
    note_awaited_by("south", &south_by);
    assert_int_equal(south_by, HELIO_SITE_LOSS_STRICT); /* none does */
}

static const char *row_says(helio_job_key_t key)
{
    const helio_row_state_t *row = harness_row(next, key);
    return row ? harness_facts(next, row->why) : "";
}

static void shown__the_row_of_a_job_names_where_copies_of_it_end(void **state)
{
    (void)state;
    both_gone();
    helio_job_key_t key = waiting_job(HELIO_SITE_LOSS_STRICT);
    restore();
    come_with(NORTH, north, key, 2);
    stay(NORTH, north, CHECK_MS);
    assert_string_equal(row_says(key), "CopiesEnd sites=north");
    take_over();
    come_with(NORTH, north, key, 2);
    come_with(SOUTH, south, key, 1);
    stay(NORTH, north, CHECK_MS);
    assert_string_equal(row_says(key), "CopiesEnd sites=north, south");
    harness_say(next, NORTH, key, 2, HELIO_REPORT_KIND_STOPPED);
    stay(NORTH, north, CHECK_MS);
    assert_string_equal(row_says(key), "CopiesEnd sites=south");
    harness_say(next, SOUTH, key, 1, HELIO_REPORT_KIND_STOPPED);
    harness_gone(next, NORTH); /* no site has capacity for it */
    harness_gone(next, SOUTH);
    harness_wait(next, CHECK_MS);
    assert_true(waits(key));
    assert_string_equal(row_says(key), "");
}

static const helio_fx_reply_t *planned(void)
{
    helio_job_spec_t spec = harness_spec(next, "H100", 1);
    helio_submission_t job = harness_submission(next, &spec, "", "");
    helio_ev_submit_t event = {.call = 77, .tenant = HELIO_TEXT("acme"), .user = HELIO_TEXT("ada"), .jobs = {&job, 1}};
    harness_step(next, HELIO_BROKER_EV_PLAN, &event);
    const helio_fx_reply_t *reply = harness_take(next, HELIO_BROKER_FX_REPLY);
    assert_true(reply && reply->rc == HELIO_OK);
    return reply;
}

/*  While nothing at all is placed, that is what every job waits for first: a plan, and the rows of classes. */
static void shown__nothing_is_placed_for_a_moment(void **state)
{
    (void)state;
    both_gone();
    helio_job_key_t eager = waiting_job(HELIO_SITE_LOSS_EAGER);
    restore();
    harness_join(next, NORTH, north);
    stay(NORTH, north, 5000);
    assert_true(waits(eager));
    const helio_row_class_t *row = NULL, *last = NULL;
    while ((row = harness_take(next, HELIO_BROKER_FX_ROW_CLASS)))
        last = row;
    assert_non_null(last);
    assert_true(helio_text_is(last->reason, "WaitingForCapacity"));
    assert_string_equal(harness_facts(next, last->details), "RestoreReconciles");
    const helio_fx_reply_t *reply = planned();
    assert_true(helio_text_is(reply->plan.decision.reason, "WaitingForCapacity"));
    assert_true(helio_text_is(reply->plan.decision.chosen_site, ""));
    assert_string_equal(harness_facts(next, reply->plan.decision.details), "RestoreReconciles");
    assert_string_equal(harness_facts(next, reply->start_estimate.basis), "StartRestored");
    assert_true(reply->start_estimate.latest_ms > harness_wall_ms(next));
    stay(NORTH, north, SILENT_MS);
    assert_true(starts(eager));
    assert_true(helio_text_is(planned()->plan.decision.reason, ""));
}

#define RESTORED(name) cmocka_unit_test_setup_teardown(name, begin, end_both)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RESTORED(awaited__a_strict_job_of_the_copy_waits_for_every_site),
        RESTORED(awaited__a_lease_job_of_the_copy_waits_for_one_lease_at_most),
        RESTORED(awaited__the_time_is_not_over_for_a_leader_that_follows),
        RESTORED(awaited__a_site_can_be_attested),
        RESTORED(awaited__a_site_that_the_copy_never_saw_is_awaited_and_can_be_attested),
        RESTORED(awaited__jobs_keep_the_order_of_their_ages),
        RESTORED(awaited__a_job_that_returns_to_its_queue_waits_too),
        RESTORED(awaited__tasks_of_an_array_wait_together),
        RESTORED(copy__its_job_waits_until_its_end_is_reported),
        RESTORED(copy__an_eager_job_does_not_wait),
        RESTORED(copy__a_leader_that_follows_awaits_the_site_again),
        RESTORED(copy__at_a_silent_site_is_over_with_the_lease_or_by_an_attest),
        RESTORED(copy__is_in_doubt_when_the_agent_has_lost_its_memory),
        RESTORED(copy__of_a_job_that_already_waits_takes_it_out_of_its_queue),
        RESTORED(copy__that_a_site_cannot_have_keeps_nothing_back),
        RESTORED(copy__of_a_job_that_was_attested_is_awaited_where_it_was_placed_last),
        RESTORED(copy__of_one_job_are_noted_up_to_a_bound),
        RESTORED(shown__explain_names_the_sites),
        RESTORED(shown__the_rows_of_sites_tell_since_when),
        RESTORED(shown__the_rows_of_sites_tell_which_jobs_wait_for_them),
        RESTORED(shown__the_row_of_a_job_names_where_copies_of_it_end),
        RESTORED(shown__nothing_is_placed_for_a_moment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
