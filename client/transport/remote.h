/*  remote.h -- requests to the broker, one at a time with retries, and streams beside them.
 *
 *  One thread. All waiting happens in helio_remote_pump, which also returns at Ctrl-C. The on_data of streams runs
 *  inside it, also during a request, and must not call this object.
 *
 *  Of several brokers, one is used until it cannot be reached or is not ready (502, 503, 504); then the next one is
 *  asked at once. A request that is not safe to repeat goes there only if none of it was sent. One that is safe to
 *  repeat goes there too if nothing has come back within HELIO_REMOTE_HUNG_MS; once every broker has had so long, each
 *  is given the whole time-out, since an answer can take long.
 *
 *  Only requests that are safe to repeat are retried: GET, PUT, DELETE, and any with an Idempotency-Key. They have
 *  three attempts, or with several brokers as many as fit into 30 s, with jittered waits that double; Retry-After is
 *  honoured up to its bound. Of any other one that was sent and has no answer, err says that its outcome is unknown. Redirects are not followed: they could carry the token elsewhere.
 */
#ifndef HELIO_CLIENT_REMOTE_H
#define HELIO_CLIENT_REMOTE_H

#include "client/invocation/client.h"

enum {
    HELIO_REMOTE_ATTEMPTS = 3,
    HELIO_REMOTE_PATIENCE = 240, /* in units of the client's patience (250 ms): a minute */
    HELIO_REMOTE_SILENCE = 12,   /* the same: 3 s */
    HELIO_REMOTE_TAKEOVER = 120, /* the same: 30 s; another broker takes over 20 s after the leader stood still */
    HELIO_REMOTE_HUNG_MS = 3000, /* without a byte of answer: another of several brokers is asked meanwhile */
    HELIO_REMOTE_RETRY_AFTER_MAX_MS = 10000,
    HELIO_REMOTE_BODY_MAX = 64 << 20
};

typedef struct helio_request {
    const char *method;       /* NULL = GET */
    const char *path;         /* "/v1/jobs?limit=100", already escaped */
    const char *content_type; /* of the body */
    helio_text_t body;
    const char *idempotency_key; /* NULL = none */
    bool once;                   /* no retries */
    uint32_t broker;             /* asks this one alone, counted from 1; 0 = whichever answers */
    uint32_t within_ms;          /* the whole answer must be there so soon; 0 = the time-out of the settings */
    bool patient;                /* retried for about a minute instead of three times */
    bool waits_while_busy;       /* a refusal with 429 is: it has changed nothing, whatever the method */
    /*  The client whose user is told once that the broker does not answer: a patient one at once, others when they have
     *  waited for HELIO_REMOTE_SILENCE. NULL = nobody is. */
    const helio_client_t *waits_for;
} helio_request_t;

typedef struct helio_response {
    long status; /* 100..599 */
    helio_buffer_t body;
    uint64_t retry_after_ms; /* 0 = not given */
    int64_t date_wall_ms;    /* the broker's clock; 0 = not given */
    uint64_t log_offset;     /* of the first byte, in a log */
    bool sent;               /* part of the request left this machine; its outcome is open */
    bool repeated; /* so did an earlier attempt: this may be the answer to a state that the request has made */
} helio_response_t;

void helio_response_clear(helio_response_t *self);

HELIO_MUST_CHECK helio_rc helio_remote_new(const helio_client_io_t *io, const helio_settings_t *settings,
                                           helio_remote_t **ret_remote, helio_error_t *err);
void helio_remote_destroy(helio_remote_t **self_p);

uint32_t helio_remote_broker_count(const helio_remote_t *self);
const char *helio_remote_broker(const helio_remote_t *self, uint32_t broker); /* its URL; counted from 1 */

/*  HELIO_OK: a complete reply arrived, with any status. UNAVAILABLE: no connection; TIMEOUT: too late; INVALID:
 *  certificate or URL; TOO_BIG; PROTOCOL; BUSY: interrupted by Ctrl-C. err names the broker and the cause. */
HELIO_MUST_CHECK helio_rc helio_remote_call(helio_remote_t *self, const helio_request_t *request,
                                            helio_response_t *ret_response, helio_error_t *err);

/*  The wait before attempt n (from 0): patience * 2^n within 16 times patience, of which the lower half is
 * jitter. */
uint32_t helio_remote_backoff_ms(helio_remote_t *self, uint32_t attempt);

typedef struct helio_stream helio_stream_t;

typedef struct helio_stream_options {
    const char *path;
    const char *method;        /* NULL = GET */
    const char *content_type;  /* of the body */
    helio_text_t body;         /* lives as long as the stream */
    const char *accept;        /* "text/event-stream" */
    const char *last_event_id; /* NULL or "" = none */
    uint32_t idle_timeout_s;   /* the stream is dead after this long without a byte; 0 = never */
    void (*on_data)(void *arg, const char *bytes, size_t size); /* of a 2xx answer */
    void *arg;
} helio_stream_options_t;

/*  Failures to connect appear as an ended stream. */
helio_stream_t *helio_stream_new(helio_remote_t *remote, const helio_stream_options_t *options);
void helio_stream_destroy(helio_stream_t **self_p); /* before its remote */

bool helio_stream_is_open(const helio_stream_t *self);         /* a 2xx reply began and has not ended */
bool helio_stream_is_over(const helio_stream_t *self);         /* ended, well or not */
bool helio_stream_is_whole(const helio_stream_t *self);        /* over, 2xx, and the last byte was received */
long helio_stream_status(const helio_stream_t *self);          /* 0 = no reply yet */
const char *helio_stream_error(const helio_stream_t *self);    /* why it is over, "" = no error */
helio_text_t helio_stream_problem(const helio_stream_t *self); /* the body of a reply that is not 2xx */
uint64_t helio_stream_log_offset(const helio_stream_t *self);  /* of the first byte of a log */
uint64_t helio_stream_retry_after_ms(const helio_stream_t *self);

struct pollfd;
/*  The same as helio_remote_pump, which also returns early when one of the descriptors is ready; sets their revents. */
void helio_remote_pump_with(helio_remote_t *self, uint32_t timeout_ms, struct pollfd *fds, uint32_t count);
/*  Drives all transfers for at most timeout_ms; returns early when something happened or Ctrl-C was pressed. */
void helio_remote_pump(helio_remote_t *self, uint32_t timeout_ms);

#endif
