/*  api.c -- requests and watches, by the fetcher. */
#include "site-agent/backends/kubernetes/api.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TOKEN_MAX = 64 << 10, SILENCE_MARGIN_MS = 30000 };

/*  One that waits for its end. */
typedef struct helio_kube_request {
    struct helio_kube_request *next;
    helio_kube_api_t *api;
    helio_kube_reply_fn *reply;
    void *arg;
    helio_kube_event_fn *each;   /* of a watch */
    helio_fetch_piece_fn *piece; /* of another stream */
    helio_kube_stream_t stream;
    bool stale; /* the stream said 410 */
    bool ended; /* the stream is of no use any more */
    helio_error_t trouble;
} helio_kube_request_t;

struct helio_kube_api {
    const helio_kube_access_t *access;
    helio_fetcher_t *fetcher;
    helio_kube_request_t *requests;
};

helio_rc helio_kube_api_new(const helio_kube_access_t *access, helio_kube_api_t **ret_api, helio_error_t *err)
{
    helio_fetcher_t *fetcher;
    helio_rc rc = helio_fetcher_new(&fetcher, err);
    if (rc)
        return rc;
    helio_kube_api_t *self = helio_new(1, sizeof *self);
    self->access = access;
    self->fetcher = fetcher;
    *ret_api = self;
    return HELIO_OK;
}

static void request_free(helio_kube_request_t *request)
{
    for (helio_kube_request_t **at = &request->api->requests; *at; at = &(*at)->next)
        if (*at == request) {
            *at = request->next;
            break;
        }
    helio_kube_stream_clear(&request->stream);
    free(request);
}

void helio_kube_api_destroy(helio_kube_api_t **self_p)
{
    helio_kube_api_t *self = *self_p;
    if (!self)
        return;
    helio_fetcher_destroy(&self->fetcher);
    while (self->requests)
        request_free(self->requests);
    free(self);
    *self_p = NULL;
}

/* ---- the end of a request ------------------------------------------------------------------------------- */

/*  A watch is over in good order, stale, or cut off; an answer that is none at all leaves the outcome open. */
static helio_kube_answer_t judge(const helio_kube_request_t *request, const helio_fetch_result_t *result,
                                 const json_t *document, helio_text_t *ret_message)
{
    helio_kube_answer_t answer = helio_kube_answer(result->status, document, ret_message);
    if (request->each && request->stale)
        return HELIO_KUBE_EXPIRED;
    if (!result->complete || request->ended) {
        *ret_message = helio_text_of(request->trouble.text[0] ? request->trouble.text : result->complaint);
        return HELIO_KUBE_UNKNOWN;
    }
    if (!ret_message->size && answer != HELIO_KUBE_DONE)
        *ret_message = result->body.size && !document ? result->body : helio_text_of(result->complaint);
    return answer;
}

static void on_done(void *arg, const helio_fetch_result_t *result)
{
    helio_kube_request_t *request = arg;
    json_t *document = json_loadb(result->body.data ? result->body.data : "", result->body.size, 0, NULL);
    helio_kube_reply_t reply = {.status = result->complete ? result->status : 0,
                                .document = document,
                                .server_wall_ms = request->each || request->piece ? 0 : result->server_wall_ms};
    reply.answer = judge(request, result, document, &reply.message);
    reply.pause_ms = helio_kube_pause_ms(helio_text_of(result->retry_after));
    request->reply(request->arg, &reply);
    json_decref(document);
    request_free(request);
}

static void on_event(void *arg, const helio_kube_event_t *event)
{
    helio_kube_request_t *request = arg;
    request->stale = request->stale || event->change == HELIO_KUBE_STALE;
    request->ended = request->ended || event->change >= HELIO_KUBE_STALE;
    if (event->change < HELIO_KUBE_STALE)
        request->each(request->arg, event);
}

static bool on_piece(void *arg, helio_text_t piece)
{
    helio_kube_request_t *request = arg;
    if (request->piece)
        request->ended = !request->piece(request->arg, piece);
    else if (helio_kube_stream_take(&request->stream, piece, on_event, request, &request->trouble))
        request->ended = true;
    return !request->ended;
}

/* ---- the beginning ------------------------------------------------------------------------------------- */

/*  The header Authorization, "" without a token. */
static helio_rc put_token(const helio_kube_secret_t *token, helio_buffer_t *out, helio_error_t *err)
{
    char text[TOKEN_MAX];
    char path[4096];
    if (!token->path.size && !token->text.size)
        return HELIO_OK;
    helio_text_t value = token->text;
    if (!value.size) {
        int file = helio_text_copy(token->path, path, sizeof path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        ssize_t size = file >= 0 ? read(file, text, sizeof text) : -1;
        if (file >= 0)
            (void)close(file);
        while (size > 0 && (text[size - 1] == '\n' || text[size - 1] == '\r'))
            size--;
        if (size <= 0 || size == (ssize_t)sizeof text)
            return helio_fail(err, HELIO_IO, "the token's file %.*s cannot be read", HELIO_TEXT_ARGS(token->path));
        value = (helio_text_t){text, (uint32_t)size};
    }
    helio_buffer_printf(out, "Authorization: Bearer %.*s", HELIO_TEXT_ARGS(value));
    explicit_bzero(text, sizeof text);
    return HELIO_OK;
}

static const char *string_of(helio_arena_t *arena, helio_text_t text)
{
    return text.size ? helio_arena_string(arena, text) : NULL;
}

static helio_rc begin(helio_kube_api_t *self, helio_fetch_t *fetch, const char *path, helio_kube_request_t *request,
                      helio_error_t *err)
{
    const helio_kube_access_t *access = self->access;
    helio_arena_t *arena = helio_arena_new();
    helio_buffer_t token = {0};
    helio_fetch_tls_t tls = {
        .ca_path = string_of(arena, access->authority.path),
        .certificate_path = string_of(arena, access->certificate.path),
        .key_path = string_of(arena, access->key.path),
        .ca = access->authority.text,
        .certificate = access->certificate.text,
        .key = access->key.text,
        .proxy = string_of(arena, access->proxy),
    };
    helio_rc rc = put_token(&access->token, &token, err);
    bool patch = fetch->method && strcmp(fetch->method, "PATCH") == 0;
    const char *headers[] = {"Accept: application/json",
                             patch ? "Content-Type: application/merge-patch+json" : "Content-Type: application/json",
                             token.size ? token.data : NULL, NULL};
    fetch->url = string_of(arena, helio_arena_printf(arena, "%.*s%s", HELIO_TEXT_ARGS(access->server), path));
    fetch->headers = headers;
    fetch->tls = &tls;
    fetch->max_bytes = HELIO_KUBE_BODY_MAX;
    fetch->done = on_done;
    fetch->arg = request;
    if (!rc)
        rc = helio_fetcher_get(self->fetcher, fetch, err);
    if (token.size)
        explicit_bzero(token.data, token.size);
    helio_buffer_clear(&token);
    helio_arena_destroy(&arena);
    request->next = self->requests;
    self->requests = request;
    if (rc)
        request_free(request);
    return rc;
}

static helio_kube_request_t *request_new(helio_kube_api_t *self, helio_kube_reply_fn *reply, void *arg)
{
    helio_kube_request_t *request = helio_new(1, sizeof *request);
    request->api = self;
    request->reply = reply;
    request->arg = arg;
    return request;
}

helio_rc helio_kube_api_ask(helio_kube_api_t *self, const char *method, const char *path, helio_text_t body,
                            helio_kube_reply_fn *reply, void *arg, helio_error_t *err)
{
    helio_fetch_t fetch = {.method = method, .body = body, .timeout_ms = HELIO_KUBE_REQUEST_MS};
    return begin(self, &fetch, path, request_new(self, reply, arg), err);
}

helio_rc helio_kube_api_watch(helio_kube_api_t *self, const char *path, const char *version, helio_kube_event_fn *each,
                              helio_kube_reply_fn *reply, void *arg, helio_error_t *err)
{
    char full[4096];
    helio_fetch_t fetch = {.silence_ms = HELIO_KUBE_WATCH_S * 1000 + SILENCE_MARGIN_MS, .piece = on_piece};
    helio_kube_request_t *request = request_new(self, reply, arg);
    request->each = each;
    (void)snprintf(full, sizeof full, "%s%cwatch=1&allowWatchBookmarks=true&timeoutSeconds=%d&resourceVersion=%s", path,
                   strchr(path, '?') ? '&' : '?', HELIO_KUBE_WATCH_S, version);
    return begin(self, &fetch, full, request, err);
}

helio_rc helio_kube_api_stream(helio_kube_api_t *self, const char *path, uint64_t timeout_ms,
                               helio_fetch_piece_fn *piece, helio_kube_reply_fn *reply, void *arg, helio_error_t *err)
{
    helio_fetch_t fetch = {.piece = on_piece, .timeout_ms = timeout_ms};
    helio_kube_request_t *request = request_new(self, reply, arg);
    request->piece = piece;
    return begin(self, &fetch, path, request, err);
}

int helio_kube_api_fd(const helio_kube_api_t *self)
{
    return helio_fetcher_fd(self->fetcher);
}

int64_t helio_kube_api_next_ms(const helio_kube_api_t *self)
{
    return helio_fetcher_next_ms(self->fetcher);
}

void helio_kube_api_process(helio_kube_api_t *self, int64_t now_boot_ms)
{
    helio_fetcher_process(self->fetcher, now_boot_ms);
}
