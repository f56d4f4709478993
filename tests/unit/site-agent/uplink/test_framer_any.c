/*  test_framer_any.c -- whatever the core says, in whatever order, for each version that a broker may speak:
 * it arrives whole, once and in order, in frames that the broker takes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "federation/wire/codec.h"
#include "site-agent/uplink/mapping.h"
#include "tests/unit/federation/wire/sample.h"

enum { REPORTS_MAX = 6000, ROUNDS = 8, PUTS = 150 };

typedef struct wire {
    helio_arena_t *arena; /* of one frame */
    helio_rng_t rng;
    uint32_t version;
    uint64_t put[REPORTS_MAX], digests[REPORTS_MAX]; /* the reports, by number and by value */
    uint32_t put_count, heard_count;
    uint32_t others_put, others_heard; /* messages that are not reports */
    uint32_t frames_of_reports, largest;
    uint32_t series_put[HELIO_SIGNAL_COUNT], series_heard[HELIO_SIGNAL_COUNT];
    bool broken;
} wire_t;

static wire_t wire;

static uint64_t digest_of(const helio_report_t *report)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t bytes = {0};
    assert_int_equal(helio_wire_pack(&helio_report_type, report, &bytes, NULL), HELIO_OK);
    return helio_hash(HELIO_HASH_SEED, bytes.data, bytes.size);
}

static void hear_reports(const helio_msg_reports_t *message)
{
    wire.frames_of_reports++;
    assert_true(message->reports.count > 0 && message->reports.count <= HELIO_WIRE_BATCH_MAX);
    for (uint32_t i = 0; i < message->reports.count; i++, wire.heard_count++) {
        assert_true(wire.heard_count < wire.put_count);
        assert_true(message->reports.items[i].seq == wire.put[wire.heard_count]);
        assert_true(digest_of(&message->reports.items[i]) == wire.digests[wire.heard_count]);
    }
}

static helio_rc on_frame(void *arg, helio_text_t frame)
{
    uint32_t message;
    void *record;
    helio_error_t err = {0};
    (void)arg;
    if (wire.broken)
        return HELIO_IO;
    helio_arena_reset(wire.arena);
    assert_true(frame.size <= HELIO_WIRE_FRAME_MAX);
    wire.largest = frame.size > wire.largest ? frame.size : wire.largest;
    if (helio_wire_decode(frame, wire.arena, &message, &record, &err) != HELIO_OK)
        fail_msg("version %u: %s", wire.version, err.text);
    if (message == HELIO_MSG_REPORTS) {
        hear_reports(record);
        return HELIO_OK;
    }
    assert_int_equal(wire.heard_count, wire.put_count); /* reports go before whatever follows them */
    wire.others_heard++;
    if (message == HELIO_MSG_SUMMARY)
        for (uint32_t i = 0; i < ((helio_msg_summary_t *)record)->summary.series.count; i++)
            wire.series_heard[((helio_msg_summary_t *)record)->summary.series.items[i].signal]++;
    return HELIO_OK;
}

static void put(helio_framer_t *framer, uint32_t kind, void *record)
{
    helio_effect_t effect = {kind, helio_agent_effects[kind].release, 1, record};
    helio_error_t err = {0};
    assert_true(helio_framer_takes(kind));
    if (helio_framer_put(framer, &effect, 1795, &err) != HELIO_OK)
        fail_msg("version %u: %s", wire.version, err.text);
}

static void put_reports(helio_framer_t *framer, helio_arena_t *arena, uint32_t count)
{
    for (uint32_t i = 0; i < count && wire.put_count < REPORTS_MAX; i++) {
        helio_report_t report;
        sample_random(&helio_report_type, &wire.rng, arena, &report);
        wire.digests[wire.put_count] = digest_of(&report);
        wire.put[wire.put_count++] = report.seq;
        put(framer, HELIO_AGENT_FX_SEND_REPORT, &report);
    }
}

static void put_other(helio_framer_t *framer, helio_arena_t *arena)
{
    static const uint32_t kinds[] = {HELIO_AGENT_FX_SEND_SUMMARY, HELIO_AGENT_FX_SEND_INVENTORY,
                                     HELIO_AGENT_FX_SEND_RENEW, HELIO_AGENT_FX_SEND_HELLO};
    uint32_t kind = kinds[helio_rng_below(&wire.rng, 4)];
    void *record = helio_arena_alloc(arena, 1, helio_agent_effects[kind].type->size);
    sample_random(helio_agent_effects[kind].type, &wire.rng, arena, record);
    if (kind == HELIO_AGENT_FX_SEND_SUMMARY)
        for (uint32_t i = 0; i < ((helio_site_summary_t *)record)->series.count; i++)
            wire.series_put[((helio_site_summary_t *)record)->series.items[i].signal]++;
    wire.others_put++;
    put(framer, kind, record);
}

static void framer__gives_each_version_all_that_it_knows_once_and_in_order(void **state)
{
    (void)state;
    helio_site_profile_t profile = {.name = HELIO_TEXT("lulea"), .backend = HELIO_TEXT("local"), .pue = 1.1};
    helio_identity_t identity = {.agent_version = "0.1.0", .profile = &profile};
    uint32_t most_versions = HELIO_PROTOCOL_VERSION - HELIO_PROTOCOL_VERSION_MIN + 1;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        helio_arena_t *arena = helio_arena_new();
        wire = (wire_t){.arena = helio_arena_new(),
                        .rng = {round + 1},
                        .version = HELIO_PROTOCOL_VERSION_MIN + round % most_versions};
        helio_framer_t *framer = helio_framer_new(&identity, on_frame, NULL);
        helio_framer_speak(framer, wire.version);
        for (uint32_t i = 0; i < PUTS; i++) {
            helio_arena_reset(arena);
            uint32_t what = (uint32_t)helio_rng_below(&wire.rng, 20);
            if (what < 15)
                put_reports(framer, arena, what ? 1 + what : 1200);
            else if (what < 17)
                assert_int_equal(helio_framer_flush(framer, NULL), HELIO_OK);
            else
                put_other(framer, arena);
        }
        assert_int_equal(helio_framer_flush(framer, NULL), HELIO_OK);
        assert_int_equal(wire.heard_count, wire.put_count);
        assert_int_equal(wire.others_heard, wire.others_put);
        assert_true(wire.frames_of_reports < wire.put_count / 3); /* they are gathered */
        for (uint32_t signal = 0; signal < HELIO_SIGNAL_COUNT; signal++) {
            bool known = signal != HELIO_SIGNAL_RESERVED || wire.version >= 3;
            if (wire.series_heard[signal] != (known ? wire.series_put[signal] : 0))
                fail_msg("version %u: of signal %u there are %u series, not %u", wire.version, signal,
                         wire.series_heard[signal], wire.series_put[signal]);
        }
        helio_framer_destroy(&framer);
        helio_arena_destroy(&wire.arena);
        helio_arena_destroy(&arena);
    }
}

/*  What was gathered for a connection that broke is dropped, because the core sends it again in the next session:
 *  nothing arrives twice. */
static void framer__keeps_nothing_for_the_next_connection(void **state)
{
    (void)state;
    helio_site_profile_t profile = {.name = HELIO_TEXT("lulea"), .backend = HELIO_TEXT("local"), .pue = 1.1};
    helio_identity_t identity = {.agent_version = "0.1.0", .profile = &profile};
    helio_arena_t *arena = helio_arena_new();
    wire = (wire_t){.arena = helio_arena_new(), .rng = {5}, .version = HELIO_PROTOCOL_VERSION};
    helio_framer_t *framer = helio_framer_new(&identity, on_frame, NULL);
    helio_framer_speak(framer, HELIO_PROTOCOL_VERSION);
    put_reports(framer, arena, 7);
    helio_framer_drop(framer);
    wire.put_count = 0;
    put_reports(framer, arena, 3);
    wire.broken = true;
    assert_int_not_equal(helio_framer_flush(framer, NULL), HELIO_OK);
    wire.broken = false;
    wire.put_count = 0;
    put_reports(framer, arena, 2);
    assert_int_equal(helio_framer_flush(framer, NULL), HELIO_OK);
    assert_int_equal(wire.heard_count, 2);
    assert_int_equal(wire.frames_of_reports, 1);
    helio_framer_destroy(&framer);
    helio_arena_destroy(&wire.arena);
    helio_arena_destroy(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(framer__gives_each_version_all_that_it_knows_once_and_in_order),
        cmocka_unit_test(framer__keeps_nothing_for_the_next_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
