/*  door.h -- the TCP port at which peers arrive. Plain sockets: libzmq listens nowhere. Used by server.c only. */
#ifndef HELIO_NET_DOOR_H
#define HELIO_NET_DOOR_H

#include <stddef.h>

#include "federation/base/error.h"

/*  Listens at tcp://ADDRESS:PORT; the address is numeric, "*", or the name of a network interface, and port "*" picks
 *  one. ret_bound gets the endpoint with the actual port. The error's text names the endpoint and the remedy. */
HELIO_MUST_CHECK helio_rc helio_door_open(const char *endpoint, int *ret_fd, char *ret_bound, size_t bound_size,
                                          helio_error_t *err);
/*  Where a connection comes from: the IPv4 address, or the /64 network of the IPv6 address, all of which one host has. */
typedef struct helio_origin {
    unsigned char bytes[16];
} helio_origin_t;

/*  The next connection, non-blocking; -1 if none waits (errno EAGAIN) or none can be taken now (another errno). A
 *  connection whose peer sends nothing, not even an acknowledgement, for silence_ms is broken by the kernel. */
int helio_door_accept(int door, unsigned silence_ms, helio_origin_t *ret_origin);

#endif
