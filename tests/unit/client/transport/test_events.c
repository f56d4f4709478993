/*  Server-sent events: the same events come out however the bytes are cut. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "client/transport/events.h"

static void record(void *arg, const helio_event_t *event)
{
    helio_buffer_printf(arg, "[%s|%s|%s]", event->type, event->data, event->id);
}

static const struct {
    const char *name, *stream, *events;
} cases[] = {
    {"one line", "data: a\n\n", "[message|a|]"},
    {"fields", "event: transition\nid: 7\ndata: {\"x\": 1}\n\n", "[transition|{\"x\": 1}|7]"},
    {"two lines are joined", "data: a\ndata: b\n\n", "[message|a\nb|]"},
    {"only one space is taken away", "data:  a\ndata:b\n\n", "[message| a\nb|]"},
    {"CR and CRLF end lines", "data: a\r\rdata: b\r\n\r\ndata: c\n\r", "[message|a|][message|b|][message|c|]"},
    {"comments are nothing", ": hello\n\n:\n\ndata: a\n\n", "[message|a|]"},
    {"no data, no event", "event: x\nid: 3\n\ndata: a\n\n", "[message|a|3]"},
    {"an unfinished event is no event", "data: a\n", ""},
    {"a field without a colon is empty", "data\n\n", "[message||]"},
    {"unknown fields are passed over", "retry: 5\nfoo: bar\ndata: a\n\n", "[message|a|]"},
    {"a byte order mark is passed over",
     "\xEF\xBB\xBF"
     "data: a\n\n",
     "[message|a|]"},
    {"the id stays", "id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", "[message|a|1][message|b|1][message|c|]"},
    {"the type does not stay", "event: x\ndata: a\n\ndata: b\n\n", "[x|a|][message|b|]"},
};

static void feed_in_pieces(const char *stream, size_t piece, helio_buffer_t *out)
{
    helio_events_t *events = helio_events_new(record, out);
    size_t size = strlen(stream);
    for (size_t at = 0; at < size; at += piece)
        helio_events_feed(events, stream + at, size - at < piece ? size - at : piece);
    helio_events_destroy(&events);
}

static void events__are_the_same_however_the_bytes_are_split(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t piece = 1; piece <= strlen(cases[i].stream); piece++) {
            helio_buffer_t out = {0};
            feed_in_pieces(cases[i].stream, piece, &out);
            if (strcmp(out.data ? out.data : "", cases[i].events) != 0)
                fail_msg("%s, in pieces of %zu: %s", cases[i].name, piece, out.data ? out.data : "(nothing)");
            helio_buffer_clear(&out);
        }
    }
}

static void events__too_large_are_dropped_and_counted(void **state)
{
    (void)state;
    helio_buffer_t out = {0};
    helio_events_t *events = helio_events_new(record, &out);
    char block[4096];
    memset(block, 'x', sizeof block);
    helio_events_feed(events, "data: ", 6);
    for (int i = 0; i < (HELIO_EVENT_MAX >> 12) + 2; i++)
        helio_events_feed(events, block, sizeof block);
    helio_events_feed(events, "\n\ndata: after\n\n", 15);
    assert_int_equal(helio_events_lost(events), 1);
    assert_string_equal(out.data, "[message|after|]");
    helio_events_destroy(&events);
    helio_buffer_clear(&out);
}

static void events__many_lines_of_one_event_are_bounded_too(void **state)
{
    (void)state;
    helio_buffer_t out = {0};
    helio_events_t *events = helio_events_new(record, &out);
    for (int i = 0; i < HELIO_EVENT_MAX / 16; i++)
        helio_events_feed(events, "data: 0123456789abcdef0123456789\n", 33);
    helio_events_feed(events, "\n", 1);
    assert_int_equal(helio_events_lost(events), 1);
    assert_null(out.data);
    helio_events_destroy(&events);
}

static void events__a_new_connection_drops_a_partial_event_and_keeps_the_last_id(void **state)
{
    (void)state;
    helio_buffer_t out = {0};
    helio_events_t *events = helio_events_new(record, &out);
    const char *first = "id: 5\ndata: a\n\nid: 6\ndata: half";
    helio_events_feed(events, first, strlen(first));
    assert_string_equal(helio_events_last_id(events), "5");
    helio_events_restart(events);
    assert_string_equal(helio_events_last_id(events), "5");
    helio_events_feed(events, "data: b\n\n", 9);
    assert_string_equal(out.data, "[message|a|5][message|b|5]");
    helio_events_destroy(&events);
    helio_buffer_clear(&out);
}

static void events__an_id_with_a_nul_is_ignored(void **state)
{
    (void)state;
    helio_buffer_t out = {0};
    helio_events_t *events = helio_events_new(record, &out);
    helio_events_feed(events, "id: 1\ndata: a\n\nid: 2\0x\ndata: b\n\n", 32);
    assert_string_equal(helio_events_last_id(events), "1");
    helio_events_destroy(&events);
    helio_buffer_clear(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events__are_the_same_however_the_bytes_are_split),
        cmocka_unit_test(events__too_large_are_dropped_and_counted),
        cmocka_unit_test(events__many_lines_of_one_event_are_bounded_too),
        cmocka_unit_test(events__a_new_connection_drops_a_partial_event_and_keeps_the_last_id),
        cmocka_unit_test(events__an_id_with_a_nul_is_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
