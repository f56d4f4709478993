/*  request_context.h -- one request and its answer, and what handlers do with them.
 *
 *  Owned by exactly one thread at a time: the library's while bytes come and go, the desk's while it waits
 * (waiting_requests.h). Passing on is a suspension plus a push to the desk's ring, or a resumption; so nothing in it is
 * atomic.
 *
 *  A handler is a chain of steps. The first (route.start) runs on a library's thread once the whole body is
 * there. A step ends by answering, or by awaiting one operation, whose result the next step gets on the
 * desk's thread. A stream's handler answers with helio_response_stream and is asked for more (`want`) whenever
 * the client has taken what there was.
 */
#ifndef HELIO_BROKER_HTTP_REQUEST_REQUEST_CONTEXT_H
#define HELIO_BROKER_HTTP_REQUEST_REQUEST_CONTEXT_H

#include "broker/http/request/context.h"
#include "broker/http/request/operation.h"
#include "broker/http/request/target.h"


typedef void helio_request_context_step_fn(helio_request_context_t *self, const helio_result_t *result);

enum { HELIO_RESPONSE_HEADERS_MAX = 6, HELIO_COMMAND_BODY_MAX = 64 << 10 };

struct helio_request_context {
    helio_http_t *http;
    helio_arena_t *arena; /* lives as long as the exchange */
    helio_arena_t *retained;  /* the same, of helio_await_retain; NULL = none */
    void *connection;     /* struct MHD_Connection; only server.c looks inside */
    int fd;               /* the client's socket, to notice that it is gone while suspended; -1 = not known */
    int64_t started_us;

    /*  the request */
    const char *raw_target;
    helio_target_t target;
    const helio_route_t *route;  /* NULL: none was found */
    const helio_token_t *token;  /* NULL on public routes */
    const char *parameter;       /* what stood for {id} or {site} */
    const char *content_type;    /* lower case, without parameters; "" = none */
    const char *idempotency_key; /* "" = none */
    const char *last_event_id;   /* "" = none */
    bool head;                   /* HEAD: headers alone */
    helio_body_t body;
    uint32_t body_max;
    uint64_t received_bytes;
    uint64_t discarded_bytes; /* of those, since it was refused */
    bool begun;               /* the headers were seen */
    bool has_body;            /* announced one */
    bool complete;            /* the body is there */
    bool sent;                /* the answer was given to the library */

    /*  the answer */
    uint32_t status; /* 0 = none yet */
    const char *response_type;
    helio_buffer_t response; /* of a stream: bytes that the client has not been given */
    struct {
        const char *name;
        const char *value;
    } headers[HELIO_RESPONSE_HEADERS_MAX];
    uint32_t header_count;
    bool close; /* the connection is of no use after this */

    /*  waiting, at the desk */
    helio_operation_t *operation; /* prepared or under way */
    helio_request_context_step_fn *next;
    int64_t deadline_ms; /* of the operation */
    helio_request_context_t *waiting_prev, *waiting_next;

    /*  streams */
    void (*want)(helio_request_context_t *self); /* NULL: not a stream */
    uint64_t response_sent;                 /* of `answer` */
    int64_t wake_ms;                      /* idle until then */
    bool wants_notify;                      /* or until something happened */
    bool ended, broken, counted_stream;
    void *state; /* what a handler keeps between its steps: helio_request_context_state */
};

helio_request_context_t *helio_request_context_new(helio_http_t *http, helio_text_t raw_target);
void helio_request_context_destroy(helio_request_context_t **self_p);
/*  The handler's own, zeroed when it is first asked for. A handler always names the same size. */
void *helio_request_context_state(helio_request_context_t *self, size_t size);

/*  ---- answering: any step, once ---- */

void helio_response_json(helio_request_context_t *self, uint32_t status, helio_text_t json);
void helio_response_text(helio_request_context_t *self, uint32_t status, const char *type, const char *text);
void helio_response_problem(helio_request_context_t *self, uint32_t status, const char *reason, const char *format,
                          ...) HELIO_PRINTF(4, 5);
void helio_response_diagnostics(helio_request_context_t *self, const helio_diagnostics_t *wrong, int document);
/*  Any result that is not OK; `what` names the object for NOT_FOUND ("job 01k9…", NULL = not an object). */
void helio_response_failure(helio_request_context_t *self, const helio_result_t *result, const char *what);
/*  The JSON that was read, or why not. */
void helio_response_read(helio_request_context_t *self, const helio_result_t *result);
/*  {key: value, "status": sentences, "details": […]} of a reply that is OK; without the first when key is NULL. */
void helio_response_done(helio_request_context_t *self, uint32_t status, const char *key, const char *value,
                         const helio_details_t *details);
/*  {key: value, "status": said}. */
void helio_response_status(helio_request_context_t *self, uint32_t status, const char *key, const char *value,
                           const char *said);
/*  helio_response_done with the path's parameter, or why not; what: of which kind it is, for people. */
void helio_response_set(helio_request_context_t *self, const helio_result_t *result, const char *what, const char *key);
/*  {"ambiguous": […]} of the reader: answers 409 and is true. */
bool helio_response_ambiguous(helio_request_context_t *self, helio_text_t json);
/*  200 and headers at once; the body comes from self->answer as `want` fills it. */
void helio_response_stream(helio_request_context_t *self, const char *type,
                           void (*want)(helio_request_context_t *self));
void helio_request_context_header(helio_request_context_t *self, const char *name,
                                  const char *value); /* value is copied */

/*  ---- awaiting ---- */

/*  One of helio_sql_queries; params may be NULL (SQL null), are copied. */
void helio_await_read(helio_request_context_t *self, helio_request_context_step_fn *next, const char *query,
                      uint32_t count, const char *const params[]);
/*  An event of the core. `payload` and all it points to live in the operation's arena (helio_await_arena). */
void helio_await_event(helio_request_context_t *self, helio_request_context_step_fn *next, uint32_t event,
                       void *payload);
helio_arena_t *helio_await_arena(helio_request_context_t *self); /* of the operation to be awaited next */
helio_text_t helio_await_body(helio_request_context_t *self); /* the body, which now lives as long as that operation */
/*  What was made in the arena of the operation to be awaited next, and its body, now live as long as the exchange:
 *  something else is awaited first. Once. */
void helio_await_retain(helio_request_context_t *self);
/*  Which piece of an attempt's log. */
typedef struct helio_log_place {
    const char *site;
    helio_job_key_t key;
    uint32_t epoch;
    uint64_t offset;
    uint32_t size_max;
} helio_log_place_t;
void helio_await_log(helio_request_context_t *self, helio_request_context_step_fn *next, helio_log_place_t place);
void helio_await_figures(helio_request_context_t *self, helio_request_context_step_fn *next);
/*  Streams: nothing to do until wake_ms, or until the bell rings. */
void helio_await_idle(helio_request_context_t *self, int64_t wake_ms, bool notifier);

/*  ---- asking the request ---- */

const char *helio_request_context_query(const helio_request_context_t *self, const char *name); /* NULL = absent */
/*  Decimal within bounds; absent: fallback. false: a problem was answered. */
bool helio_request_context_number(helio_request_context_t *self, const char *name, uint64_t fallback, uint64_t most,
                           uint64_t *ret_value);
/*  Whose things the caller sees and touches, by the route's access (route.h); NULL = everybody's. */
const char *helio_request_context_tenant(const helio_request_context_t *self);

/*  One of subscribers_max places, until the exchange ends. false: a problem was answered. */
bool helio_request_context_take_place(helio_request_context_t *self);

#endif
