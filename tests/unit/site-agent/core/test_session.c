/*  Sessions, summaries and the lease. */
#include "harness.h"

static site_t site;

static int begin(void **state)
{
    (void)state;
    site_begin(&site);
    return 0;
}

static int end(void **state)
{
    (void)state;
    site_end(&site);
    return 0;
}

static void give_loss(uint8_t number, uint32_t on_site_loss)
{
    helio_order_t order = order_of(number, 1, 1, 1);
    order.on_site_loss = on_site_loss;
    give(&site, &order);
    backend_says(&site, number, 1, HELIO_BACKEND_REPORT_STARTED);
}

static void session__opens_in_the_order_hello_inventory_verdicts_then_the_rest(void **state)
{
    (void)state;
    step(&site, HELIO_AGENT_EV_CONNECTED, NULL);
    assert_int_equal(site.log_count, 2); /* its number, which it waits for */
    assert_int_equal(site.log[0].kind, HELIO_AGENT_FX_SEND_HELLO);
    assert_int_equal(site.log[1].kind, HELIO_AGENT_FX_ROW_META);
    helio_aev_welcome_t welcome = welcome_of(1, 1);
    step(&site, HELIO_AGENT_EV_WELCOME, &welcome);
    const helio_afx_inventory_t *inventory = last_of(&site, HELIO_AGENT_FX_SEND_INVENTORY);
    assert_true(inventory->last);
    assert_int_equal(inventory->holdings.count, 0);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_SEND_SUMMARY), 0);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_SEND_RENEW), 0);
    assert_false(figures(&site).in_session);
    rule_on(&site, 0, 0, 0, false);
    assert_false(figures(&site).in_session);
    rule_on(&site, 0, 0, 0, true);
    assert_true(figures(&site).in_session);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_SEND_SUMMARY), 1);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_SEND_RENEW), 1);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_LEASE), 1);
}

static void session__with_an_older_broker_is_not_opened(void **state)
{
    (void)state;
    static const struct {
        uint64_t incarnation, broker_epoch;
        bool welcome;
    } cases[] = {{2, 5, true}, {1, 9, false}, {2, 4, false}, {2, 5, true}, {2, 6, true}, {3, 1, true}, {2, 9, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        clear_log(&site);
        step(&site, HELIO_AGENT_EV_CONNECTED, NULL);
        helio_aev_welcome_t welcome = welcome_of(cases[i].incarnation, cases[i].broker_epoch);
        step(&site, HELIO_AGENT_EV_WELCOME, &welcome);
        assert_int_equal(count_of(&site, HELIO_AGENT_FX_SEND_INVENTORY), cases[i].welcome ? 1 : 0);
        commit(&site);
        restart(&site); /* the ratchet is durable */
    }
}

static void session__unexpected_verdicts_and_welcomes_are_ignored(void **state)
{
    (void)state;
    rule_on(&site, 0, 0, 0, true);
    helio_aev_welcome_t welcome = welcome_of(1, 1);
    step(&site, HELIO_AGENT_EV_WELCOME, &welcome);
    assert_int_equal(site.log_count, 0);
    assert_int_equal(figures(&site).ignored_total, 2);
    open_session(&site);
    rule_on(&site, 1, 1, HELIO_VERDICT_FENCED, true); /* late */
    assert_int_equal(figures(&site).ignored_total, 3);
}

static void session__inventory_comes_in_parts_of_a_thousand(void **state)
{
    (void)state;
    site_end(&site);
    site_begin_with(&site, (helio_agent_options_t){.attempts_max = 5000, .kill_margin_ms = 60000});
    open_session(&site);
    for (uint32_t i = 0; i < 2500; i++) {
        helio_order_t order = order_of(1, 1, 1, 1);
        order.key.task = (int32_t)i;
        order.dispatch_seq = i + 1;
        give(&site, &order);
        commit(&site);
        clear_log(&site);
        site.row_count = 0; /* this test keeps no journal */
    }
    step(&site, HELIO_AGENT_EV_DISCONNECTED, NULL);
    open_until_inventory(&site);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_SEND_INVENTORY), 3);
    uint32_t sum = 0, lasts = 0;
    for (uint32_t i = 0; i < site.log_count; i++)
        if (site.log[i].kind == HELIO_AGENT_FX_SEND_INVENTORY) {
            const helio_afx_inventory_t *part = site.log[i].record;
            sum += part->holdings.count;
            lasts += part->last;
        }
    assert_int_equal(sum, 2500);
    assert_int_equal(lasts, 1);
}

static void session__loss_of_any_length_stops_no_strict_attempt(void **state)
{
    (void)state;
    open_session(&site);
    give_loss(1, HELIO_SITE_LOSS_STRICT);
    step(&site, HELIO_AGENT_EV_DISCONNECTED, NULL);
    clear_log(&site);
    for (int day = 0; day < 30; day++)
        later(&site, INT64_C(24) * 3600 * 1000);
    assert_int_equal(site.log_count, 0);
}

static void verdict__stop_is_polite_and_fenced_kills_at_once(void **state)
{
    (void)state;
    open_session(&site);
    give_loss(1, HELIO_SITE_LOSS_STRICT);
    give_loss(2, HELIO_SITE_LOSS_STRICT);
    open_until_inventory(&site);
    clear_log(&site);
    rule_on(&site, 1, 1, HELIO_VERDICT_STOP, false);
    assert_int_equal(((const helio_stop_t *)last_of(&site, HELIO_AGENT_FX_STOP))->mode, HELIO_STOP_MODE_GRACE);
    rule_on(&site, 2, 1, HELIO_VERDICT_FENCED, true);
    assert_int_equal(((const helio_stop_t *)last_of(&site, HELIO_AGENT_FX_STOP))->mode, HELIO_STOP_MODE_KILL);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_STOP), 2);
}

/* ---- lease --------------------------------------------------------------------------------------------- */

static void lease__stops_lease_and_eager_attempts_before_it_ends_but_no_strict_one(void **state)
{
    (void)state;
    open_session(&site);
    int64_t granted_ms = site.now_ms;
    give_loss(1, HELIO_SITE_LOSS_STRICT);
    give_loss(2, HELIO_SITE_LOSS_LEASE);
    give_loss(3, HELIO_SITE_LOSS_EAGER);
    step(&site, HELIO_AGENT_EV_DISCONNECTED, NULL);
    clear_log(&site);
    assert_int_equal(site.effects->wake_ms, granted_ms + 840000);
    later(&site, 839999);
    assert_int_equal(site.log_count, 0);
    later(&site, 1);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_STOP), 2);
    const helio_stop_t *stop = last_of(&site, HELIO_AGENT_FX_STOP);
    assert_int_equal(stop->cause, HELIO_CAUSE_LEASE_EXPIRED);
    assert_int_equal(stop->mode, HELIO_STOP_MODE_GRACE);
    later(&site, 44999);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_STOP), 2);
    later(&site, 1); /* 15 s before its end there is no more grace */
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_STOP), 4);
    assert_int_equal(((const helio_stop_t *)last_of(&site, HELIO_AGENT_FX_STOP))->mode, HELIO_STOP_MODE_KILL);
    helio_aev_backend_t ended = backend_of(2, 1, HELIO_BACKEND_REPORT_ENDED);
    ended.stopped = true;
    step(&site, HELIO_AGENT_EV_BACKEND, &ended);
    assert_int_equal(report_row(&site, HELIO_REPORT_KIND_STOPPED)->cause, HELIO_CAUSE_LEASE_EXPIRED);
}

static void lease__counts_from_the_sending_of_its_renewal(void **state)
{
    (void)state;
    open_session(&site);
    give_loss(1, HELIO_SITE_LOSS_LEASE);
    int64_t sent_ms = site.now_ms;
    later(&site, 50000); /* the answer took its time */
    helio_aev_renewed_t renewed = {.sent_boot_ms = sent_ms, .lease_ms = 900000};
    clear_log(&site);
    step(&site, HELIO_AGENT_EV_RENEWED, &renewed);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_LEASE), 0); /* no later than the one it has */
    renewed.sent_boot_ms = sent_ms + 10;
    step(&site, HELIO_AGENT_EV_RENEWED, &renewed);
    const helio_afx_lease_t *lease = last_of(&site, HELIO_AGENT_FX_LEASE);
    assert_int_equal(lease->deadline_boot_ms, sent_ms + 10 + 840000);
    renewed.sent_boot_ms = site.now_ms + 1; /* we have not sent that */
    clear_log(&site);
    step(&site, HELIO_AGENT_EV_RENEWED, &renewed);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_LEASE), 0);
}

static bool is_named(uint8_t number, uint32_t epoch)
{
    const helio_afx_lease_t *lease = last_of(&site, HELIO_AGENT_FX_LEASE);
    for (uint32_t i = 0; lease && i < lease->attempts.count; i++)
        if (lease->attempts.items[i].epoch == epoch &&
            helio_job_key_equal(lease->attempts.items[i].key, key_of(number)))
            return true;
    return false;
}

static void lease__names_what_the_journal_knows_before_it_starts(void **state)
{
    (void)state;
    open_session(&site);
    clear_log(&site);
    give_loss(1, HELIO_SITE_LOSS_STRICT);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_LEASE), 0); /* nothing changed */
    give_loss(2, HELIO_SITE_LOSS_LEASE);
    assert_true(is_named(2, 1) && !is_named(1, 1));
    give_loss(3, HELIO_SITE_LOSS_EAGER);
    assert_true(is_named(2, 1) && is_named(3, 1));
    backend_says(&site, 2, 1, HELIO_BACKEND_REPORT_ENDED);
    later(&site, 100000);
    helio_aev_renewed_t renewed = {.sent_boot_ms = site.now_ms, .lease_ms = 900000};
    step(&site, HELIO_AGENT_EV_RENEWED, &renewed);
    assert_true(!is_named(2, 1) && is_named(3, 1));
}

/*  A copy that is found late is not the broker's until it says so: it may have placed the job again. */
static void lease__names_of_what_was_found_what_the_broker_keeps(void **state)
{
    (void)state;
    helio_aev_renewed_t renewed = {.sent_boot_ms = site.now_ms + 1000, .lease_ms = 900000};
    backend_says(&site, 1, 1, HELIO_BACKEND_REPORT_STARTED);
    backend_says(&site, 2, 1, HELIO_BACKEND_REPORT_STARTED);
    open_until_inventory(&site);
    rule_on(&site, 1, 1, HELIO_VERDICT_KEEP, false);
    rule_on(&site, 2, 1, HELIO_VERDICT_FENCED, true);
    backend_says(&site, 3, 1, HELIO_BACKEND_REPORT_STARTED);
    later(&site, 1000);
    step(&site, HELIO_AGENT_EV_RENEWED, &renewed);
    assert_true(is_named(1, 1) && !is_named(2, 1) && !is_named(3, 1));
    step(&site, HELIO_AGENT_EV_DISCONNECTED, NULL);
    open_until_inventory(&site);
    clear_log(&site);
    rule_on(&site, 3, 1, HELIO_VERDICT_KEEP, false);
    assert_true(is_named(3, 1)); /* at once */
}

static void lease__is_requested_at_every_renewal_interval(void **state)
{
    (void)state;
    open_session(&site);
    clear_log(&site);
    for (int i = 0; i < 900; i++)
        later(&site, 1000);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_SEND_RENEW), 10);
}

static void lease__that_ended_while_the_agent_was_suspended_stops_attempts_first(void **state)
{
    (void)state;
    open_session(&site);
    give_loss(1, HELIO_SITE_LOSS_LEASE);
    int64_t sent_ms = site.now_ms;
    site.now_ms += 2000000;
    site.wall_ms += 2000000;
    clear_log(&site);
    helio_aev_renewed_t renewed = {.sent_boot_ms = sent_ms + 1999999, .lease_ms = 900000};
    step(&site, HELIO_AGENT_EV_RENEWED, &renewed);
    assert_true(count_of(&site, HELIO_AGENT_FX_STOP) > 0);
}

static void lease__survives_a_restart_of_the_agent(void **state)
{
    (void)state;
    open_session(&site);
    give_loss(1, HELIO_SITE_LOSS_LEASE);
    commit(&site);
    site.now_ms += 100000;
    site.wall_ms += 100000;
    restart(&site);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_STOP), 0);
    later(&site, 739999);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_STOP), 0);
    later(&site, 1);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_STOP), 1);
}

static void lease__that_ended_while_the_machine_was_off_stops_at_once(void **state)
{
    (void)state;
    open_session(&site);
    give_loss(1, HELIO_SITE_LOSS_LEASE);
    commit(&site);
    site.wall_ms += 3600000;
    site.now_ms = 5000; /* CLOCK_BOOTTIME starts over */
    restart(&site);
    assert_int_equal(((const helio_stop_t *)last_of(&site, HELIO_AGENT_FX_STOP))->mode, HELIO_STOP_MODE_KILL);
}

static void lease__order_without_a_valid_one_is_refused(void **state)
{
    (void)state;
    open_session(&site);
    later(&site, 840000); /* no renewal was answered */
    clear_log(&site);
    helio_order_t order = order_of(1, 1, 1, 1);
    order.on_site_loss = HELIO_SITE_LOSS_LEASE;
    give(&site, &order);
    assert_int_equal(report_row(&site, HELIO_REPORT_KIND_REFUSED)->cause, HELIO_CAUSE_NOT_READY);
    assert_true(helio_text_is(report_row(&site, HELIO_REPORT_KIND_REFUSED)->explanation, "the site holds no lease"));
    give_loss(2, HELIO_SITE_LOSS_STRICT);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_START), 1);
}

static void lease__that_is_short_keeps_three_quarters(void **state)
{
    (void)state;
    step(&site, HELIO_AGENT_EV_CONNECTED, NULL);
    helio_aev_welcome_t welcome = welcome_of(1, 1);
    welcome.lease_ms = 8000;
    step(&site, HELIO_AGENT_EV_WELCOME, &welcome);
    rule_on(&site, 0, 0, 0, true);
    const helio_afx_lease_t *lease = last_of(&site, HELIO_AGENT_FX_LEASE);
    assert_int_equal(lease->deadline_boot_ms, site.now_ms + 6000);
}

/* ---- summaries ----------------------------------------------------------------------------------------- */

static const helio_site_summary_t *summary(void)
{
    return last_of(&site, HELIO_AGENT_FX_SEND_SUMMARY);
}

static void summary__is_full_first_and_then_names_only_what_changed(void **state)
{
    (void)state;
    open_session(&site);
    assert_int_equal(summary()->seq, 1);
    assert_int_equal(summary()->base_seq, 0);
    assert_int_equal(summary()->pools.count, 2);
    later(&site, 1000);
    assert_int_equal(summary()->seq, 2);
    assert_int_equal(summary()->base_seq, 1);
    assert_int_equal(summary()->pools.count, 0);
    give_loss(7, HELIO_SITE_LOSS_STRICT);
    later(&site, 1000);
    assert_int_equal(summary()->base_seq, 2);
    assert_int_equal(summary()->pools.count, 1);
    assert_int_equal(summary()->dispatch_seen, 7);
    const helio_pool_capacity_t *pool = &summary()->pools.items[0];
    assert_true(helio_text_is(pool->pool, "gpu"));
    assert_int_equal(pool->gpus_allocated, 1);
    assert_int_equal(pool->gpus_total, 32);
    assert_int_equal(pool->jobs_running, 1);
    assert_int_equal(pool->free_nodes.count, 9);
    assert_int_equal(pool->free_nodes.items[7], 1);
    assert_int_equal(pool->free_nodes.items[8], 3);
    later(&site, 999);
    assert_int_equal(summary()->seq, 3); /* not before its time */
}

static void summary__counts_dispatches_per_session(void **state)
{
    (void)state;
    open_session(&site);
    give_loss(9, HELIO_SITE_LOSS_STRICT);
    later(&site, 1000);
    assert_int_equal(summary()->dispatch_seen, 9);
    open_session(&site);
    assert_int_equal(summary()->dispatch_seen, 0);
    assert_int_equal(summary()->seq, 1);
    assert_int_equal(summary()->base_seq, 0);
}

static void summary__is_full_and_at_once_after_a_resync(void **state)
{
    (void)state;
    open_session(&site);
    later(&site, 1000);
    step(&site, HELIO_AGENT_EV_RESYNC, NULL);
    assert_int_equal(summary()->base_seq, 0);
    assert_int_equal(summary()->pools.count, 2);
    assert_int_equal(summary()->seq, 3);
}

static void tell_series(uint32_t count, double value)
{
    static double values[48];
    helio_series_t series[100] = {0};
    static char names[100][16];
    for (uint32_t i = 0; i < 48; i++)
        values[i] = value;
    for (uint32_t i = 0; i < count; i++) {
        (void)snprintf(names[i], sizeof names[i], "p%u", i);
        series[i] = (helio_series_t){.signal = HELIO_SIGNAL_PRICE, .pool = helio_text_of(names[i]), .step_s = 3600};
        series[i].values = (helio_f64s_t){values, 48};
    }
    helio_aev_series_t event = {.series = {series, count}, .power_w = -1};
    step(&site, HELIO_AGENT_EV_SERIES, &event);
}

static void summary__sends_a_series_once_until_it_changes_or_vanishes(void **state)
{
    (void)state;
    tell_series(2, 0.5);
    open_session(&site);
    assert_int_equal(summary()->series.count, 2);
    tell_series(2, 0.5);
    later(&site, 1000);
    assert_int_equal(summary()->series.count, 0);
    tell_series(2, 0.75);
    later(&site, 1000);
    assert_int_equal(summary()->series.count, 2);
    tell_series(1, 0.75);
    later(&site, 1000);
    assert_int_equal(summary()->base_seq, 0); /* a change cannot say that one is gone */
    assert_int_equal(summary()->series.count, 1);
}

static void summary__spreads_many_series_over_several(void **state)
{
    (void)state;
    tell_series(100, 0.5);
    open_session(&site);
    assert_int_equal(summary()->series.count, 64);
    later(&site, 1000);
    assert_int_equal(summary()->series.count, 36);
    later(&site, 1000);
    assert_int_equal(summary()->series.count, 0);
}

static void summary__models_power_from_the_pools_unless_it_is_measured(void **state)
{
    (void)state;
    open_session(&site);
    assert_true(summary()->power_w > 1919.9 && summary()->power_w < 1920.1); /* 32 idle GPUs */
    give_loss(1, HELIO_SITE_LOSS_STRICT);
    later(&site, 1000);
    assert_true(summary()->power_w > 2279.9 && summary()->power_w < 2280.1); /* one of them at 420 W */
    helio_aev_series_t event = {.power_w = 1234};
    step(&site, HELIO_AGENT_EV_SERIES, &event);
    later(&site, 1000);
    assert_true(summary()->power_w > 1233.9 && summary()->power_w < 1234.1);
}

static void summary__of_a_cluster_has_the_reported_capacity(void **state)
{
    (void)state;
    site_end(&site);
    site_begin_with(&site, (helio_agent_options_t){.attempts_max = 100, .kill_margin_ms = 60000});
    uint32_t free_nodes[9] = {[8] = 3};
    helio_pool_capacity_t pool = {.pool = HELIO_TEXT("gpu"), .nodes_up = 3, .free_nodes = {free_nodes, 9}};
    helio_aev_capacity_t capacity = {.pools = {&pool, 1}};
    step(&site, HELIO_AGENT_EV_CAPACITY, &capacity);
    open_session(&site);
    assert_int_equal(summary()->pools.count, 1);
    assert_int_equal(summary()->pools.items[0].nodes_up, 3);
    step(&site, HELIO_AGENT_EV_CAPACITY, &capacity);
    later(&site, 1000);
    assert_int_equal(summary()->pools.count, 0);
    free_nodes[8] = 2;
    step(&site, HELIO_AGENT_EV_CAPACITY, &capacity);
    later(&site, 1000);
    assert_int_equal(summary()->pools.count, 1);
    helio_aev_capacity_t nothing = {0};
    step(&site, HELIO_AGENT_EV_CAPACITY, &nothing);
    later(&site, 1000);
    assert_int_equal(summary()->base_seq, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(session__opens_in_the_order_hello_inventory_verdicts_then_the_rest),
        TEST(session__with_an_older_broker_is_not_opened),
        TEST(session__unexpected_verdicts_and_welcomes_are_ignored),
        TEST(session__inventory_comes_in_parts_of_a_thousand),
        TEST(session__loss_of_any_length_stops_no_strict_attempt),
        TEST(verdict__stop_is_polite_and_fenced_kills_at_once),
        TEST(lease__stops_lease_and_eager_attempts_before_it_ends_but_no_strict_one),
        TEST(lease__counts_from_the_sending_of_its_renewal),
        TEST(lease__names_what_the_journal_knows_before_it_starts),
        TEST(lease__names_of_what_was_found_what_the_broker_keeps),
        TEST(lease__is_requested_at_every_renewal_interval),
        TEST(lease__that_ended_while_the_agent_was_suspended_stops_attempts_first),
        TEST(lease__survives_a_restart_of_the_agent),
        TEST(lease__that_ended_while_the_machine_was_off_stops_at_once),
        TEST(lease__order_without_a_valid_one_is_refused),
        TEST(lease__that_is_short_keeps_three_quarters),
        TEST(summary__is_full_first_and_then_names_only_what_changed),
        TEST(summary__counts_dispatches_per_session),
        TEST(summary__is_full_and_at_once_after_a_resync),
        TEST(summary__sends_a_series_once_until_it_changes_or_vanishes),
        TEST(summary__spreads_many_series_over_several),
        TEST(summary__models_power_from_the_pools_unless_it_is_measured),
        TEST(summary__of_a_cluster_has_the_reported_capacity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
