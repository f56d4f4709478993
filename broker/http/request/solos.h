/*  solos.h -- kinds of operations of which one at a time is at the engine, because each of them takes it and the thread of the
 *  waiting requests for long: lists of jobs, and tables of all pools. The others of that kind wait for their turn, which
 *  tenants share (turns.h). So whatever else comes waits for one of each kind at most, however many there are.
 *
 *  All functions: the thread of the waiting requests. */
#ifndef HELIO_BROKER_HTTP_REQUEST_SOLOS_H
#define HELIO_BROKER_HTTP_REQUEST_SOLOS_H

#include "broker/http/request/request_context.h"

enum { HELIO_SOLO_KINDS = 2 };

/*  Zero-initialised. */
typedef struct helio_solos {
    struct {
        helio_turns_t turns;                /* of requests that wait */
        const helio_operation_t *under_way; /* NULL = none */
    } kinds[HELIO_SOLO_KINDS];
} helio_solos_t;

void helio_solos_began(helio_solos_t *self, const helio_operation_t *operation); /* of any kind */
void helio_solos_ended(helio_solos_t *self, const helio_operation_t *operation);
/*  True: its operation has to wait, and so does the request, until it is the next one. */
bool helio_solos_keep(helio_solos_t *self, helio_request_context_t *context);
/*  One whose turn it is, or that waits since since_ms or longer; it has left. NULL: none. */
helio_request_context_t *helio_solos_next(helio_solos_t *self);
helio_request_context_t *helio_solos_overdue(helio_solos_t *self, int64_t since_ms);

#endif
