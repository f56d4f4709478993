/*  curve.h -- CURVE key pairs (Curve25519), in ZeroMQ's Z85 text form, and the file of a secret key.
 *
 *  A key file holds one line: the secret key. Its public key is derived, so the two cannot disagree. It must
 * belong to this user (or root) and be closed to group and others. Any thread; nothing is kept.
 */
#ifndef HELIO_NET_CURVE_H
#define HELIO_NET_CURVE_H

#include <stdbool.h>

#include "federation/base/memory.h"

enum { HELIO_CURVE_CHARS = 40, HELIO_CURVE_SIZE = HELIO_CURVE_CHARS + 1 };

typedef struct helio_keypair {
    char public_key[HELIO_CURVE_SIZE];
    char secret_key[HELIO_CURVE_SIZE];
} helio_keypair_t;

/*  The public key begins with a letter or a digit: a command takes it for no option, YAML for a text. */
HELIO_MUST_CHECK helio_rc helio_keypair_new(helio_keypair_t *ret_pair, helio_error_t *err);
/*  Creates the file with mode 0600, durably. HELIO_CONFLICT when it exists: a key is never overwritten. */
HELIO_MUST_CHECK helio_rc helio_keypair_save(const helio_keypair_t *pair, const char *path,
                                             helio_error_t *err);
/*  HELIO_NOT_FOUND, HELIO_FORBIDDEN (owner or mode), HELIO_INVALID (not a key); the text names path and
 * remedy. */
HELIO_MUST_CHECK helio_rc helio_keypair_load(const char *path, helio_keypair_t *ret_pair, helio_error_t *err);
/*  The pair of a secret key. */
HELIO_MUST_CHECK helio_rc helio_keypair_of(const char *secret_key, helio_keypair_t *ret_pair,
                                           helio_error_t *err);
/*  Overwrites both keys. Fits HELIO_AUTO. */
void helio_keypair_wipe(helio_keypair_t *pair);

/*  Is this the Z85 text of 32 bytes? */
bool helio_curve_key_is_valid(helio_text_t key);

#endif
