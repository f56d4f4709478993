/*  gpus.h -- the GPUs of this machine, for a site that is this machine (backend `local`). They fill what the site file
 *  leaves out, and measure the power of jobs. Without a driver only the site file counts. A Slurm site is completed
 *  from its cluster instead. */
#ifndef HELIO_AGENT_GPUS_H
#define HELIO_AGENT_GPUS_H

#include "site-agent/agent/settings.h"

/*  Reads the GPUs once, at start. Fills pools of one node, and sets settings->nvml if its figures certainly are those
 *  of the site's GPUs (one pool, one node, no more GPUs declared than exist). Texts are allocated in the arena.
 *  INVALID: the file contradicts the machine. library: NULL = the driver's own. */
HELIO_MUST_CHECK helio_rc helio_site_gpus_open(helio_agent_settings_t *settings, const char *library,
                                               helio_arena_t *arena, helio_error_t *err);
void helio_site_gpus_close(helio_agent_settings_t *settings);

/*  "8 H100 found", "none found: …"; lives in the arena. */
helio_text_t helio_site_gpus_text(const helio_agent_settings_t *settings, const char *library, helio_arena_t *arena);

#endif
