/*  lanes.h -- which of the forwards that wait is sent next. Each kind has places of its own among the connections to the
 *  leader, a tenant has a share of them, and tenants take turns. Pure; one thread.
 *
 *  A tenant's share: its first forward takes any place that is free. Each further one leaves at least as many places
 *  free as the tenant then has, so the next tenant finds half of what this one found, and a place that becomes free
 *  goes to the tenant that has least. The same applies to what is held. */
#ifndef HELIO_BROKER_FORWARD_LANES_H
#define HELIO_BROKER_FORWARD_LANES_H

#include "broker/forward/forwarder.h"

/*  kind, sent at once, held (sent or waiting) of one tenant. The kinds share no place: a short request finds room
 *  whatever logs are read, and the question whether the leader is there is never late. */
#define HELIO_LANE_TABLE(X) \
    X(REQUEST, 24, 256)     \
    X(LOG, 7, 64)           \
    X(PROBE, 1, 1)          \
    X(CHANNEL, 128, 256)

typedef struct helio_lanes helio_lanes_t;

helio_lanes_t *helio_lanes_new(void);
void helio_lanes_destroy(helio_lanes_t **self_p); /* it must be empty */

/*  False: its tenant has as many of this kind as it may, or too many are held of all. */
HELIO_MUST_CHECK bool helio_lanes_enter(helio_lanes_t *self, helio_forward_t *forward, int64_t now_ms);
/*  One that is to be sent now; NULL: none, or its place is not free. */
helio_forward_t *helio_lanes_next(helio_lanes_t *self);
/*  One that waits since since_ms or longer; it has left. NULL: none. */
helio_forward_t *helio_lanes_overdue(helio_lanes_t *self, int64_t since_ms);
/*  Of one that helio_lanes_next gave: its place is free. */
void helio_lanes_leave(helio_lanes_t *self, const helio_forward_t *forward);

#endif
