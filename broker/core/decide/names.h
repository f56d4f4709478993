/*  names.h -- words that name sites, regions and kinds of sites: whether some known site answers to one, and which word
 *  was probably meant. Sites come and go, so a word without a site is not an error by itself. */
#ifndef HELIO_BROKER_CORE_DECIDE_NAMES_H
#define HELIO_BROKER_CORE_DECIDE_NAMES_H

#include "broker/core/state/nouns.h"
#include "federation/policy/requirement.h"
#include "federation/reason/detail.h"

typedef enum names { NAMES_SITES, NAMES_REGIONS, NAMES_BACKENDS, NAMES_COUNT } names_t;

/*  Words of sites are patterns; a region contains those below it. */
bool core_name_is_known(const helio_broker_core_t *self, names_t names, helio_text_t word);
/*  The nearest known word; "" = none is similar. */
const char *core_name_meant(helio_broker_core_t *self, names_t names, helio_text_t word);

/*  Whether no known site answers to any word of that list of `placement`, and some word does not exclude. False while
 *  no site is known. */
bool core_placement_names_none(const helio_broker_core_t *self, const helio_requirement_t *want, names_t names);
/*  Appends one detail for each list of `placement` with a word that no known site answers to. */
void core_placement_names(helio_broker_core_t *self, const helio_requirement_t *want, helio_details_t *ret_details);
/*  Replaces each such word by what was probably meant, and appends what it replaced, one detail for each list. False:
 *  no word looks like a mistake. */
bool core_placement_correct(helio_broker_core_t *self, helio_requirement_t *want, helio_details_t *ret_changes);

#endif
