/*  keyed_hash.c -- SipHash-2-4: two rounds for each word of the input, four at the end. */
#include "federation/base/keyed_hash.h"

typedef struct state {
    uint64_t v[4];
} state_t;

static uint64_t rotate(uint64_t word, unsigned bits)
{
    return word << bits | word >> (64 - bits);
}

static void half_round(state_t *s, unsigned a, unsigned b, unsigned c, unsigned d, unsigned bits_b, unsigned bits_d)
{
    s->v[a] += s->v[b];
    s->v[c] += s->v[d];
    s->v[b] = rotate(s->v[b], bits_b) ^ s->v[a];
    s->v[d] = rotate(s->v[d], bits_d) ^ s->v[c];
    s->v[a] = rotate(s->v[a], 32);
}

static void mix(state_t *s, unsigned rounds)
{
    while (rounds--) {
        half_round(s, 0, 1, 2, 3, 13, 16);
        half_round(s, 2, 1, 0, 3, 17, 21);
    }
}

static uint64_t word_at(const uint8_t *bytes, size_t size)
{
    uint64_t word = 0;
    for (size_t i = 0; i < size; i++)
        word |= (uint64_t)bytes[i] << 8 * i;
    return word;
}

static void absorb(state_t *s, uint64_t word)
{
    s->v[3] ^= word;
    mix(s, 2);
    s->v[0] ^= word;
}

uint64_t helio_keyed_hash(const helio_hash_key_t *key, const void *bytes, size_t size)
{
    state_t s = {{key->words[0] ^ UINT64_C(0x736f6d6570736575), key->words[1] ^ UINT64_C(0x646f72616e646f6d),
                  key->words[0] ^ UINT64_C(0x6c7967656e657261), key->words[1] ^ UINT64_C(0x7465646279746573)}};
    const uint8_t *at = bytes;
    size_t whole = size / 8;
    for (size_t i = 0; i < whole; i++)
        absorb(&s, word_at(at + 8 * i, 8));
    absorb(&s, (uint64_t)size << 56 | word_at(at + 8 * whole, size % 8));
    s.v[2] ^= 0xff;
    mix(&s, 4);
    return s.v[0] ^ s.v[1] ^ s.v[2] ^ s.v[3];
}
