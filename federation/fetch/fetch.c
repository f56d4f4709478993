/*  fetch.c -- libcurl's multi interface behind one epoll descriptor. */
#include "federation/fetch/fetch.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "federation/base/clock.h"

enum { CONNECT_TIMEOUT_MS = 10000, EVENTS_MAX = 16, KEEP_ALIVE_S = 20 };

typedef struct transfer {
    struct transfer *next;
    CURL *easy;
    struct curl_slist *headers;
    helio_buffer_t body;
    char error[CURL_ERROR_SIZE];
    char retry_after[32], date[64];
    helio_fetch_piece_fn *piece;
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

/*  libcurl's descriptors change: each is in the epoll instance as long as libcurl watches it. */
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
    long status = 0;
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
    if (transfer->piece && status == 200)
        return transfer->piece(transfer->arg, (helio_text_t){bytes, (uint32_t)(size * count)}) ? size * count : 0;
    helio_buffer_append(&transfer->body, bytes, size * count);
    return transfer->body.overflow ? 0 : size * count;
}

/*  The value of a header line, if it is of that name. */
static void take_header(helio_text_t line, const char *name, char *ret_value, size_t capacity)
{
    uint32_t at = (uint32_t)strlen(name), end;
    if (line.size < at || strncasecmp(line.data, name, at) != 0)
        return;
    while (at < line.size && line.data[at] == ' ')
        at++;
    for (end = at; end < line.size && line.data[end] != '\r' && line.data[end] != '\n';)
        end++;
    (void)helio_text_copy((helio_text_t){line.data + at, end - at}, ret_value, capacity);
}

static size_t on_header(char *bytes, size_t size, size_t count, void *arg)
{
    transfer_t *transfer = arg;
    helio_text_t line = {bytes, (uint32_t)(size * count)};
    take_header(line, "retry-after:", transfer->retry_after, sizeof transfer->retry_after);
    take_header(line, "date:", transfer->date, sizeof transfer->date);
    return size * count;
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

/*  The content counts before the file; libcurl copies both. */
static bool set_pem(transfer_t *transfer, CURLoption blob_option, CURLoption path_option, helio_text_t pem,
                    const char *path)
{
    struct curl_blob blob = {(void *)(uintptr_t)pem.data, pem.size, CURL_BLOB_COPY};
    if (pem.size)
        return SET(blob_option, &blob);
    return !path || !path[0] || SET(path_option, path);
}

/*  A given authority replaces those of the system: none of them vouches for this server. */
static bool set_authority(transfer_t *transfer, const helio_fetch_tls_t *tls)
{
    bool given = tls->ca.size || (tls->ca_path && tls->ca_path[0]);
    return (!given || SET(CURLOPT_CAPATH, NULL)) &&
           set_pem(transfer, CURLOPT_CAINFO_BLOB, CURLOPT_CAINFO, tls->ca, tls->ca_path);
}

static bool set_tls(transfer_t *transfer, const helio_fetch_tls_t *tls)
{
    return SET(CURLOPT_PROTOCOLS_STR, "https") && SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2) &&
           SET(CURLOPT_PROXY, tls->proxy ? tls->proxy : "") && set_authority(transfer, tls) &&
           set_pem(transfer, CURLOPT_SSLCERT_BLOB, CURLOPT_SSLCERT, tls->certificate, tls->certificate_path) &&
           set_pem(transfer, CURLOPT_SSLKEY_BLOB, CURLOPT_SSLKEY, tls->key, tls->key_path);
}

static bool set_method(transfer_t *transfer, const helio_fetch_t *fetch)
{
    bool good = !fetch->method || SET(CURLOPT_CUSTOMREQUEST, fetch->method);
    if (good && fetch->body.size)
        good = SET(CURLOPT_POSTFIELDSIZE, (long)fetch->body.size) && SET(CURLOPT_COPYPOSTFIELDS, fetch->body.data);
    return good;
}

static bool set_times(transfer_t *transfer, const helio_fetch_t *fetch)
{
    long silence_s = (long)((fetch->silence_ms + 999) / 1000);
    return SET(CURLOPT_TIMEOUT_MS, (long)fetch->timeout_ms) &&
           SET(CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS) && SET(CURLOPT_TCP_KEEPALIVE, 1L) &&
           SET(CURLOPT_TCP_KEEPIDLE, (long)KEEP_ALIVE_S) && SET(CURLOPT_TCP_KEEPINTVL, (long)KEEP_ALIVE_S) &&
           (!silence_s || (SET(CURLOPT_LOW_SPEED_LIMIT, 1L) && SET(CURLOPT_LOW_SPEED_TIME, silence_s)));
}

static bool set_up(transfer_t *transfer, const helio_fetch_t *fetch)
{
    for (const char *const *header = fetch->headers; header && *header; header++) {
        struct curl_slist *longer = curl_slist_append(transfer->headers, *header);
        if (!longer)
            return false;
        transfer->headers = longer;
    }
    bool good = SET(CURLOPT_URL, fetch->url) && SET(CURLOPT_PROTOCOLS_STR, "http,https") &&
                SET(CURLOPT_FOLLOWLOCATION, 0L) && SET(CURLOPT_NOSIGNAL, 1L) && SET(CURLOPT_ACCEPT_ENCODING, "") &&
                set_times(transfer, fetch) && set_method(transfer, fetch) && SET(CURLOPT_HEADERFUNCTION, on_header) &&
                SET(CURLOPT_HEADERDATA, transfer) &&
                SET(CURLOPT_USERAGENT, fetch->user_agent ? fetch->user_agent : "helio-agent/" HELIO_PROGRAM_VERSION) &&
                SET(CURLOPT_ERRORBUFFER, transfer->error) && SET(CURLOPT_WRITEFUNCTION, on_body) &&
                SET(CURLOPT_WRITEDATA, transfer) && SET(CURLOPT_PRIVATE, transfer);
    if (good && fetch->tls)
        good = set_tls(transfer, fetch->tls);
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
    transfer->piece = fetch->piece;
    transfer->body.max = fetch->max_bytes;
    transfer->easy = curl_easy_init();
    if (!transfer->easy || !set_up(transfer, fetch) || curl_multi_add_handle(self->multi, transfer->easy) != CURLM_OK) {
        transfer_free(transfer);
        return helio_fail(err, HELIO_INVALID, "the HTTP library refuses the request; check the url");
    }
    transfer->next = self->transfers;
    self->transfers = transfer;
    self->due_ms = 0; /* start in the next turn, whatever its timer says */
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

/*  Seconds, or a date, which is compared with the server's own. */
static uint64_t retry_after_ms(const char *header, time_t server_s)
{
    char *rest;
    long long seconds = strtoll(header, &rest, 10);
    if (rest == header || *rest) {
        time_t then_s = header[0] ? curl_getdate(header, NULL) : -1;
        seconds = then_s > 0 ? (long long)(then_s - (server_s > 0 ? server_s : helio_clock_wall_ms() / 1000)) : 0;
    }
    return seconds > 0 && seconds < INT32_MAX ? (uint64_t)seconds * 1000 : 0;
}

static void end(helio_fetcher_t *self, transfer_t *transfer, CURLcode code)
{
    long status = 0;
    char complaint[CURL_ERROR_SIZE + 64] = "";
    time_t server_s = transfer->date[0] ? curl_getdate(transfer->date, NULL) : -1;
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
    if (transfer->body.overflow)
        (void)snprintf(complaint, sizeof complaint, "the answer is larger than %zu bytes", transfer->body.max);
    else if (code != CURLE_OK)
        (void)snprintf(complaint, sizeof complaint, "%s",
                       transfer->error[0] ? transfer->error : curl_easy_strerror(code));
    else if (status != 200)
        (void)snprintf(complaint, sizeof complaint, "HTTP status %ld", status);
    helio_fetch_result_t result = {.ok = complaint[0] == '\0',
                                   .complete = code == CURLE_OK,
                                   .status = status,
                                   .retry_after = transfer->retry_after,
                                   .retry_after_ms = retry_after_ms(transfer->retry_after, server_s),
                                   .server_wall_ms = server_s > 0 ? (int64_t)server_s * 1000 : 0,
                                   .body = helio_buffer_view(&transfer->body),
                                   .complaint = complaint};
    (void)curl_multi_remove_handle(self->multi, transfer->easy);
    unlink_transfer(self, transfer);
    transfer->done(transfer->arg, &result);
    transfer_free(transfer);
}

/* ---- called by the loop ------------------------------------------------------------------------------------- */

helio_rc helio_fetcher_new(helio_fetcher_t **ret_fetcher, helio_error_t *err)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return helio_fail(err, HELIO_IO, "the HTTP library cannot be initialised");
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
        return helio_fail(err, HELIO_IO, "the HTTP library cannot be initialised");
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
        self->due_ms = INT64_MAX; /* libcurl sets it again */
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
