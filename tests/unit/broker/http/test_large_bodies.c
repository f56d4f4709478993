/*  test_large_bodies.c -- what else a broker answers while it reads thousands of documents. Nothing here measures time:
 *  what is counted is how often something was answered meanwhile. */
#include <malloc.h>

#include "tests/unit/broker/http/server_testing.h"

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { DOCUMENTS = 1500 }; /* they are read more slowly there */
#else
enum { DOCUMENTS = 5000 };
#endif
enum { SENDERS = 8, HALVES = 100, ROUNDS_LEAST = 3 * SENDERS };

static helio_buffer_t documents; /* one body */

static int up_with_documents(void **state)
{
    (void)state;
    for (int i = 0; i < DOCUMENTS; i++)
        helio_buffer_printf(&documents,
                            "---\nname: sweep-%d\nrun: |\n  set -eu\n  python train.py --seed %d\n"
                            "gpu: H100:1\nenv: {SEED: \"%d\", DATA: /data/set, STAGE: train, NOTE: "
                            "\"%0512d\"}\n"
                            "time: 2h\n",
                            i, i, i, i);
    return 0;
}

static int down_with_documents(void **state)
{
    (void)state;
    helio_buffer_clear(&documents);
    return 0;
}

/*  One that sends the documents and waits for its answer. */
typedef struct sender {
    pthread_t thread;
    const world_t *world;
    client_t *client;
    reply_t reply;
} sender_t;

static sender_t senders[SENDERS];
static _Atomic uint32_t answered;

static void send_documents(sender_t *self)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t head = {0};
    helio_buffer_printf(&head,
                        "POST /v1/jobs HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer %s\r\n" YAML
                        "Content-Length: %zu\r\n\r\n",
                        self->world->user.text, documents.size);
    client_send(self->client, head.data, head.size);
    client_send(self->client, documents.data, documents.size);
}

/*  One body of that size, by another tenant. */
static void ask_with(const world_t *world, const char *bytes, size_t size)
{
    client_t *c = client_up(world);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t head = {0};
    helio_buffer_printf(&head, YAML "Content-Length: %zu\r\n", size);
    client_ask(c, "POST", "/v1/jobs", world->other.text, head.data, NULL);
    client_send(c, bytes, size);
    assert_true(client_reply(c, &r));
    client_down(c);
}

static void *send_and_wait(void *arg)
{
    sender_t *self = arg;
    send_documents(self);
    if (!client_reply(self->client, &self->reply))
        self->reply.status = -1;
    answered++;
    return NULL;
}

static void senders_begin(const world_t *world)
{
    answered = 0;
    for (size_t i = 0; i < SENDERS; i++) {
        senders[i] = (sender_t){.world = world, .client = client_up(world)};
        assert_int_equal(pthread_create(&senders[i].thread, NULL, send_and_wait, &senders[i]), 0);
    }
}

/*  How many of them got each of the two answers. */
static void senders_end(uint32_t *ret_accepted, uint32_t *ret_refused)
{
    *ret_accepted = *ret_refused = 0;
    for (size_t i = 0; i < SENDERS; i++) {
        assert_int_equal(pthread_join(senders[i].thread, NULL), 0);
        client_down(senders[i].client);
        *ret_accepted += senders[i].reply.status == 201;
        *ret_refused += senders[i].reply.status == 503;
    }
}

/*  Waits until all bodies have between so many bytes and so many. */
static void await_bodies_within(world_t *world, uint64_t least, uint64_t most)
{
    static const char name[] = "\nhelio_http_body_bytes ";
    for (int64_t until_ms = helio_clock_boot_ms() + CLIENT_TIMEOUT_MS; helio_clock_boot_ms() < until_ms;) {
        ask(world, &r, "GET", "/metrics", world->user.text, "", NULL);
        const char *line = strstr(r.body, name);
        assert_non_null(line);
        uint64_t bytes = strtoull(line + strlen(name), NULL, 10);
        if (bytes >= least && bytes <= most)
            return;
        (void)poll(NULL, 0, 20);
    }
    fail_msg("not %llu to %llu bytes of bodies: %s", (unsigned long long)least, (unsigned long long)most,
             strstr(r.body, name));
}

static void await_bodies(world_t *world, uint64_t bytes)
{
    await_bodies_within(world, bytes, bytes);
}

/*  The memory of all bodies was given back; their owners are destroyed a moment after their answers. */
static void assert_no_body_is_held(world_t *world)
{
    await_bodies(world, 0);
}

/*  One thread answers everything, so that a small request cannot have luck. */
static void large_bodies__do_not_hold_up_what_is_small(void **state)
{
    (void)state;
    uint32_t rounds = 0, accepted, refused;
    world_t *world = world_up_with((helio_http_options_t){.threads = 1, .request_timeout_ms = 120000});
    senders_begin(world);
    for (; answered < SENDERS; rounds++) {
        ask(world, &r, "GET", "/healthz", "", "", NULL);
        assert_int_equal(r.status, 200);
        ask(world, &r, "POST", "/v1/jobs", world->other.text, YAML, "run: echo\n");
        assert_int_equal(r.status, 201);
        ask(world, &r, "GET", "/metrics", world->user.text, "", NULL);
        assert_int_equal(r.status, 200);
    }
    senders_end(&accepted, &refused);
    print_message("%u rounds of small requests within %d large ones\n", rounds, SENDERS);
    assert_int_equal(accepted, SENDERS);
    assert_true(rounds >= ROUNDS_LEAST);
    assert_no_body_is_held(world);
    world_down(world);
}

/*  A body waits for its turn no longer than a request waits for its answer, and nothing is read of one that waited too
 *  long. How many wait depends on the machine, so the test goes on until one has waited too long. */
static void large_bodies__that_wait_too_long_can_be_sent_again(void **state)
{
    (void)state;
    uint32_t accepted = 0, refused = 0, accepted_in_all = 0;
    world_t *world = world_up_with((helio_http_options_t){.request_timeout_ms = 1});
    for (int round = 0; round < 10 && !refused; round++) {
        senders_begin(world);
        senders_end(&accepted, &refused);
        assert_int_equal(accepted + refused, SENDERS);
        accepted_in_all += accepted;
    }
    assert_int_not_equal(refused, 0);
    for (size_t i = 0; i < SENDERS; i++)
        if (senders[i].reply.status == 503) {
            assert_contains(senders[i].reply.body, "BodiesBusy");
            assert_non_null(reply_header(&senders[i].reply, "Retry-After"));
        }
    assert_int_equal(world->events, accepted_in_all);
    assert_no_body_is_held(world);
    world_down(world);
}

/*  Whoever hangs up, before the end of its body or after it, leaves nothing behind, at the latest after the idle
 *  time-out: the library does not notice each end of a connection that it has just read from. */
static void large_bodies__of_clients_that_hang_up_are_given_back(void **state)
{
    (void)state;
    client_t *halves[HALVES];
    world_t *world = world_up_with((helio_http_options_t){.idle_timeout_ms = 3000});
    for (size_t i = 0; i < HALVES; i++) {
        halves[i] = client_up(world);
        client_ask(halves[i], "POST", "/v1/jobs", world->user.text, YAML "Content-Length: 400000\r\n", NULL);
        client_send(halves[i], documents.data, 200000);
    }
    ask(world, &r, "POST", "/v1/jobs", world->other.text, YAML, "run: echo\n");
    assert_int_equal(r.status, 201);
    for (size_t i = 0; i < SENDERS; i++) {
        senders[i] = (sender_t){.world = world, .client = client_up(world)};
        send_documents(&senders[i]);
        client_down(senders[i].client);
    }
    for (size_t i = 0; i < HALVES; i++)
        client_down(halves[i]);
    assert_no_body_is_held(world);
    ask(world, &r, "POST", "/v1/jobs", world->other.text, YAML, "run: echo\n");
    assert_int_equal(r.status, 201);
    world_down(world);
}

static client_t *begin_body(const world_t *world, const char *token, size_t size)
{
    client_t *c = client_up(world);
    char headers[96];
    (void)snprintf(headers, sizeof headers, YAML "Content-Length: %zu\r\n", size);
    client_ask(c, "POST", "/v1/jobs", token, headers, NULL);
    return c;
}

/*  One that sends that much of its body, and no more. */
static client_t *hold_body(const world_t *world, const char *token, size_t size)
{
    client_t *c = begin_body(world, token, 2 * size);
    client_send(c, documents.data, size);
    return c;
}

/*  Those that do not end hold memory, and three quarters of all are full. What is left is for small ones. */
static void large_bodies__leave_room_for_small_ones(void **state)
{
    (void)state;
    client_t *holders[3];
    world_t *world = world_up_with((helio_http_options_t){.bodies_max = 800000});
    const char *tokens[] = {world->user.text, world->other.text, world->operator_.text};
    for (size_t i = 0; i < 3; i++)
        holders[i] = hold_body(world, tokens[i], 200000);
    await_bodies(world, 600000);
    ask_with(world, documents.data, 70000);
    assert_int_equal(r.status, 503);
    assert_contains(r.body, "BodiesBusy");
    ask_with(world, documents.data, 64 << 10);
    assert_int_not_equal(r.status, 503);
    ask(world, &r, "POST", "/v1/jobs", world->other.text, YAML, "run: echo\n");
    assert_int_equal(r.status, 201);
    for (size_t i = 0; i < 3; i++)
        client_down(holders[i]);
    world_down(world);
}

/*  Whoever sends many that do not end keeps half of the memory at most, and others send theirs meanwhile. */
static void large_bodies__of_one_tenant_leave_room_for_those_of_others(void **state)
{
    (void)state;
    client_t *holders[4], *beyond;
    world_t *world = world_up_with((helio_http_options_t){.bodies_max = 1600000}); /* 1,200,000 for large ones */
    for (size_t i = 0; i < 4; i++)
        holders[i] = hold_body(world, world->user.text, 150000);
    await_bodies(world, 600000);
    beyond = hold_body(world, world->user.text, 150000);
    await_bodies(world, 600000);
    ask_with(world, documents.data, 500000);
    assert_int_not_equal(r.status, 503);
    await_bodies(world, 600000);
    client_down(beyond);
    for (size_t i = 0; i < 4; i++)
        client_down(holders[i]);
    world_down(world);
}

#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
static size_t resident_bytes(void)
{
    unsigned long size = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu %lu", &size, &resident), 2);
    (void)fclose(file);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

/*  In a heap, a small block that stays keeps the free memory beside it from being returned, however large that is. */
static void large_bodies__leave_no_memory_behind(void **state)
{
    (void)state;
    enum { ROUNDS = 8, LARGE = 16, LARGE_SIZE = 3000000, SMALL_SIZE = 30000, LEFT_MAX = 24 << 20 };
    client_t *large[LARGE], *small[ROUNDS];
    /* as the broker sets it (broker/program/run.c) */
    (void)mallopt(M_TRIM_THRESHOLD, 64 << 20);
    (void)mallopt(M_MMAP_THRESHOLD, 32 << 20);
    world_t *world = world_up_with((helio_http_options_t){.idle_timeout_ms = 10000});
    size_t before = resident_bytes();
    for (size_t round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < LARGE; i++)
            large[i] = begin_body(world, world->user.text, 2 * LARGE_SIZE);
        for (size_t at = 0; at < LARGE_SIZE; at += SMALL_SIZE) /* they grow in turn */
            for (size_t i = 0; i < LARGE; i++)
                client_send(large[i], documents.data + at, SMALL_SIZE);
        small[round] = hold_body(world, world->user.text, SMALL_SIZE);
        await_bodies_within(world, LARGE * LARGE_SIZE, UINT64_MAX);
        for (size_t i = 0; i < LARGE; i++)
            client_down(large[i]);
        await_bodies_within(world, 0, ROUNDS * SMALL_SIZE);
    }
    size_t after = resident_bytes();
    print_message("%zu KiB more after %d aborted bodies of %d KiB\n", after > before ? (after - before) >> 10 : 0,
                  ROUNDS * LARGE, LARGE_SIZE >> 10);
    assert_true(after < before + LEFT_MAX);
    for (size_t round = 0; round < ROUNDS; round++)
        client_down(small[round]);
    world_down(world);
}
#endif

/*  It ends although some wait for their turn. Who still sends is cut. */
static void large_bodies__end_with_the_server(void **state)
{
    (void)state;
    uint32_t accepted, refused;
    world_t *world = world_up();
    senders_begin(world);
    do
        ask(world, &r, "GET", "/metrics", world->user.text, "", NULL);
    while (strstr(r.body, "\nhelio_http_waiting_requests 1\n") && answered < SENDERS); /* this one */
    helio_http_stop(world->http);
    senders_end(&accepted, &refused);
    for (size_t i = 0; i < SENDERS; i++)
        if (senders[i].reply.status != 201 && senders[i].reply.status != 503 && senders[i].reply.status != -1)
            fail_msg("%d: %s", senders[i].reply.status, senders[i].reply.body);
    world_down(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_bodies__do_not_hold_up_what_is_small),
        cmocka_unit_test(large_bodies__that_wait_too_long_can_be_sent_again),
        cmocka_unit_test(large_bodies__of_clients_that_hang_up_are_given_back),
        cmocka_unit_test(large_bodies__leave_room_for_small_ones),
        cmocka_unit_test(large_bodies__of_one_tenant_leave_room_for_those_of_others),
        cmocka_unit_test(large_bodies__end_with_the_server),
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
        cmocka_unit_test(large_bodies__leave_no_memory_behind),
#endif
    };
    return cmocka_run_group_tests(tests, up_with_documents, down_with_documents);
}
