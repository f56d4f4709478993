/*  lots.h -- the memory for large bodies, shared out by tenant.
 *
 *  A tenant's first large body takes all that is free. With each further one the tenant leaves at least as much free as
 *  it then has, as with places at the leader (broker/forward/lanes.h): a tenant with bodies that never end leaves half
 *  of the memory to others, the next one half of that, and each of them finds room for one. Any thread. */
#ifndef HELIO_BROKER_HTTP_REQUEST_LOTS_H
#define HELIO_BROKER_HTTP_REQUEST_LOTS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct helio_lots helio_lots_t;

/*  What one body has. Zeroed: nothing. Owned by the body. */
typedef struct helio_lot {
    helio_lots_t *lots; /* NULL = nothing */
    const char *tenant;
    uint64_t bytes;
} helio_lot_t;

helio_lots_t *helio_lots_new(uint64_t all);     /* bytes */
void helio_lots_destroy(helio_lots_t **self_p); /* everything was given back */

/*  Makes it `bytes` large. False: the tenant has to wait, and the lot is as before. tenant outlives the lot. */
bool helio_lots_take(helio_lots_t *self, helio_lot_t *lot, const char *tenant, uint64_t bytes);
void helio_lots_give_back(helio_lot_t *lot);

#endif
