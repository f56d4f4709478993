/*  restored.h -- what sites report about attempts that this database does not know (state/copies.h), and what follows
 *  for the jobs that these keep back.
 *
 *  A site is awaited from the restore on, whichever leader leads, until its inventory is complete or an operator
 *  attests it. Its row shows that for as long as copies end there, so that the next leader awaits it again.
 *
 *  Which sites can hold a copy (schema: helio.lead), and what waits for them:
 *
 *      in the copy, the site             can hold a copy                      nothing is placed   jobs of the copy
 *      has been in session               yes                                  for a moment        wait (copies.h)
 *      never joined, or was attested     yes: it can have joined since        -                   wait (copies.h)
 *      the same, and no key is in force  no: the operator has to admit it     -                   -
 *
 *  A bound on the second row would be a guess: nothing tells how much the copy lacks, and `strict` promises that no
 *  second copy starts. So the operator attests such a site, which costs one command after a restore. A promotion that
 *  lost nothing is no restore (store.h). */
#ifndef HELIO_BROKER_CORE_SITES_RESTORED_H
#define HELIO_BROKER_CORE_SITES_RESTORED_H

#include "broker/core/state/nouns.h"
#include "federation/model/attempt.h"

/*  The inventory has an attempt of the job that is not its current one there: it is fenced. */
void core_restored_copy(helio_broker_core_t *self, site_t *site, job_t *job, uint32_t epoch);
/*  The inventory is complete. */
void core_restored_inventory(helio_broker_core_t *self, site_t *site);
/*  The site reports the end of an attempt. */
void core_restored_end(helio_broker_core_t *self, const site_t *site, const helio_report_t *report);
/*  An operator confirms that nothing runs there, or, of a site that is ready, nothing that it does not show. False:
 *  that changes nothing. */
bool core_restored_attest(helio_broker_core_t *self, site_t *site);
/*  Once a second. */
void core_restored_check(helio_broker_core_t *self);

#endif
