/*  settings.h -- the site file: what the site is, and under `agent:` how its agent runs. */
#ifndef HELIO_AGENT_SETTINGS_H
#define HELIO_AGENT_SETTINGS_H

#include "federation/spec/spec.h"
#include "site-agent/agent/shares.h"
#include "site-agent/backends/exec/exec.h"
#include "site-agent/backends/kubernetes/kubernetes.h"
#include "site-agent/backends/rules.h"
#include "site-agent/backends/slurm/slurm.h"
#include "site-agent/channels/settings.h"
#include "site-agent/feeds/settings.h"
#include "site-agent/scale/settings.h"
#include "site-agent/telemetry/energy_account.h"

#define HELIO_AGENT_CONFIG_PATH "/etc/heliostat/site.yaml"

typedef struct helio_agent_settings {
    helio_site_profile_t site;
    helio_text_t state_dir; /* paths: absolute after loading, and NUL-terminated */
    struct {
        helio_string_t *items;
        uint32_t count;
    } brokers;
    helio_text_t broker_key; /* Z85 after loading */
    helio_text_t key_file;
    helio_text_t shim;
    helio_text_t cgroup;                    /* of the backend `local`; "" = that of the package's unit */
    uint64_t processes_max;                 /* of one attempt */
    bool gpus_shared;                       /* GPUs that others use are offered as well */
    helio_job_rules_t rules;                /* users, secrets and other rules for jobs, for every backend */
    helio_slurm_settings_t slurm;           /* of the backend `slurm` */
    helio_kubernetes_settings_t kubernetes; /* of the backend `kubernetes` */
    helio_exec_settings_t exec;             /* of the backend `exec` */
    helio_channels_settings_t channels;
    helio_scale_rules_t scale;    /* elastic pools */
    helio_share_rules_t shares;   /* of the backend `local`: pools whose GPUs several jobs use */
    helio_feeds_settings_t feeds; /* after completion */
    uint32_t attempts_max;
    uint64_t kill_margin_ms;
    uint32_t log_level; /* helio_level_t */
    helio_energy_account_t *
        /* of the energy that no job is charged for (telemetry/energy_account.h); the agent's own. Not in the file */
        energy_account;
    const helio_nvml_t *nvml;     /* measures the site's GPUs (gpus.h); NULL = nothing does. Not in the file */
    struct helio_site_gpus *gpus; /* of this machine (gpus.h); NULL = none are known. Not in the file */
} helio_agent_settings_t;

/*  Everything lives in the arena. The error's text is the diagnostic: file, line, column, problem and remedy. Paths are
 *  relative to the file's own folder. A broker_key that names a missing file is not checked yet. */
HELIO_MUST_CHECK helio_rc helio_agent_settings_load(const char *path, helio_arena_t *arena,
                                                    helio_agent_settings_t *ret_settings, helio_buffer_t *complaint);

/*  The broker's public key: the value itself, or the last line of the file that it names. HELIO_INVALID, HELIO_IO with
 *  the remedy. */
HELIO_MUST_CHECK helio_rc helio_agent_broker_key(const helio_agent_settings_t *settings, char ret_key[41],
                                                 helio_error_t *err);

/*  helio-shim where the package has put it: beside the agent, or in its libexec folder. */
helio_text_t helio_agent_default_shim(helio_arena_t *arena);

extern const helio_spec_table_t helio_agent_settings_table; /* the whole file */

/*  docs/reference/agent.md: the keys under `agent`, without those of the feeds (feeds/settings.h). */
void helio_agent_reference(helio_buffer_t *out);

#endif
