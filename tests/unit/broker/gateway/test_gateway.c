/*  test_gateway.c -- the front door for sites over loopback: its start, keys that are let in and cut off, a flood of
 *  frames that cannot be read, of which the log keeps a few. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "broker/gateway/gateway.h"
#include "federation/base/clock.h"
#include "federation/net/curve.h"
#include "federation/net/dialer.h"
#include "federation/wire/codec.h"
#include "tests/support/folder.h"

enum { LIMIT_MS = 20000, EVENTS_MAX = 256, DIALERS = 2 };

typedef struct world {
    char folder[32], key[64], log_path[64];
    int log_fd;
    helio_log_t *log;
    helio_loop_t *loop;
    helio_net_t *net, *client_net;
    helio_gateway_t *gateway;
    helio_keypair_t pairs[DIALERS];
    helio_dialer_t *dialers[DIALERS];
    uint32_t events[EVENTS_MAX];
    uint32_t event_count;
    char site[64];             /* of the last HELLO */
    bool bye;                  /* of the last GONE */
    uint32_t frames, failures; /* that the dialers saw */
} world_t;

static void on_event(void *arg, uint32_t kind, const void *payload)
{
    world_t *world = arg;
    assert_true(world->event_count < EVENTS_MAX);
    world->events[world->event_count++] = kind;
    if (kind == HELIO_BROKER_EV_SITE_GONE)
        world->bye = ((const helio_ev_site_gone_t *)payload)->bye;
    if (kind == HELIO_BROKER_EV_SITE_HELLO)
        (void)helio_text_copy(((const helio_ev_site_hello_t *)payload)->site, world->site, sizeof world->site);
}

static helio_rc start(world_t *world, const char *endpoint, const char *key, helio_error_t *err)
{
    helio_gateway_options_t options = {
        .endpoint = endpoint, .secret_key_path = key, .emit = on_event, .arg = world, .log = world->log};
    return helio_gateway_new(world->net, world->loop, &options, &world->gateway, err);
}

static void write_key(const world_t *world, const char *path)
{
    helio_keypair_t pair;
    (void)world;
    assert_int_equal(helio_keypair_new(&pair, NULL), HELIO_OK);
    assert_int_equal(helio_keypair_save(&pair, path, NULL), HELIO_OK);
}

static int set_up(void **state)
{
    world_t *world = helio_new(1, sizeof *world);
    (void)snprintf(world->folder, sizeof world->folder, "/tmp/helio-gateway-XXXXXX");
    assert_non_null(mkdtemp(world->folder));
    (void)snprintf(world->key, sizeof world->key, "%s/broker.key", world->folder);
    (void)snprintf(world->log_path, sizeof world->log_path, "%s/log", world->folder);
    FILE *file = fopen(world->log_path, "we");
    assert_non_null(file);
    world->log_fd = dup(fileno(file));
    (void)fclose(file);
    world->log = helio_log_new(world->log_fd, HELIO_WARN, "test");
    write_key(world, world->key);
    assert_int_equal(helio_loop_new(&world->loop, NULL), HELIO_OK);
    assert_int_equal(helio_net_new(16, &world->net, NULL), HELIO_OK);
    assert_int_equal(helio_net_new(16, &world->client_net, NULL), HELIO_OK);
    for (int i = 0; i < DIALERS; i++)
        assert_int_equal(helio_keypair_new(&world->pairs[i], NULL), HELIO_OK);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    world_t *world = *state;
    for (int i = 0; i < DIALERS; i++)
        helio_dialer_destroy(&world->dialers[i]);
    helio_gateway_destroy(&world->gateway);
    helio_net_destroy(&world->client_net);
    helio_net_destroy(&world->net);
    helio_loop_destroy(&world->loop);
    helio_log_destroy(&world->log);
    (void)close(world->log_fd);
    assert_int_equal(folder_remove(world->folder), 0);
    free(world);
    return 0;
}

/* ---- sites --------------------------------------------------------------------------------------------- */

static void on_frame(void *arg, helio_text_t frame)
{
    (void)frame;
    ((world_t *)arg)->frames++;
}

static void on_failed(void *arg, const char *endpoint, const char *why)
{
    (void)endpoint;
    (void)why;
    ((world_t *)arg)->failures++;
}

static helio_dialer_t *dial(world_t *world, int which)
{
    helio_dialer_target_t target = {helio_gateway_endpoint(world->gateway), helio_gateway_public_key(world->gateway)};
    helio_dialer_options_t options = {.targets = &target,
                                      .target_count = 1,
                                      .secret_key = world->pairs[which].secret_key,
                                      .backoff_min_ms = 20,
                                      .backoff_max_ms = 50,
                                      .linger_ms = -1,
                                      .seed = 7,
                                      .on_message = on_frame,
                                      .on_failed = on_failed,
                                      .arg = world};
    assert_int_equal(helio_dialer_new(world->client_net, world->loop, &options, &world->dialers[which], NULL),
                     HELIO_OK);
    return world->dialers[which];
}

static void allow(world_t *world, int which, const char *site, int64_t revoked_ms)
{
    helio_row_site_key_t row = {.public_key = helio_text_of(world->pairs[which].public_key),
                                .site = helio_text_of(site),
                                .created_ms = 1,
                                .revoked_ms = revoked_ms};
    helio_gateway_site_key(world->gateway, &row);
}

#define TURN_UNTIL(world, condition)                                             \
    do {                                                                         \
        int64_t give_up_ms = helio_clock_boot_ms() + LIMIT_MS;                   \
        while (!(condition)) {                                                   \
            if (helio_clock_boot_ms() > give_up_ms)                              \
                fail_msg("it did not happen: %s", #condition);                   \
            assert_int_equal(helio_loop_turn((world)->loop, 5, NULL), HELIO_OK); \
        }                                                                        \
    } while (0)

static void say(world_t *world, int which, const char *site)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t frame = {0};
    helio_msg_hello_t hello = {.protocol = HELIO_PROTOCOL_VERSION, .protocol_min = HELIO_PROTOCOL_VERSION_MIN};
    hello.profile.name = helio_text_of(site);
    hello.profile.backend = HELIO_TEXT("local");
    hello.profile.pue = 1;
    assert_int_equal(helio_wire_encode(HELIO_MSG_HELLO, &hello, &frame, NULL), HELIO_OK);
    assert_int_equal(helio_dialer_send(world->dialers[which], helio_buffer_view(&frame)), HELIO_OK);
}

static helio_sessions_figures_t figures(world_t *world)
{
    helio_sessions_figures_t now;
    helio_sessions_figures(helio_gateway_sessions(world->gateway), &now);
    return now;
}

static uint32_t lines_of_log(const world_t *world, const char *word)
{
    char line[2048];
    uint32_t count = 0;
    FILE *file = fopen(world->log_path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        count += strstr(line, word) != NULL;
    (void)fclose(file);
    return count;
}

/* ---- the start ----------------------------------------------------------------------------------------- */

static void gateway__that_cannot_start_says_what_is_missing_and_what_to_do(void **state)
{
    world_t *world = *state;
    char none[64], open[64], junk[64], command[128];
    (void)snprintf(none, sizeof none, "%s/none.key", world->folder);
    (void)snprintf(open, sizeof open, "%s/open.key", world->folder);
    (void)snprintf(junk, sizeof junk, "%s/junk.key", world->folder);
    write_key(world, open);
    assert_int_equal(chmod(open, 0644), 0);
    FILE *file = fopen(junk, "we");
    assert_non_null(file);
    assert_true(fputs("not a key\n", file) >= 0);
    (void)fclose(file);
    assert_int_equal(chmod(junk, 0600), 0);
    (void)snprintf(command, sizeof command, "create it with `helio-broker keygen %s`", none);
    const struct {
        const char *endpoint, *key;
        helio_rc rc; /* HELIO_OK = any failure */
        const char *text;
    } rows[] = {
        {"tcp://127.0.0.1:*", none, HELIO_NOT_FOUND, command},
        {"tcp://127.0.0.1:*", open, HELIO_OK, open},
        {"tcp://127.0.0.1:*", junk, HELIO_OK, junk},
        {"tcp://192.0.2.1:7443", world->key, HELIO_OK, "192.0.2.1"}, /* none of this machine's */
        {"udp://127.0.0.1:1", world->key, HELIO_OK, "udp://127.0.0.1:1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        helio_error_t err = {.text = ""};
        helio_rc rc = start(world, rows[i].endpoint, rows[i].key, &err);
        if (rc == HELIO_OK || (rows[i].rc && rc != rows[i].rc) || !strstr(err.text, rows[i].text))
            fail_msg("case %zu: %s: %s", i, helio_rc_text(rc), err.text);
        assert_null(world->gateway);
    }
    helio_error_t err = {.text = ""};
    assert_int_equal(start(world, "tcp://127.0.0.1:*", world->key, &err), HELIO_OK);
    helio_gateway_t *first = world->gateway;
    char taken[128];
    (void)snprintf(taken, sizeof taken, "%s", helio_gateway_endpoint(first));
    helio_net_t *net = world->net;
    world->net = world->client_net; /* one server a net */
    helio_rc rc = start(world, taken, world->key, &err);
    world->net = net;
    world->gateway = first;
    assert_int_not_equal(rc, HELIO_OK);
    assert_non_null(strstr(err.text, taken));
    assert_non_null(strstr(err.text, "the port is in use"));
}

/* ---- keys ---------------------------------------------------------------------------------------------- */

static void gateway__lets_in_a_key_as_its_site_until_it_is_revoked(void **state)
{
    world_t *world = *state;
    assert_int_equal(start(world, "tcp://127.0.0.1:*", world->key, NULL), HELIO_OK);
    (void)dial(world, 0);
    TURN_UNTIL(world, world->failures > 0); /* nobody is allowed in yet */
    allow(world, 0, "lulea", 0);
    TURN_UNTIL(world, helio_dialer_is_connected(world->dialers[0]));
    say(world, 0, "lulea");
    TURN_UNTIL(world, world->event_count == 1);
    assert_int_equal(world->events[0], HELIO_BROKER_EV_SITE_HELLO);
    assert_string_equal(world->site, "lulea");
    allow(world, 1, "oregon", 0);
    (void)dial(world, 1);
    TURN_UNTIL(world, helio_dialer_is_connected(world->dialers[1]));
    allow(world, 0, "lulea", 1234);
    TURN_UNTIL(world, world->event_count == 2);
    assert_int_equal(world->events[1], HELIO_BROKER_EV_SITE_GONE);
    assert_true(world->bye); /* it cannot come back: the next leader awaits nobody */
    assert_int_equal(figures(world).sessions, 0);
    TURN_UNTIL(world, !helio_dialer_is_connected(world->dialers[0])); /* and it is not let in again */
    say(world, 1, "oregon");
    TURN_UNTIL(world, world->event_count == 3);
    assert_string_equal(world->site, "oregon");
    assert_int_equal(figures(world).sessions, 1);
    assert_int_equal(figures(world).frames_in_total, 2);
    assert_false(helio_dialer_is_connected(world->dialers[0]));
}

static void gateway__a_key_that_is_none_is_logged_and_keeps_nobody_out(void **state)
{
    world_t *world = *state;
    assert_int_equal(start(world, "tcp://127.0.0.1:*", world->key, NULL), HELIO_OK);
    static const struct {
        const char *key, *site;
    } bad[] = {
        {"short", "lulea"},
        {"", "lulea"},
        {"rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7", ""},
        {"rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" /* 33 */},
        {"rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf~", "lulea"}, /* no letter of Z85 */
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        helio_row_site_key_t row = {.public_key = helio_text_of(bad[i].key), .site = helio_text_of(bad[i].site)};
        helio_gateway_site_key(world->gateway, &row);
    }
    assert_int_equal(lines_of_log(world, "site_key_unusable"), sizeof bad / sizeof bad[0]);
    allow(world, 1, "oregon", 0);
    (void)dial(world, 1);
    TURN_UNTIL(world, helio_dialer_is_connected(world->dialers[1]));
}

/* ---- floods -------------------------------------------------------------------------------------------- */

/*  Each is counted, and the log does not grow with them. */
static void gateway__a_flood_of_bad_frames_is_counted_and_logged_a_few_times(void **state)
{
    world_t *world = *state;
    enum { FLOOD = 2000 };
    assert_int_equal(start(world, "tcp://127.0.0.1:*", world->key, NULL), HELIO_OK);
    allow(world, 0, "lulea\n", 0); /* a name is quoted in the log, not written */
    (void)dial(world, 0);
    TURN_UNTIL(world, helio_dialer_is_connected(world->dialers[0]));
    for (uint32_t sent = 0; sent < FLOOD;) {
        helio_rc rc = helio_dialer_send(world->dialers[0], HELIO_TEXT("\xc1 no message\r\nlevel=error forged=1"));
        if (rc == HELIO_OK)
            sent++;
        else /* the queue is full: the server reads */
            assert_int_equal(helio_loop_turn(world->loop, 5, NULL), HELIO_OK);
    }
    TURN_UNTIL(world, figures(world).frames_in_total == FLOOD);
    assert_int_equal(figures(world).frames_bad_total[HELIO_BAD_FRAME_MALFORMED], FLOOD);
    assert_int_equal(world->event_count, 0);
    assert_int_equal(world->frames, 0);
    uint32_t lines = lines_of_log(world, "frame_dropped");
    assert_true(lines >= 1 && lines < 100);
    assert_int_equal(lines_of_log(world, ""), lines); /* none of them was broken in two */
    assert_int_equal(lines_of_log(world, "why=malformed"), lines);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(gateway__that_cannot_start_says_what_is_missing_and_what_to_do),
        CASE(gateway__lets_in_a_key_as_its_site_until_it_is_revoked),
        CASE(gateway__a_key_that_is_none_is_logged_and_keeps_nobody_out),
        CASE(gateway__a_flood_of_bad_frames_is_counted_and_logged_a_few_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
