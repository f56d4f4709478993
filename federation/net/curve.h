/*  curve.h -- CURVE key pairs (Curve25519), in ZeroMQ's Z85 text form, and the file of a secret key.
 *
 *  A key file holds one line: the secret key. The public key is derived from it, so that the two cannot disagree. The
 *  file must belong to the current user (or root) and be inaccessible to group and others. Any thread; stateless.
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

/*  The public key begins with a letter or a digit, so that commands do not take it for an option and YAML reads it
 *  as text. */
HELIO_MUST_CHECK helio_rc helio_keypair_new(helio_keypair_t *ret_pair, helio_error_t *err);
/*  Creates the file durably, with mode 0600. HELIO_CONFLICT if it exists: keys are never overwritten. */
HELIO_MUST_CHECK helio_rc helio_keypair_save(const helio_keypair_t *pair, const char *path, helio_error_t *err);
/*  HELIO_NOT_FOUND, HELIO_FORBIDDEN (owner or mode), HELIO_INVALID (not a key); the error's text names the path and the
 *  remedy. */
HELIO_MUST_CHECK helio_rc helio_keypair_load(const char *path, helio_keypair_t *ret_pair, helio_error_t *err);
/*  Derives the key pair from a secret key. */
HELIO_MUST_CHECK helio_rc helio_keypair_of(const char *secret_key, helio_keypair_t *ret_pair, helio_error_t *err);
/*  Overwrites both keys. Usable with HELIO_AUTO. */
void helio_keypair_wipe(helio_keypair_t *pair);

/*  Is this the Z85 text of 32 bytes? */
bool helio_curve_key_is_valid(helio_text_t key);

#endif
