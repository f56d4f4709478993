/*  relay.h -- carries the bytes of one connection: outer is the network, inner leads to the ZeroMQ socket of this
 *  connection alone. It understands none of them. What one side does not take, the other is not asked for, so a relay
 *  holds at most one buffer per direction. Used by line.c only. */
#ifndef HELIO_NET_RELAY_H
#define HELIO_NET_RELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct helio_flow {
    uint8_t *kept; /* read, and not yet taken by the other side */
    size_t begin, end;
    bool over;   /* the reading side has ended */
    bool passed; /* and the other side knows */
} helio_flow_t;

/*  Zero-initialised, then both descriptors are set. It owns neither. */
typedef struct helio_relay {
    int outer, inner;
    helio_flow_t up, down;
    bool outer_gone; /* it takes nothing any more; what it sent before may still be there */
    size_t unread;   /* bytes passed inwards since helio_relay_drained, at most about unread_max */
    size_t unread_max;
} helio_relay_t;

/*  Carries what can be carried now, at most a bounded amount. False: the inner side has ended, or the outer one is gone
 *  and all that it sent was passed on. */
bool helio_relay_pump(helio_relay_t *self);
/*  The program has read everything that arrived. */
void helio_relay_drained(helio_relay_t *self);
/*  The EPOLLIN and EPOLLOUT that each descriptor is to be watched for. */
uint32_t helio_relay_outer_interest(const helio_relay_t *self);
uint32_t helio_relay_inner_interest(const helio_relay_t *self);
void helio_relay_clear(helio_relay_t *self);

#endif
