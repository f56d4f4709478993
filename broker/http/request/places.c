/*  places.c -- the tokens of all streams, counted when one more asks: they are few, and streams begin seldom. */
#include "broker/http/request/places.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct helio_places {
    helio_places_bounds_t bounds;
    pthread_mutex_t mutex; /* guards what follows */
    uint32_t count;
    const helio_token_t **holders;
};

helio_places_t *helio_places_new(const helio_places_bounds_t *bounds)
{
    helio_places_t *self = helio_new(1, sizeof *self);
    self->bounds = *bounds;
    self->holders = helio_new(bounds->all, sizeof *self->holders);
    if (pthread_mutex_init(&self->mutex, NULL) != 0)
        abort();
    return self;
}

void helio_places_destroy(helio_places_t **self_p)
{
    helio_places_t *self = *self_p;
    if (!self)
        return;
    (void)pthread_mutex_destroy(&self->mutex);
    free(self->holders);
    free(self);
    *self_p = NULL;
}

static helio_places_result_t weigh(const helio_places_t *self, const helio_token_t *token)
{
    if (self->count >= self->bounds.all)
        return HELIO_PLACES_FULL;
    uint32_t of_tenant = 0, of_user = 0;
    for (uint32_t i = 0; i < self->count; i++) {
        of_tenant += strcmp(self->holders[i]->tenant, token->tenant) == 0;
        of_user += self->holders[i]->principal == token->principal;
    }
    return of_user >= self->bounds.per_user       ? HELIO_PLACES_USER_FULL
           : of_tenant >= self->bounds.per_tenant ? HELIO_PLACES_TENANT_FULL
                                                  : HELIO_PLACES_TAKEN;
}

helio_places_result_t helio_places_take(helio_places_t *self, const helio_token_t *token)
{
    (void)pthread_mutex_lock(&self->mutex);
    helio_places_result_t result = weigh(self, token);
    if (result == HELIO_PLACES_TAKEN)
        self->holders[self->count++] = token;
    (void)pthread_mutex_unlock(&self->mutex);
    return result;
}

void helio_places_give_back(helio_places_t *self, const helio_token_t *token)
{
    (void)pthread_mutex_lock(&self->mutex);
    uint32_t at = 0;
    while (at < self->count && self->holders[at] != token)
        at++;
    assert(at < self->count);
    self->holders[at] = self->holders[--self->count];
    (void)pthread_mutex_unlock(&self->mutex);
}
