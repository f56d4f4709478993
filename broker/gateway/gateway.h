/*  gateway.h -- where sites connect: a ZeroMQ server (net/server.h) with the sessions (sessions.h) behind it.
 *
 *  Thread: the loop's. The table of site keys decides which sites are admitted. The owner fills and changes it at any
 *  time; revoking a key cuts off its live connections at once. */
#ifndef HELIO_BROKER_GATEWAY_H
#define HELIO_BROKER_GATEWAY_H

#include "broker/gateway/sessions.h"
#include "federation/base/log.h"
#include "federation/net/loop.h"
#include "federation/net/net.h"

typedef struct helio_gateway helio_gateway_t;

typedef struct helio_gateway_options {
    const char *endpoint;                                        /* tcp://0.0.0.0:7443 */
    const char *secret_key_path;                                 /* of the broker, mode 0600 */
    void (*emit)(void *arg, uint32_t kind, const void *payload); /* an event for the core */
    void *arg;
    helio_log_t *log; /* can be NULL */
} helio_gateway_options_t;

/*  Loads the key and binds. No site is admitted yet. An error names the file or the endpoint, and the remedy. */
HELIO_MUST_CHECK helio_rc helio_gateway_new(helio_net_t *net, helio_loop_t *loop,
                                            const helio_gateway_options_t *options, helio_gateway_t **ret_gateway,
                                            helio_error_t *err);
void helio_gateway_destroy(helio_gateway_t **self_p);

/*  Admits a key as its site; with revoked_ms set, cuts it off. A malformed key is logged and ignored. */
void helio_gateway_site_key(helio_gateway_t *self, const helio_row_site_key_t *key);

/*  How often a site was not read for a moment, because it sends more than a site may. */
uint64_t helio_gateway_slowed(const helio_gateway_t *self);
helio_sessions_t *helio_gateway_sessions(helio_gateway_t *self);
const char *helio_gateway_endpoint(const helio_gateway_t *self);   /* with the actual port */
const char *helio_gateway_public_key(const helio_gateway_t *self); /* the key that agents pin */

#endif
