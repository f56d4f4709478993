/*  test_hostile.c -- peers that are not who they should be, never read, or send too much. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/federation/net/net_testing.h"

/* ---- the dialer's side --------------------------------------------------------------------------------- */

static void prepare_raw(world_t *world, void *socket, int key)
{
    int zero = 0, one = 1;
    assert_int_equal(zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, world->server_pair.public_key, 40), 0);
    assert_int_equal(zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, world->pairs[key].public_key, 40), 0);
    assert_int_equal(zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, world->pairs[key].secret_key, 40), 0);
    assert_int_equal(zmq_setsockopt(socket, ZMQ_LINGER, &zero, sizeof zero), 0);
    assert_int_equal(zmq_setsockopt(socket, ZMQ_RCVHWM, &one, sizeof one), 0);
    assert_int_equal(zmq_connect(socket, helio_server_endpoint(world->server)), 0);
}

/*  A client of plain libzmq, with whatever a hostile one would set. */
static void *raw_client(world_t *world, void *context, int key, const char *routing_id)
{
    void *socket = zmq_socket(context, ZMQ_DEALER);
    if (routing_id)
        assert_int_equal(zmq_setsockopt(socket, ZMQ_ROUTING_ID, routing_id, strlen(routing_id)), 0);
    prepare_raw(world, socket, key);
    return socket;
}

/* ---- tests --------------------------------------------------------------------------------------------- */

static void net__an_unknown_key_gets_nothing(void **state)
{
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    client_t known = {0}, stranger = {0};
    start_server(world, &options);
    allow(world, 0, "site:lulea");
    dial(world, &stranger, 1);
    UNTIL(world, stranger.failed >= 2); /* it retries without success */
    assert_non_null(strstr(stranger.why, "does not know this key"));
    assert_int_equal(stranger.connected, 0);
    assert_int_equal(helio_dialer_send(stranger.dialer, HELIO_TEXT("x")), HELIO_UNAVAILABLE);
    connect_as(world, &known, 0); /* while it keeps trying, others are served */
    say(&known, "hello");
    UNTIL(world, world->heard_count);
    assert_string_equal(last_heard(world)->principal, "site:lulea");
    assert_true(counters(world).handshakes_refused >= 2);
    assert_int_equal(counters(world).handshakes_accepted, 1);
    allow(world, 1, "site:oregon"); /* let in at run time */
    UNTIL(world, stranger.connected);
}

/*  As a broker that does not lead: it has not read the keys. */
static void net__a_server_without_keys_says_that_it_admits_nobody(void **state)
{
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    client_t a = {0};
    start_server(world, &options);
    dial(world, &a, 0);
    UNTIL(world, a.failed >= 1);
    assert_non_null(strstr(a.why, "admits no agents now: it is not the leader"));
    allow(world, 1, "site:oregon"); /* it has read them, and this one is not among them */
    uint32_t failed = (uint32_t)a.failed;
    UNTIL(world, (uint32_t)a.failed >= failed + 2);
    assert_non_null(strstr(a.why, "does not know this key"));
    allow(world, 0, "site:lulea");
    UNTIL(world, a.connected);
}

static void net__a_revoked_key_is_cut_off_on_its_live_connection(void **state)
{
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    client_t a = {0}, b = {0};
    start_server(world, &options);
    allow(world, 0, "site:lulea");
    allow(world, 1, "site:oregon");
    connect_as(world, &a, 0);
    connect_as(world, &b, 1);
    say(&a, "before");
    UNTIL(world, world->heard_count == 1);
    uint64_t peer = last_heard(world)->peer;
    helio_server_revoke(world->server, helio_text_of(world->pairs[0].public_key));
    assert_int_equal(helio_server_send(world->server, peer, HELIO_TEXT("x")), HELIO_UNAVAILABLE);
    UNTIL(world, world->gone_count);
    assert_int_equal(world->gone_peer, peer);
    assert_int_equal(world->gone_why, HELIO_GONE_REVOKED);
    UNTIL(world, a.disconnected == 1); /* the connection is closed … */
    UNTIL(world, a.failed);            /* … and there is no new one */
    assert_non_null(strstr(a.why, "does not know this key"));
    say(&b, "b");
    UNTIL(world, world->heard_count == 2);
    assert_string_equal(last_heard(world)->frame, "b");
    assert_int_equal(a.received, 0);
}

static void net__a_key_can_be_revoked_while_its_message_is_handled(void **state)
{
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    client_t a = {0};
    start_server(world, &options);
    allow(world, 0, "site:lulea");
    connect_as(world, &a, 0);
    world->revoke_on_message = true;
    say(&a, "one");
    say(&a, "two");
    UNTIL(world, world->gone_count && a.disconnected);
    assert_int_equal(world->heard_count, 1);
}

static void net__another_principal_for_a_key_ends_its_peers(void **state)
{
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    client_t a = {0}, b = {0};
    start_server(world, &options);
    allow(world, 0, "site:lulea");
    allow(world, 1, "site:oregon");
    allow(world, 0, "site:lulea"); /* the same again: no change */
    connect_as(world, &a, 0);
    connect_as(world, &b, 1);
    say(&a, "1");
    say(&b, "1");
    UNTIL(world, world->heard_count == 2);
    helio_grant_t grants[] = {
        {helio_text_of(world->pairs[0].public_key), HELIO_TEXT("site:kiruna")},
        {helio_text_of(world->pairs[1].public_key), HELIO_TEXT("site:oregon")},
        {helio_text_of(world->pairs[2].public_key), HELIO_TEXT("")},
    };
    assert_int_equal(helio_server_replace(world->server, grants, 3, NULL), HELIO_INVALID);
    turn(world, 0);
    assert_int_equal(world->gone_count, 0); /* a bad table changes nothing */
    assert_int_equal(helio_server_replace(world->server, grants, 2, NULL), HELIO_OK);
    UNTIL(world, world->gone_count);
    UNTIL(world, a.connected == 2); /* the former connection was closed */
    assert_int_equal(b.connected, 1);
    say(&a, "2");
    UNTIL(world, world->heard_count == 3);
    assert_string_equal(last_heard(world)->principal, "site:kiruna");
    assert_true(last_heard(world)->peer != world->gone_peer);
    assert_int_equal(helio_server_replace(world->server, grants, 1, NULL), HELIO_OK); /* b is not named */
    UNTIL(world, world->gone_count == 2);
    UNTIL(world, b.disconnected == 1 && b.failed);
    assert_int_equal(b.connected, 1);
}

static void net__a_key_with_too_many_connections_loses_the_most_silent_one(void **state)
{
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    client_t clients[3] = {0};
    options.peers_per_key = 2;
    start_server(world, &options);
    allow(world, 0, "site:lulea");
    for (int i = 0; i < 3; i++) {
        connect_as(world, &clients[i], 0);
        say(&clients[i], "x");
        UNTIL(world, world->heard_count == (size_t)i + 1);
    }
    UNTIL(world, world->gone_count);
    assert_int_equal(world->gone_why, HELIO_GONE_CROWDED);
    assert_int_equal(world->gone_peer, world->heard[0].peer);
    assert_int_equal(counters(world).peers, 2);
}

static void net__a_silent_peer_is_declared_gone(void **state)
{
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    client_t a = {0};
    options.idle_ms = 20;
    start_server(world, &options);
    allow(world, 0, "site:lulea");
    connect_as(world, &a, 0);
    say(&a, "x");
    UNTIL(world, world->gone_count);
    assert_int_equal(world->gone_why, HELIO_GONE_IDLE);
    uint64_t former = world->gone_peer;
    UNTIL(world, a.connected == 2);
    say(&a, "y"); /* speaks again: as a new peer */
    UNTIL(world, world->heard_count == 2);
    assert_true(last_heard(world)->peer > former);
}

static void net__frames_beyond_the_maximum_do_not_pass(void **state)
{
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    client_t a = {0};
    enum { HUGE_FRAME = 80 << 10 };
    char *big = helio_new(HUGE_FRAME, 1);
    helio_text_t most = {big, 64 << 10}, more = {big, (64 << 10) + 1};
    start_server(world, &options);
    allow(world, 0, "site:lulea");
    allow(world, 1, "site:oregon");
    connect_as(world, &a, 0);
    assert_int_equal(helio_dialer_send(a.dialer, more), HELIO_TOO_BIG);
    assert_int_equal(helio_dialer_send(a.dialer, HELIO_TEXT("")), HELIO_INVALID);
    assert_int_equal(helio_dialer_send(a.dialer, most), HELIO_OK);
    UNTIL(world, world->heard_count);
    assert_int_equal(last_heard(world)->size, most.size);
    assert_int_equal(helio_server_send(world->server, last_heard(world)->peer, more), HELIO_TOO_BIG);
    assert_int_equal(helio_server_send(world->server, last_heard(world)->peer, HELIO_TEXT("")), HELIO_INVALID);
    /* A client without such manners. A little too much is dropped … */
    void *context = zmq_ctx_new(), *raw = raw_client(world, context, 1, NULL);
    assert_int_equal(zmq_send(raw, big, more.size, 0), more.size);
    assert_int_equal(zmq_send(raw, "first", 5, 0), 5);
    UNTIL(world, world->heard_count == 2);
    assert_int_equal(counters(world).dropped_big, 1);
    /* … and much too much is not even read: it has to connect anew. */
    uint64_t former = last_heard(world)->peer;
    assert_int_equal(zmq_send(raw, big, HUGE_FRAME, 0), HUGE_FRAME);
    char text[16];
    for (int i = 0; world->heard_count < 3; i++) {
        int size = snprintf(text, sizeof text, "next %d", i);
        (void)zmq_send(raw, text, (size_t)size, ZMQ_DONTWAIT);
        turn(world, 20);
        assert_true(i < LIMIT_MS / 20);
    }
    assert_true(last_heard(world)->peer != former);
    for (size_t i = 0; i < world->heard_count && i < LOG_SIZE; i++)
        assert_true(world->heard[i].size <= most.size);
    (void)zmq_close(raw);
    (void)zmq_ctx_term(context);
    free(big);
}

static void net__a_peer_that_never_reads_is_declared_gone_while_others_are_served(void **state)
{
    enum { FRAME = 16 << 10 };
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    client_t good = {0};
    char *data = helio_new(FRAME, 1);
    options.queue_messages = 4;
    options.outbox_max_messages = 64;
    start_server(world, &options);
    allow(world, 0, "site:deaf");
    allow(world, 1, "site:good");
    connect_as(world, &good, 1);
    say(&good, "hello");
    UNTIL(world, world->heard_count == 1);
    uint64_t good_peer = last_heard(world)->peer;
    void *context = zmq_ctx_new(), *raw = raw_client(world, context, 0, NULL);
    assert_int_equal(zmq_send(raw, "hello", 5, 0), 5);
    UNTIL(world, world->heard_count == 2);
    uint64_t deaf = last_heard(world)->peer;
    helio_rc rc = HELIO_OK;
    int sent = 0;
    for (; !rc && sent < 100000; sent++) {
        rc = helio_server_send(world->server, deaf, (helio_text_t){data, FRAME});
        assert_true(counters(world).outbox_messages <= 64);
        if (sent % 16 == 0) {
            size_t received = good.received;
            assert_int_equal(helio_server_send(world->server, good_peer, HELIO_TEXT("ping")), HELIO_OK);
            UNTIL(world, good.received == received + 1);
        }
    }
    assert_int_equal(rc, HELIO_UNAVAILABLE);
    assert_true(sent > 64);
    UNTIL(world, world->gone_count);
    assert_int_equal(world->gone_peer, deaf);
    assert_int_equal(world->gone_why, HELIO_GONE_OVERFLOW);
    assert_int_equal(counters(world).outbox_messages, 0);
    assert_int_equal(counters(world).outbox_bytes, 0);
    assert_true(counters(world).queued >= 64);
    (void)zmq_close(raw);
    (void)zmq_ctx_term(context);
    free(data);
}

static void net__a_slow_reader_gets_everything_in_order_from_its_outbox(void **state)
{
    enum { FRAME = 16 << 10, COUNT = 1500 };
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    options.queue_messages = 4;
    options.outbox_max_bytes = 64 << 20;
    start_server(world, &options);
    allow(world, 0, "site:slow");
    void *context = zmq_ctx_new(), *raw = raw_client(world, context, 0, NULL);
    assert_int_equal(zmq_send(raw, "hello", 5, 0), 5);
    UNTIL(world, world->heard_count);
    uint32_t *data = helio_new(FRAME / 4, 4);
    for (uint32_t i = 0; i < COUNT; i++) {
        data[0] = i;
        assert_int_equal(helio_server_send(world->server, last_heard(world)->peer, (helio_text_t){(char *)data, FRAME}),
                         HELIO_OK);
    }
    assert_true(counters(world).outbox_messages > 0);
    int64_t end_ms = helio_clock_boot_ms() + LIMIT_MS;
    for (uint32_t expected = 0; expected < COUNT;) {
        assert_true(helio_clock_boot_ms() < end_ms);
        if (zmq_recv(raw, data, FRAME, ZMQ_DONTWAIT) == FRAME)
            assert_int_equal(data[0], expected++);
        else
            turn(world, 5);
    }
    UNTIL(world, counters(world).outbox_messages == 0);
    assert_int_equal(counters(world).sent, COUNT);
    assert_int_equal(world->gone_count, 0);
    (void)zmq_close(raw);
    (void)zmq_ctx_term(context);
    free(data);
}

static void net__multi_part_messages_are_dropped_and_chosen_routing_ids_mean_nothing(void **state)
{
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    start_server(world, &options);
    allow(world, 0, "site:lulea");
    void *context = zmq_ctx_new(), *parts = raw_client(world, context, 0, NULL);
    void *named = raw_client(world, context, 0, "site-b");
    assert_int_equal(zmq_send(parts, "a", 1, ZMQ_SNDMORE), 1);
    assert_int_equal(zmq_send(parts, "b", 1, ZMQ_SNDMORE), 1);
    assert_int_equal(zmq_send(parts, "c", 1, 0), 1);
    assert_int_equal(zmq_send(parts, "single", 6, 0), 6);
    assert_int_equal(zmq_send(named, "x", 1, 0), 1);
    UNTIL(world, world->heard_count == 2 && counters(world).dropped_multipart == 1);
    assert_true(world->heard[0].peer != world->heard[1].peer);
    assert_int_equal(counters(world).dropped_multipart, 1);
    for (int i = 0; i < 2; i++) {
        const heard_t *heard = &world->heard[i];
        assert_string_equal(heard->principal, "site:lulea");
        assert_true(strcmp(heard->frame, "single") == 0 || strcmp(heard->frame, "x") == 0);
    }
    (void)zmq_close(parts);
    (void)zmq_close(named);
    (void)zmq_ctx_term(context);
}

/* ---- routing ids ---------------------------------------------------------------------------------------- */

enum { GUESSES = 8 };

/*  The ids that a ROUTER of this process would give to its next peers: libzmq draws the first of them from rand(). The
 *  authenticator is a kind of ROUTER, too, and draws before the server does. */
static void guess_routing_ids(world_t *world, const helio_server_options_t *options, uint32_t *ret_first)
{
    enum { SEED = 7 };
    assert_int_equal(helio_net_new(0, &world->net, NULL), HELIO_OK); /* seeds rand() itself */
    srand(SEED);
    (void)rand(), (void)rand();
    uint32_t low = (uint32_t)rand(), high = (uint32_t)rand();
    *ret_first = high << 31 | low;
    srand(SEED);
    start_server(world, options);
}

static void *raw_client_of_number(world_t *world, void *context, int key, uint32_t number)
{
    char id[] = {0, (char)(number >> 24), (char)(number >> 16), (char)(number >> 8), (char)number};
    void *socket = zmq_socket(context, ZMQ_DEALER);
    assert_int_equal(zmq_setsockopt(socket, ZMQ_ROUTING_ID, id, sizeof id), 0);
    prepare_raw(world, socket, key);
    return socket;
}

static void net__a_peer_that_takes_the_next_routing_id_harms_nobody(void **state)
{
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    client_t clients[GUESSES] = {0};
    uint32_t first;
    guess_routing_ids(world, &options, &first);
    allow(world, 0, "site:hostile");
    allow(world, 1, "site:good");
    world->echo = true;
    void *context = zmq_ctx_new(), *hostile[GUESSES];
    for (uint32_t i = 0; i < GUESSES; i++) {
        hostile[i] = raw_client_of_number(world, context, 0, first + i);
        assert_int_equal(zmq_send(hostile[i], "mine", 4, 0), 4);
    }
    for (int i = 0; i < 50; i++)
        turn(world, 5);
    for (int i = 0; i < GUESSES; i++) {
        connect_as(world, &clients[i], 1);
        say(&clients[i], "hello");
        UNTIL(world, clients[i].received == 1);
        assert_string_equal(clients[i].frame, "hello");
    }
    for (int i = 0; i < GUESSES; i++)
        (void)zmq_close(hostile[i]);
    (void)zmq_ctx_term(context);
}

static void net__a_peer_that_takes_a_former_routing_id_gets_nothing_of_its_owner(void **state)
{
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    client_t good = {0};
    uint32_t first;
    guess_routing_ids(world, &options, &first);
    allow(world, 0, "site:hostile");
    allow(world, 1, "site:good");
    connect_as(world, &good, 1);
    say(&good, "hello");
    UNTIL(world, world->heard_count == 1);
    uint64_t peer = last_heard(world)->peer;
    hang_up(world, &good);
    for (int i = 0; i < 20; i++)
        turn(world, 5);
    void *context = zmq_ctx_new(), *hostile[GUESSES];
    for (uint32_t i = 0; i < GUESSES; i++) /* they wait silently */
        hostile[i] = raw_client_of_number(world, context, 0, first + i);
    for (int i = 0; i < 50; i++)
        turn(world, 5);
    helio_rc rc = helio_server_send(world->server, peer, HELIO_TEXT("a secret order"));
    assert_true(rc == HELIO_OK || rc == HELIO_UNAVAILABLE); /* lost or refused, but never another's */
    for (int i = 0; i < 50; i++)
        turn(world, 5);
    for (int i = 0; i < GUESSES; i++) {
        char frame[32];
        assert_int_equal(zmq_recv(hostile[i], frame, sizeof frame, ZMQ_DONTWAIT), -1);
        (void)zmq_close(hostile[i]);
    }
    (void)zmq_ctx_term(context);
}

static void net__connections_that_prove_nothing_are_bounded_and_keep_nobody_out(void **state)
{
    enum { CROWD = 300, BOUND = 256 };
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    client_t good = {0};
    int crowd[CROWD];
    start_server(world, &options);
    allow(world, 0, "site:lulea");
    unsigned port = (unsigned)strtoul(strrchr(helio_server_endpoint(world->server), ':') + 1, NULL, 10);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (int i = 0; i < CROWD; i++) {
        crowd[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_true(crowd[i] >= 0);
        assert_int_equal(connect(crowd[i], (struct sockaddr *)&address, sizeof address), 0);
        turn(world, 0);
        assert_true(counters(world).strangers <= BOUND);
    }
    connect_as(world, &good, 0);
    say(&good, "hello");
    UNTIL(world, world->heard_count == 1);
    assert_true(counters(world).strangers > 0);
    for (int i = 0; i < CROWD; i++)
        (void)close(crowd[i]);
    UNTIL(world, counters(world).strangers == 0);
    assert_int_equal(world->gone_count, 0);
}

static int stranger_from(const world_t *world, in_addr_t source)
{
    struct sockaddr_in from = {.sin_family = AF_INET}, to = {.sin_family = AF_INET};
    from.sin_addr.s_addr = htonl(source);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons((uint16_t)strtoul(strrchr(helio_server_endpoint(world->server), ':') + 1, NULL, 10));
    int stranger = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(stranger >= 0);
    assert_int_equal(bind(stranger, (struct sockaddr *)&from, sizeof from), 0);
    assert_int_equal(connect(stranger, (struct sockaddr *)&to, sizeof to), 0);
    return stranger;
}

/*  The broker has hung up. */
static bool is_cut_off(int stranger)
{
    char greeting[256];
    ssize_t size;
    while ((size = recv(stranger, greeting, sizeof greeting, MSG_DONTWAIT)) > 0)
        continue;
    return size == 0 || errno != EAGAIN;
}

static void net__a_crowd_from_one_address_leaves_the_handshakes_of_others_alone(void **state)
{
    enum { CROWD = 600, SLOW = 3 };
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    int crowd[CROWD], slow[SLOW];
    start_server(world, &options);
    allow(world, 0, "site:lulea");
    for (int i = 0; i < SLOW; i++) {
        slow[i] = stranger_from(world, INADDR_LOOPBACK + (in_addr_t)i);
        turn(world, 0);
    }
    for (int i = 0; i < CROWD; i++) {
        crowd[i] = stranger_from(world, INADDR_LOOPBACK + 8);
        turn(world, 0);
    }
    UNTIL(world, is_cut_off(crowd[CROWD - 300])); /* whoever comes takes the place of one from the same address */
    for (int i = 0; i < SLOW; i++)
        assert_false(is_cut_off(slow[i]));
    for (int i = 0; i < CROWD; i++)
        (void)close(crowd[i]);
    for (int i = 0; i < SLOW; i++)
        (void)close(slow[i]);
    UNTIL(world, counters(world).strangers == 0);
}

static void net__a_key_that_sends_too_much_is_read_at_its_rate_and_loses_nothing(void **state)
{
    enum { RATE = 200, SAVED = 4 * RATE, COUNT = SAVED + RATE };
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    client_t good = {0};
    options.rate.messages_per_s = RATE;
    start_server(world, &options);
    allow(world, 0, "site:flood");
    allow(world, 1, "site:good");
    void *context = zmq_ctx_new(), *raw = raw_client(world, context, 0, NULL);
    int64_t begin_ms = helio_clock_boot_ms();
    for (uint32_t i = 0; i < COUNT; i++)
        assert_int_equal(zmq_send(raw, &i, sizeof i, 0), sizeof i);
    UNTIL(world, world->heard_count >= SAVED);
    assert_true(world->heard_count < COUNT || helio_clock_boot_ms() - begin_ms >= 900);
    connect_as(world, &good, 1); /* others do not wait */
    say(&good, "hello");
    UNTIL(world, strcmp(last_heard(world)->frame, "hello") == 0);
    UNTIL(world, world->heard_count == COUNT + 1);
    assert_true(helio_clock_boot_ms() - begin_ms >= 900);
    assert_true(counters(world).slowed > 0);
    assert_int_equal(world->gone_count, 0);
    (void)zmq_close(raw);
    (void)zmq_ctx_term(context);
}

static void net__the_end_of_a_connection_is_seen_without_sending(void **state)
{
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    client_t good = {0};
    start_server(world, &options);
    allow(world, 0, "site:lulea");
    connect_as(world, &good, 0);
    say(&good, "hello");
    UNTIL(world, world->heard_count == 1);
    int64_t begin_ms = helio_clock_boot_ms();
    hang_up(world, &good);
    UNTIL(world, world->gone_count == 1);
    assert_true(helio_clock_boot_ms() - begin_ms < 5000); /* long before heartbeats fail */
    assert_int_equal(world->gone_why, HELIO_GONE_UNREACHABLE);
    assert_int_equal(world->gone_peer, last_heard(world)->peer);
}

static void net__a_client_without_curve_gets_nothing(void **state)
{
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    client_t a = {0};
    int zero = 0;
    start_server(world, &options);
    allow(world, 0, "site:lulea");
    void *context = zmq_ctx_new(), *plain = zmq_socket(context, ZMQ_DEALER);
    assert_int_equal(zmq_setsockopt(plain, ZMQ_LINGER, &zero, sizeof zero), 0);
    assert_int_equal(zmq_connect(plain, helio_server_endpoint(world->server)), 0);
    assert_int_equal(zmq_send(plain, "x", 1, 0), 1);
    connect_as(world, &a, 0);
    for (int i = 0; i < 10; i++) {
        say(&a, "y");
        UNTIL(world, world->heard_count == (size_t)i + 1);
        assert_string_equal(last_heard(world)->frame, "y");
    }
    (void)zmq_close(plain);
    (void)zmq_ctx_term(context);
}

/*  An argument is a pattern of test names. */
int main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(net__an_unknown_key_gets_nothing),
        TEST(net__a_server_without_keys_says_that_it_admits_nobody),
        TEST(net__a_revoked_key_is_cut_off_on_its_live_connection),
        TEST(net__a_key_can_be_revoked_while_its_message_is_handled),
        TEST(net__another_principal_for_a_key_ends_its_peers),
        TEST(net__a_key_with_too_many_connections_loses_the_most_silent_one),
        TEST(net__a_silent_peer_is_declared_gone),
        TEST(net__frames_beyond_the_maximum_do_not_pass),
        TEST(net__a_peer_that_never_reads_is_declared_gone_while_others_are_served),
        TEST(net__a_slow_reader_gets_everything_in_order_from_its_outbox),
        TEST(net__multi_part_messages_are_dropped_and_chosen_routing_ids_mean_nothing),
        TEST(net__a_peer_that_takes_the_next_routing_id_harms_nobody),
        TEST(net__a_peer_that_takes_a_former_routing_id_gets_nothing_of_its_owner),
        TEST(net__connections_that_prove_nothing_are_bounded_and_keep_nobody_out),
        TEST(net__a_crowd_from_one_address_leaves_the_handshakes_of_others_alone),
        TEST(net__a_key_that_sends_too_much_is_read_at_its_rate_and_loses_nothing),
        TEST(net__the_end_of_a_connection_is_seen_without_sending),
        TEST(net__a_client_without_curve_gets_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
