/*  session.h -- HELLO, WELCOME, inventory, verdicts, then everything else; the clocks of an open session. */
#ifndef HELIO_AGENT_SESSION_H
#define HELIO_AGENT_SESSION_H

#include "site-agent/core/internal.h"

void helio_session_connected(helio_agent_core_t *self);
void helio_session_disconnected(helio_agent_core_t *self);
void helio_session_welcome(helio_agent_core_t *self, const helio_aev_welcome_t *welcome);
void helio_session_rulings(helio_agent_core_t *self, const helio_aev_verdicts_t *verdicts); /* the last one opens it */
void helio_session_renewed(helio_agent_core_t *self, const helio_aev_renewed_t *renewed);
void helio_session_resync(helio_agent_core_t *self); /* a full summary, at once */
void helio_session_tick(helio_agent_core_t *self);
int64_t helio_session_wake_ms(const helio_agent_core_t *self);
void helio_session_check(const helio_agent_core_t *self); /* see helio_agent_core_check */

#endif
