/*  document.h -- reading the API's documents: members by path, quantities. Pure; views live as long as the document.
 *
 *  The API leaves out what is empty and writes null for what it does not know, so a missing member is never an error
 *  here: its text is "", its number 0, its list empty.
 */
#ifndef HELIO_BACKENDS_KUBERNETES_DOCUMENT_H
#define HELIO_BACKENDS_KUBERNETES_DOCUMENT_H

#include <jansson.h>

#include "federation/base/memory.h"

/*  Follows the keys, at least one, until the first NULL; NULL if one is missing. */
json_t *helio_kube_at(const json_t *from, const char *const *keys);
#define HELIO_KUBE_AT(from, ...) helio_kube_at((from), (const char *const[]){__VA_ARGS__, NULL})

/*  The text of a string, "" for anything else. */
helio_text_t helio_kube_text(const json_t *value);
/*  The element of a list of objects whose member `key` is that word ("type": "Ready"); NULL if there is none. */
json_t *helio_kube_named(const json_t *list, const char *key, const char *word);
/*  The status of a condition is "True". */
bool helio_kube_condition(const json_t *object, const char *type);
/*  "namespace/name", which tells the objects of one kind apart; "/name" for a cluster's own. */
enum { HELIO_KUBE_KEY_SIZE = 400 }; /* names have at most 253 characters, namespaces 63 */
void helio_kube_key(const json_t *object, char ret_key[HELIO_KUBE_KEY_SIZE]);
/*  RFC 3339 to Unix ms; 0 for none. */
int64_t helio_kube_time(const json_t *value);

/*  A resource quantity in thousandths: "191500m", "64Gi", "3456G", "1e3", and numbers without quotes. Rounded up, as the
 *  API does; values beyond 64 bits are UINT64_MAX. INVALID for a negative one and what is none. */
HELIO_MUST_CHECK helio_rc helio_kube_quantity(helio_text_t text, uint64_t *ret_milli);
/*  The same for a member; 0 if it is missing or no quantity. */
uint64_t helio_kube_milli(const json_t *value);
/*  Whole units, rounded down: of what is offered. */
uint64_t helio_kube_units(const json_t *value);

#endif
