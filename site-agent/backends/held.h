/*  held.h -- the attempts that a backend holds, by id and the newest first. */
#ifndef HELIO_BACKENDS_HELD_H
#define HELIO_BACKENDS_HELD_H

#include <uthash.h>

#include "site-agent/backends/backend.h"

/*  The first member of each backend's own struct of an attempt. */
typedef struct helio_held {
    helio_attempt_id_t id;
    char name[HELIO_ATTEMPT_NAME_SIZE];
    UT_hash_handle hh;
    struct helio_held *before, *after;
} helio_held_t;

/*  Zero-initialised is an empty one. */
typedef struct helio_held_table {
    helio_held_t *by_id; /* a hash table */
    helio_held_t *first; /* the newest */
    uint32_t count;
} helio_held_table_t;

/*  NULL: it holds none of that id. */
void *helio_held_find(const helio_held_table_t *self, helio_job_key_t key, uint32_t epoch);
/*  A new one of `size` bytes, all zero but its id and its name; it must not be held yet. */
void *helio_held_add(helio_held_table_t *self, helio_job_key_t key, uint32_t epoch, size_t size);
/*  Takes it out; the caller frees it. */
void helio_held_remove(helio_held_table_t *self, helio_held_t *attempt);

#endif
