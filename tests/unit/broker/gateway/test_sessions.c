/*  test_sessions.c -- sessions of sites: how they begin, the frames that are collected for them, their logs. */
#include "tests/unit/broker/gateway/sessions_testing.h"

#include "federation/reason/codes.h"

static void carry(world_t *world, uint32_t kind, void *record)
{
    helio_effect_t effect = {kind, helio_broker_effects[kind].release, 1, record};
    helio_sessions_carry(world->sessions, &effect, 1000);
}

/* ---- opening ------------------------------------------------------------------------------------------- */

static void session__the_key_identifies_the_site_of_a_hello(void **state)
{
    world_t *world = *state;
    open_session(world, "lulea", 7);
    assert_int_equal(world->event_count, 1);
    assert_int_equal(world->events[0], HELIO_BROKER_EV_SITE_HELLO);
    assert_int_equal(world->event_peers[0], 7);
    assert_string_equal(world->event_texts[0], "lulea");
    assert_int_equal(world->sent_count, 0); /* the core says WELCOME */
    helio_fx_welcome_t welcome = {.peer = 7, .incarnation = 3, .broker_epoch = 4, .lease_ms = 900000};
    carry(world, HELIO_BROKER_FX_WELCOME, &welcome);
    const helio_msg_welcome_t *sent = sent_at(world, 0, 7, HELIO_MSG_WELCOME);
    assert_int_equal(sent->protocol, HELIO_PROTOCOL_VERSION);
    assert_int_equal(sent->incarnation, 3);
    assert_int_equal(sent->wall_ms, 1000);
}

static void session__a_site_file_that_names_another_site_is_refused(void **state)
{
    world_t *world = *state;
    helio_msg_hello_t hello = hello_of("oregon");
    arrive(world, "lulea", 7, HELIO_MSG_HELLO, &hello);
    assert_int_equal(world->event_count, 1);
    assert_int_equal(world->events[0], HELIO_BROKER_EV_SITE_REFUSED);
    assert_int_equal(world->event_rcs[0], HELIO_FORBIDDEN);
    const helio_msg_refusal_t *refusal = sent_at(world, 0, 7, HELIO_MSG_REFUSAL);
    assert_int_equal(refusal->rc, HELIO_FORBIDDEN);
    assert_int_equal(refusal->protocol, HELIO_PROTOCOL_VERSION);
    assert_int_equal(refusal->protocol_min, HELIO_PROTOCOL_VERSION_MIN);
    assert_int_equal(bad_of(world, HELIO_BAD_FRAME_IDENTITY), 1);
    assert_int_equal(session_count(world), 0);
}

static void session__no_common_protocol_version_names_both_ranges(void **state)
{
    world_t *world = *state;
    static const struct {
        uint32_t least, most;
        const char *said;
    } cases[] = {{HELIO_PROTOCOL_VERSION + 1, 42, "the agent 11 to 42: update the broker"},
                 {0, 0, "the agent 0 to 0"},
                 {HELIO_PROTOCOL_VERSION, 1, "the agent 10 to 1: update the agent"}};
    _Static_assert(HELIO_PROTOCOL_VERSION == 10 && HELIO_PROTOCOL_VERSION_MIN == 1, "the texts say so");
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_msg_hello_t hello = hello_of("lulea");
        hello.protocol_min = cases[i].least;
        hello.protocol = cases[i].most;
        arrive(world, "lulea", 7, HELIO_MSG_HELLO, &hello);
        const helio_msg_refusal_t *refusal = sent_at(world, i, 7, HELIO_MSG_REFUSAL);
        assert_int_equal(refusal->rc, HELIO_VERSION);
        char text[600];
        (void)helio_text_copy(refusal->text, text, sizeof text);
        assert_non_null(strstr(text, "the broker speaks 1 to 10, "));
        assert_non_null(strstr(text, cases[i].said));
    }
    assert_int_equal(bad_of(world, HELIO_BAD_FRAME_VERSION), 2);
    assert_int_equal(world->event_count, 2); /* operators see both refusals, not the check */
    assert_int_equal(world->events[0], HELIO_BROKER_EV_SITE_REFUSED);
    assert_int_equal(world->event_rcs[0], HELIO_VERSION);
    assert_non_null(strstr(world->event_texts[0], cases[0].said));
    assert_int_equal(session_count(world), 0);
    char text[600];
    const helio_msg_refusal_t *first;
    /* `helio-agent check` also learns of a wrong name, and opens no session. */
    helio_msg_hello_t asks = hello_of("kiruna");
    asks.protocol_min = asks.protocol = 0;
    arrive(world, "lulea", 7, HELIO_MSG_HELLO, &asks);
    first = sent_at(world, 3, 7, HELIO_MSG_REFUSAL);
    (void)helio_text_copy(first->text, text, sizeof text);
    assert_int_equal(first->rc, HELIO_FORBIDDEN);
    assert_non_null(strstr(text, "this key belongs to site 'lulea', but the site file says 'kiruna'"));
    assert_int_equal(world->event_count, 2);
}

/*  Its fields may be in any order there: only the versions can be believed. */
static void session__an_unreadable_hello_of_another_version_is_refused_with_both_versions(void **state)
{
    world_t *world = *state;
    static const char hello[] = "\x94\x01\x2a\x29\xa5other"; /* HELLO of 41 to 42, and a text */
    helio_sessions_frame(world->sessions, HELIO_TEXT("lulea"), 7, (helio_text_t){hello, sizeof hello - 1});
    const helio_msg_refusal_t *refusal = sent_at(world, 0, 7, HELIO_MSG_REFUSAL);
    assert_int_equal(refusal->rc, HELIO_VERSION);
    char text[600];
    (void)helio_text_copy(refusal->text, text, sizeof text);
    assert_non_null(strstr(text, "the agent 41 to 42: update the broker"));
    assert_int_equal(world->event_count, 1);
    assert_int_equal(world->events[0], HELIO_BROKER_EV_SITE_REFUSED);
    assert_int_equal(bad_of(world, HELIO_BAD_FRAME_VERSION), 1);
    /* One of a version that we speak is simply wrong. */
    static const char wrong[] = "\x94\x01\x01\x01\xa5other";
    helio_sessions_frame(world->sessions, HELIO_TEXT("lulea"), 7, (helio_text_t){wrong, sizeof wrong - 1});
    refusal = sent_at(world, 1, 7, HELIO_MSG_REFUSAL);
    assert_int_equal(refusal->rc, HELIO_PROTOCOL);
    assert_int_equal(bad_of(world, HELIO_BAD_FRAME_MALFORMED), 1);
    assert_int_equal(session_count(world), 0);
}

static void session__a_newer_agent_gets_messages_of_the_brokers_version(void **state)
{
    world_t *world = *state;
    helio_msg_hello_t hello = hello_of("lulea");
    hello.protocol = HELIO_PROTOCOL_VERSION + 5;
    arrive(world, "lulea", 7, HELIO_MSG_HELLO, &hello);
    assert_int_equal(world->event_count, 1);
    helio_fx_welcome_t welcome = {.peer = 7};
    carry(world, HELIO_BROKER_FX_WELCOME, &welcome);
    assert_int_equal(((const helio_msg_welcome_t *)sent_at(world, 0, 7, HELIO_MSG_WELCOME))->protocol,
                     HELIO_PROTOCOL_VERSION);
}

/*  Only the core knows whether the second connection is the same agent's. */
static void session__of_two_connections_of_a_site_the_core_refuses_one(void **state)
{
    world_t *world = *state;
    helio_msg_renew_t renew = {5};
    for (uint64_t refused = 7; refused <= 8; refused++) {
        open_session(world, "lulea", 7);
        open_session(world, "lulea", 8);
        assert_int_equal(session_count(world), 2);
        helio_msg_hello_t third = hello_of("lulea");
        arrive(world, "lulea", 9, HELIO_MSG_HELLO, &third);
        assert_int_equal(((const helio_msg_refusal_t *)sent_at(world, 2, 9, HELIO_MSG_REFUSAL))->rc, HELIO_BUSY);
        helio_fx_peer_t refusal = {refused, HELIO_CONFLICT, HELIO_TEXT("another agent")};
        carry(world, HELIO_BROKER_FX_REFUSAL, &refusal);
        (void)sent_at(world, 3, refused, HELIO_MSG_REFUSAL);
        assert_int_equal(session_count(world), 1);
        uint32_t events = world->event_count;
        arrive(world, "lulea", refused, HELIO_MSG_RENEW, &renew); /* late */
        assert_int_equal(world->event_count, events);
        arrive(world, "lulea", 15 - refused, HELIO_MSG_RENEW, &renew);
        assert_int_equal(world->event_peers[events], 15 - refused);
        helio_sessions_gone(world->sessions, 15 - refused, "unreachable", false);
        while (world->sent_count)
            free(world->sent[--world->sent_count].bytes);
        world->event_count = 0;
    }
}

static void session__an_older_agent_gets_messages_of_its_own_version(void **state)
{
    world_t *world = *state;
    helio_msg_hello_t hello = hello_of("lulea");
    hello.protocol = hello.protocol_min = HELIO_PROTOCOL_VERSION_MIN;
    arrive(world, "lulea", 7, HELIO_MSG_HELLO, &hello);
    assert_int_equal(world->event_count, 1);
    helio_fx_welcome_t welcome = {.peer = 7};
    carry(world, HELIO_BROKER_FX_WELCOME, &welcome);
    assert_int_equal(((const helio_msg_welcome_t *)sent_at(world, 0, 7, HELIO_MSG_WELCOME))->protocol,
                     HELIO_PROTOCOL_VERSION_MIN);
}

/* ---- reports ------------------------------------------------------------------------------------------- */

static void report__of_an_agent_that_sends_the_text_alone_gets_its_cause(void **state)
{
    static const struct {
        const char *reason;
        uint32_t sent;
        const char *explanation;
        uint32_t cause;
        const char *explained;
    } rows[] = {
        {"StartFailed: no disk", 0, "", HELIO_CAUSE_START_FAILED, "no disk"},
        {"LeaseExpired", 0, "", HELIO_CAUSE_LEASE_EXPIRED, ""},
        {"moved to oregon", 0, "", HELIO_CAUSE_NONE, "moved to oregon"},
        {"", 0, "", HELIO_CAUSE_NONE, ""},
        /* What was sent as data is not read again. */
        {"StartFailed: no disk", HELIO_CAUSE_BAD_OPTION, "--gres", HELIO_CAUSE_BAD_OPTION, "--gres"},
        {"Melted: the rack", HELIO_CAUSE_COUNT + 7, "the rack", HELIO_CAUSE_COUNT + 7, "the rack"},
        {"Vanished", HELIO_CAUSE_NONE, "said so", HELIO_CAUSE_NONE, "said so"},
    };
    world_t *world = *state;
    open_session(world, "lulea", 7);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        helio_report_t report = {.seq = i + 1,
                                 .reason = helio_text_of(rows[i].reason),
                                 .cause = rows[i].sent,
                                 .explanation = helio_text_of(rows[i].explanation)};
        helio_msg_reports_t reports = {.reports = {&report, 1}};
        arrive(world, "lulea", 7, HELIO_MSG_REPORTS, &reports);
        assert_int_equal(world->report_cause, rows[i].cause);
        assert_string_equal(world->event_texts[world->event_count - 1], rows[i].explained);
    }
}

static void session__lease_and_resync_are_sent_at_once(void **state)
{
    world_t *world = *state;
    char why[512];
    memset(why, 'x', sizeof why);
    open_session(world, "lulea", 7);
    helio_fx_renewed_t renewed = {7, -5, 900000};
    carry(world, HELIO_BROKER_FX_RENEWED, &renewed);
    const helio_msg_renewed_t *lease = sent_at(world, 0, 7, HELIO_MSG_RENEWED);
    assert_true(lease->sent_boot_ms == -5 && lease->lease_ms == 900000);
    helio_fx_peer_t resync = {7, 0, {why, sizeof why}};
    carry(world, HELIO_BROKER_FX_RESYNC, &resync); /* a reason that is too long for the frame costs its end alone */
    assert_int_equal(((const helio_msg_resync_t *)sent_at(world, 1, 7, HELIO_MSG_RESYNC))->reason.size, 128);
    renewed.peer = resync.peer = 8; /* whose session is over */
    carry(world, HELIO_BROKER_FX_RENEWED, &renewed);
    carry(world, HELIO_BROKER_FX_RESYNC, &resync);
    assert_int_equal(world->sent_count, 2);
}

/* ---- collecting ---------------------------------------------------------------------------------------- */

static void carry_order(world_t *world, uint64_t peer, uint32_t epoch, helio_text_t source)
{
    helio_fx_order_t *order = helio_arena_alloc(world->arena, 1, sizeof *order);
    order->peer = peer;
    order->incarnation = 1;
    order->order.epoch = epoch;
    order->order.key.task = HELIO_NO_TASK;
    order->order.source = source;
    carry(world, HELIO_BROKER_FX_ORDER, order);
}

static void collect__orders_of_one_site_travel_together(void **state)
{
    world_t *world = *state;
    open_session(world, "lulea", 7);
    open_session(world, "oregon", 8);
    for (uint32_t i = 0; i < 10; i++)
        carry_order(world, 7 + i % 2, i, HELIO_TEXT("run: x"));
    assert_int_equal(world->sent_count, 0);
    helio_sessions_flush(world->sessions);
    assert_int_equal(world->sent_count, 2);
    const helio_msg_orders_t *orders = sent_at(world, 0, 7, HELIO_MSG_ORDERS);
    assert_int_equal(orders->orders.count, 5);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(orders->orders.items[i].epoch, 2 * i);
    (void)sent_at(world, 1, 8, HELIO_MSG_ORDERS);
    helio_sessions_flush(world->sessions);
    assert_int_equal(world->sent_count, 2); /* once only */
}

static void collect__frames_stay_within_count_and_size(void **state)
{
    world_t *world = *state;
    open_session(world, "lulea", 7);
    for (uint32_t i = 0; i < 2500; i++)
        carry_order(world, 7, i, HELIO_TEXT("x"));
    helio_sessions_flush(world->sessions);
    static char large[HELIO_JOB_SOURCE_MAX];
    memset(large, 'x', sizeof large);
    for (uint32_t i = 0; i < 9; i++)
        carry_order(world, 7, 2500 + i, (helio_text_t){large, sizeof large});
    helio_sessions_flush(world->sessions);
    uint32_t epoch = 0;
    for (uint32_t i = 0; i < world->sent_count; i++) { /* record_send asserts the size */
        const helio_msg_orders_t *orders = sent_at(world, i, 7, HELIO_MSG_ORDERS);
        assert_true(orders->orders.count >= 1 && orders->orders.count <= HELIO_WIRE_BATCH_MAX);
        for (uint32_t o = 0; o < orders->orders.count; o++)
            assert_int_equal(orders->orders.items[o].epoch, epoch++);
    }
    assert_int_equal(epoch, 2509);
}

static void collect__items_of_different_kinds_keep_their_order(void **state)
{
    world_t *world = *state;
    open_session(world, "lulea", 7);
    carry_order(world, 7, 1, HELIO_TEXT("x"));
    helio_fx_stop_t stop = {.peer = 7, .stop = {.epoch = 1, .reason = HELIO_TEXT("cancelled")}};
    carry(world, HELIO_BROKER_FX_STOP, &stop);
    carry_order(world, 7, 2, HELIO_TEXT("x"));
    helio_sessions_flush(world->sessions);
    (void)sent_at(world, 0, 7, HELIO_MSG_ORDERS);
    assert_int_equal(((const helio_msg_stops_t *)sent_at(world, 1, 7, HELIO_MSG_STOPS))->stops.count, 1);
    (void)sent_at(world, 2, 7, HELIO_MSG_ORDERS);
    assert_int_equal(world->sent_count, 3);
    helio_fx_signal_t signal = {.peer = 7, .signal = {.epoch = 4, .signal = HELIO_JOB_SIGNAL_TERM}};
    for (uint32_t i = 0; i < 2; i++)
        carry(world, HELIO_BROKER_FX_SIGNAL, &signal);
    helio_sessions_flush(world->sessions);
    const helio_msg_signals_t *signals = sent_at(world, 3, 7, HELIO_MSG_SIGNALS);
    assert_int_equal(signals->signals.count, 2);
    assert_true(signals->signals.items[1].epoch == 4 && signals->signals.items[1].signal == HELIO_JOB_SIGNAL_TERM);
}

static void collect__the_last_verdicts_are_marked_as_last(void **state)
{
    world_t *world = *state;
    open_session(world, "lulea", 7);
    helio_fx_verdict_t attempt_verdict = {.peer = 7, .attempt_verdict = {.epoch = 3, .verdict = HELIO_VERDICT_STOP}};
    helio_fx_peer_t done = {.peer = 7};
    for (uint32_t i = 0; i < 1500; i++)
        carry(world, HELIO_BROKER_FX_VERDICT, &attempt_verdict);
    carry(world, HELIO_BROKER_FX_VERDICTS_DONE, &done);
    assert_int_equal(world->sent_count, 2);
    const helio_msg_verdicts_t *first = sent_at(world, 0, 7, HELIO_MSG_VERDICTS);
    assert_int_equal(first->verdicts.count, HELIO_WIRE_BATCH_MAX);
    assert_false(first->last);
    const helio_msg_verdicts_t *last = sent_at(world, 1, 7, HELIO_MSG_VERDICTS);
    assert_int_equal(last->verdicts.count, 500);
    assert_true(last->last);
    carry(world, HELIO_BROKER_FX_VERDICTS_DONE, &done); /* of an empty inventory */
    assert_true(((const helio_msg_verdicts_t *)sent_at(world, 2, 7, HELIO_MSG_VERDICTS))->last);
}

static void collect__effects_for_an_ended_session_are_dropped(void **state)
{
    world_t *world = *state;
    open_session(world, "lulea", 7);
    carry_order(world, 7, 1, HELIO_TEXT("x"));
    helio_sessions_gone(world->sessions, 7, "unreachable", false);
    carry_order(world, 7, 2, HELIO_TEXT("x"));
    helio_sessions_flush(world->sessions);
    assert_int_equal(world->sent_count, 0);
}

/* ---- logs ---------------------------------------------------------------------------------------------- */

static void on_log(void *arg, helio_rc rc, const helio_msg_log_data_t *piece)
{
    world_t *world = arg;
    world->log_replies++;
    world->log_rc = rc;
    assert_true((piece != NULL) == (rc == HELIO_OK));
    if (piece)
        (void)helio_text_copy(piece->data, world->log_data, sizeof world->log_data);
}

static helio_rc ask_log(world_t *world, const char *site, int64_t now_ms)
{
    helio_log_ask_t ask = {.site = site, .size_max = UINT32_MAX, .done = on_log, .arg = world};
    return helio_sessions_read_log(world->sessions, &ask, now_ms);
}

static void log__from_its_end_is_asked_of_agents_that_know_it(void **state)
{
    world_t *world = *state;
    helio_log_ask_t ask = {.site = "lulea", .offset = 9, .from_end = true, .done = on_log, .arg = world};
    open_session(world, "lulea", 7);
    assert_int_equal(helio_sessions_read_log(world->sessions, &ask, 0), HELIO_OK);
    const helio_msg_log_read_t *asked = sent_at(world, 0, 7, HELIO_MSG_LOG_READ);
    assert_true(asked->from_end && asked->offset == 9);
    helio_msg_hello_t hello = hello_of("oregon");
    hello.protocol = 9;
    arrive(world, "oregon", 8, HELIO_MSG_HELLO, &hello);
    ask.site = "oregon";
    assert_int_equal(helio_sessions_read_log(world->sessions, &ask, 0), HELIO_VERSION);
}

static void log__a_piece_goes_to_the_call_that_asked_for_it(void **state)
{
    world_t *world = *state;
    assert_int_equal(ask_log(world, "lulea", 0), HELIO_UNAVAILABLE);
    open_session(world, "lulea", 7);
    open_session(world, "oregon", 8);
    assert_int_equal(ask_log(world, "lulea", 0), HELIO_OK);
    const helio_msg_log_read_t *asked = sent_at(world, 0, 7, HELIO_MSG_LOG_READ);
    assert_int_equal(asked->size_max, 256 << 10); /* bounded to what an answer may carry */
    helio_msg_log_data_t data = {.request = asked->request, .data = HELIO_TEXT("epoch 1\n")};
    arrive(world, "oregon", 8, HELIO_MSG_LOG_DATA, &data); /* not the site that was asked */
    assert_int_equal(world->log_replies, 0);
    arrive(world, "lulea", 7, HELIO_MSG_LOG_DATA, &data);
    assert_int_equal(world->log_replies, 1);
    assert_string_equal(world->log_data, "epoch 1\n");
    arrive(world, "lulea", 7, HELIO_MSG_LOG_DATA, &data);
    assert_int_equal(world->log_replies, 1);
    assert_int_equal(bad_of(world, HELIO_BAD_FRAME_UNASKED), 2);
}

static void log__a_timeout_and_a_lost_session_answer_the_read(void **state)
{
    world_t *world = *state;
    open_session(world, "lulea", 7);
    assert_int_equal(ask_log(world, "lulea", 100), HELIO_OK);
    helio_sessions_tick(world->sessions, 100 + HELIO_LOG_READ_TIMEOUT_MS - 1);
    assert_int_equal(world->log_replies, 0);
    helio_sessions_tick(world->sessions, 100 + HELIO_LOG_READ_TIMEOUT_MS);
    assert_int_equal(world->log_replies, 1);
    assert_int_equal(world->log_rc, HELIO_TIMEOUT);
    assert_int_equal(ask_log(world, "lulea", 200), HELIO_OK);
    helio_sessions_gone(world->sessions, 7, "idle", false);
    assert_int_equal(world->log_replies, 2);
    assert_int_equal(world->log_rc, HELIO_UNAVAILABLE);
}

static void log__the_number_of_pending_reads_is_bounded(void **state)
{
    world_t *world = *state;
    open_session(world, "lulea", 7);
    for (uint32_t i = 0; i < HELIO_LOG_READS_MAX; i++) {
        assert_int_equal(ask_log(world, "lulea", 0), HELIO_OK);
        free(world->sent[--world->sent_count].bytes);
    }
    assert_int_equal(ask_log(world, "lulea", 0), HELIO_BUSY);
    helio_sessions_tick(world->sessions, HELIO_LOG_READ_TIMEOUT_MS);
    assert_int_equal(world->log_replies, HELIO_LOG_READS_MAX);
    assert_int_equal(ask_log(world, "lulea", 0), HELIO_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(session__the_key_identifies_the_site_of_a_hello),
        CASE(session__a_site_file_that_names_another_site_is_refused),
        CASE(session__no_common_protocol_version_names_both_ranges),
        CASE(report__of_an_agent_that_sends_the_text_alone_gets_its_cause),
        CASE(session__a_newer_agent_gets_messages_of_the_brokers_version),
        CASE(session__of_two_connections_of_a_site_the_core_refuses_one),
        CASE(session__an_unreadable_hello_of_another_version_is_refused_with_both_versions),
        CASE(session__an_older_agent_gets_messages_of_its_own_version),
        CASE(session__lease_and_resync_are_sent_at_once),
        CASE(collect__orders_of_one_site_travel_together),
        CASE(collect__frames_stay_within_count_and_size),
        CASE(collect__items_of_different_kinds_keep_their_order),
        CASE(collect__the_last_verdicts_are_marked_as_last),
        CASE(collect__effects_for_an_ended_session_are_dropped),
        CASE(log__from_its_end_is_asked_of_agents_that_know_it),
        CASE(log__a_piece_goes_to_the_call_that_asked_for_it),
        CASE(log__a_timeout_and_a_lost_session_answer_the_read),
        CASE(log__the_number_of_pending_reads_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
