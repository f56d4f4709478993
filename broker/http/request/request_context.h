/*  request_context.h -- one request and its response, and what handlers do with them.
 *
 *  Exactly one thread owns it at a time: a thread of the library while bytes come and go, the thread of the waiting
 *  requests while it is suspended (waiting_requests.h). It changes hands by a suspension and a push into a ring, or by
 *  a resumption, so nothing in it is atomic.
 *
 *  A request whose token has to be proved first (request.h) waits with its headers alone: none of its body is read
 *  before. A handler is a chain of steps. The first (route.start) runs once the whole body has arrived, on a thread of
 *  the library, or on a parser's if the body is large (parsers.h). A step ends by answering, or by awaiting one
 *  operation. The next step gets its result on the thread of the waiting requests. A stream's handler answers with
 *  helio_response_stream; `want` then asks it for more whenever the client has read everything. */
#ifndef HELIO_BROKER_HTTP_REQUEST_REQUEST_CONTEXT_H
#define HELIO_BROKER_HTTP_REQUEST_REQUEST_CONTEXT_H

#include "broker/http/request/context.h"
#include "broker/http/request/operation.h"
#include "broker/http/request/target.h"
#include "broker/http/request/turns.h"

typedef void helio_request_context_step_fn(helio_request_context_t *self, const helio_result_t *result);

/*  As received; NULL = absent. They live as long as the request. */
typedef struct helio_request_headers {
    const char *authorization;
    const char *accept;
    const char *accept_encoding;
    const char *if_none_match;
    const char *content_type;
    const char *content_length;
    const char *transfer_encoding;
    const char *idempotency_key;
    const char *last_event_id;
    const char *from_broker; /* the process that has forwarded it */
    bool forwarded;          /* a proxy says that it is one */
} helio_request_headers_t;

enum { HELIO_RESPONSE_HEADERS_MAX = 6, HELIO_COMMAND_BODY_MAX = HELIO_BODY_SMALL_MAX };

struct helio_request_context {
    helio_http_t *http;
    helio_arena_t *arena;    /* lives as long as the request */
    helio_arena_t *retained; /* of helio_await_retain, lives as long as the request; NULL = none */
    void *connection;        /* struct MHD_Connection; only http.c looks inside */
    int fd; /* the client's socket, which shows that the client left during a suspension; -1 = unknown */
    helio_address_t address; /* of the client, or of a proxy */
    int64_t started_us;
    const char *target_end; /* where the library saw the target end, in its own buffer: for helio_framing_target */

    /*  The request. */
    const char *raw_target;
    helio_target_t target;
    const char *method;
    helio_request_headers_t received;
    int64_t unproved_ms;         /* boot clock: since when its token waits for a look (request.h); 0 = it never did */
    bool looked_up;              /* the leader asks the database for that token (token_look_up.h) */
    bool look_failed;            /* and had no answer */
    const helio_route_t *route;  /* NULL: none matches */
    const helio_token_t *token;  /* NULL on public routes */
    const char *parameter;       /* the path segment in place of {id} or {site} */
    const char *content_type;    /* lower case, without parameters; "" = none */
    const char *idempotency_key; /* "" = none */
    const char *last_event_id;   /* "" = none */
    const char *credential;      /* the token as received, to be forwarded; "" = none was checked */
    bool from_broker;            /* a broker has forwarded it */
    bool from_itself;            /* this broker has */
    bool head;                   /* HEAD: headers alone */
    helio_body_t body;
    uint32_t body_max;
    uint64_t received_bytes;
    uint64_t discarded_bytes; /* of received_bytes, those after a refusal */
    bool begun;               /* the headers have been read */
    bool judged;              /* its token is proved, or it is refused: the body can be read */
    bool has_body;            /* the headers announce a body */
    bool complete;            /* the whole body has arrived */
    bool started;             /* the handler was called, or the request is forwarded */
    bool sent;                /* the library has the response */
    helio_turn_t turn;        /* while it waits for a parser */

    /*  The response. */
    uint32_t status; /* 0 = none yet */
    const char *response_type;
    const char *cache_control; /* NULL: the answer must not be cached */
    helio_buffer_t response;   /* of a stream: bytes that the client has not read */
    struct {
        const char *name;
        const char *value;
    } headers[HELIO_RESPONSE_HEADERS_MAX];
    uint32_t header_count;
    bool close;     /* the connection closes after this response */
    bool by_leader; /* it is the answer of another broker, which leads */

    /*  While waiting. */
    helio_operation_t *operation; /* being prepared, or posted */
    helio_request_context_step_fn *next;
    int64_t deadline_ms; /* of the operation */
    helio_request_context_t *waiting_prev, *waiting_next;

    /*  Streams. */
    void (*want)(helio_request_context_t *self); /* NULL: not a stream. Before it is judged: proves its token */
    uint64_t response_sent;                      /* bytes of `response` that the client has read */
    int64_t wake_ms;                             /* idle until then */
    bool wants_notify;                           /* or until a notification */
    bool ended, broken, counted_stream;
    int64_t snapshot_since_ms; /* it has the place of the one snapshot; 0 = it has not */
    void *state;               /* what a handler keeps between its steps (helio_request_context_state) */
};

helio_request_context_t *helio_request_context_new(helio_http_t *http, helio_text_t raw_target);
void helio_request_context_destroy(helio_request_context_t **self_p);
void helio_request_context_leave_snapshot(helio_request_context_t *self); /* another one may be taken now */
/*  The handler's own state, zeroed at the first call. A handler always passes the same size. */
void *helio_request_context_state(helio_request_context_t *self, size_t size);

/*  ---- answering: in any step, once ---- */

void helio_response_json(helio_request_context_t *self, uint32_t status, helio_text_t json);
void helio_response_text(helio_request_context_t *self, uint32_t status, const char *type, const char *text);
void helio_response_bytes(helio_request_context_t *self, uint32_t status, const char *type, helio_text_t bytes);
/*  reason NULL: that of the status. */
void helio_response_problem(helio_request_context_t *self, uint32_t status, const char *reason, helio_detail_t detail);
/*  The same with the reason of the status, and the detail of that code with the values that follow. HELIO_PROBLEM0: the
 *  detail has no values. */
#define HELIO_PROBLEM(self, status, code, ...) \
    helio_response_problem(self, status, NULL, HELIO_DETAIL((self)->arena, HELIO_DETAIL_##code, __VA_ARGS__))
#define HELIO_PROBLEM0(self, status, code) \
    helio_response_problem(self, status, NULL, HELIO_DETAIL0(HELIO_DETAIL_##code))
/*  A rejected document: see helio_problem_of_diagnostics. */
void helio_response_diagnostics(helio_request_context_t *self, const helio_diagnostics_t *wrong, int document);
/*  Answers with a result that is not OK. kind: what the path names ("job"), for NOT_FOUND; NULL = it names nothing. */
void helio_response_failure(helio_request_context_t *self, const helio_result_t *result, const char *kind);
/*  Answers with the JSON that was read, or with the failure to read it. */
void helio_response_read(helio_request_context_t *self, const helio_result_t *result);
/*  {key: value, "status": sentences, "details": […]}, for a reply that is OK. key NULL: without the first member. */
void helio_response_done(helio_request_context_t *self, uint32_t status, const char *key, const char *value,
                         const helio_details_t *details);
/*  {key: value, "status": said}. */
void helio_response_status(helio_request_context_t *self, uint32_t status, const char *key, const char *value,
                           const char *said);
/*  helio_response_done with the path's parameter as value, or the failure. kind: what the parameter names. */
void helio_response_set(helio_request_context_t *self, const helio_result_t *result, const char *kind, const char *key);
/*  If json is the reader's {"ambiguous": […]}, answers 409 and returns true. */
bool helio_response_ambiguous(helio_request_context_t *self, helio_text_t json);
/*  The leader's answer to a forwarded request, as it is. */
void helio_response_forwarded(helio_request_context_t *self, const helio_result_t *result);
/*  Sends 200 and the headers at once; `want` fills self->response with the body, piece by piece. */
void helio_response_stream(helio_request_context_t *self, const char *type,
                           void (*want)(helio_request_context_t *self));
void helio_request_context_header(helio_request_context_t *self, const char *name,
                                  const char *value); /* value is copied */

/*  ---- awaiting ---- */

/*  Awaits one of helio_sql_queries. params are copied; each can be NULL (SQL null). */
void helio_await_read(helio_request_context_t *self, helio_request_context_step_fn *next, const char *query,
                      uint32_t count, const char *const params[]);
/*  Awaits an event of the core. `payload` and everything it points to live in the operation's arena
 *  (helio_await_arena). */
void helio_await_event(helio_request_context_t *self, helio_request_context_step_fn *next, uint32_t event,
                       void *payload);
helio_arena_t *helio_await_arena(helio_request_context_t *self); /* of the operation that is awaited next */
helio_text_t helio_await_body(helio_request_context_t *self); /* the body, which now lives as long as that operation */
/*  What was made of the body counts as a large body until the operation ends: a list can wait for others that long, and
 *  takes a hundred times the memory of its bytes. False: its tenant has to wait, and the request is answered. */
bool helio_await_read_body(helio_request_context_t *self);
/*  Keeps the arena and the body of the operation that is awaited next for as long as the request, because another
 *  operation is awaited first. At most once. */
void helio_await_retain(helio_request_context_t *self);
/*  The broker to which this request can be forwarded. NULL: none, or it was forwarded already. */
const helio_leader_view_t *helio_await_leader(const helio_request_context_t *self);
/*  Awaits the leader's answer to this request, with its body, token and idempotency key. */
void helio_await_forward(helio_request_context_t *self, helio_request_context_step_fn *next,
                         const helio_leader_view_t *leader, const char *method, const char *target);
/*  A piece of an attempt's log. */
typedef struct helio_log_place {
    const char *site;
    helio_job_key_t key;
    uint32_t epoch;
    uint64_t offset;
    uint32_t size_max;
    uint32_t tail; /* not 0: offset counts back from the end, and a leader gives these many lines of it */
} helio_log_place_t;
/*  Awaits a piece of a log; the engine asks the site, or the leader's engine does. */
void helio_await_log(helio_request_context_t *self, helio_request_context_step_fn *next, helio_log_place_t place);
/*  Awaits what is asked of a channel; its texts live in the operation's arena, or are the body that it keeps. */
void helio_await_channel(helio_request_context_t *self, helio_request_context_step_fn *next,
                         const helio_channel_ask_t *ask);
/*  What goes with the CHANNEL event that is awaited next, in the operation's arena. */
void helio_await_opening(helio_request_context_t *self, const helio_channel_opening_t *opening);
/*  Awaits the engine's figures. */
void helio_await_figures(helio_request_context_t *self, helio_request_context_step_fn *next);
/*  Streams: idle until wake_ms (boot clock), or with notifier until a notification. */
void helio_await_idle(helio_request_context_t *self, int64_t wake_ms, bool notifier);

/*  ---- reading the request ---- */

const char *helio_request_context_query(const helio_request_context_t *self, const char *name); /* NULL = absent */
typedef struct helio_query_bounds {
    uint64_t least, most;
    uint64_t fallback; /* when the parameter is absent */
} helio_query_bounds_t;
/*  A decimal number within its bounds. False: a problem was answered. */
bool helio_request_context_number(helio_request_context_t *self, const char *name, helio_query_bounds_t bounds,
                                  uint64_t *ret_value);
/*  0, 1, true or false; absent: false. False: a problem was answered. */
bool helio_request_context_flag(helio_request_context_t *self, const char *name, bool *ret_value);
/*  The tenant whose objects the caller can see and change, by the route's access (route.h); NULL = all tenants. */
const char *helio_request_context_tenant(const helio_request_context_t *self);

/*  The principal of the caller, for the audit: "user:TENANT/NAME". It lives as long as what helio_await_arena gives. */
helio_text_t helio_request_context_actor(helio_request_context_t *self);

/*  Takes a stream's place (places.h) until the request ends. False: a problem was answered. */
bool helio_request_context_take_place(helio_request_context_t *self);

#endif
