/*  warnings.h -- input warnings: what an operator may not have meant. */
#ifndef HELIO_BROKER_CORE_REQUESTS_WARNINGS_H
#define HELIO_BROKER_CORE_REQUESTS_WARNINGS_H

#include "broker/core/state/nouns.h"
#include "federation/base/memory.h"
#include "federation/policy/overflow.h"
#include "federation/reason/detail.h"

/*  Each adds its warnings to the details, if it has any. */
void core_warn_region(helio_broker_core_t *self, helio_text_t region, helio_details_t *ret_details);
void core_warn_site(helio_broker_core_t *self, helio_text_t site, helio_details_t *ret_details); /* a home */
void core_warn_zone(helio_broker_core_t *self, helio_text_t zone, helio_details_t *ret_details);
void core_warn_steps(helio_broker_core_t *self, const helio_overflow_t *steps, helio_details_t *ret_details);

#endif
