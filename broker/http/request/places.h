/*  places.h -- the places of event and log streams: so many in all, so many a tenant, so many a user.
 *
 *  A stream that would exceed a bound is refused; one that has its place keeps it. Any thread. */
#ifndef HELIO_BROKER_HTTP_REQUEST_PLACES_H
#define HELIO_BROKER_HTTP_REQUEST_PLACES_H

#include "broker/http/request/token.h"

typedef struct helio_places helio_places_t;

typedef struct helio_places_bounds {
    uint32_t all, per_tenant, per_user;
} helio_places_bounds_t;

typedef enum helio_places_result {
    HELIO_PLACES_TAKEN,
    HELIO_PLACES_FULL, /* all of them */
    HELIO_PLACES_TENANT_FULL,
    HELIO_PLACES_USER_FULL
} helio_places_result_t;

helio_places_t *helio_places_new(const helio_places_bounds_t *bounds);
void helio_places_destroy(helio_places_t **self_p);

HELIO_MUST_CHECK helio_places_result_t helio_places_take(helio_places_t *self, const helio_token_t *token);
void helio_places_give_back(helio_places_t *self, const helio_token_t *token); /* of a place that was taken */

#endif
