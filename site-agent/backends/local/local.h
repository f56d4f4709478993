/*  local.h -- the backend `local`: attempts are processes of this machine, each under a shim that outlives
 * the agent.
 *
 *  What it leaves on disk, all below state_dir, is in folder.h; an attempt's folder is the agent's own.
 *
 *  Jobs run as the Unix user that the site's table names for (tenant, user); the first line that matches
 * decides. As root the agent can become anybody but root, which needs allow_root as well; otherwise only its
 * own user is possible. An attempt's environment is made from nothing: PATH, HOME, USER, LANG, the job's env,
 * its secrets, and HELIO_*. A service manager must stop the agent alone (systemd: KillMode=process), or it
 * ends the jobs too.
 */
#ifndef HELIO_BACKENDS_LOCAL_H
#define HELIO_BACKENDS_LOCAL_H

#include "site-agent/backends/backend.h"
#include "site-agent/backends/rules.h"

typedef struct helio_local_options {
    const char *state_dir; /* absolute; exists */
    const char *shim;      /* absolute path of helio-shim */
    helio_text_t site;
    const helio_job_rules_t *rules; /* copied deeply, as all of this */
    uint64_t lease_margin_ms;       /* the core's kill_margin_ms: from where the time to kill is reckoned */
    helio_backend_sink_t sink;
    /*  Who measures its GPUs; NULL: nobody. take: before anything runs on them. give: it is over since ended_wall_ms;
     *  returns the J that it took, 0 = not known. ran: false = not one instruction of it did, or nobody can tell.
     *  Called for every attempt whose end is said, taken or not. */
    void *energy_arg;
    void (*energy_take)(void *arg, const char *attempt, const uint32_t *gpus, uint32_t count);
    uint64_t (*energy_give)(void *arg, const char *attempt, bool ran, int64_t ended_wall_ms);
} helio_local_options_t;

/*  Makes the folders. INVALID: options; IO: the folders. */
HELIO_MUST_CHECK helio_rc helio_local_new(const helio_local_options_t *options, helio_backend_t **ret_backend,
                                          helio_error_t *err);

#endif
