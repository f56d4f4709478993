/*  test_session.c -- sessions of sites, and agents that are refused. */
#include "broker/core/holds/awaited_sites.h"
#include "tests/unit/broker/core/silence_testing.h"

/* ---- sessions ------------------------------------------------------------------------------------------ */

static void session__hello_is_welcomed_with_the_terms_and_ready_after_its_inventory(void **state)
{
    (void)state;
    helio_site_profile_t *west = harness_site(h, "west");
    harness_pool(h, west, "a", "A100", 2, 4, 1.0);
    harness_hello(h, 3, west);
    const helio_fx_welcome_t *welcome, *last = NULL;
    while ((welcome = harness_take(h, HELIO_BROKER_FX_WELCOME)))
        last = welcome;
    assert_int_equal(last->peer, 3);
    assert_int_equal(last->incarnation, 3);
    assert_int_equal(last->broker_epoch, 7);
    assert_int_equal(last->lease_ms, 15 * 60000);
    assert_int_equal(last->renew_ms, 90000);
    assert_int_equal(last->summary_ms, 1000);
    assert_int_equal(harness_figures(h).sites_ready, 2);
    helio_ev_site_inventory_t part = {.peer = 3, .last = false};
    harness_clear(h);
    harness_step(h, HELIO_BROKER_EV_SITE_INVENTORY, &part);
    assert_null(harness_take(h, HELIO_BROKER_FX_VERDICTS_DONE));
    harness_inventory(h, 3, NULL, 0);
    assert_non_null(harness_take(h, HELIO_BROKER_FX_VERDICTS_DONE));
    assert_int_equal(site_state("west"), HELIO_SITE_STATE_READY);
    assert_int_equal(harness_figures(h).sites_ready, 3);
}

/*  The row of that pool, as it was written last. */
static helio_row_pool_t row_of_pool(const char *name)
{
    helio_row_pool_t found = {0};
    const helio_row_pool_t *row;
    while ((row = harness_take(h, HELIO_BROKER_FX_ROW_POOL)))
        if (helio_text_is(row->pool, name))
            found = *row;
    return found;
}

static void session__a_pool_that_left_the_site_file_is_closed_until_it_is_back(void **state)
{
    (void)state;
    helio_site_profile_t *west = harness_site(h, "west");
    harness_pool(h, west, "a", "A100", 2, 4, 1.0);
    harness_pool(h, west, "b", "L40", 2, 4, 1.0);
    harness_hello(h, 3, west);
    harness_clear(h);
    west->pools.count = 1;
    harness_hello(h, 4, west);
    helio_row_pool_t row = row_of_pool("b");
    assert_true(helio_text_is(row.gpu, "L40"));
    assert_int_equal(row.nodes + row.max_nodes, 0);
    harness_clear(h);
    harness_hello(h, 5, west); /* once is enough */
    assert_int_equal(row_of_pool("b").site.size, 0);
    harness_clear(h);
    west->pools.count = 2;
    harness_hello(h, 6, west);
    assert_int_equal(row_of_pool("b").nodes, 2);
}

static void session__no_work_before_the_inventory_is_closed_and_the_capacity_known(void **state)
{
    (void)state;
    helio_site_profile_t *west = harness_site(h, "west");
    harness_pool(h, west, "a", "A100", 2, 4, 1.0);
    helio_job_spec_t spec = harness_spec(h, "A100", 1);
    harness_hello(h, 3, west);
    helio_job_key_t key = harness_job(h, &spec);
    harness_summary(h, 3, west, 0, 0); /* too early: ignored */
    harness_wait(h, 2000);
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
    harness_inventory(h, 3, NULL, 0);
    harness_wait(h, 2000);
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
    harness_summary(h, 3, west, 0, 0);
    harness_tick(h);
    assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
}

static void session__a_newer_hello_replaces_the_older_session(void **state)
{
    (void)state;
    helio_job_key_t key = job_of(HELIO_SITE_LOSS_STRICT, HELIO_JOB_RUNNING);
    harness_hello(h, NORTH_AGAIN, north);
    const helio_fx_peer_t *refusal = harness_take(h, HELIO_BROKER_FX_REFUSAL);
    assert_int_equal(refusal->peer, NORTH);
    assert_int_equal(refusal->rc, HELIO_CONFLICT);
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_ENDED);
    assert_int_equal(harness_state(h, key), HELIO_JOB_RUNNING);
    assert_null(harness_take(h, HELIO_BROKER_FX_REPORTS_ACK)); /* it must be said in the new one */
    harness_gone(h, NORTH);                                    /* the old connection's end is not the new one's */
    helio_holding_t holding = {key, 1, HELIO_JOB_RUNNING, 1};
    harness_inventory(h, NORTH_AGAIN, &holding, 1);
    harness_say(h, NORTH_AGAIN, key, 1, HELIO_REPORT_KIND_ENDED);
    assert_int_equal(harness_state(h, key), HELIO_JOB_SUCCEEDED);
}

static void session__reports_before_the_inventory_is_closed_are_not_acknowledged(void **state)
{
    (void)state;
    helio_job_key_t key = job_of(HELIO_SITE_LOSS_STRICT, HELIO_JOB_RUNNING);
    harness_hello(h, NORTH_AGAIN, north);
    harness_say(h, NORTH_AGAIN, key, 1, HELIO_REPORT_KIND_ENDED);
    assert_null(harness_take(h, HELIO_BROKER_FX_REPORTS_ACK));
    assert_int_equal(harness_state(h, key), HELIO_JOB_RUNNING);
}

static void session__a_site_that_has_seen_a_newer_incarnation_refuses_the_restored_broker(void **state)
{
    (void)state;
    helio_ev_site_hello_t event = {
        .site = HELIO_TEXT("north"), .peer = NORTH_AGAIN, .incarnation_seen = 4, .profile = *north};
    harness_clear(h);
    harness_step(h, HELIO_BROKER_EV_SITE_HELLO, &event);
    const helio_fx_peer_t *refusal = harness_take(h, HELIO_BROKER_FX_REFUSAL);
    assert_int_equal(refusal->peer, NORTH_AGAIN);
    assert_int_equal(refusal->rc, HELIO_FENCED);
    assert_null(harness_take(h, HELIO_BROKER_FX_WELCOME));
}

static void session__a_site_that_has_seen_a_later_epoch_of_the_same_incarnation_is_told_what_that_means(void **state)
{
    (void)state;
    for (uint64_t seen = 7; seen <= 8; seen++) {
        helio_ev_site_hello_t event = {.site = HELIO_TEXT("north"),
                                       .peer = NORTH_AGAIN + seen,
                                       .incarnation_seen = 3,
                                       .broker_epoch_seen = seen,
                                       .profile = *north};
        harness_clear(h);
        harness_step(h, HELIO_BROKER_EV_SITE_HELLO, &event);
        bool welcome = harness_take(h, HELIO_BROKER_FX_WELCOME) != NULL;
        assert_int_equal(welcome, seen == 7);
    }
    const helio_fx_peer_t *refusal = harness_take(h, HELIO_BROKER_FX_REFUSAL);
    assert_int_equal(refusal->rc, HELIO_FENCED);
    char text[257];
    (void)helio_text_copy(refusal->text, text, sizeof text);
    assert_non_null(strstr(text, "`helio-broker restored`"));
}

/* ---- a restored database ------------------------------------------------------------------------------- */

/*  A job that waits, and a leader of another copy of the database. */
static harness_t *restored(helio_job_key_t *ret_key)
{
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    spec.on_site_loss = HELIO_SITE_LOSS_EAGER; /* others: test_restored.c */
    harness_step(h, HELIO_BROKER_EV_SITE_GONE, &(helio_ev_site_gone_t){.peer = NORTH});
    harness_step(h, HELIO_BROKER_EV_SITE_GONE, &(helio_ev_site_gone_t){.peer = SOUTH});
    *ret_key = harness_job(h, &spec);
    harness_tick(h);
    assert_int_equal(harness_state(h, *ret_key), HELIO_JOB_QUEUED);
    harness_restore(h);
    return harness_rebuild(h);
}

static void restored__nothing_is_placed_before_every_site_sent_its_inventory(void **state)
{
    (void)state;
    helio_job_key_t key;
    harness_t *next = restored(&key);
    harness_join(next, NORTH, north);
    harness_wait(next, 3000);
    assert_int_equal(harness_state(next, key), HELIO_JOB_QUEUED);
    harness_join(next, SOUTH, south);
    harness_wait(next, 2000);
    assert_int_equal(harness_state(next, key), HELIO_JOB_OFFERED);
    harness_end(&next);
}

static void restored__the_next_leader_awaits_sites_that_the_last_one_had_not_seen(void **state)
{
    (void)state;
    helio_job_key_t key;
    harness_t *first = restored(&key);
    harness_join(first, NORTH, north);
    harness_wait(first, 1000);
    harness_t *next = harness_rebuild(first);
    harness_join(next, NORTH, north);
    harness_wait(next, 3000);
    assert_int_equal(harness_state(next, key), HELIO_JOB_QUEUED);
    harness_join(next, SOUTH, south);
    harness_wait(next, 2000);
    assert_int_equal(harness_state(next, key), HELIO_JOB_OFFERED);
    harness_t *last = harness_rebuild(next); /* all sites have sent an inventory: none is awaited */
    harness_join(last, SOUTH, south);
    helio_job_spec_t spec = harness_spec(last, "H100", 1);
    helio_job_key_t more = harness_job(last, &spec);
    harness_wait(last, 2000); /* but north was ready a moment ago */
    assert_int_equal(harness_state(last, more), HELIO_JOB_QUEUED);
    harness_wait(last, TAKEOVER_AWAIT_MS);
    assert_int_equal(harness_state(last, more), HELIO_JOB_OFFERED);
    harness_end(&last);
    harness_end(&next);
    harness_end(&first);
}

static void restored__a_site_that_stays_away_is_not_awaited_for_ever(void **state)
{
    (void)state;
    helio_job_key_t key;
    harness_t *next = restored(&key);
    harness_join(next, NORTH, north);
    for (uint32_t s = 0; s < 58; s++) {
        harness_wait(next, 1000);
        harness_summary(next, NORTH, north, 0, 0);
    }
    assert_int_equal(harness_state(next, key), HELIO_JOB_QUEUED);
    for (uint32_t s = 0; s < 4; s++) {
        harness_wait(next, 1000);
        harness_summary(next, NORTH, north, 0, 0);
    }
    assert_int_equal(harness_state(next, key), HELIO_JOB_OFFERED);
    harness_end(&next);
}

static void session__the_name_in_a_profile_does_not_make_another_site(void **state)
{
    (void)state;
    helio_site_profile_t liar = *south;
    helio_ev_site_hello_t event = {.site = HELIO_TEXT("north"), .peer = NORTH_AGAIN, .profile = liar};
    harness_step(h, HELIO_BROKER_EV_SITE_HELLO, &event);
    harness_clear(h);
    assert_int_equal(harness_site_command(h, HELIO_BROKER_EV_DRAIN, HELIO_ROLE_ADMIN, "north")->rc, HELIO_OK);
    const helio_row_site_t *row = harness_take(h, HELIO_BROKER_FX_ROW_SITE);
    assert_true(helio_text_is(row->site, "north"));
    assert_int_equal(harness_figures(h).sites, 2);
}

static void session__messages_of_a_peer_without_a_session_are_ignored(void **state)
{
    (void)state;
    helio_job_key_t key = job_of(HELIO_SITE_LOSS_STRICT, HELIO_JOB_RUNNING);
    harness_renew(h, 99);
    harness_gone(h, 99);
    harness_inventory(h, 99, NULL, 0);
    harness_summary(h, 99, north, 0, 0);
    harness_say(h, 99, key, 1, HELIO_REPORT_KIND_ENDED);
    for (uint32_t kind = 0; kind < HELIO_BROKER_EFFECT_COUNT; kind++)
        assert_int_equal(harness_count(h, kind), 0);
    assert_int_equal(harness_state(h, key), HELIO_JOB_RUNNING);
}

static void session__a_renewal_is_answered_with_its_own_send_time(void **state)
{
    (void)state;
    harness_renew(h, NORTH);
    const helio_fx_renewed_t *renewed = harness_take(h, HELIO_BROKER_FX_RENEWED);
    assert_int_equal(renewed->peer, NORTH);
    assert_int_equal(renewed->sent_boot_ms, 17);
    assert_int_equal(renewed->lease_ms, 15 * 60000);
}

/* ---- refused agents ------------------------------------------------------------------------------------ */

static const helio_row_site_t *last_row(void)
{
    const helio_row_site_t *row, *last = NULL;
    while ((row = harness_take(h, HELIO_BROKER_FX_ROW_SITE)))
        last = row;
    return last;
}

static const helio_row_site_t *refuse(const char *site, helio_rc rc, const char *text)
{
    helio_ev_site_refused_t event = {helio_text_of(site), (uint32_t)rc, helio_text_of(text)};
    (void)last_row();
    harness_step(h, HELIO_BROKER_EV_SITE_REFUSED, &event);
    return last_row();
}

static void refused__a_refusal_is_shown_until_an_agent_is_admitted(void **state)
{
    (void)state;
    const helio_row_site_t *row = refuse("east", HELIO_VERSION, "no version in common"); /* never seen before */
    assert_non_null(row);
    assert_true(helio_text_is(row->site, "east") && helio_text_is(row->refused, "no version in common"));
    assert_int_equal(row->state, HELIO_SITE_STATE_NEW);
    int64_t since = row->refused_ms;
    assert_true(since > 0);
    harness_advance(h, 20000);
    assert_null(refuse("east", HELIO_VERSION, "no version in common")); /* as before: no row each second */
    row = refuse("east", HELIO_FORBIDDEN, "another name");
    assert_true(row && helio_text_is(row->refused, "another name") && row->refused_ms > since);
    assert_null(refuse("east", HELIO_VERSION, "version 7"));
    assert_null(refuse("east", HELIO_VERSION, "version 8")); /* ever other reasons are not a row each */
    helio_site_profile_t *east = harness_site(h, "east");
    harness_hello(h, 3, east);
    row = last_row();
    assert_true(row && helio_text_is(row->refused, "") && row->refused_ms == 0);
}

static void refused__an_unreadable_frame_is_shown_for_a_while_beside_a_session(void **state)
{
    (void)state;
    const helio_row_site_t *row = refuse("north", HELIO_PROTOCOL, "cannot be read");
    assert_true(row && helio_text_is(row->refused, "cannot be read"));
    harness_hello(h, NORTH_AGAIN, north);
    row = last_row();
    assert_true(row && helio_text_is(row->refused, "cannot be read"));
    harness_hello(h, NORTH_AGAIN + 1, north);
    harness_advance(h, 601000);
    harness_hello(h, NORTH_AGAIN + 2, north);
    row = last_row();
    assert_true(row && helio_text_is(row->refused, ""));
}

static void refused__an_agent_that_saw_a_newer_incarnation_is_shown(void **state)
{
    (void)state;
    helio_ev_site_hello_t hello = {.site = HELIO_TEXT("north"), .peer = 77, .incarnation_seen = 99, .profile = *north};
    (void)last_row();
    harness_step(h, HELIO_BROKER_EV_SITE_HELLO, &hello);
    const helio_row_site_t *row = last_row();
    assert_non_null(row);
    char text[300];
    (void)helio_text_copy(row->refused, text, sizeof text);
    assert_non_null(strstr(text, "an old database was restored"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(session__hello_is_welcomed_with_the_terms_and_ready_after_its_inventory),
        CASE(session__a_pool_that_left_the_site_file_is_closed_until_it_is_back),
        CASE(session__no_work_before_the_inventory_is_closed_and_the_capacity_known),
        CASE(session__a_newer_hello_replaces_the_older_session),
        CASE(session__reports_before_the_inventory_is_closed_are_not_acknowledged),
        CASE(session__a_site_that_has_seen_a_newer_incarnation_refuses_the_restored_broker),
        CASE(session__a_site_that_has_seen_a_later_epoch_of_the_same_incarnation_is_told_what_that_means),
        CASE(restored__nothing_is_placed_before_every_site_sent_its_inventory),
        CASE(restored__the_next_leader_awaits_sites_that_the_last_one_had_not_seen),
        CASE(restored__a_site_that_stays_away_is_not_awaited_for_ever),
        CASE(session__the_name_in_a_profile_does_not_make_another_site),
        CASE(session__messages_of_a_peer_without_a_session_are_ignored),
        CASE(session__a_renewal_is_answered_with_its_own_send_time),
        CASE(refused__a_refusal_is_shown_until_an_agent_is_admitted),
        CASE(refused__an_unreadable_frame_is_shown_for_a_while_beside_a_session),
        CASE(refused__an_agent_that_saw_a_newer_incarnation_is_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
