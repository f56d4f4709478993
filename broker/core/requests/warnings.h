/*  warnings.h -- input warnings: probable mistakes in an operator's command. */
#ifndef HELIO_BROKER_CORE_REQUESTS_WARNINGS_H
#define HELIO_BROKER_CORE_REQUESTS_WARNINGS_H

#include "broker/core/state/nouns.h"
#include "federation/base/memory.h"
#include "federation/policy/overflow.h"
#include "federation/reason/detail.h"

/*  What is unknown, and what was probably meant. job: which of several documents names the queue; 0 = the only one. */
helio_detail_t core_unknown_queue(helio_broker_core_t *self, helio_text_t queue, uint32_t job);
helio_detail_t core_unknown_tenant(helio_broker_core_t *self, helio_text_t tenant); /* to operators: it names others */

/*  Whether no site has that name and one has almost that name. A home of another name can be that of a site to come. */
bool core_is_slip_of_a_site(helio_broker_core_t *self, helio_text_t name);

/*  Each adds its warnings to the details, if it has any. */
void core_warn_region(helio_broker_core_t *self, helio_text_t region, helio_details_t *ret_details);
void core_warn_site(helio_broker_core_t *self, helio_text_t site, helio_details_t *ret_details); /* a home site */
void core_warn_zone(helio_broker_core_t *self, helio_text_t zone, helio_details_t *ret_details);
/*  A name that this request creates, and that is almost that of another tenant or queue. */
void core_warn_new_tenant(helio_broker_core_t *self, helio_text_t tenant, helio_details_t *ret_details);
void core_warn_new_queue(helio_broker_core_t *self, helio_text_t queue, helio_details_t *ret_details);
void core_warn_steps(helio_broker_core_t *self, const helio_overflow_t *steps, helio_details_t *ret_details);

#endif
