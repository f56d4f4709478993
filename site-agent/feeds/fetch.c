#include "site-agent/feeds/fetch.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "federation/base/char.h"
#include "federation/base/clock.h"

enum { CONNECT_TIMEOUT_MS = 10000, EVENTS_MAX = 16, URL_BYTES_MAX = 4096 };

typedef struct transfer {
    struct transfer *next;
    CURL *easy;
    struct curl_slist *headers;
    helio_buffer_t body;
    char error[CURL_ERROR_SIZE];
    helio_fetch_done_fn *done;
    void *arg;
} transfer_t;

struct helio_fetcher {
    CURLM *multi;
    int epoll;
    int64_t due_ms; /* libcurl's own timer; INT64_MAX = none */
    transfer_t *transfers;
};

/* ---- libcurl calls ------------------------------------------------------------------------------------- */

/*  Its descriptors come and go: each is in our epoll as long as libcurl cares for it. */
static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *known)
{
    helio_fetcher_t *self = arg;
    (void)easy;
    struct epoll_event event = {.data.fd = fd};
    if (what == CURL_POLL_REMOVE) {
        (void)epoll_ctl(self->epoll, EPOLL_CTL_DEL, fd, NULL); /* it may be closed already */
        return 0;
    }
    if (what & CURL_POLL_IN)
        event.events |= EPOLLIN;
    if (what & CURL_POLL_OUT)
        event.events |= EPOLLOUT;
    if (epoll_ctl(self->epoll, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event) != 0 &&
        epoll_ctl(self->epoll, known ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event) != 0)
        return -1;
    (void)curl_multi_assign(self->multi, fd, self);
    return 0;
}

static int on_timer(CURLM *multi, long timeout_ms, void *arg)
{
    helio_fetcher_t *self = arg;
    (void)multi;
    self->due_ms = timeout_ms < 0 ? INT64_MAX : helio_clock_boot_ms() + timeout_ms;
    return 0;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *arg)
{
    transfer_t *transfer = arg;
    helio_buffer_append(&transfer->body, bytes, size * count);
    return transfer->body.overflow ? 0 : size * count;
}

/* ---- one request --------------------------------------------------------------------------------------- */

static void transfer_free(transfer_t *transfer)
{
    if (transfer->easy)
        curl_easy_cleanup(transfer->easy);
    for (struct curl_slist *at = transfer->headers; at; at = at->next)
        explicit_bzero(at->data, strlen(at->data)); /* secrets among them */
    curl_slist_free_all(transfer->headers);
    helio_buffer_clear(&transfer->body);
    free(transfer);
}

#define SET(option, value) (curl_easy_setopt(transfer->easy, option, value) == CURLE_OK)

static bool set_up(transfer_t *transfer, const helio_fetch_t *fetch)
{
    for (const char *const *header = fetch->headers; header && *header; header++) {
        struct curl_slist *longer = curl_slist_append(transfer->headers, *header);
        if (!longer)
            return false;
        transfer->headers = longer;
    }
    bool good = SET(CURLOPT_URL, fetch->url) && SET(CURLOPT_PROTOCOLS_STR, "http,https") &&
                SET(CURLOPT_FOLLOWLOCATION, 0L) && SET(CURLOPT_NOSIGNAL, 1L) &&
                SET(CURLOPT_ACCEPT_ENCODING, "") && SET(CURLOPT_TIMEOUT_MS, (long)fetch->timeout_ms) &&
                SET(CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS) &&
                SET(CURLOPT_USERAGENT, "helio-agent/" HELIO_PROGRAM_VERSION) &&
                SET(CURLOPT_ERRORBUFFER, transfer->error) && SET(CURLOPT_WRITEFUNCTION, on_body) &&
                SET(CURLOPT_WRITEDATA, transfer) && SET(CURLOPT_PRIVATE, transfer);
    if (good && transfer->headers)
        good = SET(CURLOPT_HTTPHEADER, transfer->headers);
    if (good && fetch->user)
        good = SET(CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC) && SET(CURLOPT_USERNAME, fetch->user) &&
               SET(CURLOPT_PASSWORD, fetch->password ? fetch->password : "");
    return good;
}

helio_rc helio_fetcher_get(helio_fetcher_t *self, const helio_fetch_t *fetch, helio_error_t *err)
{
    transfer_t *transfer = helio_new(1, sizeof *transfer);
    transfer->done = fetch->done;
    transfer->arg = fetch->arg;
    transfer->body.max = fetch->max_bytes;
    transfer->easy = curl_easy_init();
    if (!transfer->easy || !set_up(transfer, fetch) ||
        curl_multi_add_handle(self->multi, transfer->easy) != CURLM_OK) {
        transfer_free(transfer);
        return helio_fail(err, HELIO_INVALID,
                          "the HTTP library refuses the request; is the url well formed?");
    }
    transfer->next = self->transfers;
    self->transfers = transfer;
    self->due_ms = 0; /* begin in the next turn, whatever its timer says */
    return HELIO_OK;
}

static void unlink_transfer(helio_fetcher_t *self, const transfer_t *transfer)
{
    for (transfer_t **at = &self->transfers; *at; at = &(*at)->next)
        if (*at == transfer) {
            *at = transfer->next;
            return;
        }
}

static void end(helio_fetcher_t *self, transfer_t *transfer, CURLcode code)
{
    long status = 0;
    char complaint[CURL_ERROR_SIZE + 64] = "";
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
    if (transfer->body.overflow)
        (void)snprintf(complaint, sizeof complaint, "the answer is larger than %zu bytes",
                       transfer->body.max);
    else if (code != CURLE_OK)
        (void)snprintf(complaint, sizeof complaint, "%s",
                       transfer->error[0] ? transfer->error : curl_easy_strerror(code));
    else if (status != 200)
        (void)snprintf(complaint, sizeof complaint, "HTTP status %ld", status);
    helio_fetch_result_t result = {.ok = complaint[0] == '\0',
                                   .status = status,
                                   .body = helio_buffer_view(&transfer->body),
                                   .complaint = complaint};
    (void)curl_multi_remove_handle(self->multi, transfer->easy);
    unlink_transfer(self, transfer);
    transfer->done(transfer->arg, &result);
    transfer_free(transfer);
}

/* ---- the loop's side ----------------------------------------------------------------------------------- */

helio_rc helio_fetcher_new(helio_fetcher_t **ret_fetcher, helio_error_t *err)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return helio_fail(err, HELIO_IO, "the HTTP library does not start");
    helio_fetcher_t *self = helio_new(1, sizeof *self);
    self->epoll = epoll_create1(EPOLL_CLOEXEC);
    self->due_ms = INT64_MAX;
    self->multi = curl_multi_init();
    if (self->epoll < 0 || !self->multi ||
        curl_multi_setopt(self->multi, CURLMOPT_SOCKETFUNCTION, on_socket) != CURLM_OK ||
        curl_multi_setopt(self->multi, CURLMOPT_SOCKETDATA, self) != CURLM_OK ||
        curl_multi_setopt(self->multi, CURLMOPT_TIMERFUNCTION, on_timer) != CURLM_OK ||
        curl_multi_setopt(self->multi, CURLMOPT_TIMERDATA, self) != CURLM_OK) {
        helio_fetcher_destroy(&self);
        return helio_fail(err, HELIO_IO, "the HTTP library does not start");
    }
    *ret_fetcher = self;
    return HELIO_OK;
}

void helio_fetcher_destroy(helio_fetcher_t **self_p)
{
    helio_fetcher_t *self = *self_p;
    if (!self)
        return;
    while (self->transfers) {
        transfer_t *transfer = self->transfers;
        self->transfers = transfer->next;
        (void)curl_multi_remove_handle(self->multi, transfer->easy);
        transfer_free(transfer);
    }
    if (self->multi)
        (void)curl_multi_cleanup(self->multi);
    if (self->epoll >= 0)
        (void)close(self->epoll);
    curl_global_cleanup();
    free(self);
    *self_p = NULL;
}

int helio_fetcher_fd(const helio_fetcher_t *self)
{
    return self->epoll;
}

int64_t helio_fetcher_next_ms(const helio_fetcher_t *self)
{
    return self->due_ms;
}

void helio_fetcher_process(helio_fetcher_t *self, int64_t now_boot_ms)
{
    struct epoll_event events[EVENTS_MAX];
    int running, left, count = epoll_wait(self->epoll, events, EVENTS_MAX, 0);
    for (int i = 0; i < count; i++) {
        int what = (events[i].events & EPOLLIN ? CURL_CSELECT_IN : 0) |
                   (events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                   (events[i].events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
        (void)curl_multi_socket_action(self->multi, events[i].data.fd, what, &running);
    }
    if (self->due_ms <= now_boot_ms) {
        self->due_ms = INT64_MAX; /* it sets it anew */
        (void)curl_multi_socket_action(self->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
    for (CURLMsg *message; (message = curl_multi_info_read(self->multi, &left)) != NULL;) {
        transfer_t *transfer = NULL;
        CURLcode code = message->data.result;
        if (message->msg == CURLMSG_DONE &&
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer) == CURLE_OK && transfer)
            end(self, transfer, code);
    }
}

/* ---- urls
 * -----------------------------------------------------------------------------------------------------------
 */

static const int64_t HALF_HOUR_MS = 1800000, HOUR_MS = 3600000;

/*  "2026-11-22T07:30Z" */
static void put_time(helio_buffer_t *out, int64_t wall_ms, int64_t step_ms)
{
    char text[HELIO_RFC3339_SIZE];
    helio_rfc3339(wall_ms - wall_ms % step_ms, text);
    helio_buffer_append(out, text, 16);
    helio_buffer_text(out, "Z");
}

/*  Percent-encoded but for letters, digits and "-._~". */
static void put_escaped(helio_buffer_t *out, helio_text_t text)
{
    for (uint32_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        bool plain = helio_is_letter_or_digit(c) || c == '-' || c == '.' || c == '_' || c == '~';
        if (plain)
            helio_buffer_append(out, &c, 1);
        else
            helio_buffer_printf(out, "%%%02X", (unsigned char)c);
    }
}

static bool put_word(helio_buffer_t *out, helio_text_t word, helio_text_t region, int64_t wall_ms)
{
    if (helio_text_is(word, "region"))
        put_escaped(out, region);
    else if (helio_text_is(word, "now"))
        put_time(out, wall_ms, HALF_HOUR_MS);
    else if (helio_text_is(word, "hour"))
        put_time(out, wall_ms, HOUR_MS);
    else if (helio_text_is(word, "day_ago"))
        put_time(out, wall_ms - 24 * HOUR_MS, HALF_HOUR_MS);
    else if (helio_text_is(word, "in_48h"))
        put_time(out, wall_ms + 48 * HOUR_MS, HALF_HOUR_MS);
    else
        return false;
    return true;
}

helio_rc helio_fetch_url(helio_text_t pattern, helio_text_t region, int64_t wall_ms, helio_buffer_t *out,
                         helio_error_t *err)
{
    for (uint32_t i = 0; i < pattern.size; i++) {
        if (pattern.data[i] != '{') {
            helio_buffer_append(out, pattern.data + i, 1);
            continue;
        }
        const char *end = memchr(pattern.data + i, '}', pattern.size - i);
        helio_text_t word = {pattern.data + i + 1, end ? (uint32_t)(end - pattern.data) - i - 1 : 0};
        if (!end || !put_word(out, word, region, wall_ms))
            return helio_fail(err, HELIO_INVALID,
                              "'{%.*s}' in a url: known are {region}, {now}, {hour}, {day_ago} and {in_48h}",
                              HELIO_TEXT_ARGS(word));
        i += word.size + 1;
    }
    if (out->overflow || out->size > URL_BYTES_MAX)
        return helio_fail(err, HELIO_TOO_BIG, "a url of more than %d bytes", URL_BYTES_MAX);
    return HELIO_OK;
}
