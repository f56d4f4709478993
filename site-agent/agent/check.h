/*  check.h -- `helio-agent --check`: everything that running will need, one line each, with the remedy. */
#ifndef HELIO_AGENT_CHECK_H
#define HELIO_AGENT_CHECK_H

#include "site-agent/agent/agent.h"

/*  Prints to standard output; changes nothing but makes state_dir when it is missing. Returns how many lines
 * failed. */
uint32_t helio_agent_check(const helio_agent_settings_t *settings, helio_make_backend_fn *make_backend);

/*  The backend that a site file names. HELIO_INVALID: not one of this release. */
HELIO_MUST_CHECK helio_rc helio_make_backend(const helio_agent_settings_t *settings,
                                             const helio_backend_sink_t *sink, helio_backend_t **ret_backend,
                                             helio_error_t *err);

#endif
