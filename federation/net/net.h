/*  net.h -- the ZeroMQ context of servers and dialers.
 *
 *  Thread: create it before any thread starts, and destroy it after the last object created from it; in between, any
 *  thread may create objects from it. It installs no signal handlers. A context has at most one server, because ZeroMQ
 *  has one authenticator (ZAP) per context.
 */
#ifndef HELIO_NET_NET_H
#define HELIO_NET_NET_H

#include "federation/base/error.h"

typedef struct helio_net helio_net_t;

/*  sockets_max limits the number of open ZeroMQ sockets (0 = 1023; a dialer uses up to 6, a server 1 and one for each
 *  connection). */
HELIO_MUST_CHECK helio_rc helio_net_new(int sockets_max, helio_net_t **ret_net, helio_error_t *err);
/*  Waits at most for the linger time of the last messages. */
void helio_net_destroy(helio_net_t **self_p);

/*  "4.3.4": the version of libzmq in use. */
void helio_net_version(char ret_text[16]);

#endif
