/*  The library's side of this room: the only file that includes its header. */
#include "broker/http/http.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "broker/http/request/desk.h"
#include "broker/http/request/request.h"
#include "broker/http/routes/routes.h"
#include "federation/base/clock.h"
#include "federation/spec/value.h"

enum {
    CONNECTION_MEMORY = 64 << 10, /* bounds the header block; also the unit in which bodies are read */
    STREAM_BLOCK = 16 << 10,
    CONNECTIONS_MOST = 4096,
    STOP_GRACE_MS = 2000,   /* for clients to take their last answers */
    DISCARD_EARLY = 1 << 20 /* a refused body larger than this is not even read */
};

/* ---- from the library ---------------------------------------------------------------------------------- */

static void *on_target(void *cls, const char *target, struct MHD_Connection *connection)
{
    helio_text_t text = helio_text_of(target);
    if (text.size > HELIO_TARGET_MAX + 1) /* enough to be refused as too long */
        text.size = HELIO_TARGET_MAX + 1;
    helio_exchange_t *exchange = helio_exchange_new(cls, text);
    exchange->connection = connection;
    (void)atomic_fetch_add(&exchange->http->open, 1);
    exchange->started_us = helio_clock_boot_us();
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info)
        exchange->fd = info->connect_fd;
    return exchange;
}

static void tell_idle(helio_http_t *self)
{
    uint64_t one = 1;
    ssize_t written = write(self->idle_fd, &one, sizeof one);
    (void)written; /* only fails when the counter is saturated: it is readable then */
}

static void on_completed(void *cls, struct MHD_Connection *connection, void **con_cls,
                         enum MHD_RequestTerminationCode reason)
{
    (void)connection;
    (void)reason;
    helio_http_t *self = cls;
    helio_exchange_t *exchange = *con_cls;
    if (!exchange)
        return;
    if (exchange->status)
        helio_metrics_request(&self->metrics, helio_route_index(self->routes, exchange->route), exchange->status,
                              exchange->want ? UINT64_MAX
                                             : (uint64_t)(helio_clock_boot_us() - exchange->started_us));
    helio_exchange_destroy(&exchange);
    *con_cls = NULL;
    if (atomic_fetch_sub(&self->open, 1) == 1 && atomic_load(&self->stopping))
        tell_idle(self);
}

static void resume(helio_exchange_t *exchange)
{
    MHD_resume_connection(exchange->connection);
}

/*  Hands the exchange to the desk: it may be gone when this returns. false: the desk is closing. */
static bool wait_at_desk(helio_exchange_t *exchange)
{
    helio_desk_t *desk = exchange->http->desk;
    if (!helio_desk_admit(desk))
        return false;
    MHD_suspend_connection(exchange->connection);
    helio_desk_take(desk, exchange);
    return true;
}

static ssize_t give_more(void *cls, uint64_t position, char *bytes, size_t max)
{
    (void)position;
    helio_exchange_t *exchange = cls;
    size_t left = exchange->answer.size - (size_t)exchange->answer_sent;
    if (left) {
        size_t size = left < max ? left : max;
        memcpy(bytes, exchange->answer.data + exchange->answer_sent, size);
        exchange->answer_sent += size;
        return (ssize_t)size;
    }
    if (exchange->broken)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (exchange->ended)
        return MHD_CONTENT_READER_END_OF_STREAM;
    helio_buffer_reset(&exchange->answer);
    exchange->answer_sent = 0;
    return wait_at_desk(exchange) ? 0 : MHD_CONTENT_READER_END_OF_STREAM;
}

static struct MHD_Response *response_of(helio_exchange_t *exchange)
{
    if (exchange->want)
        return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, give_more, exchange, NULL);
    helio_buffer_t answer = exchange->answer;
    exchange->answer = (helio_buffer_t){0};
    if (!answer.data)
        return MHD_create_response_from_buffer(0, (void *)(uintptr_t) "", MHD_RESPMEM_PERSISTENT);
    return MHD_create_response_from_buffer(answer.size, answer.data, MHD_RESPMEM_MUST_FREE);
}

static enum MHD_Result send_answer(helio_exchange_t *exchange)
{
    struct MHD_Response *response = response_of(exchange);
    if (!response)
        return MHD_NO;
    exchange->sent = true;
    (void)MHD_add_response_header(response, "Content-Type", exchange->answer_type);
    (void)MHD_add_response_header(response, "Cache-Control", "no-store");
    (void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    for (uint32_t i = 0; i < exchange->header_count; i++)
        (void)MHD_add_response_header(response, exchange->headers[i].name, exchange->headers[i].value);
    if (exchange->close)
        (void)MHD_add_response_header(response, "Connection", "close");
    enum MHD_Result result = MHD_queue_response(exchange->connection, exchange->status, response);
    MHD_destroy_response(response); /* the library counts its own reference */
    return result;
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/*  The headers are there. A refusal is sent at once when nobody should send the body any more. */
static enum MHD_Result begin(helio_exchange_t *exchange, struct MHD_Connection *connection,
                             const char *method)
{
    helio_request_headers_t headers = {.authorization = header(connection, "Authorization"),
                                       .accept = header(connection, "Accept"),
                                       .content_type = header(connection, "Content-Type"),
                                       .content_length = header(connection, "Content-Length"),
                                       .transfer_encoding = header(connection, "Transfer-Encoding"),
                                       .idempotency_key = header(connection, "Idempotency-Key"),
                                       .last_event_id = header(connection, "Last-Event-ID")};
    exchange->begun = true;
    helio_request_judge(exchange, method, &headers);
    if (!exchange->status || !exchange->has_body)
        return MHD_YES;
    uint64_t length = UINT64_MAX;
    bool known =
        headers.content_length && helio_u64_parse(helio_text_of(headers.content_length), &length) == HELIO_OK;
    if (!header(connection, "Expect") && (!known || length <= DISCARD_EARLY))
        return MHD_YES; /* the answer comes after the body, and the connection stays of use */
    exchange->close = true;
    return send_answer(exchange);
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data, size_t *size,
                                  void **con_cls)
{
    (void)cls;
    (void)url;
    (void)version;
    helio_exchange_t *exchange = *con_cls;
    if (!exchange->begun)
        return begin(exchange, connection, method);
    if (*size) {
        bool go_on = helio_request_take(exchange, data, *size, helio_clock_boot_us());
        *size = 0;
        return go_on ? MHD_YES : MHD_NO;
    }
    if (!exchange->complete) {
        exchange->complete = true;
        if (!exchange->status)
            exchange->route->start(exchange);
    }
    if (exchange->status)
        return send_answer(exchange);
    if (wait_at_desk(exchange))
        return MHD_YES;
    helio_answer_problem(exchange, 503, NULL, "the broker is shutting down");
    return send_answer(exchange);
}

/* ---- life ---------------------------------------------------------------------------------------------- */

static uint32_t or_default(uint32_t value, uint32_t fallback)
{
    return value ? value : fallback;
}

helio_http_t *helio_http_new(const helio_http_options_t *options, helio_log_t *log)
{
    helio_http_t *self = helio_new(1, sizeof *self);
    helio_http_options_t *own = &self->options;
    *own = *options;
    (void)helio_text_copy(helio_text_of(options->listen ? options->listen : "127.0.0.1:7480"), self->listen,
                          sizeof self->listen);
    own->listen = self->listen;
    own->threads = or_default(own->threads, 2);
    own->connections_max = or_default(own->connections_max, 1024);
    if (own->connections_max > CONNECTIONS_MOST)
        own->connections_max = CONNECTIONS_MOST;
    own->per_address_max = or_default(own->per_address_max, own->connections_max);
    own->subscribers_max = or_default(own->subscribers_max, 256);
    own->body_max = or_default(own->body_max, 16 << 20);
    own->bodies_max = own->bodies_max ? own->bodies_max : UINT64_C(256) << 20;
    own->idle_timeout_ms = or_default(own->idle_timeout_ms, 30000);
    own->request_timeout_ms = or_default(own->request_timeout_ms, 15000);
    self->log = log;
    self->routes = helio_routes();
    self->tokens = helio_token_table_new();
    self->desk = helio_desk_new(self, resume);
    atomic_init(&self->stopping, false);
    atomic_init(&self->leading, false);
    atomic_init(&self->open, 0);
    self->idle_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (self->idle_fd < 0)
        abort();
    return self;
}

void helio_http_destroy(helio_http_t **self_p)
{
    helio_http_t *self = *self_p;
    if (!self)
        return;
    assert(!self->daemon);
    helio_desk_destroy(&self->desk);
    helio_token_table_destroy(&self->tokens);
    helio_buffer_clear(&self->sites_json);
    helio_buffer_clear(&self->balance_json);
    helio_buffer_clear(&self->forecasts_json);
    helio_buffer_clear(&self->retention_json);
    (void)close(self->idle_fd);
    free(self);
    *self_p = NULL;
}

static void on_transition(void *arg, const helio_row_transition_t *transition)
{
    helio_http_t *self = arg;
    if (transition->to < HELIO_JOB_STATE_COUNT)
        (void)atomic_fetch_add_explicit(&self->metrics.transitions[transition->to], 1, memory_order_relaxed);
    helio_desk_ring(self->desk, transition->seq);
}

static void on_token(void *arg, const helio_row_token_t *token)
{
    helio_http_t *self = arg;
    helio_token_table_put(self->tokens, token);
    if (token->revoked_ms)
        helio_desk_ring(self->desk, 0); /* its streams end now, not at their next event */
}

static void on_principal(void *arg, const helio_row_principal_t *principal)
{
    helio_http_t *self = arg;
    helio_token_table_disable(self->tokens, principal);
    if (principal->disabled_ms)
        helio_desk_ring(self->desk, 0); /* as of a token that is revoked */
}

static void on_leading(void *arg)
{
    helio_http_t *self = arg;
    atomic_store(&self->leading, true);
}

helio_engine_listener_t helio_http_listener(helio_http_t *self)
{
    return (helio_engine_listener_t){.on_transition = on_transition,
                                     .on_token = on_token,
                                     .on_principal = on_principal,
                                     .on_leading = on_leading,
                                     .arg = self};
}

static helio_rc parse_listen(const char *listen, struct sockaddr_storage *ret_address, helio_error_t *err)
{
    struct sockaddr_storage address = {0};
    struct sockaddr_in *v4 = (struct sockaddr_in *)&address;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&address;
    const char *colon = strrchr(listen, ':');
    uint64_t port = 0;
    char host[64] = "";
    bool bracketed = listen[0] == '[' && colon && colon > listen + 1 && colon[-1] == ']';
    if (colon) {
        helio_text_t text = {listen + bracketed, (uint32_t)(colon - listen) - 2u * bracketed};
        if (!helio_text_copy(text, host, sizeof host))
            colon = NULL;
    }
    if (!colon || helio_u64_parse(helio_text_of(colon + 1), &port) != HELIO_OK || port > 65535)
        return helio_fail(err, HELIO_INVALID,
                          "'%s' is not ADDRESS:PORT, for example 127.0.0.1:7480 or [::]:7480", listen);
    if (!bracketed && inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)port);
    } else if (bracketed && inet_pton(AF_INET6, host, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons((uint16_t)port);
    } else {
        return helio_fail(err, HELIO_INVALID, "'%s' in '%s' is not a numeric address", host, listen);
    }
    *ret_address = address;
    return HELIO_OK;
}

/*  A socket of our own rather than the library's: its failure then has a reason that can be told. */
static helio_rc open_socket(const helio_http_t *self, int *ret_fd, uint16_t *ret_port, helio_error_t *err)
{
    struct sockaddr_storage address;
    helio_rc rc = parse_listen(self->listen, &address, err);
    if (rc != HELIO_OK)
        return rc;
    socklen_t size = address.ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    int on = 1;
    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(fd, (const struct sockaddr *)&address, size) != 0 || listen(fd, 1024) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0) {
        int error = errno;
        if (fd >= 0)
            (void)close(fd);
        return helio_fail(err, HELIO_IO, "cannot listen on %s: %s%s", self->listen, strerror(error),
                          error == EADDRINUSE ? "; another program has the port: stop it, or set listen_http"
                                              : "");
    }
    *ret_fd = fd;
    *ret_port = ntohs(address.ss_family == AF_INET ? ((struct sockaddr_in *)&address)->sin_port
                                                   : ((struct sockaddr_in6 *)&address)->sin6_port);
    return HELIO_OK;
}

helio_rc helio_http_start(helio_http_t *self, helio_http_ports_t ports, helio_error_t *err)
{
    assert(!self->daemon && !atomic_load(&self->stopping));
    int fd = -1;
    uint16_t port = 0;
    helio_rc rc = open_socket(self, &fd, &port, err);
    if (rc != HELIO_OK)
        return rc;
    self->ports = ports;
    helio_desk_start(self->desk);
    const helio_http_options_t *options = &self->options;
    /* the limit is split between the pool's threads: round up, the rings have the room (they count to a power
     * of two) */
    uint32_t threads =
        options->threads < options->connections_max ? options->threads : options->connections_max;
    self->daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, self,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_THREAD_POOL_SIZE, threads > 1 ? threads : 0u,
        MHD_OPTION_CONNECTION_LIMIT, options->connections_max, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
        options->per_address_max, MHD_OPTION_CONNECTION_TIMEOUT, (options->idle_timeout_ms + 999) / 1000,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_URI_LOG_CALLBACK, on_target, self, MHD_OPTION_NOTIFY_COMPLETED, on_completed, self,
        MHD_OPTION_END);
    if (!self->daemon) {
        (void)close(fd);
        atomic_store(&self->stopping, true);
        helio_desk_stop(self->desk);
        return helio_fail(err, HELIO_IO,
                          "the HTTP server does not start; are there enough file descriptors?");
    }
    self->port = port;
    helio_log(self->log, HELIO_INFO, "http_listening", "address=%s port=%u", self->listen, (unsigned)port);
    return HELIO_OK;
}

/*  The library cuts what is being sent when it stops: what was answered last should arrive. */
static void let_answers_leave(helio_http_t *self)
{
    int64_t until_ms = helio_clock_boot_ms() + STOP_GRACE_MS;
    struct pollfd fd = {.fd = self->idle_fd, .events = POLLIN};
    for (int64_t left_ms = STOP_GRACE_MS; left_ms > 0 && atomic_load(&self->open) > 0;
         left_ms = until_ms - helio_clock_boot_ms()) {
        uint64_t count;
        (void)poll(&fd, 1, (int)left_ms);
        ssize_t got = read(self->idle_fd, &count, sizeof count);
        (void)got; /* nothing to read: the grace is over, or a signal */
    }
}

void helio_http_stop(helio_http_t *self)
{
    if (!self->daemon)
        return;
    atomic_store(&self->stopping, true);
    MHD_socket fd = MHD_quiesce_daemon(self->daemon);
    helio_desk_stop(
        self->desk); /* from here on nothing is suspended: the library may not be stopped otherwise */
    let_answers_leave(self);
    MHD_stop_daemon(self->daemon);
    if (fd != MHD_INVALID_SOCKET)
        (void)close(fd);
    self->daemon = NULL;
    helio_log(self->log, HELIO_INFO, "http_stopped", "port=%u", (unsigned)self->port);
}

uint16_t helio_http_port(const helio_http_t *self)
{
    return self->port;
}
