/*  http.c -- the server's life over libmicrohttpd, and its callbacks: the only file that includes the library's
 *  header. */
#include "broker/http/http.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <openssl/rand.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "broker/http/request/connections.h"
#include "broker/http/request/framing.h"
#include "broker/http/request/request.h"
#include "broker/http/request/waiting_requests.h"
#include "broker/http/routes/routes.h"
#include "federation/base/clock.h"
#include "federation/spec/value.h"

enum {
    CONNECTION_MEMORY = 64 << 10, /* bounds the header block; also the unit in which bodies are read */
    STREAM_BLOCK = 16 << 10,
    CONNECTIONS_MOST = 4096,
    HEADERS_TIMEOUT_MS = 10000, /* a client sends its headers at once; this leaves time for a poor line */
    STOP_GRACE_MS = 2000,       /* for clients to read their last responses */
    DISCARD_EARLY = 1 << 20     /* a refused body larger than this is not even read */
};

/* ---- from the library ---------------------------------------------------------------------------------- */

static helio_connection_t *connection_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static int fd_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

static void on_connection(void *cls, struct MHD_Connection *connection, void **socket_context,
                          enum MHD_ConnectionNotificationCode code)
{
    helio_http_t *self = cls;
    helio_connection_t *known = *socket_context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        *socket_context = helio_connections_open(self->connections, fd_of(connection), helio_clock_boot_ms());
    else if (known) {
        helio_connections_close(self->connections, &known);
        *socket_context = NULL;
    }
}

static void *on_target(void *cls, const char *target, struct MHD_Connection *connection)
{
    helio_text_t text = helio_text_of(target);
    const char *end = target + text.size;
    if (text.size > HELIO_TARGET_MAX + 1) /* enough to be refused as too long */
        text.size = HELIO_TARGET_MAX + 1;
    helio_request_context_t *context = helio_request_context_new(cls, text);
    context->connection = connection;
    (void)atomic_fetch_add(&context->http->open, 1);
    context->started_us = helio_clock_boot_us();
    context->fd = fd_of(connection);
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    context->address = helio_address_of(info ? info->client_addr : NULL);
    context->target_end = end;
    return context;
}

static void tell_idle(helio_http_t *self)
{
    uint64_t one = 1;
    ssize_t written = write(self->idle_fd, &one, sizeof one);
    (void)written; /* fails only if the counter is saturated, and then idle_fd is readable */
}

static void on_completed(void *cls, struct MHD_Connection *connection, void **con_cls,
                         enum MHD_RequestTerminationCode reason)
{
    (void)reason;
    helio_http_t *self = cls;
    helio_request_context_t *context = *con_cls;
    if (!context)
        return;
    if (context->begun)
        helio_connections_end(self->connections, connection_of(connection), helio_clock_boot_ms());
    if (context->status)
        helio_metrics_request(&self->metrics, helio_route_index(self->routes, context->route), context->status,
                              context->want ? UINT64_MAX : (uint64_t)(helio_clock_boot_us() - context->started_us));
    helio_request_context_destroy(&context);
    *con_cls = NULL;
    if (atomic_fetch_sub(&self->open, 1) == 1 && atomic_load(&self->stopping))
        tell_idle(self);
}

static void resume(helio_request_context_t *context)
{
    MHD_resume_connection(context->connection);
}

/*  Hands the request over: when this returns it can be gone already. False: the server is stopping. */
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
    (void)MHD_add_response_header(response, "Cache-Control",
                                  context->cache_control ? context->cache_control : "no-store");
    (void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    bool by_leader = context->by_leader || helio_leadership_leads(context->http->leadership);
    (void)MHD_add_response_header(response, HELIO_BROKER_HEADER,
                                  by_leader              ? "leader"
                                  : context->from_itself ? "itself"
                                                         : "follower");
    for (uint32_t i = 0; i < context->header_count; i++)
        (void)MHD_add_response_header(response, context->headers[i].name, context->headers[i].value);
    if (context->close)
        (void)MHD_add_response_header(response, "Connection", "close");
    enum MHD_Result result = MHD_queue_response(context->connection, context->status, response);
    MHD_destroy_response(response); /* the library keeps a reference of its own */
    return result;
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static enum MHD_Result on_header(void *cls, enum MHD_ValueKind kind, const char *name, size_t name_size,
                                 const char *value, size_t value_size)
{
    (void)kind;
    helio_framing_header(cls, (helio_text_t){name, (uint32_t)name_size},
                         (helio_text_t){value ? value : name + name_size, value ? (uint32_t)value_size : 0});
    return MHD_YES;
}

/*  False: the head was answered with a problem. */
static bool check_framing(helio_request_context_t *context, struct MHD_Connection *connection, const char *version)
{
    helio_framing_t framing = {.version = version};
    helio_framing_target(&framing, context->target_end);
    (void)MHD_get_connection_values_n(connection, MHD_HEADER_KIND, on_header, &framing);
    const char *wrong = helio_framing_verdict(&framing);
    if (!wrong)
        return true;
    context->close = true;
    HELIO_PROBLEM(context, 400, REQUEST_MALFORMED, helio_value_string(wrong));
    return false;
}

/*  After the headers, and again when the token was proved or not, which the library allows before it reads the body. A
 *  refusal is sent at once where the client should not send a large body any more. */
static enum MHD_Result end_head(helio_request_context_t *context)
{
    if (context->want && wait_for_result(context))
        return MHD_YES;
    if (context->want) {
        context->want = NULL;
        HELIO_PROBLEM0(context, 503, BROKER_STOPPING);
    }
    context->judged = true;
    if (!context->status || !context->has_body)
        return MHD_YES;
    const char *text = context->received.content_length;
    uint64_t length = UINT64_MAX;
    bool known = text && helio_u64_parse(helio_text_of(text), &length) == HELIO_OK;
    if (!header(context->connection, "Expect") && (!known || length <= DISCARD_EARLY))
        return MHD_YES; /* the response follows the body, and the connection stays usable */
    context->close = true;
    return send_response(context);
}

static enum MHD_Result begin(helio_request_context_t *context, struct MHD_Connection *connection, const char *method,
                             const char *version)
{
    helio_request_headers_t headers = {.authorization = header(connection, "Authorization"),
                                       .accept = header(connection, "Accept"),
                                       .accept_encoding = header(connection, "Accept-Encoding"),
                                       .if_none_match = header(connection, "If-None-Match"),
                                       .content_type = header(connection, "Content-Type"),
                                       .content_length = header(connection, "Content-Length"),
                                       .transfer_encoding = header(connection, "Transfer-Encoding"),
                                       .idempotency_key = header(connection, "Idempotency-Key"),
                                       .last_event_id = header(connection, "Last-Event-ID"),
                                       .from_broker = header(connection, HELIO_FORWARDED_HEADER),
                                       .forwarded = header(connection, "Forwarded") || header(connection, "Via") ||
                                                    header(connection, "X-Forwarded-For")};
    context->begun = true;
    helio_connections_begin(context->http->connections, connection_of(connection));
    if (!check_framing(context, connection, version)) {
        context->judged = true;
        return headers.content_length || headers.transfer_encoding ? send_response(context) : MHD_YES;
    }
    helio_request_judge(context, method, &headers);
    return end_head(context);
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url, const char *method,
                                  const char *version, const char *data, size_t *size, void **con_cls)
{
    (void)cls;
    (void)url;
    helio_request_context_t *context = *con_cls;
    if (!context->begun)
        return begin(context, connection, method, version);
    if (!context->judged)
        return end_head(context);
    if (*size) {
        bool go_on = helio_request_take(context, data, *size, helio_clock_boot_us());
        *size = 0;
        return go_on ? MHD_YES : MHD_NO;
    }
    if (!context->complete) {
        context->complete = true;
        if (!context->status && !helio_request_is_long(context))
            helio_request_start(context);
    }
    if (context->status)
        return send_response(context);
    if (wait_for_result(context))
        return MHD_YES;
    HELIO_PROBLEM0(context, 503, BROKER_STOPPING);
    return send_response(context);
}

/* ---- life ---------------------------------------------------------------------------------------------- */

static void name_instance(char ret_text[17])
{
    uint64_t random;
    if (RAND_bytes((unsigned char *)&random, sizeof random) != 1)
        abort();
    (void)snprintf(ret_text, 17, "%016llx", (unsigned long long)random);
}

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
    own->per_address_max = or_default(own->per_address_max, (own->connections_max + 1) / 2);
    own->subscribers_max = or_default(own->subscribers_max, 256);
    own->subscribers_per_tenant_max = or_default(own->subscribers_per_tenant_max, (own->subscribers_max + 1) / 2);
    own->subscribers_per_user_max = or_default(own->subscribers_per_user_max, (own->subscribers_max + 3) / 4);
    own->body_max = or_default(own->body_max, 16 << 20);
    own->bodies_max = own->bodies_max ? own->bodies_max : UINT64_C(256) << 20;
    own->idle_timeout_ms = or_default(own->idle_timeout_ms, 30000);
    own->headers_timeout_ms = or_default(own->headers_timeout_ms, HEADERS_TIMEOUT_MS);
    own->request_timeout_ms = or_default(own->request_timeout_ms, 15000);
    self->log = log;
    self->routes = helio_routes();
    self->tokens = helio_token_table_new();
    self->leadership = helio_leadership_new();
    name_instance(self->instance);
    self->leader_watch = helio_leader_watch_new(self->instance, log);
    self->connections = helio_connections_new(
        &(helio_connections_options_t){own->connections_max, own->headers_timeout_ms, own->idle_timeout_ms});
    self->places = helio_places_new(
        &(helio_places_bounds_t){own->subscribers_max, own->subscribers_per_tenant_max, own->subscribers_per_user_max});
    self->lots = helio_lots_new(own->bodies_max - own->bodies_max / 4);
    self->strangers = helio_strangers_new(or_default(own->refusals_burst, 20));
    self->waiting_requests = helio_waiting_requests_new(self, resume);
    atomic_init(&self->stopping, false);
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
    helio_connections_destroy(&self->connections);
    helio_places_destroy(&self->places);
    helio_lots_destroy(&self->lots);
    helio_strangers_destroy(&self->strangers);
    helio_token_table_destroy(&self->tokens);
    helio_leader_watch_destroy(&self->leader_watch);
    helio_leadership_destroy(&self->leadership);
    helio_buffer_clear(&self->sites_json);
    helio_buffer_clear(&self->series_json);
    helio_buffer_clear(&self->desired_text);
    helio_buffer_clear(&self->balance_json);
    helio_buffer_clear(&self->forecasts_json);
    helio_buffer_clear(&self->retention_json);
    (void)close(self->idle_fd);
    free(self);
    *self_p = NULL;
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
        return helio_fail(err, HELIO_INVALID, "'%s' is not ADDRESS:PORT, for example 127.0.0.1:7480 or [::]:7480",
                          listen);
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

/*  Our own socket rather than the library's, so that a failure has a reason to report. */
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
                          error == EADDRINUSE ? "; another program has the port: stop it, or set listen_http" : "");
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
    /* the limit is split between the pool's threads: rounding up is safe, because the rings have a power of two of
     * places */
    uint32_t threads = options->threads < options->connections_max ? options->threads : options->connections_max;
    self->daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, self,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_THREAD_POOL_SIZE, threads > 1 ? threads : 0u,
        MHD_OPTION_CONNECTION_LIMIT, options->connections_max, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
        options->per_address_max, MHD_OPTION_CONNECTION_TIMEOUT, (options->idle_timeout_ms + 999) / 1000,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_URI_LOG_CALLBACK, on_target, self, MHD_OPTION_NOTIFY_COMPLETED, on_completed, self,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, self, MHD_OPTION_END);
    if (!self->daemon) {
        (void)close(fd);
        atomic_store(&self->stopping, true);
        helio_waiting_requests_stop(self->waiting_requests);
        return helio_fail(err, HELIO_IO, "the HTTP server does not start; are there enough file descriptors?");
    }
    self->port = port;
    helio_log(self->log, HELIO_INFO, "http_listening", "address=%s port=%u", self->listen, (unsigned)port);
    return HELIO_OK;
}

/*  When the library stops, it cuts responses that are still being sent; this gives the last ones time to arrive. */
static void flush_responses(helio_http_t *self)
{
    int64_t until_ms = helio_clock_boot_ms() + STOP_GRACE_MS;
    struct pollfd fd = {.fd = self->idle_fd, .events = POLLIN};
    for (int64_t left_ms = STOP_GRACE_MS; left_ms > 0 && atomic_load(&self->open) > 0;
         left_ms = until_ms - helio_clock_boot_ms()) {
        uint64_t count;
        (void)poll(&fd, 1, (int)left_ms);
        ssize_t got = read(self->idle_fd, &count, sizeof count);
        (void)got; /* nothing to read: the grace is over, or a signal came */
    }
}

void helio_http_stop(helio_http_t *self)
{
    if (!self->daemon)
        return;
    atomic_store(&self->stopping, true);
    MHD_socket fd = MHD_quiesce_daemon(self->daemon);
    helio_waiting_requests_stop(
        self->waiting_requests); /* the library requires that no request is suspended when it stops */
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
