/*  label.h -- labels of jobs: keys and values that users choose, by the rules of Kubernetes, within 63 bytes each. Pure. */
#ifndef HELIO_MODEL_LABEL_H
#define HELIO_MODEL_LABEL_H

#include "federation/base/memory.h"

enum { HELIO_LABEL_MAX = 63, HELIO_LABELS_MAX = 16 };

/*  Letters, digits, '-', '_' and '.', which begin and end with a letter or digit; a key can have such a prefix before a '/'. */
bool helio_label_is_key(helio_text_t text);
/*  The same without a prefix, or empty. */
bool helio_label_is_value(helio_text_t text);
/*  "KEY=VALUE"; with bare also "KEY", whose value is then NULL. False: it is neither. */
bool helio_label_split(helio_text_t text, bool bare, helio_text_t *ret_key, helio_text_t *ret_value);

#endif
