/*  token.c -- the table of tokens. It lets a request be checked without waiting for the database, and a revocation act
 *  at once. */
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
    uint64_t reading; /* the writer's: how often all tokens were read */
};

/*  No underscore, which separates the parts of a token, and no character that a shell or a URL treats specially. 32
 *  letters: 5 bits each. */
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

static helio_token_t *find_from(helio_token_t *token, helio_text_t id)
{
    while (token && !helio_text_is(id, token->id))
        token = token->next;
    return token;
}

static helio_token_t *find(const helio_token_table_t *self, helio_text_t id)
{
    return find_from(atomic_load_explicit(&self->buckets[bucket_of(id)], memory_order_acquire), id);
}

/*  Puts it ahead of `over`, the version before it (NULL: none). False: another thread has added another one meanwhile. */
static bool add(helio_token_table_t *self, helio_token_t *token, const helio_token_t *over)
{
    helio_text_t id = helio_text_of(token->id);
    _Atomic(helio_token_t *) *bucket = &self->buckets[bucket_of(id)];
    helio_token_t *head = atomic_load_explicit(bucket, memory_order_acquire);
    do {
        if (find_from(head, id) != over)
            return false;
        token->next = head;
    } while (!atomic_compare_exchange_weak_explicit(bucket, &head, token, memory_order_acq_rel, memory_order_acquire));
    return true;
}

static size_t bucket_of_principal(helio_text_t tenant, helio_text_t user)
{
    uint64_t hash = helio_hash(HELIO_HASH_SEED, tenant.data, tenant.size);
    return (size_t)(helio_hash(hash, user.data, user.size) % BUCKETS);
}

static helio_principal_t *find_principal_from(helio_principal_t *principal, helio_text_t tenant, helio_text_t user)
{
    while (principal && !(helio_text_is(tenant, principal->tenant) && helio_text_is(user, principal->user)))
        principal = principal->next;
    return principal;
}

static helio_principal_t *find_principal(const helio_token_table_t *self, helio_text_t tenant, helio_text_t user)
{
    size_t bucket = bucket_of_principal(tenant, user);
    return find_principal_from(atomic_load_explicit(&self->principals[bucket], memory_order_acquire), tenant, user);
}

const helio_principal_t *helio_token_table_principal(const helio_token_table_t *self, helio_text_t tenant,
                                                     helio_text_t user)
{
    return find_principal(self, tenant, user);
}

/*  NULL: a name is too long. */
static helio_principal_t *put_principal(helio_token_table_t *self, helio_text_t tenant, helio_text_t user)
{
    _Atomic(helio_principal_t *) *bucket = &self->principals[bucket_of_principal(tenant, user)];
    helio_principal_t *head = atomic_load_explicit(bucket, memory_order_acquire), *fresh = NULL;
    for (;;) {
        helio_principal_t *there = find_principal_from(head, tenant, user);
        if (there) {
            free(fresh);
            return there;
        }
        if (!fresh)
            fresh = helio_new(1, sizeof *fresh);
        if (!helio_text_copy(tenant, fresh->tenant, sizeof fresh->tenant) ||
            !helio_text_copy(user, fresh->user, sizeof fresh->user)) {
            free(fresh);
            return NULL;
        }
        fresh->next = head;
        if (atomic_compare_exchange_weak_explicit(bucket, &head, fresh, memory_order_acq_rel, memory_order_acquire))
            return fresh;
    }
}

void helio_token_table_disable(helio_token_table_t *self, const helio_row_principal_t *row)
{
    helio_principal_t *principal =
        row->disabled_ms ? put_principal(self, row->tenant, row->user) : find_principal(self, row->tenant, row->user);
    if (principal)
        atomic_store_explicit(&principal->disabled_ms, row->disabled_ms, memory_order_release);
}

static bool same(const helio_token_t *one, const helio_token_t *other)
{
    return memcmp(one->hash, other->hash, sizeof one->hash) == 0 && one->role == other->role &&
           one->expires_ms == other->expires_ms && one->principal == other->principal;
}

/*  NULL: it grants no access. */
static helio_token_t *token_of(helio_token_table_t *self, const helio_row_token_t *row)
{
    helio_token_t *token = helio_new(1, sizeof *token);
    bool usable = row->token_id.size > 0 && row->hash.size == HELIO_TOKEN_HASH_SIZE &&
                  helio_role_of(row->role, &token->role) == HELIO_OK;
    if (!usable || !helio_text_copy(row->token_id, token->id, sizeof token->id) ||
        !helio_text_copy(row->tenant, token->tenant, sizeof token->tenant) ||
        !helio_text_copy(row->user, token->user, sizeof token->user) ||
        !(token->principal = put_principal(self, row->tenant, row->user))) {
        free(token);
        return NULL;
    }
    memcpy(token->hash, row->hash.data, HELIO_TOKEN_HASH_SIZE);
    token->reading = self->reading;
    token->created_ms = row->created_ms;
    token->expires_ms = row->expires_ms;
    atomic_init(&token->revoked_ms, row->revoked_ms);
    return token;
}

/*  Only revoked_ms of a token changes in place. What was never in force here is kept, too: its holder can be told. */
void helio_token_table_put(helio_token_table_t *self, const helio_row_token_t *row)
{
    helio_token_t *token = token_of(self, row);
    for (;;) {
        helio_token_t *known = find(self, row->token_id);
        if (known)
            known->reading = self->reading;
        if (known && (!token || row->revoked_ms || same(known, token))) {
            int64_t revoked_ms = token || row->revoked_ms ? row->revoked_ms : 1;
            atomic_store_explicit(&known->revoked_ms, revoked_ms, memory_order_release);
            break;
        }
        if (!token)
            return;
        if (known) /* the new version is ahead of the old one in the chain; streams must not keep the old one */
            atomic_store_explicit(&known->revoked_ms, row->created_ms ? row->created_ms : 1, memory_order_release);
        if (add(self, token, known))
            return;
    }
    free(token);
}

void helio_token_table_learn(helio_token_table_t *self, const helio_row_token_t *row)
{
    helio_token_t *token = token_of(self, row);
#ifdef HELIO_MUTANT_learned_token_overrides
    helio_token_table_put(self, row);
#endif
    if (token && !add(self, token, NULL))
        free(token);
}

void helio_token_table_begin(helio_token_table_t *self)
{
    self->reading++;
}

void helio_token_table_end(helio_token_table_t *self, int64_t wall_ms)
{
#ifdef HELIO_MUTANT_lost_token_in_force
    return;
#endif
    for (size_t i = 0; i < BUCKETS; i++)
        for (helio_token_t *token = atomic_load_explicit(&self->buckets[i], memory_order_relaxed); token;
             token = token->next)
            if (token->reading != self->reading && !atomic_load_explicit(&token->revoked_ms, memory_order_relaxed))
                atomic_store_explicit(&token->revoked_ms, wall_ms, memory_order_release);
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

/*  False: it has not these parts. */
static bool split(helio_text_t credential, helio_text_t *ret_id, helio_text_t *ret_secret)
{
    if (credential.size < 4 + 3 || credential.size >= HELIO_TOKEN_SIZE || memcmp(credential.data, "hel_", 4) != 0)
        return false;
    const char *id = credential.data + 4, *end = credential.data + credential.size;
    const char *underscore = memchr(id, '_', (size_t)(end - id));
    if (!underscore || underscore == id || underscore + 1 == end || end - underscore - 1 > SECRET_MAX)
        return false;
    *ret_id = (helio_text_t){id, (uint32_t)(underscore - id)};
    *ret_secret = (helio_text_t){underscore + 1, (uint32_t)(end - underscore - 1)};
    return true;
}

bool helio_token_is_well_formed(helio_text_t credential)
{
    helio_text_t id, secret;
    return split(credential, &id, &secret);
}

bool helio_token_parse(helio_text_t credential, helio_text_t *ret_id, uint8_t ret_hash[HELIO_TOKEN_HASH_SIZE])
{
    helio_text_t secret;
    if (!split(credential, ret_id, &secret))
        return false;
    hash_of(secret.data, secret.size, ret_hash);
    return true;
}

static helio_token_refusal_t refusal_of(const helio_token_t *token, int64_t wall_ms)
{
    if (helio_token_in_force(token, wall_ms))
        return HELIO_TOKEN_ACCEPTED;
    if (atomic_load_explicit(&token->revoked_ms, memory_order_acquire))
        return HELIO_TOKEN_REVOKED;
    return token->expires_ms && wall_ms >= token->expires_ms ? HELIO_TOKEN_EXPIRED : HELIO_TOKEN_DISABLED;
}

const helio_token_t *helio_token_table_judge(const helio_token_table_t *self, helio_text_t credential, int64_t wall_ms,
                                             helio_token_refusal_t *ret_why, const helio_token_t **ret_token)
{
    helio_text_t id;
    uint8_t hash[HELIO_TOKEN_HASH_SIZE];
    *ret_token = NULL;
    *ret_why = HELIO_TOKEN_WRONG;
    if (!helio_token_parse(credential, &id, hash)) /* hashed before the look-up, so that an unknown id takes as long */
        return NULL;
    const helio_token_t *token = find(self, id);
    if (!token)
        *ret_why = HELIO_TOKEN_UNKNOWN;
    if (!token || CRYPTO_memcmp(hash, token->hash, sizeof hash) != 0)
        return NULL;
    *ret_token = token;
    *ret_why = refusal_of(token, wall_ms);
    return *ret_why == HELIO_TOKEN_ACCEPTED ? token : NULL;
}

const helio_token_t *helio_token_table_check(const helio_token_table_t *self, helio_text_t credential, int64_t wall_ms)
{
    helio_token_refusal_t why;
    const helio_token_t *token;
    return helio_token_table_judge(self, credential, wall_ms, &why, &token);
}
