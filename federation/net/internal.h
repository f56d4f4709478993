/*  internal.h -- shared by the files of this room only. */
#ifndef HELIO_NET_INTERNAL_H
#define HELIO_NET_INTERNAL_H

#include <zmq.h>

#include "federation/net/curve.h"
#include "federation/net/loop.h"
#include "federation/net/net.h"

/*  A connection is closed after SILENCE_MS without traffic; a handshake may take HANDSHAKE_MS. */
enum { HEARTBEAT_MS = 5000, SILENCE_MS = 15000, HANDSHAKE_MS = 5000 };

void *helio_net_context(helio_net_t *self);

/*  Watches a ZeroMQ socket (not owned) for input. Destroy the source before closing the socket. */
helio_source_t *helio_source_of_socket(helio_loop_t *loop, void *socket, helio_loop_fn *fn, void *arg);

/*  tcp://HOST:PORT with a port of 1..65535 ("*" is allowed for binding), or ipc://PATH. libzmq would read port 65537
 *  as 1. */
bool helio_endpoint_is_valid(const char *endpoint, bool binding);

/*  Sets the options of every socket towards the network. False: an option was refused (errno). */
bool helio_socket_prepare(void *socket, uint32_t frame_max_bytes, uint32_t queue_messages, const char *endpoint);
bool helio_socket_int(void *socket, int option, int value);
bool helio_socket_text(void *socket, int option, const char *value);

/*  Receives and drops the remaining parts of a message. */
void helio_socket_skip_parts(void *socket);

/*  Overwrites a copy of a secret in a way that the compiler does not optimise away. */
void helio_wipe(void *memory, size_t size);

#endif
