/*  settings.h -- the site file: what the site is, and under `agent:` how its agent runs. */
#ifndef HELIO_AGENT_SETTINGS_H
#define HELIO_AGENT_SETTINGS_H

#include "federation/spec/spec.h"
#include "site-agent/backends/rules.h"
#include "site-agent/backends/slurm/slurm.h"
#include "site-agent/feeds/settings.h"
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
    helio_job_rules_t rules;      /* users, secrets, …, whatever starts the jobs */
    helio_slurm_settings_t slurm; /* of the backend `slurm` */
    helio_feeds_settings_t feeds; /* completed */
    uint32_t attempts_max;
    uint64_t kill_margin_ms;
    uint32_t log_level; /* helio_level_t */
    helio_energy_account_t *
        energy_account; /* of what no job is charged for (telemetry/energy_account.h); the agent's own. Not of the file */
    helio_nvml_t *nvml; /* measures the site's GPUs (gpus.h); NULL = nobody does. Not of the file */
} helio_agent_settings_t;

/*  Everything lives in the arena. The error's text is the diagnostic: file, line, column, what and how to
 * mend it. Paths are relative to the file's own folder. broker_key is not yet looked at when it names a file
 * that is missing. */
HELIO_MUST_CHECK helio_rc helio_agent_settings_load(const char *path, helio_arena_t *arena,
                                                    helio_agent_settings_t *ret_settings,
                                                    helio_buffer_t *complaint);

/*  The broker's public key: given as such, or the last line of a file. HELIO_INVALID, HELIO_IO with the
 * remedy. */
HELIO_MUST_CHECK helio_rc helio_agent_broker_key(const helio_agent_settings_t *settings, char ret_key[41],
                                                 helio_error_t *err);

extern const helio_spec_table_t helio_agent_settings_table; /* the whole file */

/*  docs/reference/agent.md: the keys under `agent`, without those of the feeds (feeds/settings.h). */
void helio_agent_reference(helio_buffer_t *out);

#endif
