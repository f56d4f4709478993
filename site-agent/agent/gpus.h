/*  gpus.h -- the GPUs of this machine, for a site that is this machine (backend `local`): they fill what the site file
 *  leaves out and measure what jobs draw. Without a driver the site file's words stand alone. A Slurm site is filled
 *  from what its cluster says.
 */
#ifndef HELIO_AGENT_GPUS_H
#define HELIO_AGENT_GPUS_H

#include "site-agent/agent/settings.h"

/*  Looks once, at start; fills pools of one node and sets settings->nvml when its figures can be trusted to be those
 *  of the site's GPUs (one pool, one node, no more GPUs declared than there are). Texts go to the arena. INVALID: the
 *  file says something else than what is there. library: NULL = the driver's own. */
HELIO_MUST_CHECK helio_rc helio_site_gpus_open(helio_agent_settings_t *settings, const char *library,
                                               helio_arena_t *arena, helio_error_t *err);
void helio_site_gpus_close(helio_agent_settings_t *settings);

/*  "8 H100 found", "none found: …"; lives in the arena. */
helio_text_t helio_site_gpus_text(const helio_agent_settings_t *settings, const char *library, helio_arena_t *arena);

#endif
