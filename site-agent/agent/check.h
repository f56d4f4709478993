/*  check.h -- `helio-agent --check`: everything that running will need, one line each, with the remedy. */
#ifndef HELIO_AGENT_CHECK_H
#define HELIO_AGENT_CHECK_H

#include "site-agent/agent/agent.h"

/*  Prints to standard output; changes nothing but makes state_dir (and a cluster's shared folder's rooms)
 * when they are missing. probe: also submits a job to each pool of a cluster. Returns how many lines failed.
 */
uint32_t helio_agent_check(const helio_agent_settings_t *settings, bool probe,
                           helio_make_backend_fn *make_backend);

/*  A cluster as a site: one line for each thing that was looked at. */
void helio_check_cluster(const helio_agent_settings_t *settings, bool probe,
                         void (*line)(void *arg, const char *what, helio_rc rc, const char *detail),
                         void *arg);

/*  The backend that a site file names. HELIO_INVALID: not one of this release. */
HELIO_MUST_CHECK helio_rc helio_make_backend(const helio_agent_settings_t *settings,
                                             const helio_backend_sink_t *sink, helio_backend_t **ret_backend,
                                             helio_error_t *err);

#endif
