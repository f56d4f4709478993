/*  test_orders.c -- orders of the broker: accepted, refused, stopped. */
#include "tests/unit/site-agent/core/orders_testing.h"

#include "federation/base/utf8.h"

static void order__is_journalled_and_accepted_before_it_starts(void **state)
{
    (void)state;
    open_session(&site);
    commit(&site);
    clear_log(&site);
    give_one(1, 1, 1, 8);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_ROW_SEEN), 1);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_START), 1);
    assert_non_null(report_row(&site, HELIO_REPORT_KIND_ACCEPTED));
    assert_non_null(report_row(&site, HELIO_REPORT_KIND_STARTING));
    uint64_t row_batch = 0, start_batch = 0;
    for (uint32_t i = 0; i < site.log_count; i++) {
        if (site.log[i].kind == HELIO_AGENT_FX_ROW_ATTEMPT)
            row_batch = site.log[i].batch;
        if (site.log[i].kind == HELIO_AGENT_FX_START) {
            start_batch = site.log[i].batch;
            assert_true(row_batch != 0); /* the intent came first */
        }
    }
    assert_int_equal(row_batch, start_batch);
    assert_int_equal(helio_agent_effects[HELIO_AGENT_FX_START].release, HELIO_RELEASE_HELD);
    assert_int_equal(figures(&site).attempts, 1);
}

static void order__carries_its_document_unchanged_to_the_backend(void **state)
{
    (void)state;
    open_session(&site);
    helio_order_t order = order_of(1, 1, 2, 4);
    order.source = (helio_text_t){"a\0b\xff", 4};
    give(&site, &order);
    const helio_afx_start_t *start = last_of(&site, HELIO_AGENT_FX_START);
    assert_true(helio_record_equal(&helio_order_type, &start->order, &order));
    assert_int_equal(start->slots.count, 2);
}

static void order__that_is_repeated_starts_nothing_and_resends_its_reports(void **state)
{
    (void)state;
    open_session(&site);
    give_one(1, 1, 1, 8);
    commit(&site);
    clear_log(&site);
    give_one(1, 1, 1, 8);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_START), 0);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_ROW_REPORT), 0);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_SEND_REPORT), 2); /* accepted, starting */
    assert_int_equal(figures(&site).replays_total, 1);
    acknowledge(&site, figures(&site).reports_pending ? ((helio_report_t *)site.log[1].record)->seq : 0);
    clear_log(&site);
    give_one(1, 1, 1, 8);
    assert_int_equal(site.log_count, 0); /* nothing is held of it any more */
}

static void order__that_is_repeated_after_a_restart_is_still_a_replay(void **state)
{
    (void)state;
    open_session(&site);
    give_one(1, 1, 1, 8);
    backend_says(&site, 1, 1, HELIO_BACKEND_REPORT_ENDED);
    acknowledge(&site, last_seq(&site));
    commit(&site);
    restart(&site);
    open_session(&site);
    clear_log(&site);
    give_one(1, 1, 1, 8);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_START), 0);
    assert_int_equal(figures(&site).attempts, 0);
}

static void order__of_an_attempt_that_is_over_and_acknowledged_is_refused_so_that_another_epoch_comes(void **state)
{
    (void)state;
    open_session(&site);
    give_one(1, 1, 1, 8);
    backend_says(&site, 1, 1, HELIO_BACKEND_REPORT_ENDED);
    commit(&site);
    uint64_t end = last_seq(&site);
    clear_log(&site);
    give_one(1, 1, 1, 8); /* not acknowledged: what became of it is said again */
    assert_null(last_of(&site, HELIO_AGENT_FX_ROW_REPORT));
    assert_true(count_of(&site, HELIO_AGENT_FX_SEND_REPORT) > 0);
    acknowledge(&site, end);
    clear_log(&site);
    give_one(1, 1, 1, 8);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_START), 0);
    assert_refused(HELIO_CAUSE_STALE_EPOCH, "that attempt has already ended here");
    give_one(1, 2, 1, 8);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_START), 1);
}

static void signal_it(uint8_t number, uint32_t epoch)
{
    helio_attempt_signal_t one = {key_of(number), epoch, HELIO_JOB_SIGNAL_USR1, HELIO_SIGNAL_TO_JOB};
    helio_aev_signals_t signals = {.signals = {&one, 1}};
    step(&site, HELIO_AGENT_EV_SIGNALS, &signals);
}

static void signal__reaches_an_attempt_that_runs_and_no_other(void **state)
{
    (void)state;
    open_session(&site);
    give_one(1, 1, 1, 1);
    commit(&site);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_START), 1);
    signal_it(1, 1); /* not started yet */
    signal_it(2, 1); /* unknown */
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_SIGNAL), 0);
    backend_says(&site, 1, 1, HELIO_BACKEND_REPORT_STARTED);
    signal_it(1, 2); /* another epoch */
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_SIGNAL), 0);
    signal_it(1, 1);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_SIGNAL), 1);
    backend_says(&site, 1, 1, HELIO_BACKEND_REPORT_ENDED);
    signal_it(1, 1); /* over */
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_SIGNAL), 1);
}

static void order__of_an_older_epoch_is_refused_as_stale(void **state)
{
    (void)state;
    open_session(&site);
    give_one(1, 7, 1, 8);
    backend_says(&site, 1, 7, HELIO_BACKEND_REPORT_ENDED);
    clear_log(&site);
    give_one(1, 6, 1, 8);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_START), 0);
    assert_refused(HELIO_CAUSE_STALE_EPOCH, "");
    give_one(1, 7, 1, 8); /* and the newer one is still known */
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_START), 0);
}

static void order__of_a_newer_epoch_starts_while_the_older_one_is_stopping(void **state)
{
    (void)state;
    open_session(&site);
    give_one(1, 1, 1, 8);
    backend_says(&site, 1, 1, HELIO_BACKEND_REPORT_STARTED);
    stop_it(&site, 1, 1, HELIO_STOP_MODE_GRACE);
    clear_log(&site);
    give_one(1, 2, 1, 8);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_START), 1);
    assert_int_equal(figures(&site).attempts, 2);
    backend_says(&site, 1, 1, HELIO_BACKEND_REPORT_ENDED);
    assert_int_equal(report_row(&site, HELIO_REPORT_KIND_ENDED)->epoch, 1);
}

static void order__of_an_older_incarnation_is_ignored_and_counted(void **state)
{
    (void)state;
    step(&site, HELIO_AGENT_EV_CONNECTED, NULL);
    helio_aev_welcome_t welcome = welcome_of(3, 1);
    step(&site, HELIO_AGENT_EV_WELCOME, &welcome);
    rule_on(&site, 0, 0, 0, true);
    clear_log(&site);
    give_one(1, 1, 1, 8); /* harness: incarnation 1 */
    assert_int_equal(site.log_count, 0);
    assert_int_equal(figures(&site).ignored_total, 1);
    assert_int_equal(figures(&site).orders_total, 0);
}

static void order__before_the_inventory_is_closed_is_not_ready(void **state)
{
    (void)state;
    open_until_inventory(&site);
    give_one(1, 1, 1, 8);
    assert_refused(HELIO_CAUSE_NOT_READY, "the inventory is not closed");
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_START), 0);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_SEND_REPORT), 0);
    rule_on(&site, 0, 0, 0, true);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_SEND_REPORT), 1); /* once it is */
}

static void order__on_a_full_disk_is_refused_until_there_is_room(void **state)
{
    (void)state;
    helio_aev_disk_t disk = {.full = true};
    open_session(&site);
    step(&site, HELIO_AGENT_EV_DISK, &disk);
    give_one(1, 1, 1, 8);
    assert_refused(HELIO_CAUSE_NOT_READY, "the disk of the site's state is full");
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_START), 0);
    disk.full = false;
    step(&site, HELIO_AGENT_EV_DISK, &disk);
    give_one(1, 2, 1, 8);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_START), 1);
}

static void order__after_a_damaged_journal_waits_for_an_inventory(void **state)
{
    (void)state;
    restart_as(&site, true);
    assert_true(figures(&site).reconcile_only);
    open_until_inventory(&site);
    assert_true(((const helio_afx_hello_t *)last_of(&site, HELIO_AGENT_FX_SEND_HELLO))->reconcile_only);
    give_one(1, 1, 1, 8);
    assert_refused(HELIO_CAUSE_NOT_READY, "the site's journal was damaged and is being reconciled");
    rule_on(&site, 0, 0, 0, true);
    give_one(1, 2, 1, 8);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_START), 1);
}

static void order__waits_while_the_backend_runs_an_unknown_attempt(void **state)
{
    (void)state;
    restart_as(&site, true);
    backend_says(&site, 9, 4, HELIO_BACKEND_REPORT_STARTED);
    open_until_inventory(&site);
    const helio_afx_inventory_t *inventory = last_of(&site, HELIO_AGENT_FX_SEND_INVENTORY);
    assert_int_equal(inventory->holdings.count, 1);
    assert_int_equal(inventory->holdings.items[0].epoch, 4);
    assert_int_equal(inventory->holdings.items[0].state, HELIO_JOB_RUNNING);
    rule_on(&site, 9, 4, HELIO_VERDICT_STOP, true);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_STOP), 1);
    give_one(1, 1, 1, 1);
    assert_refused(HELIO_CAUSE_NOT_READY, "an attempt of unknown size runs here");
    helio_aev_backend_t gone = backend_of(9, 4, HELIO_BACKEND_REPORT_ENDED);
    gone.stopped = true;
    step(&site, HELIO_AGENT_EV_BACKEND, &gone);
    assert_non_null(report_row(&site, HELIO_REPORT_KIND_STOPPED));
    give_one(1, 2, 1, 1);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_START), 1);
}

static void order__that_does_not_fit_is_refused_with_the_reason(void **state)
{
    (void)state;
    static const struct {
        const char *pool;
        uint32_t nodes, gpus, cpus;
        uint64_t memory;
        uint32_t cause;
        const char *explanation; /* its beginning */
    } cases[] = {
        {"h200", 1, 1, 0, 0, HELIO_CAUSE_NO_SUCH_POOL, "no pool 'h200'"},
        {"gpu", 5, 8, 0, 0, HELIO_CAUSE_NO_CAPACITY, "5 nodes requested, but the pool has 4"},
        {"gpu", 1, 9, 0, 0, HELIO_CAUSE_NO_CAPACITY, "9 GPUs per node requested, but the pool's nodes have 8"},
        {"gpu", 0, 8, 0, 0, HELIO_CAUSE_NO_CAPACITY, "0 nodes requested"},
        {"gpu", 1, 8, 65, 0, HELIO_CAUSE_NO_CAPACITY, "65 CPUs per node requested"},
        {"gpu", 1, 8, 0, UINT64_MAX, HELIO_CAUSE_NO_CAPACITY, "more memory"},
        {"cpu", 1, 1, 0, 0, HELIO_CAUSE_NO_CAPACITY, "1 GPUs per node requested, but the pool's nodes have 0"},
        {"gpu", 4, 8, 0, 0, HELIO_CAUSE_NO_CAPACITY, "3 of 4 nodes are free enough for 8 GPUs each"},
    };
    open_session(&site);
    give_one(100, 1, 1, 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        clear_log(&site);
        helio_order_t order = order_of((uint8_t)(i + 1), 1, cases[i].nodes, cases[i].gpus);
        order.pool = helio_text_of(cases[i].pool);
        order.cpus_per_node = cases[i].cpus;
        order.memory_bytes_per_node = cases[i].memory;
        give(&site, &order);
        assert_int_equal(count_of(&site, HELIO_AGENT_FX_START), 0);
        assert_refused(cases[i].cause, cases[i].explanation);
        assert_int_equal(count_of(&site, HELIO_AGENT_FX_ROW_SEEN), 1);
    }
    assert_int_equal(figures(&site).attempts, 1);
    assert_int_equal(figures(&site).refusals_total, sizeof cases / sizeof cases[0]);
}

static void order__beyond_the_attempts_that_a_site_may_hold_is_too_many(void **state)
{
    (void)state;
    open_session(&site);
    for (uint8_t i = 1; i <= 101; i++) {
        helio_order_t order = order_of(i, 1, 1, 0);
        order.pool = HELIO_TEXT("cpu");
        give(&site, &order);
    }
    assert_int_equal(figures(&site).attempts, 100);
    assert_refused(HELIO_CAUSE_TOO_MANY, "");
}

static void order__goes_to_a_batch_schedulers_queue_even_when_the_site_is_full(void **state)
{
    (void)state;
    site_end(&site);
    site_begin_with(&site, (helio_agent_options_t){.attempts_max = 100, .kill_margin_ms = 60000});
    open_session(&site);
    for (uint8_t i = 1; i <= 10; i++)
        give_one(i, 1, 4, 8);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_START), 10);
    assert_int_equal(((const helio_afx_start_t *)last_of(&site, HELIO_AGENT_FX_START))->slots.count, 0);
    give_one(11, 1, 5, 8);
    assert_refused(HELIO_CAUSE_NO_CAPACITY, "");
}

static void stop__of_an_unknown_attempt_is_answered_and_bars_a_late_order(void **state)
{
    (void)state;
    open_session(&site);
    stop_it(&site, 1, 3, HELIO_STOP_MODE_GRACE);
    const helio_report_t *report = report_row(&site, HELIO_REPORT_KIND_STOPPED);
    assert_non_null(report);
    assert_int_equal(report->started_wall_ms, 0);
    assert_int_equal(report->run_ms, 0);
    give_one(1, 3, 1, 8);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_START), 0);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_SEND_REPORT), 2); /* said again */
}

static void stop__of_an_unknown_attempt_has_no_effect_before_the_inventory(void **state)
{
    (void)state;
    restart_as(&site, true);
    open_until_inventory(&site);
    clear_log(&site);
    stop_it(&site, 1, 3, HELIO_STOP_MODE_GRACE);
    assert_int_equal(site.log_count, 0); /* it may be here: the journal is gone */
    assert_int_equal(figures(&site).ignored_total, 1);
}

static void stop__of_an_accepted_attempt_that_never_started_never_starts_it(void **state)
{
    (void)state;
    helio_jrow_attempt_t row = {.incarnation = 1, .order = order_of(1, 1, 1, 8), .state = HELIO_JOB_ACCEPTED};
    site.rows[site.row_count++] = (entry_t){HELIO_AGENT_FX_ROW_ATTEMPT, 1, &row};
    restart(&site);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_ADOPT), 0);
    stop_it(&site, 1, 1, HELIO_STOP_MODE_GRACE);
    open_session(&site);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_START), 0);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_STOP), 0);
    const helio_report_t *report = report_row(&site, HELIO_REPORT_KIND_STOPPED);
    assert_int_equal(report->cause, HELIO_CAUSE_STOPPED);
    assert_true(helio_text_is(report->explanation, "Cancelled"));
    assert_int_equal(report->started_wall_ms, 0);
}

static void stop__is_in_the_row_as_data_and_as_the_text_that_an_older_agent_reads(void **state)
{
    (void)state;
    open_session(&site);
    give_one(1, 1, 1, 8);
    backend_says(&site, 1, 1, HELIO_BACKEND_REPORT_STARTED);
    stop_it(&site, 1, 1, HELIO_STOP_MODE_GRACE);
    const helio_jrow_attempt_t *row = last_of(&site, HELIO_AGENT_FX_ROW_ATTEMPT);
    assert_int_equal(row->stop_cause, HELIO_CAUSE_STOPPED);
    assert_true(helio_text_is(row->stop_explanation, "Cancelled"));
    assert_true(helio_text_is(row->stop_reason, "Cancelled"));
}

/*  The journal takes no row with a part of a character, and the agent cannot go on without its journal. */
static void stop__texts_of_its_row_are_cut_between_characters(void **state)
{
    (void)state;
    static const struct {
        const char *explanation; /* the second is the text of a site, in whatever encoding */
        uint32_t cause;
    } cases[] = {{("ääääääääääääääääääääääääääääääää"), HELIO_CAUSE_PREEMPTED},
                 {("gpu-\344\366\374"), HELIO_CAUSE_STOPPED},
                 {("x€€€€€€€€€€€€€€€€€€€€€"), HELIO_CAUSE_OUT_OF_MEMORY}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        site_end(&site);
        site_begin(&site);
        open_session(&site);
        give_one(1, 1, 1, 8);
        backend_says(&site, 1, 1, HELIO_BACKEND_REPORT_STARTED);
        helio_stop_t stop = {.key = key_of(1),
                             .epoch = 1,
                             .mode = HELIO_STOP_MODE_GRACE,
                             .reason = helio_text_of(cases[i].explanation),
                             .cause = cases[i].cause};
        helio_aev_stops_t stops = {.stops = {&stop, 1}};
        step(&site, HELIO_AGENT_EV_STOPS, &stops);
        const helio_jrow_attempt_t *row = last_of(&site, HELIO_AGENT_FX_ROW_ATTEMPT);
        assert_int_equal(row->state, HELIO_JOB_STOPPING);
        assert_true(row->stop_explanation.size && helio_utf8_is_text(row->stop_explanation));
        assert_true(row->stop_reason.size && helio_utf8_is_text(row->stop_reason));
    }
}

/*  As an agent before version 4 left it: the texts alone. */
static void load__rows_of_an_older_agent_get_their_causes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t cause;
        const char *explanation;
    } cases[] = {{"LeaseExpired", HELIO_CAUSE_LEASE_EXPIRED, ""},
                 {"Fenced", HELIO_CAUSE_FENCED, ""},
                 {"moved to oregon", HELIO_CAUSE_STOPPED, "moved to oregon"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        site_end(&site);
        site_begin(&site);
        helio_jrow_attempt_t row = {.incarnation = 1,
                                    .order = order_of(1, 1, 1, 8),
                                    .state = HELIO_JOB_STOPPING,
                                    .stop_reason = helio_text_of(cases[i].text)};
        site.rows[site.row_count++] = (entry_t){HELIO_AGENT_FX_ROW_ATTEMPT, 1, &row};
        restart(&site);
        const helio_stop_t *stop = last_of(&site, HELIO_AGENT_FX_STOP);
        assert_int_equal(stop->cause, cases[i].cause);
        open_session(&site);
        helio_aev_backend_t event = backend_of(1, 1, HELIO_BACKEND_REPORT_ENDED);
        event.stopped = true;
        step(&site, HELIO_AGENT_EV_BACKEND, &event);
        const helio_report_t *report = report_row(&site, HELIO_REPORT_KIND_STOPPED);
        assert_int_equal(report->cause, cases[i].cause);
        assert_true(helio_text_is(report->explanation, cases[i].explanation));
        assert_true(helio_text_is(report->reason, cases[i].text)); /* and it says to an older broker what it was */
    }
}

static void start__of_an_order_accepted_before_a_restart_waits_for_a_session(void **state)
{
    (void)state;
    helio_jrow_attempt_t row = {.incarnation = 1, .order = order_of(1, 1, 1, 8), .state = HELIO_JOB_ACCEPTED};
    site.rows[site.row_count++] = (entry_t){HELIO_AGENT_FX_ROW_ATTEMPT, 1, &row};
    restart(&site);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_START), 0);
    open_session(&site);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_START), 1);
    assert_non_null(report_row(&site, HELIO_REPORT_KIND_STARTING));
}

static void start__is_repeated_without_new_reports_if_the_backend_does_not_know_it(void **state)
{
    (void)state;
    open_session(&site);
    give_one(1, 1, 1, 8);
    commit(&site);
    restart(&site);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_ADOPT), 1);
    assert_int_equal(((const helio_afx_start_t *)last_of(&site, HELIO_AGENT_FX_ADOPT))->slots.count, 1);
    backend_says(&site, 1, 1, HELIO_BACKEND_REPORT_ABSENT);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_START), 0); /* no session yet */
    open_session(&site);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_START), 1);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_ROW_REPORT), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(order__is_journalled_and_accepted_before_it_starts),
        TEST(order__carries_its_document_unchanged_to_the_backend),
        TEST(order__that_is_repeated_starts_nothing_and_resends_its_reports),
        TEST(order__that_is_repeated_after_a_restart_is_still_a_replay),
        TEST(order__of_an_attempt_that_is_over_and_acknowledged_is_refused_so_that_another_epoch_comes),
        TEST(order__of_an_older_epoch_is_refused_as_stale),
        TEST(signal__reaches_an_attempt_that_runs_and_no_other),
        TEST(order__of_a_newer_epoch_starts_while_the_older_one_is_stopping),
        TEST(order__of_an_older_incarnation_is_ignored_and_counted),
        TEST(order__before_the_inventory_is_closed_is_not_ready),
        TEST(order__on_a_full_disk_is_refused_until_there_is_room),
        TEST(order__after_a_damaged_journal_waits_for_an_inventory),
        TEST(order__waits_while_the_backend_runs_an_unknown_attempt),
        TEST(order__that_does_not_fit_is_refused_with_the_reason),
        TEST(order__beyond_the_attempts_that_a_site_may_hold_is_too_many),
        TEST(order__goes_to_a_batch_schedulers_queue_even_when_the_site_is_full),
        TEST(stop__of_an_unknown_attempt_is_answered_and_bars_a_late_order),
        TEST(stop__of_an_unknown_attempt_has_no_effect_before_the_inventory),
        TEST(stop__of_an_accepted_attempt_that_never_started_never_starts_it),
        TEST(stop__is_in_the_row_as_data_and_as_the_text_that_an_older_agent_reads),
        TEST(stop__texts_of_its_row_are_cut_between_characters),
        TEST(load__rows_of_an_older_agent_get_their_causes),
        TEST(start__of_an_order_accepted_before_a_restart_waits_for_a_session),
        TEST(start__is_repeated_without_new_reports_if_the_backend_does_not_know_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
