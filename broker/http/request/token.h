/*  token.h -- bearer tokens: their text form, and the table of tokens.
 *
 *  Text: "hel_<id>_<secret>". The id is public (lists, revocation); the secret is shown once. The SHA-256 of the
 *  secret's characters is stored. The secret has 160 random bits, so a fast hash is enough: guessing cannot succeed.
 *
 *  One thread (the engine's) writes the table, any thread can add what it lacks, and many read it without locks. A token
 *  is never removed, only marked revoked, also one that the database has no more. So a reader's pointer stays valid for
 *  the life of the table, and no memory needs to be reclaimed; it is bounded by the number of tokens ever issued, as the
 *  database's own table is. uthash, which the rest of the project uses, moves its buckets while it grows and cannot be
 *  read meanwhile. */
#ifndef HELIO_BROKER_HTTP_REQUEST_TOKEN_H
#define HELIO_BROKER_HTTP_REQUEST_TOKEN_H

#include <stdatomic.h>

#include "broker/model/events.h"
#include "broker/model/rows.h"

enum {
    HELIO_TOKEN_ID_CHARS = 12,
    HELIO_TOKEN_SECRET_CHARS = 32,
    HELIO_TOKEN_SIZE = 4 + 32 + 1 + 128 + 1, /* the longest text that is accepted, with the NUL */
    HELIO_TOKEN_HASH_SIZE = 32
};

/*  A new token: fills in id, text and hash. HELIO_IO: the system provided no random bytes. */
typedef struct helio_token_fresh {
    char id[HELIO_TOKEN_ID_CHARS + 1];
    char text[4 + HELIO_TOKEN_ID_CHARS + 1 + HELIO_TOKEN_SECRET_CHARS + 1];
    uint8_t hash[HELIO_TOKEN_HASH_SIZE];
} helio_token_fresh_t;
HELIO_MUST_CHECK helio_rc helio_token_issue(helio_token_fresh_t *ret_token);

/*  The user that a token stands for. All fields but `disabled_ms` are immutable. */
typedef struct helio_principal {
    struct helio_principal *next; /* private to the table */
    char tenant[33];
    char user[65];
    _Atomic int64_t disabled_ms; /* 0 = enabled */
} helio_principal_t;

/*  One token of the table. All fields but `revoked_ms` are immutable to readers. */
typedef struct helio_token {
    struct helio_token *next; /* private to the table */
    uint64_t reading;         /* the writer's: the last one in which it came */
    char id[33];
    uint8_t hash[HELIO_TOKEN_HASH_SIZE];
    char tenant[33];
    char user[65];
    const helio_principal_t *principal;
    uint32_t role; /* helio_role_t */
    int64_t created_ms;
    int64_t expires_ms;         /* 0 = never */
    _Atomic int64_t revoked_ms; /* 0 = in force */
} helio_token_t;

typedef struct helio_token_table helio_token_table_t;

helio_token_table_t *helio_token_table_new(void);
void helio_token_table_destroy(helio_token_table_t **self_p);

/*  Writer only. A row with an unknown role, or with a hash that is not 32 bytes, is ignored, so it grants no access. */
void helio_token_table_put(helio_token_table_t *self, const helio_row_token_t *row);

/*  Any thread, while no reading is under way (helio_token_table_begin). The same for a token that the table does not
 *  know. A row of one that it knows is ignored, because it can be older than a revocation. */
void helio_token_table_learn(helio_token_table_t *self, const helio_row_token_t *row);

/*  Writer only. Around the putting of all tokens that there are: those that were put before and do not come between the
 *  two are revoked, since the database has gone back to a time before them. */
void helio_token_table_begin(helio_token_table_t *self);
void helio_token_table_end(helio_token_table_t *self, int64_t wall_ms);

/*  Writer only. Disables a user with all present and future tokens, or enables it again. */
void helio_token_table_disable(helio_token_table_t *self, const helio_row_principal_t *row);
/*  Any thread. NULL: no row of a token or of a disabled user has named this user. */
const helio_principal_t *helio_token_table_principal(const helio_token_table_t *self, helio_text_t tenant,
                                                     helio_text_t user);

/*  Why a credential is not accepted. Only a caller with the whole secret learns more than WRONG. */
typedef enum helio_token_refusal {
    HELIO_TOKEN_ACCEPTED,
    HELIO_TOKEN_UNKNOWN, /* well-formed, with an id that the table does not know */
    HELIO_TOKEN_WRONG,   /* anything else, or another secret */
    HELIO_TOKEN_REVOKED,
    HELIO_TOKEN_EXPIRED,
    HELIO_TOKEN_DISABLED /* its user is */
} helio_token_refusal_t;

/*  Any thread. The token of a credential ("hel_…") if it is in force at wall_ms (Unix ms), else NULL. The time of the
 *  comparison does not depend on the secrets. *ret_token: that of a credential whose secret is right, in
 *  force or not; else NULL. */
const helio_token_t *helio_token_table_judge(const helio_token_table_t *self, helio_text_t credential, int64_t wall_ms,
                                             helio_token_refusal_t *ret_why, const helio_token_t **ret_token);
const helio_token_t *helio_token_table_check(const helio_token_table_t *self, helio_text_t credential, int64_t wall_ms);
/*  The id, and the hash of the secret. False: it has not the parts of a credential. */
bool helio_token_parse(helio_text_t credential, helio_text_t *ret_id, uint8_t ret_hash[HELIO_TOKEN_HASH_SIZE]);
bool helio_token_is_well_formed(helio_text_t credential);
const helio_token_t *helio_token_table_find(const helio_token_table_t *self, helio_text_t id); /* also a revoked one */
bool helio_token_in_force(const helio_token_t *token, int64_t wall_ms);

#endif
