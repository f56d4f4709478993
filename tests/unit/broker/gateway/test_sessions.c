/*  The sessions without a network: frames in, events out; effects in, frames out. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "broker/gateway/sessions.h"
#include "federation/base/rng.h"
#include "federation/wire/codec.h"

enum { FRAMES_MAX = 64, EVENTS_MAX = 64 };

typedef struct sent {
    uint64_t peer;
    char *bytes;
    uint32_t size;
} sent_t;

typedef struct world {
    helio_sessions_t *sessions;
    helio_arena_t *arena;
    sent_t sent[FRAMES_MAX];
    uint32_t sent_count;
    uint32_t events[EVENTS_MAX];
    uint64_t event_peers[EVENTS_MAX];
    char event_texts[EVENTS_MAX][300]; /* HELLO: the site; GONE: the reason; REFUSED: why */
    uint32_t event_rcs[EVENTS_MAX];    /* REFUSED */
    uint32_t event_count;
    uint32_t log_answers;
    helio_rc log_rc;
    char log_data[64];
} world_t;

static helio_rc record_send(void *arg, uint64_t peer, helio_text_t frame)
{
    world_t *world = arg;
    assert_true(world->sent_count < FRAMES_MAX);
    assert_true(frame.size <= HELIO_WIRE_FRAME_MAX);
    sent_t *sent = &world->sent[world->sent_count++];
    sent->peer = peer;
    sent->size = frame.size;
    sent->bytes = helio_new(frame.size, 1);
    memcpy(sent->bytes, frame.data, frame.size);
    return HELIO_OK;
}

static void record_event(void *arg, uint32_t kind, const void *payload)
{
    world_t *world = arg;
    assert_true(world->event_count < EVENTS_MAX);
    uint32_t at = world->event_count++;
    world->events[at] = kind;
    if (kind == HELIO_BROKER_EV_SITE_HELLO) {
        const helio_ev_site_hello_t *hello = payload;
        world->event_peers[at] = hello->peer;
        (void)helio_text_copy(hello->site, world->event_texts[at], sizeof world->event_texts[at]);
        return;
    }
    if (kind == HELIO_BROKER_EV_SITE_REFUSED) {
        const helio_ev_site_refused_t *refused = payload;
        world->event_rcs[at] = refused->rc;
        (void)helio_text_copy(refused->text, world->event_texts[at], sizeof world->event_texts[at]);
        return;
    }
    memcpy(&world->event_peers[at], payload, sizeof(uint64_t));
    if (kind == HELIO_BROKER_EV_SITE_GONE)
        (void)helio_text_copy(((const helio_ev_site_gone_t *)payload)->reason, world->event_texts[at],
                              sizeof world->event_texts[at]);
}

static int set_up(void **state)
{
    world_t *world = helio_new(1, sizeof *world);
    world->arena = helio_arena_new();
    world->sessions =
        helio_sessions_new((helio_sessions_ports_t){record_send, record_event, NULL, world, world});
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    world_t *world = *state;
    helio_sessions_destroy(&world->sessions);
    for (uint32_t i = 0; i < world->sent_count; i++)
        free(world->sent[i].bytes);
    helio_arena_destroy(&world->arena);
    free(world);
    return 0;
}

static void arrive(world_t *world, const char *site, uint64_t peer, uint32_t message, const void *record)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t frame = {0};
    assert_int_equal(helio_wire_encode(message, record, &frame, NULL), HELIO_OK);
    helio_sessions_frame(world->sessions, helio_text_of(site), peer, helio_buffer_view(&frame));
}

static helio_msg_hello_t hello_of(const char *site)
{
    helio_msg_hello_t hello = {.protocol = HELIO_PROTOCOL_VERSION,
                               .protocol_min = HELIO_PROTOCOL_VERSION_MIN,
                               .agent_version = HELIO_TEXT("0.1.0")};
    hello.profile.name = helio_text_of(site);
    hello.profile.backend = HELIO_TEXT("local");
    hello.profile.pue = 1;
    return hello;
}

static void open_session(world_t *world, const char *site, uint64_t peer)
{
    helio_msg_hello_t hello = hello_of(site);
    arrive(world, site, peer, HELIO_MSG_HELLO, &hello);
}

static void *sent_at(world_t *world, uint32_t at, uint64_t peer, uint32_t message)
{
    uint32_t got = 0;
    void *record = NULL;
    assert_true(at < world->sent_count);
    assert_int_equal(world->sent[at].peer, peer);
    helio_text_t frame = {world->sent[at].bytes, world->sent[at].size};
    assert_int_equal(helio_wire_decode(frame, world->arena, &got, &record, NULL), HELIO_OK);
    assert_int_equal(got, message);
    return record;
}

static uint64_t bad_of(world_t *world, helio_bad_frame_t why)
{
    helio_sessions_figures_t figures;
    helio_sessions_figures(world->sessions, &figures);
    return figures.frames_bad_total[why];
}

static uint64_t session_count(world_t *world)
{
    helio_sessions_figures_t figures;
    helio_sessions_figures(world->sessions, &figures);
    return figures.sessions;
}

static void carry(world_t *world, uint32_t kind, void *record)
{
    helio_effect_t effect = {kind, helio_broker_effects[kind].release, 1, record};
    helio_sessions_carry(world->sessions, &effect, 1000);
}

/* ---- opening
 * --------------------------------------------------------------------------------------------------- */

static void session__hello_names_the_site_by_its_key(void **state)
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
    } cases[] = {{HELIO_PROTOCOL_VERSION + 1, 42, "the agent 4 to 42: update the broker"},
                 {0, 0, "the agent 0 to 0"},
                 {HELIO_PROTOCOL_VERSION, 1, "the agent 3 to 1: update the agent"}};
    _Static_assert(HELIO_PROTOCOL_VERSION == 3 && HELIO_PROTOCOL_VERSION_MIN == 1, "the texts say so");
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_msg_hello_t hello = hello_of("lulea");
        hello.protocol_min = cases[i].least;
        hello.protocol = cases[i].most;
        arrive(world, "lulea", 7, HELIO_MSG_HELLO, &hello);
        const helio_msg_refusal_t *refusal = sent_at(world, i, 7, HELIO_MSG_REFUSAL);
        assert_int_equal(refusal->rc, HELIO_VERSION);
        char text[600];
        (void)helio_text_copy(refusal->text, text, sizeof text);
        assert_non_null(strstr(text, "the broker speaks 1 to 3, "));
        assert_non_null(strstr(text, cases[i].said));
    }
    assert_int_equal(bad_of(world, HELIO_BAD_FRAME_VERSION), 2);
    assert_int_equal(world->event_count, 2); /* people are told of both, not of the question */
    assert_int_equal(world->events[0], HELIO_BROKER_EV_SITE_REFUSED);
    assert_int_equal(world->event_rcs[0], HELIO_VERSION);
    assert_non_null(strstr(world->event_texts[0], cases[0].said));
    assert_int_equal(session_count(world), 0);
    char text[600];
    const helio_msg_refusal_t *first;
    /* One that only asks is told of a wrong name all the same, and opens nothing. */
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
static void session__a_hello_that_only_its_versions_can_be_read_of_is_told_of_them(void **state)
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

static void session__a_newer_agent_is_spoken_to_in_our_version(void **state)
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

static void session__a_newer_connection_of_the_site_replaces_the_older(void **state)
{
    world_t *world = *state;
    open_session(world, "lulea", 7);
    open_session(world, "lulea", 8);
    assert_int_equal(session_count(world), 1);
    assert_int_equal(world->event_count, 2);
    helio_msg_renew_t renew = {5};
    arrive(world, "lulea", 7, HELIO_MSG_RENEW, &renew); /* late, of the older */
    assert_int_equal(world->event_count, 2);
    arrive(world, "lulea", 8, HELIO_MSG_RENEW, &renew);
    assert_int_equal(world->event_peers[2], 8);
    /* The core tells the older one why; that must arrive although its session is over. */
    helio_fx_peer_t refusal = {7, HELIO_CONFLICT, HELIO_TEXT("another agent")};
    carry(world, HELIO_BROKER_FX_REFUSAL, &refusal);
    (void)sent_at(world, 0, 7, HELIO_MSG_REFUSAL);
    assert_int_equal(session_count(world), 1);
}

static void session__an_older_agent_is_spoken_to_in_its_version(void **state)
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

/* ---- hostile frames
 * --------------------------------------------------------------------------------------------- */

static void session__nothing_counts_before_hello(void **state)
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

/*  It may have been a report: a site that was not told would wait for its acknowledgement for ever, and one by a
 * later report would be taken for it. */
static void session__a_message_that_cannot_be_read_ends_the_session(void **state)
{
    world_t *world = *state;
    /* Nothing, not msgpack, a list of 2^32-1 items, a map, a truncated RENEW. */
    static const struct {
        const char *bytes;
        uint32_t size;
    } cases[] = {{"", 0},
                 {"\xc1", 1},
                 {"\x92\x07\xdd\xff\xff\xff\xff", 7},
                 {"\x81\x01\x02", 3},
                 {"\x92\x09", 2},
                 {"hello", 5}};
    uint32_t count = sizeof cases / sizeof cases[0];
    open_session(world, "oregon", 8);
    for (uint32_t i = 0; i < count; i++) {
        world->event_count = 0;
        open_session(world, "lulea", 7);
        helio_sessions_frame(world->sessions, HELIO_TEXT("lulea"), 7,
                             (helio_text_t){cases[i].bytes, cases[i].size});
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

static void session__a_message_of_an_unknown_number_is_counted_and_passed_over(void **state)
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
    helio_buffer_append(&frame, "\x92\x07\xdc\x03\xe9",
                        5); /* REPORTS with 1,001 items, one more than the bound */
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
        open_session(world, names[i], 1000 + i * 8192); /* one bucket, were the handle itself the hash */
    }
    assert_int_equal(session_count(world), 300);
    for (uint32_t i = 0; i < 300; i += 2) {
        world->event_count = 0;
        helio_sessions_gone(world->sessions, 1000 + i * 8192, "test");
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
    assert_int_equal(world->event_count, 2);
    assert_int_equal(world->events[1], HELIO_BROKER_EV_SITE_RENEW);
    helio_sessions_shed(world->sessions, false);
    arrive(world, "lulea", 7, HELIO_MSG_SUMMARY, &summary);
    assert_int_equal(world->events[2], HELIO_BROKER_EV_SITE_SUMMARY);
}

/* ---- collecting
 * ------------------------------------------------------------------------------------------------- */

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

static void collect__another_kind_does_not_overtake(void **state)
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
}

static void collect__the_last_rulings_say_so(void **state)
{
    world_t *world = *state;
    open_session(world, "lulea", 7);
    helio_fx_ruling_t ruling = {.peer = 7, .ruling = {.epoch = 3, .verdict = HELIO_VERDICT_STOP}};
    helio_fx_peer_t done = {.peer = 7};
    for (uint32_t i = 0; i < 1500; i++)
        carry(world, HELIO_BROKER_FX_RULING, &ruling);
    carry(world, HELIO_BROKER_FX_RULINGS_DONE, &done);
    assert_int_equal(world->sent_count, 2);
    const helio_msg_rulings_t *first = sent_at(world, 0, 7, HELIO_MSG_RULINGS);
    assert_int_equal(first->rulings.count, HELIO_WIRE_BATCH_MAX);
    assert_false(first->last);
    const helio_msg_rulings_t *last = sent_at(world, 1, 7, HELIO_MSG_RULINGS);
    assert_int_equal(last->rulings.count, 500);
    assert_true(last->last);
    carry(world, HELIO_BROKER_FX_RULINGS_DONE, &done); /* of an empty inventory */
    assert_true(((const helio_msg_rulings_t *)sent_at(world, 2, 7, HELIO_MSG_RULINGS))->last);
}

static void collect__what_was_for_a_gone_session_is_dropped(void **state)
{
    world_t *world = *state;
    open_session(world, "lulea", 7);
    carry_order(world, 7, 1, HELIO_TEXT("x"));
    helio_sessions_gone(world->sessions, 7, "unreachable");
    carry_order(world, 7, 2, HELIO_TEXT("x"));
    helio_sessions_flush(world->sessions);
    assert_int_equal(world->sent_count, 0);
}

/* ---- logs
 * ---------------------------------------------------------------------------------------------------------
 */

static void on_log(void *arg, helio_rc rc, const helio_msg_log_data_t *piece)
{
    world_t *world = arg;
    world->log_answers++;
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

static void log__a_piece_comes_back_to_who_asked(void **state)
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
    assert_int_equal(world->log_answers, 0);
    arrive(world, "lulea", 7, HELIO_MSG_LOG_DATA, &data);
    assert_int_equal(world->log_answers, 1);
    assert_string_equal(world->log_data, "epoch 1\n");
    arrive(world, "lulea", 7, HELIO_MSG_LOG_DATA, &data);
    assert_int_equal(world->log_answers, 1);
    assert_int_equal(bad_of(world, HELIO_BAD_FRAME_UNASKED), 2);
}

static void log__silence_and_a_lost_session_are_answered(void **state)
{
    world_t *world = *state;
    open_session(world, "lulea", 7);
    assert_int_equal(ask_log(world, "lulea", 100), HELIO_OK);
    helio_sessions_tick(world->sessions, 100 + HELIO_LOG_READ_TIMEOUT_MS - 1);
    assert_int_equal(world->log_answers, 0);
    helio_sessions_tick(world->sessions, 100 + HELIO_LOG_READ_TIMEOUT_MS);
    assert_int_equal(world->log_answers, 1);
    assert_int_equal(world->log_rc, HELIO_TIMEOUT);
    assert_int_equal(ask_log(world, "lulea", 200), HELIO_OK);
    helio_sessions_gone(world->sessions, 7, "idle");
    assert_int_equal(world->log_answers, 2);
    assert_int_equal(world->log_rc, HELIO_UNAVAILABLE);
}

static void log__no_more_wait_than_the_bound(void **state)
{
    world_t *world = *state;
    open_session(world, "lulea", 7);
    for (uint32_t i = 0; i < HELIO_LOG_READS_MAX; i++) {
        assert_int_equal(ask_log(world, "lulea", 0), HELIO_OK);
        free(world->sent[--world->sent_count].bytes);
    }
    assert_int_equal(ask_log(world, "lulea", 0), HELIO_BUSY);
    helio_sessions_tick(world->sessions, HELIO_LOG_READ_TIMEOUT_MS);
    assert_int_equal(world->log_answers, HELIO_LOG_READS_MAX);
    assert_int_equal(ask_log(world, "lulea", 0), HELIO_OK);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(session__hello_names_the_site_by_its_key),
        CASE(session__a_site_file_that_names_another_site_is_refused),
        CASE(session__no_common_protocol_version_names_both_ranges),
        CASE(session__a_newer_agent_is_spoken_to_in_our_version),
        CASE(session__a_newer_connection_of_the_site_replaces_the_older),
        CASE(session__nothing_counts_before_hello),
        CASE(session__a_second_hello_ends_the_session),
        CASE(session__messages_of_the_broker_are_refused_from_a_site),
        CASE(session__a_hello_that_only_its_versions_can_be_read_of_is_told_of_them),
        CASE(session__an_older_agent_is_spoken_to_in_its_version),
        CASE(session__a_message_that_cannot_be_read_ends_the_session),
        CASE(session__a_message_of_an_unknown_number_is_counted_and_passed_over),
        CASE(session__an_oversized_list_never_reaches_the_core),
        CASE(session__any_corruption_of_a_hello_is_survived),
        CASE(session__a_key_given_to_another_site_ends_the_session),
        CASE(session__bye_ends_it_with_the_reason),
        CASE(session__many_sites_are_kept_apart),
        CASE(session__summaries_are_shed_first),
        CASE(collect__orders_of_one_site_travel_together),
        CASE(collect__frames_stay_within_count_and_size),
        CASE(collect__another_kind_does_not_overtake),
        CASE(collect__the_last_rulings_say_so),
        CASE(collect__what_was_for_a_gone_session_is_dropped),
        CASE(log__a_piece_comes_back_to_who_asked),
        CASE(log__silence_and_a_lost_session_are_answered),
        CASE(log__no_more_wait_than_the_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
