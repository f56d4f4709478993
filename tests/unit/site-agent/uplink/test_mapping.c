/*  Messages to events, effects to frames. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "federation/wire/codec.h"
#include "site-agent/uplink/mapping.h"

enum { FRAMES = 64 };

typedef struct wire {
    char *bytes[FRAMES];
    uint32_t sizes[FRAMES];
    uint32_t count;
    helio_rc answer;
    helio_arena_t *arena;
    helio_framer_t *framer;
    helio_site_profile_t profile;
} wire_t;

static wire_t wire;

static helio_rc on_frame(void *arg, helio_text_t frame)
{
    wire_t *self = arg;
    if (self->answer != HELIO_OK)
        return self->answer;
    assert_true(self->count < FRAMES);
    assert_true(frame.size <= HELIO_WIRE_FRAME_MAX);
    self->bytes[self->count] = helio_new(frame.size, 1);
    memcpy(self->bytes[self->count], frame.data, frame.size);
    self->sizes[self->count++] = frame.size;
    return HELIO_OK;
}

static int begin(void **state)
{
    (void)state;
    memset(&wire, 0, sizeof wire);
    wire.arena = helio_arena_new();
    wire.profile = (helio_site_profile_t){.name = HELIO_TEXT("lulea"), .backend = HELIO_TEXT("local"), .pue = 1.1};
    helio_identity_t identity = {.agent_version = "0.1.0", .profile = &wire.profile};
    identity.boot_id.bytes[3] = 7;
    identity.former_boot_id.bytes[3] = 6;
    wire.framer = helio_framer_new(&identity, on_frame, &wire);
    return 0;
}

static int end(void **state)
{
    (void)state;
    helio_framer_destroy(&wire.framer);
    for (uint32_t i = 0; i < wire.count; i++)
        free(wire.bytes[i]);
    helio_arena_destroy(&wire.arena);
    return 0;
}

static const void *frame(uint32_t index, uint32_t expected)
{
    uint32_t message = 0;
    void *record = NULL;
    helio_error_t err = {0};
    assert_true(index < wire.count);
    if (helio_wire_decode((helio_text_t){wire.bytes[index], wire.sizes[index]}, wire.arena, &message, &record, &err) !=
        HELIO_OK)
        fail_msg("%s", err.text);
    assert_int_equal(message, expected);
    return record;
}

static helio_rc put(uint32_t kind, const void *record)
{
    union {
        const void *from;
        void *to;
    } cast = {record};
    helio_effect_t effect = {kind, helio_agent_effects[kind].release, 1, cast.to};
    return helio_framer_put(wire.framer, &effect, 1795, NULL);
}

static void mapping__every_message_of_a_broker_is_handled_and_no_other(void **state)
{
    (void)state;
#define AGENT_SENDS(number, NAME, record, sender, doc) {number, sender},
    static const struct {
        uint32_t number;
        const char *sender;
    } messages[] = {HELIO_MESSAGE_TABLE(AGENT_SENDS)};
    for (size_t i = 0; i < sizeof messages / sizeof messages[0]; i++) {
        void *record = helio_arena_alloc(wire.arena, 1, helio_message_type(messages[i].number)->size);
        uint32_t event = 0;
        const void *payload = NULL;
        helio_rc rc = helio_mapping_event(messages[i].number, record, wire.arena, &event, &payload);
        if (strcmp(messages[i].sender, "agent") == 0)
            assert_int_equal(rc, HELIO_PROTOCOL);
        else if (messages[i].number == HELIO_MSG_REFUSAL || messages[i].number == HELIO_MSG_LOG_READ ||
                 messages[i].number == HELIO_MSG_DEMAND || messages[i].number == HELIO_MSG_CHANNEL_OPEN ||
                 messages[i].number == HELIO_MSG_CHANNEL_INPUT || messages[i].number == HELIO_MSG_CHANNEL_CLOSE)
            assert_int_equal(rc, HELIO_NOT_FOUND);
        else
            assert_true(rc == HELIO_OK && payload && event > HELIO_AGENT_EV_LOADED);
    }
}

/*  It would refuse the whole summary for one signal that it does not know. */
static void mapping__series_that_the_broker_does_not_know_are_left_out(void **state)
{
    (void)state;
    helio_series_t series[] = {
        {.signal = HELIO_SIGNAL_PRICE}, {.signal = HELIO_SIGNAL_RESERVED}, {.signal = HELIO_SIGNAL_PUE}};
    helio_site_summary_t summary = {.seq = 4, .series = {series, 3}};
    static const struct {
        uint32_t protocol, kept;
    } cases[] = {{0, 2}, {1, 2}, {2, 2}, {3, 3}}; /* 0: before a version was agreed on */
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (cases[i].protocol)
            helio_framer_speak(wire.framer, cases[i].protocol);
        assert_int_equal(put(HELIO_AGENT_FX_SEND_SUMMARY, &summary), HELIO_OK);
        const helio_site_summary_t *sent = &((const helio_msg_summary_t *)frame(i, HELIO_MSG_SUMMARY))->summary;
        assert_int_equal(sent->series.count, cases[i].kept);
        assert_int_equal(sent->series.items[cases[i].kept - 1].signal, HELIO_SIGNAL_PUE);
        assert_int_equal(sent->seq, 4);
    }
}

/*  A broker of an older version has no field for it: it shows the text of the source. */
static void mapping__an_older_broker_reads_in_the_source_that_a_feed_failed(void **state)
{
    (void)state;
    const struct {
        helio_series_t series;
        const char *former;
    } cases[] = {
        {{.source = HELIO_TEXT("grid"), .feed_state = HELIO_FEED_STATE_CURRENT}, "grid"},
        {{.source = HELIO_TEXT("grid"),
          .feed_state = HELIO_FEED_STATE_LAST_GOOD,
          .last_value_ms = INT64_C(1795158000000)},
         "grid, last good 2026-11-20T07Z"},
        {{.source = HELIO_TEXT("grid"),
          .feed_state = HELIO_FEED_STATE_NO_DATA,
          .last_value_ms = INT64_C(1795161599999)},
         "grid, no data since 2026-11-20T07Z"},
        {{.source = HELIO_TEXT("a name of fifty bytes, to which no more can be add"),
          .feed_state = HELIO_FEED_STATE_NO_DATA},
         "a name of fifty bytes, to which no more can be add"},
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (uint32_t present = 0; present < 2; present++) {
            helio_series_t series = cases[i].series;
            helio_site_summary_t summary = {.seq = 4, .series = {&series, 1}};
            helio_framer_speak(wire.framer, present ? 9 : 8);
            assert_int_equal(put(HELIO_AGENT_FX_SEND_SUMMARY, &summary), HELIO_OK);
            const helio_msg_summary_t *message = frame(2 * i + present, HELIO_MSG_SUMMARY);
            const helio_series_t *sent = &message->summary.series.items[0];
            if (present)
                assert_true(helio_record_equal(&helio_series_type, sent, &series));
            else
                assert_true(helio_text_is(sent->source, cases[i].former));
        }
}

static void mapping__fields_arrive_in_the_event(void **state)
{
    (void)state;
    uint32_t event = 0;
    const void *payload = NULL;
    helio_msg_welcome_t welcome = {
        .incarnation = 1, .broker_epoch = 2, .lease_ms = 3, .renew_ms = 4, .summary_ms = 5, .memory_mark = 6};
    assert_int_equal(helio_mapping_event(HELIO_MSG_WELCOME, &welcome, wire.arena, &event, &payload), HELIO_OK);
    helio_aev_welcome_t expected = {1, 2, 3, 4, 5, 6};
    assert_true(helio_record_equal(&helio_aev_welcome_type, payload, &expected));
    helio_order_t order = {.epoch = 9};
    helio_msg_orders_t orders = {.incarnation = 8, .orders = {&order, 1}};
    assert_int_equal(helio_mapping_event(HELIO_MSG_ORDERS, &orders, wire.arena, &event, &payload), HELIO_OK);
    assert_int_equal(event, HELIO_AGENT_EV_ORDERS);
    assert_int_equal(((const helio_aev_orders_t *)payload)->incarnation, 8);
    assert_ptr_equal(((const helio_aev_orders_t *)payload)->orders.items, &order);
    helio_msg_renewed_t renewed = {.sent_boot_ms = 77, .lease_ms = 88};
    assert_int_equal(helio_mapping_event(HELIO_MSG_RENEWED, &renewed, wire.arena, &event, &payload), HELIO_OK);
    assert_int_equal(((const helio_aev_renewed_t *)payload)->sent_boot_ms, 77);
    assert_int_equal(((const helio_aev_renewed_t *)payload)->lease_ms, 88);
    helio_msg_verdicts_t verdicts = {.last = true};
    assert_int_equal(helio_mapping_event(HELIO_MSG_VERDICTS, &verdicts, wire.arena, &event, &payload), HELIO_OK);
    assert_true(((const helio_aev_verdicts_t *)payload)->last);
    helio_msg_reports_ack_t ack = {41};
    assert_int_equal(helio_mapping_event(HELIO_MSG_REPORTS_ACK, &ack, wire.arena, &event, &payload), HELIO_OK);
    assert_int_equal(((const helio_aev_ack_t *)payload)->seq, 41);
}

static void framer__hello_has_identity_and_highest_epochs(void **state)
{
    (void)state;
    helio_afx_hello_t hello = {.incarnation_seen = 3, .broker_epoch_seen = 4, .reconcile_only = true};
    assert_int_equal(put(HELIO_AGENT_FX_SEND_HELLO, &hello), HELIO_OK);
    const helio_msg_hello_t *message = frame(0, HELIO_MSG_HELLO);
    assert_int_equal(message->protocol, HELIO_PROTOCOL_VERSION);
    assert_int_equal(message->incarnation_seen, 3);
    assert_int_equal(message->broker_epoch_seen, 4);
    assert_int_equal(message->wall_ms, 1795);
    assert_int_equal(message->boot_id.bytes[3], 7);
    assert_int_equal(message->former_boot_id.bytes[3], 6);
    assert_true(message->reconcile_only);
    assert_true(helio_text_is(message->profile.name, "lulea"));
    assert_true(helio_text_is(message->agent_version, "0.1.0"));
}

static void framer__gathers_reports_and_keeps_the_order_of_all_messages(void **state)
{
    (void)state;
    for (uint64_t seq = 1; seq <= 2500; seq++) {
        helio_report_t report = {.seq = seq, .explanation = HELIO_TEXT("node7")};
        assert_int_equal(put(HELIO_AGENT_FX_SEND_REPORT, &report), HELIO_OK);
    }
    helio_afx_renew_t renew = {5};
    assert_int_equal(put(HELIO_AGENT_FX_SEND_RENEW, &renew), HELIO_OK);
    assert_int_equal(wire.count, 4);
    uint64_t seq = 0;
    for (uint32_t i = 0; i < 3; i++) {
        const helio_msg_reports_t *reports = frame(i, HELIO_MSG_REPORTS);
        assert_true(reports->reports.count <= HELIO_WIRE_BATCH_MAX);
        for (uint32_t k = 0; k < reports->reports.count; k++)
            assert_int_equal(reports->reports.items[k].seq, ++seq);
    }
    assert_int_equal(seq, 2500);
    (void)frame(3, HELIO_MSG_RENEW);
    assert_int_equal(helio_framer_flush(wire.framer, NULL), HELIO_OK);
    assert_int_equal(wire.count, 4); /* nothing is left */
}

static void framer__copies_what_it_gathers(void **state)
{
    (void)state;
    char reason[] = "no 3 nodes";
    helio_report_t report = {.seq = 1, .explanation = {reason, sizeof reason - 1}};
    assert_int_equal(put(HELIO_AGENT_FX_SEND_REPORT, &report), HELIO_OK);
    memset(reason, 'x', sizeof reason);
    assert_int_equal(helio_framer_flush(wire.framer, NULL), HELIO_OK);
    const helio_msg_reports_t *reports = frame(0, HELIO_MSG_REPORTS);
    assert_true(helio_text_is(reports->reports.items[0].explanation, "no 3 nodes"));
}

static void framer__reports_a_refused_frame_and_keeps_nothing(void **state)
{
    (void)state;
    helio_report_t report = {.seq = 1};
    assert_int_equal(put(HELIO_AGENT_FX_SEND_REPORT, &report), HELIO_OK);
    wire.answer = HELIO_BUSY;
    helio_error_t err = {0};
    assert_int_equal(helio_framer_flush(wire.framer, &err), HELIO_BUSY);
    assert_non_null(strstr(err.text, "REPORTS"));
    wire.answer = HELIO_OK;
    assert_int_equal(helio_framer_flush(wire.framer, &err), HELIO_OK);
    assert_int_equal(wire.count, 0);
}

static void framer__largest_summary_of_the_core_fits_one_frame(void **state)
{
    (void)state;
    static double points[HELIO_SERIES_POINTS_MAX];
    static helio_series_t series[64];
    static uint32_t nodes[HELIO_JOB_GPUS_PER_NODE_MAX + 1];
    static helio_pool_capacity_t pools[HELIO_SITE_POOLS_MAX];
    for (size_t i = 0; i < 64; i++) {
        series[i].pool = HELIO_TEXT("a-name-that-is-as-long-as-may-be");
        series[i].source = HELIO_TEXT("a source whose name is as long as the bound of its field allows.");
        series[i].values = series[i].p10 = series[i].p90 = (helio_f64s_t){points, HELIO_SERIES_POINTS_MAX};
    }
    for (size_t i = 0; i < HELIO_SITE_POOLS_MAX; i++) {
        pools[i].memory_free_bytes = UINT64_MAX;
        pools[i].free_nodes = (helio_u32s_t){nodes, HELIO_JOB_GPUS_PER_NODE_MAX + 1};
    }
    for (size_t i = 0; i <= HELIO_JOB_GPUS_PER_NODE_MAX; i++)
        nodes[i] = 100000;
    helio_site_summary_t summary = {.pools = {pools, HELIO_SITE_POOLS_MAX}, .series = {series, 64}};
    assert_int_equal(put(HELIO_AGENT_FX_SEND_SUMMARY, &summary), HELIO_OK);
    (void)frame(0, HELIO_MSG_SUMMARY);
}

static void framer__inventory_of_a_thousand_fits_one_frame(void **state)
{
    (void)state;
    static helio_holding_t holdings[1000];
    for (size_t i = 0; i < 1000; i++)
        holdings[i] = (helio_holding_t){.epoch = UINT32_MAX, .state = HELIO_JOB_RUNNING, .dispatch_seq = UINT64_MAX};
    helio_afx_inventory_t part = {.holdings = {holdings, 1000}, .last = true};
    assert_int_equal(put(HELIO_AGENT_FX_SEND_INVENTORY, &part), HELIO_OK);
    const helio_msg_inventory_t *message = frame(0, HELIO_MSG_INVENTORY);
    assert_int_equal(message->holdings.count, 1000);
    assert_true(message->last);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(mapping__every_message_of_a_broker_is_handled_and_no_other),
        TEST(mapping__series_that_the_broker_does_not_know_are_left_out),
        TEST(mapping__an_older_broker_reads_in_the_source_that_a_feed_failed),
        TEST(mapping__fields_arrive_in_the_event),
        TEST(framer__hello_has_identity_and_highest_epochs),
        TEST(framer__gathers_reports_and_keeps_the_order_of_all_messages),
        TEST(framer__copies_what_it_gathers),
        TEST(framer__reports_a_refused_frame_and_keeps_nothing),
        TEST(framer__largest_summary_of_the_core_fits_one_frame),
        TEST(framer__inventory_of_a_thousand_fits_one_frame),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
