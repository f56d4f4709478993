/*  test_forwarder.c -- the forwarder against a server of this test, which does what a leader that dies can do. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "broker/forward/forwarder.h"
#include "federation/base/clock.h"

enum { PATIENCE_MS = 20000 };

/*  What the server does with each request, by its number; the last one is for all that follow. */
typedef enum conduct {
    ANSWERS, /* and keeps the connection */
    CUTS,    /* reads the request and closes the connection */
    IS_MUTE
} conduct_t;

typedef struct leader {
    int fd;
    uint16_t port;
    char base[64];
    const char *response; /* of ANSWERS */
    const conduct_t *conducts;
    pthread_t thread;
    int stop_fd;
    _Atomic uint32_t requests;
    char last[4096];
} leader_t;

/*  Reads one request. False: the client closed the connection or opened another one, or the test is over. */
static bool receive(leader_t *self, int fd)
{
    size_t size = 0;
    for (;;) {
        struct pollfd fds[] = {
            {.fd = fd, .events = POLLIN}, {.fd = self->stop_fd, .events = POLLIN}, {.fd = self->fd, .events = POLLIN}};
        (void)poll(fds, 3, -1);
        ssize_t got = fds[1].revents || (fds[2].revents && !fds[0].revents)
                          ? 0
                          : recv(fd, self->last + size, sizeof self->last - 1 - size, 0);
        if (got <= 0)
            return false;
        size += (size_t)got;
        self->last[size] = '\0';
        const char *body = strstr(self->last, "\r\n\r\n"), *length = strstr(self->last, "Content-Length: ");
        if (body && strlen(body + 4) >= (length ? strtoul(length + 16, NULL, 10) : 0))
            return true;
    }
}

static void converse(leader_t *self, int fd)
{
    while (receive(self, fd)) {
        conduct_t conduct = self->conducts[self->requests++];
        struct pollfd stop = {.fd = self->stop_fd, .events = POLLIN};
        if (conduct == IS_MUTE)
            (void)poll(&stop, 1, -1);
        if (conduct != ANSWERS)
            return;
        (void)!send(fd, self->response, strlen(self->response), MSG_NOSIGNAL);
    }
}

static void *serve(void *arg)
{
    leader_t *self = arg;
    for (;;) {
        struct pollfd fds[] = {{.fd = self->fd, .events = POLLIN}, {.fd = self->stop_fd, .events = POLLIN}};
        (void)poll(fds, 2, -1);
        if (fds[1].revents)
            return NULL;
        int fd = accept(self->fd, NULL, NULL);
        converse(self, fd);
        (void)close(fd);
    }
}

static void leader_up(leader_t *self, const conduct_t *conducts, const char *response)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    *self = (leader_t){.conducts = conducts, .response = response, .stop_fd = eventfd(0, 0)};
    self->fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(self->fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(self->fd, 16), 0);
    assert_int_equal(getsockname(self->fd, (struct sockaddr *)&address, &size), 0);
    self->port = ntohs(address.sin_port);
    (void)snprintf(self->base, sizeof self->base, "http://127.0.0.1:%u", self->port);
    assert_int_equal(pthread_create(&self->thread, NULL, serve, self), 0);
}

static void leader_down(leader_t *self)
{
    assert_int_equal(eventfd_write(self->stop_fd, 1), 0);
    assert_int_equal(pthread_join(self->thread, NULL), 0);
    (void)close(self->fd);
    (void)close(self->stop_fd);
}

/*  One forward and what came of it. */
typedef struct attempt {
    helio_forward_t forward;
    helio_rc rc;
    uint32_t status;
    char type[64], piece[32], broker[32], body[256];
    int done_fd;
} attempt_t;

static void on_done(helio_forward_t *forward, helio_rc rc, const helio_forward_answer_t *answer)
{
    attempt_t *self = forward->arg;
    self->rc = rc;
    if (answer) {
        self->status = answer->status;
        (void)helio_text_copy(helio_text_of(answer->type), self->type, sizeof self->type);
        (void)helio_text_copy(helio_text_of(answer->piece), self->piece, sizeof self->piece);
        (void)helio_text_copy(helio_text_of(answer->broker), self->broker, sizeof self->broker);
        (void)helio_text_copy(answer->body, self->body, sizeof self->body);
    }
    (void)eventfd_write(self->done_fd, 1);
}

static attempt_t attempt_of(const char *base, const char *method, const char *body, const char *key)
{
    return (attempt_t){.forward = {.tenant = "acme",
                                   .instance = "17",
                                   .method = method,
                                   .base = base,
                                   .target = "/v1/jobs?a=%20b",
                                   .credential = "hel_a_b",
                                   .content_type = *body ? "application/yaml" : "",
                                   .idempotency_key = key,
                                   .body = helio_text_of(body),
                                   .done = on_done},
                       .done_fd = eventfd(0, 0)};
}

static void await(attempt_t *self)
{
    struct pollfd fd = {.fd = self->done_fd, .events = POLLIN};
    if (poll(&fd, 1, PATIENCE_MS) != 1)
        fail_msg("the forward has no answer");
    (void)close(self->done_fd);
}

static helio_forwarder_t *forwarder;

static void perform(attempt_t *self)
{
    self->forward.arg = self;
    assert_int_equal(helio_forwarder_post(forwarder, &self->forward), HELIO_OK);
    await(self);
}

static int up(void **state)
{
    (void)state;
    helio_error_t err = {.text = ""};
    assert_int_equal(helio_forwarder_new(&forwarder, &err), HELIO_OK);
    return 0;
}

static int down(void **state)
{
    (void)state;
    helio_forwarder_destroy(&forwarder);
    return 0;
}

#define OK_ANSWER                                                                                                \
    "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nheliostat-log-piece:  7 1 \r\nHeliostat-Broker: " \
    "leader\r\nContent-Length: 2\r\n\r\n{}"

static void forwarder__sends_the_request_and_returns_the_answer(void **state)
{
    (void)state;
    static const conduct_t conducts[] = {ANSWERS, ANSWERS, ANSWERS};
    leader_t leader;
    leader_up(&leader, conducts, OK_ANSWER);
    attempt_t post = attempt_of(leader.base, "POST", "run: echo\n", "k-1");
    perform(&post);
    assert_int_equal(post.rc, HELIO_OK);
    assert_int_equal(post.status, 201);
    assert_string_equal(post.type, "application/json");
    assert_string_equal(post.piece, "7 1");
    assert_string_equal(post.broker, "leader");
    assert_string_equal(post.body, "{}");
    static const char *const lines[] = {
        "POST /v1/jobs?a=%20b HTTP/1.1\r\n",      "\r\nAuthorization: Bearer hel_a_b\r\n",
        "\r\nContent-Type: application/yaml\r\n", "\r\nIdempotency-Key: k-1\r\n",
        "\r\nHeliostat-Forwarded: 17\r\n",        "\r\n\r\nrun: echo\n"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        assert_non_null(strstr(leader.last, lines[i]));
    assert_null(strstr(leader.last, "Expect"));
    attempt_t empty = attempt_of(leader.base, "DELETE", "", "");
    perform(&empty);
    assert_non_null(strstr(leader.last, "DELETE /v1/jobs"));
    assert_null(strstr(leader.last, "Content-Type"));
    assert_null(strstr(leader.last, "Idempotency-Key"));
    attempt_t get = attempt_of(leader.base, "GET", "", "");
    perform(&get);
    assert_non_null(strstr(leader.last, "GET /v1/jobs"));
    assert_null(strstr(leader.last, "Content-Length"));
    leader_down(&leader);
}

/*  A caller has to know whether asking again can do it twice. */
static void forwarder__tells_what_was_not_sent_from_what_may_have_been_done(void **state)
{
    (void)state;
    static const conduct_t conducts[] = {CUTS, CUTS, CUTS, CUTS, CUTS, CUTS};
    leader_t leader;
    leader_up(&leader, conducts, OK_ANSWER);
    attempt_t cut = attempt_of(leader.base, "POST", "run: echo\n", "");
    perform(&cut);
    assert_int_equal(cut.rc, HELIO_TIMEOUT);
    attempt_t deleted = attempt_of(leader.base, "DELETE", "", "");
    perform(&deleted);
    assert_int_equal(deleted.rc, HELIO_TIMEOUT);
    attempt_t get = attempt_of(leader.base, "GET", "", "");
    perform(&get);
    assert_int_equal(get.rc, HELIO_UNAVAILABLE); /* asking again does nothing twice */
    attempt_t keyed = attempt_of(leader.base, "POST", "run: echo\n", "k");
    perform(&keyed);
    assert_int_equal(keyed.rc, HELIO_UNAVAILABLE);
    leader_down(&leader);
    attempt_t refused = attempt_of(leader.base, "POST", "run: echo\n", "");
    perform(&refused);
    assert_int_equal(refused.rc, HELIO_UNAVAILABLE);
}

/*  The first answer leaves a connection that the leader closes at the next request, as one that dies does. A submission
 *  without a key is not sent again by the library. */
static void forwarder__sends_nothing_twice_that_must_not_be_done_twice(void **state)
{
    (void)state;
    static const conduct_t conducts[] = {ANSWERS, CUTS, ANSWERS, ANSWERS};
    leader_t leader;
    leader_up(&leader, conducts, OK_ANSWER);
    attempt_t get = attempt_of(leader.base, "GET", "", "");
    perform(&get);
    assert_int_equal(get.rc, HELIO_OK);
    attempt_t keyed = attempt_of(leader.base, "POST", "run: echo\n", "k");
    perform(&keyed);
    assert_int_equal(leader.requests, 3); /* the same key finds the same job, so it may go out again */
    assert_int_equal(keyed.rc, HELIO_OK);
    leader_down(&leader);
    static const char *const methods[] = {"POST", "PATCH"}; /* a second edit could undo what another did between */
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        leader_up(&leader, conducts, OK_ANSWER);
        attempt_t before = attempt_of(leader.base, "GET", "", "");
        perform(&before);
        attempt_t once = attempt_of(leader.base, methods[i], "run: echo\n", "");
        perform(&once);
        assert_int_equal(once.rc, HELIO_TIMEOUT);
        assert_int_equal(leader.requests, 2);
        leader_down(&leader);
    }
}

static void forwarder__goes_to_the_leader_or_nowhere(void **state)
{
    (void)state;
    static const conduct_t conducts[] = {ANSWERS, ANSWERS};
    leader_t leader;
    leader_up(&leader, conducts,
              "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n");
    assert_int_equal(setenv("http_proxy", "http://127.0.0.1:1", 1), 0);
    attempt_t get = attempt_of(leader.base, "GET", "", "");
    perform(&get);
    assert_int_equal(unsetenv("http_proxy"), 0);
    assert_int_equal(get.rc, HELIO_OK);
    assert_int_equal(get.status, 307);
    attempt_t file = attempt_of("file://", "GET", "", "");
    file.forward.target = "/etc/hostname";
    perform(&file);
    assert_int_equal(file.rc, HELIO_UNAVAILABLE);
    leader_down(&leader);
}

static void forwarder__bounds_an_answer(void **state)
{
    (void)state;
    static const conduct_t conducts[] = {ANSWERS};
    char *response = helio_new(HELIO_FORWARD_ANSWER_MAX + 4096, 1);
    size_t head =
        (size_t)sprintf(response, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", (int)HELIO_FORWARD_ANSWER_MAX + 1);
    memset(response + head, 'x', HELIO_FORWARD_ANSWER_MAX + 1);
    leader_t leader;
    leader_up(&leader, conducts, response);
    attempt_t get = attempt_of(leader.base, "GET", "", "");
    perform(&get);
    assert_int_equal(get.rc, HELIO_TOO_BIG);
    leader_down(&leader);
    free(response);
}

static void forwarder__answers_what_is_under_way_at_its_end(void **state)
{
    (void)state;
    static const conduct_t conducts[] = {IS_MUTE};
    leader_t leader;
    leader_up(&leader, conducts, OK_ANSWER);
    attempt_t sent = attempt_of(leader.base, "POST", "run: echo\n", ""), waiting = sent;
    waiting.done_fd = eventfd(0, 0);
    sent.forward.arg = &sent;
    assert_int_equal(helio_forwarder_post(forwarder, &sent.forward), HELIO_OK);
    for (int64_t until_ms = helio_clock_boot_ms() + PATIENCE_MS; !leader.requests && helio_clock_boot_ms() < until_ms;)
        (void)poll(NULL, 0, 5);
    waiting.forward.arg = &waiting;
    assert_int_equal(helio_forwarder_post(forwarder, &waiting.forward), HELIO_OK);
    helio_forwarder_destroy(&forwarder);
    await(&sent);
    await(&waiting);
    assert_int_equal(sent.rc, HELIO_TIMEOUT);
    assert_true(waiting.rc != HELIO_OK);
    leader_down(&leader);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, up, down)
    const struct CMUnitTest tests[] = {
        CASE(forwarder__sends_the_request_and_returns_the_answer),
        CASE(forwarder__tells_what_was_not_sent_from_what_may_have_been_done),
        CASE(forwarder__sends_nothing_twice_that_must_not_be_done_twice),
        CASE(forwarder__goes_to_the_leader_or_nowhere),
        CASE(forwarder__bounds_an_answer),
        CASE(forwarder__answers_what_is_under_way_at_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
