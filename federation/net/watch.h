/*  watch.h -- the epoll set of the port and of all its peers. A peer has three descriptors: its connection, its way to
 *  libzmq, and libzmq's signal. The set names them by the handle of the peer, which is never reused; the door has
 *  handle 0. Each is watched once and then again when it is wanted (EPOLLONESHOT), so that one that waits for its turn
 *  wakes nothing. Used by server.c only. */
#ifndef HELIO_NET_WATCH_H
#define HELIO_NET_WATCH_H

#include "federation/net/peers.h"

enum { HELIO_WATCH_EVENTS = 64 }; /* in one turn of the loop */

typedef struct helio_watched {
    uint64_t handle; /* 0: the door */
    uint32_t part;
} helio_watched_t;

int helio_watch_open(void); /* the set, owned by the caller; -1: errno */
void helio_watch_door(int set, int door);
/*  What the peer's connection needs next. A slowed peer is not watched for messages. */
void helio_watch_peer(int set, helio_peer_t *peer);
/*  What has come; returns how many, at most HELIO_WATCH_EVENTS. */
int helio_watch_take(int set, helio_watched_t *ret_events);
/*  The descriptor of the event is not watched any more. */
void helio_watch_over(helio_peer_t *peer, const helio_watched_t *event);

#endif
