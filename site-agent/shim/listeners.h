/*  listeners.h -- who listens on a TCP port of this machine, as /proc/net/tcp and tcp6 show it. */
#ifndef HELIO_SHIM_LISTENERS_H
#define HELIO_SHIM_LISTENERS_H

#include <sys/socket.h>
#include <sys/types.h>

#include "federation/base/memory.h"

enum { HELIO_LISTENERS_MAX = 256 };

typedef struct helio_listener {
    uint64_t inode;             /* of its socket */
    struct sockaddr_storage to; /* where to connect to: its address, or this machine's own */
    socklen_t to_size;
    bool any; /* bound to no address */
} helio_listener_t;

/*  Those on the port in a text of /proc/net/tcp (v6: tcp6), added to the list of *count. Pure. */
void helio_listeners_parse(helio_text_t text, bool v6, uint16_t port, helio_listener_t list[HELIO_LISTENERS_MAX],
                           size_t *count);
/*  The same of this machine; returns their number. */
size_t helio_listeners_find(uint16_t port, helio_listener_t ret_list[HELIO_LISTENERS_MAX]);
/*  A connection to the first one's address could come to the other. The kernel shares a port among sockets of one user that
 *  have set SO_REUSEPORT, and prefers those that are bound to an address. Pure. */
bool helio_listener_is_shared_with(const helio_listener_t *self, const helio_listener_t *other);
/*  One of these processes has that socket open. Those that the caller may not look into have not. */
bool helio_listener_is_of(const helio_listener_t *self, const pid_t *pids, size_t count);

#endif
