#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "federation/wire/codec.h"
#include "federation/wire/messages.h"

#define TINY_FIELDS(F, R)  \
    F(R, BOOL, flag, 0, _) \
    F(R, I32, i, 0, _)     \
    F(R, U32, u, 9, _)     \
    F(R, TEXT, t, 4, _)
HELIO_RECORD_DECLARE(tiny, TINY_FIELDS)
HELIO_RECORD_DEFINE(tiny, TINY_FIELDS)

#define WIDE_FIELDS(F, R)     \
    F(R, I64, i, 0, _)        \
    F(R, U64, u, 0, _)        \
    F(R, F64, f, 0, _)        \
    F(R, UUID, id, 0, _)      \
    F(R, KEY, key, 0, _)      \
    F(R, BYTES, b, 3, _)      \
    F(R, U32S, us, 2, _)      \
    F(R, F64S, fs, 2, _)      \
    F(R, LIST, list, 2, tiny) \
    F(R, RECORD, one, 0, tiny)
HELIO_RECORD_DECLARE(wide, WIDE_FIELDS)
HELIO_RECORD_DEFINE(wide, WIDE_FIELDS)

static int set_up(void **state)
{
    *state = helio_arena_new();
    return 0;
}

static int tear_down(void **state)
{
    helio_arena_t *arena = *state;
    helio_arena_destroy(&arena);
    return 0;
}

static wide_t wide_example(void)
{
    static uint32_t us[] = {1, 70000};
    static double fs[] = {1.5};
    static tiny_t tinies[] = {{true, -1, 9, {"four", 4}}};
    wide_t wide = {.i = -129, .u = UINT64_MAX, .f = -0.5, .b = {"\0\1\2", 3}, .us = {us, 2}, .fs = {fs, 1}};
    wide.key.task = -1;
    wide.list.items = tinies;
    wide.list.count = 1;
    wide.one.t = HELIO_TEXT("é");
    return wide;
}

static void codec__bytes_are_exactly_the_documented_ones(void **state)
{
    (void)state;
    wide_t wide = wide_example();
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
    assert_int_equal(helio_wire_pack(&wide_type, &wide, &out, NULL), HELIO_OK);
    static const char expected[] = "\x9a"
                                   "\xd1\xff\x7f"
                                   "\xcf\xff\xff\xff\xff\xff\xff\xff\xff"
                                   "\xcb\xbf\xe0\x00\x00\x00\x00\x00\x00"
                                   "\xc4\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                                   "\xc4\x14\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xff\xff\xff\xff"
                                   "\xc4\x03\0\1\2"
                                   "\x92\x01\xce\x00\x01\x11\x70"
                                   "\x91\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00"
                                   "\x91\x94\xc3\xff\x09\xa4"
                                   "four"
                                   "\x94\xc2\x00\x00\xa2\xc3\xa9";
    assert_int_equal(out.size, sizeof expected - 1);
    assert_memory_equal(out.data, expected, out.size);
}

static void codec__records_round_trip_and_texts_are_views(void **state)
{
    wide_t wide = wide_example(), back;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
    assert_int_equal(helio_wire_pack(&wide_type, &wide, &out, NULL), HELIO_OK);
    assert_int_equal(helio_wire_unpack(&wide_type, helio_buffer_view(&out), *state, &back, NULL), HELIO_OK);
    assert_true(helio_record_equal(&wide_type, &wide, &back));
    assert_true(back.one.t.data > out.data && back.one.t.data < out.data + out.size);
}

static void codec__integers_take_the_shortest_form(void **state)
{
    static const struct {
        int64_t value;
        size_t size;
    } cases[] = {{0, 1},          {127, 1},       {128, 2},       {255, 2},           {256, 3},
                 {65535, 3},      {65536, 5},     {-1, 1},        {-32, 1},           {-33, 2},
                 {-128, 2},       {-129, 3},      {-32768, 3},    {-32769, 5},        {4294967295, 5},
                 {4294967296, 9}, {INT64_MAX, 9}, {INT64_MIN, 9}, {-2147483648LL, 5}, {-2147483649LL, 9}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        wide_t wide = wide_example(), back;
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t zero = {0}, out = {0};
        wide.i = 0;
        assert_int_equal(helio_wire_pack(&wide_type, &wide, &zero, NULL), HELIO_OK);
        wide.i = cases[i].value;
        assert_int_equal(helio_wire_pack(&wide_type, &wide, &out, NULL), HELIO_OK);
        assert_int_equal(out.size - zero.size + 1, cases[i].size);
        assert_int_equal(helio_wire_unpack(&wide_type, helio_buffer_view(&out), *state, &back, NULL), HELIO_OK);
        assert_true(back.i == cases[i].value);
    }
}

static void codec__longer_forms_of_integers_are_accepted(void **state)
{
    tiny_t back;
    helio_text_t bytes =
        HELIO_TEXT("\x94\xc2\xd3\xff\xff\xff\xff\xff\xff\xff\xfe\xcf\0\0\0\0\0\0\0\x07\xdb\0\0\0\x01x");
    assert_int_equal(helio_wire_unpack(&tiny_type, bytes, *state, &back, NULL), HELIO_OK);
    assert_int_equal(back.i, -2);
    assert_int_equal(back.u, 7);
    assert_true(helio_text_is(back.t, "x"));
}

static void codec__decoding_refuses_violations_of_the_table_and_names_the_field(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *text;
    } cases[] = {
        {"\x93\xc2\x01\x01", 4, "tiny.t: is missing (3 of 4 fields)"},
        {"\x90", 1, "tiny.flag: is missing"},
        {"\x94\x01\x01\x01\xa0", 5, "tiny.flag: is not a bool"},
        {"\x94\xc0\x01\x01\xa0", 5, "tiny.flag: is not a bool"},
        {"\x94\xc2\xc0\x01\xa0", 5, "tiny.i: is not an integer"},
        {"\x94\xc2\xcb\0\0\0\0\0\0\0\0\x01\xa0", 13, "tiny.i: is not an integer"},
        {"\x94\xc2\xce\x80\0\0\0\x01\xa0", 9, "tiny.i: is out of range"},
        {"\x94\xc2\xd3\xff\xff\xff\xff\x7f\xff\xff\xff\x01\xa0", 13, "tiny.i: is out of range"},
        {"\x94\xc2\x01\xff\xa0", 5, "tiny.u: is out of range"},
        {"\x94\xc2\x01\x0a\xa0", 5, "tiny.u: is out of range"},
        {"\x94\xc2\x01\x01\xc4\0", 6, "tiny.t: is not a str"},
        {"\x94\xc2\x01\x01\x90", 5, "tiny.t: is not a str"},
        {"\x94\xc2\x01\x01\xa5"
         "fives",
         10, "tiny.t: is longer than its bound"},
        {"\x94\xc2\x01\x01\xa1\0", 6, "tiny.t: is not UTF-8"},
        {"\x94\xc2\x01\x01\xa1\xff", 6, "tiny.t: is not UTF-8"},
        {"\x94\xc2\x01\x01\xa2\xc0\x80", 7, "tiny.t: is not UTF-8"},
        {"\x94\xc2\x01\x01\xa3\xed\xa0\x80", 8, "tiny.t: is not UTF-8"},
        {"\x94\xc2\x01\x01\xa4\xf4\x90\x80\x80", 9, "tiny.t: is not UTF-8"},
        {"\x94\xc2\x01\x01\xa1\xc3", 6, "tiny.t: is not UTF-8"},
        {"\x94\xc2\x01\x01", 4, "more elements"},
        {"\x01", 1, "not an array"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_error_t err = {0};
        tiny_t back = {.i = 4711};
        helio_rc rc =
            helio_wire_unpack(&tiny_type, (helio_text_t){cases[i].bytes, (uint32_t)cases[i].size}, *state, &back, &err);
        if (rc != HELIO_PROTOCOL || !strstr(err.text, cases[i].text))
            fail_msg("case %zu: %s, \"%s\" lacks \"%s\"", i, helio_rc_name(rc), err.text, cases[i].text);
        assert_int_equal(back.i, 4711); /* untouched */
    }
}

/*  Replaces one field of the documented example by other bytes. */
static void codec__every_kind_refuses_other_kinds(void **state)
{
    static const struct {
        unsigned field;
        const char *bytes;
        size_t size;
        const char *text;
    } cases[] = {
        {0, "\xcf\x80\0\0\0\0\0\0\0", 9, "wide.i: is out of range"},
        {1, "\xff", 1, "wide.u: is out of range"},
        {2, "\x01", 1, "wide.f: is not a float 64"},
        {2, "\xca\0\0\0\0", 5, "wide.f: is not a float 64"},
        {2, "\xcb\x7f\xf0\0\0\0\0\0\0", 9, "wide.f: is not a finite number"},
        {2, "\xcb\x7f\xf8\0\0\0\0\0\0", 9, "wide.f: is not a finite number"},
        {3, "\xc4\x0f\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 17, "wide.id: is not a bin of 16 bytes"},
        {3, "\xb0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 17, "wide.id: is not a bin of 16 bytes"},
        {4, "\xc4\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 18, "wide.key: is not a bin of 20 bytes"},
        {5, "\xa1x", 2, "wide.b: is not a bin"},
        {5, "\xc4\x04\0\0\0\0", 6, "wide.b: is longer"},
        {6, "\x01", 1, "wide.us: is not an array"},
        {6, "\x93\x01\x01\x01", 4, "wide.us: has more items"},
        {6, "\x91\xcf\0\0\0\x01\0\0\0\0", 10, "wide.us: is out of range"},
        {7, "\x91\x01", 2, "wide.fs: is not a float 64"},
        {8, "\x91\x01", 2, "wide.list: is not an array"},
        {8, "\x91\x90", 2, "tiny.flag: is missing"},
        {9, "\x94\xc2\x01\x0a\xa0", 5, "tiny.u: is out of range"},
    };
    wide_t wide = wide_example(), back;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
        helio_error_t err = {0};
        helio_buffer_append(&out, "\x9a", 1);
        for (unsigned f = 0; f < 10; f++) {
            if (f == cases[i].field) {
                helio_buffer_append(&out, cases[i].bytes, cases[i].size);
                continue;
            }
            /* One field alone, by a description of one field; its own array head (1 byte) is left out. */
            helio_record_type_t single = {"wide", wide_type.size, &wide_type.fields[f], 1};
            HELIO_AUTO(helio_buffer_clear) helio_buffer_t part = {0};
            assert_int_equal(helio_wire_pack(&single, &wide, &part, NULL), HELIO_OK);
            helio_buffer_append(&out, part.data + 1, part.size - 1);
        }
        helio_rc rc = helio_wire_unpack(&wide_type, helio_buffer_view(&out), *state, &back, &err);
        if (rc != HELIO_PROTOCOL || !strstr(err.text, cases[i].text))
            fail_msg("case %zu: %s, \"%s\" lacks \"%s\"", i, helio_rc_name(rc), err.text, cases[i].text);
    }
}

static void codec__appended_fields_of_a_newer_sender_are_skipped(void **state)
{
    tiny_t back;
    helio_text_t bytes = HELIO_TEXT("\x98\xc3\x01\x02\xa1x\xcb\0\0\0\0\0\0\0\0\x92\xa1y\x91\xc4\x01z\xca\0\0\0\0\xc0");
    assert_int_equal(helio_wire_unpack(&tiny_type, bytes, *state, &back, NULL), HELIO_OK);
    assert_true(back.flag && back.i == 1 && back.u == 2 && helio_text_is(back.t, "x"));
    /* also inside lists: the next item must be found behind the skipped fields */
    helio_msg_verdicts_t none = {.last = true};
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
    assert_int_equal(helio_wire_pack(&helio_msg_verdicts_type, &none, &out, NULL), HELIO_OK);
    assert_memory_equal(out.data, "\x92\x90\xc3", 3);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t two = {0};
    const char key[20] = {0};
    helio_buffer_append(&two, "\x92\x92", 2);
    for (int i = 0; i < 2; i++) {
        helio_buffer_append(&two, "\x95\xc4\x14", 3);
        helio_buffer_append(&two, key, sizeof key);
        helio_buffer_append(&two, "\x05\x01\x92\x01\x02\xa1n", 7);
    }
    helio_buffer_append(&two, "\xc3", 1);
    helio_msg_verdicts_t verdicts;
    assert_int_equal(helio_wire_unpack(&helio_msg_verdicts_type, helio_buffer_view(&two), *state, &verdicts, NULL),
                     HELIO_OK);
    assert_int_equal(verdicts.verdicts.count, 2);
    assert_int_equal(verdicts.verdicts.items[1].epoch, 5);
    assert_true(verdicts.last);
}

static void codec__encoding_refuses_violations_of_the_table_and_keeps_the_buffer(void **state)
{
    (void)state;
    double infinite[] = {INFINITY};
    uint32_t three[3] = {0};
    for (int i = 0; i < 9; i++) {
        wide_t wide = wide_example();
        static const struct {
            helio_rc rc;
            const char *text;
        } expected[] = {{HELIO_TOO_BIG, "wide.b: 4 bytes, at most 3"}, {HELIO_TOO_BIG, "wide.us: 3 items, at most 2"},
                        {HELIO_INVALID, "wide.f: is not a finite"},    {HELIO_INVALID, "wide.fs: is not a finite"},
                        {HELIO_TOO_BIG, "tiny.u: 10, at most 9"},      {HELIO_TOO_BIG, "tiny.t: 5 bytes"},
                        {HELIO_INVALID, "tiny.t: is not UTF-8"},       {HELIO_INVALID, "tiny.t: is not UTF-8"},
                        {HELIO_INVALID, "wide.f: is not a finite"}};
        if (i == 0)
            wide.b = HELIO_TEXT("four");
        else if (i == 1)
            wide.us = (helio_u32s_t){three, 3};
        else if (i == 2)
            wide.f = NAN;
        else if (i == 3)
            wide.fs = (helio_f64s_t){infinite, 1};
        else if (i == 4)
            wide.one.u = 10;
        else if (i == 5)
            wide.one.t = HELIO_TEXT("fives");
        else if (i == 6)
            wide.one.t = HELIO_TEXT("a\0b");
        else if (i == 7)
            wide.one.t = HELIO_TEXT("\xc3");
        else
            wide.f = -INFINITY;
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
        helio_buffer_text(&out, "before");
        helio_error_t err = {0};
        assert_int_equal(helio_wire_pack(&wide_type, &wide, &out, &err), expected[i].rc);
        if (!strstr(err.text, expected[i].text))
            fail_msg("case %d: \"%s\" lacks \"%s\"", i, err.text, expected[i].text);
        assert_int_equal(out.size, 6);
        assert_string_equal(out.data, "before");
    }
}

static void codec__a_full_buffer_is_too_big_and_is_restored(void **state)
{
    (void)state;
    wide_t wide = wide_example();
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {.max = 40};
    helio_buffer_text(&out, "x");
    assert_int_equal(helio_wire_pack(&wide_type, &wide, &out, NULL), HELIO_TOO_BIG);
    assert_int_equal(out.size, 1);
    assert_false(out.overflow);
}

static void codec__a_frame_carries_its_number(void **state)
{
    helio_msg_reports_ack_t ack = {.seq = 300};
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
    assert_int_equal(helio_wire_encode(HELIO_MSG_REPORTS_ACK, &ack, &out, NULL), HELIO_OK);
    assert_int_equal(out.size, 5);
    assert_memory_equal(out.data, "\x92\x08\xcd\x01\x2c", 5);
    uint32_t message = 0;
    void *record = NULL;
    assert_int_equal(helio_wire_decode(helio_buffer_view(&out), *state, &message, &record, NULL), HELIO_OK);
    assert_int_equal(message, HELIO_MSG_REPORTS_ACK);
    assert_int_equal(((helio_msg_reports_ack_t *)record)->seq, 300);
}

static void codec__frames_without_a_known_number_are_refused(void **state)
{
    static const struct {
        helio_text_t frame;
        helio_rc rc;
        const char *text;
    } cases[] = {{{"\x90", 1}, HELIO_PROTOCOL, "message number"},
                 {{"\x91\xa1x", 3}, HELIO_PROTOCOL, "message number"},
                 {{"\x91\xff", 2}, HELIO_PROTOCOL, "message number"},
                 {{"\x91\x00", 2}, HELIO_VERSION, "message number 0"},
                 {{"\x91\x13", 2}, HELIO_VERSION, "message number 19"},
                 {{"\x91\xcc\x20", 3}, HELIO_VERSION, "message number 32"},
                 {{"\x91\xce\xff\xff\xff\xff", 6}, HELIO_VERSION, "message number 4294967295"},
                 {{"\x91\xcf\0\0\0\x01\0\0\0\x08", 10}, HELIO_PROTOCOL, "message number"},
                 {{"\x91\x08", 2}, HELIO_PROTOCOL, "helio_msg_reports_ack.seq: is missing"},
                 {{"", 0}, HELIO_PROTOCOL, "truncated"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_error_t err = {0};
        uint32_t message = 99;
        void *record = NULL;
        helio_rc rc = helio_wire_decode(cases[i].frame, *state, &message, &record, &err);
        if (rc != cases[i].rc || !strstr(err.text, cases[i].text) || record)
            fail_msg("case %zu: %s, \"%s\" lacks \"%s\"", i, helio_rc_name(rc), err.text, cases[i].text);
        assert_true(rc == HELIO_VERSION ? message != 99 : message == 99);
    }
}

static void codec__a_frame_beyond_the_maximum_is_neither_written_nor_read(void **state)
{
    enum { DATA = 256 << 10, ORDERS = 5 };
    char *source = helio_new(DATA, 1);
    helio_order_t orders[ORDERS] = {0};
    for (int i = 0; i < ORDERS; i++)
        orders[i].source = (helio_text_t){source, DATA};
    helio_msg_orders_t message = {.incarnation = 1};
    message.orders.items = orders;
    message.orders.count = ORDERS;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
    helio_error_t err = {0};
    assert_int_equal(helio_wire_encode(HELIO_MSG_ORDERS, &message, &out, &err), HELIO_TOO_BIG);
    assert_non_null(strstr(err.text, "helio_msg_orders"));
    assert_int_equal(out.size, 0);
    message.orders.count = 3;
    assert_int_equal(helio_wire_encode(HELIO_MSG_ORDERS, &message, &out, NULL), HELIO_OK);
    free(source);
    char *huge = helio_new(HELIO_WIRE_FRAME_MAX + 1, 1);
    uint32_t number;
    void *record;
    assert_int_equal(helio_wire_decode((helio_text_t){huge, HELIO_WIRE_FRAME_MAX + 1}, *state, &number, &record, &err),
                     HELIO_PROTOCOL);
    assert_non_null(strstr(err.text, "at most"));
    free(huge);
}

static void codec__a_dump_is_one_readable_line(void **state)
{
    (void)state;
    wide_t wide = wide_example();
    wide.one.t = HELIO_TEXT("\"\n\xff");
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
    helio_wire_dump(&wide_type, &wide, &out);
    assert_string_equal(out.data,
                        "{\"i\":-129,\"u\":18446744073709551615,\"f\":-0.5,\"id\":\"00000000000000000000000000\","
                        "\"key\":\"00000000000000000000000000\",\"b\":\"3:000102\",\"us\":[1,70000],\"fs\":[1.5],"
                        "\"list\":[{\"flag\":true,\"i\":-1,\"u\":9,\"t\":\"four\"}],"
                        "\"one\":{\"flag\":false,\"i\":0,\"u\":0,\"t\":\"\\\"\\u000a\\u00ff\"}}");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(codec__bytes_are_exactly_the_documented_ones),
        TEST(codec__records_round_trip_and_texts_are_views),
        TEST(codec__integers_take_the_shortest_form),
        TEST(codec__longer_forms_of_integers_are_accepted),
        TEST(codec__decoding_refuses_violations_of_the_table_and_names_the_field),
        TEST(codec__every_kind_refuses_other_kinds),
        TEST(codec__appended_fields_of_a_newer_sender_are_skipped),
        TEST(codec__encoding_refuses_violations_of_the_table_and_keeps_the_buffer),
        TEST(codec__a_full_buffer_is_too_big_and_is_restored),
        TEST(codec__a_frame_carries_its_number),
        TEST(codec__frames_without_a_known_number_are_refused),
        TEST(codec__a_frame_beyond_the_maximum_is_neither_written_nor_read),
        TEST(codec__a_dump_is_one_readable_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
