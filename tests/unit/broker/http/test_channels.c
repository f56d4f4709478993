/*  test_channels.c -- the routes of channels: what reaches the core, what reaches the gateway, and how answers are framed. */
#include "tests/unit/broker/http/server_testing.h"

#define JOB "01j9a0000000000000000000aa"
#define CHANNEL "/v1/channels/0123456789abcdef0123456789abcdef"
#define BYTES "Content-Type: application/octet-stream\r\n"

static void open_with(const char *body)
{
    ask(w, &r, "POST", "/v1/jobs/" JOB "/channels", w->user.text, JSON, body);
}

static void channel__is_opened_with_an_unguessable_name(void **state)
{
    (void)state;
    char first[HELIO_CHANNEL_ID_SIZE];
    open_with(
        "{\"command\": [\"sh\", \"-c\", \"echo a\\nb\"], \"terminal\": true, \"rows\": 24, \"columns\": 80, \"term\": \"xterm\", \"node\": 2}");
    assert_int_equal(r.status, 201);
    assert_int_equal(strspn(w->opening.id, "0123456789abcdef"), 32);
    assert_non_null(strstr(r.body, w->opening.id));
    assert_non_null(strstr(r.body, "\"site\":\"lulea\",\"epoch\":3,\"limit_s\":28800,\"idle_s\":3600"));
    assert_true(w->opening.kind == HELIO_CHANNEL_KIND_COMMAND && w->opening.terminal && w->opening.node == 2);
    assert_true(w->opening.rows == 24 && w->opening.columns == 80 && w->opening.command_count == 3);
    assert_string_equal(w->opening_words[2], "echo a\nb");
    (void)memcpy(first, w->opening.id, sizeof first);
    open_with("{\"port\": 8888}");
    assert_true(r.status == 201 && w->opening.kind == HELIO_CHANNEL_KIND_PORT && w->opening.port == 8888 &&
                w->channel_event.port == 8888);
    assert_string_not_equal(first, w->opening.id);
    open_with(NULL);
    assert_true(r.status == 201 && w->opening.command_count == 0 && w->channel_event.word.size == 0);
}

static void channel__that_makes_no_sense_is_refused(void **state)
{
    (void)state;
    static const char *const bodies[] = {"{\"port\": 0}",
                                         "{\"port\": 65536}",
                                         "{\"port\": 80, \"command\": [\"ls\"]}",
                                         "{\"port\": 80, \"terminal\": true}",
                                         "{\"rows\": 65536}",
                                         "{\"command\": \"ls\"}",
                                         "{\"command\": [1]}",
                                         "{\"term\": \"a\\u001bb\"}",
                                         "{\"user\": \"root\"}"};
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        ask(w, &r, "POST", "/v1/jobs/" JOB "/channels", w->user.text, JSON, bodies[i]);
        if (r.status != 400 || w->events)
            fail_msg("%s is answered %d", bodies[i], r.status);
    }
}

static void channel__output_comes_in_frames_that_end_with_its_state(void **state)
{
    (void)state;
    static const char framed[] = "\1\0\0\0\2hi";
    w->channel_answer = (helio_channel_answer_t){
        .frames = {framed, sizeof framed - 1}, .offset = 9, .opened = true, .ended = true, .exit_code = 7, .why = ""};
    ask(w, &r, "GET", CHANNEL "/output?offset=7&wait=20", w->user.text, "", NULL);
    assert_true(r.status == 200 && strstr(r.head, "application/octet-stream"));
    static const char state_text[] =
        "{\"offset\":9,\"opened\":true,\"ended\":true,\"exit_code\":7,\"outcome\":\"OK\",\"why\":\"\"}";
    assert_memory_equal(r.body, framed, sizeof framed - 1);
    assert_int_equal((unsigned char)r.body[7], 0);
    assert_int_equal((unsigned char)r.body[11], sizeof state_text - 1);
    assert_memory_equal(r.body + 12, state_text, sizeof state_text - 1);
    assert_true(w->channel_ask.verb == HELIO_CHANNEL_READ && w->channel_ask.offset == 7);
    assert_int_equal(w->channel_ask.wait_ms, HELIO_CHANNEL_WAIT_MAX_MS); /* below the time-out of a request */
    assert_string_equal(w->actor, "user:acme/ana");
    ask(w, &r, "GET", CHANNEL "/output?wait=3", w->user.text, "Heliostat-Forwarded: other\r\n", NULL);
    assert_int_equal(w->channel_ask.wait_ms, 3000);
    ask(w, &r, "GET", CHANNEL "/output?wait=20", w->user.text, "Heliostat-Forwarded: other\r\n", NULL);
    assert_int_equal(w->channel_ask.wait_ms, 5000);
}

static void channel__input_size_and_close_reach_the_gateway(void **state)
{
    (void)state;
    w->channel_answer = (helio_channel_answer_t){.offset = 12, .opened = true};
    ask(w, &r, "POST", CHANNEL "/input?offset=5&end=1", w->user.text, BYTES, "a\tb\n\x01xyz");
    assert_int_equal(r.status, 200);
    assert_string_equal(w->reason, "a\tb\n\x01xyz");
    assert_true(w->channel_ask.verb == HELIO_CHANNEL_WRITE && w->channel_ask.offset == 5 && w->channel_ask.end);
    assert_non_null(strstr(r.body, "\"offset\":12"));
    ask(w, &r, "PUT", CHANNEL "/size", w->user.text, JSON, "{\"rows\": 50, \"columns\": 132}");
    assert_true(w->channel_ask.verb == HELIO_CHANNEL_RESIZE && w->channel_ask.rows == 50 &&
                w->channel_ask.columns == 132);
    ask(w, &r, "DELETE", CHANNEL, w->user.text, "", NULL);
    assert_true(r.status == 200 && w->channel_ask.verb == HELIO_CHANNEL_SHUT);
}

static void channel__failures_say_what_to_do(void **state)
{
    (void)state;
    w->channel_answer = (helio_channel_answer_t){.rc = HELIO_NOT_FOUND};
    ask(w, &r, "GET", CHANNEL "/output", w->user.text, "", NULL);
    assert_true(r.status == 404 && strstr(r.body, "ChannelUnknown"));
    w->channel_answer = (helio_channel_answer_t){.rc = HELIO_CONFLICT, .least = 4, .offset = 9};
    ask(w, &r, "POST", CHANNEL "/input?offset=11", w->user.text, BYTES, "x");
    assert_true(r.status == 409 && strstr(r.body, "\"offset\":11,\"least\":4,\"most\":9"));
    w->channel_answer = (helio_channel_answer_t){.rc = HELIO_UNAVAILABLE};
    ask(w, &r, "DELETE", CHANNEL, w->user.text, "", NULL);
    assert_int_equal(r.status, 503);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(channel__is_opened_with_an_unguessable_name, up, down),
        cmocka_unit_test_setup_teardown(channel__that_makes_no_sense_is_refused, up, down),
        cmocka_unit_test_setup_teardown(channel__output_comes_in_frames_that_end_with_its_state, up, down),
        cmocka_unit_test_setup_teardown(channel__input_size_and_close_reach_the_gateway, up, down),
        cmocka_unit_test_setup_teardown(channel__failures_say_what_to_do, up, down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
