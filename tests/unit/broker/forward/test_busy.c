/*  test_busy.c -- the forwarder before a leader that is slow, that stands still, or that many ask at once. What is
 *  compared is the order of the answers, which is the same on a machine that is busy itself. */
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
#include <sys/socket.h>
#include <unistd.h>

#include "broker/forward/forwarder.h"
#include "federation/base/clock.h"

enum { PATIENCE_MS = 60000, CONNECTIONS = 256, SITE_MS = 500 };

/*  A leader with a thread for each connection. A log comes from a site, which takes SITE_MS, or until holds_logs ends; the
 *  rest is answered at once. One that stands still accepts, as the kernel does for it, and no more. */
static struct {
    int fd;
    char base[64];
    pthread_t acceptor, threads[CONNECTIONS];
    int fds[CONNECTIONS];
    uint32_t count;
    atomic_bool stands_still, holds_logs;
    _Atomic uint32_t received;        /* requests */
    _Atomic uint32_t logs, logs_most; /* at once */
} leader;

static void answer(int fd, const char *request)
{
    static const char ok[] = "HTTP/1.1 200 OK\r\nHeliostat-Broker: leader\r\nContent-Length: 2\r\n\r\n{}";
    if (strstr(request, "/logs")) {
        uint32_t now = ++leader.logs;
        if (now > leader.logs_most)
            leader.logs_most = now;
        do
            (void)poll(NULL, 0, SITE_MS);
        while (leader.holds_logs);
        leader.logs--;
    }
    (void)!send(fd, ok, sizeof ok - 1, MSG_NOSIGNAL);
}

static void *converse(void *arg)
{
    int fd = *(int *)arg;
    char text[4096];
    for (ssize_t got; (got = recv(fd, text, sizeof text - 1, 0)) > 0;) {
        text[got] = '\0';
        leader.received++;
        if (leader.stands_still)
            break;
        answer(fd, text);
    }
    return NULL;
}

static void *listen_on(void *arg)
{
    for (int fd; (fd = accept(leader.fd, NULL, NULL)) >= 0; leader.count++) {
        assert_true(leader.count < CONNECTIONS);
        leader.fds[leader.count] = fd;
        assert_int_equal(pthread_create(&leader.threads[leader.count], NULL, converse, &leader.fds[leader.count]), 0);
    }
    return arg;
}

static helio_forwarder_t *forwarder;

static int up(void **state)
{
    (void)state;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    helio_error_t err = {.text = ""};
    leader.stands_still = false;
    leader.holds_logs = false;
    leader.received = 0;
    leader.count = 0;
    leader.logs = 0;
    leader.logs_most = 0;
    leader.fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(leader.fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(leader.fd, CONNECTIONS), 0);
    assert_int_equal(getsockname(leader.fd, (struct sockaddr *)&address, &size), 0);
    (void)snprintf(leader.base, sizeof leader.base, "http://127.0.0.1:%u", ntohs(address.sin_port));
    assert_int_equal(pthread_create(&leader.acceptor, NULL, listen_on, NULL), 0);
    assert_int_equal(helio_forwarder_new(&forwarder, &err), HELIO_OK);
    return 0;
}

static int down(void **state)
{
    (void)state;
    leader.holds_logs = false;
    helio_forwarder_destroy(&forwarder);
    (void)shutdown(leader.fd, SHUT_RDWR);
    assert_int_equal(pthread_join(leader.acceptor, NULL), 0);
    for (uint32_t i = 0; i < leader.count; i++) {
        (void)shutdown(leader.fds[i], SHUT_RDWR);
        assert_int_equal(pthread_join(leader.threads[i], NULL), 0);
        (void)close(leader.fds[i]);
    }
    (void)close(leader.fd);
    return 0;
}

typedef struct attempt {
    helio_forward_t forward;
    _Atomic int rc; /* -1 = under way */
} attempt_t;

static _Atomic uint32_t logs_answered;

static void on_done(helio_forward_t *forward, helio_rc rc, const helio_forward_answer_t *answer_)
{
    attempt_t *self = forward->arg;
    (void)answer_;
    logs_answered += forward->kind == HELIO_FORWARD_LOG && rc == HELIO_OK;
    self->rc = (int)rc;
}

static void begin(attempt_t *self, const char *tenant, helio_forward_kind_t kind, const char *method, const char *key)
{
    *self = (attempt_t){.forward = {.kind = kind,
                                    .tenant = tenant,
                                    .instance = "17",
                                    .method = method,
                                    .base = leader.base,
                                    .target = kind == HELIO_FORWARD_LOG ? "/v1/jobs/x/logs" : "/v1/jobs",
                                    .credential = "",
                                    .content_type = "",
                                    .idempotency_key = key,
                                    .done = on_done,
                                    .arg = self},
                        .rc = -1};
    assert_int_equal(helio_forwarder_post(forwarder, &self->forward), HELIO_OK);
}

static void await(const attempt_t *self)
{
    for (int64_t until_ms = helio_clock_boot_ms() + PATIENCE_MS; self->rc == -1 && helio_clock_boot_ms() < until_ms;)
        (void)poll(NULL, 0, 2);
    if (self->rc == -1)
        fail_msg("the forward has no answer");
}

/*  200 readers of logs of one tenant, each of whom asks again when it has its piece. Whoever waited behind the logs that
 *  are held would see all of those answered first. */
static void busy__readers_of_logs_hold_up_nobody(void **state)
{
    (void)state;
    static attempt_t logs[200], submissions[20];
    uint32_t refused = 0;
    for (size_t i = 0; i < 200; i++)
        begin(&logs[i], "readers", HELIO_FORWARD_LOG, "GET", "");
    for (size_t i = 0; i < 20; i++) {
        uint32_t before = logs_answered;
        begin(&submissions[i], i % 2 ? "others" : "readers", HELIO_FORWARD_REQUEST, "POST", "");
        await(&submissions[i]);
        assert_in_range(logs_answered - before, 0, 30);
        assert_int_equal(submissions[i].rc, HELIO_OK);
        for (size_t j = 0; j < 200; j++)
            if (logs[j].rc == HELIO_OK)
                begin(&logs[j], "readers", HELIO_FORWARD_LOG, "GET", "");
        (void)poll(NULL, 0, 20);
    }
    assert_in_range(leader.logs_most, 2, 8);
    for (size_t i = 0; i < 200; i++) {
        await(&logs[i]);
        refused += logs[i].rc == HELIO_BUSY;
        assert_true(logs[i].rc == HELIO_OK || logs[i].rc == HELIO_BUSY || logs[i].rc == HELIO_UNAVAILABLE);
    }
    assert_in_range(refused, 1, 199); /* they ask again later, as after a 429 */
}

/*  Its kernel accepts connections and bytes for it. */
static void busy__a_leader_that_stands_still_is_waited_for_as_long_as_its_probe(void **state)
{
    (void)state;
    static attempt_t first, keyed, submission, edit, probe;
    begin(&first, "acme", HELIO_FORWARD_REQUEST, "POST", "");
    await(&first);
    assert_int_equal(first.rc, HELIO_OK);
    leader.stands_still = true;
    begin(&keyed, "acme", HELIO_FORWARD_REQUEST, "POST", "k");
    begin(&submission, "acme", HELIO_FORWARD_REQUEST, "POST", "");
    begin(&edit, "acme", HELIO_FORWARD_REQUEST, "PATCH", "");
    while (leader.received < 4)
        (void)poll(NULL, 0, 2);
    begin(&probe, "", HELIO_FORWARD_PROBE, "GET", "");
    await(&probe);
    assert_int_not_equal(probe.rc, HELIO_OK);
    assert_int_equal(keyed.rc, HELIO_UNAVAILABLE);  /* can be sent to the next leader */
    assert_int_equal(submission.rc, HELIO_TIMEOUT); /* this one may have taken it */
    assert_int_equal(edit.rc, HELIO_TIMEOUT);
}

/*  It answers probes: one that takes long there is not taken for lost. */
static void busy__a_leader_that_is_slow_is_waited_for(void **state)
{
    (void)state;
    static attempt_t log, probes[3];
    leader.holds_logs = true;
    begin(&log, "acme", HELIO_FORWARD_LOG, "GET", "");
    for (size_t i = 0; i < 3; i++) {
        begin(&probes[i], "", HELIO_FORWARD_PROBE, "GET", "");
        await(&probes[i]);
        assert_int_equal(probes[i].rc, HELIO_OK);
    }
    assert_int_equal(log.rc, -1);
    leader.holds_logs = false;
    await(&log);
    assert_int_equal(log.rc, HELIO_OK);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, up, down)
    const struct CMUnitTest tests[] = {
        CASE(busy__readers_of_logs_hold_up_nobody),
        CASE(busy__a_leader_that_stands_still_is_waited_for_as_long_as_its_probe),
        CASE(busy__a_leader_that_is_slow_is_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
