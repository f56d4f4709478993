/*  broker_double.h -- a scripted HTTP server on 127.0.0.1 that stands in for the broker.
 *
 *  One thread accepts, one thread serves each connection and closes it after one answer. The first rule that
 * matches the request line and has uses left answers; what came in is recorded. For one test program only:
 * all static.
 */
#ifndef HELIO_TESTS_BROKER_DOUBLE_H
#define HELIO_TESTS_BROKER_DOUBLE_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "federation/base/memory.h"

typedef enum ending {
    WHOLE, /* Content-Length, all of it */
    CUT,   /* promises more than it sends, then closes */
    HOLD,  /* no length; stays open until the double stops */
    DROP,  /* closes without a byte */
    MUTE,  /* stays open without a byte until the double stops */
    RAW    /* the body alone: no HTTP */
} ending_t;

typedef struct rule {
    const char *match; /* beginning of "METHOD /path" */
    int times;         /* 0 = always */
    int status;
    const char *headers; /* whole lines; NULL = none */
    const char *body;
    ending_t ending;
    int presses; /* of Ctrl-C, before the answer */
} rule_t;

enum { RULES_MAX = 32, CONNECTIONS_MAX = 256 };

typedef struct broker_double {
    rule_t rules[RULES_MAX];
    int used[RULES_MAX];
    size_t rule_count;
    int listener;
    int port;
    int stop_pipe[2];
    pthread_t acceptor;
    pthread_t servers[CONNECTIONS_MAX];
    size_t server_count;
    pthread_mutex_t lock;
    helio_buffer_t requests; /* request line, headers and body of each, then "\n====\n" */
    volatile sig_atomic_t presses;
    int press_pipe[2];
} broker_double_t;

typedef struct connection {
    broker_double_t *broker;
    int fd;
} connection_t;

static inline void send_all(int fd, const char *bytes, size_t size)
{
    while (size) {
        ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);
        if (sent <= 0)
            return;
        bytes += sent;
        size -= (size_t)sent;
    }
}

/*  Reads until the body that Content-Length promises is there. */
static inline void read_request(int fd, helio_buffer_t *request)
{
    char piece[8192];
    for (;;) {
        const char *end = request->size ? strstr(request->data, "\r\n\r\n") : NULL;
        if (end) {
            const char *length = strcasestr(request->data, "\r\nContent-Length:");
            size_t body = length && length < end ? strtoul(length + 17, NULL, 10) : 0;
            if (request->size >= (size_t)(end - request->data) + 4 + body)
                return;
        }
        ssize_t got = recv(fd, piece, sizeof piece, 0);
        if (got <= 0)
            return;
        helio_buffer_append(request, piece, (size_t)got);
    }
}

static inline rule_t take_rule(broker_double_t *self, const helio_buffer_t *request)
{
    rule_t rule = {.status = 404, .body = "{\"title\":\"not in the script\"}"};
    pthread_mutex_lock(&self->lock);
    helio_buffer_append(&self->requests, request->data, request->size);
    helio_buffer_text(&self->requests, "\n====\n");
    for (size_t i = 0; i < self->rule_count; i++) {
        if (strncmp(request->data, self->rules[i].match, strlen(self->rules[i].match)) != 0 ||
            (self->rules[i].times && self->used[i] >= self->rules[i].times))
            continue;
        self->used[i]++;
        rule = self->rules[i];
        break;
    }
    pthread_mutex_unlock(&self->lock);
    return rule;
}

/*  A body with NULs says its size in the header BODY_BYTES. */
#define BODY_BYTES "X-Body-Bytes: "
static inline size_t body_size(const rule_t *rule)
{
    const char *told = rule->headers ? strstr(rule->headers, BODY_BYTES) : NULL;
    return told ? strtoul(told + sizeof BODY_BYTES - 1, NULL, 10) : rule->body ? strlen(rule->body) : 0;
}

static inline void answer(broker_double_t *self, int fd, const rule_t *rule)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    size_t size = body_size(rule);
    for (int i = 0; i < rule->presses; i++) {
        self->presses = self->presses + 1;
        if (write(self->press_pipe[1], "", 1) != 1)
            return;
    }
    if (rule->ending == DROP)
        return;
    if (rule->ending != MUTE && rule->ending != RAW)
        helio_buffer_printf(&text, "HTTP/1.1 %d X\r\nConnection: close\r\n%s", rule->status,
                            rule->headers ? rule->headers : "");
    if (rule->ending == WHOLE || rule->ending == CUT)
        helio_buffer_printf(&text, "Content-Length: %zu\r\n", size + (rule->ending == CUT ? 1000 : 0));
    if (rule->ending != MUTE && rule->ending != RAW)
        helio_buffer_text(&text, "\r\n");
    helio_buffer_append(&text, rule->body ? rule->body : "", size);
    send_all(fd, text.data ? text.data : "", text.size);
    if (rule->ending == HOLD || rule->ending == MUTE) {
        struct pollfd waits[2] = {{.fd = self->stop_pipe[0], .events = POLLIN}, {.fd = fd, .events = POLLIN}};
        (void)poll(waits, 2, -1);
    }
}

static inline void *serve(void *arg)
{
    connection_t connection = *(connection_t *)arg;
    free(arg);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t request = {0};
    read_request(connection.fd, &request);
    if (request.size) {
        rule_t rule = take_rule(connection.broker, &request);
        answer(connection.broker, connection.fd, &rule);
    }
    close(connection.fd);
    return NULL;
}

static inline void *accept_all(void *arg)
{
    broker_double_t *self = arg;
    for (;;) {
        struct pollfd waits[2] = {{.fd = self->stop_pipe[0], .events = POLLIN},
                                  {.fd = self->listener, .events = POLLIN}};
        (void)poll(waits, 2, -1);
        if (waits[0].revents)
            return NULL;
        int fd = accept(self->listener, NULL, NULL);
        if (fd < 0)
            continue;
        if (self->server_count == CONNECTIONS_MAX) {
            close(fd);
            continue;
        }
        connection_t *connection = helio_new(1, sizeof *connection);
        *connection = (connection_t){self, fd};
        if (pthread_create(&self->servers[self->server_count], NULL, serve, connection) == 0)
            self->server_count++;
    }
}

static inline broker_double_t *broker_double_new(const rule_t *rules)
{
    broker_double_t *self = helio_new(1, sizeof *self);
    for (; rules[self->rule_count].match; self->rule_count++)
        self->rules[self->rule_count] = rules[self->rule_count];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    self->listener = socket(AF_INET, SOCK_STREAM, 0);
    if (self->listener < 0 || bind(self->listener, (struct sockaddr *)&address, size) != 0 ||
        listen(self->listener, 64) != 0 || getsockname(self->listener, (struct sockaddr *)&address, &size) != 0 ||
        pipe(self->stop_pipe) != 0 || pipe2(self->press_pipe, 04000 /* O_NONBLOCK */) != 0)
        abort();
    self->port = ntohs(address.sin_port);
    pthread_mutex_init(&self->lock, NULL);
    if (pthread_create(&self->acceptor, NULL, accept_all, self) != 0)
        abort();
    return self;
}

/*  Stops; what was recorded and counted may still be read. */
static inline void broker_double_stop(broker_double_t *self)
{
    if (self->listener < 0)
        return;
    if (write(self->stop_pipe[1], "", 1) != 1)
        abort();
    pthread_join(self->acceptor, NULL);
    for (size_t i = 0; i < self->server_count; i++)
        pthread_join(self->servers[i], NULL);
    close(self->listener);
    self->listener = -1;
    if (!self->requests.data)
        helio_buffer_text(&self->requests, "");
}

static inline void broker_double_destroy(broker_double_t **self_p)
{
    broker_double_t *self = *self_p;
    broker_double_stop(self);
    for (int i = 0; i < 2; i++) {
        close(self->stop_pipe[i]);
        close(self->press_pipe[i]);
    }
    pthread_mutex_destroy(&self->lock);
    helio_buffer_clear(&self->requests);
    free(self);
    *self_p = NULL;
}

/*  How often a text stands in what was received. */
static inline int broker_double_count(const broker_double_t *self, const char *text)
{
    int count = 0;
    for (const char *at = self->requests.data; (at = strstr(at, text)) != NULL; at += strlen(text))
        count++;
    return count;
}

#endif
