/*  test_lists.c -- submissions of thousands of jobs, and tables of all pools: one of each is at the engine at a time. */
#include "tests/unit/broker/http/server_testing.h"

enum { JOBS = HELIO_LIST_JOBS + 1 };

static helio_buffer_t list; /* one body */

static int up_with_list(void **state)
{
    (void)state;
    for (int i = 0; i < JOBS; i++)
        helio_buffer_text(&list, "---\nrun: echo\n");
    return 0;
}

static int down_with_list(void **state)
{
    (void)state;
    helio_buffer_clear(&list);
    return 0;
}

static client_t *send_list(const world_t *world, const char *token, const char *documents)
{
    client_t *c = client_up(world);
    client_ask(c, "POST", "/v1/jobs", token, YAML, documents);
    return c;
}

static void end_list(client_t *c, int status, const char *word)
{
    assert_true(client_reply(c, &r));
    assert_int_equal(r.status, status);
    assert_contains(r.body, word);
    client_down(c);
}

static void set_hold(world_t *world, bool hold)
{
    (void)pthread_mutex_lock(&world->mutex);
    world->hold = hold;
    (void)pthread_mutex_unlock(&world->mutex);
}

/*  One that the engine keeps; what comes after it is answered at once. */
static client_t *keep_list(world_t *world)
{
    set_hold(world, true);
    client_t *c = send_list(world, world->user.text, list.data);
    world_await_held(world);
    set_hold(world, false);
    return c;
}

/*  Without the request that asks. */
static void await_waiting(world_t *world, uint32_t count)
{
    char line[64];
    (void)snprintf(line, sizeof line, "\nhelio_http_waiting_requests %u\n", count + 1);
    for (int64_t until_ms = helio_clock_boot_ms() + CLIENT_TIMEOUT_MS; helio_clock_boot_ms() < until_ms;) {
        ask(world, &r, "GET", "/metrics", world->user.text, "", NULL);
        if (strstr(r.body, line))
            return;
        (void)poll(NULL, 0, 20);
    }
    fail_msg("not %u requests wait: %s", count, strstr(r.body, "\nhelio_http_waiting_requests"));
}

static void lists__wait_for_one_another_and_nothing_else_does(void **state)
{
    (void)state;
    world_t *world = world_up();
    client_t *first = keep_list(world);
    client_t *second = send_list(world, world->user.text, list.data);
    client_t *array = send_list(world, world->other.text, "run: echo\narray: 0-1999\n");
    await_waiting(world, 3);
    assert_int_equal(world->events, 1);
    for (uint32_t i = 0; i < 20; i++) {
        ask(world, &r, "POST", "/v1/jobs", world->user.text, YAML, "run: echo\n");
        assert_int_equal(r.status, 201);
        ask(world, &r, "GET", "/metrics", world->user.text, "", NULL);
        assert_int_equal(r.status, 200);
    }
    assert_int_equal(world->events, 21);
    assert_true(client_is_silent(second) && client_is_silent(array));
    world_reply(world);
    end_list(first, 201, "\"jobs\"");
    end_list(second, 201, "\"jobs\"");
    end_list(array, 201, "\"jobs\"");
    assert_int_equal(world->events, 23);
    world_down(world);
}

/*  However few bytes they take: a list of more jobs is behind one of fewer, and tenants share the time by jobs. */
static void lists__take_turns_by_their_jobs(void **state)
{
    (void)state;
    world_t *world = world_up();
    client_t *first = keep_list(world), *arrays[3];
    for (uint32_t i = 0; i < 3; i++)
        arrays[i] = send_list(world, world->other.text, "run: echo\narray: 0-9999\n");
    await_waiting(world, 4);
    client_t *mine = send_list(world, world->user.text, list.data);
    await_waiting(world, 5);
    set_hold(world, true);
    world_reply(world);
    end_list(first, 201, "\"jobs\"");
    world_await_held(world);
    world_reply(world);
    end_list(mine, 201, "\"jobs\"");
    world_await_held(world);
    set_hold(world, false);
    world_reply(world);
    for (uint32_t i = 0; i < 3; i++)
        end_list(arrays[i], 201, "\"jobs\"");
    world_down(world);
}

/*  Sixty thousand bytes become four million. What waits may take no more than large bodies may, and a tenant its part. */
static void lists__that_wait_count_with_what_was_made_of_them(void **state)
{
    (void)state;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t tiny = {0};
    for (int i = 0; i < 5000; i++)
        helio_buffer_text(&tiny, "---\nrun: a\n");
    assert_true(tiny.size < HELIO_BODY_SMALL_MAX);
    world_t *world = world_up_with((helio_http_options_t){.bodies_max = 12 << 20}); /* 9 MiB for large ones */
    client_t *first = keep_list(world);
    client_t *second = send_list(world, world->user.text, tiny.data);
    await_waiting(world, 2);
    end_list(send_list(world, world->user.text, tiny.data), 503, "BodiesBusy"); /* it would have more than it leaves */
    client_t *other = send_list(world, world->other.text, tiny.data);
    await_waiting(world, 3);
    world_reply(world);
    end_list(first, 201, "\"jobs\"");
    end_list(second, 201, "\"jobs\"");
    end_list(other, 201, "\"jobs\"");
    end_list(send_list(world, world->user.text, tiny.data), 201, "\"jobs\""); /* everything was given back */
    world_down(world);
}

/*  Even if that is more than all large bodies may have. */
static void lists__of_any_size_are_taken_when_there_are_no_others(void **state)
{
    (void)state;
    world_t *world = world_up_with((helio_http_options_t){.bodies_max = 1 << 20});
    for (int i = 0; i < 2; i++)
        end_list(send_list(world, world->user.text, list.data), 201, "\"jobs\"");
    world_down(world);
}

/*  What became of the first one is unknown; the second one was not carried out. */
static void lists__that_wait_too_long_can_be_sent_again(void **state)
{
    (void)state;
    world_t *world = world_up_with((helio_http_options_t){.request_timeout_ms = 300});
    client_t *first = keep_list(world);
    client_t *second = send_list(world, world->user.text, list.data);
    end_list(second, 503, "BodiesBusy");
    end_list(first, 504, "ReplyLate");
    assert_int_equal(world->events, 1);
    client_t *third = send_list(world, world->user.text, list.data);
    end_list(third, 503, "BodiesBusy"); /* the engine still has the first one */
    world_reply(world);
    end_list(send_list(world, world->user.text, list.data), 201, "\"jobs\"");
    assert_int_equal(world->events, 2);
    world_down(world);
}

static void lists__that_the_engine_refuses_hold_up_no_other(void **state)
{
    (void)state;
    world_t *world = world_up();
    (void)pthread_mutex_lock(&world->mutex);
    world->post_rc = HELIO_BUSY;
    (void)pthread_mutex_unlock(&world->mutex);
    for (int i = 0; i < 3; i++)
        end_list(send_list(world, world->user.text, list.data), 429, "BrokerBusy");
    world_down(world);
}

static void lists__that_wait_end_with_the_server(void **state)
{
    (void)state;
    world_t *world = world_up();
    client_t *first = keep_list(world);
    client_t *second = send_list(world, world->user.text, list.data);
    await_waiting(world, 2);
    helio_http_stop(world->http);
    end_list(first, 503, "BrokerStopping");
    end_list(second, 503, "BrokerStopping");
    assert_int_equal(world->events, 1);
    world_down(world);
}

static client_t *send_table(const world_t *world, const char *token)
{
    client_t *c = client_up(world);
    client_ask(c, "GET", "/v1/desired", token, "", NULL);
    return c;
}

/*  Each table takes the engine, and the thread that writes it, for as long as there are pools: many of one tenant would keep
 *  everybody waiting. They wait for one another, and tenants take turns. */
static void tables__wait_for_one_another_and_nothing_else_does(void **state)
{
    (void)state;
    world_t *world = world_up();
    set_hold(world, true);
    client_t *first = send_table(world, world->user.text);
    world_await_held(world);
    set_hold(world, false);
    client_t *mine[8];
    for (uint32_t i = 0; i < 8; i++)
        mine[i] = send_table(world, world->user.text);
    await_waiting(world, 9);
    client_t *other = send_table(world, world->other.text);
    await_waiting(world, 10);
    assert_int_equal(world->events, 1);
    end_list(send_list(world, world->user.text, list.data), 201, "\"jobs\""); /* of another kind */
    assert_int_equal(world->events, 2);
    set_hold(world, true);
    world_reply(world);
    end_list(first, 200, "lulea");
    world_await_held(world);
    world_reply(world);
    end_list(mine[0], 200, "lulea");
    world_await_held(world);
    world_reply(world);
    end_list(other, 200, "lulea"); /* before the others of the first tenant */
    world_await_held(world);
    set_hold(world, false);
    world_reply(world);
    for (uint32_t i = 1; i < 8; i++)
        end_list(mine[i], 200, "lulea");
    world_down(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists__wait_for_one_another_and_nothing_else_does),
        cmocka_unit_test(lists__take_turns_by_their_jobs),
        cmocka_unit_test(lists__that_wait_count_with_what_was_made_of_them),
        cmocka_unit_test(lists__of_any_size_are_taken_when_there_are_no_others),
        cmocka_unit_test(lists__that_wait_too_long_can_be_sent_again),
        cmocka_unit_test(lists__that_the_engine_refuses_hold_up_no_other),
        cmocka_unit_test(lists__that_wait_end_with_the_server),
        cmocka_unit_test(tables__wait_for_one_another_and_nothing_else_does),
    };
    return cmocka_run_group_tests(tests, up_with_list, down_with_list);
}
