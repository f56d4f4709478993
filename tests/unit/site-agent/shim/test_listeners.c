/*  test_listeners.c -- listening sockets in the texts of /proc/net/tcp and tcp6, and whose they are. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "site-agent/shim/listeners.h"

static const char tcp[] =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    "   0: 0100007F:22B8 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0 100 0 0 10 0\n"
    "   1: 00000000:22B8 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1001        0 4712 1 0 100 0 0 10 0\n"
    "   2: 0700007F:22B8 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 4713 1 0 100 0 0 10 0\n"
    "   3: 00000000:22B9 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1001        0 4714 1 0 100 0 0 10 0\n"
    "   4: 0300000A:22B8 00000000:0000 0A 00000000:00000000 00:0000";

static const char tcp6[] =
    "  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when\n"
    "   0: 00000000000000000000000000000000:22B8 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 "
    "00000000  1000        0 99 1 0 100 0 0 10 0\n"
    "   1: B80D0120000000000000000001000000:22B8 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 "
    "00000000  1000        0 98 1 0 100 0 0 10 0\n";

static void expect_v4(const helio_listener_t *listener, uint64_t inode, const char *address)
{
    struct sockaddr_in to;
    char text[INET_ADDRSTRLEN];
    assert_int_equal(listener->to_size, sizeof to);
    memcpy(&to, &listener->to, sizeof to);
    assert_int_equal(listener->inode, inode);
    assert_int_equal(to.sin_family, AF_INET);
    assert_int_equal(ntohs(to.sin_port), 8888);
    assert_string_equal(inet_ntop(AF_INET, &to.sin_addr, text, sizeof text), address);
}

static void expect_v6(const helio_listener_t *listener, uint64_t inode, const char *address)
{
    struct sockaddr_in6 to;
    char text[INET6_ADDRSTRLEN];
    assert_int_equal(listener->to_size, sizeof to);
    memcpy(&to, &listener->to, sizeof to);
    assert_int_equal(listener->inode, inode);
    assert_string_equal(inet_ntop(AF_INET6, &to.sin6_addr, text, sizeof text), address);
}

static void listeners__are_those_of_the_port_that_listen(void **state)
{
    (void)state;
    static helio_listener_t list[HELIO_LISTENERS_MAX];
    size_t count = 0;
    helio_listeners_parse(helio_text_of(tcp), false, 8888, list, &count);
    assert_int_equal(count, 2);
    expect_v4(&list[0], 4711, "127.0.0.1");
    expect_v4(&list[1], 4712, "127.0.0.1"); /* bound to no address: by this machine's own */
    helio_listeners_parse(helio_text_of(tcp6), true, 8888, list, &count);
    assert_int_equal(count, 4);
    expect_v6(&list[2], 99, "::1");
    expect_v6(&list[3], 98, "2001:db8::1");
    count = 0;
    helio_listeners_parse(helio_text_of(tcp), false, 80, list, &count);
    helio_listeners_parse(helio_text_of(tcp), true, 8888, list, &count); /* of the other kind */
    helio_listeners_parse((helio_text_t){0}, false, 8888, list, &count);
    assert_int_equal(count, 0);
}

static void listeners__are_bounded(void **state)
{
    (void)state;
    static helio_listener_t list[HELIO_LISTENERS_MAX];
    size_t count = 0;
    for (int i = 0; i < 200; i++)
        helio_listeners_parse(helio_text_of(tcp), false, 8888, list, &count);
    assert_int_equal(count, HELIO_LISTENERS_MAX);
}

static void listeners__share_an_address_if_the_kernel_could_choose_the_other(void **state)
{
    (void)state;
    static const char mapped[] =
        "   0: 0000000000000000FFFF00000100007F:22B8 00000000000000000000000000000000:0000 0A 00000000:00000000 "
        "00:00000000 00000000  1000        0 97 1 0 100 0 0 10 0\n";
    static helio_listener_t list[HELIO_LISTENERS_MAX];
    size_t count = 0;
    helio_listeners_parse(helio_text_of(tcp), false, 8888, list, &count);
    helio_listeners_parse(helio_text_of(tcp6), true, 8888, list, &count);
    helio_listeners_parse(helio_text_of(mapped), true, 8888, list, &count);
    assert_int_equal(count, 5);
    enum { LOOPBACK, ANY, ANY6, OUTSIDE6, MAPPED, COUNT };
    static const bool shared[COUNT][COUNT] = {[LOOPBACK] = {[LOOPBACK] = true, [MAPPED] = true},
                                              [ANY] = {[LOOPBACK] = true, [ANY] = true, [MAPPED] = true},
                                              [ANY6] = {[ANY6] = true},
                                              [OUTSIDE6] = {[OUTSIDE6] = true},
                                              [MAPPED] = {[LOOPBACK] = true, [MAPPED] = true}};
    for (int i = 0; i < COUNT; i++)
        for (int j = 0; j < COUNT; j++)
            assert_int_equal(helio_listener_is_shared_with(&list[i], &list[j]), shared[i][j]);
}

static void listeners__belong_to_the_processes_that_hold_their_sockets(void **state)
{
    (void)state;
    static helio_listener_t list[HELIO_LISTENERS_MAX];
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int own = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(own, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(getsockname(own, (struct sockaddr *)&at, &size), 0);
    assert_int_equal(helio_listeners_find(ntohs(at.sin_port), list), 0); /* bound, and not listening */
    assert_int_equal(listen(own, 1), 0);
    assert_int_equal(helio_listeners_find(ntohs(at.sin_port), list), 1);
    const pid_t pids[] = {getppid(), getpid()};
    assert_true(helio_listener_is_of(&list[0], pids, 2));
    assert_false(helio_listener_is_of(&list[0], pids, 1));
    assert_false(helio_listener_is_of(&list[0], pids, 0));
    (void)close(own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listeners__are_those_of_the_port_that_listen),
        cmocka_unit_test(listeners__are_bounded),
        cmocka_unit_test(listeners__share_an_address_if_the_kernel_could_choose_the_other),
        cmocka_unit_test(listeners__belong_to_the_processes_that_hold_their_sockets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
