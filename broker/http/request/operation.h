/*  operation.h -- what one step of a request asks of the engine or of the database, and what came back.
 *
 *  It owns everything that the call or the read points to, the body of the request perhaps included, since it may outlive
 *  the exchange that asked: a request whose deadline passes is answered without it. Whoever answers it is on another thread and
 *  does nothing but fill in the result and push it into `returns`.
 */
#ifndef HELIO_BROKER_HTTP_REQUEST_OPERATION_H
#define HELIO_BROKER_HTTP_REQUEST_OPERATION_H

#include "broker/engine/engine.h"
#include "broker/http/request/body.h"
#include "broker/store/reader.h"
#include "federation/base/ring.h"

typedef struct helio_request_context helio_request_context_t;
typedef struct helio_operation helio_operation_t;

/*  Owned by the operation, borrowed for the step. */
typedef struct helio_result {
    helio_rc rc;
    char reason[65];            /* of an EVENT's reply */
    helio_details_t details;    /* what it says; in the operation's arena */
    helio_buffer_t data;        /* READ: JSON; LOG_READ: bytes */
    helio_accepted_job_t *jobs; /* EVENT: SUBMIT */
    uint32_t job_count;
    helio_planned_t *plan; /* EVENT: PLAN; in the operation's arena */
    helio_start_estimate_t *start_estimate; /* EVENT: PLAN, EXPLAIN; there too */
    uint64_t offset;       /* LOG_READ */
    bool end;
    helio_engine_figures_t figures; /* FIGURES */
} helio_result_t;

struct helio_operation {
    enum { HELIO_OPERATION_CALL, HELIO_OPERATION_READ } kind;
    helio_call_t call;
    helio_read_t read;
    helio_arena_t *arena; /* everything that call or read point to */
    helio_body_t body;    /* documents that the payload points into */
    helio_result_t result;
    /*  the desk's */
    helio_ring_t *returns;      /* where it goes with its result; has room for it */
    helio_request_context_t *context; /* NULL: nobody waits any more */
    helio_operation_t *prev, *next;
};

helio_operation_t *helio_operation_new(void);
void helio_operation_destroy(helio_operation_t **self_p);

#endif
