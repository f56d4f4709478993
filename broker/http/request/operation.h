/*  operation.h -- what one step of a request asks of the engine, of the database or of the leader, and the result.
 *
 *  It owns everything that the call, the read or the forward points to, perhaps also the request's body, because it can
 *  outlive the request: when a deadline passes, the request is answered without it. Engine, reader and forwarder answer
 *  on their own threads, where only the result is filled in and the operation is pushed into `returns`. */
#ifndef HELIO_BROKER_HTTP_REQUEST_OPERATION_H
#define HELIO_BROKER_HTTP_REQUEST_OPERATION_H

#include "broker/engine/engine.h"
#include "broker/forward/forwarder.h"
#include "broker/http/request/body.h"
#include "broker/http/request/leadership.h"
#include "broker/store/reader.h"
#include "federation/base/ring.h"

typedef struct helio_request_context helio_request_context_t;
typedef struct helio_operation helio_operation_t;

/*  Owned by the operation, borrowed for the step. */
typedef struct helio_result {
    helio_rc rc;
    char reason[65];            /* of an EVENT's reply */
    helio_details_t details;    /* what the reply says; in the operation's arena */
    helio_buffer_t data;        /* READ: JSON; LOG_READ, FORWARD: bytes */
    helio_accepted_job_t *jobs; /* EVENT: SUBMIT */
    uint32_t job_count;
    helio_planned_t *plan;                  /* EVENT: PLAN; in the operation's arena */
    helio_start_estimate_t *start_estimate; /* EVENT: PLAN, EXPLAIN; in the operation's arena */
    helio_desired_pool_t *desired;          /* EVENT: DESIRED; in the operation's arena */
    uint32_t desired_count;
    uint64_t offset; /* LOG_READ */
    bool end;
    uint32_t status;                /* FORWARD: the leader's, of any kind */
    const char *type;               /* FORWARD; in the operation's arena */
    uint32_t retry_after_s;         /* FORWARD; 0 = not said */
    helio_engine_figures_t figures; /* FIGURES */
    helio_channel_answer_t channel; /* CHANNEL: without the bytes, which are `data`; `why` in the operation's arena */
} helio_result_t;

struct helio_operation {
    enum { HELIO_OPERATION_CALL, HELIO_OPERATION_READ, HELIO_OPERATION_FORWARD } kind;
    helio_call_t call;
    helio_read_t read;
    helio_forward_t forward;
    const helio_leader_view_t *leader; /* FORWARD: to whom */
    bool is_log;                       /* FORWARD: its result is that of a LOG_READ */
    helio_arena_t *arena;              /* holds everything that call, read or forward points to */
    helio_body_t body;                 /* documents that the payload points into */
    helio_result_t result;
    /*  Owned by the thread of the waiting requests. */
    helio_ring_t *returns;            /* where it goes with its result; has room for it */
    helio_request_context_t *context; /* NULL: the request was answered without it */
    helio_operation_t *prev, *next;
};

/*  A submission of more jobs and tasks is a list. A step of the core for so many takes some milliseconds, as the commit of
 *  their rows does; for the largest list both take as long as thousands of small requests. */
enum { HELIO_LIST_JOBS = 1000 };
uint64_t helio_operation_jobs(const helio_operation_t *self); /* with tasks; 0 = it is no submission */
bool helio_operation_is_list(const helio_operation_t *self);

helio_operation_t *helio_operation_new(void);
void helio_operation_destroy(helio_operation_t **self_p);

#endif
