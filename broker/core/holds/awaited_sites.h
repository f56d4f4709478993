/*  awaited_sites.h -- sites that are away for a moment, and what is not decided without them.
 *
 *  A site can be awaited for two reasons. *Missed*: it was ready under the last leader, and this one has not had its
 *  inventory and summary. *Away*: its session ended a moment ago. Both last until it has spoken, or would be silent,
 *  at most a minute.
 *
 *  A new leader that judged the first sites to come back as if they were the only ones would start everything there. So
 *  for a moment (TAKEOVER_AWAIT_MS) it decides nothing while a site is missed. After that, jobs that may wait go on
 *  waiting for missed sites that could run them, and nothing is reserved, preempted or migrated without these. A site
 *  that is away is planned for by its last forecast, and jobs that wait for a start there do not go elsewhere. */
#ifndef HELIO_BROKER_CORE_HOLDS_AWAITED_SITES_H
#define HELIO_BROKER_CORE_HOLDS_AWAITED_SITES_H

#include "broker/core/state/nouns.h"
#include "federation/reason/detail.h"

/*  How long a new leader decides nothing because a site is missed. Agents find a new leader within about two seconds,
 *  and placements go on within ten seconds of a leader's end. */
enum { TAKEOVER_AWAIT_MS = 5000 };

/*  The session of the site ended, or a new leader has loaded it: it is awaited from now on. missed: above. */
void core_site_await(helio_broker_core_t *self, site_t *site, bool missed);
/*  It has sent inventory and summary, or is given up. */
void core_site_found(helio_broker_core_t *self, site_t *site);
/*  Whether starts in later hours are planned there although it has no session. */
bool core_site_is_away(const helio_broker_core_t *self, const site_t *site);
bool core_site_is_missed(const helio_broker_core_t *self, const site_t *site);
/*  The wait for some site may be over: its facts change, so that classes are asked again. Each second. */
void core_awaited_sites_check(helio_broker_core_t *self);

/*  Until when nothing is decided at all (monotonic); 0 = something is. */
int64_t core_takeover_awaits_ms(const helio_broker_core_t *self);
/*  Until when no job is migrated, because a site is missed (monotonic); 0 = jobs are. */
int64_t core_missed_until_ms(const helio_broker_core_t *self);
/*  Whether a site is missed that could run jobs of the class. */
bool core_class_misses(const helio_broker_core_t *self, const job_class_t *class);
/*  Until when the class starts nothing, because a site is awaited that could be better (monotonic); 0 = it starts. */
int64_t core_class_awaits_ms(const helio_broker_core_t *self, const job_class_t *class);
/*  The sites that are awaited. class NULL: by all. until_ms: monotonic. */
helio_detail_t core_awaited_detail(helio_broker_core_t *self, const job_class_t *class, int64_t until_ms);

#endif
