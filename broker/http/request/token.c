/*  Why a table of our own: a request must be judged without waiting for the database, and a revocation must
 * bite at once. */
#include "broker/http/request/token.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 4096, SECRET_MAX = 128 };

struct helio_token_table {
    _Atomic(helio_token_t *) buckets[BUCKETS];
    _Atomic(helio_principal_t *) principals[BUCKETS];
};

/*  No underscore in ids (it separates), nothing that a shell or a URL would take apart. 32 letters: 5 bits
 * each. */
static const char alphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";

static void letters(const uint8_t *random, size_t count, char *ret_text)
{
    for (size_t i = 0; i < count; i++)
        ret_text[i] = alphabet[random[i] & 31];
}

static void hash_of(const char *secret, size_t size, uint8_t ret_hash[HELIO_TOKEN_HASH_SIZE])
{
    (void)SHA256((const unsigned char *)secret, size, ret_hash);
}

helio_rc helio_token_issue(helio_token_fresh_t *ret_token)
{
    uint8_t random[HELIO_TOKEN_ID_CHARS + HELIO_TOKEN_SECRET_CHARS];
    if (RAND_bytes(random, (int)sizeof random) != 1)
        return HELIO_IO;
    helio_token_fresh_t token = {0};
    char secret[HELIO_TOKEN_SECRET_CHARS];
    letters(random, HELIO_TOKEN_ID_CHARS, token.id);
    letters(random + HELIO_TOKEN_ID_CHARS, HELIO_TOKEN_SECRET_CHARS, secret);
    memcpy(token.text, "hel_", 4);
    memcpy(token.text + 4, token.id, HELIO_TOKEN_ID_CHARS);
    token.text[4 + HELIO_TOKEN_ID_CHARS] = '_';
    memcpy(token.text + 4 + HELIO_TOKEN_ID_CHARS + 1, secret, sizeof secret);
    hash_of(secret, sizeof secret, token.hash);
    *ret_token = token;
    OPENSSL_cleanse(secret, sizeof secret);
    OPENSSL_cleanse(random, sizeof random);
    OPENSSL_cleanse(&token, sizeof token);
    return HELIO_OK;
}

helio_token_table_t *helio_token_table_new(void)
{
    helio_token_table_t *self = helio_new(1, sizeof *self);
    for (size_t i = 0; i < BUCKETS; i++)
        atomic_init(&self->buckets[i], NULL);
    for (size_t i = 0; i < BUCKETS; i++)
        atomic_init(&self->principals[i], NULL);
    return self;
}

void helio_token_table_destroy(helio_token_table_t **self_p)
{
    helio_token_table_t *self = *self_p;
    if (!self)
        return;
    for (size_t i = 0; i < BUCKETS; i++) {
        helio_token_t *token = atomic_load_explicit(&self->buckets[i], memory_order_relaxed);
        while (token) {
            helio_token_t *next = token->next;
            free(token);
            token = next;
        }
    }
    for (size_t i = 0; i < BUCKETS; i++) {
        helio_principal_t *principal = atomic_load_explicit(&self->principals[i], memory_order_relaxed);
        while (principal) {
            helio_principal_t *next = principal->next;
            free(principal);
            principal = next;
        }
    }
    free(self);
    *self_p = NULL;
}

static size_t bucket_of(helio_text_t id)
{
    return (size_t)(helio_hash(HELIO_HASH_SEED, id.data, id.size) % BUCKETS);
}

static helio_token_t *find(const helio_token_table_t *self, helio_text_t id)
{
    helio_token_t *token = atomic_load_explicit(&self->buckets[bucket_of(id)], memory_order_acquire);
    while (token && !helio_text_is(id, token->id))
        token = token->next;
    return token;
}

static size_t bucket_of_principal(helio_text_t tenant, helio_text_t user)
{
    uint64_t hash = helio_hash(HELIO_HASH_SEED, tenant.data, tenant.size);
    return (size_t)(helio_hash(hash, user.data, user.size) % BUCKETS);
}

static helio_principal_t *find_principal(const helio_token_table_t *self, helio_text_t tenant,
                                         helio_text_t user)
{
    helio_principal_t *principal =
        atomic_load_explicit(&self->principals[bucket_of_principal(tenant, user)], memory_order_acquire);
    while (principal && !(helio_text_is(tenant, principal->tenant) && helio_text_is(user, principal->user)))
        principal = principal->next;
    return principal;
}

const helio_principal_t *helio_token_table_principal(const helio_token_table_t *self, helio_text_t tenant,
                                                     helio_text_t user)
{
    return find_principal(self, tenant, user);
}

/*  NULL: a name is too long. */
static helio_principal_t *put_principal(helio_token_table_t *self, helio_text_t tenant, helio_text_t user)
{
    helio_principal_t *principal = find_principal(self, tenant, user);
    if (principal)
        return principal;
    principal = helio_new(1, sizeof *principal);
    if (!helio_text_copy(tenant, principal->tenant, sizeof principal->tenant) ||
        !helio_text_copy(user, principal->user, sizeof principal->user)) {
        free(principal);
        return NULL;
    }
    size_t bucket = bucket_of_principal(tenant, user);
    principal->next = atomic_load_explicit(&self->principals[bucket], memory_order_relaxed);
    atomic_store_explicit(&self->principals[bucket], principal, memory_order_release);
    return principal;
}

void helio_token_table_disable(helio_token_table_t *self, const helio_row_principal_t *row)
{
    helio_principal_t *principal = put_principal(self, row->tenant, row->user);
    if (principal)
        atomic_store_explicit(&principal->disabled_ms, row->disabled_ms, memory_order_release);
}

static bool same(const helio_token_t *token, const helio_row_token_t *row, uint32_t role)
{
    return memcmp(token->hash, row->hash.data, HELIO_TOKEN_HASH_SIZE) == 0 && token->role == role &&
           token->expires_ms == row->expires_ms && helio_text_is(row->tenant, token->tenant) &&
           helio_text_is(row->user, token->user);
}

void helio_token_table_put(helio_token_table_t *self, const helio_row_token_t *row)
{
    helio_token_t *known = find(self, row->token_id);
    uint32_t role;
    bool usable = row->token_id.size > 0 && row->hash.size == HELIO_TOKEN_HASH_SIZE &&
                  helio_role_of(row->role, &role) == HELIO_OK;
    if (known && (!usable || row->revoked_ms || same(known, row, role))) {
        atomic_store_explicit(&known->revoked_ms, usable || row->revoked_ms ? row->revoked_ms : 1,
                              memory_order_release);
        return;
    }
    helio_token_t *token = helio_new(1, sizeof *token);
    if (!usable || !helio_text_copy(row->token_id, token->id, sizeof token->id) ||
        !helio_text_copy(row->tenant, token->tenant, sizeof token->tenant) ||
        !helio_text_copy(row->user, token->user, sizeof token->user) ||
        !(token->principal = put_principal(self, row->tenant, row->user))) {
        free(token);
        return;
    }
    memcpy(token->hash, row->hash.data, HELIO_TOKEN_HASH_SIZE);
    token->role = role;
    token->created_ms = row->created_ms;
    token->expires_ms = row->expires_ms;
    atomic_init(&token->revoked_ms, row->revoked_ms);
    if (known) /* the new version stands before the old one in the chain; the old one must not be held by
                  streams */
        atomic_store_explicit(&known->revoked_ms, row->created_ms ? row->created_ms : 1,
                              memory_order_release);
    size_t bucket = bucket_of(row->token_id);
    token->next = atomic_load_explicit(&self->buckets[bucket], memory_order_relaxed);
    atomic_store_explicit(&self->buckets[bucket], token, memory_order_release);
}

const helio_token_t *helio_token_table_find(const helio_token_table_t *self, helio_text_t id)
{
    return find(self, id);
}

bool helio_token_in_force(const helio_token_t *token, int64_t wall_ms)
{
    return atomic_load_explicit(&token->revoked_ms, memory_order_acquire) == 0 &&
           atomic_load_explicit(&token->principal->disabled_ms, memory_order_acquire) == 0 &&
           (token->expires_ms == 0 || wall_ms < token->expires_ms);
}

const helio_token_t *helio_token_table_check(const helio_token_table_t *self, helio_text_t credential,
                                             int64_t wall_ms)
{
    if (credential.size < 4 + 3 || credential.size >= HELIO_TOKEN_SIZE ||
        memcmp(credential.data, "hel_", 4) != 0)
        return NULL;
    helio_text_t id = {credential.data + 4, 0};
    const char *end = credential.data + credential.size;
    const char *underscore = memchr(id.data, '_', (size_t)(end - id.data));
    if (!underscore || underscore == id.data || underscore + 1 == end || end - underscore - 1 > SECRET_MAX)
        return NULL;
    id.size = (uint32_t)(underscore - id.data);
    uint8_t hash[HELIO_TOKEN_HASH_SIZE];
    hash_of(underscore + 1, (size_t)(end - underscore - 1),
            hash); /* before the look-up: an unknown id costs the same */
    const helio_token_t *token = find(self, id);
    if (!token || CRYPTO_memcmp(hash, token->hash, sizeof hash) != 0 || !helio_token_in_force(token, wall_ms))
        return NULL;
    return token;
}
