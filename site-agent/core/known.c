/*  known.c -- a hash table of job keys. Only the sweep walks it in table order, so that replays give the same
 *  results. */
#include "site-agent/core/known.h"

#include <stdlib.h>

enum { BUCKETS_MIN = 256 };
#define KEPT_MS (INT64_C(30) * 24 * 3600 * 1000)
#define SWEEP_EVERY_MS (INT64_C(3600) * 1000)

struct helio_known_table {
    helio_known_t **buckets;
    uint32_t bucket_count, count;
    int64_t next_sweep_ms;
};

helio_known_table_t *helio_known_new(void)
{
    return helio_new(1, sizeof(helio_known_table_t));
}

static uint32_t bucket_of(const helio_known_table_t *self, helio_job_key_t key)
{
    uint64_t hash = helio_hash(HELIO_HASH_SEED, key.job.bytes, sizeof key.job.bytes);
    return (uint32_t)(helio_hash(hash, &key.task, sizeof key.task) & (self->bucket_count - 1));
}

helio_known_t *helio_known_find(const helio_known_table_t *self, helio_job_key_t key)
{
    if (!self->bucket_count)
        return NULL;
    for (helio_known_t *known = self->buckets[bucket_of(self, key)]; known; known = known->next)
        if (helio_job_key_equal(known->key, key))
            return known;
    return NULL;
}

static void grow(helio_known_table_t *self)
{
    helio_known_t **old = self->buckets;
    uint32_t old_count = self->bucket_count;
    self->bucket_count = old_count ? old_count * 2 : BUCKETS_MIN;
    self->buckets = helio_new(self->bucket_count, sizeof(helio_known_t *));
    for (uint32_t b = 0; b < old_count; b++)
        while (old[b]) {
            helio_known_t *known = old[b];
            old[b] = known->next;
            uint32_t at = bucket_of(self, known->key);
            known->next = self->buckets[at];
            self->buckets[at] = known;
        }
    free(old);
}

helio_known_t *helio_known_get(helio_known_table_t *self, helio_job_key_t key)
{
    helio_known_t *known = helio_known_find(self, key);
    if (known)
        return known;
    if (self->count >= self->bucket_count)
        grow(self);
    known = helio_new(1, sizeof *known);
    known->key = key;
    uint32_t at = bucket_of(self, key);
    known->next = self->buckets[at];
    self->buckets[at] = known;
    self->count++;
    return known;
}

void helio_known_sweep(helio_known_table_t *self, int64_t now_ms, int64_t wall_ms)
{
    if (now_ms < self->next_sweep_ms)
        return;
    self->next_sweep_ms = now_ms + SWEEP_EVERY_MS;
    for (uint32_t b = 0; b < self->bucket_count; b++)
        for (helio_known_t **at = &self->buckets[b]; *at;) {
            helio_known_t *known = *at;
            if (known->attempts || known->wall_ms > wall_ms - KEPT_MS) {
                at = &known->next;
                continue;
            }
            *at = known->next;
            free(known);
            self->count--;
        }
}

void helio_known_raise(helio_known_t *known, uint32_t epoch)
{
    if (known->epoch < epoch)
        known->epoch = epoch;
}

void helio_known_destroy(helio_known_table_t **self_p)
{
    helio_known_table_t *self = *self_p;
    if (!self)
        return;
    for (uint32_t b = 0; b < self->bucket_count; b++)
        while (self->buckets[b]) {
            helio_known_t *known = self->buckets[b];
            self->buckets[b] = known->next;
            free(known);
        }
    free(self->buckets);
    free(self);
    *self_p = NULL;
}
