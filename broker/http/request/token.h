/*  token.h -- bearer tokens: their text form, and the table of those in force.
 *
 *  Text: "hel_<id>_<secret>"; id is public (lists, revocation), the secret is shown once. Stored is the
 * SHA-256 of the secret's characters. 160 random bits: a fast hash is enough, there is nothing to guess from.
 *
 *  The table is written by one thread (the engine's) and read by many without locks. A token is never taken
 * out, only marked revoked, so a reader's pointer stays valid for the table's life and no reclamation is
 * needed; the memory is bound by the number of tokens ever issued, as the database's own table is. uthash, which the rest
 *  of the project uses, moves its buckets while it grows and cannot be read meanwhile.
 */
#ifndef HELIO_BROKER_HTTP_REQUEST_TOKEN_H
#define HELIO_BROKER_HTTP_REQUEST_TOKEN_H

#include <stdatomic.h>

#include "broker/model/events.h"
#include "broker/model/rows.h"

enum {
    HELIO_TOKEN_ID_CHARS = 12,
    HELIO_TOKEN_SECRET_CHARS = 32,
    HELIO_TOKEN_SIZE = 4 + 32 + 1 + 128 + 1, /* the longest that is accepted, with the NUL */
    HELIO_TOKEN_HASH_SIZE = 32
};

/*  A fresh token: fills id, text and hash. HELIO_IO: the system gave no random bytes. */
typedef struct helio_token_fresh {
    char id[HELIO_TOKEN_ID_CHARS + 1];
    char text[4 + HELIO_TOKEN_ID_CHARS + 1 + HELIO_TOKEN_SECRET_CHARS + 1];
    uint8_t hash[HELIO_TOKEN_HASH_SIZE];
} helio_token_fresh_t;
HELIO_MUST_CHECK helio_rc helio_token_issue(helio_token_fresh_t *ret_token);

/*  Whom tokens stand for; everything but `disabled_ms` is immutable. */
typedef struct helio_principal {
    struct helio_principal *next; /* the table's own */
    char tenant[33];
    char user[65];
    _Atomic int64_t disabled_ms; /* 0 = enabled */
} helio_principal_t;

/*  One token of the table; everything but `revoked_ms` is immutable. */
typedef struct helio_token {
    struct helio_token *next; /* the table's own */
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

/*  The one writer. A row with an unknown role or a hash that is not 32 bytes admits nobody: it is not
 * entered. */
void helio_token_table_put(helio_token_table_t *self, const helio_row_token_t *row);

/*  The one writer: disables a user, with the tokens that are and those to come, or enables it again. */
void helio_token_table_disable(helio_token_table_t *self, const helio_row_principal_t *row);
/*  Any thread. NULL: neither a token of it nor that it is disabled was ever told. */
const helio_principal_t *helio_token_table_principal(const helio_token_table_t *self, helio_text_t tenant,
                                                     helio_text_t user);

/*  Any thread. The token behind the text of a credential ("hel_…") at that time, or NULL. Comparison of
 * secrets does not depend on where they differ. */
const helio_token_t *helio_token_table_check(const helio_token_table_t *self, helio_text_t credential,
                                             int64_t wall_ms);
const helio_token_t *helio_token_table_find(const helio_token_table_t *self,
                                            helio_text_t id); /* also revoked ones */
bool helio_token_in_force(const helio_token_t *token, int64_t wall_ms);

#endif
