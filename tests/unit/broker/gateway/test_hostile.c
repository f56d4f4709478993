/*  test_hostile.c -- frames that are malformed, too large or out of place. */
#include "tests/unit/broker/gateway/sessions_testing.h"

/* ---- hostile frames ------------------------------------------------------------------------------------ */

static void session__frames_before_hello_are_ignored(void **state)
{
    world_t *world = *state;
    helio_msg_renew_t renew = {5};
    helio_msg_inventory_t inventory = {.last = true};
    helio_msg_summary_t summary = {0};
    helio_msg_reports_t reports = {0};
    helio_msg_bye_t bye = {HELIO_TEXT("x")};
    helio_msg_log_data_t data = {.request = 1};
    arrive(world, "lulea", 7, HELIO_MSG_RENEW, &renew);
    arrive(world, "lulea", 7, HELIO_MSG_INVENTORY, &inventory);
    arrive(world, "lulea", 7, HELIO_MSG_SUMMARY, &summary);
    arrive(world, "lulea", 7, HELIO_MSG_REPORTS, &reports);
    arrive(world, "lulea", 7, HELIO_MSG_BYE, &bye);
    arrive(world, "lulea", 7, HELIO_MSG_LOG_DATA, &data);
    assert_int_equal(world->event_count, 0);
    assert_int_equal(world->sent_count, 0);
    assert_int_equal(bad_of(world, HELIO_BAD_FRAME_NO_SESSION), 6);
}

static void session__a_second_hello_ends_the_session(void **state)
{
    world_t *world = *state;
    open_session(world, "lulea", 7);
    open_session(world, "lulea", 7);
    assert_int_equal(world->event_count, 2);
    assert_int_equal(world->events[1], HELIO_BROKER_EV_SITE_GONE);
    (void)sent_at(world, 0, 7, HELIO_MSG_REFUSAL);
    assert_int_equal(bad_of(world, HELIO_BAD_FRAME_REPEATED), 1);
    open_session(world, "lulea", 7); /* and the next one starts from nothing */
    assert_int_equal(world->events[2], HELIO_BROKER_EV_SITE_HELLO);
}

static void session__messages_of_the_broker_are_refused_from_a_site(void **state)
{
    world_t *world = *state;
    open_session(world, "lulea", 7);
    helio_msg_welcome_t welcome = {0};
    helio_msg_orders_t orders = {0};
    helio_msg_reports_ack_t ack = {9};
    helio_msg_refusal_t refusal = {0};
    arrive(world, "lulea", 7, HELIO_MSG_WELCOME, &welcome);
    arrive(world, "lulea", 7, HELIO_MSG_ORDERS, &orders);
    arrive(world, "lulea", 7, HELIO_MSG_REPORTS_ACK, &ack);
    arrive(world, "lulea", 7, HELIO_MSG_REFUSAL, &refusal);
    assert_int_equal(world->event_count, 1);
    assert_int_equal(bad_of(world, HELIO_BAD_FRAME_DIRECTION), 4);
    assert_int_equal(session_count(world), 1);
}

/*  The frame may have been a report. A site that is not told would wait for its acknowledgement for ever, and would
 *  take that of a later report for it. */
static void session__an_unreadable_message_ends_the_session(void **state)
{
    world_t *world = *state;
    /* Nothing, not msgpack, a list of 2^32-1 items, a map, a truncated RENEW. */
    static const struct {
        const char *bytes;
        uint32_t size;
    } cases[] = {{"", 0},         {"\xc1", 1}, {"\x92\x07\xdd\xff\xff\xff\xff", 7}, {"\x81\x01\x02", 3},
                 {"\x92\x09", 2}, {"hello", 5}};
    uint32_t count = sizeof cases / sizeof cases[0];
    open_session(world, "oregon", 8);
    for (uint32_t i = 0; i < count; i++) {
        world->event_count = 0;
        open_session(world, "lulea", 7);
        helio_sessions_frame(world->sessions, HELIO_TEXT("lulea"), 7, (helio_text_t){cases[i].bytes, cases[i].size});
        assert_int_equal(bad_of(world, HELIO_BAD_FRAME_MALFORMED), i + 1);
        assert_int_equal(world->event_count, 3);
        assert_int_equal(world->events[1], HELIO_BROKER_EV_SITE_REFUSED);
        assert_int_equal(world->event_rcs[1], HELIO_PROTOCOL);
        assert_int_equal(world->events[2], HELIO_BROKER_EV_SITE_GONE);
        const helio_msg_refusal_t *refusal = sent_at(world, i, 7, HELIO_MSG_REFUSAL);
        assert_int_equal(refusal->rc, HELIO_PROTOCOL);
        assert_int_equal(session_count(world), 1); /* the other's */
    }
    /* Outside a session they are counted and not answered. */
    helio_sessions_frame(world->sessions, HELIO_TEXT("lulea"), 7, HELIO_TEXT("hello"));
    assert_int_equal(bad_of(world, HELIO_BAD_FRAME_MALFORMED), count + 1);
    assert_int_equal(world->sent_count, count);
    world->event_count = 0;
    helio_msg_renew_t renew = {5};
    arrive(world, "oregon", 8, HELIO_MSG_RENEW, &renew);
    assert_int_equal(world->event_count, 1);
}

static void session__a_message_of_an_unknown_number_is_counted_and_ignored(void **state)
{
    world_t *world = *state;
    open_session(world, "lulea", 7);
    helio_sessions_frame(world->sessions, HELIO_TEXT("lulea"), 7, (helio_text_t){"\x92\x63\x01", 3});
    assert_int_equal(bad_of(world, HELIO_BAD_FRAME_UNKNOWN), 1);
    helio_msg_renew_t renew = {5};
    arrive(world, "lulea", 7, HELIO_MSG_RENEW, &renew);
    assert_int_equal(world->event_count, 2);
    assert_int_equal(world->sent_count, 0);
}

static void session__an_oversized_list_never_reaches_the_core(void **state)
{
    world_t *world = *state;
    open_session(world, "lulea", 7);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t frame = {0};
    helio_buffer_append(&frame, "\x92\x07\xdc\x03\xe9", 5); /* REPORTS with 1,001 items, one more than the bound */
    helio_report_t report = {0};
    for (uint32_t i = 0; i < HELIO_WIRE_BATCH_MAX + 1; i++)
        assert_int_equal(helio_wire_pack(&helio_report_type, &report, &frame, NULL), HELIO_OK);
    helio_sessions_frame(world->sessions, HELIO_TEXT("lulea"), 7, helio_buffer_view(&frame));
    assert_int_equal(bad_of(world, HELIO_BAD_FRAME_MALFORMED), 1);
    assert_int_equal(world->event_count, 3); /* HELLO, refused, gone */
    assert_int_equal(session_count(world), 0);
}

static void session__any_corruption_of_a_hello_is_survived(void **state)
{
    world_t *world = *state;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t frame = {0};
    helio_msg_hello_t hello = hello_of("lulea");
    assert_int_equal(helio_wire_encode(HELIO_MSG_HELLO, &hello, &frame, NULL), HELIO_OK);
    helio_rng_t rng = {11};
    for (uint32_t i = 0; i < 20000; i++) {
        world->event_count = 0; /* some decode: then they are hellos, or cut others off */
        while (world->sent_count)
            free(world->sent[--world->sent_count].bytes);
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t bad = {0};
        helio_buffer_append(&bad, frame.data, frame.size);
        bad.data[helio_rng_below(&rng, bad.size)] ^= (char)(1 + helio_rng_below(&rng, 255));
        helio_text_t view = {bad.data, (uint32_t)(bad.size - (i % 3 ? 0 : helio_rng_below(&rng, bad.size)))};
        helio_sessions_frame(world->sessions, HELIO_TEXT("lulea"), 7, view);
        assert_true(world->event_count <= 2 && world->sent_count <= 1);
    }
    assert_true(session_count(world) <= 1);
}

static void session__a_key_given_to_another_site_ends_the_session(void **state)
{
    world_t *world = *state;
    open_session(world, "lulea", 7);
    helio_msg_renew_t renew = {5};
    arrive(world, "oregon", 7, HELIO_MSG_RENEW, &renew);
    assert_int_equal(world->events[1], HELIO_BROKER_EV_SITE_GONE);
    assert_int_equal(session_count(world), 0);
}

static void session__bye_ends_it_with_the_reason(void **state)
{
    world_t *world = *state;
    open_session(world, "lulea", 7);
    helio_msg_bye_t bye = {HELIO_TEXT("upgrade")};
    arrive(world, "lulea", 7, HELIO_MSG_BYE, &bye);
    assert_int_equal(world->events[1], HELIO_BROKER_EV_SITE_GONE);
    assert_string_equal(world->event_texts[1], "upgrade");
    assert_int_equal(session_count(world), 0);
}

static void session__many_sites_are_kept_apart(void **state)
{
    world_t *world = *state;
    char names[300][8];
    for (uint32_t i = 0; i < 300; i++) {
        names[i][0] = 's';
        names[i][1] = (char)('0' + i / 100);
        names[i][2] = (char)('0' + i / 10 % 10);
        names[i][3] = (char)('0' + i % 10);
        names[i][4] = '\0';
        world->event_count = 0;
        open_session(world, names[i], 1000 + i * 8192); /* all in one bucket if the handle itself were the hash */
    }
    assert_int_equal(session_count(world), 300);
    for (uint32_t i = 0; i < 300; i += 2) {
        world->event_count = 0;
        helio_sessions_gone(world->sessions, 1000 + i * 8192, "test", false);
        assert_int_equal(world->event_count, 1);
    }
    assert_int_equal(session_count(world), 150);
    helio_msg_renew_t renew = {5};
    for (uint32_t i = 0; i < 300; i++) {
        world->event_count = 0;
        arrive(world, names[i], 1000 + i * 8192, HELIO_MSG_RENEW, &renew);
        assert_int_equal(world->event_count, i % 2);
    }
}

static void session__summaries_are_shed_first(void **state)
{
    world_t *world = *state;
    open_session(world, "lulea", 7);
    helio_msg_summary_t summary = {0};
    helio_msg_renew_t renew = {5};
    helio_sessions_shed(world->sessions, true);
    arrive(world, "lulea", 7, HELIO_MSG_SUMMARY, &summary);
    arrive(world, "lulea", 7, HELIO_MSG_RENEW, &renew);
    assert_int_equal(world->event_count, 3);
    assert_int_equal(world->events[1], HELIO_BROKER_EV_SITE_ALIVE); /* what it says is dropped, not that it lives */
    assert_int_equal(world->events[2], HELIO_BROKER_EV_SITE_RENEW);
    helio_sessions_shed(world->sessions, false);
    arrive(world, "lulea", 7, HELIO_MSG_SUMMARY, &summary);
    assert_int_equal(world->events[3], HELIO_BROKER_EV_SITE_SUMMARY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(session__frames_before_hello_are_ignored),
        CASE(session__a_second_hello_ends_the_session),
        CASE(session__messages_of_the_broker_are_refused_from_a_site),
        CASE(session__an_unreadable_message_ends_the_session),
        CASE(session__a_message_of_an_unknown_number_is_counted_and_ignored),
        CASE(session__an_oversized_list_never_reaches_the_core),
        CASE(session__any_corruption_of_a_hello_is_survived),
        CASE(session__a_key_given_to_another_site_ends_the_session),
        CASE(session__bye_ends_it_with_the_reason),
        CASE(session__many_sites_are_kept_apart),
        CASE(session__summaries_are_shed_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
