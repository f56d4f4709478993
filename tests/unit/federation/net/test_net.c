/*  test_net.c -- frames between a server and its dialers. */
#include "tests/unit/federation/net/net_testing.h"

/* ---- tests --------------------------------------------------------------------------------------------- */

static void net__frames_go_both_ways_under_the_principal_of_the_key(void **state)
{
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    client_t a = {0}, b = {0};
    world->echo = true;
    start_server(world, &options);
    allow(world, 0, "site:lulea");
    allow(world, 1, "site:oregon");
    connect_as(world, &a, 0);
    say(&a, "from a");
    UNTIL(world, a.received);
    assert_string_equal(last_heard(world)->principal, "site:lulea");
    assert_string_equal(a.frame, "from a");
    connect_as(world, &b, 1);
    say(&b, "from b");
    UNTIL(world, b.received);
    assert_string_equal(last_heard(world)->principal, "site:oregon");
    assert_string_equal(b.frame, "from b");
    assert_int_equal(a.received, 1);
    assert_int_equal(counters(world).peers, 2);
    assert_int_equal(counters(world).handshakes_accepted, 2);
    assert_int_equal(counters(world).sent, 2);
}

static void net__two_connections_of_one_key_are_two_peers_with_their_own_replies(void **state)
{
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    client_t a = {0}, b = {0};
    world->echo = true;
    start_server(world, &options);
    allow(world, 0, "site:lulea");
    connect_as(world, &a, 0);
    connect_as(world, &b, 0);
    say(&a, "a");
    UNTIL(world, a.received == 1);
    uint64_t first = last_heard(world)->peer;
    say(&b, "b");
    UNTIL(world, b.received == 1);
    assert_true(last_heard(world)->peer != first);
    assert_string_equal(a.frame, "a");
    assert_string_equal(b.frame, "b");
}

static void net__a_closed_connection_is_detected_when_sending(void **state)
{
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    client_t a = {0};
    start_server(world, &options);
    allow(world, 0, "site:lulea");
    connect_as(world, &a, 0);
    say(&a, "x");
    UNTIL(world, world->heard_count);
    hang_up(world, &a);
    UNTIL(world, helio_server_send(world->server, world->heard[0].peer, HELIO_TEXT("y")) == HELIO_UNAVAILABLE);
    UNTIL(world, world->gone_count);
    assert_int_equal(world->gone_why, HELIO_GONE_UNREACHABLE);
    assert_int_equal(counters(world).peers, 0);
}

/*  An argument is a pattern of test names. */
int main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(net__frames_go_both_ways_under_the_principal_of_the_key),
        TEST(net__two_connections_of_one_key_are_two_peers_with_their_own_replies),
        TEST(net__a_closed_connection_is_detected_when_sending),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
