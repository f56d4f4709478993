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

#include "broker/http/request/waiting_requests.h"
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
    helio_request_context_t *context = helio_request_context_new(cls, text);
    context->connection = connection;
    (void)atomic_fetch_add(&context->http->open, 1);
    context->started_us = helio_clock_boot_us();
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info)
        context->fd = info->connect_fd;
    return context;
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
    helio_request_context_t *context = *con_cls;
    if (!context)
        return;
    if (context->status)
        helio_metrics_request(&self->metrics, helio_route_index(self->routes, context->route), context->status,
                              context->want ? UINT64_MAX
                                             : (uint64_t)(helio_clock_boot_us() - context->started_us));
    helio_request_context_destroy(&context);
    *con_cls = NULL;
    if (atomic_fetch_sub(&self->open, 1) == 1 && atomic_load(&self->stopping))
        tell_idle(self);
}

static void resume(helio_request_context_t *context)
{
    MHD_resume_connection(context->connection);
}

/*  Hands the exchange to the desk: it may be gone when this returns. false: the desk is closing. */
static bool wait_for_result(helio_request_context_t *context)
{
    helio_waiting_requests_t *waiting_requests = context->http->waiting_requests;
    if (!helio_waiting_requests_enter(waiting_requests))
        return false;
    MHD_suspend_connection(context->connection);
    helio_waiting_requests_add(waiting_requests, context);
    return true;
}

static ssize_t give_more(void *cls, uint64_t position, char *bytes, size_t max)
{
    (void)position;
    helio_request_context_t *context = cls;
    size_t left = context->response.size - (size_t)context->response_sent;
    if (left) {
        size_t size = left < max ? left : max;
        memcpy(bytes, context->response.data + context->response_sent, size);
        context->response_sent += size;
        return (ssize_t)size;
    }
    if (context->broken)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (context->ended)
        return MHD_CONTENT_READER_END_OF_STREAM;
    helio_buffer_reset(&context->response);
    context->response_sent = 0;
    return wait_for_result(context) ? 0 : MHD_CONTENT_READER_END_OF_STREAM;
}

static struct MHD_Response *response_of(helio_request_context_t *context)
{
    if (context->want)
        return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, give_more, context, NULL);
    helio_buffer_t response = context->response;
    context->response = (helio_buffer_t){0};
    if (!response.data)
        return MHD_create_response_from_buffer(0, (void *)(uintptr_t) "", MHD_RESPMEM_PERSISTENT);
    return MHD_create_response_from_buffer(response.size, response.data, MHD_RESPMEM_MUST_FREE);
}

static enum MHD_Result send_response(helio_request_context_t *context)
{
    struct MHD_Response *response = response_of(context);
    if (!response)
        return MHD_NO;
    context->sent = true;
    (void)MHD_add_response_header(response, "Content-Type", context->response_type);
    (void)MHD_add_response_header(response, "Cache-Control", "no-store");
    (void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    for (uint32_t i = 0; i < context->header_count; i++)
        (void)MHD_add_response_header(response, context->headers[i].name, context->headers[i].value);
    if (context->close)
        (void)MHD_add_response_header(response, "Connection", "close");
    enum MHD_Result result = MHD_queue_response(context->connection, context->status, response);
    MHD_destroy_response(response); /* the library counts its own reference */
    return result;
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/*  The headers are there. A refusal is sent at once when nobody should send the body any more. */
static enum MHD_Result begin(helio_request_context_t *context, struct MHD_Connection *connection,
                             const char *method)
{
    helio_request_headers_t headers = {.authorization = header(connection, "Authorization"),
                                       .accept = header(connection, "Accept"),
                                       .content_type = header(connection, "Content-Type"),
                                       .content_length = header(connection, "Content-Length"),
                                       .transfer_encoding = header(connection, "Transfer-Encoding"),
                                       .idempotency_key = header(connection, "Idempotency-Key"),
                                       .last_event_id = header(connection, "Last-Event-ID")};
    context->begun = true;
    helio_request_judge(context, method, &headers);
    if (!context->status || !context->has_body)
        return MHD_YES;
    uint64_t length = UINT64_MAX;
    bool known =
        headers.content_length && helio_u64_parse(helio_text_of(headers.content_length), &length) == HELIO_OK;
    if (!header(connection, "Expect") && (!known || length <= DISCARD_EARLY))
        return MHD_YES; /* the answer comes after the body, and the connection stays of use */
    context->close = true;
    return send_response(context);
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data, size_t *size,
                                  void **con_cls)
{
    (void)cls;
    (void)url;
    (void)version;
    helio_request_context_t *context = *con_cls;
    if (!context->begun)
        return begin(context, connection, method);
    if (*size) {
        bool go_on = helio_request_take(context, data, *size, helio_clock_boot_us());
        *size = 0;
        return go_on ? MHD_YES : MHD_NO;
    }
    if (!context->complete) {
        context->complete = true;
        if (!context->status)
            context->route->start(context);
    }
    if (context->status)
        return send_response(context);
    if (wait_for_result(context))
        return MHD_YES;
    helio_response_problem(context, 503, NULL, "the broker is shutting down");
    return send_response(context);
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
    self->waiting_requests = helio_waiting_requests_new(self, resume);
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
    helio_waiting_requests_destroy(&self->waiting_requests);
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
    helio_waiting_requests_notify(self->waiting_requests, transition->seq);
}

static void on_token(void *arg, const helio_row_token_t *token)
{
    helio_http_t *self = arg;
    helio_token_table_put(self->tokens, token);
    if (token->revoked_ms)
        helio_waiting_requests_notify(self->waiting_requests, 0); /* its streams end now, not at their next event */
}

static void on_principal(void *arg, const helio_row_principal_t *principal)
{
    helio_http_t *self = arg;
    helio_token_table_disable(self->tokens, principal);
    if (principal->disabled_ms)
        helio_waiting_requests_notify(self->waiting_requests, 0); /* as of a token that is revoked */
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
    helio_waiting_requests_start(self->waiting_requests);
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
        helio_waiting_requests_stop(self->waiting_requests);
        return helio_fail(err, HELIO_IO,
                          "the HTTP server does not start; are there enough file descriptors?");
    }
    self->port = port;
    helio_log(self->log, HELIO_INFO, "http_listening", "address=%s port=%u", self->listen, (unsigned)port);
    return HELIO_OK;
}

/*  The library cuts what is being sent when it stops: what was answered last should arrive. */
static void flush_responses(helio_http_t *self)
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
    helio_waiting_requests_stop(
        self->waiting_requests); /* from here on nothing is suspended: the library may not be stopped otherwise */
    flush_responses(self);
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
