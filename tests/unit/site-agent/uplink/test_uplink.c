/*  An uplink against a real server on the loopback, with keys. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "federation/net/curve.h"
#include "federation/net/server.h"
#include "federation/wire/codec.h"
#include "site-agent/uplink/uplink.h"

typedef struct world {
    helio_net_t *broker_net, *agent_net;
    helio_loop_t *loop;
    helio_server_t *server;
    helio_uplink_t *uplink;
    helio_arena_t *arena;
    helio_site_profile_t profile;
    uint64_t peer;
    uint32_t messages[64], message_count; /* at the broker */
    uint32_t events[64], event_count;     /* at the agent */
    uint32_t notes[HELIO_UPLINK_GIVEN_UP + 1];
    char endpoints[HELIO_UPLINK_GIVEN_UP + 1][64]; /* of the last note of each kind */
    char last_text[600];
    uint32_t ended_channels,
        speechless; /* at the broker: their ends, and those with the text for want of a better one */
    char last_end[513];
    uint64_t log_request;
    uint64_t ack;
    bool say_hello;
} world_t;

static world_t world;

static void broker_hears(void *arg, uint64_t peer, helio_text_t principal, helio_text_t frame)
{
    world_t *self = arg;
    uint32_t message = 0;
    void *record = NULL;
    assert_true(helio_text_is(principal, "site:lulea"));
    assert_int_equal(helio_wire_decode(frame, self->arena, &message, &record, NULL), HELIO_OK);
    assert_true(self->message_count < 64);
    self->messages[self->message_count++] = message;
    if (message == HELIO_MSG_CHANNEL_END) {
        helio_text_t text = ((const helio_msg_channel_end_t *)record)->text;
        self->ended_channels++;
        self->speechless += helio_text_is(text, "the channel has ended, and the site cannot say why");
        (void)helio_text_copy(text, self->last_end, sizeof self->last_end);
    }
    self->peer = peer;
}

static void agent_hears(void *arg, uint32_t event, const void *payload)
{
    world_t *self = arg;
    assert_true(self->event_count < 64);
    self->events[self->event_count++] = event;
    if (event == HELIO_AGENT_EV_REPORTS_ACK)
        self->ack = ((const helio_aev_ack_t *)payload)->seq;
    if (event == HELIO_AGENT_EV_CONNECTED && self->say_hello) {
        helio_afx_hello_t hello = {0};
        helio_effect_t effect = {HELIO_AGENT_FX_SEND_HELLO, HELIO_RELEASE_HELD, 1, &hello};
        helio_uplink_put(self->uplink, &effect, 1795);
    }
}

static void agent_log_read(void *arg, const helio_msg_log_read_t *request)
{
    ((world_t *)arg)->log_request = request->request;
}

static void agent_notes(void *arg, helio_uplink_note_t note, const char *endpoint, const char *text)
{
    world_t *self = arg;
    assert_non_null(strstr(endpoint, "tcp://127.0.0.1:"));
    self->notes[note]++;
    (void)helio_text_copy(helio_text_of(endpoint), self->endpoints[note], sizeof self->endpoints[note]);
    if (text[0])
        (void)helio_text_copy(helio_text_of(text), self->last_text, sizeof self->last_text);
}

static int begin_at(const char *second)
{
    memset(&world, 0, sizeof world);
    world.say_hello = true;
    world.profile.name = HELIO_TEXT("lulea");
    world.profile.pue = 1;
    world.arena = helio_arena_new();
    helio_error_t err = {0};
    helio_keypair_t broker, agent;
    if (helio_net_new(0, &world.broker_net, &err) != HELIO_OK || helio_net_new(0, &world.agent_net, &err) != HELIO_OK ||
        helio_loop_new(&world.loop, &err) != HELIO_OK || helio_keypair_new(&broker, &err) != HELIO_OK ||
        helio_keypair_new(&agent, &err) != HELIO_OK)
        return -1;
    helio_server_options_t serve = {.endpoint = "tcp://127.0.0.1:*",
                                    .secret_key = broker.secret_key,
                                    .on_message = broker_hears,
                                    .linger_ms = -1,
                                    .arg = &world};
    if (helio_server_new(world.broker_net, world.loop, &serve, &world.server, &err) != HELIO_OK ||
        helio_server_allow(world.server, helio_text_of(agent.public_key), HELIO_TEXT("site:lulea"), &err) != HELIO_OK)
        return -1;
    helio_dialer_target_t targets[] = {{helio_server_endpoint(world.server), broker.public_key},
                                       {second, broker.public_key}};
    helio_uplink_options_t options = {.targets = targets,
                                      .target_count = second ? 2 : 1,
                                      .secret_key = agent.secret_key,
                                      .identity = {.agent_version = "0.1.0", .profile = &world.profile},
                                      .seed = 1,
                                      .session_ms = 60000,
                                      .on_event = agent_hears,
                                      .on_log_read = agent_log_read,
                                      .on_note = agent_notes,
                                      .arg = &world};
    return helio_uplink_new(world.agent_net, world.loop, &options, &world.uplink, &err) == HELIO_OK ? 0 : -1;
}

static int begin(void **state)
{
    (void)state;
    return begin_at(NULL);
}

static int begin_with_two(void **state)
{
    (void)state;
    return begin_at("tcp://127.0.0.1:1"); /* closed: refused at once */
}

static int end(void **state)
{
    (void)state;
    helio_uplink_destroy(&world.uplink);
    helio_server_destroy(&world.server);
    helio_loop_destroy(&world.loop);
    helio_net_destroy(&world.agent_net);
    helio_net_destroy(&world.broker_net);
    helio_arena_destroy(&world.arena);
    return 0;
}

/*  Turns until `*figure` reaches `least`; the deadline is only there to fail. */
static void turn_until(const uint32_t *figure, uint32_t least)
{
    for (int turns = 0; *figure < least; turns++) {
        if (turns > 2000)
            fail_msg("waited for %u, but only %u came", least, *figure);
        assert_int_equal(helio_loop_turn(world.loop, 10, NULL), HELIO_OK);
    }
}

static void broker_says(uint32_t message, const void *record)
{
    helio_buffer_t frame = {0};
    assert_int_equal(helio_wire_encode(message, record, &frame, NULL), HELIO_OK);
    assert_int_equal(helio_server_send(world.server, world.peer, helio_buffer_view(&frame)), HELIO_OK);
    helio_buffer_clear(&frame);
}

static void uplink__sends_hello_and_passes_on_the_brokers_replies(void **state)
{
    (void)state;
    turn_until(&world.message_count, 1);
    assert_int_equal(world.messages[0], HELIO_MSG_HELLO);
    assert_int_equal(world.events[0], HELIO_AGENT_EV_CONNECTED);
    helio_msg_welcome_t welcome = {.protocol = 1, .renew_ms = 1000};
    broker_says(HELIO_MSG_WELCOME, &welcome);
    helio_msg_verdicts_t verdicts = {.last = true};
    broker_says(HELIO_MSG_VERDICTS, &verdicts);
    helio_msg_reports_ack_t ack = {12};
    broker_says(HELIO_MSG_REPORTS_ACK, &ack);
    turn_until(&world.event_count, 4);
    assert_int_equal(world.events[1], HELIO_AGENT_EV_WELCOME);
    assert_int_equal(world.events[2], HELIO_AGENT_EV_VERDICTS);
    assert_int_equal(world.events[3], HELIO_AGENT_EV_REPORTS_ACK);
    assert_int_equal(world.ack, 12);
    assert_int_equal(world.notes[HELIO_UPLINK_OPEN], 1);
}

static void uplink__sends_gathered_reports_and_log_pieces(void **state)
{
    (void)state;
    turn_until(&world.message_count, 1);
    helio_report_t report = {.seq = 1};
    helio_effect_t effect = {HELIO_AGENT_FX_SEND_REPORT, HELIO_RELEASE_HELD, 1, &report};
    helio_uplink_put(world.uplink, &effect, 1795);
    helio_msg_log_read_t read = {.request = 99};
    broker_says(HELIO_MSG_LOG_READ, &read);
    while (!world.log_request)
        assert_int_equal(helio_loop_turn(world.loop, 10, NULL), HELIO_OK);
    assert_int_equal(world.log_request, 99);
    helio_msg_log_data_t data = {.request = 99, .data = HELIO_TEXT("out"), .end = true};
    helio_uplink_log_data(world.uplink, &data);
    helio_uplink_bye(world.uplink, "stopping");
    turn_until(&world.message_count, 4);
    assert_int_equal(world.messages[1], HELIO_MSG_REPORTS);
    assert_int_equal(world.messages[2], HELIO_MSG_LOG_DATA);
    assert_int_equal(world.messages[3], HELIO_MSG_BYE);
}

static void uplink__keeps_the_session_when_the_text_of_a_channels_end_cannot_be_sent(void **state)
{
    (void)state;
    char longer[514];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    const char *const texts[] = {"\377\376", "cut within \303", longer, "gone"};
    turn_until(&world.message_count, 1);
    for (uint32_t i = 0; i < 4; i++) {
        helio_msg_channel_end_t ended = {.channel = i + 1, .rc = HELIO_UNAVAILABLE, .text = helio_text_of(texts[i])};
        helio_uplink_channel_end(world.uplink, &ended);
    }
    turn_until(&world.ended_channels, 4);
    assert_string_equal(world.last_end, "gone");
    assert_int_equal(world.speechless, 3);
    assert_int_equal(world.notes[HELIO_UPLINK_GIVEN_UP], 0);
}

static void uplink__reports_a_refusal_and_retries(void **state)
{
    (void)state;
    turn_until(&world.message_count, 1);
    helio_msg_refusal_t refusal = {.rc = HELIO_FORBIDDEN, .text = HELIO_TEXT("site lulea is not known here")};
    broker_says(HELIO_MSG_REFUSAL, &refusal);
    turn_until(&world.notes[HELIO_UPLINK_DISCONNECTED], 1);
    assert_int_equal(world.notes[HELIO_UPLINK_REFUSED], 1);
    assert_int_equal(world.events[world.event_count - 1], HELIO_AGENT_EV_DISCONNECTED);
    turn_until(&world.notes[HELIO_UPLINK_CONNECTED], 2);
}

static void uplink__names_the_broker_that_it_means_also_when_it_goes_on_to_the_next(void **state)
{
    (void)state;
    char endpoint[64];
    (void)helio_text_copy(helio_text_of(helio_server_endpoint(world.server)), endpoint, sizeof endpoint);
    turn_until(&world.message_count, 1);
    helio_msg_refusal_t refusal = {.rc = HELIO_FORBIDDEN, .text = HELIO_TEXT("site lulea is not known here")};
    broker_says(HELIO_MSG_REFUSAL, &refusal);
    turn_until(&world.notes[HELIO_UPLINK_FAILED], 1);
    assert_string_equal(world.endpoints[HELIO_UPLINK_FAILED], "tcp://127.0.0.1:1");
    static const helio_uplink_note_t of_the_first[] = {HELIO_UPLINK_CONNECTED, HELIO_UPLINK_REFUSED,
                                                       HELIO_UPLINK_GIVEN_UP, HELIO_UPLINK_DISCONNECTED};
    for (size_t i = 0; i < sizeof of_the_first / sizeof of_the_first[0]; i++)
        assert_string_equal(world.endpoints[of_the_first[i]], endpoint);
}

static void uplink__disconnects_on_bytes_that_are_not_a_message(void **state)
{
    (void)state;
    turn_until(&world.message_count, 1);
    assert_int_equal(helio_server_send(world.server, world.peer, HELIO_TEXT("\xc1garbage")), HELIO_OK);
    turn_until(&world.notes[HELIO_UPLINK_GIVEN_UP], 1);
    turn_until(&world.notes[HELIO_UPLINK_DISCONNECTED], 1);
}

static void uplink__disconnects_from_a_peer_that_sends_agents_messages(void **state)
{
    (void)state;
    turn_until(&world.message_count, 1);
    helio_msg_bye_t bye = {0};
    broker_says(HELIO_MSG_BYE, &bye);
    turn_until(&world.notes[HELIO_UPLINK_GIVEN_UP], 1);
}

static void uplink__follows_no_broker_of_another_version(void **state)
{
    (void)state;
    turn_until(&world.message_count, 1);
    helio_msg_welcome_t welcome = {.protocol = 11, .renew_ms = 1000};
    broker_says(HELIO_MSG_WELCOME, &welcome);
    turn_until(&world.notes[HELIO_UPLINK_DISCONNECTED], 1);
    assert_int_equal(world.notes[HELIO_UPLINK_GIVEN_UP], 1);
    assert_non_null(strstr(world.last_text, "protocol version 11, but this agent supports 1 to 10"));
    for (uint32_t i = 0; i < world.event_count; i++)
        assert_int_not_equal(world.events[i], HELIO_AGENT_EV_WELCOME);
}

static void uplink__ignores_unknown_messages_of_a_newer_broker(void **state)
{
    (void)state;
    turn_until(&world.message_count, 1);
    assert_int_equal(helio_server_send(world.server, world.peer, HELIO_TEXT("\x92\x1e\x01")), HELIO_OK); /* [30, 1] */
    helio_msg_reports_ack_t ack = {3};
    broker_says(HELIO_MSG_REPORTS_ACK, &ack);
    turn_until(&world.event_count, 2);
    assert_int_equal(world.ack, 3);
    assert_int_equal(world.notes[HELIO_UPLINK_GIVEN_UP], 0);
}

static void uplink__drops_messages_without_a_connection(void **state)
{
    (void)state;
    helio_report_t report = {.seq = 1};
    helio_effect_t effect = {HELIO_AGENT_FX_SEND_REPORT, HELIO_RELEASE_HELD, 1, &report};
    helio_uplink_put(world.uplink, &effect, 1795); /* not yet connected */
    helio_uplink_flush(world.uplink);
    turn_until(&world.message_count, 1);
    assert_int_equal(world.messages[0], HELIO_MSG_HELLO); /* never before it */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(uplink__sends_hello_and_passes_on_the_brokers_replies),
        TEST(uplink__sends_gathered_reports_and_log_pieces),
        TEST(uplink__reports_a_refusal_and_retries),
        TEST(uplink__keeps_the_session_when_the_text_of_a_channels_end_cannot_be_sent),
        cmocka_unit_test_setup_teardown(uplink__names_the_broker_that_it_means_also_when_it_goes_on_to_the_next,
                                        begin_with_two, end),
        TEST(uplink__disconnects_on_bytes_that_are_not_a_message),
        TEST(uplink__disconnects_from_a_peer_that_sends_agents_messages),
        TEST(uplink__follows_no_broker_of_another_version),
        TEST(uplink__ignores_unknown_messages_of_a_newer_broker),
        TEST(uplink__drops_messages_without_a_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
