/*  zap.h -- the authenticator of a context (ZeroMQ RFC 27): libzmq queries it at every handshake, and it answers from a
 *  table.
 *
 *  It must be bound before any server socket, because a CURVE server without an authenticator admits every peer. It
 *  runs in the loop that owns the table, so the table needs no lock. The User-Id that it grants is the peer's public
 *  key (Z85). The principal is looked up per message, so that revoking a key affects live connections. Used by server.c
 *  only.
 */
#ifndef HELIO_NET_ZAP_H
#define HELIO_NET_ZAP_H

#include "federation/net/curve.h"
#include "federation/net/loop.h"
#include "federation/net/net.h"

#define HELIO_ZAP_DOMAIN "heliostat"

typedef struct helio_zap helio_zap_t;
typedef bool helio_zap_fn(void *arg, const char public_key[HELIO_CURVE_SIZE]);

HELIO_MUST_CHECK helio_rc helio_zap_new(helio_net_t *net, helio_loop_t *loop, helio_zap_fn *allowed,
                                        void *arg, helio_zap_t **ret_zap, helio_error_t *err);
void helio_zap_destroy(helio_zap_t **self_p);
void helio_zap_counters(const helio_zap_t *self, uint64_t *ret_accepted, uint64_t *ret_refused);

#endif
