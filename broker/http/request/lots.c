/*  lots.c -- the bytes of each tenant that has a large body: they are few. */
#include "broker/http/request/lots.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "federation/base/memory.h"

typedef struct owner {
    struct owner *next;
    const char *tenant;
    uint64_t bytes;
} owner_t;

struct helio_lots {
    uint64_t all;
    pthread_mutex_t mutex; /* guards what follows */
    uint64_t taken;
    owner_t *owners;
};

helio_lots_t *helio_lots_new(uint64_t all)
{
    helio_lots_t *self = helio_new(1, sizeof *self);
    self->all = all;
    if (pthread_mutex_init(&self->mutex, NULL) != 0)
        abort();
    return self;
}

void helio_lots_destroy(helio_lots_t **self_p)
{
    helio_lots_t *self = *self_p;
    if (!self)
        return;
    assert(!self->owners);
    (void)pthread_mutex_destroy(&self->mutex);
    free(self);
    *self_p = NULL;
}

static owner_t **place_of(helio_lots_t *self, const char *tenant)
{
    owner_t **at = &self->owners;
    while (*at && strcmp((*at)->tenant, tenant) != 0)
        at = &(*at)->next;
    return at;
}

/*  own: what the tenant has, with what this lot has already. */
static bool leaves_enough(const helio_lots_t *self, const helio_lot_t *lot, uint64_t own, uint64_t more)
{
#ifdef HELIO_MUTANT_large_bodies_take_all_memory
    return true;
#endif
    if (more > self->all - self->taken)
        return false;
#ifdef HELIO_MUTANT_large_bodies_of_one_tenant
    return true;
#endif
    return own == lot->bytes || self->all - self->taken - more >= own + more;
}

bool helio_lots_take(helio_lots_t *self, helio_lot_t *lot, const char *tenant, uint64_t bytes)
{
    assert(bytes > lot->bytes && (!lot->lots || lot->lots == self));
    uint64_t more = bytes - lot->bytes;
    (void)pthread_mutex_lock(&self->mutex);
    owner_t **at = place_of(self, tenant);
    bool good = leaves_enough(self, lot, *at ? (*at)->bytes : 0, more);
    if (good) {
        if (!*at) {
            *at = helio_new(1, sizeof **at);
            (*at)->tenant = tenant;
        }
        (*at)->bytes += more;
        self->taken += more;
        *lot = (helio_lot_t){self, tenant, bytes};
    }
    (void)pthread_mutex_unlock(&self->mutex);
    return good;
}

void helio_lots_give_back(helio_lot_t *lot)
{
    helio_lots_t *self = lot->lots;
    if (!self)
        return;
    (void)pthread_mutex_lock(&self->mutex);
    owner_t **at = place_of(self, lot->tenant), *owner = *at;
    assert(owner && owner->bytes >= lot->bytes);
    owner->bytes -= lot->bytes;
    self->taken -= lot->bytes;
    if (!owner->bytes) {
        *at = owner->next;
        free(owner);
    }
    (void)pthread_mutex_unlock(&self->mutex);
    *lot = (helio_lot_t){0};
}
