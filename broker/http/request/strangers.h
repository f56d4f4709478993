/*  strangers.h -- how often an address asked without a valid token, and how often it is told so.
 *
 *  A token bucket for each address: some refusals at once, then a few each second. Beyond it a caller without a valid
 *  token gets 429, and its connection is closed. A valid token always passes: behind a proxy or a shared address, one
 *  caller's guesses must not shut out the others. The table has a fixed size and a keyed hash, so nobody can choose
 *  whose entry they replace. Any thread. */
#ifndef HELIO_BROKER_HTTP_REQUEST_STRANGERS_H
#define HELIO_BROKER_HTTP_REQUEST_STRANGERS_H

#include "broker/http/request/address.h"

typedef struct helio_strangers helio_strangers_t;

/*  burst: how many refusals at once; a quarter of it each second after that. */
helio_strangers_t *helio_strangers_new(uint32_t burst);
void helio_strangers_destroy(helio_strangers_t **self_p);

/*  Counts a request without a valid token. False: beyond the bound. now_ms: boot clock. */
bool helio_strangers_count(helio_strangers_t *self, const helio_address_t *address, int64_t now_ms);

/*  The same in two steps, for one that causes work before it is judged: what it costs, and that it was refused. */
bool helio_strangers_charge(helio_strangers_t *self, const helio_address_t *address, int64_t now_ms);
void helio_strangers_count_charged(helio_strangers_t *self, const helio_address_t *address);

/*  Whether the next one would be within the bound. */
bool helio_strangers_has_room(helio_strangers_t *self, const helio_address_t *address, int64_t now_ms);

typedef struct helio_strangers_figures {
    uint64_t refused_total; /* all requests that were counted */
    uint64_t limited_total; /* of these, beyond the bound */
    helio_address_t last;   /* the address of the last one */
} helio_strangers_figures_t;
helio_strangers_figures_t helio_strangers_figures(helio_strangers_t *self);

#endif
