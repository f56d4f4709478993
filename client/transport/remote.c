/*  remote.c -- requests and streams over libcurl's multi interface: retries, waits, and the checks of a reply. */
#include "client/transport/remote.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "client/invocation/settings.h"
#include "client/output/humanise.h"
#include "client/transport/remote_internal.h"
#include "client/transport/retry.h"
#include "client/transport/headers.h"
#include "federation/base/clock.h"
#include "federation/base/rng.h"
#include "federation/spec/value.h"

void helio_response_clear(helio_response_t *self)
{
    helio_buffer_clear(&self->body);
    *self = (helio_response_t){0};
}

static struct curl_slist *header_add(struct curl_slist *list, const char *name, const char *value)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t line = {0};
    helio_buffer_printf(&line, "%s: %s", name, value);
    struct curl_slist *longer = curl_slist_append(list, line.data);
    if (!longer)
        abort();
    return longer;
}

helio_rc helio_remote_new(const helio_client_io_t *io, const helio_settings_t *settings, helio_remote_t **ret_remote,
                          helio_error_t *err)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return helio_fail(err, HELIO_IO, "libcurl cannot be initialised");
    helio_remote_t *self = helio_new(1, sizeof *self);
    self->io = io;
    self->settings = settings;
    self->arena = helio_arena_new();
    if (helio_brokers_parse(helio_text_of(settings->broker), self->arena, &self->brokers) != HELIO_OK)
        abort(); /* the settings were checked */
    self->multi = curl_multi_init();
    if (!self->multi)
        abort();
    self->rng.state = (uint64_t)helio_clock_boot_ms() ^ ((uint64_t)getpid() << 32);
    if (settings->token[0]) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t bearer = {0};
        helio_buffer_printf(&bearer, "Bearer %s", settings->token);
        self->headers = header_add(self->headers, "Authorization", bearer.data);
    }
    *ret_remote = self;
    return HELIO_OK;
}

uint32_t helio_remote_broker_count(const helio_remote_t *self)
{
    return self->brokers.count;
}

const char *helio_remote_broker(const helio_remote_t *self, uint32_t broker)
{
    return self->brokers.urls[broker - 1];
}

void helio_remote_destroy(helio_remote_t **self_p)
{
    helio_remote_t *self = *self_p;
    if (!self)
        return;
    (void)curl_multi_cleanup(self->multi);
    curl_slist_free_all(self->headers);
    helio_arena_destroy(&self->arena);
    free(self);
    curl_global_cleanup();
    *self_p = NULL;
}

/*  ---- one transfer ---- */

static size_t on_body(char *bytes, size_t one, size_t size, void *arg)
{
    (void)one;
    helio_stream_t *self = arg;
    long status = 0;
    (void)curl_easy_getinfo(self->easy, CURLINFO_RESPONSE_CODE, &status);
    if (!self->is_call && status >= 200 && status < 300) {
        self->options.on_data(self->options.arg, bytes, size);
        return size;
    }
    helio_buffer_append(&self->response.body, bytes, size);
    return self->response.body.overflow ? 0 : size;
}

static size_t on_header(char *bytes, size_t one, size_t size, void *arg)
{
    (void)one;
    helio_stream_t *self = arg;
    helio_response_take_header(&self->response, (helio_text_t){bytes, size > 65536 ? 65536 : (uint32_t)size});
    return size;
}

#define SET(option, value)                                                           \
    do {                                                                             \
        if (curl_easy_setopt(self->easy, option, value) != CURLE_OK)                 \
            abort(); /* only for options this libcurl does not know, or no memory */ \
    } while (0)

static helio_stream_t *transfer_new(helio_remote_t *remote, const char *path, uint32_t broker)
{
    helio_stream_t *self = helio_new(1, sizeof *self);
    self->remote = remote;
    self->broker = broker;
    self->easy = curl_easy_init();
    if (!self->easy)
        abort();
    self->response.body.max = HELIO_REMOTE_BODY_MAX;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t url = {0};
    helio_buffer_printf(&url, "%s%s", remote->brokers.urls[broker], path);
    SET(CURLOPT_URL, url.data);
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_CONNECTTIMEOUT_MS, remote->brokers.count > 1 ? (long)HELIO_REMOTE_HUNG_MS : 10000L);
    SET(CURLOPT_TCP_KEEPALIVE, 1L);
    SET(CURLOPT_TCP_KEEPIDLE, 30L);
    SET(CURLOPT_TCP_KEEPINTVL, 10L);
    SET(CURLOPT_ERRORBUFFER, self->error);
    SET(CURLOPT_WRITEFUNCTION, on_body);
    SET(CURLOPT_WRITEDATA, self);
    SET(CURLOPT_HEADERFUNCTION, on_header);
    SET(CURLOPT_HEADERDATA, self);
    SET(CURLOPT_USERAGENT, "helio/" HELIO_PROGRAM_VERSION);
    if (remote->settings->ca_file[0])
        SET(CURLOPT_CAINFO, remote->settings->ca_file);
    for (struct curl_slist *at = remote->headers; at; at = at->next) {
        self->headers = curl_slist_append(self->headers, at->data);
        if (!self->headers)
            abort();
    }
    return self;
}

/*  method NULL = GET. The body lives as long as the transfer. */
static void set_method(helio_stream_t *self, const char *method, const char *content_type, helio_text_t body)
{
    if (!method)
        method = "GET";
    if (strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0 || strcmp(method, "PATCH") == 0) {
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.size);
        SET(CURLOPT_POSTFIELDS, body.size ? body.data : "");
        self->headers = header_add(self->headers, "Content-Type", content_type ? content_type : "application/json");
        /* Small bodies would wait a second for a 100 Continue that few servers send. */
        self->headers = header_add(self->headers, "Expect", "");
    }
    if (strcmp(method, "POST") != 0) {
        SET(CURLOPT_CUSTOMREQUEST, method);
    }
}

static void transfer_start(helio_stream_t *self)
{
    SET(CURLOPT_HTTPHEADER, self->headers);
    SET(CURLOPT_PRIVATE, self);
    if (curl_multi_add_handle(self->remote->multi, self->easy) != CURLM_OK)
        abort();
}

void helio_stream_destroy(helio_stream_t **self_p)
{
    helio_stream_t *self = *self_p;
    if (!self)
        return;
    (void)curl_multi_remove_handle(self->remote->multi, self->easy);
    curl_easy_cleanup(self->easy);
    curl_slist_free_all(self->headers);
    helio_response_clear(&self->response);
    free(self);
    *self_p = NULL;
}

helio_stream_t *helio_stream_new(helio_remote_t *remote, const helio_stream_options_t *options)
{
    helio_stream_t *self = transfer_new(remote, options->path, remote->current);
    self->options = *options;
    if (options->accept)
        self->headers = header_add(self->headers, "Accept", options->accept);
    if (options->last_event_id && options->last_event_id[0])
        self->headers = header_add(self->headers, "Last-Event-ID", options->last_event_id);
    set_method(self, options->method, options->content_type, options->body);
    if (options->idle_timeout_s) {
        SET(CURLOPT_LOW_SPEED_LIMIT, 1L);
        SET(CURLOPT_LOW_SPEED_TIME, (long)options->idle_timeout_s);
    }
    transfer_start(self);
    return self;
}

static bool is_good(const helio_stream_t *self)
{
    long status = helio_stream_status(self);
    return status >= 200 && status < 300;
}

bool helio_stream_is_open(const helio_stream_t *self)
{
    return !self->over && is_good(self);
}

bool helio_stream_is_over(const helio_stream_t *self)
{
    return self->over;
}

bool helio_stream_is_whole(const helio_stream_t *self)
{
    return self->over && self->result == CURLE_OK && is_good(self);
}

const char *helio_stream_error(const helio_stream_t *self)
{
    if (!self->over || self->result == CURLE_OK)
        return "";
    return self->error[0] ? self->error : curl_easy_strerror(self->result);
}

helio_text_t helio_stream_problem(const helio_stream_t *self)
{
    return helio_buffer_view(&self->response.body);
}

uint64_t helio_stream_log_offset(const helio_stream_t *self)
{
    return self->response.log_offset;
}

uint64_t helio_stream_retry_after_ms(const helio_stream_t *self)
{
    return self->response.retry_after_ms;
}

/*  ---- waiting ---- */

uint32_t helio_remote_backoff_ms(helio_remote_t *self, uint32_t attempt)
{
    uint64_t whole = (uint64_t)self->io->patience_ms << (attempt < 4 ? attempt : 4);
    return (uint32_t)(whole / 2 + helio_rng_below(&self->rng, whole / 2 + 1));
}

/*  Waits while streams go on; false when Ctrl-C came in. */
static bool wait_ms(helio_remote_t *self, uint64_t ms, int interrupts)
{
    int64_t end_ms = helio_clock_boot_ms() + (int64_t)ms;
    for (int64_t now_ms; (now_ms = helio_clock_boot_ms()) < end_ms;) {
        if (helio_client_interrupts(self->io) != interrupts)
            return false;
        helio_remote_pump(self, (uint32_t)(end_ms - now_ms));
    }
    return helio_client_interrupts(self->io) == interrupts;
}

/*  outcome: what else is to be said. */
static helio_rc fail_of(const helio_remote_t *self, const helio_stream_t *transfer, const char *outcome,
                        helio_error_t *err)
{
    const char *why = helio_stream_error(transfer), *broker = self->brokers.urls[transfer->broker];
    switch ((int)transfer->result) {
    case CURLE_OPERATION_TIMEDOUT:
        return helio_fail(err, HELIO_TIMEOUT, "the broker at %.200s does not answer: %.200s%s", broker, why, outcome);
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_URL_MALFORMAT:
        return helio_fail(err, HELIO_INVALID, "the broker at %.200s is not trusted: %.200s", broker, why);
    case CURLE_WRITE_ERROR:
        return helio_fail(err, HELIO_TOO_BIG, "the answer from %.200s is larger than %d MiB", broker,
                          HELIO_REMOTE_BODY_MAX >> 20);
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
        return helio_fail(err, HELIO_PROTOCOL, "the server at %.200s is not a Heliostat broker: %.200s", broker, why);
    default:
        return helio_fail(err, HELIO_UNAVAILABLE, "cannot reach the broker at %.200s: %.200s%s", broker, why, outcome);
    }
}

static bool was_sent(const helio_stream_t *transfer)
{
    long bytes = 0;
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_REQUEST_SIZE, &bytes);
    return bytes > 0;
}

/*  A broker that hangs takes connections and never answers. Only what cannot act twice is asked elsewhere meanwhile: it
 *  may still be carried out here, later. */
static bool may_overtake(const helio_remote_t *self, const helio_request_t *request)
{
    return self->brokers.count > 1 && !request->broker && helio_request_is_repeatable(request) &&
           (!request->method || strcmp(request->method, "GET") == 0 || request->idempotency_key);
}

/*  Until it is over, Ctrl-C came in, or hung_ms passed without a byte of answer; 0 = no such bound. */
static void await(helio_stream_t *self, int interrupts, int64_t hung_ms)
{
    int64_t hung_at_ms = hung_ms ? helio_clock_boot_ms() + hung_ms : INT64_MAX;
    while (!self->over && helio_client_interrupts(self->remote->io) == interrupts) {
        int64_t left_ms = helio_stream_status(self) ? INT64_MAX : hung_at_ms - helio_clock_boot_ms();
        if (left_ms <= 0) {
            self->result = CURLE_OPERATION_TIMEDOUT;
            self->over = true;
            helio_transfer_change_broker(self->remote, self);
            return;
        }
        helio_remote_pump(self->remote, left_ms < 1000 ? (uint32_t)left_ms : 1000);
    }
}

/*  *ret_elsewhere: another broker can be asked at once. */
static helio_rc attempt(helio_remote_t *remote, const helio_request_t *request, helio_response_t *ret_response,
                        int interrupts, int64_t hung_ms, bool *ret_elsewhere, helio_error_t *err)
{
    helio_stream_t *self = transfer_new(remote, request->path, request->broker ? request->broker - 1 : remote->current);
    bool repeated = ret_response->sent;
    self->is_call = true;
    SET(CURLOPT_TIMEOUT_MS, (long)(request->within_ms ? request->within_ms : remote->settings->timeout_ms));
    SET(CURLOPT_ACCEPT_ENCODING, "");
    if (request->idempotency_key)
        self->headers = header_add(self->headers, "Idempotency-Key", request->idempotency_key);
    set_method(self, request->method, request->content_type, request->body);
    transfer_start(self);
    await(self, interrupts, hung_ms);
    helio_rc rc = HELIO_OK;
    *ret_elsewhere =
        self->over && helio_transfer_is_away(self) && (helio_request_is_repeatable(request) || !was_sent(self));
    if (!self->over) {
        rc = helio_fail(err, HELIO_BUSY, "interrupted");
    } else if (self->result != CURLE_OK) {
        bool is_unknown = helio_request_acts_each_time(request) && was_sent(self);
        rc = fail_of(
            remote, self,
            is_unknown ? "; it is unknown whether the request was carried out: check before you repeat it" : "", err);
    } else {
        self->response.status = helio_stream_status(self);
        helio_response_clear(ret_response);
        *ret_response = self->response;
        self->response = (helio_response_t){0};
    }
    ret_response->sent = ret_response->sent || was_sent(self);
    ret_response->repeated = repeated;
    helio_stream_destroy(&self);
    return rc;
}

/*  One attempt, at each broker in turn until one is not away; then, if none has said anything, with all the time that a
 *  request has, until one says anything: one that says that it is not ready is not left for one that hangs. */
static helio_rc attempt_each(helio_remote_t *self, const helio_request_t *request, helio_response_t *ret_response,
                             int interrupts, helio_error_t *err)
{
    helio_rc rc = HELIO_OK;
    bool elsewhere = true;
    uint32_t brokers = request->broker ? 1 : self->brokers.count;
    for (uint32_t i = 0; may_overtake(self, request) && i < brokers && elsewhere; i++)
        rc = attempt(self, request, ret_response, interrupts, HELIO_REMOTE_HUNG_MS, &elsewhere, err);
    if (may_overtake(self, request) && rc != HELIO_TIMEOUT)
        return rc;
    bool all_hang = may_overtake(self, request);
    for (uint32_t i = 0; i < brokers && elsewhere && !(all_hang && i && rc == HELIO_OK); i++)
        rc = attempt(self, request, ret_response, interrupts, 0, &elsewhere, err);
    return rc;
}

helio_rc helio_remote_call(helio_remote_t *self, const helio_request_t *request, helio_response_t *ret_response,
                           helio_error_t *err)
{
    bool repeatable = helio_request_is_repeatable(request);
    int interrupts = helio_client_interrupts(self->io);
    int64_t began_ms = helio_clock_boot_ms(), unit_ms = self->io->patience_ms;
    int64_t end_ms = began_ms + unit_ms * HELIO_REMOTE_PATIENCE, takeover_ms = began_ms;
    if (self->brokers.count > 1 && !request->broker)
        takeover_ms += unit_ms * HELIO_REMOTE_TAKEOVER;
    bool said = ret_response->sent = false;
    for (uint32_t n = 0;; n++) {
        helio_rc rc = attempt_each(self, request, ret_response, interrupts, err);
        bool again = rc == HELIO_UNAVAILABLE || rc == HELIO_TIMEOUT ||
                     (rc == HELIO_OK && helio_status_is_transient(ret_response->status));
        bool patient = request->patient && helio_clock_boot_ms() < end_ms;
        bool busy = rc == HELIO_OK && ret_response->status == 429 && request->waits_while_busy &&
                    helio_clock_boot_ms() < end_ms;
        bool enough = n + 1 >= HELIO_REMOTE_ATTEMPTS && helio_clock_boot_ms() >= takeover_ms;
        if (!again || (!busy && (!repeatable || (enough && !patient))))
            return rc;
        if (request->waits_for && !said &&
            (said = patient || helio_clock_boot_ms() - began_ms >= unit_ms * HELIO_REMOTE_SILENCE))
            helio_retry_say(request->waits_for, rc == HELIO_OK ? NULL : err->text, ret_response->status,
                            helio_buffer_view(&ret_response->body), patient || busy);
        uint64_t pause_ms = helio_remote_backoff_ms(self, n);
        if (rc == HELIO_OK && ret_response->retry_after_ms) {
            if (ret_response->retry_after_ms > HELIO_REMOTE_RETRY_AFTER_MAX_MS)
                return rc; /* the caller decides when to call again */
            pause_ms += ret_response->retry_after_ms;
        }
        if (!wait_ms(self, pause_ms, interrupts))
            return helio_fail(err, HELIO_BUSY, "interrupted");
    }
}
