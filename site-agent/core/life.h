/*  life.h -- what happens to attempts: the core starts and stops them, handles the backend's events on them, and
 *  resumes them after a restart. */
#ifndef HELIO_AGENT_LIFE_H
#define HELIO_AGENT_LIFE_H

#include "site-agent/core/attempts.h"

void helio_attempt_start(helio_agent_core_t *self, helio_attempt_t *attempt);
/*  Has no effect on an attempt that is over, or is being stopped as firmly already. */
void helio_attempt_stop(helio_agent_core_t *self, helio_attempt_t *attempt, uint32_t mode, uint32_t cause,
                        helio_text_t explanation);
void helio_attempt_backend(helio_agent_core_t *self, const helio_aev_backend_t *event);
void helio_attempt_evidence(helio_agent_core_t *self, const helio_aev_evidence_t *event);

void helio_attempts_loaded(helio_agent_core_t *self); /* adopts what can still run */
/*  The backend has reported all that it holds: from now on what it does not find is absent. */
void helio_attempts_surveyed(helio_agent_core_t *self);
void helio_attempts_start_due(helio_agent_core_t *self);
/*  Their nodes are being taken away: they stop with their signal and their grace, and end as preempted by the site. */
void helio_attempts_taken(helio_agent_core_t *self, const helio_aev_taken_t *event);
void helio_attempts_stop_leased(helio_agent_core_t *self, uint32_t mode); /* the lease is ending */

#endif
