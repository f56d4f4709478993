/*  line.h -- one accepted connection, and the ZeroMQ socket that serves it alone.
 *
 *  libzmq cannot be handed a connection. So the line's DEALER connects to a private address of this process, and a
 *  relay joins the two. A DEALER with one connection has no routing ids: a peer can choose none that matters. The
 *  DEALER is the CURVE server although it connects, and its ZAP domain names the line, so that the authenticator knows
 *  which connection proves which key. To cut a peer off is to close its line. Used by server.c only.
 */
#ifndef HELIO_NET_LINE_H
#define HELIO_NET_LINE_H

#include "federation/net/net.h"
#include "federation/net/relay.h"

typedef struct helio_line {
    void *socket;        /* DEALER; NULL = closed */
    int rendezvous;      /* listens for the DEALER; -1 once it has come */
    int signal;          /* libzmq's: readable when the socket is to be looked at */
    helio_relay_t relay; /* inner is -1 until the DEALER has come */
} helio_line_t;

typedef struct helio_line_options {
    uint64_t number;        /* of this line: the end of its ZAP domain */
    const char *secret_key; /* Z85 */
    uint32_t frame_max_bytes;
    uint32_t queue_messages;
    size_t unread_max; /* bytes that wait to be received */
} helio_line_options_t;

/*  Takes the connection over, also on failure. HELIO_BUSY: too many sockets or descriptors are open. */
HELIO_MUST_CHECK helio_rc helio_line_open(helio_net_t *net, int connection, const helio_line_options_t *options,
                                          helio_line_t *ret_line);
/*  linger_ms > 0: what was sent still leaves by the relay, which the caller pumps until it ends; then it calls this
 *  again with 0. */
void helio_line_close(helio_line_t *self, int linger_ms);

/*  Lets the DEALER in. False: it has not come yet. */
bool helio_line_join(helio_line_t *self);

#endif
