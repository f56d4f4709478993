/*  local.h -- the backend `local`: attempts are processes of this machine, each under a shim that outlives the agent.
 *
 *  It keeps its files below state_dir (folder.h). The folder of an attempt belongs to the agent's user.
 *
 *  Jobs run as the Unix user that the site's table names for (tenant, user); the first line that matches counts. An
 *  agent that runs as root can run jobs as any user; as root only if the line says allow_root. Any other agent runs
 *  them as its own user only. An attempt's environment starts empty and gets the variables of shim/variables.h, the
 *  job's env and its secrets. A service manager must stop the agent alone (systemd: KillMode=process), or it ends the
 *  jobs too.
 */
#ifndef HELIO_BACKENDS_LOCAL_H
#define HELIO_BACKENDS_LOCAL_H

#include "site-agent/backends/backend.h"
#include "site-agent/backends/devices.h"
#include "site-agent/backends/rules.h"

/*  The unit whose control group is delegated to the agent, below the root of the hierarchy (deploy/systemd). */
#define HELIO_LOCAL_UNIT "system.slice/helio-jobs.service"

typedef struct helio_local_options {
    const char *state_dir; /* absolute; exists */
    const char *shim;      /* absolute path of helio-shim */
    helio_text_t site;
    const helio_job_rules_t *rules; /* deep copies, as all members that are not borrowed */
    uint64_t lease_margin_ms;       /* the core's kill_margin_ms, from which the time to kill is computed */
    const char *cgroup; /* absolute path of the group below which attempts get theirs (shim/cgroup.h); NULL = that of
                         * HELIO_LOCAL_UNIT, or none where that does not run */
    uint64_t processes_max;              /* of an attempt, threads included; 0 = not bounded. Needs a group */
    const helio_site_devices_t *devices; /* of the pools' slots; borrowed. NULL = the slots are the GPUs' numbers */
    helio_backend_sink_t sink;
    /*  Measures the energy of attempts; both functions can be NULL: nothing is measured.
     *  energy_take: called before the attempt's processes start on these GPUs.
     *  energy_give: called for every attempt whose end is reported, also if energy_take was not called for it. Returns
     *  the energy in J that its GPUs used until ended_wall_ms; 0 = unknown. ran: a shim reported the end of its
     *  processes; false: they may never have run. */
    void *energy_arg;
    void (*energy_take)(void *arg, const char *attempt, const uint32_t *gpus, uint32_t count);
    uint64_t (*energy_give)(void *arg, const char *attempt, bool ran, int64_t ended_wall_ms);
} helio_local_options_t;

/*  Creates the folders, and makes the control groups' parent ready. INVALID: options; IO: the folders; NOT_FOUND,
 *  FORBIDDEN: the group that the options name. */
HELIO_MUST_CHECK helio_rc helio_local_new(const helio_local_options_t *options, helio_backend_t **ret_backend,
                                          helio_error_t *err);

/*  For `helio-agent --check`: whether the backend can work with these options; the error's text names the fault and the
 *  remedy. Creates nothing. A missing state_dir is not an error: the agent's first run creates it. */
HELIO_MUST_CHECK helio_rc helio_local_check(const helio_local_options_t *options, helio_error_t *err);

/*  Whether attempts get control groups; the error's text says what that means, and the remedy. Creates nothing. */
enum { HELIO_LOCAL_CHECK_SIZE = 500 };
HELIO_MUST_CHECK helio_rc helio_local_check_cgroups(const helio_local_options_t *options,
                                                    char ret_text[HELIO_LOCAL_CHECK_SIZE], helio_error_t *err);

#endif
