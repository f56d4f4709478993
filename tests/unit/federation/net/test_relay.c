/*  test_relay.c -- the bytes of a connection, and what is left of them when one side goes away. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "federation/net/relay.h"

enum { UNREAD_MAX = 64 << 10 };

/*  peer ~ relay.outer (TCP), relay.inner ~ program. */
typedef struct stage {
    helio_relay_t relay;
    int peer, program;
} stage_t;

static void set_up(stage_t *stage)
{
    int inner[2], port = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    *stage = (stage_t){.relay.unread_max = UNREAD_MAX, .peer = socket(AF_INET, SOCK_STREAM, 0)};
    assert_int_equal(bind(port, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(port, 1), 0);
    assert_int_equal(getsockname(port, (struct sockaddr *)&address, &size), 0);
    assert_int_equal(connect(stage->peer, (struct sockaddr *)&address, size), 0);
    stage->relay.outer = accept(port, NULL, NULL);
    assert_true(stage->relay.outer >= 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, inner), 0);
    stage->relay.inner = inner[0];
    stage->program = inner[1];
    (void)close(port);
}

static void tear_down(stage_t *stage)
{
    helio_relay_clear(&stage->relay);
    (void)close(stage->relay.outer);
    (void)close(stage->relay.inner);
    (void)close(stage->program);
}

static void wait_for(int fd, short events)
{
    struct pollfd item = {.fd = fd, .events = events};
    assert_int_equal(poll(&item, 1, 5000), 1);
}

static void say(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/*  All that comes until the end, or until nothing is there. True: the end came. */
static bool hear(int fd, char *text, size_t size)
{
    size_t length = strlen(text);
    ssize_t got;
    while ((got = recv(fd, text + length, size - length - 1, MSG_DONTWAIT)) > 0)
        text[length += (size_t)got] = '\0';
    return got == 0;
}

static void relay__carries_both_ways(void **state)
{
    (void)state;
    stage_t stage;
    char text[16] = "";
    set_up(&stage);
    say(stage.peer, "up");
    say(stage.program, "down");
    wait_for(stage.relay.outer, POLLIN);
    assert_true(helio_relay_pump(&stage.relay));
    assert_false(hear(stage.program, text, sizeof text));
    assert_string_equal(text, "up");
    wait_for(stage.peer, POLLIN);
    assert_false(hear(stage.peer, text, sizeof text));
    assert_string_equal(text, "updown");
    (void)close(stage.peer);
    tear_down(&stage);
}

/*  A peer says its last word and closes, with bytes unread that were sent to it, so that the network resets the
 *  connection. At that moment there is more to send to it. */
static void relay__passes_on_the_last_word_of_a_peer_that_takes_nothing_any_more(void **state)
{
    (void)state;
    stage_t stage;
    char text[32] = "";
    set_up(&stage);
    say(stage.program, "are you there?");
    assert_true(helio_relay_pump(&stage.relay));
    wait_for(stage.peer, POLLIN);
    say(stage.peer, "my last word");
    wait_for(stage.relay.outer, POLLIN);
    (void)close(stage.peer);
    wait_for(stage.relay.outer, POLLHUP);
    say(stage.program, "are you still there?");
    (void)helio_relay_pump(&stage.relay);
    assert_true(hear(stage.program, text, sizeof text));
    assert_string_equal(text, "my last word");
    (void)shutdown(stage.program, SHUT_WR);
    assert_false(helio_relay_pump(&stage.relay));
    tear_down(&stage);
}

/*  More than one pump may carry: the connection is not given up before all that had arrived was passed on. */
static void relay__passes_on_all_that_arrived_from_a_peer_that_is_gone(void **state)
{
    (void)state;
    enum { PIECE = 10 << 10 };
    static char piece[PIECE];
    stage_t stage;
    int arrived = 0, heard = 0;
    set_up(&stage);
    stage.relay.unread_max = PIECE;
    say(stage.program, "are you there?");
    assert_true(helio_relay_pump(&stage.relay));
    wait_for(stage.peer, POLLIN);
    for (int i = 0; i < 6; i++)
        assert_int_equal(send(stage.peer, piece, PIECE, 0), PIECE);
    for (int i = 0; arrived < 6 * PIECE && i < 5000; i++) {
        assert_int_equal(ioctl(stage.relay.outer, FIONREAD, &arrived), 0);
        (void)poll(NULL, 0, 1);
    }
    (void)close(stage.peer);
    wait_for(stage.relay.outer, POLLHUP);
    say(stage.program, "are you still there?");
    while (helio_relay_pump(&stage.relay)) {
        for (ssize_t got; (got = recv(stage.program, piece, PIECE, MSG_DONTWAIT)) > 0;)
            heard += (int)got;
        helio_relay_drained(&stage.relay);
    }
    assert_int_equal(arrived, 6 * PIECE);
    assert_int_equal(heard, arrived);
    tear_down(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(relay__carries_both_ways),
        cmocka_unit_test(relay__passes_on_the_last_word_of_a_peer_that_takes_nothing_any_more),
        cmocka_unit_test(relay__passes_on_all_that_arrived_from_a_peer_that_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
