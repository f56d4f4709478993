/*  strangers.c -- buckets of addresses in sets of a few; a new address replaces the fullest bucket of its set. */
#include "broker/http/request/strangers.h"

#include <openssl/rand.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "federation/base/keyed_hash.h"
#include "federation/base/memory.h"

enum {
    SETS = 1024,
    WAYS = 4,
    FILL_MS =
        4000 /* until an empty bucket is full again; a refusal costs this many units, `burst` of them come each ms */
};

typedef struct bucket {
    uint8_t address[16];
    int64_t units;
    int64_t at_ms; /* when units was right; 0 = never used */
} bucket_t;

struct helio_strangers {
    helio_hash_key_t key;
    int64_t burst;
    pthread_mutex_t mutex; /* guards what follows */
    bucket_t sets[SETS][WAYS];
    helio_strangers_figures_t figures;
};

helio_strangers_t *helio_strangers_new(uint32_t burst)
{
    helio_strangers_t *self = helio_new(1, sizeof *self);
    self->burst = burst;
    if (RAND_bytes((unsigned char *)&self->key, sizeof self->key) != 1 || pthread_mutex_init(&self->mutex, NULL) != 0)
        abort();
    return self;
}

void helio_strangers_destroy(helio_strangers_t **self_p)
{
    if (!*self_p)
        return;
    (void)pthread_mutex_destroy(&(*self_p)->mutex);
    free(*self_p);
    *self_p = NULL;
}

static int64_t full(const helio_strangers_t *self)
{
    return self->burst * FILL_MS;
}

static int64_t units_at(const helio_strangers_t *self, const bucket_t *bucket, int64_t now_ms)
{
    int64_t units = bucket->at_ms ? bucket->units + (now_ms - bucket->at_ms) * self->burst : full(self);
    return units < full(self) ? units : full(self);
}

static bucket_t *find(helio_strangers_t *self, const helio_address_t *address, int64_t now_ms)
{
    bucket_t *set = self->sets[helio_keyed_hash(&self->key, address->bytes, sizeof address->bytes) % SETS];
    bucket_t *fullest = &set[0];
    for (uint32_t i = 0; i < WAYS; i++) {
        if (set[i].at_ms && memcmp(set[i].address, address->bytes, sizeof set[i].address) == 0)
            return &set[i];
        if (units_at(self, &set[i], now_ms) > units_at(self, fullest, now_ms))
            fullest = &set[i];
    }
    /* else the new address shares a bucket: filling a set gains no fresh ones */
    if (units_at(self, fullest, now_ms) == full(self))
        *fullest = (bucket_t){.units = full(self), .at_ms = now_ms};
    memcpy(fullest->address, address->bytes, sizeof fullest->address);
    return fullest;
}

/*  False: beyond the bound. */
static bool charge(helio_strangers_t *self, const helio_address_t *address, int64_t now_ms)
{
    bucket_t *bucket = find(self, address, now_ms);
    int64_t units = units_at(self, bucket, now_ms);
    bool within = units >= FILL_MS;
    bucket->units = within ? units - FILL_MS : units;
    bucket->at_ms = now_ms;
    return within;
}

static void note(helio_strangers_t *self, const helio_address_t *address, bool within)
{
    self->figures.refused_total++;
    self->figures.limited_total += !within;
    self->figures.last = *address;
}

bool helio_strangers_count(helio_strangers_t *self, const helio_address_t *address, int64_t now_ms)
{
    (void)pthread_mutex_lock(&self->mutex);
    bool within = charge(self, address, now_ms);
    note(self, address, within);
    (void)pthread_mutex_unlock(&self->mutex);
    return within;
}

bool helio_strangers_charge(helio_strangers_t *self, const helio_address_t *address, int64_t now_ms)
{
    (void)pthread_mutex_lock(&self->mutex);
    bool within = charge(self, address, now_ms);
    (void)pthread_mutex_unlock(&self->mutex);
    return within;
}

void helio_strangers_count_charged(helio_strangers_t *self, const helio_address_t *address)
{
    (void)pthread_mutex_lock(&self->mutex);
    note(self, address, true);
    (void)pthread_mutex_unlock(&self->mutex);
}

bool helio_strangers_has_room(helio_strangers_t *self, const helio_address_t *address, int64_t now_ms)
{
    (void)pthread_mutex_lock(&self->mutex);
    bool has_room = units_at(self, find(self, address, now_ms), now_ms) >= FILL_MS;
    (void)pthread_mutex_unlock(&self->mutex);
    return has_room;
}

helio_strangers_figures_t helio_strangers_figures(helio_strangers_t *self)
{
    (void)pthread_mutex_lock(&self->mutex);
    helio_strangers_figures_t figures = self->figures;
    (void)pthread_mutex_unlock(&self->mutex);
    return figures;
}
