/*  sessions_testing.h -- the sessions without a network: frames in, events out; effects in, frames out; all of it
 *  recorded. */
#ifndef HELIO_TESTS_BROKER_GATEWAY_SESSIONS_TESTING_H
#define HELIO_TESTS_BROKER_GATEWAY_SESSIONS_TESTING_H

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
    uint32_t report_cause;             /* of the last report */
    char event_texts[EVENTS_MAX][300]; /* HELLO: the site; GONE: the reason; REFUSED: why */
    uint32_t event_rcs[EVENTS_MAX];    /* REFUSED */
    uint32_t event_count;
    uint32_t log_replies;
    helio_rc log_rc;
    char log_data[64];
} world_t;

static inline helio_rc record_send(void *arg, uint64_t peer, helio_text_t frame)
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

static inline void record_event(void *arg, uint32_t kind, const void *payload)
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
    if (kind == HELIO_BROKER_EV_SITE_REPORTS) {
        const helio_ev_site_reports_t *reports = payload;
        assert_int_equal(reports->reports.count, 1);
        world->report_cause = reports->reports.items[0].cause;
        (void)helio_text_copy(reports->reports.items[0].explanation, world->event_texts[at],
                              sizeof world->event_texts[at]);
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

static inline int set_up(void **state)
{
    world_t *world = helio_new(1, sizeof *world);
    world->arena = helio_arena_new();
    world->sessions = helio_sessions_new((helio_sessions_ports_t){record_send, record_event, NULL, NULL, world, world});
    *state = world;
    return 0;
}

static inline int tear_down(void **state)
{
    world_t *world = *state;
    helio_sessions_destroy(&world->sessions);
    for (uint32_t i = 0; i < world->sent_count; i++)
        free(world->sent[i].bytes);
    helio_arena_destroy(&world->arena);
    free(world);
    return 0;
}

static inline void arrive(world_t *world, const char *site, uint64_t peer, uint32_t message, const void *record)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t frame = {0};
    assert_int_equal(helio_wire_encode(message, record, &frame, NULL), HELIO_OK);
    helio_sessions_frame(world->sessions, helio_text_of(site), peer, helio_buffer_view(&frame));
}

static inline helio_msg_hello_t hello_of(const char *site)
{
    helio_msg_hello_t hello = {.protocol = HELIO_PROTOCOL_VERSION,
                               .protocol_min = HELIO_PROTOCOL_VERSION_MIN,
                               .agent_version = HELIO_TEXT("0.1.0")};
    hello.profile.name = helio_text_of(site);
    hello.profile.backend = HELIO_TEXT("local");
    hello.profile.pue = 1;
    return hello;
}

static inline void open_session(world_t *world, const char *site, uint64_t peer)
{
    helio_msg_hello_t hello = hello_of(site);
    arrive(world, site, peer, HELIO_MSG_HELLO, &hello);
}

static inline void *sent_at(world_t *world, uint32_t at, uint64_t peer, uint32_t message)
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

static inline uint64_t bad_of(world_t *world, helio_bad_frame_t why)
{
    helio_sessions_figures_t figures;
    helio_sessions_figures(world->sessions, &figures);
    return figures.frames_bad_total[why];
}

static inline uint64_t session_count(world_t *world)
{
    helio_sessions_figures_t figures;
    helio_sessions_figures(world->sessions, &figures);
    return figures.sessions;
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

#endif
