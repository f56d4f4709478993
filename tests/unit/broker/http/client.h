/*  client.h -- an HTTP client that sends and receives bytes. */
#ifndef HELIO_TESTS_HTTP_CLIENT_H
#define HELIO_TESTS_HTTP_CLIENT_H

#include "tests/unit/broker/http/harness.h"

typedef struct client {
    int fd;
    char data[256 << 10]; /* received and not yet consumed */
    size_t size;
} client_t;

typedef struct reply {
    int status;
    char head[4096];
    char body[128 << 10];
    size_t body_size;
} reply_t;

static inline client_t *client_up(const world_t *w)
{
    client_t *c = helio_new(1, sizeof *c);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(helio_http_port(w->http))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(c->fd, (struct sockaddr *)&address, sizeof address), 0);
    return c;
}

static inline void client_down(client_t *c)
{
    (void)close(c->fd);
    free(c);
}

static inline void client_send(client_t *c, const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size) {
        ssize_t sent = send(c->fd, at, size, MSG_NOSIGNAL);
        if (sent <= 0)
            return; /* the server hung up: the answer tells */
        at += sent;
        size -= (size_t)sent;
    }
}

/*  false: the end of the stream. */
static inline bool client_receive(client_t *c)
{
    struct pollfd fd = {.fd = c->fd, .events = POLLIN};
    if (poll(&fd, 1, CLIENT_TIMEOUT_MS) != 1)
        fail_msg("the server says nothing");
    assert_true(c->size < sizeof c->data - 1);
    ssize_t got = recv(c->fd, c->data + c->size, sizeof c->data - 1 - c->size, 0);
    if (got <= 0)
        return false;
    c->size += (size_t)got;
    c->data[c->size] = '\0';
    return true;
}

static inline void client_consume(client_t *c, size_t size)
{
    memmove(c->data, c->data + size, c->size - size + 1);
    c->size -= size;
}

static inline bool client_is_silent(const client_t *c)
{
    struct pollfd fd = {.fd = c->fd, .events = POLLIN};
    return c->size == 0 && poll(&fd, 1, 0) == 0;
}

/*  Reads until the text is there and consumes everything up to its end; false at the end of the stream. */
static inline bool client_until(client_t *c, const char *text)
{
    for (;;) {
        c->data[c->size] = '\0';
        char *at = c->size ? strstr(c->data, text) : NULL;
        if (at) {
            client_consume(c, (size_t)(at - c->data) + strlen(text));
            return true;
        }
        if (!client_receive(c))
            return false;
    }
}

static inline const char *reply_header(const reply_t *r, const char *name)
{
    static _Thread_local char value[256];
    char needle[80];
    (void)snprintf(needle, sizeof needle, "\r\n%s: ", name);
    const char *at = strcasestr(r->head, needle);
    if (!at)
        return NULL;
    at += strlen(needle);
    size_t size = strcspn(at, "\r");
    (void)helio_text_copy((helio_text_t){at, (uint32_t)size}, value, sizeof value);
    return value;
}

/*  The head of the next answer; false: the connection ended without one. */
static inline bool client_head(client_t *c, reply_t *r)
{
    memset(r, 0, sizeof *r);
    char *end;
    while (!(end = c->size ? strstr(c->data, "\r\n\r\n") : NULL))
        if (!client_receive(c))
            return false;
    size_t size = (size_t)(end - c->data) + 4;
    assert_true(size < sizeof r->head);
    memcpy(r->head, c->data, size);
    client_consume(c, size);
    assert_int_equal(sscanf(r->head, "HTTP/1.%*c %d", &r->status), 1);
    return true;
}

static inline void client_chunks(client_t *c, reply_t *r)
{
    for (;;) {
        char *end;
        while (!(end = c->size ? strstr(c->data, "\r\n") : NULL))
            if (!client_receive(c))
                return;
        size_t size = strtoul(c->data, NULL, 16), head = (size_t)(end - c->data) + 2;
        while (c->size < head + size + 2)
            if (!client_receive(c))
                return;
        assert_true(r->body_size + size < sizeof r->body);
        memcpy(r->body + r->body_size, c->data + head, size);
        r->body_size += size;
        client_consume(c, head + size + 2);
        if (size == 0)
            return;
    }
}

static inline bool client_reply_to(client_t *c, reply_t *r, bool head_only)
{
    do {
        if (!client_head(c, r))
            return false;
    } while (r->status == 100);
    const char *length = reply_header(r, "Content-Length");
    if (head_only)
        return true;
    if (length) {
        r->body_size = strtoul(length, NULL, 10);
        assert_true(r->body_size < sizeof r->body);
        while (c->size < r->body_size)
            if (!client_receive(c))
                return false;
        memcpy(r->body, c->data, r->body_size);
        client_consume(c, r->body_size);
    } else {
        client_chunks(c, r);
    }
    return true;
}

static inline bool client_reply(client_t *c, reply_t *r)
{
    return client_reply_to(c, r, false);
}

/*  A whole request. token "" = none. extra: header lines, each ending in CRLF. body NULL = none. */
static inline void client_ask(client_t *c, const char *method, const char *target, const char *token, const char *extra,
                              const char *body)
{
    helio_buffer_t text = {0};
    helio_buffer_printf(&text, "%s %s HTTP/1.1\r\nHost: test\r\n%s", method, target, extra);
    if (*token)
        helio_buffer_printf(&text, "Authorization: Bearer %s\r\n", token);
    if (body)
        helio_buffer_printf(&text, "Content-Length: %zu\r\n", strlen(body));
    helio_buffer_printf(&text, "\r\n%s", body ? body : "");
    client_send(c, text.data, text.size);
    helio_buffer_clear(&text);
}

/*  One request on a connection of its own. */
static inline void ask(world_t *w, reply_t *r, const char *method, const char *target, const char *token,
                       const char *extra, const char *body)
{
    client_t *c = client_up(w);
    client_ask(c, method, target, token, extra, body);
    assert_true(client_reply(c, r));
    client_down(c);
    if (strncmp(r->body, "{\"type\":\"about:blank\"", 21) == 0 && !strstr(r->body, "\"details\":[{\"code\":\""))
        fail_msg("a problem without details: %s", r->body);
}

#define assert_contains(text, part)                         \
    do {                                                    \
        if (!strstr((text), (part)))                        \
            fail_msg("'%s' is not in: %s", (part), (text)); \
    } while (0)

#endif
