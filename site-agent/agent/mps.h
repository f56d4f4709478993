/*  mps.h -- the daemon through which the jobs of a pool share its GPUs by NVIDIA's MPS.
 *
 *  One daemon for each pool, so that a job with shares of two GPUs reaches both through one directory. It belongs to the
 *  machine and not to the agent: it outlives the agent, and the next one finds it by the file with its number that it
 *  keeps in its directory. A program that does not reach its daemon runs without MPS, and without bounds, so nothing of
 *  the pool is offered while no daemon runs. Source: NVIDIA, "Multi-Process Service". One thread.
 */
#ifndef HELIO_AGENT_MPS_H
#define HELIO_AGENT_MPS_H

#include <sys/types.h>

#include "site-agent/agent/shares.h"
#include "site-agent/backends/devices.h"

typedef struct helio_mps {
    helio_text_t pool;
    const char *pipe, *log, *devices; /* directories; the GPUs' UUIDs, or their numbers where these are not known */
    const char *const *argv;
    pid_t starting; /* the command that was started and has not ended yet; 0 = none */
} helio_mps_t;

/*  Everything lives in the arena. INVALID: the directory's name is too long for the sockets in it. */
HELIO_MUST_CHECK helio_rc helio_mps_describe(const helio_share_rule_t *rule, const helio_pool_devices_t *devices,
                                             const char *state_dir, helio_arena_t *arena, helio_mps_t *ret_mps,
                                             helio_error_t *err);
/*  Whether its daemon runs. */
bool helio_mps_lives(const helio_mps_t *self);
/*  Starts the command that starts the daemon, unless one that was started still runs. Does not wait. */
HELIO_MUST_CHECK helio_rc helio_mps_start(helio_mps_t *self, helio_error_t *err);
/*  Starts it and waits until the daemon runs, for ten seconds at most. UNAVAILABLE: it does not, with what to do. */
HELIO_MUST_CHECK helio_rc helio_mps_begin(helio_mps_t *self, helio_error_t *err);
/*  Whether the command could be run here. */
HELIO_MUST_CHECK helio_rc helio_mps_check(const helio_mps_t *self, helio_error_t *err);

#endif
