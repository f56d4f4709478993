/*  base64.h -- RFC 4648, as kubeconfig files hold certificates: with padding, white space ignored. Pure. */
#ifndef HELIO_BACKENDS_KUBERNETES_BASE64_H
#define HELIO_BACKENDS_KUBERNETES_BASE64_H

#include "federation/base/memory.h"

/*  INVALID for other characters, and for a text that is cut off. *ret_bytes is in the arena. */
HELIO_MUST_CHECK helio_rc helio_base64_decode(helio_text_t text, helio_arena_t *arena, helio_text_t *ret_bytes);

#endif
