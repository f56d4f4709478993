/*  test_dialer.c -- the side that dials: targets, returns, queues and last words. */
#include "tests/unit/federation/net/net_testing.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- tests --------------------------------------------------------------------------------------------- */

static void net__the_dialer_detects_a_wrong_server_key(void **state)
{
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    client_t client = {0};
    start_server(world, &options);
    allow(world, 0, "site:lulea");
    helio_dialer_target_t target = {helio_server_endpoint(world->server), world->pairs[3].public_key};
    dial_targets(world, &client, 0, &target, 1);
    UNTIL(world, client.failed);
    assert_int_equal(client.connected, 0);
    assert_non_null(strstr(client.why, "key"));
}

/*  A busy server takes its time, also for those that it has not accepted yet. libzmq would give up after its own 5 s. */
static void net__a_dialer_awaits_the_handshake_for_as_long_as_the_attempt_may_take(void **state)
{
    enum { ATTEMPT_MS = 5500 };
    world_t *world = *state;
    client_t client = {.connect_ms = ATTEMPT_MS};
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int mute = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(mute, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(mute, 8), 0);
    assert_int_equal(getsockname(mute, (struct sockaddr *)&address, &size), 0);
    char endpoint[64];
    (void)snprintf(endpoint, sizeof endpoint, "tcp://127.0.0.1:%u", (unsigned)ntohs(address.sin_port));
    helio_dialer_target_t target = {endpoint, world->pairs[3].public_key};
    dial_targets(world, &client, 0, &target, 1);
    UNTIL(world, client.failed);
    assert_string_equal(client.why, "no answer within 5500 ms");
    (void)close(mute);
}

static void net__a_dialer_reconnects_after_the_server_restarts(void **state)
{
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    client_t a = {.hello = true};
    char endpoint[256];
    start_server(world, &options);
    allow(world, 0, "site:lulea");
    (void)helio_text_copy(helio_text_of(helio_server_endpoint(world->server)), endpoint, sizeof endpoint);
    connect_as(world, &a, 0);
    UNTIL(world, world->heard_count == 1);
    helio_server_destroy(&world->server);
    helio_net_destroy(&world->net);
    UNTIL(world, a.disconnected);
    assert_string_equal(a.why, "connection lost");
    assert_int_equal(helio_dialer_send(a.dialer, HELIO_TEXT("stale")), HELIO_UNAVAILABLE);
    UNTIL(world, a.failed >= 2);
    options.endpoint = endpoint;
    start_server(world, &options);
    allow(world, 0, "site:lulea");
    UNTIL(world, world->heard_count == 2);
    assert_int_equal(a.connected, 2);
    assert_string_equal(last_heard(world)->frame, "hello"); /* and nothing of what was refused above */
}

/*  A server that answers each time, and each time says no: its line is good, and still it is not to be asked all the
 *  time. */
static void net__a_dialer_that_is_repeatedly_refused_waits_longer(void **state)
{
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    client_t a = {.hello = true, .redial_on_message = true, .redials = 10};
    world->echo = true;
    start_server(world, &options);
    allow(world, 0, "site:lulea");
    helio_dialer_target_t target = {helio_server_endpoint(world->server), world->server_pair.public_key};
    dial_targets(world, &a, 0, &target, 1);
    UNTIL(world, a.disconnected == 1);
    int64_t left_ms = helio_clock_boot_ms();
    UNTIL(world, a.connected == 2);
    assert_true(helio_clock_boot_ms() - left_ms >= 500); /* half of 2 ms, nine times doubled */
}

static void net__a_dialer_goes_on_to_the_next_target_and_back(void **state)
{
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    client_t a = {.hello = true, .redial_on_message = true};
    world->echo = true;
    start_server(world, &options);
    allow(world, 0, "site:lulea");
    /* Port 1 is closed: refused at once. */
    helio_dialer_target_t targets[] = {{"tcp://127.0.0.1:1", world->server_pair.public_key},
                                       {helio_server_endpoint(world->server), world->server_pair.public_key}};
    dial_targets(world, &a, 0, targets, 2);
    assert_string_equal(helio_dialer_endpoint(a.dialer), targets[0].endpoint);
    UNTIL(world, a.connected == 1);
    assert_string_equal(a.endpoint, targets[1].endpoint);
    assert_int_equal(a.failed, 1);
    UNTIL(world, a.disconnected == 1); /* the answer to its hello made it leave */
    assert_string_equal(a.why, "not the leader");
    assert_string_equal(a.left, targets[1].endpoint); /* although it dials the other next */
    UNTIL(world, a.connected == 2);
    assert_int_equal(a.failed, 2);
}

static void net__sending_is_busy_when_the_queue_is_full_and_recovers(void **state)
{
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    client_t a = {0};
    helio_rc rc = HELIO_OK;
    uint32_t accepted = 0;
    char *data = helio_new(64 << 10, 1);
    options.queue_messages = 4;
    start_server(world, &options);
    allow(world, 0, "site:lulea");
    connect_as(world, &a, 0);
    /* Nobody turns the loop meanwhile, so the server does not read. */
    while (!rc && accepted < 100000)
        if (!(rc = helio_dialer_send(a.dialer, (helio_text_t){data, 64 << 10})))
            accepted++;
    assert_int_equal(rc, HELIO_BUSY);
    assert_true(helio_dialer_is_connected(a.dialer));
    UNTIL(world, counters(world).received == accepted); /* busy loses nothing */
    assert_int_equal(helio_dialer_send(a.dialer, HELIO_TEXT("again")), HELIO_OK);
    UNTIL(world, counters(world).received == accepted + 1);
    assert_string_equal(last_heard(world)->frame, "again");
    free(data);
}

static void net__the_last_messages_of_a_dialer_arrive(void **state)
{
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    start_server(world, &options);
    allow(world, 0, "site:lulea");
    for (size_t i = 0; i < 20; i++) {
        client_t a = {0};
        connect_as(world, &a, 0);
        say(&a, "bye");
        hang_up(world, &a);
        UNTIL(world, world->heard_count == i + 1);
    }
}

static void net__errors_of_binding_name_the_endpoint_and_the_remedy(void **state)
{
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    helio_net_t *net = NULL;
    helio_server_t *server = NULL;
    char taken[256];
    start_server(world, &options);
    (void)helio_text_copy(helio_text_of(helio_server_endpoint(world->server)), taken, sizeof taken);
    const struct {
        const char *endpoint;
        helio_rc rc;
        const char *text;
    } cases[] = {
        {taken, HELIO_CONFLICT, "in use"},
        {"tcp://192.0.2.1:7443", HELIO_INVALID, "does not have the address"},
        {"tcp://127.0.0.1:99999", HELIO_INVALID, "tcp://ADDRESS:PORT"},
        {"tcp://127.0.0.1", HELIO_INVALID, "tcp://ADDRESS:PORT"},
        {"tcp://127.0.0.1:0", HELIO_INVALID, "tcp://ADDRESS:PORT"},
        {"tcp://:7443x", HELIO_INVALID, "tcp://ADDRESS:PORT"},
        {"tcp://nowhere.invalid:7443", HELIO_INVALID, "address"},
        {"carrier-pigeon://x", HELIO_INVALID, "tcp://ADDRESS:PORT"},
        {"7443", HELIO_INVALID, "tcp://ADDRESS:PORT"},
    };
    assert_int_equal(helio_net_new(0, &net, NULL), HELIO_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_error_t err = {0};
        options.endpoint = cases[i].endpoint;
        helio_rc rc = helio_server_new(net, world->loop, &options, &server, &err);
        if (rc != cases[i].rc || !strstr(err.text, cases[i].text) || !strstr(err.text, cases[i].endpoint))
            fail_msg("%s: %s, \"%s\"", cases[i].endpoint, helio_rc_name(rc), err.text);
        assert_null(server);
    }
    helio_error_t err = {0};
    options.endpoint = "tcp://127.0.0.1:*";
    assert_int_equal(helio_server_new(world->net, world->loop, &options, &server, &err), HELIO_CONFLICT);
    assert_non_null(strstr(err.text, "already has a server"));
    options.secret_key = "nonsense";
    assert_int_equal(helio_server_new(net, world->loop, &options, &server, &err), HELIO_INVALID);
    assert_null(strstr(err.text, "nonsense"));
    helio_net_destroy(&net);
}

static void net__bad_targets_and_grants_are_refused(void **state)
{
    world_t *world = *state;
    helio_server_options_t server = server_options(world);
    const char *key = world->server_pair.public_key;
    const helio_dialer_target_t targets[] = {{"127.0.0.1:7443", key}, {"tcp://", key},        {"tcp://host", key},
                                             {"tcp://h:65537", key},  {"tcp://h:*", key},     {"ipc://", key},
                                             {"inproc://x", key},     {"tcp://h:1", "short"}, {"tcp://h:1", NULL}};
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        helio_dialer_t *dialer = NULL;
        helio_error_t err = {0};
        helio_dialer_options_t options = {.targets = &targets[i],
                                          .target_count = 1,
                                          .secret_key = world->pairs[0].secret_key,
                                          .on_message = on_message};
        assert_int_equal(helio_dialer_new(world->client_net, world->loop, &options, &dialer, &err), HELIO_INVALID);
        assert_non_null(strstr(err.text, targets[i].endpoint));
    }
    start_server(world, &server);
    char name[HELIO_PRINCIPAL_MAX + 2];
    memset(name, 'n', sizeof name);
    helio_text_t good = helio_text_of(world->pairs[0].public_key);
    assert_int_equal(helio_server_allow(world->server, HELIO_TEXT("short"), HELIO_TEXT("p"), NULL), HELIO_INVALID);
    assert_int_equal(helio_server_allow(world->server, good, HELIO_TEXT(""), NULL), HELIO_INVALID);
    assert_int_equal(helio_server_allow(world->server, good, HELIO_TEXT("a\0b"), NULL), HELIO_INVALID);
    assert_int_equal(helio_server_allow(world->server, good, (helio_text_t){name, sizeof name - 1}, NULL),
                     HELIO_INVALID);
    assert_int_equal(helio_server_allow(world->server, good, (helio_text_t){name, sizeof name - 2}, NULL), HELIO_OK);
    helio_server_revoke(world->server, HELIO_TEXT("never heard of"));
}

/*  An argument is a pattern of test names. */
int main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(net__the_dialer_detects_a_wrong_server_key),
        TEST(net__a_dialer_awaits_the_handshake_for_as_long_as_the_attempt_may_take),
        TEST(net__a_dialer_reconnects_after_the_server_restarts),
        TEST(net__a_dialer_that_is_repeatedly_refused_waits_longer),
        TEST(net__a_dialer_goes_on_to_the_next_target_and_back),
        TEST(net__sending_is_busy_when_the_queue_is_full_and_recovers),
        TEST(net__the_last_messages_of_a_dialer_arrive),
        TEST(net__errors_of_binding_name_the_endpoint_and_the_remedy),
        TEST(net__bad_targets_and_grants_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
