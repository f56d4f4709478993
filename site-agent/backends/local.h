/*  local.h -- the backend `local`: attempts are processes of this machine, each under a shim that outlives
 * the agent.
 *
 *  What it leaves on disk, all below state_dir (names are made of ids alone, never of a tenant's text):
 *      attempts/helio-<job>[-<task>]-<epoch>/   one attempt (site-agent/shim/marks.h); kept for the retention
 * time output/helio-<job>[-<task>]-<epoch>/     HELIO_OUTPUT_DIR and working directory; the user's, never
 * removed here checkpoints/helio-<job>[-<task>]/        HELIO_CHECKPOINT_DIR; the user's, never removed here
 *      lease                                    what the shims of `lease` and `eager` attempts obey
 *
 *  Jobs run as the Unix user that the site's table names for (tenant, user); the first line that matches
 * decides. As root the agent can become anybody but root, which needs allow_root as well; otherwise only its
 * own user is possible. An attempt's environment is made from nothing: PATH, HOME, USER, LANG, the job's env,
 * its secrets, and HELIO_*. A service manager must stop the agent alone (systemd: KillMode=process), or it
 * ends the jobs too.
 */
#ifndef HELIO_BACKENDS_LOCAL_H
#define HELIO_BACKENDS_LOCAL_H

#include "federation/spec/spec.h"
#include "site-agent/backends/backend.h"

/*  ---- what a site file says ---- */

typedef struct helio_local_user {
    helio_text_t tenant; /* "*" = any */
    helio_text_t user;   /* "*" = any */
    helio_text_t unix_user;
    bool allow_root;
} helio_local_user_t;

typedef struct helio_local_settings {
    struct {
        helio_local_user_t *items;
        uint32_t count;
    } users;
    helio_text_t secrets; /* folder of mode 0700: <unix user>/<NAME>, one value a file; "" = none */
    helio_text_t path;    /* PATH of jobs */
    uint64_t grace_ms;    /* of jobs that say none */
    uint64_t retention_ms;
    uint64_t log_max_bytes;
} helio_local_settings_t;

/*  Keys `users`, `secrets`, `path`, `grace`, `retention`, `log_max`: to be included in the agent's own table.
 */
extern const helio_spec_table_t helio_local_settings_table;

/*  NOT_FOUND: no line fits. Views of *ret_user point into the settings. */
HELIO_MUST_CHECK helio_rc helio_local_user_of(const helio_local_settings_t *settings, helio_text_t tenant,
                                              helio_text_t user, helio_local_user_t *ret_user);

/*  ---- the backend ---- */

typedef struct helio_local_options {
    const char *state_dir; /* absolute; exists */
    const char *shim;      /* absolute path of helio-shim */
    helio_text_t site;
    const helio_local_settings_t *settings; /* copied deeply, as all of this */
    uint64_t lease_margin_ms; /* the core's kill_margin_ms: from where the time to kill is reckoned */
    helio_backend_sink_t sink;
    /*  Total energy of a GPU in mJ since its driver was loaded; false: not known. NULL: nobody measures. */
    void *energy_arg;
    bool (*energy_mj)(void *arg, uint32_t gpu, uint64_t *ret_mj);
} helio_local_options_t;

/*  Makes the folders. INVALID: options; IO: the folders. */
HELIO_MUST_CHECK helio_rc helio_local_new(const helio_local_options_t *options, helio_backend_t **ret_backend,
                                          helio_error_t *err);

/*  The number of work in HELIO_REPORT's text: `units` is the attempt's running total, so the largest counts.
 * Lines that are not JSON objects are passed over. */
uint64_t helio_local_units(helio_text_t report);

#endif
