/*  forwarder.h -- requests that this broker hands on to the one that leads, on a thread of its own over libcurl.
 *
 *  Any thread can post a forward; the forwarder's thread answers it through `done`, exactly once, also on failure. An
 *  answer is bounded and complete: streams are not forwarded. It follows no redirect, uses no proxy and speaks HTTP
 *  alone, so that a forward ends at the broker that it names or nowhere. */
#ifndef HELIO_BROKER_FORWARD_FORWARDER_H
#define HELIO_BROKER_FORWARD_FORWARDER_H

#include "federation/base/error.h"
#include "federation/base/memory.h"

/*  Says in a request that it was forwarded, and by which process: it is not forwarded again. */
#define HELIO_FORWARDED_HEADER "Heliostat-Forwarded"
/*  Says in an answer what the broker is that gave it: leader, follower, or itself, the one that has forwarded. */
#define HELIO_BROKER_HEADER "Heliostat-Broker"
/*  Says in the answer to a forwarded request for a log what its body is: "OFFSET END", END 1 or 0. */
#define HELIO_LOG_PIECE_HEADER "Heliostat-Log-Piece"

enum {
    HELIO_FORWARDS_MAX = 1024,           /* that wait or are under way */
    HELIO_FORWARD_ANSWER_MAX = 16 << 20, /* bytes */
    HELIO_FORWARD_TIMEOUT_MS = 15000,    /* from its sending to its answer */
    HELIO_FORWARD_CONNECT_MS = 2000,     /* a leader that is there accepts at once */
    HELIO_FORWARD_WAIT_MS = 4000,        /* one that is not sent by then is not sent */
    HELIO_FORWARD_PROBE_MS = 3000,       /* a leader that runs answers a probe at once */
    HELIO_FORWARD_CONNECTIONS_MAX = 160, /* to the leader, whose bound for one address is far above (lanes.h) */
    HELIO_FORWARD_REUSE_S = 10           /* a connection that was idle for longer may be closed at the other end */
};

typedef struct helio_forward helio_forward_t;

/*  CHANNEL: bytes of a channel, which can be asked for again. LOG: it reads a piece of a log, which a site has to send. PROBE: it asks whether the leader is there; one that is not
 *  answered ends all others that are under way to the same base. */
typedef enum helio_forward_kind {
    HELIO_FORWARD_REQUEST,
    HELIO_FORWARD_LOG,
    HELIO_FORWARD_PROBE,
    HELIO_FORWARD_CHANNEL,
    HELIO_FORWARD_KIND_COUNT
} helio_forward_kind_t;

typedef struct helio_forward_answer {
    uint32_t status;
    const char *type;   /* media type as received; "" = none */
    const char *piece;  /* HELIO_LOG_PIECE_HEADER; "" = none */
    const char *broker; /* HELIO_BROKER_HEADER; "" = none */
    helio_text_t body;
    uint32_t retry_after_s; /* 0 = not said */
} helio_forward_answer_t;

/*  Texts must live until `done`; "" = absent. */
struct helio_forward {
    helio_forward_kind_t kind;
    const char *tenant;   /* of the caller: whose share it uses */
    const char *instance; /* of this process: HELIO_FORWARDED_HEADER */
    const char *method;
    const char *base;       /* "http://10.0.0.7:7480" */
    const char *target;     /* "/v1/jobs?limit=5", as received and checked */
    const char *credential; /* bearer token */
    const char *content_type;
    const char *idempotency_key;
    helio_text_t body;
    /*  rc: OK with an answer of any status; BUSY: the tenant has too many; UNAVAILABLE: the request was not sent, or can
     *  be sent again without acting twice; TIMEOUT: it was sent, and whether it was carried out is unknown; TOO_BIG.
     *  The answer is borrowed for the call. */
    void (*done)(helio_forward_t *forward, helio_rc rc, const helio_forward_answer_t *answer);
    void *arg;
    /*  Private to the lanes. */
    helio_forward_t *behind;
    int64_t waits_since_ms;
};

typedef struct helio_forwarder helio_forwarder_t;

/*  Starts the thread. HELIO_IO: libcurl cannot be initialised. */
HELIO_MUST_CHECK helio_rc helio_forwarder_new(helio_forwarder_t **ret_forwarder, helio_error_t *err);
void helio_forwarder_destroy(helio_forwarder_t **self_p); /* answers what is under way, joins the thread */
/*  HELIO_BUSY: too many wait, and done is not called. */
HELIO_MUST_CHECK helio_rc helio_forwarder_post(helio_forwarder_t *self, helio_forward_t *forward);

#endif
