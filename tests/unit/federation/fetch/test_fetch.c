/*  What a request sends, and what its answer says of a later one. The callers' tests have the rest. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "federation/base/clock.h"
#include "federation/base/file.h"
#include "federation/fetch/fetch.h"

/*  Answers one request. */
typedef struct server {
    int fd;
    const char *answer;
    char request[2048];
} server_t;

static void *serve(void *arg)
{
    server_t *self = arg;
    int fd = accept(self->fd, NULL, NULL);
    size_t size = 0;
    for (ssize_t got; !strstr(self->request, "\r\n\r\nbody") && size < sizeof self->request - 1; size += (size_t)got)
        if ((got = read(fd, self->request + size, sizeof self->request - 1 - size)) <= 0)
            break;
    (void)helio_write_all(fd, self->answer, strlen(self->answer));
    (void)close(fd);
    return NULL;
}

typedef struct outcome {
    bool done;
    long status;
    uint64_t retry_after_ms;
} outcome_t;

static void on_done(void *arg, const helio_fetch_result_t *result)
{
    outcome_t *outcome = arg;
    *outcome = (outcome_t){.done = true, .status = result->status, .retry_after_ms = result->retry_after_ms};
}

static outcome_t post(server_t *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    pthread_t thread;
    char url[64];
    server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(server->fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(server->fd, 1), 0);
    assert_int_equal(getsockname(server->fd, (struct sockaddr *)&address, &length), 0);
    assert_int_equal(pthread_create(&thread, NULL, serve, server), 0);
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%d/hook", ntohs(address.sin_port));
    helio_fetcher_t *fetcher = NULL;
    helio_error_t err;
    outcome_t outcome = {.done = false};
    assert_int_equal(helio_fetcher_new(&fetcher, &err), HELIO_OK);
    helio_fetch_t fetch = {.url = url,
                           .user_agent = "tester/1",
                           .method = "POST",
                           .body = HELIO_TEXT("body"),
                           .timeout_ms = 10000,
                           .max_bytes = 1000,
                           .done = on_done,
                           .arg = &outcome};
    assert_int_equal(helio_fetcher_get(fetcher, &fetch, &err), HELIO_OK);
    while (!outcome.done) {
        struct pollfd event = {.fd = helio_fetcher_fd(fetcher), .events = POLLIN};
        int64_t wait_ms = helio_fetcher_next_ms(fetcher) - helio_clock_boot_ms();
        (void)poll(&event, 1, wait_ms < 0 ? 0 : wait_ms > 1000 ? 1000 : (int)wait_ms);
        helio_fetcher_process(fetcher, helio_clock_boot_ms());
    }
    helio_fetcher_destroy(&fetcher);
    assert_int_equal(pthread_join(thread, NULL), 0);
    (void)close(server->fd);
    return outcome;
}

#define ANSWER(status, more) "HTTP/1.1 " status " x\r\n" more "Content-Length: 0\r\nConnection: close\r\n\r\n"

static void answers__say_when_to_come_back(void **state)
{
    (void)state;
    static const struct {
        const char *answer;
        long status;
        uint64_t retry_after_ms;
    } cases[] = {
        {ANSWER("200", ""), 200, 0},
        {ANSWER("429", "Retry-After: 7\r\n"), 429, 7000},
        {ANSWER("503", "Date: Fri, 27 Nov 2026 10:00:00 GMT\r\nRetry-After: Fri, 27 Nov 2026 10:02:00 GMT\r\n"), 503,
         120000},
        {ANSWER("503", "Date: Fri, 27 Nov 2026 10:00:00 GMT\r\nRetry-After: Fri, 27 Nov 2026 09:00:00 GMT\r\n"), 503,
         0},
        {ANSWER("503", "Retry-After: -5\r\n"), 503, 0},
        {ANSWER("503", "Retry-After: soon\r\n"), 503, 0},
        {ANSWER("302", "Location: http://127.0.0.1:1/elsewhere\r\n"), 302, 0}, /* not followed */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        server_t server = {.answer = cases[i].answer};
        outcome_t outcome = post(&server);
        assert_int_equal(outcome.status, cases[i].status);
        assert_int_equal(outcome.retry_after_ms, cases[i].retry_after_ms);
        assert_non_null(strstr(server.request, "POST /hook HTTP/1.1\r\n"));
        assert_non_null(strstr(server.request, "User-Agent: tester/1\r\n"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(answers__say_when_to_come_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
