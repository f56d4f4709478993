/*  keyed_hash.h -- a hash whose collisions cannot be computed without its key, for tables whose keys come from
 *  strangers. helio_hash (id.h) has no key: a caller who knows it can choose any number of keys for one bucket.
 *
 *  SipHash-2-4 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012), 64 bits. Pure. */
#ifndef HELIO_BASE_KEYED_HASH_H
#define HELIO_BASE_KEYED_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct helio_hash_key {
    uint64_t words[2];
} helio_hash_key_t;

uint64_t helio_keyed_hash(const helio_hash_key_t *key, const void *bytes, size_t size);

#endif
