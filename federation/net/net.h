/*  net.h -- the ZeroMQ context that servers and dialers live in.
 *
 *  Thread: make it before any thread starts and destroy it after the last object made from it; in between any
 * thread may make objects from it. Signals are left alone: no handler is installed. One context carries at
 * most one server, because ZeroMQ knows one authenticator (ZAP) per context.
 */
#ifndef HELIO_NET_NET_H
#define HELIO_NET_NET_H

#include "federation/base/error.h"

typedef struct helio_net helio_net_t;

/*  sockets_max bounds how many ZeroMQ sockets may be open at once (0 = 1023; a dialer takes up to 6, a server
 * 2).
 */
HELIO_MUST_CHECK helio_rc helio_net_new(int sockets_max, helio_net_t **ret_net, helio_error_t *err);
/*  Waits at most the linger time of what was sent last. */
void helio_net_destroy(helio_net_t **self_p);

/*  "4.3.4": the version of libzmq in use. */
void helio_net_version(char ret_text[16]);

#endif
