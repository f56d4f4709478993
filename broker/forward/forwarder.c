/*  forwarder.c -- one thread over libcurl's multi interface. */
#include "broker/forward/forwarder.h"

#include <assert.h>
#include <curl/curl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "broker/forward/lanes.h"
#include "federation/base/clock.h"
#include "federation/base/ring.h"

enum { WAIT_MS = 250 }; /* the longest wait without a wake-up: how late one is ended that was not sent */

/*  One forward under way. Owned by the thread. */
typedef struct transfer {
    struct transfer *prev, *next;
    helio_forward_t *forward;
    CURL *easy;
    struct curl_slist *headers;
    helio_buffer_t body;
    char type[128];
    char piece[48];
    char broker[16];
    char retry_after[16];
} transfer_t;

struct helio_forwarder {
    CURLM *multi;
    helio_ring_t *posted;
    _Atomic uint32_t count; /* posted and not answered */
    atomic_bool stopping;
    pthread_t thread;
    /*  Owned by the thread. */
    helio_lanes_t *lanes;
    transfer_t *under_way;
};

#define SET(option, value)                                                           \
    do {                                                                             \
        if (curl_easy_setopt(self->easy, option, value) != CURLE_OK)                 \
            abort(); /* only for options this libcurl does not know, or no memory */ \
    } while (0)

/* ---- one transfer -------------------------------------------------------------------------------------- */

static void add_header(transfer_t *self, const char *name, const char *value)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t line = {0};
    helio_buffer_printf(&line, "%s%s", name, value);
    struct curl_slist *longer = curl_slist_append(self->headers, line.data);
    if (!longer)
        abort();
    self->headers = longer;
}

static size_t on_body(char *bytes, size_t one, size_t size, void *arg)
{
    (void)one;
    transfer_t *self = arg;
    helio_buffer_append(&self->body, bytes, size);
    return self->body.overflow ? 0 : size;
}

static void keep_header(helio_text_t line, const char *name, char *ret_value, size_t capacity)
{
    size_t size = strlen(name);
    if (line.size <= size || line.data[size] != ':' || strncasecmp(line.data, name, size) != 0)
        return;
    helio_text_t value = {line.data + size + 1, line.size - (uint32_t)size - 1};
    for (; value.size && value.data[0] == ' '; value.data++)
        value.size--;
    while (value.size && strchr(" \r\n", value.data[value.size - 1]))
        value.size--;
    if (!helio_text_copy(value, ret_value, capacity))
        ret_value[0] = '\0';
}

static size_t on_header(char *bytes, size_t one, size_t size, void *arg)
{
    (void)one;
    transfer_t *self = arg;
    helio_text_t line = {bytes, size > 65536 ? 65536 : (uint32_t)size};
    keep_header(line, "Content-Type", self->type, sizeof self->type);
    keep_header(line, HELIO_LOG_PIECE_HEADER, self->piece, sizeof self->piece);
    keep_header(line, HELIO_BROKER_HEADER, self->broker, sizeof self->broker);
    keep_header(line, "Retry-After", self->retry_after, sizeof self->retry_after);
    return size;
}

/*  libcurl sends a request again when a connection that it kept turns out to be closed. One that must not be carried
 *  out twice goes over a new connection, of which that is never true. */
static bool is_repeatable(const helio_forward_t *forward)
{
#ifdef HELIO_MUTANT_post_sent_twice
    return true;
#endif
#ifdef HELIO_MUTANT_edit_sent_twice
    return strcmp(forward->method, "POST") != 0 || forward->idempotency_key[0];
#endif
    if (forward->kind == HELIO_FORWARD_CHANNEL)
        return true; /* its offset tells what is new */
    bool acts_each_time = strcmp(forward->method, "POST") == 0 || strcmp(forward->method, "PATCH") == 0;
    return !acts_each_time || forward->idempotency_key[0];
}

static void set_request(transfer_t *self)
{
    const helio_forward_t *forward = self->forward;
    bool posts = strcmp(forward->method, "GET") != 0;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_buffer_printf(&text, "%s%s", forward->base, forward->target);
    SET(CURLOPT_URL, text.data);
    if (posts) {
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)forward->body.size);
        SET(CURLOPT_POSTFIELDS, forward->body.size ? forward->body.data : "");
    }
    SET(CURLOPT_CUSTOMREQUEST, forward->method);
    add_header(self, "Expect:", "");
    add_header(self, forward->content_type[0] ? "Content-Type: " : "Content-Type:", forward->content_type);
    if (forward->idempotency_key[0])
        add_header(self, "Idempotency-Key: ", forward->idempotency_key);
    if (forward->credential[0])
        add_header(self, "Authorization: Bearer ", forward->credential);
    add_header(self, HELIO_FORWARDED_HEADER ": ", forward->instance);
    SET(CURLOPT_HTTPHEADER, self->headers);
    SET(CURLOPT_FRESH_CONNECT, is_repeatable(forward) ? 0L : 1L);
}

static transfer_t *transfer_new(helio_forward_t *forward)
{
    transfer_t *self = helio_new(1, sizeof *self);
    self->forward = forward;
    self->body.max = HELIO_FORWARD_ANSWER_MAX;
    self->easy = curl_easy_init();
    if (!self->easy)
        abort();
    SET(CURLOPT_PRIVATE, self);
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_PROXY, ""); /* whatever the environment says */
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_PATH_AS_IS, 1L);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)HELIO_FORWARD_CONNECT_MS);
    SET(CURLOPT_TIMEOUT_MS,
        forward->kind == HELIO_FORWARD_PROBE ? (long)HELIO_FORWARD_PROBE_MS : (long)HELIO_FORWARD_TIMEOUT_MS);
    SET(CURLOPT_MAXAGE_CONN, (long)HELIO_FORWARD_REUSE_S);
    SET(CURLOPT_WRITEFUNCTION, on_body);
    SET(CURLOPT_WRITEDATA, self);
    SET(CURLOPT_HEADERFUNCTION, on_header);
    SET(CURLOPT_HEADERDATA, self);
    SET(CURLOPT_USERAGENT, "helio-broker/" HELIO_PROGRAM_VERSION);
    set_request(self);
    return self;
}

static void transfer_destroy(transfer_t *self)
{
    curl_easy_cleanup(self->easy);
    curl_slist_free_all(self->headers);
    helio_buffer_clear(&self->body);
    free(self);
}

/*  Whether the leader can have seen the request. */
static bool was_sent(const transfer_t *self)
{
    long bytes = 0;
    (void)curl_easy_getinfo(self->easy, CURLINFO_REQUEST_SIZE, &bytes);
    return bytes > 0;
}

/*  A key finds what the first attempt did. */
static bool can_be_asked_again(const helio_forward_t *forward)
{
    return strcmp(forward->method, "GET") == 0 || forward->idempotency_key[0] || forward->kind == HELIO_FORWARD_CHANNEL;
}

static helio_rc outcome(const transfer_t *self, CURLcode code)
{
    if (code == CURLE_OK)
        return HELIO_OK;
    if (self->body.overflow)
        return HELIO_TOO_BIG;
    bool is_late = code == CURLE_OPERATION_TIMEDOUT; /* of a leader that is there: the next attempt would be, too */
    return was_sent(self) && (is_late || !can_be_asked_again(self->forward)) ? HELIO_TIMEOUT : HELIO_UNAVAILABLE;
}

/* ---- the thread ---------------------------------------------------------------------------------------- */

static void answer(helio_forwarder_t *self, helio_forward_t *forward, helio_rc rc, const helio_forward_answer_t *answer)
{
    (void)atomic_fetch_sub(&self->count, 1);
    forward->done(forward, rc, answer);
}

/*  0: none, or no number of seconds. */
static uint32_t seconds_of(const char *text)
{
    char *rest = NULL;
    unsigned long seconds = *text >= '0' && *text <= '9' ? strtoul(text, &rest, 10) : 0;
    return rest && !*rest && seconds <= INT32_MAX ? (uint32_t)seconds : 0;
}

static void finish(helio_forwarder_t *self, transfer_t *transfer, CURLcode code)
{
    (void)curl_multi_remove_handle(self->multi, transfer->easy);
    if (transfer->prev)
        transfer->prev->next = transfer->next;
    else
        self->under_way = transfer->next;
    if (transfer->next)
        transfer->next->prev = transfer->prev;
    helio_rc rc = outcome(transfer, code);
    long status = 0;
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
    helio_forward_answer_t got = {(uint32_t)status,
                                  transfer->type,
                                  transfer->piece,
                                  transfer->broker,
                                  helio_buffer_view(&transfer->body),
                                  seconds_of(transfer->retry_after)};
    helio_lanes_leave(self->lanes, transfer->forward);
    answer(self, transfer->forward, rc, rc == HELIO_OK ? &got : NULL);
    transfer_destroy(transfer);
}

/*  Requests that wait for a leader that hangs are answered now. */
static void give_up(helio_forwarder_t *self, const transfer_t *probe)
{
#ifdef HELIO_MUTANT_still_leader_awaited
    return;
#endif
    for (transfer_t *at = self->under_way, *next; at; at = next) {
        next = at->next;
        if (at != probe && strcmp(at->forward->base, probe->forward->base) == 0)
            finish(self, at, CURLE_ABORTED_BY_CALLBACK);
    }
}

static void send_one(helio_forwarder_t *self, helio_forward_t *forward)
{
    transfer_t *transfer = transfer_new(forward);
    transfer->next = self->under_way;
    if (self->under_way)
        self->under_way->prev = transfer;
    self->under_way = transfer;
    if (curl_multi_add_handle(self->multi, transfer->easy) != CURLM_OK)
        abort();
}

/*  Takes what was posted, sends whatever has a place, and ends what waited too long for one. */
static void move_on(helio_forwarder_t *self)
{
    int64_t now_ms = helio_clock_boot_ms();
    for (helio_forward_t *forward; (forward = helio_ring_pop(self->posted));)
        if (!helio_lanes_enter(self->lanes, forward, now_ms))
            answer(self, forward, HELIO_BUSY, NULL);
    for (helio_forward_t *forward; (forward = helio_lanes_next(self->lanes));)
        send_one(self, forward);
    for (helio_forward_t *forward; (forward = helio_lanes_overdue(self->lanes, now_ms - HELIO_FORWARD_WAIT_MS));)
        answer(self, forward, HELIO_UNAVAILABLE, NULL);
}

static void harvest(helio_forwarder_t *self)
{
    int left;
    for (CURLMsg *message; (message = curl_multi_info_read(self->multi, &left)) != NULL;) {
        transfer_t *transfer = NULL;
        if (message->msg != CURLMSG_DONE)
            continue;
        (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
        CURLcode code = message->data.result;
        if (transfer->forward->kind == HELIO_FORWARD_PROBE && code != CURLE_OK)
            give_up(self, transfer);
        finish(self, transfer, code);
    }
}

static void *run(void *arg)
{
    helio_forwarder_t *self = arg;
    while (!atomic_load(&self->stopping)) {
        struct curl_waitfd wake = {.fd = helio_ring_fd(self->posted), .events = CURL_WAIT_POLLIN};
        int running = 0;
        (void)curl_multi_poll(self->multi, &wake, 1, WAIT_MS, NULL);
        helio_ring_drain_wakeups(self->posted);
        move_on(self);
        (void)curl_multi_perform(self->multi, &running);
        harvest(self);
        move_on(self); /* places have become free */
    }
    move_on(self);
    while (self->under_way)
        finish(self, self->under_way, CURLE_ABORTED_BY_CALLBACK);
    for (helio_forward_t *forward; (forward = helio_lanes_overdue(self->lanes, INT64_MAX));)
        answer(self, forward, HELIO_UNAVAILABLE, NULL);
    return NULL;
}

helio_rc helio_forwarder_new(helio_forwarder_t **ret_forwarder, helio_error_t *err)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return helio_fail(err, HELIO_IO, "libcurl cannot be initialised");
    helio_forwarder_t *self = helio_new(1, sizeof *self);
    self->posted = helio_ring_new(HELIO_FORWARDS_MAX);
    self->lanes = helio_lanes_new();
    self->multi = curl_multi_init();
    if (!self->multi ||
        curl_multi_setopt(self->multi, CURLMOPT_MAX_HOST_CONNECTIONS, (long)HELIO_FORWARD_CONNECTIONS_MAX) != CURLM_OK)
        abort();
    atomic_init(&self->count, 0);
    atomic_init(&self->stopping, false);
    if (pthread_create(&self->thread, NULL, run, self) != 0)
        abort();
    *ret_forwarder = self;
    return HELIO_OK;
}

void helio_forwarder_destroy(helio_forwarder_t **self_p)
{
    helio_forwarder_t *self = *self_p;
    if (!self)
        return;
    atomic_store(&self->stopping, true);
    (void)curl_multi_wakeup(self->multi);
    (void)pthread_join(self->thread, NULL);
    (void)curl_multi_cleanup(self->multi);
    helio_ring_destroy(&self->posted);
    helio_lanes_destroy(&self->lanes);
    free(self);
    curl_global_cleanup();
    *self_p = NULL;
}

helio_rc helio_forwarder_post(helio_forwarder_t *self, helio_forward_t *forward)
{
    if (atomic_load(&self->stopping))
        return HELIO_UNAVAILABLE;
    if (atomic_fetch_add(&self->count, 1) >= HELIO_FORWARDS_MAX) {
        (void)atomic_fetch_sub(&self->count, 1);
        return HELIO_BUSY;
    }
    helio_rc rc = helio_ring_push(self->posted, forward);
    assert(rc == HELIO_OK); /* the count keeps room for it */
    return rc;
}
