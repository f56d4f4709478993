/*  gpus.h -- the GPUs of this machine, for a site that is this machine (backend `local`). They fill what the site file
 *  leaves out, are the devices of its pools' slots, and measure the power of jobs. Without a driver only the site file
 *  counts. A Slurm site is completed from its cluster instead. */
#ifndef HELIO_AGENT_GPUS_H
#define HELIO_AGENT_GPUS_H

#include "site-agent/agent/devices.h"
#include "site-agent/agent/mps.h"
#include "site-agent/agent/settings.h"

typedef struct helio_site_gpus {
    helio_nvml_t *nvml;
    helio_site_devices_t devices;
    helio_device_places_t places; /* of the devices, to be kept */
    helio_mps_t *mps;             /* one for each pool that is shared by MPS */
    uint32_t mps_count;
} helio_site_gpus_t;

/*  Reads the GPUs once, at start. Fills pools of one node and places their devices; sets settings->nvml if its figures
 *  certainly are those of the site's GPUs (one pool, one node, no more GPUs declared than exist, no slices, no shares).
 *  Writes nothing. Texts are allocated in the arena, settings->gpus itself too. INVALID: the file contradicts the machine.
 *  library: NULL = the driver's own. */
HELIO_MUST_CHECK helio_rc helio_site_gpus_open(helio_agent_settings_t *settings, const char *library,
                                               helio_arena_t *arena, helio_error_t *err);
/*  For an agent that holds the state directory: writes which slot is which device, and sees that the MPS daemons run. */
HELIO_MUST_CHECK helio_rc helio_site_gpus_begin(const helio_agent_settings_t *settings, helio_error_t *err);
void helio_site_gpus_close(helio_agent_settings_t *settings);

/*  The slots of a pool that cannot be given to a job now, into ret_slots (HELIO_JOB_GPUS_PER_NODE_MAX of them). busy: a
 *  process computes there, of whichever owner; gone: the GPU does not respond, the device is missing, or the pool's MPS
 *  daemon does not run (it is started again). Slots that are shared are never busy. Returns false if nothing of the pool
 *  is known. */
typedef struct helio_slots_away {
    uint32_t slots[HELIO_JOB_GPUS_PER_NODE_MAX];
    uint32_t count, gone; /* gone: of the count */
} helio_slots_away_t;
bool helio_site_gpus_look(const helio_agent_settings_t *settings, uint32_t pool, helio_slots_away_t *ret_away);

/*  "8 H100 found", "none found: …"; lives in the arena. */
helio_text_t helio_site_gpus_text(const helio_agent_settings_t *settings, const char *library, helio_arena_t *arena);

#endif
