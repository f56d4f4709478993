/*  zap.h -- the authenticator of a context (ZeroMQ RFC 27): libzmq queries it at every handshake, and it answers from a
 *  table.
 *
 *  It must be bound before any server socket, because a CURVE server without an authenticator admits every peer. It
 *  runs in the loop that owns the table, so the table needs no lock. The User-Id that it grants is the peer's public
 *  key (Z85). Used by server.c, line.c and, for what it is answered, dialer.c only.
 */
#ifndef HELIO_NET_ZAP_H
#define HELIO_NET_ZAP_H

#include <stdint.h>

#include "federation/net/curve.h"
#include "federation/net/loop.h"
#include "federation/net/net.h"

/*  Each line has a domain of its own, "heliostat/NUMBER", by which a request says which connection it is about. */
enum { HELIO_ZAP_DOMAIN_SIZE = 32 };
void helio_zap_domain(uint64_t number, char ret_domain[HELIO_ZAP_DOMAIN_SIZE]);

typedef struct helio_zap helio_zap_t;
/*  Status codes of RFC 27. The peer learns each, and not one of a temporary failure (300): libzmq then only closes. */
typedef enum helio_zap_answer {
    HELIO_ZAP_KNOWN = 200,
    HELIO_ZAP_UNKNOWN = 400,
    HELIO_ZAP_CLOSED = 500 /* no key is admitted now */
} helio_zap_answer_t;
/*  Is the connection, which has proved this key, admitted? */
typedef helio_zap_answer_t helio_zap_fn(void *arg, uint64_t number, const char public_key[HELIO_CURVE_SIZE]);

HELIO_MUST_CHECK helio_rc helio_zap_new(helio_net_t *net, helio_loop_t *loop, helio_zap_fn *allowed, void *arg,
                                        helio_zap_t **ret_zap, helio_error_t *err);
void helio_zap_destroy(helio_zap_t **self_p);
void helio_zap_counters(const helio_zap_t *self, uint64_t *ret_accepted, uint64_t *ret_refused);

#endif
