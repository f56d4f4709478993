/*  test_question.c -- asking a broker beside an agent that runs: the question opens no session, and only a
 * refusal is an answer to it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "federation/wire/codec.h"
#include "federation/wire/messages.h"
#include "site-agent/uplink/question.h"

static void question__names_the_site_and_no_existing_version(void **state)
{
    (void)state;
    const helio_site_profile_t site = {.name = HELIO_TEXT("lulea"), .backend = HELIO_TEXT("local"), .pue = 1};
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t frame = {0};
    HELIO_AUTO(helio_arena_destroy) helio_arena_t *arena = helio_arena_new();
    uint32_t message = 0;
    void *record = NULL;
    assert_int_equal(helio_question_frame(&site, &frame, NULL), HELIO_OK);
    assert_int_equal(helio_wire_decode(helio_buffer_view(&frame), arena, &message, &record, NULL), HELIO_OK);
    assert_int_equal(message, HELIO_MSG_HELLO);
    const helio_msg_hello_t *hello = record;
    assert_int_equal(helio_protocol_agreed(hello->protocol_min, hello->protocol),
                     0); /* a session would end the agent's */
    assert_true(helio_text_is(hello->profile.name, "lulea"));
}

static const struct {
    uint32_t rc, least, most; /* of the broker's refusal */
    bool fault;               /* no version in common */
} refusals[] = {
    {HELIO_FORBIDDEN, HELIO_PROTOCOL_VERSION_MIN, HELIO_PROTOCOL_VERSION, false},
    {HELIO_VERSION, HELIO_PROTOCOL_VERSION_MIN, HELIO_PROTOCOL_VERSION, false},
    {HELIO_VERSION, 0, 0, false}, /* a broker that does not tell its versions */
    {HELIO_VERSION, HELIO_PROTOCOL_VERSION, HELIO_PROTOCOL_VERSION + 5, false},
    {HELIO_VERSION, 1, HELIO_PROTOCOL_VERSION_MIN, false},
    {HELIO_VERSION, HELIO_PROTOCOL_VERSION + 1, HELIO_PROTOCOL_VERSION + 5, true},
    {HELIO_VERSION, UINT32_MAX, UINT32_MAX, true},
    {HELIO_FORBIDDEN, HELIO_PROTOCOL_VERSION + 1, HELIO_PROTOCOL_VERSION + 1, true},
};

static void reply__says_why_and_whether_the_versions_overlap(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        const helio_msg_refusal_t refusal = {refusals[i].rc, HELIO_TEXT("because"), refusals[i].most,
                                             refusals[i].least};
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t frame = {0};
        assert_int_equal(helio_wire_encode(HELIO_MSG_REFUSAL, &refusal, &frame, NULL), HELIO_OK);
        helio_rc rc = HELIO_OK;
        char text[64], fault[200] = "former";
        if (!helio_question_answer(helio_buffer_view(&frame), &rc, text, sizeof text, fault, sizeof fault))
            fail_msg("case %zu is no answer", i);
        if (rc != (helio_rc)refusals[i].rc || strcmp(text, "because") != 0 || (fault[0] != '\0') != refusals[i].fault)
            fail_msg("case %zu: %s, '%s', '%s'", i, helio_rc_name(rc), text, fault);
    }
}

static void reply__with_a_long_text_is_truncated(void **state)
{
    (void)state;
    char long_text[512];
    memset(long_text, 'x', sizeof long_text);
    const helio_msg_refusal_t refusal = {HELIO_VERSION, {long_text, sizeof long_text}, UINT32_MAX, UINT32_MAX};
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t frame = {0};
    helio_rc rc = HELIO_OK;
    struct {
        char text[8], fence, fault[8], end;
    } places = {.fence = '#', .end = '#'};
    assert_int_equal(helio_wire_encode(HELIO_MSG_REFUSAL, &refusal, &frame, NULL), HELIO_OK);
    assert_true(helio_question_answer(helio_buffer_view(&frame), &rc, places.text, sizeof places.text, places.fault,
                                      sizeof places.fault));
    assert_int_equal(strnlen(places.text, sizeof places.text), 7);
    assert_int_equal(strnlen(places.fault, sizeof places.fault), 7);
    assert_true(places.fence == '#' && places.end == '#');
}

static void reply__must_be_a_complete_refusal(void **state)
{
    (void)state;
    const helio_msg_welcome_t welcome = {.protocol = 1, .lease_ms = 1, .renew_ms = 1, .summary_ms = 1};
    const helio_msg_refusal_t refusal = {HELIO_FORBIDDEN, HELIO_TEXT("because"), 1, 1};
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t other = {0}, whole = {0};
    helio_rc rc = HELIO_BUSY;
    char text[64] = "former", fault[64] = "former";
    assert_int_equal(helio_wire_encode(HELIO_MSG_WELCOME, &welcome, &other, NULL), HELIO_OK);
    assert_false(helio_question_answer(helio_buffer_view(&other), &rc, text, sizeof text, fault, sizeof fault));
    assert_int_equal(helio_wire_encode(HELIO_MSG_REFUSAL, &refusal, &whole, NULL), HELIO_OK);
    for (uint32_t cut = 0; cut < whole.size; cut++)
        assert_false(
            helio_question_answer((helio_text_t){whole.data, cut}, &rc, text, sizeof text, fault, sizeof fault));
    assert_int_equal(rc, HELIO_BUSY);
    assert_string_equal(text, "former");
    assert_string_equal(fault, "former");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(question__names_the_site_and_no_existing_version),
        cmocka_unit_test(reply__says_why_and_whether_the_versions_overlap),
        cmocka_unit_test(reply__with_a_long_text_is_truncated),
        cmocka_unit_test(reply__must_be_a_complete_refusal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
